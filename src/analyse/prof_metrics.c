/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables are taken in the order of the first profile that has them, so that the list does not depend on
 * who read what. Of metrics with one name the first says how it is shown; formulas get the numbers of
 * the list.
 */
#include "analyse/prof_metrics.h"

#include <stdlib.h>

#include "model/call_tree.h"

/* A metric as a table has it; texts are borrowed. */
struct entry {
	const char *name, *description, *formula, *format;
	uint8_t show;
	bool show_percent;
};

static void put_entry(struct sonde_buffer *bytes, const struct entry *entry)
{
	prof_put_text(bytes, entry->name);
	prof_put_text(bytes, entry->description);
	prof_put_text(bytes, entry->formula);
	prof_put_text(bytes, entry->format);
	sonde_buffer_put_char(bytes, (char)entry->show);
	sonde_buffer_put_char(bytes, entry->show_percent);
}

void prof_put_table(struct sonde_buffer *bytes, const struct hpcrun_profile *profile)
{
	size_t i;

	for (i = 0; i < profile->metrics.count; i++) {
		const struct hpcrun_metric *metric = &profile->metrics.items[i];

		put_entry(bytes, &(const struct entry){ .name = metric->name,
							.description = metric->description,
							.formula = metric->formula,
							.format = metric->format,
							.show = metric->show,
							.show_percent = metric->show_percent });
	}
}

void prof_put_recording_table(struct sonde_buffer *bytes)
{
	static const struct entry calls = { .name = SONDE_METRIC_CALLS,
					    .description = SONDE_METRIC_CALLS_TEXT,
					    .formula = "",
					    .format = "",
					    .show = HPCRUN_SHOWN,
					    .show_percent = true };
	static const struct entry time = { .name = SONDE_METRIC_TIME,
					   .description = SONDE_METRIC_TIME_TEXT,
					   .formula = "",
					   .format = "",
					   .show = HPCRUN_SHOWN,
					   .show_percent = true };

	put_entry(bytes, &time);
	put_entry(bytes, &calls);
}

static struct entry take_entry(struct sonde_bytes *bytes)
{
	struct entry entry = { .name = prof_take_text(bytes) };

	entry.description = prof_take_text(bytes);
	entry.formula = prof_take_text(bytes);
	entry.format = prof_take_text(bytes);
	entry.show = sonde_bytes_u8(bytes);
	entry.show_percent = sonde_bytes_u8(bytes);
	return entry;
}

static struct hpcdb_metric metric_of(const struct entry *entry)
{
	static const unsigned int exclusive = 1 << HPCDB_POINT | 1 << HPCDB_FUNCTION_SCOPE |
					      1 << HPCDB_LEX_AWARE;
	static const unsigned int inclusive = 1 << HPCDB_POINT | 1 << HPCDB_EXECUTION;
	struct hpcdb_metric metric = { .name = entry->name,
				       .description = entry->description,
				       .show_percent = entry->show_percent,
				       .format = entry->format,
				       .formula = entry->formula };

	if (entry->show == HPCRUN_HIDDEN)
		metric.visibility = HPCDB_HIDDEN_BY_DEFAULT;
	else if (entry->show == HPCRUN_INVISIBLE)
		metric.visibility = HPCDB_INVISIBLE;
	else if (entry->show == HPCRUN_INCLUSIVE_ONLY)
		metric.scopes = inclusive;
	else if (entry->show == HPCRUN_EXCLUSIVE_ONLY)
		metric.scopes = exclusive;
	return metric;
}

static bool note(struct prof_metrics *metrics, const char *format, const char *name)
{
	struct sonde_buffer text = { 0 };
	const char **place = sonde_vec_push(&metrics->notes), *copy;

	sonde_buffer_put_format(&text, format,
				name); /* NOLINT(clang-diagnostic-format-nonliteral) */
	copy = sonde_buffer_text(&text);
	if (place && copy)
		copy = *place = sonde_arena_copy_text(&metrics->texts, copy, text.size);
	else if (place)
		metrics->notes.count--;
	sonde_buffer_release(&text);
	return place && copy;
}

/* While the list is made. */
struct making {
	struct prof_metrics *metrics;
	struct sonde_text_map names;
	SONDE_VEC(uint32_t) tables; /* by metric of the list: the table whose formula it has */
};

/* The number of a metric in the list, new or not; SONDE_NONE where memory failed. */
static uint32_t add_metric(struct making *making, const struct entry *entry, uint32_t table)
{
	struct prof_metrics *metrics = making->metrics;
	size_t length = strlen(entry->name);
	uint32_t number = sonde_text_map_find(&making->names, entry->name, length), *of;
	struct hpcdb_metric *metric;

	if (number != SONDE_NONE)
		return number;
	metric = sonde_vec_push(&metrics->items);
	of = sonde_vec_push(&making->tables);
	number = (uint32_t)metrics->items.count - 1;
	if (!metric || !of || !sonde_text_map_add(&making->names, entry->name, length, number))
		return SONDE_NONE;
	*metric = metric_of(entry);
	*of = table;
	metrics->derived += entry->formula[0] != '\0';
	return number;
}

/* A metric that is worked out in one profile and measured in another: only one of them can be. */
static bool check_kind(struct making *making, const struct entry *entry, uint32_t *number)
{
	const struct hpcdb_metric *metric = &making->metrics->items.items[*number];

	if (!entry->formula[0] == !metric->formula[0])
		return true;
	if (!entry->formula[0])
		*number = SONDE_NONE; /* what was measured has no place */
	return note(making->metrics,
		    entry->formula[0] ? "metric '%s' is measured in one profile and a formula in "
					"another: what was measured stays" :
					"metric '%s' is a formula in one profile and measured in "
					"another: the formula stays",
		    entry->name);
}

static bool add_table(struct making *making, const struct prof_blob *blob, uint32_t table)
{
	struct sonde_bytes bytes = sonde_bytes_of(blob->data, blob->size);
	struct prof_metric_map *map = &making->metrics->maps[table];
	SONDE_VEC(uint32_t) numbers = { 0 };

	while (sonde_bytes_left(&bytes)) {
		struct entry entry = take_entry(&bytes);
		uint32_t number, *place;

		if (bytes.overrun)
			break;
		place = sonde_vec_push(&numbers);
		number = place ? add_metric(making, &entry, table) : SONDE_NONE;
		if (number == SONDE_NONE || !check_kind(making, &entry, &number)) {
			sonde_vec_release(&numbers);
			return false;
		}
		*place = number;
	}
	map->numbers = numbers.items;
	map->count = (uint32_t)numbers.count;
	return true;
}

/* Puts a formula of a table with the numbers of the list; false where it names what is not there. */
static bool put_formula(struct sonde_buffer *out, const char *formula,
			const struct prof_metric_map *map)
{
	const char *at = formula;

	while (*at) {
		uint64_t number;
		char *end;

		if (*at != '#') {
			sonde_buffer_put_char(out, *at++);
			continue;
		}
		if (at[1] < '0' || at[1] > '9')
			return false;
		number = strtoull(at + 1, &end, 10);
		if (number >= map->count || map->numbers[number] == SONDE_NONE)
			return false;
		sonde_buffer_put_char(out, '#');
		sonde_buffer_put_u64(out, map->numbers[number]);
		at = end;
	}
	return true;
}

/* A formula without a meaning leaves a metric that is invisible and has no values. */
static bool renumber_formula(struct making *making, uint32_t number)
{
	struct prof_metrics *metrics = making->metrics;
	struct hpcdb_metric *metric = &metrics->items.items[number];
	struct sonde_buffer text = { 0 };
	bool fine = true;

	if (!metric->formula[0] || number >= making->tables.count)
		return true;
	if (put_formula(&text, metric->formula, &metrics->maps[making->tables.items[number]])) {
		metric->formula =
			text.failed ? NULL :
				      sonde_arena_copy_text(&metrics->texts, text.data, text.size);
		fine = metric->formula;
	} else {
		metric->formula = "";
		metric->visibility = HPCDB_INVISIBLE;
		metrics->derived--;
		fine = note(metrics, "the formula of metric '%s' names a metric that is not there",
			    metric->name);
	}
	sonde_buffer_release(&text);
	return fine;
}

static int compare_blobs(const void *a, const void *b)
{
	const struct prof_blob *const *one = a, *const *other = b;

	size_t size = (*one)->size < (*other)->size ? (*one)->size : (*other)->size;
	int order;

	if ((*one)->first != (*other)->first)
		return (*one)->first < (*other)->first ? -1 : 1;
	/* Epochs of one file may have tables of their own. */
	order = memcmp((*one)->data, (*other)->data, size);
	return order ? order : ((*one)->size > (*other)->size) - ((*one)->size < (*other)->size);
}

/* The tables in the order of their first profiles. */
static bool add_tables(struct making *making, const struct prof_blobs *tables)
{
	size_t count = tables->items.count, i;
	const struct prof_blob **order = calloc(count + 1, sizeof(*order));
	bool fine = order;

	for (i = 0; fine && i < count; i++)
		order[i] = &tables->items.items[i];
	if (fine && count)
		qsort(order, count, sizeof(*order), compare_blobs);
	for (i = 0; fine && i < count; i++)
		fine = add_table(making, order[i], (uint32_t)(order[i] - tables->items.items));
	free(order);
	return fine;
}

enum sonde_status prof_metrics_make(struct prof_metrics *metrics, const struct prof_union *all,
				    struct sonde_error *err)
{
	struct making making = { .metrics = metrics };
	const struct prof_blobs *tables = &all->sets[PROF_TABLES];
	uint32_t i;
	bool fine;

	metrics->map_count = tables->items.count;
	metrics->maps = calloc(metrics->map_count + 1, sizeof(*metrics->maps));
	fine = metrics->maps && add_tables(&making, tables);
	for (i = 0; fine && i < metrics->items.count; i++)
		fine = renumber_formula(&making, i);
	sonde_text_map_release(&making.names);
	sonde_vec_release(&making.tables);
	if (!fine)
		return sonde_fail_nomem(err);
	/* Ids of values are 16 bits in the database, and a metric takes some of them. */
	if (metrics->items.count > 2000)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%zu metrics, expected at most 2000: merge fewer kinds of "
				  "measurements at once",
				  metrics->items.count);
	return SONDE_OK;
}

void prof_metrics_release(struct prof_metrics *metrics)
{
	size_t i;

	for (i = 0; metrics->maps && i < metrics->map_count; i++)
		free(metrics->maps[i].numbers);
	free(metrics->maps);
	sonde_vec_release(&metrics->items);
	sonde_vec_release(&metrics->notes);
	sonde_arena_release(&metrics->texts);
	*metrics = (struct prof_metrics){ 0 };
}
