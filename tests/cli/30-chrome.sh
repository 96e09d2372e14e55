#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Chrome trace JSON: written, read, packed, damaged.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session nodetail trace

run convert trace -t chrome -o plain.json
exits 0 "convert to Chrome trace JSON"
out_has '^nothing was lost$' "nothing is lost on the way"
out_has 'modules, files and lines of functions' "what only sonde reads back is told"
run convert trace -o named.json.gz
exits 0 "the name tells the format, and that it is packed"
gzip -t named.json.gz && gzip -dc named.json.gz | cmp -s - plain.json
ok $? "packed is the same text"
run convert trace -t chrome --style gzip -o styled.json
cmp -s styled.json named.json.gz
ok $? "a style does the same"
run convert trace -t chrome --style flat -o never.json
exits 2 "a style that there is not"

for file in plain.json named.json.gz; do
	run info "$file"
	exits 0 "info of $file"
	out_has 'Chrome trace JSON [(]chrome[)]' "it is detected"
	run diff --exact trace "$file"
	exits 0 "the same contexts, calls and times"
	"$SONDE" report --csv trace >"$work/a"
	"$SONDE" report --csv "$file" >"$work/b"
	cmp -s "$work/a" "$work/b"
	ok $? "the same report"
	run check "$file"
	exits 0 "nothing is found wrong with it"
done
run convert plain.json -t atf -o back
exits 0 "convert back"
run diff --exact trace back
exits 0 "and it is the same again"

head -c 20000 plain.json >cut.json
run info cut.json
exits 0 "what is there of a file that was cut"
out_has 'exchange-truncated' "and that it was"
run check cut.json
exits 1 "check finds it"

cat >other.json <<'END'
[ {"name": "outer", "cat": "c", "ph": "X", "ts": 10.0004, "dur": 5.25, "pid": 3, "tid": 4, "args": {"n": 1}},
  {"name": "inner", "ph": "B", "ts": 11, "pid": 3, "tid": 4}, {"ph": "E", "ts": 12.5, "pid": 3, "tid": 4},
  {"name": "thread_name", "ph": "M", "pid": 3, "tid": 4, "args": {"name": "worker"}},
  this is no event,
  {"name": "queue", "ph": "C", "ts": 13, "pid": 3, "tid": 4, "args": {"length": 7}}
END
run dump --json other.json
exits 0 "a list without an end"
out_has '"time_ns":10000,.*"track_name":"worker","kind":"call","name":"outer".*"arguments":{"n":1}' "a span is a call"
out_has '"time_ns":15250,.*"kind":"return","name":"outer"' "and a return"
out_has '"time_ns":13000,.*"kind":"counter","name":"queue.length".*7' "a counter"
run check other.json
exits 1 "something that is no event"
out_has 'exchange-record' "is found"
printf '{"%sschema":"https://www.speedscope.app/file-format-schema.json","profiles":[]}\n' '$' >scope.json
run info scope.json
! grep -q 'Chrome trace JSON' "$out"
ok $? "other JSON is not taken for it"
for text in https://www.speedscope.app/file-format-schema.json resourceSpans wtfVersion; do
	printf '{"traceEvents":[{"name":"%s","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}]}\n' "$text" >named.json
	run info named.json
	out_has 'Chrome trace JSON' "a name that says $text makes it no other format"
done
finish
