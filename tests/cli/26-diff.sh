#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde diff`: two recordings, two sets of them, thresholds, outputs.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal old
session crashed other

# A session of known times: main calls the functions of `name:ns` in turn.
make_session() {
	PYTHONPATH=$root/tests/interop python3 - "$@" <<-'PYTHON'
		import sys
		from atf_reader import CALL, NONE, RETURN
		from atf_writer import ThreadWriter, function_id, manifest_of, write_process
		thread, names, time = ThreadWriter(0), {1: "main"}, 1000
		def put(kind, function, depth):
		    thread.events.append((time, function_id(function), 0, kind, depth, NONE))
		put(CALL, 1, 1)
		for number, word in enumerate(sys.argv[2:], 2):
		    name, spent = word.rsplit(":", 1)
		    number = next((known for known in names if names[known] == name), number)
		    names[number] = name
		    put(CALL, number, 2)
		    time += int(spent)
		    put(RETURN, number, 2)
		put(RETURN, 1, 1)
		write_process(sys.argv[1], [thread], manifest_of([thread], names))
	PYTHON
}
have python3 || skip_all "no python3"
make_session before steady:500000 slower:1000000 gone:20000 slower:1000000 || exit 1
make_session after steady:500000 slower:1500000 new:40000 slower:1500000 || exit 1

run diff before after
exits 0 "diff"
out_is "the whole, then functions" <<'EXPECTED'
before  before
after   after
time    2.520 ms -> 3.540 ms, +1.02 ms (+40.5 %)
calls   5, as before

By function, what each spent itself:

    CHANGE        %   BEFORE    AFTER     TOTAL   CALLS  NAME
  +1.00 ms  +50.0 %  2.00 ms  3.00 ms  +1.00 ms       2  slower
  +40.0 us      new        0  40.0 us  +40.0 us  0 -> 1  new

Left out: 2 functions with less than 1 % of the whole (--min).
EXPECTED
run diff before after --min 0% --sort name
out_has ' -20.0 us +gone +20.0 us +0 +-20.0 us +1 -> 0  gone$' "what is gone"
[ "$(grep -c '^  [+-]' "$out")" = 3 ]
ok $? "what is the same is left out" || explain "$out"
run diff before after --tree
out_is "a tree" <<'EXPECTED'
before  before
after   after
time    2.520 ms -> 3.540 ms, +1.02 ms (+40.5 %)
calls   5, as before

     TOTAL        %   BEFORE    AFTER      SELF   CALLS  NAME
  +1.02 ms  +40.5 %  2.52 ms  3.54 ms         =          main thread
  +1.02 ms  +40.5 %  2.52 ms  3.54 ms         =       1   main
  +1.00 ms  +50.0 %  2.00 ms  3.00 ms  +1.00 ms       2    slower
  +40.0 us      new        0  40.0 us  +40.0 us  0 -> 1    new
  -20.0 us     gone  20.0 us        0  -20.0 us  1 -> 0    gone
EXPECTED
run diff before after --contexts
out_has '  slower < main < main thread$' "contexts"
run diff before after --by module
out_has '  odd$' "modules"
run diff before after --metric CALLS --min 0%
out_has '^CALLS +5, as before$' "another metric"
! grep -Eq '^calls ' "$out"
ok $? "calls are not told twice" || explain "$out"
session normal odd_before
session crashed odd_after
run diff -q odd_before odd_after --metric CALLS --min 0%
out_has '^By function, how often each was called:$' "calls: what they are"
out_has '^ +CHANGE +% +BEFORE +AFTER +NAME$' "calls: no columns that say the same"
run diff -q odd_before odd_after --metric CALLS --markdown
out_has '^\| function \| before \| after \| change \| % \|$' "calls in markdown"
run diff -q odd_before odd_after --limit 0
is "$(grep -c '0x\|work_' "$out")" "$("$SONDE" diff -q odd_before odd_after --limit 1000 | grep -c '0x\|work_')" "--limit 0: all rows"
! grep -q -e '--limit' "$out"
ok $? "--limit 0 leaves out nothing" || explain "$out"
run diff before after --both
exits 2 "--both without --threshold"
err_has '^sonde: --both is for --threshold$' "and what it is for"
run diff before after --limit 1
out_has '^1 more row \(--limit\)' "a limit"
run diff before after --function slower
exits 0 "only a function"
out_has '^time +2.000 ms -> 3.000 ms' "only its time"
run diff before after --metric nonsense
exits 2 "an unknown metric"
run diff before before
out_has '^No function changed\.$' "nothing changed"

run diff before after --threshold 5%
exits 1 "the threshold is exceeded"
out_has '^threshold 5 %: exceeded by the whole \+40\.5 %, slower \+50\.0 %$' "by what"
run diff before after --threshold 60%
exits 0 "the threshold is not exceeded"
out_has '^threshold 60 %: nothing slower by that much$' "says so"
run diff after before --threshold 5%
exits 0 "faster is fine"
run diff after before --threshold 5% --both
exits 1 "unless one asks for both"
run diff before after --threshold 5
exits 2 "a threshold is a percentage"

run diff before after --markdown
out_has '^\| function \| before \| after \| change \| % \| calls \|$' "markdown: a table"
out_has '^\| <code>slower</code> \| 2.00 ms \| 3.00 ms \| \+1.00 ms \| \+50.0 % \| 2 \|$' "a row"
run diff before after --json
python3 -c '
import json, sys
result = json.load(open(sys.argv[1]))
rows = {row["name"]: row for row in result["rows"]}
assert rows["slower"]["self"] == {"before": 2000000, "after": 3000000, "change": 1000000, "relative": 0.5}
assert rows["new"]["presence"] == "appeared" and rows["new"]["self"]["relative"] is None
assert result["whole"]["self"]["after"] == 3540000 and result["test"] is None
' "$out"
ok $? "JSON" || explain "$out"
run diff before after --csv
out_has '^slower,/opt/odd/bin/odd,,,both,2000000,3000000,1000000,0.5,' "CSV"

# sets
run diff before before -- after after --json
exits 0 "two sets"
run diff before before -- after after --threshold 5%
exits 1 "options may follow the separator"
out_has '^before  before before \(2 runs\)$' "all runs are named"
out_has '^3 of 4 functions changed by more than chance:' "what counts"
out_has 'moderated t-test on logarithms, p adjusted after Benjamini' "says which test"
run diff before before -- before before
out_has '^None of [0-9]+ functions changed by more than chance\.$' "the same runs"
run diff before -- after after
out_has 'Not tested: that' "one run is not tested"
run diff before after after
exits 2 "three and no separator"
err_has "Part them with '--'" "says what to do"
run diff before before --
exits 2 "nothing after the separator"
run diff before -- after -- after
exits 2 "two separators"
run diff before
exits 2 "one recording"
run diff before missing
exits 3 "a recording that is not there"
run diff before old
err_has 'warning: before and old have little in common' "other programs"

# formats
"$SONDE" convert -q old -t cff -o old.wtf-trace && "$SONDE" convert -q old -t hpcdb -o old.d &&
	"$SONDE" convert -q old -t zts -o old.store
ok $? "conversions"
for target in old.wtf-trace old.d old.store; do
	run diff old $target --min 0%
	out_has '^No function changed\.$' "$target: no function changed"
	[ $target != old.store ] || continue # a store does not say on which thread
	run diff --exact old $target
	exits 0 "$target is equal"
	out_has 'are equal: [0-9,]+ contexts with the same calls and values$' "$target: says so"
done
"$SONDE" convert -q before -t hpcrun -o before.m && "$SONDE" convert -q after -t hpcrun -o after.m
ok $? "measurements"
run diff before.m after.m
exits 0 "measurements are compared"
out_has '^time +2\.520 ms -> 3\.540 ms, \+1\.02 ms \(\+40\.5 %\)$' "their whole"
out_has '^ +\+1\.00 ms +\+50\.0 % +2\.00 ms +3\.00 ms .* slower$' "by name"
run diff --exact -q old old.wtf-trace
silent "-q"
run diff --exact before after
exits 1 "not equal"
out_is "the first differences" <<'EXPECTED'
before and after have 3 differences:
  only before: main thread > main > gone
  only after: main thread > main > new
  REALTIME (sec) 2.000 ms -> 3.000 ms: main thread > main > slower
EXPECTED
run diff --exact before after --json
out_has '"equal": false' "as JSON"
run diff --exact before after --threshold 5%
exits 2 "--exact has no threshold"

# names that nobody should have
# shellcheck disable=SC2016
strange='a|b<c>`d`*e*[f](g)_h_&"'
make_session strange1 "$strange:1000000" "$(printf 'x\ny\033[31m'):1000000" || exit 1
make_session strange2 "$strange:2000000" "$(printf 'x\ny\033[31m'):2000000" || exit 1
run diff strange1 strange2
out_has 'x\\ny\\x1b\[31m$' "control characters are escaped"
run diff strange1 strange2 --markdown
is "$(grep -c '^| <code>' "$out")" 2 "markdown: a line for each"
out_has '<code>a&#124;b&#60;c&#62;&#96;d&#96;&#42;e&#42;&#91;f&#93;\(g\)&#95;h&#95;&#38;&#34;</code>' "escaped"
run diff strange1 strange2 --json
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out"
ok $? "JSON stays JSON"
run diff strange1 strange2 --csv
python3 -c 'import csv, sys; rows = list(csv.reader(open(sys.argv[1], newline=""))); assert len({len(row) for row in rows}) == 1' "$out"
ok $? "CSV stays CSV"
finish
