#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde align`: clocks that are off by what is known are found out, and the errors that are told hold. And what
# `sonde merge` says of clocks.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
python3 "$root/tests/cli/align_recordings.py" . || skip_all "no recordings"

# clock N FIELD: of the JSON in $out, what was found out about clock N.
clock() {
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["alignment"][int(sys.argv[2])][sys.argv[3]])' "$out" "$1" "$2"
}

# near VALUE EXPECTED ERROR NAME: whole numbers.
near() {
	[ "$1" -le $(($2 + $3)) ] && [ "$1" -ge $(($2 - $3)) ]
	ok $? "$4" || echo "# got $1, expected $2 within $3"
}

run align reference offset noisy late --event barrier --dry-run
exits 0 "by events"
out_is "what was found out" <<'END'
N  RECORDING  CLOCK     BY                      OFFSET     ERROR     MATCHED
0  reference  boottime  reference
1  offset     boottime  events           +7,000,123 ns      0 ns         400
2  noisy      boottime  events           -5,000,005 ns  1.908 us         400
3  late       boottime  events     +989,999,999,997 ns     48 ns  363 of 400
END
err_has 'recording 3: the first 37 events of recording 0 have nothing to be matched with' "what one side lacks"

run align reference offset noisy drifting late --event 'barr*' --dry-run --json
exits 0 "the same for a program"
is "$(clock 1 offset_ns)" 7000123 "an offset, exactly"
near "$(clock 2 offset_ns)" -5000000 "$(clock 2 error_ns)" "an offset within the error that is told"
near "$(clock 2 error_ns)" 1900 100 "which is what the noise is"
near "$(clock 4 offset_ns)" 990000000000 "$(clock 4 error_ns)" "an offset of one that began later"
is "$(clock 4 skipped)" 37 "what it lacks at its start"
is "$(clock 0 method)" reference "the first is the reference"
err_has 'recording 3: its clock seems to drift by -2[45]\.[0-9]* ppm' "a drift is noticed"

run align reference drifting --event barrier --drift --dry-run --json
exits 0 "with drift"
near "$(python3 -c "print(round($(clock 1 drift_ppm) * 1000))")" -25000 20 "the drift in ppb"
near "$(clock 1 error_ns)" 300 40 "and an error that is no more than the noise"

run align reference drifting --event barrier --drift -o aligned
exits 0 "written"
out_has '^wrote aligned \(atf\): 1,600 events of 1,600 read' "with all events"
run check aligned
exits 0 "the output passes the check"
"$SONDE" dump aligned --csv --track 0 --kind call | cut -d, -f1 >"$work/a"
"$SONDE" dump aligned --csv --track 1 --kind call | cut -d, -f1 >"$work/b"
paste -d, "$work/a" "$work/b" |
	awk -F, 'NR > 1 { d = $1 - $2; if (d < 0) d = -d; if (d > m) m = d } END { exit !(NR == 401 && m <= 400) }'
ok $? "both are at a barrier at the same time, within the error"

run align wall-a wall-b -o walls
exits 0 "by anchors"
out_has 'wall-b +boottime +anchors +-77,000,000,000 ns +unknown +1' "the same wall time is the same time"
"$SONDE" dump walls --csv --track 0 | cut -d, -f1 >"$work/a"
"$SONDE" dump walls --csv --track 1 | cut -d, -f1 >"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "which holds for every event"
run align walls --event barrier --dry-run --json
exits 0 "one recording with two clocks"
is "$(clock 1 offset_ns)" 0 "which agree by now"

run align reference noisy --offset 1=-5ms -o given
exits 0 "as given"
out_has 'noisy +boottime +offset +-5,000,000 ns +as given' "which is told"
run align reference offset noisy --offset 1=7000123ns --event barrier --dry-run --json
is "$(clock 1 method) $(clock 2 method)" "offset events" "one given, one found out"
run align reference offset --offset -2000s -o lifted
exits 0 "before 0"
err_has 'all times, those of recording 0 too, are moved on by [0-9]+ ns' "all times are moved on"
run info lifted
out_has 'from @0 ns' "so that the first is 0"
is "$("$SONDE" dump lifted --csv --track 1 --limit 1 | tail -1 | cut -d, -f1)" 0 "of the one that was moved back"

run align reference offset -o missing
exits 3 "no anchors"
err_has 'name an event .*--event NAME.*--messages.*--offset' "and what to do"
[ ! -e missing ]
ok $? "nothing is written"
run align reference offset --event nothing --dry-run
exits 3 "no such event"
err_has 'reference has no event called "nothing"' "which is said"
run align reference offset --messages --dry-run
exits 3 "no messages"
run align reference --dry-run
exits 2 "nothing to align with"
run align reference offset --drift --dry-run
exits 2 "a drift of what?"
run align reference offset --offset 5=1ms --dry-run
exits 2 "no such recording"
run align reference offset --offset 0=1ms --dry-run
exits 2 "the reference stays"
run align reference offset --offset x=1ms --dry-run
exits 2 "not a number"

run merge wall-a wall-b -o both
exits 0 "merge of different clocks"
err_has 'warning: the clocks of wall-a and wall-b differ: by the wall clock they are 1 m 17.* apart.*sonde align' \
	"tells so"
run merge reference offset -o plain
exits 0 "merge of what may be one clock"
silent_errors=$(cat "$err")
is "$silent_errors" "" "says nothing of it"
run merge wall-a wall-a --label-files -o twice
exits 0 "the same twice, labelled"
run info twice
out_has 'process +pid 15 wall-a,' "by the name of the file"
out_has 'process +pid 15 wall-a-2,' "and a number"
run merge reference offset --label one,two -o labelled
run info labelled
out_has 'process +pid 11 two,' "by names that are given"
run merge reference offset --label one -o few
exits 2 "a name is missing"

# doc/pieces.md: every command in it runs, in order

mkdir guide && cd guide || exit 1
session normal trace
session normal server
session nodetail client
cp -R ../wall-a rank-0 && cp -R ../wall-b rank-1
mkdir "$work/bin" && ln -s "$SONDE" "$work/bin/sonde"
PATH=$work/bin:$PATH
export PATH
# shellcheck disable=SC2016 # as it stands
sed -n '/^```sh$/,/^```$/p' "$root/doc/pieces.md" | sed '/^```/d' >"$work/commands"
is "$(grep -c '^sonde ' "$work/commands")" 12 "the commands of the guide are found"
while read -r command; do
	sh -c "$command" >"$out" 2>"$err" </dev/null
	ok $? "$command" || explain "$err"
done <"$work/commands"

finish
