#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures the build in BUILD_DIR and prints tables: reading, here, wtf-trace files beside the npm
# reader of them, by cff.sh, trace stores, by zts.sh, merging measurements, by prof.sh, annotations, by
# annotate.sh, analysis, by analyse.sh, conversion, by convert.sh, and recording, by record.sh.
# The data to read is made once, in BUILD_DIR/bench: BENCH_EVENTS events (default 50000000, 1.6 GB)
# in four threads, and a tenth of that.
# usage: bench/run.sh BUILD_DIR
set -eu

build=${1:?usage: bench/run.sh BUILD_DIR}
events=${BENCH_EVENTS:-50000000}
data=$build/bench/data

ninja -C "$build" sonde bench/sonde-generate bench/sonde-bench >&2

# A session of so many events; prints where it is.
session() {
	folder=$data/$1
	if [ ! -d "$folder" ]; then
		mkdir -p "$data"
		"$build/bench/sonde-generate" --events "$1" --threads 4 -o "$folder" >&2
	fi
	echo "$folder"
}

# Instructions for one event of the work $2, beyond those of the work $1, as callgrind counts.
instructions() {
	for work in "$1" "$2"; do
		valgrind --tool=callgrind --callgrind-out-file=/dev/null \
			"$build/bench/sonde-bench" --only "$work" "$tiny" 2>&1 |
			awk '/Collected/ { count = $NF } /^[0-9]+$/ { units = $1 }
				END { print count, units }'
	done | awk '{ more = $1 - before; before = $1; units = $2 } END { printf "%.1f", more / units }'
}

small=$(session $((events / 10)))
large=$(session "$events")
"$build/bench/sonde-bench" "$small" "$large" "$build/sonde"

if command -v valgrind >/dev/null; then
	tiny=$(session 200000)
	echo
	echo "instructions for an event, opening aside"
	for work in scan merge; do
		printf '%-34s %8s %-10s %8s\n' "$work" "$(instructions open $work)" '' \
			"$(instructions nothing peer-$work)"
	done
fi

echo
"$(dirname "$0")/cff.sh" "$build"

echo
"$(dirname "$0")/zts.sh" "$build"

echo
"$(dirname "$0")/prof.sh" "$build"

echo
"$(dirname "$0")/annotate.sh" "$build"

echo
"$(dirname "$0")/analyse.sh" "$build"

echo
"$(dirname "$0")/convert.sh" "$build"

echo
"$(dirname "$0")/record.sh" "$build"
