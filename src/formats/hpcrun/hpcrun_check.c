/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks measurements: every profile is decoded with everything that is wrong becoming a finding, and
 * every sample is compared with the profile that it belongs to.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/hpcrun/hpcrun_findings.h"
#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_read.h"

#define BATCH 1024

struct checking {
	struct sonde_diagnostics *diagnostics;
	struct hpcrun_profile profile;
	struct sonde_error *err;
};

/* The ids of all epochs' nodes: a trace may name any of them. */
static enum sonde_status collect_ids(struct checking *checking, const char *path, uint32_t epochs,
				     struct sonde_key_map *ids)
{
	struct sonde_diagnostics *ignored = sonde_diagnostics_new();
	enum sonde_status status = ignored ? SONDE_OK : sonde_fail_nomem(checking->err);

	for (uint32_t epoch = 0; epoch < epochs && !status; epoch++) {
		status = hpcrun_profile_read(&checking->profile, path, epoch, NULL, ignored,
					     checking->err);
		for (size_t i = 0; i < checking->profile.nodes.count && !status; i++) {
			uint32_t id = checking->profile.nodes.items[i].id;

			if (sonde_key_map_find(ids, id) == UINT32_MAX &&
			    !sonde_key_map_add(ids, id, 0))
				status = sonde_fail_nomem(checking->err);
		}
	}
	sonde_diagnostics_free(ignored);
	return status;
}

static void check_records(const struct checking *checking, const struct hpctrace *trace,
			  const char *path, const struct sonde_key_map *ids)
{
	struct hpctrace_record records[BATCH];
	uint64_t last = 0, disordered = 0, at = 0;
	size_t count;

	for (; (count = hpctrace_read(trace, at, records, BATCH)); at += count) {
		for (size_t i = 0; i < count; i++) {
			uint64_t offset = HPCTRACE_HEADER_SIZE + (at + i) * trace->record_size;

			if (sonde_key_map_find(ids, records[i].node) == UINT32_MAX)
				hpcrun_found(checking->diagnostics, TRACE_NODE, path, offset,
					     "a node of the profile\tnumber %u", records[i].node);
			disordered += records[i].time_ns < last;
			last = records[i].time_ns;
		}
	}
	if (disordered)
		hpcrun_found(checking->diagnostics, TRACE_ORDER, path, SONDE_NO_OFFSET,
			     "times that do not go back\t%" PRIu64 " times that do", disordered);
}

static enum sonde_status check_trace(struct checking *checking, const struct hpcrun_files *files,
				     uint32_t epochs)
{
	struct sonde_key_map ids = { NULL };
	struct sonde_error error = { 0 };
	struct hpctrace trace;
	enum sonde_status status = hpctrace_open(&trace, files->trace, &error);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(checking->err);
	if (status) {
		hpcrun_found(checking->diagnostics, TRACE_REFUSED, files->trace, error.offset,
			     "a trace\t%s%s%s", error.message, *error.cause ? ": " : "",
			     error.cause);
		return SONDE_OK;
	}
	if (trace.left_over)
		hpcrun_found(checking->diagnostics, TRACE_CUT, files->trace,
			     trace.file.size - trace.left_over, "%u bytes\t%" PRIu64,
			     trace.record_size, trace.left_over);
	status = collect_ids(checking, files->path, epochs, &ids);
	if (!status)
		check_records(checking, &trace, files->trace, &ids);
	sonde_key_map_release(&ids);
	hpctrace_release(&trace);
	return status;
}

static enum sonde_status check_files(struct checking *checking, const struct hpcrun_files *files)
{
	struct sonde_error error = { 0 };
	uint32_t epochs;
	enum sonde_status status = hpcrun_profile_read(&checking->profile, files->path, 0, &epochs,
						       checking->diagnostics, &error);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(checking->err);
	if (status) {
		hpcrun_found(checking->diagnostics, REFUSED, files->path, error.offset,
			     "a profile\t%s%s%s", error.message, *error.cause ? ": " : "",
			     error.cause);
		return SONDE_OK;
	}
	return files->trace ? check_trace(checking, files, epochs) : SONDE_OK;
}

enum sonde_status hpcrun_check(const char *path, const struct sonde_check_options *options,
			       struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct checking checking = { .diagnostics = diagnostics, .err = err };
	const struct sonde_progress *progress = options->progress;
	struct hpcrun_folder folder;
	enum sonde_status status = hpcrun_folder_open(&folder, path, err);

	for (size_t i = 0; i < folder.profiles.count && !status; i++) {
		status = check_files(&checking, &folder.profiles.items[i]);
		if (!status && progress &&
		    !progress->report(progress->user, i + 1, folder.profiles.count))
			status = sonde_fail(err, SONDE_CANCELLED, SONDE_NO_OFFSET,
					    "the check was stopped");
	}
	for (size_t i = 0; i < folder.orphans.count && !status; i++)
		hpcrun_found(diagnostics, NO_PROFILE, folder.orphans.items[i], SONDE_NO_OFFSET,
			     "an .hpcrun file of the same name\tnone");
	hpcrun_folder_release(&folder);
	hpcrun_profile_release(&checking.profile);
	return status;
}
