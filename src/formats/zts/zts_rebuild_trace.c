/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots and metadata lines of one trace, made from its tree: an inner trace has its slot before
 * the one around it; a trace of several chunks has a slot for each, as existing programs write
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_rebuild.h"

#define MS_NS 1000000u
/* Beyond this many bytes of lines for each byte of data something is wrong with the data. */
#define LINE_BYTES_BASE (64u << 20)
#define LINE_BYTES_FACTOR 16

uint64_t zts_ns_residues(struct sonde_bytes value)
{
	struct sonde_cbor_item item;

	if (sonde_cbor_next(&value, &item, NULL) != SONDE_OK || item.type != SONDE_CBOR_UINT)
		return 0;
	return item.value;
}

/* A trace without a UUID gets one of its place in the file, always the same. */
static void make_uuid(uint64_t uuid[2], uint64_t data_offset, uint64_t start_offset)
{
	uint64_t seed = sonde_hash_mix(data_offset + SONDE_HASH_FACTOR_1);

	uuid[0] = sonde_hash_mix(seed ^ start_offset);
	uuid[1] = sonde_hash_mix(uuid[0] + seed);
}

static const struct zts_trace_start *trace_start(const struct zts_tree *tree, uint32_t record)
{
	uint32_t trace = tree->records.items[record].trace;

	return trace == SONDE_NONE ? NULL : &tree->traces.items[trace];
}

static void note_time(struct zts_slots *slots, uint64_t start_ms, uint64_t stop_ms)
{
	/* the low 32 bits, as existing programs have them */
	if (!slots->first_tstart || (uint32_t)start_ms < slots->first_tstart)
		slots->first_tstart = (uint32_t)start_ms;
	if ((uint32_t)stop_ms > slots->last_tstop)
		slots->last_tstop = (uint32_t)stop_ms;
}

/* Not over the parents, of which a hostile file has many. */
uint32_t zts_outermost(const struct zts_tree *tree, uint32_t record)
{
	uint32_t top = 0;

	while (record - top >= tree->records.items[top].records)
		top += tree->records.items[top].records;
	return top;
}

static uint64_t residues_of(const struct zts_rebuild *rebuild, uint32_t record)
{
	uint32_t trace = rebuild->tree.records.items[record].trace;

	return trace == SONDE_NONE ? 0 : rebuild->residues.items[trace];
}

static uint64_t start_of(const struct zts_rebuild *rebuild, uint32_t record)
{
	const struct zts_trace_start *start = trace_start(&rebuild->tree, record);
	uint64_t start_ns;

	if (!start || __builtin_mul_overflow(start->timestamp_ms, MS_NS, &start_ns))
		return 0;
	return start_ns + (residues_of(rebuild, record) >> 16);
}

static void set_times(struct zts_rebuild *rebuild, uint32_t record, struct zts_slot *slot)
{
	const struct zts_tree *tree = &rebuild->tree;
	const struct zts_record *first = &tree->records.items[record];
	const struct zts_trace_start *start = trace_start(tree, record);
	uint64_t residues = residues_of(rebuild, record), start_ns = start_of(rebuild, record);
	/* what ticks cannot say counts from the ticks of the outermost trace */
	uint32_t base = residues ? zts_outermost(tree, record) : record;
	uint64_t ticks, stop_ns, duration_ns;

	ticks = first->stop > tree->records.items[base].start ?
			first->stop - tree->records.items[base].start :
			0;
	if (__builtin_mul_overflow(ticks, ZTS_TICK_NS, &stop_ns) ||
	    __builtin_add_overflow(stop_ns, start_of(rebuild, base) + (residues & 0xffff),
				   &stop_ns))
		stop_ns = UINT64_MAX;
	duration_ns = stop_ns > start_ns ? stop_ns - start_ns : 0;
	zts_slot_set_times(slot, start_ns, duration_ns);
	if (start)
		note_time(rebuild->slots, start->timestamp_ms,
			  start->timestamp_ms + duration_ns / MS_NS);
}

/* What only the old slot of the same place knows. */
static void take_over(struct zts_slot *slot, const struct zts_slot *old)
{
	memcpy(slot->uuid, old->uuid, sizeof(slot->uuid));
	slot->app = old->app;
	slot->env = old->env;
	slot->host = old->host;
	slot->type = old->type;
	slot->description = old->description;
	slot->description_is_method = old->description_is_method;
	slot->dtrace_tid = old->dtrace_tid;
	slot->dtrace_uuid = old->dtrace_uuid;
}

/* A slot of a trace that begins with `record`, for the chunk number `chunk` of the joined ones. */
static void make_slot(struct zts_rebuild *rebuild, uint32_t record, size_t chunk,
		      uint32_t start_offset, const struct zts_index_trace *trace,
		      struct zts_slot *slot)
{
	const struct zts_record *first = &rebuild->tree.records.items[record];
	const struct zts_trace_start *start = trace_start(&rebuild->tree, record);
	const struct zts_slot *old;

	*slot = (struct zts_slot){
		.data_offset = rebuild->joined.items[chunk].data_offset,
		.start_offset = start_offset,
		.type = start && start->has_type ? (uint16_t)start->type : 0,
		.description = first->method,
		.description_is_method = true,
	};
	if (start && start->type > UINT16_MAX)
		slot->type = 0;
	make_uuid(slot->uuid, rebuild->joined.items[0].data_offset, first->offset);
	zts_slot_set_counts(slot, trace);
	set_times(rebuild, record, slot);
	/* all slots of a chunked trace must have one UUID: that of the first */
	old = record == 0 ? zts_rebuild_known(rebuild, rebuild->joined.items[0].data_offset, 0) :
			    zts_rebuild_known(rebuild, slot->data_offset, start_offset);
	if (old)
		take_over(slot, old);
}

/* Lines are left out where a hostile file would make them grow beyond all measure. */
static void put_lines(struct zts_rebuild *rebuild, size_t number,
		      const struct zts_index_trace *trace)
{
	struct zts_slot *slot = &rebuild->slots->list.items[number];
	size_t most = LINE_BYTES_BASE + rebuild->chunks->file.size * LINE_BYTES_FACTOR;

	if (rebuild->meta_wal->size < most) {
		zts_index_put_entries(rebuild->meta_wal, slot, (uint32_t)number, trace,
				      &rebuild->next_entry);
		return;
	}
	slot->deep_entry = slot->shallow_entry = UINT32_MAX;
	if (!rebuild->index.counts_only)
		zts_found(rebuild->diagnostics, POSTING, rebuild->chunks->path, slot->data_offset,
			  "at most %zu bytes of lines\tmore", most);
	/* nor is time spent on them: what was collected so far is dropped with the next trace */
	rebuild->index.counts_only = true;
}

/* Which of the joined chunks a place of the content is in. */
static size_t chunk_of(const struct zts_rebuild *rebuild, size_t offset)
{
	size_t low = 0, high = rebuild->joined.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (rebuild->joined.items[middle].content_offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool trace_ended(void *context, const struct zts_index_trace *trace)
{
	struct zts_rebuild *rebuild = context;
	uint32_t offset = rebuild->tree.records.items[trace->tag].offset;
	size_t chunk = 0, number = rebuild->slots->list.count;
	struct zts_slot *slot = sonde_vec_push(&rebuild->slots->list);

	if (!slot) {
		rebuild->index.failed = true;
		return false;
	}
	if (rebuild->joined.count > 1 && trace->tag == 0) {
		make_slot(rebuild, 0, rebuild->joined.count - 1, 0, trace, slot);
		slot->flags = (slot->flags & ~ZTS_RECORD_FIRST) | ZTS_RECORD_CHUNKED;
	} else {
		chunk = chunk_of(rebuild, offset);
		offset -= (uint32_t)rebuild->joined.items[chunk].content_offset;
		make_slot(rebuild, trace->tag, chunk, offset, trace, slot);
		slot->chunk_number = (uint32_t)chunk;
		if (rebuild->joined.count > 1)
			slot->flags |= ZTS_RECORD_CHUNKED;
	}
	put_lines(rebuild, number, trace);
	return true;
}

static bool bytes_of_text(void *context, uint32_t id, const char **text, size_t *size)
{
	struct zts_rebuild *rebuild = context;

	return zts_texts_get(rebuild->texts, id, text, size, NULL) == SONDE_OK;
}

/* Chunks before the last have their slot first; it is filled when the chunk has been fed. */
static void keep_chunk_slot(struct zts_rebuild *rebuild)
{
	struct zts_slot *slot;

	if (rebuild->chunk + 1 >= rebuild->joined.count)
		return;
	rebuild->chunk_slot = rebuild->slots->list.count;
	slot = sonde_vec_push(&rebuild->slots->list);
	if (slot)
		*slot = (struct zts_slot){ 0 };
	else
		rebuild->index.failed = true;
}

static void end_chunk(struct zts_rebuild *rebuild)
{
	struct zts_index_trace trace;
	struct zts_slot *slot;

	if (rebuild->index.failed)
		return;
	zts_index_so_far(&rebuild->index, &trace);
	slot = &rebuild->slots->list.items[rebuild->chunk_slot];
	make_slot(rebuild, 0, rebuild->chunk, 0, &trace, slot);
	slot->flags = ZTS_RECORD_CHUNKED | (rebuild->chunk ? 0 : ZTS_RECORD_FIRST);
	put_lines(rebuild, rebuild->chunk_slot, &trace);
	rebuild->chunk++;
	keep_chunk_slot(rebuild);
}

static void feed_pair(struct zts_rebuild *rebuild, uint32_t key, struct sonde_bytes value)
{
	struct sonde_bytes whole = value;
	struct sonde_cbor_item item;
	char literal[ZTS_INDEX_LITERAL_SIZE];
	size_t size = 0;

	if (sonde_cbor_next(&value, &item, NULL) != SONDE_OK)
		return;
	if (item.type == SONDE_CBOR_TAG && item.value == ZTS_TAG_STRING) {
		if (sonde_cbor_next(&value, &item, NULL) == SONDE_OK &&
		    item.type == SONDE_CBOR_UINT && item.value <= UINT32_MAX) {
			zts_index_id(&rebuild->index, (uint32_t)item.value);
			zts_index_id(&rebuild->index,
				     zts_pairs_value(&rebuild->pairs, key, (uint32_t)item.value));
		}
		return;
	}
	if (item.type == SONDE_CBOR_UINT)
		zts_index_literal((int64_t)item.value, literal, &size);
	else if (item.type == SONDE_CBOR_NEGATIVE)
		zts_index_literal(-1 - (int64_t)(item.value & INT64_MAX), literal, &size);
	else if (item.type == SONDE_CBOR_SIMPLE && (item.value == 20 || item.value == 21))
		size = (size_t)snprintf(literal, sizeof(literal), "%s",
					item.value == 21 ? "true" : "false");
	if (size)
		zts_index_id(&rebuild->index,
			     zts_pairs_literal(&rebuild->pairs, key, literal, size));
	else
		zts_index_value(&rebuild->index, whole);
}

static void feed_attributes(struct zts_rebuild *rebuild, uint32_t record)
{
	const struct zts_record *item = &rebuild->tree.records.items[record];
	struct zts_attribute_cursor cursor = { .tree = &rebuild->tree, .record = record };

	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		if (cursor.key && cursor.key == rebuild->ns_key) {
			/* not for searching: every trace has another one */
			if (item->trace != SONDE_NONE)
				rebuild->residues.items[item->trace] =
					zts_ns_residues(cursor.value);
			continue;
		}
		zts_index_id(&rebuild->index, cursor.key);
		feed_pair(rebuild, cursor.key, cursor.value);
	}
}

static void begin_record(struct zts_rebuild *rebuild, uint32_t record)
{
	const struct zts_record *item = &rebuild->tree.records.items[record];
	const struct zts_trace_start *start = trace_start(&rebuild->tree, record);
	uint32_t type = start && rebuild->slots->has_names ? start->type : 0;

	if (start || item->parent == SONDE_NONE)
		zts_index_begin_trace(&rebuild->index, record, item->method, type);
	else
		zts_index_begin_record(&rebuild->index, item->method);
	if (item->attributes != SONDE_NONE)
		feed_attributes(rebuild, record);
}

static void end_record(struct zts_rebuild *rebuild, uint32_t record)
{
	const struct zts_record *item = &rebuild->tree.records.items[record];
	const struct zts_inline_exception *exception;
	uint32_t flags = item->flags;

	if (item->inline_exception != SONDE_NONE) {
		exception = &rebuild->tree.exceptions.items[item->inline_exception];
		zts_index_value(
			&rebuild->index,
			sonde_bytes_of(rebuild->tree.bytes + exception->offset, exception->size));
		flags |= ZTS_RECORD_ERROR;
	}
	zts_index_end_record(&rebuild->index, item->calls, item->exception, flags);
}

static void feed_tree(struct zts_rebuild *rebuild)
{
	const struct zts_tree *tree = &rebuild->tree;
	uint32_t open = SONDE_NONE;

	rebuild->chunk = 0;
	keep_chunk_slot(rebuild);
	for (uint32_t i = 0; i < tree->records.count && !rebuild->index.failed; i++) {
		const struct zts_record *record = &tree->records.items[i];

		for (; open != record->parent; open = tree->records.items[open].parent)
			end_record(rebuild, open);
		while (rebuild->chunk + 1 < rebuild->joined.count &&
		       record->offset >= rebuild->joined.items[rebuild->chunk + 1].content_offset)
			end_chunk(rebuild);
		begin_record(rebuild, i);
		open = i;
	}
	while (rebuild->chunk + 1 < rebuild->joined.count && !rebuild->index.failed)
		end_chunk(rebuild);
	for (; open != SONDE_NONE; open = tree->records.items[open].parent)
		end_record(rebuild, open);
}

static enum sonde_status prepare(struct zts_rebuild *rebuild, struct sonde_error *err)
{
	size_t traces = rebuild->tree.traces.count;

	zts_index_reset(&rebuild->index);
	rebuild->index.ended = trace_ended;
	rebuild->index.text = bytes_of_text;
	rebuild->index.context = rebuild;
	rebuild->index.id_limit = rebuild->pairs.end;
	rebuild->residues.count = 0;
	if (!sonde_vec_reserve(&rebuild->residues, traces + 1))
		return sonde_fail_nomem(err);
	memset(rebuild->residues.items, 0, traces * sizeof(*rebuild->residues.items));
	return SONDE_OK;
}

enum sonde_status zts_rebuild_trace(struct zts_rebuild *rebuild, bool may_continue,
				    struct sonde_error *err)
{
	uint64_t data_offset = rebuild->joined.items[0].data_offset;
	struct sonde_error fault;
	enum sonde_status status;

	status = zts_tree_decode(&rebuild->tree, (const uint8_t *)rebuild->content.data,
				 rebuild->content.size, &fault);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status >= 0 && rebuild->tree.open && may_continue)
		return SONDE_END;
	if (status < 0)
		zts_found(rebuild->diagnostics, CBOR, rebuild->chunks->path, data_offset,
			  "a trace\t%s", fault.message);
	else if (rebuild->tree.open)
		zts_found(rebuild->diagnostics, TRACE_OPEN, rebuild->chunks->path, data_offset,
			  "the end of %u records\tother chunks", rebuild->tree.open);
	if (!rebuild->tree.records.count)
		return SONDE_OK;
	status = prepare(rebuild, err);
	if (status < 0)
		return status;
	feed_tree(rebuild);
	return rebuild->index.failed ? sonde_fail_nomem(err) : SONDE_OK;
}
