#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example with annotations is built as its page says, recorded, checked and dumped; and recording
# straight into another format.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/cli/record_programs.sh
. "$root/tests/cli/record_programs.sh"

run record -t wtf-calls -o x.calls true
exits 2 "a format that is not written"
err_has "is read, not written" "says so"
run cflags --annotate --patchable
exits 2 "--annotate and --patchable"

need_recorder
run cflags --annotate
exits 0 "cflags --annotate"
grep -q -- '-lsonde-rt' "$out"
ok $? "links the runtime"
# shellcheck disable=SC2046 # words
"$CC" -O2 -Wall -Wextra -Werror -I"$root/include" "$root/examples/annotate/frames.c" \
	$("$SONDE" cflags --annotate) -o frames -lpthread
ok $? "the example is built"
./frames 2 >plain
ok $? "it runs without a recorder"
"$CC" -O2 -Wall -Wextra -Werror -DSONDE_NO_ANNOTATIONS -I"$root/include" \
	"$root/examples/annotate/frames.c" -o without -lpthread
ok $? "it is built without annotations, and without the library"
./without 2 | cmp -s - plain
ok $? "which does the same"

run record -o frames.atf ./frames 2
exits 0 "it is recorded"
cmp -s "$out" plain
ok $? "and does the same"
err_has "annotations)" "the summary counts annotations"
clean frames.atf
"$SONDE" dump --detail frames.atf >dump.txt
count() {
	grep -c -- "$1" dump.txt
}
is "$(count '-> render(tile_x=')" 48 "a scope for each tile, with arguments"
is "$(count '<- render')" 48 "which ends"
is "$(count 'wtf.flow#branch(id=')" 48 "a flow for each tile begins"
is "$(count 'wtf.flow#terminate(id=')" 48 "and ends"
is "$(count 'counter queue = ')" 96 "the length of the queue"
is "$(count 'timing#frameStart(number=')" 2 "frames"
is "$(count 'wtf.trace#mark(name="worker starts"')" 3 "marks"
is "$(count 'sonde.resource#add(resource=0, name="last frame")')" 1 "the last picture"
is "$(grep -c '  render loop  *-> put(' dump.txt)" 48 "the zone of the frames has a track of its own"
is "$(cat frames.atf/pid_*/resources/0 | wc -c)" 6144 "the bytes of the picture"

run record -o frames.wtf-trace ./frames 2
exits 0 "recorded as wtf-trace"
[ -f frames.wtf-trace ] && [ ! -e frames.wtf-trace.atf ]
ok $? "one file, and no session is left"
clean frames.wtf-trace
is "$("$SONDE" dump --detail frames.wtf-trace | grep -c -- '-> render(tile_x=')" 48 "its scopes"
run record -o frames.wtf-trace ./frames 2
exits 3 "an output that exists"
run record --force -t cff -o frames.wtf-trace ./frames 1
exits 0 "--force replaces it"
is "$("$SONDE" dump --detail frames.wtf-trace | grep -c -- '-> render(tile_x=')" 24 "by the new one"
run record -t cff ./frames 1
[ -f frames-2.wtf-trace ] || [ -f frames.wtf-trace ]
ok $? "without a name it is called after the program"
run record -o frames.wtf-json ./frames 1
exits 0 "recorded as JSON"
clean frames.wtf-json

# The program on the page for users, and recorded by itself.
# shellcheck disable=SC2016 # as it stands
sed -n '/^```c$/,/^```$/p' "$root/doc/annotate.md" | sed '/^```/d' >hello.c
# shellcheck disable=SC2046 # words
"$CC" -I"$root/include" hello.c $("$SONDE" cflags --annotate) -o hello
ok $? "the program of doc/annotate.md is built"
SONDE_OUTPUT=hello.wtf-trace ./hello
ok $? "it records itself"
clean hello.wtf-trace
"$SONDE" dump -q hello.wtf-trace | sed 's/^[0-9.]*  //' >"$out"
out_is "its annotations" <<'END'
mark wtf.trace#mark(name="hello starts", value=null)
-> greet(who="world", times=3)
  instant greeting(i=0, share=0)
  counter left = 3
  instant greeting(i=1, share=0.3333333333333333)
  counter left = 2
  instant greeting(i=2, share=0.6666666666666666)
  counter left = 1
<- greet
END

mkdir closed
chmod 500 closed
if [ ! -w closed ]; then
	run record -o closed/x.wtf-trace ./frames 1
	exits 3 "where nothing can be written nothing is run"
fi

# The target appears while the program runs: it is not replaced, and the session stays.
cat >squat.sh <<'SQUAT'
#!/bin/sh
mkdir taken.wtf-trace && touch taken.wtf-trace/mine
exec ./frames 1
SQUAT
chmod +x squat.sh
run record -o taken.wtf-trace ./squat.sh
exits 0 "the program's status, although it was not converted"
err_has "the recording is in taken.wtf-trace.atf" "says where the session is"
clean taken.wtf-trace.atf
[ -e taken.wtf-trace/mine ]
ok $? "nothing was replaced"

finish
