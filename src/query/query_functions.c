/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of queries that look at single values: paths of contexts, readable names, times and sizes,
 * patterns. None of them keeps anything but compiled patterns, and each ends in bounded time.
 */
#include "query/query_functions.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "query/query.h"
#include "query/query_tables.h"
#include "symbols/symbols.h"

/* A path that is longer is an error: of 100,000 calls with long names it would fill the memory. */
#define LONGEST_PATH ((size_t)16 << 20)

/*
 * What a pattern may cost. It is compiled with everything repeated as often as it says, and counts multiply
 * each other; matching may take time and memory by the parts it has then, for each character of a text.
 */
#define LONGEST_PATTERN 1000
#define MOST_PARTS 16384
#define MOST_PARTS_IN_TEXT ((size_t)1 << 26)

static const struct query_function functions[] = {
	{ "stack", "stack(context [, separator [, recording]])",
	  "the functions on the way to a context, outermost first: 'main;parse;read'; of the first "
	  "recording, or of the one named: stack(id, ';', 'b')" },
	{ "percentile", "percentile(value, p)",
	  "aggregate: the value that p percent (0 to 100) do not exceed; exact up to a million "
	  "values a group, beyond that within half a percent" },
	{ "median", "median(value)", "aggregate: percentile(value, 50)" },
	{ "p50", "p50(value)", "aggregate: the same" },
	{ "p90", "p90(value)", "aggregate: percentile(value, 90)" },
	{ "p95", "p95(value)", "aggregate: percentile(value, 95)" },
	{ "p99", "p99(value)", "aggregate: percentile(value, 99)" },
	{ "p999", "p999(value)", "aggregate: percentile(value, 99.9)" },
	{ "stddev", "stddev(value)", "aggregate: standard deviation of a sample" },
	{ "demangle", "demangle(name)",
	  "the readable form of a linker's name; others as they are" },
	{ "human_time", "human_time(ns)", "'1.234 ms' of nanoseconds" },
	{ "human_size", "human_size(bytes)", "'1.5 MB' of bytes" },
	{ "human_count", "human_count(number)", "'12,345,678'" },
	{ "regexp", "text REGEXP pattern",
	  "whether an extended regular expression of POSIX matches some of a text; also "
	  "regexp(pattern, text)" },
};

const struct query_function *query_function_at(size_t index)
{
	return index < sizeof(functions) / sizeof(functions[0]) ? &functions[index] : NULL;
}

/* Hands the text of a buffer to SQLite, which copies it, and releases it. */
static void give_text(sqlite3_context *context, struct sonde_buffer *text)
{
	query_result_buffer(context, text);
	sonde_buffer_release(text);
}

typedef void put_number(struct sonde_buffer *out, uint64_t value);

static void put_time(struct sonde_buffer *out, uint64_t ns)
{
	sonde_put_duration(out, ns, " ");
}

/* A number, made readable by `put`; NULL and what is no number stay as they are. */
static void human(sqlite3_context *context, sqlite3_value *value, put_number *put)
{
	struct sonde_buffer text = { 0 };
	double number;

	if (sqlite3_value_numeric_type(value) == SQLITE_INTEGER) {
		int64_t whole = sqlite3_value_int64(value);

		if (whole < 0)
			sonde_buffer_put_char(&text, '-');
		put(&text, whole < 0 ? -(uint64_t)whole : (uint64_t)whole);
		give_text(context, &text);
		return;
	}
	number = sqlite3_value_double(value);
	if (sqlite3_value_numeric_type(value) != SQLITE_FLOAT || !(fabs(number) < 0x1p63)) {
		sqlite3_result_value(context, value);
		return;
	}
	if (number <= -0.5)
		sonde_buffer_put_char(&text, '-');
	put(&text, (uint64_t)llround(fabs(number)));
	give_text(context, &text);
}

static void human_time(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	human(context, values[0], put_time);
}

static void human_size(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	human(context, values[0], sonde_put_size);
}

static void human_count(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	human(context, values[0], sonde_put_count);
}

static void demangle(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	char *readable = name ? sonde_demangle(name) : NULL;

	(void)count;
	if (readable)
		sqlite3_result_text(context, readable, -1, free);
	else
		sqlite3_result_value(context, values[0]);
}

/* The larger number of "{3,7}"; `text` is behind the bracket. */
static unsigned long bound_of(const char *text)
{
	char *end;
	unsigned long low = strtoul(text, &end, 10), high = 0;

	if (*end == ',')
		high = strtoul(end + 1, NULL, 10);
	return high > low ? high : low;
}

/* How many parts a pattern has at most, as if all its counts were nested; more than MOST_PARTS: too many. */
static size_t count_parts(const char *pattern)
{
	size_t parts = strlen(pattern) + 1;

	for (; *pattern; pattern++) {
		unsigned long bound;

		if (*pattern == '\\' && pattern[1]) {
			pattern++;
			continue;
		}
		if (*pattern != '{')
			continue;
		bound = bound_of(pattern + 1);
		if (bound > MOST_PARTS)
			return bound;
		parts *= bound ? bound : 1;
		if (parts > MOST_PARTS)
			return parts;
	}
	return parts;
}

/* Back references take time beyond all bounds; nothing else in these patterns does. */
static bool has_back_reference(const char *pattern)
{
	for (; *pattern; pattern++)
		if (*pattern == '\\' && *++pattern >= '1' && *pattern <= '9')
			return true;
		else if (!*pattern)
			break;
	return false;
}

struct pattern {
	regex_t compiled;
	size_t parts;
};

static void free_pattern(void *data)
{
	struct pattern *pattern = data;

	regfree(&pattern->compiled);
	free(pattern);
}

/* NULL after the reason was given to SQLite. */
static struct pattern *compile(sqlite3_context *context, const char *text)
{
	struct pattern *pattern;
	char reason[160];
	int code;

	if (strlen(text) > LONGEST_PATTERN || count_parts(text) > MOST_PARTS) {
		sqlite3_result_error(context, "REGEXP: the pattern is too large", -1);
		return NULL;
	}
	if (has_back_reference(text)) {
		sqlite3_result_error(context, "REGEXP: back references are not supported", -1);
		return NULL;
	}
	pattern = calloc(1, sizeof(*pattern));
	if (!pattern) {
		sqlite3_result_error_nomem(context);
		return NULL;
	}
	pattern->parts = count_parts(text);
	code = regcomp(&pattern->compiled, text, REG_EXTENDED | REG_NOSUB);
	if (!code)
		return pattern;
	memcpy(reason, "REGEXP: ", 8);
	regerror(code, &pattern->compiled, reason + 8, sizeof(reason) - 8);
	sqlite3_result_error(context, reason, -1);
	free(pattern);
	return NULL;
}

static void regexp(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct pattern *pattern = sqlite3_get_auxdata(context, 0);
	const char *wanted = (const char *)sqlite3_value_text(values[0]);
	const char *text = (const char *)sqlite3_value_text(values[1]);
	int code;

	(void)count;
	if (!wanted || !text)
		return; /* NULL matches nothing and everything */
	if (!pattern) {
		pattern = compile(context, wanted);
		if (!pattern)
			return;
		sqlite3_set_auxdata(context, 0, pattern, free_pattern);
		/* It may have been freed at once, where memory is short. */
		pattern = sqlite3_get_auxdata(context, 0);
	}
	if (pattern && strlen(text) > MOST_PARTS_IN_TEXT / pattern->parts) {
		sqlite3_result_error(context, "REGEXP: the text is too large for this pattern", -1);
		return;
	}
	code = pattern ? regexec(&pattern->compiled, text, 0, NULL, 0) : REG_ESPACE;
	if (code == REG_ESPACE)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_int(context, !code);
}

/*
 * Whether a context is shown on the way to another: functions, and of what has no names the addresses that
 * are called from. Loops and lines are where a path ends, if at all.
 */
static bool is_on_path(const struct sonde_context *context)
{
	return context->kind == SONDE_CONTEXT_FUNCTION ||
	       (context->kind == SONDE_CONTEXT_INSTRUCTION &&
		context->relation != SONDE_CONTEXT_ENCLOSED);
}

static void put_label(struct sonde_buffer *out, const struct query_tree *tree, uint32_t id)
{
	const struct sonde_context *context = &tree->contexts[id];
	const struct sonde_function *function =
		context->kind == SONDE_CONTEXT_FUNCTION ?
			sonde_definitions_function(tree->definitions, context->function) :
			NULL;
	char space[1024];

	if (function && function->name)
		sonde_buffer_put_text(out,
				      sonde_definitions_string(tree->definitions, function->name));
	else
		sonde_buffer_put_text(
			out, sonde_context_label(tree->definitions, context, space, sizeof(space)));
}

/* The contexts of a path, innermost first; NULL where memory failed. Free it. */
static uint32_t *path_to(const struct query_tree *tree, uint32_t id, size_t *length)
{
	uint32_t *path, at;

	*length = 1;
	for (at = tree->contexts[id].parent; at && at < tree->count; at = tree->contexts[at].parent)
		*length += is_on_path(&tree->contexts[at]);
	path = malloc(*length * sizeof(*path));
	if (!path)
		return NULL;
	path[0] = id;
	*length = 1;
	for (at = tree->contexts[id].parent; at && at < tree->count; at = tree->contexts[at].parent)
		if (is_on_path(&tree->contexts[at]))
			path[(*length)++] = at;
	return path;
}

static void give_path(sqlite3_context *context, const struct query_tree *tree, uint32_t id,
		      const char *separator)
{
	struct sonde_buffer text = { 0 };
	size_t length, i;
	uint32_t *path = path_to(tree, id, &length);

	if (!path) {
		sqlite3_result_error_nomem(context);
		return;
	}
	for (i = length; i-- && text.size <= LONGEST_PATH;) {
		put_label(&text, tree, path[i]);
		if (i)
			sonde_buffer_put_text(&text, separator);
	}
	free(path);
	if (text.size > LONGEST_PATH) {
		sqlite3_result_error_toobig(context);
		sonde_buffer_release(&text);
		return;
	}
	give_text(context, &text);
}

static void stack(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct query *query = sqlite3_user_data(context);
	const char *separator = count > 1 ? (const char *)sqlite3_value_text(values[1]) : NULL;
	const char *schema = count > 2 ? (const char *)sqlite3_value_text(values[2]) : NULL;
	struct sonde_error err = { 0 };
	struct query_tree tree = { 0 };
	int64_t id;

	if (count < 1 || count > 3) {
		sqlite3_result_error(context,
				     "stack() takes a context, a separator and a recording", -1);
		return;
	}
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (query_tree(query, schema, &tree, &err) != SONDE_OK) {
		sqlite3_result_error(context, err.message, -1);
		return;
	}
	id = sqlite3_value_int64(values[0]);
	if (id >= 0 && id < tree.count)
		give_path(context, &tree, (uint32_t)id, separator ? separator : ";");
}

int query_add_functions(struct query *query, sqlite3 *connection)
{
	static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	static const struct {
		const char *name;
		int arguments;
		void (*run)(sqlite3_context *context, int count, sqlite3_value **values);
	} scalars[] = { { "stack", -1, stack },
			{ "demangle", 1, demangle },
			{ "human_time", 1, human_time },
			{ "human_size", 1, human_size },
			{ "human_count", 1, human_count },
			{ "regexp", 2, regexp } };
	int code = query_add_aggregates(connection);
	size_t i;

	for (i = 0; i < sizeof(scalars) / sizeof(scalars[0]) && code == SQLITE_OK; i++)
		code = sqlite3_create_function_v2(connection, scalars[i].name, scalars[i].arguments,
						  flags, query, scalars[i].run, NULL, NULL, NULL);
	return code;
}
