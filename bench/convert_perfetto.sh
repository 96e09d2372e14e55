#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures Perfetto traces with the build in BUILD_DIR: events of a session written, and read again, a second of CPU.
# CONVERT_EVENTS events (default 10000000).
# usage: bench/convert_perfetto.sh BUILD_DIR
set -eu

build=${1:?usage: bench/convert_perfetto.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
events=${CONVERT_EVENTS:-10000000}
SONDE_CACHE=off
export SONDE_CACHE

ninja -C "$build" sonde bench/sonde-generate bench/sonde-cpu >&2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$here/measure.sh"

"$build/bench/sonde-generate" --events "$events" --threads 4 -o "$scratch/session" >&2
repeat 3 "$build/sonde" convert -q "$scratch/session" -o "$scratch/out.d" -t perfetto
size=$(wc -c <"$scratch/out.d")
row "ATF -> Perfetto" "$(divide "$events" "$cpu" 0)" "events/s" - - ">= 5000000 a core"
row "  memory" "$memory" MB - - "< 200"
row "  size" "$(divide "$size" "$events")" "bytes/event" - - -
mv "$scratch/out.d" "$scratch/trace.pftrace"
repeat 3 "$build/sonde" convert -q "$scratch/trace.pftrace" -o "$scratch/out.d" -t atf
row "Perfetto -> ATF" "$(divide "$events" "$cpu" 0)" "events/s" - - -
row "  memory" "$memory" MB - - "< 200"
