#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what recording costs, with the build in BUILD_DIR, and prints these tables:
# hooks: programs without hooks, with the least hook (bench/workloads/floor.c), recorded by sonde and
#   by uftrace; the number of events is compared with a counting hook's (tests/rec/count.c);
# patchable entries: all functions selected, against uftrace -P, and none, against no recorder;
# details: registers and 64 bytes of stack with every event, against uftrace without them;
# sustained: BENCH_SUSTAINED million events in one go (default 200: 20 seconds at the speed of the
#   goal; 0 leaves it out).
# Times are CPU time (user and system). The runs of a round follow each other; the medians of
# BENCH_ROUNDS rounds (default 5) are shown. A ratio is the median of those of the rounds, so that a
# machine that is slower for some of them does not count. Up to 7 GB of disk are used at a time.
# usage: bench/record.sh BUILD_DIR
set -eu

build=${1:?usage: bench/record.sh BUILD_DIR}
build=$(cd "$build" && pwd)
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bench/measure.sh
. "$bench/measure.sh"
rounds=${BENCH_ROUNDS:-5}
sustained=${BENCH_SUSTAINED:-200}
programs=$build/bench/programs
data=$build/bench/record
session=$data/session
cpu=$build/bench/sonde-cpu
own=$data/own

rm -rf "$data"
mkdir -p "$data"
trap 'rm -rf "$data"' EXIT

fail() {
	echo "bench/record.sh: $*" >&2
	[ ! -s "$data/log" ] || tail -n 20 "$data/log" >&2
	exit 3
}

# build_kind KIND CFLAGS...: the programs in a folder of the kind. Ours are made anew.
build_kind() {
	kind=$1
	shift
	names='fib mt'
	[ -e "$programs/$kind/sqlite" ] || names="$names lua sqlite"
	"$bench/fetch-workloads.sh" "$programs/$kind" "$names" -O1 -g "$@"
}

build_programs() {
	runtime=$(ninja -C "$build" -t targets all | sed -n 's/^\(libsonde-rt\.so\.[0-9.]*\):.*/\1/p')
	ninja -C "$build" sonde "$runtime" bench/sonde-cpu bench/libsonde-floor.so \
		bench/libsonde-count.so >&2
	build_kind plain
	build_kind hooks -finstrument-functions
	build_kind patch -fpatchable-function-entry=5
}

# measure COLUMN COMMAND...: adds the CPU seconds of the command, and all it waited for, to a list.
measure() {
	column=$1
	shift
	"$cpu" "$data/now" "$@" </dev/null >/dev/null 2>"$data/log" || fail "failed: $*"
	cat "$data/now" >>"$data/$workload.$column"
}

# record [OPTION...] -- PROGRAM...: one recording, to look into.
record() {
	"$build/sonde" record -q --force -o "$session" "$@" </dev/null >/dev/null 2>"$data/log" ||
		fail "recording failed: $*"
}

# measure_tree COLUMN [OPTION...] -- PROGRAM...: recording it, all of it.
measure_tree() {
	column=$1
	shift
	measure "$column" "$build/sonde" record -q --force -o "$session" "$@"
	rm -rf "$session"
}

# measure_own COLUMN [OPTION...] -- "$cpu" "$own" PROGRAM...: recording it, of which only the program counts. A
# run of its own, since whoever measures that is recorded too.
measure_own() {
	column=$1
	shift
	record "$@"
	cat "$own" >>"$data/$workload.$column"
	rm -rf "$session"
}

measure_uftrace() {
	command -v uftrace >/dev/null || return 0
	column=$1
	shift
	measure "$column" uftrace record --no-pager --no-libcall -d "$data/uftrace" "$@"
	rm -rf "$data/uftrace" "$data/uftrace.old"
}

# lttng-ust writes into a session of its own; its daemons are not children of the program, so
# this is the program's own side only.
measure_lttng() {
	library=$(find /usr/lib -name 'liblttng-ust-cyg-profile.so*' -print -quit 2>/dev/null)
	if [ -z "$library" ] || ! command -v lttng >/dev/null; then
		return 0
	fi
	lttng create sonde-bench --output="$data/lttng" >"$data/log" 2>&1 || return 0
	lttng enable-event --userspace 'lttng_ust_cyg_profile*' >>"$data/log" 2>&1 || true
	lttng start >>"$data/log" 2>&1 || true
	measure lttng env LD_PRELOAD="$library" "$@"
	lttng destroy sonde-bench >/dev/null 2>&1 || true
	rm -rf "$data/lttng"
}

# One run of a workload in each column; a function for each table.
run_hooks() {
	program=$programs/hooks/$1
	plain=$programs/plain/$1
	shift
	measure plain "$plain" "$@"
	measure floor env LD_PRELOAD="$build/bench/libsonde-floor.so" "$program" "$@"
	measure_own hooks-own -- "$cpu" "$own" "$program" "$@"
	measure_tree hooks -- "$program" "$@"
	measure_uftrace uftrace "$program" "$@"
	measure_lttng "$program" "$@"
}

run_patch() {
	program=$programs/patch/$1
	shift
	measure_own patch-own --function '*' -- "$cpu" "$own" "$program" "$@"
	measure_tree patch --function '*' -- "$program" "$@"
	measure_uftrace uftrace-P -P . "$program" "$@"
}

run_none() {
	program=$programs/patch/$1
	shift
	measure bare "$program" "$@"
	measure_own none-own --function none-such -- "$cpu" "$own" "$program" "$@"
}

run_details() {
	name=$1
	shift
	for kind in hooks patch; do
		measure_tree "$kind-details" --detail --stack-bytes 64 -- \
			"$programs/$kind/$name" "$@"
	done
	measure_uftrace uftrace-details "$programs/hooks/$name" "$@"
}

# What a recording says of itself: its events, and those dropped.
read_info() {
	"$build/sonde" info --json "$session" >"$data/info"
	recorded=$(sed -n 's/^      "events": \([0-9]*\),$/\1/p' "$data/info")
	dropped=$(sed -n 's/^      "dropped": \([0-9]*\),$/\1/p' "$data/info")
}

# The events that a counting hook sees, that a recording has, and that it says it dropped. Calls
# that were left without a return have no hook at their end, but an event.
count_hooks() {
	program=$programs/hooks/$1
	shift
	rm -f "$data/counts"
	LD_PRELOAD="$build/bench/libsonde-count.so" COUNT_FILE="$data/counts" "$program" "$@" \
		</dev/null >/dev/null 2>"$data/log" || fail "failed: $program $*"
	counted=$(od -An -v -w256 -t u8 "$data/counts" |
		awk 'NR > 1 { sum += $2 + $3 } END { printf "%d", sum }')
	record -- "$program" "$@"
	read_info
	left=$("$build/sonde" dump -q --csv --kind exception "$session" | tail -n +2 | wc -l)
	echo "$counted $((recorded - left)) $dropped" >"$data/$workload.events"
	rm -rf "$session"
}

# The events of the recordings without a counterpart.
count_others() {
	table=$1
	program=$programs/$2/$3
	shift 3
	record -- "$program" "$@"
	read_info
	echo "$recorded $dropped" >"$data/$workload.$table-events"
	rm -rf "$session"
}

# Calls the command with each workload and its arguments; $workload is its title.
each_workload() {
	workload='fib(32)'
	"$@" fib 32
	workload=mt
	"$@" mt 60000 4
	workload=lua
	"$@" lua "$bench/workloads/job.lua" 3
	workload=sqlite
	"$@" sqlite :memory: ".read $bench/workloads/job.sql"
}

# The same, but for fewer rows of sqlite: with details each takes some 3 GB.
each_detail_workload() {
	sed 's/i < 25000/i < 10000/' "$bench/workloads/job.sql" >"$data/job.sql"
	workload='fib(32)'
	"$@" fib 32
	workload=mt
	"$@" mt 60000 4
	workload=lua
	"$@" lua "$bench/workloads/job.lua" 3
	workload=sqlite
	"$@" sqlite :memory: ".read $data/job.sql"
}

# A second each without a recorder, or a few percent could not be seen.
each_long_workload() {
	workload='fib(40)'
	"$@" fib 40
	workload=mt
	"$@" mt 1500000 4
	workload=lua
	"$@" lua "$bench/workloads/job.lua" 60
	workload=sqlite
	job=".read $bench/workloads/job.sql"
	"$@" sqlite :memory: "$job" '.open :memory:' "$job" '.open :memory:' "$job" \
		'.open :memory:' "$job" '.open :memory:' "$job" '.open :memory:' "$job"
}

# median COLUMN; "-" where it was not measured.
median() {
	if [ -e "$data/$workload.$1" ]; then middle 3 <"$data/$workload.$1"; else echo -; fi
}

# least COLUMN: in seconds.
least() {
	sort -n "$data/$workload.$1" | head -n 1
}

# ratio COLUMN COLUMN DIGITS: of the two in each round.
ratio() {
	if [ -e "$data/$workload.$1" ] && [ -e "$data/$workload.$2" ]; then
		paste "$data/$workload.$1" "$data/$workload.$2" | awk '{ print $1 / $2 }' | middle "$3"
	else
		echo -
	fi
}

hooks_format='%-8s %10s %7s %7s %7s %9s %7s %8s %12s %8s %6s %5s %7s\n'
patch_format='%-8s %10s %7s %7s %10s %14s %6s %7s\n'
none_format='%-8s %7s %7s %9s\n'
details_format='%-8s %10s %7s %9s %6s %8s %14s %10s %7s %9s %6s\n'

# shellcheck disable=SC2059 # the formats are above
hooks_row() {
	read -r counted recorded dropped <"$data/$workload.events"
	exact=no
	[ "$counted" != "$recorded" ] || exact=yes
	tree=$(median hooks)
	printf "$hooks_format" "$workload" "$counted" "$(median plain)" "$(median floor)" \
		"$(median hooks-own)" "$(ratio hooks-own floor 2)" "$tree" \
		"$(median uftrace)" "$(ratio hooks uftrace 2)" "$(median lttng)" \
		"$(divide "$tree" "${counted}e-9" 1)" "$exact" "$dropped"
}

# shellcheck disable=SC2059
patch_row() {
	read -r recorded dropped <"$data/$workload.patch-events"
	tree=$(median patch)
	printf "$patch_format" "$workload" "$recorded" "$(median patch-own)" "$tree" \
		"$(median uftrace-P)" "$(ratio patch uftrace-P 2)" \
		"$(divide "$tree" "${recorded}e-9" 1)" "$dropped"
}

# shellcheck disable=SC2059
none_row() {
	printf "$none_format" "$workload" "$(median bare)" "$(median none-own)" \
		"$(ratio none-own bare 3)"
}

# shellcheck disable=SC2059
details_row() {
	read -r hooks dropped <"$data/$workload.hooks-details-events"
	read -r patch dropped <"$data/$workload.patch-details-events"
	printf "$details_format" "$workload" "$hooks" "$(median hooks-details)" \
		"$(divide "$(median hooks-details)" "${hooks}e-9" 1)" \
		"$(divide "$(least hooks-details)" "${hooks}e-9" 1)" \
		"$(divide "$(median uftrace-details)" "${hooks}e-9" 1)" \
		"$(ratio hooks-details uftrace-details 2)" "$patch" \
		"$(median patch-details)" "$(divide "$(median patch-details)" "${patch}e-9" 1)" \
		"$(divide "$(least patch-details)" "${patch}e-9" 1)"
}

# Many events, from the start of the program to the finished session; and how long as many zeros
# take, which is the disk's part in it. A million events take 32 MB, and 3750 rounds of mt.
print_sustained() {
	need=$((sustained * 32))
	free=$(df -Pk "$data" | awk 'NR == 2 { print int($4 / 1000) }')
	if [ "$free" -lt $((need + need / 2)) ]; then
		echo "sustained: left out, it takes $need MB of disk and only $free MB are free"
		return 0
	fi
	begin=$(date +%s.%N)
	dd if=/dev/zero of="$data/zeros" bs=1000000 count="$need" 2>/dev/null
	middle=$(date +%s.%N)
	rm "$data/zeros"
	start=$(date +%s.%N)
	record -- "$programs/hooks/mt" $((sustained * 3750)) 4
	end=$(date +%s.%N)
	read_info
	rm -rf "$session"
	seconds=$(awk -v start="$start" -v end="$end" 'BEGIN { printf "%.2f", end - start }')
	zeros=$(awk -v begin="$begin" -v middle="$middle" 'BEGIN { printf "%.2f", middle - begin }')
	echo "sustained: mt with 4 threads, seconds as the clock shows them; goals: 10 M events/s for 20 s,"
	echo "none dropped; dd is the time that dd takes to write as many bytes"
	printf '%10s %8s %10s %8s %7s\n' events seconds 'M events/s' dd dropped
	printf '%10s %8s %10s %8s %7s\n' "$recorded" "$seconds" \
		"$(divide "$recorded" "${seconds}e6" 2)" "$zeros" "$dropped"
}

build_programs
each_workload count_hooks
each_workload count_others patch patch
each_detail_workload count_others hooks-details hooks
each_detail_workload count_others patch-details patch
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	echo "round $round of $rounds" >&2
	each_workload run_hooks
	each_workload run_patch
	for _ in 1 2 3; do # runs differ by more than what is looked for
		each_long_workload run_none
	done
	each_detail_workload run_details
done

echo "recording with hooks: CPU seconds, medians of $rounds rounds; goals: own/floor at most 1.30,"
echo "tree/uftrace at most 0.35, every event there; ns is for an event, of the whole tree"
# shellcheck disable=SC2059
printf "$hooks_format" program events plain floor own own/floor tree uftrace tree/uftrace lttng ns \
	exact dropped
each_workload hooks_row
echo
echo "patchable entries, all functions selected; goal: tree/uftrace-P at most 0.50"
# shellcheck disable=SC2059
printf "$patch_format" program events own tree uftrace-P tree/uftrace-P ns dropped
each_workload patch_row
echo
echo "patchable entries, no function selected, medians of $((3 * rounds)) runs; goal: none/bare at most 1.03"
# shellcheck disable=SC2059
printf "$none_format" program bare none none/bare
each_long_workload none_row
echo
echo "details of every event and 64 bytes of stack, whole tree, beside uftrace, which has no details; goal: at"
echo "most 60 ns for an event where uftrace takes 68 to 81, so hooks/uftrace at most 0.74 to 0.88"
# shellcheck disable=SC2059
printf "$details_format" program events hooks 'hooks ns' least uftrace hooks/uftrace events patch \
	'patch ns' least
each_detail_workload details_row
if [ "$sustained" != 0 ]; then
	echo
	print_sustained
fi
