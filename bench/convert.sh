#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures conversions with the build in BUILD_DIR and prints a table: a session of CONVERT_EVENTS events (default
# 10000000, 320 MB) in four threads to each format that other tools read, and files of other tools read. Beside `uftrace
# dump --chrome` and `uftrace report`, over what uftrace recorded of a program that makes CONVERT_CALLS calls (default
# 5000000) and sonde recorded too, in the same run. CPU time is the least of some runs; a core is a second of it.
# usage: bench/convert.sh BUILD_DIR
set -eu

build=$(cd "${1:?usage: bench/convert.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
events=${CONVERT_EVENTS:-10000000}
calls=${CONVERT_CALLS:-5000000}
runs=3
sonde=$build/sonde
SONDE_CACHE=off
export SONDE_CACHE
# shellcheck source=bench/measure.sh
. "$here/measure.sh"

runtime=$(ninja -C "$build" -t targets all | sed -n 's/^\(libsonde-rt\.so\.[0-9.]*\):.*/\1/p')
ninja -C "$build" sonde "$runtime" bench/sonde-generate bench/sonde-cpu >&2
mkdir -p "$build/bench/data"
scratch=$(mktemp -d "$build/bench/data/convert.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

millions() {
	divide "$1" "$2" 0 | awk '{ printf "%.1f", $1 / 1e6 }'
}

# written FORMAT GOAL [OPTIONS]: a row for $source in that format; the output stays as out.d.
written() {
	format=$1 goal=$2
	shift 2
	repeat "$runs" "$sonde" convert -q "$source" -o "$scratch/out.d" -t "$format" "$@"
	row "to $format${*:+, $2}" "$(millions "$events" "$cpu")" 'M/s CPU' '' '' "$goal"
	row '  by the clock, and memory' "$(millions "$events" "$wall")" 'M/s' '' '' "$memory MB (below 200)"
}

# taken WHAT FILE GOAL: a row for a file of another tool that is opened, which reads all of it.
taken() {
	repeat "$runs" "$sonde" info "$2"
	row "$1" "$(millions "$(du -sb "$2" | cut -f 1)" "$cpu")" 'MB/s CPU' '' '' "$3"
	row '  memory' "$memory" MB '' '' 'below 200'
}

"$build/bench/sonde-generate" --events "$events" --threads 4 -o "$scratch/session" >&2
# profiles are as large as there are ways to call: this has some 20,000, as programs do, and not one for each call
"$build/bench/sonde-generate" --events "$events" --threads 4 --functions 5 --depth 6 -o "$scratch/paths" >&2
source=$scratch/session
echo "conversion of $(divide "$events" 1000000) M events of ATF"
row '' sonde '' uftrace ratio goal
written perfetto 'at least 5 a core'
mv "$scratch/out.d" "$scratch/trace.pftrace"
written parquet 'at least 10'
written parquet '' --style no-spans
written csv ''
written jsonl ''
written speedscope ''
mv "$scratch/out.d" "$scratch/trace.speedscope.json"
written chrome ''
mv "$scratch/out.d" "$scratch/trace.json"
source=$scratch/paths
written firefox ''
written pprof ''
written folded ''
written callgrind ''
taken 'Chrome JSON read' "$scratch/trace.json" 'at least 300'
taken 'Perfetto read' "$scratch/trace.pftrace" ''
taken 'speedscope read' "$scratch/trace.speedscope.json" ''
rm -rf "$scratch"/trace.* "$scratch/session" "$scratch/paths"

command -v uftrace >/dev/null || exit 0
cat >"$scratch/program.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static int leaf(int x) { __asm__(""); return x + 1; }
__attribute__((noinline)) static int work(int n) { return leaf(n) + leaf(n + 1); }
int main(int argc, char **argv)
{
	long rounds = atol(argc > 1 ? argv[1] : "1000") / 3;
	int sum = 0;

	for (long i = 0; i < rounds; i++)
		sum += work((int)i);
	return sum == 42;
}
END
sonde_flags=$("$sonde" cflags)
# shellcheck disable=SC2086 # words
cc -O1 $sonde_flags "$scratch/program.c" -o "$scratch/for-sonde"
cc -O1 -pg "$scratch/program.c" -o "$scratch/for-uftrace"
"$sonde" record -q -o "$scratch/session" "$scratch/for-sonde" "$calls" >&2
uftrace record --no-libcall --no-event -b 8m -d "$scratch/uftrace" "$scratch/for-uftrace" "$calls" >&2 || true
cat >"$scratch/dump.sh" <<'END'
exec uftrace dump --chrome -d "$1" >"$2"
END
repeat "$runs" sh "$scratch/dump.sh" "$scratch/uftrace" "$scratch/peer.json"
their_events=$(grep -c '"ph":"[BE]"' "$scratch/peer.json")
theirs=$(divide "$their_events" "$cpu" 0)
repeat "$runs" "$sonde" convert -q "$scratch/session" -t chrome -o "$scratch/out.d"
our_events=$(grep -c '"ph":"[BE]"' "$scratch/out.d")
ours=$(divide "$our_events" "$cpu" 0)
row "a program to chrome, $(divide "$our_events" 1000000) M events" "$(millions "$ours" 1)" 'M/s CPU' \
	"$(millions "$theirs" 1)" "$(divide "$ours" "$theirs")" 'at least 5'
taken 'Chrome JSON of uftrace read' "$scratch/peer.json" 'at least 300'
repeat 1 uftrace report --no-pager -d "$scratch/uftrace"
theirs=$cpu
repeat "$runs" "$sonde" report "$scratch/uftrace"
row 'report of uftrace data' "$(divide "$cpu" 1 2)" 's CPU' "$(divide "$theirs" 1 2)" "$(divide "$theirs" "$cpu")" ''
