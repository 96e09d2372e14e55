/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exceptions of a recording, through the pipeline: tracks side by side, each with the calls that are open
 * in it. What is rare (an exception) takes a lock, what is not (a call) is counted by the track.
 */
#include "analyse/errors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/arguments.h>

#include "analyse/error_texts.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/call_stack.h"

struct errors_texts {
	struct sonde_arena arena;
};

/* By function. */
struct function_counts {
	uint64_t calls, failed;
};

struct counts_by_function {
	struct function_counts *items;
	size_t count, capacity;
};

/* What is known of one track while it is fed. */
struct track_state {
	struct sonde_call_stack stack;
	struct counts_by_function counts;
	bool follows_exception;	  /* the event before was one, */
	uint32_t exception_depth; /* of this depth */
};

struct found_group {
	struct error_group group;
	uint32_t function, track;
	uint32_t path[ERRORS_PATH_LIMIT];
	char *stack; /* malloc'd: earlier ones replace it */
};

struct errors_sink {
	struct sonde_sink base;
	const struct sonde_definitions *definitions;
	pthread_mutex_t lock; /* of all below */
	struct errors *errors;
	struct track_state *tracks; /* by track */
	uint32_t track_count;
	struct sonde_arena keys;
	struct sonde_text_map numbers; /* of groups, by key */
	SONDE_VEC(struct found_group) found;
	struct counts_by_function counts;
	struct error_texts *details; /* how to read details */
	struct sonde_buffer key;
};

static enum sonde_status begin(struct sonde_sink *base, const struct sonde_definitions *definitions,
			       struct sonde_error *err)
{
	struct errors_sink *sink = (struct errors_sink *)base;

	sink->definitions = definitions;
	sink->track_count = sonde_definitions_track_count(definitions);
	sink->tracks = calloc((size_t)sink->track_count + 1, sizeof(*sink->tracks));
	sink->details = error_texts_new(definitions);
	return sink->tracks && sink->details ? SONDE_OK : sonde_fail_nomem(err);
}

/* The counts of a function; NULL where memory failed. */
static struct function_counts *counts_of(struct counts_by_function *counts, uint32_t function)
{
	size_t more = function < counts->count ? 0 : (size_t)function + 1 - counts->count;

	if (more && !sonde_vec_reserve(counts, more))
		return NULL;
	if (more)
		memset(counts->items + counts->count, 0, more * sizeof(*counts->items));
	counts->count += more;
	return &counts->items[function];
}

/* The group of a function, a type and a message; NULL where memory failed. */
static struct found_group *find_group(struct errors_sink *sink, uint32_t function, const char *type,
				      const char *message)
{
	bool is_rest = sink->found.count >= ERRORS_GROUP_LIMIT;
	struct found_group *found;
	uint32_t number;
	char *copy;

	for (int attempt = 0; attempt < 2; attempt++) {
		sonde_buffer_clear(&sink->key);
		sonde_buffer_put_hex(&sink->key, function, 8);
		sonde_buffer_put(&sink->key, type, strlen(type) + 1);
		sonde_buffer_put(&sink->key, message, strlen(message) + 1);
		if (sink->key.failed)
			return NULL;
		number = sonde_text_map_find(&sink->numbers, sink->key.data, sink->key.size);
		if (number != UINT32_MAX)
			return &sink->found.items[number];
		if (!is_rest)
			break;
		/* no text that is kept has this byte at its beginning */
		type = "\xff";
		message = "";
	}
	copy = sonde_arena_take(&sink->keys, sink->key.size);
	/* room first: a number in the map is one of a group that is there, for other threads too */
	if (!copy || !sonde_vec_reserve(&sink->found, 1))
		return NULL;
	memcpy(copy, sink->key.data, sink->key.size);
	if (!sonde_text_map_add(&sink->numbers, copy, sink->key.size, (uint32_t)sink->found.count))
		return NULL;
	found = &sink->found.items[sink->found.count++];
	*found = (struct found_group){
		.group = {
			.type = is_rest ? "" : copy + 8,
			.message = is_rest ? "" : copy + 8 + strlen(type) + 1,
			.is_rest = is_rest,
		},
		.function = function,
	};
	return found;
}

/* Where the first one of a group happened. */
static bool set_place(struct found_group *found, const struct track_state *track,
		      const struct sonde_event *event, const char *stack)
{
	struct error_group *group = &found->group;
	size_t depth = track->stack.count;

	found->track = event->track;
	group->path_count = (uint32_t)(depth < ERRORS_PATH_LIMIT ? depth : ERRORS_PATH_LIMIT);
	group->path_cut = (uint32_t)(depth - group->path_count);
	for (uint32_t i = 0; i < group->path_count; i++)
		found->path[i] = track->stack.items[group->path_cut + i].function;
	free(found->stack);
	found->stack = strdup(stack);
	return found->stack;
}

static enum sonde_status add_exception(struct errors_sink *sink, struct track_state *track,
				       const struct sonde_batch *batch,
				       const struct sonde_event *event, struct sonde_error *err)
{
	struct error_description description;
	struct sonde_detail detail;
	struct found_group *found;
	bool has_detail = sonde_event_has_detail(event) &&
			  sonde_batch_detail(batch, event, &detail, NULL) == SONDE_OK;
	bool is_good;

	pthread_mutex_lock(&sink->lock);
	error_texts_read(sink->details, has_detail ? &detail : NULL, &description);
	found = find_group(sink, event->function, description.type, description.message);
	is_good = found;
	if (is_good && (!found->group.count || event->time_ns < found->group.first_ns ||
			(event->time_ns == found->group.first_ns && event->track < found->track))) {
		found->group.first_ns = event->time_ns;
		is_good = set_place(found, track, event, description.stack);
	}
	if (is_good) {
		if (event->time_ns > found->group.last_ns)
			found->group.last_ns = event->time_ns;
		found->group.count++;
		found->group.passed_on += track->follows_exception &&
					  track->exception_depth > event->depth;
		sink->errors->exceptions++;
	}
	pthread_mutex_unlock(&sink->lock);
	return is_good ? SONDE_OK : sonde_fail_nomem(err);
}

static bool leave(struct track_state *track, const struct sonde_event *event)
{
	size_t place = sonde_call_stack_find_left(&track->stack, event);
	uint32_t function = event->function;

	if (event->kind == SONDE_EVENT_EXCEPTION && function != SONDE_NONE) {
		struct function_counts *counts = counts_of(&track->counts, function);

		if (!counts)
			return false;
		/* a call that is not there was made all the same */
		counts->calls += place == SONDE_NO_CALL;
		counts->failed++;
	}
	if (place != SONDE_NO_CALL)
		track->stack.count = place;
	return true;
}

static bool enter(struct track_state *track, const struct sonde_event *event)
{
	struct function_counts *counts;

	if (!sonde_call_stack_push(&track->stack, event, 0))
		return false;
	if (event->function == SONDE_NONE)
		return true;
	counts = counts_of(&track->counts, event->function);
	if (counts)
		counts->calls++;
	return counts;
}

static enum sonde_status take_events(struct sonde_sink *base, uint32_t number,
				     const struct sonde_batch *batch, struct sonde_error *err)
{
	struct errors_sink *sink = (struct errors_sink *)base;
	struct track_state *track = &sink->tracks[number];
	enum sonde_status status = SONDE_OK;
	bool is_good = true;

	for (size_t i = 0; i < batch->count && status == SONDE_OK && is_good; i++) {
		const struct sonde_event *event = &batch->events[i];

		if (event->kind == SONDE_EVENT_CALL) {
			is_good = enter(track, event);
		} else if (event->kind == SONDE_EVENT_RETURN) {
			is_good = leave(track, event);
		} else if (event->kind == SONDE_EVENT_EXCEPTION) {
			status = add_exception(sink, track, batch, event, err);
			is_good = leave(track, event);
		} else {
			continue;
		}
		track->follows_exception = event->kind == SONDE_EVENT_EXCEPTION;
		track->exception_depth = event->depth;
	}
	return is_good ? status : sonde_fail_nomem(err);
}

static enum sonde_status end_track(struct sonde_sink *base, uint32_t number,
				   struct sonde_error *err)
{
	struct errors_sink *sink = (struct errors_sink *)base;
	struct track_state *track = &sink->tracks[number];
	bool is_good = true;

	pthread_mutex_lock(&sink->lock);
	for (size_t i = track->counts.count; i-- > 0 && is_good;) {
		struct function_counts *counts = counts_of(&sink->counts, (uint32_t)i);

		is_good = counts;
		if (!counts)
			break;
		counts->calls += track->counts.items[i].calls;
		counts->failed += track->counts.items[i].failed;
	}
	pthread_mutex_unlock(&sink->lock);
	sonde_vec_release(&track->stack);
	sonde_vec_release(&track->counts);
	return is_good ? SONDE_OK : sonde_fail_nomem(err);
}

static int compare_groups(const void *left, const void *right)
{
	const struct error_group *a = left, *b = right;
	int order;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	order = strcmp(a->function, b->function);
	if (!order)
		order = strcmp(a->type, b->type);
	if (!order)
		order = strcmp(a->message, b->message);
	return order ? order : (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

/* Labels last as long as the errors, and each is kept once. */
struct labels {
	struct sonde_arena *arena;
	struct sonde_text_map known;
	SONDE_VEC(const char *) texts;
};

/* NULL where memory failed. */
static const char *keep(struct labels *labels, const char *text)
{
	size_t length = strlen(text);
	uint32_t number = sonde_text_map_find(&labels->known, text, length);
	const char *copy, **place;

	if (number < labels->texts.count)
		return labels->texts.items[number];
	copy = sonde_arena_copy_text(labels->arena, text, length);
	place = copy ? sonde_vec_push(&labels->texts) : NULL;
	if (!place ||
	    !sonde_text_map_add(&labels->known, copy, length, (uint32_t)labels->texts.count - 1))
		return NULL;
	*place = copy;
	return copy;
}

static bool finish_group(const struct errors_sink *sink, struct labels *labels,
			 const struct found_group *found, struct error_group *group)
{
	char space[SONDE_LABEL_SIZE];
	const char **path;

	*group = found->group;
	group->function = keep(labels, sonde_definitions_function_label(sink->definitions,
									found->function, space));
	group->track =
		keep(labels, sonde_definitions_track_label(sink->definitions, found->track, space));
	group->type = keep(labels, group->type);
	group->message = keep(labels, group->message);
	group->stack = keep(labels, found->stack);
	path = sonde_arena_take(labels->arena,
				((size_t)group->path_count + 1) * sizeof(const char *));
	group->path = path;
	for (uint32_t i = 0; path && i < group->path_count; i++) {
		path[i] = keep(labels, sonde_definitions_function_label(sink->definitions,
									found->path[i], space));
		if (!path[i])
			return false;
	}
	if (found->function < sink->counts.count) {
		group->calls = sink->counts.items[found->function].calls;
		group->failed_calls = sink->counts.items[found->function].failed;
	}
	return path && group->function && group->track && group->type && group->message &&
	       group->stack;
}

/* While the definitions are there. */
static enum sonde_status finish(struct sonde_sink *base, struct sonde_error *err)
{
	struct errors_sink *sink = (struct errors_sink *)base;
	struct errors *errors = sink->errors;
	struct labels labels = { .arena = &errors->texts->arena };
	bool is_good = true;

	errors->groups = calloc(sink->found.count + 1, sizeof(*errors->groups));
	for (size_t i = 0; errors->groups && i < sink->found.count && is_good; i++)
		is_good = finish_group(sink, &labels, &sink->found.items[i],
				       &errors->groups[errors->group_count++]);
	for (size_t i = 0; i < sink->counts.count; i++) {
		errors->calls += sink->counts.items[i].calls;
		errors->failed_calls += sink->counts.items[i].failed;
	}
	sonde_text_map_release(&labels.known);
	sonde_vec_release(&labels.texts);
	if (!errors->groups || !is_good)
		return sonde_fail_nomem(err);
	qsort(errors->groups, errors->group_count, sizeof(*errors->groups), compare_groups);
	return SONDE_OK;
}

static const struct sonde_sink_ops sink_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
	.parallel_tracks = true,
	.begin = begin,
	.events = take_events,
	.track_end = end_track,
	.finish = finish,
};

static void sink_release(struct errors_sink *sink)
{
	for (uint32_t i = 0; sink->tracks && i < sink->track_count; i++) {
		sonde_vec_release(&sink->tracks[i].stack);
		sonde_vec_release(&sink->tracks[i].counts);
	}
	for (size_t i = 0; i < sink->found.count; i++)
		free(sink->found.items[i].stack);
	free(sink->tracks);
	sonde_text_map_release(&sink->numbers);
	sonde_arena_release(&sink->keys);
	sonde_vec_release(&sink->found);
	sonde_vec_release(&sink->counts);
	error_texts_free(sink->details);
	sonde_buffer_release(&sink->key);
	pthread_mutex_destroy(&sink->lock);
}

enum sonde_status errors_find(struct errors *errors, struct sonde_recording *recording,
			      const struct sonde_run_options *options, struct sonde_error *err)
{
	struct errors_sink sink = { .base.ops = &sink_ops, .errors = errors };
	struct sonde_run_result result = { 0 };
	enum sonde_status status;

	*errors = (struct errors){ 0 };
	if (!(sonde_recording_lanes(recording) & SONDE_LANE_EVENTS))
		return SONDE_OK;
	errors->texts = calloc(1, sizeof(*errors->texts));
	if (!errors->texts || pthread_mutex_init(&sink.lock, NULL)) {
		free(errors->texts);
		errors->texts = NULL;
		return sonde_fail_nomem(err);
	}
	status = sonde_pipeline_run(&recording, 1, &sink.base, options, &result, err);
	sink_release(&sink);
	if (status < 0)
		errors_release(errors);
	return status;
}

void errors_release(struct errors *errors)
{
	if (errors->texts)
		sonde_arena_release(&errors->texts->arena);
	free(errors->texts);
	free(errors->groups);
	*errors = (struct errors){ 0 };
}
