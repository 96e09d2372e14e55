#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The cache of large files: what a command prints is the same without it, when it is filled, when it
# is used, and when it is damaged, stale or cannot be written.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
SONDE_CACHE=off
export SONDE_CACHE
cache=$work/cache

# Everything the command says of a recording.
say() {
	"$SONDE" dump --json "$1" 2>&1
	"$SONDE" info --json "$1" 2>&1
	"$SONDE" dump --from 2us --limit 20 "$1" 2>&1
}

# entries: how many there are.
entries() {
	find "$cache" -name 'sonde-cff-scan-*.cache' 2>/dev/null | wc -l | tr -d ' '
}

# cached COMMAND...: with a cache for files of any size.
cached() (
	SONDE_CACHE=$cache
	SONDE_CACHE_MINIMUM=0
	export SONDE_CACHE_MINIMUM
	"$@"
)

# same NAME: as without a cache.
same() {
	cmp -s "$work/without" "$work/with"
	ok $? "$1" || diff "$work/without" "$work/with" | head -n 5 | explain
}

# alike FILE ENTRIES: printed alike whatever the cache has; so many entries are kept of it.
alike() {
	touch -d '2020-01-01' trace.wtf-trace
	say trace.wtf-trace >"$work/without"
	rm -rf "$cache"
	cached say trace.wtf-trace >"$work/with"
	same "$1: the same while the cache is filled"
	is "$(entries)" "$2" "$1: entries in the cache"
	cached say trace.wtf-trace >"$work/with"
	same "$1: the same by the cache"
}

seeds=$root/tests/fuzz/corpus/cff_binary
for name in whole several_chunks deep redefined parts_twice; do
	cp "$seeds/$name" trace.wtf-trace
	alike "$name" 1
done
cp "$seeds/undefined_wire" trace.wtf-trace
alike 'a damaged file' 0
cp "$seeds/legacy" trace.wtf-trace
alike 'a file that is not binary' 0
if [ -n "${SONDE_CORPUS:-}" ]; then
	for file in "$SONDE_CORPUS"/cff/*.wtf-trace; do
		cp "$file" trace.wtf-trace
		touch -d '2020-01-01' trace.wtf-trace
		say trace.wtf-trace >"$work/without"
		cached say trace.wtf-trace >"$work/with"
		cached say trace.wtf-trace >"$work/with"
		same "${file##*/}: the same by the cache"
	done
fi

cp "$seeds/several_chunks" trace.wtf-trace
alike several_chunks 1
entry=$(find "$cache" -name '*.cache')
printf 'x' | dd of="$entry" bs=1 seek=120 conv=notrunc 2>/dev/null
cp "$entry" "$work/damaged"
cached say trace.wtf-trace >"$work/with"
same "the same with a damaged entry"
! cmp -s "$entry" "$work/damaged"
ok $? "a damaged entry is made anew"
: >"$entry"
cached say trace.wtf-trace >"$work/with"
same "the same with an empty entry"

cp "$seeds/whole" "$work/other"
cat "$work/other" >trace.wtf-trace # another content, the same file
touch -d '2020-01-02' trace.wtf-trace
say trace.wtf-trace >"$work/without"
cached say trace.wtf-trace >"$work/with"
same "the same after the file was changed"
is "$(entries)" 1 "the entry of the old content is replaced"
cached say trace.wtf-trace >"$work/with"
same "the same by the new entry"

rm -rf "$cache"
(
	SONDE_CACHE=$cache
	say trace.wtf-trace
) >"$work/with"
same "the same where the file is small"
is "$(entries)" 0 "small files have no entry"
touch trace.wtf-trace
cached say trace.wtf-trace >"$work/with"
same "the same where the file is new"
is "$(entries)" 0 "a file that was changed just now has no entry"
touch -d '2020-01-02' trace.wtf-trace
: >"$cache"
cached say trace.wtf-trace >"$work/with"
same "the same where the folder cannot be made"
rm -f "$cache"
mkdir "$work/home"
(
	unset SONDE_CACHE XDG_CACHE_HOME
	HOME=$work/home SONDE_CACHE_MINIMUM=0 "$SONDE" info trace.wtf-trace
) >"$out" 2>"$err"
is "$(find "$work/home/.cache/sonde" -name '*.cache' | wc -l | tr -d ' ')" 1 "in ~/.cache/sonde by default"
finish
