#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the real programs that recording is measured with: lua, sqlite and bzip2, from the sources
# of the distribution (Debian or Ubuntu). These are fetched once, with apt but without touching its
# configuration or its lists, into SONDE_WORKLOADS (default: sonde/workloads in the user's cache).
# usage: bench/fetch-workloads.sh DEST CFLAGS...     makes DEST/lua, DEST/sqlite, DEST/bzip2
set -eu

destination=${1:?usage: bench/fetch-workloads.sh DEST CFLAGS...}
shift
sources=${SONDE_WORKLOADS:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde/workloads}
compiler=${CC:-cc}

fail() {
	echo "fetch-workloads: $*" >&2
	exit 3
}

# Lines for sources from the places that this machine gets its packages from.
source_list() {
	# shellcheck disable=SC2016 # apt fills these in
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		sort -u |
		while read -r place release component; do
			case $place in
			*/debian/* | */debian-security/*) keys=debian ;;
			*/ubuntu/*) keys=ubuntu ;;
			*) continue ;;
			esac
			keys=/usr/share/keyrings/$keys-archive-keyring.gpg
			option=''
			[ ! -e "$keys" ] || option="[signed-by=$keys] "
			echo "deb-src $option$place $release $component"
		done
}

# apt with all of its state in the folder $apt.
own_apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State="$apt/state" -o Dir::State::status=/var/lib/dpkg/status \
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

# Fetches what is missing of the packages named; each ends up in a folder of its name.
fetch() {
	missing=''
	for package in "$@"; do
		[ -d "$sources/$package" ] || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null || fail "needs apt; or put the sources into $sources$missing"
	command -v dpkg-source >/dev/null || fail 'needs the package dpkg-dev'
	mkdir -p "$sources"
	apt=$(mktemp -d "$sources/apt.XXXXXX")
	trap 'rm -rf "$apt"' EXIT
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/files"
	source_list >"$apt/sources.list"
	[ -s "$apt/sources.list" ] || fail 'apt here names no mirror of Debian or Ubuntu'
	echo "fetching the sources of$missing into $sources" >&2
	own_apt update >&2 || fail 'the lists of sources could not be fetched'
	for package in $missing; do
		(cd "$apt/files" && own_apt source --download-only "$package" >&2) ||
			fail "the source of $package could not be fetched"
		dpkg-source -q --no-check -x "$apt/files/$(basename "$package")"_*.dsc \
			"$apt/$package" >&2
		mv "$apt/$package" "$sources/$package"
	done
}

# Debian's sources of sqlite are the single files; its own makefile puts them together.
join_sqlite() {
	[ ! -e "$sources/sqlite3/joined/shell.c" ] || return 0
	command -v tclsh >/dev/null || fail 'needs the package tcl, to put sqlite together'
	log=$sources/sqlite3.log
	if ! (
		cd "$sources/sqlite3" &&
			./configure --disable-tcl --disable-readline &&
			make sqlite3.c shell.c &&
			mkdir -p joined.new &&
			cp sqlite3.c sqlite3.h shell.c joined.new/ &&
			mv joined.new joined
	) >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		fail "sqlite could not be put together; all of it is in $log"
	fi
}

build_lua() {
	# Debian's own build writes this header; the path in it is for modules, which we have none of.
	header=$sources/lua5.4/src/lua5.4-deb-multiarch.h
	[ -e "$header" ] || echo '#define DEB_HOST_MULTIARCH "none"' >"$header"
	for file in "$sources"/lua5.4/src/*.c; do
		case $file in
		*/luac.c) ;;
		*) set -- "$@" "$file" ;;
		esac
	done
	# Its tables are scattered at random, from run to run; with a fixed seed all runs are the same.
	"$compiler" -DLUA_USE_LINUX '-Dluai_makeseed(L)=((void)(L), 1u)' -o "$destination/lua" "$@" -Wl,-E -lm -ldl
}

build_sqlite() {
	"$compiler" "$@" -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o "$destination/sqlite" \
		"$sources/sqlite3/joined/sqlite3.c" "$sources/sqlite3/joined/shell.c" -lm
}

build_bzip2() {
	folder=$sources/bzip2
	"$compiler" "$@" -D_FILE_OFFSET_BITS=64 -o "$destination/bzip2" "$folder/bzip2.c" \
		"$folder/blocksort.c" "$folder/huffman.c" "$folder/crctable.c" \
		"$folder/randtable.c" "$folder/compress.c" "$folder/decompress.c" "$folder/bzlib.c"
}

fetch lua5.4 sqlite3 bzip2
join_sqlite
mkdir -p "$destination"
# The warnings of other people's code are theirs.
build_lua -w "$@"
build_sqlite -w "$@"
build_bzip2 -w "$@"
