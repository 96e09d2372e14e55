/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a signal that we got was meant for us alone or for our whole process group, in which
 * the program is, too: then the program has it already, and must not get it again from us. The
 * system does not tell, so a second process of the group does nothing but collect signals.
 */
#ifndef SONDE_RECORD_WITNESS_H
#define SONDE_RECORD_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

struct witness {
	int socket; /* -1: there is none */
	pid_t pid;
};

/* Before our memory is made: whoever has that mapped is taken for a recorded process. */
void witness_start(struct witness *witness);

/*
 * True where the other process got this signal, too. Takes a few milliseconds, and has to be asked
 * for every signal that we get. False where there is no witness.
 */
bool witness_saw(struct witness *witness, int number);

void witness_end(struct witness *witness);

#endif
