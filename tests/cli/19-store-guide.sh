#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/store.md: every command in it is run, in order, and prints what the page shows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
have curl || skip_all "no curl"
guide=$root/doc/store.md
session normal app.atf

# A port that is free, in place of the usual one.
"$SONDE" store serve scratch --listen 127.0.0.1:0 >listening 2>/dev/null </dev/null &
server=$!
waited=0
until grep -qs listening listening || [ $waited -gt 100 ]; do
	waited=$((waited + 1))
	sleep 0.1
done
kill $server
wait $server
port=$(sed 's/.*://' listening)

# shellcheck disable=SC2016 # as it stands
sed -n '/^```json$/,/^```$/p' "$guide" | sed '/^```/d' >spans.json
# shellcheck disable=SC2016 # as it stands
sed -n '/^```console$/,/^```$/p' "$guide" | sed '/^```/d' >expected
is "$(grep -c '^\$ ' expected)" "$(grep -c '^\$ ' "$guide")" "all commands of the guide are found"

# The commands as a script that shows each before it runs it.
awk -v port="$port" -v quote="'" '/^\$ / {
	shown = $0
	gsub(quote, quote "\\" quote quote, shown)
	print "printf " quote "%s\\n" quote " " quote shown quote
	command = substr($0, 3)
	gsub(/127\.0\.0\.1:4318/, "127.0.0.1:" port, command)
	if (sub(/ &$/, "", command)) {
		print command " --listen 127.0.0.1:" port " &"
		print "trap " quote "kill $! 2>/dev/null" quote " EXIT"
		print "for i in 1 2 3 4 5 6 7 8 9; do grep -q listening actual || sleep $i; done"
	} else {
		print command
	}
}' expected >script
ln -s "$SONDE" sonde
PATH=$PWD:$PATH sh script >actual 2>&1 </dev/null
tr -d '\r' <actual | sed "s/127.0.0.1:$port/127.0.0.1:4318/" >"$out"
out_is "they print what it shows" <expected

finish
