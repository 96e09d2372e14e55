/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of databases: meta.db, trace.db, default.yaml and copies of sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hpcdb_world.h"
#include "scratch.h"

enum { GENERAL, ID_NAMES, METRICS, CONTEXT, STRINGS, MODULES, FILES, FUNCTIONS, SECTIONS };

static uint64_t section(const struct world_file *file, int number)
{
	return world_u64(file, 0x18 + (uint64_t)number * 16);
}

static uint64_t section_end(const struct world_file *file, int number)
{
	return section(file, number) + world_u64(file, 0x10 + (uint64_t)number * 16);
}

static void test_sections(void **state)
{
	static const int order[] = { GENERAL, ID_NAMES, METRICS,   STRINGS,
				     MODULES, FILES,	FUNCTIONS, CONTEXT };
	struct world world;
	struct world_file file;
	uint64_t at = 0x90;

	(void)state;
	world_init(&world);
	world_write(&world, "sections.d");
	file = world_open("sections.d", "meta.db");
	assert_memory_equal(file.file.data, "HPCTOOLKITmeta\4\0", 16);
	for (int i = 0; i < SECTIONS; i++) {
		assert_int_equal(section(&file, order[i]), (at + 7) / 8 * 8);
		at = section_end(&file, order[i]);
	}
	assert_int_equal(at + 8, file.file.size);
	assert_memory_equal(file.file.data + at, "_meta.db", 8);
	assert_string_equal(world_text(&file, world_u64(&file, section(&file, GENERAL))), "title");
	assert_string_equal(world_text(&file, world_u64(&file, section(&file, GENERAL) + 8)), "");
	at = section(&file, ID_NAMES);
	assert_int_equal(world_u8(&file, at + 8), 8);
	assert_string_equal(world_text(&file, world_u64(&file, world_u64(&file, at) + 8)), "NODE");
	assert_string_equal(world_text(&file, world_u64(&file, world_u64(&file, at) + 56)), "CORE");
	world_close(&file);
	world_release(&world);
}

static void test_metrics(void **state)
{
	static const char *const names[] = { "point", "function", "lex_aware", "execution" };
	static const uint8_t types[] = { 1, 3, 0, 2 }, bits[] = { 255, 0, 255, 255 };
	struct world world;
	struct world_file file;
	uint64_t at, scopes, metric, summary;

	(void)state;
	world_init(&world);
	world.metrics[1] = (struct hpcdb_metric){ .name = "RATE", .formula = "#0/2" };
	world.metrics[2] =
		(struct hpcdb_metric){ .name = "SECOND",
				       .scopes = 1u << HPCDB_POINT | 1u << HPCDB_EXECUTION };
	world.world.metric_count = 3;
	world.options.statistics = HPCDB_STATISTIC_DEVIATION | HPCDB_STATISTIC_EXTREMA;
	world_write(&world, "metrics.d");
	file = world_open("metrics.d", "meta.db");
	at = section(&file, METRICS);
	assert_int_equal(world_u32(&file, at + 8), 2);
	assert_int_equal(world_u8(&file, at + 12), 0x20);
	assert_int_equal(world_u8(&file, at + 13), 0x10);
	assert_int_equal(world_u8(&file, at + 14), 0x18);
	assert_int_equal(world_u16(&file, at + 0x18), 4);
	assert_int_equal(world_u8(&file, at + 0x1a), 0x10);
	scopes = world_u64(&file, at + 0x10);
	for (unsigned int i = 0; i < 4; i++) {
		assert_string_equal(world_text(&file, world_u64(&file, scopes + 16 * i)), names[i]);
		assert_int_equal(world_u8(&file, scopes + 16 * i + 8), types[i]);
		assert_int_equal(world_u8(&file, scopes + 16 * i + 9), bits[i]);
	}
	/* the second one: 5 statistics in 4 scopes are before it */
	metric = world_u64(&file, at) + 0x20;
	assert_string_equal(world_text(&file, world_u64(&file, metric)), "SECOND");
	assert_int_equal(world_u16(&file, metric + 0x18), 2);
	assert_int_equal(world_u16(&file, metric + 0x1a), 10);
	assert_int_equal(world_u64(&file, world_u64(&file, metric + 8)), scopes);
	assert_int_equal(world_u16(&file, world_u64(&file, metric + 8) + 8), 20);
	assert_int_equal(world_u64(&file, world_u64(&file, metric + 8) + 16), scopes + 48);
	assert_int_equal(world_u16(&file, world_u64(&file, metric + 8) + 24), 21);
	/* sum, count, squares, min, max */
	summary = world_u64(&file, metric + 16);
	assert_string_equal(world_text(&file, world_u64(&file, summary + 8)), "$$");
	assert_int_equal(world_u16(&file, summary + 18), 20);
	assert_string_equal(world_text(&file, world_u64(&file, summary + 48 + 8)), "1");
	assert_string_equal(world_text(&file, world_u64(&file, summary + 96 + 8)), "($$^2)");
	assert_int_equal(world_u8(&file, summary + 96 + 16), 0);
	assert_int_equal(world_u8(&file, summary + 144 + 16), 1);
	assert_int_equal(world_u8(&file, summary + 192 + 16), 2);
	assert_int_equal(world_u64(&file, summary + 216), scopes + 48);
	assert_int_equal(world_u16(&file, summary + 216 + 18), 29);
	world_close(&file);
	world_release(&world);
}

/* What a listed context must look like. */
struct listed {
	uint8_t flags, relation, type, words;
	uint16_t propagation;
};

static uint64_t check_context(const struct world_file *file, uint64_t at, uint32_t number,
			      struct listed expected)
{
	assert_int_equal(at % 8, 0);
	assert_int_equal(world_u32(file, at + 0x10), number);
	assert_int_equal(world_u8(file, at + 0x14), expected.flags);
	assert_int_equal(world_u8(file, at + 0x15), expected.relation);
	assert_int_equal(world_u8(file, at + 0x16), expected.type);
	assert_int_equal(world_u8(file, at + 0x17), expected.words);
	assert_int_equal(world_u16(file, at + 0x18), expected.propagation);
	return world_u64(file, at + 8);
}

static void check_records(const struct world_file *file, uint64_t loop, uint64_t callee)
{
	uint64_t modules = section(file, MODULES), files = section(file, FILES);
	uint64_t functions = section(file, FUNCTIONS), main_at = world_u64(file, functions);

	/* what only unlisted contexts name is not there, and modules of one path are one */
	assert_int_equal(world_u32(file, modules + 8), 1);
	assert_int_equal(world_u32(file, files + 8), 2);
	assert_int_equal(world_u32(file, functions + 8), 3);
	assert_int_equal(world_u16(file, functions + 12), 0x28);
	assert_string_equal(world_text(file, world_u64(file, world_u64(file, modules) + 8)),
			    "/bin/prog");
	assert_string_equal(world_text(file, world_u64(file, main_at)), "main");
	assert_int_equal(world_u64(file, main_at + 8), world_u64(file, modules));
	assert_int_equal(world_u64(file, main_at + 0x10), 0x1000);
	assert_int_equal(world_u64(file, main_at + 0x18), world_u64(file, files));
	assert_int_equal(world_u32(file, main_at + 0x20), 5);
	assert_int_equal(world_u64(file, main_at + 0x28 + 8), world_u64(file, modules));
	assert_int_equal(world_u64(file, loop + 0x20), world_u64(file, files));
	assert_int_equal(world_u32(file, loop + 0x28), 10);
	assert_int_equal(world_u64(file, loop + 0x30), world_u64(file, modules));
	assert_int_equal(world_u64(file, loop + 0x38), 0x1010);
	assert_int_equal(world_u64(file, callee + 0x20), main_at + 2 * 0x28);
	assert_int_equal(world_u64(file, main_at + 2 * 0x28 + 8), 0);
	assert_int_equal(world_u64(file, main_at + 2 * 0x28 + 0x10), 7);
}

static void test_tree(void **state)
{
	struct world world;
	struct world_file file;
	uint64_t entries, at, loop, callee;

	(void)state;
	world_init(&world);
	world_write(&world, "tree.d");
	file = world_open("tree.d", "meta.db");
	at = section(&file, CONTEXT);
	entries = world_u64(&file, at);
	assert_int_equal(world_u16(&file, at + 8), 2);
	assert_int_equal(world_u8(&file, at + 10), 0x20);
	assert_int_equal(entries + 2 * 0x20, section_end(&file, CONTEXT)); /* they come last */
	assert_int_equal(world_u32(&file, entries + 0x10), WORLD_MAIN_ENTRY);
	assert_int_equal(world_u16(&file, entries + 0x14), 1);
	assert_string_equal(world_text(&file, world_u64(&file, entries + 0x18)), "main thread");
	assert_int_equal(world_u16(&file, entries + 0x34), 0);
	assert_string_equal(world_text(&file, world_u64(&file, entries + 0x38)), "signal handler");
	assert_int_equal(world_u64(&file, entries), 0x28);
	at = world_u64(&file, entries + 8);
	assert_true(at < entries);
	loop = check_context(&file, at, WORLD_MAIN, (struct listed){ 1, 1, 0, 1, 0 });
	assert_true(loop < at);
	assert_int_equal(world_u64(&file, at), 0x40);
	at = check_context(&file, loop, WORLD_OUTER, (struct listed){ 6, 0, 1, 4, 1 });
	at = check_context(&file, at, WORLD_INNER, (struct listed){ 2, 0, 1, 2, 1 });
	at = check_context(&file, at, WORLD_LINE, (struct listed){ 2, 0, 2, 2, 1 });
	/* its instruction is not listed, the function that is inlined there is */
	at = check_context(&file, at, WORLD_INLINED, (struct listed){ 1, 2, 0, 1, 0 });
	callee = check_context(&file, at, WORLD_INLINED_LINE, (struct listed){ 2, 0, 2, 2, 1 });
	at = check_context(&file, callee, WORLD_CALLEE, (struct listed){ 1, 1, 0, 1, 0 });
	assert_int_equal(world_u64(&file, at), 0);
	assert_int_equal(
		check_context(&file, at, WORLD_CALLEE_LINE, (struct listed){ 2, 0, 2, 2, 1 }), 0);
	at = world_u64(&file, entries + 0x28);
	check_context(&file, at, WORLD_UNKNOWN, (struct listed){ 0, 1, 0, 0, 0 });
	check_records(&file, loop, callee);
	world_close(&file);
	world_release(&world);
}

static void check_sample(const struct world_file *file, uint64_t at, uint64_t time,
			 uint32_t context)
{
	assert_int_equal(world_u64(file, at), time);
	assert_int_equal(world_u32(file, at + 8), context);
}

static void test_traces(void **state)
{
	static const struct sonde_sample first[] = {
		{ 10, 0, 0 },		{ 40, 0, WORLD_CALL }, /* not listed: its line is */
		{ 20, 0, WORLD_MAIN },			       /* too late, as are the next two */
		{ 20, 0, WORLD_INNER },			       /* after that of the same time */
		{ 15, 0, 0 },				       /* did not run before either */
		{ 50, 0, 0 },		{ 60, 0, 0 },
		{ 70, 0, WORLD_ROOT },	{ 80, 0, WORLD_INSTRUCTION },
	};
	static const struct sonde_sample third[] = { { 5, 0, WORLD_MAIN }, { 6, 0, WORLD_MAIN } };
	struct world world;
	struct world_file file;
	uint64_t at;

	(void)state;
	world_init(&world);
	world.world.track_count = 3;
	world.data[0].samples = first;
	world.data[0].sample_count = 9;
	world.data[2] = (struct world_track){ .samples = third, .sample_count = 2 };
	world.tracks[0].sample_limit = 9;
	world.tracks[2].sample_limit = 5;
	world_write(&world, "traces.d");
	assert_int_equal(world.written.samples, 6 + 2);
	assert_int_equal(world.written.samples_out_of_order, 3);
	file = world_open("traces.d", "trace.db");
	assert_memory_equal(file.file.data, "HPCTOOLKITtrce\4\0", 16);
	assert_int_equal(world_u64(&file, 0x10), 0x20 + 3 * 24);
	assert_int_equal(world_u64(&file, 0x18), 0x20);
	assert_int_equal(world_u64(&file, 0x20), 0x40);
	assert_int_equal(world_u32(&file, 0x28), 3);
	assert_int_equal(world_u8(&file, 0x2c), 24);
	assert_int_equal(world_u64(&file, 0x30), 5);
	assert_int_equal(world_u64(&file, 0x38), 80);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(world_u32(&file, 0x40 + 24 * i), i + 1);
		assert_int_equal(world_u64(&file, 0x48 + 24 * i) % 8, 0);
	}
	at = world_u64(&file, 0x48);
	assert_int_equal(world_u64(&file, 0x50), at + 6 * 12);
	check_sample(&file, at, 10, 0);
	check_sample(&file, at + 12, 20, WORLD_MAIN);
	check_sample(&file, at + 24, 20, WORLD_INNER);
	check_sample(&file, at + 36, 40, WORLD_INLINED_LINE);
	check_sample(&file, at + 48, 50, 0);
	check_sample(&file, at + 60, 80, WORLD_LINE);
	check_sample(&file, at + 72, 0, 0);
	assert_int_equal(world_u64(&file, 0x60), world_u64(&file, 0x68));
	at = world_u64(&file, 0x78);
	assert_int_equal(world_u64(&file, 0x80), at + 24);
	check_sample(&file, at + 12, 6, WORLD_MAIN);
	assert_memory_equal(file.file.data + file.file.size - 8, "trace.db", 8);
	world_close(&file);
	world.options.no_traces = true;
	world_write(&world, "no-traces.d");
	assert_int_not_equal(access(scratch_path("no-traces.d/trace.db"), F_OK), 0);
	world_release(&world);
}

/* There was room for samples, but none came. */
static void test_nothing_traced(void **state)
{
	struct world world;

	(void)state;
	world_init(&world);
	world.tracks[0].sample_limit = 5;
	world_write(&world, "untraced.d");
	assert_int_not_equal(access(scratch_path("untraced.d/trace.db"), F_OK), 0);
	world_release(&world);
}

static const char yaml[] = "version: 0\n"
			   "inputs:\n"
			   "  - &Ax3a_-0-sum-execution\n"
			   "    metric: \"A:\"\n"
			   "    scope: execution\n"
			   "    formula: $$\n"
			   "    combine: sum\n"
			   "  - &Ax3a_-0-sum-function\n"
			   "    metric: \"A:\"\n"
			   "    scope: function\n"
			   "    formula: $$\n"
			   "    combine: sum\n"
			   "  - &Ax3a_-0-count-execution\n"
			   "    metric: \"A:\"\n"
			   "    scope: execution\n"
			   "    formula: 1\n"
			   "    combine: sum\n"
			   "  - &Ax3a_-0-count-function\n"
			   "    metric: \"A:\"\n"
			   "    scope: function\n"
			   "    formula: 1\n"
			   "    combine: sum\n"
			   "roots:\n"
			   "  - name: \"A:\"\n"
			   "    description: \"say \\\"a\\\"\"\n"
			   "    visible by default: false\n"
			   "    variants:\n"
			   "      Sum:\n"
			   "        render: [number, percent]\n"
			   "        formula:\n"
			   "          inclusive:\n"
			   "            standard: *Ax3a_-0-sum-execution\n"
			   "          exclusive:\n"
			   "            standard: *Ax3a_-0-sum-function\n"
			   "      Mean:\n"
			   "        render: [number]\n"
			   "        formula:\n"
			   "          inclusive:\n"
			   "            standard: {/: [*Ax3a_-0-sum-execution, "
			   "*Ax3a_-0-count-execution]}\n"
			   "          exclusive:\n"
			   "            standard: {/: [*Ax3a_-0-sum-function, "
			   "*Ax3a_-0-count-function]}\n"
			   "  - name: DERIVED\n"
			   "    description: DERIVED\n"
			   "    format: \"%6.2f %%\"\n"
			   "    variants:\n"
			   "      \"\":\n"
			   "        render: [number]\n"
			   "        formula:\n"
			   "          exclusive:\n"
			   "            standard: {\"*\": [100, *Ax3a_-0-sum-function]}\n";

static void assert_yaml(const char *database, const char *expected)
{
	struct world_file file = world_open(database, "metrics/default.yaml");

	assert_int_equal(file.file.size, strlen(expected));
	assert_memory_equal(file.file.data, expected, strlen(expected));
	world_close(&file);
}

static void test_yaml(void **state)
{
	struct world world;

	(void)state;
	world_init(&world);
	world.metrics[0] = (struct hpcdb_metric){
		.name = "A:",
		.description = "say \"a\"",
		.scopes = 1u << HPCDB_EXECUTION | 1u << HPCDB_FUNCTION_SCOPE,
		.visibility = HPCDB_HIDDEN_BY_DEFAULT,
		.show_percent = true,
	};
	world.metrics[1] = (struct hpcdb_metric){
		.name = "DERIVED",
		.formula = "100*#0",
		.format = "%6.2f %%",
		.scopes = 1u << HPCDB_LEX_AWARE | 1u << HPCDB_FUNCTION_SCOPE,
	};
	/* leads to nothing; refers to itself */
	world.metrics[2] = (struct hpcdb_metric){ .name = "LOST", .formula = "#0 + #9" };
	world.metrics[3] = (struct hpcdb_metric){ .name = "CIRCLE", .formula = "#3" };
	world.world.metric_count = 4;
	world.options.statistics = HPCDB_STATISTIC_SUM | HPCDB_STATISTIC_MEAN;
	world_write(&world, "yaml.d");
	assert_yaml("yaml.d", yaml);
	world.options.statistics = 0;
	world_write(&world, "no-yaml.d");
	assert_yaml("no-yaml.d", "version: 0\ninputs: []\nroots: []\n");
	world_release(&world);
}

static void test_sources(void **state)
{
	struct world world;
	struct world_file file;
	char source[300], copy[600];
	uint64_t files;

	(void)state;
	world_init(&world);
	mkdir(scratch_path("code"), 0777);
	put_file(scratch_path("code/b.c"), "int b;\n");
	snprintf(source, sizeof(source), "%s/code/../code/./b.c", scratch);
	world.contexts[WORLD_CALLEE_LINE].file = world_string(&world, source);
	world.options.copy_sources = true;
	world_write(&world, "sources.d");
	assert_int_equal(world.written.sources_copied, 1);
	assert_int_equal(world.written.sources_missing, 1);
	file = world_open("sources.d", "meta.db");
	files = world_u64(&file, section(&file, FILES));
	assert_int_equal(world_u32(&file, files), 0);
	assert_string_equal(world_text(&file, world_u64(&file, files + 8)), "/nowhere/a.c");
	assert_int_equal(world_u32(&file, files + 16), 1);
	snprintf(copy, sizeof(copy), "src%s/code/b.c", scratch);
	assert_string_equal(world_text(&file, world_u64(&file, files + 24)), copy);
	world_close(&file);
	file = world_open("sources.d", copy);
	assert_int_equal(file.file.size, 7);
	world_close(&file);
	world_release(&world);
}

/* Names may be any bytes; those of a database are UTF-8. */
static void test_bad_names(void **state)
{
	struct world world;
	struct world_file file;
	char source[300], other[300], copy[600];

	(void)state;
	world_init(&world);
	mkdir(scratch_path("bad\xff"), 0777);
	put_file(scratch_path("bad\xff/b.c"), "int b;\n");
	mkdir(scratch_path("bad\xfe"), 0777);
	put_file(scratch_path("bad\xfe/b.c"), "int other;\n");
	snprintf(source, sizeof(source), "%s/bad\xff/b.c", scratch);
	snprintf(other, sizeof(other), "%s/bad\xfe/b.c", scratch);
	world.contexts[WORLD_CALLEE_LINE].file = world_string(&world, source);
	world.contexts[WORLD_INLINED_LINE].file = world_string(&world, other);
	world.metrics[0].name = "TIME\xe9";
	world.options.copy_sources = true;
	world_write(&world, "bad-names.d");
	/* two names that become the same: the first has the copy */
	assert_int_equal(world.written.sources_copied, 1);
	assert_int_equal(world.written.names_mended, 3);
	file = world_open("bad-names.d", "meta.db");
	snprintf(copy, sizeof(copy), "src%s/bad\xef\xbf\xbd/b.c", scratch);
	assert_non_null(memmem(file.file.data, file.file.size, copy, strlen(copy) + 1));
	assert_non_null(memmem(file.file.data, file.file.size, "TIME\xef\xbf\xbd", 8));
	world_close(&file);
	file = world_open("bad-names.d", copy);
	assert_true(file.file.size == 7 || file.file.size == 11);
	world_close(&file);
	file = world_open("bad-names.d", "metrics/default.yaml");
	assert_non_null(
		memmem(file.file.data, file.file.size, "metric: \"TIME\xef\xbf\xbd\"\n", 18));
	world_close(&file);
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections),       cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_tree),	       cmocka_unit_test(test_traces),
		cmocka_unit_test(test_nothing_traced), cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_sources),	       cmocka_unit_test(test_bad_names),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
