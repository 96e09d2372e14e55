/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases as the target of a pipeline: what is fed comes back, and what cannot be held is
 * counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "hpcdb_world.h"
#include "scratch.h"

enum { CONTEXTS = 4, SAMPLES = 3000 };

/* A function that nobody is known to call, a line in it, an entry, a function that it calls. */
static const struct sonde_context contexts[CONTEXTS + 1] = {
	{ .parent = SONDE_NONE, .kind = SONDE_CONTEXT_ROOT, .end = 5 },
	{ .kind = SONDE_CONTEXT_FUNCTION,
	  .relation = SONDE_CONTEXT_CALLED,
	  .function = 0,
	  .end = 3 },
	{ .parent = 1,
	  .kind = SONDE_CONTEXT_FUNCTION,
	  .relation = SONDE_CONTEXT_INLINED,
	  .end = 3 },
	{ .kind = SONDE_CONTEXT_ENTRY, .entry = SONDE_ENTRY_MAIN_THREAD, .end = 5 },
	{ .parent = 3, .kind = SONDE_CONTEXT_FUNCTION, .relation = SONDE_CONTEXT_CALLED, .end = 5 },
};

static uint32_t string(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id;

	assert_int_equal(sonde_definitions_add_string(definitions, text, strlen(text), &id, NULL),
			 SONDE_OK);
	return id;
}

static void add_attribute(struct sonde_definitions *definitions, const char *name,
			  const char *value)
{
	const struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING,
						   .name = string(definitions, name),
						   .value = string(definitions, value) };
	uint32_t id;

	sonde_definitions_add_attribute(definitions, &attribute, &id, NULL);
}

static struct sonde_definitions *define(void)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	const struct sonde_process process = { .name = string(definitions, "program") };
	const struct sonde_function function = { .name = string(definitions, "f"),
						 .module = SONDE_NONE };
	const struct sonde_track tracks[] = { { .slot = 0 }, { .slot = 5 } };
	const struct sonde_metric metrics[] = {
		{ .name = string(definitions, "T"), .scope = string(definitions, "execution") },
		{ .name = string(definitions, "T"), .scope = string(definitions, "point") },
		{ .name = string(definitions, "T"),
		  .scope = string(definitions, "point"),
		  .statistic = string(definitions, "sum") },
		{ .name = string(definitions, "U"), .hidden = true },
	};
	uint32_t id;

	sonde_definitions_add_process(definitions, &process, &id, NULL);
	sonde_definitions_add_function(definitions, &function, &id, NULL);
	for (size_t i = 0; i < 2; i++)
		sonde_definitions_add_track(definitions, &tracks[i], &id, NULL);
	for (size_t i = 0; i < 4; i++)
		sonde_definitions_add_metric(definitions, &metrics[i], &id, NULL);
	add_attribute(definitions, "hpc.title", "\"the \\\"title\\\"\"");
	add_attribute(definitions, "color", "\"red\"");
	return definitions;
}

/* Track 0 has values in two pieces, track 1 samples in many, both mixed. */
static void feed(struct sonde_sink *sink, const struct sonde_definitions *definitions)
{
	static const struct sonde_value first[] = { { 0, 1, 0, 99 }, { 0, 1, 1, 3 } };
	static const struct sonde_value second[] = { { 0, 2, 1, 4 },
						     { 0, 2, 2, 77 },
						     { 0, 4, 3, 5 } };
	struct sonde_error err;

	assert_int_equal(sink->ops->begin(sink, definitions, &err), SONDE_OK);
	assert_int_equal(sink->ops->contexts(sink, contexts, CONTEXTS + 1, &err), SONDE_OK);
	assert_int_equal(sink->ops->values(sink, 0, first, 2, &err), SONDE_OK);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		const struct sonde_sample sample = { .time_ns = 1000 + i, .context = i % 3 + 1 };

		assert_int_equal(sink->ops->samples(sink, 1, &sample, 1, &err), SONDE_OK);
		if (i == SAMPLES / 2)
			assert_int_equal(sink->ops->values(sink, 0, second, 3, &err), SONDE_OK);
	}
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(sink->ops->track_end(sink, i, &err), SONDE_OK);
}

static void create(const char *name, const char *style, struct sonde_loss *loss,
		   struct sonde_sink **sink)
{
	const struct sonde_create_options options = { .format = "hpcdb",
						      .style = style,
						      .loss = loss };
	struct sonde_error err;

	if (sonde_sink_create(scratch_path(name), &options, sink, &err) != SONDE_OK)
		fail_msg("%s", err.message);
}

static void check_values(const char *database)
{
	struct world_file file = world_open(database, "profile.db");

	/* numbers of contexts are one higher: 1 is the entry that was added; sum and count */
	assert_true(world_value(&file, 1, 1, 3) == 7);
	assert_true(world_value(&file, 1, 2, 0) == 3);
	assert_true(world_value(&file, 1, 2, 3) == 7);
	assert_true(world_value(&file, 1, 3, 0) == 4);
	assert_true(world_value(&file, 1, 5, 8) == 5);
	assert_true(world_value(&file, 1, 0, 11) == 5);
	assert_true(world_value(&file, 0, 0, 7) == 1);
	assert_int_equal(world_value_count(&file, 1), 1 + 1 + 4 + 4 + 1 + 1 + 4);
	world_close(&file);
	file = world_open(database, "meta.db");
	assert_string_equal(world_text(&file, world_u64(&file, world_u64(&file, 0x18))),
			    "the \"title\"");
	world_close(&file);
	file = world_open(database, "trace.db");
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint64_t at = world_u64(&file, 0x60) + 12 * i;

		assert_int_equal(world_u64(&file, at), 1000 + i);
		assert_int_equal(world_u32(&file, at + 8), i % 3 + 2);
	}
	world_close(&file);
}

static void test_fed(void **state)
{
	struct sonde_definitions *definitions = define();
	struct sonde_loss *loss = sonde_loss_new();
	const struct sonde_loss_entry *entry;
	struct sonde_sink *sink;
	struct sonde_error err;

	(void)state;
	create("fed.d", "count", loss, &sink);
	feed(sink, definitions);
	assert_int_not_equal(access(scratch_path("fed.d"), F_OK), 0);
	assert_int_equal(sink->ops->finish(sink, &err), SONDE_OK);
	sonde_sink_free(sink);
	check_values("fed.d");
	entry = sonde_loss_at(loss, 0);
	assert_string_equal(entry->what, "attributes");
	assert_int_equal(entry->count, 1);
	assert_null(sonde_loss_at(loss, 1));
	sonde_loss_free(loss);
	sonde_definitions_free(definitions);
}

static void test_styles(void **state)
{
	struct sonde_definitions *definitions = define();
	struct sonde_sink *sink;
	struct world_file file;
	struct sonde_error err;

	(void)state;
	create("styles.d", "all,no-traces", NULL, &sink);
	feed(sink, definitions);
	assert_int_equal(sink->ops->finish(sink, &err), SONDE_OK);
	sonde_sink_free(sink);
	assert_int_not_equal(access(scratch_path("styles.d/trace.db"), F_OK), 0);
	file = world_open("styles.d", "meta.db");
	/* five statistics in four scopes */
	assert_int_equal(world_u16(&file, world_u64(&file, world_u64(&file, 0x38)) + 0x1a), 20);
	world_close(&file);
	sonde_definitions_free(definitions);
}

static void test_unfinished(void **state)
{
	struct sonde_definitions *definitions = define();
	const struct sonde_sample far = { .context = CONTEXTS + 1 };
	struct sonde_sink *sink;
	struct sonde_error err;

	(void)state;
	create("unfinished.d", NULL, NULL, &sink);
	feed(sink, definitions);
	assert_int_equal(sink->ops->samples(sink, 0, &far, 1, &err), SONDE_ARGUMENT);
	assert_int_equal(sink->ops->samples(sink, 2, &far, 1, &err), SONDE_ARGUMENT);
	sonde_sink_free(sink);
	assert_int_not_equal(access(scratch_path("unfinished.d"), F_OK), 0);
	sonde_definitions_free(definitions);
}

static void convert(const char *from, const char *to, const char *style,
		    struct sonde_run_result *result)
{
	const struct sonde_run_options options = { .threads = 2 };
	struct sonde_recording *source;
	struct sonde_sink *sink;
	struct sonde_error err;

	create(to, style, NULL, &sink);
	assert_int_equal(sonde_recording_open(scratch_path(from), NULL, &source, &err), SONDE_OK);
	assert_int_equal(sonde_pipeline_run(&source, 1, sink, &options, result, &err), SONDE_OK);
	sonde_sink_free(sink);
	sonde_recording_close(source);
}

/* A database that becomes one again stays as it is, byte by byte, with what is not known here. */
static void test_whole(void **state)
{
	struct sonde_definitions *definitions = define();
	struct sonde_run_result result = { 0 };
	struct sonde_sink *sink;
	struct world_file file;
	struct sonde_error err;

	(void)state;
	create("whole.d", "count", NULL, &sink);
	feed(sink, definitions);
	assert_int_equal(sink->ops->finish(sink, &err), SONDE_OK);
	sonde_sink_free(sink);
	put_file(scratch_path("whole.d/metrics/mine.yaml"), "version: 0\n");
	convert("whole.d", "copy.d", NULL, &result);
	assert_same_database("whole.d", "copy.d");
	file = world_open("copy.d", "metrics/mine.yaml");
	assert_int_equal(file.file.size, 11);
	world_close(&file);
	assert_int_equal(result.contexts_written, CONTEXTS + 2);
	assert_int_equal(result.samples_written, SAMPLES);
	assert_true(result.values_written > 0);
	/* with other statistics it is written anew, with the same values */
	convert("whole.d", "anew.d", "mean", &result);
	check_values("anew.d");
	assert_int_not_equal(access(scratch_path("anew.d/metrics/mine.yaml"), F_OK), 0);
	sonde_definitions_free(definitions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fed),
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
