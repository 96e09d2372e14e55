/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison on a screen: the whole, then a table of rows, then what that means for a threshold. */
#include "cli/diff.h"
#include "cli/diff_screen.h"
#include "cli/human.h"
#include "cli/text.h"

/* Narrower screens have no room for a column of totals. */
#define WIDTH_FOR_TOTALS 100

static void put_side(struct cli *cli, const char *title, const char *const *paths, size_t count)
{
	cli_put_styled(cli, CLI_STYLE_BOLD, title);
	cli_put_escaped(&cli->out, paths[0]);
	if (count > 1) {
		sonde_buffer_put_text(&cli->out, count > 2 ? " ... " : " ");
		cli_put_escaped(&cli->out, paths[count - 1]);
		sonde_buffer_put_format(&cli->out, " (%zu runs)", count);
	}
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_speed(struct cli *cli, const struct diff *diff)
{
	const struct compare_speed *speed = &diff->comparison.speed;

	if (!speed->known)
		return;
	cli_put_styled(cli, CLI_STYLE_BOLD, "speed   ");
	diff_put_percent(&cli->out, speed->change);
	sonde_buffer_put_text(&cli->out, " in all functions alike (p ");
	diff_put_p(&cli->out, speed->p);
	sonde_buffer_put_text(&cli->out, "), taken out of the rows below\n");
}

/* The name of a metric without its unit, as the title of a line. */
static void put_metric_title(struct cli *cli, const struct diff *diff)
{
	const char *name = diff->comparison.metric_name;
	struct sonde_buffer title = { 0 };
	size_t i;

	if (diff->comparison.metric->ns > 0)
		name = "time";
	for (i = 0; name[i] && name[i] != ' ' && name[i] != '('; i++)
		sonde_buffer_put_char(&title, name[i]);
	sonde_buffer_put_char(&title, ' ');
	while (title.size < 8 && !title.failed)
		sonde_buffer_put_char(&title, ' ');
	if (sonde_buffer_text(&title)) {
		struct sonde_buffer escaped = { 0 };

		cli_put_escaped(&escaped, title.data);
		if (sonde_buffer_text(&escaped))
			cli_put_styled(cli, CLI_STYLE_BOLD, escaped.data);
		sonde_buffer_release(&escaped);
	}
	sonde_buffer_release(&title);
}

void diff_put_head(struct cli *cli, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	const struct compare_row *all = &comparison->all;
	enum cli_style style = CLI_STYLE_NONE;
	struct sonde_buffer verdict = { 0 };

	put_side(cli, "before  ", diff->paths, comparison->before_count);
	put_side(cli, "after   ", diff->paths + comparison->before_count,
		 comparison->run_count - comparison->before_count);
	put_metric_title(cli, diff);
	if (!comparison->can_test || all->significant)
		style = all->self.after > all->self.before ? CLI_STYLE_RED :
			all->self.after < all->self.before ? CLI_STYLE_GREEN :
							     CLI_STYLE_NONE;
	diff_put_verdict(&verdict, diff);
	if (sonde_buffer_text(&verdict))
		cli_put_styled(cli, style, verdict.data);
	sonde_buffer_release(&verdict);
	sonde_buffer_put_char(&cli->out, '\n');
	if (!diff_is_of_calls(diff) && (all->calls.before != 0 || all->calls.after != 0)) {
		cli_put_styled(cli, CLI_STYLE_BOLD, "calls   ");
		diff_put_calls(&cli->out, all, " -> ");
		if (all->calls.before == all->calls.after)
			sonde_buffer_put_text(&cli->out, ", as before");
		sonde_buffer_put_char(&cli->out, '\n');
	}
	put_speed(cli, diff);
}

/* "1 of 489 functions changed by more than chance", or what the table shows else. */
static void put_table_title(struct cli *cli, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	struct sonde_buffer *out = &cli->out;

	sonde_buffer_put_char(out, '\n');
	if (!comparison->can_test) {
		sonde_buffer_put_format(out,
					!diff->rows.count ? "No %s changed.\n" :
					diff_is_of_calls(diff) ?
							    "By %s, how often each was called:\n" :
							    "By %s, what each spent itself:\n",
					diff_noun(diff));
		return;
	}
	if (!comparison->significant_count)
		sonde_buffer_put_text(out, "None");
	else
		cli_put_count(out, comparison->significant_count);
	sonde_buffer_put_format(out, " of %zu %ss changed by more than chance%s\n",
				comparison->tested_count, diff_noun(diff),
				diff->rows.count ? ":" : ".");
}

static const struct cli_column columns[] = {
	{ .title = "CHANGE", .right = true }, { .title = "%", .right = true },
	{ .title = "BEFORE", .right = true }, { .title = "AFTER", .right = true },
	{ .title = "TOTAL", .right = true },  { .title = "CALLS", .right = true },
	{ .title = "P", .right = true },      { .title = "NAME", .shrinks = true },
};

static void put_row(struct cli_table *table, const struct diff *diff, const struct compare_row *row,
		    bool has_totals)
{
	char space[DIFF_NAME_SIZE];

	diff_put_value(&table->text, diff, row->self.after - row->self.before, true);
	cli_table_end_cell(table);
	diff_put_relative(&table->text, row, &row->self);
	cli_table_end_cell(table);
	diff_put_value(&table->text, diff, row->self.before, false);
	cli_table_end_cell(table);
	diff_put_value(&table->text, diff, row->self.after, false);
	cli_table_end_cell(table);
	if (has_totals)
		diff_put_value(&table->text, diff, row->total.after - row->total.before, true);
	cli_table_end_cell(table);
	if (!diff_is_of_calls(diff))
		diff_put_calls(&table->text, row, " -> ");
	cli_table_end_cell(table);
	if (row->tested)
		diff_put_p(&table->text, row->adjusted_p);
	cli_table_end_cell(table);
	cli_put_escaped(&table->text, diff_name(diff, row, space, sizeof(space)));
	cli_table_end_cell(table);
}

void diff_put_foot(struct cli *cli, const struct diff *diff, uint64_t left_out)
{
	const struct comparison *comparison = &diff->comparison;
	struct sonde_buffer line = { 0 };

	if (left_out) {
		cli_put_counted(&line, left_out, "more row");
		sonde_buffer_put_text(&line, " (--limit). ");
	}
	if (comparison->small_count && diff->options->least_share != 0 && !diff->options->tree) {
		sonde_buffer_put_text(&line, "Left out: ");
		cli_put_counted(&line, comparison->small_count, diff_noun(diff));
		sonde_buffer_put_format(&line, " with less than %.3g %% of the whole (--min). ",
					comparison->least_share * 100);
	}
	diff_put_method(&line, diff);
	if (!comparison->can_test && comparison->run_count > 2)
		sonde_buffer_put_text(&line, "Not tested: that needs two runs on each side.");
	if (line.size && sonde_buffer_text(&line)) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_put_wrapped(&cli->out, line.data, 0, cli_width(cli, 80), 0);
	}
	sonde_buffer_release(&line);
	if (!diff->asks_threshold)
		return;
	sonde_buffer_put_char(&cli->out, '\n');
	diff_put_threshold(&cli->out, diff, cli_put_escaped);
	sonde_buffer_put_char(&cli->out, '\n');
}

void diff_put_text(struct cli *cli, const struct diff *diff)
{
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	bool has_totals = false;
	size_t i, count = diff->rows.count < diff->row_limit ? diff->rows.count : diff->row_limit;

	if (!diff->comparison.metric) {
		sonde_buffer_put_text(&cli->out, "Nothing was recorded on either side.\n");
		return;
	}
	/* the calls of a function and all that it called tell nobody anything */
	has_totals = cli_width(cli, WIDTH_FOR_TOTALS) >= WIDTH_FOR_TOTALS &&
		     !diff_is_of_calls(diff);
	diff_put_head(cli, diff);
	put_table_title(cli, diff);
	if (count) {
		sonde_buffer_put_char(&cli->out, '\n');
		for (i = 0; i < count; i++)
			put_row(&table, diff, diff->rows.items[i], has_totals);
		cli_table_put(cli, &table, 2);
	}
	cli_table_release(&table);
	diff_put_foot(cli, diff, diff->rows.count - count);
}
