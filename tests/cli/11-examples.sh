#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example of every --help does what it says: it runs as it stands.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/cli/record_programs.sh
. "$root/tests/cli/record_programs.sh"
mkdir "$work/bin" && ln -s "$SONDE" "$work/bin/sonde"
PATH=$work/bin:$PATH
session normal trace
session normal server
session nodetail client
session crashed crashed
for side in old new; do
	for run in "" -1 -2 -3; do
		session normal "$side$run"
	done
done
"$SONDE" convert -q trace -o trace.wtf-trace -t cff
"$SONDE" convert -q trace -o database -t hpcdb
cp -R "${golden%/atf}/zts/archived" traces && chmod -R u+w traces
cp -R traces damaged
python3 "$root/tests/cli/align_recordings.py" . && mv wall-a rank-0 && mv wall-b rank-1
"$SONDE" convert -q trace -t hpcrun -o run.m && cp -R run.m hpctoolkit-app-measurements
records=no
if have cc && [ "$(uname -m)" = x86_64 ] && build_program app; then
	records=yes
	: >input.txt
fi

examples() {
	sed -n '/^Examples:$/,$p' | grep -E '^  [^ ]' | sed 's/^  //'
}

{
	"$SONDE" help | examples
	"$SONDE" help --commands | while read -r name; do
		# shellcheck disable=SC2086 # a name may be two words
		"$SONDE" help $name | examples
	done
} | sort -u >"$work/examples"
is "$("$SONDE" help --commands | while read -r name; do
	# shellcheck disable=SC2086
	"$SONDE" help $name | examples | grep -q . || echo "$name"
done)" "" "every command has examples"

shell='sh'
have bash && shell='bash'
while read -r example; do
	case $example in
	*'store serve'*) continue ;; # does not end
	*'completion bash'*) [ $shell = bash ] || continue ;;
	*cflags* | *record*) [ $records = yes ] || continue ;;
	esac
	rm -rf app.d main.d run.d new-store one.wtf-trace repaired copy small requests piece second-half end both run part-* \
		workers runs
	[ "${example%--force*}" = "$example" ] || sonde recover -q crashed -o repaired
	$shell -c "$example" >"$out" 2>"$err" </dev/null
	ok $? "$example" || explain "$err"
	grep -q '^sonde: [^w]' "$err"
	is $? 1 "$example: nothing is amiss"
done <"$work/examples"

finish
