/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks. Snapshots tell the same moment on several of them; each time is brought to the clock of the
 * trace by the last snapshot before it. Clocks from 64 to 127 belong to one sequence, and may count from
 * packet to packet.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/perfetto_read.h"

#define MOST_ANCHORS 4096

static bool is_of_sequence(uint32_t clock)
{
	return clock >= FIRST_SEQUENCE_CLOCK && clock <= LAST_SEQUENCE_CLOCK;
}

/* One clock of a snapshot. */
struct reading {
	uint32_t clock;
	uint64_t time, multiplier;
	bool is_incremental;
};

static enum sonde_status read_clock(struct sonde_bytes bytes, struct reading *reading,
				    struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	*reading = (struct reading){ .multiplier = 1 };
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == CLOCK_NUMBER)
			reading->clock = (uint32_t)field.value;
		else if (field.number == CLOCK_TIME)
			reading->time = field.value;
		else if (field.number == CLOCK_INCREMENTAL)
			reading->is_incremental = field.value;
		else if (field.number == CLOCK_MULTIPLIER && field.value)
			reading->multiplier = field.value;
	}
	reading->time *= reading->multiplier;
	return status == SONDE_END ? SONDE_OK : status;
}

enum sonde_status perfetto_take_snapshot(struct perfetto_reader *reader, struct sonde_bytes bytes,
					 struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t snapshot = reader->snapshot_count++;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		struct perfetto_moment *moment;
		struct reading reading;

		if (field.number == SNAPSHOT_PRIMARY && perfetto_is_number(&field) && field.value)
			reader->trace_clock = (uint32_t)field.value;
		if (field.number != SNAPSHOT_CLOCK || !perfetto_is_bytes(&field))
			continue;
		status = read_clock(field.bytes, &reading, err);
		if (status)
			return status;
		if (is_of_sequence(reading.clock))
			continue;
		moment = sonde_vec_push(&reader->moments);
		if (!moment)
			return sonde_fail_nomem(err);
		*moment = (struct perfetto_moment){ snapshot, reading.clock, reading.time };
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct perfetto_pair *one = a, *other = b;

	if (one->clock != other->clock)
		return one->clock < other->clock ? -1 : 1;
	return one->clock_ns < other->clock_ns ? -1 : one->clock_ns > other->clock_ns;
}

/* The pair to use for a time: the last before it, or else the first of that clock. */
static const struct perfetto_pair *find_pair(const struct perfetto_reader *reader, uint32_t clock,
					     uint64_t time_ns)
{
	struct perfetto_pair wanted = { .clock = clock, .clock_ns = time_ns };
	size_t low = 0, high = reader->pairs.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_pairs(&reader->pairs.items[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && reader->pairs.items[low - 1].clock == clock)
		return &reader->pairs.items[low - 1];
	if (low < reader->pairs.count && reader->pairs.items[low].clock == clock)
		return &reader->pairs.items[low];
	return NULL;
}

/* A time on a clock that all sequences know; false where nothing ties it to that of the trace. */
static bool to_trace(const struct perfetto_reader *reader, uint32_t clock, uint64_t *time_ns)
{
	const struct perfetto_pair *pair;

	if (!clock || clock == reader->trace_clock)
		return true;
	pair = find_pair(reader, clock, *time_ns);
	if (!pair)
		return false;
	*time_ns += pair->trace_ns - pair->clock_ns;
	return true;
}

/* The moments of a snapshot: those on other clocks become pairs, where one of them leads to the trace's. */
static bool tie_snapshot(struct perfetto_reader *reader, size_t first, size_t end, size_t known)
{
	const struct perfetto_moment *moments = reader->moments.items;
	uint64_t trace_ns = 0;
	size_t i = first, sorted = reader->pairs.count;

	reader->pairs.count = known; /* those found out in this round are not in order yet */
	for (; i < end; i++) {
		trace_ns = moments[i].time_ns;
		if (moments[i].clock && to_trace(reader, moments[i].clock, &trace_ns))
			break;
	}
	reader->pairs.count = sorted;
	for (size_t k = first; i < end && k < end; k++) {
		struct perfetto_pair *pair;

		if (moments[k].clock == reader->trace_clock)
			continue;
		pair = sonde_vec_push(&reader->pairs);
		if (!pair)
			return false;
		*pair = (struct perfetto_pair){ moments[k].clock, moments[k].time_ns, trace_ns };
	}
	return true;
}

/* A second round is for clocks that only a third one ties to that of the trace. */
static bool tie_all(struct perfetto_reader *reader)
{
	const struct perfetto_moment *moments = reader->moments.items;

	for (unsigned int round = 0; round < 2; round++) {
		size_t known = reader->pairs.count;

		for (size_t first = 0, end; first < reader->moments.count; first = end) {
			bool has_trace = false;

			for (end = first; end < reader->moments.count &&
					  moments[end].snapshot == moments[first].snapshot;
			     end++)
				has_trace |= moments[end].clock == reader->trace_clock;
			if (has_trace == (round == 0) && !tie_snapshot(reader, first, end, known))
				return false;
		}
		if (reader->pairs.count)
			qsort(reader->pairs.items, reader->pairs.count,
			      sizeof(struct perfetto_pair), compare_pairs);
	}
	return true;
}

static enum sonde_clock_kind kind_of(uint32_t clock)
{
	switch (clock) {
	case BUILTIN_REALTIME:
		return SONDE_CLOCK_REALTIME;
	case BUILTIN_MONOTONIC:
		return SONDE_CLOCK_MONOTONIC;
	case BUILTIN_BOOTTIME:
		return SONDE_CLOCK_BOOTTIME;
	default:
		return SONDE_CLOCK_UNKNOWN;
	}
}

static enum sonde_status define_clock(struct perfetto_reader *reader, struct sonde_error *err)
{
	struct sonde_definitions *definitions = reader->recording->definitions;
	struct sonde_clock clock = { .kind = kind_of(reader->trace_clock) };
	const char *name = sonde_clock_kind_name(clock.kind);
	uint32_t number, ignored;
	enum sonde_status status;

	status = sonde_definitions_add_string(definitions, name, strlen(name), &clock.name, err);
	if (!status)
		status = sonde_definitions_add_clock(definitions, &clock, &number, err);
	for (size_t i = 0, count = 0; !status && i < reader->pairs.count; i++) {
		const struct perfetto_pair *pair = &reader->pairs.items[i];
		struct sonde_anchor anchor = { .clock_ns = pair->trace_ns,
					       .realtime_ns = pair->clock_ns };

		if (pair->clock != BUILTIN_REALTIME || count++ >= MOST_ANCHORS)
			continue;
		anchor.clock = number;
		status = sonde_definitions_add_anchor(definitions, &anchor, &ignored, err);
	}
	return status;
}

enum sonde_status perfetto_tie_clocks(struct perfetto_reader *reader, struct sonde_error *err)
{
	for (size_t i = 0; i < reader->moments.count && !reader->trace_clock; i++)
		if (reader->moments.items[i].clock == BUILTIN_BOOTTIME)
			reader->trace_clock = BUILTIN_BOOTTIME;
	if (!reader->trace_clock && reader->moments.count)
		reader->trace_clock = reader->moments.items[0].clock;
	if (!tie_all(reader))
		return sonde_fail_nomem(err);
	return define_clock(reader, err);
}

/* Where in the trace's time a snapshot was taken, by the clocks that all know. */
static enum sonde_status find_moment(const struct perfetto_reader *reader, struct sonde_bytes bytes,
				     bool *is_found, uint64_t *trace_ns, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	*is_found = false;
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		struct reading reading;

		if (field.number != SNAPSHOT_CLOCK || !perfetto_is_bytes(&field))
			continue;
		status = read_clock(field.bytes, &reading, err);
		if (status)
			return status;
		*trace_ns = reading.time;
		if (!is_of_sequence(reading.clock) && reading.clock &&
		    to_trace(reader, reading.clock, trace_ns)) {
			*is_found = true;
			return SONDE_OK;
		}
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status make_clocks(struct perfetto_sequence *sequence, struct sonde_error *err)
{
	if (!sequence->clocks)
		sequence->clocks = calloc(LAST_SEQUENCE_CLOCK - FIRST_SEQUENCE_CLOCK + 1,
					  sizeof(*sequence->clocks));
	return sequence->clocks ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status perfetto_set_clocks(struct perfetto_reader *reader,
				      struct perfetto_sequence *sequence, struct sonde_bytes bytes,
				      struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	struct sonde_bytes again = bytes;
	enum sonde_status status;
	uint64_t trace_ns = 0;
	bool is_found;

	status = find_moment(reader, bytes, &is_found, &trace_ns, err);
	while (!status && !(status = sonde_protobuf_next(&again, &field, err))) {
		struct perfetto_sequence_clock *clock;
		struct reading reading;

		if (field.number != SNAPSHOT_CLOCK || !perfetto_is_bytes(&field))
			continue;
		status = read_clock(field.bytes, &reading, err);
		if (status || !is_of_sequence(reading.clock))
			continue;
		status = make_clocks(sequence, err);
		if (status)
			return status;
		clock = &sequence->clocks[reading.clock - FIRST_SEQUENCE_CLOCK];
		clock->last_ns = reading.time;
		clock->multiplier = reading.multiplier;
		clock->is_incremental = reading.is_incremental;
		if (is_found)
			clock->shift_ns = trace_ns - reading.time;
		else
			reader->loose++;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

uint64_t perfetto_time(struct perfetto_reader *reader, struct perfetto_sequence *sequence,
		       uint32_t clock, uint64_t timestamp)
{
	struct perfetto_sequence_clock *own;

	if (!clock)
		clock = sequence->clock;
	if (!is_of_sequence(clock)) {
		reader->loose += !to_trace(reader, clock, &timestamp);
		return timestamp;
	}
	own = sequence->clocks ? &sequence->clocks[clock - FIRST_SEQUENCE_CLOCK] : NULL;
	if (!own || !own->multiplier) {
		reader->loose++;
		return timestamp;
	}
	timestamp *= own->multiplier;
	if (own->is_incremental)
		timestamp = own->last_ns += timestamp;
	return timestamp + own->shift_ns;
}
