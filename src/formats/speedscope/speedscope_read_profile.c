/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of a speedscope file. Evented ones in a unit of time are calls, in any other unit values
 * of contexts; sampled ones are values and, where their weights are times, samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/speedscope/speedscope_read.h"

/* Units as the file names them; times come first. */
static const struct {
	const char *name;
	unsigned int digits; /* of nanoseconds: 10^digits of them are one */
	double seconds;
	const char *metric, *metric_unit;
} units[] = {
	{ "nanoseconds", 0, 1e-9, "TIME (sec)", "" },
	{ "microseconds", 3, 1e-6, "TIME (sec)", "" },
	{ "milliseconds", 6, 1e-3, "TIME (sec)", "" },
	{ "seconds", 9, 1, "TIME (sec)", "" },
	{ "bytes", 0, 1, "BYTES", "bytes" },
	{ "none", 0, 1, "WEIGHT", "" },
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))
#define UNIT_BYTES 4
#define UNIT_NONE 5

/* A stack that was met last, so that the next one finds its nodes sooner. */
struct level {
	uint64_t frame;
	uint32_t node;
};

/* A profile on its way. */
struct passage {
	struct speedscope_reader *reader;
	const struct speedscope_profile *profile;
	uint32_t track;
	uint32_t metric; /* of its values; SONDE_NONE: it has none */
	bool has_times;
	int64_t start; /* of a sampled profile: of the next sample; of calls: the last time */
	uint32_t node; /* of the last sample that was added */
	uint64_t samples;
	SONDE_VEC(struct level) stack;
	size_t depth; /* how much of it is now */
};

static enum sonde_status find_metric(struct speedscope_reader *reader,
				     const struct speedscope_profile *profile, uint32_t *id,
				     struct sonde_error *err)
{
	struct sonde_metric metric = { .name = profile->metric_name,
				       .unit = profile->metric_unit,
				       .description = profile->metric_description,
				       .hidden = profile->is_hidden };
	const char *name = units[profile->unit].metric, *unit = units[profile->unit].metric_unit;
	enum sonde_status status = SONDE_OK;
	uint64_t key;

	if (!profile->has_metric)
		status = sonde_intake_string(reader->intake, name, strlen(name), &metric.name, err);
	if (!status && !profile->has_metric)
		status = sonde_intake_string(reader->intake, unit, strlen(unit), &metric.unit, err);
	if (!status)
		status = sonde_intake_string(reader->intake, "point", strlen("point"),
					     &metric.scope, err);
	if (status)
		return status;
	key = (uint64_t)metric.name << 32 | metric.unit;
	*id = sonde_key_map_find(&reader->metrics, key);
	if (*id != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_metric(reader->recording->definitions, &metric, id, err);
	if (!status && !sonde_key_map_add(&reader->metrics, key, *id))
		status = sonde_fail_nomem(err);
	return status;
}

/* A time of the file as one of the recording; what cannot be is put at the nearest that can. */
static uint64_t place_time(struct speedscope_reader *reader, int64_t time_ns)
{
	if (time_ns >= 0 && (uint64_t)time_ns <= UINT64_MAX - reader->start_ns)
		return reader->start_ns + (uint64_t)time_ns;
	if (time_ns < 0 && (uint64_t)-time_ns <= reader->start_ns)
		return reader->start_ns - (uint64_t)-time_ns;
	reader->bad_times++;
	return time_ns < 0 ? 0 : UINT64_MAX;
}

/* Evented */

struct event {
	char type; /* 'O', 'C', or 0 */
	bool has_frame, is_made, is_end, is_exception;
	uint64_t frame;
	int64_t at_ns;
	double at;
	bool has_at;
};

static void take_event_member(struct passage *passage, char first, struct event *event)
{
	const struct sonde_json_reader *json = &passage->reader->json;

	if (first == 't' && json->token == SONDE_JSON_STRING && json->length == 1)
		event->type = json->text[0];
	if (first == 'f' && json->token == SONDE_JSON_NUMBER)
		event->has_frame = sonde_json_u64(json, &event->frame);
	if (first == 'a' && json->token == SONDE_JSON_NUMBER) {
		if (!passage->has_times)
			event->at = strtod(json->text, NULL);
		event->has_at = !passage->has_times ||
				speedscope_scaled(json->text, json->length,
						  units[passage->profile->unit].digits,
						  &event->at_ns);
	}
	if (first == 's' && json->token == SONDE_JSON_STRING) {
		event->is_made = !strcmp(json->text, SPEEDSCOPE_MADE);
		event->is_end = !strcmp(json->text, SPEEDSCOPE_END);
		event->is_exception = !strcmp(json->text, SPEEDSCOPE_EXCEPTION);
	}
}

/* 't', 'f', 'a' or 's' of the keys that count, else 0. */
static char which_key(const struct sonde_json_reader *json)
{
	static const char *const keys[] = { "type", "frame", "at", SPEEDSCOPE_OURS };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(json->text, keys[i]))
			return keys[i][0];
	}
	return 0;
}

static enum sonde_status read_event(struct passage *passage, struct event *event,
				    struct sonde_error *err)
{
	struct sonde_json_reader *json = &passage->reader->json;
	enum sonde_status status;

	*event = (struct event){ 0 };
	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_json_skip(json, err);
	while (!(status = sonde_json_next(json, err)) && json->token == SONDE_JSON_KEY) {
		char first = which_key(json);

		status = sonde_json_next(json, err);
		if (status)
			break;
		take_event_member(passage, first, event);
		status = sonde_json_skip(json, err);
		if (status)
			break;
	}
	return status;
}

static enum sonde_status add_call(struct passage *passage, const struct event *event,
				  struct sonde_error *err)
{
	struct sonde_intake_event added = {
		.track = passage->track,
		.kind = event->type == 'O'  ? SONDE_EVENT_CALL :
			event->is_exception ? SONDE_EVENT_EXCEPTION :
					      SONDE_EVENT_RETURN,
		.event_type = SONDE_NONE,
	};
	enum sonde_status status;

	/*
	 * a track that went on after its last call had something else then, which the file does not
	 * have
	 */
	if (event->is_made || (event->is_end && event->at_ns <= passage->start))
		return SONDE_OK;
	passage->start = event->is_end ? passage->start : event->at_ns;
	added.time_ns = place_time(passage->reader, event->at_ns);
	status = speedscope_function(passage->reader, event->frame, &added.function, err);
	return status ? status : sonde_intake_add(passage->reader->intake, &added, err);
}

static enum sonde_status push_level(struct passage *passage, uint64_t frame,
				    struct sonde_error *err)
{
	uint32_t parent = passage->depth ? passage->stack.items[passage->depth - 1].node : 0;
	struct level *level = passage->depth < passage->stack.count ?
				      &passage->stack.items[passage->depth] :
				      NULL;
	struct sonde_context context;
	enum sonde_status status;
	uint32_t function, node;

	if (level && level->frame == frame) {
		passage->depth++;
		return SONDE_OK;
	}
	status = speedscope_function(passage->reader, frame, &function, err);
	if (status)
		return status;
	context = sonde_intake_frame(function);
	status = sonde_intake_context(passage->reader->intake, parent, &context, &node, err);
	if (status)
		return status;
	passage->stack.count = passage->depth++;
	level = sonde_vec_push(&passage->stack);
	if (!level)
		return sonde_fail_nomem(err);
	*level = (struct level){ .frame = frame, .node = node };
	return SONDE_OK;
}

/* From one event to the next a weight was spent in what was open. */
static enum sonde_status add_weight(struct passage *passage, const struct event *event,
				    double *last, struct sonde_error *err)
{
	double weight = event->at - *last;
	enum sonde_status status = SONDE_OK;

	if (passage->depth && weight > 0 && isfinite(weight))
		status = sonde_intake_value(passage->reader->intake, passage->track,
					    passage->stack.items[passage->depth - 1].node,
					    passage->metric, weight, err);
	*last = event->at;
	if (!status && event->type == 'O')
		return push_level(passage, event->frame, err);
	if (!status && passage->depth)
		passage->depth--;
	return status;
}

static enum sonde_status read_events(struct passage *passage, struct sonde_error *fault,
				     struct sonde_error *err)
{
	struct speedscope_reader *reader = passage->reader;
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;
	struct event event;
	double last = 0;

	sonde_json_seek(json, passage->profile->place->members[SPEEDSCOPE_MEMBER_EVENTS]);
	status = sonde_json_next(json, fault);
	if (!status && json->token != SONDE_JSON_ARRAY_BEGIN)
		return sonde_fail(fault, SONDE_CORRUPT, json->offset,
				  "expected an array of events, found something else");
	while (!status && !(status = sonde_json_next(json, fault)) &&
	       json->token != SONDE_JSON_ARRAY_END) {
		uint64_t offset = json->offset;

		status = read_event(passage, &event, fault);
		if (status)
			break;
		if ((event.type != 'O' && event.type != 'C') || !event.has_frame || !event.has_at) {
			EXCHANGE_FINDING(reader->recording, RECORD, offset,
					 "an event with type, frame and at\tsomething else");
			continue;
		}
		status = passage->has_times ? add_call(passage, &event, err) :
					      add_weight(passage, &event, &last, err);
		if (status)
			return status;
		speedscope_scan_pass(&reader->scan, offset);
	}
	return status;
}

/* Sampled */

/* The stack that the present token opens. */
static enum sonde_status read_stack(struct passage *passage, struct sonde_error *fault,
				    struct sonde_error *err)
{
	struct sonde_json_reader *json = &passage->reader->json;
	enum sonde_status status;
	uint64_t frame;

	passage->depth = 0;
	if (json->token != SONDE_JSON_ARRAY_BEGIN)
		return sonde_fail(fault, SONDE_CORRUPT, json->offset,
				  "expected a stack of frames, found something else");
	while (!(status = sonde_json_next(json, fault)) && json->token != SONDE_JSON_ARRAY_END) {
		if (json->token != SONDE_JSON_NUMBER || !sonde_json_u64(json, &frame))
			return sonde_fail(fault, SONDE_CORRUPT, json->offset,
					  "expected the number of a frame, found something else");
		status = push_level(passage, frame, err);
		if (status)
			return status;
	}
	return status;
}

static enum sonde_status add_sample(struct passage *passage, uint32_t node, struct sonde_error *err)
{
	uint64_t time_ns = place_time(passage->reader, passage->start);

	passage->node = node;
	passage->samples++;
	return sonde_intake_sample(passage->reader->intake, passage->track, time_ns, node, err);
}

/* A stack with the weight that the other reader is at. */
static enum sonde_status add_stack(struct passage *passage, struct sonde_error *err)
{
	struct speedscope_reader *reader = passage->reader;
	const struct sonde_json_reader *json = &reader->weights;
	uint32_t node = passage->depth ? passage->stack.items[passage->depth - 1].node : 0;
	unsigned int digits = units[passage->profile->unit].digits;
	enum sonde_status status = SONDE_OK;
	double weight = strtod(json->text, NULL);
	int64_t length = 0;

	if (!(weight >= 0) || !isfinite(weight) ||
	    (passage->has_times && !speedscope_scaled(json->text, json->length, digits, &length))) {
		reader->bad_weights++;
		return SONDE_OK;
	}
	if (!passage->profile->has_metric)
		weight *= units[passage->profile->unit].seconds;
	/* what was spent in no frame belongs to nobody, unless it is ours: then it was like that */
	if (passage->metric != SONDE_NONE && weight > 0 && (node || passage->profile->has_metric))
		status = sonde_intake_value(reader->intake, passage->track, node, passage->metric,
					    weight, err);
	if (status || !passage->has_times)
		return status;
	status = add_sample(passage, node, err);
	if (__builtin_add_overflow(passage->start, length, &passage->start)) {
		passage->start = INT64_MAX;
		reader->bad_times++;
	}
	/* the last one of ours may have no length: nobody knows when it ended */
	if (!length && reader->is_ours)
		passage->node = 0;
	return status;
}

static enum sonde_status begin_array(struct sonde_json_reader *json, size_t position,
				     const char *what, struct sonde_error *fault)
{
	enum sonde_status status;

	sonde_json_seek(json, position);
	status = sonde_json_next(json, fault);
	if (!status && json->token != SONDE_JSON_ARRAY_BEGIN)
		return sonde_fail(fault, SONDE_CORRUPT, json->offset,
				  "expected an array of %s, found something else", what);
	return status;
}

static enum sonde_status read_samples(struct passage *passage, struct sonde_error *fault,
				      struct sonde_error *err)
{
	struct speedscope_reader *reader = passage->reader;
	const size_t *members = passage->profile->place->members;
	enum sonde_status status;

	reader->weights_scan.passed = members[SPEEDSCOPE_MEMBER_WEIGHTS];
	status = begin_array(&reader->json, members[SPEEDSCOPE_MEMBER_SAMPLES], "samples", fault);
	if (!status)
		status = begin_array(&reader->weights, members[SPEEDSCOPE_MEMBER_WEIGHTS],
				     "weights", fault);
	while (!status && !(status = sonde_json_next(&reader->json, fault)) &&
	       reader->json.token != SONDE_JSON_ARRAY_END) {
		status = read_stack(passage, fault, err);
		if (!status)
			status = sonde_json_next(&reader->weights, fault);
		if (status)
			break;
		if (reader->weights.token != SONDE_JSON_NUMBER)
			return sonde_fail(
				fault, SONDE_CORRUPT, reader->weights.offset,
				"expected a weight for each sample, found something else");
		status = add_stack(passage, err);
		speedscope_scan_pass(&reader->scan, reader->json.offset);
		speedscope_scan_pass(&reader->weights_scan, reader->weights.offset);
	}
	if ((!status || fault->status) && passage->node) {
		enum sonde_status ended = add_sample(passage, 0, err);

		status = ended ? ended : status;
	}
	return status;
}

/* The profile as a whole */

static unsigned int unit_of(const struct sonde_json_reader *json)
{
	for (unsigned int i = 0; i < UNIT_COUNT; i++) {
		if (json->token == SONDE_JSON_STRING && !strcmp(json->text, units[i].name))
			return i;
	}
	return UNIT_NONE;
}

/* The present token as a string of the intake; what is no string leaves it as it was. */
static enum sonde_status take_text(struct speedscope_reader *reader, uint32_t *string,
				   struct sonde_error *err)
{
	const struct sonde_json_reader *json = &reader->json;

	if (json->token != SONDE_JSON_STRING)
		return SONDE_OK;
	return sonde_intake_string(reader->intake, json->text, json->length, string, err);
}

static enum sonde_status take_profile_ours(struct speedscope_reader *reader, size_t position,
					   struct speedscope_profile *profile,
					   struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	struct speedscope_member member;
	struct speedscope_walk walk;
	enum sonde_status status = SONDE_OK;

	if (!speedscope_walk_begin(&walk, &reader->scan, position))
		return SONDE_OK;
	for (; !status && speedscope_walk_next(&walk, &member);
	     speedscope_walk_skip(&walk, &member)) {
		uint64_t number;

		sonde_json_seek(json, member.value);
		status = sonde_json_next(json, err);
		if (status)
			break;
		profile->has_metric |= speedscope_member_is(&member, "metric");
		if (speedscope_member_is(&member, "metric"))
			status = take_text(reader, &profile->metric_name, err);
		else if (speedscope_member_is(&member, "unit"))
			status = take_text(reader, &profile->metric_unit, err);
		else if (speedscope_member_is(&member, "description"))
			status = take_text(reader, &profile->metric_description, err);
		else if (speedscope_member_is(&member, "hidden"))
			profile->is_hidden = json->token == SONDE_JSON_TRUE;
		else if (speedscope_member_is(&member, "track") &&
			 json->token == SONDE_JSON_NUMBER && sonde_json_u64(json, &number) &&
			 number < reader->tracks.count)
			profile->track = reader->tracks.items[number];
	}
	return status;
}

/* A member of a profile as the present token; false where there is none. */
static bool find_member(struct speedscope_reader *reader, const struct speedscope_profile *profile,
			unsigned int member, enum sonde_status *status, struct sonde_error *fault)
{
	if (*status || !profile->place->members[member])
		return false;
	sonde_json_seek(&reader->json, profile->place->members[member]);
	*status = sonde_json_next(&reader->json, fault);
	return !*status;
}

/* All but the events, samples and weights. */
static enum sonde_status read_facts(struct speedscope_reader *reader,
				    struct speedscope_profile *profile, struct sonde_error *fault)
{
	const struct sonde_json_reader *json = &reader->json;
	enum sonde_status status = SONDE_OK;

	if (find_member(reader, profile, SPEEDSCOPE_MEMBER_TYPE, &status, fault))
		profile->is_sampled = json->token == SONDE_JSON_STRING &&
				      !strcmp(json->text, "sampled");
	if (find_member(reader, profile, SPEEDSCOPE_MEMBER_UNIT, &status, fault))
		profile->unit = unit_of(json);
	if (find_member(reader, profile, SPEEDSCOPE_MEMBER_NAME, &status, fault) &&
	    json->token == SONDE_JSON_STRING)
		status = sonde_intake_string(reader->intake, json->text, json->length,
					     &profile->name, fault);
	if (find_member(reader, profile, SPEEDSCOPE_MEMBER_START, &status, fault) &&
	    profile->unit < UNIT_BYTES &&
	    (json->token != SONDE_JSON_NUMBER ||
	     !speedscope_scaled(json->text, json->length, units[profile->unit].digits,
				&profile->start_ns)))
		reader->bad_times++;
	if (!status && reader->is_ours && profile->place->members[SPEEDSCOPE_MEMBER_OURS])
		status = take_profile_ours(reader, profile->place->members[SPEEDSCOPE_MEMBER_OURS],
					   profile, fault);
	return status;
}

static enum sonde_status find_track(struct speedscope_reader *reader,
				    const struct speedscope_profile *profile, uint64_t number,
				    uint32_t *track, struct sonde_error *err)
{
	enum sonde_status status;

	*track = profile->track;
	if (*track != SONDE_NONE)
		return SONDE_OK;
	status = sonde_intake_track(reader->intake, reader->processes.items[0], UINT64_MAX - number,
				    track, err);
	if (status)
		return status;
	sonde_intake_track_at(reader->intake, *track)->name = profile->name;
	sonde_intake_track_at(reader->intake, *track)->os_id = UINT64_MAX;
	return SONDE_OK;
}

static enum sonde_status read_contents(struct speedscope_reader *reader,
				       const struct speedscope_profile *profile, uint64_t number,
				       struct sonde_error *fault, struct sonde_error *err)
{
	struct passage passage = {
		.reader = reader,
		.profile = profile,
		.metric = SONDE_NONE,
		.start = profile->start_ns,
		.has_times = profile->unit < UNIT_BYTES && !profile->has_metric,
	};
	bool has_values = profile->has_metric || !passage.has_times ||
			  (profile->is_sampled && !reader->is_ours);
	enum sonde_status status = find_track(reader, profile, number, &passage.track, err);

	if (!status && has_values)
		status = find_metric(reader, profile, &passage.metric, err);
	if (!status && profile->is_sampled)
		status = read_samples(&passage, fault, err);
	else if (!status)
		status = read_events(&passage, fault, err);
	sonde_vec_release(&passage.stack);
	return status;
}

enum sonde_status speedscope_read_profile(struct speedscope_reader *reader, size_t number,
					  struct sonde_error *err)
{
	struct speedscope_profile profile = {
		.place = &reader->profiles.items[number],
		.track = SONDE_NONE,
		.unit = UNIT_NONE,
	};
	const size_t *members = profile.place->members;
	struct sonde_error fault = { 0 };
	enum sonde_status status = read_facts(reader, &profile, &fault);

	if (status)
		return speedscope_take_fault(reader, status, &fault, err);
	if (profile.is_sampled ?
		    !members[SPEEDSCOPE_MEMBER_SAMPLES] || !members[SPEEDSCOPE_MEMBER_WEIGHTS] :
		    !members[SPEEDSCOPE_MEMBER_EVENTS]) {
		EXCHANGE_FINDING(reader->recording, RECORD, profile.place->position,
				 "a profile with events, or with samples and weights\t%s",
				 "one without");
		return SONDE_OK;
	}
	reader->scan.passed = profile.place->position;
	status = read_contents(reader, &profile, number, &fault, err);
	return fault.status ? speedscope_take_fault(reader, status, &fault, err) : status;
}
