#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages in doc/man are what the tables say, and say it well.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
pages=$root/doc/man

same_page() {
	cmp -s "$out" "$pages/$1"
	ok $? "doc/man/$1 is up to date" || echo "# run 'make man'"
}

"$SONDE" help --commands >"$work/commands"
run help --man
same_page sonde.1
# shellcheck disable=SC2086 # a name may be two words
while read -r name; do
	id=$(echo "$name" | tr ' ' -)
	above=sonde.1
	[ "$name" = "${name% *}" ] || above=sonde-${name% *}.1
	run help --man $name
	same_page "sonde-$id.1"
	"$SONDE" help $name | grep -Eo '^  (-.,|   ) --[a-z-]+' | grep -Eo '[a-z][a-z-]+$' |
		sed 's/-/\\\\-/g' >"$work/options"
	missing=$(while read -r option; do
		grep -q -- "Fl ..$option\\( \\|\$\\)" "$pages/sonde-$id.1" || echo "$option"
	done <"$work/options")
	is "$missing" "" "every option of $name is in its page"
	grep -q "sonde-$id 1 \\." "$pages/$above"
	ok $? "$above leads to sonde-$id.1"
	grep -q "'sonde-$id.1'" "$pages/meson.build"
	ok $? "sonde-$id.1 is installed"
done <"$work/commands"
# sonde-mpi.1 is written by hand: it leads to the pages of the commands.
is "$(find "$pages" -name '*.1' ! -name sonde-mpi.1 | wc -l | tr -d ' ')" "$(($(wc -l <"$work/commands") + 1))" \
	"no page is left of a command that is gone"

if have mandoc; then
	mandoc -Tlint -W warning "$pages"/*.1 >"$out" 2>&1
	ok $? "mandoc has nothing to warn of" || explain "$out"
else
	skip "mandoc -Tlint" "no mandoc"
fi

finish
