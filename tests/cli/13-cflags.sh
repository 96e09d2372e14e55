#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sonde cflags: what it prints makes programs that can be recorded.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/cli/record_programs.sh
. "$root/tests/cli/record_programs.sh"

run cflags
exits 0 "cflags"
out_is "the flags" <<'END'
-finstrument-functions -g
END
run cflags --patchable
out_is "--patchable" <<'END'
-fpatchable-function-entry=5 -g
END
run cflags --after-inlining
out_is "--after-inlining" <<'END'
-finstrument-functions-after-inlining -g
END
run cflags --patchable --libs
exits 2 "--patchable and --libs"
run cflags something
exits 2 "an operand"

need_recorder
build_program app
./app count 4 >"$out"
is "$(cat "$out")" "counted 10" "a program with hooks runs without a recorder"
build_with patchable && ./patchable count 4 >"$out"
is "$(cat "$out")" "counted 10" "one with patchable entries too"
if have clang; then
	# shellcheck disable=SC2046 # words
	clang -O2 $("$SONDE" cflags --after-inlining) app.c -o inlined -lpthread
	ok $? "clang takes --after-inlining"
	run record -o inlined.atf ./inlined count 4
	is "$(calls_of inlined.atf main)" 1 "clang's hooks are recorded"
	# shellcheck disable=SC2046 # words
	clang -O2 $("$SONDE" cflags --patchable) app.c -o clang-patchable -lpthread
	run record -o clang-patchable.atf ./clang-patchable count 4
	is "$(calls_of clang-patchable.atf main)" 1 "clang's patchable entries are recorded"
fi

cat >marks.c <<'END'
#include <sonde/record.h>
#include <stdio.h>

static void seen(void)
{
}

static void unseen(void)
{
}

int main(void)
{
	seen();
	sonde_record_mark("here");
	sonde_record_pause();
	unseen();
	sonde_record_resume();
	seen();
	printf("%d %d\n", sonde_record_active(), sonde_record_flush());
	return 0;
}
END
run cflags --libs
exits 0 "cflags --libs"
# shellcheck disable=SC2046 # words
"$CC" $("$SONDE" cflags) -I"$root/include" marks.c $("$SONDE" cflags --libs) -o marks
ok $? "a program that uses <sonde/record.h> is linked"
is "$(./marks)" "0 0" "it runs without a recorder"
run record -o marks.atf ./marks
is "$(cat "$out")" "1 1" "and knows when it is recorded"
is "$(calls_of marks.atf seen) $(calls_of marks.atf unseen)" "2 0" "pause and resume"
clean marks.atf

# shellcheck disable=SC2046 # words
if "$CC" -static app.c -o plain -lpthread 2>/dev/null; then
	run cflags --static
	exits 0 "cflags --static"
	# shellcheck disable=SC2046 # words
	"$CC" $("$SONDE" cflags) -static app.c $("$SONDE" cflags --static) -o static 2>"$err"
	ok $? "a static program is linked" || explain "$err"
	is "$(./static count 4)" "counted 10" "it runs without a recorder"
	run record -o static.atf ./static count 4
	exits 0 "it is recorded"
	is "$(calls_of static.atf add)" 4 "with its calls"
	clean static.atf
else
	skip "a static program" "no static C library"
fi

finish
