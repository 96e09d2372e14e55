# shellcheck shell=sh disable=SC2034,SC2154 # its variables are those of who sources it
# SPDX-License-Identifier: Apache-2.0
# What scripts of benchmarks share, to be sourced: rows of the table, quotients, and measuring a command by
# bench/sonde-cpu. They have $build, the folder of the build, and $scratch, a folder for files of their own.

# divide A B [DIGITS]
divide() {
	awk -v a="$1" -v b="$2" -v digits="${3:-1}" \
		'BEGIN { if (a != "-" && b > 0) printf "%.*f", digits, a / b; else printf "-" }'
}

# middle DIGITS: the median of the numbers that come in.
middle() {
	sort -n | awk -v digits="$1" '{ all[NR] = $1 } END { printf "%.*f", digits, all[int((NR + 1) / 2)] }'
}

# row WHAT OURS UNIT THEIRS RATIO GOAL
row() {
	printf '%-42s %9s %-10s %9s  %6s  %s\n' "$@"
}

# The least of a column of figures.
least_of_column() {
	awk -v column="$1" 'NR == 1 || $column < value { value = $column } END { print value }' \
		"$scratch/figures"
}

# once FIGURES COMMAND...: runs it and adds a line to the file FIGURES: seconds of processor time, seconds that went
# by, kB of memory. A command may write $scratch/out.d, which is removed before.
once() {
	figures=$1
	shift
	rm -rf "$scratch/out.d"
	"$build/bench/sonde-cpu" --all "$scratch/one" "$@" >"$scratch/text" 2>"$scratch/log" || {
		cat "$scratch/log" >&2
		exit 3
	}
	cat "$scratch/one" >>"$figures"
}

# repeat COUNT COMMAND...: $cpu and $wall in seconds, $memory in MB, each the least of COUNT runs.
repeat() {
	left=$1
	shift
	: >"$scratch/figures"
	while [ "$left" -gt 0 ]; do
		once "$scratch/figures" "$@"
		left=$((left - 1))
	done
	cpu=$(least_of_column 1)
	wall=$(least_of_column 2)
	memory=$(least_of_column 3 | awk '{ printf "%.0f", $1 / 1024 }')
}
