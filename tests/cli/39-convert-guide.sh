#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/convert.md: every command in it runs, its suffixes choose the formats that it says, and its links lead somewhere.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
guide=$root/doc/convert.md
session normal app.atf
mkdir "$work/bin" && ln -s "$SONDE" "$work/bin/sonde"
PATH=$work/bin:$PATH
export PATH
# shellcheck disable=SC2016 # as it stands
sed -n '/^```console$/,/^```$/p' "$guide" | sed -n 's/^\$ //p' >"$work/commands"
is "$(grep -c '^sonde ' "$work/commands")" 6 "the commands of the guide are found"
while read -r command; do
	sh -c "$command" >"$out" 2>"$err" </dev/null
	code=$?
	case $command in
	*--strict*) is $code 1 "$command" || explain "$err" ;; # registers have no place there
	*) ok $code "$command" || explain "$err" ;;
	esac
done <"$work/commands"
out_has ' functions, .* calls' "the last of them prints a report"

for pair in perfetto:.pftrace chrome:.json chrome:.json.gz speedscope:.speedscope.json firefox:.firefox.json pprof:.pprof \
	pprof:.pb.gz folded:.folded callgrind:.callgrind dot:.dot parquet:.parquet csv:.csv jsonl:.jsonl cff:.wtf-trace; do
	run convert app.atf -o "by-name${pair#*:}"
	out_has "(${pair%%:*})" "${pair#*:} is ${pair%%:*}"
	grep -q "\`${pair%%:*}\`\|, \`${pair%%:*}\`" "$guide"
	ok $? "which the guide has"
	run convert app.atf -o "by-name${pair#*:}" --force
	exits 0 "and may be replaced"
done

sed -n 's/.*](\([a-z/_-]*\.md\)).*/\1/p' "$guide" | sort -u | while read -r page; do
	[ -e "$root/doc/$page" ] || echo "$page"
done >"$out"
out_is "its links lead somewhere" </dev/null

finish
