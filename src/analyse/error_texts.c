/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of exceptions. Formats and programs name them in their own way; the names that mean a type, a
 * message or a stack are listed here once.
 */
#include "analyse/error_texts.h"

#include <stdlib.h>
#include <strings.h>

#include <sonde/arguments.h>

#include "analyse/errors.h"
#include "base/buffer.h"
#include "base/vec.h"

enum part { PART_TYPE, PART_MESSAGE, PART_STACK, PART_COUNT };

static const struct {
	const char *name;
	enum part part;
} part_names[] = {
	{ "class", PART_TYPE },
	{ "type", PART_TYPE },
	{ "exception", PART_TYPE },
	{ "exception.type", PART_TYPE },
	{ "error.type", PART_TYPE },
	{ "message", PART_MESSAGE },
	{ "what", PART_MESSAGE },
	{ "reason", PART_MESSAGE },
	{ "error", PART_MESSAGE },
	{ "exception.message", PART_MESSAGE },
	{ "error.message", PART_MESSAGE },
	{ "stack", PART_STACK },
	{ "exception.stacktrace", PART_STACK },
};

static const size_t part_limits[PART_COUNT] = {
	[PART_TYPE] = ERRORS_TEXT_LIMIT,
	[PART_MESSAGE] = ERRORS_TEXT_LIMIT,
	[PART_STACK] = ERRORS_STACK_LIMIT,
};

struct error_texts {
	const struct sonde_definitions *definitions;
	/* By event type; NULL: not read so far, or it cannot be */
	SONDE_VEC(struct sonde_signature *) signatures;
	struct sonde_buffer parts[PART_COUNT];
};

struct error_texts *error_texts_new(const struct sonde_definitions *definitions)
{
	struct error_texts *texts = calloc(1, sizeof(*texts));

	if (texts)
		texts->definitions = definitions;
	return texts;
}

void error_texts_free(struct error_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->signatures.count; i++)
		sonde_signature_free(texts->signatures.items[i]);
	sonde_vec_release(&texts->signatures);
	for (int i = 0; i < PART_COUNT; i++)
		sonde_buffer_release(&texts->parts[i]);
	free(texts);
}

static const struct sonde_signature *signature_of(struct error_texts *texts, uint32_t number)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(texts->definitions, number);
	struct sonde_signature **place;

	if (!type)
		return NULL;
	while (texts->signatures.count <= number) {
		place = sonde_vec_push(&texts->signatures);
		if (!place)
			return NULL;
		*place = NULL;
	}
	place = &texts->signatures.items[number];
	if (!*place)
		sonde_signature_parse(sonde_definitions_string(texts->definitions, type->arguments),
				      place, NULL);
	return *place;
}

/* As UTF-8 without NUL, up to the limit; what was there already stays. */
static void put_part(struct error_texts *texts, enum part part,
		     const struct sonde_argument *argument)
{
	struct sonde_buffer *out = &texts->parts[part];
	const char *bytes = (const char *)argument->bytes;
	size_t size = argument->count;
	bool is_any = argument->spec->type == SONDE_ARGUMENT_ANY;

	if (out->size || !size)
		return;
	if (is_any && ((size == 4 && !memcmp(bytes, "null", 4)) ||
		       (size == 2 && (!memcmp(bytes, "[]", 2) || !memcmp(bytes, "\"\"", 2)))))
		return;
	if (size > part_limits[part])
		size = part_limits[part];
	sonde_buffer_put_utf8(out, bytes, strnlen(bytes, size));
}

void error_texts_read(struct error_texts *texts, const struct sonde_detail *detail,
		      struct error_description *description)
{
	struct sonde_arguments arguments = { 0 };
	struct sonde_argument argument = { 0 };
	const char *parts[PART_COUNT];

	for (int i = 0; i < PART_COUNT; i++)
		sonde_buffer_clear(&texts->parts[i]);
	if (detail && detail->kind == SONDE_DETAIL_ARGUMENTS) {
		arguments.signature = signature_of(texts, detail->event_type);
		arguments.bytes = detail->bytes;
		arguments.size = detail->size;
	}
	while (arguments.signature &&
	       sonde_arguments_next(&arguments, &argument, NULL) == SONDE_OK) {
		if (!sonde_argument_type_is_text(argument.spec->type) || argument.spec->is_array ||
		    argument.is_null)
			continue;
		for (size_t i = 0; i < sizeof(part_names) / sizeof(part_names[0]); i++) {
			if (!strcasecmp(argument.spec->name, part_names[i].name))
				put_part(texts, part_names[i].part, &argument);
		}
	}
	for (int i = 0; i < PART_COUNT; i++) {
		parts[i] = texts->parts[i].size ? sonde_buffer_text(&texts->parts[i]) : "";
		if (!parts[i])
			parts[i] = "";
	}
	*description = (struct error_description){ parts[PART_TYPE], parts[PART_MESSAGE],
						   parts[PART_STACK] };
}
