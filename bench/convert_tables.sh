#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures how fast an ATF session becomes Parquet tables, CSV and JSON lines, with the build in BUILD_DIR:
# events a second by the clock, and by the processor time of one core; the most memory. Medians of some runs.
# TABLES_EVENTS events on four threads (default 10000000, 320 MB); outputs are removed.
# usage: bench/convert_tables.sh BUILD_DIR
set -eu

build=${1:?usage: bench/convert_tables.sh BUILD_DIR}
data=$build/bench/data
events=${TABLES_EVENTS:-10000000}
events=$((events - events % 4))
runs=5
SONDE_CACHE=off
export SONDE_CACHE

ninja -C "$build" sonde bench/sonde-generate >&2
mkdir -p "$data"
source=$data/tables-$events
if [ ! -d "$source" ]; then
	"$build/bench/sonde-generate" --events "$events" --threads 4 -o "$source" >&2
fi

# measure LABEL OUTPUT [OPTIONS]: prints a row.
measure() {
	label=$1 output=$data/$2
	shift 2
	: >"$data/tables.times"
	i=0
	while [ $i -lt $runs ]; do
		rm -rf "$output"
		/usr/bin/time -a -o "$data/tables.times" -f '%e %U %S %M' \
			"$build/sonde" convert "$source" -o "$output" --quiet "$@"
		i=$((i + 1))
	done
	size=$(du -sk "$output" | cut -f 1)
	rm -rf "$output"
	awk -v label="$label" -v events="$events" -v size="$size" '
		{ wall[NR] = $1; cpu[NR] = $2 + $3; if ($4 > memory) memory = $4 }
		function median(list,    i, k, t) {
			for (i = 1; i <= NR; i++)
				for (k = i + 1; k <= NR; k++)
					if (list[k] < list[i]) { t = list[i]; list[i] = list[k]; list[k] = t }
			return list[int((NR + 1) / 2)]
		}
		END {
			printf "%-32s %8.1f %12.1f %10d %10.1f\n", label, events / median(wall) / 1e6,
				events / median(cpu) / 1e6, memory / 1024, size * 1024 / events
		}' "$data/tables.times"
}

printf '%-32s %8s %12s %10s %10s\n' "ATF to" "M/s" "M/s a core" "memory MB" "bytes each"
measure "Parquet, events and spans" tables.parquet
measure "Parquet, events alone" tables.parquet --style no-spans
measure "Parquet, spans alone" tables.parquet --style no-events
measure "CSV, events" tables.csv
measure "CSV, spans" tables.csv --style spans
measure "JSON lines, events" tables.jsonl
rm -f "$data/tables.times"
