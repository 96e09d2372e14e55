/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script decides what happens, call by call; a target does something with it. One target writes,
 * the other one walks through a loaded tree and compares.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/definitions.h>

#include "../random.h"
#include "base/cbor.h"
#include "formats/zts/zts_put_value.h"
#include "zts_script.h"

#define START_NS 1600000000123456789u
#define MAX_DEPTH 12
#define UUID_MARK 0x5c91970000000000u
#define TEXT_SIZE 4096

struct call {
	char class_name[64], method[32], signature[32], type[16];
	uint64_t start;
	uint64_t span, parent;
	bool begins_trace;
};

struct attribute {
	enum zts_value_kind kind;
	char key[32];
	int64_t number;
	char text[TEXT_SIZE];
	size_t size;
};

struct end {
	uint64_t stop;
	char exception[64], message[64]; /* "" none */
	uint32_t line;
	uint32_t flags;
};

struct target {
	void (*begin)(struct target *target, const struct call *call);
	void (*put)(struct target *target, const struct attribute *attribute);
	void (*finish)(struct target *target, const struct end *end);
	/* writing */
	struct zts_writer *writer;
	bool failed; /* no memory for what is to be written */
	/* comparing */
	struct zts_part *part;
	struct zts_loaded *loaded;
	uint32_t next;
	uint64_t trace_ns; /* when ticks count from */
	uint64_t first_start;
	struct {
		uint32_t record;
		uint64_t start;
		struct zts_attribute_cursor cursor;
	} open[MAX_DEPTH + 2];
	char *difference;
	/* both */
	unsigned int depth;
	const struct script_options *options;
};

struct script {
	struct target *target;
	const struct script_options *options;
	uint64_t random;
	uint64_t now;
	uint32_t left;
};

static uint32_t pick(struct script *script, uint32_t below)
{
	return next_random(&script->random, below);
}

void script_uuid(uint64_t number, uint64_t uuid[2])
{
	uuid[0] = UUID_MARK | (number & 0xffffff);
	uuid[1] = number;
}

bool script_number(const uint64_t uuid[2], uint64_t *number)
{
	*number = uuid[1];
	return uuid[0] == (UUID_MARK | (*number & 0xffffff));
}

static void put_large(struct script *script, struct attribute *attribute)
{
	attribute->kind = ZTS_VALUE_STRING;
	attribute->size = 1000 + pick(script, TEXT_SIZE - 1000);
	for (size_t i = 0; i < attribute->size; i++)
		attribute->text[i] = (char)('a' + pick(script, 26));
}

static void put_attribute(struct script *script)
{
	static const char odd[] = "tab\there\nzero\0one\1two\2three\3all\xff";
	struct attribute attribute = { .kind = ZTS_VALUE_NULL };

	snprintf(attribute.key, sizeof(attribute.key), "key.%u", pick(script, 12));
	if (script->options->large) {
		put_large(script, &attribute);
		script->target->put(script->target, &attribute);
		return;
	}
	switch (pick(script, 7)) {
	case 0:
		break;
	case 1:
		attribute.kind = ZTS_VALUE_BOOL;
		attribute.number = pick(script, 2);
		break;
	case 2:
		attribute.kind = ZTS_VALUE_INT;
		attribute.number = (int64_t)script->random >> pick(script, 64);
		break;
	case 3:
		attribute.kind = ZTS_VALUE_STRING;
		memcpy(attribute.text, odd, sizeof(odd) - 1);
		attribute.size = sizeof(odd) - 1;
		break;
	case 4:
		attribute.kind = ZTS_VALUE_CBOR;
		attribute.number = pick(script, 5);
		break;
	default:
		attribute.kind = ZTS_VALUE_STRING;
		attribute.size = (size_t)snprintf(attribute.text, sizeof(attribute.text),
						  "value %u", pick(script, 40));
		break;
	}
	script->target->put(script->target, &attribute);
}

static void advance(struct script *script)
{
	script->now += script->options->use_ticks ? pick(script, 40) : pick(script, 3000000);
}

static void run_call(struct script *script, unsigned int depth, bool is_first)
{
	struct call call = { .start = script->now, .begins_trace = is_first };
	struct end end = { 0 };

	snprintf(call.class_name, sizeof(call.class_name), "org.example.Class%u", pick(script, 9));
	snprintf(call.method, sizeof(call.method), "method%u", pick(script, 30));
	snprintf(call.signature, sizeof(call.signature), "(I)V");
	if (!is_first && !script->options->no_inner_traces && !pick(script, 12))
		call.begins_trace = true;
	if (call.begins_trace)
		snprintf(call.type, sizeof(call.type), "TYPE%u", pick(script, 3));
	if (!pick(script, 3)) {
		call.span = script->random | 1;
		call.parent = pick(script, 2) ? script->random >> 7 | 1 : 0;
	}
	script->target->begin(script->target, &call);
	for (uint32_t i = pick(script, 4); i; i--)
		put_attribute(script);
	while (script->left && depth < MAX_DEPTH && pick(script, 3)) {
		script->left--;
		advance(script);
		run_call(script, depth + 1, false);
		if (!pick(script, 8))
			put_attribute(script);
	}
	advance(script);
	end.stop = script->now;
	if (!pick(script, 10)) {
		snprintf(end.exception, sizeof(end.exception), "org.example.Fault%u",
			 pick(script, 3));
		snprintf(end.message, sizeof(end.message), "went wrong %u", pick(script, 5));
		end.line = pick(script, 100);
		end.flags = ZTS_RECORD_ERROR;
	}
	script->target->finish(script->target, &end);
}

static void run(struct target *target, uint64_t number, const struct script_options *options)
{
	struct script script = { .target = target,
				 .options = options,
				 .random = number * 0x9e3779b97f4a7c15u + 12345,
				 .left = options->calls ? options->calls : 20 };

	target->options = options;
	script.now = options->use_ticks ? number % 1000 : START_NS + number * 10000019;
	target->trace_ns = START_NS / 1000000 * 1000000 + number * 1000000;
	target->first_start = script.now;
	run_call(&script, 0, true);
}

/* Writing. */

static uint32_t text(struct target *target, enum zts_text_kind kind, const char *bytes)
{
	return zts_writer_text(target->writer, kind, bytes, strlen(bytes));
}

static void write_begin(struct target *target, const struct call *call)
{
	struct zts_record_head head = {
		.method = zts_writer_method(target->writer,
					    text(target, ZTS_TEXT_CLASS, call->class_name),
					    text(target, ZTS_TEXT_METHOD_NAME, call->method),
					    text(target, ZTS_TEXT_SIGNATURE, call->signature)),
		.has_ticks = target->options->use_ticks,
		.start = call->start,
		.begins_trace = call->begins_trace,
		.timestamp_ms = target->trace_ns / 1000000 +
				(call->start - target->first_start) * ZTS_TICK_NS / 1000000,
		.type = text(target, ZTS_TEXT_STRING, call->type),
		.span = call->span,
		.parent = call->parent,
	};

	zts_writer_begin_record(target->writer, &head);
}

/* An array of `count` strings and a map in it. */
static void put_cbor(struct target *target, struct sonde_buffer *out, int64_t count)
{
	sonde_cbor_put_head(out, SONDE_CBOR_ARRAY, (uint64_t)count + 1);
	for (int64_t i = 0; i < count; i++) {
		char item[16];

		snprintf(item, sizeof(item), "item %d", (int)i);
		zts_put_text_id(out, text(target, ZTS_TEXT_STRING, item));
	}
	sonde_cbor_put_head(out, SONDE_CBOR_MAP, 1);
	zts_put_text_id(out, text(target, ZTS_TEXT_STRING, "inside"));
	sonde_cbor_put_int(out, -count);
}

static void write_attribute(struct target *target, const struct attribute *attribute)
{
	struct zts_value value = { .kind = attribute->kind, .number = attribute->number };
	struct sonde_buffer cbor = { 0 };

	if (attribute->kind == ZTS_VALUE_STRING)
		value.string = zts_writer_text(target->writer, ZTS_TEXT_STRING, attribute->text,
					       attribute->size);
	if (attribute->kind == ZTS_VALUE_CBOR) {
		put_cbor(target, &cbor, attribute->number);
		value.cbor = (const uint8_t *)cbor.data;
		value.size = cbor.size;
		target->failed |= cbor.failed;
	}
	zts_writer_attribute(target->writer, text(target, ZTS_TEXT_STRING, attribute->key), &value);
	sonde_buffer_release(&cbor);
}

static void write_finish(struct target *target, const struct end *end)
{
	uint32_t exception = 0;

	if (end->exception[0]) {
		uint32_t class_id = text(target, ZTS_TEXT_CLASS, end->exception);
		uint32_t frames[2];

		for (uint32_t i = 0; i < 2; i++)
			frames[i] = zts_writer_frame(target->writer, class_id,
						     text(target, ZTS_TEXT_METHOD_NAME, "fail"),
						     text(target, ZTS_TEXT_STRING, "Fault.java"),
						     end->line + i);
		exception = zts_writer_exception(target->writer, class_id,
						 text(target, ZTS_TEXT_STRING, end->message),
						 zts_writer_stack(target->writer, frames, 2), 0);
	}
	zts_writer_end_record(target->writer, end->stop, 0, exception, end->flags);
}

enum sonde_status script_write(struct zts_writer *writer, uint64_t number,
			       const struct script_options *options, struct sonde_error *err)
{
	struct target target = { .begin = write_begin,
				 .put = write_attribute,
				 .finish = write_finish,
				 .writer = writer };
	struct zts_trace_head head = { .app = text(&target, ZTS_TEXT_STRING, "the app"),
				       .env = text(&target, ZTS_TEXT_STRING, "the env"),
				       .host = text(&target, ZTS_TEXT_STRING, "the host") };

	script_uuid(number, head.uuid);
	zts_writer_begin_trace(writer, &head);
	run(&target, number, options);
	if (!target.failed)
		return zts_writer_end_trace(writer, err);
	zts_writer_abandon_trace(writer);
	return sonde_fail_nomem(err);
}

/* Comparing. */

static char difference_text[512];

static void differ(struct target *target, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void differ(struct target *target, const char *format, ...)
{
	va_list arguments;

	if (target->difference)
		return;
	va_start(arguments, format);
	vsnprintf(difference_text, sizeof(difference_text), format, arguments);
	va_end(arguments);
	target->difference = difference_text;
}

/* Whether the text of an id is this one, of this kind. */
static bool is_text(struct target *target, uint32_t id, enum zts_text_kind kind, const char *bytes,
		    size_t size)
{
	struct zts_typed_text typed = { 0 };
	const char *raw;
	size_t raw_size;

	if (!id)
		return !size;
	if (kind == ZTS_TEXT_STRING)
		return zts_texts_get(target->part->texts, id, &raw, &raw_size, NULL) == SONDE_OK &&
		       raw_size == size && !memcmp(raw, bytes, size);
	return zts_texts_typed(target->part->texts, id, &typed, NULL) == SONDE_OK &&
	       typed.kind == kind && typed.size == size && !memcmp(typed.text, bytes, size);
}

static void compare_text(struct target *target, uint32_t id, enum zts_text_kind kind,
			 const char *bytes)
{
	if (!is_text(target, id, kind, bytes, strlen(bytes)))
		differ(target, "text %u is not \"%s\"", id, bytes);
}

static void compare_begin(struct target *target, const struct call *call)
{
	const struct zts_tree *tree = &target->loaded->tree;
	uint32_t number = target->next++, parent = SONDE_NONE;
	const struct zts_record *record;
	struct zts_typed_text method = { 0 };
	uint64_t start_ns, duration_ns;

	if (target->difference)
		return;
	if (number >= tree->records.count) {
		differ(target, "record %u is missing", number);
		return;
	}
	record = &tree->records.items[number];
	if (target->depth)
		parent = target->open[target->depth - 1].record;
	target->open[target->depth].record = number;
	target->open[target->depth].start = call->start;
	target->open[target->depth].cursor =
		(struct zts_attribute_cursor){ .tree = tree, .record = number };
	target->depth++;
	if (record->parent != parent)
		differ(target, "record %u is in %u, not in %u", number, record->parent, parent);
	if (zts_texts_typed(target->part->texts, record->method, &method, NULL) != SONDE_OK ||
	    method.kind != ZTS_TEXT_METHOD) {
		differ(target, "record %u has no method", number);
		return;
	}
	compare_text(target, method.fields[0], ZTS_TEXT_CLASS, call->class_name);
	compare_text(target, method.fields[1], ZTS_TEXT_METHOD_NAME, call->method);
	compare_text(target, method.fields[2], ZTS_TEXT_SIGNATURE, call->signature);
	if ((record->trace != SONDE_NONE) != call->begins_trace)
		differ(target, "record %u: a trace begins or does not", number);
	if (call->span && (record->identity == SONDE_NONE ||
			   tree->identities.items[record->identity].span != call->span ||
			   tree->identities.items[record->identity].parent != call->parent))
		differ(target, "record %u has another span or parent", number);
	if (call->begins_trace && record->trace != SONDE_NONE)
		compare_text(target, tree->traces.items[record->trace].type, ZTS_TEXT_STRING,
			     call->type);
	zts_loaded_times(target->part, target->loaded, number, &start_ns, &duration_ns);
	if (target->options->use_ticks ? record->start != call->start : start_ns != call->start)
		differ(target, "record %u starts at %llu, not at %llu", number,
		       (unsigned long long)start_ns, (unsigned long long)call->start);
}

static bool next_attribute(struct target *target, struct zts_attribute_cursor *cursor)
{
	struct sonde_error err;

	while (zts_attribute_next(cursor, &err) == SONDE_OK)
		if (!is_text(target, cursor->key, ZTS_TEXT_STRING, ZTS_NS_ATTRIBUTE,
			     strlen(ZTS_NS_ATTRIBUTE)))
			return true;
	return false;
}

/* Goes through the CBOR that put_cbor() made. */
static bool is_cbor(struct target *target, struct sonde_bytes *value, int64_t count)
{
	struct sonde_cbor_item item;

	if (sonde_cbor_next(value, &item, NULL) || item.type != SONDE_CBOR_ARRAY ||
	    item.value != (uint64_t)count + 1)
		return false;
	for (int64_t i = 0; i <= count; i++) {
		char text_of_it[16] = "inside";

		if (i < count)
			snprintf(text_of_it, sizeof(text_of_it), "item %d", (int)i);
		else if (sonde_cbor_next(value, &item, NULL) || item.type != SONDE_CBOR_MAP)
			return false;
		if (sonde_cbor_next(value, &item, NULL) || item.type != SONDE_CBOR_TAG ||
		    sonde_cbor_next(value, &item, NULL) ||
		    !is_text(target, (uint32_t)item.value, ZTS_TEXT_STRING, text_of_it,
			     strlen(text_of_it)))
			return false;
	}
	return !sonde_cbor_next(value, &item, NULL) &&
	       (count ? item.type == SONDE_CBOR_NEGATIVE && item.value == (uint64_t)count - 1 :
			item.type == SONDE_CBOR_UINT);
}

static bool is_value(struct target *target, struct sonde_bytes value,
		     const struct attribute *attribute)
{
	struct sonde_cbor_item item;

	if (attribute->kind == ZTS_VALUE_CBOR)
		return is_cbor(target, &value, attribute->number);
	if (sonde_cbor_next(&value, &item, NULL))
		return false;
	switch (attribute->kind) {
	case ZTS_VALUE_NULL:
		return item.type == SONDE_CBOR_SIMPLE && item.value == 22;
	case ZTS_VALUE_BOOL:
		return item.type == SONDE_CBOR_SIMPLE &&
		       item.value == (attribute->number ? 21 : 20);
	case ZTS_VALUE_INT:
		if (attribute->number < 0)
			return item.type == SONDE_CBOR_NEGATIVE &&
			       item.value == (uint64_t)(-(attribute->number + 1));
		return item.type == SONDE_CBOR_UINT && item.value == (uint64_t)attribute->number;
	default:
		return item.type == SONDE_CBOR_TAG && !sonde_cbor_next(&value, &item, NULL) &&
		       is_text(target, (uint32_t)item.value, ZTS_TEXT_STRING, attribute->text,
			       attribute->size);
	}
}

static void compare_attribute(struct target *target, const struct attribute *attribute)
{
	struct zts_attribute_cursor *cursor;

	if (target->difference)
		return;
	cursor = &target->open[target->depth - 1].cursor;
	if (!next_attribute(target, cursor)) {
		differ(target, "record %u lacks attribute %s", cursor->record, attribute->key);
		return;
	}
	compare_text(target, cursor->key, ZTS_TEXT_STRING, attribute->key);
	if (!is_value(target, cursor->value, attribute))
		differ(target, "attribute %s of record %u differs", attribute->key, cursor->record);
}

static void compare_exception(struct target *target, uint32_t id, const struct end *end)
{
	struct zts_typed_text exception = { 0 }, stack = { 0 }, frame = { 0 };
	uint32_t frame_id;

	if (!end->exception[0]) {
		if (id)
			differ(target, "an exception that was not");
		return;
	}
	if (zts_texts_typed(target->part->texts, id, &exception, NULL) != SONDE_OK ||
	    exception.kind != ZTS_TEXT_EXCEPTION) {
		differ(target, "text %u is no exception", id);
		return;
	}
	compare_text(target, exception.fields[0], ZTS_TEXT_CLASS, end->exception);
	compare_text(target, exception.fields[1], ZTS_TEXT_STRING, end->message);
	zts_texts_typed(target->part->texts, exception.fields[2], &stack, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		if (stack.kind != ZTS_TEXT_STACK || !zts_text_next_frame(&stack, &frame_id) ||
		    zts_texts_typed(target->part->texts, frame_id, &frame, NULL) != SONDE_OK ||
		    frame.kind != ZTS_TEXT_FRAME || frame.fields[3] != end->line + i) {
			differ(target, "frame %u of exception %u differs", i, id);
			return;
		}
		compare_text(target, frame.fields[0], ZTS_TEXT_CLASS, end->exception);
	}
}

static void compare_finish(struct target *target, const struct end *end)
{
	const struct zts_record *record;
	uint64_t start_ns, duration_ns;
	uint32_t number;

	if (target->difference)
		return;
	target->depth--;
	number = target->open[target->depth].record;
	record = &target->loaded->tree.records.items[number];
	if (next_attribute(target, &target->open[target->depth].cursor))
		differ(target, "record %u has an attribute too many", number);
	if (record->flags != end->flags)
		differ(target, "record %u has flags %x, not %x", number, record->flags, end->flags);
	if (record->calls != record->records)
		differ(target, "record %u: %llu calls of %u", number,
		       (unsigned long long)record->calls, record->records);
	compare_exception(target, record->exception, end);
	zts_loaded_times(target->part, target->loaded, number, &start_ns, &duration_ns);
	if (target->options->use_ticks ? record->stop != end->stop :
					 start_ns + duration_ns != end->stop)
		differ(target, "record %u ends at %llu, not at %llu", number,
		       (unsigned long long)start_ns + duration_ns, (unsigned long long)end->stop);
}

const char *script_compare(struct zts_part *part, uint32_t slot,
			   const struct script_options *options)
{
	struct zts_loaded loaded = { 0 };
	struct target target = { .begin = compare_begin,
				 .put = compare_attribute,
				 .finish = compare_finish,
				 .part = part,
				 .loaded = &loaded };
	const struct zts_slot *item = &part->slots.list.items[slot];
	struct sonde_error err;
	uint64_t number;

	if (!script_number(item->uuid, &number))
		return "the UUID of no script";
	if (zts_part_load(part, slot, &loaded, &err) != SONDE_OK) {
		differ(&target, "%s", err.message);
	} else {
		target.next = loaded.root;
		run(&target, number, options);
		if (target.next != loaded.tree.records.count)
			differ(&target, "%zu records, not %u", loaded.tree.records.count,
			       target.next);
		compare_text(&target, item->app, ZTS_TEXT_STRING, "the app");
		compare_text(&target, item->env, ZTS_TEXT_STRING, "the env");
		compare_text(&target, item->host, ZTS_TEXT_STRING, "the host");
	}
	zts_loaded_release(&loaded);
	return target.difference;
}

static bool same_lines(struct zts_texts *one, uint32_t first, struct zts_texts *other,
		       uint32_t second)
{
	const char *line, *made;
	size_t line_size, made_size;

	if (first == UINT32_MAX || second == UINT32_MAX)
		return first == second;
	return zts_texts_get(one, first, &line, &line_size, NULL) == SONDE_OK &&
	       zts_texts_get(other, second, &made, &made_size, NULL) == SONDE_OK &&
	       line_size == made_size && !memcmp(line, made, line_size);
}

static const struct zts_slot *find_made(const struct zts_slots *slots, const struct zts_slot *slot)
{
	for (size_t i = 0; i < slots->list.count; i++)
		if (slots->list.items[i].data_offset == slot->data_offset &&
		    slots->list.items[i].start_offset == slot->start_offset)
			return &slots->list.items[i];
	return NULL;
}

static void compare_slots(struct target *target, size_t number, const struct zts_slot *slot,
			  const struct zts_slot *made)
{
	if (slot->chunk_number != made->chunk_number || slot->flags != made->flags ||
	    slot->type != made->type)
		differ(target, "slot %zu: chunk %u %u, flags %x %x, type %u %u", number,
		       slot->chunk_number, made->chunk_number, slot->flags, made->flags, slot->type,
		       made->type);
	if (slot->seconds != made->seconds || slot->start_ns != made->start_ns ||
	    slot->duration_seconds != made->duration_seconds ||
	    slot->duration_ns != made->duration_ns)
		differ(target, "slot %zu: start %llu %llu, duration %llu %llu", number,
		       (unsigned long long)slot->start_ns, (unsigned long long)made->start_ns,
		       (unsigned long long)slot->duration_ns,
		       (unsigned long long)made->duration_ns);
	/* Before the last chunk, how many are open is counted in different ways. */
	if (slot->flags & ZTS_RECORD_LAST &&
	    (slot->records != made->records || slot->calls != made->calls ||
	     slot->errors != made->errors))
		differ(target, "slot %zu: records %u %u, calls %u %u, errors %u %u", number,
		       slot->records, made->records, slot->calls, made->calls, slot->errors,
		       made->errors);
}

const char *script_compare_metadata(struct zts_part *part)
{
	struct zts_slots slots = { .has_names = true };
	struct sonde_buffer wal = { 0 };
	struct zts_texts *meta = NULL;
	struct target target = { 0 };
	struct sonde_error err;

	if (zts_rebuild(&part->chunks, part->texts, &slots, &wal, NULL, &err) != SONDE_OK ||
	    zts_texts_of((const uint8_t *)wal.data, wal.size, &meta, &err) != SONDE_OK)
		differ(&target, "rebuilding: %s", err.message);
	else if (slots.list.count != part->slots.list.count)
		differ(&target, "%zu slots, made anew %zu", part->slots.list.count,
		       slots.list.count);
	for (size_t i = 0; i < slots.list.count && !target.difference; i++) {
		const struct zts_slot *slot = &part->slots.list.items[i];
		const struct zts_slot *made = find_made(&slots, slot);

		if (!made) {
			differ(&target, "slot %zu is not made anew", i);
			break;
		}
		/* In lines there are numbers of slots; chunks are numbered in another order. */
		if (!part->next_chunk &&
		    !same_lines(part->meta, slot->deep_entry, meta, made->deep_entry))
			differ(&target, "the deep line of slot %zu differs", i);
		if (!part->next_chunk &&
		    !same_lines(part->meta, slot->shallow_entry, meta, made->shallow_entry))
			differ(&target, "the shallow line of slot %zu differs", i);
		compare_slots(&target, i, slot, made);
	}
	zts_slots_release(&slots);
	zts_texts_free(meta);
	sonde_buffer_release(&wal);
	return target.difference;
}
