#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inputs and outputs that are not as one would wish: colours, full disks, closed files, odd paths.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
mkdir 'a folder'
session normal 'a folder/with spaces'
session normal trace
session crashed crashed
escape=$(printf '\033')
unset NO_COLOR

plain() {
	run "$@"
	! grep -q "$escape" "$out" "$err"
	ok $? "no escape codes in a pipe: sonde $*"
}
plain
plain help dump
plain info crashed
plain dump trace --limit 5
plain check crashed
plain inof
run check --color=always crashed
grep -q "$escape" "$out"
ok $? "--color=always"

if have script && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	on_terminal() {
		TERM=xterm script -qec "$*" /dev/null </dev/null >"$out" 2>&1
	}
	on_terminal "'$SONDE' check crashed"
	grep -q "$escape" "$out"
	ok $? "colours on a terminal"
	on_terminal "NO_COLOR=1 '$SONDE' check crashed"
	! grep -q "$escape" "$out"
	ok $? "NO_COLOR"
	on_terminal "'$SONDE' check --color=never crashed"
	! grep -q "$escape" "$out"
	ok $? "--color=never"
	on_terminal "'$SONDE' inof"
	grep -q "$escape" "$out"
	ok $? "colours of messages on a terminal"
	sed 's/"name": "run_loop"/"name": "run\\u001b[31mloop"/' trace/manifest.json >m
	cat m >trace/manifest.json
	on_terminal "NO_COLOR=1 '$SONDE' dump --csv --limit 1 trace"
	! grep -q "$escape" "$out"
	ok $? "CSV on a terminal is made harmless"
else
	skip "a terminal" "no script, or no terminal to be had"
fi

for command in 'dump trace' 'info trace' 'check trace' 'help' 'formats --json'; do
	if [ -w /dev/full ]; then
		code=0
		# shellcheck disable=SC2086
		"$SONDE" $command >/dev/full 2>"$err" || code=$?
		exits 3 "$command on a full disk"
		err_has '^sonde: cannot write the output: No space left' "$command on a full disk says so"
	fi
	code=0
	# shellcheck disable=SC2086
	"$SONDE" $command >&- 2>"$err" || code=$?
	exits 3 "$command with standard output closed"
done
code=0
{ "$SONDE" dump trace || echo $? >"$work/code"; } 2>"$err" | head -n 1 >/dev/null
[ ! -s "$err" ]
ok $? "a reader that goes away is no error"
code=0
"$SONDE" convert trace -o copy >&- 2>&- || code=$?
exits 3 "convert with everything closed"
run check copy
exits 0 "does not write messages into the recording"

run info nowhere
exits 3 "a path that is not there"
err_has '^sonde: nowhere: ' "is named"
mkfifo fifo
run info fifo
exits 3 "a fifo"
mkdir empty
run info empty
exits 3 "an empty folder"
err_has "hint: 'sonde formats'" "an empty folder: what to do"
echo text >file
run dump file
exits 3 "a file of something else"
run info 'a folder/with spaces'
exits 0 "a path with spaces"
out_has '^a folder/with spaces$' "is shown as it is"
session crashed 'a folder/crashed'
run info 'a folder/crashed'
out_has "^  sonde recover 'a folder/crashed' -o NEW " "advice can be given to a shell"
run store search 'a folder/missing'
err_has "sonde store init 'a folder/missing'   makes a store" "also where a store is missing"
run info "$(printf 'no\033where')"
err_has '^sonde: no\\x1bwhere: ' "control characters in a path are escaped"
run info trace/thread_2/index.atf
exits 0 "a single file of a session"
# Memory has a limit, unless a sanitizer watches it.
if ! grep -q __asan_init "$SONDE"; then
	mkfifo pipe
	"$SONDE" report - <pipe >"$out" 2>"$err" &
	reader=$!
	exec 9>pipe
	tries=50
	until grep -q '^Max data size *[0-9]' "/proc/$reader/limits" || [ $tries = 0 ]; do
		tries=$((tries - 1))
		sleep 0.1
	done
	[ $tries != 0 ]
	ok $? "no more memory than the machine has can be taken"
	exec 9>&-
	wait "$reader"
	is "$("$SONDE" record -q -o recorded grep '^Max data' /proc/self/limits 2>"$err")" \
		"$(grep '^Max data' /proc/self/limits)" "but by a program that is recorded"
	awk 'BEGIN { for (i = 0; i < 300000; i++) print "main;f" i ";g" i " 1" }' >many.folded
	code=0
	prlimit --data=67108864 "$SONDE" report many.folded >"$out" 2>"$err" || code=$?
	exits 3 "too little memory"
	err_has '^sonde: many.folded: out of memory$' "is said"
	err_has "^  hint: 'sonde cut' makes a smaller recording" "and what to do"
fi

if [ "$(id -u)" != 0 ]; then
	chmod 0 crashed
	run info crashed
	exits 3 "a folder that may not be read"
fi

finish
