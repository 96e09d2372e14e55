/* SPDX-License-Identifier: Apache-2.0 */
/* Values of type any, which have to be JSON: what the texts of a chunk are, each looked at once. */
#ifndef SONDE_CFF_ANY_H
#define SONDE_CFF_ANY_H

#include "formats/cff/cff_strings.h"

struct cff_any_texts {
	SONDE_VEC(uint8_t) known; /* by ordinal; empty it for another chunk */
};

/* Null is JSON too; the empty text is not. */
enum sonde_status cff_any_is_json(struct cff_any_texts *texts, struct cff_strings *strings,
				  uint32_t ordinal, bool *is_json, struct sonde_error *err);

#endif
