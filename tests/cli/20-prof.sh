#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde prof`: measurements into a database. The measurements are made of sessions.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session crashed crashed
"$SONDE" convert -q trace -t hpcrun -o run.m
ok $? "measurements are made"

run prof run.m
exits 0 "prof"
[ -d run.d ]
ok $? "the output is called like the input"
out_has '^merged   4 profiles$' "how many profiles"
out_has '^contexts [0-9,]+$' "contexts"
out_has '^values   [0-9,]+$' "values"
out_has '^samples  4,000$' "samples"
out_has '^wrote    run.d, [0-9.]+ [kM]?B$' "where to and how large"
err_has 'sonde info run.d' "and what to do next"
run check run.d
exits 0 "the database passes the check"
run info run.d
exits 0 "and is a recording"

run prof run.m
exits 3 "an existing database is not replaced"
run prof run.m --force -q
exits 0 "--force replaces it"
silent "-q says nothing"
mkdir precious && echo mine >precious/file
run prof run.m -o precious --force
exits 3 "--force replaces databases only"
is "$(cat precious/file)" mine "what was there stays"
run prof run.m -o run.m/inside
exits 2 "the output lies inside the input"

for threads in 1 2 5; do
	run prof -q run.m -j $threads -o "threads$threads.d"
	exits 0 "-j $threads"
	diff -r run.d "threads$threads.d" >"$work/diff"
	ok $? "-j $threads gives the same bytes" || explain "$work/diff"
done
set -- run.m/*.hpcrun
run prof -q "$4" "$2" "$3" "$1" -o files.d
exits 0 "single files"
diff -r run.d files.d >"$work/diff"
ok $? "in any order give the same bytes"

run prof run.m --dry-run -o dry.d
exits 0 "a dry run"
out_has '^wrote    nothing: a dry run$' "says so"
[ ! -e dry.d ]
ok $? "and writes nothing"

run prof run.m --only '*-001-*' -o only.d
exits 0 "--only"
out_has '^merged   1 profile$' "takes what fits"
run prof run.m --only 'nothing*' -o none.d
exits 3 "--only that nothing fits"
err_has 'no profile fits what --only asks for' "which is said"

run prof run.m --stats all --title 'My run' --no-traces -o all.d
exits 0 "statistics, title, no traces"
[ ! -e all.d/trace.db ]
ok $? "no traces are written"
run check all.d
exits 0 "statistics pass the check"
run prof run.m --stats none,sum -o x.d
exits 2 "none is no statistic beside others"
run prof run.m --stats none --no-thread-values -o x.d
exits 2 "no values at all"
run prof run.m -R nonsense -o x.d
exits 2 "a replacement without ="
err_has "OLD=NEW" "says how it is written"

# Damage: the rest is merged, and what is refused is told.
cp -R run.m damaged.m
set -- damaged.m/*.hpcrun
head -c 500 "$1" >short && mv short "$1"
printf 'rubbish' >damaged.m/rubbish.hpcrun
run prof damaged.m run.d missing -o rest.d --report report.json
exits 1 "damaged inputs are findings"
out_has '^merged   3 profiles$' "the rest is merged"
out_has "^  $1\$" "what is refused is named"
out_has '^    .*footer' "with the reason"
out_has '^  damaged.m/rubbish.hpcrun$' "what is no profile too"
out_has '^    it is a database already' "a database is refused"
out_has '^    there is no such file or folder$' "and what is not there"
run check rest.d
exits 0 "what was merged passes the check"
python3 - <<'END'
import json
report = json.load(open("report.json"))
assert report["written"] is True and report["profiles"] == 3
paths = [entry["path"] for entry in report["refused"]]
assert paths[0] == "damaged.m/rubbish.hpcrun" and paths[2:] == ["missing", "run.d"], paths
assert all(entry["reason"] for entry in report["refused"])
END
ok $? "the report is JSON with the same in it"
run prof missing run.d -o x.d --report report.json
exits 3 "nothing left to merge"
err_has 'there is no profile that could be merged' "which is said"
out_has '^    there is no such file or folder$' "with all reasons"
[ ! -e x.d ]
ok $? "and nothing is written"
grep -q '"written": false' report.json
ok $? "the report says so too"

run prof run.m -o early.d --report nowhere/report.json
exits 3 "a report that cannot be written"
err_has 'nowhere: this folder does not exist' "which is said"
[ ! -e early.d ]
ok $? "before anything is merged"
run prof -q run.m -o early.d --report early.d/report.json
exits 0 "a report in the database that it is about"
grep -q "\"bytes\": $(find early.d -type f ! -name report.json -exec cat {} + | wc -c | tr -d ' ')," early.d/report.json
ok $? "counts the bytes of all its files"

# Sessions need no detour.
run prof trace -o session.d
exits 0 "a session"
out_has '^merged   4 profiles$' "its threads are profiles"
run check session.d
exits 0 "its database passes the check"
run prof crashed -o crashed.d
exits 1 "a damaged session is a finding"
out_has "it is damaged: what can be read of it is merged" "and its rest is merged"
run check crashed.d
exits 0 "into a whole database"
run prof trace run.m -o both.d
exits 0 "a session and measurements together"
out_has '^merged   8 profiles$' "make one database"
run check both.d
exits 0 "which passes the check"

# What lies beside profiles goes with them, so that a copy gives the same database.
if have python3; then
	python3 "$root/tests/cli/prof_measurements.py" heat.m
	run convert heat.m -t hpcrun -o copy.m
	exits 0 "measurements copied"
	out_has '^wrote copy.m .*, 1 resource$' "with their structure file"
	out_has '^nothing was lost$' "and nothing was lost"
	run prof -q heat.m -o heat.d
	run prof -q copy.m -o copy.d
	diff -r heat.d copy.d >"$work/diff"
	ok $? "the copy gives the same database" || explain "$work/diff"
	run dump copy.d --contexts --csv
	out_has ',flux,' "with names from that file"
	run convert heat.m -t hpcdb -o converted.d
	out_has '^  1 resources: the target does not hold resources$' "what cannot go with them is told"
else
	skip "what lies beside profiles" "no python3"
fi

finish
