#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What annotations bring to the commands: arguments, ranges, flows and resources of a wtf-trace
# file that is made here; and recordings that are files and not folders.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
have python3 || skip_all "no python3"
"$SONDE" formats | grep -q '^cff  *[^ ].* file ' || skip_all "wtf-trace files are not read here"
session normal trace

python3 - page.wtf-trace <<'END'
import json, struct, sys

NULL = 0xFFFFFFFF
strings, events = [], bytearray()

def text(value):
    if value is None:
        return NULL
    if value not in strings:
        strings.append(value)
    return strings.index(value)

def event(wire, time, *words):
    events.extend(struct.pack("<2I", wire, time))
    for word in words:
        events.extend(word if isinstance(word, bytes) else struct.pack("<I", word & NULL))

def define(wire, name, arguments=None, scope=0, flags=0):
    event(1, 0, wire, scope, flags, text(name), text(arguments))

def chunk(kind, parts):
    head = body = b""
    for part, data in parts:
        head += struct.pack("<3I", part, len(body), len(data))
        body += data + bytes(-len(data) % 4)
    size = 24 + len(head) + len(body)
    return struct.pack("<6I", kind, kind, size, NULL, NULL, len(parts)) + head + body

define(2, "wtf.zone#create", "uint16 zoneId, ascii name, ascii type, ascii location", flags=40)
define(3, "wtf.zone#set", "uint16 zoneId", flags=40)
define(4, "wtf.scope#leave", flags=40)
define(5, "outer", "int32 n, utf8 s", scope=1)
define(6, "wtf.timeRange#begin", "uint32 id, ascii name, any value", flags=40)
define(7, "wtf.timeRange#end", "uint32 id", flags=40)
define(8, "wtf.flow#branch", "flowId id, flowId parentId, ascii name, any value", flags=40)
define(9, "tick", "float32[] weights")
event(2, 0, 1, text("main zone"), text("script"), text("here"))
event(3, 0, 1)
event(6, 10, 42, text("load"), text('{"a": [1, 2]}'))
event(5, 20, -7, text('a "b"\x1b\n'))
event(8, 30, 9, 0, text("request"), NULL)
event(9, 40, 2, struct.pack("<2f", 0.5, 0.1))
event(4, 50)
event(7, 60, 42)
header = {"timebase": 0, "flags": ["has_high_resolution_times"],
          "contextInfo": {"contextType": "script", "title": "a page"}}
table = b"".join(string.encode() + b"\0" for string in strings)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<3I", 0xDEADBEEF, 1, 10))
    file.write(chunk(1, [(0x10000, json.dumps(header).encode())]))
    file.write(chunk(2, [(0x30000, table), (0x20002, bytes(events)),
                         (0x40001, b"a\ttext\n"), (0x40000, bytes(range(7)))]))
END

run dump page.wtf-trace
exits 0 "dump of a wtf-trace file"
out_is "arguments follow the name, numbers of ranges and flows end the line" <<'END'
0.000000000  range-begin wtf.timeRange#begin(id=42, name="load", value={"a":[1,2]}) #42
0.000010000  -> outer(n=-7, s="a \"b\"\u001b\n")
0.000020000    flow-begin wtf.flow#branch(id=9, parentId=0, name="request", value=null) #9
0.000030000    instant tick(weights=[0.5,0.1])
0.000040000  <- outer
0.000050000  range-end wtf.timeRange#end(id=42) #42
END
run dump page.wtf-trace --kind range-begin,range-end --function '*#end'
is "$(wc -l <"$out" | tr -d ' ')" 1 "ranges are selected by kind, and by the name of their type"
run dump page.wtf-trace --json --kind range-begin
python3 -c 'import json, sys
event = json.load(sys.stdin)
assert event["range"] == 42 and event["name"] == "wtf.timeRange#begin"
assert event["arguments"] == {"id": 42, "name": "load", "value": {"a": [1, 2]}}' <"$out"
ok $? "arguments in JSON"
run dump page.wtf-trace --csv
python3 - "$out" <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert [row["value"] for row in rows] == ["42", "", "9", "", "", "42"]
assert json.loads(rows[1]["arguments"]) == {"n": -7, "s": "a \"b\"\x1b\n"}
assert rows[4]["arguments"] == ""
END
ok $? "arguments in CSV"
python3 - "$SONDE" page.wtf-trace <<'END'
import os, pty, sys
pid, terminal = pty.fork()
if not pid:
    os.environ["COLUMNS"] = "80"
    os.execv(sys.argv[1], [sys.argv[1], "dump", "--color", "never", sys.argv[2]])
data = b""
try:
    while piece := os.read(terminal, 4096):
        data += piece
except OSError:
    pass  # the other side is closed
os.waitpid(pid, 0)
lines = data.decode().replace("\r", "").splitlines()
assert len(lines) == 6 and all(len(line) <= 80 for line in lines), lines
assert "#begin(id=" in lines[0] and lines[0].endswith("...) #42"), lines[0]
END
ok $? "on a terminal they are cut to its width"

run dump page.wtf-trace --resource 0
is "$(cat "$out")" "$(printf 'a\ttext')" "a text out of a recording"
run dump page.wtf-trace --resource 1
is "$(od -An -tx1 "$out" | tr -d ' \n')" 00010203040506 "bytes out of a recording"
run dump page.wtf-trace --resource 2
exits 3 "one that is not there"

run info page.wtf-trace
out_has '^  process +a page' "info: the page"
out_has '^  holds .* event types$' "info: how many types of events"
out_has '^  embeds +2 resources, 14 bytes$' "info: resources"
out_has '^  about +contextInfo \{"contextType"' "info: what the recording says of itself"
out_has '^ +[0-9]+ +main zone ' "info: zones are tracks"
run info -v page.wtf-trace
out_has '^ +[0-9]+ +outer +scope +int32 n, utf8 s$' "info -v: types with their arguments"
out_has '^ +1 .*bytes +7 bytes$' "info -v: every resource"
run info --json page.wtf-trace
python3 -c 'import json, sys
(page,) = json.load(sys.stdin)["recordings"]
assert {"name": "outer", "arguments": "int32 n, utf8 s", "scope": True}.items() <= next(
    type for type in page["event_types"] if type["name"] == "outer").items()
assert [(r["text"], r["bytes"]) for r in page["resources"]] == [(True, 7), (False, 7)]
assert [track["kind"] for track in page["tracks"]] == ["zone"]' <"$out"
ok $? "info --json says the same"

run convert page.wtf-trace -o copy
exits 0 "a file is converted"
out_has '^wrote copy \(cff\): 6 events of 6 read, .* 2 resources$' "to the format that it has"
"$SONDE" dump page.wtf-trace --json >"$work/a"
"$SONDE" dump copy --json >"$work/b"
cmp -s "$work/a" "$work/b"
ok $? "every event and argument is the same"
run convert page.wtf-trace -o copy
exits 3 "a file that exists is not replaced"
run convert page.wtf-trace -o copy --force
exits 0 "--force replaces it"
echo mine >precious
run convert page.wtf-trace -o precious --force
exits 3 "--force replaces recordings only"
is "$(cat precious)" mine "what was there stays"
: >empty
run convert page.wtf-trace -o empty --force
exits 0 "an empty file may be replaced"
ln -s page.wtf-trace link
run convert page.wtf-trace -o link --force
exits 2 "the output is the input, by another name"
run convert page.wtf-trace -o trace --force
exits 3 "a file does not replace a folder"
[ -d trace ]
ok $? "which is still there"
run convert trace -o calls.wtf-trace
exits 0 "the name of the output tells its format"
out_has '^wrote calls\.wtf-trace \(cff\): ' "binary"
run convert page.wtf-trace -o page.wtf-json
out_has '^wrote page\.wtf-json \(cff-json\): ' "and JSON"
run convert page.wtf-trace -o session.wtf-trace -t atf
out_has '^wrote session\.wtf-trace \(atf\): ' "-t goes before the name"
run convert page.wtf-trace -o nothing --style nonsense
exits 2 "a style that is not there"
err_has '^sonde: --style: format cff ' "which is said"
head -c "$(($(wc -c <page.wtf-trace) - 10))" page.wtf-trace >short.wtf-trace
run convert short.wtf-trace -o mended.wtf-trace
exits 0 "what can be read of a file that was cut is converted"
run check mended.wtf-trace
exits 0 "and the new one has no fault"
run cut page.wtf-trace --from 15us --to 35us -o piece.wtf-trace
exits 0 "cut"
run dump piece.wtf-trace
is "$(wc -l <"$out" | tr -d ' ')" 4 "flows and instants inside stay; only the call is opened and closed"
run merge page.wtf-trace copy -o both.wtf-trace
exits 0 "merge"
out_has '4 resources$' "with the resources of both"
find . -name '*.partial*' | grep -q .
is $? 1 "nothing is left over"

finish
