/* SPDX-License-Identifier: Apache-2.0 */
/* Where a context lies, for tables of contexts. */
#ifndef SONDE_MODEL_CONTEXT_PLACE_H
#define SONDE_MODEL_CONTEXT_PLACE_H

#include <sonde/profile.h>

/* Its own place, or that of its function. Texts are borrowed, "" where not known. */
struct sonde_context_place {
	const char *file, *module;
	uint32_t line;
	uint64_t address;
};

struct sonde_context_place sonde_context_place(const struct sonde_definitions *definitions,
					       const struct sonde_context *context);

#endif
