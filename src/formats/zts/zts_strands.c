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

/* The residues that ticks cannot say, of a record that has attributes. */
static enum sonde_status read_residue(const struct zts_tree *tree, uint32_t record, uint32_t ns_key,
				      uint64_t *residue, struct sonde_error *err)
{
	struct zts_attribute_cursor cursor = { .tree = tree, .record = record };
	struct sonde_cbor_item item;
	enum sonde_status status;

	*residue = 0;
	if (!ns_key || tree->records.items[record].attributes == SONDE_NONE)
		return SONDE_OK;
	while ((status = zts_attribute_next(&cursor, err)) == SONDE_OK) {
		if (cursor.key != ns_key)
			continue;
		if (sonde_cbor_next(&cursor.value, &item, NULL) == SONDE_OK &&
		    item.type == SONDE_CBOR_UINT)
			*residue = item.value;
		break;
	}
	return status == SONDE_NOMEM ? status : SONDE_OK;
}

/* origin + (ticks - first) ticks, within what is sensible. */
static uint64_t time_of(uint64_t origin_ns, uint64_t ticks, uint64_t first)
{
	uint64_t distance = ticks >= first ? ticks - first : first - ticks;

	if (distance > MOST_TICKS)
		distance = MOST_TICKS;
	distance *= ZTS_TICK_NS;
	if (ticks >= first)
		return origin_ns + distance;
	return origin_ns > distance ? origin_ns - distance : 0;
}

static uint64_t origin_of(const struct zts_tree *tree, uint32_t root)
{
	uint32_t trace = tree->records.items[root].trace;
	uint64_t ms = trace == SONDE_NONE ? 0 : tree->traces.items[trace].timestamp_ms;

	return ms > LATEST_NS / NS_IN_MS ? LATEST_NS : ms * NS_IN_MS;
}

static enum sonde_status compute_times(struct zts_strands *strands, uint32_t ns_key,
				       struct sonde_error *err)
{
	const struct zts_record *records = &strands->tree->records.items[strands->root];
	uint64_t origin = origin_of(strands->tree, strands->root), residue;

	for (uint32_t i = 0; i < strands->count; i++) {
		enum sonde_status status =
			read_residue(strands->tree, strands->root + i, ns_key, &residue, err);
		uint64_t start, stop;

		if (status < 0)
			return status;
		if (!i)
			origin += (residue >> 16) % NS_IN_MS;
		start = time_of(origin, records[i].start, records[0].start);
		if (i)
			start += (residue >> 16) % ZTS_TICK_NS;
		stop = time_of(origin, records[i].stop, records[0].start) + residue % ZTS_TICK_NS;
		strands->starts.items[i] = start;
		strands->stops.items[i] = stop > start ? stop : start;
	}
	return SONDE_OK;
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
		}
	}
	strands->busy.items[i] = *start;
	if (!strands->detached.items[i])
		*busy = *stop;
}

/*
 * The calls of a strand one after another: `enter` and `leave` are told the depth. Records that were
 * detached are stepped over with all that is in them.
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
	enum sonde_status status;

	strands->tree = tree;
	strands->root = root;
	strands->count = tree->records.items[root].records;
	strands->lane_count = 0;
	if (!reserve(strands, strands->count))
		return sonde_fail_nomem(err);
	status = compute_times(strands, ns_key, err);
	if (status < 0)
		return status;
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
	struct walk walk = { .strands = strands, .events = events, .records = records };

	if (lane >= strands->lane_count)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a trace is not any more as it was when the store was opened");
	for (size_t i = 0; i < strands->list.count; i++) {
		if (strands->list.items[i].lane == lane)
			walk_strand(&walk, strands->list.items[i].record - strands->root);
	}
	return SONDE_OK;
}
