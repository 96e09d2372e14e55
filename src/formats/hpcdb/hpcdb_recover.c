/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovering a database. meta.db is kept as it is where it is whole; then values are taken from profile.db
 * and cct.db, whichever has them whole, and both are written anew. Where meta.db is damaged, what can
 * be walked of it is read as a recording and written as a new database.
 */
#include "formats/hpcdb/hpcdb_recover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_put.h"
#include "formats/hpcdb/hpcdb_read.h"
#include "formats/hpcdb/hpcdb_sink.h"

enum sonde_status hpcdb_flush(struct sonde_output *output, struct sonde_buffer *buffer,
			      struct sonde_error *err)
{
	enum sonde_status status;

	if (buffer->failed)
		return sonde_fail_nomem(err);
	status = sonde_output_write(output, buffer->data, buffer->size, err);
	sonde_buffer_clear(buffer);
	return status;
}

enum sonde_status hpcdb_begin_file(struct hpcdb_recovery *recovery, enum hpcdb_file_kind kind,
				   struct sonde_output *output, struct sonde_buffer *buffer,
				   struct sonde_error *err)
{
	char *path = sonde_path_join(recovery->folder, hpcdb_file_types[kind].name);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_output_open(output, path, err);
	free(path);
	sonde_buffer_clear(buffer);
	hpcdb_put_magic(buffer, hpcdb_file_types[kind].format);
	return status;
}

/* All of it, and a footer where that is lost. */
static enum sonde_status copy_meta(struct hpcdb_recovery *recovery, struct sonde_error *err)
{
	const struct hpcdb_file *file = &recovery->source.meta.file;
	struct sonde_output output = { .fd = -1 };
	struct sonde_buffer buffer = { 0 };
	enum sonde_status status =
		hpcdb_begin_file(recovery, HPCDB_META_FILE, &output, &buffer, err);

	sonde_buffer_clear(&buffer);
	if (status == SONDE_OK)
		status = sonde_output_write(&output, file->data, file->size, err);
	if (status == SONDE_OK && !file->has_footer) {
		hpcdb_put_zeros(&buffer, hpcdb_aligned(file->size, 8) - file->size);
		sonde_buffer_put(&buffer, hpcdb_file_types[HPCDB_META_FILE].footer,
				 HPCDB_FOOTER_SIZE);
		status = hpcdb_flush(&output, &buffer, err);
	}
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	sonde_buffer_release(&buffer);
	return status;
}

/* Whether samples go on in the order of time, and say something. */
struct line_state {
	uint64_t time;
	bool is_idle, has_any;
};

static bool keeps_sample(struct hpcdb_recovery *recovery, const struct hpcdb_line *line, uint64_t i,
			 struct line_state *state)
{
	uint64_t time = hpcdb_line_time(line, i);
	uint32_t context = hpcdb_line_context(line, i);

	if (time < state->time || (!context && state->is_idle && state->has_any) ||
	    hpcdb_ids_find(&recovery->source.ids, context) == HPCDB_NO_RECORD)
		return false;
	*state = (struct line_state){ time, !context, true };
	return true;
}

static enum sonde_status write_line(struct hpcdb_recovery *recovery, const struct hpcdb_line *line,
				    struct sonde_output *output, struct sonde_buffer *buffer,
				    uint64_t *last, struct sonde_error *err)
{
	struct line_state state = { 0 };
	enum sonde_status status = SONDE_OK;

	for (uint64_t i = 0; i < line->count && status == SONDE_OK; i++) {
		if (!keeps_sample(recovery, line, i, &state)) {
			recovery->result->bytes_dropped += HPCDB_SAMPLE_SIZE;
			continue;
		}
		sonde_buffer_put(buffer, line->samples + i * HPCDB_SAMPLE_SIZE, HPCDB_SAMPLE_SIZE);
		recovery->result->samples_kept++;
		if (state.time > *last)
			*last = state.time;
		if (buffer->size > 1 << 16)
			status = hpcdb_flush(output, buffer, err);
	}
	return status == SONDE_OK ? hpcdb_flush(output, buffer, err) : status;
}

/* A line of a thread that has no other. */
static bool takes_line(struct hpcdb_recovery *recovery, const struct hpcdb_line *line)
{
	uint32_t limit = recovery->profiles;
	bool takes = line->profile && line->profile < limit && !recovery->has_line[line->profile];

	if (takes)
		recovery->has_line[line->profile] = true;
	else
		recovery->result->bytes_dropped += line->count * HPCDB_SAMPLE_SIZE;
	return takes;
}

/* The lines that there are, one a profile. Where lines overlap only the first of them counts. */
static enum sonde_status write_lines(struct hpcdb_recovery *recovery, struct sonde_output *output,
				     struct sonde_buffer *headers, uint64_t *first, uint64_t *last,
				     struct sonde_error *err)
{
	struct hpcdb_check *source = &recovery->source;
	struct sonde_buffer buffer = { 0 };
	uint64_t budget = source->trace.file.size / HPCDB_SAMPLE_SIZE;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < source->trace.lines.count && status == SONDE_OK; i++) {
		struct hpcdb_line line = hpcdb_trace_at(&source->trace, i);
		uint64_t start;

		if (!takes_line(recovery, &line))
			continue;
		hpcdb_put_zeros(&buffer, hpcdb_aligned(output->written, 8) - output->written);
		start = output->written + buffer.size;
		if (line.count > budget)
			line.count = budget;
		budget -= line.count;
		if (line.count && hpcdb_line_time(&line, 0) < *first)
			*first = hpcdb_line_time(&line, 0);
		status = write_line(recovery, &line, output, &buffer, last, err);
		sonde_put_u64le(headers, line.profile);
		sonde_put_u64le(headers, start);
		sonde_put_u64le(headers, output->written);
	}
	sonde_buffer_release(&buffer);
	return status;
}

static enum sonde_status recover_trace(struct hpcdb_recovery *recovery, struct sonde_error *err)
{
	struct hpcdb_trace *trace = &recovery->source.trace;
	struct sonde_output output = { .fd = -1 };
	struct sonde_buffer head = { 0 }, headers = { 0 };
	uint64_t room = trace->lines.count, first = UINT64_MAX, last = 0;
	enum sonde_status status;

	if (!trace->file.data)
		return SONDE_OK;
	recovery->has_line = calloc((size_t)recovery->profiles + 1, sizeof(*recovery->has_line));
	if (!recovery->has_line)
		return sonde_fail_nomem(err);
	status = hpcdb_begin_file(recovery, HPCDB_TRACE_FILE, &output, &head, err);
	sonde_put_u64le(&head, 0x20 + room * HPCDB_TRACE_SIZE);
	sonde_put_u64le(&head, HPCDB_TRACE_HEADER);
	sonde_put_u64le(&head, HPCDB_TRACE_HEADER + 0x20);
	sonde_put_u32le(&head, 0);
	sonde_put_u32le(&head, HPCDB_TRACE_SIZE);
	hpcdb_put_zeros(&head, 0x10 + room * HPCDB_TRACE_SIZE);
	if (status == SONDE_OK)
		status = hpcdb_flush(&output, &head, err);
	if (status == SONDE_OK)
		status = write_lines(recovery, &output, &headers, &first, &last, err);
	sonde_buffer_put(&head, hpcdb_file_types[HPCDB_TRACE_FILE].footer, HPCDB_FOOTER_SIZE);
	if (status == SONDE_OK)
		status = hpcdb_flush(&output, &head, err);
	/* a stated start before the first sample is kept: it is when measuring began */
	if (trace->first_ns && trace->first_ns < first && trace->first_ns <= last)
		first = trace->first_ns;
	sonde_put_u32le(&head, (uint32_t)(headers.size / HPCDB_TRACE_SIZE));
	sonde_put_u32le(&head, HPCDB_TRACE_SIZE);
	sonde_put_u64le(&head, first == UINT64_MAX ? 0 : first);
	sonde_put_u64le(&head, last);
	if (status == SONDE_OK && (head.failed || headers.failed))
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = sonde_output_patch(&output, HPCDB_TRACE_HEADER + 8, head.data, head.size,
					    err);
	if (status == SONDE_OK && headers.size)
		status = sonde_output_patch(&output, HPCDB_TRACE_HEADER + 0x20, headers.data,
					    headers.size, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	sonde_buffer_release(&head);
	sonde_buffer_release(&headers);
	free(recovery->has_line);
	return status;
}

/* What cannot be looked at may be whole: nothing is written without it, as if it were not there. */
static bool is_out_of_reach(const char *path)
{
	errno = 0;
	return sonde_path_kind(path) == SONDE_PATH_ABSENT && errno && errno != ENOENT &&
	       errno != ENOTDIR;
}

static enum sonde_status copy_folder(const char *source, const char *target,
				     struct sonde_error *err)
{
	enum sonde_path_kind kind;
	enum sonde_status status;

	errno = 0;
	kind = sonde_path_kind(source);
	if (kind == SONDE_PATH_ABSENT && errno && errno != ENOENT)
		return sonde_fail_errno(err, source, "cannot be looked at");
	if (kind != SONDE_PATH_FOLDER)
		return SONDE_OK;
	status = sonde_folder_create(target, err);
	return status < 0 ? status : hpcdb_copy_folder(source, target, err);
}

/* One of the files but meta.db: it may be damaged, or not there, but not out of reach. */
static enum sonde_status may_fail(struct hpcdb_recovery *recovery, enum hpcdb_file_kind kind,
				  enum sonde_status status, struct sonde_error *err)
{
	char *path;

	if (status != SONDE_IO)
		return status == SONDE_NOMEM ? status : SONDE_OK;
	path = sonde_path_join(recovery->source.folder, hpcdb_file_types[kind].name);
	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) == SONDE_PATH_ABSENT && !is_out_of_reach(path))
		status = SONDE_OK;
	free(path);
	return status;
}

/* Folders beside the four files. */
static enum sonde_status copy_beside(const char *from, const char *to, struct sonde_error *err)
{
	static const char *const folders[] = { "metrics", "src" };
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && status >= 0; i++) {
		char *source = sonde_path_join(from, folders[i]);
		char *target = sonde_path_join(to, folders[i]);

		status = source && target ? copy_folder(source, target, err) :
					    sonde_fail_nomem(err);
		free(source);
		free(target);
	}
	return status;
}

/* Opens what can be; whether meta.db is whole. */
static enum sonde_status open_source(struct hpcdb_recovery *recovery, bool *has_whole_meta,
				     struct sonde_error *err)
{
	struct hpcdb_check *source = &recovery->source;
	enum sonde_status status = hpcdb_meta_open(&source->meta, source->folder, err);

	*has_whole_meta = false;
	if (status < 0)
		return status == SONDE_NOMEM ?
			       status :
			       sonde_error_because(err, "without meta.db nobody can tell what "
							"the values are of, so nothing can be "
							"recovered");
	status = may_fail(recovery, HPCDB_PROFILE_FILE,
			  hpcdb_profile_open(&source->profile, source->folder, err), err);
	if (status == SONDE_OK)
		status = may_fail(recovery, HPCDB_CCT_FILE,
				  hpcdb_cct_open(&source->cct, source->folder, err), err);
	if (status == SONDE_OK)
		status = may_fail(recovery, HPCDB_TRACE_FILE,
				  hpcdb_trace_open(&source->trace, source->folder, err), err);
	if (status < 0)
		return status;
	status = hpcdb_check_meta(source, err);
	*has_whole_meta = !sonde_diagnostics_count(source->found, SONDE_ERROR);
	for (uint32_t i = 0; i < HPCDB_META_SECTIONS; i++) {
		const struct hpcdb_section *section = &source->meta.file.sections[i];

		*has_whole_meta &= section->size == section->stated_size;
	}
	return status;
}

static enum sonde_status write_files(struct hpcdb_recovery *recovery, const char *output,
				     bool replace, struct sonde_error *err)
{
	struct sonde_staged staged = { 0 };
	enum sonde_status status = sonde_staged_begin(&staged, output, true, replace, err);

	recovery->folder = staged.work;
	if (status == SONDE_OK)
		status = copy_meta(recovery, err);
	if (status == SONDE_OK)
		status = hpcdb_recover_values(recovery, err);
	if (status == SONDE_OK)
		status = recover_trace(recovery, err);
	if (status == SONDE_OK)
		status = copy_beside(recovery->source.folder, staged.work, err);
	if (status == SONDE_OK)
		status = sonde_staged_commit(&staged, err);
	sonde_staged_release(&staged);
	return status;
}

/* Values of metrics that meta.db does not name any more. */
static void count_nameless(struct hpcdb_recovery *recovery)
{
	struct hpcdb_check *source = &recovery->source;
	uint64_t budget = source->profile.file.size / HPCDB_PROFILE_VALUE_SIZE;

	for (uint32_t i = 0; i < hpcdb_profile_count(&source->profile); i++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&source->profile, i);

		for (uint64_t j = 0; !info.is_summary && j < info.plane.value_count && budget;
		     j++, budget--) {
			uint16_t metric = hpcdb_plane_metric(&info.plane, j);

			if (source->prop_instances[metric] == HPCDB_NO_RECORD)
				recovery->result->bytes_dropped += HPCDB_PROFILE_VALUE_SIZE;
		}
	}
}

/* What can be walked, as a recording, into a new database. */
static enum sonde_status write_anew(struct hpcdb_recovery *recovery, const char *output,
				    bool replace, struct sonde_error *err)
{
	struct sonde_create_options create = { .format = "hpcdb", .replace = replace };
	struct sonde_run_options run = { 0 };
	struct sonde_run_result written = { 0 };
	struct sonde_recording *recording = NULL;
	struct sonde_sink *sink = NULL;
	uint32_t *tracks = NULL;
	enum sonde_status status =
		sonde_recording_open(recovery->source.folder, "hpcdb", &recording, err);

	if (status == SONDE_OK) {
		size_t count =
			sonde_definitions_track_count(sonde_recording_definitions(recording));

		/* named one by one: a copy as a whole would take the damage along */
		tracks = calloc(count + 1, sizeof(*tracks));
		for (uint32_t i = 0; tracks && i < count; i++)
			tracks[i] = i;
		run.selection.tracks = tracks;
		run.selection.track_count = count;
		recovery->result->tracks_kept = (uint32_t)count;
		if (!tracks)
			status = sonde_fail_nomem(err);
		else if (!count)
			status =
				sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					   "meta.db is damaged and profile.db lists no threads any "
					   "more, so nothing can be recovered");
	}
	if (status == SONDE_OK)
		status = sonde_sink_create(output, &create, &sink, err);
	if (status == SONDE_OK)
		status = sonde_pipeline_run(&recording, 1, sink, &run, &written, err);
	recovery->result->values_kept = written.values_written;
	recovery->result->samples_kept = written.samples_written;
	sonde_sink_free(sink);
	sonde_recording_close(recording);
	free(tracks);
	return status;
}

static bool has_bad_statistics(const struct sonde_diagnostics *diagnostics)
{
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++) {
		if (finding->type == &hpcdb_finding_types[HPCDB_FINDING_STATISTICS] ||
		    finding->type == &hpcdb_finding_types[HPCDB_FINDING_SQUARES])
			return true;
	}
	return false;
}

enum sonde_status hpcdb_recover(const char *path, const char *output,
				const struct sonde_recover_options *options,
				struct sonde_diagnostics *diagnostics,
				struct sonde_recover_result *result, struct sonde_error *err)
{
	struct sonde_check_options check = { .progress = options->progress };
	struct hpcdb_recovery recovery = { .source = { .folder = path },
					   .result = result,
					   .report = diagnostics };
	enum sonde_status status = hpcdb_check(path, &check, diagnostics, err);
	bool has_whole_meta = false;

	if (status < 0)
		return status;
	recovery.source.found = sonde_diagnostics_new();
	if (!recovery.source.found)
		return sonde_fail_nomem(err);
	recovery.source.meter.progress = options->progress;
	recovery.has_bad_statistics = has_bad_statistics(diagnostics);
	status = open_source(&recovery, &has_whole_meta, err);
	if (status == SONDE_OK && has_whole_meta)
		status = write_files(&recovery, output, options->replace, err);
	if (status == SONDE_OK && !has_whole_meta)
		count_nameless(&recovery);
	if (status == SONDE_OK && !has_whole_meta)
		status = write_anew(&recovery, output, options->replace, err);
	sonde_diagnostics_free(recovery.source.found);
	hpcdb_check_release(&recovery.source);
	return status;
}
