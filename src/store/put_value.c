/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes as CBOR, and UUIDs as texts. */
#include "store/put_value.h"

#include <math.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/cbor.h"

void sonde_put_value_id(struct sonde_buffer *cbor, uint32_t id)
{
	sonde_cbor_put_head(cbor, SONDE_CBOR_TAG, ZTS_TAG_STRING);
	sonde_cbor_put_head(cbor, SONDE_CBOR_UINT, id);
}

void sonde_put_value_text(struct zts_writer *writer, struct sonde_buffer *cbor, const char *text,
			  size_t size)
{
	sonde_put_value_id(cbor, zts_writer_text(writer, ZTS_TEXT_STRING, text, size));
}

static void put_literal(struct zts_writer *writer, struct sonde_buffer *cbor, const char *text)
{
	sonde_put_value_text(writer, cbor, text, strlen(text));
}

void sonde_put_value_double(struct zts_writer *writer, struct sonde_buffer *cbor, double number)
{
	char text[40];

	if (isnan(number)) {
		snprintf(text, sizeof(text), "NaN");
	} else if (isinf(number)) {
		snprintf(text, sizeof(text), number < 0 ? "-Infinity" : "Infinity");
	} else {
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, number);
			if (strtod(text, NULL) == number)
				break;
		}
	}
	sonde_cbor_put_head(cbor, SONDE_CBOR_MAP, 1);
	put_literal(writer, cbor, "double");
	put_literal(writer, cbor, text);
}

void sonde_put_value_bytes(struct zts_writer *writer, struct sonde_buffer *cbor,
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
	sonde_put_value_text(writer, cbor, place, length);
}

void sonde_uuid_format(const uint64_t uuid[2], char text[SONDE_UUID_TEXT])
{
	snprintf(text, SONDE_UUID_TEXT, "%08x-%04x-%04x-%04x-%012llx",
		 (unsigned int)(uuid[0] >> 32), (unsigned int)(uuid[0] >> 16) & 0xffff,
		 (unsigned int)uuid[0] & 0xffff, (unsigned int)(uuid[1] >> 48),
		 (unsigned long long)(uuid[1] & UINT64_C(0xffffffffffff)));
}

bool sonde_uuid_parse(const char *text, uint64_t uuid[2])
{
	unsigned int digits = 0;

	uuid[0] = uuid[1] = 0;
	for (; *text; text++) {
		unsigned int lower = (unsigned char)*text | 0x20, digit;

		if (*text == '-')
			continue;
		if (*text >= '0' && *text <= '9')
			digit = (unsigned int)(*text - '0');
		else if (lower >= 'a' && lower <= 'f')
			digit = lower - 'a' + 10;
		else
			return false;
		if (digits == 32)
			return false;
		uuid[digits / 16] = uuid[digits / 16] << 4 | digit;
		digits++;
	}
	return digits == 32;
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

void sonde_uuid_derive(const uint64_t from[2], uint64_t number, uint64_t uuid[2])
{
	uint64_t high = mix(from[0] + mix(number)), low = mix(from[1] ^ mix(high + number));

	uuid[0] = high;
	uuid[1] = low;
}
