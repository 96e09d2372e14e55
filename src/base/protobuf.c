/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of protobuf messages. What a field's number means is the caller's. */
#include <stdbool.h>

#include "base/protobuf.h"
#include "base/put.h"
#include "base/utf8.h"

#define LARGEST_NUMBER 0x1fffffffu

enum sonde_status sonde_protobuf_varint(struct sonde_bytes *bytes, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = sonde_bytes_u8(bytes);

		if (bytes->overrun)
			return SONDE_TRUNCATED;
		if (shift == 63 && byte > 1)
			return SONDE_CORRUPT;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return SONDE_OK;
	}
	return SONDE_CORRUPT;
}

static enum sonde_status fail_varint(struct sonde_error *err, enum sonde_status status,
				     size_t start)
{
	if (status == SONDE_TRUNCATED)
		return sonde_fail(err, status, start,
				  "expected a whole protobuf field, found the end of the message");
	return sonde_fail(err, status, start,
			  "expected a protobuf number, found one of more than 64 bits");
}

static enum sonde_status read_value(struct sonde_bytes *bytes, struct sonde_protobuf_field *field)
{
	enum sonde_status status;
	const uint8_t *content;

	switch (field->type) {
	case SONDE_PROTOBUF_VARINT:
		return sonde_protobuf_varint(bytes, &field->value);
	case SONDE_PROTOBUF_FIXED64:
		field->value = sonde_bytes_u64le(bytes);
		break;
	case SONDE_PROTOBUF_FIXED32:
		field->value = sonde_bytes_u32le(bytes);
		break;
	case SONDE_PROTOBUF_BYTES:
		status = sonde_protobuf_varint(bytes, &field->value);
		if (status < 0)
			return status;
		content = sonde_bytes_take(bytes, field->value);
		if (content)
			field->bytes = sonde_bytes_of(content, field->value);
		break;
	}
	return bytes->overrun ? SONDE_TRUNCATED : SONDE_OK;
}

static bool known_type(unsigned int type)
{
	return type <= SONDE_PROTOBUF_BYTES || type == SONDE_PROTOBUF_FIXED32;
}

enum sonde_status sonde_protobuf_next(struct sonde_bytes *bytes, struct sonde_protobuf_field *field,
				      struct sonde_error *err)
{
	size_t start = bytes->position;
	enum sonde_status status;
	uint64_t tag;

	*field = (struct sonde_protobuf_field){ .bytes = sonde_bytes_of(NULL, 0) };
	if (!sonde_bytes_left(bytes) && !bytes->overrun)
		return SONDE_END;
	status = sonde_protobuf_varint(bytes, &tag);
	if (status < 0)
		return fail_varint(err, status, start);
	if (!known_type(tag & 7))
		return sonde_fail(err, SONDE_CORRUPT, start,
				  "expected a protobuf field, found wire type %u",
				  (unsigned int)(tag & 7));
	if (!(tag >> 3) || tag >> 3 > LARGEST_NUMBER)
		return sonde_fail(err, SONDE_CORRUPT, start,
				  "expected a protobuf field, found one with a wrong number");
	field->number = (uint32_t)(tag >> 3);
	field->type = (enum sonde_protobuf_type)(tag & 7);
	status = read_value(bytes, field);
	return status < 0 ? fail_varint(err, status, start) : SONDE_OK;
}

void sonde_protobuf_put_varint(struct sonde_buffer *out, uint64_t value)
{
	char *place = sonde_buffer_reserve(out, SONDE_PROTOBUF_VARINT_SIZE);

	if (place)
		out->size += (size_t)(sonde_protobuf_varint_at(place, value) - place);
}

void sonde_protobuf_put_uint(struct sonde_buffer *out, uint32_t number, uint64_t value)
{
	char *place = sonde_buffer_reserve(out, SONDE_PROTOBUF_FIELD_SIZE);

	if (place)
		out->size += (size_t)(sonde_protobuf_uint_at(place, number, value) - place);
}

void sonde_protobuf_put_fixed64(struct sonde_buffer *out, uint32_t number, uint64_t value)
{
	sonde_protobuf_put_varint(out, sonde_protobuf_tag(number, SONDE_PROTOBUF_FIXED64));
	sonde_put_u64le(out, value);
}

void sonde_protobuf_put_double(struct sonde_buffer *out, uint32_t number, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	sonde_protobuf_put_fixed64(out, number, bits);
}

void sonde_protobuf_put_bytes(struct sonde_buffer *out, uint32_t number, const void *data,
			      size_t size)
{
	sonde_protobuf_put_varint(out, sonde_protobuf_tag(number, SONDE_PROTOBUF_BYTES));
	sonde_protobuf_put_varint(out, size);
	sonde_buffer_put(out, data, size);
}

void sonde_protobuf_put_string(struct sonde_buffer *out, uint32_t number, const char *text,
			       size_t size)
{
	size_t start;

	if (sonde_utf8_valid(text, size)) {
		sonde_protobuf_put_bytes(out, number, text, size);
		return;
	}
	start = sonde_protobuf_begin(out, number);
	sonde_buffer_put_utf8(out, text, size);
	sonde_protobuf_end(out, start);
}

/* One byte is left for the length, which is enough for most; longer contents are moved in the end. */
size_t sonde_protobuf_begin(struct sonde_buffer *out, uint32_t number)
{
	sonde_protobuf_put_varint(out, sonde_protobuf_tag(number, SONDE_PROTOBUF_BYTES));
	sonde_buffer_put_char(out, 0);
	return out->size;
}

void sonde_protobuf_end(struct sonde_buffer *out, size_t start)
{
	size_t size = out->size - start;
	size_t more = sonde_protobuf_varint_length(size) - 1;

	if (!sonde_buffer_reserve(out, more))
		return;
	if (more)
		memmove(out->data + start + more, out->data + start, size);
	out->size += more;
	sonde_protobuf_varint_at(out->data + start - 1, size);
}
