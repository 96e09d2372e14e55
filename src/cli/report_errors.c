/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong: exceptions by function, type and message, each with the way to its first one. */
#include <string.h>

#include "analyse/errors.h"
#include "cli/report.h"

static void add_columns(struct report_view *view)
{
	static const struct report_column columns[] = {
		{ "count", "COUNT", REPORT_COUNT, REPORT_ALWAYS, false, false },
		{ "failed_share", "FAILED%", REPORT_SHARE, REPORT_ALWAYS, true, false },
		{ "calls", "CALLS", REPORT_COUNT, REPORT_USUAL, false, false },
		{ "failed_calls", "FAILED", REPORT_COUNT, REPORT_FOR_PROGRAMS, false, false },
		{ "passed_on", "PASSED ON", REPORT_COUNT, REPORT_WIDE, false, false },
		{ "first_ns", "FIRST", REPORT_TIME, REPORT_FOR_PROGRAMS, false, true },
		{ "last_ns", "LAST", REPORT_TIME, REPORT_FOR_PROGRAMS, false, true },
		{ "track", "FIRST IN", REPORT_TEXT, REPORT_WIDE, false, true },
		{ "function", "FUNCTION", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "type", "TYPE", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "message", "MESSAGE", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "path", "PATH", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "stack", "STACK", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "name", "FUNCTION: EXCEPTION", REPORT_TEXT, REPORT_ALWAYS, false, true },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		report_add_column(view, columns[i]);
}

static void put_buffer(struct report_view *view, struct sonde_buffer *text)
{
	const char *ended = sonde_buffer_text(text);

	if (ended)
		report_put_text(view, ended);
	else
		view->failed = true;
	sonde_buffer_release(text);
}

/* The calls that led to the first of them, outermost first. */
static void put_path(struct report_view *view, const struct error_group *group)
{
	struct sonde_buffer text = { 0 };

	if (group->path_cut)
		sonde_buffer_put_text(&text, "... > ");
	for (uint32_t i = 0; i < group->path_count; i++)
		sonde_buffer_put_format(&text, "%s%s", i ? " > " : "", group->path[i]);
	put_buffer(view, &text);
}

static void put_name(struct report_view *view, const struct error_group *group)
{
	struct sonde_buffer text = { 0 };

	sonde_buffer_put_text(&text, group->function);
	if (*group->type)
		sonde_buffer_put_format(&text, ": %s", group->type);
	if (*group->message)
		sonde_buffer_put_format(&text, ": %s", group->message);
	if (group->is_rest)
		sonde_buffer_put_text(&text, " (all other messages)");
	put_buffer(view, &text);
}

static void put_group(struct report_view *view, const struct error_group *group, uint64_t all)
{
	report_begin_row(view, 0, SONDE_NONE, all ? (double)group->count / (double)all : 0);
	report_put_count(view, group->count);
	report_put_share(view, (double)group->failed_calls, (double)group->calls);
	report_put_count(view, group->calls);
	report_put_count(view, group->failed_calls);
	report_put_count(view, group->passed_on);
	report_put_time(view, group->first_ns);
	report_put_time(view, group->last_ns);
	report_put_text(view, group->track);
	report_put_text(view, group->function);
	report_put_text(view, group->type);
	report_put_text(view, group->message);
	put_path(view, group);
	report_put_text(view, group->stack);
	put_name(view, group);
}

bool report_find_errors(struct report_build *build, struct sonde_recording *recording,
			const struct sonde_run_options *options)
{
	struct report_view *view = build->view;
	struct errors errors = { 0 };

	if (errors_find(&errors, recording, options, &build->err))
		return false;
	view->name = "errors";
	view->noun = "error";
	view->title = "COUNT: calls that were left by this exception. FAILED%: of all calls of the "
		      "function, those that were left by any.";
	if (!view->columns.count)
		add_columns(view);
	for (uint32_t i = 0; i < errors.group_count; i++)
		if (report_wants(build, errors.groups[i].function))
			put_group(view, &errors.groups[i], errors.exceptions);
	build->summary->calls += errors.calls;
	build->summary->exceptions += errors.exceptions;
	errors_release(&errors);
	report_sort(view, 0);
	return true;
}
