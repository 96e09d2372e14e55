/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of event types, and the packed values that follow them: parsing, taking apart, putting
 * together. How they look as JSON is in arguments_json.c.
 */
#include "model/arguments.h"

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"

#define NULL_COUNT UINT32_MAX

struct sonde_signature {
	size_t count;
	char *text; /* the names lie in it */
	struct sonde_argument_spec specs[];
};

static const struct {
	const char *word;
	uint8_t size;
} types[] = {
#define X(name, word, size) { word, size },
	SONDE_ARGUMENT_TYPE_LIST(X)
#undef X
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

static const struct {
	const char *word;
	enum sonde_argument_type type;
} aliases[] = {
	{ "byte", SONDE_ARGUMENT_INT8 },     { "octet", SONDE_ARGUMENT_UINT8 },
	{ "short", SONDE_ARGUMENT_INT16 },   { "unsigned short", SONDE_ARGUMENT_UINT16 },
	{ "long", SONDE_ARGUMENT_INT32 },    { "unsigned long", SONDE_ARGUMENT_UINT32 },
	{ "float", SONDE_ARGUMENT_FLOAT32 }, { "DOMString", SONDE_ARGUMENT_UTF8 },
};

const char *sonde_argument_type_name(enum sonde_argument_type type)
{
	return (size_t)type < TYPE_COUNT ? types[type].word : "unknown";
}

size_t sonde_argument_type_size(enum sonde_argument_type type)
{
	return (size_t)type < TYPE_COUNT ? types[type].size : 0;
}

static bool find_type(const char *word, enum sonde_argument_type *type)
{
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		if (!strcmp(types[i].word, word)) {
			*type = (enum sonde_argument_type)i;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (!strcmp(aliases[i].word, word)) {
			*type = aliases[i].type;
			return true;
		}
	}
	return false;
}

#define SPACES " \t\r\n"

/* Cuts the spaces off both ends, in place. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, SPACES);
	length = strlen(text);
	while (length && strchr(SPACES, text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/* Takes "[]" or "sequence<>" off a type; true where it was there. */
static bool strip_array(char **type)
{
	static const char sequence[] = "sequence<";
	size_t length = strlen(*type);

	if (length > 2 && !strcmp(*type + length - 2, "[]")) {
		(*type)[length - 2] = '\0';
	} else if (!strncmp(*type, sequence, sizeof(sequence) - 1) && (*type)[length - 1] == '>') {
		(*type)[length - 1] = '\0';
		*type += sizeof(sequence) - 1;
	} else {
		return false;
	}
	*type = trim(*type);
	return true;
}

static enum sonde_status parse_one(char *text, struct sonde_argument_spec *spec,
				   struct sonde_error *err)
{
	char *type = trim(text), *name = type + strlen(type);

	while (name > type && !strchr(SPACES, name[-1]))
		name--;
	if (name == type || strpbrk(name, "[]<>"))
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a type and a name, found \"%.60s\"", type);
	name[-1] = '\0';
	type = trim(type);
	spec->name = name;
	spec->is_array = strip_array(&type);
	if (!find_type(type, &spec->type))
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "there is no argument type \"%.60s\"", type);
	if (spec->is_array && sonde_argument_type_is_text(spec->type))
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "there are no arrays of %.60s", type);
	return SONDE_OK;
}

static size_t count_specs(const char *text)
{
	size_t count = 1;

	if (!text[strspn(text, SPACES)])
		return 0;
	for (; *text; text++)
		count += *text == ',';
	return count;
}

enum sonde_status sonde_signature_parse(const char *text, struct sonde_signature **signature,
					struct sonde_error *err)
{
	size_t count = text ? count_specs(text) : 0;
	struct sonde_signature *made = calloc(1, sizeof(*made) + count * sizeof(made->specs[0]));
	enum sonde_status status = SONDE_OK;
	char *rest, *piece;

	*signature = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->count = count;
	made->text = rest = strdup(text ? text : "");
	if (!rest)
		status = sonde_fail_nomem(err);
	for (size_t i = 0; !status && i < count && (piece = strsep(&rest, ",")); i++)
		status = parse_one(piece, &made->specs[i], err);
	if (status) {
		sonde_signature_free(made);
		return status;
	}
	*signature = made;
	return SONDE_OK;
}

void sonde_signature_free(struct sonde_signature *signature)
{
	if (!signature)
		return;
	free(signature->text);
	free(signature);
}

size_t sonde_signature_count(const struct sonde_signature *signature)
{
	return signature->count;
}

const struct sonde_argument_spec *sonde_signature_at(const struct sonde_signature *signature,
						     size_t index)
{
	return index < signature->count ? &signature->specs[index] : NULL;
}

/*
 * A conversion makes a signalling NaN a quiet one: those are carried over bit by bit, so that what
 * is unpacked and packed again is the same.
 */
#define SINGLE_NAN_BITS 0x7FFFFFu
#define DOUBLE_NAN_SHIFT 29 /* from the fraction of a float to that of a double */

static double widen(uint32_t word)
{
	uint64_t bits = (uint64_t)(word & SINGLE_NAN_BITS) << DOUBLE_NAN_SHIFT;
	double value;
	float single;

	memcpy(&single, &word, sizeof(single));
	if (!isnan(single))
		return single;
	bits |= (uint64_t)(word >> 31) << 63 | (uint64_t)0x7FF << 52;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t narrow(double value)
{
	uint32_t word, fraction;
	uint64_t bits;
	float single;

	if (!isnan(value)) {
		single = (float)value;
		memcpy(&word, &single, sizeof(word));
		return word;
	}
	memcpy(&bits, &value, sizeof(bits));
	fraction = (uint32_t)(bits >> DOUBLE_NAN_SHIFT) & SINGLE_NAN_BITS;
	/* without a fraction it would be infinite */
	return (uint32_t)(bits >> 63) << 31 | 0xFFu << 23 | (fraction ? fraction : 1u << 22);
}

/* One item of a number type, from its little-endian bytes. */
static union sonde_argument_value load_item(enum sonde_argument_type type, const uint8_t *bytes)
{
	union sonde_argument_value value = { 0 };

	switch (type) {
	case SONDE_ARGUMENT_BOOL:
		value.u64 = bytes[0] != 0;
		break;
	case SONDE_ARGUMENT_INT8:
		value.i64 = (int64_t)(bytes[0] ^ 0x80) - 0x80;
		break;
	case SONDE_ARGUMENT_INT16:
		value.i64 = (int16_t)sonde_load_u16le(bytes);
		break;
	case SONDE_ARGUMENT_INT32:
		value.i64 = (int32_t)sonde_load_u32le(bytes);
		break;
	case SONDE_ARGUMENT_FLOAT32:
		value.f64 = widen(sonde_load_u32le(bytes));
		break;
	default: /* unsigned ones, and those of 64 bits as they are */
		if (types[type].size == 1)
			value.u64 = bytes[0];
		else if (types[type].size == 2)
			value.u64 = sonde_load_u16le(bytes);
		else if (types[type].size == 4)
			value.u64 = sonde_load_u32le(bytes);
		else
			value.u64 = sonde_load_u64le(bytes);
	}
	return value;
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

/* A count and so many items: text, or an array. Its bytes with all that; 0 where they end before. */
static size_t take_run(struct sonde_argument *argument, const uint8_t *bytes, size_t left)
{
	size_t item_size = argument->spec->is_array ? types[argument->spec->type].size : 1;
	uint32_t count;

	if (left < sizeof(count))
		return 0;
	count = sonde_load_u32le(bytes);
	left -= sizeof(count);
	argument->bytes = bytes + sizeof(count);
	argument->is_null = count == NULL_COUNT;
	if (argument->is_null)
		return sizeof(count);
	if (count > left / item_size || padded(count * item_size) > left)
		return 0;
	argument->count = count;
	return sizeof(count) + padded(count * item_size);
}

static size_t take_number(struct sonde_argument *argument, const uint8_t *bytes, size_t left)
{
	size_t size = padded(types[argument->spec->type].size);

	if (left < size)
		return 0;
	argument->value = load_item(argument->spec->type, bytes);
	return size;
}

enum sonde_status sonde_arguments_next(struct sonde_arguments *arguments,
				       struct sonde_argument *argument, struct sonde_error *err)
{
	const struct sonde_argument_spec *spec =
		sonde_signature_at(arguments->signature, arguments->index);
	size_t left = arguments->size - arguments->position, size = 0;

	if (!spec)
		return SONDE_END;
	*argument = (struct sonde_argument){ .spec = spec };
	if (left && (spec->is_array || sonde_argument_type_is_text(spec->type)))
		size = take_run(argument, arguments->bytes + arguments->position, left);
	else if (left)
		size = take_number(argument, arguments->bytes + arguments->position, left);
	if (!size)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "the values of an event end before its argument \"%.60s\" does",
				  spec->name);
	arguments->position += size;
	arguments->index++;
	return SONDE_OK;
}

union sonde_argument_value sonde_argument_item(const struct sonde_argument *argument, size_t index)
{
	enum sonde_argument_type type = argument->spec->type;

	return load_item(type, argument->bytes + index * types[type].size);
}

static void pad(struct sonde_buffer *out, size_t size)
{
	static const char zeros[4];

	sonde_buffer_put(out, zeros, padded(size) - size);
}

void sonde_arguments_put_number(struct sonde_buffer *out, enum sonde_argument_type type,
				union sonde_argument_value value)
{
	size_t size = types[type].size;
	uint64_t bits = value.u64;
	uint8_t bytes[8];

	if (type == SONDE_ARGUMENT_FLOAT32)
		bits = narrow(value.f64);
	else if (type == SONDE_ARGUMENT_BOOL)
		bits = value.u64 != 0;
	sonde_store_u64le(bytes, bits);
	sonde_buffer_put(out, bytes, size);
	pad(out, size);
}

static void put_count(struct sonde_buffer *out, uint32_t count)
{
	uint8_t bytes[4];

	sonde_store_u32le(bytes, count);
	sonde_buffer_put(out, bytes, sizeof(bytes));
}

static void put_run(struct sonde_buffer *out, const void *bytes, size_t count, size_t item_size)
{
	if (bytes && count >= NULL_COUNT) {
		out->failed = true; /* more than can be counted */
		return;
	}
	put_count(out, bytes ? (uint32_t)count : NULL_COUNT);
	if (!bytes)
		return;
	sonde_buffer_put(out, bytes, count * item_size);
	pad(out, count * item_size);
}

void sonde_arguments_put_text(struct sonde_buffer *out, const char *text, size_t length)
{
	put_run(out, text, length, 1);
}

void sonde_arguments_put_array(struct sonde_buffer *out, enum sonde_argument_type type,
			       const void *items, size_t count)
{
	put_run(out, items, count, types[type].size);
}

void sonde_arguments_put(struct sonde_buffer *out, const struct sonde_argument *argument)
{
	const struct sonde_argument_spec *spec = argument->spec;
	const uint8_t *bytes = argument->is_null ? NULL : argument->bytes;

	if (spec->is_array)
		sonde_arguments_put_array(out, spec->type, bytes, argument->count);
	else if (sonde_argument_type_is_text(spec->type))
		sonde_arguments_put_text(out, (const char *)bytes, argument->count);
	else
		sonde_arguments_put_number(out, spec->type, argument->value);
}
