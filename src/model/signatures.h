/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by event type, each understood once and kept. */
#ifndef SONDE_MODEL_SIGNATURES_H
#define SONDE_MODEL_SIGNATURES_H

#include <sonde/definitions.h>

#include "base/json.h"
#include "model/arguments.h"

struct known_signature {
	struct sonde_signature *signature;
	char *fault; /* why there is none; both NULL where it was not asked for yet */
};

struct signatures {
	const struct sonde_definitions *definitions;
	struct known_signature *items; /* by event type */
	size_t count, capacity;
	bool failed; /* by memory: what is not known then may be good */
};

void signatures_release(struct signatures *signatures);

/* The signature of an event type, borrowed; or NULL, and `err` says why there is none. */
const struct sonde_signature *signatures_get(struct signatures *signatures, uint32_t event_type,
					     struct sonde_error *err);

/*
 * Packed arguments for people: (n=7, s="outer"), and nothing where there are none. Values are as
 * in JSON; the text is not yet harmless. What cannot be decoded is left out, and the status tells.
 */
enum sonde_status signatures_put_text(struct sonde_buffer *out,
				      const struct sonde_signature *signature, const uint8_t *bytes,
				      size_t size, struct sonde_error *err);

#endif
