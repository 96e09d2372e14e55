#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How fast uftrace data and the text of perf script are read, in CPU time: `convert_intake.sh SONDE GOLDEN`.
set -eu
sonde=$1 golden=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -R "$golden/uftrace/small" "$work/data"
python3 - "$work/data/17737.dat" "$golden/perf_script/default.txt" "$work/perf.txt" <<'END'
import array, re, struct, sys
time, word = struct.unpack("<QQ", open(sys.argv[1], "rb").read(16))
records = array.array("Q")
for i in range(5_000_000):
    records.extend((time + 20 * i, word >> 16 << 16 | 40, time + 20 * i + 5, word >> 16 << 16 | 41))
open(sys.argv[1], "wb").write(records.tobytes())
text = open(sys.argv[2]).read()
with open(sys.argv[3], "w") as out:
    for i in range(50_000):
        out.write(re.sub(r" (\d+)\.(\d{6}):", lambda m: f" {int(m[1]) + i}.{m[2]}:", text))
END
echo "10 M records of uftrace, report:"
/usr/bin/time -f '  %U s user, %S s system, %M KB' "$sonde" report -q "$work/data" >/dev/null
echo "$(($(wc -c <"$work/perf.txt") / 1000000)) MB of perf script, report:"
/usr/bin/time -f '  %U s user, %S s system, %M KB' "$sonde" report -q "$work/perf.txt" >/dev/null
