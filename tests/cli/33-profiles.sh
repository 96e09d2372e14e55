#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles in the formats of other tools: folded stacks, pprof, callgrind and Graphviz; what is told of losses, styles, and
# that the same recording gives the same bytes however many threads write it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace
session headeronly empty
one_processor=
have taskset && one_processor='taskset -c 0'

for format in folded pprof callgrind dot; do
	run convert trace -o "one.$format"
	exits 0 "$format: written"
	out_has "^wrote one.$format \($format\): 1,859 calling contexts, 3,736 values from 4,000 events$" \
		"$format: what was made of the calls is told"
	out_has '^  1,400 details: the target does not hold details$' "$format: and what is lost"
	${one_processor:-} "$SONDE" convert -q trace -o "two.$format" >"$out"
	cmp "one.$format" "two.$format" >"$work/diff"
	ok $? "$format: the same bytes with one thread" || explain "$work/diff"
	run convert trace -o "one.$format"
	exits 3 "$format: what is there is not replaced"
	run convert trace -o strict --strict -t "$format"
	exits 1 "$format: --strict refuses losses"
	[ ! -e strict ]
	ok $? "$format: and leaves nothing"
done

run convert trace -o one.callgrind2 -t callgrind
out_has '^  1,858 calling contexts: a call graph knows who called whom, and not from which stack$' \
	"callgrind: contexts are lost, and counted"

run flame --folded trace
sort "$out" >"$work/flame"
sort one.folded | diff "$work/flame" - >"$work/diff"
ok $? "folded: the same as flame --folded" || explain "$work/diff"

run convert trace -o calls.folded --style calls
is "$(head -n 1 calls.folded)" '# metric: CALLS' "folded: a comment says what is no time"
run convert trace -o metric.folded --style metric=nothing
exits 3 "folded: a metric that is not there"
err_has "there is no metric 'nothing'; there are: REALTIME \(sec\), CALLS" "and which there are"
run convert trace -o style.folded --style wrong
exits 2 "folded: a style that is not there"
err_has 'it has: calls, metric=, threads' "and which there are"

for file in one.folded one.pprof; do
	run report --csv --no-cache "$file"
	exits 0 "$file is read"
	grep -q ',82388,468056,' "$out"
	ok $? "$file: the times of a function" || explain "$out"
	run check "$file"
	out_has '^0 errors, 0 warnings, 0 notes$' "$file: nothing is wrong with it"
done
run report --csv --no-cache one.pprof
grep -q ',196,.*,work_sort.\{0,1\}$' "$out"
ok $? "pprof: calls as well" || explain "$out"
run info one.pprof
out_has '^  holds +4 tracks, 12 functions, 2 modules$' "pprof: threads, functions and modules"

printf 'main;a 3\nmain;b 4.5\n' >plain.txt
run info plain.txt
out_has '^  format +folded stacks \(folded\)' "stacks are known by their lines"
out_has '^  metrics +samples: point$' "of which nobody says what they count"
gzip -c plain.txt >packed
run report --csv --no-cache packed
grep -q '4\.5' "$out"
ok $? "packed ones too, with fractions" || explain "$out"

if have dot; then
	dot -Tsvg one.dot >"$work/svg" 2>"$work/diff"
	ok $? "dot draws it" || explain "$work/diff"
	grep -q 'work_sort' "$work/svg"
	ok $? "with its functions"
else
	skip "dot draws it" "no Graphviz"
fi
run convert trace -o small.dot --style calls
grep -q 'label="CALLS: 2,000' small.dot
ok $? "dot: by calls" || explain small.dot
for format in folded pprof callgrind dot; do
	run convert empty -o "empty.$format"
	exits 0 "$format: of nothing"
done
for format in folded pprof; do
	run info "empty.$format"
	exits 0 "$format: which is read again"
done
finish
