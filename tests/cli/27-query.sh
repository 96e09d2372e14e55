#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SQL over recordings: how rows are printed, statements from a file and from standard input, what is said
# of mistakes, and all five formats.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
export XDG_STATE_HOME="$work/state"
odd="SELECT 1 AS n, NULL AS missing, 'a\"b|c' AS t, x'01ff' AS b, 0.1 AS r, '' AS e"

run query trace 'SELECT count(*) AS calls FROM spans'
out_is "a box where the terminal knows ASCII alone" <<'END'
+-------+
| calls |
+-------+
|  2000 |
+-------+
END
export LC_ALL=C.UTF-8
run query trace 'SELECT count(*) AS calls FROM spans'
exits 0 "a query"
out_is "rows in a box" <<'END'
┌───────┐
│ calls │
├───────┤
│  2000 │
└───────┘
END
run query trace "$odd"
out_is "numbers to the right, NULL told, bytes in hexadecimal" <<'END'
┌───┬─────────┬───────┬─────────┬─────┬───┐
│ n │ missing │ t     │ b       │   r │ e │
├───┼─────────┼───────┼─────────┼─────┼───┤
│ 1 │ NULL    │ a"b|c │ x'01ff' │ 0.1 │   │
└───┴─────────┴───────┴─────────┴─────┴───┘
END
run query trace 'VALUES (1e999), (-1e999)'
out_is "numbers without end" <<'END'
┌─────────┐
│ column1 │
├─────────┤
│     inf │
│    -inf │
└─────────┘
END
run query --csv trace "$odd"
tr -d '\r' <"$out" >"$work/plain" && mv "$work/plain" "$out"
out_is "CSV: nothing for NULL, a pair of quotes for an empty text" <<'END'
n,missing,t,b,r,e
1,,"a""b|c",x'01ff',0.1,""
END
run query --csv trace "SELECT 'one
two' AS a"
is "$(tr -d '\r' <"$out")" 'a
"one
two"' "CSV: a text of two lines"
run query --json trace "SELECT 1 AS n, NULL AS missing, 'a\"b' AS t, x'01' AS b, 3.0 AS r, 1 AS n"
out_is "JSON, each key once" <<'END'
[
{"n":1,"missing":null,"t":"a\"b","b":"x'01'","r":3.0,"n:1":1}
]
END
run query --json trace "SELECT 1 WHERE 0"
out_is "JSON without rows" <<'END'
[]
END
run query --mode jsonl trace "VALUES (1), (1e999)"
out_is "JSON lines" <<'END'
{"column1":1}
{"column1":null}
END
run query --mode markdown trace "SELECT 1 AS n, 'a|b_c' AS t"
out_is "markdown" <<'END'
| n | t |
|--:|---|
| 1 | a\|b\_c |
END
run query --mode line trace "SELECT 1 AS n, 'x' AS long UNION ALL SELECT 2, NULL"
out_is "a line for each value" <<'END'
n    = 1
long = x

n    = 2
long = NULL
END
run query --no-header --csv trace "SELECT 1, 2"
is "$(tr -d '\r' <"$out")" "1,2" "no header"
run query trace "SELECT 1 WHERE 0"
err_is "a result without rows is worth a word" <<'END'
sonde: no rows
END
run query --max-rows 2 --csv --no-header trace "VALUES (1), (2), (3)"
is "$(tr -d '\r' <"$out")" "1
2" "no more rows than asked for"
err_has 'only the first 2 rows are shown; --max-rows 0 shows all' "which is said"
run query --csv --no-header trace "SELECT 1; SELECT 2; -- the end"
is "$(tr -d '\r' <"$out")" "1
2" "several statements"

# Names that are harmful on a screen.
run query trace "SELECT char(27) || '[31m' AS c"
out_has '\\x1b\[31m' "control characters are shown"

# Screens.
wide="SELECT 123456789012 AS number, printf('%.200c', 'x') AS text, 'short' AS s"
COLUMNS=60 run query trace "$wide"
is "$(grep -c '123456789012 .* xxx*\.\.\. │ short' "$out")" 1 "texts give way on a narrow screen"
is "$(awk '{ gsub(/[^ -~]/, ""); if (length($0) > 60) print }' "$out")" "" "nothing is wider"
run query trace "$wide"
is "$(grep -c 'x\{200\}' "$out")" 1 "nothing is cut where there is no screen"
COLUMNS=40 run query --csv trace "$wide"
is "$(grep -c 'x\{200\}' "$out")" 1 "CSV is never cut"
COLUMNS=40 run query trace "SELECT 1111111111 a, 2222222222 b, 3333333333 c, 4444444444 d"
out_has '^d = 4444444444$' "what cannot fit is shown as lines"

# Long results: widths are settled after some rows, and memory is bounded.
run query --mode box trace "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i * 10 FROM n \
	WHERE i < 1000000) SELECT n.i, e.seq FROM events e JOIN n ORDER BY n.i"
is "$(grep -c '^│' "$out")" 28001 "a long result is complete"
out_has '^│ 1000000 │ ' "wider cells after the first thousands stay whole"

# Where SQL comes from.
printf 'SELECT 1;\nSELECT\n2;\n.mode csv\n.header off\nSELECT 3' >script.sql
run query --csv --no-header trace --file script.sql
is "$(tr -d '\r' <"$out")" "1
2
3" "from a file"
"$SONDE" query trace <script.sql >"$out" 2>"$err"
is "$? $(tail -n 1 "$out" | tr -d '\r')" "0 3" "from standard input"
"$SONDE" query trace - <script.sql >"$out" 2>"$err"
is "$? $(tail -n 1 "$out" | tr -d '\r')" "0 3" "- is standard input"
printf 'SELECT 1;\nSELECT missing;\nSELECT 3;\n' | "$SONDE" query --csv --no-header trace >"$out" 2>"$err"
is "$? $(tr -d '\r' <"$out")" "2 1" "the first error ends it"
printf '.quit\nSELECT 1;\n' | "$SONDE" query trace >"$out" 2>"$err"
silent ".quit ends it"
run query trace
silent "no SQL, nothing to say"
run query trace --file missing.sql
exits 3 "a file that is not there"
run query trace "SELECT 1" --file script.sql
exits 2 "SQL twice"
[ ! -e "$work/state" ]
ok $? "history is for who types"

# Commands.
run query trace .tables
exits 0 "commands in place of SQL"
out_has '^  a  trace \(atf\)$' ".tables: the recordings"
for table in tracks functions events spans samples contexts vals details args attributes diagnostics; do
	out_has "^  $table +[a-z_]+, " ".tables: $table"
done
run query trace '.schema spans'
out_has '^  dur_ns +INTEGER +[a-z]' ".schema of a table"
is "$(grep -c '^[a-z]' "$out")" 1 "of that table only"
run query trace '.schema span'
exits 2 "a table that is not there"
err_has "did you mean 'spans'" "what was perhaps meant"
run query trace .functions
out_has 'percentile\(value, p\)' ".functions"
run query trace .mode
out_has '^\*  box' ".mode: the present one is marked"
run query trace '.mode bx'
exits 2 "a mode that is not there"
run query trace .help
out_has '\.quit' ".help"
run query trace .tabls
err_has "did you mean '\.tables'" "a mistyped command"
printf '.mode jsonl\n.limit 1\n.timeout 5s\n.timeout\n.limit\nVALUES (1), (2);' |
	"$SONDE" query trace >"$out" 2>/dev/null
out_is "commands change what comes after them" <<'END'
5.000 s
1
{"column1":1}
END

# Mistakes.
run query trace 'SELECT * FROM functons'
exits 2 "a table that is not there"
err_is "the place, and what was perhaps meant" <<'END'
sonde: no such table: functons
  SELECT * FROM functons
                ^
  hint: did you mean 'functions'?
END
run query trace 'SELECT dur_n FROM spans'
err_is "a column" <<'END'
sonde: no such column: dur_n
  SELECT dur_n FROM spans
         ^
  hint: did you mean 'dur_ns'?
END
run query trace 'SELECT
	count(*),
	percntile(dur_ns, 50)
FROM spans'
err_is "a function, in one of several lines" <<'END'
sonde: no such function: percntile
  percntile(dur_ns, 50)
  ^
  hint: did you mean 'percentile'?
END
run query trace 'SELECT 1 FORM spans WHERE'
err_has '^           \^$|syntax error' "a syntax error"
exits 2 "SQL that is wrong"
run query trace 'SELECT sum(dur_ns FROM spans'
exits 2 "a bracket that is open"
run query trace "SELECT stack(1, ';', 'c')"
exits 2 "a recording that is not there"
for sql in 'DELETE FROM spans' 'CREATE TABLE t(x)' 'DROP TABLE spans' "ATTACH 'x.db' AS x" \
	'PRAGMA writable_schema = 1' "SELECT load_extension('x')" 'VACUUM' 'BEGIN'; do
	run query trace "$sql;"
	exits 2 "refused: $sql"
done
[ ! -e x.db ]
ok $? "nothing was made"
run query trace 'DELETE FROM spans'
err_has 'recordings are only read' "why, is said"

run query trce
exits 2 "a mistyped path"
err_has 'trce: there is no such file or folder' "is not taken for SQL"
run query trce 'SELECT 1'
exits 3 "a path that is not there"
err_has 'trce' "which is named"
run query 'SELECT 1'
exits 2 "no recording"
run query --csv --json trace 'SELECT 1'
exits 2 "one way to print"
run query trace trace 'SELECT (SELECT count(*) FROM a.spans) = (SELECT count(*) FROM b.spans) AS same'
out_has '^│ +1 │' "two recordings"
run query old=trace new=trace --csv --no-header \
	'SELECT count(*) FROM old.functions o JOIN new.functions n USING (id)'
is "$(tr -d '\r' <"$out")" 12 "with names"
run query x=trace x=trace 'SELECT 1'
exits 2 "one name for two"
run query main=trace 'SELECT 1'
exits 2 "a name of SQLite's own"

# Limits.
run query --timeout 50ms trace 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
	SELECT count(*) FROM n'
exits 3 "a query that takes too long"
err_has 'took longer than 50\.000 ms' "which is said"
run query --timeout 50ms trace 'SELECT count(*) FROM events a, events b, events c'
exits 3 "also within tables"
"$SONDE" query trace 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' \
	>"$out" 2>"$err" &
query=$!
sleep 1
kill -INT $query
wait $query
code=$?
exits 130 "Ctrl-C ends it"
err_is "which is said" <<'END'
sonde: interrupted
END

# A session that nobody finished names no functions: they are found in its events.
session crashed crashed
run query -q crashed --csv --no-header 'SELECT count(*) FROM functions f JOIN spans ON function = f.id'
is "$(tr -d '\r' <"$out")" 1350 "functions that are only met in events"

# All formats have calls, and the same ones.
calls='SELECT f.name, count(*) AS calls, sum(dur_ns) AS total FROM spans JOIN functions f ON f.id = function
	GROUP BY f.name ORDER BY f.name'
run query --csv trace "$calls"
cp "$out" "$work/calls"
is "$(wc -l <"$work/calls" | tr -d ' ')" 13 "the functions of a session"
for format in cff zts hpcdb; do
	run convert trace -o "calls.$format" -t "$format"
	run query --csv "calls.$format" "$calls"
	exits 0 "$format"
	cmp -s "$work/calls" "$out"
	ok $? "$format: the same calls" || diff -u "$work/calls" "$out" | explain
done
run query trace --csv --no-header "SELECT round((SELECT sum(value) FROM vals WHERE metric = 'REALTIME (sec)'
	AND scope = 'point') * 1e9) = (SELECT sum(self_ns) FROM spans), (SELECT round(sum(value) * 1e9) FROM vals
	WHERE metric = 'REALTIME (sec)' AND scope = 'execution' AND context = 0) = (SELECT sum(self_ns) FROM spans)"
is "$(tr -d '\r' <"$out")" "1,1" "values of calls are what the spans have"
run query trace "SELECT sum(9223372036854775807) FROM tracks"
exits 2 "a sum that is too large"
err_has '^  hint: total\(\) ' "and what adds it up"
if have python3; then
	python3 "$root/tests/cli/prof_measurements.py" heat
	run query --csv --no-header heat "SELECT sum(value) FROM vals
		WHERE metric LIKE 'CPUTIME%' AND scope = 'point' AND track IS NOT NULL"
	exits 0 "hpcrun"
	is "$(tr -d '\r' <"$out")" 16.5 "hpcrun: values of measurements"
else
	skip "hpcrun" "no python3"
fi
run query "$golden/../hpcdb/small" --csv --no-header "SELECT sum(value) FROM vals
	WHERE metric LIKE 'CPUTIME%' AND scope = 'point' AND track IS NOT NULL"
exits 0 "values of a database"
is "$(tr -d '\r' <"$out")" 8.5 "are all there"
run query "$golden/../hpcdb/small" --csv --no-header "SELECT stack(id) FROM contexts WHERE id = 5"
is "$(tr -d '\r' <"$out")" "main;work;loop at main.c:10" "paths of its contexts"

finish
