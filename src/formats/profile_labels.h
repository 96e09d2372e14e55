/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames of a tree of contexts are the same function; for writers of stacks and of call graphs. */
#ifndef SONDE_FORMATS_PROFILE_LABELS_H
#define SONDE_FORMATS_PROFILE_LABELS_H

#include "base/map.h"
#include "base/vec.h"
#include "formats/profile_sink.h"

struct profile_labels {
	const struct profile_sink *sink; /* borrowed */
	uint32_t *of; /* by context: its label, or that of the frame it is part of */
	SONDE_VEC(uint32_t) contexts; /* by label: the first context that has it; [0] is the root */
	uint32_t parts; /* contexts without a frame of their own: lines, loops, instructions */
	struct sonde_key_map keys;
};

/*
 * With `by_name` frames of the same name are the same; else functions are that say the same: name, module, file and
 * line, in whichever process.
 */
enum sonde_status profile_labels_make(struct profile_labels *labels,
				      const struct profile_sink *sink, bool by_name,
				      struct sonde_error *err);
void profile_labels_release(struct profile_labels *labels);

/* The name of a label, never empty; borrowed, or in `space`. */
#define PROFILE_NAME_SPACE 256
const char *profile_label_name(const struct profile_labels *labels, uint32_t label,
			       char space[PROFILE_NAME_SPACE]);

/* Its function; NULL where it is none, or one that could not be found out. */
const struct sonde_function *profile_label_function(const struct profile_labels *labels,
						    uint32_t label);

/* The path of its module; "" where that is not known. */
const char *profile_label_module(const struct profile_labels *labels, uint32_t label);

#endif
