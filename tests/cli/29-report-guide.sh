#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/report.md: every command in it is run, in order, and prints what the page shows. What README.md says of the
# analysis runs as well.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
have python3 || skip_all "no python3"
guide=$root/doc/report.md
export XDG_CACHE_HOME="$work/cache"
python3 "$root/tests/cli/report_recordings.py" . && python3 "$root/tests/cli/prof_measurements.py" measurements
ok $? "recordings are made"
"$SONDE" check -q app.atf >"$out" 2>&1 && "$SONDE" prof -q measurements -o heat.d >>"$out" 2>&1
ok $? "they are sound" || explain "$out"

# shellcheck disable=SC2016 # as it stands
sed -n '/^```console$/,/^```$/p' "$guide" | sed '/^```/d' >expected
is "$(grep -c '^\$ ' expected)" "$(grep -c '^\$ ' "$guide")" "all commands of the guide are found"

# script FILE: its commands, each shown before it is run.
script() {
	awk -v quote="'" '/^\$ / {
		shown = $0
		gsub(quote, quote "\\" quote quote, shown)
		print "printf " quote "%s\\n" quote " " quote shown quote
		print substr($0, 3)
	}' "$1"
}
ln -s "$SONDE" sonde
PATH=$PWD:$PATH
export PATH
script expected >commands
sh commands >actual 2>&1 </dev/null
tr -d '\r' <actual >"$out"
out_is "they print what it shows" <expected
head -c 5 app.svg | grep -q "<?xml"
ok $? "the picture is there"

# What is shown without its output.
cp -R old-1 base-1
cp -R old-2 base-2
cp -R new-1 head-1
cp -R new-2 head-2
# shellcheck disable=SC2016 # as it stands
sed -n '/^```sh$/,/^```$/p' "$guide" | sed '/^```/d' >others
is "$(grep -c sonde others)" 1 "a command of continuous integration"
(
	# shellcheck source=/dev/null
	. ./others
	[ "${slower:-0}" -eq 1 ] && grep -q '<code>filter&#95;row</code>' comment.md
) >"$out" 2>&1
ok $? "says that it is slower" || explain "$out"

sed -n '/^\$ sonde report app/,/^```$/p' "$root/README.md" | sed '/^```/d' >tour
is "$(grep -c '^\$ sonde' tour)" 6 "what README.md shows is found"
for number in 1 2 3; do
	ln -s old-$number before$number
	ln -s new-$number after$number
done
sed -n 's/^\$ //p' tour | while IFS= read -r command; do
	sh -c "$command" >"$work/text" 2>&1 </dev/null
	echo "$? $command" | sed 's/^\([0-9]*\) sonde \([a-z]*\).*/\1 \2/'
done >"$out"
out_is "and each ends as it should" <<'EXPECTED'
0 report
0 report
0 report
0 flame
1 diff
0 query
EXPECTED
finish
