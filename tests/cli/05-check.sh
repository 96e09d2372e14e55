#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sonde check`: what it finds, how it says so, and its exit codes.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
for name in normal nodetail crashed truncated cut_footer headeronly \
	bad_magic bad_version bad_evsize bad_short bad_link; do
	session $name $name
done

run check normal
exits 0 "notes are no faults"
out_is "notes are told briefly" <<'END'
note     index.atf has no checksum, 4 times  atf-index-checksum-none
note     detail.atf has no checksum, 4 times  atf-detail-checksum-none
0 errors, 0 warnings, 8 notes
END
run check -v normal
is "$(grep -c '^  note ' "$out")" 8 "and one by one with -v"
run check nodetail
exits 0 "a session without details"

while read -r name expected; do
	run check "$name"
	exits 1 "check $name"
	is "$(tail -n 1 "$out")" "$expected" "check $name counts"
done <<'END'
cut_footer 8 errors, 0 warnings, 0 notes
headeronly 1 error, 0 warnings, 0 notes
bad_magic 1 error, 0 warnings, 0 notes
bad_version 1 error, 0 warnings, 0 notes
bad_evsize 1 error, 0 warnings, 0 notes
bad_short 1 error, 0 warnings, 0 notes
bad_link 4 errors, 0 warnings, 8 notes
END

run check bad_magic
out_is "a finding has place, expectation, what was found, and advice" <<'END'
thread_0/index.atf
  error    offset 0 (0x0): index.atf does not start like an index file  atf-index-magic
           expected "ATI2"
           found    "ATI9"
           advice   this thread cannot be read; the others can
1 error, 0 warnings, 0 notes
END

run check crashed
exits 1 "check crashed"
is "$(grep -c 'advice ' "$out")" "$(grep 'advice ' -B9 "$out" | grep -Eo ' atf-[a-z-]+$' |
	sort -u | wc -l | tr -d ' ')" "advice comes once an id"
is "$(grep -Ec '^  warning .*atf-link-past-events' "$out")" 9 "three of a kind in a file"
out_has '^ +and 43 more of atf-link-past-events \(use -v\)$' "and how many more"
run check -v crashed
is "$(grep -Ec '^  warning .*atf-link-past-events' "$out")" 60 "more with -v"

run check -q crashed
exits 1 "check -q"
silent "check -q says nothing"
run check -q normal
exits 0 "check -q of a good one"

run check normal headeronly
exits 1 "check of several"
out_has '^normal: 0 errors, 0 warnings, 8 notes$' "each has its line"
out_has '^headeronly: 1 error, 0 warnings, 0 notes$' "each has its line, the damaged one too"
is "$(tail -n 1 "$out")" "1 error, 0 warnings, 8 notes" "and they are added up"
run check normal nowhere
exits 3 "check of one that is not there"
run check
exits 2 "check of nothing"

run check --list
exits 0 "check --list"
out_has '^error +atf-index-magic$' "--list knows the ids"
out_has '^note +atf-event-open$' "--list knows the severities"
if have python3; then
	run check --json crashed normal
	exits 1 "check --json"
	python3 - "$out" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
one, two = report["recordings"]
assert one["path"] == "crashed" and two["path"] == "normal"
assert report["errors"] == one["errors"] == 9 and two["errors"] == 0
first = one["findings"][0]
assert first["id"] == "atf-manifest-missing" and first["offset"] is None, first
kept = sum(finding["id"] == "atf-link-past-events" for finding in one["findings"])
left = sum(more["count"] for more in one["not_listed"])
assert kept + left == 106, (kept, left)
END
	ok $? "check --json says the same"
	run check --list --json
	python3 - "$out" <<'END'
import json, sys
ids = [finding["id"] for finding in json.load(open(sys.argv[1]))]
assert len(ids) == len(set(ids)) > 50
END
	ok $? "check --list --json: every id is there once"
	python3 - "$out" "$root/doc/formats" <<'END'
import json, pathlib, sys
for finding in json.load(open(sys.argv[1])):
    page = pathlib.Path(sys.argv[2], finding["id"].split("-")[0] + ".md").read_text()
    row = f"| `{finding['id']}` | {finding['severity']} | {finding['title']} | {finding['advice']} |"
    assert row in page, row
END
	ok $? "the page of the format lists every id with its meaning"
else
	skip "check --json" "no python3"
fi

finish
