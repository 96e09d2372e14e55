#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds sonde and shows what it does: build a small program, record every call of it, look at the
# recording and where its time went; then break a copy as a crash would, find the damage, mend it, cut a
# piece out; then put it into a trace store and search there; then make a profile of it, and one of sampled
# measurements. Every command shown is run for real, in the folder demo/, which can be looked at afterwards.
set -eu
cd "$(dirname "$0")/.."

build=${BUILD:-build}
if [ ! -e "$build/build.ninja" ]; then
	meson setup "$build" -Dtests=auto >/dev/null
fi
if ! log=$(meson compile -C "$build" sonde:executable sonde-rt:shared_library 2>&1); then
	echo "$log"
	exit 1
fi
PATH="$(cd "$build" && pwd):$PATH"

bold='' dim='' green='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold='\033[1m' dim='\033[2m' green='\033[32m' plain='\033[0m'
fi

say() {
	printf "\n${bold}%s${plain}\n" "$*"
}

# show COMMAND [EXPECTED STATUS]: prints it behind a prompt and runs it.
show() {
	printf "${green}\$${plain} %s\n" "$1"
	status=0
	eval "$1" || status=$?
	if [ "$status" -ne 0 ]; then
		printf "${dim}(exit status %d)${plain}\n" "$status"
	fi
	if [ "$status" -ne "${2:-0}" ]; then
		echo "The demo expected exit status ${2:-0} here." >&2
		exit 1
	fi
}

rm -rf demo
mkdir demo
cp examples/calc.c demo/
cd demo

say 'A calculator with two threads. One line builds it so that its calls can be recorded:'
# shellcheck disable=SC2016 # shown as it stands, then evaluated
show 'cc $(sonde cflags) calc.c -o calc -lpthread'

say 'Run it, and record every call of every thread:'
show "sonde record -o session ./calc '1 + 2 * 3' '(4 - 1) ^ 5' '2 * (3 + 4) - 5 / 2' '9 ^ 3'"

say 'What is that?'
show 'sonde info session'

say 'How did it begin? Calls as a tree, on all threads, in the order of time:'
show 'sonde dump session --limit 24'

say 'Where did the time go? By function, and as a tree of calls (main waits for the threads it started):'
show 'sonde report session'
show 'sonde report session --tree --limit 12'

say 'As a picture to search and zoom in:'
show 'sonde flame session -o flame.svg'

say 'Anything else is a question in SQL: the slowest single calls, and who made them:'
show "sonde query session \"SELECT human_time(s.dur_ns) AS took, f.name, c.name AS caller FROM spans s
    JOIN functions f ON f.id = s.function LEFT JOIN spans p ON p.id = s.parent
    LEFT JOIN functions c ON c.id = p.function ORDER BY s.dur_ns DESC LIMIT 5\""

say 'Run it again with one more calculation. What is different?'
show "sonde record -q -o again ./calc '1 + 2 * 3' '(4 - 1) ^ 5' '2 * (3 + 4) - 5 / 2' '9 ^ 3' '7 * 7'"
show 'sonde diff session again --metric CALLS'

say 'Built with patchable entries, functions that are not asked for cost nothing, and those that
are show their arguments:'
# shellcheck disable=SC2016 # shown as it stands, then evaluated
show 'cc $(sonde cflags --patchable) calc.c -o calc-patchable -lpthread'
show "sonde record -q -o detailed --stack-bytes 32 --function calculate ./calc-patchable '6 * 7'"
show 'sonde dump detailed --limit 1 --detail'

say 'Now an accident: a copy that lost the end of a file, as in a crash.'
show 'cp -r session crashed'
index=$(cd crashed && find . -name index.atf -size +1k | sort | tail -n 1)
show "truncate -s -70 crashed/${index#./}"
show 'sonde check crashed' 1

say 'Bring back everything that survived, into a new session:'
show 'sonde recover crashed -o recovered'
show 'sonde check recovered'

say 'Keep the middle fifth. Calls open at its edges are opened and closed there:'
show 'sonde cut session --from 40% --to 60% -o middle'
show 'sonde dump middle --limit 6'

say 'A store keeps many traces and finds them again. Each calculation becomes one:'
show 'sonde store init traces -q'
show "sonde store ingest traces session --split-by calculate --service calculator -q"
show 'sonde store search traces'
show 'sonde store stats traces -n 5'
show 'sonde store get traces 000000:0 | head -n 16'
say 'Services send theirs by OpenTelemetry: sonde store serve traces (doc/store.md).'

say 'A profile adds up all calls of the same path. As an HPCToolkit database other programs open it too:'
show 'sonde convert session -t hpcdb -o calc.d'
show 'sonde info calc.d'
show "sonde dump calc.d --metric 'REALTIME (sec)' --limit 12"
show 'sonde check calc.d'

say 'Viewers and databases of others open it as well, and what they cannot hold is said:'
show 'sonde convert session -o calc.pftrace'
show 'sonde convert session -o calc.speedscope.json -q'
show 'sonde convert session -o calc.parquet'
say 'What other tools leave needs no conversion: perf script | sonde report - (doc/convert.md).'
show 'sonde convert session -t folded -o - -q | sonde report -'

say 'Samplers leave a profile of each thread, of addresses. (These are made up: two processes of two
threads.) prof merges them and finds functions, loops, lines and inlined calls again:'
python3 ../tests/cli/prof_measurements.py heat-measurements
show 'sonde dump heat-measurements --limit 5'
show 'sonde prof heat-measurements -o heat.d --stats all'
show 'sonde dump heat.d --limit 14'
say 'A cluster does it together: mpirun -n 4 sonde-mpi prof ... (doc/prof.md).'

printf "\nAll of it is in demo/. The flame graph is demo/flame.svg: open it in a browser.\n"
printf "Go on with: %s/sonde --help\n" "$build"
