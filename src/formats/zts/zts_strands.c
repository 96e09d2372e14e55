/* SPDX-License-Identifier: Apache-2.0 */
/* Times of records, which of them nest, and the events that they become: see zts_strands.h. */
#include "formats/zts/zts_strands.h"

#include "formats/zts/zts_layout.h"

#define NS_IN_MS 1000000u
#define LATEST_NS (UINT64_MAX / 4) /* sums of times stay within 64 bits */
#define MOST_TICKS (LATEST_NS / ZTS_TICK_NS)

void zts_strands_release(struct zts_strands *strands)
{
	sonde_vec_release(&strands->starts);
	sonde_vec_release(&strands->stops);
	sonde_vec_release(&strands->busy);
	sonde_vec_release(&strands->detached);
	sonde_vec_release(&strands->list);
	sonde_vec_release(&strands->stack);
}

/* The residues that ticks cannot say; false where a record has none. */
static bool read_residues(const struct zts_tree *tree, uint32_t record, uint32_t ns_key,
			  uint64_t *residues)
{
	struct zts_attribute_cursor cursor = { .tree = tree, .record = record };
	struct sonde_cbor_item item;

	*residues = 0;
	if (!ns_key || tree->records.items[record].attributes == SONDE_NONE)
		return false;
	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		if (cursor.key_text || cursor.key != ns_key)
			continue;
		if (sonde_cbor_next(&cursor.value, &item, NULL) == SONDE_OK &&
		    item.type == SONDE_CBOR_UINT)
			*residues = item.value;
		return true;
	}
	return false;
}

/*
 * origin + (ticks - first) ticks, within what is sensible; ticks before the first one wrap around.
 */
static uint64_t time_of(uint64_t origin_ns, uint64_t ticks, uint64_t first)
{
	bool is_before = (int64_t)(ticks - first) < 0;
	uint64_t distance = is_before ? first - ticks : ticks - first;

	if (distance > MOST_TICKS)
		distance = MOST_TICKS;
	distance *= ZTS_TICK_NS;
	if (!is_before)
		return origin_ns + distance;
	return origin_ns > distance ? origin_ns - distance : 0;
}

/* When a record that begins a trace began, by its own clock. */
static uint64_t clock_of(const struct zts_tree *tree, uint32_t record, uint64_t residues)
{
	uint32_t trace = tree->records.items[record].trace;
	uint64_t ms = trace == SONDE_NONE ? 0 : tree->traces.items[trace].timestamp_ms;

	if (ms > LATEST_NS / NS_IN_MS)
		return LATEST_NS;
	return ms * NS_IN_MS + (residues >> 16) % NS_IN_MS;
}

/*
 * As zts_loaded_times() has it: residues count from the outermost record, also in an inner trace.
 */
static void compute_times(struct zts_strands *strands, uint32_t ns_key)
{
	const struct zts_tree *tree = strands->tree;
	const struct zts_record *records = tree->records.items;
	uint32_t first = strands->root;
	uint64_t origin, residues, first_tick;
	bool has_ns = read_residues(tree, first, ns_key, &residues);

	while (has_ns && records[first].parent != SONDE_NONE)
		first = records[first].parent;
	read_residues(tree, first, ns_key, &residues);
	origin = clock_of(tree, first, residues);
	first_tick = records[first].start;
	for (uint32_t i = 0; i < strands->count; i++) {
		const struct zts_record *record = &records[strands->root + i];
		uint64_t start, stop;

		has_ns = read_residues(tree, strands->root + i, ns_key, &residues);
		if (!i || (has_ns && record->trace != SONDE_NONE))
			start = clock_of(tree, strands->root + i, residues);
		else
			start = time_of(origin, record->start, first_tick) +
				(residues >> 16) % ZTS_TICK_NS;
		stop = time_of(origin, record->stop, first_tick) + residues % ZTS_TICK_NS;
		strands->starts.items[i] = start;
		strands->stops.items[i] = stop > start ? stop : start;
	}
}

/* A new strand on the first lane that is free by then; false where there is none. */
static bool detach(struct zts_strands *strands, uint32_t i, struct zts_strand *strand)
{
	uint64_t start = strands->starts.items[i], stop = strands->stops.items[i];
	uint32_t lane = 0;

	while (lane < strands->lane_count && strands->lanes[lane].end_ns > start)
		lane++;
	if (lane == ZTS_TRACE_LANES)
		return false;
	if (lane == strands->lane_count) {
		strands->lanes[lane] = (struct zts_strand_lane){ .start_ns = start };
		strands->lane_count++;
	}
	strands->lanes[lane].end_ns = stop;
	*strand = (struct zts_strand){ .record = strands->root + i, .lane = lane };
	return true;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

/* Nests in its parent, or starts a strand. There is room in the list. */
static void place(struct zts_strands *strands, uint32_t i)
{
	const struct zts_record *record = &strands->tree->records.items[strands->root + i];
	uint64_t *start = &strands->starts.items[i], *stop = &strands->stops.items[i];
	uint32_t parent = i ? record->parent - strands->root : 0;
	uint64_t end = strands->stops.items[parent], *busy = &strands->busy.items[parent];

	strands->detached.items[i] = false;
	if (!i || *start < *busy || *stop > end) {
		if (detach(strands, i, &strands->list.items[strands->list.count])) {
			strands->list.count++;
			strands->detached.items[i] = true;
		} else {
			*start = clamp(*start, *busy, end);
			*stop = clamp(*stop, *start, end);
			strands->moved++;
		}
	}
	strands->busy.items[i] = *start;
	if (!strands->detached.items[i])
		*busy = *stop;
}

/*
 * The calls of a strand one after another. Records that were detached are stepped over with all
 * that is in them.
 */
struct walk {
	struct zts_strands *strands;
	struct sonde_event *events; /* NULL: only counted */
	uint32_t *records;
	size_t count;
	uint32_t calls, exceptions;
};

static void put_event(struct walk *walk, uint32_t i, uint32_t depth, bool leaves)
{
	const struct zts_strands *strands = walk->strands;
	const struct zts_record *record = &strands->tree->records.items[strands->root + i];
	bool throws = zts_record_throws(record);

	if (!leaves) {
		walk->calls++;
		walk->exceptions += throws;
	}
	if (!walk->events)
		return;
	walk->events[walk->count] = (struct sonde_event){
		.time_ns = leaves ? strands->stops.items[i] : strands->starts.items[i],
		.depth = depth,
		.kind = !leaves ? SONDE_EVENT_CALL :
			throws	? SONDE_EVENT_EXCEPTION :
				  SONDE_EVENT_RETURN,
		.detail = SONDE_NONE,
	};
	walk->records[walk->count++] = strands->root + i;
}

static void walk_strand(struct walk *walk, uint32_t first)
{
	struct zts_strands *strands = walk->strands;
	const struct zts_record *records = &strands->tree->records.items[strands->root];
	uint32_t end = first + records[first].records, i = first;
	uint32_t *stack = strands->stack.items, depth = 0;

	while (i < end) {
		if (i != first && strands->detached.items[i]) {
			i += records[i].records;
			continue;
		}
		while (depth && i >= stack[depth - 1] + records[stack[depth - 1]].records) {
			put_event(walk, stack[depth - 1], depth, true);
			depth--;
		}
		stack[depth++] = i;
		put_event(walk, i, depth, false);
		i++;
	}
	for (; depth; depth--)
		put_event(walk, stack[depth - 1], depth, true);
}

static bool reserve(struct zts_strands *strands, uint32_t count)
{
	strands->starts.count = strands->stops.count = strands->busy.count = 0;
	strands->detached.count = strands->list.count = strands->stack.count = 0;
	return sonde_vec_reserve(&strands->starts, count) &&
	       sonde_vec_reserve(&strands->stops, count) &&
	       sonde_vec_reserve(&strands->busy, count) &&
	       sonde_vec_reserve(&strands->detached, count) &&
	       sonde_vec_reserve(&strands->list, count) &&
	       sonde_vec_reserve(&strands->stack, count);
}

enum sonde_status zts_strands_make(struct zts_strands *strands, const struct zts_tree *tree,
				   uint32_t root, uint32_t ns_key, struct sonde_error *err)
{
	struct walk walk = { .strands = strands };

	strands->tree = tree;
	strands->root = root;
	strands->count = tree->records.items[root].records;
	strands->lane_count = 0;
	strands->moved = 0;
	if (!reserve(strands, strands->count))
		return sonde_fail_nomem(err);
	compute_times(strands, ns_key);
	strands->busy.items[0] = 0;
	for (uint32_t i = 0; i < strands->count; i++)
		place(strands, i);
	for (size_t i = 0; i < strands->list.count; i++) {
		struct zts_strand *strand = &strands->list.items[i];

		walk.calls = walk.exceptions = 0;
		walk_strand(&walk, strand->record - root);
		strand->calls = walk.calls;
		strands->lanes[strand->lane].calls += walk.calls;
		strands->lanes[strand->lane].exceptions += walk.exceptions;
	}
	return SONDE_OK;
}

enum sonde_status zts_strands_events(struct zts_strands *strands, uint32_t lane,
				     struct sonde_event *events, uint32_t *records,
				     struct sonde_error *err)
{
	struct walk walk = { .strands = strands, .events = events };

	walk.records = records;
	if (lane >= strands->lane_count)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a trace is not any more as it was when the store was opened");
	for (size_t i = 0; i < strands->list.count; i++) {
		if (strands->list.items[i].lane == lane)
			walk_strand(&walk, strands->list.items[i].record - strands->root);
	}
	return SONDE_OK;
}
