/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of a store's recording: a process for each app, environment and host, its methods as
 * functions, its lanes as tracks. Numbers follow the order of traces, whatever the threads did.
 */
#include "formats/zts/zts_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

struct group {
	uint32_t process;
	uint32_t name; /* string */
	uint32_t lanes;
};

struct defining {
	struct zts_scan *scan;
	struct sonde_definitions *definitions;
	struct sonde_arena texts;	   /* keys of the maps */
	struct sonde_text_map group_names; /* app, env and host -> group */
	struct sonde_text_map functions;   /* group, name and raw name -> function */
	SONDE_VEC(struct group) groups;
	SONDE_VEC(uint32_t) range_groups; /* of the range at hand: position in `groups` */
	SONDE_VEC(uint32_t) piece_groups; /* of all pieces */
	struct sonde_buffer name, raw, key;
	uint32_t clock;
};

/* Strings of definitions have no NUL. */
static enum sonde_status add_string(struct defining *defining, struct sonde_buffer *text,
				    uint32_t *id, struct sonde_error *err)
{
	if (text->failed)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < text->size; i++) {
		if (!text->data[i])
			text->data[i] = '?';
	}
	if (!text->size) {
		*id = 0;
		return SONDE_OK;
	}
	return sonde_definitions_add_string(defining->definitions, text->data, text->size, id, err);
}

static enum sonde_status add_text(struct defining *defining, const char *text, uint32_t *id,
				  struct sonde_error *err)
{
	return sonde_definitions_add_string(defining->definitions, text, strlen(text), id, err);
}

/* `value` is JSON. */
static enum sonde_status add_attribute(struct defining *defining, enum sonde_owner owner,
				       uint32_t owner_id, const char *name, const char *value,
				       struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = owner, .owner_id = owner_id };
	uint32_t id;
	enum sonde_status status = add_text(defining, name, &attribute.name, err);

	if (status == SONDE_OK)
		status = add_text(defining, value, &attribute.value, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_attribute(defining->definitions, &attribute, &id,
							 err);
	return status;
}

/* A text as JSON; nothing where it is empty. */
static enum sonde_status add_text_attribute(struct defining *defining, uint32_t process,
					    const char *name, const struct sonde_buffer *text,
					    struct sonde_error *err)
{
	struct sonde_buffer json = { 0 };
	struct sonde_json_writer writer;
	enum sonde_status status;
	const char *value;

	if (!text->size)
		return SONDE_OK;
	sonde_json_writer_init(&writer, &json, false);
	sonde_json_string_sized(&writer, text->data, text->size);
	value = sonde_buffer_text(&json);
	status = value ? add_attribute(defining, SONDE_OWNER_PROCESS, process, name, value, err) :
			 sonde_fail_nomem(err);
	sonde_buffer_release(&json);
	return status;
}

/*
 * What a number of a slot is called: a text in our stores, else a number of a registry elsewhere.
 */
static void put_slot_name(struct zts_part *part, const char *what, uint16_t number,
			  struct sonde_buffer *out)
{
	if (!number)
		return;
	if (part->has_names)
		zts_texts_put_name(part->texts, number, out);
	else
		sonde_buffer_put_format(out, "%s %u", what, number);
}

static enum sonde_status add_process(struct defining *defining, struct group *group,
				     const struct sonde_buffer *env,
				     const struct sonde_buffer *host, struct sonde_error *err)
{
	struct sonde_process process = { .os_id = SONDE_NONE, .clock = defining->clock };
	enum sonde_status status = add_string(defining, &defining->name, &group->name, err);

	process.name = group->name;
	if (status == SONDE_OK)
		status = sonde_definitions_add_process(defining->definitions, &process,
						       &group->process, err);
	if (status == SONDE_OK)
		status = add_text_attribute(defining, group->process, ZTS_ATTRIBUTE_ENV, env, err);
	if (status == SONDE_OK)
		status =
			add_text_attribute(defining, group->process, ZTS_ATTRIBUTE_HOST, host, err);
	return status;
}

/* Puts a key into one of the maps; it stays in the arena. */
static enum sonde_status add_key(struct defining *defining, struct sonde_text_map *map,
				 uint32_t value, struct sonde_error *err)
{
	const struct sonde_buffer *key = &defining->key;
	char *copy = sonde_arena_copy_text(&defining->texts, key->data, key->size);

	return copy && sonde_text_map_add(map, copy, key->size, value) ? SONDE_OK :
									 sonde_fail_nomem(err);
}

static enum sonde_status define_group(struct defining *defining, struct zts_part *part,
				      const struct zts_group_key *key, uint32_t *number,
				      struct sonde_error *err)
{
	struct sonde_buffer env = { 0 }, host = { 0 };
	struct group group = { 0 }, *made;
	enum sonde_status status = SONDE_OK;

	sonde_buffer_clear(&defining->name);
	if (key->service)
		zts_texts_put_name(part->texts, key->service, &defining->name);
	else
		put_slot_name(part, "app", key->app, &defining->name);
	put_slot_name(part, "env", key->env, &env);
	put_slot_name(part, "host", key->host, &host);
	sonde_buffer_clear(&defining->key);
	sonde_buffer_put(&defining->key, defining->name.data, defining->name.size);
	sonde_buffer_put_char(&defining->key, '\0');
	sonde_buffer_put(&defining->key, env.data, env.size);
	sonde_buffer_put_char(&defining->key, '\0');
	sonde_buffer_put(&defining->key, host.data, host.size);
	if (defining->key.failed || env.failed || host.failed)
		status = sonde_fail_nomem(err);
	else
		*number = sonde_text_map_find(&defining->group_names, defining->key.data,
					      defining->key.size);
	if (status == SONDE_OK && *number == UINT32_MAX) {
		*number = (uint32_t)defining->groups.count;
		status = add_process(defining, &group, &env, &host, err);
		made = status == SONDE_OK ? sonde_vec_push(&defining->groups) : NULL;
		if (made) {
			*made = group;
			status = add_key(defining, &defining->group_names, *number, err);
		} else if (status == SONDE_OK) {
			status = sonde_fail_nomem(err);
		}
	}
	sonde_buffer_release(&env);
	sonde_buffer_release(&host);
	return status;
}

/* The parts of a method of Java in its own spelling: "com.example.Main.run(I)V". */
static void put_raw_name(struct zts_texts *texts, uint32_t id, struct sonde_buffer *out)
{
	struct zts_typed_text typed;

	if (zts_texts_typed(texts, id, &typed, NULL) != SONDE_OK || typed.kind != ZTS_TEXT_METHOD ||
	    !typed.fields[0] || !typed.fields[2])
		return;
	zts_texts_put_name(texts, typed.fields[0], out);
	sonde_buffer_put_char(out, '.');
	zts_texts_put_name(texts, typed.fields[1], out);
	zts_texts_put_name(texts, typed.fields[2], out);
}

/* The name of a method in `name`, and in `raw` what it was made of. */
static enum sonde_status make_names(struct defining *defining, struct zts_part *part,
				    uint32_t group, uint32_t method, struct sonde_error *err)
{
	sonde_buffer_clear(&defining->name);
	sonde_buffer_clear(&defining->raw);
	sonde_buffer_clear(&defining->key);
	if (method)
		zts_texts_put_name(part->texts, method, &defining->name);
	put_raw_name(part->texts, method, &defining->raw);
	sonde_buffer_put(&defining->key, &group, sizeof(group));
	sonde_buffer_put(&defining->key, defining->name.data, defining->name.size);
	sonde_buffer_put_char(&defining->key, '\0');
	sonde_buffer_put(&defining->key, defining->raw.data, defining->raw.size);
	return defining->key.failed || defining->name.failed || defining->raw.failed ?
		       sonde_fail_nomem(err) :
		       SONDE_OK;
}

static enum sonde_status add_function(struct defining *defining, uint32_t group, uint32_t *id,
				      struct sonde_error *err)
{
	struct sonde_function function = {
		.process = defining->groups.items[group].process,
		.module = SONDE_NONE,
	};
	enum sonde_status status = add_string(defining, &defining->name, &function.name, err);

	if (status == SONDE_OK)
		status = add_string(defining, &defining->raw, &function.raw_name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_function(defining->definitions, &function, id, err);
	return status == SONDE_OK ? add_key(defining, &defining->functions, *id, err) : status;
}

static enum sonde_status define_method(struct defining *defining, struct zts_reading *reading,
				       uint32_t group, uint32_t method, struct sonde_error *err)
{
	uint64_t key = (uint64_t)group << 32 | method;
	enum sonde_status status;
	uint32_t id;

	if (sonde_key_map_find(&reading->functions, key) != UINT32_MAX)
		return SONDE_OK;
	status = make_names(defining, reading->part, group, method, err);
	if (status < 0)
		return status;
	id = sonde_text_map_find(&defining->functions, defining->key.data, defining->key.size);
	if (id == UINT32_MAX)
		status = add_function(defining, group, &id, err);
	if (status == SONDE_OK && !sonde_key_map_add(&reading->functions, key, id))
		status = sonde_fail_nomem(err);
	return status;
}

/* All pieces of a range, with groups of the whole recording. */
static enum sonde_status take_pieces(struct defining *defining, struct zts_range *range,
				     struct sonde_error *err)
{
	struct zts_recording *data = defining->scan->data;
	size_t count = range->pieces.count;

	if (!count)
		return SONDE_OK;
	if (!sonde_vec_reserve(&data->pieces, count) ||
	    !sonde_vec_reserve(&defining->piece_groups, count))
		return sonde_fail_nomem(err);
	memcpy(data->pieces.items + data->pieces.count, range->pieces.items,
	       count * sizeof(*range->pieces.items));
	data->pieces.count += count;
	for (size_t i = 0; i < count; i++) {
		uint32_t group = range->piece_groups.items[i];

		defining->piece_groups.items[defining->piece_groups.count++] =
			defining->range_groups.items[group];
	}
	sonde_vec_release(&range->pieces);
	sonde_vec_release(&range->piece_groups);
	return SONDE_OK;
}

static enum sonde_status take_range(struct defining *defining, struct zts_range *range,
				    struct sonde_error *err)
{
	struct zts_reading *reading = &defining->scan->data->parts[range->part];
	enum sonde_status status = SONDE_OK;

	if (range->findings)
		sonde_diagnostics_append(defining->scan->recording->diagnostics, range->findings);
	defining->range_groups.count = 0;
	for (size_t i = 0; i < range->groups.count && status == SONDE_OK; i++) {
		uint32_t *group = sonde_vec_push(&defining->range_groups);

		if (!group)
			return sonde_fail_nomem(err);
		status = define_group(defining, reading->part, &range->groups.items[i], group, err);
	}
	for (size_t i = 0; i < range->methods.count && status == SONDE_OK; i++) {
		uint64_t method = range->methods.items[i];

		status = define_method(defining, reading,
				       defining->range_groups.items[method >> 32], (uint32_t)method,
				       err);
	}
	return status == SONDE_OK ? take_pieces(defining, range, err) : status;
}

static enum sonde_status add_track(struct defining *defining, const struct zts_lane *lane,
				   struct sonde_error *err)
{
	const struct zts_recording *data = defining->scan->data;
	struct group *group = &defining->groups.items[lane->group];
	struct sonde_track track = {
		.process = group->process,
		.slot = group->lanes,
		.os_id = UINT64_MAX,
		.kind = SONDE_TRACK_THREAD,
		.name_made_up = true,
		.event_count = lane->events,
		.detail_count = lane->details,
		.time_first_ns = data->pieces.items[lane->first_piece].start_ns,
		.time_last_ns = lane->end_ns,
	};
	const char *app = sonde_definitions_string(defining->definitions, group->name);
	enum sonde_status status;
	uint32_t id;

	sonde_buffer_clear(&defining->name);
	sonde_buffer_put_format(&defining->name, "%s%slane %" PRIu32, app, *app ? " " : "",
				++group->lanes);
	status = add_string(defining, &defining->name, &track.name, err);
	return status == SONDE_OK ?
		       sonde_definitions_add_track(defining->definitions, &track, &id, err) :
		       status;
}

static enum sonde_status add_event_type(struct defining *defining, const char *name,
					const char *signature, uint32_t *id,
					struct sonde_error *err)
{
	struct sonde_event_type type = { 0 };
	enum sonde_status status = add_text(defining, name, &type.name, err);

	if (status == SONDE_OK)
		status = add_text(defining, signature, &type.arguments, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_event_type(defining->definitions, &type, id, err);
	return status;
}

static enum sonde_status add_fixed(struct defining *defining, struct sonde_error *err)
{
	struct zts_recording *data = defining->scan->data;
	struct sonde_clock clock = { .kind = SONDE_CLOCK_REALTIME };
	const struct zts_base *base = data->base;
	unsigned int generation = 0;
	char number[24];
	enum sonde_status status = add_text(defining, "realtime", &clock.name, err);

	for (size_t i = 0; i < base->parts.count; i++) {
		if (base->parts.items[i]->generation > generation)
			generation = base->parts.items[i]->generation;
	}
	if (status == SONDE_OK)
		status = sonde_definitions_add_clock(defining->definitions, &clock,
						     &defining->clock, err);
	if (status == SONDE_OK)
		status = add_event_type(defining, ZTS_CALL_TYPE, ZTS_CALL_SIGNATURE,
					&data->call_type, err);
	if (status == SONDE_OK)
		status = add_event_type(defining, ZTS_EXCEPTION_TYPE, ZTS_EXCEPTION_SIGNATURE,
					&data->exception_type, err);
	snprintf(number, sizeof(number), "%u", generation);
	if (status == SONDE_OK)
		status = add_attribute(defining, SONDE_OWNER_RECORDING, 0, ZTS_ATTRIBUTE_GENERATION,
				       number, err);
	snprintf(number, sizeof(number), "%zu", base->parts.count);
	if (status == SONDE_OK)
		status = add_attribute(defining, SONDE_OWNER_RECORDING, 0, ZTS_ATTRIBUTE_PARTS,
				       number, err);
	return status;
}

/* Times are those of the wall clock already. */
static enum sonde_status add_anchor(struct defining *defining, struct sonde_error *err)
{
	const struct zts_recording *data = defining->scan->data;
	struct sonde_anchor anchor = { .clock = defining->clock, .clock_ns = UINT64_MAX };
	uint32_t id;

	for (size_t i = 0; i < data->lanes.count; i++) {
		uint64_t start = data->pieces.items[data->lanes.items[i].first_piece].start_ns;

		if (start < anchor.clock_ns)
			anchor.clock_ns = start;
	}
	if (anchor.clock_ns == UINT64_MAX)
		return SONDE_OK;
	anchor.realtime_ns = anchor.clock_ns;
	return sonde_definitions_add_anchor(defining->definitions, &anchor, &id, err);
}

enum sonde_status zts_define(struct zts_scan *scan, struct sonde_error *err)
{
	struct zts_recording *data = scan->data;
	struct defining defining = {
		.scan = scan,
		.definitions = scan->recording->definitions,
	};
	enum sonde_status status = add_fixed(&defining, err);

	for (size_t i = 0; i < scan->ranges.count && status == SONDE_OK; i++)
		status = take_range(&defining, &scan->ranges.items[i], err);
	if (status == SONDE_OK && !defining.groups.count) {
		static const struct zts_group_key none;
		uint32_t group;

		/* a recording has a process, if only an empty one */
		status = define_group(&defining, NULL, &none, &group, err);
	}
	if (status == SONDE_OK)
		status = zts_lay_out(data, defining.piece_groups.items, err);
	for (size_t i = 0; i < data->lanes.count && status == SONDE_OK; i++)
		status = add_track(&defining, &data->lanes.items[i], err);
	if (status == SONDE_OK)
		status = add_anchor(&defining, err);
	for (size_t i = 0; i < data->base->parts.count && status == SONDE_OK; i++) {
		if (zts_texts_failed(data->base->parts.items[i]->texts))
			status = sonde_fail_nomem(err);
	}
	scan->recording->lanes = SONDE_LANE_EVENTS;
	if (data->pieces.count)
		scan->recording->lanes |= SONDE_LANE_DETAILS;
	sonde_vec_release(&defining.groups);
	sonde_vec_release(&defining.range_groups);
	sonde_vec_release(&defining.piece_groups);
	sonde_buffer_release(&defining.name);
	sonde_buffer_release(&defining.raw);
	sonde_buffer_release(&defining.key);
	sonde_text_map_release(&defining.group_names);
	sonde_text_map_release(&defining.functions);
	sonde_arena_release(&defining.texts);
	return status;
}
