/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs of prof: the same bytes whoever works on them in which order, what is refused, and what
 * the second pass makes of values and samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "analyse/prof_read.h"
#include "analyse/prof_source.h"
#include "base/file.h"
#include "pipe_team.h"
#include "prof_fixture.h"
#include "scratch.h"

static const struct sonde_prof_options usual = { .threads = 1,
						 .statistics = HPCDB_STATISTIC_SUM,
						 .ignore_binaries = true };

static void run(const char *const *inputs, size_t count, const char *output,
		const struct sonde_prof_options *options, struct sonde_prof_report *report)
{
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_prof_run(inputs, count, output, options, report, &err);

	if (status != SONDE_OK)
		fail_msg("%s %s", err.file, err.message);
}

static void bytes_depend_on_input_alone(void **state)
{
	static const char *const forwards[] = { "a.m", "b.m" };
	static const char *const backwards[] = { "b.m/prog-2.hpcrun", "b.m/prog-0.hpcrun", "a.m",
						 "b.m/prog-1.hpcrun" };
	struct sonde_prof_options options = usual;
	struct sonde_prof_report report = { 0 };
	static const unsigned int threads[] = { 2, 3, 8 };
	size_t i;

	(void)state;
	put_random_profiles("a.m", 7);
	put_random_profiles("b.m", 3);
	run(forwards, 2, "one.d", &usual, &report);
	assert_int_equal(report.profiles, 10);
	assert_int_equal(report.refusals.count, 0);
	assert_int_equal(report.samples, 200);
	assert_int_equal(report.modules.count, 3);
	sonde_prof_report_release(&report);
	options.replace = true;
	for (i = 0; i < 3; i++) {
		options.threads = threads[i];
		run(i % 2 ? forwards : backwards, i % 2 ? 2 : 4, "other.d", &options, &report);
		assert_same_files("one.d", "other.d");
		sonde_prof_report_release(&report);
	}
}

struct team_run {
	const char *output;
	struct sonde_prof_report report;
};

static int run_in_team(struct sonde_team *team, void *context)
{
	static const char *const inputs[] = { "a.m" };
	struct team_run *team_run = context;
	struct sonde_prof_options options = usual;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	options.team = team;
	status = sonde_prof_run(inputs, 1, team_run->output, &options, &team_run->report, &err);
	if (team->rank)
		sonde_prof_report_release(&team_run->report);
	return status == SONDE_OK ? 0 : 1;
}

static void teams_come_to_the_same(void **state)
{
	static const char *const inputs[] = { "a.m" };
	struct sonde_prof_report report = { 0 };
	int codes[PIPE_TEAM_MOST];
	unsigned int size, rank;

	(void)state;
	put_random_profiles("a.m", 5);
	put_bytes("a.m/bad.hpcrun", "no profile", 10);
	run(inputs, 1, "one.d", &usual, &report);
	for (size = 1; size <= 4; size++) {
		struct team_run team_run = { .output = "team.d" };

		pipe_team_run(size, run_in_team, &team_run, codes);
		for (rank = 0; rank < size; rank++)
			assert_int_equal(codes[rank], 0);
		assert_same_files("one.d", "team.d");
		assert_int_equal(team_run.report.refusals.count, 1);
		assert_int_equal(team_run.report.samples, report.samples);
		sonde_prof_report_release(&team_run.report);
		remove_tree("team.d");
	}
	/* a failure is everybody's */
	put_file("team.d", "in the way");
	{
		struct team_run team_run = { .output = "team.d" };

		pipe_team_run(3, run_in_team, &team_run, codes);
		for (rank = 0; rank < 3; rank++)
			assert_int_equal(codes[rank], 1);
		sonde_prof_report_release(&team_run.report);
	}
	sonde_prof_report_release(&report);
}

static const struct sonde_prof_refusal *refusal_of(const struct sonde_prof_report *report,
						   const char *path)
{
	size_t i;

	for (i = 0; i < report->refusals.count; i++)
		if (!strcmp(report->refusals.items[i].path, path))
			return &report->refusals.items[i];
	fail_msg("%s was not refused", path);
	return NULL;
}

static void damage_is_refused_and_the_rest_merged(void **state)
{
	static const char *const inputs[] = { "a.m", "a.m", "a.m/prog-0.hpcrun", "none", "one.d" };
	const struct hpcrun_node lost[] = { ROOT(12), NODE(14, 0, 0, HPCRUN_MAIN),
					    NODE(16, 1, 9, 1) };
	const struct hpcrun_value values[] = { VALUE(2, 0, 1) };
	const struct made_profile without_module = MADE(77, lost, values);
	struct sonde_prof_options options = usual;
	struct sonde_prof_report report = { 0 };

	(void)state;
	put_random_profiles("a.m", 4);
	run(inputs, 1, "one.d", &usual, &report);
	sonde_prof_report_release(&report);
	assert_int_equal(truncate("a.m/prog-1.hpcrun", 1000), 0);
	assert_int_equal(truncate("a.m/prog-2.hpctrace", 100), 0);
	put_bytes("a.m/prog-3.hpctrace", "nonsense", 8);
	put_profile("a.m", "lost", &without_module);
	run(inputs, 5, "two.d", &usual, &report);
	assert_int_equal(report.profiles, 3);
	assert_int_equal(report.samples, 20 + 5);
	refusal_of(&report, "a.m/prog-1.hpcrun");
	refusal_of(&report, "a.m/prog-2.hpctrace");
	refusal_of(&report, "a.m/prog-3.hpctrace");
	refusal_of(&report, "a.m");
	refusal_of(&report, "a.m/prog-0.hpcrun");
	refusal_of(&report, "none");
	assert_non_null(strstr(refusal_of(&report, "one.d")->reason, "database"));
	refusal_of(&report, "a.m/lost.hpcrun");
	assert_int_equal(report.refusals.count, 8);
	sonde_prof_report_release(&report);
	/* what was refused left no trace: the same as without it */
	unlink("a.m/prog-1.hpcrun");
	unlink("a.m/lost.hpcrun");
	unlink("a.m/prog-3.hpctrace");
	options.threads = 2;
	run(inputs, 1, "three.d", &options, &report);
	assert_same_files("two.d", "three.d");
	sonde_prof_report_release(&report);
}

static void nothing_to_merge(void **state)
{
	static const char *const inputs[] = { "none", "a.m" };
	const char *only[] = { "other-*" };
	struct sonde_prof_options options = usual;
	struct sonde_prof_report report = { 0 };
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_prof_run(inputs, 1, "x.d", &usual, &report, &err), SONDE_FORMAT);
	assert_int_equal(report.refusals.count, 1);
	assert_int_equal(sonde_path_kind("x.d"), SONDE_PATH_ABSENT);
	sonde_prof_report_release(&report);
	put_random_profiles("a.m", 2);
	options.only = only;
	options.only_count = 1;
	assert_int_equal(sonde_prof_run(inputs + 1, 1, "x.d", &options, &report, &err),
			 SONDE_FORMAT);
	sonde_prof_report_release(&report);
	only[0] = "prog-1";
	run(inputs + 1, 1, "x.d", &options, &report);
	assert_int_equal(report.profiles, 1);
	sonde_prof_report_release(&report);
}

static void a_dry_run_writes_nothing(void **state)
{
	static const char *const inputs[] = { "a.m" };
	struct sonde_prof_options options = usual;
	struct sonde_prof_report report = { 0 };

	(void)state;
	put_random_profiles("a.m", 2);
	options.dry_run = true;
	run(inputs, 1, "x.d", &options, &report);
	assert_int_equal(report.profiles, 2);
	assert_true(report.contexts > 100);
	assert_int_equal(sonde_path_kind("x.d"), SONDE_PATH_ABSENT);
	sonde_prof_report_release(&report);
}

/* All that the second pass needs. */
struct passes {
	struct prof_inputs inputs;
	struct prof_union all;
	struct prof_metrics metrics;
	struct prof_contexts contexts;
	struct prof_source source;
	struct hpcdb_source asked;
};

static void first_pass(struct passes *passes, const char *input,
		       const struct sonde_prof_options *options)
{
	struct sonde_error err;

	*passes = (struct passes){ 0 };
	assert_int_equal(prof_inputs_find(&passes->inputs, &input, 1, options, &passes->all, &err),
			 0);
	assert_int_equal(prof_read(&passes->inputs, options, &passes->all, &err), 0);
	assert_int_equal(prof_metrics_make(&passes->metrics, &passes->all, &err), 0);
	assert_int_equal(prof_contexts_make(&passes->contexts, &passes->all, &passes->inputs,
					    options, &passes->all, &err),
			 0);
	passes->source = (struct prof_source){ .inputs = &passes->inputs,
					       .options = options,
					       .all = &passes->all,
					       .contexts = &passes->contexts,
					       .metrics = &passes->metrics,
					       .tracks = passes->all.tracks.items,
					       .track_count = (uint32_t)passes->all.tracks.count };
	passes->asked = prof_source_of(&passes->source);
}

static void release_passes(struct passes *passes)
{
	prof_source_release(&passes->source);
	prof_contexts_release(&passes->contexts);
	prof_metrics_release(&passes->metrics);
	prof_union_release(&passes->all);
	prof_inputs_release(&passes->inputs);
}

static const struct hpcrun_node placed[] = { ROOT(12), NODE(14, 0, 0, HPCRUN_MAIN),
					     NODE(16, 1, 1, 0x12),
					     NODE(18, 0, 0, HPCRUN_NO_ACTIVITY) };

/* A function with one line: context 1 main thread, 2 function, 3 line, 4 instruction. */
static void put_structure(void)
{
	struct sonde_error err;

	assert_int_equal(sonde_folder_create("x.m", &err), SONDE_OK);
	assert_int_equal(sonde_folder_create("x.m/structs", &err), SONDE_OK);
	put_file("x.m/structs/p.hpcstruct",
		 "<?xml version=\"1.0\"?>\n<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n"
		 "<LM i=\"2\" n=\"/app/prog\" has-calls=\"0\" v=\"{}\">\n"
		 "<F i=\"3\" n=\"/src/a.c\">\n<P i=\"4\" n=\"work\" l=\"10\" v=\"{[0x10-0x11)}\">\n"
		 "<S i=\"5\" l=\"11\" v=\"{[0x10-0x18)}\"/>\n</P>\n</F>\n</LM>\n"
		 "</HPCToolkitStructure>\n");
}

static void values_go_where_they_belong(void **state)
{
	const struct hpcrun_metric metrics[] = {
		{ .name = "I", .description = "", .formula = "", .format = "", .period = 10 },
		{ .name = "F",
		  .description = "",
		  .formula = "",
		  .format = "",
		  .period = 1,
		  .at_function = true },
	};
	const struct hpcrun_value values[] = { VALUE(2, 0, 3), VALUE(2, 1, 5) };
	const struct made_profile made = { .nodes = placed,
					   .node_count = 4,
					   .values = values,
					   .value_count = 2,
					   .metrics = metrics,
					   .metric_count = 2 };
	struct hpcdb_points points = { 0 };
	struct passes passes;
	struct sonde_error err;
	void *track;

	(void)state;
	put_structure();
	put_profile("x.m", "p", &made);
	first_pass(&passes, "x.m", &usual);
	assert_int_equal(passes.contexts.count, 5);
	assert_int_equal(passes.asked.open(passes.asked.data, 0, &track, &err), SONDE_OK);
	assert_int_equal(passes.asked.values(track, &points, &err), SONDE_OK);
	assert_int_equal(points.items.count, 2);
	assert_int_equal(points.items.items[0].context, 4);
	assert_true(points.items.items[0].value == 30);
	assert_int_equal(points.items.items[1].context, 2);
	assert_int_equal(points.items.items[1].metric, 1);
	passes.asked.close(track);
	sonde_vec_release(&points.items);
	release_passes(&passes);
}

static void check_samples(uint64_t flags, uint32_t expected)
{
	const struct hpctrace_record records[] = {
		{ 100, 16 }, { 200, 18 }, { 300, 999 }, { 400, 14 }
	};
	const struct made_profile made = { .nodes = placed,
					   .node_count = 4,
					   .records = records,
					   .record_count = 4,
					   .trace_flags = flags };
	struct sonde_sample samples[3];
	struct passes passes;
	struct sonde_error err;
	size_t count;
	void *track;

	put_profile("x.m", "p", &made);
	first_pass(&passes, "x.m", &usual);
	assert_int_equal(passes.all.tracks.items[0].sample_limit, 4);
	assert_int_equal(passes.asked.open(passes.asked.data, 0, &track, &err), SONDE_OK);
	assert_int_equal(passes.asked.samples(track, samples, 2, &count, &err), SONDE_OK);
	assert_int_equal(count, 2);
	assert_int_equal(samples[0].time_ns, 100);
	assert_int_equal(samples[0].context, expected);
	assert_int_equal(samples[1].context, 0);
	/* the one in between is of no context that the profile has */
	assert_int_equal(passes.asked.samples(track, samples, 3, &count, &err), SONDE_OK);
	assert_int_equal(count, 1);
	assert_int_equal(samples[0].time_ns, 400);
	assert_int_equal(samples[0].context, 1);
	assert_int_equal(passes.asked.samples(track, samples, 3, &count, &err), SONDE_OK);
	assert_int_equal(count, 0);
	assert_int_equal(passes.source.samples_unknown, 1);
	passes.asked.close(track);
	release_passes(&passes);
}

static void samples_go_where_they_belong(void **state)
{
	(void)state;
	put_structure();
	check_samples(0, 4);
	check_samples(HPCTRACE_CALLS, 2);
}

/* A profile that is another one at the second look is an error, and not wrong numbers. */
static void a_changed_profile_is_an_error(void **state)
{
	const struct hpcrun_node other[] = { ROOT(12), NODE(14, 0, 0, HPCRUN_MAIN),
					     NODE(16, 1, 1, 0x77) };
	const struct hpcrun_value values[] = { VALUE(2, 0, 3) };
	const struct made_profile before = MADE(0, placed, values), after = MADE(0, other, values);
	struct passes passes;
	struct sonde_error err;
	void *track;

	(void)state;
	put_profile("x.m", "p", &before);
	first_pass(&passes, "x.m", &usual);
	put_profile("x.m", "p", &after);
	assert_int_equal(passes.asked.open(passes.asked.data, 0, &track, &err), SONDE_CORRUPT);
	assert_string_equal(err.file, "x.m/p.hpcrun");
	unlink("x.m/p.hpcrun");
	assert_int_equal(passes.asked.open(passes.asked.data, 0, &track, &err), SONDE_IO);
	release_passes(&passes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
	const struct CMUnitTest tests[] = {
		TEST(bytes_depend_on_input_alone),
		TEST(teams_come_to_the_same),
		TEST(damage_is_refused_and_the_rest_merged),
		TEST(nothing_to_merge),
		TEST(a_dry_run_writes_nothing),
		TEST(values_go_where_they_belong),
		TEST(samples_go_where_they_belong),
		TEST(a_changed_profile_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
