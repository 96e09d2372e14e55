#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Perfetto traces: written, recognised, read, and the same in reports.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
export XDG_CACHE_HOME="$work/cache"

session normal trace
run convert trace -o trace.pftrace
is "$code" 0 "a session becomes a trace by its name"
grep -q "registers and stack bytes" "$out"
ok $? "what is lost is told" || explain "$out"
run convert trace -o strict.pftrace --strict
is "$code" 1 "a strict run refuses" || explain "$err"
[ ! -e strict.pftrace ]
ok $? "and leaves nothing"
run convert trace -o located.pftrace --style locations
is "$code" 0 "with the style locations"
run convert trace -o wrong.pftrace --style nonsense
is "$code" 2 "no other style"

run info trace.pftrace
grep -q "Perfetto protobuf trace (perfetto)" "$out" && grep -q "4,000 events, 0 details, 4 tracks, 12 functions" "$out"
ok $? "it is recognised" || explain "$out"
cp trace.pftrace nameless
run info nameless
grep -q "(perfetto)" "$out"
ok $? "by its content" || explain "$out"
gzip -c trace.pftrace >packed
run info packed
grep -q "4,000 events" "$out"
ok $? "packed too" || explain "$out"

"$SONDE" dump trace >expected
"$SONDE" dump trace.pftrace >actual
cmp -s expected actual
ok $? "its events are those of the session"
"$SONDE" report trace | sed 1d >expected
"$SONDE" report trace.pftrace | sed 1d >actual
cmp -s expected actual
ok $? "its report is that of the session" || explain actual
run convert trace.pftrace -o back -t atf
is "$code" 0 "it becomes a session again"
"$SONDE" dump trace >expected
"$SONDE" dump back >actual
cmp -s expected actual
ok $? "which is the same"

run cut trace.pftrace --from 100us --to 200us -o cut.pftrace
is "$code" 0 "a piece of it"
run info cut.pftrace
is "$code" 0 "is a trace"

head -c 20000 trace.pftrace >short
run info short
grep -q "exchange-truncated" "$out"
ok $? "a file that ends too early is told" || explain "$out"
printf '\n{"traceEvents":[]}\n' >text
run info text -f perfetto
[ "$code" -ne 0 ] || grep -q "0 events" "$out"
ok $? "text holds nothing"
: >empty
run info empty
is "$code" 3 "an empty file is no trace" || explain "$out"

# shellcheck disable=SC2154 # tap.sh has it
run convert "$root/tests/golden/hpcdb/small" -o samples.pftrace
is "$code" 0 "a database becomes samples"
"$SONDE" dump --samples --json "$root/tests/golden/hpcdb/small" | sed 's/"context":[0-9]*,//; s|loop at main.c:10|work|' >expected
"$SONDE" dump --samples --json samples.pftrace | sed 's/"context":[0-9]*,//' >actual
cmp -s expected actual
ok $? "which are the same, but for loops" || explain actual

finish
