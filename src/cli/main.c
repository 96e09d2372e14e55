/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of `sonde`. That of `sonde-mpi` is in src/mpi. */
#include "cli/start.h"

int main(int argc, char **argv)
{
	return cli_start(argc, argv, NULL);
}
