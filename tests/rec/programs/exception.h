/* SPDX-License-Identifier: Apache-2.0 */
/* What the program and the two libraries of the exception test know of each other. */
#ifndef REC_EXCEPTION_H
#define REC_EXCEPTION_H

#include "rec.h"

extern volatile int destroyed;

struct Guard {
	FN ~Guard();
};

struct Trouble {
	int number;
};

int middle(int depth, int number);    /* in library a: calls thrower() */
int rethrower(int depth, int number); /* in library a: catches and throws again */
int thrower(int depth, int number);   /* in library b: throws Trouble at depth 0 */

#endif
