#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/prof.md: every command in it is run, in order, and prints what the page shows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
have python3 || skip_all "no python3"
guide=$root/doc/prof.md
session normal app.atf
python3 "$root/tests/cli/prof_measurements.py" hpctoolkit-heat-measurements
ok $? "measurements are made"
mkdir heat-src
echo 'int main(void);' >heat-src/heat.c
echo 'double flux(void);' >heat-src/heat.h

# shellcheck disable=SC2016 # as it stands
sed -n '/^```console$/,/^```$/p' "$guide" | sed '/^```/d' >expected
is "$(grep -c '^\$ ' expected)" "$(grep -c '^\$ ' "$guide")" "all commands of the guide are found"

# The commands as a script that shows each before it runs it.
awk -v quote="'" '/^\$ / {
	shown = $0
	gsub(quote, quote "\\" quote quote, shown)
	print "printf " quote "%s\\n" quote " " quote shown quote
	print substr($0, 3)
}' expected >script
ln -s "$SONDE" sonde
PATH=$PWD:$PATH sh script >actual 2>&1 </dev/null
tr -d '\r' <actual >"$out"
out_is "they print what it shows" <expected

# shellcheck disable=SC2016 # as it stands
sed -n '/^\$ sonde prof /,/^```$/p' "$root/README.md" | sed '/^```/d' >tour
is "$(grep -vxFf expected tour)" "" "what README.md shows of it is in the guide"
is "$(grep -c '^\$ ' tour)" 2 "and is found there"

finish
