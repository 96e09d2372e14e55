#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Help in all its forms, and what is said to somebody who mistypes.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"

run
exits 2 "bare sonde"
[ ! -s "$out" ]
ok $? "bare sonde writes nothing to standard output"
err_has '^  info +show what a recording is' "bare sonde shows the commands"
cp "$err" "$work/overview"

for form in help --help -h; do
	run $form
	exits 0 "sonde $form"
	cmp -s "$out" "$work/overview"
	ok $? "sonde $form shows the overview"
done

run --version
exits 0 "sonde --version"
out_has '^sonde [0-9]+\.[0-9]+\.[0-9]+$' "sonde --version shows a version"

"$SONDE" help --commands >"$work/commands"
# shellcheck disable=SC2086 # a name may be two words
while read -r name; do
	run help $name
	exits 0 "help $name"
	cp "$out" "$work/help"
	run $name --help
	cmp -s "$out" "$work/help"
	ok $? "help $name and $name --help are the same"
	grep -q '^Usage: sonde ' "$out" && grep -q '^Examples:$' "$out" && [ ! -s "$err" ]
	ok $? "help of $name has usage and examples"
	[ "$(wc -L <"$out")" -le 80 ]
	ok $? "help of $name fits into 80 columns"
	[ "$name" = "${name% *}" ] || "$SONDE" help "${name% *}" >"$work/above"
	[ "$name" != "${name% *}" ] || cp "$work/overview" "$work/above"
	grep -q "^  ${name##* } " "$work/above"
	ok $? "$name is in the overview"
done <"$work/commands"

run inof x
exits 2 "unknown command"
err_is "a mistyped command suggests the nearest" <<'END'
sonde: unknown command 'inof'. Did you mean 'info'?
  hint: 'sonde help' lists the commands
END
run xyzzy
err_is "a far one suggests nothing" <<'END'
sonde: unknown command 'xyzzy'
  hint: 'sonde help' lists the commands
END
run help dmup
exits 2 "help of an unknown command"
err_has "Did you mean 'dump'" "help suggests the nearest, too"

run store serach x
exits 2 "unknown subcommand"
err_is "a mistyped subcommand suggests the nearest" <<'END'
sonde: unknown command 'store serach'. Did you mean 'store search'?
  hint: 'sonde help store' lists the commands
END
run store
exits 2 "a missing subcommand"
err_has "'store' needs a COMMAND" "a missing subcommand is named"
run help store xyzzy
exits 2 "help of an unknown subcommand"
run help dump info
exits 2 "help of a command that has no subcommands"
run store search --limt 3 x
err_is "a mistyped option of a subcommand" <<'END'
sonde: unknown option '--limt' for 'store search'. Did you mean '--limit'?
  hint: 'sonde store search --help' shows how it is used
END

run dump --limt 3 x
exits 2 "unknown option"
err_is "a mistyped option suggests the nearest" <<'END'
sonde: unknown option '--limt' for 'dump'. Did you mean '--limit'?
  hint: 'sonde dump --help' shows how it is used
END
run dump --lim 3 x
exits 2 "an abbreviated option is refused"
run dump -z x
err_has "unknown option '-z' for 'dump'" "an unknown letter"
run --json info x
exits 2 "an option before the command"
err_has "the command comes first" "an option before the command is explained"

finish
