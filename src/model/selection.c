/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events are wanted: a specification compiled against definitions. Patterns are tried once
 * for each function, when it is first met, and the answer is remembered by its id.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/selection.h"

/* What is known of an id: 0 nothing yet, else one of these. */
enum answer { ANSWER_NO = 1, ANSWER_YES };

struct memo {
	SONDE_VEC(uint8_t) answers; /* by id */
};

struct sonde_selection {
	const struct sonde_definitions *definitions;
	uint64_t from_ns;
	uint64_t last_ns; /* the last time wanted */
	unsigned int kinds;
	uint32_t min_depth;
	uint32_t max_depth;
	bool *tracks; /* by id; NULL: all */
	uint32_t track_count;
	char **patterns;
	size_t pattern_count;
	struct memo functions;
	struct memo event_types;
};

void sonde_selection_free(struct sonde_selection *selection)
{
	if (!selection)
		return;
	for (size_t i = 0; selection->patterns && i < selection->pattern_count; i++)
		free(selection->patterns[i]);
	free(selection->patterns);
	free(selection->tracks);
	sonde_vec_release(&selection->functions.answers);
	sonde_vec_release(&selection->event_types.answers);
	free(selection);
}

enum sonde_status sonde_selection_check(const struct sonde_selection_spec *spec,
					struct sonde_error *err)
{
	if (spec->to_ns && spec->from_ns > spec->to_ns)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the selection ends at %" PRIu64
				  " ns, before it starts at %" PRIu64 " ns",
				  spec->to_ns, spec->from_ns);
	if (spec->max_depth && spec->min_depth > spec->max_depth)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the smallest depth wanted, %" PRIu32
				  ", is more than the largest, %" PRIu32,
				  spec->min_depth, spec->max_depth);
	return SONDE_OK;
}

static enum sonde_status take_tracks(struct sonde_selection *selection,
				     const struct sonde_selection_spec *spec,
				     struct sonde_error *err)
{
	selection->track_count = sonde_definitions_track_count(selection->definitions);
	if (!spec->track_count)
		return SONDE_OK;
	selection->tracks = calloc((size_t)selection->track_count + 1, sizeof(bool));
	if (!selection->tracks)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < spec->track_count; i++) {
		uint32_t track = spec->tracks[i];

		if (track >= selection->track_count)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "there is no track %" PRIu32 " to select: the recording "
					  "has %" PRIu32 ", numbered from 0",
					  track, selection->track_count);
		selection->tracks[track] = true;
	}
	return SONDE_OK;
}

static enum sonde_status take_patterns(struct sonde_selection *selection,
				       const struct sonde_selection_spec *spec,
				       struct sonde_error *err)
{
	if (!spec->function_count)
		return SONDE_OK;
	selection->patterns = calloc(spec->function_count, sizeof(*selection->patterns));
	if (!selection->patterns)
		return sonde_fail_nomem(err);
	selection->pattern_count = spec->function_count;
	for (size_t i = 0; i < spec->function_count; i++) {
		selection->patterns[i] = strdup(spec->functions[i]);
		if (!selection->patterns[i])
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

enum sonde_status sonde_selection_new(const struct sonde_selection_spec *spec,
				      const struct sonde_definitions *definitions,
				      struct sonde_selection **selection, struct sonde_error *err)
{
	enum sonde_status status = sonde_selection_check(spec, err);
	struct sonde_selection *made;

	*selection = NULL;
	if (status)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return sonde_fail_nomem(err);
	made->definitions = definitions;
	made->from_ns = spec->from_ns;
	made->last_ns = spec->to_ns ? spec->to_ns - 1 : UINT64_MAX;
	made->kinds = spec->kinds ? spec->kinds : UINT_MAX;
	made->min_depth = spec->min_depth;
	made->max_depth = spec->max_depth ? spec->max_depth : UINT32_MAX;
	status = take_tracks(made, spec, err);
	if (!status)
		status = take_patterns(made, spec, err);
	if (status) {
		sonde_selection_free(made);
		return status;
	}
	*selection = made;
	return SONDE_OK;
}

/* An equal name always matches, so that "operator[]" needs no quoting. */
static bool name_fits(const struct sonde_selection *selection, const char *name)
{
	for (size_t i = 0; i < selection->pattern_count; i++) {
		const char *pattern = selection->patterns[i];

		if (!strcmp(pattern, name) || !fnmatch(pattern, name, 0))
			return true;
	}
	return false;
}

/* A function without a name is known by its label. */
static bool function_fits(const struct sonde_selection *selection, uint32_t id)
{
	const struct sonde_function *function =
		sonde_definitions_function(selection->definitions, id);
	char space[SONDE_LABEL_SIZE];

	if (function && function->raw_name &&
	    name_fits(selection,
		      sonde_definitions_string(selection->definitions, function->raw_name)))
		return true;
	return name_fits(selection,
			 sonde_definitions_function_label(selection->definitions, id, space));
}

static bool event_type_fits(const struct sonde_selection *selection, uint32_t id)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(selection->definitions, id);

	return type &&
	       name_fits(selection, sonde_definitions_string(selection->definitions, type->name));
}

/* Makes the memo reach `id`, of `count` ids that there are; false where that cannot be. */
static bool memo_reaches(struct memo *memo, uint32_t id, uint32_t count)
{
	size_t known = memo->answers.count;

	if (id < known)
		return true;
	if (id >= count || !sonde_vec_reserve(&memo->answers, count - known))
		return false;
	memset(memo->answers.items + known, 0, count - known);
	memo->answers.count = count;
	return true;
}

static bool slowly_fits(struct sonde_selection *selection, const struct sonde_event *event)
{
	bool is_function = sonde_event_has_function(event);
	struct memo *memo = is_function ? &selection->functions : &selection->event_types;
	uint32_t count = is_function ? sonde_definitions_function_count(selection->definitions) :
				       sonde_definitions_event_type_count(selection->definitions);
	bool fits = is_function ? function_fits(selection, event->function) :
				  event_type_fits(selection, event->function);

	if (memo_reaches(memo, event->function, count))
		memo->answers.items[event->function] = fits ? ANSWER_YES : ANSWER_NO;
	return fits;
}

static bool patterns_fit(struct sonde_selection *selection, const struct sonde_event *event)
{
	const struct memo *memo = sonde_event_has_function(event) ? &selection->functions :
								    &selection->event_types;

	if (event->function < memo->answers.count && memo->answers.items[event->function])
		return memo->answers.items[event->function] == ANSWER_YES;
	return slowly_fits(selection, event);
}

bool sonde_selection_has_kind(const struct sonde_selection *selection,
			      const struct sonde_event *event)
{
	unsigned int kind = event->kind < SONDE_EVENT_KIND_COUNT ? event->kind : SONDE_EVENT_OTHER;

	return selection->kinds >> kind & 1;
}

bool sonde_selection_has_place(struct sonde_selection *selection, const struct sonde_event *event)
{
	if (event->depth < selection->min_depth || event->depth > selection->max_depth)
		return false;
	return !selection->pattern_count || patterns_fit(selection, event);
}

bool sonde_selection_has(struct sonde_selection *selection, const struct sonde_event *event)
{
	if (event->time_ns < selection->from_ns || event->time_ns > selection->last_ns)
		return false;
	if (selection->tracks &&
	    (event->track >= selection->track_count || !selection->tracks[event->track]))
		return false;
	return sonde_selection_has_kind(selection, event) &&
	       sonde_selection_has_place(selection, event);
}
