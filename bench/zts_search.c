/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an open store takes to answer, after it has answered the same once: searches, lists of all
 * traces, and whole traces with the names of all that is in them. Prints one line of JSON; times are
 * the least of RUNS runs, of the clock and of the processor (all threads), in milliseconds.
 *	sonde-bench-zts-search BASE RUNS search CONDITION	the newest 50 that fulfil it
 *	sonde-bench-zts-search BASE RUNS all CONDITION	all of them
 *	sonde-bench-zts-search BASE RUNS list	all traces, with what a line of a list shows
 *	sonde-bench-zts-search BASE RUNS get COUNT	so many traces, from all over the store
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "need.h"
#include "store/attribute.h"
#include "store/join.h"
#include "store/search.h"

#define PAGE 50

struct work {
	struct zts_base *base;
	struct sonde_search_request request;
	struct sonde_query query;
	struct sonde_names *names; /* by part */
	struct sonde_buffer out;   /* what a user would read */
	uint64_t wanted;	   /* traces to get */
	uint64_t traces, records;  /* of the last run */
};

/* Every run puts names together anew, once each. */
static void forget_names(struct work *work)
{
	for (size_t i = 0; i < work->base->parts.count; i++) {
		sonde_names_release(&work->names[i]);
		work->names[i] = (struct sonde_names){ .texts = work->base->parts.items[i]->texts };
	}
}

static struct sonde_names *names_of(struct work *work, const struct zts_part *part)
{
	size_t i = 0;

	while (i + 1 < work->base->parts.count && work->base->parts.items[i] != part)
		i++;
	return &work->names[i];
}

static void put_name(struct work *work, struct sonde_names *names, uint32_t id)
{
	size_t size;
	const char *name = sonde_names_get(names, id, &size);

	sonde_buffer_put(&work->out, name, size);
}

static void search(struct work *work, bool shows)
{
	struct sonde_search_result result;
	struct sonde_error err;

	need(sonde_store_search(work->base, &work->request, &result, &err), &err);
	work->traces = result.hits.count;
	for (size_t i = 0; shows && i < result.hits.count; i++) {
		const struct sonde_search_hit *hit = &result.hits.items[i];
		const struct zts_slot *slot = &hit->part->slots.list.items[hit->slot];

		sonde_buffer_put_u64(&work->out, hit->start_ns);
		sonde_buffer_put_u64(&work->out, hit->duration_ns);
		sonde_buffer_put_u64(&work->out, slot->records);
		put_name(work, names_of(work, hit->part), slot->description);
		put_name(work, names_of(work, hit->part), slot->type);
		put_name(work, names_of(work, hit->part), slot->app);
	}
	sonde_search_result_release(&result);
}

static void run_search(struct work *work)
{
	search(work, false);
}

static void run_list(struct work *work)
{
	forget_names(work);
	search(work, true);
}

static void put_exception(struct work *work, struct sonde_names *names, uint32_t id)
{
	struct zts_typed_text exception, stack;
	uint32_t frame;

	if (!id || zts_texts_typed(names->texts, id, &exception, NULL) != SONDE_OK)
		return;
	put_name(work, names, exception.fields[0]);
	put_name(work, names, exception.fields[1]);
	if (zts_texts_typed(names->texts, exception.fields[2], &stack, NULL) != SONDE_OK)
		return;
	while (zts_text_next_frame(&stack, &frame))
		put_name(work, names, frame);
}

static void put_trace(struct work *work, size_t part, uint32_t slot)
{
	struct sonde_place place = { .part = work->base->parts.items[part], .slot = slot };
	struct sonde_names *names = &work->names[part];
	struct sonde_joined joined;
	struct sonde_error err;

	need(sonde_joined_make(&joined, &place, 1, &err), &err);
	for (size_t i = 0; i < joined.order.count; i++) {
		const struct sonde_joined_record *shown = &joined.order.items[i];
		const struct sonde_joined_tree *tree = &joined.trees.items[shown->tree];
		const struct zts_record *record = sonde_joined_record(&joined, shown);
		struct zts_attribute_cursor cursor = { .tree = &tree->loaded.tree,
						       .record = shown->record };

		sonde_buffer_put_u64(&work->out,
				     tree->duration_ns[shown->record - tree->loaded.root]);
		put_name(work, names, record->method);
		while (zts_attribute_next(&cursor, NULL) == SONDE_OK)
			if (sonde_attribute_put_name(names->texts, &cursor, &work->out))
				sonde_value_put_text(names->texts, cursor.value, &work->out);
		put_exception(work, names, record->exception);
	}
	work->records += joined.order.count;
	sonde_joined_release(&joined);
}

/* Evenly spread over the slots of all parts. */
static void run_get(struct work *work)
{
	uint64_t slots = 0, next = 0, step, begin = 0;

	forget_names(work);
	for (size_t i = 0; i < work->base->parts.count; i++)
		slots += work->base->parts.items[i]->slots.list.count;
	step = slots / work->wanted ? slots / work->wanted : 1;
	work->traces = work->records = 0;
	for (size_t i = 0; i < work->base->parts.count; i++) {
		uint64_t end = begin + work->base->parts.items[i]->slots.list.count;

		for (; next < end && work->traces < work->wanted; next += step, work->traces++)
			put_trace(work, i, (uint32_t)(next - begin));
		begin = end;
	}
}

static double milliseconds(clockid_t clock)
{
	return seconds_of(clock) * 1e3;
}

static double lower(double a, double b)
{
	return a < b ? a : b;
}

static void measure(struct work *work, void (*run)(struct work *work), unsigned long runs)
{
	double first = milliseconds(CLOCK_PROCESS_CPUTIME_ID), cpu = 1e9, wall = 1e9;

	run(work);
	first = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - first;
	for (unsigned long i = 0; i < runs; i++) {
		double wall_start = milliseconds(CLOCK_MONOTONIC);
		double cpu_start = milliseconds(CLOCK_PROCESS_CPUTIME_ID);

		sonde_buffer_clear(&work->out);
		run(work);
		cpu = lower(cpu, milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
		wall = lower(wall, milliseconds(CLOCK_MONOTONIC) - wall_start);
	}
	printf("{\"traces\":%" PRIu64 ",\"records\":%" PRIu64
	       ",\"first_cpu_ms\":%.3f,\"cpu_ms\":%.3f,\"wall_ms\":%.3f",
	       work->traces, work->records, first, cpu, wall);
}

int main(int argc, char **argv)
{
	struct work work = { .request = { .limit = PAGE } };
	void (*run)(struct work * work) = run_search;
	const char *what = argc > 3 ? argv[3] : "";
	bool gets = !strcmp(what, "get"), lists = !strcmp(what, "list");
	double open_cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
	struct sonde_error err;

	if (argc < (lists ? 4 : 5)) {
		fputs("usage: sonde-bench-zts-search BASE RUNS search|all CONDITION\n"
		      "       sonde-bench-zts-search BASE RUNS list|get COUNT\n",
		      stderr);
		return 2;
	}
	need(zts_base_open(argv[1], NULL, &work.base, &err), &err);
	open_cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - open_cpu;
	work.names = calloc(work.base->parts.count + 1, sizeof(*work.names));
	if (!work.names)
		return 3;
	if (gets)
		run = run_get;
	else if (lists)
		run = run_list;
	else
		need(sonde_query_parse(&work.query, argv[4], &err), &err);
	work.request.query = &work.query;
	if (strcmp(what, "search") != 0)
		work.request.limit = 0;
	work.wanted = gets ? strtoull(argv[4], NULL, 10) : 0;
	work.wanted += gets && !work.wanted;
	measure(&work, run, strtoul(argv[2], NULL, 10));
	printf(",\"open_cpu_ms\":%.3f,\"bytes\":%zu}\n", open_cpu, work.out.size);
	for (size_t i = 0; i < work.base->parts.count; i++)
		sonde_names_release(&work.names[i]);
	free(work.names);
	sonde_buffer_release(&work.out);
	sonde_query_release(&work.query);
	zts_base_free(work.base);
	return 0;
}
