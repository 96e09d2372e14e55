/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of structure, carried out: definitions of event types become plans, event types and
 * functions; zones are found by name, type and location.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff_arguments.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_ours.h"
#include "formats/cff/cff_scan.h"

uint32_t cff_meanings_find_many(const struct cff_meanings *meanings, uint32_t list,
				uint32_t sequence)
{
	const struct cff_meaning *items = meanings->lists.items[list].items.items;
	size_t low = 0, high = meanings->lists.items[list].items.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].since <= sequence)
			low = middle;
		else
			high = middle;
	}
	return items[low].value;
}

static bool meanings_append(struct cff_meanings *meanings, uint32_t list, uint32_t since,
			    uint32_t value)
{
	struct cff_meaning *item = sonde_vec_push(&meanings->lists.items[list].items);

	if (!item)
		return false;
	*item = (struct cff_meaning){ since, value };
	return true;
}

/* From now on `id` means `value`. */
static bool meanings_set(struct cff_meanings *meanings, uint32_t id, uint32_t since, uint32_t value)
{
	struct cff_meaning_list *list;
	uint32_t *place;

	while (meanings->ids.count <= id) {
		place = sonde_vec_push(&meanings->ids);
		if (!place)
			return false;
		*place = SONDE_NONE;
	}
	place = &meanings->ids.items[id];
	if (cff_meanings_find(meanings, id, UINT32_MAX) == value)
		return true;
	if (*place == SONDE_NONE) {
		*place = value;
		return true;
	}
	if (!(*place & CFF_MEANINGS_MANY)) {
		uint32_t number = (uint32_t)meanings->lists.count;

		list = sonde_vec_push(&meanings->lists);
		if (!list)
			return false;
		*list = (struct cff_meaning_list){ 0 };
		if (!meanings_append(meanings, number, 0, *place))
			return false;
		*place = number | CFF_MEANINGS_MANY;
	}
	return meanings_append(meanings, *place & ~CFF_MEANINGS_MANY, since, value);
}

static void meanings_release(struct cff_meanings *meanings)
{
	for (size_t i = 0; i < meanings->lists.count; i++)
		sonde_vec_release(&meanings->lists.items[i].items);
	sonde_vec_release(&meanings->lists);
	sonde_vec_release(&meanings->ids);
}

enum sonde_status cff_scan_add_function(struct cff_scan *scan, const char *name, size_t length,
					uint32_t *function, struct sonde_error *err)
{
	struct sonde_function value = { .module = SONDE_NONE };
	enum sonde_status status;

	*function = sonde_text_map_find(&scan->functions, name, length);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_string(scan->definitions, name, length, &value.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_function(scan->definitions, &value, function, err);
	if (status == SONDE_OK && !sonde_text_map_add(&scan->functions, name, length, *function))
		status = sonde_fail_nomem(err);
	return status;
}

/* Arguments that a builtin must begin with to be carried out: n a number, t a text. */
static const char *const builtin_shapes[CFF_USER] = {
	[CFF_DEFINE] = "nnntt",	    [CFF_ZONE_CREATE] = "nttt", [CFF_ZONE_SET] = "n",
	[CFF_SCOPE_ENTER] = "t",    [CFF_FLOW_BRANCH] = "n",	[CFF_FLOW_EXTEND] = "n",
	[CFF_FLOW_TERMINATE] = "n", [CFF_RANGE_BEGIN] = "n",	[CFF_RANGE_END] = "n",
	[CFF_FRAME_START] = "n",    [CFF_FRAME_END] = "n",
};

static bool has_shape(const struct cff_type *type, const char *shape)
{
	for (size_t i = 0; shape && shape[i]; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);

		if (!spec || spec->is_array ||
		    sonde_argument_type_is_text(spec->type) != (shape[i] == 't') ||
		    spec->type == SONDE_ARGUMENT_FLOAT32)
			return false;
	}
	return true;
}

static bool is_counter(const struct cff_type *type)
{
	return !strncmp(type->name, CFF_COUNTER_PREFIX, sizeof(CFF_COUNTER_PREFIX) - 1) &&
	       type->class == CFF_CLASS_INSTANCE && type->field_count == 1 &&
	       !type->fields[0].is_array && !sonde_argument_type_is_text(type->fields[0].type);
}

static void plan_builtin(struct cff_plan *plan, enum cff_builtin builtin)
{
	static const struct {
		uint8_t step, kind;
	} steps[CFF_USER] = {
		[CFF_DEFINE] = { CFF_STEP_DEFINE, 0 },
		[CFF_DISCONTINUITY] = { CFF_STEP_EVENT, SONDE_EVENT_INSTANT },
		[CFF_ZONE_CREATE] = { CFF_STEP_ZONE_CREATE, 0 },
		[CFF_ZONE_DELETE] = { CFF_STEP_SKIP, 0 },
		[CFF_ZONE_SET] = { CFF_STEP_ZONE_SET, 0 },
		[CFF_SCOPE_ENTER] = { CFF_STEP_CALL_NAMED, SONDE_EVENT_CALL },
		[CFF_SCOPE_ENTER_TRACING] = { CFF_STEP_CALL, SONDE_EVENT_CALL },
		[CFF_SCOPE_LEAVE] = { CFF_STEP_LEAVE, SONDE_EVENT_RETURN },
		[CFF_SCOPE_APPEND] = { CFF_STEP_EVENT, SONDE_EVENT_INSTANT },
		[CFF_FLOW_BRANCH] = { CFF_STEP_EXTRA, SONDE_EVENT_FLOW_BEGIN },
		[CFF_FLOW_EXTEND] = { CFF_STEP_EXTRA, SONDE_EVENT_FLOW_STEP },
		[CFF_FLOW_TERMINATE] = { CFF_STEP_EXTRA, SONDE_EVENT_FLOW_END },
		[CFF_FLOW_APPEND] = { CFF_STEP_EVENT, SONDE_EVENT_INSTANT },
		[CFF_MARK] = { CFF_STEP_EVENT, SONDE_EVENT_MARK },
		[CFF_TIME_STAMP] = { CFF_STEP_EVENT, SONDE_EVENT_INSTANT },
		[CFF_RANGE_BEGIN] = { CFF_STEP_EXTRA, SONDE_EVENT_RANGE_BEGIN },
		[CFF_RANGE_END] = { CFF_STEP_EXTRA, SONDE_EVENT_RANGE_END },
		[CFF_FRAME_START] = { CFF_STEP_EXTRA, SONDE_EVENT_RANGE_BEGIN },
		[CFF_FRAME_END] = { CFF_STEP_EXTRA, SONDE_EVENT_RANGE_END },
	};

	plan->step = steps[builtin].step;
	plan->kind = steps[builtin].kind;
}

static void plan_user(const struct cff_scan *scan, struct cff_plan *plan)
{
	const struct cff_type *type = plan->type;

	if (type->class == CFF_CLASS_SCOPE) {
		bool is_numbered = scan->ours && !strcmp(type->name, CFF_NUMBERED_CALL) &&
				   has_shape(type, "nt");

		plan->step = is_numbered ? CFF_STEP_CALL_NUMBERED : CFF_STEP_CALL;
		plan->kind = SONDE_EVENT_CALL;
	} else if (is_counter(type)) {
		plan->step = CFF_STEP_COUNTER;
		plan->kind = SONDE_EVENT_COUNTER;
	} else if (scan->is_ours && !strcmp(type->name, CFF_MARKER_EXCEPTION)) {
		plan->step = CFF_STEP_EXCEPTION;
	} else if (scan->is_ours && !strcmp(type->name, CFF_MARKER_EXACT) &&
		   has_shape(type, "nnnn")) {
		plan->step = CFF_STEP_EXACT;
	}
}

enum sonde_status cff_scan_add_event_type(struct cff_scan *scan, const struct cff_type *type,
					  struct sonde_error *err)
{
	uint32_t *id = &scan->plans.items[type->number].event_type;
	struct sonde_event_type value = {
		.flags = type->flags,
		.is_scope = type->class == CFF_CLASS_SCOPE,
	};
	enum sonde_status status = sonde_definitions_add_string(
		scan->definitions, type->name, strlen(type->name), &value.name, err);

	if (status == SONDE_OK)
		status = sonde_definitions_add_string(scan->definitions, type->model_arguments,
						      strlen(type->model_arguments),
						      &value.arguments, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_event_type(scan->definitions, &value, id, err);
	return status;
}

/*
 * Whether events of a type are of it in the model too: calls and returns are of functions, and of an
 * event type only for their arguments.
 */
static bool needs_event_type(const struct cff_plan *plan)
{
	if (plan->kind == SONDE_EVENT_CALL || plan->step == CFF_STEP_LEAVE)
		return plan->has_detail;
	return plan->step < CFF_STEP_DEFINE;
}

/* Event type and function of a plan: those that our definitions name, or new ones. */
static enum sonde_status name_plan(struct cff_scan *scan, struct cff_plan *plan,
				   struct sonde_error *err)
{
	const struct cff_type *type = plan->type;
	uint32_t function = SONDE_NONE;
	enum sonde_status status = SONDE_OK;

	plan->event_type = SONDE_NONE;
	if (scan->ours)
		cff_ours_find(scan->ours, type->name, type->model_arguments, &function,
			      &plan->event_type);
	if (plan->event_type == SONDE_NONE && needs_event_type(plan))
		status = cff_scan_add_event_type(scan, type, err);
	if (plan->kind == SONDE_EVENT_CALL) {
		if (status == SONDE_OK && function == SONDE_NONE)
			status = cff_scan_add_function(scan, type->name, strlen(type->name),
						       &function, err);
		plan->function = function;
	} else {
		plan->function = plan->event_type;
	}
	return status;
}

/* A type that was defined by `event`; NULL: by the format. */
static enum sonde_status add_plan(struct cff_scan *scan, const struct cff_type *type,
				  const uint8_t *event, struct sonde_error *err)
{
	struct cff_plan *plan = sonde_vec_push(&scan->plans);
	bool is_builtin = type->builtin != CFF_USER;

	if (!plan)
		return sonde_fail_nomem(err);
	*plan = (struct cff_plan){
		.type = type,
		.size = type->fixed_size,
		.step = CFF_STEP_EVENT,
		.kind = SONDE_EVENT_INSTANT,
	};
	if (event && is_builtin && !has_shape(type, builtin_shapes[type->builtin])) {
		CFF_FIND(scan->findings, BUILTIN, scan->image->path, cff_scan_offset(scan, event),
			 "chunk %" PRIu32 " part %" PRIu32 ": %s as the format has it\t%s(%.100s)",
			 scan->chunk, scan->buffers.items[scan->chunk].part, type->name, type->name,
			 type->arguments);
		is_builtin = false;
	}
	if (is_builtin)
		plan_builtin(plan, type->builtin);
	else
		plan_user(scan, plan);
	plan->has_detail = plan->step < CFF_STEP_DEFINE && plan->step != CFF_STEP_COUNTER &&
			   plan->step != CFF_STEP_CALL_NUMBERED && type->field_count;
	return name_plan(scan, plan, err);
}

enum sonde_status cff_scan_define(struct cff_scan *scan, const uint8_t *event,
				  struct sonde_error *err)
{
	uint32_t wire = sonde_load_u16le(event + CFF_EVENT_SIZE);
	const struct cff_type *type;
	struct sonde_error failure;
	enum cff_defined defined;
	enum sonde_status status =
		cff_types_define_event(&scan->types, event, &scan->strings, &defined, &failure);

	if (status < 0 && status != SONDE_CORRUPT) {
		if (err)
			*err = failure;
		return status;
	}
	if (status == SONDE_CORRUPT)
		CFF_FIND(scan->findings, DEFINE, scan->image->path, cff_scan_offset(scan, event),
			 "chunk %" PRIu32 " part %" PRIu32
			 ": a name, and arguments of known types\t%s",
			 scan->chunk, scan->buffers.items[scan->chunk].part, failure.message);
	type = cff_types_find(&scan->types, wire);
	if (status == SONDE_OK && defined == CFF_DEFINED_OTHERS)
		CFF_FIND(scan->findings, DEFINE_OTHERS, scan->image->path,
			 cff_scan_offset(scan, event),
			 "chunk %" PRIu32 " part %" PRIu32
			 ": %.100s(%.200s) as before\tother arguments or another class",
			 scan->chunk, scan->buffers.items[scan->chunk].part, type->name,
			 type->arguments);
	if (scan->visitor && scan->visitor->misdefined &&
	    (!type || (status == SONDE_OK && defined == CFF_DEFINED_OTHERS))) {
		status = scan->visitor->misdefined(scan->visitor, scan, event, type, err);
		if (status < 0)
			return status;
	}
	if (type && type->number == scan->plans.count) {
		status = add_plan(scan, type, event, err);
		if (status < 0)
			return status;
	}
	scan->sequence++;
	if (!meanings_set(&scan->wires, wire, scan->sequence, type ? type->number : SONDE_NONE))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum sonde_status cff_scan_add_zone(struct cff_scan *scan, struct sonde_error *err)
{
	struct cff_zone *zone = calloc(1, sizeof(*zone));
	struct cff_zone **place = zone ? sonde_vec_push(&scan->zones) : NULL;

	if (!place) {
		free(zone);
		return sonde_fail_nomem(err);
	}
	zone->name = zone->type = zone->location = "";
	zone->segment = UINT64_MAX;
	zone->stack.node = SONDE_NONE;
	*place = zone;
	return SONDE_OK;
}

/* name, type and location, each with its NUL, in scan->key. */
static enum sonde_status make_zone_key(struct cff_scan *scan, const uint8_t *event,
				       struct sonde_error *err)
{
	sonde_buffer_clear(&scan->key);
	for (size_t i = 1; i <= 3; i++) {
		const char *text;
		size_t length;
		enum sonde_status status = cff_strings_get(
			&scan->strings, sonde_load_u32le(event + CFF_EVENT_SIZE + 4 * i), &text,
			&length, err);

		if (status < 0)
			return status;
		sonde_buffer_put(&scan->key, text ? text : "",
				 length < CFF_NAME_LIMIT ? length : CFF_NAME_LIMIT);
		sonde_buffer_put_char(&scan->key, '\0');
	}
	return scan->key.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

static enum sonde_status name_zone(struct cff_scan *scan, uint32_t number, struct sonde_error *err)
{
	struct cff_zone *zone = scan->zones.items[number];
	char *copy = sonde_arena_copy_text(&scan->texts, scan->key.data, scan->key.size);

	if (!copy || !sonde_text_map_add(&scan->zones_by_key, copy, scan->key.size, number))
		return sonde_fail_nomem(err);
	zone->name = copy;
	zone->type = copy + strlen(copy) + 1;
	zone->location = zone->type + strlen(zone->type) + 1;
	return SONDE_OK;
}

enum sonde_status cff_scan_create_zone(struct cff_scan *scan, const uint8_t *event,
				       struct sonde_error *err)
{
	uint32_t id = sonde_load_u16le(event + CFF_EVENT_SIZE), number;
	enum sonde_status status = make_zone_key(scan, event, err);

	if (status < 0)
		return status;
	number = sonde_text_map_find(&scan->zones_by_key, scan->key.data, scan->key.size);
	if (number == SONDE_NONE) {
		/* the first zone takes over the one of events before any */
		bool takes_over = scan->zones.count == 1 && !scan->zones_by_key.used;

		if (!takes_over)
			status = cff_scan_add_zone(scan, err);
		number = (uint32_t)scan->zones.count - 1;
		if (status == SONDE_OK)
			status = name_zone(scan, number, err);
	}
	scan->sequence++;
	if (status == SONDE_OK && !meanings_set(&scan->zone_ids, id, scan->sequence, number))
		status = sonde_fail_nomem(err);
	return status;
}

/* Functions that our definitions named are found by their names too. */
static enum sonde_status take_functions(struct cff_scan *scan, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_function_count(scan->definitions);

	for (uint32_t i = 0; i < count; i++) {
		const char *name = sonde_definitions_string(
			scan->definitions, sonde_definitions_function(scan->definitions, i)->name);
		size_t length = strlen(name);

		if (sonde_text_map_find(&scan->functions, name, length) == SONDE_NONE &&
		    !sonde_text_map_add(&scan->functions, name, length, i))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

enum sonde_status cff_scan_init(struct cff_scan *scan, struct sonde_error *err)
{
	enum sonde_status status = cff_types_init(&scan->types, err);

	if (status == SONDE_OK)
		status = take_functions(scan, err);

	scan->leave_function = SONDE_NONE;
	if (status == SONDE_OK)
		status = add_plan(scan, scan->types.all.items[0], NULL, err);
	if (status == SONDE_OK && !meanings_set(&scan->wires, CFF_WIRE_DEFINE, 0, 0))
		status = sonde_fail_nomem(err);
	return status;
}

void cff_scan_release(struct cff_scan *scan)
{
	for (size_t i = 0; i < scan->zones.count; i++) {
		sonde_vec_release(&scan->zones.items[i]->pieces);
		sonde_vec_release(&scan->zones.items[i]->stack.frames);
		free(scan->zones.items[i]);
	}
	sonde_vec_release(&scan->zones);
	sonde_vec_release(&scan->plans);
	sonde_vec_release(&scan->passes);
	sonde_vec_release(&scan->nodes);
	sonde_vec_release(&scan->buffers);
	sonde_vec_release(&scan->blobs);
	sonde_vec_release(&scan->actions);
	sonde_vec_release(&scan->named.functions);
	sonde_text_map_release(&scan->functions);
	sonde_text_map_release(&scan->zones_by_key);
	sonde_buffer_release(&scan->key);
	sonde_arena_release(&scan->texts);
	cff_strings_release(&scan->strings);
	meanings_release(&scan->wires);
	meanings_release(&scan->zone_ids);
	cff_types_release(&scan->types);
	cff_ours_free(scan->ours);
}
