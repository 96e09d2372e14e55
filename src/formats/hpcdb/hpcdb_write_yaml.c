/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/default.yaml: which values of meta.db a viewer shows, under which names, and what it
 * works out of them. An input is a statistic of a metric in a scope; a root is a metric as it is
 * shown.
 */
#include <ctype.h>
#include <strings.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_write_meta.h"
#include "model/formula.h"

/* Metrics that are worked out of metrics that are worked out ..., and operations of all of them. */
#define DERIVATIONS_LIMIT 8
#define OPERATIONS_LIMIT 4000

struct yaml {
	const struct hpcdb_job *job;
	struct sonde_buffer *out;
	enum hpcdb_scope scope; /* of references */
	size_t operations;	/* looked at for the present root */
};

/* A word that YAML would take for something else than text. */
static bool is_special_word(const char *text)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on",
					     "off",  "null",  "y",   "n" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

static bool is_plain(const char *text)
{
	if (!isalpha((unsigned char)*text) || is_special_word(text))
		return false;
	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr(" _()./%+<>=-:", *p))
			return false;
		if (*p == ':' && (!p[1] || p[1] == ' '))
			return false;
		if (*p == ' ' && !p[1])
			return false;
	}
	return true;
}

/* What is not UTF-8 is replaced as in meta.db, so that names fit. */
static void put_quoted(struct sonde_buffer *out, const char *text)
{
	size_t start = 0, end = 0;

	sonde_buffer_put_char(out, '"');
	for (; text[end]; end++) {
		unsigned char c = (unsigned char)text[end];

		if (c != '"' && c != '\\' && c >= 0x20 && c != 0x7f)
			continue;
		sonde_buffer_put_utf8(out, text + start, end - start);
		start = end + 1;
		if (c == '"' || c == '\\') {
			sonde_buffer_put_char(out, '\\');
			sonde_buffer_put_char(out, text[end]);
		} else {
			sonde_buffer_put_text(out, "\\x");
			sonde_buffer_put_hex(out, c, 2);
		}
	}
	sonde_buffer_put_utf8(out, text + start, end - start);
	sonde_buffer_put_char(out, '"');
}

static void put_scalar(struct sonde_buffer *out, const char *text)
{
	if (is_plain(text))
		sonde_buffer_put_text(out, text);
	else
		put_quoted(out, text);
}

/* The name of an anchor; the number keeps metrics of equal names apart. */
static void put_anchor(struct sonde_buffer *out, const struct hpcdb_job *job, uint32_t metric,
		       enum hpcdb_stored stored, enum hpcdb_scope scope)
{
	for (const char *p = job->world->metrics[metric].name; *p; p++) {
		if (isalnum((unsigned char)*p) || *p == '_') {
			sonde_buffer_put_char(out, *p);
			continue;
		}
		sonde_buffer_put_char(out, 'x');
		sonde_buffer_put_hex(out, (unsigned char)*p, 2);
		sonde_buffer_put_char(out, '_');
	}
	sonde_buffer_put_format(out, "-%u-%s-%s", metric, hpcdb_stored_kinds[stored].name,
				hpcdb_scope_name(scope));
}

static bool has_scope(const struct hpcdb_job *job, uint32_t metric, enum hpcdb_scope scope)
{
	const struct hpcdb_numbers *numbers = &job->plan.metrics[metric];

	for (unsigned int i = 0; i < numbers->scope_count; i++)
		if (numbers->scopes[i] == scope)
			return true;
	return false;
}

static bool is_stored(const struct hpcdb_job *job, enum hpcdb_stored stored)
{
	for (unsigned int i = 0; i < job->plan.stored_count; i++)
		if (job->plan.stored[i] == stored)
			return true;
	return false;
}

static void put_inputs(struct yaml *yaml, uint32_t metric, enum hpcdb_stored stored)
{
	static const enum hpcdb_scope scopes[] = { HPCDB_EXECUTION, HPCDB_LEX_AWARE,
						   HPCDB_FUNCTION_SCOPE };
	static const char *const combines[] = { "sum", "min", "max" };
	const struct hpcdb_stored_kind *kind = &hpcdb_stored_kinds[stored];
	struct sonde_buffer *out = yaml->out;

	for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++) {
		if (!has_scope(yaml->job, metric, scopes[i]))
			continue;
		sonde_buffer_put_text(out, "  - &");
		put_anchor(out, yaml->job, metric, stored, scopes[i]);
		sonde_buffer_put_text(out, "\n    metric: ");
		put_scalar(out, yaml->job->world->metrics[metric].name);
		sonde_buffer_put_format(out, "\n    scope: %s\n    formula: %s\n    combine: %s\n",
					hpcdb_scope_name(scopes[i]), kind->formula,
					combines[kind->combine]);
	}
}

/*
 * What is shown of a metric: how its values come from what is stored. %s is replaced by an alias
 * each.
 */
static const struct variant {
	const char *name;
	unsigned int statistic;
	const char *formula; /* s, n, q, a, z: sum, count, squares, min, max */
	bool is_share;	     /* a percentage of it makes sense */
} variants[] = {
	{ "Sum", HPCDB_STATISTIC_SUM, "s", true },
	{ "Mean", HPCDB_STATISTIC_MEAN, "{/: [s, n]}", false },
	{ "StdDev", HPCDB_STATISTIC_DEVIATION,
	  "{sqrt: [{-: [{/: [q, n]}, {^: [{/: [s, n]}, 2]}]}]}", false },
	{ "CfVar", HPCDB_STATISTIC_DEVIATION,
	  "{/: [{sqrt: [{-: [{/: [q, n]}, {^: [{/: [s, n]}, 2]}]}]}, {/: [s, n]}]}", false },
	{ "Min", HPCDB_STATISTIC_EXTREMA, "a", false },
	{ "Max", HPCDB_STATISTIC_EXTREMA, "z", false },
	{ "Count", HPCDB_STATISTIC_COUNT, "n", false },
};

static void put_alias(struct sonde_buffer *out, const struct hpcdb_job *job, uint32_t metric,
		      enum hpcdb_stored stored, enum hpcdb_scope scope)
{
	sonde_buffer_put_char(out, '*');
	put_anchor(out, job, metric, stored, scope);
}

static void put_variant_formula(struct yaml *yaml, uint32_t metric, const char *formula)
{
	for (; *formula; formula++) {
		const char *letters = "snqaz", *letter = strchr(letters, *formula);

		if (!strncmp(formula, "sqrt", 4)) {
			put_scalar(yaml->out, "sqrt");
			formula += 3;
		} else if (letter) {
			put_alias(yaml->out, yaml->job, metric,
				  (enum hpcdb_stored)(letter - letters), yaml->scope);
		} else if (*formula == '-' || *formula == '/' || *formula == '^') {
			sonde_buffer_put_format(yaml->out, *formula == '/' ? "%c" : "\"%c\"",
						*formula);
		} else {
			sonde_buffer_put_char(yaml->out, *formula);
		}
	}
}

/* A formula that makes no sense is left out; out of memory is a failure. */
static bool read_formula(struct yaml *yaml, struct sonde_expression *formula, uint32_t metric)
{
	const char *text = yaml->job->world->metrics[metric].formula;
	enum sonde_status status = sonde_expression_parse(formula, text, strlen(text), NULL);

	if (status == SONDE_NOMEM)
		yaml->out->failed = true;
	return status >= 0;
}

/* A reference must lead to something measured in that scope. */
static bool can_derive(struct yaml *yaml, uint32_t metric, enum hpcdb_scope scope,
		       unsigned int depth)
{
	const struct hpcdb_job *job = yaml->job;
	const struct hpcdb_world *world = job->world;
	struct sonde_expression formula = { 0 };
	bool is_good;

	if (metric >= world->metric_count || depth > DERIVATIONS_LIMIT)
		return false;
	if (job->plan.metrics[metric].scope_count)
		return has_scope(job, metric, scope) && is_stored(job, HPCDB_STORED_SUM);
	is_good = read_formula(yaml, &formula, metric);
	yaml->operations += formula.nodes.count;
	is_good = is_good && yaml->operations <= OPERATIONS_LIMIT;
	for (size_t i = 0; i < formula.nodes.count && is_good; i++)
		if (formula.nodes.items[i].operation == SONDE_OPERATION_REFERENCE)
			is_good = can_derive(yaml, formula.nodes.items[i].reference, scope,
					     depth + 1);
	sonde_expression_release(&formula);
	return is_good;
}

static void put_reference(void *data, uint32_t reference, struct sonde_buffer *out)
{
	struct yaml *yaml = data;
	const struct hpcdb_job *job = yaml->job;
	struct sonde_expression formula = { 0 };

	if (job->plan.metrics[reference].scope_count) {
		put_alias(out, job, reference, HPCDB_STORED_SUM, yaml->scope);
		return;
	}
	if (read_formula(yaml, &formula, reference))
		sonde_expression_put_yaml(&formula, out, put_reference, yaml);
	sonde_expression_release(&formula);
}

/* Which of the scopes a metric is shown in. */
struct shown {
	bool execution, lex_aware, function;
};

static void put_formula(struct yaml *yaml, uint32_t metric, enum hpcdb_scope scope, const char *key,
			const struct variant *variant)
{
	yaml->scope = scope;
	sonde_buffer_put_format(yaml->out, "            %s: ", key);
	if (variant)
		put_variant_formula(yaml, metric, variant->formula);
	else
		put_reference(yaml, metric, yaml->out);
	sonde_buffer_put_char(yaml->out, '\n');
}

static void put_variant(struct yaml *yaml, uint32_t metric, const struct variant *variant,
			const struct shown *shown)
{
	struct sonde_buffer *out = yaml->out;
	bool has_percent = yaml->job->world->metrics[metric].show_percent &&
			   (!variant || variant->is_share);

	sonde_buffer_put_format(out, "      %s:\n        render: [number%s]\n        formula:\n",
				variant ? variant->name : "\"\"", has_percent ? ", percent" : "");
	if (shown->execution) {
		sonde_buffer_put_text(out, "          inclusive:\n");
		put_formula(yaml, metric, HPCDB_EXECUTION, "standard", variant);
	}
	if (shown->lex_aware || shown->function)
		sonde_buffer_put_text(out, "          exclusive:\n");
	if (shown->lex_aware)
		put_formula(yaml, metric, HPCDB_LEX_AWARE, "custom", variant);
	if (shown->function)
		put_formula(yaml, metric, HPCDB_FUNCTION_SCOPE, "standard", variant);
}

static bool is_shown(struct yaml *yaml, uint32_t metric, enum hpcdb_scope scope)
{
	const struct hpcdb_job *job = yaml->job;
	unsigned int wanted = job->world->metrics[metric].scopes;

	if (wanted && !(wanted & 1u << scope))
		return false;
	if (job->plan.metrics[metric].scope_count)
		return true;
	yaml->operations = 0;
	return can_derive(yaml, metric, scope, 0);
}

static void put_root(struct yaml *yaml, uint32_t number)
{
	const struct hpcdb_job *job = yaml->job;
	const struct hpcdb_metric *metric = &job->world->metrics[number];
	bool is_derived = !job->plan.metrics[number].scope_count;
	struct sonde_buffer *out = yaml->out;
	struct shown shown = {
		.execution = is_shown(yaml, number, HPCDB_EXECUTION),
		.lex_aware = is_shown(yaml, number, HPCDB_LEX_AWARE),
		.function = is_shown(yaml, number, HPCDB_FUNCTION_SCOPE),
	};

	if (metric->visibility == HPCDB_INVISIBLE ||
	    (!shown.execution && !shown.lex_aware && !shown.function))
		return;
	sonde_buffer_put_text(out, "  - name: ");
	put_scalar(out, metric->name);
	sonde_buffer_put_text(out, "\n    description: ");
	put_scalar(out, metric->description && *metric->description ? metric->description :
								      metric->name);
	sonde_buffer_put_char(out, '\n');
	if (metric->visibility == HPCDB_HIDDEN_BY_DEFAULT)
		sonde_buffer_put_text(out, "    visible by default: false\n");
	if (metric->format && *metric->format) {
		sonde_buffer_put_text(out, "    format: ");
		put_quoted(out, metric->format);
		sonde_buffer_put_char(out, '\n');
	}
	sonde_buffer_put_text(out, "    variants:\n");
	if (is_derived)
		put_variant(yaml, number, NULL, &shown);
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants) && !is_derived; i++)
		if (job->options->statistics & variants[i].statistic)
			put_variant(yaml, number, &variants[i], &shown);
}

static void put_yaml(struct yaml *yaml)
{
	const struct hpcdb_job *job = yaml->job;
	uint32_t metrics = job->plan.stored_count ? job->world->metric_count : 0;
	size_t start;

	sonde_buffer_put_text(yaml->out, "version: 0\ninputs:");
	start = yaml->out->size;
	sonde_buffer_put_char(yaml->out, '\n');
	for (uint32_t i = 0; i < metrics; i++)
		for (unsigned int k = 0; k < job->plan.stored_count; k++)
			put_inputs(yaml, i, job->plan.stored[k]);
	if (yaml->out->size == start + 1) {
		yaml->out->size = start;
		sonde_buffer_put_text(yaml->out, " []\n");
	}
	sonde_buffer_put_text(yaml->out, "roots:");
	start = yaml->out->size;
	sonde_buffer_put_char(yaml->out, '\n');
	for (uint32_t i = 0; i < metrics; i++)
		put_root(yaml, i);
	if (yaml->out->size == start + 1) {
		yaml->out->size = start;
		sonde_buffer_put_text(yaml->out, " []\n");
	}
}

enum sonde_status hpcdb_write_yaml(struct hpcdb_job *job, struct sonde_error *err)
{
	struct sonde_buffer out = { 0 };
	struct yaml yaml = { .job = job, .out = &out };
	char *folder = sonde_path_join(job->folder, "metrics");
	enum sonde_status status = folder ? sonde_folder_create(folder, err) :
					    sonde_fail_nomem(err);

	free(folder);
	if (status >= 0) {
		put_yaml(&yaml);
		status = hpcdb_put_file(job, "metrics/default.yaml", &out, err);
	}
	sonde_buffer_release(&out);
	return status;
}
