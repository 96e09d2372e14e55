#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Contexts, values and samples: from calls to a profile and back, what info and dump show of it, and
# what is said where something cannot be carried over.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace

run convert trace -o database -t hpcdb
exits 0 "calls become a profile"
out_is "what was made of them is told" <<'END'
wrote database (hpcdb): 1,859 calling contexts, 3,736 values, 4,000 samples from 4,000 events
lost:
  2 build ids and places of modules: the target does not hold them
  4 clocks of tracks: the samples of a database are in the time of the wall clock, and nothing tells how that was; times stay as they are
  1,400 details: the target does not hold details
  79 exceptions: the target does not tell how a call was left
  1 machines of processes: the target does not hold them
END
run convert trace -o again -t hpcdb
diff -r database again >"$work/diff"
ok $? "the same input gives the same bytes"
run convert database -o copy
exits 0 "a database copied"
out_has '^nothing was lost$' "nothing is lost by that"

run info database
out_has '^  holds +4 tracks, 12 functions' "info: no events where there are none"
out_has '^  profile +1,859 calling contexts, [0-9,]+ values, 4,000 samples$' "info: the lanes"
out_has '^  metrics +REALTIME \(sec\): point, function, lex_aware, execution; over all tracks: sum$' \
	"info: what was measured"
out_has '^ +CALLS: point' "info: the other metric"
out_has '^ +0 +.*THREAD 0 +1,000 ' "info: who a track is, and its samples"
run info --json database
out_has '"contexts": 1859,' "info --json: contexts"
out_has '"samples": 4000,' "info --json: samples"
out_has '"name": "CALLS", "scope": "execution", "statistic": "sum"' "info --json: metrics"
out_has '"identity": ".*THREAD 3"' "info --json: identities"
out_has '"hottest_path": \{' "info --json: the hottest path"
out_has '"kind": "entry", "name": "application thread", "value": 0\.000653' "its first step"
run info trace
out_has '^  holds +4,000 events, 1,400 details' "a trace is shown as ever"

run info database
out_has '^  hottest +path by REALTIME \(sec\), 0\.000874858 in all$' "info: the hottest path"
out_has '^ +74\.7% +0\.000653377  application thread$' "info: where it begins"
out_has '^  time +[0-9.]+ [mun]?s from @[0-9]+ ns$' "info: no clock where nobody knew it"
! grep -q '^  started' "$out"
ok $? "info: and no date"
run info --json database
out_has '"first_realtime_ns": null' "info --json: nor there"

run dump database --metric CALLS --limit 4
exits 0 "dump shows the tree"
out_has '^CALLS: TOTAL is in a context and all below it, SELF in it alone$' "what the numbers are"
out_has '^ +2000 +0  all$' "all calls, of which none is the root's own"
out_has '^ +1500 +1    application thread$' "below that an entry"
is "$(wc -l <"$out" | tr -d ' ')" 6 "as many lines as asked for, with two of titles"
run dump database --metric CALLS --track 0
out_has '^ +500 +0  all$' "the values of one track"
run dump database --limit 1
out_has '^REALTIME \(sec\): TOTAL is in' "time, where nothing else was asked for"
out_has '^ 0\.0008[0-9]+ +0  all$' "all of it"
run convert trace -o statistics -t hpcdb --style all
run info statistics
out_has '; over all tracks: sum, count, sum of squares, min, max$' "info: all statistics"
out_has '^  formulas +REALTIME \(sec\):Mean: time between call and return$' "info: what is worked out by formulas"
run dump statistics --metric CALLS:Mean --limit 1
out_has '^ +500 +0  all$' "a formula evaluated: the mean over four tracks"
run dump statistics --metric CALLS:Mean --track 0
exits 3 "which no single track has"
err_has "'CALLS:Mean' is worked out over all tracks" "which is said"
run dump database --metric nothing
exits 3 "a metric that is not there"
err_has "no metric 'nothing'" "which is said"
run dump database --contexts --metric CALLS --csv --limit 3 --offset 1
is "$(head -n 2 "$out" | tr -d '\r')" \
	"context,parent,kind,relation,name,file,line,module,address,unlisted,total,self
1,0,entry,called,application thread,,,,,0,1500,0" "contexts as CSV, the first passed over"
is "$(wc -l <"$out" | tr -d ' ')" 4 "a header and as many as asked for"
run dump database --contexts --metric CALLS --json --limit 1
out_is "contexts as JSON" <<'END'
{"context":0,"parent":null,"kind":"root","relation":"enclosed","name":"all","total":2000,"self":0}
END
run dump database --values --metric CALLS --limit 1
out_is "values as text" <<'END'
track 0  context 0 all: CALLS execution = 500
END
run dump database --values --metric CALLS --json --limit 1
out_is "values as JSON" <<'END'
{"track":0,"context":0,"name":"all","metric":"CALLS","scope":"execution","value":500}
END
run dump database --values --csv
out_has '^,0,all,CALLS,execution,sum,2000' "values over all tracks come too"
run dump database --samples --limit 2
out_has '^0\.000000000  track 0  context [0-9]+ run_loop$' "samples as text"
is "$(wc -l <"$out" | tr -d ' ')" 2 "and no more than asked for"
run dump database --samples --json --track 1 --from 52.5us --to 52.6us
is "$(grep -c '"track":1' "$out")" 2 "samples of a track and a time"
run dump database --samples --time absolute --limit 1
out_has '^1000000000132  track 0' "absolute times"
run dump database --samples --csv
is "$(wc -l <"$out" | tr -d ' ')" 4001 "all samples, and a header"
run dump trace --samples
exits 0 "samples of a mere trace"
err_has 'no calling contexts, values and samples' "there are none, which is said"

run dump database --contexts --values
exits 2 "one thing at a time"
run dump database --function main
exits 2 "functions do not select contexts"
err_has 'are for events' "which is said"
run dump database --from 1us
exits 2 "values cannot be cut by time"

run convert database -o back -t atf
exits 0 "samples become calls"
out_is "what was made of them, and what is lost, is told" <<'END'
wrote back (atf): 4,000 events made of 4,000 samples
lost:
  4,000 samples: the target does not hold samples: events derived from samples stand for them
  14,960 values: the target does not hold them
END
run check back
exits 0 "the calls pass the check"
calls() {
	"$SONDE" dump --csv "$1" | tr -d '\r' | cut -d, -f1,3,5,6,7 | sed 's/exception/return/'
}
calls trace >"$work/a"
calls back >"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "they are the calls that the profile was made of"
for format in cff zts; do
	run convert database -o "calls.$format" -t "$format"
	exits 0 "samples become calls in $format"
	out_has '4,000 events made of 4,000 samples' "all of them"
done
run convert database -o some -t atf --track 2 --function main --max-depth 9
exits 0 "derived calls are selected like others"

run convert database -o piece --from 100us --to 200us
exits 0 "a piece of time"
out_has '^  14,960 values: they are sums over the whole time and cannot be cut' "values are left out"
run convert database -o piece2 --function main
exits 3 "functions do not select samples"
err_has 'select by track or time' "which is said"
[ ! -e piece2 ]
ok $? "and nothing is written"
run convert database -o strict -t atf --strict
exits 1 "--strict minds what is lost"

run merge trace database -o both -t hpcdb
exits 0 "calls and a profile together"
out_has 'wrote both \(hpcdb\): 1,859 calling contexts, 7,472 values, 8,000 samples' \
	"paths that are the same are one"

cp -R database only-values && rm only-values/trace.db
run convert only-values -o empty -t atf
exits 3 "values alone do not become calls"
err_has 'only-values has values of calling contexts and neither events nor samples' \
	"what the recording has is said"
err_has 'formats that hold such values: .*hpcdb' "and who could hold it"

cat >instants.wtf-json <<'END'
{"wtfVersion": 1436947200000, "formatVersion": 10, "chunks": [
{"id": 1, "type": "file_header", "parts": [{"type": "file_header", "flags": [], "timebase": 0,
  "contextInfo": {"contextType": "script", "uri": "x"}, "metadata": {}}]},
{"id": 2, "type": "event_data", "startTime": 0, "endTime": 10, "parts": [
  {"type": "json_event_buffer", "events": [[1, 0, 2, 0, 0, "tick", ""], [2, 10]]}]}]}
END
run convert instants.wtf-json -o none -t hpcdb
exits 0 "a recording without calls becomes an empty profile"
out_has '^  1 events that are not calls: ' "which is a loss"
err_has 'nothing but definitions was written; what was lost says why' "and said"

run formats
out_has '^hpcdb .* samples, contexts, values' "the table of formats tells lanes"

finish
