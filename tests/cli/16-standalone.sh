#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SONDE_OUTPUT: a program linked with libsonde-rt records itself, and never runs the worse for it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/cli/record_programs.sh
. "$root/tests/cli/record_programs.sh"

need_recorder
build_program app
# shellcheck disable=SC2046 # words
build_with linked -Wl,--no-as-needed $("$SONDE" cflags --libs)
ok $? "a program linked with the runtime"

SONDE_OUTPUT=by-itself ./linked count 4 >"$out" 2>"$err"
is $? 0 "it records itself"
is "$(cat "$out" "$err")" "counted 10" "its output is its own"
is "$(calls_of by-itself add)" 4 "every call is there"
clean by-itself
SONDE_OUTPUT=by-itself ./linked count 5 >"$out" 2>"$err"
is "$(calls_of by-itself add)" 5 "an old recording of that name is replaced"
SONDE_OUTPUT=status ./linked exit 7 >"$out" 2>"$err"
is $? 7 "its exit status is its own"
env "PATH=$PATH:." SONDE_OUTPUT=by-path linked count 3 >"$out"
is "$(calls_of by-path add)" 3 "found by PATH"

echo precious >file
SONDE_OUTPUT="file" ./linked count 4 >"$out" 2>"$err"
is $? 0 "an output that may not be replaced"
is "$(cat file) $(cat "$out")" "precious counted 10" "the file stays, and the program runs"
err_has 'file: what is there is not a readable recording' "says why nothing is recorded"
SONDE_OUTPUT=missing/x ./linked count 4 >"$out" 2>"$err"
is "$(cat "$out")" "counted 10" "a folder that is not there: the program runs"
err_has 'missing: this folder does not exist' "says so"

mkdir alone && cp -L "$(dirname "$SONDE")"/libsonde-rt.so.0 alone/
LD_LIBRARY_PATH=$PWD/alone PATH=/usr/bin:/bin SONDE_OUTPUT=none ./linked count 4 >"$out" 2>"$err"
is "$(cat "$out")" "counted 10" "without the command the program runs"
if [ ! -x /usr/bin/sonde ] && [ ! -x /bin/sonde ]; then
	err_has "the command 'sonde' is neither beside libsonde-rt nor in PATH" "and says so"
	[ ! -e none ]
	ok $? "nothing was written"
fi

if build_with static -static -Wl,--whole-archive "$(dirname "$SONDE")/libsonde-rt.a" \
	-Wl,--no-whole-archive 2>/dev/null; then
	env "PATH=$(dirname "$SONDE"):$PATH" SONDE_OUTPUT=static-run ./static count 6 >"$out"
	is "$(calls_of static-run add)" 6 "a static program records itself"
fi

run record -o file --or-run --force ./app count 4
exits 0 "--or-run"
is "$(cat "$out") $(cat file)" "counted 10 precious" "runs the program, and leaves the file"
run record -o file --or-run --force --env X=1 --chdir alone sh -c "echo \$X; ls"
is "$(cat "$out")" "1
libsonde-rt.so.0" "with the environment and the folder that were asked for"
run record -o file --force ./app count 4
exits 3 "without --or-run it fails"

finish
