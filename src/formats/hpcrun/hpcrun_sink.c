/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes measurement folders. Samples go to their file as they come; the values of a track are kept
 * until its end, when its profile is written with the nodes that it needs.
 */
#include "formats/hpcrun/hpcrun_sink.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "formats/hpcrun/hpcrun_write.h"
#include "model/wall_clock.h"

#define BATCH 1024

struct kept_value {
	uint32_t node;
	uint32_t metric;
	double value;
};

struct sink_track {
	char *stem; /* path without ending */
	SONDE_VEC(struct kept_value) values;
	uint8_t *is_used; /* by node */
	struct sonde_output trace;
	bool has_trace;
	uint64_t shift_ns; /* to the wall clock, modulo 2^64 */
	uint64_t first_ns, last_ns;
};

struct hpcrun_sink {
	struct sonde_sink base;
	struct sonde_staged staged;
	struct sonde_loss *loss;
	bool is_old; /* 02.00l */
	const struct sonde_definitions *definitions;
	struct hpcrun_sink_nodes nodes;
	struct hpcrun_sink_metrics metrics;
	struct sink_track *tracks;
	uint32_t track_count;
	pthread_mutex_t lock; /* of making nodes where no contexts came */
};

static struct hpcrun_sink *sink_of(struct sonde_sink *sink)
{
	return (struct hpcrun_sink *)sink;
}

static const struct sonde_identity *find_identity(const struct sonde_identity *identities,
						  size_t count, uint16_t kind)
{
	for (size_t i = 0; i < count; i++) {
		if (identities[i].kind == kind)
			return &identities[i];
	}
	return NULL;
}

/* What a track's file is called; `program` must outlive the name. */
static enum sonde_status name_of_track(const struct hpcrun_sink *sink, uint32_t number,
				       struct hpcrun_name *name, struct sonde_error *err)
{
	const struct sonde_track *track = sonde_definitions_track(sink->definitions, number);
	const struct sonde_process *process =
		sonde_definitions_process(sink->definitions, track->process);
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	const struct sonde_identity *node, *rank;
	const char *program, *slash;
	size_t count;
	enum sonde_status status =
		sonde_identity_of_track(sink->definitions, number, identities, &count, err);

	if (status)
		return status;
	program = process ? sonde_definitions_string(sink->definitions, process->name) : "";
	slash = strrchr(program, '/');
	node = find_identity(identities, count, SONDE_IDENTITY_NODE);
	rank = find_identity(identities, count, SONDE_IDENTITY_RANK);
	*name = (struct hpcrun_name){
		.program = slash && slash[1] ? slash + 1 :
			   *program	     ? program :
					       "unknown",
		.rank = rank ? (uint32_t)rank->logical : 0,
		.thread = (int)(track->slot & INT32_MAX),
		.host = node ? (uint32_t)node->physical : 0,
		.process = process && process->os_id != SONDE_NONE ? process->os_id : 0,
	};
	if (track->kind == SONDE_TRACK_GPU_STREAM && name->thread < HPCRUN_FIRST_STREAM)
		name->thread += HPCRUN_FIRST_STREAM;
	return SONDE_OK;
}

/* Names that are taken get another generation; all are made before tracks are fed side by side. */
static enum sonde_status name_tracks(struct hpcrun_sink *sink, struct sonde_error *err)
{
	struct sonde_text_map taken = { 0 };
	struct sonde_arena texts = { 0 };
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < sink->track_count && !status; i++) {
		char text[HPCRUN_NAME_SIZE];
		struct hpcrun_name name;
		const char *copy;

		status = name_of_track(sink, i, &name, err);
		if (status)
			break;
		hpcrun_name_text(&name, text);
		/* no two tracks have the same number, and only those whose name is taken use it */
		if (sonde_text_map_find(&taken, text, strlen(text)) != UINT32_MAX)
			name.generation = (int)(i & INT32_MAX);
		hpcrun_name_text(&name, text);
		copy = sonde_arena_copy_text(&texts, text, strlen(text));
		sink->tracks[i].stem = sonde_path_join(sink->staged.work, text);
		if (!copy || !sink->tracks[i].stem ||
		    !sonde_text_map_add(&taken, copy, strlen(copy), i))
			status = sonde_fail_nomem(err);
	}
	sonde_text_map_release(&taken);
	sonde_arena_release(&texts);
	return status;
}

static enum sonde_status set_clocks(struct hpcrun_sink *sink, struct sonde_error *err)
{
	uint64_t unknown = 0;

	for (uint32_t i = 0; i < sink->track_count; i++)
		unknown += !sonde_wall_clock_shift(sink->definitions, i, &sink->tracks[i].shift_ns);
	return sonde_loss_add(sink->loss, "clocks of tracks",
			      "hpcrun traces are in the time of the wall clock, and nothing tells "
			      "how that was; times stay as they are",
			      unknown, err);
}

static enum sonde_status count_losses(struct hpcrun_sink *sink, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_attribute_count(sink->definitions);
	uint64_t attributes = 0, described = 0;
	enum sonde_status status;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(sink->definitions, i);
		const char *name = sonde_definitions_string(sink->definitions, attribute->name);

		attributes += strncmp(name, HPCRUN_ATTRIBUTE, strlen(HPCRUN_ATTRIBUTE)) != 0 &&
			      strcmp(name, SONDE_IDENTITY_ATTRIBUTE) != 0 &&
			      strcmp(name, HPCRUN_ATTRIBUTE_METRICS) != 0 &&
			      strcmp(name, HPCRUN_ATTRIBUTE_FORMULAS) != 0;
	}
	status = sonde_loss_add(sink->loss, "attributes",
				"an hpcrun profile holds those that it was measured with only",
				attributes, err);
	for (size_t i = 0; sink->is_old && i < sink->metrics.items.count; i++) {
		const struct hpcrun_metric *metric = &sink->metrics.items.items[i];

		described += *metric->description || *metric->formula || metric->at_function ||
			     metric->show != HPCRUN_SHOWN || !metric->show_percent;
	}
	if (!status)
		status = sonde_loss_add(sink->loss, "descriptions and formulas of metrics",
					"hpcrun 02.00l holds their names, types and periods only",
					described, err);
	if (!status && sink->is_old)
		status = hpcrun_sink_count_identities(sink->definitions, sink->loss, err);
	return status ? status : set_clocks(sink, err);
}

static enum sonde_status sink_begin(struct sonde_sink *base,
				    const struct sonde_definitions *definitions,
				    struct sonde_error *err)
{
	struct hpcrun_sink *sink = sink_of(base);
	enum sonde_status status;

	sink->definitions = sink->nodes.definitions = definitions;
	sink->track_count = sonde_definitions_track_count(definitions);
	sink->tracks = calloc((size_t)sink->track_count + 1, sizeof(*sink->tracks));
	if (!sink->tracks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->track_count; i++)
		sink->tracks[i].trace.fd = -1;
	status = hpcrun_sink_metrics_make(&sink->metrics, definitions, sink->loss, err);
	if (!status)
		status = name_tracks(sink, err);
	return status ? status : count_losses(sink, err);
}

static enum sonde_status sink_blob(struct sonde_sink *base, const struct sonde_blob *blob,
				   struct sonde_error *err)
{
	struct hpcrun_sink *sink = sink_of(base);

	return hpcrun_beside_write(sink->staged.work,
				   sonde_definitions_string(sink->definitions, blob->name), blob,
				   sink->loss, err);
}

static enum sonde_status sink_contexts(struct sonde_sink *base,
				       const struct sonde_context *contexts, uint32_t count,
				       struct sonde_error *err)
{
	struct hpcrun_sink *sink = sink_of(base);

	return hpcrun_sink_nodes_make(&sink->nodes, contexts, count, sink->loss, err);
}

/* A recording without contexts has a root all the same. */
static enum sonde_status need_nodes(struct hpcrun_sink *sink, struct sonde_error *err)
{
	static const struct sonde_context root = { .parent = SONDE_NONE, .end = 1 };
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&sink->lock);
	if (!sink->nodes.tree.nodes.count)
		status = hpcrun_sink_nodes_make(&sink->nodes, &root, 1, sink->loss, err);
	pthread_mutex_unlock(&sink->lock);
	return status;
}

static enum sonde_status use_node(struct hpcrun_sink *sink, struct sink_track *track, uint32_t node,
				  struct sonde_error *err)
{
	if (!track->is_used)
		track->is_used = calloc(sink->nodes.tree.nodes.count, 1);
	if (!track->is_used)
		return sonde_fail_nomem(err);
	track->is_used[node] = 1;
	return SONDE_OK;
}

static enum sonde_status fail_context(struct sonde_error *err, uint32_t context)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "there is no context %u", context);
}

static enum sonde_status sink_values(struct sonde_sink *base, uint32_t number,
				     const struct sonde_value *values, size_t count,
				     struct sonde_error *err)
{
	struct hpcrun_sink *sink = sink_of(base);
	struct sink_track *track = &sink->tracks[number];
	uint64_t lost = 0;
	enum sonde_status status = need_nodes(sink, err);

	if (status)
		return status;
	if (!sonde_vec_reserve(&track->values, count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		uint32_t metric = values[i].metric < sink->metrics.of_definition.count ?
					  sink->metrics.of_definition.items[values[i].metric] :
					  SONDE_NONE;
		struct kept_value *kept;

		if (values[i].context >= sink->nodes.context_count)
			return fail_context(err, values[i].context);
		if (metric == SONDE_NONE) {
			lost++;
			continue;
		}
		kept = &track->values.items[track->values.count++];
		kept->node = sink->nodes.of_context[values[i].context];
		kept->metric = metric;
		kept->value = values[i].value;
		status = use_node(sink, track, kept->node, err);
		if (status)
			return status;
	}
	return sonde_loss_add(sink->loss, "values", "hpcrun profiles hold scope \"point\" only",
			      lost, err);
}

static enum sonde_status open_trace(const struct hpcrun_sink *sink, uint32_t number,
				    struct sonde_error *err)
{
	struct sink_track *track = &sink->tracks[number];
	bool calls = sonde_definitions_find_attribute(sink->definitions, SONDE_OWNER_TRACK, number,
						      HPCRUN_ATTRIBUTE_CALLS);
	uint8_t header[HPCTRACE_HEADER_SIZE];
	char *path = malloc(strlen(track->stem) + sizeof(".hpctrace"));
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	snprintf(path, strlen(track->stem) + sizeof(".hpctrace"), "%s.hpctrace", track->stem);
	status = sonde_output_open(&track->trace, path, err);
	free(path);
	if (status)
		return status;
	track->has_trace = true;
	hpctrace_encode_header(calls ? HPCTRACE_CALLS : 0, header);
	return sonde_output_write(&track->trace, header, sizeof(header), err);
}

static enum sonde_status write_samples(struct hpcrun_sink *sink, struct sink_track *track,
				       const struct sonde_sample *samples, size_t count,
				       struct sonde_error *err)
{
	struct hpctrace_record records[BATCH];
	uint8_t bytes[BATCH * HPCTRACE_RECORD_SIZE];

	for (size_t i = 0; i < count; i++) {
		uint32_t context = samples[i].context;
		enum sonde_status status;
		uint32_t node;

		if (context >= sink->nodes.context_count)
			return fail_context(err, context);
		node = context ? sink->nodes.of_context[context] : sink->nodes.no_activity;
		records[i].time_ns = samples[i].time_ns + track->shift_ns;
		records[i].node = hpcrun_sink_id(node);
		status = use_node(sink, track, node, err);
		if (status)
			return status;
		if (!track->first_ns || records[i].time_ns < track->first_ns)
			track->first_ns = records[i].time_ns;
		if (records[i].time_ns > track->last_ns)
			track->last_ns = records[i].time_ns;
	}
	hpctrace_encode(records, count, bytes);
	return sonde_output_write(&track->trace, bytes, count * HPCTRACE_RECORD_SIZE, err);
}

static enum sonde_status sink_samples(struct sonde_sink *base, uint32_t number,
				      const struct sonde_sample *samples, size_t count,
				      struct sonde_error *err)
{
	struct hpcrun_sink *sink = sink_of(base);
	struct sink_track *track = &sink->tracks[number];
	enum sonde_status status = need_nodes(sink, err);

	if (!status && !track->has_trace && count)
		status = open_trace(sink, number, err);
	while (count && !status) {
		size_t now = count < BATCH ? count : BATCH;

		status = write_samples(sink, track, samples, now, err);
		samples += now;
		count -= now;
	}
	return status;
}

/* The text of an attribute that is a JSON string, in the profile's arena; NULL where there is none. */
static const char *attribute_text(const struct hpcrun_sink *sink, enum sonde_owner owner,
				  uint32_t id, const char *pair, struct hpcrun_profile *profile)
{
	char name[64];
	const char *json;
	size_t length;

	snprintf(name, sizeof(name), HPCRUN_ATTRIBUTE "%s", pair);
	json = sonde_definitions_find_attribute(sink->definitions, owner, id, name);
	length = json ? strlen(json) : 0;
	/* escapes are for names nobody gives to programs; such a value is left to be made up */
	if (length < 2 || *json != '"' || strchr(json, '\\'))
		return NULL;
	return sonde_arena_copy_text(&profile->texts, json + 1, length - 2);
}

static const char *number_text(struct hpcrun_profile *profile, const char *format, uint64_t number)
{
	char text[32];

	if (*format == 'x')
		snprintf(text, sizeof(text), "%" PRIx64, number);
	else
		snprintf(text, sizeof(text), "%" PRIu64, number);
	return sonde_arena_copy_text(&profile->texts, text, strlen(text));
}

/* What every profile says of itself: as it was measured, else as definitions have it. */
static enum sonde_status fill_pairs(const struct hpcrun_sink *sink, uint32_t number,
				    const struct hpcrun_name *name, struct hpcrun_profile *profile,
				    struct sonde_error *err)
{
	const struct sonde_track *track = sonde_definitions_track(sink->definitions, number);
	const struct sink_track *own = &sink->tracks[number];
	const struct {
		const char *name, *format, *text;
		uint64_t number;
		bool is_new; /* never as it was */
	} pairs[] = {
		{ .name = "program-name", .text = name->program },
		{ .name = "program-path", .text = name->program },
		{ .name = "env-path", .text = "" },
		{ .name = "job-id", .text = "" },
		{ .name = "mpi-rank", .format = "u", .number = name->rank },
		{ .name = "thread-id", .format = "u", .number = (uint64_t)name->thread },
		{ .name = "host-id", .format = "x", .number = name->host },
		{ .name = "process-id", .format = "u", .number = name->process },
		{ .name = "trace-min-time",
		  .format = "u",
		  .number = own->first_ns,
		  .is_new = true },
		{ .name = "trace-max-time", .format = "u", .number = own->last_ns, .is_new = true },
		{ .name = "trace-disorder", .text = "0", .is_new = true },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct hpcrun_pair *pair = sonde_vec_push(&profile->pairs);
		const char *value = NULL;

		if (!pair)
			return sonde_fail_nomem(err);
		if (!pairs[i].is_new)
			value = attribute_text(sink, SONDE_OWNER_TRACK, number, pairs[i].name,
					       profile);
		if (!value && !pairs[i].is_new)
			value = attribute_text(sink, SONDE_OWNER_PROCESS, track->process,
					       pairs[i].name, profile);
		if (!value)
			value = pairs[i].format ?
					number_text(profile, pairs[i].format, pairs[i].number) :
					pairs[i].text;
		if (!value)
			return sonde_fail_nomem(err);
		*pair = (struct hpcrun_pair){ .name = pairs[i].name, .value = value };
	}
	return SONDE_OK;
}

/* The nodes that the track needs, with all above them; `index` becomes node -> place in the file. */
static enum sonde_status fill_nodes(const struct hpcrun_sink *sink, struct sink_track *track,
				    struct hpcrun_profile *profile, uint32_t *index,
				    struct sonde_error *err)
{
	const struct hpcrun_tree_node *nodes = sink->nodes.tree.nodes.items;
	size_t count = sink->nodes.tree.nodes.count;

	for (size_t i = count; i-- > 1;) {
		if (track->is_used[i])
			track->is_used[nodes[i].parent] = 1;
	}
	for (size_t i = 0; i < count; i++) {
		bool is_placeholder = nodes[i].module == HPCRUN_TREE_PLACEHOLDER;
		struct hpcrun_node *node;

		if (!track->is_used[i])
			continue;
		node = sonde_vec_push(&profile->nodes);
		if (!node)
			return sonde_fail_nomem(err);
		index[i] = (uint32_t)profile->nodes.count - 1;
		*node = (struct hpcrun_node){
			.ip = nodes[i].ip,
			.id = hpcrun_sink_id((uint32_t)i),
			.parent = i ? index[nodes[i].parent] : UINT32_MAX,
			.module = is_placeholder ? HPCRUN_MODULE_PLACEHOLDER :
						   (uint16_t)(nodes[i].module + 1),
			.unwound = true,
		};
	}
	return SONDE_OK;
}

/* Modules of the process, and those that nodes name. */
static enum sonde_status fill_modules(const struct hpcrun_sink *sink, uint32_t process,
				      struct hpcrun_profile *profile, struct sonde_error *err)
{
	size_t count = sink->nodes.modules.count;
	uint8_t *is_used = calloc(count + 1, 1);
	enum sonde_status status = SONDE_OK;

	if (!is_used)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < profile->nodes.count; i++)
		is_used[profile->nodes.items[i].module] = 1;
	for (size_t i = 0; i < count && !status; i++) {
		const struct hpcrun_sink_module *module = &sink->nodes.modules.items[i];
		struct hpcrun_module *place;

		if (!is_used[i + 1] && module->process != process)
			continue;
		place = sonde_vec_push(&profile->modules);
		if (!place) {
			status = sonde_fail_nomem(err);
			break;
		}
		*place = (struct hpcrun_module){
			.id = (uint16_t)(i + 1),
			.path = module->path,
			.flags = is_used[i + 1],
		};
	}
	free(is_used);
	return status;
}

/* By node, then metric; values of contexts that became one node are one. */
static enum sonde_status fill_values(const struct sink_track *track, const uint32_t *index,
				     struct hpcrun_profile *profile, struct sonde_error *err)
{
	size_t count = track->values.count;
	struct sonde_sort_item *items = malloc((count + 1) * sizeof(*items));
	double sum = 0;

	for (size_t i = 0; items && i < count; i++) {
		items[i].key = (uint64_t)track->values.items[i].node << 32 |
			       track->values.items[i].metric;
		items[i].number = i;
	}
	if (!items || !sonde_sort(items, count) || !sonde_vec_reserve(&profile->values, count)) {
		free(items);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < count; i++) {
		const struct kept_value *kept = &track->values.items[items[i].number];
		struct hpcrun_value *value;

		sum += kept->value;
		if (i + 1 < count && items[i + 1].key == items[i].key)
			continue;
		value = &profile->values.items[profile->values.count++];
		*value = (struct hpcrun_value){
			.node = index[kept->node],
			.metric = (uint16_t)kept->metric,
			.value = sum,
		};
		sum = 0;
	}
	free(items);
	return SONDE_OK;
}

static enum sonde_status fill_identity(const struct hpcrun_sink *sink, uint32_t number,
				       struct hpcrun_profile *profile, struct sonde_error *err)
{
	enum sonde_status status = sonde_identity_of_track(
		sink->definitions, number, profile->identities, &profile->identity_count, err);

	for (uint16_t i = 0; i < SONDE_IDENTITY_KNOWN && !status; i++) {
		struct hpcrun_pair *kind = sonde_vec_push(&profile->kinds);

		if (!kind)
			return sonde_fail_nomem(err);
		kind->name = number_text(profile, "u", i);
		kind->value = sonde_identity_kind_name(i);
		if (!kind->name)
			return sonde_fail_nomem(err);
	}
	return status;
}

static enum sonde_status fill_profile(struct hpcrun_sink *sink, uint32_t number,
				      struct hpcrun_profile *profile, struct sonde_error *err)
{
	const struct sonde_track *definition = sonde_definitions_track(sink->definitions, number);
	struct sink_track *track = &sink->tracks[number];
	uint32_t *index = malloc(sink->nodes.tree.nodes.count * sizeof(*index));
	struct hpcrun_name name;
	enum sonde_status status;

	if (!index)
		return sonde_fail_nomem(err);
	status = use_node(sink, track, 0, err);
	if (!status)
		status = name_of_track(sink, number, &name, err);
	if (!status)
		status = fill_pairs(sink, number, &name, profile, err);
	if (!status)
		status = fill_identity(sink, number, profile, err);
	if (!status)
		status = fill_nodes(sink, track, profile, index, err);
	if (!status)
		status = fill_modules(sink, definition->process, profile, err);
	if (!status && !sonde_vec_reserve(&profile->metrics, sink->metrics.items.count))
		status = sonde_fail_nomem(err);
	if (!status && sink->metrics.items.count)
		memcpy(profile->metrics.items, sink->metrics.items.items,
		       sink->metrics.items.count * sizeof(*profile->metrics.items));
	profile->metrics.count = status ? 0 : sink->metrics.items.count;
	if (!status)
		status = fill_values(track, index, profile, err);
	if (!status)
		status = sonde_loss_add(sink->loss, "whole numbers and periods of metrics",
					"values that are no multiples of the period are written as "
					"real numbers",
					hpcrun_sink_encode_values(profile), err);
	free(index);
	return status;
}

static enum sonde_status write_profile(const struct hpcrun_sink *sink,
				       const struct sink_track *track,
				       const struct hpcrun_profile *profile,
				       struct sonde_error *err)
{
	struct sonde_buffer bytes = { 0 };
	enum sonde_status status = sink->is_old ? hpcrun_encode_02(profile, &bytes, err) :
						  hpcrun_encode_04(profile, &bytes, err);
	size_t size = strlen(track->stem) + sizeof(".hpcrun");
	char *path = malloc(size);

	if (!path)
		status = sonde_fail_nomem(err);
	else
		snprintf(path, size, "%s.hpcrun", track->stem);
	if (!status)
		status = hpcrun_write_file(path, bytes.data, bytes.size, err);
	free(path);
	sonde_buffer_release(&bytes);
	return status;
}

static void release_track(struct sink_track *track)
{
	sonde_output_release(&track->trace);
	sonde_vec_release(&track->values);
	free(track->is_used);
	track->is_used = NULL;
	free(track->stem);
	track->stem = NULL;
}

static enum sonde_status sink_track_end(struct sonde_sink *base, uint32_t number,
					struct sonde_error *err)
{
	struct hpcrun_sink *sink = sink_of(base);
	struct sink_track *track = &sink->tracks[number];
	struct hpcrun_profile profile = { .generation = HPCRUN_04_00 };
	enum sonde_status status = need_nodes(sink, err);

	if (!status)
		status = fill_profile(sink, number, &profile, err);
	if (!status)
		status = write_profile(sink, track, &profile, err);
	if (!status && track->has_trace)
		status = sonde_output_close(&track->trace, err);
	hpcrun_profile_release(&profile);
	release_track(track);
	return status;
}

static enum sonde_status sink_finish(struct sonde_sink *base, struct sonde_error *err)
{
	return sonde_staged_commit(&sink_of(base)->staged, err);
}

static void sink_free(struct sonde_sink *base)
{
	struct hpcrun_sink *sink = sink_of(base);

	for (uint32_t i = 0; sink->tracks && i < sink->track_count; i++)
		release_track(&sink->tracks[i]);
	free(sink->tracks);
	hpcrun_sink_nodes_release(&sink->nodes);
	hpcrun_sink_metrics_release(&sink->metrics);
	sonde_staged_release(&sink->staged);
	pthread_mutex_destroy(&sink->lock);
	free(sink);
}

static const struct sonde_sink_ops sink_ops = {
	.lanes = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES | SONDE_LANE_SAMPLES | SONDE_LANE_BLOBS,
	.parallel_tracks = true,
	.begin = sink_begin,
	.blob = sink_blob,
	.contexts = sink_contexts,
	.values = sink_values,
	.samples = sink_samples,
	.track_end = sink_track_end,
	.finish = sink_finish,
	.free = sink_free,
};

enum sonde_status hpcrun_create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	struct hpcrun_sink *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	if (!made)
		return sonde_fail_nomem(err);
	if (pthread_mutex_init(&made->lock, NULL)) {
		free(made);
		return sonde_fail_nomem(err);
	}
	made->base.ops = &sink_ops;
	made->loss = options->loss;
	made->is_old = sonde_format_has_style(options->style, "02.00l");
	status = sonde_staged_begin(&made->staged, path, true, options->replace, err);
	if (status) {
		sink_free(&made->base);
		return status;
	}
	*sink = &made->base;
	return SONDE_OK;
}
