#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures wtf-trace files with the build in BUILD_DIR, beside the npm reader tracing-framework in
# the same run, and prints a table. Every figure is the median of some runs. CFF_EVENTS events in
# the binary file (default 5000000, 60 MB) and in the session that is written as one, a fifth of that
# as JSON; CFF_LARGE events (default 350000000, 4.2 GB) in the files that are only opened, which are
# removed afterwards.
# usage: bench/cff.sh BUILD_DIR
set -eu

build=${1:?usage: bench/cff.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
data=$build/bench/data
events=${CFF_EVENTS:-5000000}
events=$((events - events % 20))
fewer=$((events / 5))
large=${CFF_LARGE:-350000000}
large=$((large - large % 20))
runs=5
peer_runs=3
write_runs=11 # they are short, and vary by a fifth
SONDE_CACHE=off # but where it is measured
export SONDE_CACHE

ninja -C "$build" sonde bench/sonde-generate bench/sonde-generate-cff bench/sonde-bench-cff >&2
mkdir -p "$data"

# A file of so many events; prints where it is.
trace() {
	if [ ! -e "$data/$1.wtf-trace" ]; then
		"$build/bench/sonde-generate-cff" "$1" "$data/$1.part"
		mv "$data/$1.part" "$data/$1.wtf-trace"
	fi
	echo "$data/$1.wtf-trace"
}

# A session of so many events; prints where it is. Files of a few MB would show what a file costs, some
# milliseconds, more than what its bytes do.
session() {
	if [ ! -d "$data/cff-$1" ]; then
		"$build/bench/sonde-generate" --events "$1" --threads 4 -o "$data/cff-$1" >&2
	fi
	echo "$data/cff-$1"
}

# member NAME: of the JSON object on each line of the input.
member() {
	sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p"
}

# repeat N COMMAND...: the output of so many runs.
repeat() {
	left=$1
	shift
	while [ "$left" -gt 0 ]; do
		"$@"
		left=$((left - 1))
	done
}

median() {
	sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

ours() {
	"$build/bench/sonde-bench-cff" "$@"
}

# The reader warns on stdout; what is wanted is its last line.
peer() {
	node "$here/../tests/interop/cff_load.js" --figures "$1" | tail -n 1
}

# row WHAT OURS UNIT PEER RATIO GOAL
row() {
	printf '%-34s %8s %-10s %8s  %6s  %s\n' "$@"
}

divide() {
	awk -v a="$1" -v b="$2" -v digits="${3:-1}" \
		'BEGIN { if (b > 0) printf "%.*f", digits, a / b; else printf "-" }'
}

# Both must have seen the same events at the same times.
check_agreement() {
	awk -v a="$(member events <"$1" | head -n 1)" -v b="$(member events <"$2" | head -n 1)" \
		-v c="$(member ms <"$1" | head -n 1)" -v d="$(member ms <"$2" | head -n 1)" \
		'BEGIN { exit !(a > 0 && a == b && (c - d) ^ 2 <= (1e-9 * d) ^ 2) }' && return 0
	echo "bench/cff.sh: sonde and the npm reader do not agree on the data" >&2
	exit 3
}

# compare WHAT FILE GOAL-CPU GOAL-MEMORY: two rows.
compare() {
	repeat $runs ours walk "$2" >"$data/ours"
	repeat $peer_runs peer "$2" >"$data/peer"
	check_agreement "$data/ours" "$data/peer"
	count=$(member events <"$data/ours" | head -n 1)
	for who in ours peer; do
		seconds=$(member cpu_seconds <"$data/$who" | median)
		memory=$(member peak_kb <"$data/$who" | median)
		eval "rate_$who=\$(divide $count $seconds 0) memory_$who=$memory"
	done
	# shellcheck disable=SC2154 # set by eval
	row "$1, walk" "$(divide "$rate_ours" 1000000 2)" 'M events/s' \
		"$(divide "$rate_peer" 1000000 2)" "$(divide "$rate_ours" "$rate_peer")" "at least $3"
	# shellcheck disable=SC2154
	row "$1, peak memory" "$(divide "$memory_ours" 1024)" MiB \
		"$(divide "$memory_peer" 1024)" "$(divide "$memory_peer" "$memory_ours")" "$4"
}

# The command as a user starts it, in milliseconds.
time_info() {
	start=$(date +%s%N)
	"$build/sonde" info "$1" >/dev/null
	end=$(date +%s%N)
	echo $(((end - start) / 1000000))
}

# measure_open WHAT FILE: a file of which nothing is in memory.
measure_open() {
	ours open "$2" >"$data/ours"
	size=$(member bytes <"$data/ours")
	read=$(member bytes_read <"$data/ours")
	row "open $(divide "$size" 1000000000) GB$1" \
		"$(divide "$(member wall_seconds <"$data/ours")" 0.001)" ms '' '' ''
	row '  of that read' "$(divide "$read" 1000000)" MB '' '' "$3"
}

# Some GB that are opened and removed: as sonde writes them, with an index at the end, and as other
# programs do, the second time by the cache. Left out where the disk has no room for twice that.
measure_large() {
	free=$(df -Pk "$data" | awk 'NR == 2 { print $4 }')
	if [ "$free" -lt $((large * 24 / 1024)) ]; then
		echo "large files: left out, they need $((large * 24 / 1024 / 1024)) MB of free disk"
		return 0
	fi
	file=$data/large.wtf-trace
	trap 'rm -rf "$file" "$data/cache"' EXIT
	trap 'exit 130' INT TERM
	"$build/bench/sonde-generate" --events $((large * 6 / 5)) --format cff -o "$file" >&2
	measure_open " that sonde wrote" "$file" 'not all'
	rm -f "$file"
	"$build/bench/sonde-generate-cff" "$large" "$file"
	touch -d '1 hour ago' "$file" # a new file is not kept
	SONDE_CACHE=$data/cache
	measure_open " without an index" "$file" ''
	measure_open " again, by the cache" "$file" 'not all'
	SONDE_CACHE=off
	rm -rf "$file" "$data/cache"
	trap - EXIT INT TERM
}

binary=$(trace "$events")
small=$(trace $fewer)
json=${small%.wtf-trace}.wtf-json
[ -e "$json" ] || "$build/sonde" convert --quiet "$small" -t cff-json -o "$json" >&2

row 'wtf-trace files' sonde '' npm ratio goal
compare "binary, $(divide "$events" 1000000) M events" "$binary" 20 'at least 10'
compare "JSON, $(divide $fewer 1000000) M events" "$json" 10 ''
row 'sonde info' "$(repeat $runs time_info "$binary" | median)" ms '' '' ''
repeat $write_runs ours write "$(session "$events")" "$data/written.wtf-trace" >"$data/ours"
rm -f "$data/written.wtf-trace"
size=$(member bytes <"$data/ours" | head -n 1)
row 'write, from an ATF session' \
	"$(divide "$(divide "$size" "$(member cpu_seconds <"$data/ours" | median)" 0)" 1000000 0)" \
	MB/s '' '' 'at least 500'
measure_large
rm -f "$data/ours" "$data/peer"
