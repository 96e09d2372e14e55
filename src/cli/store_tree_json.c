/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces as JSON. Calls nest deeper than the JSON writer goes: braces of records are put by hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "cli/store_tree.h"
#include "formats/zts/zts_json.h"
#include "store/attribute.h"

struct json_output {
	struct cli *cli;
	struct sonde_json_writer json;
	const struct sonde_joined *joined;
	struct sonde_names *names;
	struct sonde_joined_tree *tree;
	struct sonde_buffer space;
};

static void put_name(struct json_output *output, const char *key, uint32_t id)
{
	size_t size;
	const char *name = sonde_names_get(output->names, id, &size);

	if (key)
		sonde_json_key(&output->json, key);
	sonde_json_string_sized(&output->json, name, size);
}

static void put_hex(struct json_output *output, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%016" PRIx64, value);
	sonde_json_member_string(&output->json, key, digits);
}

static void put_stack(struct json_output *output, uint32_t id)
{
	struct zts_typed_text stack;
	uint32_t frame;

	sonde_json_key(&output->json, "stack");
	sonde_json_array_begin(&output->json);
	if (id && zts_texts_typed(output->names->texts, id, &stack, NULL) == SONDE_OK &&
	    stack.kind == ZTS_TEXT_STACK)
		while (zts_text_next_frame(&stack, &frame))
			put_name(output, NULL, frame);
	else if (id)
		put_name(output, NULL, id);
	sonde_json_array_end(&output->json);
}

/* Causes nest: closed together at the end, so that a long chain needs no recursion. */
static void put_exception(struct json_output *output, uint32_t id)
{
	struct sonde_json_writer outer = output->json;
	struct cli_exception exception = { 0 };
	unsigned int depth = 0;
	bool known = true;

	sonde_json_key(&outer, "exception");
	for (; id && known && depth < CLI_MOST_CAUSES; id = exception.cause, depth++) {
		known = cli_exception_of(output->names->texts, id, &exception);
		sonde_buffer_put_text(&output->cli->out, depth ? ",\"cause\":" : "");
		sonde_json_writer_init(&output->json, &output->cli->out, false);
		sonde_json_object_begin(&output->json);
		put_name(output, "class", known ? exception.class_name : id);
		if (known && exception.message)
			put_name(output, "message", exception.message);
		else
			sonde_json_member_string(&output->json, "message", "");
		put_stack(output, known ? exception.stack : 0);
	}
	while (depth--)
		sonde_buffer_put_char(&output->cli->out, '}');
	output->json = outer;
	output->json.after_key = false;
}

static void put_attributes(struct json_output *output, uint32_t record)
{
	struct zts_attribute_cursor cursor = { .tree = &output->tree->loaded.tree,
					       .record = record };
	struct zts_texts *texts = output->names->texts;

	sonde_json_key(&output->json, "attributes");
	sonde_json_object_begin(&output->json);
	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		sonde_buffer_clear(&output->space);
		if (!sonde_attribute_put_name(texts, &cursor, &output->space))
			continue;
		sonde_json_key(&output->json,
			       sonde_buffer_text(&output->space) ? output->space.data : "");
		sonde_value_put_json(texts, cursor.value, &output->json);
	}
	sonde_json_object_end(&output->json);
}

static void put_identity(struct json_output *output, const struct zts_record *record)
{
	const struct zts_tree *tree = &output->tree->loaded.tree;
	const struct zts_identity *identity;

	if (record->trace != SONDE_NONE)
		sonde_json_member_u64(&output->json, "timestamp_ms",
				      tree->traces.items[record->trace].timestamp_ms);
	if (record->identity == SONDE_NONE)
		return;
	identity = &tree->identities.items[record->identity];
	if (identity->has_type) {
		sonde_buffer_clear(&output->space);
		sonde_slot_put_name(output->tree->place.part, identity->type, &output->space);
		sonde_json_key(&output->json, "type");
		sonde_json_string_sized(&output->json, output->space.data, output->space.size);
	}
	if (identity->span)
		put_hex(output, "span", identity->span);
	if (identity->parent)
		put_hex(output, "parent", identity->parent);
}

/* The members that say which trace begins with this record. */
static void put_trace_members(struct json_output *output)
{
	const struct sonde_place *place = &output->tree->place;
	const struct zts_slot *slot = &place->part->slots.list.items[place->slot];
	const struct {
		const char *key;
		uint32_t name;
	} facts[] = { { "type", slot->type },
		      { "service", slot->app },
		      { "host", slot->host },
		      { "env", slot->env } };
	struct sonde_trace_totals totals = sonde_trace_totals(place->part, place->slot);
	struct sonde_hex_id id;
	size_t i;

	sonde_buffer_clear(&output->space);
	sonde_place_put(place->part, place->slot, &output->space);
	sonde_json_member_string(&output->json, "id", sonde_buffer_text(&output->space));
	sonde_buffer_clear(&output->space);
	sonde_uuid_put(slot->uuid, &output->space);
	sonde_json_member_string(&output->json, "uuid", sonde_buffer_text(&output->space));
	if (sonde_trace_distributed_id(place->part, place->slot, &id))
		sonde_json_member_string(&output->json, "trace_id", id.digits);
	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		sonde_buffer_clear(&output->space);
		sonde_slot_put_name(place->part, facts[i].name, &output->space);
		if (!output->space.size)
			continue;
		sonde_json_key(&output->json, facts[i].key);
		sonde_json_string_sized(&output->json, output->space.data, output->space.size);
	}
	sonde_json_member_u64(&output->json, "errors", totals.errors);
	sonde_json_member_u64(&output->json, "records", output->tree->count);
}

static void put_trace(struct json_output *output)
{
	sonde_json_object_begin(&output->json);
	put_trace_members(output);
	sonde_json_object_end(&output->json);
}

/* A record without its closing brace, up to the array of its children. */
static void begin_record(struct json_output *output, const struct sonde_joined_record *shown)
{
	const struct zts_record *record = sonde_joined_record(output->joined, shown);
	uint32_t number = shown->record - output->tree->loaded.root;

	sonde_json_writer_init(&output->json, &output->cli->out, false);
	sonde_json_object_begin(&output->json);
	put_name(output, "method", record->method);
	if (!number && shown->depth) {
		sonde_json_key(&output->json, "trace");
		put_trace(output);
	}
	sonde_json_member_u64(&output->json, "start_ns", output->tree->start_ns[number]);
	sonde_json_member_u64(&output->json, "duration_ns", output->tree->duration_ns[number]);
	sonde_json_member_u64(&output->json, "self_ns", output->tree->self_ns[number]);
	sonde_json_member_u64(&output->json, "tstart", record->start);
	sonde_json_member_u64(&output->json, "tstop", record->stop);
	sonde_json_member_u64(&output->json, "calls", record->calls);
	sonde_json_member_u64(&output->json, "flags", record->flags);
	put_identity(output, record);
	put_attributes(output, shown->record);
	if (record->exception)
		put_exception(output, record->exception);
	else if (record->inline_exception != SONDE_NONE) {
		sonde_json_key(&output->json, "exception");
		zts_json_put_inline_exception(output->names->texts, &output->tree->loaded.tree,
					      record->inline_exception, &output->json,
					      &output->space);
	}
	sonde_json_key(&output->json, "children");
	sonde_buffer_put_char(&output->cli->out, '[');
}

/* Closes records until `depth` of them are open. */
static void close_to(struct json_output *output, uint32_t *open, uint32_t depth)
{
	for (; *open > depth; --*open)
		sonde_buffer_put_text(&output->cli->out, *open == 1 ? "]}}" : "]}");
}

void cli_put_tree_json(struct cli *cli, const struct sonde_joined *joined,
		       struct cli_store_names *names, bool first)
{
	struct json_output output = { .cli = cli, .joined = joined };
	uint32_t open = 0;
	size_t i;

	for (i = 0; i < joined->order.count; i++) {
		const struct sonde_joined_record *shown = &joined->order.items[i];
		bool is_sibling = open > shown->depth;

		output.tree = &joined->trees.items[shown->tree];
		output.names = cli_store_names_of(names, output.tree->place.part);
		if (!output.names) {
			cli->out.failed = true;
			break;
		}
		close_to(&output, &open, shown->depth);
		if (is_sibling || (!first && !i))
			sonde_buffer_put_text(&cli->out, shown->depth ? "," : ",\n");
		if (!shown->depth) {
			sonde_json_writer_init(&output.json, &cli->out, false);
			sonde_json_object_begin(&output.json);
			put_trace_members(&output);
			sonde_json_key(&output.json, "root");
		}
		begin_record(&output, shown);
		open = shown->depth + 1;
		if (!cli_flush_when_full(cli))
			break;
	}
	close_to(&output, &open, 0);
	cli->out.failed |= output.space.failed || cli_store_names_failed(names);
	sonde_buffer_release(&output.space);
}
