/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace JSON: times as text and back, exactly; scanning; recordings that go to a file and come back the
 * same; and files that are not as they should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/put.h"
#include "formats/chrome/chrome_scan.h"
#include "formats/chrome/chrome_write.h"
#include "memory_recording.h"
#include "model/arguments.h"
#include "scratch.h"

static void test_times_as_text(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "0.001" },
		{ 1000, "1" },
		{ 1500, "1.5" },
		{ 1010, "1.01" },
		{ 9999999, "9999.999" },
		{ 10000000, "10000" },
		{ UINT64_C(1) << 53, "9007199254740.992" },
		{ (UINT64_C(1) << 53) + 1, "9007199254740.993" },
		{ UINT64_MAX, "18446744073709551.615" },
	};
	struct chrome_time time = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct chrome_moment moment;
		char text[64];

		*chrome_put_time(&time, cases[i].ns, text) = '\0';
		assert_string_equal(text, cases[i].text);
		assert_true(chrome_moment_parse(text, strlen(text), &moment));
		assert_true(chrome_moment_ns(&moment) == cases[i].ns && !moment.is_bad);
	}
}

static void test_times_from_text(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "1.0005", 1001 },
		{ "1.00049999999", 1000 },
		{ "1e3", 1000000 },
		{ "1.5E-2", 15 },
		{ "0.0000001", 0 },
		{ "00012.5", 12500 },
		{ "123456789.123456", 123456789123 },
		{ "1e-400", 0 },
		{ "+2", 2000 },
		{ "1600000000000000.1234567", UINT64_C(1600000000000000123) },
	};
	static const char *const bad[] = { "1e40", "18446744073709551616", "1e999999999999" };
	static const char *const none[] = { "", "-", "abc", "1x", "1e", ".", "1.2.3" };
	struct chrome_moment moment;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(chrome_moment_parse(cases[i].text, strlen(cases[i].text), &moment));
		assert_false(moment.is_bad);
		assert_true(chrome_moment_ns(&moment) == cases[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(chrome_moment_parse(bad[i], strlen(bad[i]), &moment));
		assert_true(moment.is_bad);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(chrome_moment_parse(none[i], strlen(none[i]), &moment));
	assert_true(chrome_moment_parse("-3.5", 4, &moment) && moment.is_negative);
	/* spans stay inside of each other: what is added up is rounded, not its parts */
	assert_true(chrome_moment_parse("1.0004", 6, &moment));
	assert_true(chrome_moment_add(&moment, &moment) && chrome_moment_ns(&moment) == 2001);
}

static void test_doubles(void **state)
{
	static const char *const texts[] = { "0",
					     "-1.5",
					     "3.141592653589793",
					     "1e300",
					     "5e-324",
					     "0.1",
					     "123456789012345678901234567890",
					     "1.7976931348623157e308" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(chrome_double(texts[i], strlen(texts[i])) == strtod(texts[i], NULL));
	assert_true(isnan(chrome_double("x", 1)));
}

/* Cut anywhere, an event has ended, and is not taken for bad or for whole. */
static void test_scan_cut(void **state)
{
	static const char text[] =
		"{ \"ph\" : \"X\" ,\"ts\":1.25,\"dur\":\"2\",\"pid\":1,\"tid\":\"t\\\"\",\"x\":[{\"]\":1}],"
		"\"name\":\"a\\\\\",\"args\":{\"n\":-12,\"t\":true,\"z\":null,\"f\":1e3,\"s\":\"\"}}";
	struct chrome_event event = { 0 };
	const char *place;

	(void)state;
	for (size_t size = 1; size < sizeof(text) - 1; size++) {
		/* the end of an allocation, so that a look beyond it is seen */
		char *copy = malloc(size);

		memcpy(copy, text, size);
		place = copy;
		assert_int_equal(chrome_scan_event(&place, copy + size, &event), CHROME_SCAN_ENDED);
		free(copy);
	}
	place = text;
	assert_int_equal(chrome_scan_event(&place, text + sizeof(text) - 1, &event),
			 CHROME_SCAN_OK);
	assert_ptr_equal(place, text + sizeof(text) - 1);
	assert_int_equal(event.phase, 'X');
	assert_int_equal(event.argument_count, 5);
	assert_int_equal(event.argument_list[0].value.integer, -12);
	assert_int_equal(event.argument_list[3].value.kind, CHROME_KIND_FLOAT64);
	assert_true(event.name.has_escapes && event.name.length == 3);
	assert_true(chrome_moment_ns(&event.start) == 1250 && event.duration.ns == 2000);
}

/* Writes a recording; the bytes of the file. */
static void write_file(struct sonde_recording *source, const char *path, const char *style,
		       unsigned int threads, struct sonde_loss *loss)
{
	struct sonde_create_options create = {
		.format = "chrome", .style = style, .replace = true, .loss = loss
	};
	struct sonde_run_options options = { .threads = threads, .loss = loss };
	struct sonde_error err = { 0 };
	struct sonde_sink *sink;

	assert_int_equal(sonde_sink_create(path, &create, &sink, &err), SONDE_OK);
	if (sonde_pipeline_run(&source, 1, sink, &options, NULL, &err))
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
}

static struct sonde_recording *open_file(const char *path)
{
	struct sonde_recording *recording = NULL;
	struct sonde_error err = { 0 };

	if (sonde_recording_open(path, NULL, &recording, &err))
		fail_msg("%s", err.message);
	assert_string_equal(sonde_format_info(sonde_recording_format(recording))->name, "chrome");
	return recording;
}

static const char *label_of(const struct sonde_recording *recording,
			    const struct sonde_event *event, char space[SONDE_LABEL_SIZE])
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_event_type *type;

	if (sonde_event_has_function(event))
		return sonde_definitions_function_label(definitions, event->function, space);
	type = sonde_definitions_event_type(definitions, event->function);
	return sonde_definitions_string(definitions, type->name);
}

static void assert_same_detail(const struct sonde_batch *a, const struct sonde_event *one,
			       const struct sonde_batch *b, const struct sonde_event *other)
{
	struct sonde_detail first, second;
	struct sonde_error err;

	if (sonde_batch_detail(a, one, &first, &err) != SONDE_OK) {
		assert_int_not_equal(sonde_batch_detail(b, other, &second, &err), SONDE_OK);
		return;
	}
	assert_int_equal(sonde_batch_detail(b, other, &second, &err), SONDE_OK);
	assert_int_equal(second.kind, SONDE_DETAIL_ARGUMENTS);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.bytes, second.bytes, first.size);
}

/* All of a track is the same: kinds, times, depths, names, numbers, arguments. */
static void assert_same_track(struct sonde_recording *source, struct sonde_recording *again,
			      uint32_t track)
{
	struct sonde_cursor *a, *b;
	struct sonde_batch one, other = { 0 };
	struct sonde_error err;
	char space[2][SONDE_LABEL_SIZE];
	size_t used = 0;

	assert_int_equal(sonde_cursor_open(source, track, &a, &err), SONDE_OK);
	assert_int_equal(sonde_cursor_open(again, track, &b, &err), SONDE_OK);
	while (sonde_cursor_next(a, &one, &err) == SONDE_OK) {
		for (size_t i = 0; i < one.count; i++, used++) {
			const struct sonde_event *event = &one.events[i], *found;

			if (used == other.count) {
				assert_int_equal(sonde_cursor_next(b, &other, &err), SONDE_OK);
				used = 0;
			}
			found = &other.events[used];
			assert_int_equal(found->kind, event->kind);
			assert_true(found->time_ns == event->time_ns);
			assert_int_equal(found->depth, event->depth);
			assert_string_equal(label_of(again, found, space[1]),
					    label_of(source, event, space[0]));
			if (event->kind == SONDE_EVENT_COUNTER)
				assert_true(sonde_event_value(found) == sonde_event_value(event));
			else if (!sonde_event_has_function(event))
				assert_int_equal(found->extra, event->extra);
			assert_same_detail(&one, event, &other, found);
		}
	}
	assert_int_equal(used, other.count);
	assert_int_equal(sonde_cursor_next(b, &other, &err), SONDE_END);
	sonde_cursor_free(a);
	sonde_cursor_free(b);
}

static void assert_comes_back(struct sonde_recording *source, const char *style)
{
	const char *path = scratch_path("back.json");
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_recording *again;
	uint32_t tracks = sonde_definitions_track_count(sonde_recording_definitions(source));

	write_file(source, path, style, 2, loss);
	for (size_t i = 0; sonde_loss_at(loss, i); i++)
		assert_true(sonde_loss_at(loss, i)->only_elsewhere);
	again = open_file(path);
	assert_int_equal(sonde_diagnostics_count(sonde_recording_diagnostics(again), SONDE_WARNING),
			 0);
	assert_int_equal(sonde_definitions_track_count(sonde_recording_definitions(again)), tracks);
	for (uint32_t i = 0; i < tracks; i++)
		assert_same_track(source, again, i);
	sonde_recording_close(again);
	sonde_loss_free(loss);
	remove(path);
}

/* Names that are odd, times that are large, calls that are never left. */
static void test_odd_names(void **state)
{
	static const char *const names[] = {
		"",	      "quote\" back\\slash",	       "line\nbreak\ttab\x01",
		"a;b<c>&d'e", "\xE2\x82\xAC \xF0\x9F\x98\x80", "f(int, std::map<a, b>)"
	};
	struct sonde_recording *source = memory_recording_new(3);
	uint32_t process = memory_add_process(source, "p\"1");
	uint32_t track = memory_add_track(source, process, "t\n1");
	uint64_t time_ns = (UINT64_C(1) << 63) + 1;
	char *long_name = malloc(10001);

	(void)state;
	memset(long_name, 'n', 10000);
	long_name[10000] = '\0';
	memory_add_function(source, process, long_name);
	for (size_t i = 0; i < 6; i++)
		memory_add_function(source, process, names[i]);
	for (uint32_t i = 0; i < 7; i++)
		memory_add_event(source, track,
				 memory_event(SONDE_EVENT_CALL, time_ns++, i, i + 1));
	for (uint32_t i = 7; i-- > 2;)
		memory_add_event(source, track,
				 memory_event(i % 2 ? SONDE_EVENT_RETURN : SONDE_EVENT_EXCEPTION,
					      time_ns++, i, i + 1));
	assert_comes_back(source, NULL);
	assert_comes_back(source, "gzip");
	free(long_name);
	sonde_recording_close(source);
}

/* An event of a kind without arguments and one with them; calls are one inside of the other. */
static void add_pair(struct sonde_recording *source, enum sonde_event_kind kind, uint32_t plain,
		     uint32_t type, const struct sonde_buffer *values)
{
	static const uint32_t depths[][2] = { [SONDE_EVENT_CALL] = { 1, 2 },
					      [SONDE_EVENT_RETURN] = { 2, 1 },
					      [SONDE_EVENT_EXCEPTION] = { 1, 1 } };

	for (int with = 0; with < 2; with++) {
		struct sonde_event event = memory_event(kind, kind * 1000, with ? type : plain, 0);

		if (kind == SONDE_EVENT_EXCEPTION)
			memory_add_event(source, 0,
					 memory_event(SONDE_EVENT_CALL, kind * 1000, 0, 1));
		if (kind <= SONDE_EVENT_EXCEPTION) {
			event.function = 0;
			event.depth = depths[kind][with];
		}
		event.extra = kind > SONDE_EVENT_MARK ? 70 + kind : 0;
		if (with)
			event.detail =
				memory_add_arguments(source, 0, type, values->data, values->size);
		memory_add_event(source, 0, event);
	}
}

/* Every kind of event, with and without arguments of every type. */
static void test_kinds_and_arguments(void **state)
{
	static const char signature[] = "bool b, int8 i, uint64 u, float64 d, float32 f, utf8 t, "
					"any y, int16[] l, char c, wchar[] w, uint32 last";
	static const int16_t items[] = { -5, 0, 7 };
	static const uint16_t wide[] = { 'x', 0x20AC, 0xD83D, 0xDE00 };
	struct sonde_recording *source = memory_recording_new(2);
	uint32_t process = memory_add_process(source, "p");
	uint32_t track = memory_add_track(source, process, "t"), type, plain;
	struct sonde_buffer values = { 0 };
	struct sonde_event event;

	(void)state;
	memory_add_function(source, process, "f");
	type = memory_add_event_type(source, "typed", signature);
	plain = memory_add_event_type(source, "plain", "");
#define PUT(type_name, member, number)                                                             \
	sonde_arguments_put_number(&values, SONDE_ARGUMENT_##type_name,                            \
				   (union sonde_argument_value){ .member = (number) })
	PUT(BOOL, u64, 1);
	PUT(INT8, i64, -100);
	PUT(UINT64, u64, UINT64_MAX);
	PUT(FLOAT64, f64, 0.1);
	PUT(FLOAT32, f64, 0.25);
	sonde_arguments_put_text(&values, "a\"\\\n\xE2\x82\xAC", 7);
	sonde_arguments_put_text(&values, "{\"k\":[1,2]}", 11);
	sonde_arguments_put_array(&values, SONDE_ARGUMENT_INT16, items, 3);
	PUT(CHAR, u64, 0xE9);
	sonde_arguments_put_array(&values, SONDE_ARGUMENT_WCHAR, wide, 4);
	PUT(UINT32, u64, 4000000000u);
#undef PUT
	for (unsigned int kind = SONDE_EVENT_CALL; kind < SONDE_EVENT_COUNTER; kind++)
		add_pair(source, (enum sonde_event_kind)kind, plain, type, &values);
	add_pair(source, SONDE_EVENT_RANGE_BEGIN, plain, type, &values);
	add_pair(source, SONDE_EVENT_RANGE_END, plain, type, &values);
	event = memory_event(SONDE_EVENT_COUNTER, 20000, plain, 0);
	sonde_event_set_value(&event, -0.1);
	memory_add_event(source, track, event);
	assert_comes_back(source, NULL);
	assert_comes_back(source, "gzip");
	sonde_buffer_release(&values);
	sonde_recording_close(source);
}

static char *slurp(const char *path, size_t *size)
{
	struct sonde_mapped_file file;
	struct sonde_error err;
	char *copy;

	assert_int_equal(sonde_mapped_file_open(&file, path, &err), SONDE_OK);
	copy = malloc(file.size + 1);
	memcpy(copy, file.data, file.size);
	*size = file.size;
	sonde_mapped_file_release(&file);
	return copy;
}

/* Many tracks: the same bytes with one thread and with several; namesakes stay apart. */
static void test_threads(void **state)
{
	struct sonde_recording *source = memory_recording_new(64);
	uint32_t process = memory_add_process(source, "p"), other = memory_add_process(source, "q");
	uint64_t random = 7;
	size_t sizes[2];
	char *bytes[2];

	(void)state;
	for (int i = 0; i < 10; i++)
		memory_add_function(source, process, i % 2 ? "same" : "other");
	for (int i = 0; i < 10; i++)
		memory_add_function(source, other, "same");
	for (uint32_t i = 0; i < 40; i++)
		memory_add_track(source, i % 2 ? process : other, i % 3 ? "" : "named");
	for (uint32_t i = 0; i < 40; i++)
		memory_add_calls(source, i, 200 + 97 * (i % 7), i % 2 ? 0 : 10, 10, i % 5 != 0,
				 &random);
	for (int style = 0; style < 2; style++) {
		for (unsigned int i = 0; i < 2; i++) {
			write_file(source, scratch_path("threads.json"), style ? "gzip" : NULL,
				   i ? 4 : 1, NULL);
			bytes[i] = slurp(scratch_path("threads.json"), &sizes[i]);
		}
		assert_int_equal(sizes[0], sizes[1]);
		assert_memory_equal(bytes[0], bytes[1], sizes[0]);
		free(bytes[0]);
		free(bytes[1]);
	}
	assert_comes_back(source, NULL);
	sonde_recording_close(source);
}

static void test_empty(void **state)
{
	struct sonde_recording *source = memory_recording_new(2);

	(void)state;
	assert_comes_back(source, NULL);
	assert_comes_back(source, "gzip");
	sonde_recording_close(source);
}

/* How many events and findings of a type a text has. */
static void assert_text(const char *text, uint64_t events, const char *finding, bool is_known)
{
	struct sonde_recording *recording = NULL;
	const struct sonde_finding *found;
	struct sonde_error err = { 0 };
	bool has = false;

	put_file(scratch_path("text.json"), text);
	if (sonde_recording_open(scratch_path("text.json"), is_known ? NULL : "chrome", &recording,
				 &err))
		fail_msg("%s: %s", text, err.message);
	assert_int_equal(sonde_recording_event_count(recording), events);
	for (size_t i = 0;
	     (found = sonde_diagnostics_at(sonde_recording_diagnostics(recording), i)); i++) {
		if (finding)
			has |= !strcmp(found->type->id, finding);
		else
			fail_msg("%s: %s: %s", text, found->type->id, found->found);
	}
	if (finding && !has)
		fail_msg("%s: no %s", text, finding);
	sonde_recording_close(recording);
}

#define B(ts) "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"name\":\"f\"}"
#define E(ts) "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":" ts "}"

static void test_forms(void **state)
{
	(void)state;
	assert_text("[" B("1") "," E("2") "]", 2, NULL, true);
	assert_text("\n [ " B("1") ",\n" E("2") ",\n", 2, NULL, true);
	assert_text("\xEF\xBB\xBF{\"traceEvents\":[" B("1") "," E("2") "]}", 2, NULL, true);
	assert_text(B("1") "\n" E("2") "\n", 2, NULL, true);
	assert_text("{\"metadata\":{\"ph\":1},\"traceEvents\":[]}", 0, NULL, true);
	assert_text("{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[" B("1") "," E(
			    "2") "]}",
		    2, NULL, true);
}

static void test_damage(void **state)
{
	(void)state;
	assert_text("[" B("1") ",{\"ph\":\"B\",oops},\n" E("2") "]", 2, "exchange-record", true);
	assert_text("[" B("1") ",{\"ph\":\"B\",\"ts\":1 \n" B("2") "," E("3") "," E("4") "]", 4,
		    "exchange-record", true);
	assert_text("[" B("1") "," E("2") ",{\"ph\":\"B\",\"na", 2, "exchange-truncated", true);
	/* a bracket that is never closed costs its own event only */
	assert_text("[" B("1") ",{\"ph\":\"i\",\"args\":{\"a\":[1,\n" E("2") "]", 2,
		    "exchange-truncated", true);
	assert_text("[" B("1") ",{\"ph\":\"i\",\"args\":{\"a\":[1},\n" E("2") "]", 2,
		    "exchange-record", true);
	assert_text("{\"traceEvents\":[" B("1") "," E("2"), 2, "exchange-truncated", true);
	assert_text("{\"traceEvents\":7}", 0, "exchange-record", true);
	assert_text("[" B("\"x\"") "," E("2") "]", 0, "exchange-time", true);
	assert_text("[" B("-1") "," E("2") "]", 2, "exchange-time", true);
	assert_text("[" E("1") "]", 0, "exchange-lone-end", true);
	assert_text("[{\"ph\":\"O\",\"ts\":1}]", 0, "exchange-unknown", true);
	assert_text("[]", 0, NULL, false);
}

/* Other JSON is not taken for this. */
static void test_others(void **state)
{
	static const char *const others[] = {
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[]}",
		"{\"resourceSpans\":[{\"ph\":\"X\"}]}",
		"{\"meta\":{\"version\":27},\"threads\":[],\"libs\":[]}",
		"{\"type\":\"wtf\",\"events\":[{\"ph\":1}]}",
		"[1,2,3]",
		"[{\"name\":\"x\"},{\"ph\":\"X\"}]",
		"{}",
		"text",
	};
	struct sonde_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct sonde_format *format = NULL;

		put_file(scratch_path("other.json"), others[i]);
		if (sonde_format_detect(scratch_path("other.json"), &format, &err) == SONDE_OK)
			assert_string_not_equal(sonde_format_info(format)->name, "chrome");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_as_text), cmocka_unit_test(test_times_from_text),
		cmocka_unit_test(test_doubles),	      cmocka_unit_test(test_scan_cut),
		cmocka_unit_test(test_odd_names),     cmocka_unit_test(test_kinds_and_arguments),
		cmocka_unit_test(test_threads),	      cmocka_unit_test(test_empty),
		cmocka_unit_test(test_forms),	      cmocka_unit_test(test_damage),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
