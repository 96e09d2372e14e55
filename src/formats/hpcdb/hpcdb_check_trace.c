/* SPDX-License-Identifier: Apache-2.0 */
/* The check of trace.db: where lines lie, whose they are, and the samples in them. */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_check.h"

static void check_line(struct hpcdb_check *check, const struct hpcdb_line *line,
		       struct sonde_diagnostics *found)
{
	const char *path = check->trace.file.path;
	uint64_t before = 0;
	bool was_idle = false;
	struct sonde_trail trail = { 0 };

	for (uint64_t i = 0; i < line->count; i++) {
		uint64_t time = hpcdb_line_time(line, i);
		uint32_t context = hpcdb_line_context(line, i);
		uint64_t offset = line->start + i * HPCDB_SAMPLE_SIZE;

		if (time < before)
			hpcdb_found(found, TRACE_ORDER, path, offset,
				    "a time not before %" PRIu64 "\t%" PRIu64, before, time);
		if (time < check->trace.first_ns || time > check->trace.last_ns)
			hpcdb_found(found, TRACE_TIME, path, offset,
				    "a time from %" PRIu64 " to %" PRIu64 "\t%" PRIu64,
				    check->trace.first_ns, check->trace.last_ns, time);
		if (!context && was_idle)
			hpcdb_found(found, TRACE_IDLE, path, offset + 8,
				    "a context after one that did not run\t0 again");
		if (check->meta.file.data &&
		    hpcdb_ids_find(&check->ids, context) == HPCDB_NO_RECORD)
			hpcdb_found(found, TRACE_CONTEXT, path, offset + 8,
				    "a context of meta.db\t%" PRIu32, context);
		before = time;
		was_idle = !context;
		sonde_mapped_file_leave(&check->trace.file.mapped, &trail, offset,
					offset + HPCDB_SAMPLE_SIZE);
	}
}

static enum sonde_status check_lines(struct hpcdb_check *check, uint32_t first, uint32_t end,
				     struct sonde_diagnostics *found, struct sonde_error *err)
{
	(void)err;
	for (; first < end; first++) {
		struct hpcdb_line line = hpcdb_trace_at(&check->trace, first);

		check_line(check, &line, found);
	}
	return SONDE_OK;
}

/* Each profile has one line at most. */
static enum sonde_status check_owners(struct hpcdb_check *check, struct sonde_error *err)
{
	uint32_t profiles = hpcdb_profile_count(&check->profile);
	uint8_t *is_taken;

	if (!check->profile.file.data)
		return SONDE_OK;
	is_taken = calloc((size_t)profiles + 1, 1);
	if (!is_taken)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < check->trace.lines.count; i++) {
		uint32_t profile = hpcdb_trace_at(&check->trace, i).profile;
		uint64_t offset =
			check->trace.lines.offset + (uint64_t)i * check->trace.lines.stride;

		if (profile >= profiles || hpcdb_profile_at(&check->profile, profile).is_summary)
			hpcdb_found(check->found, TRACE_PROFILE, check->trace.file.path, offset,
				    "a profile of a thread\tprofile %" PRIu32 " of %" PRIu32,
				    profile, profiles);
		else if (is_taken[profile]++)
			hpcdb_found(check->found, TRACE_PROFILE, check->trace.file.path, offset,
				    "one line a profile\tanother of profile %" PRIu32, profile);
	}
	free(is_taken);
	return SONDE_OK;
}

enum sonde_status hpcdb_check_trace(struct hpcdb_check *check, struct sonde_error *err)
{
	const struct hpcdb_file *file = &check->trace.file;
	const struct hpcdb_table *table = &check->trace.lines;
	struct hpcdb_extents extents = { 0 };
	enum sonde_status status;
	bool are_apart;

	if (!file->data)
		return SONDE_OK;
	if (table->count < table->stated_count ||
	    (table->count &&
	     !hpcdb_is_within(&file->sections[HPCDB_TRACE_HEADERS], table->offset,
			      (table->count - 1) * table->stride + HPCDB_TRACE_SIZE)))
		hpcdb_found(check->found, TABLE, file->path,
			    file->sections[HPCDB_TRACE_HEADERS].offset,
			    "%" PRIu64 " lines within their section\tthey are not",
			    table->stated_count);
	status = check_owners(check, err);
	if (status == SONDE_OK)
		status = hpcdb_extents_add_sections(&extents, file, err);
	for (uint32_t i = 0; i < table->count && status == SONDE_OK; i++) {
		struct hpcdb_line line = hpcdb_trace_at(&check->trace, i);

		if (!line.is_whole)
			hpcdb_found(check->found, TRACE_LINE, file->path,
				    table->offset + (uint64_t)i * table->stride,
				    "whole samples within the file\tbytes %" PRIu64 " to %" PRIu64,
				    line.start, line.end);
		if (line.count)
			hpcdb_check_alignment(file, line.start, 4, "samples", check->found);
		status = hpcdb_extents_add(&extents, line.start, line.count * HPCDB_SAMPLE_SIZE,
					   err);
	}
	are_apart = hpcdb_extents_are_apart(&extents, file, check->found);
	if (status < 0 || !are_apart)
		return status;
	return hpcdb_check_run(check, (uint32_t)table->count, check_lines, err);
}
