/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes as CBOR with text ids, also of the types that ZTS has no place for. */
#ifndef SONDE_STORE_PUT_VALUE_H
#define SONDE_STORE_PUT_VALUE_H

#include "formats/zts/zts_writer.h"

/* C6 id. */
void sonde_put_value_id(struct sonde_buffer *cbor, uint32_t id);
void sonde_put_value_text(struct zts_writer *writer, struct sonde_buffer *cbor, const char *text,
			  size_t size);
/* {"double": the shortest of the usual texts that read back as the same number} */
void sonde_put_value_double(struct zts_writer *writer, struct sonde_buffer *cbor, double number);
/* {"bytes": base64}; `scratch` is overwritten. */
void sonde_put_value_bytes(struct zts_writer *writer, struct sonde_buffer *cbor,
			   struct sonde_buffer *scratch, const void *bytes, size_t size);

/* The 36 characters of a UUID, and a NUL. */
#define SONDE_UUID_TEXT 37
void sonde_uuid_format(const uint64_t uuid[2], char text[SONDE_UUID_TEXT]);
/* With or without dashes; false where it is none. */
bool sonde_uuid_parse(const char *text, uint64_t uuid[2]);
/* Another UUID for each number. */
void sonde_uuid_derive(const uint64_t from[2], uint64_t number, uint64_t uuid[2]);

#endif
