#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde recover`: what survives is a session that passes the check.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
for name in normal crashed truncated cut_footer headeronly bad_link bad_magic; do
	session $name $name
done

events() {
	"$SONDE" dump -q --csv "$1" | tail -n +2 | wc -l | tr -d ' '
}

while read -r name count; do
	cp -R "$name" "$name.before"
	run recover "$name" -o "new $name"
	exits 0 "recover $name"
	run check "new $name"
	exits 0 "what was recovered of $name passes the check"
	is "$(events "new $name")" "$count" "events recovered of $name"
	diff -r "$name" "$name.before" >"$work/diff"
	ok $? "$name itself is not touched"
done <<'END'
normal 4000
crashed 2682
truncated 2997
cut_footer 4000
headeronly 0
bad_link 4000
END

run recover cut_footer -o new
out_is "the report" <<'END'
wrong    8 errors, 0 warnings, 0 notes
         error    the footer of index.atf is cut, 4 times  atf-index-footer-cut
         error    the footer of detail.atf is cut, 4 times  atf-detail-footer-cut
kept     4,000 events and 1,400 details of 4 tracks
lost     nothing that was in the files
guessed  nothing
wrote    new
END
run recover crashed -o new
exits 3 "an existing output is not replaced"
err_has '^sonde: new: exists already$' "it is named"
err_has 'hint: --force' "and --force too"
run recover -q crashed -o new --force
exits 0 "--force replaces it"
silent "-q says nothing"
is "$(events new)" 2682 "it is the new one"
run recover bad_magic -o other
exits 3 "nothing can be recovered"
[ ! -e other ]
ok $? "then nothing appears"
run recover crashed
exits 2 "an output is needed"
run recover crashed -o crashed --force
exits 2 "the output is not the input"

if have python3; then
	run recover --json crashed -o as-json
	python3 - "$out" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["events_kept"] == 2682 and report["tracks_kept"] == 3
assert report["details_unlinked"] == 106 and report["bytes_dropped"] == 188
assert {finding["id"] for finding in report["findings"]} >= {"atf-index-footer-missing"}
END
	ok $? "recover --json"
else
	skip "recover --json" "no python3"
fi

finish
