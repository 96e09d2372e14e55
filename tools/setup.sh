#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that are missing for the groups named: build, test, lint, bench. Says what
# it installs and why; says nothing where nothing is missing. Needs Debian or Ubuntu to install;
# elsewhere it prints what is missing and stops with 2. For test and bench it then has npm put the
# existing reader of wtf-trace files, the SDK of OpenTelemetry and the driver of a browser into
# tests/interop/node_modules.
set -eu

groups=" ${*:-build} "
missing=''
reasons=''

# need GROUP PACKAGE WHY COMMAND...: the package is missing where the command fails.
need() {
	group=$1 package=$2 why=$3
	shift 3
	case $groups in
	*" $group "*) ;;
	*) return 0 ;;
	esac
	"$@" >/dev/null 2>&1 && return 0
	missing="$missing $package"
	reasons="$reasons  $package: $why
"
}

has() {
	command -v "$1"
}

has_library() {
	pkg-config --exists "$1"
}

has_libc_headers() {
	echo '#include <stdio.h>' | gcc -E -x c -
}

has_cxx_library() {
	echo 'int main(void) { return 0; }' | gcc -x c -o /dev/null - -lstdc++
}

has_mpi() {
	has_library mpi-c || has_library ompi-c || has_library mpich
}

clang_runtime_is_there() {
	resources=$(clang -print-resource-dir) || return 1
	[ -n "$(find "$resources" -name 'libclang_rt.fuzzer*' -print -quit)" ]
}

# The sanitizer runtime is a package of its own in some releases, and part of another in others.
clang_runtime_package() {
	version=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
	[ -n "$version" ] ||
		version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
	for candidate in "libclang-rt-$version-dev" "libclang-common-$version-dev"; do
		if apt-cache show "$candidate" >/dev/null 2>&1; then
			echo "$candidate"
			return
		fi
	done
	echo libclang-rt-dev
}

# Systems without version 14 do without: lint then skips the check, and says so.
clang_tool_is_settled() {
	has "$1-14" && return 0
	has apt-cache || return 0
	apt-cache show "$1" && ! apt-cache show "$1-14"
}

# Ubuntu has a package of that name which brings no browser but asks for snap: tests do without.
browser_is_settled() {
	has chromium && return 0
	has apt-cache || return 0
	! apt-cache show chromium | grep -q '^Depends:.*libc6'
}

# Some processors' Debian has none: libdeflate does its work there, only slower.
isal_is_settled() {
	has_library libisal && return 0
	has apt-cache || return 0
	! apt-cache show libisal-dev
}

list_missing() {
	missing='' reasons=''
	need build gcc 'compiles the library and the command' has gcc
	need build libc6-dev 'headers of the C library' has_libc_headers
	need build make 'runs the Makefile' has make
	need build meson 'configures the build' has meson
	need build ninja-build 'runs the build' has ninja
	need build pkg-config 'finds libraries' has pkg-config
	need build libdeflate-dev 'compressed traces; checksums without the next' has_library libdeflate
	need build libisal-dev 'checksums at the speed of memory' isal_is_settled
	need build zlib1g-dev 'compressed traces and requests' has_library zlib
	need build liblz4-dev 'compressed traces' has_library liblz4
	need build libzstd-dev 'compressed tables' has_library libzstd
	need build libdivsufsort-dev 'packs the texts of a trace store' has_library libdivsufsort
	need build libmicrohttpd-dev 'the server of a trace store' has_library libmicrohttpd
	need build libyaml-dev 'reads the metrics of a database' has_library yaml-0.1
	need build libexpat1-dev 'reads the structure of programs' has_library expat
	need build libsqlite3-dev 'SQL over recordings' has_library sqlite3
	need build libedit-dev 'editing and history in the shell of queries' has_library libedit
	need build libelf-dev 'reads programs and libraries, for names of functions' has_library libelf
	need build libdw-dev 'reads their debug information, for source lines' has_library libdw
	need build g++ 'its library makes C++ names readable' has_cxx_library
	need test libcmocka-dev 'unit tests' has_library cmocka
	need test clang 'the second compiler; sanitizers and fuzzing' has clang
	need test "$clang_runtime" 'run-time libraries of sanitizers and fuzzer' \
		clang_runtime_is_there
	need test python3 'runs the tests; the independent reader' has python3
	need test mandoc 'checks the man pages' has mandoc
	need test bash 'checks its completion' has bash
	need test zsh 'checks its completion' has zsh
	need test fish 'checks its completion' has fish
	need test dpkg-dev 'unpacks the sources of programs to record' has dpkg-source
	need test nodejs 'runs the existing reader of wtf-trace files, the SDK of OpenTelemetry, a browser' has node
	need test npm 'installs what drives these' has npm
	need test chromium 'shows flame graphs and pages of reports' browser_is_settled
	need test libopenmpi-dev 'merging on many nodes is tested with it' has_mpi
	need test openmpi-bin 'starts the processes of that' has mpirun
	need test tcl 'puts sqlite together from its sources' has tclsh
	need test libbabeltrace2-dev 'reads traces in the Common Trace Format' has_library babeltrace2
	need test babeltrace2 'the reader of that format' has babeltrace2
	need test protobuf-compiler 'decodes what is written as protobuf' has protoc
	need test valgrind 'its callgrind_annotate reads profiles; counts instructions' has valgrind
	need test graphviz 'draws call graphs' has dot
	need test uftrace 'the recorder that ours is compared with' has uftrace
	need lint clang-format-14 'checks the formatting' clang_tool_is_settled clang-format
	need lint clang-tidy-14 'static analysis' clang_tool_is_settled clang-tidy
	need lint cppcheck 'static analysis' has cppcheck
	need lint shellcheck 'checks shell scripts' has shellcheck
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

update_lists() {
	[ -n "${lists_are_fresh:-}" ] && return 0
	echo 'Updating the package lists'
	as_root apt-get -qq update
	lists_are_fresh=yes
}

every_package_is_known() {
	for package in $missing; do
		apt-cache show "$package" >/dev/null 2>&1 || return 1
	done
}

install_missing() {
	# shellcheck disable=SC2086 # a list of words
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends $missing \
		</dev/null >"$log" 2>&1
}

# What tests/interop/package-lock.json names, exactly. A copy of that file beside the modules says
# what they are; where it is the same nothing is done, and no network needed.
install_modules() {
	case $groups in
	*' test '* | *' bench '*) ;;
	*) return 0 ;;
	esac
	modules=$root/tests/interop
	installed=$modules/node_modules/.installed
	cmp -s "$modules/package-lock.json" "$installed" && return 0
	echo 'Installing with npm: tracing-framework, the existing reader of wtf-trace files, speedscope and' \
		'DuckDB, which read what is written, the SDK of OpenTelemetry, and playwright-core, which drives' \
		'a browser'
	if ! output=$(cd "$modules" && npm ci --ignore-scripts --omit=optional --no-audit --no-fund \
		</dev/null 2>&1); then
		printf '%s\n' "$output" >&2
		echo "npm could not install what $modules/package-lock.json names." >&2
		echo 'It needs the npm registry once: connect, or set its mirror with' \
			"'npm config set registry URL', then run this again." >&2
		exit 2
	fi
	cp "$modules/package-lock.json" "$installed"
}

install_packages() {
	list_missing
	[ -n "$missing" ] || return 0
	clang_runtime=$(clang_runtime_package)
	list_missing

	if ! has apt-get >/dev/null; then
		printf 'Missing here (names as in Debian):\n%s' "$reasons" >&2
		echo 'Install them with the package manager of this system, then run this again.' >&2
		exit 2
	fi
	if [ "$(id -u)" -ne 0 ] && ! has sudo >/dev/null; then
		printf 'Missing:\n%s' "$reasons" >&2
		echo "Neither root nor sudo here. As root: apt-get install$missing" >&2
		exit 2
	fi
	if ! every_package_is_known; then
		update_lists
		clang_runtime=$(clang_runtime_package)
		list_missing
		[ -n "$missing" ] || return 0
	fi

	printf 'Installing with apt:\n%s' "$reasons"
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! install_missing; then
		update_lists
		if ! install_missing; then
			cat "$log" >&2
			echo "Could not install:$missing" >&2
			exit 2
		fi
	fi
}

root=$(cd "$(dirname "$0")/.." && pwd)
clang_runtime=libclang-rt-dev
install_packages
install_modules
