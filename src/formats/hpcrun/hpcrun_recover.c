/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A good copy of damaged measurements: whole profiles and traces as they are, of the others what is
 * whole, and what else lies in the folder.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_decode.h"
#include "formats/hpcrun/hpcrun_findings.h"
#include "formats/hpcrun/hpcrun_read.h"
#include "formats/hpcrun/hpcrun_recover.h"
#include "formats/hpcrun/hpcrun_write.h"

#define BATCH 1024

struct recovering {
	const char *output; /* folder in the making */
	struct sonde_diagnostics *diagnostics;
	struct sonde_recover_result *result;
	struct hpcrun_profile profile;
	uint32_t profile_epochs;
	struct sonde_buffer bytes;
	struct sonde_error *err;
};

/* The first id from *next on that no node of the file has; there are fewer nodes than ids. */
static void find_unused(const struct hpcrun_profile *profile, uint32_t *next)
{
	while (hpcrun_profile_find(profile, *next) != UINT32_MAX)
		++*next;
}

/* Ids of their own for nodes whose own is 0 or taken. */
static void mend_ids(struct hpcrun_profile *profile, uint32_t *next)
{
	find_unused(profile, next);
	for (size_t i = 0; i < profile->nodes.count; i++) {
		struct hpcrun_node *node = &profile->nodes.items[i];

		if (hpcrun_profile_find(profile, node->id) == i)
			continue;
		node->id = (*next)++;
		find_unused(profile, next);
	}
}

static bool is_special(uint16_t module)
{
	return module == HPCRUN_MODULE_PLACEHOLDER || module == HPCRUN_MODULE_GPU_CONTEXT ||
	       module == HPCRUN_MODULE_GPU_RANGE || module == HPCRUN_MODULE_GPU_RANGE_ROOT;
}

/* Modules that nodes name and the load map does not have, and numbers that it has twice. */
static enum sonde_status mend_modules(struct hpcrun_profile *profile, struct sonde_error *err)
{
	uint8_t *known = calloc(65536, 1);
	size_t kept = 0;

	if (!known)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < profile->modules.count; i++) {
		struct hpcrun_module module = profile->modules.items[i];

		if (known[module.id])
			continue;
		known[module.id] = 1;
		profile->modules.items[kept++] = module;
	}
	profile->modules.count = kept;
	for (size_t i = 0; i < profile->nodes.count; i++) {
		uint16_t id = profile->nodes.items[i].module;
		struct hpcrun_module *module;

		if (known[id] || is_special(id))
			continue;
		known[id] = 1;
		module = sonde_vec_push(&profile->modules);
		if (!module) {
			free(known);
			return sonde_fail_nomem(err);
		}
		*module = (struct hpcrun_module){ .id = id, .path = "[unknown]" };
	}
	free(known);
	return SONDE_OK;
}

enum sonde_status hpcrun_profile_mend(struct hpcrun_profile *profile, uint32_t *unused_id,
				      struct sonde_error *err)
{
	*unused_id = 1;
	mend_ids(profile, unused_id);
	return mend_modules(profile, err);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static enum sonde_status copy_file(const char *path, const char *folder, struct sonde_error *err)
{
	char *target = sonde_path_join(folder, file_name(path));
	struct sonde_mapped_file file;
	enum sonde_status status;

	if (!target)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(&file, path, err);
	if (!status) {
		status = hpcrun_write_file(target, file.data, file.size, err);
		sonde_mapped_file_release(&file);
	}
	free(target);
	return status;
}

/* The node that stands for not running, as the root does; added where there is none. */
static enum sonde_status no_activity(struct recovering *recovering, uint32_t unused_id,
				     uint32_t *id)
{
	struct hpcrun_profile *profile = &recovering->profile;
	struct hpcrun_node *node;

	for (size_t i = 0; i < profile->nodes.count; i++) {
		node = &profile->nodes.items[i];
		*id = node->id;
		if (node->module == HPCRUN_MODULE_PLACEHOLDER &&
		    (node->ip == HPCRUN_NO_ACTIVITY || node->ip == HPCRUN_PRIMARY))
			return SONDE_OK;
	}
	node = sonde_vec_push(&profile->nodes);
	if (!node)
		return sonde_fail_nomem(recovering->err);
	*node = (struct hpcrun_node){
		.ip = HPCRUN_NO_ACTIVITY,
		.id = unused_id,
		.parent = profile->nodes.count > 1 ? 0 : UINT32_MAX,
		.unwound = true,
	};
	*id = unused_id;
	return SONDE_OK;
}

/* Records whose node is lost say that nothing ran. */
static enum sonde_status write_records(struct recovering *recovering, const struct hpctrace *trace,
				       struct sonde_output *output, uint32_t unused_id)
{
	struct hpctrace_record records[BATCH];
	uint8_t bytes[BATCH * HPCTRACE_RECORD_SIZE];
	enum sonde_status status = SONDE_OK;
	uint32_t none = 0;
	uint64_t at = 0;
	size_t count;

	for (; !status && (count = hpctrace_read(trace, at, records, BATCH)); at += count) {
		for (size_t i = 0; i < count && !status; i++) {
			uint32_t node = hpcrun_profile_find(&recovering->profile, records[i].node);

			if (node != UINT32_MAX)
				continue;
			if (!none)
				status = no_activity(recovering, unused_id, &none);
			records[i].node = none;
		}
		hpctrace_encode(records, count, bytes);
		if (!status)
			status = sonde_output_write(output, bytes, count * HPCTRACE_RECORD_SIZE,
						    recovering->err);
	}
	return status;
}

static enum sonde_status write_trace(struct recovering *recovering, const struct hpctrace *trace,
				     const char *path, uint32_t unused_id)
{
	char *target = sonde_path_join(recovering->output, file_name(path));
	uint8_t header[HPCTRACE_HEADER_SIZE];
	struct sonde_output output;
	enum sonde_status status;

	if (!target)
		return sonde_fail_nomem(recovering->err);
	status = sonde_output_open(&output, target, recovering->err);
	free(target);
	if (status)
		return status;
	/* the fourth field of data-centric records means nothing without their metrics */
	hpctrace_encode_header(trace->flags & ~(uint64_t)HPCTRACE_DATA_CENTRIC, header);
	status = sonde_output_write(&output, header, sizeof(header), recovering->err);
	if (!status)
		status = write_records(recovering, trace, &output, unused_id);
	if (!status)
		status = sonde_output_close(&output, recovering->err);
	sonde_output_release(&output);
	return status;
}

/* True where all nodes of a trace are in the profile; tells of the first that is not. */
static bool knows_nodes(const struct recovering *recovering, const struct hpctrace *trace,
			const char *path)
{
	struct hpctrace_record records[BATCH];
	uint64_t at = 0;
	size_t count;

	for (; (count = hpctrace_read(trace, at, records, BATCH)); at += count) {
		for (size_t i = 0; i < count; i++) {
			if (hpcrun_profile_find(&recovering->profile, records[i].node) !=
			    UINT32_MAX)
				continue;
			hpcrun_found(recovering->diagnostics, TRACE_NODE, path,
				     HPCTRACE_HEADER_SIZE + (at + i) * trace->record_size,
				     "a node of the profile\tnumber %u", records[i].node);
			return false;
		}
	}
	return true;
}

/*
 * A whole trace is copied, one that is cut or names lost nodes is written anew. Of a profile of
 * several epochs one was read: its trace may well name nodes of the others.
 */
static enum sonde_status recover_trace(struct recovering *recovering, const char *path,
				       bool is_profile_whole, uint32_t unused_id)
{
	bool is_one = recovering->profile_epochs <= 1;
	struct sonde_error error = { 0 };
	struct hpctrace trace;
	enum sonde_status status = hpctrace_open(&trace, path, &error);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(recovering->err);
	if (status) {
		hpcrun_found(recovering->diagnostics, TRACE_REFUSED, path, error.offset,
			     "a trace\t%s%s%s", error.message, *error.cause ? ": " : "",
			     error.cause);
		return SONDE_OK;
	}
	if (trace.left_over)
		hpcrun_found(recovering->diagnostics, TRACE_CUT, path,
			     trace.file.size - trace.left_over, "%u bytes\t%" PRIu64,
			     trace.record_size, trace.left_over);
	recovering->result->bytes_dropped += trace.left_over;
	recovering->result->samples_kept += trace.count;
	if (is_profile_whole && !trace.left_over &&
	    (!is_one || knows_nodes(recovering, &trace, path)))
		status = copy_file(path, recovering->output, recovering->err);
	else
		status = write_trace(recovering, &trace, path, unused_id);
	hpctrace_release(&trace);
	return status;
}

/* What is left of a profile, as a file of the same generation where that is written, else 04.00b. */
static enum sonde_status write_profile(struct recovering *recovering, const char *path)
{
	const struct hpcrun_profile *profile = &recovering->profile;
	bool is_old = profile->generation == HPCRUN_02_00_DOCUMENT ||
		      profile->generation == HPCRUN_02_00_CODED;
	struct sonde_mapped_file file;
	char *target;
	enum sonde_status status;

	status = is_old ? hpcrun_encode_02(profile, &recovering->bytes, recovering->err) :
			  hpcrun_encode_04(profile, &recovering->bytes, recovering->err);
	target = sonde_path_join(recovering->output, file_name(path));
	if (!target)
		status = sonde_fail_nomem(recovering->err);
	if (!status)
		status = hpcrun_write_file(target, recovering->bytes.data, recovering->bytes.size,
					   recovering->err);
	free(target);
	if (!status && !sonde_mapped_file_open(&file, path, NULL)) {
		if (file.size > recovering->bytes.size)
			recovering->result->bytes_dropped += file.size - recovering->bytes.size;
		sonde_mapped_file_release(&file);
	}
	return status;
}

/* True where the profile needs no mending: it can be read without anything being wrong. */
static enum sonde_status read_profile(struct recovering *recovering, const char *path,
				      bool *is_whole)
{
	struct sonde_error error = { 0 };
	enum sonde_status status = hpcrun_profile_read(&recovering->profile, path, 0,
						       &recovering->profile_epochs, NULL, &error);

	*is_whole = status == SONDE_OK;
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(recovering->err);
	if (*is_whole)
		return SONDE_OK;
	status = hpcrun_profile_read(&recovering->profile, path, 0, &recovering->profile_epochs,
				     recovering->diagnostics, &error);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(recovering->err);
	if (!status)
		return SONDE_OK;
	hpcrun_found(recovering->diagnostics, REFUSED, path, error.offset, "a profile\t%s%s%s",
		     error.message, *error.cause ? ": " : "", error.cause);
	return SONDE_END;
}

/* Of a profile that is copied, all epochs are there; as many are counted as anybody reads. */
static void count_values(struct recovering *recovering, const char *path, bool is_whole)
{
	uint32_t epochs = is_whole ? recovering->profile_epochs : 1;

	recovering->result->values_kept += recovering->profile.values.count;
	for (uint32_t i = 1; i < epochs && i < HPCRUN_EPOCH_LIMIT; i++) {
		if (hpcrun_profile_read(&recovering->profile, path, i, NULL, NULL, NULL))
			return;
		recovering->result->values_kept += recovering->profile.values.count;
	}
}

static enum sonde_status recover_files(struct recovering *recovering,
				       const struct hpcrun_files *files)
{
	bool is_whole = false;
	uint32_t unused_id = 0;
	size_t nodes;
	enum sonde_status status = read_profile(recovering, files->path, &is_whole);

	if (status == SONDE_END) {
		recovering->result->tracks_lost++;
		return SONDE_OK;
	}
	if (!status) /* changes nothing in a whole one */
		status = hpcrun_profile_mend(&recovering->profile, &unused_id, recovering->err);
	nodes = recovering->profile.nodes.count;
	if (!status && files->trace)
		status = recover_trace(recovering, files->trace, is_whole, unused_id);
	is_whole = is_whole && nodes == recovering->profile.nodes.count;
	if (!status)
		status = is_whole ? copy_file(files->path, recovering->output, recovering->err) :
				    write_profile(recovering, files->path);
	if (!status)
		count_values(recovering, files->path, is_whole);
	recovering->result->tracks_kept += !status;
	return status;
}

static enum sonde_status copy_folder(const char *path, const char *output, struct sonde_error *err)
{
	char *target = sonde_path_join(output, file_name(path));
	struct sonde_folder folder;
	enum sonde_status status = target ? sonde_folder_create(target, err) :
					    sonde_fail_nomem(err);

	if (!status && !(status = sonde_folder_read(&folder, path, err))) {
		for (size_t i = 0; i < folder.count && !status; i++) {
			char *name = sonde_path_join(path, folder.names[i]);

			if (!name)
				status = sonde_fail_nomem(err);
			else if (sonde_path_kind(name) == SONDE_PATH_FILE)
				status = copy_file(name, target, err);
			free(name);
		}
		sonde_folder_release(&folder);
	}
	free(target);
	return status;
}

/* Logs and the like, and the folders with what modules and structs are. */
static enum sonde_status copy_rest(const char *path, const char *output, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, path, err);

	if (status)
		return status;
	for (size_t i = 0; i < folder.count && !status; i++) {
		char *name = sonde_path_join(path, folder.names[i]);
		enum sonde_path_kind kind = name ? sonde_path_kind(name) : SONDE_PATH_ABSENT;

		if (!name)
			status = sonde_fail_nomem(err);
		else if (kind == SONDE_PATH_FILE && hpcrun_is_beside(name))
			status = copy_file(name, output, err);
		else if (kind == SONDE_PATH_FOLDER && hpcrun_is_side_folder(folder.names[i]))
			status = copy_folder(name, output, err);
		free(name);
	}
	sonde_folder_release(&folder);
	return status;
}

static enum sonde_status recover_folder(struct recovering *recovering,
					const struct hpcrun_folder *folder,
					const struct sonde_progress *progress)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < folder->profiles.count && !status; i++) {
		status = recover_files(recovering, &folder->profiles.items[i]);
		if (!status && progress &&
		    !progress->report(progress->user, i + 1, folder->profiles.count))
			status = sonde_fail(recovering->err, SONDE_CANCELLED, SONDE_NO_OFFSET,
					    "the recovery was stopped");
	}
	for (size_t i = 0; i < folder->orphans.count && !status; i++)
		hpcrun_found(recovering->diagnostics, NO_PROFILE, folder->orphans.items[i],
			     SONDE_NO_OFFSET, "an .hpcrun file of the same name\tnone");
	if (!status && !recovering->result->tracks_kept)
		status = sonde_fail(recovering->err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				    "none of %zu profiles can be read: there is nothing to keep",
				    folder->profiles.count);
	return status;
}

enum sonde_status hpcrun_recover(const char *path, const char *output,
				 const struct sonde_recover_options *options,
				 struct sonde_diagnostics *diagnostics,
				 struct sonde_recover_result *result, struct sonde_error *err)
{
	struct recovering recovering = {
		.diagnostics = diagnostics,
		.result = result,
		.err = err,
	};
	struct sonde_staged staged = { 0 };
	struct hpcrun_folder folder;
	enum sonde_status status = hpcrun_folder_open(&folder, path, err);

	if (!status)
		status = sonde_staged_begin(&staged, output, true, options->replace, err);
	if (!status) {
		recovering.output = staged.work;
		status = recover_folder(&recovering, &folder, options->progress);
		if (!status && folder.is_folder)
			status = copy_rest(path, staged.work, err);
		if (!status)
			status = sonde_staged_commit(&staged, err);
		sonde_staged_release(&staged);
	}
	hpcrun_folder_release(&folder);
	hpcrun_profile_release(&recovering.profile);
	sonde_buffer_release(&recovering.bytes);
	return status;
}
