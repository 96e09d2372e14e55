/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Perfetto traces: the sink. Each track is a packet sequence of its own, with names interned in it,
 * so that tracks are written side by side; the file appears under its name when it is whole.
 */
#include "formats/perfetto/perfetto_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/perfetto.h"
#include "model/loss.h"

#define FLUSH_SIZE ((size_t)512 * 1024)
#define FIRST_SEQUENCE 2 /* 1 is the head's */

static struct perfetto_writer *writer_of(struct sonde_sink *sink)
{
	return (struct perfetto_writer *)sink;
}

bool perfetto_bits_add(struct perfetto_bits *bits, uint64_t number, bool *failed)
{
	size_t word = number / 64;

	if (word >= bits->words.count) {
		size_t more = word + 1 - bits->words.count;

		if (!sonde_vec_reserve(&bits->words, more)) {
			*failed = true;
			return false;
		}
		memset(bits->words.items + bits->words.count, 0, more * sizeof(uint64_t));
		bits->words.count += more;
	}
	if (bits->words.items[word] >> number % 64 & 1)
		return false;
	bits->words.items[word] |= 1ull << number % 64;
	return true;
}

size_t perfetto_packet_begin(struct perfetto_track *track)
{
	size_t start = sonde_protobuf_begin(&track->out, TRACE_PACKET);

	sonde_buffer_put(&track->out, track->prefix, track->prefix_size);
	return start;
}

void perfetto_put_interned(struct perfetto_track *track)
{
	size_t start;

	if (!track->interned.size)
		return;
	start = perfetto_packet_begin(track);
	sonde_protobuf_put_bytes(&track->out, PACKET_INTERNED, track->interned.data,
				 track->interned.size);
	sonde_protobuf_end(&track->out, start);
	track->interned.size = 0;
}

void perfetto_intern_text(struct perfetto_track *track, uint32_t field, uint64_t iid,
			  const char *text)
{
	size_t start = sonde_protobuf_begin(&track->interned, field);

	sonde_protobuf_put_uint(&track->interned, IID, iid);
	sonde_protobuf_put_string(&track->interned, INTERNED_TEXT, text, strlen(text));
	sonde_protobuf_end(&track->interned, start);
}

enum sonde_status perfetto_flush(struct perfetto_writer *writer, uint32_t number, bool all,
				 struct sonde_error *err)
{
	struct perfetto_track *track = writer->tracks[number];
	enum sonde_status status;

	if (track->failed || track->out.failed || track->interned.failed || track->extra.failed)
		return sonde_fail_nomem(err);
	if (track->out.size < FLUSH_SIZE && !all)
		return SONDE_OK;
	status = sonde_parts_write(writer->parts, number, track->out.data, track->out.size, err);
	sonde_buffer_clear(&track->out);
	return status;
}

static void track_free(struct perfetto_track *track)
{
	struct perfetto_bits *const sets[] = {
		&track->names,	   &track->categories, &track->locations,
		&track->counters,  &track->callstacks, &track->frames,
		&track->functions, &track->modules,    &track->sources,
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		sonde_vec_release(&sets[i]->words);
	perfetto_types_release(track);
	sonde_vec_release(&track->open);
	sonde_vec_release(&track->path);
	sonde_buffer_release(&track->out);
	sonde_buffer_release(&track->interned);
	sonde_buffer_release(&track->extra);
	free(track);
}

/* The first packet of a sequence: it starts anew, and says which clock and track are meant from here on. */
static void put_first(const struct perfetto_writer *writer, uint32_t number,
		      struct perfetto_track *track)
{
	const struct sonde_track *definition = sonde_definitions_track(writer->definitions, number);
	const struct perfetto_clock *clock = &writer->clocks[definition->process];
	size_t packet = sonde_protobuf_begin(&track->out, TRACE_PACKET), defaults, event;

	sonde_protobuf_put_uint(&track->out, PACKET_SEQUENCE, number + FIRST_SEQUENCE);
	sonde_protobuf_put_uint(&track->out, PACKET_FLAGS, FLAG_CLEARED);
	defaults = sonde_protobuf_begin(&track->out, PACKET_DEFAULTS);
	if (clock->number)
		sonde_protobuf_put_uint(&track->out, PACKET_CLOCK, clock->number);
	event = sonde_protobuf_begin(&track->out, PACKET_TRACK_EVENT);
	sonde_protobuf_put_uint(&track->out, EVENT_TRACK, perfetto_track_uuid(writer, number));
	sonde_protobuf_end(&track->out, event);
	sonde_protobuf_end(&track->out, defaults);
	perfetto_put_track(writer, number, track);
	sonde_protobuf_end(&track->out, packet);
	if (!clock->in_sequence)
		return;
	packet = perfetto_packet_begin(track);
	event = sonde_protobuf_begin(&track->out, PACKET_CLOCK_SNAPSHOT);
	for (unsigned int i = 0; i < 2; i++) {
		size_t one = sonde_protobuf_begin(&track->out, SNAPSHOT_CLOCK);

		sonde_protobuf_put_uint(&track->out, CLOCK_NUMBER,
					i ? BUILTIN_REALTIME : clock->number);
		sonde_protobuf_put_uint(&track->out, CLOCK_TIME,
					i ? clock->realtime_ns : clock->clock_ns);
		sonde_protobuf_end(&track->out, one);
	}
	sonde_protobuf_end(&track->out, event);
	sonde_protobuf_end(&track->out, packet);
}

/* Makes what is needed while a track is written, with its first packet. */
static enum sonde_status open_track(struct perfetto_writer *writer, uint32_t number,
				    struct sonde_error *err)
{
	struct perfetto_track *track;
	char *place;

	if (number >= writer->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "events are of track %" PRIu32 ", which is not defined", number);
	if (writer->tracks[number])
		return SONDE_OK;
	track = calloc(1, sizeof(*track));
	if (!track)
		return sonde_fail_nomem(err);
	writer->tracks[number] = track;
	place = sonde_protobuf_uint_at(track->prefix, PACKET_SEQUENCE, number + FIRST_SEQUENCE);
	place = sonde_protobuf_uint_at(place, PACKET_FLAGS, FLAG_NEEDS_STATE);
	track->prefix_size = (size_t)(place - track->prefix);
	track->tid = writer->tids[number];
	track->pid = writer->pids[sonde_definitions_track(writer->definitions, number)->process];
	track->next_annotation = 1;
	put_first(writer, number, track);
	return SONDE_OK;
}

static enum sonde_status begin(struct sonde_sink *sink, const struct sonde_definitions *definitions,
			       struct sonde_error *err)
{
	struct perfetto_writer *writer = writer_of(sink);
	enum sonde_status status;

	writer->definitions = definitions;
	writer->process_count = sonde_definitions_process_count(definitions);
	writer->track_count = sonde_definitions_track_count(definitions);
	writer->function_count = sonde_definitions_function_count(definitions);
	writer->tracks = calloc((size_t)writer->track_count + 1, sizeof(struct perfetto_track *));
	writer->is_used = calloc((size_t)writer->function_count + 1, sizeof(_Atomic bool));
	if (!writer->tracks || !writer->is_used)
		return sonde_fail_nomem(err);
	status = perfetto_number_all(writer, err);
	if (!status)
		status = perfetto_write_head(writer, err);
	if (!status)
		status = sonde_parts_new(&writer->file.output, writer->track_count, &writer->parts,
					 err);
	return status;
}

static enum sonde_status contexts(struct sonde_sink *sink, const struct sonde_context *items,
				  uint32_t count, struct sonde_error *err)
{
	return perfetto_take_contexts(writer_of(sink), items, count, err);
}

static enum sonde_status events(struct sonde_sink *sink, uint32_t track,
				const struct sonde_batch *batch, struct sonde_error *err)
{
	struct perfetto_writer *writer = writer_of(sink);
	enum sonde_status status = open_track(writer, track, err);

	return status ? status : perfetto_write_events(writer, track, batch, err);
}

static enum sonde_status samples(struct sonde_sink *sink, uint32_t track,
				 const struct sonde_sample *items, size_t count,
				 struct sonde_error *err)
{
	struct perfetto_writer *writer = writer_of(sink);
	enum sonde_status status = open_track(writer, track, err);

	return status ? status : perfetto_write_samples(writer, track, items, count, err);
}

static enum sonde_status report_losses(struct perfetto_writer *writer, uint64_t *counts,
				       struct sonde_error *err)
{
	static const struct sonde_loss_kind kinds[] = {
#define X(name, what, reason, elsewhere) { what, reason, elsewhere },
		PERFETTO_LOSS_LIST(X)
#undef X
	};

	return sonde_loss_add_kinds(writer->loss, kinds, counts, PERFETTO_LOSS_COUNT, err);
}

static enum sonde_status track_end(struct sonde_sink *sink, uint32_t number,
				   struct sonde_error *err)
{
	struct perfetto_writer *writer = writer_of(sink);
	enum sonde_status status = open_track(writer, number, err);

	if (!status)
		status = perfetto_flush(writer, number, true, err);
	if (!status)
		status = report_losses(writer, writer->tracks[number]->losses, err);
	if (!status)
		status = sonde_parts_end(writer->parts, number, err);
	if (status)
		return status;
	track_free(writer->tracks[number]);
	writer->tracks[number] = NULL;
	return SONDE_OK;
}

static void count_functions(const struct perfetto_writer *writer, uint64_t *losses)
{
	for (uint32_t i = 0; i < writer->function_count; i++) {
		const struct sonde_function *function =
			sonde_definitions_function(writer->definitions, i);

		if (atomic_load_explicit(&writer->is_used[i], memory_order_relaxed))
			continue;
		losses[PERFETTO_LOSS_UNCALLED]++;
		losses[PERFETTO_LOSS_UNCALLED_MODULES] += function->module != SONDE_NONE;
		losses[PERFETTO_LOSS_UNCALLED_PLACES] += function->file || function->line;
		losses[PERFETTO_LOSS_UNCALLED_RAW_NAMES] += function->raw_name != 0;
	}
}

static enum sonde_status complete(struct sonde_sink *sink, struct sonde_error *err)
{
	struct perfetto_writer *writer = writer_of(sink);
	uint64_t losses[PERFETTO_LOSS_COUNT] = { 0 };
	enum sonde_status status;

	count_functions(writer, losses);
	perfetto_count_contexts(writer, losses);
	status = report_losses(writer, losses, err);
	return status ? status : sonde_output_close(&writer->file.output, err);
}

static enum sonde_status finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_new_file_commit(&writer_of(sink)->file, err);
}

static void writer_free(struct sonde_sink *sink)
{
	struct perfetto_writer *writer = writer_of(sink);

	for (uint32_t i = 0; writer->tracks && i < writer->track_count; i++)
		if (writer->tracks[i])
			track_free(writer->tracks[i]);
	free(writer->tracks);
	free(writer->pids);
	free(writer->tids);
	free(writer->clocks);
	free(writer->attributes);
	free(writer->called);
	free(writer->has_sample);
	free(writer->is_used);
	sonde_parts_free(writer->parts);
	sonde_new_file_release(&writer->file);
	free(writer);
}

static const struct sonde_sink_ops ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS,
	.parallel_tracks = true,
	.begin = begin,
	.contexts = contexts,
	.events = events,
	.samples = samples,
	.track_end = track_end,
	.complete = complete,
	.finish = finish,
	.free = writer_free,
};

enum sonde_status perfetto_create(const char *path, const struct sonde_create_options *options,
				  struct sonde_sink **sink, struct sonde_error *err)
{
	struct perfetto_writer *writer = calloc(1, sizeof(*writer));
	enum sonde_status status;

	*sink = NULL;
	if (!writer)
		return sonde_fail_nomem(err);
	writer->base.ops = &ops;
	if (options) {
		writer->loss = options->loss;
		writer->has_locations = sonde_format_has_style(options->style, "locations");
	}
	status = sonde_new_file_begin(&writer->file, path, options && options->replace, err);
	if (status) {
		writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}
