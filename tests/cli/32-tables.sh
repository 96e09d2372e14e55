#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde convert` to tables: Parquet, CSV and JSON lines. What is in the files is read by DuckDB and Python in
# tests/interop.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session nodetail other
session crashed crashed
cp -R "$golden/../hpcdb/small" profile

run convert trace -o trace.parquet --strict
exits 0 "Parquet by the name of the output"
out_is "what was written, and that nothing is lost" <<'END'
wrote trace.parquet (parquet): 4,000 events of 4,000 read, 1,400 details
nothing was lost
END
is "$(cd trace.parquet && echo *)" \
	"events.parquet functions.parquet modules.parquet spans.parquet tracks.parquet" \
	"the tables that there is something for"
for file in trace.parquet/*; do
	is "$(head -c 4 "$file")$(tail -c 4 "$file")" PAR1PAR1 "$file has the magic at both ends"
done
run convert trace -o again.parquet
diff -r trace.parquet again.parquet >"$work/diff"
ok $? "the same input gives the same bytes"
run convert trace -o less.parquet --style no-details,no-spans
exits 0 "a style"
out_has '1,400 details: the style leaves them out' "what it leaves out is counted"
out_has ' 0 details$' "and not said to be written"
[ ! -e less.parquet/spans.parquet ]
ok $? "and is not there"
run convert trace -o strict.parquet --style no-details --strict
exits 1 "which --strict forbids"
[ ! -e strict.parquet ]
ok $? "then nothing is written"
run convert profile -o profile.parquet --quiet
is "$(cd profile.parquet && echo *s.parquet | sed 's/attributes.parquet //; s/anchors.parquet //')" \
	"contexts.parquet functions.parquet metrics.parquet modules.parquet samples.parquet tracks.parquet values.parquet" \
	"the tables of a profile"
run convert crashed -o crashed.parquet --quiet
exits 0 "a session that was not finished"
run info trace.parquet
exits 3 "Parquet is not read"

run convert trace -o trace.csv --strict
exits 1 "rows have no place for everything"
run convert trace -o trace.csv
exits 0 "CSV"
out_has '1,400 details: rows have arguments only; --style details writes all of them' "what is lost"
"$SONDE" dump --csv --track 0 trace >"$work/dumped"
head -n "$(wc -l <"$work/dumped")" trace.csv >"$work/first"
sed 1d "$work/dumped" >"$work/a" && sed 1d "$work/first" >"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "rows are those of dump, the first track first"
is "$(head -n 1 trace.csv)" "$(head -n 1 "$work/dumped")" "so is the header"
run convert trace -o trace.jsonl
exits 0 "JSON lines"
"$SONDE" dump --json --track 0 trace >"$work/dumped"
head -n "$(wc -l <"$work/dumped")" trace.jsonl | cmp -s - "$work/dumped"
ok $? "lines are those of dump"
run convert trace -o all.csv --style events,details --quiet
is "$(head -n 1 all.csv | tr -d '\r')" \
	"time_ns,relative_ns,track,track_name,kind,name,depth,synthetic,value,arguments,detail_type,detail_flags,registers,stack,bytes" \
	"with details"
for table in spans values samples contexts; do
	run convert trace -o "$table.csv" --style "$table" --quiet
	exits 0 "$table of calls"
	[ "$(wc -l <"$table.csv")" -gt 10 ]
	ok $? "which has rows"
done
run convert profile -o profile.csv
out_has '^wrote profile.csv .csv.: 10 calling contexts, 5 values$' "a profile becomes its values"
out_has ' 6 samples: the target does not hold them' "of one table"
is "$(head -n 1 profile.csv | tr -d '\r')" "track,context,name,metric,scope,statistic,value" "their columns"
run convert trace -o two.csv --style events,spans
exits 3 "two tables in a file"
err_has 'one table' "are refused"
run convert trace -o x.csv --style wide
exits 2 "a style that there is not"
run cut trace --from 100us --to 150us -o piece.csv --quiet
exits 0 "a piece of time"
grep -q ',1,,' piece.csv
ok $? "with calls that were opened again"
finish
