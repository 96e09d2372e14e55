/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as markdown: a summary and a table, for a comment on a pull request. */
#include "cli/diff.h"
#include "cli/human.h"
#include "cli/text.h"

/*
 * A name from a recording as code that nothing in it can end: what markdown or HTML could take for
 * its own is written as a number.
 */
static void put_code(struct sonde_buffer *out, const char *text)
{
	struct sonde_buffer escaped = { 0 };
	size_t i;

	cli_put_escaped(&escaped, text);
	out->failed |= escaped.failed;
	sonde_buffer_put_text(out, "<code>");
	for (i = 0; i < escaped.size; i++) {
		if (strchr("&<>|*_`[]\\~#!@\"'{}$", escaped.data[i]))
			sonde_buffer_put_format(out, "&#%u;", (unsigned int)escaped.data[i]);
		else
			sonde_buffer_put_char(out, escaped.data[i]);
	}
	sonde_buffer_put_text(out, "</code>");
	sonde_buffer_release(&escaped);
}

static void put_rows(struct cli *cli, const struct diff *diff, size_t count)
{
	struct sonde_buffer *out = &cli->out;
	bool has_calls = diff->comparison.has_calls && !diff_is_of_calls(diff);
	bool tested = diff->comparison.can_test;
	char space[DIFF_NAME_SIZE];
	size_t i;

	sonde_buffer_put_format(out, "| %s | before | after | change | %% |%s%s\n", diff_noun(diff),
				has_calls ? " calls |" : "", tested ? " p |" : "");
	sonde_buffer_put_format(out, "|---|--:|--:|--:|--:|%s%s\n", has_calls ? "--:|" : "",
				tested ? "--:|" : "");
	for (i = 0; i < count; i++) {
		const struct compare_row *row = diff->rows.items[i];

		sonde_buffer_put_text(out, "| ");
		put_code(out, diff_name(diff, row, space, sizeof(space)));
		sonde_buffer_put_text(out, " | ");
		diff_put_value(out, diff, row->self.before, false);
		sonde_buffer_put_text(out, " | ");
		diff_put_value(out, diff, row->self.after, false);
		sonde_buffer_put_text(out, " | ");
		diff_put_value(out, diff, row->self.after - row->self.before, true);
		sonde_buffer_put_text(out, " | ");
		diff_put_relative(out, row, &row->self);
		sonde_buffer_put_text(out, " |");
		if (has_calls) {
			sonde_buffer_put_char(out, ' ');
			diff_put_calls(out, row, " → ");
			sonde_buffer_put_text(out, " |");
		}
		if (tested) {
			sonde_buffer_put_char(out, ' ');
			diff_put_p(out, row->adjusted_p);
			sonde_buffer_put_text(out, " |");
		}
		sonde_buffer_put_char(out, '\n');
		cli_flush_when_full(cli);
	}
}

static void put_summary(struct sonde_buffer *out, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	size_t after_count = comparison->run_count - comparison->before_count;

	sonde_buffer_put_text(out, "**");
	diff_put_verdict(out, diff);
	sonde_buffer_put_text(out, "** of ");
	put_code(out, comparison->metric_name);
	if (comparison->run_count > 2)
		sonde_buffer_put_format(out, ", mean of %zu against %zu runs",
					comparison->before_count, after_count);
	sonde_buffer_put_text(out, ". ");
	if (comparison->can_test && comparison->significant_count)
		cli_put_count(out, comparison->significant_count);
	else if (comparison->can_test)
		sonde_buffer_put_text(out, "None");
	if (comparison->can_test)
		sonde_buffer_put_format(out, " of %zu %ss changed by more than chance.",
					comparison->tested_count, diff_noun(diff));
	sonde_buffer_put_char(out, '\n');
}

void diff_put_markdown(struct cli *cli, const struct diff *diff)
{
	struct sonde_buffer *out = &cli->out;
	size_t count = diff->rows.count < diff->row_limit ? diff->rows.count : diff->row_limit;

	if (!diff->comparison.metric) {
		sonde_buffer_put_text(out, "Nothing was recorded on either side.\n");
		return;
	}
	put_summary(out, diff);
	if (diff->asks_threshold) {
		sonde_buffer_put_text(out,
				      diff->excesses.count ? "\n:x: " : "\n:white_check_mark: ");
		diff_put_threshold(out, diff, put_code);
		sonde_buffer_put_char(out, '\n');
	}
	if (count) {
		sonde_buffer_put_char(out, '\n');
		put_rows(cli, diff, count);
	}
	if (diff->rows.count > count) {
		sonde_buffer_put_text(out, "\nAnd ");
		cli_put_counted(out, diff->rows.count - count, "more row");
		sonde_buffer_put_text(out, ".\n");
	}
	if (!diff->comparison.can_test)
		return;
	sonde_buffer_put_text(out, "\n<sub>");
	diff_put_method(out, diff);
	if (diff->comparison.speed.known) {
		sonde_buffer_put_text(out, " Taken out of the rows: ");
		diff_put_percent(out, diff->comparison.speed.change);
		sonde_buffer_put_text(out, " in all functions alike.");
	}
	sonde_buffer_put_text(out, "</sub>\n");
}
