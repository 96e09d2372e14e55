/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ties tracks where the recording does not say it: the thread that ended while another joined one, the last
 * to come to a barrier, whoever released something last before a wait ended. Looking for that is limited to
 * about as many events as there are.
 */
#include <string.h>

#include "analyse/critical_walk.h"

#define SEEK_COST 50 /* events that one search by time counts as */

/* What is looked for on other tracks, the last one before a time. */
struct search {
	uint32_t function;	 /* BARRIER: the function that was waited in */
	enum critical_wait ends; /* WAKE: what the function ends */
	bool creates;
};

static bool is_same_name(struct critical_work *work, uint32_t a, uint32_t b)
{
	const struct sonde_function *x = sonde_definitions_function(work->definitions, a);
	const struct sonde_function *y = sonde_definitions_function(work->definitions, b);

	return a == b || (x && y && x->name == y->name);
}

static bool fits(struct critical_work *work, const struct search *search,
		 const struct sonde_event *event)
{
	struct critical_role role;

	if (event->kind != SONDE_EVENT_CALL)
		return false;
	role = critical_role_of(&work->names, event->function);
	if (search->creates)
		return role.creates;
	if (search->ends)
		return role.ends == search->ends;
	return role.waits_for == WAIT_FOR_ALL &&
	       is_same_name(work, event->function, search->function);
}

/* Events of one track down to `from_ns`; a later one than jump->time_ns is better. */
static void search_track(struct critical_walk *walk, uint32_t track, const struct search *search,
			 uint64_t from_ns, uint64_t to_ns, struct critical_jump *jump, bool *found)
{
	struct critical_work *work = walk->work;
	uint64_t index = critical_index_after(work, track, to_ns);

	walk->budget -= walk->budget < SEEK_COST ? walk->budget : SEEK_COST;
	if (index > work->tracks[track].left)
		index = work->tracks[track].left;
	for (; index && walk->budget; index--, walk->budget--) {
		uint32_t node;
		const struct sonde_event *event =
			critical_event(work, track, index - 1, &node, NULL);

		if (!event || event->time_ns <= from_ns ||
		    (*found && event->time_ns <= jump->time_ns))
			return;
		if (!fits(work, search, event))
			continue;
		*found = true;
		jump->track = track;
		jump->index = index;
		jump->time_ns = event->time_ns;
		jump->by = event->function;
		return;
	}
}

static bool search_tracks(struct critical_walk *walk, const struct search *search, uint64_t from_ns,
			  uint64_t to_ns, struct critical_jump *jump)
{
	struct critical_work *work = walk->work;
	bool found = false;

	for (uint32_t i = 0; i < work->track_count; i++) {
		const struct critical_track *track = &work->tracks[i];

		if (i == walk->track || !track->is_wanted || !track->left ||
		    track->last_ns <= from_ns)
			continue;
		if (!walk->budget) {
			work->path->gave_up = true;
			break;
		}
		search_track(walk, i, search, from_ns, to_ns, jump, &found);
	}
	return found;
}

/* The track that ended last in a time. */
static bool find_end(const struct critical_walk *walk, uint64_t from_ns, uint64_t to_ns,
		     struct critical_jump *jump)
{
	bool found = false;

	for (uint32_t i = 0; i < walk->work->track_count; i++) {
		const struct critical_track *track = &walk->work->tracks[i];

		if (i == walk->track || !track->is_wanted || !track->event_count ||
		    track->left < track->event_count || track->last_ns <= from_ns ||
		    track->last_ns > to_ns || (found && track->last_ns <= jump->time_ns))
			continue;
		found = true;
		jump->track = i;
		jump->index = track->event_count;
		jump->time_ns = track->last_ns;
	}
	return found;
}

static uint64_t find_call(struct critical_walk *walk, uint32_t node, uint64_t end_ns)
{
	for (uint64_t i = walk->index; i-- > 0 && walk->budget; walk->budget--) {
		uint32_t after;
		const struct sonde_event *event =
			critical_event(walk->work, walk->track, i, &after, NULL);

		if (!event)
			break;
		if (event->kind == SONDE_EVENT_CALL && after == node)
			return event->time_ns;
	}
	return end_ns;
}

bool critical_guess_wake(struct critical_walk *walk, uint32_t node, uint64_t end_ns,
			 struct critical_jump *jump)
{
	struct critical_work *work = walk->work;
	uint32_t function = work->nodes.items[node].function;
	enum critical_wait wait = critical_role_of(&work->names, function).waits_for;
	struct search search = { .function = function };
	uint64_t begin_ns;
	bool found;

	*jump = (struct critical_jump){ .by = SONDE_NONE, .waiting_node = node };
	if (walk->is_alone || wait == WAIT_NONE || wait == WAIT_FOR_ANYTHING || !walk->budget)
		return false;
	begin_ns = find_call(walk, node, end_ns);
	if (begin_ns < work->from_ns)
		begin_ns = work->from_ns;
	if (begin_ns >= end_ns)
		return false;
	if (wait == WAIT_FOR_END) {
		jump->reason = CRITICAL_JOIN;
		found = find_end(walk, begin_ns, end_ns, jump);
	} else {
		jump->reason = wait == WAIT_FOR_ALL ? CRITICAL_BARRIER : CRITICAL_WAKE;
		search.ends = wait == WAIT_FOR_ALL ? WAIT_NONE : wait;
		found = search_tracks(walk, &search, begin_ns, end_ns, jump);
	}
	if (found)
		jump->waited_ns = jump->time_ns - begin_ns;
	return found;
}

/* A track that has begun before and not ended: of the same process, and the one that began first. */
static bool find_present(const struct critical_walk *walk, struct critical_jump *jump)
{
	const struct critical_work *work = walk->work;
	const struct critical_track *own = &work->tracks[walk->track], *best = NULL;

	for (uint32_t i = 0; i < work->track_count; i++) {
		const struct critical_track *track = &work->tracks[i];

		if (i == walk->track || !track->is_wanted || !track->left || !track->has_first ||
		    track->first_ns >= walk->now_ns || track->last_ns < walk->now_ns)
			continue;
		if (best && (best->process == own->process) > (track->process == own->process))
			continue;
		if (best && (best->process == own->process) == (track->process == own->process) &&
		    best->first_ns <= track->first_ns)
			continue;
		best = track;
		jump->track = i;
	}
	return best;
}

/* The track that ended last before now. */
static bool find_last(const struct critical_walk *walk, struct critical_jump *jump)
{
	bool found = false;

	for (uint32_t i = 0; i < walk->work->track_count; i++) {
		const struct critical_track *track = &walk->work->tracks[i];

		if (i == walk->track || !track->is_wanted || !track->left || !track->has_first ||
		    track->last_ns >= walk->now_ns || (found && track->last_ns <= jump->time_ns))
			continue;
		found = true;
		jump->track = i;
		jump->index = track->left;
		jump->time_ns = track->last_ns;
	}
	return found;
}

bool critical_guess_beginning(struct critical_walk *walk, struct critical_jump *jump)
{
	struct critical_work *work = walk->work;
	struct search creators = { .creates = true };

	*jump = (struct critical_jump){ .reason = CRITICAL_CREATE, .by = SONDE_NONE };
	if (walk->budget && search_tracks(walk, &creators, work->from_ns, walk->now_ns, jump))
		return true;
	jump->reason = CRITICAL_PRESENT;
	jump->time_ns = walk->now_ns;
	if (find_present(walk, jump)) {
		uint64_t index = critical_index_after(work, jump->track, walk->now_ns);

		jump->index = index < work->tracks[jump->track].left ?
				      index :
				      work->tracks[jump->track].left;
		return jump->index;
	}
	return find_last(walk, jump);
}
