#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures `sonde prof` with the build in BUILD_DIR and prints a table: measurements of two sizes are merged
# with one thread and with two. Processor time and memory are the least of some runs; the times that went by are
# medians, of runs with one and two threads in turn, and so is how many times faster two are. Two runs side by
# side, which share nothing but the machine, show how much faster two processors are here at best. All this is
# taken twice, since a disk is shared and its speed varies: with the database on the disk of the build, and in
# memory (/dev/shm) where there is room.
# The existing program is not run here: its column has what it took on a similar machine (user time of one
# thread, most memory), so ratios are rough. Then the resulting database is opened and its hottest path printed.
# The measurements are made once, in BUILD_DIR/bench.
# usage: bench/prof.sh BUILD_DIR
set -eu

build=${1:?usage: bench/prof.sh BUILD_DIR}
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bench/measure.sh
. "$bench/measure.sh"
data=$build/bench/data
sonde=$build/sonde
runs=3
rounds=9

ninja -C "$build" sonde bench/sonde-generate-hpcrun bench/sonde-cpu >&2
mkdir -p "$data"
scratch=$(mktemp -d "$data/prof.XXXXXX")
memory_scratch=
trap 'rm -rf "$scratch" "$memory_scratch"' EXIT
trap 'exit 130' INT TERM

# measurements THREADS TREE LEAVES METRICS TRACE: a folder; prints where it is.
measurements() {
	folder=$data/hpcrun-$(echo "$*" | tr ' ' -)
	if [ ! -d "$folder" ]; then
		rm -rf "$folder.part"
		"$build/bench/sonde-generate-hpcrun" "$folder.part" "$@"
		mv "$folder.part" "$folder"
	fi
	echo "$folder"
}

# wall_median WAY
wall_median() {
	awk '{ print $2 }' "$scratch/wall-$1" | middle 2
}

# wall_ratio WAY TIMES: how many times faster than -j1, for so many times the work.
wall_ratio() {
	paste "$scratch/wall-j1" "$scratch/wall-$1" | awk -v times="$2" '{ print times * $2 / $5 }' |
		middle 2
}

# compare_walls WHERE FOLDER GOAL
compare_walls() {
	rm -f "$scratch"/wall-*
	round=0
	while [ "$round" -lt "$rounds" ]; do
		once "$scratch/wall-j1" "$sonde" prof -q -j1 "$2" -o "$scratch/out.d"
		once "$scratch/wall-j2" "$sonde" prof -q -j2 "$2" -o "$scratch/out.d"
		# each on a processor of its own: left to the kernel both are on one for some time
		# shellcheck disable=SC2016 # expanded by that shell
		once "$scratch/wall-both" sh -c 'mkdir "$3"
			taskset -c 0 "$1" prof -q -j1 "$2" -o "$3/1" &
			taskset -c 1 "$1" prof -q -j1 "$2" -o "$3/2" && wait $!' \
			sh "$sonde" "$2" "$scratch/out.d"
		round=$((round + 1))
	done
	row "  time that went by, -j1, $1" "$(wall_median j1)" s '' '' ''
	row "  time that went by, -j2, $1" "$(wall_median j2)" s '' '' ''
	row "  times faster with -j2, $1" "$(wall_ratio j2 1)" '' '' '' "$3"
	row "  two -j1 side by side, $1" "$(wall_ratio both 2)" '' '' '' ''
}

# in_memory COMMAND...: as it is, with a scratch folder in memory
in_memory() {
	[ "$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1)" -ge 2000 ] || return 0
	on_disk=$scratch
	memory_scratch=$(mktemp -d /dev/shm/sonde-prof.XXXXXX)
	scratch=$memory_scratch
	"$@"
	rm -rf "$memory_scratch"
	scratch=$on_disk
}

# show WHAT FOLDER CPU_EXISTING MEMORY_EXISTING CPU_GOAL MEMORY_GOAL FASTER_GOAL
show() {
	echo "$1"
	repeat "$runs" "$sonde" prof -q -j1 "$2" -o "$scratch/out.d"
	row '  processor time, -j1' "$(divide "$cpu" 1 2)" s "$3" "$(divide "$3" "$cpu")" "$5"
	row '  memory, -j1' "$memory" MB "$4" "$(divide "$4" "$memory")" "$6"
	repeat "$runs" "$sonde" prof -q -j2 "$2" -o "$scratch/out.d"
	row '  processor time, -j2' "$(divide "$cpu" 1 2)" s "$3" "$(divide "$3" "$cpu")" "$5"
	row '  memory, -j2' "$memory" MB "$4" "$(divide "$4" "$memory")" "$6"
	row '  size of the database' "$(du -sm "$scratch/out.d" | cut -f1)" MB '' '' ''
	mv "$scratch/out.d" "$scratch/database.d"
	repeat "$runs" "$sonde" info "$scratch/database.d"
	row '  sonde info, with the hottest path' "$(divide "$wall" 0.001)" ms '' '' 'at most 50'
	rm -rf "$scratch/database.d"
	compare_walls 'on the disk' "$2" "$7"
	in_memory compare_walls 'in memory' "$2" "$7"
}

small=$(measurements 64 20000 3000 2 2000)
large=$(measurements 256 50000 5000 3 5000)
row 'merging measurements' sonde '' existing ratio goal
show '64 threads, 20,000 contexts, 2 metrics' "$small" 6.8 150 'at most 1.5' 'at most 80' ''
show '256 threads, 50,000 contexts, 3 metrics' "$large" 46 796 'at most 8' 'at most 250' 'at least 1.7'
