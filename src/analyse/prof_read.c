/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass. Each thread takes the next input that nobody took, and fills a union of its own; a
 * profile adds to the union only when all of it is known to be whole.
 */
#include "analyse/prof_read.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "analyse/prof_metrics.h"
#include "base/pool.h"

/* One thread's work. */
struct reader {
	struct prof_union all;
	struct hpcrun_profile profile;
	struct prof_module_map modules;
	SONDE_VEC(uint32_t) raw; /* by node of the profile: its number in the tree */
	struct sonde_buffer space;
	struct sonde_call_tree *calls;
};

struct reading {
	const struct prof_inputs *inputs;
	const struct sonde_prof_options *options;
	struct reader *readers;
	_Atomic size_t next; /* item */
	struct sonde_meter meter;
};

/* How many threads to work with on so many pieces. */
static size_t thread_count(unsigned int threads, size_t pieces)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = threads ? threads : processors > 0 ? (size_t)processors : 1;

	if (count > 512)
		count = 512;
	return count < pieces ? count : pieces ? pieces : 1;
}

static bool begins_with(const char *path, const char *from, size_t length)
{
	if (!length || strncmp(path, from, length))
		return false;
	return from[length - 1] == '/' || !path[length] || path[length] == '/';
}

const char *prof_replaced(const struct sonde_prof_options *options, const char *path,
			  struct sonde_buffer *space)
{
	size_t i, length;

	for (i = 0; i < options->replacement_count; i++) {
		const struct sonde_prof_replacement *replacement = &options->replacements[i];

		length = strlen(replacement->from);
		if (!begins_with(path, replacement->from, length))
			continue;
		sonde_buffer_clear(space);
		sonde_buffer_put_text(space, replacement->to);
		sonde_buffer_put_text(space, path + length);
		return sonde_buffer_text(space);
	}
	return path;
}

/* What reading cannot go on after; all else refuses one input. */
static bool is_fatal(enum sonde_status status)
{
	return status == SONDE_NOMEM || status == SONDE_CANCELLED;
}

static enum sonde_status refuse(struct reader *reader, uint32_t item, const char *path,
				const struct sonde_error *why, struct sonde_error *err)
{
	char reason[sizeof(why->message) + sizeof(why->cause) + 64];

	if (is_fatal(why->status)) {
		*err = *why;
		return why->status;
	}
	prof_reason(why, reason, sizeof(reason));
	if (!prof_union_refuse(&reader->all, item, path, reason))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

/* Fills the map of modules with those that nodes use; fails where a node names one that is not there. */
static enum sonde_status check_modules(struct reader *reader, struct sonde_error *err)
{
	enum { LISTED = 1, USED = 2 };
	const struct hpcrun_profile *profile = &reader->profile;
	uint32_t *numbers = reader->modules.numbers;
	size_t i;

	for (i = 0; i < profile->modules.count; i++)
		numbers[profile->modules.items[i].id] = LISTED;
	numbers[HPCRUN_MODULE_PLACEHOLDER] = 0;
	for (i = 0; i < profile->nodes.count; i++) {
		const struct hpcrun_node *node = &profile->nodes.items[i];

		if (prof_raw_module(&reader->modules, node) == SONDE_NONE)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "context %u lies in module %u, which the list of modules "
					  "does not have",
					  node->id, node->module);
		if (numbers[node->module])
			numbers[node->module] = USED;
	}
	for (i = 0; i < profile->modules.count; i++)
		if (numbers[profile->modules.items[i].id] == LISTED)
			numbers[profile->modules.items[i].id] = 0;
	return SONDE_OK;
}

static bool add_modules(struct reading *reading, struct reader *reader, uint32_t item)
{
	const struct hpcrun_profile *profile = &reader->profile;
	size_t i;

	for (i = 0; i < profile->modules.count; i++) {
		const struct hpcrun_module *module = &profile->modules.items[i];
		const char *path;
		uint32_t number;

		if (!reader->modules.numbers[module->id])
			continue;
		path = prof_replaced(reading->options, module->path, &reader->space);
		number = path ? prof_union_add(&reader->all, PROF_MODULES, path, strlen(path),
					       item) :
				SONDE_NONE;
		if (number == SONDE_NONE)
			return false;
		reader->modules.numbers[module->id] = RAW_MODULES + number;
	}
	return true;
}

static bool add_nodes(struct reader *reader)
{
	const struct hpcrun_profile *profile = &reader->profile;
	struct raw_tree *tree = &reader->all.tree;
	size_t i;

	reader->raw.count = 0;
	if (!sonde_vec_reserve(&reader->raw, profile->nodes.count + 1) || !raw_tree_begin(tree))
		return false;
	for (i = 0; i < profile->nodes.count; i++) {
		const struct hpcrun_node *node = &profile->nodes.items[i];
		uint32_t parent = node->parent == UINT32_MAX ? 0 : reader->raw.items[node->parent];
		uint32_t raw = 0;

		if (!prof_is_root(node))
			raw = raw_tree_add(tree, parent, prof_raw_module(&reader->modules, node),
					   node->ip);
		if (raw == SONDE_NONE)
			return false;
		reader->raw.items[i] = raw;
	}
	return true;
}

static bool add_heads(struct reader *reader, uint32_t item)
{
	const struct hpcrun_profile *profile = &reader->profile;
	const char *program = hpcrun_profile_pair(profile, "program-name");
	size_t i;

	if (program && prof_union_add(&reader->all, PROF_PROGRAMS, program, strlen(program),
				      item) == SONDE_NONE)
		return false;
	for (i = 0; i < profile->kinds.count; i++) {
		sonde_buffer_clear(&reader->space);
		sonde_buffer_put_format(&reader->space, "%s %s", profile->kinds.items[i].name,
					profile->kinds.items[i].value);
		if (reader->space.failed ||
		    prof_union_add(&reader->all, PROF_KINDS, reader->space.data, reader->space.size,
				   item) == SONDE_NONE)
			return false;
	}
	return true;
}

/* How many samples the trace of a profile has; a damaged one is refused without the profile. */
static enum sonde_status count_samples(struct reading *reading, struct reader *reader,
				       uint32_t item, uint64_t *count, struct sonde_error *err)
{
	char *path = prof_trace_path(reading->inputs->items.items[item].path);
	struct sonde_error why = { .offset = SONDE_NO_OFFSET };
	struct hpctrace trace = { 0 };
	enum sonde_status status = SONDE_OK;

	*count = 0;
	if (!path)
		return sonde_fail_nomem(err);
	if (!reading->options->no_traces && sonde_path_kind(path) != SONDE_PATH_ABSENT) {
		if (!hpctrace_open(&trace, path, &why)) {
			*count = trace.count;
			if (trace.left_over)
				sonde_fail(&why, SONDE_TRUNCATED, SONDE_NO_OFFSET,
					   "it ends within a sample: its last %llu bytes are left "
					   "out",
					   (unsigned long long)trace.left_over);
		}
		if (why.status)
			status = refuse(reader, item, path, &why, err);
		hpctrace_release(&trace);
	}
	free(path);
	return status;
}

/* Adds the profile that was read. The trace of a file belongs to its first epoch. */
static enum sonde_status add_profile(struct reading *reading, struct reader *reader, uint32_t item,
				     uint32_t epoch, struct sonde_error *err)
{
	struct prof_track track = { .item = item,
				    .epoch = epoch,
				    .identities = reader->profile.identities,
				    .identity_count = (uint32_t)reader->profile.identity_count };
	enum sonde_status status = SONDE_OK;

	if (!add_modules(reading, reader, item) || !add_nodes(reader) || !add_heads(reader, item))
		return sonde_fail_nomem(err);
	sonde_buffer_clear(&reader->space);
	prof_put_table(&reader->space, &reader->profile);
	track.table = reader->space.failed ?
			      SONDE_NONE :
			      prof_union_add(&reader->all, PROF_TABLES,
					     reader->space.data ? reader->space.data : "",
					     reader->space.size, item);
	if (!epoch)
		status = count_samples(reading, reader, item, &track.sample_limit, err);
	if (status != SONDE_OK)
		return status;
	if (track.table == SONDE_NONE || !prof_union_add_track(&reader->all, &track))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static enum sonde_status read_epoch(struct reader *reader, const char *path, uint32_t epoch,
				    uint32_t *epochs, struct sonde_error *err)
{
	enum sonde_status status;

	prof_clear_modules(&reader->modules, &reader->profile);
	status = hpcrun_profile_read(&reader->profile, path, epoch, epochs, NULL, err);
	return status == SONDE_OK ? check_modules(reader, err) : status;
}

static enum sonde_status read_profile(struct reading *reading, struct reader *reader, uint32_t item,
				      struct sonde_error *err)
{
	const char *path = reading->inputs->items.items[item].path;
	struct sonde_error why = { .offset = SONDE_NO_OFFSET };
	uint32_t epochs = 1, epoch;
	enum sonde_status status;

	/* Several epochs are looked at before any of them adds something. */
	status = read_epoch(reader, path, 0, &epochs, &why);
	for (epoch = 1; status == SONDE_OK && epoch < epochs; epoch++)
		status = read_epoch(reader, path, epoch, NULL, &why);
	if (status != SONDE_OK)
		return refuse(reader, item, path, &why, err);
	for (epoch = 0; status == SONDE_OK && epoch < epochs; epoch++) {
		if (epochs > 1)
			status = read_epoch(reader, path, epoch, NULL, err);
		if (status == SONDE_OK)
			status = add_profile(reading, reader, item, epoch, err);
	}
	return status;
}

enum sonde_status prof_read_calls(struct sonde_recording *recording, uint32_t track,
				  struct sonde_call_tree *tree, sonde_call_tree_change *on_change,
				  void *user, struct sonde_error *err)
{
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(recording, track, &cursor, err);

	sonde_call_tree_clear(tree);
	while (status == SONDE_OK) {
		status = sonde_cursor_next(cursor, &batch, err);
		if (status == SONDE_OK)
			status = sonde_call_tree_add(tree, batch.events, batch.count, on_change,
						     user, err);
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? sonde_call_tree_end(tree, on_change, user, err) : status;
}

uint64_t prof_entry_of(const struct sonde_definitions *definitions, uint32_t track)
{
	const struct sonde_track *definition = sonde_definitions_track(definitions, track);
	const struct sonde_process *process =
		definition ? sonde_definitions_process(definitions, definition->process) : NULL;
	bool is_main = definition && !definition->slot;

	/* Linux calls the main thread by the number of its process. */
	if (process && process->os_id != SONDE_NONE && definition->os_id != UINT64_MAX)
		is_main = definition->os_id == process->os_id;
	return is_main ? HPCRUN_MAIN : HPCRUN_THREAD;
}

void prof_put_function(struct sonde_buffer *bytes, const struct sonde_definitions *definitions,
		       uint32_t function)
{
	const struct sonde_function *definition = sonde_definitions_function(definitions, function);
	const struct sonde_module *module =
		definition ? sonde_definitions_module(definitions, definition->module) : NULL;
	char space[SONDE_LABEL_SIZE];

	prof_put_text(bytes, sonde_definitions_function_label(definitions, function, space));
	prof_put_text(bytes,
		      sonde_definitions_string(definitions, definition ? definition->file : 0));
	prof_put_text(bytes, sonde_definitions_string(definitions, module ? module->path : 0));
	sonde_put_u32le(bytes, definition ? definition->line : 0);
	sonde_put_u64le(bytes, definition ? definition->address : 0);
}

struct prof_function prof_function_of(const struct prof_blob *blob)
{
	struct sonde_bytes bytes = sonde_bytes_of(blob->data, blob->size);
	struct prof_function function = { .name = prof_take_text(&bytes) };

	function.file = prof_take_text(&bytes);
	function.module = prof_take_text(&bytes);
	function.line = sonde_bytes_u32le(&bytes);
	function.address = sonde_bytes_u64le(&bytes);
	return function;
}

static enum sonde_status count_change(void *user, uint64_t time_ns, uint32_t node,
				      struct sonde_error *err)
{
	uint64_t *count = user;

	(void)time_ns;
	(void)node;
	(void)err;
	++*count;
	return SONDE_OK;
}

/* The paths of a track into the union. */
static bool add_calls(struct reader *reader, const struct sonde_definitions *definitions,
		      uint32_t track, uint32_t item)
{
	uint32_t count, i;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(reader->calls, &count);
	struct raw_tree *tree = &reader->all.tree;

	reader->raw.count = 0;
	if (!sonde_vec_reserve(&reader->raw, (size_t)count + 1) || !raw_tree_begin(tree))
		return false;
	for (i = 0; i < count; i++) {
		uint32_t function, raw;

		if (nodes[i].parent == SONDE_NONE) {
			raw = raw_tree_add(tree, 0, RAW_PLACEHOLDER,
					   prof_entry_of(definitions, track));
		} else {
			sonde_buffer_clear(&reader->space);
			prof_put_function(&reader->space, definitions, nodes[i].function);
			function = reader->space.failed ?
					   SONDE_NONE :
					   prof_union_add(&reader->all, PROF_FUNCTIONS,
							  reader->space.data, reader->space.size,
							  item);
			if (function == SONDE_NONE)
				return false;
			raw = raw_tree_add(tree, reader->raw.items[nodes[i].parent], RAW_FUNCTIONS,
					   function);
		}
		if (raw == SONDE_NONE)
			return false;
		reader->raw.items[i] = raw;
	}
	return true;
}

static enum sonde_status add_call_track(struct reading *reading, struct reader *reader,
					uint32_t item, uint64_t samples, struct sonde_error *err)
{
	const struct prof_item *from = &reading->inputs->items.items[item];
	const struct sonde_definitions *definitions =
		sonde_recording_definitions(reading->inputs->recordings[from->recording]);
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	struct prof_track track = { .item = item,
				    .identities = identities,
				    .sample_limit = reading->options->no_traces ? 0 : samples };
	const struct sonde_process *process;
	const char *name;
	size_t count = 0;
	enum sonde_status status =
		sonde_identity_of_track(definitions, from->track, identities, &count, err);

	if (status != SONDE_OK)
		return status;
	track.identity_count = (uint32_t)count;
	process = sonde_definitions_process(
		definitions, sonde_definitions_track(definitions, from->track)->process);
	name = sonde_definitions_string(definitions, process ? process->name : 0);
	if (!add_calls(reader, definitions, from->track, item) ||
	    (name[0] &&
	     prof_union_add(&reader->all, PROF_PROGRAMS, name, strlen(name), item) == SONDE_NONE))
		return sonde_fail_nomem(err);
	sonde_buffer_clear(&reader->space);
	prof_put_recording_table(&reader->space);
	track.table = reader->space.failed ?
			      SONDE_NONE :
			      prof_union_add(&reader->all, PROF_TABLES, reader->space.data,
					     reader->space.size, item);
	if (track.table == SONDE_NONE || !prof_union_add_track(&reader->all, &track))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static enum sonde_status read_track(struct reading *reading, struct reader *reader, uint32_t item,
				    struct sonde_error *err)
{
	const struct prof_item *from = &reading->inputs->items.items[item];
	struct sonde_error why = { .offset = SONDE_NO_OFFSET };
	uint64_t changes = 0;
	enum sonde_status status;

	if (!reader->calls && !(reader->calls = sonde_call_tree_new()))
		return sonde_fail_nomem(err);
	status = prof_read_calls(reading->inputs->recordings[from->recording], from->track,
				 reader->calls, count_change, &changes, &why);
	if (status != SONDE_OK)
		return refuse(reader, item, from->path, &why, err);
	return add_call_track(reading, reader, item, changes, err);
}

/* One thread: takes items until there are no more. */
static enum sonde_status work(void *user, size_t number, struct sonde_error *err)
{
	struct reading *reading = user;
	unsigned int size = sonde_team_size(reading->options->team);
	unsigned int rank = sonde_team_rank(reading->options->team);
	enum sonde_status status = SONDE_OK;

	while (status == SONDE_OK) {
		size_t item = atomic_fetch_add(&reading->next, 1) * size + rank;

		if (item >= reading->inputs->items.count)
			return SONDE_OK;
		if (reading->inputs->items.items[item].recording == SONDE_NONE)
			status = read_profile(reading, &reading->readers[number], (uint32_t)item,
					      err);
		else
			status =
				read_track(reading, &reading->readers[number], (uint32_t)item, err);
		if (status == SONDE_OK)
			status = sonde_meter_add(&reading->meter, 1, err);
	}
	return status;
}

static void release_reader(struct reader *reader)
{
	prof_union_release(&reader->all);
	hpcrun_profile_release(&reader->profile);
	sonde_vec_release(&reader->raw);
	sonde_buffer_release(&reader->space);
	sonde_call_tree_free(reader->calls);
}

enum sonde_status prof_read(const struct prof_inputs *inputs,
			    const struct sonde_prof_options *options, struct prof_union *all,
			    struct sonde_error *err)
{
	unsigned int team = sonde_team_size(options->team);
	size_t share = (inputs->items.count + team - 1) / team;
	size_t count = thread_count(options->threads, share), i;
	struct reading reading = { .inputs = inputs,
				   .options = options,
				   .meter = { .progress = options->progress, .total = share } };
	enum sonde_status status;

	reading.readers = calloc(count, sizeof(*reading.readers));
	if (!reading.readers)
		return sonde_fail_nomem(err);
	status = sonde_pool_run(count, (unsigned int)count, work, &reading, err);
	for (i = 0; i < count; i++) {
		if (status == SONDE_OK)
			status = prof_union_merge(all, &reading.readers[i].all, err);
		release_reader(&reading.readers[i]);
	}
	free(reading.readers);
	return status;
}
