#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde convert`, `cut` and `merge`.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session nodetail other
session crashed crashed

run convert trace -o copy
exits 0 "convert"
out_is "convert tells what it did" <<'END'
wrote copy (atf): 4,000 events of 4,000 read, 1,400 details
nothing was lost
END
"$SONDE" dump --json --detail trace >"$work/a"
"$SONDE" dump --json --detail copy >"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "every event and detail is the same"
run check copy
exits 0 "the copy passes the check"
run convert copy -o copy2
diff -r copy copy2 >"$work/diff"
ok $? "the same input gives the same bytes"

run convert trace -o few --track 2 --max-depth 2
exits 0 "convert with filters"
run check few
exits 0 "what is filtered passes the check"
run info few
out_has '^  holds .* 1 track,' "tracks that were not asked for are absent"

run convert trace -o styled --style plain
exits 2 "a style that the format does not have"
err_has '^sonde: --style: format atf is written in one way only' "which is said"
[ ! -e styled ]
ok $? "and nothing is written"

run convert trace -o copy
exits 3 "an existing output is not replaced"
run convert trace -o copy --force --quiet
exits 0 "--force replaces it"
silent "-q says nothing"
mkdir precious && echo mine >precious/file
run convert trace -o precious --force
exits 3 "--force replaces recordings only"
err_has 'not a readable recording' "and says why"
is "$(cat precious/file)" mine "what was there stays"
run convert trace -o trace --force
exits 2 "the output is the input"
run convert trace -o trace/thread_0/../../trace/new
exits 2 "the output is inside the input"
err_has "lies inside the input" "which is said"
run convert trace/thread_0/index.atf -o trace --force
exits 2 "the output contains the input"
[ -d trace/thread_0 ]
ok $? "and is still there"
run convert trace -o missing/new
exits 3 "the folder of the output is missing"
err_has 'missing' "which is named"
mkdir empty
run convert trace -o empty
exits 0 "an empty folder is no obstacle"
run convert trace
err_has "'convert' needs an output: -o FILE" "an output is needed"
find . -name '.*' ! -name . | grep -q .
is $? 1 "nothing is left over"

# An output that cannot be made is called what the user called it.
for command in convert recover "cut --from 1us" "merge other"; do
	# shellcheck disable=SC2086 # words
	run $command trace -o /proc/nothing
	exits 3 "$command to where nothing can be written"
	err_has '^sonde: /proc/nothing: cannot be created' "$command names the output as it was given"
done
long=$(printf '%0255d' 0)
run convert trace -o "$long"
exits 0 "a name as long as names can be"
rm -rf "$long"
find . -name '*.partial*' | grep -q .
is $? 1 "no half-made output is left over"

run cut trace --from 100us --to 200us -o piece
exits 0 "cut"
out_is "cut tells what it did" <<'END'
wrote piece (atf): 466 events of 4,000 read, 150 details
9 calls opened again at the start and 10 closed at the end, by events marked synthetic
nothing was lost
END
run check piece
exits 0 "the piece passes the check"
run dump piece --limit 1
out_is "calls are opened again, and marked" <<'END'
0.000000000  thread 2  -> work_sort (synthetic)
END
"$SONDE" dump piece --csv | tr -d '\r' | awk -F, '$8 == 0 { print $1, $6 }' >"$work/a"
"$SONDE" dump trace --from 100us --to 200us --csv | tr -d '\r' | awk -F, '$8 == 0 { print $1, $6 }' \
	>"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "the rest is what was there"
run cut trace -o nothing
exits 2 "cut needs a time"
run cut trace --from 5us --to 1us -o nothing
exits 2 "cut needs times in order"

run merge trace other -o both
exits 0 "merge"
out_has '^wrote both \(atf\): 5,800 events of 5,800 read, 1,400 details$' "merge tells what it did"
run info both
out_has '^  holds +5,800 events, 1,400 details, 7 tracks' "everything is in it"
run check both
exits 0 "what is merged passes the check"

run merge trace crashed -o lossy --loss-report loss.json
exits 0 "a merge that loses something"
err_has '^sonde: warning: crashed: 10 faults' "damaged sources are told"
out_has '^lost:$' "losses are told"
out_has '^  106 details without an event: ' "and counted"
run merge trace crashed -o strict --strict --loss-report strict.json
exits 1 "--strict refuses to lose"
err_has 'nothing was written' "which is said"
[ ! -e strict ]
ok $? "and leaves no output"
cmp -s loss.json strict.json
ok $? "the report is written all the same"
run convert trace -o exact --strict
exits 0 "--strict without a loss"
[ -d exact ]
ok $? "leaves the output"

if have python3; then
	python3 -c 'import json; (loss,) = json.load(open("loss.json"))["losses"]
assert loss["count"] == 106 and loss["what"] == "details without an event"
assert loss["only_elsewhere"] is False'
	ok $? "the loss report is JSON"
	run cut trace --from 100us --to 200us -o piece2 --json
	python3 - "$out" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["events_written"] == 466 and report["calls_opened"] == 9 and report["calls_closed"] == 10
assert report["sources"] == ["trace"] and report["losses"] == [] and report["written"] is True
END
	ok $? "cut --json"
	run merge trace crashed -o strict --strict --json
	exits 1 "--strict with --json"
	python3 -c 'import json, sys; assert json.load(sys.stdin)["written"] is False' <"$out"
	ok $? "says that nothing was written"
else
	skip "JSON" "no python3"
fi

finish
