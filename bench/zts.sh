#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures trace stores with the build in BUILD_DIR and prints a table. Times are of the processor
# (all threads), the least of some runs: other work on the machine only adds to them. Searches are
# measured in a process that has the store open and has answered the same before, and as the
# command from start to end. The existing program cannot be run here: its column has figures that
# were measured once (CPU of its main thread, traces of 16 records, zlib; searches over 17,500
# traces), so ratios are rough.
# The stores are made once, in BUILD_DIR/bench: ZTS_TRACES traces (default 1000000, 1.6 GB), once
# with all parts packed but the last, which is what a server has, and once with none packed.
# With SONDE_CORPUS set, the real store in it is written anew and the sizes are compared.
# usage: bench/zts.sh BUILD_DIR
set -eu

build=${1:?usage: bench/zts.sh BUILD_DIR}
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bench/measure.sh
. "$bench/measure.sh"
traces=${ZTS_TRACES:-1000000}
data=$build/bench/data
sonde=$build/sonde
runs=5
uri=http.uri=/api/v1/items/77 # of one trace in 2000
word=items/77		      # of one in 180

ninja -C "$build" sonde bench/sonde-bench-zts-ingest bench/sonde-bench-zts-search \
	bench/sonde-bench-zts-decode bench/sonde-cpu >&2
mkdir -p "$data"
scratch=$(mktemp -d "$data/zts.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

ingest() {
	"$build/bench/sonde-bench-zts-ingest" "$@"
}

# store KIND COUNT: a store; prints where it is.
store() {
	folder=$data/zts-$1-$2
	if [ ! -d "$folder" ]; then
		rm -rf "$folder.part"
		echo "making $folder" >&2
		if [ "$1" = packed ]; then
			ingest --packed-store "$folder.part" "$2" >&2
			"$sonde" store archive -q "$folder.part"
		else
			ingest --store "$folder.part" "$2" >&2
		fi
		mv "$folder.part" "$folder"
	fi
	echo "$folder"
}

# member NAME: of the JSON object on each line of the input.
member() {
	sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p"
}

least() {
	sort -n | head -n 1
}

# milliseconds COMMAND...: processor time of a program that is started, the least of some runs.
milliseconds() {
	left=$runs
	while [ "$left" -gt 0 ]; do
		"$build/bench/sonde-cpu" "$scratch/cpu" "$@" >"$scratch/out" 2>&1 || true
		awk '{ printf "%.1f\n", $1 * 1000 }' "$scratch/cpu"
		left=$((left - 1))
	done | least
}

# answer STORE WHAT...: of an open store, in milliseconds; how many traces is in $scratch/count.
answer() {
	base=$1
	shift
	"$build/bench/sonde-bench-zts-search" "$base" $((runs * 2)) "$@" >"$scratch/answer"
	member traces <"$scratch/answer" >"$scratch/count"
	member cpu_ms <"$scratch/answer"
}

# timed WHAT MILLISECONDS EXISTING GOAL
timed() {
	row "$1" "$2" ms "$3" "${3:+$(divide "$3" "$2")}" "$4"
}

# CODEC: the seconds that some runs of 30000 traces took at least, and their figures.
measure_ingest() {
	left=$runs
	while [ "$left" -gt 0 ]; do
		rm -rf "$scratch/in"
		ingest --store "$scratch/in" 30000 "$1"
		left=$((left - 1))
	done >"$scratch/ingest"
	seconds=$(member cpu_seconds <"$scratch/ingest" | least)
	records=$(member records <"$scratch/ingest" | head -n 1)
}

show_ingest() {
	measure_ingest lz4
	row 'ingest, LZ4 and CRC' "$(divide 30 "$seconds")" k/s 5.2 "$(divide 5.77 "$seconds")" \
		'at least 100, or'
	row '  records' "$(divide "$records" "$(divide "$seconds" 0.000001)" 2)" M/s 0.083 \
		"$(divide "$(divide "$records" 83000 6)" "$seconds")" 'at least 1.5'
	# The store of that is packed: it is the last one of some.
	cp -R "$scratch/in" "$scratch/again"
	least_pack=$(for copy in in again; do
		"$build/bench/sonde-cpu" "$scratch/cpu" "$sonde" store archive -q --rotate \
			"$scratch/$copy"
		cat "$scratch/cpu"
	done | least)
	measure_ingest zlib
	row 'ingest, zlib and CRC' "$(divide 30 "$seconds")" k/s 5.2 "$(divide 5.77 "$seconds")" ''
	row 'pack the texts of 30,000 traces' "$(divide "$least_pack" 1 2)" s 16 \
		"$(divide 16 "$least_pack")" 'at most 1'
	rm -rf "$scratch/in" "$scratch/again"
}

show_decode() {
	left=$runs
	while [ "$left" -gt 0 ]; do
		"$build/bench/sonde-bench-zts-decode" "$wal/000000" 0.3
		left=$((left - 1))
	done >"$scratch/decode"
	rate=$(sed -n 's/.* \([0-9.]*\) M records.*/\1/p' "$scratch/decode" | sort -n | tail -n 1)
	row 'decode all traces' "$rate" M/s 0.63 "$(divide "$rate" 0.63)" 'at least 20'
}

# The existing program's figures are for a store of this size.
show_small() {
	small=$(store wal 17500)
	timed 'list 17,500 traces' "$(answer "$small" list)" 54 'at most 5'
	timed '  sonde store search -n 0 --csv' \
		"$(milliseconds "$sonde" store search "$small" -n 0 --csv)" 54 ''
	timed 'get 1000 traces with names' "$(answer "$small" get 1000)" 86 'at most 10'
	ids=$("$sonde" store search -q "$small" -n 1000 --csv | sed '1d; s/,.*//')
	# shellcheck disable=SC2086 # ids have no spaces
	timed '  sonde store get' "$(milliseconds "$sonde" store get "$small" $ids)" 86 ''
}

# show_search STORE CONDITION EXISTING GOAL
show_search() {
	timed '  all of them' "$(answer "$1" all "$2")" "$3" "$4"
	row '    traces found' "$(cat "$scratch/count")" '' '' '' ''
	timed '  the newest 50' "$(answer "$1" search "$2")" "$3" "$4"
	timed '  sonde store search' "$(milliseconds "$sonde" store search "$1" "$2")" '' ''
}

show_searches() {
	echo "$uri, $traces traces, packed:"
	show_search "$packed" "$uri" 38 'at most 50'
	echo "\"$word\" in any text, $traces traces, packed:"
	show_search "$packed" "\"$word\"" '' 'at most 50'
	echo "$uri, $traces traces, no part packed:"
	show_search "$wal" "$uri" 38 ''
	echo "\"$word\" in any text, $traces traces, no part packed:"
	show_search "$wal" "\"$word\"" '' ''
	timed '  grep -c, only in the texts' \
		"$(milliseconds grep -c -a -F "$word" "$wal"/*/text-*.wal)" '' ''
}

# size FOLDER PATTERN
size() {
	find "$1" -name "$2" -type f -exec cat {} + | wc -c
}

# show_size WHAT PATTERN
show_size() {
	ours=$(size "$scratch/anew/000000" "$2")
	theirs=$(size "$real/000000" "$2")
	row "  $1" "$ours" bytes "$theirs" "$(divide "$theirs" "$ours" 2)" "${3-}"
}

show_sizes() {
	real=${SONDE_CORPUS:-}/zts/v1-small-archived
	if [ ! -d "$real" ]; then
		echo 'bytes on disk: left out, SONDE_CORPUS is not set'
		return 0
	fi
	"$sonde" convert -q "$real" -t zts --style zlib -o "$scratch/anew" >&2
	"$sonde" store archive -q --rotate "$scratch/anew"
	echo 'bytes of the real store, written anew with zlib and packed:'
	show_size traces 'traces.dat'
	show_size texts 'text-*'
	show_size postings 'meta-*'
	show_size slots 'qmeta.idx'
	show_size 'all of them' '[tmq]*' 'no more'
}

wal=$(store wal "$traces")
packed=$(store packed "$traces")
row 'trace stores' sonde '' existing ratio goal
show_ingest
show_decode
show_small
show_searches
show_sizes
