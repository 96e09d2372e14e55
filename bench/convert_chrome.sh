#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures Chrome trace JSON with the build in BUILD_DIR: the same program recorded by uftrace and by sonde, and the CPU
# time an event takes from each recording to JSON in the same run; then how fast such a file is read.
# CHROME_CALLS: the program makes about so many calls (default 5000000).
# usage: bench/convert_chrome.sh BUILD_DIR
set -eu

build=$(cd "${1:?usage: bench/convert_chrome.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
calls=${CHROME_CALLS:-5000000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
SONDE_CACHE=off
export SONDE_CACHE
# shellcheck source=bench/measure.sh
. "$here/measure.sh"

runtime=$(ninja -C "$build" -t targets all | sed -n 's/^\(libsonde-rt\.so\.[0-9.]*\):.*/\1/p')
ninja -C "$build" sonde "$runtime" bench/sonde-cpu >&2

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

sonde_flags=$("$build/sonde" cflags)
# shellcheck disable=SC2086 # words
cc -O1 $sonde_flags "$scratch/program.c" -o "$scratch/for-sonde"
"$build/sonde" record --quiet -o "$scratch/session" "$scratch/for-sonde" "$calls" >&2
events=$("$build/sonde" info --json "$scratch/session" | sed -n 's/.*"events": *\([0-9]*\).*/\1/p' | head -n 1)

row 'Chrome trace JSON' sonde '' uftrace ratio goal
repeat 5 "$build/sonde" convert --quiet "$scratch/session" -t chrome -o "$scratch/out.d"
ours=$(divide "$events" "$cpu" 0)
ours_bytes=$(divide "$(wc -c <"$scratch/out.d")" "$events")

theirs=''
theirs_bytes=''
if command -v uftrace >/dev/null; then
	cc -O1 -pg "$scratch/program.c" -o "$scratch/for-uftrace"
	uftrace record --no-libcall --no-event -b 8m -d "$scratch/uftrace" "$scratch/for-uftrace" "$calls" >&2 ||
		true
	uftrace dump --chrome -d "$scratch/uftrace" >"$scratch/peer.json" 2>/dev/null
	their_events=$(grep -c '"ph":"[BE]"' "$scratch/peer.json")
	their_size=$(wc -c <"$scratch/peer.json")
	cat >"$scratch/dump.sh" <<'END'
exec uftrace dump --chrome -d "$1" >"$2"
END
	repeat 3 sh "$scratch/dump.sh" "$scratch/uftrace" "$scratch/peer.json"
	theirs=$(divide "$their_events" "$cpu" 0)
	theirs_bytes=$(divide "$their_size" "$their_events")
fi
row "written, $(divide "$events" 1000000) M events" "$(divide "$ours" 1000000 2)" 'M events/s' \
	"${theirs:+$(divide "$theirs" 1000000 2)}" "${theirs:+$(divide "$ours" "$theirs")}" 'at least 5'
row '  of that size' "$ours_bytes" 'bytes/event' "$theirs_bytes" '' ''

"$build/sonde" convert --quiet "$scratch/session" -t chrome -o "$scratch/ours.json" >&2
repeat 3 "$build/sonde" info "$scratch/ours.json"
row 'read, as sonde writes it' "$(divide "$(wc -c <"$scratch/ours.json")" "$(divide "$cpu" 0.000001 0)" 0)" MB/s '' '' \
	'at least 300'
row '  peak memory' "$memory" MB '' '' 'under 200'
if [ -n "$theirs" ]; then
	repeat 3 "$build/sonde" info "$scratch/peer.json"
	row 'read, as uftrace writes it' "$(divide "$their_size" "$(divide "$cpu" 0.000001 0)" 0)" MB/s '' '' ''
fi
