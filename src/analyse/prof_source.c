/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles and tracks of recordings as the writer of databases wants them: points and samples. */
#include "analyse/prof_source.h"

#include "analyse/prof_read.h"

/* Trace records that are taken at once. */
#define RECORDS 512

/* One track at a time; kept for the next one when it is done. */
struct prof_reader {
	struct prof_reader *next;
	struct prof_source *source;
	uint32_t number; /* of the track */
	const struct prof_track *track;
	SONDE_VEC(uint32_t) raw; /* by node of the profile, or of the tree of calls */
	/* an .hpcrun file */
	struct hpcrun_profile profile;
	struct prof_module_map modules;
	struct sonde_buffer space;
	struct hpctrace trace;
	bool trace_open;
	uint64_t taken; /* samples */
	struct hpctrace_record records[RECORDS];
	/* a track of a recording */
	struct sonde_call_tree *calls;
	struct sonde_cursor *cursor;
	SONDE_VEC(struct sonde_sample) pending;
	size_t handed; /* of the pending ones */
	bool ended;
};

static const struct prof_item *item_of(const struct prof_reader *reader)
{
	return &reader->source->inputs->items.items[reader->track->item];
}

static bool is_recording(const struct prof_reader *reader)
{
	return item_of(reader)->recording != SONDE_NONE;
}

static enum sonde_status changed(struct prof_reader *reader, struct sonde_error *err)
{
	sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
		   "it is not what it was when it was read first; run again when nothing writes "
		   "to it any more");
	return sonde_error_set_file(err, item_of(reader)->path);
}

static bool map_modules(struct prof_reader *reader)
{
	const struct prof_blobs *known = &reader->source->all->sets[PROF_MODULES];
	size_t i;

	for (i = 0; i < reader->profile.modules.count; i++) {
		const struct hpcrun_module *module = &reader->profile.modules.items[i];
		const char *path =
			prof_replaced(reader->source->options, module->path, &reader->space);
		uint32_t number;

		if (!path)
			return false;
		number = sonde_text_map_find(&known->numbers, path, strlen(path));
		if (number != SONDE_NONE)
			reader->modules.numbers[module->id] = RAW_MODULES + number;
	}
	reader->modules.numbers[HPCRUN_MODULE_PLACEHOLDER] = 0;
	return true;
}

static enum sonde_status map_nodes(struct prof_reader *reader, struct sonde_error *err)
{
	const struct hpcrun_profile *profile = &reader->profile;
	const struct raw_tree *tree = &reader->source->all->tree;
	size_t i;

	reader->raw.count = 0;
	if (!sonde_vec_reserve(&reader->raw, profile->nodes.count + 1))
		return sonde_fail_nomem(err);
	for (i = 0; i < profile->nodes.count; i++) {
		const struct hpcrun_node *node = &profile->nodes.items[i];
		uint32_t parent = node->parent == UINT32_MAX ? 0 : reader->raw.items[node->parent];
		uint32_t raw = 0;

		if (!prof_is_root(node))
			raw = raw_tree_find(tree, parent, prof_raw_module(&reader->modules, node),
					    node->ip);
		if (raw == SONDE_NONE)
			return changed(reader, err);
		reader->raw.items[i] = raw;
	}
	return SONDE_OK;
}

static enum sonde_status open_profile(struct prof_reader *reader, struct sonde_error *err)
{
	enum sonde_status status;

	prof_clear_modules(&reader->modules, &reader->profile);
	status = hpcrun_profile_read(&reader->profile, item_of(reader)->path, reader->track->epoch,
				     NULL, NULL, err);
	if (status != SONDE_OK)
		return status;
	if (!map_modules(reader))
		return sonde_fail_nomem(err);
	if (reader->profile.metrics.count !=
	    reader->source->metrics->maps[reader->track->table].count)
		return changed(reader, err);
	return map_nodes(reader, err);
}

static enum sonde_status profile_values(struct prof_reader *reader, struct hpcdb_points *points,
					struct sonde_error *err)
{
	const struct prof_contexts *contexts = reader->source->contexts;
	const struct hpcrun_profile *profile = &reader->profile;
	const uint32_t *numbers = reader->source->metrics->maps[reader->track->table].numbers;
	size_t i;

	if (!sonde_vec_reserve(&points->items, profile->values.count))
		return sonde_fail_nomem(err);
	for (i = 0; i < profile->values.count; i++) {
		const struct hpcrun_value *value = &profile->values.items[i];
		uint32_t metric = numbers[value->metric], raw = reader->raw.items[value->node];

		if (metric == SONDE_NONE || reader->source->metrics->items.items[metric].formula[0])
			continue;
		points->items.items[points->items.count++] = (struct hpcdb_point){
			.context = profile->metrics.items[value->metric].at_function ?
					   contexts->relation[raw] :
					   contexts->innermost[raw],
			.metric = metric,
			.value = value->value,
		};
	}
	return SONDE_OK;
}

static enum sonde_status open_trace(struct prof_reader *reader, struct sonde_error *err)
{
	char *path = prof_trace_path(item_of(reader)->path);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = hpctrace_open(&reader->trace, path, err);
	free(path);
	reader->trace_open = status == SONDE_OK;
	if (status == SONDE_OK && reader->trace.count < reader->track->sample_limit)
		return changed(reader, err);
	return status;
}

/* Records as samples; those of nodes that are not there are counted and left out. */
static size_t take_records(struct prof_reader *reader, size_t got, struct sonde_sample *samples)
{
	const struct prof_contexts *contexts = reader->source->contexts;
	const uint32_t *places = reader->trace.flags & HPCTRACE_CALLS ? contexts->relation :
									contexts->innermost;
	uint64_t unknown = 0;
	size_t i, count = 0;

	for (i = 0; i < got; i++) {
		uint32_t node = hpcrun_profile_find(&reader->profile, reader->records[i].node);

		if (node == UINT32_MAX) {
			unknown++;
			continue;
		}
		samples[count++] = (struct sonde_sample){
			.time_ns = reader->records[i].time_ns,
			.track = reader->number,
			.context = places[reader->raw.items[node]],
		};
	}
	if (unknown)
		atomic_fetch_add(&reader->source->samples_unknown, unknown);
	return count;
}

static enum sonde_status profile_samples(struct prof_reader *reader, struct sonde_sample *samples,
					 size_t room, size_t *count, struct sonde_error *err)
{
	enum sonde_status status;

	if (!reader->trace_open) {
		status = open_trace(reader, err);
		if (status != SONDE_OK)
			return status;
	}
	/* Until the room is full: a caller may take a short answer for a slow one. */
	while (*count < room && reader->taken < reader->track->sample_limit) {
		uint64_t left = reader->track->sample_limit - reader->taken;
		size_t most = room - *count < RECORDS ? room - *count : RECORDS;
		size_t got = hpctrace_read(&reader->trace, reader->taken, reader->records,
					   most < left ? most : (size_t)left);

		if (!got)
			return SONDE_OK;
		reader->taken += got;
		*count += take_records(reader, got, samples + *count);
	}
	return SONDE_OK;
}

/* Maps the nodes of the calls to those of all. */
static enum sonde_status map_calls(struct prof_reader *reader, struct sonde_recording *recording,
				   struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct prof_union *all = reader->source->all;
	uint32_t count, i;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(reader->calls, &count);

	reader->raw.count = 0;
	if (!sonde_vec_reserve(&reader->raw, (size_t)count + 1))
		return sonde_fail_nomem(err);
	for (i = 0; i < count; i++) {
		uint32_t raw = SONDE_NONE, function;

		if (nodes[i].parent == SONDE_NONE) {
			raw = raw_tree_find(&all->tree, 0, RAW_PLACEHOLDER,
					    prof_entry_of(definitions, item_of(reader)->track));
		} else {
			sonde_buffer_clear(&reader->space);
			prof_put_function(&reader->space, definitions, nodes[i].function);
			if (reader->space.failed)
				return sonde_fail_nomem(err);
			function = sonde_text_map_find(&all->sets[PROF_FUNCTIONS].numbers,
						       reader->space.data, reader->space.size);
			if (function != SONDE_NONE)
				raw = raw_tree_find(&all->tree, reader->raw.items[nodes[i].parent],
						    RAW_FUNCTIONS, function);
		}
		if (raw == SONDE_NONE)
			return changed(reader, err);
		reader->raw.items[i] = raw;
	}
	reader->raw.count = count;
	return SONDE_OK;
}

static struct sonde_recording *recording_of(const struct prof_reader *reader)
{
	return reader->source->inputs->recordings[item_of(reader)->recording];
}

static enum sonde_status open_calls(struct prof_reader *reader, struct sonde_error *err)
{
	enum sonde_status status;

	if (!reader->calls && !(reader->calls = sonde_call_tree_new()))
		return sonde_fail_nomem(err);
	status = prof_read_calls(recording_of(reader), item_of(reader)->track, reader->calls, NULL,
				 NULL, err);
	return status == SONDE_OK ? map_calls(reader, recording_of(reader), err) : status;
}

static enum sonde_status call_values(struct prof_reader *reader, struct hpcdb_points *points,
				     struct sonde_error *err)
{
	const uint32_t *numbers = reader->source->metrics->maps[reader->track->table].numbers;
	const struct hpcdb_metric *metrics = reader->source->metrics->items.items;
	uint32_t count, i, k;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(reader->calls, &count);

	if (!sonde_vec_reserve(&points->items, 2 * (size_t)count))
		return sonde_fail_nomem(err);
	/* node 0 is the track itself: what passes there is outside of all calls */
	for (i = 1; i < count; i++) {
		double values[2] = { (double)nodes[i].calls, (double)nodes[i].self_ns / 1e9 };

		for (k = 0; k < 2; k++) {
			if (values[k] == 0 || numbers[k] == SONDE_NONE ||
			    metrics[numbers[k]].formula[0])
				continue;
			points->items.items[points->items.count++] = (struct hpcdb_point){
				.context =
					reader->source->contexts->innermost[reader->raw.items[i]],
				.metric = numbers[k],
				.value = values[k],
			};
		}
	}
	return SONDE_OK;
}

/* The same events make the same tree again, node by node. */
static enum sonde_status add_sample(void *user, uint64_t time_ns, uint32_t node,
				    struct sonde_error *err)
{
	struct prof_reader *reader = user;
	struct sonde_sample *sample;

	if (node >= reader->raw.count)
		return changed(reader, err);
	sample = sonde_vec_push(&reader->pending);
	if (!sample)
		return sonde_fail_nomem(err);
	*sample = (struct sonde_sample){
		.time_ns = time_ns,
		.track = reader->number,
		/* outside of all calls nothing runs that is known: the root, not the entry */
		.context = node ? reader->source->contexts->innermost[reader->raw.items[node]] : 0,
	};
	return SONDE_OK;
}

/* More pending samples, unless there are no more events. */
static enum sonde_status pull_samples(struct prof_reader *reader, struct sonde_error *err)
{
	struct sonde_batch batch;
	enum sonde_status status = SONDE_OK;

	if (!reader->cursor) {
		sonde_call_tree_clear(reader->calls);
		status = sonde_cursor_open(recording_of(reader), item_of(reader)->track,
					   &reader->cursor, err);
	}
	reader->pending.count = reader->handed = 0;
	while (status == SONDE_OK && !reader->pending.count && !reader->ended) {
		status = sonde_cursor_next(reader->cursor, &batch, err);
		if (status == SONDE_OK)
			status = sonde_call_tree_add(reader->calls, batch.events, batch.count,
						     add_sample, reader, err);
		if (status != SONDE_END)
			continue;
		reader->ended = true;
		status = sonde_call_tree_end(reader->calls, add_sample, reader, err);
	}
	return status;
}

static enum sonde_status call_samples(struct prof_reader *reader, struct sonde_sample *samples,
				      size_t room, size_t *count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (*count < room && reader->taken < reader->track->sample_limit) {
		size_t left;

		if (reader->handed == reader->pending.count)
			status = pull_samples(reader, err);
		if (status != SONDE_OK || reader->handed == reader->pending.count)
			return status;
		left = reader->pending.count - reader->handed;
		if (left > room - *count)
			left = room - *count;
		memcpy(samples + *count, reader->pending.items + reader->handed,
		       left * sizeof(*samples));
		reader->handed += left;
		reader->taken += left;
		*count += left;
	}
	return SONDE_OK;
}

static void free_reader(struct prof_reader *reader)
{
	hpcrun_profile_release(&reader->profile);
	sonde_buffer_release(&reader->space);
	sonde_vec_release(&reader->raw);
	sonde_vec_release(&reader->pending);
	sonde_call_tree_free(reader->calls);
	free(reader);
}

static struct prof_reader *take_reader(struct prof_source *source)
{
	struct prof_reader *reader;

	pthread_mutex_lock(&source->lock);
	reader = source->idle;
	if (reader)
		source->idle = reader->next;
	pthread_mutex_unlock(&source->lock);
	return reader ? reader : calloc(1, sizeof(*reader));
}

static void close_track(void *state)
{
	struct prof_reader *reader = state;
	struct prof_source *source = reader->source;

	if (reader->trace_open)
		hpctrace_release(&reader->trace);
	reader->trace_open = false;
	sonde_cursor_free(reader->cursor);
	reader->cursor = NULL;
	pthread_mutex_lock(&source->lock);
	reader->next = source->idle;
	source->idle = reader;
	pthread_mutex_unlock(&source->lock);
}

static enum sonde_status open_track(void *data, uint32_t track, void **state,
				    struct sonde_error *err)
{
	struct prof_source *source = data;
	struct prof_reader *reader = take_reader(source);
	enum sonde_status status;

	if (!reader)
		return sonde_fail_nomem(err);
	reader->source = source;
	reader->number = track;
	reader->track = &source->tracks[track];
	reader->taken = 0;
	reader->pending.count = reader->handed = 0;
	reader->ended = false;
	status = is_recording(reader) ? open_calls(reader, err) : open_profile(reader, err);
	if (status == SONDE_OK)
		*state = reader;
	else
		close_track(reader);
	return status;
}

static enum sonde_status values(void *state, struct hpcdb_points *points, struct sonde_error *err)
{
	struct prof_reader *reader = state;

	return is_recording(reader) ? call_values(reader, points, err) :
				      profile_values(reader, points, err);
}

static enum sonde_status samples(void *state, struct sonde_sample *into, size_t room, size_t *count,
				 struct sonde_error *err)
{
	struct prof_reader *reader = state;

	*count = 0;
	if (!reader->track->sample_limit)
		return SONDE_OK;
	return is_recording(reader) ? call_samples(reader, into, room, count, err) :
				      profile_samples(reader, into, room, count, err);
}

struct hpcdb_source prof_source_of(struct prof_source *source)
{
	pthread_mutex_init(&source->lock, NULL);
	return (struct hpcdb_source){ .data = source,
				      .open = open_track,
				      .values = values,
				      .samples = samples,
				      .close = close_track };
}

void prof_source_release(struct prof_source *source)
{
	while (source->idle) {
		struct prof_reader *reader = source->idle;

		source->idle = reader->next;
		free_reader(reader);
	}
	pthread_mutex_destroy(&source->lock);
}
