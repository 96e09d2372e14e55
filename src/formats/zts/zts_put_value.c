/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes as CBOR: see zts_put_value.h. */
#include "formats/zts/zts_put_value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/cbor.h"

void zts_put_text_id(struct sonde_buffer *cbor, uint32_t id)
{
	sonde_cbor_put_head(cbor, SONDE_CBOR_TAG, ZTS_TAG_STRING);
	sonde_cbor_put_head(cbor, SONDE_CBOR_UINT, id);
}

void zts_put_string(struct zts_writer *writer, struct sonde_buffer *cbor, const char *text,
		    size_t size)
{
	zts_put_text_id(cbor, zts_writer_text(writer, ZTS_TEXT_STRING, text, size));
}

static void put_literal(struct zts_writer *writer, struct sonde_buffer *cbor, const char *text)
{
	zts_put_string(writer, cbor, text, strlen(text));
}

void zts_format_double(double value, char text[ZTS_DOUBLE_SIZE])
{
	/* with 15 digits a shorter text comes out as it is, but for numbers that have fewer */
	int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
	char *comma;

	if (!isfinite(value)) {
		snprintf(text, ZTS_DOUBLE_SIZE, "%s",
			 isnan(value) ? "NaN" :
			 value < 0    ? "-Infinity" :
					"Infinity");
		return;
	}
	for (; digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(text, ZTS_DOUBLE_SIZE, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	comma = strchr(text, ','); /* the locale of the program around */
	if (comma)
		*comma = '.';
}

void zts_put_double(struct zts_writer *writer, struct sonde_buffer *cbor, double value)
{
	char text[ZTS_DOUBLE_SIZE];

	zts_format_double(value, text);
	sonde_cbor_put_head(cbor, SONDE_CBOR_MAP, 1);
	put_literal(writer, cbor, "double");
	put_literal(writer, cbor, text);
}

void zts_put_bytes(struct zts_writer *writer, struct sonde_buffer *cbor,
		   struct sonde_buffer *scratch, const void *bytes, size_t size)
{
	size_t length = sonde_base64_length(size);
	char *place;

	sonde_cbor_put_head(cbor, SONDE_CBOR_MAP, 1);
	put_literal(writer, cbor, "bytes");
	sonde_buffer_clear(scratch);
	place = sonde_buffer_reserve(scratch, length + 1);
	if (!place) {
		cbor->failed = true;
		return;
	}
	sonde_base64_encode(bytes, size, place);
	zts_put_string(writer, cbor, place, length);
}
