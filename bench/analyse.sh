#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what a user runs after recording, with the build in BUILD_DIR, and prints a table: `sonde report` and
# `sonde flame` over a recording of lua with some 50 million events, beside `uftrace report` and `uftrace dump
# --flame-graph` over what uftrace recorded of the same program, in the same run. Processor time and memory are
# the least of some runs with the files in the page cache. First without the cache, then a second run with it.
# Then rows a second that statements of SQL read from the tables of the same recording.
# BENCH_ROUNDS (default 10) says how long lua works; 1 is a tenth.
# usage: bench/analyse.sh BUILD_DIR
set -eu

build=${1:?usage: bench/analyse.sh BUILD_DIR}
bench=$(cd "$(dirname "$0")" && pwd)
rounds=${BENCH_ROUNDS:-10}
sonde=$build/sonde
runs=5

runtime=$(ninja -C "$build" -t targets all | sed -n 's/^\(libsonde-rt\.so\.[0-9.]*\):.*/\1/p')
ninja -C "$build" sonde "$runtime" bench/sonde-cpu bench/sonde-bench-cct bench/sonde-bench-query >&2
mkdir -p "$build/bench/data"
scratch=$(mktemp -d "$build/bench/data/analyse.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# The programs that record.sh builds as well.
programs=$build/bench/programs/hooks
[ -e "$programs/lua" ] ||
	"$bench/fetch-workloads.sh" "$programs" lua -O1 -g -finstrument-functions >&2

divide() {
	awk -v a="$1" -v b="$2" -v digits="${3:-1}" \
		'BEGIN { if (b > 0) printf "%.*f", digits, a / b; else printf "-" }'
}

# row WHAT OURS UNIT UFTRACE RATIO GOAL
row() {
	printf '%-42s %9s %-10s %9s  %6s  %s\n' "$@"
}

# The least of a column of figures.
least() {
	sort -n -k "$1,$1" "$scratch/figures" | awk -v column="$1" 'NR == 1 { print $column }'
}

# repeat COUNT COMMAND...: $cpu and $wall in seconds, $memory in MB, each the least of COUNT runs.
repeat() {
	left=$1
	shift
	: >"$scratch/figures"
	while [ "$left" -gt 0 ]; do
		"$build/bench/sonde-cpu" --all "$scratch/one" "$@" >"$scratch/text" 2>"$scratch/log" || {
			cat "$scratch/log" >&2
			exit 3
		}
		cat "$scratch/one" >>"$scratch/figures"
		left=$((left - 1))
	done
	cpu=$(least 1)
	wall=$(least 2)
	memory=$(least 3 | awk '{ printf "%.0f", $1 / 1024 }')
}

# compare WHAT UFTRACE_CPU COMMAND...: our command without the cache, and a second time with it.
compare() {
	what=$1
	theirs=$2
	shift 2
	SONDE_CACHE=off
	export SONDE_CACHE
	repeat "$runs" "$@"
	row "$what" "$(divide "$cpu" 1 3)" 's CPU' "$(divide "$theirs" 1 2)" "$(divide "$theirs" "$cpu")" \
		'at least 20 times less'
	row '  memory' "$memory" MB '' '' 'below 150'
	row '  events' "$(divide "$events" "$cpu" 0 | awk '{ printf "%.0f", $1 / 1e6 }')" 'M/s CPU' '' '' ''
	SONDE_CACHE=$scratch/cache
	repeat 1 "$@"
	repeat "$runs" "$@"
	row '  the second time' "$(divide "$wall" 0.001 0)" ms '' '' 'below 100'
}

has_command() {
	"$sonde" help "$1" >/dev/null 2>&1
}

"$sonde" record -q --force -o "$scratch/lua.atf" -- "$programs/lua" "$bench/workloads/job.lua" \
	"$rounds" >/dev/null
report=0
flame=0
if command -v uftrace >/dev/null; then
	uftrace record --no-pager --no-libcall -d "$scratch/uftrace" "$programs/lua" \
		"$bench/workloads/job.lua" "$rounds" >/dev/null
	repeat 1 uftrace report --no-pager -d "$scratch/uftrace"
	report=$cpu
	repeat 1 uftrace dump --no-pager --flame-graph -d "$scratch/uftrace"
	flame=$cpu
fi
# what was just written has no entries in the cache
sleep 3
cat "$scratch"/lua.atf/*/*/index.atf >/dev/null
events=$(du -cb "$scratch"/lua.atf/*/*/index.atf | awk 'END { printf "%.0f", $1 / 32 }')

echo "analysis of $(divide "$events" 1000000) M events of lua; ratios are of CPU"
row '' sonde '' uftrace ratio goal
compare 'the tree of contexts alone' "$report" "$build/bench/sonde-bench-cct" "$scratch/lua.atf"
if has_command report; then
	compare report "$report" "$sonde" report "$scratch/lua.atf"
fi
if has_command flame; then
	compare 'flame graph' "$flame" "$sonde" flame -o "$scratch/lua.svg" "$scratch/lua.atf"
	compare 'folded stacks' "$flame" "$sonde" flame --folded "$scratch/lua.atf"
fi

# Lines of JSON: {"statement":NAME,"rows":N,"seconds":S,"cpu_seconds":S,"rows_per_second":N}
echo
row 'SQL over its tables' sonde '' '' '' goal
"$build/bench/sonde-bench-query" "$scratch/lua.atf" 2 |
	sed 's/^{"statement":"\([^"]*\)","rows":\([0-9]*\).*"rows_per_second":\([0-9]*\)}$/\3 \2 \1/' |
	while read -r speed rows name; do
		goal=
		[ "$name" != 'spans, second half by time' ] || goal='at least 5'
		row "$name ($(divide "$rows" 1000000) M rows)" "$(divide "$speed" 1000000)" 'M rows/s' '' '' "$goal"
	done
