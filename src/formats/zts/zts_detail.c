/* SPDX-License-Identifier: Apache-2.0 */
/* Details of calls and of exceptions: packed arguments, made when they are asked for. */
#include <stdlib.h>

#include "base/uuid.h"
#include "formats/zts/zts_json.h"
#include "formats/zts/zts_read.h"
#include "model/arguments.h"

static void put_number(struct sonde_buffer *out, enum sonde_argument_type type, uint64_t value)
{
	sonde_arguments_put_number(out, type, (union sonde_argument_value){ .u64 = value });
}

/* Where a byte of the joined content lies: the chunk, and the place in its content. */
static void find_place(const struct zts_loaded *loaded, uint32_t offset, uint64_t *data_offset,
		       uint32_t *start_offset)
{
	size_t low = 0, high = loaded->joined.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (loaded->joined.items[middle].content_offset <= offset)
			low = middle;
		else
			high = middle;
	}
	*data_offset = loaded->joined.items[low].data_offset;
	*start_offset = offset - (uint32_t)loaded->joined.items[low].content_offset;
}

static const struct zts_slot *find_inner(const struct zts_reading *reading, uint64_t data_offset,
					 uint32_t start_offset)
{
	size_t low = 0, high = reading->inner.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct zts_inner_slot *inner = &reading->inner.items[middle];

		if (inner->data_offset == data_offset && inner->start_offset == start_offset)
			return &reading->part->slots.list.items[inner->slot];
		if (inner->data_offset < data_offset ||
		    (inner->data_offset == data_offset && inner->start_offset < start_offset))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The slot of the trace that begins with a record; NULL where none does. */
static const struct zts_slot *find_slot(const struct zts_reading *reading, uint32_t slot,
					const struct zts_loaded *loaded, uint32_t record)
{
	uint64_t data_offset;
	uint32_t start_offset;

	if (record == loaded->root)
		return &reading->part->slots.list.items[slot];
	if (loaded->tree.records.items[record].trace == SONDE_NONE || !loaded->joined.count)
		return NULL;
	find_place(loaded, loaded->tree.records.items[record].offset, &data_offset, &start_offset);
	return find_inner(reading, data_offset, start_offset);
}

static void put_uuid(struct sonde_buffer *out, const struct zts_slot *slot)
{
	char text[SONDE_UUID_SIZE];

	if (!slot) {
		sonde_arguments_put_text(out, "", 0);
		return;
	}
	sonde_uuid_format(slot->uuid, text);
	sonde_arguments_put_text(out, text, SONDE_UUID_LENGTH);
}

/* In our stores a type is a text, in others a number of a registry elsewhere. */
static void put_type(struct sonde_buffer *out, struct zts_part *part,
		     const struct zts_identity *identity, struct sonde_buffer *scratch)
{
	sonde_buffer_clear(scratch);
	if (identity && identity->has_type && identity->type) {
		if (part->has_names)
			zts_texts_put_name(part->texts, identity->type, scratch);
		else
			sonde_buffer_put_u64(scratch, identity->type);
	}
	sonde_arguments_put_text(out, scratch->size ? scratch->data : "", scratch->size);
}

static enum sonde_status finish(struct sonde_buffer *out, struct sonde_buffer *json,
				struct sonde_buffer *scratch, struct sonde_error *err)
{
	bool failed = out->failed || json->failed || scratch->failed;

	sonde_buffer_release(json);
	sonde_buffer_release(scratch);
	return failed ? sonde_fail_nomem(err) : SONDE_OK;
}

enum sonde_status zts_detail_call(struct zts_recording *data, uint32_t part, uint32_t slot,
				  const struct zts_loaded *loaded, uint32_t record,
				  struct sonde_buffer *out, struct sonde_error *err)
{
	struct zts_reading *reading = &data->parts[part];
	const struct zts_record *of = &loaded->tree.records.items[record];
	const struct zts_identity *identity =
		of->identity == SONDE_NONE ? NULL : &loaded->tree.identities.items[of->identity];
	struct sonde_buffer json = { 0 }, scratch = { 0 };
	struct sonde_json_writer writer;

	sonde_json_writer_init(&writer, &json, false);
	pthread_mutex_lock(&data->lock);
	zts_json_put_attributes(reading->part->texts, &loaded->tree, record, reading->ns_key,
				&writer, &scratch);
	sonde_arguments_put_text(out, json.data, json.size);
	put_number(out, SONDE_ARGUMENT_UINT64, identity ? identity->span : 0);
	put_number(out, SONDE_ARGUMENT_UINT64, identity ? identity->parent : 0);
	put_uuid(out, find_slot(reading, slot, loaded, record));
	put_type(out, reading->part, identity, &scratch);
	put_number(out, SONDE_ARGUMENT_UINT32, of->flags);
	put_number(out, SONDE_ARGUMENT_UINT64, of->calls);
	out->failed |= zts_texts_failed(reading->part->texts);
	pthread_mutex_unlock(&data->lock);
	return finish(out, &json, &scratch, err);
}

/* One of the four fields of an exception; JSON text where it is no string. */
static void put_member(struct sonde_json_reader *json, struct sonde_buffer *out, bool is_text,
		       struct sonde_buffer *scratch)
{
	sonde_buffer_clear(scratch);
	if (is_text) {
		if (sonde_json_next(json, NULL) == SONDE_OK && json->token == SONDE_JSON_STRING)
			sonde_buffer_put(scratch, json->text, json->length);
	} else if (sonde_json_copy(json, scratch, NULL) != SONDE_OK) {
		sonde_buffer_clear(scratch);
	}
	sonde_arguments_put_text(out, scratch->size ? scratch->data : "", scratch->size);
}

/* class, message, stack and cause out of the object that zts_json_put_exception() made. */
static void pack_exception(const struct sonde_buffer *object, struct sonde_buffer *out,
			   struct sonde_buffer *scratch)
{
	struct sonde_json_reader json;

	sonde_json_reader_init(&json, object->data, object->size, NULL, NULL);
	if (sonde_json_next(&json, NULL) == SONDE_OK && json.token == SONDE_JSON_OBJECT_BEGIN) {
		for (int i = 0; i < 4; i++) {
			sonde_json_next(&json, NULL); /* the key */
			put_member(&json, out, i < 2, scratch);
		}
	} else {
		/* a text of another kind, or a lost one: its name in place of the class */
		sonde_arguments_put_text(out, json.token == SONDE_JSON_STRING ? json.text : "",
					 json.token == SONDE_JSON_STRING ? json.length : 0);
		sonde_arguments_put_text(out, "", 0);
		sonde_arguments_put_text(out, "[]", 2);
		sonde_arguments_put_text(out, "null", 4);
	}
	sonde_json_reader_release(&json);
}

enum sonde_status zts_detail_exception(struct zts_recording *data, uint32_t part,
				       const struct zts_loaded *loaded, uint32_t record,
				       struct sonde_buffer *out, struct sonde_error *err)
{
	struct zts_texts *texts = data->parts[part].part->texts;
	const struct zts_record *of = &loaded->tree.records.items[record];
	struct sonde_buffer json = { 0 }, scratch = { 0 };
	struct sonde_json_writer writer;

	sonde_json_writer_init(&writer, &json, false);
	pthread_mutex_lock(&data->lock);
	if (of->exception)
		zts_json_put_exception(texts, of->exception, &writer, &scratch);
	else
		zts_json_put_inline_exception(texts, &loaded->tree, of->inline_exception, &writer,
					      &scratch);
	out->failed |= zts_texts_failed(texts);
	pthread_mutex_unlock(&data->lock);
	if (!json.failed)
		pack_exception(&json, out, &scratch);
	return finish(out, &json, &scratch, err);
}
