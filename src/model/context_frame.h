/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as frames of stacks: lines, loops and instructions are part of the function around them. */
#ifndef SONDE_MODEL_CONTEXT_FRAME_H
#define SONDE_MODEL_CONTEXT_FRAME_H

#include <sonde/profile.h>

/* Whether it is a frame of its own. Measurements that nobody looked up names for call instructions. */
bool sonde_context_has_frame(const struct sonde_context *context);

/* Nobody knows who called what is below it: stacks are written without it. */
bool sonde_context_is_silent(const struct sonde_context *context);

/* The name of a frame in full, never empty; borrowed from the definitions, or in `space`. */
const char *sonde_context_frame_name(const struct sonde_definitions *definitions,
				     const struct sonde_context *context, char *space, size_t size);

#endif
