#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Regenerates the man pages: tools/man.sh COMMAND FOLDER. The command writes one page for itself
# and one for each subcommand, out of the tables that also drive parsing and --help.
set -eu

command=$1 folder=$2
"$command" help --man >"$folder/sonde.1"
"$command" help --commands | while read -r name; do
	# shellcheck disable=SC2086 # a name may be two words
	"$command" help --man $name >"$folder/sonde-$(echo "$name" | tr ' ' -).1"
done
