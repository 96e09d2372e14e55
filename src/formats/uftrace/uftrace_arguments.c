/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments and results. What was recorded of a function is said in text: "arg1/s,arg2/d32", given by the user, found in
 * debug information, or known to uftrace by itself. The values lie behind the record, each padded to 4 bytes.
 */
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "formats/uftrace/uftrace.h"

#define PATTERN_MOST 200 /* characters of a pattern */

static bool is_text(struct uftrace_text text, struct uftrace_text other)
{
	return text.size == other.size && !memcmp(text.at, other.at, text.size);
}

/* Patterns are matched as uftrace does; those that could take forever are not. */
static bool matches(const struct uftrace *data, struct uftrace_text pattern,
		    struct uftrace_text name)
{
	char expression[PATTERN_MOST + 1], subject[1024];
	regex_t compiled;
	bool found;

	if (is_text(pattern, name))
		return true;
	if (pattern.size > PATTERN_MOST || name.size >= sizeof(subject) || !pattern.size ||
	    memchr(pattern.at, '{', pattern.size) || memchr(pattern.at, '\\', pattern.size) ||
	    memchr(pattern.at, '\0', pattern.size) || memchr(pattern.at, '(', pattern.size))
		return false;
	memcpy(expression, pattern.at, pattern.size);
	expression[pattern.size] = '\0';
	memcpy(subject, name.at, name.size);
	subject[name.size] = '\0';
	if (!strpbrk(expression, ".?*+-^$|:[]"))
		return false;
	if (data->by_glob)
		return !fnmatch(expression, subject, 0);
	if (regcomp(&compiled, expression, REG_NOSUB | REG_EXTENDED))
		return false;
	found = !regexec(&compiled, subject, 0, NULL, 0);
	regfree(&compiled);
	return found;
}

/* The specification of a function in "name@spec;name@spec"; the last one that fits counts. */
static struct uftrace_text find_in(const struct uftrace *data, struct uftrace_text list,
				   struct uftrace_text name, bool exactly)
{
	struct uftrace_text found = { 0 };

	while (list.size) {
		struct uftrace_text spec = uftrace_take(&list, ';');
		struct uftrace_text pattern = uftrace_take(&spec, '@');

		if (exactly ? is_text(pattern, name) : matches(data, pattern, name))
			found = spec;
	}
	return found;
}

/* The letter and the size behind the slash: "d32", "s", "f64", "e:name", "t16". */
static struct uftrace_argument parse_format(struct uftrace_text format, bool is_float,
					    uint16_t word)
{
	struct uftrace_argument argument = { .value = is_float ? UFTRACE_FLOAT : UFTRACE_SIGNED,
					     .size = is_float ? 8 : word };
	uint64_t bits;
	char letter = format.size ? format.at[0] : 'd';

	if (letter < '0' || letter > '9') {
		format.at += format.size != 0;
		format.size -= format.size != 0;
	}
	bits = uftrace_number(format, 10);
	switch (letter) {
	case 'u':
	case 'x':
	case 'o':
	case 'p':
		argument.value = UFTRACE_UNSIGNED;
		break;
	case 'c':
		return (struct uftrace_argument){ .value = UFTRACE_CHARACTER, .size = 1 };
	case 'f':
		argument.value = UFTRACE_FLOAT;
		argument.size = 8;
		break;
	case 's':
	case 'S':
		return (struct uftrace_argument){ .value = UFTRACE_STRING };
	case 't':
		return (struct uftrace_argument){ .value = UFTRACE_BYTES,
						  .size = (uint16_t)(bits & 0x7fff) };
	case 'e':
		return argument;
	default:
		break;
	}
	if (bits >= 8 && bits <= 128)
		argument.size = (uint16_t)(bits / 8);
	return argument;
}

static const char *type_name(struct uftrace_argument argument)
{
	static const char *const words[2][4] = { { "int8", "int16", "int32", "int64" },
						 { "uint8", "uint16", "uint32", "uint64" } };

	switch (argument.value) {
	case UFTRACE_SIGNED:
	case UFTRACE_UNSIGNED:
		return words[argument.value == UFTRACE_UNSIGNED][argument.size >= 8 ? 3 :
								 argument.size >= 4 ? 2 :
								 argument.size >= 2 ? 1 :
										      0];
	case UFTRACE_CHARACTER:
		return "char";
	case UFTRACE_FLOAT:
		return argument.size == 4 ? "float32" : "float64";
	case UFTRACE_STRING:
		return "utf8";
	default:
		return "uint8[]";
	}
}

/* "arg1/s%rdi,fparg2/32": fills a specification and its signature. */
static void parse_spec(const struct uftrace *data, struct uftrace_text text, bool is_result,
		       struct uftrace_arguments *spec, struct sonde_buffer *signature)
{
	while (text.size && spec->count < UFTRACE_ARGUMENTS_MOST) {
		struct uftrace_text item = uftrace_take(&text, ',');
		struct uftrace_text name, format;
		bool is_float = false, is_argument;

		item = uftrace_take(&item, '%');
		name = uftrace_take(&item, '/');
		format = item;
		is_argument = name.size > 3 && !memcmp(name.at, "arg", 3);
		if (name.size > 5 && !memcmp(name.at, "fparg", 5))
			is_argument = is_float = true;
		if (is_result ? name.size != 6 || memcmp(name.at, "retval", 6) != 0 : !is_argument)
			continue;
		spec->items[spec->count] = parse_format(format, is_float, data->is_32_bit ? 4 : 8);
		sonde_buffer_put_text(signature, spec->count ? ", " : "");
		sonde_buffer_put_text(signature, type_name(spec->items[spec->count++]));
		sonde_buffer_put_char(signature, ' ');
		/* "arg1": nothing that a signature could not hold */
		sonde_buffer_put_text(signature, is_result ? "retval" : is_float ? "fparg" : "arg");
		if (!is_result)
			sonde_buffer_put_u64(
				signature,
				uftrace_number(
					(struct uftrace_text){ name.at + (is_float ? 5 : 3),
							       name.size - (is_float ? 5 : 3) },
					10));
	}
}

/* The specification of this text for this function, made once. */
static enum sonde_status make_spec(struct uftrace *data, struct uftrace_text function,
				   struct uftrace_text text, bool is_result, uint32_t *number,
				   struct sonde_error *err)
{
	struct uftrace_arguments spec = { 0 };
	struct sonde_buffer signature = { 0 };
	struct uftrace_arguments *added;
	enum sonde_status status;

	*number = SONDE_NONE;
	parse_spec(data, text, is_result, &spec, &signature);
	sonde_buffer_put_char(&signature, '\0');
	if (signature.failed || !spec.count) {
		status = signature.failed ? sonde_fail_nomem(err) : SONDE_OK;
		sonde_buffer_release(&signature);
		return status;
	}
	status = sonde_intake_event_type(data->intake, function.at, function.size, signature.data,
					 &spec.event_type, err);
	sonde_buffer_release(&signature);
	if (status)
		return status;
	added = sonde_vec_push(&data->specs);
	if (!added)
		return sonde_fail_nomem(err);
	*added = spec;
	*number = (uint32_t)(data->specs.count - 1);
	return SONDE_OK;
}

enum sonde_status uftrace_find_spec(struct uftrace *data, struct uftrace_text function,
				    struct uftrace_text debug, bool is_result, uint32_t *spec,
				    struct sonde_error *err)
{
	struct uftrace_text text = find_in(
		data, is_result ? data->result_specs : data->argument_specs, function, false);

	*spec = SONDE_NONE;
	if (!text.size)
		text = debug;
	if (!text.size)
		text = find_in(data, is_result ? data->result_auto : data->argument_auto, function,
			       true);
	if (!text.size)
		return SONDE_OK;
	return make_spec(data, function, text, is_result, spec, err);
}

static void put_padding(struct sonde_buffer *out)
{
	while (out->size % 4 && !out->failed)
		sonde_buffer_put_char(out, '\0');
}

static void put_u32(struct sonde_buffer *out, uint32_t value)
{
	uint8_t bytes[4];

	sonde_store_u32le(bytes, value);
	sonde_buffer_put(out, bytes, sizeof(bytes));
}

/* Text of whatever bytes; four bytes of ones say that it could not be read there. */
static void put_string(struct sonde_buffer *out, const uint8_t *text, size_t size)
{
	size_t place = out->size;

	put_u32(out, UINT32_MAX);
	if (size == 4 && !memcmp(text, "\xff\xff\xff\xff", 4))
		return;
	sonde_buffer_put_utf8(out, (const char *)text, size);
	if (!out->failed)
		sonde_store_u32le((uint8_t *)out->data + place, (uint32_t)(out->size - place - 4));
	put_padding(out);
}

/* A number of `size` bytes as one that the model knows: of 1, 2, 4 or 8. */
static void put_number(struct sonde_buffer *out, struct uftrace_argument argument,
		       const uint8_t *bytes)
{
	static const uint8_t zeros[8];
	size_t size = argument.size >= 8 ? 8 : argument.size >= 4 ? 4 : argument.size >= 2 ? 2 : 1;

	if (argument.value == UFTRACE_FLOAT && argument.size > 8) {
		long double wide = 0;
		double value;

		memcpy(&wide, bytes, argument.size < sizeof(wide) ? argument.size : sizeof(wide));
		value = (double)wide;
		sonde_buffer_put(out, &value, sizeof(value));
		return;
	}
	sonde_buffer_put(out, bytes, size);
	put_padding(out);
	if (argument.value == UFTRACE_FLOAT && argument.size < 4)
		sonde_buffer_put(out, zeros, 4);
}

size_t uftrace_pack(struct uftrace *data, const struct uftrace_arguments *spec,
		    const uint8_t *bytes, size_t size)
{
	struct sonde_buffer *out = &data->packed;
	size_t at = 0;

	sonde_buffer_clear(out);
	for (size_t i = 0; i < spec->count; i++) {
		struct uftrace_argument argument = spec->items[i];
		size_t length = argument.size, head = 0;

		if (argument.value == UFTRACE_STRING) {
			if (size - at < 2)
				return 0;
			length = sonde_load_u16le(bytes + at);
			head = 2;
		}
		if (size - at < head || size - at - head < length)
			return 0;
		if (argument.value == UFTRACE_STRING) {
			put_string(out, bytes + at + head, length);
		} else if (argument.value == UFTRACE_BYTES) {
			put_u32(out, (uint32_t)length);
			sonde_buffer_put(out, bytes + at, length);
			put_padding(out);
		} else {
			put_number(out, argument, bytes + at);
		}
		at += head + length;
		at = (at + 3) & ~(size_t)3;
		if (at > size)
			at = size;
	}
	at = (at + 7) & ~(size_t)7;
	return at > size ? 0 : at;
}
