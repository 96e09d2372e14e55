/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as CBOR, straight into the content of the chunk, in the order in which existing stores
 * have their items. What the metadata needs of them is told to zts_index on the way.
 */
#include "base/cbor.h"
#include "base/hash.h"
#include "formats/zts/zts_writer_private.h"

#include <sonde/definitions.h>

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u

static inline uint8_t *put_info(uint8_t *p, uint8_t key, uint64_t value)
{
	*p++ = 0xc0 | ZTS_TAG_INFO;
	*p++ = 0xa1;
	*p++ = key;
	return sonde_cbor_head_at(p, SONDE_CBOR_UINT, value);
}

/* Cleans up the first fault of a caller: the trace will not be kept. */
static void refuse(struct zts_writer *writer, const char *fault)
{
	if (!writer->fault)
		writer->fault = fault;
}

/* The attributes that came together, as a map behind what is there. */
static void put_pairs(struct zts_writer *writer)
{
	struct sonde_buffer *content = &writer->content;
	uint8_t *start = (uint8_t *)sonde_buffer_reserve(content, 1 + SONDE_CBOR_HEAD_SIZE);
	uint8_t *p = start;

	if (!start)
		return;
	*p++ = 0xc0 | ZTS_TAG_ATTRIBUTES;
	p = sonde_cbor_head_at(p, SONDE_CBOR_MAP, writer->pair_count);
	content->size += (size_t)(p - start);
	sonde_buffer_put(content, writer->pairs.data, writer->pairs.size);
	content->failed |= writer->pairs.failed;
	sonde_buffer_clear(&writer->pairs);
	writer->pair_count = 0;
}

/* Time of a trace's own counting, in ns since 1970; `at` as the caller gives times. */
static uint64_t to_ns(const struct zts_writer *writer, const struct zts_open_trace *trace,
		      uint64_t at)
{
	if (!writer->uses_ticks)
		return at;
	return trace->start_ns + (at - trace->start) * ZTS_TICK_NS;
}

/*
 * Ticks and the rest of a time in ns, counted from where the outer trace began, also inside an
 * inner one. A time before that wraps around, and comes back right.
 */
static uint64_t to_ticks(const struct zts_writer *writer, uint64_t ns, uint64_t *residue)
{
	int64_t passed = (int64_t)(ns - writer->open_traces.items[0].start_ns);

	*residue = (uint64_t)passed & (ZTS_TICK_NS - 1);
	return (uint64_t)(passed >> 16);
}

static void set_slot(const struct zts_writer *writer, const struct zts_open_trace *trace,
		     struct zts_slot *slot)
{
	*slot = (struct zts_slot){
		.data_offset = trace->data_offset,
		.start_offset = trace->start_offset,
		.chunk_number = trace->chunk_number,
		.app = (uint16_t)writer->head.app,
		.env = (uint16_t)writer->head.env,
		.type = (uint16_t)trace->type,
		.host = (uint16_t)writer->head.host,
		.description = trace->method,
		.description_is_method = true,
		.uuid = { trace->uuid[0], trace->uuid[1] },
		.dtrace_uuid = writer->head.dtrace_uuid,
	};
	if (trace->before == SONDE_NONE && writer->head.description) {
		slot->description = writer->head.description;
		slot->description_is_method = false;
	}
}

/* Adds a slot to those of the trace being built. */
static void add_slot(struct zts_writer *writer, const struct zts_slot *slot,
		     const struct zts_index_trace *trace)
{
	struct zts_slot *added = sonde_vec_push(&writer->trace_slots);

	if (!added) {
		writer->content.failed = true;
		return;
	}
	*added = *slot;
	zts_index_put_entries(&writer->trace_meta, added,
			      writer->slot_count + (uint32_t)writer->trace_slots.count - 1, trace,
			      &writer->trace_meta_id);
}

/*
 * What is known at the end of a chunked trace: slots of its chunks and of traces within it say it.
 */
static void mark_chunked(struct zts_writer *writer, uint64_t start_ns, uint64_t duration_ns)
{
	for (size_t i = 0; i < writer->trace_slots.count; i++) {
		struct zts_slot *slot = &writer->trace_slots.items[i];
		uint8_t place = slot->flags & (ZTS_RECORD_FIRST | ZTS_RECORD_LAST);

		slot->flags |= ZTS_RECORD_CHUNKED;
		if (place != (ZTS_RECORD_FIRST | ZTS_RECORD_LAST))
			zts_slot_set_times(slot, start_ns, duration_ns);
	}
}

/* Whether the outer trace is shorter than what is kept. */
static bool is_too_short(const struct zts_writer *writer, uint64_t duration_ns)
{
	return duration_ns < writer->min_duration_ns;
}

bool zts_writer_trace_ended(void *context, const struct zts_index_trace *trace)
{
	struct zts_writer *writer = context;
	const struct zts_open_trace *open = &writer->open_traces.items[trace->tag];
	uint64_t stop_ns = to_ns(writer, open, writer->stop);
	uint64_t duration_ns = stop_ns > open->start_ns ? stop_ns - open->start_ns : 0;
	struct zts_slot slot;

	set_slot(writer, open, &slot);
	zts_slot_set_times(&slot, open->start_ns, duration_ns);
	zts_slot_set_counts(&slot, trace);
	if (writer->chunk_number && !trace->is_inner) {
		slot.flags = (uint8_t)((slot.flags & ~ZTS_RECORD_FIRST) | ZTS_RECORD_CHUNKED);
		slot.data_offset = writer->data.size + writer->data.pending.size;
		slot.start_offset = 0;
		mark_chunked(writer, open->start_ns, duration_ns);
	}
	zts_writer_mark_name(writer, open->type);
	if (!trace->is_inner)
		writer->is_short = is_too_short(writer, duration_ns);
	add_slot(writer, &slot, trace);
	return true;
}

/* The content goes to traces.dat before the trace ends: it has become large. */
static void cut_chunk(struct zts_writer *writer)
{
	const struct zts_open_trace *outer = &writer->open_traces.items[0];
	struct zts_index_trace so_far;
	struct sonde_error err;
	struct zts_slot slot;

	if (writer->content.failed)
		return;
	set_slot(writer, outer, &slot);
	zts_index_so_far(&writer->index, &so_far);
	zts_slot_set_counts(&slot, &so_far);
	slot.flags = (uint8_t)((slot.flags & ~(ZTS_RECORD_FIRST | ZTS_RECORD_LAST)) |
			       ZTS_RECORD_CHUNKED | (writer->chunk_number ? 0 : ZTS_RECORD_FIRST));
	slot.data_offset = writer->data.size + writer->data.pending.size;
	slot.start_offset = 0;
	add_slot(writer, &slot, &so_far);
	writer->chunk_number++;
	if (zts_writer_put_chunk(writer, &err) < 0)
		zts_writer_fail(writer, &err);
}

/* Opens the trace that begins with a record; its place is where the next byte goes. */
static struct zts_open_trace *open_trace(struct zts_writer *writer,
					 const struct zts_record_head *head)
{
	struct zts_open_trace *trace = sonde_vec_push(&writer->open_traces);

	if (!trace) {
		writer->content.failed = true;
		return NULL;
	}
	*trace = (struct zts_open_trace){
		.uuid = { head->uuid[0], head->uuid[1] },
		.start = head->start,
		.start_ns = head->has_ticks ? head->timestamp_ms * NS_PER_MS : head->start,
		.data_offset = writer->data.size + writer->data.pending.size,
		.start_offset = (uint32_t)writer->content.size,
		.chunk_number = writer->chunk_number,
		.type = head->type,
		.method = head->method,
		.before = writer->trace,
	};
	writer->trace = (uint32_t)writer->open_traces.count - 1;
	if (trace->before == SONDE_NONE) {
		trace->uuid[0] = writer->head.uuid[0];
		trace->uuid[1] = writer->head.uuid[1];
		return trace;
	}
	if (!trace->uuid[0] && !trace->uuid[1]) {
		/*
		 * Unlike any other of the store: the outer one's and how many traces and slots came
		 * before.
		 */
		uint64_t number = (uint64_t)(writer->slot_count + writer->trace_slots.count + 1)
				  << 24;

		number = (number + writer->open_traces.count) * SONDE_HASH_FACTOR_1;
		trace->uuid[0] = writer->head.uuid[0] ^ number;
		trace->uuid[1] = writer->head.uuid[1] ^ (number << 32 | number >> 32);
	}
	return trace;
}

/* Refuses what would leave the store in doubt. */
static bool may_begin(struct zts_writer *writer, const struct zts_record_head *head)
{
	if (!writer->in_trace) {
		refuse(writer, "a record outside of a trace");
		return false;
	}
	if (writer->has_ended) {
		refuse(writer, "a second first record: a trace has one, with all others in it");
		return false;
	}
	if (writer->open.count && head->has_ticks != writer->uses_ticks) {
		refuse(writer, "times in ticks and times in ns in one trace");
		return false;
	}
	if (head->type > ZTS_MAX_NAME_ID && (head->begins_trace || !writer->open.count))
		writer->has_high_name = true;
	return !writer->content.failed;
}

static void put_record_head(struct zts_writer *writer, const struct zts_record_head *head,
			    uint64_t tick, const struct zts_open_trace *trace)
{
	uint8_t *start = (uint8_t *)sonde_buffer_reserve(&writer->content,
							 2 + 6 * (3 + SONDE_CBOR_HEAD_SIZE));
	uint8_t *p = start;

	if (!start)
		return;
	*p++ = 0xc0 | ZTS_TAG_RECORD;
	*p++ = 0x9f;
	p = put_info(p, ZTS_INFO_START, tick);
	p = put_info(p, ZTS_INFO_METHOD, head->method);
	if (trace)
		p = put_info(p, ZTS_INFO_TIMESTAMP, trace->start_ns / NS_PER_MS);
	if (head->type)
		p = put_info(p, ZTS_INFO_TYPE, head->type);
	if (head->span)
		p = put_info(p, ZTS_INFO_SPAN, head->span);
	if (head->parent)
		p = put_info(p, ZTS_INFO_PARENT, head->parent);
	writer->content.size += (size_t)(p - start);
}

void zts_writer_begin_record(struct zts_writer *writer, const struct zts_record_head *head)
{
	bool is_first = !writer->open.count;
	const struct zts_open_trace *trace = NULL;
	struct zts_open_record *record;
	uint64_t residue = 0, tick = head->start;

	if (!may_begin(writer, head))
		return;
	if (writer->pair_count)
		put_pairs(writer);
	if (is_first)
		writer->uses_ticks = head->has_ticks;
	else if (writer->content.size >= writer->chunk_size)
		cut_chunk(writer);
	record = sonde_vec_push(&writer->open);
	if (!record) {
		writer->content.failed = true;
		return;
	}
	if (is_first || head->begins_trace) {
		trace = open_trace(writer, head);
		if (!trace)
			return;
		zts_index_begin_trace(&writer->index, writer->trace, head->method, head->type);
	} else {
		zts_index_begin_record(&writer->index, head->method);
	}
	if (!head->has_ticks) {
		tick = to_ticks(writer, head->start, &residue);
		if (trace)
			residue = head->start % NS_PER_MS;
	}
	*record = (struct zts_open_record){
		.residue_ns = residue,
		.records = 1,
		.trace = trace ? writer->trace : SONDE_NONE,
	};
	if (head->start > writer->stop)
		writer->stop = head->start;
	put_record_head(writer, head, tick, trace);
}

static uint8_t *put_int(uint8_t *p, int64_t number)
{
	if (number >= 0)
		return sonde_cbor_head_at(p, SONDE_CBOR_UINT, (uint64_t)number);
	return sonde_cbor_head_at(p, SONDE_CBOR_NEGATIVE, (uint64_t)(-(number + 1)));
}

/* One more attribute for the map; nothing about it is indexed here. */
static void put_pair(struct zts_writer *writer, uint32_t key, const struct zts_value *value)
{
	uint8_t *start =
		(uint8_t *)sonde_buffer_reserve(&writer->pairs, 2 * (1 + SONDE_CBOR_HEAD_SIZE));
	uint8_t *p = start;

	writer->pair_count++;
	if (!start)
		return;
	*p++ = 0xc0 | ZTS_TAG_STRING;
	p = sonde_cbor_head_at(p, SONDE_CBOR_UINT, key);
	switch (value->kind) {
	case ZTS_VALUE_NULL:
		*p++ = 0xf6;
		break;
	case ZTS_VALUE_BOOL:
		*p++ = value->number ? 0xf5 : 0xf4;
		break;
	case ZTS_VALUE_INT:
		p = put_int(p, value->number);
		break;
	case ZTS_VALUE_STRING:
		*p++ = 0xc0 | ZTS_TAG_STRING;
		p = sonde_cbor_head_at(p, SONDE_CBOR_UINT, value->string);
		break;
	case ZTS_VALUE_CBOR:
		break;
	}
	writer->pairs.size += (size_t)(p - start);
	if (value->kind == ZTS_VALUE_CBOR)
		sonde_buffer_put(&writer->pairs, value->cbor, value->size);
}

static void index_value(struct zts_writer *writer, uint32_t key, const struct zts_value *value)
{
	struct zts_index *index = &writer->index;

	switch (value->kind) {
	case ZTS_VALUE_NULL:
		break;
	case ZTS_VALUE_BOOL:
		zts_index_id(index, zts_writer_bool_pair(writer, key, value->number));
		break;
	case ZTS_VALUE_INT:
		zts_index_id(index, zts_writer_number_pair(writer, key, value->number));
		break;
	case ZTS_VALUE_STRING:
		zts_index_id(index, value->string);
		zts_index_id(index, zts_writer_pair(writer, key, value->string));
		break;
	case ZTS_VALUE_CBOR:
		zts_index_value(index, sonde_bytes_of(value->cbor, value->size));
		break;
	}
}

void zts_writer_attribute(struct zts_writer *writer, uint32_t key, const struct zts_value *value)
{
	if (!writer->open.count) {
		refuse(writer, "an attribute outside of a record");
		return;
	}
	if (value->kind == ZTS_VALUE_CBOR && value->size > ZTS_MAX_TEXT_SIZE - writer->pairs.size) {
		refuse(writer, "attributes of one record of more than 1 GiB");
		return;
	}
	put_pair(writer, key, value);
	zts_index_id(&writer->index, key);
	index_value(writer, key, value);
}

/* The parts of a record's times that ticks do not hold, as an attribute. */
static void put_residues(struct zts_writer *writer, uint64_t start_residue, uint64_t stop_residue)
{
	struct zts_value value = { .kind = ZTS_VALUE_INT,
				   .number = (int64_t)(start_residue << 16 | stop_residue) };

	if (!value.number)
		return;
	if (!writer->ns_key)
		writer->ns_key = zts_writer_text(writer, ZTS_TEXT_STRING, ZTS_NS_ATTRIBUTE,
						 sizeof(ZTS_NS_ATTRIBUTE) - 1);
	put_pair(writer, writer->ns_key, &value);
}

static void put_record_end(struct zts_writer *writer, uint64_t tick, uint64_t calls,
			   uint32_t exception, uint32_t flags)
{
	uint8_t *start = (uint8_t *)sonde_buffer_reserve(&writer->content,
							 3 + 4 * (3 + SONDE_CBOR_HEAD_SIZE));
	uint8_t *p = start;

	if (!start)
		return;
	if (flags)
		p = put_info(p, ZTS_INFO_FLAGS, flags);
	if (exception) {
		*p++ = 0xd8;
		*p++ = ZTS_TAG_EXCEPTION_REF;
		p = sonde_cbor_head_at(p, SONDE_CBOR_UINT, exception);
	}
	p = put_info(p, ZTS_INFO_STOP, tick);
	p = put_info(p, ZTS_INFO_CALLS, calls);
	*p++ = 0xff;
	writer->content.size += (size_t)(p - start);
}

void zts_writer_end_record(struct zts_writer *writer, uint64_t stop, uint64_t calls,
			   uint32_t exception, uint32_t flags)
{
	const struct zts_open_trace *trace;
	struct zts_open_record record;
	uint64_t tick = stop, residue;

	if (!writer->open.count) {
		refuse(writer, "the end of a record that did not begin");
		return;
	}
	if (writer->content.failed)
		return;
	record = writer->open.items[writer->open.count - 1];
	trace = &writer->open_traces.items[writer->trace];
	if (!writer->uses_ticks) {
		tick = to_ticks(writer, stop, &residue);
		put_residues(writer, record.residue_ns, residue);
	}
	if (writer->pair_count)
		put_pairs(writer);
	if (!calls)
		calls = record.records;
	put_record_end(writer, tick, calls, exception, flags);
	writer->stop = stop;
	zts_index_end_record(&writer->index, calls, exception, flags);
	writer->trace_records++;
	if (record.trace != SONDE_NONE) {
		writer->trace = trace->before;
		writer->open_traces.count--;
	}
	writer->open.count--;
	if (writer->open.count)
		writer->open.items[writer->open.count - 1].records += record.records;
	else
		writer->has_ended = true;
}
