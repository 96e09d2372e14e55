#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The forms in which options are written, and their values.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
session normal trace

lines() {
	run dump "$@"
	wc -l <"$out" | tr -d ' '
}

is "$(lines trace --limit 7)" 7 "--name VALUE"
is "$(lines trace --limit=7)" 7 "--name=VALUE"
is "$(lines trace -n 7)" 7 "-x VALUE"
is "$(lines trace -n7)" 7 "-xVALUE"
is "$(lines -n 7 trace)" 7 "options before the operand"
is "$(lines -qn7 trace)" 7 "bundled letters, the last with a value"
is "$(lines -qv -n7 trace)" 7 "bundled letters"
is "$(lines -n 7 -- trace)" 7 "-- ends the options"
is "$(lines -n 3 trace -n 7)" 7 "the last one counts"
run dump -n 7 -- trace --limit
exits 2 "after -- everything is an operand"
is "$(lines trace -n 0)" 0 "--limit 0 prints nothing"

is "$(lines trace --track 0,2)" 2000 "a list with a comma"
is "$(lines trace --track 0 --track 2)" 2000 "a list by repeating"
is "$(lines trace --track 'thread 1')" 1000 "a track by its name"
is "$(lines trace --track 'thread [12]')" 2000 "tracks by a pattern"
is "$(lines trace --track 1,1)" 1000 "a track named twice"
calls=$(lines trace --kind call)
returns=$(lines trace --kind return)
exceptions=$(lines trace --kind exception)
is "$((calls + returns + exceptions))" 4000 "kinds add up"
is "$(lines trace --kind call,exception)" "$((calls + exceptions))" "a set of kinds"
is "$(lines trace --kind call --kind exception)" "$((calls + exceptions))" "a set by repeating"
parse=$(lines trace --function parse)
reply=$(lines trace --function reply)
is "$(lines trace --function parse --function reply)" "$((parse + reply))" "patterns by repeating"

run dump
exits 2 "a missing operand"
err_has "'dump' needs a RECORDING" "a missing operand is named"
run dump trace other
err_has "'other' is one argument too many" "one operand too many"
run merge trace -o x
err_has "'merge' needs at least 2 of RECORDING" "merge of one"
run dump trace --limit
err_has "--limit needs a value: N" "a missing value"
run dump trace -n
err_has "-n needs a value: N" "a missing value of a letter"
run dump trace --detail=yes
err_has "--detail takes no value" "a flag with a value"
for value in -3 x 3x '' 99999999999999999999; do
	run dump trace --limit "$value"
	exits 2 "--limit '$value'"
done
run dump trace --time hunam
exits 2 "a wrong word"
err_has "unknown word 'hunam'. Did you mean 'human'" "a wrong word suggests the nearest"
run dump trace --color=sometimes
err_has "expected auto, always or never" "a wrong word lists the right ones"
run dump trace --kind call,
err_has "an empty word" "an empty word in a list"
run dump trace --track thraed
exits 2 "an unknown track"
run dump trace --track 'thread 9'
err_has "no track 'thread 9'. Did you mean 'thread 0'" "an unknown track suggests one"
run dump trace --track 4
exits 2 "a track number too large"
run dump trace --format aft
err_has "unknown format 'aft'. Did you mean 'atf'" "an unknown format suggests one"
run dump trace --format atf -n 1
exits 0 "a format by name"
run dump trace --json --csv
exits 2 "--json and --csv together"
run dump trace --min-depth 5 --max-depth 3
exits 2 "depths that exclude each other"

is "$(lines trace --from 0)" 4000 "--from 0"
is "$(lines trace --to 100%)" 4000 "--to 100% includes the last event"
is "$(lines trace --from 0.8824s --to 1h -q)" 0 "a unit of seconds"
first=$(lines trace --to 441.244us)
rest=$(lines trace --from 441.244us)
is "$((first + rest))" 4000 "--to and --from part without a gap or an overlap"
is "$(lines trace --to 50%)" "$first" "a share is the same moment"
is "$(lines trace --to -441.245us)" "$first" "so is a time before the end"
is "$(lines trace --to @1000000441376)" "$first" "so is an absolute time"
for value in 10 5x ms -5% 101% @1.5 @ '' 1..5s 99999999999999h; do
	run dump trace --from "$value"
	exits 2 "--from '$value'"
	err_has '^sonde: --from: ' "--from '$value' is explained"
done
run dump trace --from 10us --to 5us
exits 2 "--to before --from"

finish
