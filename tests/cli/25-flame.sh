#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sonde flame: pictures of recordings of every format, stacks that add up to the whole, differences, and what is
# said where something is left out. How the picture behaves in a browser is tested in tests/interop.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
have python3 || skip_all "no python3"
here=$root/tests/cli
export XDG_CACHE_HOME="$work/cache"

# Checks SVGs for what a browser needs, and that frames add up.
svg_is_sound() {
	python3 "$here/flame_check.py" svg "$1" >"$work/diff" 2>&1
	ok $? "$2" || explain "$work/diff"
}

session normal trace
cp -R "$golden/../hpcdb/small" database
cp -R "$golden/../zts/minimal" store
chmod -R u+w database store
"$SONDE" convert -q trace -o trace.wtf-trace -t cff >"$out" 2>&1
"$SONDE" convert -q trace -o trace.wtf-json -t cff-json >"$out" 2>&1
"$SONDE" convert -q trace -o measurements -t hpcrun >"$out" 2>&1

for recording in trace trace.wtf-trace trace.wtf-json database measurements store; do
	run flame "$recording"
	exits 0 "$recording"
	out_has "^wrote $recording.svg: [A-Z]+: [0-9.]+ [um]?s in [0-9,]+ frames?$" "$recording: what was written"
	svg_is_sound "$recording.svg" "$recording: the picture is sound"
	run flame "$recording" --folded -o stacks
	exits 0 "$recording: stacks"
	case $recording in
	database) total=8500000000 ;; # as 'sonde info' has it from the database
	store) total=6553600 ;;       # one span of a hundred ticks
	*) total=874858 ;;            # as of its conversion in 21-profile-lanes.sh
	esac
	is "$(python3 "$here/flame_check.py" folded stacks)" "$total" "$recording: the stacks add up to the whole"
	run flame "$recording" --text --width 60
	exits 0 "$recording: text"
	out_has '^\|all 100\.0%$' "$recording: its root"
	[ "$(awk '{ if (length > widest && /^[ |]/) widest = length } END { print widest + 0 }' "$out")" -le 60 ]
	ok $? "$recording: text of 60 columns"
done

run flame trace
err_has '^sonde: [0-9,]+ frames of less than 0\.01 % left out, [0-9.]+ % of all$' "what is left out is told"
grep -q 'frames of less than 0.01 % left out' trace.svg
ok $? "and stands in the picture"
run flame trace -o all.svg --min 0
is "$(grep -c 'left out' "$err")" 0 "nothing is left out with --min 0"
grep -q 'of less than' all.svg
is $? 1 "and nothing is said"
run flame trace -o few.svg --min 5%
svg_is_sound few.svg "few frames"
run flame -q trace -o few.svg
silent "quiet"

run flame trace --metric CALLS --folded
python3 "$here/flame_check.py" folded "$out" >"$work/sum"
is "$(cat "$work/sum")" 2000 "by calls"
run flame trace --metric CALLS --track 0 --folded
python3 "$here/flame_check.py" folded "$out" >"$work/sum"
is "$(cat "$work/sum")" 500 "those of one track"
run flame trace trace --metric CALLS --folded
python3 "$here/flame_check.py" folded "$out" >"$work/sum"
is "$(cat "$work/sum")" 4000 "several as one"

run flame trace --icicle -o icicle.svg --title '<&"> title' --width 640
exits 0 "an icicle"
svg_is_sound icicle.svg "the icicle is sound"
grep -q '<svg [^>]*width="640"' icicle.svg
ok $? "as wide as asked for"
grep -q '&lt;&amp;&quot;&gt; title' icicle.svg
ok $? "its title"
run flame trace --icicle --text --width 40
is "$(sed -n '2p' "$out")" '|all 100.0%' "an icicle begins with the root"
run flame trace --flame --text --width 40
is "$(grep -n '^|all' "$out" | cut -d: -f1)" "$(($(grep -c '^[ |]' "$out") + 1))" "a flame ends with it"
run flame trace -o -
is "$(head -c 5 "$out")" '<?xml' "to the standard output"
run flame trace --text --color always --width 40
out_has "$(printf '\033')\\[30;48;5;[0-9]+m" "colours"

run flame --diff trace trace -o same.svg
exits 0 "a difference"
svg_is_sound same.svg "the difference is sound"
grep -Eq 'class="frame (slower|faster)' same.svg
is $? 1 "nothing changed"
run flame --diff database database --folded
is "$(awk '$(NF - 1) != $NF' "$out" | wc -l | tr -d ' ')" 0 "both numbers are the same"
run cut trace --to 50% -o half
run flame --diff trace half --metric CALLS -o change.svg
exits 0 "less than before"
svg_is_sound change.svg "the change is sound"
grep -Eq 'class="frame faster' change.svg
ok $? "what is less is blue"
grep -q 'vanished: ' change.svg
ok $? "what is not there any more is listed"
run flame --diff half trace --metric CALLS -o change.svg
grep -Eq 'class="frame slower[0-9] new' change.svg
ok $? "what is new is marked"
run flame --diff trace half --metric CALLS --text --width 60
out_has '^not there any more' "in text too"

run flame
exits 2 "no recording"
run flame --diff trace
exits 2 "a difference of one"
run flame trace --text --folded
exits 2 "two kinds of text"
run flame trace --min 200%
exits 2 "more than all"
run flame trace --min many
exits 2 "a share that is none"
run flame trace --width 3
exits 2 "too narrow"
run flame trace --metric nothing
exits 2 "no such metric"
run flame trace --function no-such-function
err_has 'nothing to draw|no function' "nothing that fits"
run flame absent
exits 3 "no such recording"
run flame trace -o absent/out.svg
exits 3 "no such folder"

run report trace --html page.html
exits 0 "a page"
out_has '^wrote page.html: ' "the page is named"
grep -q '<table class="report' page.html && grep -q 'class="sonde-flame"' page.html
ok $? "tables and the flame graph are in it"
grep -Eq '(src|href)="[^#"]' page.html
is $? 1 "the page needs nothing else"
grep -q "default-src 'none'" page.html
ok $? "and forbids itself to load anything"
run report --threads trace --html -
is "$(grep -c '<table class="report' "$out")" 1 "one report is one table"
run report trace --html page.html --json
exits 2 "a page or JSON"
finish
