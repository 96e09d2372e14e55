/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of an agent into a store: the call tree as it comes, every id of the agent's replaced by
 * one of the store. All is gone through twice, first without a writer, so that nothing is stored of
 * data that is damaged or whose ids are not all defined.
 */
#include "base/now.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "formats/zts/zts_put_value.h"
#include "formats/zts/zts_tree.h"
#include "store/agent.h"

#define LAST_MS (UINT64_C(4294967295) * 1000) /* what the seconds of a slot (32 bits) can say */
#define MOST_FRAMES 4096
#define SHALLOW 64 /* levels of what is skipped over */

struct known_exception {
	uint64_t id; /* the agent's */
	uint32_t stored;
};

struct translation {
	struct sonde_agent *agent;
	struct zts_writer *writer; /* NULL: only looking */
	struct zts_tree tree;
	struct sonde_buffer cbor, scratch;
	SONDE_VEC(struct known_exception) exceptions; /* of the trace */
	struct sonde_key_map exception_ids;	      /* to a place there */
	SONDE_VEC(uint32_t) frames;
	struct sonde_ingest_result *result;
	struct sonde_error *err;
};

/* SONDE_ARGUMENT, which asks the agent for its definitions. */
static enum sonde_status undefined(struct translation *translation, const char *what, uint64_t id)
{
	return sonde_fail(translation->err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "the %s %llu is not defined; send the definitions again", what,
			  (unsigned long long)id);
}

static enum sonde_status unexpected(struct translation *translation, const char *expected)
{
	return sonde_fail(translation->err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected %s, found something else in a trace of an agent", expected);
}

/* The store's id for a string of the agent; asked of the writer once a request. */
static enum sonde_status translate_string(struct translation *translation, uint64_t id,
					  uint32_t *stored)
{
	struct agent_string *string;

	*stored = 0;
	if (!id)
		return SONDE_OK;
	string = agent_find_string(translation->agent, id);
	if (!string)
		return undefined(translation, "string", id);
	if (!translation->writer)
		return SONDE_OK;
	if (string->request != translation->agent->request) {
		string->stored = zts_writer_text(translation->writer, string->kind, string->text,
						 string->size);
		string->request = translation->agent->request;
	}
	*stored = string->stored;
	return SONDE_OK;
}

static enum sonde_status translate_method(struct translation *translation, uint64_t id,
					  uint32_t *stored)
{
	struct agent_method *method = agent_find_method(translation->agent, id);
	uint32_t class_id, name, signature;
	enum sonde_status status;

	*stored = 0;
	if (!method)
		return undefined(translation, "method", id);
	if (translation->writer && method->request == translation->agent->request) {
		*stored = method->stored;
		return SONDE_OK;
	}
	status = translate_string(translation, method->class_id, &class_id);
	if (status >= 0)
		status = translate_string(translation, method->name, &name);
	if (status >= 0)
		status = translate_string(translation, method->signature, &signature);
	if (status < 0 || !translation->writer)
		return status;
	method->stored = zts_writer_method(translation->writer, class_id, name, signature);
	method->request = translation->agent->request;
	*stored = method->stored;
	return SONDE_OK;
}

/* A text in the data itself. */
static enum sonde_status translate_text(struct translation *translation, enum zts_text_kind kind,
					const uint8_t *text, uint64_t size, uint32_t *stored)
{
	*stored = 0;
	if (size > AGENT_LONGEST_TEXT)
		return sonde_fail(translation->err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a text of %llu bytes; at most %zu are taken",
				  (unsigned long long)size, AGENT_LONGEST_TEXT);
	if (!translation->writer)
		return SONDE_OK;
	if (!sonde_utf8_valid((const char *)text, size))
		translation->result->mended++; /* readers show U+FFFD for what is bad in it */
	*stored = zts_writer_text(translation->writer, kind, (const char *)text, size);
	return SONDE_OK;
}

/* --- values --- */

static enum sonde_status translate_value(struct translation *translation, struct sonde_bytes *bytes,
					 unsigned int depth);

/* How many items come before the break of an array or map without a count. */
static enum sonde_status count_items(struct translation *translation, struct sonde_bytes bytes,
				     uint64_t *count)
{
	struct agent_array array = { .indefinite = true };
	enum sonde_status status;

	*count = 0;
	while (!(status = agent_more(&bytes, &array, translation->err))) {
		status = sonde_cbor_skip(&bytes, SHALLOW, translation->err);
		if (status)
			return status < 0 ? status : unexpected(translation, "an item");
		++*count;
	}
	return status < 0 ? status : SONDE_OK;
}

static enum sonde_status translate_container(struct translation *translation,
					     struct sonde_bytes *bytes,
					     const struct sonde_cbor_item *item, unsigned int depth)
{
	unsigned int width = item->type == SONDE_CBOR_MAP ? 2 : 1;
	uint64_t count = item->value * width;
	enum sonde_status status = SONDE_OK;

	if (depth == AGENT_NESTING)
		return sonde_fail(translation->err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a value with more than %u arrays and maps in each other",
				  AGENT_NESTING);
	if (item->indefinite)
		status = count_items(translation, *bytes, &count);
	if (status < 0)
		return status;
	if (count % width)
		return unexpected(translation, "pairs in a map");
	sonde_cbor_put_head(&translation->cbor, item->type, count / width);
	for (uint64_t i = 0; i < count && status >= 0; i++)
		status = translate_value(translation, bytes, depth + 1);
	if (status >= 0 && item->indefinite)
		bytes->position++; /* the break */
	return status;
}

static enum sonde_status translate_number_like(struct translation *translation,
					       const struct sonde_cbor_item *item)
{
	struct sonde_buffer *cbor = &translation->cbor;

	if (item->type == SONDE_CBOR_FLOAT && translation->writer)
		zts_put_double(translation->writer, cbor, item->number);
	else if (item->type == SONDE_CBOR_SIMPLE)
		sonde_cbor_put_simple(cbor, item->value >= 20 && item->value <= 22 ?
						    (unsigned int)item->value :
						    22u);
	else if (item->type == SONDE_CBOR_UINT || item->type == SONDE_CBOR_NEGATIVE)
		sonde_cbor_put_head(cbor, item->type, item->value);
	return SONDE_OK;
}

/* One item, appended to `cbor` with ids of the store. */
static enum sonde_status translate_value(struct translation *translation, struct sonde_bytes *bytes,
					 unsigned int depth)
{
	struct sonde_cbor_item item;
	enum sonde_status status;
	bool is_string = false;
	uint32_t stored;

	do {
		status = agent_next(bytes, &item, translation->err);
		if (status < 0)
			return status;
		if (item.type == SONDE_CBOR_TAG)
			is_string = item.value == ZTS_TAG_STRING;
	} while (item.type == SONDE_CBOR_TAG);
	if (is_string && item.type == SONDE_CBOR_UINT) {
		status = translate_string(translation, item.value, &stored);
		zts_put_text_id(&translation->cbor, stored);
		return status;
	}
	switch (item.type) {
	case SONDE_CBOR_ARRAY:
	case SONDE_CBOR_MAP:
		return translate_container(translation, bytes, &item, depth);
	case SONDE_CBOR_TEXT:
		if (item.indefinite)
			return unexpected(translation, "a text in one piece");
		status = translate_text(translation, ZTS_TEXT_STRING, item.bytes, item.value,
					&stored);
		zts_put_text_id(&translation->cbor, stored);
		return status;
	case SONDE_CBOR_BYTES:
		if (item.indefinite || item.value > AGENT_LONGEST_TEXT)
			return unexpected(translation, "bytes in one piece, 1 MiB at most");
		if (translation->writer)
			zts_put_bytes(translation->writer, &translation->cbor,
				      &translation->scratch, item.bytes, item.value);
		return SONDE_OK;
	case SONDE_CBOR_BREAK:
	case SONDE_CBOR_TAG:
		return unexpected(translation, "a value");
	default:
		return translate_number_like(translation, &item);
	}
}

/* What the writer has types of its own for is not left as CBOR: it is indexed by its value. */
static struct zts_value make_value(struct translation *translation)
{
	struct sonde_bytes bytes = sonde_bytes_of(translation->cbor.data, translation->cbor.size);
	struct zts_value value = { .kind = ZTS_VALUE_CBOR, .cbor = bytes.data, .size = bytes.size };
	struct sonde_cbor_item item = { 0 };

	if (sonde_cbor_next(&bytes, &item, NULL))
		return value;
	if (item.type == SONDE_CBOR_TAG && !sonde_cbor_next(&bytes, &item, NULL)) {
		value.kind = ZTS_VALUE_STRING;
		value.string = (uint32_t)item.value;
	} else if (item.type == SONDE_CBOR_UINT && item.value <= INT64_MAX) {
		value.kind = ZTS_VALUE_INT;
		value.number = (int64_t)item.value;
	} else if (item.type == SONDE_CBOR_NEGATIVE && item.value <= INT64_MAX) {
		value.kind = ZTS_VALUE_INT;
		value.number = -1 - (int64_t)item.value;
	} else if (item.type == SONDE_CBOR_SIMPLE) {
		value.kind = item.value == 22 ? ZTS_VALUE_NULL : ZTS_VALUE_BOOL;
		value.number = item.value == 21;
	}
	return value;
}

static enum sonde_status put_attributes(struct translation *translation, uint32_t record)
{
	struct zts_attribute_cursor cursor = { .tree = &translation->tree, .record = record };
	enum sonde_status status;

	while (!(status = zts_attribute_next(&cursor, translation->err))) {
		struct zts_value value;
		uint32_t key;

		if (cursor.key_text)
			status = translate_text(translation, ZTS_TEXT_STRING, cursor.key_text,
						cursor.key_size, &key);
		else
			status = translate_string(translation, cursor.key, &key);
		if (status < 0)
			return status;
		sonde_buffer_clear(&translation->cbor);
		status = translate_value(translation, &cursor.value, 0);
		if (status < 0)
			return status;
		if (translation->cbor.failed)
			return sonde_fail_nomem(translation->err);
		if (!translation->writer)
			continue;
		value = make_value(translation);
		zts_writer_attribute(translation->writer, key, &value);
	}
	return status < 0 ? status : SONDE_OK;
}

/* --- exceptions --- */

static enum sonde_status next_untagged(struct translation *translation, struct sonde_bytes *bytes,
				       struct sonde_cbor_item *item)
{
	enum sonde_status status;

	do {
		status = agent_next(bytes, item, translation->err);
	} while (status >= 0 && item->type == SONDE_CBOR_TAG);
	return status;
}

/* A string of the agent, a text, or null. */
static enum sonde_status read_reference(struct translation *translation, struct sonde_bytes *bytes,
					enum zts_text_kind kind, uint32_t *stored)
{
	struct sonde_cbor_item item;
	enum sonde_status status;

	*stored = 0;
	status = next_untagged(translation, bytes, &item);
	if (status < 0)
		return status;
	if (item.type == SONDE_CBOR_UINT)
		return translate_string(translation, item.value, stored);
	if (item.type == SONDE_CBOR_TEXT && !item.indefinite)
		return translate_text(translation, kind, item.bytes, item.value, stored);
	if (item.type == SONDE_CBOR_SIMPLE)
		return SONDE_OK;
	return unexpected(translation, "a string of an exception");
}

static enum sonde_status read_number(struct translation *translation, struct sonde_bytes *bytes,
				     uint64_t *number)
{
	struct sonde_cbor_item item;
	enum sonde_status status;

	status = next_untagged(translation, bytes, &item);
	if (status < 0)
		return status;
	*number = item.type == SONDE_CBOR_UINT ? item.value : 0;
	if (item.type == SONDE_CBOR_UINT || item.type == SONDE_CBOR_NEGATIVE ||
	    item.type == SONDE_CBOR_SIMPLE)
		return SONDE_OK;
	return unexpected(translation, "a number of an exception");
}

/* [class, method, file, line] */
static enum sonde_status read_frame(struct translation *translation, struct sonde_bytes *bytes)
{
	uint32_t class_id = 0, method = 0, file = 0, *frame;
	enum sonde_status status;
	struct agent_array array;
	uint64_t line = 0;

	status = agent_open_array(bytes, &array, translation->err);
	if (status < 0)
		return status;
	if (!array.indefinite && array.left != 4)
		return unexpected(translation, "a frame of four items");
	status = read_reference(translation, bytes, ZTS_TEXT_CLASS, &class_id);
	if (status >= 0)
		status = read_reference(translation, bytes, ZTS_TEXT_METHOD_NAME, &method);
	if (status >= 0)
		status = read_reference(translation, bytes, ZTS_TEXT_STRING, &file);
	if (status >= 0)
		status = read_number(translation, bytes, &line);
	if (status >= 0 && array.indefinite)
		status = agent_more(bytes, &array, translation->err) == SONDE_END ?
				 SONDE_OK :
				 unexpected(translation, "a frame of four items");
	if (status < 0 || !translation->writer || translation->frames.count == MOST_FRAMES)
		return status;
	frame = sonde_vec_push(&translation->frames);
	if (!frame)
		return sonde_fail_nomem(translation->err);
	*frame = zts_writer_frame(translation->writer, class_id, method, file,
				  line > UINT32_MAX ? 0 : (uint32_t)line);
	return SONDE_OK;
}

static enum sonde_status read_stack(struct translation *translation, struct sonde_bytes *bytes,
				    uint32_t *stack)
{
	enum sonde_status status;
	struct agent_array array;

	translation->frames.count = 0;
	*stack = 0;
	status = agent_open_array(bytes, &array, translation->err);
	while (status >= 0 && !(status = agent_more(bytes, &array, translation->err)))
		status = read_frame(translation, bytes);
	if (status < 0)
		return status;
	if (translation->frames.count)
		*stack = zts_writer_stack(translation->writer, translation->frames.items,
					  translation->frames.count);
	return SONDE_OK;
}

/* 0 where it is not known: that is no reason to lose the trace. */
static uint32_t find_exception(struct translation *translation, uint64_t id)
{
	uint32_t place = sonde_key_map_find(&translation->exception_ids, id);

	if (place != SONDE_NONE)
		return translation->exceptions.items[place].stored;
	if (translation->writer)
		translation->result->mended++;
	return 0;
}

static enum sonde_status keep_exception(struct translation *translation, uint64_t id,
					uint32_t stored)
{
	uint32_t place = sonde_key_map_find(&translation->exception_ids, id);
	struct known_exception *known;

	if (place != SONDE_NONE) {
		translation->exceptions.items[place].stored = stored;
		return SONDE_OK;
	}
	known = sonde_vec_push(&translation->exceptions);
	if (!known || !sonde_key_map_add(&translation->exception_ids, id,
					 (uint32_t)translation->exceptions.count - 1))
		return sonde_fail_nomem(translation->err);
	*known = (struct known_exception){ .id = id, .stored = stored };
	return SONDE_OK;
}

/* [id, class, message, cause, stack] */
static enum sonde_status read_exception(struct translation *translation,
					const struct zts_inline_exception *place, uint32_t *stored)
{
	struct sonde_bytes bytes =
		sonde_bytes_of(translation->tree.bytes + place->offset, place->size);
	uint32_t class_id = 0, message = 0, stack = 0;
	uint64_t id = 0, cause = 0;
	enum sonde_status status;
	struct agent_array array;

	status = agent_open_array(&bytes, &array, translation->err);
	if (status >= 0)
		status = read_number(translation, &bytes, &id);
	if (status >= 0)
		status = read_reference(translation, &bytes, ZTS_TEXT_CLASS, &class_id);
	if (status >= 0)
		status = read_reference(translation, &bytes, ZTS_TEXT_STRING, &message);
	if (status >= 0)
		status = read_number(translation, &bytes, &cause);
	if (status >= 0)
		status = read_stack(translation, &bytes, &stack);
	if (status < 0 || !translation->writer)
		return status;
	*stored = zts_writer_exception(translation->writer, class_id, message, stack,
				       cause ? find_exception(translation, cause) : 0);
	return keep_exception(translation, id, *stored);
}

static enum sonde_status translate_exception(struct translation *translation,
					     const struct zts_record *record, uint32_t *stored)
{
	*stored = 0;
	if (record->inline_exception != SONDE_NONE)
		return read_exception(translation,
				      &translation->tree.exceptions.items[record->inline_exception],
				      stored);
	if (record->exception && translation->writer)
		*stored = find_exception(translation, record->exception);
	return SONDE_OK;
}

/* --- records --- */

static enum sonde_status open_record(struct translation *translation, uint32_t position,
				     bool is_first)
{
	const struct zts_record *record = &translation->tree.records.items[position];
	struct zts_record_head head = {
		.has_ticks = true,
		.start = record->start,
		.begins_trace = is_first || record->trace != SONDE_NONE,
	};
	enum sonde_status status;

	status = translate_method(translation, record->method, &head.method);
	if (status < 0)
		return status;
	if (record->trace != SONDE_NONE) {
		const struct zts_trace_start *start =
			&translation->tree.traces.items[record->trace];

		head.timestamp_ms = start->timestamp_ms;
		if (start->timestamp_ms > LAST_MS)
			return unexpected(translation, "a time before the year 2106");
		if (start->has_type)
			status = translate_string(translation, start->type, &head.type);
		head.span = start->span;
		head.parent = start->parent;
	} else if (is_first) {
		head.timestamp_ms = sonde_now_ns(CLOCK_REALTIME) / 1000000;
		translation->result->mended += translation->writer != NULL;
	}
	if (status < 0)
		return status;
	if (translation->writer)
		zts_writer_begin_record(translation->writer, &head);
	return SONDE_OK;
}

static enum sonde_status close_record(struct translation *translation, uint32_t position)
{
	const struct zts_record *record = &translation->tree.records.items[position];
	uint32_t exception, flags = record->flags;
	enum sonde_status status;
	uint64_t stop = record->stop;

	status = translate_exception(translation, record, &exception);
	if (status < 0 || !translation->writer)
		return status;
	if (stop < record->start) {
		stop = record->start;
		translation->result->mended++;
	}
	if (exception || record->exception)
		flags |= ZTS_RECORD_ERROR;
	zts_writer_end_record(translation->writer, stop, record->calls, exception, flags);
	return SONDE_OK;
}

/* The agent's own attributes, in the first record of every trace. */
static void put_agent_attributes(struct translation *translation)
{
	const struct sonde_agent *agent = translation->agent;
	struct zts_writer *writer = translation->writer;

	for (size_t i = 0; i < agent->attributes.count; i++) {
		const struct agent_attribute *attribute = &agent->attributes.items[i];
		struct zts_value value = { .kind = ZTS_VALUE_STRING };
		uint32_t key = zts_writer_text(writer, ZTS_TEXT_STRING, attribute->key,
					       strlen(attribute->key));

		value.string = zts_writer_text(writer, ZTS_TEXT_STRING, attribute->value,
					       strlen(attribute->value));
		zts_writer_attribute(writer, key, &value);
	}
}

/* The records of one top-level record's tree. */
static enum sonde_status put_records(struct translation *translation, uint32_t first)
{
	const struct zts_record *records = translation->tree.records.items;
	uint32_t end = first + records[first].records, at = first;
	enum sonde_status status = SONDE_OK;

	for (uint32_t next = first; next < end && status >= 0; next++) {
		while (status >= 0 && next != first && at != records[next].parent) {
			status = close_record(translation, at);
			at = records[at].parent;
		}
		if (status >= 0)
			status = open_record(translation, next, next == first);
		if (status >= 0)
			status = put_attributes(translation, next);
		if (status >= 0 && next == first && translation->writer)
			put_agent_attributes(translation);
		at = next;
	}
	for (;; at = records[at].parent) {
		if (status >= 0)
			status = close_record(translation, at);
		if (at == first || status < 0)
			return status;
	}
}

static uint32_t intern_name(struct translation *translation, const char *name)
{
	return zts_writer_text(translation->writer, ZTS_TEXT_STRING, name, strlen(name));
}

static void begin_trace(struct translation *translation, const uint64_t uuid[2], uint32_t first)
{
	struct zts_trace_head head = {
		.app = intern_name(translation, translation->agent->app),
		.env = intern_name(translation, translation->agent->env),
		.host = intern_name(translation, translation->agent->host),
	};

	head.uuid[0] = uuid[0];
	head.uuid[1] = uuid[1];
	if (first)
		sonde_uuid_derive(uuid, first, head.uuid);
	zts_writer_begin_trace(translation->writer, &head);
}

static void forget_exceptions(struct translation *translation)
{
	sonde_key_map_release(&translation->exception_ids);
	translation->exceptions.count = 0;
}

/* All trees from record *next on. */
static enum sonde_status put_trees(struct translation *translation, const uint64_t uuid[2],
				   uint32_t *next)
{
	const struct zts_tree *tree = &translation->tree;
	enum sonde_status status = SONDE_OK;

	while (*next < tree->records.count) {
		uint32_t records = tree->records.items[*next].records;

		forget_exceptions(translation);
		if (translation->writer)
			begin_trace(translation, uuid, *next);
		status = put_records(translation, *next);
		if (status >= 0 && translation->writer)
			status = zts_writer_end_trace(translation->writer, translation->err);
		else if (translation->writer)
			zts_writer_abandon_trace(translation->writer);
		if (status < 0)
			return status;
		*next += records;
		if (!translation->writer)
			continue;
		translation->result->traces++;
		translation->result->records += records;
	}
	return SONDE_OK;
}

static enum sonde_status store_trees(struct translation *translation, struct sonde_store *store,
				     const uint64_t uuid[2], uint64_t *ticket)
{
	struct sonde_error failure = { .status = SONDE_IO };
	unsigned int stuck = 0;
	enum sonde_status status;
	uint32_t next = 0, before;

	/* all trees or none, as far as one part holds them: see put_trees() of ingest_otlp.c */
	do {
		before = next;
		status = sonde_store_begin(store, &translation->writer, translation->err);
		if (status < 0)
			return status;
		translation->agent->request++; /* ids of another part are others */
		status = put_trees(translation, uuid, &next);
		if (status < 0 && status != SONDE_LIMIT && next > before)
			zts_writer_give_up(translation->writer,
					   translation->err ? translation->err : &failure);
		sonde_store_end(store, ticket);
		stuck = next > before ? 0 : stuck + 1;
	} while (status == SONDE_LIMIT && stuck < 2);
	if (status == SONDE_LIMIT)
		return sonde_fail(translation->err, SONDE_IO, SONDE_NO_OFFSET,
				  "a trace does not even fit into a new part of the store");
	return status;
}

static enum sonde_status decode(struct translation *translation, const void *body, size_t size)
{
	enum sonde_status status;

	status = zts_tree_decode(&translation->tree, body, size, translation->err);
	if (status < 0)
		return status;
	if (translation->tree.open)
		return sonde_fail(translation->err, SONDE_TRUNCATED, size,
				  "expected the end of a record, found the end of the data; a "
				  "trace has to come in one request");
	return SONDE_OK;
}

static void make_uuid(struct sonde_agent *agent, const char *text, uint64_t uuid[2])
{
	uint64_t seed[2] = { (uintptr_t)agent, sonde_now_ns(CLOCK_REALTIME) };

	if (!text || !sonde_uuid_parse(text, strlen(text), uuid))
		sonde_uuid_derive(seed, agent->request, uuid);
}

enum sonde_status sonde_agent_traces(struct sonde_agent *agent, struct sonde_store *store,
				     const char *trace_uuid, const void *body, size_t size,
				     struct sonde_ingest_result *result, uint64_t *ticket,
				     struct sonde_error *err)
{
	struct translation translation = { .agent = agent, .result = result, .err = err };
	enum sonde_status status;
	uint64_t uuid[2];
	uint32_t next = 0;

	*result = (struct sonde_ingest_result){ 0 };
	*ticket = 0;
	make_uuid(agent, trace_uuid, uuid);
	status = decode(&translation, body, size);
	if (status >= 0)
		status = put_trees(&translation, uuid, &next);
	if (status >= 0 && next)
		status = store_trees(&translation, store, uuid, ticket);
	zts_tree_release(&translation.tree);
	sonde_buffer_release(&translation.cbor);
	sonde_buffer_release(&translation.scratch);
	sonde_vec_release(&translation.exceptions);
	sonde_vec_release(&translation.frames);
	sonde_key_map_release(&translation.exception_ids);
	return status;
}
