/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a session with annotations of every kind, for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "annotations_fixture.h"

#include "formats/atf/atf_write.h"
#include "model/arguments.h"

static struct sonde_error err;

static void must(enum sonde_status status)
{
	if (status != SONDE_OK)
		fail_msg("status %d: %s", status, err.message);
}

static uint32_t text_id(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id = 0;

	must(sonde_definitions_add_string(definitions, text, strlen(text), &id, &err));
	return id;
}

const struct annotation_type types[TYPE_COUNT] = {
	{ "load", "utf8 path, uint32 size", 5, true },
	{ "load", "uint64 address", 0, true },
	{ "scope#enter", "ascii name", 0, true },
	{ "note", "uint32 a, float32[] b, utf8 c", UINT32_MAX, false },
	{ "tick", "", 1, false },
	{ "level", "float64 value", 0, false },
};

const struct step steps[STEP_COUNT] = {
	{ SONDE_EVENT_CALL, MAIN, 1, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_INSTANT, TYPE_NOTE, 1, 0, 0, TYPE_NOTE },
	{ SONDE_EVENT_INSTANT, TYPE_TICK, 1, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_CALL, LOAD, 2, 0, 0, TYPE_LOAD },
	{ SONDE_EVENT_MARK, TYPE_NOTE, 2, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_FLOW_BEGIN, TYPE_NOTE, 2, 7, 0, TYPE_NOTE },
	{ SONDE_EVENT_FLOW_STEP, TYPE_TICK, 2, UINT32_MAX, 0, SONDE_NONE },
	{ SONDE_EVENT_COUNTER, TYPE_LEVEL, 2, 0, -1.5e300, SONDE_NONE },
	{ SONDE_EVENT_RETURN, LOAD, 2, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_CALL, LOAD, 2, 0, 0, TYPE_LOAD_AGAIN },
	{ SONDE_EVENT_RETURN, LOAD, 2, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_COUNTER, TYPE_LEVEL, 1, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_FLOW_END, TYPE_TICK, 1, 7, 0, SONDE_NONE },
	{ SONDE_EVENT_RANGE_BEGIN, TYPE_NOTE, 1, 3, 0, TYPE_NOTE },
	{ SONDE_EVENT_CALL, MAIN, 2, 0, 0, TYPE_ENTER },
	{ SONDE_EVENT_EXCEPTION, MAIN, 2, 0, 0, SONDE_NONE },
	{ SONDE_EVENT_RANGE_END, TYPE_TICK, 1, 3, 0, SONDE_NONE },
	{ SONDE_EVENT_RETURN, MAIN, 1, 0, 0, SONDE_NONE },
};

void pack_step(struct sonde_buffer *out, uint32_t type, uint32_t step)
{
	static const char letters[] = "gr\xc3\xb6\xc3\x9f"
				      "e";
	float weights[] = { 0.5F, -2 };

	sonde_buffer_clear(out);
	switch (type) {
	case TYPE_LOAD:
		sonde_arguments_put_text(out, letters, strlen(letters));
		sonde_arguments_put_number(out, SONDE_ARGUMENT_UINT32,
					   (union sonde_argument_value){ .u64 = step });
		break;
	case TYPE_LOAD_AGAIN:
		sonde_arguments_put_number(out, SONDE_ARGUMENT_UINT64,
					   (union sonde_argument_value){ .u64 = UINT64_MAX });
		break;
	case TYPE_ENTER:
		sonde_arguments_put_text(out, "main", 4);
		break;
	default:
		sonde_arguments_put_number(out, SONDE_ARGUMENT_UINT32,
					   (union sonde_argument_value){ .u64 = step });
		sonde_arguments_put_array(out, SONDE_ARGUMENT_FLOAT32, step % 2 ? weights : NULL,
					  2);
		sonde_arguments_put_text(out, step % 3 ? letters : NULL, 3);
	}
}

/* Hands out the details of the steps: their number is that of the step. */
static struct sonde_buffer packed;

static enum sonde_status step_detail(struct sonde_cursor *cursor, uint64_t number,
				     struct sonde_detail *detail, struct sonde_error *error)
{
	(void)cursor;
	(void)error;
	pack_step(&packed, steps[number].arguments, (uint32_t)number);
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_ARGUMENTS,
		.type = 3, /* of another format, and of no meaning here */
		.flags = 9,
		.function = SONDE_NONE,
		.event_type = steps[number].arguments,
		.event = number,
		.time_ns = 100 + number,
		.bytes = (const uint8_t *)packed.data,
		.size = packed.size,
	};
	return SONDE_OK;
}

static const struct sonde_cursor_ops step_ops = { .detail = step_detail };

static struct sonde_definitions *define(uint32_t processes)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	uint32_t id;

	must(sonde_definitions_add_clock(definitions, &clock, &id, &err));
	for (uint32_t i = 0; i < TYPE_COUNT; i++) {
		struct sonde_event_type type = {
			.name = text_id(definitions, types[i].name),
			.arguments = text_id(definitions, types[i].arguments),
			.flags = types[i].flags,
			.is_scope = types[i].is_scope,
		};

		must(sonde_definitions_add_event_type(definitions, &type, &id, &err));
	}
	for (uint32_t i = 0; i < processes; i++) {
		struct sonde_process process = { .os_id = 10 + i,
						 .arch = SONDE_ARCH_X86_64,
						 .os = SONDE_OS_LINUX };
		struct sonde_module module = { .process = i,
					       .path = text_id(definitions, "/bin/app") };
		struct sonde_track zone = { .process = i,
					    .slot = 1,
					    .kind = SONDE_TRACK_ZONE,
					    .os_id = UINT64_MAX,
					    .name = text_id(definitions, "a zone") };
		struct sonde_track thread = { .process = i, .os_id = 5 };

		must(sonde_definitions_add_process(definitions, &process, &id, &err));
		must(sonde_definitions_add_module(definitions, &module, &id, &err));
		for (uint32_t k = 0; k < FUNCTION_COUNT; k++) {
			struct sonde_function function = {
				.process = i,
				.module = k == LOAD ? SONDE_NONE : i,
				.name = text_id(definitions, k == LOAD ? "load" : "main"),
			};

			must(sonde_definitions_add_function(definitions, &function, &id, &err));
		}
		must(sonde_definitions_add_track(definitions, &thread, &id, &err));
		must(sonde_definitions_add_track(definitions, &zone, &id, &err));
	}
	return definitions;
}

static void feed_track(struct sonde_sink *sink, const struct sonde_definitions *definitions,
		       uint32_t track)
{
	uint32_t process = sonde_definitions_track(definitions, track)->process;
	struct sonde_cursor cursor = { .ops = &step_ops };
	struct sonde_event events[STEP_COUNT];
	struct sonde_batch batch = { .events = events, .count = STEP_COUNT, .details = &cursor };

	for (size_t i = 0; i < STEP_COUNT; i++) {
		events[i] = (struct sonde_event){
			.time_ns = 100 + i,
			.track = track,
			.kind = (uint8_t)steps[i].kind,
			.function = steps[i].function,
			.depth = steps[i].depth,
			.extra = steps[i].extra,
			.detail = steps[i].arguments == SONDE_NONE ? SONDE_NONE : (uint32_t)i,
		};
		if (steps[i].kind <= SONDE_EVENT_EXCEPTION)
			events[i].function += process * FUNCTION_COUNT;
		if (steps[i].kind == SONDE_EVENT_COUNTER)
			sonde_event_set_value(&events[i], steps[i].value);
	}
	must(sink->ops->events(sink, track, &batch, &err));
	must(sink->ops->track_end(sink, track, &err));
}

static void feed_blobs(struct sonde_sink *sink, struct sonde_definitions *definitions)
{
	struct sonde_blob blobs[] = {
		{ .name = text_id(definitions, "main.c"),
		  .is_text = true,
		  .bytes = (const uint8_t *)TEXT_RESOURCE,
		  .size = sizeof(TEXT_RESOURCE) - 1 },
		{ .name = text_id(definitions, "../bits"),
		  .bytes = (const uint8_t *)BINARY_RESOURCE,
		  .size = sizeof(BINARY_RESOURCE) },
		{ .name = 0 },
	};

	for (size_t i = 0; i < 3; i++)
		must(sink->ops->blob(sink, &blobs[i], &err));
}

void write_annotated(const char *path, uint32_t processes, uint64_t events_per_file)
{
	struct sonde_definitions *definitions = define(processes);
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_create_options create = { .format = "atf", .loss = loss };
	struct sonde_sink *sink;

	must(atf_create_limited(path, &create, events_per_file, &sink, &err));
	must(sink->ops->begin(sink, definitions, &err));
	feed_blobs(sink, definitions);
	for (uint32_t i = 0; i < 2 * processes; i++)
		feed_track(sink, definitions, i);
	must(sink->ops->finish(sink, &err));
	assert_null(sonde_loss_at(loss, 0));
	sonde_sink_free(sink);
	sonde_loss_free(loss);
	sonde_definitions_free(definitions);
	sonde_buffer_release(&packed);
}
