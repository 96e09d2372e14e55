/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a tree in text: a line for each record, what belongs to it under it. */
#include "cli/store_tree.h"

#include <string.h>

#include "base/uuid.h"
#include "cli/human.h"
#include "cli/text.h"
#include "formats/zts/zts_json.h"
#include "store/attribute.h"

#define TIME_WIDTH 12
#define DEEPEST_INDENT 60 /* deeper calls are not moved further to the right */

void cli_store_names_release(struct cli_store_names *names)
{
	size_t i;

	for (i = 0; i < names->parts.count; i++)
		sonde_names_release(&names->parts.items[i]);
	sonde_vec_release(&names->parts);
}

struct sonde_names *cli_store_names_of(struct cli_store_names *names, const struct zts_part *part)
{
	struct sonde_names *of;
	size_t i;

	for (i = names->parts.count; i-- > 0;)
		if (names->parts.items[i].texts == part->texts)
			return &names->parts.items[i];
	of = sonde_vec_push(&names->parts);
	if (of)
		*of = (struct sonde_names){ .texts = part->texts };
	return of;
}

bool cli_store_names_failed(const struct cli_store_names *names)
{
	bool failed = false;
	size_t i;

	for (i = 0; i < names->parts.count; i++)
		failed |= zts_texts_failed(names->parts.items[i].texts) ||
			  names->parts.items[i].bytes.failed;
	return failed;
}

bool cli_exception_of(struct zts_texts *texts, uint32_t id, struct cli_exception *exception)
{
	struct zts_typed_text typed;

	if (!id || zts_texts_typed(texts, id, &typed, NULL) != SONDE_OK ||
	    typed.kind != ZTS_TEXT_EXCEPTION)
		return false;
	*exception = (struct cli_exception){ .class_name = typed.fields[0],
					     .message = typed.fields[1],
					     .stack = typed.fields[2],
					     .cause = typed.fields[3] };
	return true;
}

/* What is put out, and how deep. */
struct tree_output {
	struct cli *cli;
	struct sonde_buffer *out;
	const struct sonde_joined *joined;
	struct cli_store_names *all_names;
	struct sonde_names *names;
	struct sonde_joined_tree *tree;
	struct sonde_buffer space;
	size_t indent;
};

static void put_name(struct tree_output *output, uint32_t id)
{
	size_t size;
	const char *name = sonde_names_get(output->names, id, &size);

	cli_put_escaped_sized(output->out, name, size);
}

static void put_time_column(struct tree_output *output, uint64_t ns)
{
	size_t begin = output->out->size, width;

	cli_put_duration(output->out, ns, " ");
	width = output->out->size - begin;
	sonde_buffer_clear(&output->space);
	sonde_buffer_put(&output->space, output->out->data + begin, width);
	output->out->size = begin;
	cli_put_spaces(output->out, width < TIME_WIDTH ? TIME_WIDTH - width : 0);
	sonde_buffer_put(output->out, output->space.data, output->space.size);
	sonde_buffer_put_text(output->out, "  ");
}

/* The beginning of a line that belongs to a record. */
static void begin_detail(struct tree_output *output, size_t more)
{
	/* two columns of times, and that of calls */
	cli_put_spaces(output->out, 2 * (TIME_WIDTH + 2) + 7 + output->indent + 4 + more);
}

static void put_attributes(struct tree_output *output, uint32_t record)
{
	struct zts_attribute_cursor cursor = { .tree = &output->tree->loaded.tree,
					       .record = record };
	struct zts_texts *texts = output->names->texts;

	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		sonde_buffer_clear(&output->space);
		if (!sonde_attribute_put_name(texts, &cursor, &output->space))
			continue;
		begin_detail(output, 0);
		cli_put_style(output->out,
			      output->cli->out_colour ? CLI_STYLE_CYAN : CLI_STYLE_NONE);
		cli_put_escaped_sized(output->out, output->space.data, output->space.size);
		cli_put_style_end(output->out,
				  output->cli->out_colour ? CLI_STYLE_CYAN : CLI_STYLE_NONE);
		sonde_buffer_put_text(output->out, " = ");
		sonde_buffer_clear(&output->space);
		sonde_value_put_text(texts, cursor.value, &output->space);
		cli_put_escaped_sized(output->out, output->space.data, output->space.size);
		output->out->failed |= output->space.failed;
		sonde_buffer_put_char(output->out, '\n');
	}
}

/* A frame; those that are lines of a stack trace as it was printed bring their own "at". */
static void put_frame_text(struct tree_output *output, const char *frame, size_t size)
{
	for (; size && (*frame == ' ' || *frame == '\t'); frame++)
		size--;
	begin_detail(output, 2);
	sonde_buffer_put_text(output->out, size > 3 && !memcmp(frame, "at ", 3) ? "" : "at ");
	cli_put_escaped_sized(output->out, frame, size);
	sonde_buffer_put_char(output->out, '\n');
}

static void put_frame(struct tree_output *output, uint32_t id)
{
	size_t size;
	const char *frame = sonde_names_get(output->names, id, &size);

	put_frame_text(output, frame, size);
}

static void put_stack(struct tree_output *output, uint32_t id)
{
	struct zts_typed_text stack;
	uint32_t frame;

	if (!id)
		return;
	if (zts_texts_typed(output->names->texts, id, &stack, NULL) != SONDE_OK ||
	    stack.kind != ZTS_TEXT_STACK) {
		put_frame(output, id);
		return;
	}
	while (zts_text_next_frame(&stack, &frame))
		put_frame(output, frame);
}

static void put_exception(struct tree_output *output, uint32_t id)
{
	enum cli_style style = output->cli->out_colour ? CLI_STYLE_RED : CLI_STYLE_NONE;
	struct cli_exception exception;
	unsigned int i;

	for (i = 0; id && i < CLI_MOST_CAUSES; i++, id = exception.cause) {
		bool known = cli_exception_of(output->names->texts, id, &exception);

		begin_detail(output, 0);
		sonde_buffer_put_text(output->out, i ? "caused by " : "! ");
		cli_put_style(output->out, style);
		put_name(output, known ? exception.class_name : id);
		if (known && exception.message) {
			sonde_buffer_put_text(output->out, ": ");
			put_name(output, exception.message);
		}
		cli_put_style_end(output->out, style);
		sonde_buffer_put_char(output->out, '\n');
		if (!known)
			return;
		put_stack(output, exception.stack);
	}
}

/* The line of an exception that lies in the data, whose class and message the reader is at. */
static void put_inline_title(struct tree_output *output, struct sonde_json_reader *json,
			     bool is_cause)
{
	enum cli_style style = output->cli->out_colour ? CLI_STYLE_RED : CLI_STYLE_NONE;
	unsigned int i;

	begin_detail(output, 0);
	sonde_buffer_put_text(output->out, is_cause ? "caused by " : "! ");
	cli_put_style(output->out, style);
	for (i = 0; i < 2; i++) {
		sonde_json_next(json, NULL); /* the key */
		if (sonde_json_next(json, NULL) != SONDE_OK || json->token != SONDE_JSON_STRING)
			break;
		sonde_buffer_put_text(output->out, i && json->length ? ": " : "");
		cli_put_escaped_sized(output->out, json->text, json->length);
	}
	cli_put_style_end(output->out, style);
	sonde_buffer_put_char(output->out, '\n');
}

/* An exception that is no text of the store: as the recording of the store shows it. */
static void put_inline_exception(struct tree_output *output, uint32_t number)
{
	struct sonde_buffer object = { 0 };
	struct sonde_json_writer writer;
	struct sonde_json_reader json;
	bool is_cause = false;

	sonde_json_writer_init(&writer, &object, false);
	zts_json_put_inline_exception(output->names->texts, &output->tree->loaded.tree, number,
				      &writer, &output->space);
	output->out->failed |= object.failed;
	sonde_json_reader_init(&json, object.data, object.size, NULL, NULL);
	while (sonde_json_next(&json, NULL) == SONDE_OK && json.token == SONDE_JSON_OBJECT_BEGIN) {
		put_inline_title(output, &json, is_cause);
		sonde_json_next(&json, NULL); /* the key of the stack, and its beginning */
		sonde_json_next(&json, NULL);
		while (sonde_json_next(&json, NULL) == SONDE_OK && json.token == SONDE_JSON_STRING)
			put_frame_text(output, json.text, json.length);
		is_cause = sonde_json_next(&json, NULL) == SONDE_OK; /* the key of the cause */
	}
	sonde_json_reader_release(&json);
	sonde_buffer_release(&object);
}

/* Behind the first record of a tree that hangs under another: whose it is, and its id. */
static void put_origin(struct tree_output *output)
{
	const struct sonde_place *place = &output->tree->place;

	sonde_buffer_put_text(output->out, "  (");
	sonde_buffer_clear(&output->space);
	sonde_slot_put_name(place->part, place->part->slots.list.items[place->slot].app,
			    &output->space);
	cli_put_escaped_sized(output->out, output->space.data, output->space.size);
	sonde_buffer_put_text(output->out, output->space.size ? " " : "");
	sonde_place_put(place->part, place->slot, output->out);
	sonde_buffer_put_char(output->out, ')');
}

static void put_record(struct tree_output *output, const struct sonde_joined_record *shown)
{
	const struct zts_record *record = sonde_joined_record(output->joined, shown);
	uint32_t number = shown->record - output->tree->loaded.root;
	bool failed = record->flags & ZTS_RECORD_ERROR;
	bool has_inline = !record->exception && record->inline_exception != SONDE_NONE;

	put_time_column(output, output->tree->duration_ns[number]);
	put_time_column(output, output->tree->self_ns[number]);
	sonde_buffer_put_u64_wide(output->out, record->calls, 5, ' ');
	sonde_buffer_put_text(output->out, "  ");
	output->indent = (size_t)shown->depth * 2 < DEEPEST_INDENT ? (size_t)shown->depth * 2 :
								     DEEPEST_INDENT;
	cli_put_spaces(output->out, output->indent);
	put_name(output, record->method);
	if (failed && !record->exception && !has_inline)
		sonde_buffer_put_text(output->out, "  (error)");
	if (!number && shown->depth)
		put_origin(output);
	sonde_buffer_put_char(output->out, '\n');
	put_attributes(output, shown->record);
	put_exception(output, record->exception);
	if (has_inline)
		put_inline_exception(output, record->inline_exception);
}

static void put_fact(struct tree_output *output, const char *title, uint32_t name)
{
	if (!name)
		return;
	sonde_buffer_clear(&output->space);
	sonde_slot_put_name(output->tree->place.part, name, &output->space);
	sonde_buffer_put_format(output->out, "  %s ", title);
	cli_put_escaped_sized(output->out, output->space.data, output->space.size);
}

/* Who and when, before the records. */
static void put_heading(struct tree_output *output)
{
	const struct sonde_place *place = &output->tree->place;
	const struct zts_slot *slot = &place->part->slots.list.items[place->slot];
	struct sonde_trace_totals totals = sonde_trace_totals(place->part, place->slot);
	struct sonde_hex_id id;

	cli_put_styled(output->cli, CLI_STYLE_BOLD, "trace ");
	sonde_uuid_put(slot->uuid, output->out);
	sonde_buffer_put_text(output->out, "  ");
	sonde_place_put(place->part, place->slot, output->out);
	sonde_buffer_put_char(output->out, '\n');
	cli_put_date(output->out, output->tree->start_ns[0]);
	sonde_buffer_put_text(output->out, "  ");
	cli_put_counted(output->out, output->tree->count, "record");
	if (totals.errors) {
		sonde_buffer_put_text(output->out, "  ");
		cli_put_counted(output->out, totals.errors, "error");
	}
	put_fact(output, "type", slot->type);
	put_fact(output, "service", slot->app);
	put_fact(output, "host", slot->host);
	put_fact(output, "env", slot->env);
	if (sonde_trace_distributed_id(place->part, place->slot, &id))
		sonde_buffer_put_format(output->out, "  of %s", id.digits);
	sonde_buffer_put_text(output->out, "\n        time          self  calls  call\n");
}

void cli_put_tree(struct cli *cli, const struct sonde_joined *joined, struct cli_store_names *names)
{
	struct tree_output output = {
		.cli = cli, .out = &cli->out, .joined = joined, .all_names = names
	};
	size_t i;

	for (i = 0; i < joined->order.count; i++) {
		const struct sonde_joined_record *shown = &joined->order.items[i];

		output.tree = &joined->trees.items[shown->tree];
		output.names = cli_store_names_of(names, output.tree->place.part);
		if (!output.names) {
			cli->out.failed = true;
			break;
		}
		if (!shown->depth) {
			if (i)
				sonde_buffer_put_char(&cli->out, '\n');
			put_heading(&output);
		}
		put_record(&output, shown);
		if (!cli_flush_when_full(cli))
			break;
	}
	cli->out.failed |= output.space.failed || cli_store_names_failed(names);
	sonde_buffer_release(&output.space);
}
