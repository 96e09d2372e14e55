/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of events as typed arguments: numbers and texts as they are, all else as JSON. */
#ifndef SONDE_CTF_FIELDS_H
#define SONDE_CTF_FIELDS_H

#include "base/buffer.h"
#include "formats/ctf/ctf_library.h"

/* Appends "uint64 size, utf8 name" for the members of a structure (NULL: none) to a signature. */
void ctf_fields_put_signature(const bt_field_class *structure, struct sonde_buffer *signature);

/* Appends the packed values of the members in that order. */
void ctf_fields_pack(const bt_field *structure, struct sonde_buffer *scratch,
		     struct sonde_buffer *out);

/* The member of that name, with or without an underscore before it; NULL: there is none. */
const bt_field *ctf_fields_find(const bt_field *structure, const char *name);

/* A whole number that is not negative; false where it is none (NULL too). */
bool ctf_field_u64(const bt_field *field, uint64_t *value);
/* A text; "" where it is none (NULL too). */
const char *ctf_field_text(const bt_field *field);

#endif
