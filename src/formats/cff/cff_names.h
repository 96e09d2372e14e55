/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of 64 bits. Files of this family have types of 32 bits only, so that a signature is
 * split on writing and joined again on reading (cff_arguments.h), by the names:
 *
 *   int64 x		uint32 x, uint32 x_high_i64
 *   uint64 x		uint32 x, uint32 x_high_u64
 *   float64 x		float32 x, uint32 x_low_f64, uint32 x_high_f64
 *   int64[] x		uint32[] x_pairs_i64 (low, high, low, high ...); _u64, _f64 likewise
 *   bool[] x		uint8[] x; flowId[] and time32[] are uint32[] (no way back but by the definitions)
 */
#ifndef SONDE_CFF_NAMES_H
#define SONDE_CFF_NAMES_H

#include <sonde/arguments.h>

#include "base/buffer.h"

/*
 * The signature as it stands in a file: `text` itself, copied, where nothing has to be split.
 * Malloc'd. SONDE_CORRUPT where `text` is none. `is_split` may be NULL.
 */
enum sonde_status cff_signature_split(const char *text, char **split, bool *is_split,
				      struct sonde_error *err);

/* How many arguments of a file's signature one argument takes: 1, 2 or 3. */
unsigned int cff_argument_slots(const struct sonde_argument_spec *spec);

/*
 * Appends the name of an event type that has arguments, with "_" behind each of its parts (between
 * . # and :) that is a word of JavaScript: the existing reader refuses those. True: it was changed.
 */
bool cff_name_put(struct sonde_buffer *out, const char *name);

#endif
