/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of CBOR items, taken apart and put together. What the items mean is the caller's; nesting
 * is followed in sonde_cbor_skip() only, with a stack of fixed size.
 */
#include <math.h>

#include "base/cbor.h"

#define BREAK_BYTE 0xff
#define INFO_INDEFINITE 31
#define INFO_LARGEST_INLINE 23
#define INFO_ONE_BYTE 24
#define INFO_EIGHT_BYTES 27
#define SIMPLE_MAJOR 7

static double half_float(uint64_t bits)
{
	unsigned int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
	double number;

	if (!exponent)
		number = ldexp(mantissa, -24);
	else if (exponent < 0x1f)
		number = ldexp(mantissa + 1024, (int)exponent - 25);
	else
		number = mantissa ? NAN : INFINITY;
	return bits & 0x8000 ? -number : number;
}

static double single_float(uint64_t bits)
{
	uint32_t word = (uint32_t)bits;
	float number;

	memcpy(&number, &word, sizeof(number));
	return number;
}

static double double_float(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* False where the bytes end before the argument does. */
static bool read_argument(struct sonde_bytes *bytes, unsigned int info, uint64_t *value)
{
	unsigned int count;
	const uint8_t *p;

	*value = info;
	if (info < INFO_ONE_BYTE)
		return true;
	count = 1u << (info - INFO_ONE_BYTE);
	if (count > sonde_bytes_left(bytes))
		return false;
	p = sonde_bytes_take(bytes, count);
	*value = 0;
	for (unsigned int i = 0; i < count; i++)
		*value = *value << 8 | p[i];
	return true;
}

static enum sonde_status simple_or_float(unsigned int info, size_t start,
					 struct sonde_cbor_item *item, struct sonde_error *err)
{
	item->type = SONDE_CBOR_SIMPLE;
	if (info < INFO_ONE_BYTE)
		return SONDE_OK;
	if (info == INFO_ONE_BYTE) {
		if (item->value < 32)
			return sonde_fail(err, SONDE_CORRUPT, start,
					  "expected CBOR, found the simple value %u in two bytes",
					  (unsigned int)item->value);
		return SONDE_OK;
	}
	item->type = SONDE_CBOR_FLOAT;
	if (info == INFO_ONE_BYTE + 1)
		item->number = half_float(item->value);
	else if (info == INFO_ONE_BYTE + 2)
		item->number = single_float(item->value);
	else
		item->number = double_float(item->value);
	return SONDE_OK;
}

static enum sonde_status cut(struct sonde_error *err, size_t start)
{
	return sonde_fail(err, SONDE_TRUNCATED, start,
			  "expected a whole CBOR item, found the end of the data in it");
}

static enum sonde_status indefinite(unsigned int major, size_t start, struct sonde_cbor_item *item,
				    struct sonde_error *err)
{
	if (major == SIMPLE_MAJOR) {
		item->type = SONDE_CBOR_BREAK;
		return SONDE_OK;
	}
	if (major < SONDE_CBOR_BYTES || major > SONDE_CBOR_MAP)
		return sonde_fail(err, SONDE_CORRUPT, start,
				  "expected CBOR, found a number or tag of indefinite length");
	item->indefinite = true;
	return SONDE_OK;
}

/* Every item inside takes a byte at least. */
static bool count_fits(const struct sonde_bytes *bytes, const struct sonde_cbor_item *item)
{
	size_t left = sonde_bytes_left(bytes);

	return item->value <= (item->type == SONDE_CBOR_MAP ? left / 2 : left);
}

enum sonde_status sonde_cbor_next(struct sonde_bytes *bytes, struct sonde_cbor_item *item,
				  struct sonde_error *err)
{
	size_t start = bytes->position;
	unsigned int major, info;
	uint8_t head;

	if (!sonde_bytes_left(bytes))
		return SONDE_END;
	head = bytes->data[bytes->position++];
	major = head >> 5;
	info = head & 0x1f;
	*item = (struct sonde_cbor_item){ .type = (enum sonde_cbor_type)major };
	if (info == INFO_INDEFINITE)
		return indefinite(major, start, item, err);
	if (info > INFO_EIGHT_BYTES)
		return sonde_fail(err, SONDE_CORRUPT, start,
				  "expected CBOR, found the byte %02x, which it does not have",
				  head);
	if (!read_argument(bytes, info, &item->value))
		return cut(err, start);
	if (major == SIMPLE_MAJOR)
		return simple_or_float(info, start, item, err);
	if (major < SONDE_CBOR_BYTES || major > SONDE_CBOR_MAP)
		return SONDE_OK;
	if (!count_fits(bytes, item))
		return cut(err, start);
	if (major <= SONDE_CBOR_TEXT)
		item->bytes = sonde_bytes_take(bytes, item->value);
	return SONDE_OK;
}

/* What sonde_cbor_skip() is inside of. */
struct level {
	uint64_t left; /* items to come; counted up where the length is indefinite */
	enum sonde_cbor_type type;
	bool indefinite;
	bool after_tag; /* an item must come */
};

static bool fits_level(const struct level *level, const struct sonde_cbor_item *item)
{
	if (level->type != SONDE_CBOR_BYTES && level->type != SONDE_CBOR_TEXT)
		return true;
	return item->type == level->type && !item->indefinite;
}

static bool break_fits(const struct level *level)
{
	if (!level->indefinite || level->after_tag)
		return false;
	return level->type != SONDE_CBOR_MAP || level->left % 2 == 0;
}

static enum sonde_status wrong_place(struct sonde_error *err, size_t start)
{
	return sonde_fail(err, SONDE_CORRUPT, start,
			  "expected CBOR, found an item where it cannot stand");
}

/* One item was stepped over in the innermost level; leaves those that are whole with it. */
static size_t leave_whole(struct level *levels, size_t depth)
{
	while (depth) {
		struct level *level = &levels[depth - 1];

		if (level->indefinite) {
			level->left++;
			break;
		}
		if (--level->left)
			break;
		depth--;
	}
	return depth;
}

static bool opens_level(const struct sonde_cbor_item *item)
{
	if (item->indefinite)
		return true;
	return (item->type == SONDE_CBOR_ARRAY || item->type == SONDE_CBOR_MAP) && item->value;
}

enum sonde_status sonde_cbor_skip(struct sonde_bytes *bytes, unsigned int max_depth,
				  struct sonde_error *err)
{
	struct level levels[SONDE_CBOR_MAX_DEPTH + 1];
	size_t depth = 1, first = bytes->position;

	if (max_depth > SONDE_CBOR_MAX_DEPTH)
		max_depth = SONDE_CBOR_MAX_DEPTH;
	levels[0] = (struct level){ .left = 1, .type = SONDE_CBOR_ARRAY };
	while (depth) {
		struct level *level = &levels[depth - 1];
		size_t start = bytes->position;
		struct sonde_cbor_item item;
		enum sonde_status status = sonde_cbor_next(bytes, &item, err);

		if (status == SONDE_END)
			return start == first ? SONDE_END : cut(err, first);
		if (status < 0)
			return status;
		if (item.type == SONDE_CBOR_BREAK) {
			if (!break_fits(level))
				return wrong_place(err, start);
			depth = leave_whole(levels, depth - 1);
			continue;
		}
		if (!fits_level(level, &item))
			return wrong_place(err, start);
		level->after_tag = item.type == SONDE_CBOR_TAG;
		if (level->after_tag)
			continue;
		if (!opens_level(&item)) {
			depth = leave_whole(levels, depth);
			continue;
		}
		if (depth > max_depth)
			return sonde_fail(err, SONDE_LIMIT, start,
					  "expected at most %u levels of CBOR, found more",
					  max_depth);
		levels[depth++] = (struct level){
			.left = item.type == SONDE_CBOR_MAP ? item.value * 2 : item.value,
			.type = item.type,
			.indefinite = item.indefinite,
		};
	}
	return SONDE_OK;
}

void sonde_cbor_put_head(struct sonde_buffer *buffer, enum sonde_cbor_type type, uint64_t value)
{
	uint8_t *head = (uint8_t *)sonde_buffer_reserve(buffer, SONDE_CBOR_HEAD_SIZE);

	if (head)
		buffer->size += (size_t)(sonde_cbor_head_at(head, type, value) - head);
}

void sonde_cbor_put_int(struct sonde_buffer *buffer, int64_t value)
{
	if (value < 0)
		sonde_cbor_put_head(buffer, SONDE_CBOR_NEGATIVE, ~(uint64_t)value);
	else
		sonde_cbor_put_head(buffer, SONDE_CBOR_UINT, (uint64_t)value);
}

void sonde_cbor_put_simple(struct sonde_buffer *buffer, unsigned int value)
{
	if (value > INFO_LARGEST_INLINE)
		sonde_buffer_put_char(buffer, (char)(SIMPLE_MAJOR << 5 | INFO_ONE_BYTE));
	sonde_buffer_put_char(buffer, (char)(value > INFO_LARGEST_INLINE ?
						     value :
						     (unsigned int)SIMPLE_MAJOR << 5 | value));
}
