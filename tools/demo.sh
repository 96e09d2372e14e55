#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds sonde and shows what it does to a session of four threads: look at it, break a copy as a
# crash would, find the damage, mend it, cut a piece out. Every command shown is run for real, in
# the folder demo/, which can be looked at afterwards.
set -eu
cd "$(dirname "$0")/.."

build=${BUILD:-build}
if [ ! -e "$build/build.ninja" ]; then
	meson setup "$build" -Dtests=auto >/dev/null
fi
if ! log=$(ninja -C "$build" sonde 2>&1); then
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
cp -r tests/golden/atf/normal demo/original
cd demo

say 'Another program recorded this session: four threads, every call and return.'
show 'sonde info original'

say 'Write it anew: the same events, now with checksums.'
show 'sonde convert original -o session'

say 'What happened first, on all threads, in the order of time?'
show 'sonde dump session --limit 12'

say 'The next return of one function, with the registers that were captured:'
show 'sonde dump session --function parse --kind return --from 300us --limit 1 --detail'

say 'Now an accident: a copy that lost the end of a file, as in a crash.'
show 'cp -r session crashed'
show 'truncate -s -70 crashed/thread_2/index.atf'
show 'sonde check crashed' 1

say 'Bring back everything that survived, into a new session:'
show 'sonde recover crashed -o recovered'
show 'sonde check recovered'

say 'Keep the middle fifth. Calls open at its edges are opened and closed there:'
show 'sonde cut session --from 40% --to 60% -o middle'
show 'sonde dump middle --track 0 --limit 14'

printf "\nAll of it is in demo/. Go on with: %s/sonde --help\n" "$build"
