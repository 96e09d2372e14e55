/* SPDX-License-Identifier: Apache-2.0 */
/* What all pictures of a flame graph have in common: names, colours, and the words about it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "cli/analysis.h"
#include "cli/flame.h"
#include "cli/human.h"
#include "cli/text.h"

const char *flame_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *flame_label_name(const struct flame *flame, uint32_t label,
			     char space[FLAME_NAME_SPACE])
{
	return flame_context_name(flame->cct, flame->labels.items[label].context, space,
				  FLAME_NAME_SPACE);
}

const char *flame_module_name(const struct flame *flame, uint32_t label)
{
	const struct sonde_definitions *definitions = flame->cct->definitions;
	uint32_t id = flame_context_module(flame->cct, flame->labels.items[label].context);
	const struct sonde_module *module = sonde_definitions_module(definitions, id);

	return module ? flame_base_name(sonde_definitions_string(definitions, module->path)) : "";
}

const char *flame_file_name(const struct flame *flame, uint32_t label, uint32_t *line)
{
	const struct cct *cct = flame->cct;
	const struct sonde_context *context = &cct->contexts[flame->labels.items[label].context];
	const struct sonde_function *function =
		context->kind == SONDE_CONTEXT_FUNCTION ?
			sonde_definitions_function(cct->definitions, context->function) :
			NULL;

	*line = function ? function->line : 0;
	return function ? sonde_definitions_string(cct->definitions, function->file) : "";
}

static uint64_t hash_text(const char *text)
{
	return sonde_hash_mix(sonde_hash_bytes(SONDE_HASH_START, text, strlen(text)));
}

/* Where all is of one module, its hue says nothing, and files or names tell more. */
struct flame_colours flame_choose_colours(const struct flame *flame)
{
	const char *module = NULL, *file = NULL;
	bool files = false;
	uint32_t i, line;

	for (i = 0; i < flame->labels.count; i++) {
		uint32_t context = flame->labels.items[i].context;
		const char *other;

		if (flame->cct->contexts[context].kind != SONDE_CONTEXT_FUNCTION)
			continue;
		other = flame_module_name(flame, i);
		if (*other && module && strcmp(module, other))
			return (struct flame_colours){ .by = FLAME_BY_MODULE };
		if (*other)
			module = other;
		other = flame_file_name(flame, i, &line);
		files |= *other && file && strcmp(file, other);
		if (*other)
			file = other;
	}
	return (struct flame_colours){ .by = files ? FLAME_BY_FILE : FLAME_BY_NAME };
}

unsigned int flame_colour(const struct flame *flame, const struct flame_colours *colours,
			  uint32_t label)
{
	const struct sonde_context *context =
		&flame->cct->contexts[flame->labels.items[label].context];
	char space[FLAME_NAME_SPACE];
	const char *name = flame_label_name(flame, label, space), *group = name;
	uint32_t line;

	if (context->kind == SONDE_CONTEXT_ROOT || context->kind == SONDE_CONTEXT_ENTRY)
		return FLAME_COLOURS;
	if (colours->by == FLAME_BY_MODULE)
		group = flame_module_name(flame, label);
	else if (colours->by == FLAME_BY_FILE)
		group = flame_file_name(flame, label, &line);
	return (unsigned int)(hash_text(group) % FLAME_HUES * FLAME_TONES +
			      (hash_text(name) >> 32) % FLAME_TONES);
}

int flame_change(const struct flame *flame, const struct flame_frame *frame)
{
	double whole = fmax(flame_total(flame), flame->frames[0].before_total);
	double change = whole > 0 ? (frame->total - frame->before_total) / whole : 0;
	double size = fabs(change);
	int level = size >= .2 ? 4 : size >= .05 ? 3 : size >= .01 ? 2 : size >= .001 ? 1 : 0;

	return change < 0 ? -level : level;
}

static void put_percent(struct sonde_buffer *out, double share)
{
	double percent = 100 * share;

	sonde_buffer_put_format(out, percent >= 10 ? "%.1f %%" : "%.2g %%", percent);
}

void flame_put_left_out(struct sonde_buffer *out, const struct flame *flame)
{
	if (!flame->narrow_count && !flame->deep_count)
		return;
	if (flame->narrow_count) {
		cli_put_counted(out, flame->narrow_count, "frame");
		sonde_buffer_put_text(out, " of less than ");
		put_percent(out, flame->narrowest);
	}
	if (flame->narrow_count && flame->deep_count)
		sonde_buffer_put_text(out, " and ");
	if (flame->deep_count) {
		cli_put_counted(out, flame->deep_count, "frame");
		sonde_buffer_put_text(out, " deeper than ");
		cli_put_counted(out, flame->most_depth, "level");
	}
	sonde_buffer_put_text(out, " left out, ");
	put_percent(out, flame_share(flame, flame->left_out));
	sonde_buffer_put_text(out, " of all");
}

/* Values have the unit that is best to read, not that of the name. */
void flame_put_metric_name(struct sonde_buffer *out, const struct cct_metric *metric)
{
	const char *unit = metric->ns > 0 ? strstr(metric->name, " (") : NULL;

	cli_put_escaped_sized(out, metric->name,
			      unit ? (size_t)(unit - metric->name) : strlen(metric->name));
}

void flame_put_about(struct sonde_buffer *out, const struct flame *flame)
{
	const struct cct_metric *metric = &flame->cct->metrics[flame->metric];

	flame_put_metric_name(out, metric);
	sonde_buffer_put_text(out, ": ");
	if (flame->is_difference) {
		cli_put_metric_value(out, metric, flame->frames[0].before_total);
		sonde_buffer_put_text(out, " before, ");
		cli_put_metric_value(out, metric, flame_total(flame));
		sonde_buffer_put_text(out, " now, ");
	} else {
		cli_put_metric_value(out, metric, flame_total(flame));
		sonde_buffer_put_text(out, " in ");
	}
	cli_put_counted(out, flame->count - 1, "frame");
}
