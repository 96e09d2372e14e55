/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of an intake: small blocks in memory, whose sum is bounded, written as extents in the order
 * of time; and the reader that puts the extents of a stream together again.
 */
#include <stdlib.h>

#include "model/intake_private.h"

/* In records of 32 bytes. */
#define BUDGET ((size_t)512 * 1024)
#define FIRST_BLOCK 8

void intake_stream_release(struct sonde_intake *intake, struct intake_stream *stream)
{
	intake->records_held -= stream->capacity;
	free(stream->records);
	stream->records = NULL;
	stream->count = stream->capacity = 0;
}

/* Numbers of the records of a block in their order. */
static bool order_block(struct sonde_intake *intake, const struct intake_stream *stream)
{
	struct sonde_sort_item *order =
		realloc(intake->order, stream->count * sizeof(*intake->order));

	if (!order)
		return false;
	intake->order = order;
	for (uint32_t i = 0; i < stream->count; i++)
		order[i] = (struct sonde_sort_item){ stream->records[i].time_ns, i };
	return sonde_sort(order, stream->count);
}

static enum sonde_status write_mixed(struct sonde_intake *intake,
				     const struct intake_stream *stream, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < stream->count; i++)
		status = sonde_output_write(&intake->spool,
					    &stream->records[intake->order[i].number],
					    sizeof(*stream->records), err);
	return status;
}

enum sonde_status intake_stream_flush(struct sonde_intake *intake, struct intake_stream *stream,
				      struct sonde_error *err)
{
	struct intake_extent extent = { .previous = stream->last_extent, .count = stream->count };
	enum sonde_status status = SONDE_OK;
	uint64_t place;

	if (!stream->count)
		return SONDE_OK;
	if (stream->block_mixed && !order_block(intake, stream))
		return sonde_fail_nomem(err);
	if (intake->spool.fd < 0)
		status = sonde_output_open_unnamed(&intake->spool, err);
	if (status)
		return status;
	extent.first_ns = stream->block_mixed ? intake->order[0].key : stream->records[0].time_ns;
	extent.last_ns = stream->block_mixed ? intake->order[stream->count - 1].key :
					       stream->records[stream->count - 1].time_ns;
	place = intake->spool.written;
	status = sonde_output_write(&intake->spool, &extent, sizeof(extent), err);
	if (!status && stream->block_mixed)
		status = write_mixed(intake, stream, err);
	else if (!status)
		status = sonde_output_write(&intake->spool, stream->records,
					    stream->count * sizeof(*stream->records), err);
	if (status)
		return status;
	stream->last_extent = place + 1;
	stream->count = 0;
	stream->block_mixed = false;
	return SONDE_OK;
}

static enum sonde_status shrink(struct sonde_intake *intake, struct intake_stream *stream,
				struct sonde_error *err)
{
	enum sonde_status status;

	if (stream->capacity <= intake->block_limit)
		return SONDE_OK;
	status = intake_stream_flush(intake, stream, err);
	if (!status)
		intake_stream_release(intake, stream);
	return status;
}

/* Blocks become smaller where there are many. */
static enum sonde_status relieve(struct sonde_intake *intake, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status && intake->records_held > BUDGET / 2 && intake->block_limit > FIRST_BLOCK) {
		intake->block_limit /= 2;
		for (size_t i = 0; !status && i < intake->tracks.count; i++) {
			status = shrink(intake, &intake->tracks.items[i].events, err);
			if (!status)
				status = shrink(intake, &intake->tracks.items[i].samples, err);
		}
	}
	return status;
}

enum sonde_status intake_stream_grow(struct sonde_intake *intake, struct intake_stream *stream,
				     struct sonde_error *err)
{
	uint32_t wanted = stream->capacity ? stream->capacity * 2 : FIRST_BLOCK;
	struct intake_record *records;
	enum sonde_status status;

	if (wanted <= intake->block_limit && intake->records_held + wanted > BUDGET) {
		status = relieve(intake, err);
		if (status)
			return status;
		wanted = stream->capacity ? stream->capacity * 2 : FIRST_BLOCK;
	}
	if (stream->capacity && wanted > intake->block_limit)
		return intake_stream_flush(intake, stream, err);
	records = realloc(stream->records, wanted * sizeof(*records));
	if (!records)
		return sonde_fail_nomem(err);
	intake->records_held += wanted - stream->capacity;
	stream->records = records;
	stream->capacity = wanted;
	return SONDE_OK;
}

static const struct intake_extent *extent_at(const struct intake_reader *reader, uint64_t place)
{
	return (const struct intake_extent *)(const void *)(reader->file->data + place);
}

static const struct intake_record *records_of(const struct intake_reader *reader, uint32_t extent)
{
	return (const struct intake_record *)(const void *)(reader->file->data +
							    reader->extents.items[extent] +
							    sizeof(struct intake_extent));
}

/* They are linked from the last to the first. */
static bool gather_extents(struct intake_reader *reader, uint64_t last)
{
	size_t count;

	for (uint64_t at = last; at; at = extent_at(reader, at - 1)->previous) {
		uint64_t *place = sonde_vec_push(&reader->extents);

		if (!place)
			return false;
		*place = at - 1;
		intake_touch(&reader->pages, reader->file, at, 0);
	}
	count = reader->extents.count;
	for (size_t i = 0; i < count / 2; i++) {
		uint64_t other = reader->extents.items[i];

		reader->extents.items[i] = reader->extents.items[count - 1 - i];
		reader->extents.items[count - 1 - i] = other;
	}
	return true;
}

/* Extents that follow each other in time too are one run. */
static bool gather_runs(struct intake_reader *reader)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < reader->extents.count; i++) {
		const struct intake_extent *extent = extent_at(reader, reader->extents.items[i]);
		struct intake_span_of_extents *run;

		intake_touch(&reader->pages, reader->file, reader->extents.items[i], 0);
		if (i && extent->first_ns >= last_ns) {
			reader->runs.items[reader->runs.count - 1].end++;
		} else {
			run = sonde_vec_push(&reader->runs);
			if (!run)
				return false;
			*run = (struct intake_span_of_extents){ .extent = i, .end = i + 1 };
		}
		last_ns = extent->last_ns;
	}
	return true;
}

enum sonde_status intake_reader_open(struct intake_reader *reader,
				     const struct sonde_mapped_file *file,
				     const struct intake_stream *stream, struct sonde_error *err)
{
	*reader = (struct intake_reader){ .file = file };
	if (!gather_extents(reader, stream->last_extent) || !gather_runs(reader))
		goto fail;
	if (reader->runs.count < 2)
		return SONDE_OK;
	if (!sonde_loser_tree_init(&reader->tree, (uint32_t)reader->runs.count))
		goto fail;
	for (uint32_t i = 0; i < reader->runs.count; i++) {
		uint64_t place = reader->extents.items[reader->runs.items[i].extent];

		intake_touch(&reader->pages, file, place, 0);
		sonde_loser_tree_set(&reader->tree, i, extent_at(reader, place)->first_ns, true);
	}
	sonde_loser_tree_build(&reader->tree);
	return SONDE_OK;
fail:
	intake_reader_release(reader);
	return sonde_fail_nomem(err);
}

void intake_reader_release(struct intake_reader *reader)
{
	sonde_vec_release(&reader->extents);
	sonde_vec_release(&reader->runs);
	sonde_loser_tree_release(&reader->tree);
}

/* The next of the only run: a whole extent. */
static size_t next_of_one(struct intake_reader *reader, const struct intake_record **records)
{
	struct intake_span_of_extents *run = reader->runs.items;

	if (!reader->runs.count || run->extent == run->end)
		return 0;
	*records = records_of(reader, run->extent);
	return (size_t)extent_at(reader, reader->extents.items[run->extent++])->count;
}

/* As many records of the winner as may be taken before another run comes first. */
static size_t next_of_many(struct intake_reader *reader, const struct intake_record **records)
{
	uint32_t winner = sonde_loser_tree_winner(&reader->tree);
	struct intake_span_of_extents *run;
	const struct intake_record *all;
	uint64_t count, begin, bound;

	if (winner == UINT32_MAX)
		return 0;
	run = &reader->runs.items[winner];
	all = records_of(reader, run->extent);
	count = extent_at(reader, reader->extents.items[run->extent])->count;
	bound = sonde_loser_tree_run_bound(&reader->tree);
	begin = run->position++;
	while (run->position < count && all[run->position].time_ns <= bound)
		run->position++;
	*records = all + begin;
	begin = run->position - begin;
	if (run->position == count) {
		run->extent++;
		run->position = 0;
	}
	if (run->extent < run->end)
		all = records_of(reader, run->extent) + run->position;
	sonde_loser_tree_replace_winner(&reader->tree, all->time_ns, run->extent < run->end);
	return (size_t)begin;
}

size_t intake_reader_next(struct intake_reader *reader, const struct intake_record **records)
{
	size_t count = reader->runs.count < 2 ? next_of_one(reader, records) :
						next_of_many(reader, records);

	if (count)
		intake_touch(&reader->pages, reader->file,
			     (uint64_t)((const uint8_t *)*records - reader->file->data),
			     count * sizeof(**records));
	return count;
}
