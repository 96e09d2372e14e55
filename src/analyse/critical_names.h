/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that wait, and those that end a wait, by name: POSIX, C, C++, OpenMP, MPI, Java. */
#ifndef SONDE_ANALYSE_CRITICAL_NAMES_H
#define SONDE_ANALYSE_CRITICAL_NAMES_H

#include <sonde/definitions.h>

#include "base/vec.h"

/* What a function waits for. */
enum critical_wait {
	WAIT_NONE,
	WAIT_FOR_END,	    /* of another thread */
	WAIT_FOR_ALL,	    /* to come to the same function */
	WAIT_FOR_LOCK,	    /* that another releases */
	WAIT_FOR_CONDITION, /* that another signals */
	WAIT_FOR_SEMAPHORE, /* that another posts */
	WAIT_FOR_MESSAGE,   /* of another process */
	WAIT_FOR_ANYTHING,  /* outside: only a flow says what */
	WAIT_KINDS,
};

/* What a function does for others. */
struct critical_role {
	uint8_t waits_for; /* enum critical_wait */
	uint8_t ends;	   /* enum critical_wait: what it ends */
	bool creates;	   /* threads */
	bool is_known;	   /* the rest is set */
};

/* By function, found out when it is asked for first. */
struct critical_names {
	const struct sonde_definitions *definitions;
	SONDE_VEC(struct critical_role) roles;
};

/* Of a function that has no name, or where memory failed: none. */
struct critical_role critical_role_of(struct critical_names *names, uint32_t function);
void critical_names_release(struct critical_names *names);

#endif
