/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search, get, stats and values of a store with each allocation failing in turn: they fail cleanly,
 * or answer what they answer without faults. Nothing is ever missing because memory was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/scratch.h"
#include "../unit/search_fixture.h"
#include "fault.h"
#include "store/attribute.h"
#include "store/groups.h"
#include "store/join.h"
#include "store/search.h"

static char base_path[128];

/* What is asked; the answer as one number. */
struct question {
	enum sonde_status (*ask)(const struct question *question, struct zts_base *base,
				 uint64_t *answer, struct sonde_error *err);
	const char *expression;
	const char *attribute;
	enum sonde_search_sort sort;
	enum sonde_stats_by by;
	bool shallow;
};

struct world {
	const struct question *question;
	uint64_t answer, wanted;
	unsigned int successes;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15u;
}

static uint64_t mix_bytes(uint64_t hash, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = mix(hash, (uint8_t)bytes[i]);
	return mix(hash, size);
}

static enum sonde_status parse(const struct question *question, struct sonde_query *query,
			       struct sonde_error *err)
{
	return question->expression ? sonde_query_parse(query, question->expression, err) :
				      SONDE_OK;
}

static enum sonde_status ask_search(const struct question *question, struct zts_base *base,
				    uint64_t *answer, struct sonde_error *err)
{
	struct sonde_query query = { 0 };
	struct sonde_search_request request = {
		.query = &query, .sort = question->sort, .limit = 20, .shallow = question->shallow
	};
	struct sonde_search_result result = { 0 };
	enum sonde_status status = parse(question, &query, err);

	if (status >= 0)
		status = sonde_store_search(base, &request, &result, err);
	*answer = mix(result.unreadable, result.has_more);
	for (size_t i = 0; i < result.hits.count; i++)
		*answer = mix(mix(*answer, result.hits.items[i].part->number),
			      result.hits.items[i].slot);
	sonde_search_result_release(&result);
	sonde_query_release(&query);
	return status;
}

static uint64_t answer_of(const struct sonde_groups *groups)
{
	uint64_t answer = groups->unreadable;

	for (size_t i = 0; i < groups->list.count; i++) {
		const struct sonde_group *group = &groups->list.items[i];

		answer = mix_bytes(answer, group->name, group->name_size);
		answer = mix(mix(answer, group->errors), group->durations.count);
	}
	return answer;
}

static enum sonde_status ask_stats(const struct question *question, struct zts_base *base,
				   uint64_t *answer, struct sonde_error *err)
{
	struct sonde_query query = { 0 };
	struct sonde_stats_request request = { .query = &query,
					       .by = question->by,
					       .attribute = question->attribute };
	struct sonde_groups groups = { 0 };
	enum sonde_status status = parse(question, &query, err);

	if (status >= 0)
		status = sonde_stats(base, &request, &groups, err);
	*answer = answer_of(&groups);
	sonde_groups_release(&groups);
	sonde_query_release(&query);
	return status;
}

static enum sonde_status ask_values(const struct question *question, struct zts_base *base,
				    uint64_t *answer, struct sonde_error *err)
{
	struct sonde_query query = { 0 };
	struct sonde_groups groups = { 0 };
	enum sonde_status status = parse(question, &query, err);

	if (status >= 0)
		status = sonde_values(base, &query, question->attribute, question->shallow, &groups,
				      err);
	*answer = answer_of(&groups);
	sonde_groups_release(&groups);
	sonde_query_release(&query);
	return status;
}

/* Every trace, joined with all others, with the names and attributes of its records. */
static enum sonde_status ask_get(const struct question *question, struct zts_base *base,
				 uint64_t *answer, struct sonde_error *err)
{
	struct sonde_places places = { 0 };
	struct sonde_joined joined = { 0 };
	struct sonde_buffer text = { 0 };
	enum sonde_status status = sonde_places_all(base, &places, err);

	(void)question;
	if (status >= 0)
		status = sonde_joined_make(&joined, places.list.items, places.list.count, err);
	*answer = joined.trees.count;
	for (size_t i = 0; i < joined.order.count && status >= 0; i++) {
		const struct sonde_joined_tree *tree =
			&joined.trees.items[joined.order.items[i].tree];
		struct zts_attribute_cursor cursor = { .tree = &tree->loaded.tree,
						       .record = joined.order.items[i].record };

		zts_texts_put_name(tree->place.part->texts,
				   sonde_joined_record(&joined, &joined.order.items[i])->method,
				   &text);
		while (zts_attribute_next(&cursor, NULL) == SONDE_OK)
			sonde_value_put_text(tree->place.part->texts, cursor.value, &text);
		if (zts_texts_failed(tree->place.part->texts))
			status = sonde_fail_nomem(err);
		*answer = mix(*answer, joined.order.items[i].depth);
	}
	*answer = mix_bytes(*answer, text.data, text.size);
	if (text.failed && status >= 0)
		status = sonde_fail_nomem(err);
	sonde_buffer_release(&text);
	sonde_joined_release(&joined);
	sonde_vec_release(&places.list);
	return status;
}

static enum sonde_status run(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct zts_base *base;
	enum sonde_status status = zts_base_open(base_path, NULL, &base, err);

	if (status < 0)
		return status;
	status = world->question->ask(world->question, base, &world->answer, err);
	zts_base_free(base);
	return status;
}

static void examine(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct world *world = user;

	(void)err;
	if (status < 0)
		return;
	world->successes++;
	if (world->answer != world->wanted)
		fail_msg("%s %s: another answer without memory",
			 world->question->expression ? world->question->expression : "",
			 world->question->attribute ? world->question->attribute : "");
}

static void run_all(const struct question *question)
{
	struct world world = { .question = question };
	const struct fault_case fault_case = { .run = run, .after = examine, .user = &world };
	struct sonde_error err = { 0 };

	if (run(&world, &err) < 0)
		fail_msg("%s", err.message);
	world.wanted = world.answer;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 20);
	assert_true(world.successes > 0);
}

static void test_search(void **state)
{
	static const struct question questions[] = {
		{ .ask = ask_search },
		{ .ask = ask_search, .expression = "STATUS>=404 and not colour=red" },
		{ .ask = ask_search, .expression = "colour~ed or method=find*", .shallow = true },
		{ .ask = ask_search,
		  .expression = "exception=IOException",
		  .sort = SONDE_SORT_CALLS },
		{ .ask = ask_search, .expression = "order", .sort = SONDE_SORT_DURATION },
		{ .ask = ask_search,
		  .expression = "service=* many=blue",
		  .sort = SONDE_SORT_ERRORS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		run_all(&questions[i]);
}

static void test_stats(void **state)
{
	static const struct question questions[] = {
		{ .ask = ask_stats, .by = SONDE_STATS_METHOD },
		{ .ask = ask_stats, .by = SONDE_STATS_ATTRIBUTE, .attribute = "STATUS" },
		{ .ask = ask_stats, .by = SONDE_STATS_SERVICE, .expression = "errors>0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		run_all(&questions[i]);
}

static void test_values(void **state)
{
	static const struct question questions[] = {
		{ .ask = ask_values },
		{ .ask = ask_values, .attribute = "many" },
		{ .ask = ask_values, .attribute = "colour", .expression = "STATUS=500" },
		{ .ask = ask_values, .attribute = "STATUS", .shallow = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		run_all(&questions[i]);
}

static void test_get(void **state)
{
	static const struct question question = { .ask = ask_get };

	(void)state;
	run_all(&question);
}

static int make_store(void **state)
{
	if (make_scratch_in_memory(state))
		return -1;
	snprintf(base_path, sizeof(base_path), "%s/base", scratch);
	search_make_store(base_path, 2, 12, 7);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_get),
	};

	return cmocka_run_group_tests(tests, make_store, remove_scratch);
}
