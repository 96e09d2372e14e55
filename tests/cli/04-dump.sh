#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde dump` as text, JSON lines and CSV.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session crashed crashed
session headeronly headeronly

run dump trace --limit 6
exits 0 "dump"
out_is "text is indented by depth" <<'END'
0.000000000  thread 0  -> run_loop
0.000000021  thread 0    -> fail
0.000000350  thread 0      -> fail
0.000000765  thread 0      <- fail
0.000001044  thread 0      -> fail
0.000001137  thread 0        -> _ZN4work6Engine3runEv
END
run dump trace --track 0 --time human --limit 3
out_is "human times; one track needs no column" <<'END'
         0ns  -> run_loop
        21ns    -> fail
       350ns      -> fail
END
run dump trace --time absolute --kind exception --limit 2
out_is "absolute times; exceptions have a mark of their own" <<'END'
1000000018514  thread 0                  !! work_free
1000000018806  thread 0                !! main
END
run dump trace
is "$(wc -l <"$out" | tr -d ' ')" 4000 "a line an event"
cut -c1-11 "$out" | sort -c
ok $? "in the order of time"
run dump trace --offset 3990 --limit 100
is "$(wc -l <"$out" | tr -d ' ')" 10 "--offset with --limit at the end"
run dump trace --limit 4 --offset 2
tail -n +3 <<'END' >"$work/want"
0.000000000  thread 0  -> run_loop
0.000000021  thread 0    -> fail
0.000000350  thread 0      -> fail
0.000000765  thread 0      <- fail
0.000001044  thread 0      -> fail
0.000001137  thread 0        -> _ZN4work6Engine3runEv
END
out_is "--offset passes over" <"$work/want"
run dump trace --max-depth 1 --track 0 --limit 2
out_is "--max-depth" <<'END'
0.000000000  -> run_loop
0.000052031  <- run_loop
END

run dump trace --detail --function 'handle*' --limit 1
out_is "--detail shows registers and stack" <<'END'
0.000011045  thread 0          -> handle_request
      detail type 3, flags 0x0, register flags 0x0
      rdi  0xde684601baf1c748  rsi  0x947f5b84d090f6c6  rdx  0xc3da19bcae82a6ab
      rcx  0x2f041032f1ef6926  r8   0x397e4f777e1a3e74  r9   0xf29b22bb7fb71708
      rax  0x3c4fd90e7020bb26  rdx2 0x50a82c31942af3d0  rip  0x0000000000400237
      rbp  0x000000007ffe0000  rsp  0x000000007ffdfe60
      stack, 23 bytes
        +0000  45 ff 16 82 65 4f 19 d5  ec 5b 17 5d 49 1f 8f e4  |E...eO...[.]I...|
        +0010  53 bb e2 77 13 95 d4                              |S..w...|
END

run dump trace --csv --limit 2
tr -d '\r' <"$out" >"$work/unix"
same_text "$work/unix" "CSV has a header and both times" <<'END'
time_ns,relative_ns,track,track_name,kind,name,depth,synthetic,value,arguments
1000000000132,0,0,thread 0,call,run_loop,1,0,,
1000000000153,21,0,thread 0,call,fail,2,0,,
END
is "$(grep -c "$(printf '\r')\$" "$out")" 3 "CSV lines end as RFC 4180 says"
run dump trace --csv
is "$(wc -l <"$out" | tr -d ' ')" 4001 "CSV has a row an event and a header"

run dump trace --json --limit 1
out_is "JSON lines" <<'END'
{"time_ns":1000000000132,"relative_ns":0,"track":0,"track_name":"thread 0","kind":"call","name":"run_loop","depth":1}
END
if have python3; then
	run dump trace --json --detail
	python3 - "$out" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) == 4000
details = [row["detail"] for row in rows if "detail" in row]
assert len(details) == 1400
assert all(len(detail["registers"]) == 11 for detail in details)
assert all(len(detail["stack"]) % 2 == 0 for detail in details)
END
	ok $? "each of them is JSON, with details"
	run dump trace --csv --detail
	python3 - "$out" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert len(rows) == 4000
assert sum(row["registers"] != "" for row in rows) == 1400
assert all(None not in row and None not in row.values() for row in rows)
END
	ok $? "CSV with details is read by a CSV reader"
else
	skip "JSON and CSV" "no python3"
fi

if have python3; then
	session normal odd
	python3 - odd/thread_0/index.atf <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    first = struct.unpack_from("<Q", file.read(72), 64)[0]
    file.seek(64 + 24)
    file.write(struct.pack("<I", 60))
    file.seek(64 + 32 + 20)
    file.write(struct.pack("<I", 77))
    file.seek(64 + 999 * 32)
    file.write(struct.pack("<Q", first + 7265 * 10**9 + 5 * 10**8))
END
	run dump odd --track 0 --limit 1
	is "$(cat "$out")" "   0.000000000  $(printf '%80s' '')(depth 60) -> run_loop" \
		"deep calls say how deep; times are as wide as the longest"
	run dump odd --track 0 --offset 1 --limit 1
	out_is "an unknown kind is kept, with its number" <<'END'
   0.000000021    other fail (kind 77)
END
	run dump odd --track 0 --offset 999
	out_is "a long time in seconds" <<'END'
7265.500000000  <- work_sort
END
	run dump odd --track 0 --offset 999 --time human
	out_is "a long time for people" <<'END'
    2h01m05s  <- work_sort
END
fi
session normal named
sed -i 's/"id": 1, /"id": 1, "name": "a thread with a name that is far too long for a column", /' \
	named/manifest.json
run dump named --limit 1
out_is "long names of tracks are cut" <<'END'
0.000000000  thread 0                          -> run_loop
END
run dump named --limit 1 --offset 300
out_has '^0\.[0-9]+  a thread with a name that is \.\.\.  ' "and end with dots"

run dump crashed --limit 1
exits 0 "dump of a damaged session"
err_is "one warning for a damaged session" <<'END'
sonde: warning: crashed: 10 faults while reading ('sonde check' tells which)
END
out_is "functions without names have numbers" <<'END'
0.000000000  thread 0  -> 0x7506790500000002
END
run dump -q crashed --limit 1
[ ! -s "$err" ]
ok $? "-q silences the warning"
run dump -q headeronly --from 10% --to 50%
exits 0 "a range of a session without events"
run dump -q headeronly
exits 0 "dump of a session without events"
silent "which is empty"
run dump trace --function nothing_has_this_name
exits 0 "nothing fits"
err_has 'no event fits' "nothing fits: a word about it"

run dump trace --kind range-begin,range-end,flow-begin
exits 0 "kinds that this format does not have"
err_has 'no event fits' "are words all the same"
run dump trace --resource 0
exits 3 "a resource that is not there"
err_has '^sonde: trace: there is no resource 0$' "which is said"

# What is in names must not reach a terminal, nor break a table.
sed -i 's/"name": "run_loop"/"name": "run\\u001b[31m\\nloop,\\"\\u202e\\u009b"/' trace/manifest.json
run dump trace --limit 1
out_is "control characters are escaped in text" <<'END'
0.000000000  thread 0  -> run\x1b[31m\nloop,"\u202e\x9b
END
run dump trace --limit 1 --json
! grep -q "$(printf '\033')" "$out"
ok $? "and in JSON"
if have python3; then
	run dump trace --limit 1 --csv
	python3 - "$out" <<'END'
import csv, sys
(row,) = csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8"))
assert row["name"] == "run\x1b[31m\nloop,\"\u202e\x9b", row
END
	ok $? "CSV keeps them, quoted"
fi

finish
