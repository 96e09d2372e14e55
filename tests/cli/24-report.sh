#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde report`: every view and option on recordings of all formats, what fits a screen, what programs get,
# and what is said where there is nothing to see or the options are wrong.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
export XDG_CACHE_HOME="$work/cache"
session normal trace
session crashed crashed
session headeronly empty
zts=${golden%/atf}/zts/archived
hpcdb=${golden%/atf}/hpcdb/small
"$SONDE" convert -q trace -o trace.wtf-trace
"$SONDE" convert -q trace -o database -t hpcdb
"$SONDE" convert -q trace -o run.m -t hpcrun

# rows COUNT NAME: of a table on a screen, without its title.
rows() {
	is "$(sed -n '/^ *\(SELF\|TOTAL\|LOST\|COUNT\|FAILED\)%\? .*[A-Z]$/,$p;/^ID /,$p' "$out" | sed 1d | grep -v '^\.\.\.' | grep -c .)" "$1" "$2" ||
		explain "$out"
}
json() {
	python3 -c "import json, sys
report = json.load(open(sys.argv[1], encoding='utf-8'))
rows = report['rows']
assert $1, report" "$out" 2>"$work/why"
	ok $? "$2" || explain "$work/why"
}

run report trace
exits 0 "a report"
out_has '^trace: 12 functions, 2,000 calls, 874\.858 us in 4 threads, over 882\.488 us$' "what was read"
out_has '^SELF% +SELF +TOTAL +TOTAL% +CALLS +ERRORS +MEAN .*FUNCTION$' "columns for a pipe"
out_has '^9\.4% # +82\.388 us +468\.056 us +53\.5% +196 +9 +3\.777 us .* work_sort$' "a function"
err_has '^  next: sonde report --tree trace ' "what to do next"
rows 12 "all functions"
run report -q trace
is "$(cat "$err")" "" "--quiet: no advice"

COLUMNS=80 LC_ALL=C.UTF-8 "$SONDE" report -q trace >"$out"
out_has '^9\.4% █ +82\.388 us' "bars of blocks where the terminal has them"
is "$(LC_ALL=C.UTF-8 awk 'length > 80' "$out")" "" "no line is longer than the screen"
has_wide() { COLUMNS=$1 "$SONDE" report -q trace | grep -q "$2"; }
has_wide 80 ERRORS
ok $? "80 columns: what is worth it"
! has_wide 80 P99
ok $? "80 columns: no percentiles"
has_wide 200 'DEVIATION.*P50.*P90.*P99.*THREADS.*MAX/MEAN'
ok $? "200 columns: everything"
for width in 20 40 79 133; do
	long=$(COLUMNS=$width "$SONDE" report -q --tree "$zts" | awk -v most="$width" 'NR > 3 && length > most && !/--limit/')
	is "$long" "" "a tree in $width columns"
done
for view in --callers --tree --threads --imbalance --modules; do
	is "$(COLUMNS=60 "$SONDE" report -q $view trace | awk 'length > 60')" "" "$view in 60 columns, its titles too"
done
run report -q --color always trace
grep -q "$(printf '\033')\\[33m *9\\.4%" "$out"
ok $? "colours where they are wanted"

run report --tree --limit 5 trace
exits 0 "--tree"
out_has '^74\.7% #+ +653\.377 us +0 ns .* application thread$' "from the top"
out_has '^22\.2% ##  .* 193\.801 us .*  _ZN4work6Engine3runEv$' "down"
out_has '^\.\.\. 1,[0-9]+ more contexts' "what is left out is told"
run report --tree --function parse trace
exits 0 "--tree with --function"
out_has '  parse$' "the function is there"
run report --json --tree --function parse trace
cat >"$work/paths.py" <<'END'
import json, sys
rows = json.load(open(sys.argv[1], encoding="utf-8"))["rows"]
path = []
for row, after in zip(rows, rows[1:] + [{"depth": 0}]):
    path[row["depth"]:] = [row["name"]]
    assert after["depth"] > row["depth"] or "parse" in path, path
assert rows
END
python3 "$work/paths.py" "$out" 2>"$err"
ok $? "only paths through it" || explain "$err"
json "rows[0]['total_ns'] == 653377" "and times stay true"
run report --callers --limit 3 trace
exits 0 "--callers"
out_has '^9\.4% # .* 82\.388 us +468\.056 us .* 196  work_sort$' "from the bottom"
run report --callers --function work_sort trace
out_has '^9\.4% # .* 82\.388 us .* work_sort$' "callers of one function"
out_has '^1\.3% .* 25    parse$' "who calls it"
run report --hot-path trace
exits 0 "--hot-path"
rows 2 "down to a tenth of the whole"
run report --hot-path --min 1% trace
out_has 'handle_request$' "or to --min"
run report --threads trace
exits 0 "--threads"
out_has '^ID +SHARE +BUSY +IDLE +EVENTS +TRACK$' "what a thread has"
out_has '^ 0 +25\.3% ### +221\.481 us +239\.307 us +1,000  thread 0$' "a thread"
rows 4 "all threads"
run report --imbalance trace
exits 0 "--imbalance"
out_has '^ 1\.7% +1\.017 +222\.488 us +218\.715 us +4 +thread 2 +all$' "over all"
out_has '^40\.0% #### +2\.971 +134\.200 us +45\.163 us +3 +thread 2 +work_sort$' "where it comes from"
run report --errors trace
exits 0 "--errors"
out_has '^ +10 +6\.6% # +151 .* handle_request$' "what was thrown"
run report --errors "$zts"
out_has 'java\..*Exception' "types of exceptions"
run report --modules trace
out_has '^50\.9% ##### +445\.538 us .* libwork\.so$' "--modules"
run report --lines "$hpcdb"
exits 0 "--lines"
run report --lines trace
out_has '<unknown line>$' "lines that nobody knows"
for what in function module file line loop track process; do
	run report --group-by $what database
	exits 0 "--group-by $what"
done
out_has '^ 0 +4 +100\.0% #+ .* ' "a process"

run report --sort calls --limit 2 trace
is "$(tail -n 2 "$out" | head -n 1 | sed 's/.* //')" work_throw "--sort by a column" || explain "$out"
run report --sort namee trace
exits 2 "--sort by no column"
err_has "no column 'namee'.*'name'" "it is told"
run report --csv --sort name trace
is "$(tail -n +2 "$out" | tr -d '\r' | sed 's/.*,//')" "$(tail -n +2 "$out" | tr -d '\r' | sed 's/.*,//' | sort)" "by name"
run report --min 55% trace
rows 3 "--min with a share"
run report --min 500us trace
rows 2 "--min with a time"
run report --metric CALLS --min 180 --json trace
json "all(row['total'] >= 180 for row in rows) and report['metric'] == 'CALLS'" "--min with a number"
for bad in x 5x -3 '5%%' 1e3; do
	run report --min "$bad" trace
	exits 2 "--min $bad"
done
run report --metric CALLS --min 5ms trace
exits 2 "--min with a time of what is none"
run report --limit 0 --json --tree trace
json "len(rows) == 1858 and report['left_out'] == 0" "--limit 0: all"
run report --max-depth 2 --json --tree trace
json "max(row['depth'] for row in rows) == 1" "--max-depth"
run report --track 1 trace
out_has '^trace: .* 211\.373 us in 1 thread' "--track"
run report --track nobody trace
exits 2 "--track that is none"
run report --from 50% trace
out_has '^trace: 12 functions' "--from"
run report --from 50% --to 10% trace
exits 2 "--to before --from"
run report --function 'work_*' trace
rows 5 "--function"
run report --function nothing trace
exits 0 "--function that is none"
err_has 'nothing fits what was asked for' "it is told"
run report --modules --function main trace
exits 2 "--function means no modules"
run report --metric nothing trace
exits 2 "--metric that is none"
err_has 'there is: REALTIME \(sec\), CALLS' "those that are there"
run report --derive 'each = "REALTIME (sec)" / CALLS' --json trace
json "all('each.total' in row or 'each.total_ns' in row for row in rows)" "--derive: a column more"
run report --derive 'each =' trace
exits 2 "--derive that is none"
run report --tree --callers trace
exits 2 "two views"
err_has '^sonde: --tree and --callers are two reports' "they are told"
run report --lines --group-by module trace
exits 2 "two lists"
run report --json --csv trace
exits 2 "two outputs"
run report
exits 2 "no recording"
run report missing
exits 3 "a recording that is not there"

run report empty
exits 0 "an empty recording"
err_has 'nothing was recorded that takes time' "it is told"
run report --json empty
json "rows == [] and report['calls'] == 0" "in JSON"
for view in --tree --callers --hot-path --threads --imbalance --errors --critical-path --lines --modules; do
	run report $view empty
	exits 0 "an empty recording: $view"
	run report $view --csv empty
	exits 0 "and in CSV"
done
run report crashed
exits 0 "a damaged recording"
err_has '^sonde: warning: crashed: 10 faults while reading' "it is told"
out_has '^  the recording was not finished: its end may be missing$' "and what that means"
out_has ' OPEN ' "calls that were open"

for recording in trace trace.wtf-trace database run.m "$zts" "$hpcdb"; do
	for view in '' --tree --callers --hot-path --threads --imbalance --errors --critical-path --lines --modules; do
		# shellcheck disable=SC2086 # no view is no argument
		run report $view --json "$recording"
		[ "$code" -eq 0 ] && python3 -m json.tool "$out" >/dev/null 2>&1
		ok $? "JSON of $recording $view" || explain "$err"
		run report --csv ${view:+$view} "$recording"
		python3 -c "import csv, sys
rows = list(csv.reader(open(sys.argv[1], encoding='utf-8', newline='')))
assert len(set(map(len, rows))) == 1, rows" "$out" 2>"$err"
		ok $? "CSV of $recording $view" || explain "$err"
	done
done
run report run.m
out_has '^run\.m: .*REALTIME \(sec\) in 4 threads' "a profile: what was measured"
! grep -q 'P99\|[^/]MEAN' "$out"
ok $? "a profile has no single calls"
run report --json trace
cp "$out" calls.json
run report --json trace.wtf-trace
python3 -c "import json
a, b = (json.load(open(p))['rows'] for p in ('calls.json', '$out'))
key = lambda rows: sorted((r['name'], r['calls'], r['total_ns'] // 1000) for r in rows)
assert [x[:2] for x in key(a)] == [x[:2] for x in key(b)]" 2>"$err"
ok $? "the same calls in another format" || explain "$err"
run report trace crashed
exits 0 "several recordings"
out_has '^2 recordings: .* 3,350 calls, .* of 2 processes' "are one report"
run report trace trace.wtf-trace "$zts"
exits 0 "of several formats"

run report --no-cache trace
exits 0 "--no-cache"
run report -j 1 trace
out_has '874\.858 us in 4 threads' "-j 1"
# paths, parts and files that are odd
session normal "a folder's"
run report "a folder's"
err_has "^  next: sonde report --tree 'a folder'\\\\''s' " "advice can be given to a shell"
run report --from 99h trace
exits 0 "after the end"
err_has '^sonde: nothing fits what was asked for$' "there is nothing"
run report --derive @trace.wtf-trace trace
exits 3 "formulas in a file that has none"
! grep -q "sonde check" "$err"
ok $? "no recording is blamed" || explain "$err"
if [ "$(id -u)" != 0 ]; then
	cp trace.wtf-trace secret && chmod 000 secret
	run report secret
	exits 3 "a file that may not be read"
	err_has '^  cause: Permission denied$' "and why"
fi

# how often functions were called is told of a database too
run report -q database
out_has '^9\.4% .* 196 +work_sort$' "calls in a database"

# threads of one name
run report -q --threads trace trace
out_has '^ID .* PROCESS +TRACK$' "several processes: which has the thread"
run report -q --threads --track 0 trace
out_has '^ID .* TRACK$' "a thread with the id 0 has one"
run report -q --imbalance --csv trace trace
out_has 'thread 2 \(ID 2\)' "threads of one name: which has most"
run report -q --imbalance trace
out_has '^  LOST%: MAX less MEAN, as a share of all that the busiest thread did: what even sharing could save$' "what is lost"
if [ -w /dev/full ]; then
	"$SONDE" report --json trace >/dev/full 2>"$err"
	is $? 3 "a full disk"
fi
finish
