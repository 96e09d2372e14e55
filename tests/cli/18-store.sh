#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trace stores: made, filled, searched, shown, counted, packed, checked.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
stores=${golden%/atf}/zts
cp -R "$stores/archived" old && cp -R "$stores/minimal" minimal && chmod -R u+w old minimal

found() {
	run store search "$@" --csv -n 0
	grep -c '^[0-9a-f]*:' "$out"
}

# A store of another program.
run store search minimal
exits 0 "search"
out_is "a trace in a line" <<'END'
time (UTC)               duration  type  service  errors  calls  records  name                            id
2019-05-01 12:00:01.000  6.553 ms  1     1             1      2        2  void com.example.Main.run(int)  000001:0
END
run store get minimal 0123
exits 0 "get by the beginning of an id"
out_is "a trace as a tree" <<'END'
trace 01234567-89ab-cdef-0123-456789abcdef  000001:0
2019-05-01 12:00:01.000 UTC  2 records  1 error  type 1  service 1  env 2
        time          self  calls  call
    6.553 ms      3.932 ms      2  void com.example.Main.run(int)
                                       URI = /café
                                       STATUS = 500
    2.621 ms      2.621 ms      1    String com.example.Dao.find()
                                         ! java.lang.RuntimeException: boom
                                           at com.example.Dao.find(Dao.java:42)
END
cp "$out" tree
for id in 000001:0 0123456789abcdef0123456789abcdef 01234567-89ab-cdef-0123-456789abcdef; do
	run store get minimal $id
	cmp -s "$out" tree
	ok $? "get $id"
done
run store get minimal 000001:1
exits 3 "get of a slot that is not there"
run store get minimal ffff
exits 3 "get of an id that is not there"
err_has "no trace ffff in the store" "it is named"
run store get minimal hello
err_has "'hello' is no id of a trace" "get of what is no id"
run store get minimal
exits 2 "get of nothing"
run store get old 0
err_has "the ids of [0-9]+ traces begin with 0; write more" "get of too little"

is "$(found old)" 160 "all traces of a packed part"
is "$(found old 'STATUS=500')" 3 "attribute=value"
is "$(found old --where 'STATUS=500')" 3 "--where"
is "$(found old 'STATUS=500' 'URI=/login')" 1 "two conditions"
is "$(found old 'STATUS=500 and URI=/login')" 1 "and"
is "$(found old 'STATUS>=500 or URI=/login')" 9 "or"
is "$(found old 'not STATUS=*')" 120 "not, and: is there"
is "$(found old 'URI=/orders/*')" 12 "a prefix"
is "$(found old 'URI=*list')" 5 "a suffix"
is "$(found old 'URI~rder')" 12 "a substring"
is "$(found old --text 'NullPointer')" "$(found old NullPointer)" "free text by option and by word"
is "$(found old --prefix /orders)" 12 "a text that begins so"
is "$(found old exception=NullPointerException)" "$(found old --exception NullPointer)" "exceptions"
is "$(found old --errors)" "$(found old 'errors>0')" "errors"
is "$(found old --min-duration 100ms)" "$(found old 'duration>=100ms')" "durations"
is "$(found old --type 7)" 4 "a type"
is "$(found old --shallow 'SQL=*')" 120 "shallow: only first records"
is "$(found old 'SQL=*')" 151 "deep: all records"
is "$(found old --from 2019-05-01T12:00:03 --to '2019-05-01 12:00:04')" 49 "between dates"
is "$(found old --from 50% --to 50%)" 0 "no time at all"
is "$(found old --method 'java.util.zip.ZipFile.*' --method 'getComment')" 9 "methods"

# Orders and pages.
run store search old --sort duration -n 2 --csv
is "$(sed 1d "$out" | cut -d, -f4 | tr '\n' ' ')" "159973376 132775936 " "the longest"
run store search old --sort duration --ascending -n 1 --csv
is "$(sed 1d "$out" | cut -d, -f4)" 0 "the shortest"
run store search old -n 0 --csv
sed 1d "$out" >all
: >pages
cursor=
while :; do
	run store search old -n 33 --csv ${cursor:+--cursor "$cursor"}
	sed 1d "$out" >>pages
	cursor=$(sed -n 's/.*--cursor //p' "$err")
	[ "$cursor" ] || break
done
cmp -s all pages
ok $? "pages by cursor are the whole"
run store search old -n 5 --offset 7 --csv
sed 1d "$out" >page
sed -n 8,12p all | cmp -s - page
ok $? "a page by offset"
run store search old --cursor nonsense
exits 2 "a cursor that is none"
run store search old --json --csv
exits 2 "--json and --csv"

# What is wrong with a condition is shown at its place.
run store search old 'STATUS=500 and (URI=/x or'
exits 2 "an unfinished condition"
err_is "an unfinished condition is shown" <<'END'
sonde: expected a condition here, found the end
  STATUS=500 and (URI=/x or
                           ^
  hint: 'sonde store search --help' shows how conditions are written
END
for condition in '(' ')' 'a=' '=b' 'a>b' 'duration>5' '"x' 'a and' 'not' '!a' 'errors~1' '*'; do
	run store search old "$condition"
	exits 2 "the condition $condition"
done
run store search missing
exits 3 "a store that is not there"
err_has 'sonde store init missing   makes a store' "what to do is said"
run store search old/000000/traces.dat
exits 3 "a file in place of a store"
err_has "this is no folder, and a trace store is one" "it is said"
run store search trace
exits 3 "another recording in place of a store"
err_has "expected a trace store" "what was expected is said"
run store search old --from yesterday
exits 2 "a time that is none"
err_has "neither a date like 2026-01-02 nor a time like -1h" "what times look like is said"

# Statistics and values.
run store stats old --by URI -n 1
out_has '^/orders/42 +7 +588.840 ms +84.120 ms +21.823 ms' "statistics by attribute"
run store stats old --by type --csv
out_has '^2,36,16,' "statistics by type"
run store stats old --by method --every 1s --json -n 1
is "$(grep -c '"from_ns":' "$out")" 4 "statistics by stretches of time"
run store stats old 'STATUS=500' --by STATUS --csv
is "$(sed 1d "$out" | cut -d, -f1,2)" "500,3" "statistics of some traces"
run store values old STATUS --csv
is "$(tr -d '\r' <"$out" | tr '\n' ' ')" "value,traces 200,37 500,3 " "values"
run store values old URI 'STATUS=500' --json
is "$(grep -c '"traces":1}' "$out")" 3 "values of some traces"
run store values old
out_has '^ +151  ROWS$' "names of attributes"

# A store of our own.
run store init new
exits 0 "init"
for command in search stats values; do
	run store $command new
	exits 0 "$command in a store without traces"
	err_has "the store has no traces yet" "$command says so"
done
run store check new
exits 0 "check of a store without traces"
run info new
exits 0 "info about one"
out_has "state +finished" "and nothing is wrong with it"
run store init new
exits 3 "init of what is there"
run store init tree
exits 3 "init of a file"
err_has "tree: this is no folder" "it is said"

# Nothing is written where there is no store.
mkdir empty
for folder in trace empty; do
	for command in rotate archive; do
		run store $command $folder
		exits 3 "$command of a folder that is no store: $folder"
	done
	run store ingest $folder trace
	exits 3 "ingest into $folder"
	err_has "this folder is no trace store" "it is said"
	[ ! -e $folder/sonde.lock ] && [ ! -e $folder/000000 ]
	ok $? "nothing was written into it"
done
run store serve trace --listen 127.0.0.1:0
exits 3 "serve of a folder that is no store"
run store rotate minimal/000001
exits 3 "rotate of one part"
err_has "one part of a store; give the folder that it is in" "what to do is said"

# Addresses.
for address in nonsense 127.0.0.1 ::1 127.0.0.1:99999 127.0.0.1:http; do
	run store serve new --listen "$address"
	exits 2 "serve at $address"
done
run store serve new --listen 0.0.0.0:0
exits 2 "serve for other machines without a token"
err_has "needs a token, by --token-file or in SONDE_TOKEN" "what to do is said"
run store serve never --listen 0.0.0.0:0
[ ! -e never ]
ok $? "no store was made"
: >token
run store serve new --listen 0.0.0.0:0 --token-file token
exits 3 "an empty token"

# A library of that name that is none; only the server needs it.
mkdir broken && : >broken/"$(strings "$SONDE" | sed -n '/^libmicrohttpd\.so/{p;q;}')"
export LD_LIBRARY_PATH="$PWD/broken"
run store serve new --listen 127.0.0.1:0
exits 3 "serve without its library"
err_has "needs libmicrohttpd, which cannot be loaded" "it is said"
run store search new
exits 0 "search without it"
unset LD_LIBRARY_PATH

# Another writer.
"$SONDE" store serve new --listen 127.0.0.1:0 >listening 2>served </dev/null &
server=$!
tries=0
until grep -qs listening listening || [ $tries -gt 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
run store ingest new trace
exits 3 "ingest while a server writes"
err_has "another process \($server\) writes to this store" "who it is, is said"
run store search new
exits 0 "search while a server writes"
run store serve other --listen "$(sed 's,.*//,,' listening)"
exits 3 "serve at an address in use"
err_has "cannot be listened on; is another server there" "it is said"
kill $server
wait $server
ok $? "the server ends in peace"
if [ "$(id -u)" -ne 0 ]; then
	chmod a-w new new/sonde.lock
	run store ingest new trace
	exits 3 "ingest into a store that cannot be written"
	err_has "the store cannot be opened for writing" "it is said"
	run store search new
	exits 0 "search in it"
	chmod u+w new new/sonde.lock
fi
run store ingest nowhere trace
exits 3 "ingest into nothing"
err_has 'sonde store init nowhere   makes a store' "what to do is said"
run store ingest new trace --service shop --host node-1
exits 0 "ingest"
out_has '^trace: 34 traces with 2,000 records$' "what was taken in"
is "$(found new)" 34 "all are found"
is "$(found new --service shop --host node-1)" 34 "by service and host"
is "$(found new --service other)" 0 "by another service"
run store rotate new
out_has '^1 part finished and packed, 0 removed$' "rotate"
run store ingest new trace --split-by 'work_*'
exits 0 "ingest with --split-by"
[ -d new/000000 ] && [ -d new/000001 ]
ok $? "a new part was begun"
first=$(found new --service shop)
is "$first" 34 "the packed part is searched"
run store archive new --rotate
out_has '^1 part packed$' "archive"
run store check new
exits 0 "check"
run store get new 000000:0 -o one.wtf-trace
exits 0 "get as a recording"
run info one.wtf-trace
exits 0 "it is one"
run store get new --all --json
exits 0 "get of all"
if have python3; then
	python3 -c 'import json, sys
print(len(json.load(open(sys.argv[1]))["traces"]))' "$out" >count
	is "$(cat count)" "$(found new)" "all are there, in JSON"
fi
: >new/000000/traces.dat
run store check new
exits 1 "check of a damaged store"
run store recover new -o rescued
exits 0 "recover"
run store check -q rescued
exits 0 "what was recovered is sound"

finish
