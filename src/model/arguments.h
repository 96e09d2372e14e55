/* SPDX-License-Identifier: Apache-2.0 */
/* Packing arguments, and arguments as JSON: what readers, writers and the command share. */
#ifndef SONDE_MODEL_ARGUMENTS_H
#define SONDE_MODEL_ARGUMENTS_H

#include <sonde/arguments.h>

#include "base/buffer.h"
#include "base/json.h"

/* Append the packed form of one value. `value` of a number as in struct sonde_argument. */
void sonde_arguments_put_number(struct sonde_buffer *out, enum sonde_argument_type type,
				union sonde_argument_value value);
/* text NULL: null. */
void sonde_arguments_put_text(struct sonde_buffer *out, const char *text, size_t length);
/* items NULL: null; they are little-endian already, `count` of them. */
void sonde_arguments_put_array(struct sonde_buffer *out, enum sonde_argument_type type,
			       const void *items, size_t count);
/* A value that was taken out by sonde_arguments_next(). */
void sonde_arguments_put(struct sonde_buffer *out, const struct sonde_argument *argument);

/*
 * The value as JSON: numbers as numbers (floats with as many digits as they need; what is no number
 * as null), CHAR and WCHAR as strings, also arrays of them; ANY as the JSON that it is, or as a
 * string where it is none.
 */
void sonde_argument_put_json(struct sonde_json_writer *json, const struct sonde_argument *argument);

/* {"name": value, ...} of packed bytes. What cannot be decoded is left out and the status tells. */
enum sonde_status sonde_arguments_put_json(struct sonde_json_writer *json,
					   const struct sonde_signature *signature,
					   const uint8_t *bytes, size_t size,
					   struct sonde_error *err);

#endif
