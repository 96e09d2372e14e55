/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of events as the model has them. Numbers of 64 bits, which the format does not know, are
 * two or three arguments in a file, by names that only this library gives: see cff_names.h.
 */
#ifndef SONDE_CFF_ARGUMENTS_H
#define SONDE_CFF_ARGUMENTS_H

#include "base/buffer.h"
#include "formats/cff/cff_strings.h"
#include "formats/cff/cff_types.h"

enum cff_take {
	CFF_TAKE_PLAIN,
	CFF_TAKE_WIDE,	 /* two slots: low, high */
	CFF_TAKE_DOUBLE, /* three slots: short form, low, high */
	CFF_TAKE_PAIRS,	 /* an array of twice as many u32 */
};

/* One argument of the model. */
struct cff_field {
	uint8_t take; /* enum cff_take */
	bool is_array;
	enum sonde_argument_type type;
};

/* Fields of a signature, malloc'd, and the signature in the words of the model. */
enum sonde_status cff_fields_make(const struct sonde_signature *signature, const char *text,
				  struct cff_field **fields, size_t *count, char **arguments,
				  struct sonde_error *err);

/* Appends the packed values of a whole event (its size was found by cff_type_size()). */
enum sonde_status cff_arguments_pack(const struct cff_type *type, const uint8_t *event,
				     struct cff_strings *strings, struct sonde_buffer *out,
				     struct sonde_error *err);

/* The first argument, a number that is no array. */
double cff_arguments_value(const struct cff_type *type, const uint8_t *event);

#endif
