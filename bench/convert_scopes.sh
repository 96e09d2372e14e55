#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures how fast calls become profiles for speedscope and the Firefox Profiler, and how fast a speedscope file is read, with
# the build in BUILD_DIR, and prints a table: CPU time, the least of some runs. SCOPES_EVENTS events (default 4000000).
# usage: bench/convert_scopes.sh BUILD_DIR
set -eu

build=${1:?usage: bench/convert_scopes.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
events=${SCOPES_EVENTS:-4000000}
SONDE_CACHE=off
export SONDE_CACHE

ninja -C "$build" sonde bench/sonde-generate bench/sonde-cpu >&2
scratch=$(mktemp -d "$build/bench/scopes.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=bench/measure.sh
. "$here/measure.sh"

"$build/bench/sonde-generate" --events "$events" -o "$scratch/calls" >/dev/null
for format in speedscope firefox; do
	repeat 3 "$build/sonde" convert "$scratch/calls" -o "$scratch/out.d" -t "$format"
	row "ATF -> $format" "$(divide "$events" "$cpu" 0)" "events/s" "" "" "$memory MB"
done
"$build/sonde" convert "$scratch/calls" -o "$scratch/calls.speedscope.json" >/dev/null
size=$(wc -c <"$scratch/calls.speedscope.json")
repeat 3 "$build/sonde" info "$scratch/calls.speedscope.json"
row "speedscope read" "$(divide "$size" "$cpu" 0 | awk '{ printf "%.0f", $1 / 1e6 }')" "MB/s" "" "" "$memory MB"
