/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts and numbers of a trace. Each open trace has a list of ids with marks beside it: an id
 * whose mark is the list's present epoch is in it already. So adding costs a look at one number,
 * and emptying a list costs nothing.
 */
#include "formats/zts/zts_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/cbor.h"
#include "base/uuid.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"

#define NANOSECONDS 1000000000u
/* What is looked at of one exception; real stacks have at most 1024 frames. */
#define MAX_FRAMES 4096
#define MAX_CAUSES 64
/* What is remembered of exceptions before it is forgotten again. */
#define MAX_PARTS (4u << 20)
/* Shorter lists are sorted by insertion. */
#define INSERTION_COUNT 32

static void list_release(struct zts_index_list *list)
{
	sonde_vec_release(&list->ids);
	free(list->marks);
	*list = (struct zts_index_list){ 0 };
}

static void list_clear(struct zts_index_list *list)
{
	list->ids.count = 0;
	if (++list->epoch)
		return;
	if (list->marks)
		memset(list->marks, 0, list->marked * sizeof(*list->marks));
	list->epoch = 1;
}

static bool list_grow(struct zts_index_list *list, uint32_t id, uint32_t limit)
{
	size_t marked = (size_t)id + 1 + id / 2 + 1024;
	uint32_t *marks;

	if (marked > limit)
		marked = limit;
	marks = realloc(list->marks, marked * sizeof(*marks));
	if (!marks)
		return false;
	memset(marks + list->marked, 0, (marked - list->marked) * sizeof(*marks));
	list->marks = marks;
	list->marked = marked;
	return true;
}

/* False where it was there already. */
static inline bool list_add(struct zts_index *index, struct zts_index_list *list, uint32_t id)
{
	uint32_t *place;

	if (!id || id >= index->id_limit || index->counts_only)
		return false;
	if (id >= list->marked && !list_grow(list, id, index->id_limit)) {
		index->failed = true;
		return false;
	}
	if (list->marks[id] == list->epoch)
		return false;
	list->marks[id] = list->epoch;
	place = sonde_vec_push(&list->ids);
	if (!place) {
		index->failed = true;
		return false;
	}
	*place = id;
	return true;
}

static void sort_by_insertion(uint32_t *ids, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t id = ids[i];
		size_t at = i;

		for (; at && ids[at - 1] > id; at--)
			ids[at] = ids[at - 1];
		ids[at] = id;
	}
}

/* One pass of a radix sort, by the byte at `shift`. */
static void sort_pass(const uint32_t *from, uint32_t *to, size_t count, unsigned int shift)
{
	uint32_t places[256] = { 0 };
	uint32_t sum = 0;

	for (size_t i = 0; i < count; i++)
		places[from[i] >> shift & 0xff]++;
	for (unsigned int i = 0; i < 256; i++) {
		uint32_t here = places[i];

		places[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[places[from[i] >> shift & 0xff]++] = from[i];
}

static void list_sort(struct zts_index *index, struct zts_index_list *list)
{
	size_t count = list->ids.count;
	uint32_t *from = list->ids.items, *to, any = 0;
	unsigned int shift = 0;

	if (count <= INSERTION_COUNT) {
		sort_by_insertion(from, count);
		return;
	}
	index->scratch.count = 0;
	if (!sonde_vec_reserve(&index->scratch, count)) {
		index->failed = true;
		return;
	}
	to = index->scratch.items;
	for (size_t i = 0; i < count; i++)
		any |= from[i];
	for (; shift < 32 && any >> shift; shift += 8) {
		uint32_t *swap = from;

		sort_pass(from, to, count, shift);
		from = to;
		to = swap;
	}
	if (from != list->ids.items)
		memcpy(list->ids.items, from, count * sizeof(*from));
}

void zts_index_release(struct zts_index *index)
{
	for (size_t i = 0; i < ZTS_INDEX_LEVELS; i++)
		list_release(&index->deep[i]);
	list_release(&index->shallow);
	list_release(&index->seen);
	sonde_vec_release(&index->levels);
	sonde_key_map_release(&index->exceptions);
	sonde_vec_release(&index->ranges);
	sonde_vec_release(&index->parts);
	sonde_vec_release(&index->scratch);
	index->depth = 0;
}

void zts_index_reset(struct zts_index *index)
{
	index->depth = 0;
	index->levels.count = 0;
	index->failed = index->stopped = false;
}

/* The list of the innermost trace that has one. */
static inline struct zts_index_list *innermost(struct zts_index *index)
{
	size_t level = index->levels.count;

	return &index->deep[(level < ZTS_INDEX_LEVELS ? level : ZTS_INDEX_LEVELS) - 1];
}

void zts_index_id(struct zts_index *index, uint32_t id)
{
	if (!index->depth)
		return;
	list_add(index, innermost(index), id);
	if (index->depth == 1)
		list_add(index, &index->shallow, id);
}

void zts_index_begin_trace(struct zts_index *index, uint32_t tag, uint32_t method, uint32_t type)
{
	struct zts_index_level *level = sonde_vec_push(&index->levels);

	if (!level) {
		/* it goes on as a plain record; what comes of it is not used */
		index->failed = true;
		index->depth += index->levels.count != 0;
		return;
	}
	index->depth++;
	*level = (struct zts_index_level){ .tag = tag, .record_depth = index->depth, .records = 1 };
	if (index->levels.count <= ZTS_INDEX_LEVELS)
		list_clear(innermost(index));
	if (index->depth == 1) {
		list_clear(&index->shallow);
		index->so_far = (struct zts_index_level){ 0 };
	}
	/* as existing programs count: an inner trace once more */
	index->so_far.records += index->depth == 1 ? 1 : 2;
	zts_index_id(index, method);
	zts_index_id(index, type);
}

void zts_index_begin_record(struct zts_index *index, uint32_t method)
{
	if (!index->levels.count) {
		zts_index_begin_trace(index, 0, method, 0);
		return;
	}
	index->depth++;
	index->levels.items[index->levels.count - 1].records++;
	index->so_far.records++;
	list_add(index, innermost(index), method);
}

void zts_index_value(struct zts_index *index, struct sonde_bytes value)
{
	struct sonde_cbor_item item;
	bool is_string = false;

	/* heads follow each other whatever they are nested in */
	while (sonde_cbor_next(&value, &item, NULL) == SONDE_OK) {
		if (is_string && item.type == SONDE_CBOR_UINT && item.value <= UINT32_MAX)
			zts_index_id(index, (uint32_t)item.value);
		is_string = item.type == SONDE_CBOR_TAG && item.value == ZTS_TAG_STRING;
	}
}

static bool typed_text(struct zts_index *index, uint32_t id, struct zts_typed_text *typed)
{
	const char *text;
	size_t size;

	return id && id < index->id_limit && index->text &&
	       index->text(index->context, id, &text, &size) &&
	       zts_text_parse(text, size, typed, NULL) == SONDE_OK;
}

static void see_stack(struct zts_index *index, uint32_t stack)
{
	struct zts_typed_text typed;
	uint32_t frame;

	if (!list_add(index, &index->seen, stack) || !typed_text(index, stack, &typed) ||
	    typed.kind != ZTS_TEXT_STACK)
		return;
	/* their ids first: the text of the stack is borrowed until the next one is asked for */
	index->scratch.count = 0;
	if (!sonde_vec_reserve(&index->scratch, MAX_FRAMES)) {
		index->failed = true;
		return;
	}
	while (index->scratch.count < MAX_FRAMES && zts_text_next_frame(&typed, &frame))
		index->scratch.items[index->scratch.count++] = frame;
	for (size_t i = 0; i < index->scratch.count; i++) {
		if (index->seen.ids.count + 4 > ZTS_INDEX_EXCEPTION_IDS)
			return;
		frame = index->scratch.items[i];
		if (!list_add(index, &index->seen, frame) || !typed_text(index, frame, &typed) ||
		    typed.kind != ZTS_TEXT_FRAME)
			continue;
		for (size_t field = 0; field < 3; field++)
			list_add(index, &index->seen, typed.fields[field]);
	}
}

/* Class, stack, frames and causes; messages are not in the lines of existing stores. */
static void see_exception(struct zts_index *index, uint32_t exception)
{
	struct zts_typed_text typed;

	for (unsigned int i = 0; i < MAX_CAUSES; i++) {
		uint32_t cause;

		if (!list_add(index, &index->seen, exception) ||
		    !typed_text(index, exception, &typed) || typed.kind != ZTS_TEXT_EXCEPTION)
			return;
		cause = typed.fields[3];
		list_add(index, &index->seen, typed.fields[0]);
		see_stack(index, typed.fields[2]);
		exception = cause;
	}
}

/* The range of `parts` that an exception has, made when it is met first. UINT32_MAX: no memory. */
static uint32_t exception_range(struct zts_index *index, uint32_t exception)
{
	uint32_t range = sonde_key_map_find(&index->exceptions, exception);

	if (range != UINT32_MAX)
		return range;
	if (index->parts.count > MAX_PARTS) {
		sonde_key_map_release(&index->exceptions);
		index->ranges.count = index->parts.count = 0;
	}
	list_clear(&index->seen);
	see_exception(index, exception);
	if (!sonde_vec_reserve(&index->ranges, 2) ||
	    !sonde_vec_reserve(&index->parts, index->seen.ids.count + 1) ||
	    !sonde_key_map_add(&index->exceptions, exception, (uint32_t)index->ranges.count)) {
		index->failed = true;
		return UINT32_MAX;
	}
	range = (uint32_t)index->ranges.count;
	index->ranges.items[index->ranges.count++] = (uint32_t)index->parts.count;
	for (size_t i = 0; i < index->seen.ids.count; i++)
		index->parts.items[index->parts.count++] = index->seen.ids.items[i];
	index->ranges.items[index->ranges.count++] = (uint32_t)index->parts.count;
	return range;
}

static void add_exception(struct zts_index *index, uint32_t exception)
{
	struct zts_index_list *list = innermost(index);
	bool is_new = list_add(index, list, exception);
	bool is_first = index->depth == 1 && list_add(index, &index->shallow, exception);
	uint32_t range;

	/* where it is in a list, all it is made of is too */
	if (!is_new && !is_first)
		return;
	range = exception_range(index, exception);
	if (range == UINT32_MAX)
		return;
	for (uint32_t i = index->ranges.items[range]; i < index->ranges.items[range + 1]; i++)
		zts_index_id(index, index->parts.items[i]);
}

static uint32_t saturate(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void describe(struct zts_index *index, const struct zts_index_level *level,
		     struct zts_index_trace *trace)
{
	size_t number = (size_t)(level - index->levels.items);

	*trace = (struct zts_index_trace){
		.tag = level->tag,
		.records = level->records,
		.errors = level->errors,
		.calls = saturate(level->calls),
		.is_inner = number > 0,
		.has_deep = number < ZTS_INDEX_LEVELS && !index->counts_only,
	};
	if (index->counts_only)
		return;
	if (trace->has_deep) {
		list_sort(index, &index->deep[number]);
		trace->deep = index->deep[number].ids.items;
		trace->deep_count = index->deep[number].ids.count;
	}
	if (number == 0) {
		list_sort(index, &index->shallow);
		trace->shallow = index->shallow.ids.items;
		trace->shallow_count = index->shallow.ids.count;
	}
}

/* What an inner trace has, the one around it has too. */
static void merge_level(struct zts_index *index)
{
	size_t number = index->levels.count - 1;
	struct zts_index_level *inner = &index->levels.items[number], *outer = inner - 1;

	outer->records += inner->records + 1;
	outer->errors += inner->errors;
	if (inner->calls > outer->calls)
		outer->calls = inner->calls;
	if (number >= ZTS_INDEX_LEVELS || index->counts_only)
		return;
	for (size_t i = 0; i < index->deep[number].ids.count; i++)
		list_add(index, &index->deep[number - 1], index->deep[number].ids.items[i]);
}

static void end_trace(struct zts_index *index, uint64_t calls, bool has_error)
{
	struct zts_index_level *level = &index->levels.items[index->levels.count - 1];
	struct zts_index_trace trace;

	describe(index, level, &trace);
	trace.calls = saturate(calls);
	trace.flags = ZTS_RECORD_FIRST | ZTS_RECORD_LAST | (has_error ? ZTS_RECORD_ERROR : 0);
	if (!index->failed && !index->stopped && !index->ended(index->context, &trace))
		index->stopped = true;
	if (index->levels.count > 1)
		merge_level(index);
	index->levels.count--;
}

void zts_index_end_record(struct zts_index *index, uint64_t calls, uint32_t exception,
			  uint32_t flags)
{
	struct zts_index_level *level;
	bool has_error = exception || flags & ZTS_RECORD_ERROR;

	if (!index->depth || !index->levels.count)
		return;
	level = &index->levels.items[index->levels.count - 1];
	if (exception)
		add_exception(index, exception);
	level->errors += has_error;
	index->so_far.errors += has_error;
	if (calls > level->calls)
		level->calls = calls;
	if (calls > index->so_far.calls)
		index->so_far.calls = calls;
	if (level->record_depth == index->depth)
		end_trace(index, calls, has_error);
	index->depth--;
}

void zts_index_so_far(struct zts_index *index, struct zts_index_trace *trace)
{
	*trace = (struct zts_index_trace){ 0 };
	if (!index->levels.count)
		return;
	for (size_t i = 1; i < index->levels.count && i < ZTS_INDEX_LEVELS && !index->counts_only;
	     i++)
		for (size_t id = 0; id < index->deep[i].ids.count; id++)
			list_add(index, &index->deep[0], index->deep[i].ids.items[id]);
	describe(index, &index->levels.items[0], trace);
	trace->records = index->so_far.records;
	trace->errors = index->so_far.errors;
	trace->calls = saturate(index->so_far.calls);
}

void zts_index_literal(int64_t number, char literal[ZTS_INDEX_LITERAL_SIZE], size_t *size)
{
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	char digits[ZTS_INDEX_LITERAL_SIZE];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (number < 0)
		digits[count++] = '-';
	for (size_t i = 0; i < count; i++)
		literal[i] = digits[count - 1 - i];
	*size = count;
}

void zts_slot_set_times(struct zts_slot *slot, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t end_ns, seconds = duration_ns / NANOSECONDS;

	if (__builtin_add_overflow(start_ns, duration_ns, &end_ns))
		end_ns = UINT64_MAX;
	slot->start_ns = start_ns;
	slot->duration_ns = duration_ns;
	slot->duration_seconds = seconds < UINT16_MAX ? (uint32_t)seconds : UINT16_MAX;
	slot->seconds = saturate(end_ns / NANOSECONDS);
}

void zts_slot_set_counts(struct zts_slot *slot, const struct zts_index_trace *trace)
{
	slot->records = trace->records;
	slot->calls = trace->calls;
	slot->errors = trace->errors < UINT16_MAX ? (uint16_t)trace->errors : UINT16_MAX;
	slot->flags = trace->flags;
}

static char *put_digits(char *place, const uint8_t *digits, size_t count)
{
	memcpy(place, digits, count);
	return place + count;
}

static char *put_id(char *place, uint32_t id)
{
	uint8_t digits[ZTS_ID_DIGITS];
	size_t count = zts_id_put(id, digits);

	return put_digits(place, digits, count);
}

/* An entry with a line of ids: mark, then `slot 05 id mark` for each. */
static void put_line(struct sonde_buffer *wal, uint32_t entry, uint32_t slot_number, char mark,
		     const uint32_t *ids, size_t count)
{
	uint8_t entry_digits[ZTS_ID_DIGITS], slot_digits[ZTS_ID_DIGITS];
	size_t entry_size = zts_id_put(entry, entry_digits);
	size_t slot_size = zts_id_put(slot_number, slot_digits);
	char *place = sonde_buffer_reserve(wal, (count + 2) * (2 * ZTS_ID_DIGITS + 2));
	char *start = place;

	if (!place)
		return;
	place = put_digits(place, entry_digits, entry_size);
	*place++ = ZTS_WAL_TEXT_MARK;
	*place++ = mark;
	for (size_t i = 0; i < count; i++) {
		place = put_digits(place, slot_digits, slot_size);
		*place++ = ZTS_META_ID_MARK;
		place = put_id(place, ids[i]);
		*place++ = mark;
	}
	*place++ = ZTS_WAL_ID_MARK;
	place = put_digits(place, entry_digits, entry_size);
	*place++ = ZTS_WAL_END_MARK;
	wal->size += (size_t)(place - start);
}

static void put_uuid_line(struct sonde_buffer *wal, uint32_t entry, uint32_t slot_number,
			  const uint64_t uuid[2])
{
	char text[ZTS_ID_DIGITS + SONDE_UUID_SIZE + 1], *place = text;

	place = put_id(place, slot_number);
	*place++ = ZTS_META_SLOT_MARK;
	sonde_uuid_format(uuid, place);
	place += SONDE_UUID_LENGTH;
	*place++ = ZTS_META_UUID_END;
	zts_wal_put_entry(wal, entry, text, (size_t)(place - text));
}

void zts_index_put_entries(struct sonde_buffer *wal, struct zts_slot *slot, uint32_t slot_number,
			   const struct zts_index_trace *trace, uint32_t *next_entry)
{
	slot->deep_entry = slot->shallow_entry = UINT32_MAX;
	put_uuid_line(wal, (*next_entry)++, slot_number, slot->uuid);
	if (trace->has_deep) {
		slot->deep_entry = (*next_entry)++;
		put_line(wal, slot->deep_entry, slot_number, ZTS_META_DEEP, trace->deep,
			 trace->deep_count);
	}
	if (!trace->is_inner) {
		slot->shallow_entry = (*next_entry)++;
		put_line(wal, slot->shallow_entry, slot_number, ZTS_META_SHALLOW, trace->shallow,
			 trace->shallow_count);
	}
}
