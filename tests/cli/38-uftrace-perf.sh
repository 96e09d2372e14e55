#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data of uftrace and the text of perf script: recognised, shown, checked, carried over; and what is
# said where they are damaged.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
uftrace=${golden%/atf}/uftrace/small
perf=${golden%/atf}/perf_script
tab=$(printf '\t')
blank=' '

run info "$uftrace"
exits 0 "data of uftrace"
out_has '^  format +uftrace data \(uftrace\)' "is recognised"
out_has '^  holds +1,230 events, 602 details, 5 tracks' "its calls and arguments"
out_has 'uftrace.cmdline "uftrace record ' "how it was recorded"
run report "$uftrace"
out_has '94\.647 us +5\.6% +299 .* leaf$' "report: calls and times as uftrace report has them"
out_has '583\.445 us +34\.3% +3 .* pthread_join$' "report: functions of libraries"
out_has '262\.148 us +15\.4% +2 .* fork$' "report: what a forked process returns from counts"
run dump "$uftrace"
out_has '\-> name\(arg1="hello world", arg2=1\)$' "dump: arguments"
out_has '<- leaf\(retval=61075\)$' "dump: results"
run check "$uftrace"
exits 0 "check: nothing is wrong"
run convert "$uftrace" -o trace.wtf-trace
exits 0 "convert"
run report trace.wtf-trace
out_has '94\.647 us +5\.6% +299 .* leaf$' "the same calls and times after it"

cp -R "$uftrace" cut && chmod -R u+w cut
for file in cut/*.dat; do
	head -c 1003 "$file" >part && mv part "$file"
done
run check cut
exits 1 "check: files that end in the middle"
out_has 'exchange-truncated' "that is found"
run report cut
exits 0 "what is there is read"
rm cut/task.txt cut/*.sym
run report cut
exits 0 "without names too"
out_has '<[0-9a-f]+>$' "addresses stand for them"
printf 'Ftrace!' >cut/info
run info --format uftrace cut
exits 3 "info that is cut off"
err_has 'should begin with "Ftrace!" and have at least 40 bytes' "is refused, and why"
run recover "$uftrace" -o recovered
exits 3 "nothing to recover"
err_has '.sonde convert. writes all of it that can be read' "what to do instead"

run info "$perf/default.txt"
exits 0 "text of perf script"
out_has '^  format +text of perf script \(perf-script\)' "is recognised"
out_has '^  profile +7 calling contexts, .* 9 samples$' "stacks are contexts"
run report "$perf/default.txt"
out_has '^100\.0% .* 18\.036 ms +100\.0% .* 9  spin$' "a clock is time"
run report "$perf/without-stacks.txt"
out_has '^100\.0% .* 18\.036 ms .* spin$' "without stacks: the function alone"
run report "$perf/header.txt"
out_has '50\.0% .* 20 +20 +50\.0% +1  memset$' "periods of other events count"
run report "$perf/fields.txt"
out_has '^100\.0% .* 9 +9 .* spin$' "other fields: no period, with sources"
run dump --contexts "$perf/fields.txt"
out_has 'b\.c:9' "lines of sources are contexts"

# Written by hand, after perf's manual: frames of inlined calls, names with blanks, tracepoints, and nonsense.
cat >odd.txt <<END
# a comment
a b 12 7/8 [001] 5.000001:     100 cycles:u:$blank
$tab          1234 inner (inlined)
$tab          1234 outer<int (*)(int)>(char const*)+0x12 (/usr/bin/a b (deleted))
$tab             0 [unknown] ([unknown])

swapper     0 [000] 4.000000: sched:sched_switch: prev_comm=x prev_pid=1 ==> next_comm=y
$tab ffffffff8100 schedule+0x1 ([kernel.kallsyms])

what is this
a b 12 7/8 [001] 5.000003: PERF_RECORD_COMM: x:7/8
$tab nonsense
END
run check odd.txt
exits 1 "lines that are not understood are findings"
out_has 'found +what is this$' "a line that is none"
out_has 'found +.t nonsense$' "a frame that is none"
out_has '^note .* exchange-unknown' "what perf notes about itself"
run report --tree odd.txt
out_has '  100 +0 .* outer<int \(\*\)\(int\)>\(char const\*\)$' "a C++ name is kept"
out_has '  100 +100 .* inner$' "an inlined call is below its caller"
run dump --samples odd.txt
out_has 'schedule' "samples are there"
run formats
out_has '^perf-script .* read, check +samples, contexts, values$' "formats: what can be done"
out_has '^uftrace .* read, check +events, details$' "formats: the same for uftrace"
finish
