/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path: the functions that it is made of, or its parts from track to track. */
#include <string.h>

#include "analyse/critical_path.h"
#include "cli/human.h"
#include "cli/report.h"

#define CALLS_SHOWN 4 /* the innermost of a part */

static void add_function_columns(struct report_view *view)
{
	static const struct report_column columns[] = {
		{ "path_share", "PATH%", REPORT_SHARE, REPORT_ALWAYS, true, false },
		{ "path_ns", "PATH", REPORT_TIME, REPORT_ALWAYS, false, false },
		{ "self_ns", "SELF", REPORT_TIME, REPORT_USUAL, false, false },
		{ "slack_ns", "SLACK", REPORT_TIME, REPORT_USUAL, false, false },
		{ "name", "FUNCTION", REPORT_TEXT, REPORT_ALWAYS, false, true },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		report_add_column(view, columns[i]);
}

/* What never waited has no number in that column. */
static void put_wait(struct report_view *view, uint64_t ns)
{
	if (ns)
		report_put_time(view, ns);
	else
		report_put_nothing(view);
}

static void put_functions(struct report_build *build, const struct critical_path *path,
			  const struct sonde_definitions *definitions)
{
	struct report_view *view = build->view;
	double whole = (double)(path->to_ns - path->from_ns);
	char space[SONDE_LABEL_SIZE];

	add_function_columns(view);
	for (size_t i = 0; i < path->function_count; i++) {
		const struct critical_function *function = &path->functions[i];
		const char *label = function->function == SONDE_NONE ?
					    "<outside of functions>" :
					    sonde_definitions_function_label(
						    definitions, function->function, space);

		if (!report_wants(build, label))
			continue;
		report_begin_row(view, 0, SONDE_NONE,
				 whole > 0 ? (double)function->path_ns / whole : 0);
		report_put_share(view, (double)function->path_ns, whole);
		report_put_time(view, function->path_ns);
		report_put_time(view, function->self_ns);
		put_wait(view, function->waited_ns);
		report_put_text(view, label);
	}
}

static void add_part_columns(struct report_view *view)
{
	static const struct report_column columns[] = {
		{ "from_ns", "FROM", REPORT_TIME, REPORT_FOR_PROGRAMS, false, true },
		{ "to_ns", "TO", REPORT_TIME, REPORT_FOR_PROGRAMS, false, true },
		{ "at_ns", "AT", REPORT_TIME, REPORT_ALWAYS, false, true },
		{ "duration_ns", "TIME", REPORT_TIME, REPORT_ALWAYS, false, false },
		{ "share", "PATH%", REPORT_SHARE, REPORT_USUAL, true, false },
		{ "track", "ID", REPORT_ID, REPORT_ALWAYS, false, true },
		{ "track_name", "TRACK", REPORT_TEXT, REPORT_USUAL, false, true },
		{ "reason", "AFTER", REPORT_TEXT, REPORT_ALWAYS, false, true },
		{ "certainty", "SURE", REPORT_TEXT, REPORT_USUAL, false, true },
		{ "by", "BY", REPORT_TEXT, REPORT_WIDE, false, true },
		{ "waited_ns", "WAITED", REPORT_TIME, REPORT_USUAL, false, false },
		{ "name_ns", "THERE", REPORT_TIME, REPORT_FOR_PROGRAMS, false, false },
		{ "name", "MOST IN", REPORT_TEXT, REPORT_ALWAYS, false, true },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		report_add_column(view, columns[i]);
}

/* What released the track: the name of a flow, or a function. */
static void put_by(struct report_view *view, const struct critical_segment *segment,
		   const struct sonde_definitions *definitions)
{
	const struct sonde_event_type *type;
	char space[SONDE_LABEL_SIZE];

	if (segment->by == SONDE_NONE) {
		report_put_nothing(view);
		return;
	}
	if (segment->reason != CRITICAL_FLOW) {
		report_put_text(view,
				sonde_definitions_function_label(definitions, segment->by, space));
		return;
	}
	type = sonde_definitions_event_type(definitions, segment->by);
	report_put_text(view, type ? sonde_definitions_string(definitions, type->name) : "");
}

static void put_part(struct report_view *view, const struct critical_path *path,
		     const struct critical_segment *segment,
		     const struct sonde_definitions *definitions)
{
	double whole = (double)(path->to_ns - path->from_ns);
	double part = (double)(segment->to_ns - segment->from_ns);
	struct sonde_buffer calls = { 0 };
	char space[SONDE_LABEL_SIZE];
	const char *text;

	report_begin_row(view, 0, SONDE_NONE, whole > 0 ? part / whole : 0);
	report_put_time(view, segment->from_ns);
	report_put_time(view, segment->to_ns);
	report_put_time(view, segment->from_ns - path->from_ns);
	report_put_time(view, segment->to_ns - segment->from_ns);
	report_put_share(view, part, whole);
	if (segment->track == SONDE_NONE) {
		report_put_nothing(view);
		report_put_nothing(view);
	} else {
		report_put_id(view, segment->track);
		report_put_text(view,
				sonde_definitions_track_label(definitions, segment->track, space));
	}
	report_put_borrowed(view, critical_reason_word(segment->reason));
	report_put_borrowed(view,
			    critical_certainty_word(critical_reason_certainty(segment->reason)));
	put_by(view, segment, definitions);
	put_wait(view, segment->waited_ns);
	report_put_time(view, segment->node_ns);
	if (segment->track == SONDE_NONE)
		sonde_buffer_put_text(&calls, "nothing was recorded");
	else
		critical_path_put_calls(path, definitions, segment->node, CALLS_SHOWN, &calls);
	text = sonde_buffer_text(&calls);
	if (text)
		report_put_text(view, text);
	else
		view->failed = true;
	sonde_buffer_release(&calls);
}

static void put_parts(struct report_view *view, const struct critical_path *path,
		      const struct sonde_definitions *definitions)
{
	add_part_columns(view);
	for (size_t i = 0; i < path->segment_count; i++)
		put_part(view, path, &path->segments[i], definitions);
}

/* "flow 2 (exact), join 1 (likely)" */
static void put_basis(struct sonde_buffer *out, const struct critical_path *path)
{
	bool has_any = false;

	for (int i = CRITICAL_START + 1; i < CRITICAL_REASONS; i++) {
		if (!path->counts[i])
			continue;
		sonde_buffer_put_format(out, "%s%s ", has_any ? ", " : " that follow by ",
					critical_reason_word(i));
		cli_put_count(out, path->counts[i]);
		sonde_buffer_put_format(out, " (%s)",
					critical_certainty_word(critical_reason_certainty(i)));
		has_any = true;
	}
}

static void put_title(struct sonde_buffer *out, const struct critical_path *path,
		      const struct sonde_definitions *definitions)
{
	uint64_t parts = path->segment_count + path->segments_cut;
	char space[SONDE_LABEL_SIZE];

	if (path->is_alone && path->segment_count) {
		sonde_buffer_put_text(
			out, "Nothing ties tracks together here (no flow between them, no "
			     "span, no wait that has a known name): each has a path of its own. "
			     "This is that of the longest, ");
		sonde_buffer_put_text(out, sonde_definitions_track_label(
						   definitions, path->segments[0].track, space));
		sonde_buffer_put_text(out, ", of ");
		cli_put_duration(out, path->to_ns - path->from_ns, " ");
		sonde_buffer_put_char(out, '.');
		return;
	}
	sonde_buffer_put_text(out, "The critical path takes ");
	cli_put_duration(out, path->to_ns - path->from_ns, " ");
	sonde_buffer_put_text(out, ", in ");
	cli_put_count(out, parts);
	sonde_buffer_put_text(out, parts == 1 ? " part" : " parts");
	put_basis(out, path);
	sonde_buffer_put_char(out, '.');
	if (path->segments_cut)
		sonde_buffer_put_text(out, " The first parts are too many to be kept.");
	if (path->gave_up)
		sonde_buffer_put_text(out, " Looking for who ended which wait took too long: there "
					   "may be more parts.");
}

static void put_names(struct report_view *view, const struct critical_path *path, bool parts,
		      struct sonde_buffer *title)
{
	const char *text;

	view->name = parts ? "critical-path-parts" : "critical-path";
	view->noun = parts ? "part" : "function";
	if (parts)
		sonde_buffer_put_text(
			title, " WAITED: how long the track stood still before it was its turn.");
	else
		sonde_buffer_put_text(title,
				      " PATH: own time on the path. SELF: own time anywhere.");
	if (!parts && !path->is_alone)
		sonde_buffer_put_text(title,
				      " SLACK: tracks stood in it until the path came to them.");
	text = sonde_buffer_text(title);
	view->title = text ? sonde_arena_copy_text(&view->texts, text, title->size) : NULL;
	if (!view->title)
		view->failed = true;
}

bool report_find_critical_path(struct report_build *build, struct sonde_recording *recording,
			       const struct sonde_run_options *options)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct critical_path path = { 0 };
	struct sonde_buffer title = { 0 };
	bool parts = build->options->parts;

	if (critical_path_find(&path, recording, &options->selection, options->progress,
			       &build->err))
		return false;
	put_title(&title, &path, definitions);
	put_names(build->view, &path, parts, &title);
	if (parts)
		put_parts(build->view, &path, definitions);
	else
		put_functions(build, &path, definitions);
	sonde_buffer_release(&title);
	critical_path_release(&path);
	return true;
}
