/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of attributes, which are CBOR with texts as ids: their plain values one by one, and as
 * JSON. What sonde writes for types that the format lacks ({"double": ...}, {"bytes": ...}) is
 * unwrapped.
 */
#ifndef SONDE_STORE_ATTRIBUTE_H
#define SONDE_STORE_ATTRIBUTE_H

#include "base/json.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_tree.h"

enum sonde_scalar_kind {
	SONDE_SCALAR_NULL,
	SONDE_SCALAR_BOOL,
	SONDE_SCALAR_NUMBER,
	SONDE_SCALAR_TEXT,
	SONDE_SCALAR_KEY, /* of a map inside of the value */
};

/* In the form of text: "true", "-17", "1.5"; borrowed for the call. */
struct sonde_scalar {
	enum sonde_scalar_kind kind;
	const char *text;
	size_t size;
	bool is_nested; /* the value is an array or map around it */
};

/* Calls `found` for each; false from it ends the walk. What cannot be read ends it, too. */
void sonde_value_walk(struct zts_texts *texts, struct sonde_bytes value,
		      bool (*found)(void *context, const struct sonde_scalar *scalar),
		      void *context);

/* Appended: the value as JSON; a lost text is "#id". */
void sonde_value_put_json(struct zts_texts *texts, struct sonde_bytes value,
			  struct sonde_json_writer *json);

/* Appended: a plain value as its text, others as JSON. */
void sonde_value_put_text(struct zts_texts *texts, struct sonde_bytes value,
			  struct sonde_buffer *out);

/* The name of an attribute, appended; false for those that are not shown (ZTS_NS_ATTRIBUTE). */
bool sonde_attribute_put_name(struct zts_texts *texts, const struct zts_attribute_cursor *cursor,
			      struct sonde_buffer *out);

#endif
