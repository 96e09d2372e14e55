/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_CLI_MEMORY_LIMIT_H
#define SONDE_CLI_MEMORY_LIMIT_H

/*
 * From here on this process cannot take more memory than the machine has left: what asks for more fails as any
 * lack of memory does, with a message, before the system ends this program or another one. Programs that it
 * starts would have the limit too.
 */
void cli_limit_memory(void);

#endif
