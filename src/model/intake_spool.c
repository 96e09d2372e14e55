/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of an intake: small blocks in memory, whose sum is bounded, written as extents in the order
 * of time; and the reader that puts the extents of a stream together again.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/intake_private.h"

/* In records of 32 bytes. */
#define BUDGET ((size_t)512 * 1024)
#define FIRST_BLOCK 8
#define READ_BUDGET ((size_t)1024 * 1024)
#define READ_MOST 4096
#define READ_LEAST 16

enum sonde_status intake_open_once(struct sonde_output *output, struct sonde_error *err)
{
	return output->fd < 0 ? sonde_output_open_unnamed(output, err) : SONDE_OK;
}

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
	enum sonde_status status;
	uint64_t place;

	if (!stream->count)
		return SONDE_OK;
	if (stream->block_mixed && !order_block(intake, stream))
		return sonde_fail_nomem(err);
	status = intake_open_once(&intake->spool, err);
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

static enum sonde_status read_at(const struct intake_reader *reader, void *data, size_t size,
				 uint64_t offset, struct sonde_error *err)
{
	uint8_t *bytes = data;

	while (size) {
		ssize_t got = pread(reader->fd, bytes, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (!got)
			errno = EIO;
		if (got <= 0)
			return sonde_fail_errno(err, "a temporary file", "cannot be read again");
		bytes += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return SONDE_OK;
}

/* They are linked from the last to the first. */
static enum sonde_status gather_extents(struct intake_reader *reader, uint64_t last,
					struct sonde_error *err)
{
	struct intake_extent extent = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t count;

	for (uint64_t at = last; !status && at; at = extent.previous) {
		struct intake_place *place = sonde_vec_push(&reader->extents);

		if (!place)
			return sonde_fail_nomem(err);
		status = read_at(reader, &extent, sizeof(extent), at - 1, err);
		*place = (struct intake_place){
			.offset = at - 1 + sizeof(extent),
			.count = extent.count,
			.first_ns = extent.first_ns,
			.last_ns = extent.last_ns,
		};
	}
	count = reader->extents.count;
	for (size_t i = 0; i < count / 2; i++) {
		struct intake_place other = reader->extents.items[i];

		reader->extents.items[i] = reader->extents.items[count - 1 - i];
		reader->extents.items[count - 1 - i] = other;
	}
	return status;
}

/* Extents that follow each other in time too are one run. */
static enum sonde_status gather_runs(struct intake_reader *reader, struct sonde_error *err)
{
	for (uint32_t i = 0; i < reader->extents.count; i++) {
		struct intake_run *run;

		if (i &&
		    reader->extents.items[i].first_ns >= reader->extents.items[i - 1].last_ns) {
			reader->runs.items[reader->runs.count - 1].end++;
			continue;
		}
		run = sonde_vec_push(&reader->runs);
		if (!run)
			return sonde_fail_nomem(err);
		*run = (struct intake_run){ .extent = i, .end = i + 1 };
	}
	return SONDE_OK;
}

/* The next records of a run that has none in memory; its count is 0 after the last. */
static enum sonde_status refill(struct intake_reader *reader, struct intake_run *run,
				struct sonde_error *err)
{
	const struct intake_place *extent;
	enum sonde_status status;
	uint64_t left;

	run->position = run->count = 0;
	if (run->extent == run->end)
		return SONDE_OK;
	extent = &reader->extents.items[run->extent];
	left = extent->count - run->taken;
	run->count = left < reader->room ? (uint32_t)left : reader->room;
	status = read_at(reader, run->records, run->count * sizeof(*run->records),
			 extent->offset + run->taken * sizeof(*run->records), err);
	run->taken += run->count;
	if (run->taken == extent->count) {
		run->extent++;
		run->taken = 0;
	}
	return status;
}

/* Memory is shared out among the runs; a stream that is in order has one. */
static enum sonde_status share_memory(struct intake_reader *reader, struct sonde_error *err)
{
	size_t runs = reader->runs.count, room = READ_BUDGET / (runs ? runs : 1);

	if (room > READ_MOST)
		room = READ_MOST;
	if (room < READ_LEAST)
		room = READ_LEAST;
	reader->room = (uint32_t)room;
	reader->memory = calloc(runs ? runs : 1, room * sizeof(*reader->memory));
	if (!reader->memory)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < runs; i++)
		reader->runs.items[i].records = reader->memory + i * room;
	return SONDE_OK;
}

static enum sonde_status begin_runs(struct intake_reader *reader, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!sonde_loser_tree_init(&reader->tree, (uint32_t)reader->runs.count))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; !status && i < reader->runs.count; i++) {
		struct intake_run *run = &reader->runs.items[i];

		status = refill(reader, run, err);
		sonde_loser_tree_set(&reader->tree, i, run->records->time_ns, true);
	}
	sonde_loser_tree_build(&reader->tree);
	return status;
}

enum sonde_status intake_reader_open(struct intake_reader *reader, const struct sonde_output *spool,
				     const struct intake_stream *stream, struct sonde_error *err)
{
	enum sonde_status status;

	*reader = (struct intake_reader){ .fd = spool->fd };
	if (!stream->last_extent)
		return SONDE_OK;
	status = gather_extents(reader, stream->last_extent, err);
	if (!status)
		status = gather_runs(reader, err);
	if (!status)
		status = share_memory(reader, err);
	if (!status && reader->runs.count > 1)
		status = begin_runs(reader, err);
	if (status)
		intake_reader_release(reader);
	return status;
}

void intake_reader_release(struct intake_reader *reader)
{
	sonde_vec_release(&reader->extents);
	sonde_vec_release(&reader->runs);
	sonde_loser_tree_release(&reader->tree);
	free(reader->memory);
	reader->memory = NULL;
}

static enum sonde_status next_of_one(struct intake_reader *reader,
				     const struct intake_record **records, size_t *count,
				     struct sonde_error *err)
{
	struct intake_run *run = reader->runs.items;
	enum sonde_status status = run ? refill(reader, run, err) : SONDE_OK;

	if (status)
		return status;
	*count = run ? run->count : 0;
	*records = reader->memory;
	return *count ? SONDE_OK : SONDE_END;
}

/* The tree learns what comes next of the winner. */
static enum sonde_status advance(struct intake_reader *reader, struct intake_run *run,
				 struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (run->position == run->count)
		status = refill(reader, run, err);
	sonde_loser_tree_replace_winner(&reader->tree, run->records[run->position].time_ns,
					run->count != 0);
	return status;
}

/* As many records of the winner as may be taken before another run comes first. */
static enum sonde_status next_of_many(struct intake_reader *reader,
				      const struct intake_record **records, size_t *count,
				      struct sonde_error *err)
{
	uint32_t winner = sonde_loser_tree_winner(&reader->tree);
	enum sonde_status status;
	struct intake_run *run;
	uint32_t begin;
	uint64_t bound;

	/* what was handed out last was borrowed until now */
	if (reader->handed_out) {
		reader->handed_out = false;
		status = advance(reader, &reader->runs.items[winner], err);
		if (status)
			return status;
		winner = sonde_loser_tree_winner(&reader->tree);
	}
	if (winner == UINT32_MAX)
		return SONDE_END;
	reader->handed_out = true;
	run = &reader->runs.items[winner];
	bound = sonde_loser_tree_run_bound(&reader->tree);
	begin = run->position++;
	while (run->position < run->count && run->records[run->position].time_ns <= bound)
		run->position++;
	*records = run->records + begin;
	*count = run->position - begin;
	return SONDE_OK;
}

enum sonde_status intake_reader_next(struct intake_reader *reader,
				     const struct intake_record **records, size_t *count,
				     struct sonde_error *err)
{
	return reader->runs.count < 2 ? next_of_one(reader, records, count, err) :
					next_of_many(reader, records, count, err);
}
