#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the programs that recording is tested and measured with: fib and mt of bench/workloads, and
# lua, sqlite and bzip2 from the sources of the distribution (Debian or Ubuntu). These are fetched
# once, with apt but without touching its configuration or its lists, into SONDE_WORKLOADS
# (default: sonde/workloads in the user's cache). Status 3: the sources cannot be had here.
# usage: bench/fetch-workloads.sh DEST 'NAME...' CFLAGS...     makes DEST/NAME
set -eu

usage="usage: bench/fetch-workloads.sh DEST 'NAME...' CFLAGS..."
destination=${1:?$usage}
names=${2:?$usage}
shift 2
own=$(cd "$(dirname "$0")/workloads" && pwd)
sources=${SONDE_WORKLOADS:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/sonde/workloads}
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
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)" \
		-o Acquire::http::Timeout=20 -o Acquire::Retries=1 "$@"
}

# Fetches the source of a package, unless it is there, into a folder of its name.
fetch() {
	package=$1
	[ ! -d "$sources/$package" ] || return 0
	command -v apt-get >/dev/null || fail "needs apt; or put the source into $sources/$package"
	command -v dpkg-source >/dev/null || fail 'needs the package dpkg-dev'
	apt=$(mktemp -d "$sources/apt.XXXXXX")
	trap 'rm -rf "$apt"' EXIT
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/files"
	source_list >"$apt/sources.list"
	[ -s "$apt/sources.list" ] || fail 'apt here names no mirror of Debian or Ubuntu'
	echo "fetching the source of $package into $sources" >&2
	own_apt update >&2 || fail 'the lists of sources could not be fetched'
	(cd "$apt/files" && own_apt source --download-only "$package" >&2) ||
		fail "the source of $package could not be fetched"
	dpkg-source -q --no-check -x "$apt/files/${package}"_*.dsc "$apt/$package" >&2
	mv "$apt/$package" "$sources/$package"
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

# The source of a program; one at a time, whoever else may want it.
prepare() {
	case $1 in
	lua) package=lua5.4 ;;
	sqlite) package=sqlite3 ;;
	bzip2) package=bzip2 ;;
	*) return 0 ;;
	esac
	mkdir -p "$sources" || fail "the folder $sources cannot be made; SONDE_WORKLOADS names another"
	(
		flock 9
		fetch "$package"
		[ "$package" != sqlite3 ] || join_sqlite
		# Debian's own build writes this header; the path in it is for modules: there are none.
		header=$sources/lua5.4/src/lua5.4-deb-multiarch.h
		if [ "$package" = lua5.4 ] && [ ! -e "$header" ]; then
			echo '#define DEB_HOST_MULTIARCH "none"' >"$header"
		fi
	) 9>"$sources/lock"
}

build_lua() {
	for file in "$sources"/lua5.4/src/*.c; do
		case $file in
		*/luac.c) ;;
		*) set -- "$@" "$file" ;;
		esac
	done
	# Its tables are scattered at random, and its cache of strings goes by their addresses: with
	# a fixed seed and a cache of one line all runs are the same.
	"$compiler" -DLUA_USE_LINUX '-Dluai_makeseed(L)=((void)(L), 1u)' -DSTRCACHE_N=1 -DSTRCACHE_M=2 \
		-o "$destination/lua" "$@" -Wl,-E -lm -ldl
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

mkdir -p "$destination"
for name in $names; do
	prepare "$name"
	# The warnings of other people's code are theirs.
	case $name in
	fib | mt) "$compiler" "$@" -o "$destination/$name" "$own/$name.c" -pthread ;;
	lua) build_lua -w "$@" ;;
	sqlite) build_sqlite -w "$@" ;;
	bzip2) build_bzip2 -w "$@" ;;
	*)
		echo "fetch-workloads: no program is called $name" >&2
		exit 2
		;;
	esac
done
