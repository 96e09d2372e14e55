#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sonde record on small programs that are built here: what is recorded, what the options leave out,
# what is said, and that the program runs and ends as it would without us.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/cli/record_programs.sh
. "$root/tests/cli/record_programs.sh"

# Usage: nothing is run, nothing is written.
refuses() {
	pattern=$1
	shift
	run record "$@" sh -c 'echo ran'
	exits 2 "record $*"
	err_has "$pattern" "record $*: says what is wrong"
	[ ! -s "$out" ]
	ok $? "record $*: runs nothing"
}
run record
exits 2 "record without a program"
err_has "'record' needs a PROGRAM" "names what is missing"
refuses "must be more than 0" --flight 0
refuses "two names for the same time" --flight 5 --pre-roll 6
refuses "needs --flight" --post-roll 1s
refuses "expected symbol=GLOB, signal=SIG" --trigger foo
refuses "expected symbol=GLOB, signal=SIG" --trigger symbol=
refuses "Did you mean 'dump'" --flight 1 --trigger symbol=x:dmup
refuses "nothing to dump without --flight" --trigger symbol=x:dump
refuses "a crash can only dump" --trigger crash
refuses "only 'dump' is left" --flight 1 --trigger crash:on
refuses "'FOO' is no signal" --trigger signal=FOO
refuses "cannot be waited for" --trigger signal=SIGKILL
refuses "cannot be waited for" --trigger signal=9
refuses "'5' needs a unit" --trigger time=5
refuses "ends what --detail begins" --trigger symbol=x:nodetail
refuses "at most 256" --stack-bytes 257
refuses "says that there are none" --detail=none --stack-bytes 8
refuses "unknown word 'everything', expected all or none" --detail=everything
refuses "at least 64K" --ring-size 5K
refuses "at most 1G" --ring-size 2G
refuses "unknown unit" --ring-size 5Q
refuses "not a whole number of bytes" --ring-size 5.5
refuses "is not a size" --ring-size big
refuses "'5' needs a unit" --min-time 5
refuses "unknown unit" --min-time 5d
refuses "is not a duration" --min-time soon
refuses "is too large" --duration 9999999999999h
refuses "not NAME=VALUE" --env =x
refuses "must be more than 0" --depth 0
refuses "Did you mean 'wait'" --on-full wiat
run record --no-flow sh
err_has "Did you mean '--no-follow'" "a mistyped option"
mkdir full && : >full/file
run record -o full sh -c 'echo ran'
exits 3 "an output that exists"
err_has "hint: --force replaces it" "says how to replace it"
[ -e full/file ] && [ ! -s "$out" ]
ok $? "leaves it alone and runs nothing"
rm -rf full
SONDE_RUNTIME=$work/nowhere
export SONDE_RUNTIME
run record true
exits 3 "without the runtime"
err_has "nowhere.*there is no libsonde-rt.so" "says where it should be"
unset SONDE_RUNTIME

need_recorder

# The plain case: every call, with its name and line.
build_program app
run record ./app count 100
exits 0 "record ./app"
out_is "the program's output is its own" <<'END'
counted 5050
END
err_has '^sonde: wrote app.atf: 206 events of 4 functions in 1 thread of 1 process, ' \
	"the summary counts"
err_has '^  next: sonde info app.atf$' "the summary names the next command"
is "$(events app.atf)" 206 "two events for each call"
is "$(calls_of app.atf main)$(calls_of app.atf count)$(calls_of app.atf add)" 11100 "calls by name"
clean app.atf
line=$(grep -n '^static int add' app.c | cut -d: -f 1)
is "$(line_of app.atf add)" "app.c:$line" "file and line"
run record ./app count 100
[ -d app-2.atf ]
ok $? "a second recording gets another name"
run record ./app count 1
[ -d app-3.atf ]
ok $? "and so does a third"
run record --force ./app count 1
is "$(events app.atf)" 8 "--force replaces the first"
record_into trace count 3
is "$(events trace)" 12 "-o DIR"
run record -o trace ./app count 3
exits 3 "-o with a recording that exists"
run record --force -o trace ./app count 4
is "$(events trace)" 14 "-o DIR --force"
run record -q -o quiet ./app count 3
[ ! -s "$err" ]
ok $? "--quiet says nothing"
run record -o dashes -- ./app count 3 --force -q -- -x
exits 0 "options behind the program are the program's"
err_has '^sonde: wrote dashes' "and not ours"

# The end of the program is ours.
run record -o e0 ./app exit 0
exits 0 "exit code 0 is passed on"
run record -o e7 ./app exit 7
exits 7 "another exit code too"
run record -o segv ./app crash
exits 139 "a crash"
err_has '^sonde: app was ended by SIGSEGV; the recording is complete up to there$' "is told"
is "$(calls_of segv crash)" 1 "the function that crashed is there"
clean segv
run record -o killed ./app kill
exits 137 "SIGKILL"
is "$(calls_of killed add)" 1000 "nothing that was recorded before is lost"
clean killed
run record -o aborted ./app abort
exits 134 "abort"
clean aborted

# What cannot be recorded.
run record -o none ./no-such-program
exits 3 "no such program"
err_has 'no-such-program' "is named"
run record -o none no-such-program-in-the-path
exits 3 "no such program in PATH"
: >plain
run record -o none ./plain
exits 3 "a file that cannot be run"
run record -o none .
exits 3 "a folder"
run record -o missing/trace ./app count 1
exits 3 "an output in a folder that is missing"
[ ! -s "$out" ]
ok $? "the program was not run"
run record -o /proc/nothing ./app count 1
exits 3 "an output that cannot be made"
err_has '^sonde: /proc/nothing: cannot be created' "is called as it was given"
[ ! -e none ] && [ ! -e missing ]
ok $? "nothing was written"
printf '#!/bin/sh\nexec ./app count 5\n' >script && chmod +x script
run record -o by-script ./script
exits 0 "a script"
is "$(calls_of by-script add)" 5 "a script's programs are recorded"
run record -o nothing true
exits 0 "a program without instrumentation"
# shellcheck disable=SC2016 # as it stands
err_has 'nothing was recorded: no instrumented function was called in true' "says what is wrong"
# shellcheck disable=SC2016 # as it stands
err_has 'cc \$\(sonde cflags\) app.c' "says how to build it"
if build_with static -static 2>/dev/null; then
	run record -o none ./static count 1
	exits 3 "a static program"
	err_has 'libsonde-rt.a' "names the library to link"
else
	skip "a static program" "no static C library"
fi
cp app setuid && { [ "$(id -u)" != 0 ] || chown 1 setuid; } && chmod u+s setuid
run record -o none ./setuid count 1
if [ "$(id -u)" = 0 ]; then
	exits 3 "a setuid program"
	err_has 'set-?u(ser-)?id' "says so"
else
	skip "a setuid program" "not root"
fi

if unshare --pid --fork true 2>/dev/null; then
	code=0
	unshare --pid --fork "$SONDE" record -o none ./app count 1 >"$out" 2>"$err" || code=$?
	exits 3 "the /proc of another namespace"
	err_has "/proc does not show this process as 1, .*'unshare --mount-proc'" "says what to do"
	[ ! -s "$out" ] && [ ! -e none ]
	ok $? "and runs nothing"
else
	skip "the /proc of another namespace" "cannot make namespaces"
fi

# What is recorded.
record_into by-name count 10 --function add
is "$(events by-name)" 20 "--function"
record_into by-names count 10 --function 'a*' --function main
is "$(events by-names)" 22 "--function with a pattern, repeated"
record_into every count 10 --function '*' --module '*'
is "$(events every)" 26 "--function and --module that fit all"
record_into without count 10 --exclude add
is "$(events without)" 6 "--exclude"
clean without
record_into module count 10 --module '*app'
is "$(events module)" 26 "--module"
record_into no-module count 10 --module 'libnothing*'
is "$(events no-module)" 0 "--module that fits nothing"
err_has 'no function that was called fits' "says why nothing was recorded"
record_into shallow count 10 --depth 2
is "$(calls_of shallow main) $(calls_of shallow count) $(calls_of shallow add)" "1 1 0" "--depth"
clean shallow
record_into long slow --min-time 10ms
is "$(calls_of long slow) $(calls_of long add)" "1 0" "--min-time"
clean long
record_into paused count 10 --notrace
is "$(events paused)" 0 "--notrace"
err_has 'nothing switched recording on' "says why nothing was recorded"
record_into detail count 10 --detail
is "$(details detail)" 26 "--detail"
record_into detail-all count 10 --detail=all --stack-bytes 64
is "$(details detail-all)" 26 "--detail=all"
"$SONDE" dump --detail --limit 1 detail-all | grep -q 'stack, 64 bytes'
ok $? "--stack-bytes"
run dump --detail --limit 1 detail-all
out_has '^ *rip .* rbp .* rsp ' "call site, frame and stack pointer"
grep -q 'rdi' "$out"
is $? 1 "registers that a hook cannot know are not shown"
clean detail-all
record_into detail-none count 10 --detail=none
is "$(details detail-none)" 0 "--detail=none"
record_into detail-implied count 10 --stack-bytes 8
is "$(details detail-implied)" 26 "--stack-bytes implies --detail"

# Triggers.
record_into on count 10 --trigger symbol=count
is "$(calls_of on main) $(calls_of on add)" "0 10" "a trigger that starts recording"
clean on
record_into off count 10 --trigger symbol=finish:off
is "$(calls_of off add) $(calls_of off finish)" "10 0" "a trigger that stops it"
clean off
record_into detailed count 10 --trigger symbol=finish:detail
[ "$(details detailed)" -gt 0 ] && [ "$(details detailed)" -lt 26 ]
ok $? "a trigger that starts details"
record_into never count 10 --trigger symbol=nothing
is "$(events never)" 0 "a trigger that never fires"
record_into later wait --trigger time=300ms
is "$(calls_of later finish)" 1 "a trigger by time"
record_into short wait --duration 300ms
is "$(calls_of short finish)" 0 "--duration"
exits 0 "the program runs on after --duration"
clean short

# The flight recorder.
record_into flight count 100 --flight 1h
is "$(calls_of flight add)" 100 "--flight keeps what is new and writes it at the end"
clean flight
record_into flight-details count 20000 --flight-size 256K --detail --stack-bytes 64
[ "$(events flight-details)" -gt 100 ]
ok $? "--flight-size with details"
clean flight-details
record_into flight-least count 1000 --flight-size 1 --detail
is "$(calls_of flight-least finish)" 1 "a flight recorder of any size has the newest"
clean flight-least
record_into flight-size count 200000 --flight-size 256K
[ "$(events flight-size)" -gt 100 ] && [ "$(events flight-size)" -lt 400000 ]
ok $? "--flight-size keeps no more than that"
is "$(calls_of flight-size finish)" 1 "the newest is there"
clean flight-size
run record -o flight-processes --flight 100ms sh -c './app count 5; sleep 0.3; ./app count 6'
err_has '^sonde: wrote flight-processes: 18 events of 4 functions in 1 thread of 1 process, ' \
	"threads and processes of which nothing is kept do not count"
clean flight-processes
record_into flight-crash crash --flight 10
exits 139 "--flight and a crash"
is "$(calls_of flight-crash crash)" 1 "--flight is written after a crash"
clean flight-crash
record_into no-crash count 10 --flight 10 --trigger crash
is "$(events no-crash)" 0 "--trigger crash without a crash"
err_has 'no trigger (fired|asked for a dump)' "says why nothing was recorded"
record_into flight-symbol count 10 --flight 10 --trigger symbol=finish
is "$(calls_of flight-symbol add)" 10 "--flight is written when a function is called"
clean flight-symbol

# shellcheck disable=SC2016 # of the other shell
run record -o limited sh -c 'kill -SYS $$'
exits 159 "a program that made a system call it must not make"
err_has 'must allow futex, rt_sigprocmask and prctl' "is told what recording needs"

# Signals to sonde: one that is a trigger, and one that goes on to the program.
"$SONDE" record -o signalled --flight 1h --trigger signal=USR1 ./app forever >"$out" 2>"$err" &
recorder=$!
wait_for ready "$out"
sleep 0.3
kill -USR1 $recorder
sleep 0.3
kill -TERM $recorder
code=0
wait $recorder || code=$?
exits 143 "a signal to sonde ends the program and us"
err_has '^sonde: app was ended by SIGTERM' "is told"
[ "$(calls_of signalled add)" -gt 0 ]
ok $? "a trigger by signal wrote what was kept"
clean signalled

# Losses are counted.
record_into waits count 200000 --ring-size 64K
is "$(calls_of waits add)" 200000 "a small ring loses nothing"
record_into drops count 200000 --ring-size 64K --on-full drop
clean drops
dropped=$(sed -n 's/^sonde: warning: \([0-9,]*\) events\{0,1\} w.* dropped.*/\1/p' "$err" | tr -d ,)
# At each gap a call may be closed, or a return left out, that has no other half: both are told.
told() {
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" drops/pid_*/manifest.json
}
made_up=$(told returns_made_up)
left_out=$(told returns_left_out)
total=$(($(events drops) + ${dropped:-0} - ${made_up:-0} + ${left_out:-0}))
is $total "$(($(events waits)))" "--on-full drop accounts for every event"

# Threads, children, environment.
record_into threads threads 8
err_has '^sonde: wrote threads: .* in 9 threads of 1 process' "threads"
is "$(calls_of threads add)" 80 "calls of all threads"
run dump threads --kind call --function count
out_has ' app#[1-8]  *-> count$' "threads of the same name are told apart"
record_into forks fork
err_has '^sonde: wrote forks: .* of 2 processes' "a child is followed"
is "$(calls_of forks add)" 10 "with its calls"
record_into alone fork --no-follow
is "$(calls_of alone add)" 0 "--no-follow"
clean forks
record_into env env --env SONDE_TEST=yes --env SONDE_GONE --chdir "$work"
is "$(cat "$out")" "yes - $work" "--env and --chdir"
SONDE_GONE=1 SONDE_TEST=no
export SONDE_GONE SONDE_TEST
run record -o env2 --env SONDE_TEST=yes --env SONDE_GONE ./app env
is "$(cat "$out")" "yes - $(pwd)" "--env changes and takes out"
unset SONDE_GONE SONDE_TEST
./app files >&- 2>&- <&-
mv files.txt expected.txt
"$SONDE" record -q -o closed ./app files >&- 2>&- <&-
is "$(cat files.txt)" "$(cat expected.txt)" "closed standard files are closed in the program"
clean closed
echo hello | "$SONDE" record -q -o piped ./app cat >"$out"
is "$(cat "$out")" hello "input and output go through"

# The other kind of instrumentation.
if build_with patchable; then
	run record -o patched ./patchable count 100
	is "$(events patched)" 206 "patchable entries"
	clean patched
	run record -o selected --function add ./patchable count 100
	is "$(events selected)" 200 "patchable entries, selected"
	strip patchable
	run record -o unnamed --function '*' ./patchable count 100
	is "$(events unnamed)" 206 "patchable entries, all selected, without names"
fi

# A terminal: Ctrl-C, and the line that shows how far it is.
if have python3 && python3 -c 'import os; os.openpty()' 2>/dev/null; then
	keys interrupted ./app forever
	is "$code" -2 "Ctrl-C ends the program and us by the signal"
	clean interrupted
	keys handled ./app handler
	is "$code" 5 "Ctrl-C that the program handles is its own affair"
	grep -q 'caught 1$' "$out"
	ok $? "it came once" || explain "$out"
	clean handled
	on_terminal shown ./app wait
	grep -q 'recording  *[0-9.]* s  .* events*  .*/s  0 dropped' "$out"
	ok $? "a line on the terminal" || explain "$out"
else
	skip "a terminal" "no python3"
fi

finish
