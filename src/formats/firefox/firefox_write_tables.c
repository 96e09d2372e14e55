/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a thread that grow with functions and call paths only: stacks, frames, functions,
 * libraries, strings. A function has one frame.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "formats/firefox/firefox_write.h"

void firefox_tables_release(struct firefox_tables *tables)
{
	sonde_vec_release(&tables->stacks);
	sonde_key_map_release(&tables->by_step);
	sonde_key_map_release(&tables->by_context);
	sonde_vec_release(&tables->frames);
	sonde_key_map_release(&tables->by_frame);
	sonde_vec_release(&tables->strings);
	sonde_text_map_release(&tables->by_string);
	sonde_arena_release(&tables->texts);
	sonde_vec_release(&tables->path);
	*tables = (struct firefox_tables){ 0 };
}

enum sonde_status firefox_string(struct firefox_tables *tables, const char *text, uint32_t *row,
				 struct sonde_error *err)
{
	size_t length = strlen(text);
	const char **string;
	char *copy;

	*row = sonde_text_map_find(&tables->by_string, text, length);
	if (*row != SONDE_NONE)
		return SONDE_OK;
	copy = sonde_arena_copy_text(&tables->texts, text, length);
	string = copy ? sonde_vec_push(&tables->strings) : NULL;
	if (!string)
		return sonde_fail_nomem(err);
	*string = copy;
	*row = (uint32_t)tables->strings.count - 1;
	return sonde_text_map_add(&tables->by_string, copy, length, *row) ? SONDE_OK :
									    sonde_fail_nomem(err);
}

static enum sonde_status frame_row(struct firefox_tables *tables, uint32_t frame, uint32_t *row,
				   struct sonde_error *err)
{
	uint32_t *added;

	*row = sonde_key_map_find(&tables->by_frame, frame);
	if (*row != SONDE_NONE)
		return SONDE_OK;
	added = sonde_vec_push(&tables->frames);
	if (!added)
		return sonde_fail_nomem(err);
	*added = frame;
	*row = (uint32_t)tables->frames.count - 1;
	return sonde_key_map_add(&tables->by_frame, frame, *row) ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status firefox_step(struct firefox_tables *tables, uint32_t prefix, uint32_t frame,
			       uint32_t *row, struct sonde_error *err)
{
	uint64_t key = (uint64_t)prefix << 32 | frame;
	struct firefox_stack *stack;
	enum sonde_status status;
	uint32_t frame_number;

	*row = sonde_key_map_find(&tables->by_step, key);
	if (*row != SONDE_NONE)
		return SONDE_OK;
	status = frame_row(tables, frame, &frame_number, err);
	if (status)
		return status;
	stack = sonde_vec_push(&tables->stacks);
	if (!stack)
		return sonde_fail_nomem(err);
	*stack = (struct firefox_stack){ .prefix = prefix, .frame = frame_number };
	*row = (uint32_t)tables->stacks.count - 1;
	return sonde_key_map_add(&tables->by_step, key, *row) ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status firefox_context(struct firefox_tables *tables,
				  const struct exchange_stacks *stacks, uint32_t context,
				  uint32_t *row, struct sonde_error *err)
{
	uint32_t at = context < stacks->context_count ? stacks->nodes[context].innermost : 0;
	enum sonde_status status = SONDE_OK;

	*row = SONDE_NONE;
	tables->path.count = 0;
	while (at) {
		uint32_t *step;

		*row = sonde_key_map_find(&tables->by_context, at);
		if (*row != SONDE_NONE)
			break;
		step = sonde_vec_push(&tables->path);
		if (!step)
			return sonde_fail_nomem(err);
		*step = at;
		at = stacks->nodes[at].above;
	}
	while (!status && tables->path.count) {
		at = tables->path.items[--tables->path.count];
		status = firefox_step(tables, *row, stacks->nodes[at].frame, row, err);
		if (!status && !sonde_key_map_add(&tables->by_context, at, *row))
			status = sonde_fail_nomem(err);
	}
	return status;
}

/* Columns */

static void column_begin(struct sonde_buffer *out, const char *name)
{
	sonde_buffer_put_char(out, '"');
	sonde_buffer_put_text(out, name);
	sonde_buffer_put_text(out, "\":[");
}

/* Ends a column: the comma behind its last value goes. */
static void column_end(struct sonde_buffer *out)
{
	if (!out->failed && out->size && out->data[out->size - 1] == ',')
		out->size--;
	sonde_buffer_put_text(out, "],\n");
}

static void put_number(struct sonde_buffer *out, uint64_t value)
{
	sonde_buffer_put_u64(out, value);
	sonde_buffer_put_char(out, ',');
}

/* A row of another table, or null. */
static void put_row(struct sonde_buffer *out, uint32_t row)
{
	if (row == SONDE_NONE)
		sonde_buffer_put_text(out, "null,");
	else
		put_number(out, row);
}

/* A column with the same in each row. */
static void put_same(struct sonde_buffer *out, const char *name, const char *value, size_t count)
{
	column_begin(out, name);
	for (size_t i = 0; i < count; i++) {
		sonde_buffer_put_text(out, value);
		sonde_buffer_put_char(out, ',');
	}
	column_end(out);
}

static void put_table_end(struct sonde_buffer *out, size_t count)
{
	sonde_buffer_put_text(out, "\"length\":");
	sonde_buffer_put_u64(out, count);
	sonde_buffer_put_text(out, "},\n");
}

static void put_stacks(const struct firefox_tables *tables, struct sonde_buffer *out)
{
	size_t count = tables->stacks.count;

	sonde_buffer_put_text(out, "\"stackTable\":{");
	column_begin(out, "frame");
	for (size_t i = 0; i < count; i++)
		put_number(out, tables->stacks.items[i].frame);
	column_end(out);
	column_begin(out, "prefix");
	for (size_t i = 0; i < count; i++)
		put_row(out, tables->stacks.items[i].prefix);
	column_end(out);
	put_table_end(out, count);
}

/* What a frame says, wherever it comes from. */
struct facts {
	uint32_t name, file; /* strings of the thread; file SONDE_NONE: not known */
	uint32_t line;
	uint32_t module; /* SONDE_NONE: not known */
	uint64_t address;
	uint32_t resource;
};

static enum sonde_status find_facts(const struct firefox_writer *writer,
				    struct firefox_tables *tables, uint32_t frame,
				    struct facts *facts, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct exchange_stacks *stacks = &writer->stacks;
	uint32_t file = 0;
	const char *name;
	char label[SONDE_LABEL_SIZE];
	enum sonde_status status;

	*facts = (struct facts){ .file = SONDE_NONE, .module = SONDE_NONE, .resource = SONDE_NONE };
	if (frame >= stacks->names.count) {
		uint32_t number = frame - (uint32_t)stacks->names.count;
		const struct sonde_function *function =
			sonde_definitions_function(definitions, number);

		name = sonde_definitions_function_label(definitions, number, label);
		if (function) {
			file = function->file;
			facts->line = function->line;
			facts->module = function->module;
			facts->address = function->address;
		}
	} else {
		uint32_t number = stacks->names.items[frame].context;

		name = stacks->names.items[frame].name;
		if (number) {
			file = stacks->contexts[number].file;
			facts->line = stacks->contexts[number].line;
			facts->module = stacks->contexts[number].module;
			facts->address = stacks->contexts[number].address;
		}
	}
	status = firefox_string(tables, name, &facts->name, err);
	if (!status && file)
		status = firefox_string(tables, sonde_definitions_string(definitions, file),
					&facts->file, err);
	return status;
}

static void put_frames(const struct facts *facts, size_t count, struct sonde_buffer *out)
{
	sonde_buffer_put_text(out, "\"frameTable\":{");
	column_begin(out, "address");
	for (size_t i = 0; i < count; i++) {
		if (facts[i].address && facts[i].module != SONDE_NONE)
			put_number(out, facts[i].address);
		else
			sonde_buffer_put_text(out, "-1,");
	}
	column_end(out);
	column_begin(out, "func");
	for (size_t i = 0; i < count; i++)
		put_number(out, i);
	column_end(out);
	put_same(out, "inlineDepth", "0", count);
	put_same(out, "category", "0", count);
	put_same(out, "subcategory", "0", count);
	put_same(out, "nativeSymbol", "null", count);
	put_same(out, "innerWindowID", "0", count);
	put_same(out, "line", "null", count);
	put_same(out, "column", "null", count);
	put_table_end(out, count);
}

static void put_functions(const struct facts *facts, size_t count, struct sonde_buffer *out)
{
	sonde_buffer_put_text(out, "\"funcTable\":{");
	column_begin(out, "name");
	for (size_t i = 0; i < count; i++)
		put_number(out, facts[i].name);
	column_end(out);
	put_same(out, "isJS", "false", count);
	put_same(out, "relevantForJS", "false", count);
	column_begin(out, "resource");
	for (size_t i = 0; i < count; i++) {
		if (facts[i].resource == SONDE_NONE)
			sonde_buffer_put_text(out, "-1,");
		else
			put_number(out, facts[i].resource);
	}
	column_end(out);
	column_begin(out, "fileName");
	for (size_t i = 0; i < count; i++)
		put_row(out, facts[i].file);
	column_end(out);
	column_begin(out, "lineNumber");
	for (size_t i = 0; i < count; i++)
		put_row(out, facts[i].line ? facts[i].line : SONDE_NONE);
	column_end(out);
	put_same(out, "columnNumber", "null", count);
	put_table_end(out, count);
}

struct resources {
	SONDE_VEC(uint32_t) modules;
	SONDE_VEC(uint32_t) names; /* strings of the thread */
	struct sonde_key_map by_module;
};

/* Libraries of the frames; the numbers of libraries are those of modules. */
static enum sonde_status find_resource(const struct firefox_writer *writer,
				       struct firefox_tables *tables, struct resources *resources,
				       struct facts *facts, struct sonde_error *err)
{
	const struct sonde_module *module =
		sonde_definitions_module(writer->definitions, facts->module);
	uint32_t *number, *name;

	if (!module)
		return SONDE_OK;
	facts->resource = sonde_key_map_find(&resources->by_module, facts->module);
	if (facts->resource != SONDE_NONE)
		return SONDE_OK;
	facts->resource = (uint32_t)resources->modules.count;
	number = sonde_vec_push(&resources->modules);
	name = sonde_vec_push(&resources->names);
	if (!number || !name ||
	    !sonde_key_map_add(&resources->by_module, facts->module, facts->resource))
		return sonde_fail_nomem(err);
	*number = facts->module;
	return firefox_string(tables, sonde_definitions_string(writer->definitions, module->path),
			      name, err);
}

static void put_resources(const struct resources *resources, struct sonde_buffer *out)
{
	size_t count = resources->modules.count;

	sonde_buffer_put_text(out, "\"resourceTable\":{");
	column_begin(out, "lib");
	for (size_t i = 0; i < count; i++)
		put_number(out, resources->modules.items[i]);
	column_end(out);
	column_begin(out, "name");
	for (size_t i = 0; i < count; i++)
		put_number(out, resources->names.items[i]);
	column_end(out);
	put_same(out, "host", "null", count);
	column_begin(out, "type");
	for (size_t i = 0; i < count; i++)
		put_number(out, FIREFOX_RESOURCE_LIBRARY);
	column_end(out);
	put_table_end(out, count);
	sonde_buffer_put_text(out, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
				   "\"functionSize\":[],\"length\":0},\n");
}

static void put_strings(struct firefox_lane *lane, struct sonde_buffer *out)
{
	const struct firefox_tables *tables = &lane->tables;
	struct sonde_json_writer json;

	sonde_buffer_put_text(out, "\"stringArray\":");
	sonde_json_writer_init(&json, out, false);
	sonde_json_array_begin(&json);
	for (size_t i = 0; i < tables->strings.count; i++) {
		const char *text = tables->strings.items[i];

		lane->losses[FIREFOX_LOSS_BAD_TEXT] += !sonde_utf8_valid(text, strlen(text));
		sonde_json_string(&json, text);
	}
	sonde_json_array_end(&json);
	sonde_buffer_put_char(out, '}');
}

enum sonde_status firefox_write_tables(const struct firefox_writer *writer,
				       struct firefox_lane *lane, struct sonde_buffer *out,
				       struct sonde_error *err)
{
	struct firefox_tables *tables = &lane->tables;
	struct resources resources = { 0 };
	size_t count = tables->frames.count;
	struct facts *facts = calloc(count + 1, sizeof(*facts));
	enum sonde_status status = SONDE_OK;

	if (!facts)
		return sonde_fail_nomem(err);
	for (size_t i = 0; !status && i < count; i++) {
		status = find_facts(writer, tables, tables->frames.items[i], &facts[i], err);
		if (!status)
			status = find_resource(writer, tables, &resources, &facts[i], err);
	}
	if (!status) {
		put_stacks(tables, out);
		put_frames(facts, count, out);
		put_functions(facts, count, out);
		put_resources(&resources, out);
		put_strings(lane, out);
		status = out->failed ? sonde_fail_nomem(err) : SONDE_OK;
	}
	free(facts);
	sonde_vec_release(&resources.modules);
	sonde_vec_release(&resources.names);
	sonde_key_map_release(&resources.by_module);
	firefox_tables_release(tables);
	return status;
}
