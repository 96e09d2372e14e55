/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detail records of a session, made out of the records with details in a ring.
 */
#ifndef SONDE_RECORD_DETAILS_H
#define SONDE_RECORD_DETAILS_H

#include "formats/atf/atf_layout.h"
#include "runtime/shared.h"

/* Records in a ring, all of one way to record and with as much of the stack; and their events. */
struct details {
	const struct shared_unit *const *units;
	const struct atf_index_event *events;
	size_t count;
	size_t length;	    /* of a detail record, from details_length() */
	size_t ahead;	    /* the units so far behind these are fetched meanwhile */
	uint32_t slot;	    /* of the thread */
	uint32_t index_seq; /* of the first event */
};

/* How long the detail records are of those like this one, with at most so much of the stack. */
size_t details_length(const struct shared_unit *unit, uint32_t stack_bytes);

/* Writes them one behind the other; DETAILS_SPARE bytes behind the last are overwritten too. */
#define DETAILS_SPARE sizeof(struct shared_unit)
void details_encode(uint8_t *to, const struct details *details);

#endif
