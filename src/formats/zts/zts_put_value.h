/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of attributes as CBOR for a writer: strings as text ids, and the types that the format has
 * no place for. All are appended.
 */
#ifndef SONDE_FORMATS_ZTS_PUT_VALUE_H
#define SONDE_FORMATS_ZTS_PUT_VALUE_H

#include "formats/zts/zts_writer.h"

/* A text id as a string; `C6 id`. */
void zts_put_text_id(struct sonde_buffer *cbor, uint32_t id);
void zts_put_string(struct zts_writer *writer, struct sonde_buffer *cbor, const char *text,
		    size_t size);
/* {"double": text} */
void zts_put_double(struct zts_writer *writer, struct sonde_buffer *cbor, double value);
/* {"bytes": base64}; `scratch` is overwritten. */
void zts_put_bytes(struct zts_writer *writer, struct sonde_buffer *cbor,
		   struct sonde_buffer *scratch, const void *bytes, size_t size);

/* The shortest text that reads back as the same number; NaN, Infinity, -Infinity. */
#define ZTS_DOUBLE_SIZE 40
void zts_format_double(double value, char text[ZTS_DOUBLE_SIZE]);

#endif
