#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pieces of recordings: `sonde cut` and `split`, and recordings on standard input and output.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
"$SONDE" convert -q trace -o whole.wtf-trace

# total RECORDING...: self and total time of every function, without how often it was called.
total() {
	"$SONDE" report "$@" --csv --no-cache | cut -d, -f2,3,24 | sort
}
total trace >"$work/whole"

# cut

run cut trace --track 2 -o one
exits 0 "cut by tracks alone"
run info one
out_has '^  holds .* 1,000 events.* 1 track,' "has that track"
run cut trace --function work_sort --function 'work_f*' -o some
exits 0 "cut by functions alone"
is "$("$SONDE" dump some --csv | tail -n +2 | cut -d, -f6 | sort -u | tr '\n' ' ')" "work_free work_sort " \
	"has those functions"
run cut trace --from 20% --to 60% --track 'thread [01]' --max-depth 2 --kind call,return,exception -o both -q
exits 0 "cut by all of it"
run check both
exits 0 "and passes the check"
is "$("$SONDE" dump both --csv | tail -n +2 | cut -d, -f7 | sort -u | tr '\n' ' ')" "1 2 " "depths"
run cut trace -o nothing
exits 2 "cut by nothing"
err_has "'cut' needs to know what to keep" "which is said"

# split

run split trace --every 50us -o part
exits 0 "split by time"
out_is "split tells what it did" <<'END'
wrote 18 pieces, part-0001.atf to part-0018.atf (atf): 4,258 events, 16.2 kB to 35.9 kB each
129 calls opened again at the start of pieces and 129 closed at their end, by events marked synthetic
nothing was lost
END
is "$(find . -maxdepth 1 -name 'part-*' | wc -l)" 18 "so many pieces are there"
bad=0
for piece in part-*; do
	"$SONDE" check -q "$piece" || bad=1
done
ok $bad "each passes the check"
total part-*.atf >"$work/pieces"
cmp -s "$work/whole" "$work/pieces"
ok $? "all of them have the times of the whole"
run merge part-*.atf -o merged -q
exits 0 "merged again"
total merged >"$work/merged"
cmp -s "$work/whole" "$work/merged"
ok $? "so has what they are merged to"
"$SONDE" cut -q trace --from @1000000100132 --to @1000000150132 -o third
"$SONDE" dump --json third >"$work/a"
"$SONDE" dump --json part-0003.atf >"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "a piece is what cut gives"

run split trace --every 50us -o part
exits 3 "pieces that exist are not replaced"
rm -r part-0001.atf
run split trace --every 50us -o part
exits 3 "not even the second"
[ ! -e part-0001.atf ]
ok $? "and nothing is written"
run split trace --every 50us -o part --force -q
exits 0 "--force replaces them"
silent "-q says nothing"
run split trace --every 500us -o part --force
exits 0 "fewer pieces"
err_has 'warning: part-0003.atf was there before' "and what is left over is told"
mkdir precious && echo mine >precious/file && mv precious mine-0001.atf
run split trace --every 1ms -o mine --force
exits 3 "--force replaces recordings only"
is "$(cat mine-0001.atf/file)" mine "what was there stays"
is "$(find . -name '*.partial*')" "" "nothing half written stays"

run split trace --events 1000 -t cff -o folder/
exits 3 "a folder that is not there"
mkdir folder
run split trace --events 1000 -t cff -o folder
exits 0 "split by events, into a folder, in another format"
is "$(ls folder)" "trace-0001.wtf-trace
trace-0002.wtf-trace
trace-0003.wtf-trace
trace-0004.wtf-trace" "names with leading zeros and a suffix"
total folder/* >"$work/pieces"
cmp -s "$work/whole" "$work/pieces"
ok $? "and the times of the whole"
out_has '1,400 details' "losses of all are told together"
most=$("$SONDE" split trace --events 700 --json -o seven | sed -n 's/.*"events_written": \([0-9]*\),/\1/p' |
	sort -n | tail -n 1)
[ "$most" -le 800 ] && [ "$most" -ge 600 ]
ok $? "no piece is larger than asked for by more than a little"

run split trace --size 100K -o sized --json
exits 0 "split by size"
sed -n 's/.*"bytes": \([0-9]*\),/\1/p' "$out" | sort -n >"$work/sizes"
most=$(tail -n 1 "$work/sizes") count=$(wc -l <"$work/sizes")
[ "$most" -le 107520 ] && [ "$count" -ge 4 ] && [ "$count" -le 7 ]
ok $? "no file is larger by more than 5 %, nor are there many" || echo "# $count pieces, the largest $most"
total sized-*.atf >"$work/pieces"
cmp -s "$work/whole" "$work/pieces"
ok $? "and the times of the whole"
run split trace --size 1K -o tiny
exits 3 "a size that the names alone exceed"
err_has 'choose a larger --size' "which is said"
[ ! -e tiny-0001.atf ]
ok $? "and nothing is there"

run split trace --every 1ns -o many
exits 2 "too many pieces"
err_has 'that would be 882,489 pieces' "how many it would be"
run split trace -o none
exits 2 "split by nothing"
run split trace --every 1ms --size 1M
exits 2 "by two things"
run split trace --every 1ms -o -
exits 2 "pieces on standard output"
run split trace --every 1ms -t cff --strict -o strict
exits 1 "--strict: something would be lost"
[ ! -e strict-0001.wtf-trace ]
ok $? "so nothing is written"
run split whole.wtf-trace --every 10ms --loss-report loss.json
exits 0 "without -o"
[ -e whole-0001.wtf-trace ]
ok $? "pieces are called like the recording, without its suffix"
grep -q '"losses"' loss.json
ok $? "losses as JSON"

# standard input

# piped COMMAND...: the command with the recording on its standard input, through a pipe.
piped() {
	code=0
	"$SONDE" "$@" >"$out" 2>"$err" <"$work/pipe" &
	cat whole.wtf-trace >"$work/pipe"
	wait $! || code=$?
}
mkfifo "$work/pipe"
piped info -
exits 0 "info of what comes through a pipe"
out_has '^standard input$' "calls it standard input"
out_has '4,000 events' "and reads all of it"
code=0
"$SONDE" info - <whole.wtf-trace >"$out" 2>"$err" || code=$?
exits 0 "a file on standard input"
out_has '^standard input$' "is called the same"
code=0
"$SONDE" info - <trace >"$out" 2>"$err" || code=$?
exits 0 "even a folder"
for command in "dump - --limit 2" "report - --csv" "check -" "flame - -o x.svg" "convert - -o from-pipe" \
	"cut - --from 50% -o half-pipe" "merge - trace -o merged-pipe" "split - --every 500us"; do
	# shellcheck disable=SC2086
	piped $command
	exits 0 "$command"
done
[ -e piece-0001.wtf-trace ]
ok $? "pieces of it have a name"
piped query - 'SELECT count(*) FROM events'
exits 0 "query"
out_has ' 4000 ' "counts all events"
piped report -
out_has '^standard input: 12 functions, 2,000 calls' "report calls it standard input"
piped info - -
exits 2 "twice"
err_has 'can be read once only' "which is said"
code=0
tar -cf - trace | "$SONDE" info - >"$out" 2>"$err" || code=$?
exits 3 "a folder through a pipe"
err_has 'a folder cannot come through a pipe' "which is said"
run info -
exits 3 "nothing on standard input"
err_has 'standard input is empty' "which is said"
code=0
"$SONDE" info - >"$out" 2>"$err" <&- || code=$?
exits 2 "closed"
code=0
(TMPDIR=$work/missing && export TMPDIR && dd if=whole.wtf-trace 2>/dev/null | "$SONDE" info - >"$out" 2>"$err") ||
	code=$?
exits 3 "no room for a copy"
err_has 'set TMPDIR' "and what to do"
code=0
(ulimit -f 1 && trap '' XFSZ && dd if=whole.wtf-trace 2>/dev/null | "$SONDE" info - >"$out" 2>"$err") || code=$?
exits 3 "the disk is full"
err_has 'set TMPDIR to a folder with more room' "and what to do"

# caches: what came through a pipe has none, and does not disturb others'
SONDE_CACHE=$work/cache SONDE_CACHE_MINIMUM=1
export SONDE_CACHE SONDE_CACHE_MINIMUM
touch -d '1 hour ago' whole.wtf-trace
piped report -
exits 0 "report with a cache"
is "$(find "$work/cache" -name '*.cache' 2>/dev/null | wc -l)" 0 "keeps nothing of a pipe"
unset SONDE_CACHE SONDE_CACHE_MINIMUM

# standard output

mkdir temporary && TMPDIR=$PWD/temporary && export TMPDIR
"$SONDE" convert trace -t cff -o - >sent.wtf-trace 2>"$err"
ok $? "convert to standard output"
cmp -s sent.wtf-trace whole.wtf-trace
ok $? "has what a file has"
err_has '^wrote standard output \(cff\): 4,000 events' "what it did is told on standard error"
"$SONDE" convert trace -t cff -o - 2>/dev/null | "$SONDE" cut - --to 50% -o - 2>/dev/null | "$SONDE" info - >"$out"
out_has ' 4 tracks' "one command behind another"
run convert trace -o -
exits 2 "a folder to standard output"
err_has 'format atf is a folder, which cannot go to standard output' "which is said"
err_has '-t NAME chooses a format that is a file: .*cff' "and what to do"
run recover trace -o -
exits 2 "not of recover"
"$SONDE" convert trace -t cff -o - 2>/dev/null | head -c 10 >/dev/null
is "$(ls temporary)" "" "nothing stays behind"
if have script; then
	script -qec "$SONDE convert trace -t cff -o - --color never" /dev/null </dev/null >"$out"
	out_has 'the recording is binary, and standard output is a terminal' "not to a terminal"
	script -qec "$SONDE convert -q trace -t cff-json -o -" /dev/null </dev/null >"$out"
	out_has '"wtfVersion"' "but text"
else
	skip "not to a terminal" "no script"
	skip "but text" "no script"
fi
unset TMPDIR

finish
