/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed arguments as annotations. Their names are interned in each sequence, with the word of their type
 * beside, which tells sonde what they were: Perfetto knows integers, doubles, text and truth.
 */
#include <stdlib.h>
#include <string.h>

#include <sonde/arguments.h>

#include "base/json.h"
#include "base/utf8.h"
#include "formats/perfetto/perfetto_write.h"

/* An event type in a sequence. */
struct perfetto_type {
	struct sonde_signature *signature;
	uint64_t first;	   /* iid of its first argument; the others follow */
	uint64_t narrowed; /* arguments whose type is another in Perfetto */
};

void perfetto_types_release(struct perfetto_track *track)
{
	for (size_t i = 0; i < track->types.count; i++) {
		if (track->types.items[i])
			sonde_signature_free(track->types.items[i]->signature);
		free(track->types.items[i]);
	}
	sonde_vec_release(&track->types);
}

static bool is_as_it_was(const struct sonde_argument_spec *spec)
{
	return spec->type == SONDE_ARGUMENT_BOOL || spec->type == SONDE_ARGUMENT_INT64 ||
	       spec->type == SONDE_ARGUMENT_UINT64 || spec->type == SONDE_ARGUMENT_FLOAT64 ||
	       spec->type == SONDE_ARGUMENT_UTF8;
}

static void intern_names(struct perfetto_track *track, struct perfetto_type *type)
{
	struct sonde_buffer *out = &track->interned;
	const struct sonde_argument_spec *spec;

	for (size_t i = 0; (spec = sonde_signature_at(type->signature, i)); i++) {
		const char *word = sonde_argument_type_name(spec->type);
		size_t start = sonde_protobuf_begin(out, INTERNED_ANNOTATION_NAME), own;

		sonde_protobuf_put_uint(out, IID, type->first + i);
		sonde_protobuf_put_string(out, INTERNED_TEXT, spec->name, strlen(spec->name));
		own = sonde_protobuf_begin(out, ANNOTATION_NAME_OWN_TYPE);
		sonde_buffer_put_text(out, word);
		if (spec->is_array)
			sonde_buffer_put_text(out, "[]");
		sonde_protobuf_end(out, own);
		sonde_protobuf_end(out, start);
		type->narrowed += !is_as_it_was(spec);
	}
}

/* *type stays NULL where the signature cannot be understood. */
static enum sonde_status find_type(const struct perfetto_writer *writer,
				   struct perfetto_track *track, uint32_t number,
				   struct perfetto_type **type, struct sonde_error *err)
{
	const struct sonde_event_type *definition =
		sonde_definitions_event_type(writer->definitions, number);
	const char *text;
	enum sonde_status status;

	*type = NULL;
	if (!definition)
		return SONDE_OK;
	while (track->types.count <= number) {
		struct perfetto_type **place = sonde_vec_push(&track->types);

		if (!place)
			return sonde_fail_nomem(err);
		*place = NULL;
	}
	*type = track->types.items[number];
	if (*type)
		return SONDE_OK;
	*type = track->types.items[number] = calloc(1, sizeof(**type));
	if (!*type)
		return sonde_fail_nomem(err);
	text = sonde_definitions_string(writer->definitions, definition->arguments);
	status = sonde_signature_parse(text, &(*type)->signature, err);
	if (status == SONDE_CORRUPT)
		status = sonde_signature_parse("", &(*type)->signature, err);
	if (status)
		return status;
	(*type)->first = track->next_annotation;
	track->next_annotation += sonde_signature_count((*type)->signature);
	intern_names(track, *type);
	return SONDE_OK;
}

/* A character that UTF-8 has; others stay numbers. */
static bool put_character(struct sonde_buffer *out, uint64_t code)
{
	char text[4];

	if (!code || (code >= 0xd800 && code < 0xe000))
		return false;
	sonde_protobuf_put_bytes(out, ANNOTATION_STRING, text,
				 sonde_utf8_encode((uint32_t)code, text));
	return true;
}

static void put_number(struct sonde_buffer *out, enum sonde_argument_type type,
		       union sonde_argument_value value)
{
	if (type == SONDE_ARGUMENT_BOOL)
		sonde_protobuf_put_uint(out, ANNOTATION_BOOL, value.u64 != 0);
	else if (sonde_argument_type_is_float(type))
		sonde_protobuf_put_double(out, ANNOTATION_DOUBLE, value.f64);
	else if (sonde_argument_type_is_signed(type))
		sonde_protobuf_put_uint(out, ANNOTATION_INT, value.u64);
	else
		sonde_protobuf_put_uint(out, ANNOTATION_UINT, value.u64);
}

/* Where memory fails the buffer has failed: this does not tell what the text is. */
static bool is_json(struct sonde_buffer *out, const char *text, size_t size)
{
	struct sonde_json_reader reader;
	enum sonde_status status;

	sonde_json_reader_init(&reader, text, size, NULL, NULL);
	do {
		status = sonde_json_next(&reader, NULL);
	} while (!status && reader.token != SONDE_JSON_END);
	sonde_json_reader_release(&reader);
	if (status == SONDE_NOMEM)
		out->failed = true;
	return !status;
}

static void put_text(struct sonde_buffer *out, const struct sonde_argument *argument)
{
	const char *text = (const char *)argument->bytes;
	bool as_json = argument->spec->type == SONDE_ARGUMENT_ANY &&
		       is_json(out, text, argument->count);

	sonde_protobuf_put_string(out, as_json ? ANNOTATION_JSON : ANNOTATION_STRING, text,
				  argument->count);
}

static void put_array(struct sonde_buffer *out, const struct sonde_argument *argument)
{
	size_t start;

	for (size_t i = 0; i < argument->count; i++) {
		start = sonde_protobuf_begin(out, ANNOTATION_ITEM);
		put_number(out, argument->spec->type, sonde_argument_item(argument, i));
		sonde_protobuf_end(out, start);
	}
	if (argument->count)
		return;
	/* an array without items would be nothing at all */
	start = sonde_protobuf_begin(out, ANNOTATION_NESTED);
	sonde_protobuf_put_uint(out, NESTED_TYPE, NESTED_TYPE_ARRAY);
	sonde_protobuf_end(out, start);
}

/* One without a value is null. */
static void put_annotation(struct sonde_buffer *out, uint64_t iid,
			   const struct sonde_argument *argument)
{
	const struct sonde_argument_spec *spec = argument->spec;
	size_t start = sonde_protobuf_begin(out, EVENT_ANNOTATION);

	sonde_protobuf_put_uint(out, ANNOTATION_NAME_IID, iid);
	if (argument->is_null)
		(void)0;
	else if (spec->is_array)
		put_array(out, argument);
	else if (sonde_argument_type_is_text(spec->type))
		put_text(out, argument);
	else if ((spec->type != SONDE_ARGUMENT_CHAR && spec->type != SONDE_ARGUMENT_WCHAR) ||
		 !put_character(out, argument->value.u64))
		put_number(out, spec->type, argument->value);
	sonde_protobuf_end(out, start);
}

enum sonde_status perfetto_put_arguments(const struct perfetto_writer *writer,
					 struct perfetto_track *track,
					 const struct sonde_detail *detail, struct sonde_error *err)
{
	struct sonde_arguments arguments = { .bytes = detail->bytes, .size = detail->size };
	struct sonde_argument argument;
	struct perfetto_type *type;
	enum sonde_status status;
	uint64_t iid;

	status = find_type(writer, track, detail->event_type, &type, err);
	if (status)
		return status;
	if (!type) {
		track->losses[PERFETTO_LOSS_SURPLUS]++;
		return SONDE_OK;
	}
	arguments.signature = type->signature;
	iid = type->first;
	while (!(status = sonde_arguments_next(&arguments, &argument, err)))
		put_annotation(&track->extra, iid++, &argument);
	if (status != SONDE_END && status != SONDE_CORRUPT)
		return status;
	track->losses[PERFETTO_LOSS_TYPES] += type->narrowed;
	track->losses[PERFETTO_LOSS_SURPLUS] += status == SONDE_CORRUPT ||
						arguments.position < detail->size;
	return SONDE_OK;
}
