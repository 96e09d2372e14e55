# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Helpers of the tests beside this file, which source it first. A test works in a fresh folder
# with copies of the golden sessions, runs the command in $SONDE, and says what it saw in TAP.

root=${SOURCE_ROOT:-${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}}
golden=${GOLDEN:-$root/tests/golden}/atf
SONDE=${SONDE:-$root/build/sonde}
export LC_ALL=C
unset COLUMNS

tests=0
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

[ -x "$SONDE" ] || skip_all "no command at $SONDE"
[ -d "$golden/normal" ] || skip_all "no golden sessions at $golden"

mkdir "$work/here" && cd "$work/here" || exit 1

# Copies golden sessions under names: `session normal trace`.
session() {
	cp -R "$golden/$1" "$2" && chmod -R u+w "$2"
}

# Runs the command; its outputs are then in files, its exit code in $code.
out=$work/out err=$work/err code=0
run() {
	code=0
	"$SONDE" "$@" >"$out" 2>"$err" </dev/null || code=$?
}

# ok CODE NAME: passes where CODE is 0.
ok() {
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
		return 0
	fi
	echo "not ok $tests - $2"
	return 1
}

explain() {
	sed 's/^/# /' "$@"
}

# is GOT EXPECTED NAME
is() {
	[ "$1" = "$2" ]
	ok $? "$3" || printf 'got:      %s\nexpected: %s\n' "$1" "$2" | explain
}

# exits CODE NAME: of the last run.
exits() {
	is "$code" "$1" "$2: exit code $1" || explain "$err"
}

# out_is NAME <expected, err_is NAME <expected: the whole output of the last run.
same_text() {
	cat >"$work/expected"
	diff -u "$work/expected" "$1" >"$work/diff"
	ok $? "$2" || explain "$work/diff"
}
out_is() {
	same_text "$out" "$1"
}
err_is() {
	same_text "$err" "$1"
}

# out_has PATTERN NAME, err_has PATTERN NAME: a line of it matches (grep -E).
has_line() {
	grep -Eq -e "$2" "$1"
	ok $? "$3" || explain "$1"
}
out_has() {
	has_line "$out" "$1" "$2"
}
err_has() {
	has_line "$err" "$1" "$2"
}

# No output at all.
silent() {
	[ ! -s "$out" ] && [ ! -s "$err" ]
	ok $? "$1" || explain "$out" "$err"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

finish() {
	echo "1..$tests"
}
