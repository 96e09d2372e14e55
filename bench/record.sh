#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what recording costs, with the build in BUILD_DIR, and prints a table: CPU time (user
# and system) of programs without hooks, with the least hook (bench/workloads/floor.c), recorded
# by sonde and by uftrace. The runs of a round follow each other; the medians of BENCH_ROUNDS
# rounds (default 5) are shown. The number of events is compared with a counting hook's.
# usage: bench/record.sh BUILD_DIR
set -eu

build=${1:?usage: bench/record.sh BUILD_DIR}
build=$(cd "$build" && pwd)
bench=$(cd "$(dirname "$0")" && pwd)
rounds=${BENCH_ROUNDS:-5}
programs=$build/bench/programs
data=$build/bench/record
session=$data/session

rm -rf "$data"
mkdir -p "$data"
trap 'rm -rf "$data"' EXIT

fail() {
	echo "bench/record.sh: $*" >&2
	[ ! -s "$data/log" ] || tail -n 20 "$data/log" >&2
	exit 3
}

# The programs, each without and with hooks.
build_programs() {
	runtime=$(ninja -C "$build" -t targets all | sed -n 's/^\(libsonde-rt\.so\.[0-9.]*\):.*/\1/p')
	ninja -C "$build" sonde "$runtime" bench/sonde-cpu bench/libsonde-floor.so \
		bench/libsonde-count.so bench/fib-plain bench/fib-hooks bench/mt-plain \
		bench/mt-hooks >&2
	if [ ! -e "$programs/plain/bzip2" ]; then
		"$bench/fetch-workloads.sh" "$programs/plain" -O1 -g
	fi
	if [ ! -e "$programs/hooks/bzip2" ]; then
		"$bench/fetch-workloads.sh" "$programs/hooks" -O1 -g -finstrument-functions
	fi
	for name in fib mt; do
		ln -sf "$build/bench/$name-plain" "$programs/plain/$name"
		ln -sf "$build/bench/$name-hooks" "$programs/hooks/$name"
	done
}

# measure COLUMN COMMAND...: adds the CPU seconds of the command, and all it waited for, to a list.
measure() {
	column=$1
	shift
	"$build/bench/sonde-cpu" "$data/now" "$@" </dev/null >/dev/null 2>"$data/log" ||
		fail "failed: $*"
	cat "$data/now" >>"$data/$workload.$column"
}

# The whole tree from outside, and the program alone from inside of it.
measure_sonde() {
	measure tree "$build/sonde" record -q --force -o "$session" -- \
		"$build/bench/sonde-cpu" "$data/own" "$@"
	cat "$data/own" >>"$data/$workload.own"
	rm -rf "$session"
}

measure_uftrace() {
	command -v uftrace >/dev/null || return 0
	measure uftrace uftrace record --no-pager --no-libcall -d "$data/uftrace" "$@"
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

# One run of the workload in each column.
one_round() {
	name=$1
	shift
	measure plain "$programs/plain/$name" "$@"
	measure floor env LD_PRELOAD="$build/bench/libsonde-floor.so" "$programs/hooks/$name" "$@"
	measure_sonde "$programs/hooks/$name" "$@"
	measure_uftrace "$programs/hooks/$name" "$@"
	measure_lttng "$programs/hooks/$name" "$@"
}

# The events that a counting hook sees, that a recording has, and that it says it dropped. Calls
# that were left without a return have no hook at their end, but an event.
count_events() {
	name=$1
	shift
	LD_PRELOAD="$build/bench/libsonde-count.so" "$programs/hooks/$name" "$@" \
		</dev/null 2>"$data/counted" >/dev/null || fail "failed: $name $*"
	"$build/sonde" record -q --force -o "$session" -- "$programs/hooks/$name" "$@" \
		</dev/null >/dev/null 2>"$data/log" || fail "recording failed: $name $*"
	"$build/sonde" info --json "$session" >"$data/info"
	recorded=$(sed -n 's/^      "events": \([0-9]*\),$/\1/p' "$data/info")
	left=$("$build/sonde" dump -q --csv --kind exception "$session" | tail -n +2 | wc -l)
	dropped=$(sed -n 's/^      "dropped": \([0-9]*\),$/\1/p' "$data/info")
	echo "$(sed -n 's/^EVENTS //p' "$data/counted") $((recorded - left)) $dropped" \
		>"$data/$workload.events"
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

median() {
	[ -e "$data/$workload.$1" ] || {
		echo -
		return
	}
	sort -n "$data/$workload.$1" | awk '{ all[NR] = $1 } END { printf "%.3f", all[int((NR + 1) / 2)] }'
}

print_row() {
	read -r counted recorded dropped <"$data/$workload.events"
	awk -v title="$workload" -v plain="$(median plain)" -v floor="$(median floor)" \
		-v own="$(median own)" -v tree="$(median tree)" -v uftrace="$(median uftrace)" \
		-v lttng="$(median lttng)" -v counted="$counted" -v recorded="$recorded" \
		-v dropped="$dropped" '
		function ratio(a, b) { return a == "-" || b + 0 == 0 ? "-" : sprintf("%.2f", a / b) }
		BEGIN {
			printf "%-8s %10d %7s %7s %7s %9s %7s %8s %12s %8s %6s %5s %7d\n", title,
				counted, plain, floor, own, ratio(own, floor), tree, uftrace,
				ratio(tree, uftrace), lttng, sprintf("%.1f", tree * 1e9 / counted),
				counted == recorded ? "yes" : "no", dropped
		}'
}

build_programs
each_workload count_events
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	echo "round $round of $rounds" >&2
	each_workload one_round
done
echo "recording: CPU seconds, medians of $rounds rounds; goals: own/floor at most 1.30,"
echo "tree/uftrace at most 0.35, every event there; ns is for an event, of the whole tree"
printf '%-8s %10s %7s %7s %7s %9s %7s %8s %12s %8s %6s %5s %7s\n' program events plain floor own \
	own/floor tree uftrace tree/uftrace lttng ns exact dropped
each_workload print_row
