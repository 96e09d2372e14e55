#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what annotations cost the program that has them, with the build in BUILD_DIR, and prints
# a table: ns for one, by the kind of its arguments, beside what a recorder with a clock of the
# system and a buffer of its own pays at least (bench/annotate.c). Medians of BENCH_ROUNDS runs
# (default 5), each of them of 101 bursts.
# usage: bench/annotate.sh BUILD_DIR
set -eu

build=${1:?usage: bench/annotate.sh BUILD_DIR}
build=$(cd "$build" && pwd)
rounds=${BENCH_ROUNDS:-5}
data=$build/bench/annotate

rm -rf "$data"
mkdir -p "$data"
trap 'rm -rf "$data"' EXIT

runtime=$(ninja -C "$build" -t targets all | sed -n 's/^\(libsonde-rt\.so\.[0-9.]*\):.*/\1/p')
ninja -C "$build" sonde "$runtime" bench/sonde-bench-annotate >&2

round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	"$build/sonde" record -q --force -o "$data/session" "$build/bench/sonde-bench-annotate" \
		>"$data/run"
	awk -v round="$round" '{ print NR "\t" round "\t" $0 }' "$data/run" >>"$data/all"
done

# median COLUMN: of the rows of the kind $number
median() {
	awk -F '\t' -v number="$number" -v column="$1" '$1 == number { print $column }' "$data/all" |
		sort -n | awk '{ all[NR] = $1 } END { printf "%.1f", all[int((NR + 1) / 2)] }'
}

echo "annotations: ns for one, medians of $rounds runs; peer: clock_gettime() and as many bytes stored;"
echo "goal: event(int, 11 chars) at most 29"
printf '%-30s %8s %8s %10s\n' kind sonde peer sonde/peer
number=0
while IFS="$(printf '\t')" read -r kind _; do
	number=$((number + 1))
	sonde=$(median 4)
	peer=$(median 5)
	printf '%-30s %8s %8s %10s\n' "$kind" "$sonde" "$peer" \
		"$(awk -v a="$sonde" -v b="$peer" 'BEGIN { printf "%.2f", a / b }')"
done <"$data/run"
