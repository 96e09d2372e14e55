/* SPDX-License-Identifier: Apache-2.0 */
/* Queries over recordings in memory, and their rows as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/vec.h"
#include "memory_recording.h"
#include "query_fixture.h"

static void add_extras(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_event event = memory_event(SONDE_EVENT_INSTANT, 400, 0, 0);

	event.detail = memory_add_arguments(recording, track, 0, "\x07\0\0\0\x02\0\0\0hi\0\0", 12);
	memory_add_event(recording, track, event);
	event = memory_event(SONDE_EVENT_COUNTER, 401, 1, 0);
	sonde_event_set_value(&event, 2.5);
	memory_add_event(recording, track, event);
	event = memory_event(SONDE_EVENT_FLOW_BEGIN, 402, 1, 0);
	event.extra = 77;
	memory_add_event(recording, track, event);
	event = memory_event(SONDE_EVENT_CALL, 403, 1, 1);
	event.detail = memory_add_detail(recording, track, 1);
	memory_add_event(recording, track, event);
	/* the return of this one is lost, and one without a call follows */
	memory_add_event(recording, track, memory_event(SONDE_EVENT_CALL, 404, 2, 2));
	memory_add_event(recording, track, memory_event(SONDE_EVENT_CALL, 405, 3, 2));
	memory_add_event(recording, track, memory_event(SONDE_EVENT_RETURN, 406, 3, 2));
	memory_add_event(recording, track, memory_event(SONDE_EVENT_RETURN, 407, 0, 9));
	memory_add_event(recording, track, memory_event(SONDE_EVENT_CALL, 408, 2, 2));
	memory_add_event(recording, track, memory_event(SONDE_EVENT_RETURN, 410, 1, 1));
}

struct sonde_recording *query_calls_new(void)
{
	static const char *const names[] = { "main", "work", "work", "x\"'<;" };
	struct sonde_recording *recording = memory_recording_new(7);
	uint32_t process = memory_add_process(recording, "program");
	uint64_t random = 5;

	memory_add_event_type(recording, "typed", "uint32 n, utf8 s");
	memory_add_event_type(recording, "plain", "");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		memory_add_function(recording, process, names[i]);
	for (uint32_t track = 0; track < 3; track++) {
		memory_add_track(recording, process, track ? "" : "first");
		memory_add_calls(recording, track, 150, 0, 4, true, &random);
		add_extras(recording, track);
	}
	/* open to the end */
	memory_add_event(recording, 2, memory_event(SONDE_EVENT_CALL, 420, 0, 1));
	memory_add_event(recording, 2, memory_event(SONDE_EVENT_CALL, 425, 1, 2));
	memory_add_event(recording, 2, memory_event(SONDE_EVENT_INSTANT, 430, 1, 0));
	return recording;
}

static void add_values(struct sonde_recording *recording, uint32_t track, double factor,
		       bool only_point)
{
	static const double point[] = { 0, 0, 1, 2, 0, 4 };
	static const double execution[] = { 7, 7, 3, 2, 4, 4 };

	for (uint32_t i = 0; i < 6; i++) {
		if (point[i])
			memory_add_value(recording, track, i, 0, point[i] * factor);
		if (!only_point)
			memory_add_value(recording, track, i, 1, execution[i] * factor);
	}
}

struct sonde_recording *query_profile_new(bool only_point)
{
	struct sonde_recording *recording = memory_recording_new(2);
	uint32_t process = memory_add_process(recording, "program");
	uint32_t entry, main_context, leaf;

	memory_add_function(recording, process, "main");
	memory_add_function(recording, process, "leaf");
	memory_add_track(recording, process, "one");
	memory_add_track(recording, process, "two");
	/* 0 root, 1 entry, 2 main, 3 its line, 4 leaf, 5 its loop */
	entry = memory_add_context(recording, 0, SONDE_CONTEXT_ENTRY, SONDE_CONTEXT_CALLED,
				   SONDE_NONE);
	main_context = memory_add_context(recording, entry, SONDE_CONTEXT_FUNCTION,
					  SONDE_CONTEXT_CALLED, 0);
	memory_add_context(recording, main_context, SONDE_CONTEXT_LINE, SONDE_CONTEXT_ENCLOSED,
			   SONDE_NONE);
	leaf = memory_add_context(recording, entry, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
				  1);
	memory_add_context(recording, leaf, SONDE_CONTEXT_LOOP, SONDE_CONTEXT_ENCLOSED, SONDE_NONE);
	memory_add_metric(recording, "cycles", "point", "");
	if (!only_point) {
		memory_add_metric(recording, "cycles", "execution", "");
		memory_add_metric(recording, "cycles", "execution", "sum");
	}
	add_values(recording, 0, 1, only_point);
	add_values(recording, 1, 10, only_point);
	for (uint32_t i = 0; i < 6 && !only_point; i++)
		memory_add_value(recording, SONDE_NONE, i, 2, 100 + i);
	for (uint32_t i = 0; i < 30; i++)
		memory_add_sample(recording, i % 2, 100 + i, i % 6);
	return recording;
}

struct query *query_over(struct sonde_recording *recording)
{
	struct query_source source = { .schema = "a", .recording = recording };
	struct query_options options = { .threads = 1 };
	struct sonde_error err = { 0 };
	struct query *query;

	if (query_open(&source, 1, &options, &query, &err))
		fail_msg("%s", err.message);
	return query;
}

static void put_row(struct sonde_buffer *out, sqlite3_stmt *statement)
{
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *text = (const char *)sqlite3_column_text(statement, i);

		sonde_buffer_put_text(out, i ? "|" : "");
		sonde_buffer_put_text(out, text ? text : "NULL");
	}
	sonde_buffer_put_char(out, '\n');
}

int query_run(struct query *query, const char *sql, struct sonde_buffer *out)
{
	sqlite3_stmt *statement = NULL;
	int code;

	query_begin(query);
	code = sqlite3_prepare_v2(query_connection(query), sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW && out)
			put_row(out, statement);
	}
	sqlite3_finalize(statement);
	return code;
}

static void run_well(struct query *query, const char *sql, struct sonde_buffer *out)
{
	int code = query_run(query, sql, out);

	if (code != SQLITE_DONE)
		fail_msg("%s: code %d, %s", sql, code, sqlite3_errmsg(query_connection(query)));
	assert_non_null(sonde_buffer_text(out));
}

void query_expect(struct query *query, const char *sql, const char *rows)
{
	struct sonde_buffer out = { 0 };

	run_well(query, sql, &out);
	if (strcmp(sonde_buffer_text(&out), rows) != 0)
		fail_msg("%s\nexpected\n%s\nfound\n%s", sql, rows, sonde_buffer_text(&out));
	sonde_buffer_release(&out);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text in order, each ended by NUL in place. Free them. */
static char **sorted_lines(struct sonde_buffer *text, size_t *count)
{
	SONDE_VEC(char *) lines = { 0 };
	char *place = text->data;

	while (*place) {
		char *end = strchr(place, '\n');
		char **line = sonde_vec_push(&lines);

		if (!line)
			abort();
		*end = '\0';
		*line = place;
		place = end + 1;
	}
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), compare_texts);
	*count = lines.count;
	return lines.items;
}

size_t query_expect_same(struct query *query, const char *first, const char *second)
{
	struct sonde_buffer texts[2] = { 0 };
	char **lines[2];
	size_t counts[2];

	run_well(query, first, &texts[0]);
	run_well(query, second, &texts[1]);
	lines[0] = sorted_lines(&texts[0], &counts[0]);
	lines[1] = sorted_lines(&texts[1], &counts[1]);
	for (size_t i = 0; i < counts[0] && i < counts[1]; i++) {
		if (strcmp(lines[0][i], lines[1][i]) != 0)
			fail_msg("%s\n%s\ndiffer: %s, %s", first, second, lines[0][i], lines[1][i]);
	}
	if (counts[0] != counts[1])
		fail_msg("%s\n%s\nhave %zu and %zu rows", first, second, counts[0], counts[1]);
	free(lines[0]);
	free(lines[1]);
	sonde_buffer_release(&texts[0]);
	sonde_buffer_release(&texts[1]);
	return counts[0];
}
