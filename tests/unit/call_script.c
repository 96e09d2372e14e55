/* SPDX-License-Identifier: Apache-2.0 */
/* Runs units through calls.c and writes down what comes out. */
#include "call_script.h"

#include <sonde/annotate.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/atf/atf_arguments.h"

struct sink {
	struct script_result *result;
	struct sink_lane {
		uint64_t open[SCRIPT_UNITS];
		size_t depth;
		uint64_t last_ns;
		uint64_t count; /* given out */
	} lanes[SCRIPT_LANES];
	uint32_t details;
};

static void append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

static void check_event(struct sink_lane *lane, const struct atf_index_event *event)
{
	assert_int_equal(event->thread_id, 0);
	assert_true(event->timestamp_ns >= lane->last_ns);
	lane->last_ns = event->timestamp_ns;
	if (event->event_kind == ATF_KIND_CALL) {
		assert_true(lane->depth < SCRIPT_UNITS);
		lane->open[lane->depth++] = event->function_id;
		assert_int_equal(event->call_depth, lane->depth);
		return;
	}
	if (event->event_kind >= ATF_KIND_INSTANT) {
		assert_int_equal(event->call_depth, lane->depth);
		return;
	}
	assert_true(event->event_kind == ATF_KIND_RETURN ||
		    event->event_kind == ATF_KIND_EXCEPTION);
	assert_int_equal(event->call_depth, lane->depth);
	assert_true(lane->depth > 0);
	assert_int_equal(event->function_id, lane->open[--lane->depth]);
}

static enum sonde_status take_events(void *context, uint32_t lane, struct atf_index_event *events,
				     size_t count, struct sonde_error *err)
{
	struct sink *sink = context;

	(void)err;
	if (lane >= SCRIPT_LANES)
		return SONDE_OK;
	assert_true(lane < sink->result->lane_count);
	for (size_t i = 0; i < count; i++) {
		char *text = sink->result->lanes[lane];
		char letter = (char)('A' + (((uint32_t)events[i].function_id - 0x1000) >> 8));

		if (events[i].function_id >> 32 == ATF_ANNOTATIONS_MODULE)
			letter = (char)('a' + (uint32_t)events[i].function_id - 1);

		check_event(&sink->lanes[lane], &events[i]);
		append(text, sizeof(sink->result->lanes[0]), "%s%u%c%c@%llu", *text ? " " : "",
		       events[i].call_depth, "?+-!********"[events[i].event_kind], letter,
		       (unsigned long long)events[i].timestamp_ns);
		if (events[i].detail_seq != ATF_NO_LINK)
			append(text, sizeof(sink->result->lanes[0]), "#%u", events[i].detail_seq);
		sink->lanes[lane].count++;
	}
	return SONDE_OK;
}

/* Numbers details, and notes their text and the number of the event. */
static enum sonde_status take_details(void *context, uint32_t lane, struct atf_index_event *events,
				      const struct shared_unit *const *units, size_t count,
				      size_t ahead, struct sonde_error *err)
{
	struct sink *sink = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const struct shared_detail *detail = (const struct shared_detail *)(units[i] + 1);
		uint32_t kind = (uint32_t)(units[i]->word >> UNIT_KIND_SHIFT);
		const char *bytes = (const char *)(detail + 1);

		assert_true(kind & UNIT_DETAIL);
		assert_true(events[i].event_kind != 0);
		if (unit_is_entry(kind))
			bytes += sizeof(**units);
		events[i].detail_seq = sink->details++;
		if (lane < SCRIPT_LANES)
			append(sink->result->notes, sizeof(sink->result->notes),
			       "detail %u of %llu: %.*s;", events[i].detail_seq,
			       (unsigned long long)sink->lanes[lane].count + ahead + i,
			       (int)detail->stack_size, bytes);
	}
	return SONDE_OK;
}

static enum sonde_status take_arguments(void *context, uint32_t lane, struct atf_index_event *event,
					const struct call_arguments *arguments, size_t ahead,
					struct sonde_error *err)
{
	struct sink *sink = context;
	char *notes = sink->result->notes;

	(void)err;
	event->detail_seq = sink->details++;
	append(notes, sizeof(sink->result->notes), "kind %u of %llu extra %llu:", event->event_kind,
	       (unsigned long long)sink->lanes[lane].count + ahead,
	       (unsigned long long)arguments->extra);
	for (size_t i = 0; i < arguments->size && i < 40; i++)
		append(notes, sizeof(sink->result->notes), " %02x", arguments->bytes[i]);
	append(notes, sizeof(sink->result->notes), " (%zu);", arguments->size);
	return SONDE_OK;
}

static const struct annotation_site *find_site(void *context, uint64_t address, uint64_t ticks)
{
	static struct annotation_site sites[SONDE_ANNOTATE_RESOURCE + 1];
	static char name[] = "name";
	uint64_t number = (address - SITE('a')) / 0x40;

	(void)context;
	(void)ticks;
	if (!address)
		number = SONDE_ANNOTATE_MARK - 1;
	if (number >= SONDE_ANNOTATE_RESOURCE)
		return NULL;
	sites[number] = (struct annotation_site){
		.address = address,
		.function_id = atf_event_type_key((uint32_t)number),
		.kind = (uint32_t)number + 1,
		.has_arguments = number <= SONDE_ANNOTATE_EVENT - 1,
		.name = name,
	};
	return &sites[number];
}

static enum sonde_status take_zone(void *context, uint32_t lane, const char *name,
				   struct sonde_error *err)
{
	struct sink *sink = context;

	(void)err;
	if (lane < SCRIPT_LANES)
		snprintf(sink->result->zones[lane], sizeof(sink->result->zones[lane]), "%s", name);
	return SONDE_OK;
}

static enum sonde_status take_resource(void *context, const char *name, const uint8_t *bytes,
				       size_t size, uint32_t *number, struct sonde_error *err)
{
	struct sink *sink = context;

	(void)err;
	*number = sink->result->resources++;
	append(sink->result->notes, sizeof(sink->result->notes), "resource %s %.*s;", name,
	       (int)size, (const char *)bytes);
	return SONDE_OK;
}

static enum sonde_status take_lane(void *context, uint32_t lane, uint64_t low, uint64_t high,
				   struct sonde_error *err)
{
	struct sink *sink = context;

	(void)err;
	assert_int_equal(lane, sink->result->lane_count);
	sink->result->lane_count++;
	if (lane < SCRIPT_LANES) {
		sink->result->lane_low[lane] = low;
		sink->result->lane_high[lane] = high;
	}
	return SONDE_OK;
}

static enum sonde_status take_note(void *context, enum unit_kind kind, uint64_t time_ns,
				   const struct shared_unit *unit, const char *text, size_t size,
				   struct sonde_error *err)
{
	struct sink *sink = context;

	(void)err;
	append(sink->result->notes, sizeof(sink->result->notes),
	       "note %d@%llu %llu %zu %.*s after %llu;", kind, (unsigned long long)time_ns,
	       (unsigned long long)unit->place, size, (int)size, text,
	       (unsigned long long)sink->lanes[0].count);
	return SONDE_OK;
}

void script_add(struct script *script, enum unit_kind kind, uint64_t time, uint64_t stack,
		uint64_t place, uint64_t function)
{
	assert_true(script->count < SCRIPT_UNITS);
	script->units[script->count++] = (struct shared_unit){
		.time = time,
		.stack = stack,
		.place = place,
		.word = (uint64_t)kind << UNIT_KIND_SHIFT | UINT64_C(7) << UNIT_LAP_SHIFT |
			function,
	};
}

void script_add_detail(struct script *script, const void *bytes, size_t size)
{
	struct shared_unit *unit = &script->units[script->count - 1];
	int is_entry = unit_is_entry((uint32_t)(unit->word >> UNIT_KIND_SHIFT));
	size_t units = shared_detail_units(is_entry, size);
	struct shared_detail detail = { .stack_size = (uint16_t)size, .units = (uint32_t)units };

	assert_true(script->count + units - 1 <= SCRIPT_UNITS);
	unit->word |= (uint64_t)UNIT_DETAIL << UNIT_KIND_SHIFT;
	memcpy(unit + 1, &detail, sizeof(detail));
	memcpy(unit + 2 + is_entry, bytes, size);
	script->count += units - 1;
}

void script_add_arguments(struct script *script, const void *bytes, size_t size)
{
	struct shared_unit *unit = &script->units[script->count - 1];
	size_t units = annotation_units(size);
	size_t head = size < ANNOTATION_HEAD ? size : ANNOTATION_HEAD;
	struct shared_detail detail = { .stack_size = (uint16_t)size, .units = (uint32_t)units };

	assert_true(script->count + units - 1 <= SCRIPT_UNITS);
	unit->word |= (uint64_t)UNIT_DETAIL << UNIT_KIND_SHIFT;
	memcpy(&detail, bytes, head);
	memcpy(unit + 1, &detail, sizeof(detail));
	memcpy(unit + 2, (const char *)bytes + head, size - head);
	script->count += units - 1;
}

void script_add_piece(struct script *script, uint64_t number, uint64_t before, const void *bytes,
		      size_t size)
{
	script_add(script, UNIT_PIECE, 0, number, before, 0);
	script_add_arguments(script, bytes, size);
}

void script_add_pieces(struct script *script, uint64_t number, uint64_t size)
{
	struct shared_detail detail = { .values = { number, size },
					.flags = SHARED_DETAIL_PIECES,
					.units = 2 };

	script->units[script->count - 1].word |= (uint64_t)UNIT_DETAIL << UNIT_KIND_SHIFT;
	memcpy(&script->units[script->count++], &detail, sizeof(detail));
}

void script_call(struct script *script, uint64_t time, uint64_t stack, char letter)
{
	script_add(script, UNIT_CALL, time, stack, HOOK(letter), FUNCTION(letter));
}

void script_call_inlined(struct script *script, uint64_t time, uint64_t stack, char letter,
			 uint64_t place)
{
	script_add(script, UNIT_CALL, time, stack, place, FUNCTION(letter));
}

void script_return(struct script *script, uint64_t time, uint64_t stack, char letter)
{
	script_add(script, UNIT_RETURN, time, stack, EXIT_HOOK(letter), FUNCTION(letter));
}

static size_t record_size(const struct shared_unit *unit, size_t left)
{
	const struct shared_detail *detail = (const struct shared_detail *)(unit + 1);

	if (!(unit->word >> UNIT_KIND_SHIFT & UNIT_DETAIL) || left < 2 || detail->units < 2 ||
	    detail->units > left)
		return 1;
	return detail->units;
}

static enum sonde_status run(const struct script *script, struct script_result *result, bool single)
{
	static const struct shared_module module = {
		.news = MODULE_LOADED,
		.base = 0x400000,
		.low = 0x401000,
		.high = 0x411000,
		.path = "/bin/x",
	};
	struct record_clock clock = { .multiplier = UINT64_C(1) << 32 };
	struct sink sink = { .result = result };
	struct calls_output output = {
		.context = &sink,
		.events = take_events,
		.details = take_details,
		.arguments = take_arguments,
		.site = find_site,
		.lane = take_lane,
		.zone = take_zone,
		.resource = take_resource,
		.note = take_note,
	};
	enum sonde_status status = SONDE_OK;
	struct load_map map;
	struct calls *calls;

	memset(result, 0, sizeof(*result));
	result->lane_count = 1;
	assert_int_equal(load_map_init(&map, 1, NULL), SONDE_OK);
	assert_int_equal(load_map_apply(&map, &module, NULL), SONDE_OK);
	assert_int_equal(calls_new(&calls, &script->options, &clock, &map,
				   script->stack_unknown ? 0 : STACK_LOW,
				   script->stack_unknown ? 0 : STACK_HIGH, &output, NULL),
			 SONDE_OK);
	if (script->reopen)
		status = calls_reopen(calls, script->reopen, script->reopen_count, 1, NULL);
	for (size_t at = 0; at < script->count && status == SONDE_OK;) {
		size_t left = script->count - at;
		size_t size = single ? record_size(&script->units[at], left) : left;

		status = calls_convert(calls, &script->units[at], size, NULL);
		at += size;
		if (status == SONDE_OK && (single || at == script->count))
			status = calls_flush(calls, NULL);
	}
	if (script->end && status == SONDE_OK)
		status = calls_end(calls, script->end == SCRIPT_IS_LEFT, NULL);
	result->counts = *calls_counts(calls);
	result->unknown_functions = map.unknown_count;
	calls_free(calls);
	load_map_release(&map);
	return status;
}

enum sonde_status script_try(const struct script *script, struct script_result *result)
{
	return run(script, result, false);
}

void script_run(const struct script *script, struct script_result *result)
{
	static struct script_result again;

	assert_int_equal(run(script, &again, true), SONDE_OK);
	assert_int_equal(run(script, result, false), SONDE_OK);
	for (size_t i = 0; i < SCRIPT_LANES; i++)
		assert_string_equal(result->lanes[i], again.lanes[i]);
	/* between details and notes the order differs: details come while a batch is gathered */
	assert_memory_equal(&result->counts, &again.counts, sizeof(again.counts));
}
