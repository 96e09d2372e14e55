#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What survives a conversion: `sonde formats --matrix`, --strict, --loss-report, and what is refused.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace

run formats --matrix
exits 0 "formats --matrix"
out_has '^ 1 atf +=' "a row for each source"
out_has '^   wtf-calls ' "also for one that is read only"
out_has '^TARGET, AND WHAT IT DOES NOT HOLD$' "and what each target does not hold"
out_has '^ *[0-9]+ zts +instants, marks' "which is named"
awk 'length($0) > 80 { exit 1 }' "$work/out"
ok $? "it fits 80 columns"
COLUMNS=160 "$SONDE" formats --matrix >"$work/wide"
[ "$(wc -l <"$work/wide")" -lt "$(wc -l <"$work/out")" ]
ok $? "and takes fewer lines where there is more room"
run formats --matrix --json
exits 0 "formats --matrix --json"
python3 -c '
import json, sys
pairs = {(p["source"], p["target"]): p for p in json.load(sys.stdin)}
assert pairs["cff", "atf"]["how"] == "whole" and not pairs["cff", "atf"]["lost"]
assert "exceptions" in pairs["atf", "hpcdb"]["lost"] and pairs["atf", "hpcdb"]["derived"] == ["calls"]
' <"$work/out"
ok $? "for each pair what is carried over, derived and lost"

run convert trace -o lost -t zts --loss-report loss.json
exits 0 "a conversion that loses something"
out_has '^wrote lost \(zts\): [0-9,]+ events of 4,000 read' "how much was written"
python3 -c '
import json
losses = {l["what"]: l for l in json.load(open("loss.json"))["losses"]}
assert losses["machines of processes"]["count"] == 1, losses
assert losses["modules of functions"]["count"] > 0, losses
'
ok $? "what the target does not hold of definitions is in the report"
run convert trace -o never -t zts --strict --loss-report strict.json
exits 1 "--strict"
out_has '^would be lost:$' "names what would be lost"
cmp -s loss.json strict.json
ok $? "in the same report"
[ ! -e never ]
ok $? "and writes nothing"
run convert trace -o copy.wtf-trace --strict
exits 1 "registers have no place in a wtf-trace file"
session nodetail plain
run convert plain -o plain.wtf-trace --strict
exits 0 "all else has: what only other readers miss is no loss"

# A profile without samples says how long, and not when.
run convert trace -o profile -t hpcdb --style no-traces --quiet
exits 0 "a profile without samples"
run convert profile -o calls -t atf
exits 3 "is not made calls of"
err_has 'says how long, but not when' "which is said"
err_has 'hint: formats that hold such values: .*hpcrun' "and who could hold it"
[ ! -e calls ]
ok $? "and nothing is written"
run convert profile -o profile.m -t hpcrun
exits 0 "another profile can hold it"
finish
