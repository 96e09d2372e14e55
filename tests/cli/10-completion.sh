#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The completion scripts: each shell takes its own, and they complete what they should.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
for shell in bash zsh fish; do
	run completion $shell
	exits 0 "completion $shell"
	cp "$out" "sonde.$shell"
	if have $shell; then
		$shell -n "sonde.$shell" 2>"$err"
		ok $? "$shell reads it" || explain "$err"
	else
		skip "$shell reads it" "no $shell"
	fi
done
run completion tcsh
exits 2 "completion of another shell"
run completion
exits 2 "completion of no shell"
if have shellcheck; then
	shellcheck sonde.bash >"$out" 2>&1
	ok $? "shellcheck has nothing to say" || explain "$out"
else
	skip "shellcheck" "no shellcheck"
fi
"$SONDE" help --commands >"$work/commands"
# shellcheck disable=SC2086 # a name may be two words
while read -r name; do
	id=$(echo "$name" | tr ' ' -)
	"$SONDE" help $name | grep -Eo '^  (-.,|   ) --[a-z-]+' | grep -Eo '[a-z][a-z-]+$' >options
	missing=$(while read -r option; do
		grep -q -- "$id:.*--$option\\b" sonde.bash && grep -q -- "--$option\\b" sonde.zsh &&
			grep -q -- "is $name'.* -l $option " sonde.fish || echo "$option"
	done <options)
	is "$missing" "" "all options of $name are in all three"
done <"$work/commands"

mkdir trace 'trace two' && : >other
if have bash; then
	cat >complete.bash <<'END'
. ./sonde.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_sonde 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
END
	completes() {
		expected=$1
		shift
		is "$(bash complete.bash "$@" | sort | tr '\n' ' ')" "$expected" "bash: $*"
	}
	completes 'info ' sonde in
	completes 'cflags check completion convert cut ' sonde c
	completes '--help --version ' sonde --
	completes '--json ' sonde info --j
	completes '--track ' sonde dump trace --tr
	completes 'relative ' sonde dump --time r
	completes 'relative ' sonde dump --time = r
	completes 'absolute human relative ' sonde dump --time =
	completes 'call,return ' sonde dump --kind call,ret
	completes 'trace trace two ' sonde info tra
	completes 'trace trace two ' sonde convert x -o tra
	completes ' ' sonde dump --limit ''
	completes 'zsh ' sonde completion z
	completes 'merge ' sonde help m
	completes 'search serve stats ' sonde store s
	completes '--sort ' sonde store search --so
	completes 'duration ' sonde store search --sort d
	completes 'trace trace two ' sonde store search tra
	completes '--help ' sonde store --h
	completes '--list ' sonde check --l
	completes ' ' sonde store check --l
	completes 'atf ' sonde dump -f a
	completes '--stats --struct ' sonde prof --st
	completes 'deviation ' sonde prof --stats d
	completes 'sum,mean ' sonde prof --stats sum,me
	completes 'trace trace two ' sonde prof tra
	completes '--no-follow --notrace ' sonde record --no
	completes 'drop ' sonde record --on-full d
	completes 'all none ' sonde record --detail =
	completes 'none ' sonde record --detail = n
	completes 'other ' sonde record --detail oth
	completes 'other ' sonde record --env A = b --trigger symbol = x : dump -o trace oth
	completes 'trace trace two ' sonde record -o other cat tra
	completes 'other ' sonde record -- cat --detail = oth
	completes '--flight --flight-size --follow --force --function ' sonde record --detail --f
else
	skip "bash completes" "no bash"
fi
if have fish; then
	XDG_CONFIG_HOME=$work/config HOME=$work
	export XDG_CONFIG_HOME HOME
	fish_completes() {
		is "$(fish -c "source sonde.fish; complete -C '$2'" 2>/dev/null | cut -f 1 | sort |
			tr '\n' ' ')" "$1" "fish: $2"
	}
	fish_completes 'formats ' 'sonde form'
	fish_completes '--json ' 'sonde info --j'
	fish_completes 'relative ' 'sonde dump --time r'
	fish_completes 'trace two/ trace/ ' 'sonde info tra'
	fish_completes 'bash fish zsh ' 'sonde completion '
	fish_completes '--notrace ' 'sonde record --not'
	fish_completes 'overwrite ' 'sonde record --on-full ov'
	fish_completes 'search serve stats ' 'sonde store s'
	fish_completes '--ascending ' 'sonde store search --asc'
	fish_completes 'duration ' 'sonde store search --sort d'
	fish_completes '--list ' 'sonde check --l'
	fish_completes '' 'sonde store check --l'
else
	skip "fish completes" "no fish"
fi

finish
