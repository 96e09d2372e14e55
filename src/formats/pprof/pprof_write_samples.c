/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a pprof profile: a stack with its values, one for each track that has any there. */
#include <math.h>

#include "base/protobuf.h"
#include "formats/pprof/pprof_layout.h"
#include "formats/pprof/pprof_write.h"

#define FLUSH_SIZE ((size_t)1 << 20)
#define WHOLE_ENOUGH 1e-3 /* how far what is meant to be whole may be off, after sums of doubles */
#define LARGEST_VALUE 9.2e18

static void put_text_label(struct pprof_writing *writing, struct sonde_buffer *out, const char *key,
			   const char *text)
{
	size_t start = sonde_protobuf_begin(out, PPROF_LABEL);

	sonde_protobuf_put_uint(out, PPROF_LABEL_KEY, pprof_string(writing, key));
	sonde_protobuf_put_uint(out, PPROF_LABEL_TEXT, pprof_string_copy(writing, text));
	sonde_protobuf_end(out, start);
}

static void put_number_label(struct pprof_writing *writing, struct sonde_buffer *out,
			     const char *key, uint64_t number)
{
	size_t start = sonde_protobuf_begin(out, PPROF_LABEL);

	sonde_protobuf_put_uint(out, PPROF_LABEL_KEY, pprof_string(writing, key));
	sonde_protobuf_put_uint(out, PPROF_LABEL_NUMBER, number);
	sonde_protobuf_end(out, start);
}

/* Who it was: the same for all samples of a track. */
static void make_labels(struct pprof_writing *writing, uint32_t number)
{
	const struct sonde_definitions *definitions = writing->sink->definitions;
	const struct sonde_track *track = sonde_definitions_track(definitions, number);
	const struct sonde_process *process =
		sonde_definitions_process(definitions, track->process);
	char space[SONDE_LABEL_SIZE];

	sonde_buffer_clear(&writing->labels);
	put_text_label(writing, &writing->labels, PPROF_LABEL_THREAD,
		       sonde_definitions_track_label(definitions, number, space));
	if (!track->name || track->name_made_up)
		put_number_label(writing, &writing->labels, PPROF_LABEL_UNNAMED, 1);
	if (track->os_id != UINT64_MAX)
		put_number_label(writing, &writing->labels, PPROF_LABEL_THREAD_ID, track->os_id);
	else if (writing->sink->track_count > 1)
		put_number_label(writing, &writing->labels, PPROF_LABEL_TRACK, number);
	if (process && process->name)
		put_text_label(writing, &writing->labels, PPROF_LABEL_PROCESS,
			       sonde_definitions_string(definitions, process->name));
	if (process && process->os_id != SONDE_NONE)
		put_number_label(writing, &writing->labels, PPROF_LABEL_PROCESS_ID, process->os_id);
}

static double *row_values(struct pprof_writing *writing, uint32_t context)
{
	uint32_t metrics = writing->sink->metric_count, row = writing->row_of[context];
	struct pprof_row *added;

	if (row != SONDE_NONE)
		return writing->values.items + (size_t)row * metrics;
	row = (uint32_t)writing->rows.count;
	added = sonde_vec_push(&writing->rows);
	if (!added || !sonde_vec_reserve(&writing->values, metrics))
		return NULL;
	added->context = context;
	memset(writing->values.items + writing->values.count, 0, metrics * sizeof(double));
	writing->values.count += metrics;
	writing->row_of[context] = row;
	return writing->values.items + (size_t)row * metrics;
}

static bool gather(struct pprof_writing *writing, uint32_t track)
{
	size_t count;
	const struct profile_point *points = profile_sink_points(writing->sink, track, &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t holder = writing->places.of[points[i].context].holder;
		double *values = row_values(writing, holder);

		if (!values)
			return false;
		values[points[i].metric] += points[i].value;
	}
	return true;
}

static int64_t whole_value(struct pprof_writing *writing, uint32_t metric, double value)
{
	double scaled = value * writing->scales[metric];
	int64_t whole;

	if (fabs(scaled) > LARGEST_VALUE) {
		writing->too_large++;
		return (int64_t)(scaled < 0 ? -LARGEST_VALUE : LARGEST_VALUE);
	}
	writing->fractions += fabs(scaled - rint(scaled)) > WHOLE_ENOUGH;
	whole = (int64_t)rint(scaled);
	writing->vanished += !whole && value != 0;
	return whole;
}

/* Packed numbers: the leaf first. */
static bool put_stack(struct pprof_writing *writing, uint32_t context)
{
	struct pprof_places *places = &writing->places;
	struct sonde_buffer *out = &writing->out;
	size_t start = sonde_protobuf_begin(out, PPROF_LOCATION_ID);
	uint32_t location = places->of[context].location;

	if (location == SONDE_NONE) {
		location = pprof_place_anyhow(places, context);
		if (location == SONDE_NONE)
			return false;
	}
	for (;;) {
		places->locations.items[location].is_used = true;
		sonde_protobuf_put_varint(out, (uint64_t)location + 1);
		context = places->of[context].caller;
		if (context == SONDE_NONE)
			break;
		location = places->of[context].location;
	}
	sonde_protobuf_end(out, start);
	return true;
}

static const char *entry_name(const struct pprof_writing *writing, uint32_t context)
{
	uint32_t entry = writing->places.of[context].entry;

	if (entry == SONDE_NONE || entry == context)
		return "";
	return sonde_definitions_string(writing->sink->definitions,
					writing->sink->contexts[entry].name);
}

static bool put_sample(struct pprof_writing *writing, size_t row)
{
	uint32_t context = writing->rows.items[row].context;
	uint32_t metrics = writing->sink->metric_count;
	const double *values = writing->values.items + row * metrics;
	const char *entry = entry_name(writing, context);
	struct sonde_buffer *out = &writing->out;
	size_t start = sonde_protobuf_begin(out, PPROF_SAMPLE), list;

	if (!put_stack(writing, context))
		return false;
	list = sonde_protobuf_begin(out, PPROF_VALUE);
	for (uint32_t i = 0; i < metrics; i++)
		sonde_protobuf_put_varint(out, (uint64_t)whole_value(writing, i, values[i]));
	sonde_protobuf_end(out, list);
	sonde_buffer_put(out, writing->labels.data, writing->labels.size);
	if (*entry)
		put_text_label(writing, out, PPROF_LABEL_ENTRY, entry);
	sonde_protobuf_end(out, start);
	return true;
}

static enum sonde_status put_rows(struct pprof_writing *writing, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < writing->rows.count && !status; i++) {
		writing->row_of[writing->rows.items[i].context] = SONDE_NONE;
		if (!put_sample(writing, i))
			return sonde_fail_nomem(err);
		status = pprof_flush(writing, FLUSH_SIZE, err);
	}
	writing->rows.count = writing->values.count = 0;
	return status;
}

enum sonde_status pprof_write_samples(struct pprof_writing *writing, struct sonde_error *err)
{
	const struct profile_sink *sink = writing->sink;
	enum sonde_status status = SONDE_OK;

	writing->row_of = malloc(sink->context_count * sizeof(*writing->row_of));
	if (!writing->row_of)
		return sonde_fail_nomem(err);
	memset(writing->row_of, 0xff, sink->context_count * sizeof(*writing->row_of));
	for (uint32_t i = 0; i < sink->track_count && !status; i++) {
		if (!gather(writing, i))
			return sonde_fail_nomem(err);
		if (writing->is_summed)
			continue;
		make_labels(writing, i);
		writing->out.failed |= writing->labels.failed;
		status = put_rows(writing, err);
	}
	return status || !writing->is_summed ? status : put_rows(writing, err);
}
