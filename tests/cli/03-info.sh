#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde info` and `sonde formats`.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session crashed crashed
session headeronly headeronly
session bad_magic bad

run info trace
exits 0 "info"
out_is "info of a good session" <<'END'
trace
  format     ADA Trace Format v2 (atf), 394.8 kB on disk
  state      finished
  process    pid unknown, x86_64 on linux
  time       882.488 us from @1000000000132 ns on the boottime clock
  holds      4,000 events, 1,400 details, 4 tracks, 12 functions, 2 modules

  ID  TRACK     EVENTS  DETAILS       FIRST        LAST
   0  thread 0   1,000      350        0 ns  460.788 us
   1  thread 1   1,000      350   52.425 us  882.488 us
   2  thread 2   1,000      350   94.314 us  532.802 us
   3  thread 3   1,000      350  228.709 us  830.287 us
END

run info crashed
exits 0 "info of a damaged session"
out_has '^  state +damaged: 9 errors, 1 warning, 0 notes$' "it says damaged"
out_has 'index\.atf was never finished.* 3 times +atf-index-footer-missing$' "it names the faults"
out_has '^  holds +2,682 events' "it counts what can be read"
out_has '^ +0  thread 0 .* unfinished$' "it marks unfinished tracks"
out_has '^  sonde check crashed ' "it names check as a next step"
out_has '^  sonde recover crashed -o NEW ' "it names recover as a next step"

run info headeronly
out_has '^  time +no events$' "a session without events"

run info -v trace
out_has '^  /opt/demo/bin/demo +0x400000 +65\.5 kB +75067905-' "-v lists the modules"

run info trace headeronly
exits 0 "info of several"
is "$(grep -c '^  format ' "$out")" 2 "several are shown one after the other"
run info trace bad
exits 3 "info of a good and an unreadable one"
out_has '^  state +finished$' "the good one is shown"
err_has '^sonde: bad/thread_0/index.atf: offset 0 \(0x0\): ' "the other one is explained"

COLUMNS=60
export COLUMNS
sed -i 's/"id": 1, /"id": 1, "name": "a name that is much longer than the screen is wide", /' \
	trace/manifest.json
run info trace
is "$(grep '^ *1  ' "$out" | wc -L)" 60 "the table fits the screen"
out_has '^ +1  a name.*\.\.\. +1,000' "a long name is cut"
unset COLUMNS
run info trace
out_has '^ +1  a name that is much longer than the screen is wide +1,000' \
	"without a screen nothing is cut"

session nodetail said
sed -i -e 's/^{/{ "pid": 4242, "process_name": "demo", "command_line": ["demo", "-x", "a b"],\
  "clock_anchors": [{"clock_ns": 1000000000257, "realtime_ns": 1790000000123456789}],/' \
	-e 's/"id": 0, /"id": 0, "name": "main", "os_id": 4243, "dropped_events": 17, /' \
	said/manifest.json
run info said
out_is "what a recorder says about its session" <<'END'
said
  format     ADA Trace Format v2 (atf), 60.5 kB on disk
  state      finished
  process    pid 4242 demo, x86_64 on linux: demo -x 'a b'
  time       404.608 us from @1000000000257 ns on the boottime clock
  started    2026-09-21 14:13:20.123 UTC
  holds      1,800 events, 0 details, 3 tracks, 12 functions, 2 modules
  dropped    17 events that the recorder could not keep

  ID  TRACK     OS ID  EVENTS      FIRST        LAST  DROPPED
   0  main       4243     600       0 ns  348.693 us       17
   1  thread 1            600     484 ns  185.253 us
   2  thread 2            600  69.748 us  404.608 us
END
run info -v said
out_has '^  process 0: command_line = \["demo","-x","a b"\]$' "-v lists all attributes"

session crashed many
for number in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
	cp -R many/thread_0 many/thread_$number
done
run info many
is "$(grep -c ' unfinished$' "$out")" 20 "of many tracks twenty are shown"
out_has '^  \.\.\. and 5 more \(use -v\)$' "and how many more there are"
run info -v many
is "$(grep -c ' unfinished$' "$out")" 25 "all of them with -v"

run formats
exits 0 "formats"
out_has '^atf +ADA Trace Format v2 +folder +\.atf +read, write, check, recover +events, details, blobs$' \
	"formats lists atf"

if have python3; then
	run info --json trace crashed
	python3 - "$out" <<'END'
import json, sys
one, two = json.load(open(sys.argv[1]))["recordings"]
assert one["format"] == "atf" and one["state"] == "finished" and one["events"] == 4000
assert [track["events"] for track in one["tracks"]] == [1000] * 4
assert one["tracks"][1]["first_ns"] == 1000000052557
assert len(one["functions"]) == 12 and one["functions"][0]["name"] == "main"
assert [module["path"] for module in one["modules"]][0] == "/opt/demo/bin/demo"
assert two["state"] == "damaged" and two["errors"] == 9 and two["warnings"] == 1
assert len(two["findings"]) == 10 and two["findings"][0]["id"] == "atf-manifest-missing"
END
	ok $? "info --json says all that"
	run formats --json
	python3 -c 'import json, sys; assert json.load(sys.stdin)[0]["reads"] == ["events", "details", "blobs"]' \
		<"$out"
	ok $? "formats --json"
else
	skip "info --json" "no python3"
fi

finish
