#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles for speedscope and the Firefox Profiler: written from calls and from profiles, read back where that can be, and
# what is said of what they do not hold.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session crashed crashed

run convert trace -o trace.speedscope.json
exits 0 "calls for speedscope: the name says the format"
out_has '^wrote trace\.speedscope\.json \(speedscope\): 4,000 events of 4,000 read' "what was written is told"
out_has '^  1,400 details: the target does not hold details$' "what is lost"
out_has '^  79 exceptions: other readers see that the call ended$' "what only sonde reads back"
head -c 100 trace.speedscope.json >"$out"
out_has 'schema":"https://www\.speedscope\.app/file-format-schema\.json"' "the schema comes first"
run info trace.speedscope.json
out_has 'speedscope profile \(speedscope\)' "it is recognised"
out_has '^  holds +4,000 events' "with all of its events"
"$SONDE" dump --csv trace | cut -d, -f1-8 >"$work/before"
"$SONDE" dump --csv trace.speedscope.json | cut -d, -f1-8 >"$work/after"
cmp -s "$work/before" "$work/after"
ok $? "the same events, times, names, threads and depths"
"$SONDE" report --csv --no-cache trace >"$work/before"
"$SONDE" report --csv --no-cache trace.speedscope.json >"$work/after"
cmp -s "$work/before" "$work/after"
ok $? "the same report"
run convert trace.speedscope.json -o back -t atf
exits 0 "and back"
run check back
exits 0 "which is as it should be"
run convert trace -o trace.speedscope.json --force
exits 0 "one is replaced where that is wanted"
run convert trace -o strict.speedscope.json --strict
exits 1 "--strict: not with details"
[ ! -e strict.speedscope.json ]
ok $? "and nothing is written"

run convert crashed -o crashed.speedscope.json
out_has '^  18 calls that never ended: ' "calls that are open in the end"
run convert trace -o database -t hpcdb
run convert database -o database.speedscope.json
exits 0 "a profile for speedscope"
out_has 'calling contexts, [0-9,]+ values, 4,000 samples' "with its values and samples"
spent() { # who, and how long by itself and in all
	"$SONDE" report --csv --no-cache "$1" | awk -F, '{ print $2, $3, $NF }'
}
spent database >"$work/before"
spent database.speedscope.json >"$work/after"
cmp -s "$work/before" "$work/after"
ok $? "the same times in it"

printf '{"profiles":[{"name":"py","type":"sampled","unit":"seconds","samples":[[0],[0,1]],"weights":[1,0.5]}],"shared":{"frames":[{"name":"main"},{"name":"work","file":"w.py","line":7}]}}' >foreign.json
run report --no-cache foreign.json
exits 0 "a file of another tool"
out_has '1\.000 s +1\.500 s +100\.0% .*main' "its times"
run convert foreign.json -o foreign.atf -t atf
exits 0 "its samples become calls"
head -c 150 foreign.json >cut.json
run info cut.json
out_has '^  state +damaged: ' "one that is cut off is told of"
out_has '^  sonde convert cut.json -o NEW ' "what is left is had by converting it"

run convert trace -o trace.firefox.json
exits 0 "calls for the Firefox Profiler"
out_has '^  2,000 numbers of calls: ' "what that loses"
head -c 400 trace.firefox.json >"$out"
out_has '"preprocessedProfileVersion":55' "the version that is written"
run convert trace -o trace.firefox.json.gz
exits 0 "packed"
gzip -dc trace.firefox.json.gz | cmp -s - trace.firefox.json
ok $? "with the same in it"
run convert --force trace -o trace.firefox.json.gz
exits 0 "a packed one is replaced where that is asked for"
run convert database -o database.firefox.json
exits 0 "a profile for the Firefox Profiler"
run info trace.firefox.json.gz
exits 3 "it is not read"
err_has 'recordings in format firefox are written here, not read' "and that is said"

finish
