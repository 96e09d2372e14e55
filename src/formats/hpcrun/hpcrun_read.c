/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens measurements: reads every profile once, notes what it brings (modules, metrics, nodes, pairs),
 * then orders the profiles by who they are and defines them as processes and tracks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/hpcrun/hpcrun_findings.h"
#include "formats/hpcrun/hpcrun_read.h"
#include "formats/hpcrun/hpcrun_write.h"

#define BATCH 1024
#define LANES (SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES)

struct opening {
	struct sonde_recording *recording;
	struct hpcrun_recording *data;
	struct hpcrun_profile profile;
	struct hpcrun_places places;
	struct sonde_key_map ids; /* of nodes, where there are several epochs */
	struct sonde_error *err;
};

static enum sonde_status intern(struct opening *opening, const char *text, uint32_t *id)
{
	return sonde_definitions_add_string(opening->recording->definitions, text, strlen(text), id,
					    opening->err);
}

static enum sonde_status note_modules(struct opening *opening, uint32_t input)
{
	struct hpcrun_recording *data = opening->data;

	for (size_t i = 0; i < opening->profile.modules.count; i++) {
		const char *path = opening->profile.modules.items[i].path;
		size_t length = strlen(path);
		const char **place;
		uint32_t *where;

		if (sonde_text_map_find(&data->modules, path, length) != UINT32_MAX)
			continue;
		path = sonde_arena_copy_text(&data->texts, path, length);
		place = sonde_vec_push(&data->module_paths);
		where = sonde_vec_push(&data->module_inputs);
		if (!path || !place || !where ||
		    !sonde_text_map_add(&data->modules, path, length,
					(uint32_t)data->module_paths.count - 1))
			return sonde_fail_nomem(opening->err);
		*place = path;
		*where = input;
	}
	return SONDE_OK;
}

static enum sonde_status note_pairs(struct opening *opening, struct hpcrun_input *input)
{
	struct hpcrun_recording *data = opening->data;
	struct sonde_buffer name = { 0 }, value = { 0 };
	enum sonde_status status = SONDE_OK;

	input->first_pair = (uint32_t)data->pairs.count;
	for (size_t i = 0; i < opening->profile.pairs.count && !status; i++) {
		struct hpcrun_defined_pair *pair = sonde_vec_push(&data->pairs);
		struct sonde_json_writer writer;

		sonde_buffer_clear(&name);
		sonde_buffer_clear(&value);
		sonde_buffer_put_text(&name, HPCRUN_ATTRIBUTE);
		sonde_buffer_put_text(&name, opening->profile.pairs.items[i].name);
		sonde_json_writer_init(&writer, &value, false);
		sonde_json_string(&writer, opening->profile.pairs.items[i].value);
		if (!pair || !sonde_buffer_text(&name) || !sonde_buffer_text(&value))
			status = sonde_fail_nomem(opening->err);
		if (!status)
			status = intern(opening, name.data, &pair->name);
		if (!status)
			status = intern(opening, value.data, &pair->value);
		input->pair_count++;
	}
	sonde_buffer_release(&name);
	sonde_buffer_release(&value);
	return status;
}

/* The value of the first of these pairs that is there, or "". */
static const char *pair_of(const struct opening *opening, const char *name, const char *other)
{
	const char *value = hpcrun_profile_pair(&opening->profile, name);

	if (!value && other)
		value = hpcrun_profile_pair(&opening->profile, other);
	return value ? value : "";
}

/* Program, process and thread, by pairs, else by the file's name. */
static enum sonde_status note_names(struct opening *opening, struct hpcrun_input *input)
{
	const char *slash = strrchr(input->files.path, '/');
	const char *file = slash ? slash + 1 : input->files.path;
	const char *program = pair_of(opening, "program-name", NULL);
	const char *process = pair_of(opening, "process-id", "process_id");
	const char *thread = pair_of(opening, "thread-id", "canonical-thread-id");
	struct hpcrun_name name = { 0 };
	size_t length = strlen(program), named_length;
	bool is_named = hpcrun_name_parse(file, &name, &named_length);
	char key[192];

	if (!length && is_named) {
		length = named_length;
		program = file;
	}
	input->identity_count = opening->profile.identity_count;
	input->pid = *process ? (uint32_t)strtoul(process, NULL, 10) : SONDE_NONE;
	if (!*process && is_named)
		input->pid = name.process;
	input->slot = is_named ? (uint32_t)name.thread : (uint32_t)strtoul(thread, NULL, 10);
	snprintf(key, sizeof(key), "%.40s/%.40s/%u", pair_of(opening, "host-id", NULL),
		 pair_of(opening, "mpi-rank", NULL), input->pid);
	input->program = sonde_arena_copy_text(&opening->data->texts, program, length);
	input->process_key = sonde_arena_copy_text(&opening->data->texts, key, strlen(key));
	if (!input->program || !input->process_key)
		return sonde_fail_nomem(opening->err);
	return SONDE_OK;
}

static bool has_node(const struct opening *opening, const struct hpcrun_input *input, uint32_t id)
{
	if (input->epochs > 1)
		return sonde_key_map_find(&opening->ids, id) != UINT32_MAX;
	return hpcrun_profile_find(&opening->profile, id) != UINT32_MAX;
}

/* How many samples there are and when; those of nodes that are not there are none. */
static void take_samples(const struct opening *opening, struct hpcrun_input *input,
			 const struct hpctrace *trace)
{
	struct hpctrace_record records[BATCH];
	uint64_t at = 0;
	size_t count;

	for (; (count = hpctrace_read(trace, at, records, BATCH)); at += count) {
		for (size_t i = 0; i < count; i++) {
			uint64_t time_ns = records[i].time_ns;

			if (!has_node(opening, input, records[i].node))
				continue;
			if (!input->sample_count || time_ns < input->time_first_ns)
				input->time_first_ns = time_ns;
			if (!input->sample_count || time_ns > input->time_last_ns)
				input->time_last_ns = time_ns;
			input->sample_count++;
		}
	}
}

static enum sonde_status note_trace(struct opening *opening, struct hpcrun_input *input)
{
	struct sonde_diagnostics *diagnostics = opening->recording->diagnostics;
	struct sonde_error error = { 0 };
	enum sonde_status status;
	struct hpctrace trace;

	if (!input->files.trace)
		return SONDE_OK;
	status = hpctrace_open(&trace, input->files.trace, &error);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(opening->err);
	if (status) {
		hpcrun_found(diagnostics, TRACE_REFUSED, input->files.trace, error.offset,
			     "a trace\t%s", error.message);
		input->files.trace = NULL; /* the folder still owns it */
		return SONDE_OK;
	}
	if (trace.left_over)
		hpcrun_found(diagnostics, TRACE_CUT, input->files.trace,
			     trace.file.size - trace.left_over, "%u bytes\t%" PRIu64,
			     trace.record_size, trace.left_over);
	take_samples(opening, input, &trace);
	input->samples_calls = trace.flags & HPCTRACE_CALLS;
	if (input->sample_count < trace.count)
		hpcrun_found(diagnostics, TRACE_NODE, input->files.trace, SONDE_NO_OFFSET,
			     "nodes of the profile\tothers, in %" PRIu64 " of %" PRIu64 " samples",
			     trace.count - input->sample_count, trace.count);
	if (input->sample_count)
		opening->recording->lanes |= SONDE_LANE_SAMPLES;
	hpctrace_release(&trace);
	return SONDE_OK;
}

/* Traces name the nodes of all epochs. */
static enum sonde_status note_ids(struct opening *opening)
{
	const struct hpcrun_profile *profile = &opening->profile;

	for (size_t i = 0; i < profile->nodes.count; i++) {
		uint32_t id = profile->nodes.items[i].id;

		if (sonde_key_map_find(&opening->ids, id) == UINT32_MAX &&
		    !sonde_key_map_add(&opening->ids, id, 0))
			return sonde_fail_nomem(opening->err);
	}
	return SONDE_OK;
}

/* Everything but the first epoch; what is wrong with them was said when the first was read. */
static enum sonde_status take_epochs(struct opening *opening, const struct hpcrun_input *input,
				     uint32_t number)
{
	struct sonde_diagnostics *ignored = sonde_diagnostics_new();
	enum sonde_status status = ignored ? SONDE_OK : sonde_fail_nomem(opening->err);

	sonde_key_map_release(&opening->ids);
	if (!status && input->epochs > 1)
		status = note_ids(opening);
	for (uint32_t epoch = 1; epoch < input->epochs && !status; epoch++) {
		status = hpcrun_profile_read(&opening->profile, input->files.path, epoch, NULL,
					     ignored, opening->err);
		if (!status)
			status = note_modules(opening, number);
		if (!status)
			status = hpcrun_note_metrics(opening->recording, &opening->profile,
						     opening->err);
		if (!status)
			status = hpcrun_place_nodes(opening->data, &opening->profile, true,
						    &opening->places, opening->err);
		if (!status)
			status = note_ids(opening);
		if (!status)
			opening->data->value_count += opening->profile.values.count;
	}
	sonde_diagnostics_free(ignored);
	return status;
}

static enum sonde_status take_profile(struct opening *opening, const struct hpcrun_files *files)
{
	struct hpcrun_recording *data = opening->data;
	struct hpcrun_profile *profile = &opening->profile;
	struct hpcrun_input input = { .files = *files };
	struct sonde_error error = { 0 };
	struct hpcrun_input *place;
	enum sonde_status status = hpcrun_profile_read(profile, files->path, 0, &input.epochs,
						       opening->recording->diagnostics, &error);
	uint32_t number = (uint32_t)data->inputs.count;

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(opening->err);
	if (status) {
		hpcrun_found(opening->recording->diagnostics, REFUSED, files->path, error.offset,
			     "a profile\t%s", error.message);
		opening->recording->tracks_lost++;
		return SONDE_OK;
	}
	data->value_count += profile->values.count;
	status = note_names(opening, &input);
	memcpy(input.identities, profile->identities, sizeof(input.identities));
	if (!status)
		status = note_modules(opening, number);
	if (!status)
		status = hpcrun_note_metrics(opening->recording, &opening->profile, opening->err);
	if (!status)
		status = note_pairs(opening, &input);
	if (!status)
		status = hpcrun_place_nodes(data, profile, true, &opening->places, opening->err);
	if (!status)
		status = take_epochs(opening, &input, number);
	if (!status)
		status = note_trace(opening, &input);
	if (status)
		return status;
	place = sonde_vec_push(&data->inputs);
	if (!place)
		return sonde_fail_nomem(opening->err);
	*place = input;
	return SONDE_OK;
}

static int compare_inputs(const void *a, const void *b)
{
	const struct hpcrun_input *left = a, *right = b;
	int order = sonde_identity_compare(left->identities, left->identity_count,
					   right->identities, right->identity_count);

	return order ? order : sonde_name_compare(left->files.path, right->files.path);
}

static enum sonde_status add_attribute(struct opening *opening, enum sonde_owner owner,
				       uint32_t owner_id, const struct hpcrun_defined_pair *pair)
{
	struct sonde_attribute attribute = {
		.owner = owner,
		.owner_id = owner_id,
		.name = pair->name,
		.value = pair->value,
	};
	uint32_t ignored;

	return sonde_definitions_add_attribute(opening->recording->definitions, &attribute,
					       &ignored, opening->err);
}

/* Pairs that are about one thread only. */
static bool is_of_thread(const char *name)
{
	static const char *const names[] = {
		"thread-id",	  "canonical-thread-id", "trace-min-time",
		"trace-max-time", "trace-disorder",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name + strlen(HPCRUN_ATTRIBUTE), names[i]))
			return true;
	}
	return false;
}

/* A pair belongs to the process; to the thread where the process has another value. */
static enum sonde_status define_pairs(struct opening *opening, const struct hpcrun_input *input,
				      uint32_t process, uint32_t track)
{
	struct sonde_definitions *definitions = opening->recording->definitions;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < input->pair_count && !status; i++) {
		const struct hpcrun_defined_pair *pair =
			&opening->data->pairs.items[input->first_pair + i];
		const char *name = sonde_definitions_string(definitions, pair->name);
		const char *known = sonde_definitions_find_attribute(
			definitions, SONDE_OWNER_PROCESS, process, name);

		if (is_of_thread(name) ||
		    (known &&
		     strcmp(known, sonde_definitions_string(definitions, pair->value)) != 0))
			status = add_attribute(opening, SONDE_OWNER_TRACK, track, pair);
		else if (!known)
			status = add_attribute(opening, SONDE_OWNER_PROCESS, process, pair);
	}
	return status;
}

static enum sonde_status define_process(struct opening *opening, const struct hpcrun_input *input,
					struct sonde_text_map *processes, uint32_t *id)
{
	struct sonde_process process = { .os_id = input->pid ? input->pid : SONDE_NONE,
					 .os = SONDE_OS_LINUX };
	size_t length = strlen(input->process_key);
	enum sonde_status status;

	*id = sonde_text_map_find(processes, input->process_key, length);
	if (*id != UINT32_MAX)
		return SONDE_OK;
	status = intern(opening, input->program, &process.name);
	if (!status)
		status = sonde_definitions_add_process(opening->recording->definitions, &process,
						       id, opening->err);
	if (!status && !sonde_text_map_add(processes, input->process_key, length, *id))
		status = sonde_fail_nomem(opening->err);
	return status;
}

static const struct sonde_identity *stream_of(const struct hpcrun_input *input)
{
	for (size_t i = 0; i < input->identity_count; i++) {
		if (input->identities[i].kind == SONDE_IDENTITY_GPU_STREAM)
			return &input->identities[i];
	}
	return NULL;
}

/* The model has no such samples; who writes measurements again needs to know. */
static enum sonde_status define_calls(struct opening *opening, uint32_t track)
{
	struct hpcrun_defined_pair pair = { 0 };
	enum sonde_status status = intern(opening, HPCRUN_ATTRIBUTE_CALLS, &pair.name);

	if (!status)
		status = intern(opening, "true", &pair.value);
	return status ? status : add_attribute(opening, SONDE_OWNER_TRACK, track, &pair);
}

static enum sonde_status define_track(struct opening *opening, const struct hpcrun_input *input,
				      uint32_t process)
{
	const struct sonde_identity *stream = stream_of(input);
	struct sonde_track track = {
		.process = process,
		.slot = input->slot,
		.os_id = UINT64_MAX,
		.kind = stream ? SONDE_TRACK_GPU_STREAM : SONDE_TRACK_THREAD,
		.name_made_up = true,
		.sample_count = input->sample_count,
		.time_first_ns = input->time_first_ns,
		.time_last_ns = input->time_last_ns,
	};
	enum sonde_status status = SONDE_OK;
	char name[48];
	uint32_t id = 0;

	if (stream) {
		snprintf(name, sizeof(name), "GPU stream %" PRIu64, stream->logical);
		status = intern(opening, name, &track.name);
	}
	if (!status)
		status = sonde_definitions_add_track(opening->recording->definitions, &track, &id,
						     opening->err);
	if (!status && input->identity_count)
		status = sonde_identity_define(opening->recording->definitions, id,
					       input->identities, input->identity_count,
					       opening->err);
	if (!status && input->samples_calls)
		status = define_calls(opening, id);
	return status ? status : define_pairs(opening, input, process, id);
}

static enum sonde_status define_clock(struct opening *opening)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_REALTIME };
	enum sonde_status status = intern(opening, "realtime", &clock.name);
	uint32_t id;

	if (status)
		return status;
	return sonde_definitions_add_clock(opening->recording->definitions, &clock, &id,
					   opening->err);
}

static enum sonde_status define_modules(struct opening *opening, const uint32_t *process_of)
{
	struct hpcrun_recording *data = opening->data;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < data->module_paths.count && !status; i++) {
		struct sonde_module module = { .process =
						       process_of[data->module_inputs.items[i]] };
		uint32_t id;

		status = intern(opening, data->module_paths.items[i], &module.path);
		if (!status)
			status = sonde_definitions_add_module(opening->recording->definitions,
							      &module, &id, opening->err);
	}
	return status;
}

/* Tracks in the order of who they are; modules belong to the process that named them first. */
static enum sonde_status define_inputs(struct opening *opening)
{
	struct hpcrun_recording *data = opening->data;
	struct sonde_text_map processes = { 0 };
	uint32_t *process_of = calloc(data->inputs.count + 1, sizeof(*process_of));
	enum sonde_status status;

	if (!process_of)
		return sonde_fail_nomem(opening->err);
	status = define_clock(opening);
	for (size_t i = 0; i < data->inputs.count && !status; i++) {
		status =
			define_process(opening, &data->inputs.items[i], &processes, &process_of[i]);
	}
	if (!status)
		status = define_modules(opening, process_of);
	if (!status && data->inputs.count)
		qsort(data->inputs.items, data->inputs.count, sizeof(struct hpcrun_input),
		      compare_inputs);
	for (size_t i = 0; i < data->inputs.count && !status; i++) {
		uint32_t process = 0;

		status = define_process(opening, &data->inputs.items[i], &processes, &process);
		if (!status)
			status = define_track(opening, &data->inputs.items[i], process);
	}
	sonde_text_map_release(&processes);
	free(process_of);
	return status;
}

static enum sonde_status hpcrun_contexts(struct sonde_recording *recording,
					 const struct sonde_context **contexts, uint32_t *count,
					 struct sonde_error *err)
{
	const struct hpcrun_recording *data = recording->data;

	(void)err;
	*contexts = data->contexts;
	*count = data->context_count;
	return SONDE_OK;
}

static uint64_t hpcrun_value_count(struct sonde_recording *recording)
{
	const struct hpcrun_recording *data = recording->data;

	return data->value_count;
}

static enum sonde_status hpcrun_blob(struct sonde_recording *recording, uint32_t number,
				     struct sonde_blob *blob, struct sonde_error *err)
{
	struct hpcrun_recording *data = recording->data;

	return hpcrun_beside_map(&data->beside, recording->path, recording->definitions, number,
				 blob, err);
}

static enum sonde_status list_beside(struct opening *opening)
{
	struct sonde_recording *recording = opening->recording;
	struct hpcrun_recording *data = opening->data;
	enum sonde_status status;

	if (!data->folder.is_folder)
		return SONDE_OK;
	status = hpcrun_beside_open(&data->beside, recording->definitions, recording->path,
				    opening->err);
	recording->blob_count = (uint32_t)data->beside.files.count;
	if (recording->blob_count)
		recording->lanes |= SONDE_LANE_BLOBS;
	return status;
}

static void hpcrun_close(struct sonde_recording *recording)
{
	struct hpcrun_recording *data = recording->data;

	if (!data)
		return;
	hpcrun_folder_release(&data->folder);
	hpcrun_beside_release(&data->beside);
	pthread_mutex_destroy(&data->beside.lock);
	sonde_vec_release(&data->inputs);
	sonde_vec_release(&data->pairs);
	sonde_vec_release(&data->module_paths);
	sonde_vec_release(&data->module_inputs);
	sonde_text_map_release(&data->modules);
	sonde_text_map_release(&data->metrics);
	sonde_text_map_release(&data->formulas);
	sonde_buffer_release(&data->metric_json);
	sonde_buffer_release(&data->formula_json);
	sonde_arena_release(&data->texts);
	hpcrun_tree_release(&data->tree);
	free(data->numbers);
	free(data->contexts);
	free(data);
}

static const struct sonde_recording_ops recording_ops = {
	.blob = hpcrun_blob,
	.contexts = hpcrun_contexts,
	.values_open = hpcrun_values_open,
	.value_count = hpcrun_value_count,
	.samples_open = hpcrun_samples_open,
	.close = hpcrun_close,
};

static enum sonde_status read_profiles(struct opening *opening)
{
	struct hpcrun_recording *data = opening->data;
	struct sonde_diagnostics *diagnostics = opening->recording->diagnostics;
	enum sonde_status status =
		hpcrun_folder_open(&data->folder, opening->recording->path, opening->err);

	if (!status && hpcrun_tree_add(&data->tree, UINT32_MAX, 0, 0) == UINT32_MAX)
		status = sonde_fail_nomem(opening->err);
	for (size_t i = 0; i < data->folder.profiles.count && !status; i++)
		status = take_profile(opening, &data->folder.profiles.items[i]);
	for (size_t i = 0; i < data->folder.orphans.count && !status; i++)
		hpcrun_found(diagnostics, NO_PROFILE, data->folder.orphans.items[i],
			     SONDE_NO_OFFSET, "an .hpcrun file of the same name\tnone");
	if (!status && !data->inputs.count) {
		const struct sonde_finding *finding = sonde_diagnostics_at(diagnostics, 0);

		status = sonde_fail(opening->err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				    "none of %zu profiles can be read; of the first: %s",
				    data->folder.profiles.count, finding ? finding->found : "");
		sonde_error_set_file(opening->err, opening->recording->path);
	}
	return status;
}

enum sonde_status hpcrun_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct opening opening = { .recording = recording, .err = err };
	enum sonde_status status;

	opening.data = calloc(1, sizeof(*opening.data));
	if (!opening.data)
		return sonde_fail_nomem(err);
	if (pthread_mutex_init(&opening.data->beside.lock, NULL)) {
		free(opening.data);
		return sonde_fail_nomem(err);
	}
	recording->data = opening.data;
	recording->ops = &recording_ops;
	recording->lanes = LANES;
	status = read_profiles(&opening);
	if (!status)
		status = define_inputs(&opening);
	if (!status)
		status = hpcrun_define_metric_attributes(recording, err);
	if (!status)
		status = hpcrun_make_contexts(opening.data, recording->definitions, err);
	if (!status)
		status = list_beside(&opening);
	hpcrun_profile_release(&opening.profile);
	hpcrun_places_release(&opening.places);
	sonde_key_map_release(&opening.ids);
	return status;
}
