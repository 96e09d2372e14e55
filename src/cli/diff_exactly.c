/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde diff --exact`: whether two recordings have the same contexts, calls and values, and what not. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/diff.h"
#include "cli/human.h"
#include "cli/text.h"

#define USUAL_LIMIT 10

/* Outermost first: "main > work > helper", without the middle where it is long. */
#define MOST_NAMES 12
#define LABEL_SIZE 256

/* The path of a context, from its outer end, as one text. */
static void put_path(struct sonde_buffer *out, const struct cct *cct, uint32_t context)
{
	uint32_t path[MOST_NAMES], count = 0, i;
	char space[LABEL_SIZE];

	for (i = context; i && i != SONDE_NONE && count < MOST_NAMES; i = cct->contexts[i].parent)
		path[count++] = i;
	if (i && i != SONDE_NONE)
		sonde_buffer_put_text(out, "... > ");
	if (!count)
		sonde_buffer_put_text(out, "the root");
	while (count--) {
		sonde_buffer_put_text(out, sonde_context_label(cct->definitions,
							       &cct->contexts[path[count]], space,
							       sizeof(space)));
		if (count)
			sonde_buffer_put_text(out, " > ");
	}
}

static const struct cct_metric *metric_of(const struct cct *cct, const char *name)
{
	uint32_t metric = cct_find_metric(cct, name);

	return &cct->metrics[metric == SONDE_NONE ? 0 : metric];
}

/* What differs, without where. */
static void put_what(struct sonde_buffer *out, const struct compare_exactly *exactly,
		     const struct compare_difference *difference)
{
	const struct cct_metric *metric;
	int i;

	switch (difference->kind) {
	case COMPARE_CONTEXT_MISSING:
		sonde_buffer_put_text(out, difference->side ? "only before" : "only after");
		return;
	case COMPARE_METRIC_MISSING:
		sonde_buffer_put_format(out, "metric %s only %s", difference->metric,
					difference->side ? "before" : "after");
		return;
	case COMPARE_CALLS_DIFFER:
		sonde_buffer_put_text(out, "calls ");
		cli_put_count(out, (uint64_t)difference->values[0]);
		sonde_buffer_put_text(out, " -> ");
		cli_put_count(out, (uint64_t)difference->values[1]);
		if (difference->values[0] == difference->values[1])
			sonde_buffer_put_text(out, " (other exceptions or open calls)");
		return;
	case COMPARE_SELF_DIFFERS:
		break;
	}
	metric = metric_of(exactly->whole, difference->metric);
	sonde_buffer_put_format(out, "%s ", difference->metric);
	for (i = 0; i < 2; i++) {
		sonde_buffer_put_text(out, i ? " -> " : "");
		cli_put_metric_value(out, metric, difference->values[i]);
	}
}

static void put_differences(struct cli *cli, const struct compare_exactly *exactly)
{
	struct sonde_buffer text = { 0 };
	size_t i;

	for (i = 0; i < exactly->first.count; i++) {
		const struct compare_difference *difference = &exactly->first.items[i];

		sonde_buffer_clear(&text);
		put_what(&text, exactly, difference);
		if (difference->kind != COMPARE_METRIC_MISSING) {
			sonde_buffer_put_text(&text, ": ");
			put_path(&text, exactly->whole, difference->context);
		}
		sonde_buffer_put_text(&cli->out, "  ");
		if (sonde_buffer_text(&text))
			cli_put_escaped(&cli->out, text.data);
		sonde_buffer_put_char(&cli->out, '\n');
	}
	sonde_buffer_release(&text);
	if (exactly->count > exactly->first.count) {
		sonde_buffer_put_text(&cli->out, "  and ");
		cli_put_count(&cli->out, exactly->count - exactly->first.count);
		sonde_buffer_put_text(&cli->out, " more (--limit)\n");
	}
}

static void put_text(struct cli *cli, const char *const *paths,
		     const struct compare_exactly *exactly)
{
	uint64_t contexts = exactly->whole->context_count;

	if (!exactly->count && cli->common.quiet)
		return;
	cli_put_escaped(&cli->out, paths[0]);
	sonde_buffer_put_text(&cli->out, " and ");
	cli_put_escaped(&cli->out, paths[1]);
	if (!exactly->count) {
		sonde_buffer_put_text(&cli->out, " are equal: ");
		cli_put_counted(&cli->out, contexts ? contexts - 1 : 0, "context");
		sonde_buffer_put_text(&cli->out, " with the same calls and values\n");
		return;
	}
	sonde_buffer_put_text(&cli->out, " have ");
	cli_put_counted(&cli->out, exactly->count, "difference");
	sonde_buffer_put_text(&cli->out, ":\n");
	put_differences(cli, exactly);
}

static void put_json(struct cli *cli, const char *const *paths,
		     const struct compare_exactly *exactly)
{
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	size_t i;

	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "before", paths[0]);
	sonde_json_member_string(&json, "after", paths[1]);
	sonde_json_member_bool(&json, "equal", !exactly->count);
	sonde_json_member_u64(&json, "contexts", exactly->whole->context_count);
	sonde_json_member_u64(&json, "differences", exactly->count);
	sonde_json_key(&json, "first");
	sonde_json_array_begin(&json);
	for (i = 0; i < exactly->first.count; i++) {
		const struct compare_difference *difference = &exactly->first.items[i];

		sonde_json_object_begin_inline(&json);
		sonde_buffer_clear(&text);
		put_what(&text, exactly, difference);
		sonde_json_member_string(&json, "what", sonde_buffer_text(&text) ? text.data : "");
		sonde_buffer_clear(&text);
		put_path(&text, exactly->whole, difference->context);
		if (difference->kind != COMPARE_METRIC_MISSING)
			sonde_json_member_string(&json, "path",
						 sonde_buffer_text(&text) ? text.data : "");
		sonde_json_object_end(&json);
	}
	sonde_json_array_end(&json);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
	sonde_buffer_release(&text);
}

int diff_exactly(struct cli *cli, const struct diff_options *options, const char *const *paths,
		 const struct cct *const trees[2])
{
	size_t most = options->limit != UINT64_MAX ? options->limit : USUAL_LIMIT;
	struct compare_exactly exactly;
	struct sonde_error err = { 0 };
	int code;

	if (compare_exactly(&exactly, trees, most, &err) != SONDE_OK)
		return cli_fail(cli, &err);
	if (options->json)
		put_json(cli, paths, &exactly);
	else
		put_text(cli, paths, &exactly);
	code = exactly.count ? CLI_FINDINGS : CLI_OK;
	compare_exactly_release(&exactly);
	return code;
}
