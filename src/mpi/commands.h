/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands of `sonde-mpi`. */
#ifndef SONDE_MPI_COMMANDS_H
#define SONDE_MPI_COMMANDS_H

/* Before the first use of the table. */
void mpi_commands_prepare(void);

#endif
