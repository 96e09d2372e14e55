/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over the value of an attribute, which is CBOR with texts as ids: step by step, without
 * recursion. What sonde writes for types that the format lacks (see zts_put_value.h) is unwrapped.
 */
#ifndef SONDE_FORMATS_ZTS_VALUE_H
#define SONDE_FORMATS_ZTS_VALUE_H

#include "base/cbor.h"
#include "formats/zts/zts_texts.h"

/* Deeper levels are not looked into. */
#define ZTS_VALUE_DEPTH 40

enum zts_step {
	ZTS_STEP_NULL,
	ZTS_STEP_BOOL,	  /* "true" or "false" */
	ZTS_STEP_INTEGER, /* in decimal */
	ZTS_STEP_DOUBLE,  /* as zts_format_double() has it, or whatever was written in its place */
	ZTS_STEP_TEXT,
	ZTS_STEP_BYTES,	 /* as they are */
	ZTS_STEP_BASE64, /* bytes as text */
	ZTS_STEP_KEY,	 /* of a map: any of the above, as its text */
	ZTS_STEP_ARRAY,	 /* begins; likewise */
	ZTS_STEP_MAP,
	ZTS_STEP_ARRAY_END,
	ZTS_STEP_MAP_END,
	ZTS_STEP_END, /* of the value, or of what can be read of it */
};

/* An array or map that is open. */
struct zts_value_level {
	uint64_t left; /* items; of a map, keys and values */
	bool is_map;
	bool indefinite;
};

/* Zeroed but for texts and bytes. */
struct zts_value_walk {
	struct zts_texts *texts;
	struct sonde_bytes bytes;
	/* Of the step, borrowed until the next; numbers and words end with a NUL. */
	const char *text;
	size_t size;
	struct zts_value_level levels[ZTS_VALUE_DEPTH];
	unsigned int depth;
	/* private */
	bool has_begun;
	char number[40];
	struct sonde_buffer space;
};
void zts_value_walk_release(struct zts_value_walk *walk);

/* After ZTS_STEP_END no more may be asked for. */
enum zts_step zts_value_next(struct zts_value_walk *walk);

#endif
