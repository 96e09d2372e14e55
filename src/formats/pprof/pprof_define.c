/* SPDX-License-Identifier: Apache-2.0 */
/* What a pprof profile says, in the words of the model: metrics, modules, functions, contexts. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "formats/pprof/pprof_layout.h"
#include "formats/pprof/pprof_read.h"
#include "model/call_tree.h"

#define NS_PER_SECOND 1e9

static bool is_text(const char *text, size_t size, const char *wanted)
{
	return strlen(wanted) == size && !memcmp(text, wanted, size);
}

static double seconds_of(const char *unit, size_t size)
{
	static const struct {
		const char *unit;
		double in_second;
	} units[] = {
		{ PPROF_NANOSECONDS, NS_PER_SECOND },
		{ "nanosecond", NS_PER_SECOND },
		{ "ns", NS_PER_SECOND },
		{ "microseconds", 1e6 },
		{ "microsecond", 1e6 },
		{ "us", 1e6 },
		{ "milliseconds", 1e3 },
		{ "millisecond", 1e3 },
		{ "ms", 1e3 },
		{ "seconds", 1 },
		{ "second", 1 },
		{ "s", 1 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (is_text(unit, size, units[i].unit))
			return units[i].in_second;
	}
	return 0;
}

/* "cpu" in nanoseconds is "cpu (sec)"; what sonde wrote gets its own name again. */
static void put_metric_name(struct sonde_buffer *out, const char *type, size_t type_size,
			    const char *unit, size_t unit_size)
{
	bool is_time = seconds_of(unit, unit_size) > 0;
	bool is_count = !unit_size || is_text(unit, unit_size, PPROF_COUNT);

	if (is_time && is_text(type, type_size, PPROF_TIME)) {
		sonde_buffer_put_text(out, SONDE_METRIC_TIME);
		return;
	}
	if (is_count && is_text(type, type_size, PPROF_CALLS)) {
		sonde_buffer_put_text(out, SONDE_METRIC_CALLS);
		return;
	}
	sonde_buffer_put(out, type, type_size);
	if (!type_size)
		sonde_buffer_put_text(out, "value");
	if (is_count)
		return;
	sonde_buffer_put_text(out, " (");
	if (is_time)
		sonde_buffer_put_text(out, "sec");
	else
		sonde_buffer_put(out, unit, unit_size);
	sonde_buffer_put_char(out, ')');
}

static enum sonde_status define_metric(struct pprof_reading *reading, struct pprof_value_type *type,
				       struct sonde_error *err)
{
	struct sonde_definitions *definitions = reading->recording->definitions;
	struct sonde_metric metric = { 0 };
	struct sonde_buffer name = { 0 };
	size_t type_size, unit_size;
	const char *type_text = pprof_text(reading, type->type, &type_size);
	const char *unit = pprof_text(reading, type->unit, &unit_size);
	enum sonde_status status;

	type->scale = seconds_of(unit, unit_size);
	put_metric_name(&name, type_text, type_size, unit, unit_size);
	if (name.failed)
		status = sonde_fail_nomem(err);
	else
		status = sonde_intake_string(reading->intake, name.data, name.size, &metric.name,
					     err);
	sonde_buffer_release(&name);
	if (!status && !(type->scale > 0) && !is_text(unit, unit_size, PPROF_COUNT))
		status = sonde_intake_string(reading->intake, unit, unit_size, &metric.unit, err);
	if (!status)
		status = sonde_definitions_add_string(definitions, "point", 5, &metric.scope, err);
	if (!(type->scale > 0))
		type->scale = 1;
	return status ? status :
			sonde_definitions_add_metric(definitions, &metric, &type->metric, err);
}

/* The one to show first: the file says which, else it is the last of them. */
static size_t first_type(struct pprof_reading *reading)
{
	size_t wanted_size, size;
	const char *wanted = pprof_text(reading, reading->default_type, &wanted_size);

	for (size_t i = 0; i < reading->types.count; i++) {
		const char *type = pprof_text(reading, reading->types.items[i].type, &size);

		if (reading->default_type && size == wanted_size && !memcmp(type, wanted, size))
			return i;
	}
	return reading->types.count - 1;
}

static enum sonde_status define_metrics(struct pprof_reading *reading, struct sonde_error *err)
{
	size_t count = reading->types.count, first;
	enum sonde_status status;

	if (!count)
		return SONDE_OK;
	first = first_type(reading);
	status = define_metric(reading, &reading->types.items[first], err);
	for (size_t i = 0; i < count && !status; i++) {
		if (i != first)
			status = define_metric(reading, &reading->types.items[i], err);
	}
	return status;
}

static enum sonde_status define_modules(struct pprof_reading *reading, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < reading->mappings.count && !status; i++) {
		struct pprof_mapping *mapping = &reading->mappings.items[i];
		struct sonde_module module = {
			.base_address = mapping->start,
			.size = mapping->limit > mapping->start ? mapping->limit - mapping->start :
								  0,
		};
		size_t size;
		const char *text = pprof_text(reading, mapping->file, &size);

		status = sonde_intake_string(reading->intake, text, size, &module.path, err);
		text = pprof_text(reading, mapping->build_id, &size);
		if (!status)
			status =
				sonde_intake_string(reading->intake, text, size, &module.uuid, err);
		if (!status)
			status = sonde_definitions_add_module(reading->recording->definitions,
							      &module, &mapping->module, err);
	}
	return status;
}

static enum sonde_status add_attribute(struct pprof_reading *reading, const char *name,
				       struct sonde_buffer *json, struct sonde_error *err)
{
	struct sonde_definitions *definitions = reading->recording->definitions;
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	enum sonde_status status;
	uint32_t id;

	if (json->failed)
		return sonde_fail_nomem(err);
	status =
		sonde_definitions_add_string(definitions, name, strlen(name), &attribute.name, err);
	if (!status)
		status = sonde_definitions_add_string(definitions, json->data, json->size,
						      &attribute.value, err);
	return status ? status : sonde_definitions_add_attribute(definitions, &attribute, &id, err);
}

static void put_json_text(struct pprof_reading *reading, struct sonde_json_writer *json,
			  uint64_t number)
{
	size_t size;
	const char *text = pprof_text(reading, number, &size);

	sonde_json_string_sized(json, text, size);
}

/* Which frames the file asks viewers to leave out: sonde shows all, and keeps that it was asked. */
static enum sonde_status keep_patterns(struct pprof_reading *reading, struct sonde_error *err)
{
	const struct {
		const char *name;
		uint64_t text;
	} patterns[] = {
		{ "pprof.drop_frames", reading->drop_frames },
		{ "pprof.keep_frames", reading->keep_frames },
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && !status; i++) {
		struct sonde_buffer text = { 0 };
		struct sonde_json_writer json;

		if (!patterns[i].text)
			continue;
		sonde_json_writer_init(&json, &text, 0);
		put_json_text(reading, &json, patterns[i].text);
		status = add_attribute(reading, patterns[i].name, &text, err);
		sonde_buffer_release(&text);
	}
	return status;
}

static enum sonde_status keep_comments(struct pprof_reading *reading, struct sonde_error *err)
{
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	enum sonde_status status = SONDE_OK;
	size_t kept = 0;

	sonde_json_writer_init(&json, &text, 0);
	sonde_json_array_begin(&json);
	for (size_t i = 0; i < reading->comments.count; i++) {
		size_t size, own = strlen(PPROF_WRITTEN_BY);
		const char *comment = pprof_text(reading, reading->comments.items[i], &size);

		if (size >= own && !memcmp(comment, PPROF_WRITTEN_BY, own))
			continue;
		put_json_text(reading, &json, reading->comments.items[i]);
		kept++;
	}
	sonde_json_array_end(&json);
	if (kept)
		status = add_attribute(reading, "pprof.comments", &text, err);
	sonde_buffer_release(&text);
	return status;
}

static enum sonde_status keep_period(struct pprof_reading *reading, struct sonde_error *err)
{
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	enum sonde_status status;

	if (!reading->period)
		return SONDE_OK;
	sonde_json_writer_init(&json, &text, 0);
	sonde_json_object_begin(&json);
	sonde_json_key(&json, "type");
	put_json_text(reading, &json, reading->period_type.type);
	sonde_json_key(&json, "unit");
	put_json_text(reading, &json, reading->period_type.unit);
	sonde_json_key(&json, "period");
	sonde_json_number_u64(&json, reading->period);
	sonde_json_object_end(&json);
	status = add_attribute(reading, "pprof.period", &text, err);
	sonde_buffer_release(&text);
	return status;
}

enum sonde_status pprof_define(struct pprof_reading *reading, struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_REALTIME };
	uint32_t id;
	enum sonde_status status =
		sonde_definitions_add_clock(reading->recording->definitions, &clock, &id, err);

	if (!status)
		status = define_metrics(reading, err);
	if (!status)
		status = define_modules(reading, err);
	if (!status)
		status = keep_patterns(reading, err);
	if (!status)
		status = keep_comments(reading, err);
	return status ? status : keep_period(reading, err);
}

static const struct pprof_mapping *mapping_of(const struct pprof_reading *reading,
					      const struct pprof_read_location *location)
{
	uint32_t place = location->mapping ?
				 sonde_key_map_find(&reading->mapping_ids, location->mapping) :
				 SONDE_NONE;

	return place == SONDE_NONE ? NULL : &reading->mappings.items[place];
}

static uint32_t small_line(int64_t line)
{
	return line > 0 && line < SONDE_NONE ? (uint32_t)line : 0;
}

/* SONDE_NONE stays for one that is not in the file. */
static enum sonde_status find_function(struct pprof_reading *reading, uint64_t id, uint32_t module,
				       struct sonde_context *context, struct sonde_error *err)
{
	uint32_t place = sonde_key_map_find(&reading->function_ids, id);
	struct sonde_function like = { .module = module };
	const struct pprof_function *function;
	const char *name, *raw, *file;
	size_t size, raw_size, file_size;
	enum sonde_status status;

	if (place == SONDE_NONE) {
		reading->trouble.unknown_functions++;
		return SONDE_OK;
	}
	function = &reading->functions.items[place];
	name = pprof_text(reading, function->name, &size);
	raw = pprof_text(reading, function->system_name, &raw_size);
	file = pprof_text(reading, function->file, &file_size);
	if (!size) {
		name = raw;
		size = raw_size;
	}
	like.line = small_line(function->line);
	status = sonde_intake_string(reading->intake, file, file_size, &like.file, err);
	if (!status && (size != raw_size || memcmp(name, raw, size) != 0))
		status = sonde_intake_string(reading->intake, raw, raw_size, &like.raw_name, err);
	if (!status)
		status = sonde_intake_function(reading->intake, &like, name, size,
					       &context->function, err);
	context->file = like.file;
	return status;
}

/* A function, and the line in it that is known. */
static enum sonde_status add_line(struct pprof_reading *reading, uint32_t *node,
				  const struct pprof_line *line, uint32_t module, bool is_inlined,
				  struct sonde_error *err)
{
	struct sonde_context context = sonde_intake_frame(SONDE_NONE);
	enum sonde_status status = find_function(reading, line->function, module, &context, err);
	uint32_t file = context.file;

	if (status)
		return status;
	context.file = 0;
	context.relation = is_inlined ? SONDE_CONTEXT_INLINED : SONDE_CONTEXT_CALLED;
	status = sonde_intake_context(reading->intake, *node, &context, node, err);
	if (status || !small_line(line->line))
		return status;
	context = (struct sonde_context){
		.function = SONDE_NONE,
		.module = SONDE_NONE,
		.file = file,
		.line = small_line(line->line),
		.kind = SONDE_CONTEXT_LINE,
		.relation = SONDE_CONTEXT_ENCLOSED,
	};
	return sonde_intake_context(reading->intake, *node, &context, node, err);
}

static enum sonde_status add_location(struct pprof_reading *reading, uint32_t *node,
				      const struct pprof_read_location *location,
				      struct sonde_error *err)
{
	const struct pprof_mapping *mapping = mapping_of(reading, location);
	uint32_t module = mapping ? mapping->module : SONDE_NONE;
	struct sonde_context context = {
		.function = SONDE_NONE,
		.module = module,
		.address = location->address,
		.kind = SONDE_CONTEXT_INSTRUCTION,
		.relation = SONDE_CONTEXT_CALLED,
	};
	enum sonde_status status = SONDE_OK;

	/* the last line is the function that the others were inlined into */
	for (uint32_t i = location->line_count; i-- && !status;)
		status = add_line(reading, node, &reading->lines.items[location->first_line + i],
				  module, i + 1 < location->line_count, err);
	if (location->line_count || status)
		return status;
	if (mapping && location->address >= mapping->start)
		context.address = location->address - mapping->start + mapping->offset;
	return sonde_intake_context(reading->intake, *node, &context, node, err);
}

enum sonde_status pprof_find_node(struct pprof_reading *reading, uint32_t parent, uint32_t location,
				  uint32_t *node, struct sonde_error *err)
{
	uint64_t key = (uint64_t)parent << 32 | location;
	enum sonde_status status;

	*node = sonde_key_map_find(&reading->nodes, key);
	if (*node != SONDE_NONE)
		return SONDE_OK;
	*node = parent;
	status = add_location(reading, node, &reading->locations.items[location], err);
	if (!status && !sonde_key_map_add(&reading->nodes, key, *node))
		status = sonde_fail_nomem(err);
	return status;
}

enum sonde_status pprof_find_entry(struct pprof_reading *reading, const char *name, size_t size,
				   uint32_t *node, struct sonde_error *err)
{
	struct sonde_context context = {
		.function = SONDE_NONE,
		.module = SONDE_NONE,
		.kind = SONDE_CONTEXT_ENTRY,
		.relation = SONDE_CONTEXT_CALLED,
		.entry = SONDE_ENTRY_OTHER,
	};
	enum sonde_status status =
		sonde_intake_string(reading->intake, name, size, &context.name, err);

	for (unsigned int i = 0; i < SONDE_ENTRY_OTHER; i++) {
		if (is_text(name, size, sonde_entry_name(i)))
			context.entry = (uint8_t)i;
	}
	return status ? status : sonde_intake_context(reading->intake, 0, &context, node, err);
}
