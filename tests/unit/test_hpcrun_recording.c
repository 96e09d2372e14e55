/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurement folders as recordings: what is in them, what damage leaves, what is written from a
 * recording, and what check and recover say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sonde/format.h>

#include "formats/hpcrun/hpcrun_profile.h"
#include "hpcrun_making.h"
#include "model/recording.h"
#include "scratch.h"

#define STEM "prog-000000-00%u-11ac0300-42-0"

static const char *name_of(const char *folder, unsigned int thread, const char *ending)
{
	static char names[4][96];
	static unsigned int next;
	char *name = names[next++ % 4];

	snprintf(name, sizeof(names[0]), "%s/" STEM "%s", folder, thread, ending);
	return scratch_path(name);
}

/* Two threads, each with a trace of eight samples; ids of the second are spread. */
static void make_folder(const char *folder)
{
	struct made_profile made = { 0 };

	remove_tree(scratch_path(folder));
	mkdir(scratch_path(folder), 0777);
	for (unsigned int i = 0; i < 2; i++) {
		made.little_endian = false;
		made.thread = i;
		made.id_step = i ? 1000003 : 2;
		made_04(&made);
		made_write(&made, name_of(folder, i, ".hpcrun"));
		made_trace(&made, 0, 8);
		made_write(&made, name_of(folder, i, ".hpctrace"));
	}
	made_release(&made);
}

static struct sonde_recording *open_folder(const char *folder)
{
	struct sonde_recording *recording = NULL;
	struct sonde_error err = { 0 };
	enum sonde_status status =
		sonde_recording_open(scratch_path(folder), NULL, &recording, &err);

	if (status)
		print_error("%s (%s)\n", err.message, err.cause);
	assert_int_equal(status, SONDE_OK);
	return recording;
}

static double sum_of(struct sonde_recording *recording, uint32_t track, uint32_t metric)
{
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	struct sonde_error err;
	double sum = 0;
	size_t count;

	assert_int_equal(sonde_value_cursor_open(recording, track, &cursor, &err), SONDE_OK);
	while (sonde_value_cursor_next(cursor, &values, &count, &err) == SONDE_OK) {
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(values[i].track, track);
			assert_true(!i || values[i].context > values[i - 1].context ||
				    (values[i].context == values[i - 1].context &&
				     values[i].metric > values[i - 1].metric));
			sum += values[i].metric == metric ? values[i].value : 0;
		}
	}
	sonde_value_cursor_free(cursor);
	return sum;
}

/* Parents before children, each subtree one run. */
static void assert_tree(const struct sonde_context *contexts, uint32_t count)
{
	assert_true(count && contexts[0].kind == SONDE_CONTEXT_ROOT && contexts[0].end == count);
	for (uint32_t i = 1; i < count; i++) {
		const struct sonde_context *parent = &contexts[contexts[i].parent];

		assert_true(contexts[i].parent < i && contexts[i].end > i);
		assert_true(i < parent->end && contexts[i].end <= parent->end);
	}
}

static uint64_t count_findings(const struct sonde_diagnostics *found, const char *id)
{
	const struct sonde_finding *finding;
	uint64_t count = 0;

	for (size_t i = 0; (finding = sonde_diagnostics_at(found, i)); i++)
		count += !strcmp(finding->type->id, id);
	return count;
}

static void test_definitions(void **state)
{
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	const struct sonde_track *track;
	char text[64];
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	struct sonde_error err;
	size_t count;

	(void)state;
	make_folder("m");
	recording = open_folder("m");
	definitions = sonde_recording_definitions(recording);
	assert_int_equal(sonde_recording_lanes(recording),
			 SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES | SONDE_LANE_SAMPLES);
	assert_int_equal(
		sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_NOTE), 0);
	assert_int_equal(sonde_definitions_process_count(definitions), 1);
	assert_int_equal(sonde_definitions_process(definitions, 0)->os_id, 42);
	assert_int_equal(sonde_definitions_track_count(definitions), 2);
	track = sonde_definitions_track(definitions, 1);
	assert_true(track->slot == 1 && track->sample_count == 8 && track->time_first_ns == 1000 &&
		    track->time_last_ns == 1070);
	assert_int_equal(sonde_definitions_module_count(definitions), 2);
	assert_int_equal(sonde_definitions_metric_count(definitions), 2);
	assert_string_equal(sonde_definitions_string(
				    definitions, sonde_definitions_metric(definitions, 1)->scope),
			    "point");
	assert_non_null(strstr(sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING,
								0, "hpc.formulas"),
			       "\"formula\":\"\\\"CYCLES\\\"/\\\"TIME (sec)\\\"\""));
	assert_string_equal(sonde_definitions_find_attribute(definitions, SONDE_OWNER_PROCESS, 0,
							     "hpcrun.program-path"),
			    "\"/bin/prog\"");
	assert_string_equal(sonde_definitions_find_attribute(definitions, SONDE_OWNER_TRACK, 1,
							     "hpcrun.thread-id"),
			    "\"1\"");
	assert_int_equal(sonde_identity_of_track(definitions, 1, identities, &count, &err),
			 SONDE_OK);
	assert_string_equal(sonde_identity_text(identities, count, text, sizeof(text)),
			    "NODE 0x11ac0300 THREAD 1");
	assert_int_equal(sonde_definitions_clock(definitions, 0)->kind, SONDE_CLOCK_REALTIME);
	sonde_recording_close(recording);
}

static void test_lanes(void **state)
{
	struct sonde_recording *recording;
	const struct sonde_context *contexts;
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	struct sonde_error err;
	uint32_t count;
	size_t got;
	char label[64];

	(void)state;
	make_folder("m");
	recording = open_folder("m");
	assert_int_equal(sonde_recording_contexts(recording, &contexts, &count, &err), SONDE_OK);
	assert_int_equal(count, 5); /* of both threads: root, entry, a, b, kernel */
	assert_tree(contexts, count);
	assert_true(contexts[1].kind == SONDE_CONTEXT_ENTRY &&
		    contexts[1].entry == SONDE_ENTRY_MAIN_THREAD);
	assert_true(contexts[2].kind == SONDE_CONTEXT_INSTRUCTION && contexts[2].address == 0x100 &&
		    contexts[2].relation == SONDE_CONTEXT_CALLED && contexts[2].end == 5);
	assert_true(contexts[3].address == 0x200 && contexts[3].module == 1);
	assert_string_equal(sonde_context_label(sonde_recording_definitions(recording),
						&contexts[4], label, sizeof(label)),
			    "<gpu kernel>");
	for (uint32_t track = 0; track < 2; track++) {
		static const uint32_t expected[] = { 0, 2, 3, 4 };

		assert_true(sum_of(recording, track, 0) == MADE_SECONDS);
		assert_true(sum_of(recording, track, 1) == MADE_CYCLES);
		assert_int_equal(sonde_sample_cursor_open(recording, track, &cursor, &err),
				 SONDE_OK);
		assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &got, &err), SONDE_OK);
		assert_int_equal(got, 8);
		for (size_t i = 0; i < got; i++)
			assert_true(samples[i].context == expected[i % 4] &&
				    samples[i].time_ns == 1000 + 10 * i &&
				    samples[i].track == track);
		assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &got, &err), SONDE_END);
		sonde_sample_cursor_seek_time(cursor, 1035);
		assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &got, &err), SONDE_OK);
		assert_true(got == 4 && samples[0].time_ns == 1040);
		sonde_sample_cursor_free(cursor);
	}
	assert_true(sum_of(recording, SONDE_NONE, 0) == 0);
	sonde_recording_close(recording);
}

/* Every generation of one file, alone, is the same recording; epochs are added up. */
static void test_generations(void **state)
{
	struct made_profile made = { 0 };

	(void)state;
	for (int kind = 0; kind < 6; kind++) {
		struct sonde_recording *recording;
		double times = kind >= 3 ? 2 : 1;

		if (kind == 0)
			made_04(&made);
		else if (kind == 1 || kind == 3)
			made_02_document(&made, kind == 3 ? 2 : 1, false);
		else if (kind == 4)
			made_02_coded(&made, 2);
		else
			made_02_b(&made, kind == 5 ? 2 : 1, true);
		made_write(&made, scratch_path("alone"));
		recording = open_folder("alone");
		assert_true(sum_of(recording, 0, 0) == times * MADE_SECONDS);
		assert_true(sum_of(recording, 0, 1) == times * MADE_CYCLES);
		sonde_recording_close(recording);
	}
	made_release(&made);
}

/* Nodes that are no calls: what is above, beside and below the ways into a program. */
static void test_placeholders(void **state)
{
	static const struct {
		uint16_t module;
		uint64_t ip;
		bool unwound;
		const char *parent, *label;
	} cases[] = {
		{ 0, HPCRUN_PARTIAL, true, "all", "unknown entry" },
		{ 0, HPCRUN_UNNORMALIZED, true, "all", "unknown entry" },
		{ 0, HPCRUN_THREAD, true, "all", "application thread" },
		{ 0, HPCRUN_MAIN, true, "all", "main thread" },
		{ 1, 0x77, true, "unknown entry", "prog+0x77" },
		{ 1, 0x77, false, "<unknown function>", "prog+0x77" },
		{ 0, HPCRUN_PLACEHOLDER('O', 'M', 'P', ' ', 'I', 'd', 'l', 'e'), true,
		  "unknown entry", "<omp idle>" },
		{ 0, HPCRUN_PLACEHOLDER('N', 'e', 'w', ' ', 'o', 'n', 'e', ' '), true,
		  "unknown entry", "<New one>" },
		{ 0, 3, true, "unknown entry", "<0x3>" },
		{ HPCRUN_MODULE_GPU_RANGE_ROOT, 5, true, "all", "unknown entry" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sonde_definitions *definitions;
		struct made_profile made = { 0 };
		struct sonde_recording *recording;
		const struct sonde_context *contexts;
		char label[64], parent[64];
		struct sonde_error err;
		bool found = false;
		uint32_t count;

		made_04(&made);
		made_patch_u32(&made, MARK_NODE_LEAF, 4, 12); /* below the root */
		made_patch_u32(&made, MARK_NODE_LEAF, 8, (uint32_t)cases[i].module << 16);
		made_patch_u64(&made, MARK_NODE_LEAF, 10, cases[i].ip);
		made.bytes.data[made.marks[MARK_NODE_LEAF] + 18] = cases[i].unwound;
		made_write(&made, scratch_path("alone"));
		made_release(&made);
		recording = open_folder("alone");
		definitions = sonde_recording_definitions(recording);
		assert_int_equal(sonde_recording_contexts(recording, &contexts, &count, &err),
				 SONDE_OK);
		assert_tree(contexts, count);
		for (uint32_t k = 1; k < count; k++) {
			const char *name = sonde_context_label(definitions, &contexts[k], label,
							       sizeof(label));
			const char *above = sonde_context_label(
				definitions, &contexts[contexts[k].parent], parent, sizeof(parent));

			found = found ||
				(!strcmp(name, cases[i].label) && !strcmp(above, cases[i].parent));
		}
		if (!found)
			print_error("%s below %s\n", cases[i].label, cases[i].parent);
		assert_true(found);
		assert_true(sum_of(recording, 0, 0) == MADE_SECONDS);
		sonde_recording_close(recording);
	}
}

/* In a call trace what was sampled is the instruction, with or without its callers. */
static void test_call_trace(void **state)
{
	struct made_profile made = { 0 };
	struct sonde_recording *recording;
	const struct sonde_context *contexts;
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	struct sonde_error err;
	char label[64];
	uint32_t contexts_count;
	size_t count, found = 0;

	(void)state;
	remove_tree(scratch_path("calls"));
	mkdir(scratch_path("calls"), 0777);
	made_04(&made);
	made_patch_u32(&made, MARK_NODE_LEAF, 8, 1u << 16);
	made_patch_u64(&made, MARK_NODE_LEAF, 10, 0x77);
	made.bytes.data[made.marks[MARK_NODE_LEAF] + 18] = 0; /* not unwound */
	made_write(&made, name_of("calls", 0, ".hpcrun"));
	made_trace(&made, HPCTRACE_CALLS, 4);
	made_write(&made, name_of("calls", 0, ".hpctrace"));
	made_release(&made);
	recording = open_folder("calls");
	assert_int_equal(sonde_recording_contexts(recording, &contexts, &contexts_count, &err),
			 SONDE_OK);
	assert_int_equal(sonde_sample_cursor_open(recording, 0, &cursor, &err), SONDE_OK);
	assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &count, &err), SONDE_OK);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++) {
		sonde_context_label(recording->definitions, &contexts[samples[i].context], label,
				    sizeof(label));
		assert_string_not_equal(label, "<unknown function>");
		found += !strcmp(label, "prog+0x77");
	}
	assert_int_equal(found, 1);
	sonde_sample_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_damage(void **state)
{
	struct sonde_recording *recording;
	const struct sonde_diagnostics *found;
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	struct made_profile made = { 0 };
	struct sonde_error err;
	size_t count;

	(void)state;
	make_folder("m");
	put_file(name_of("m", 3, ".hpcrun"), "HPCRUN-profile____04.00b and no more");
	put_file(name_of("m", 4, ".hpcrun"), "nothing of the kind");
	put_file(name_of("m", 0, ".hpctrace"), "nothing of the kind");
	made_trace(&made, 0, 3);
	made_put_u64(&made, 1); /* cut, and of a profile that is not there */
	made_write(&made, name_of("m", 5, ".hpctrace"));
	sonde_buffer_clear(&made.bytes);
	made.id_step = 1000003;
	made_trace(&made, 0, 2);
	made_put_u64(&made, 5);
	made_put_u32(&made, 77);
	made_put_u32(&made, 0);
	made_write(&made, name_of("m", 1, ".hpctrace"));
	recording = open_folder("m");
	found = sonde_recording_diagnostics(recording);
	assert_int_equal(count_findings(found, "hpcrun-refused"), 1);
	assert_int_equal(count_findings(found, "hpcrun-footer"), 1);
	assert_int_equal(count_findings(found, "hpcrun-trace-refused"), 1);
	assert_int_equal(count_findings(found, "hpcrun-trace-cut"), 1);
	assert_int_equal(count_findings(found, "hpcrun-trace-node"), 1);
	assert_int_equal(count_findings(found, "hpcrun-no-profile"), 1);
	assert_int_equal(recording->tracks_lost, 1);
	assert_true(sum_of(recording, 0, 0) + sum_of(recording, 1, 0) + sum_of(recording, 2, 0) ==
		    2 * MADE_SECONDS);
	for (uint32_t track = 0; track < 3; track++) {
		assert_int_equal(sonde_sample_cursor_open(recording, track, &cursor, &err),
				 SONDE_OK);
		if (sonde_sample_cursor_next(cursor, &samples, &count, &err) == SONDE_OK) {
			/* without that of a node that is not there */
			assert_int_equal(count, 2);
			assert_true(samples[0].time_ns == 1000 && samples[1].time_ns == 1010);
			assert_int_equal(sonde_definitions_track(recording->definitions, track)
						 ->sample_count,
					 2);
		}
		sonde_sample_cursor_free(cursor);
	}
	sonde_recording_close(recording);
	put_file(scratch_path("alone"), "HPCRUN-profile____07.00b");
	assert_int_equal(sonde_recording_open(scratch_path("alone"), NULL, &recording, &err),
			 SONDE_CORRUPT);
	made_release(&made);
}

/* Feeds a recording to a sink, as a pipeline does. */
static enum sonde_status feed(struct sonde_recording *recording, struct sonde_sink *sink,
			      struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_context *contexts;
	const struct sonde_sample *samples;
	const struct sonde_value *values;
	struct sonde_sample_cursor *sample_cursor;
	struct sonde_value_cursor *value_cursor;
	uint32_t count;
	size_t got;
	enum sonde_status status = sink->ops->begin(sink, definitions, err);

	if (!status)
		status = sonde_recording_contexts(recording, &contexts, &count, err);
	if (!status)
		status = sink->ops->contexts(sink, contexts, count, err);
	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions) && !status; i++) {
		assert_int_equal(sonde_sample_cursor_open(recording, i, &sample_cursor, err), 0);
		assert_int_equal(sonde_value_cursor_open(recording, i, &value_cursor, err), 0);
		while (!status && !sonde_sample_cursor_next(sample_cursor, &samples, &got, err))
			status = sink->ops->samples(sink, i, samples, got, err);
		while (!status && !sonde_value_cursor_next(value_cursor, &values, &got, err))
			status = sink->ops->values(sink, i, values, got, err);
		if (!status)
			status = sink->ops->track_end(sink, i, err);
		sonde_sample_cursor_free(sample_cursor);
		sonde_value_cursor_free(value_cursor);
	}
	return status ? status : sink->ops->finish(sink, err);
}

static void write_as(struct sonde_recording *recording, const char *target, const char *style,
		     struct sonde_loss *loss)
{
	struct sonde_create_options options = { .format = "hpcrun", .loss = loss, .style = style };
	struct sonde_sink *sink;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	remove_tree(scratch_path(target));
	assert_int_equal(sonde_sink_create(scratch_path(target), &options, &sink, &err), SONDE_OK);
	status = feed(recording, sink, &err);
	if (status)
		print_error("%s\n", err.message);
	assert_int_equal(status, SONDE_OK);
	sonde_sink_free(sink);
}

static void assert_same(struct sonde_recording *a, struct sonde_recording *b)
{
	const struct sonde_definitions *left = sonde_recording_definitions(a);
	const struct sonde_definitions *right = sonde_recording_definitions(b);
	const struct sonde_context *one, *other;
	uint32_t count, other_count;
	char text[128], other_text[128];
	struct sonde_error err;

	assert_int_equal(sonde_recording_contexts(a, &one, &count, &err), SONDE_OK);
	assert_int_equal(sonde_recording_contexts(b, &other, &other_count, &err), SONDE_OK);
	assert_int_equal(count, other_count);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(one[i].parent == other[i].parent && one[i].kind == other[i].kind &&
			    one[i].address == other[i].address && one[i].end == other[i].end);
		assert_string_equal(
			sonde_context_label(left, &one[i], text, sizeof(text)),
			sonde_context_label(right, &other[i], other_text, sizeof(other_text)));
	}
	assert_int_equal(sonde_definitions_track_count(left), sonde_definitions_track_count(right));
	for (uint32_t i = 0; i < sonde_definitions_track_count(left); i++) {
		const struct sonde_track *track = sonde_definitions_track(left, i);
		const struct sonde_track *back = sonde_definitions_track(right, i);

		assert_true(track->slot == back->slot && track->kind == back->kind &&
			    track->sample_count == back->sample_count &&
			    track->time_last_ns == back->time_last_ns);
		for (uint32_t m = 0; m < sonde_definitions_metric_count(left); m++)
			assert_true(sum_of(a, i, m) == sum_of(b, i, m));
	}
}

static void test_write(void **state)
{
	static const char *const styles[] = { NULL, "02.00l" };

	(void)state;
	make_folder("m");
	for (size_t i = 0; i < 2; i++) {
		struct sonde_recording *recording = open_folder("m"), *back;
		struct sonde_loss *loss = sonde_loss_new();

		write_as(recording, "written.m", styles[i], loss);
		back = open_folder("written.m");
		assert_int_equal(sonde_path_kind(name_of("written.m", 1, ".hpcrun")),
				 SONDE_PATH_FILE);
		assert_same(recording, back);
		assert_true(!sonde_loss_at(loss, 0) == !i);
		if (!i)
			assert_string_equal(sonde_definitions_find_attribute(
						    sonde_recording_definitions(back),
						    SONDE_OWNER_RECORDING, 0, "hpc.formulas"),
					    sonde_definitions_find_attribute(
						    sonde_recording_definitions(recording),
						    SONDE_OWNER_RECORDING, 0, "hpc.formulas"));
		assert_clean(scratch_path("written.m"));
		sonde_recording_close(back);
		sonde_recording_close(recording);
		sonde_loss_free(loss);
	}
}

/* A database's kind of contexts, with everything that addresses cannot hold. */
enum {
	MAIN = 2,
	LINE,
	INSTRUCTION,
	LOOP,
	CALLED,
	INLINED,
	NAMELESS,
	OTHER_ENTRY,
	SCRIPT,
	TWIN,
	ALL
};

static void make_contexts(struct sonde_context *contexts)
{
	const struct sonde_context all[ALL] = {
		{ .parent = SONDE_NONE, .kind = SONDE_CONTEXT_ROOT, .end = ALL },
		{ .parent = 0,
		  .kind = SONDE_CONTEXT_ENTRY,
		  .entry = SONDE_ENTRY_MAIN_THREAD,
		  .relation = SONDE_CONTEXT_CALLED,
		  .end = OTHER_ENTRY },
		[MAIN] = { .parent = 1,
			   .kind = SONDE_CONTEXT_FUNCTION,
			   .function = 0,
			   .relation = SONDE_CONTEXT_CALLED,
			   .end = OTHER_ENTRY },
		[LINE] = { .parent = MAIN, .kind = SONDE_CONTEXT_LINE, .line = 3, .end = LOOP },
		[INSTRUCTION] = { .parent = LINE,
				  .kind = SONDE_CONTEXT_INSTRUCTION,
				  .module = 0,
				  .address = 0x1010,
				  .unlisted = 1,
				  .end = LOOP },
		[LOOP] = { .parent = MAIN,
			   .kind = SONDE_CONTEXT_LOOP,
			   .module = 0,
			   .address = 0x1020,
			   .end = OTHER_ENTRY },
		[CALLED] = { .parent = LOOP,
			     .kind = SONDE_CONTEXT_FUNCTION,
			     .function = 1,
			     .relation = SONDE_CONTEXT_CALLED,
			     .end = NAMELESS },
		[INLINED] = { .parent = CALLED,
			      .kind = SONDE_CONTEXT_FUNCTION,
			      .function = 2,
			      .relation = SONDE_CONTEXT_INLINED,
			      .end = NAMELESS },
		[NAMELESS] = { .parent = LOOP,
			       .kind = SONDE_CONTEXT_FUNCTION,
			       .function = SONDE_NONE,
			       .relation = SONDE_CONTEXT_CALLED,
			       .end = OTHER_ENTRY },
		[OTHER_ENTRY] = { .parent = 0,
				  .kind = SONDE_CONTEXT_ENTRY,
				  .entry = SONDE_ENTRY_OTHER,
				  .relation = SONDE_CONTEXT_CALLED,
				  .end = ALL },
		[SCRIPT] = { .parent = OTHER_ENTRY,
			     .kind = SONDE_CONTEXT_FUNCTION,
			     .function = 3,
			     .relation = SONDE_CONTEXT_CALLED,
			     .end = TWIN },
		[TWIN] = { .parent = OTHER_ENTRY,
			   .kind = SONDE_CONTEXT_FUNCTION,
			   .function = 4,
			   .relation = SONDE_CONTEXT_CALLED,
			   .end = ALL },
	};

	memcpy(contexts, all, sizeof(all));
}

static uint32_t text_of(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id;

	assert_int_equal(sonde_definitions_add_string(definitions, text, strlen(text), &id, NULL),
			 SONDE_OK);
	return id;
}

static struct sonde_definitions *make_definitions(void)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_process process = { .name = text_of(definitions, "/usr/bin/app"), .os_id = 7 };
	struct sonde_track track = { .os_id = UINT64_MAX };
	struct sonde_module module = { .path = text_of(definitions, "/usr/bin/app") };
	struct sonde_metric metric = { .name = text_of(definitions, "TIME"),
				       .scope = text_of(definitions, "point") };
	static const char *const names[] = { "main", "work", "small", "script", "script" };
	uint32_t id;

	sonde_definitions_add_process(definitions, &process, &id, NULL);
	sonde_definitions_add_track(definitions, &track, &id, NULL);
	sonde_definitions_add_track(definitions, &track, &id, NULL);
	sonde_definitions_add_module(definitions, &module, &id, NULL);
	sonde_definitions_add_metric(definitions, &metric, &id, NULL);
	metric.scope = text_of(definitions, "execution");
	sonde_definitions_add_metric(definitions, &metric, &id, NULL);
	for (uint32_t i = 0; i < 5; i++) {
		struct sonde_function function = { .name = text_of(definitions, names[i]),
						   .module = i < 2 || i == 4 ? 0 : SONDE_NONE,
						   .address = i < 2 ? 0x1000 * (i + 1) : 0 };

		sonde_definitions_add_function(definitions, &function, &id, NULL);
	}
	return definitions;
}

static void test_write_names(void **state)
{
	static const char *const lost[] = { "inlined calls",
					    "loops",
					    "names of entries",
					    "names of functions in modules",
					    "source lines of contexts",
					    "values" };
	struct sonde_definitions *definitions = make_definitions();
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_create_options options = { .format = "hpcrun", .loss = loss };
	struct sonde_context contexts[ALL];
	struct sonde_value values[ALL + 1];
	struct sonde_sample samples[] = { { 5, 0, MAIN }, { 6, 0, 0 }, { 9, 0, SCRIPT } };
	const struct sonde_context *read;
	struct sonde_recording *recording;
	struct sonde_sink *sink;
	struct sonde_error err;
	char label[64];
	uint32_t count;

	(void)state;
	make_contexts(contexts);
	remove_tree(scratch_path("named.m"));
	assert_int_equal(sonde_sink_create(scratch_path("named.m"), &options, &sink, &err), 0);
	assert_int_equal(sink->ops->begin(sink, definitions, &err), SONDE_OK);
	assert_int_equal(sink->ops->contexts(sink, contexts, ALL, &err), SONDE_OK);
	for (uint32_t i = 0; i < ALL; i++)
		values[i] = (struct sonde_value){ .context = i, .value = 1 << i };
	values[ALL] = (struct sonde_value){ .context = 0, .metric = 1, .value = 1 };
	assert_int_equal(sink->ops->values(sink, 0, values, ALL + 1, &err), SONDE_OK);
	assert_int_equal(sink->ops->samples(sink, 0, samples, 3, &err), SONDE_OK);
	assert_int_equal(sink->ops->track_end(sink, 0, &err), SONDE_OK);
	values[0].context = ALL;
	assert_int_equal(sink->ops->values(sink, 1, values, 1, &err), SONDE_ARGUMENT);
	samples[0].context = ALL;
	assert_int_equal(sink->ops->samples(sink, 1, samples, 1, &err), SONDE_ARGUMENT);
	assert_int_equal(sink->ops->track_end(sink, 1, &err), SONDE_OK);
	assert_int_equal(sink->ops->finish(sink, &err), SONDE_OK);
	sonde_sink_free(sink);
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		assert_string_equal(sonde_loss_at(loss, i)->what, lost[i]);
	recording = open_folder("named.m");
	assert_int_equal(sonde_recording_contexts(recording, &read, &count, &err), SONDE_OK);
	assert_tree(read, count);
	/* two tracks that are called the same have two files, and all values are there */
	assert_int_equal(sonde_definitions_track_count(sonde_recording_definitions(recording)), 2);
	assert_true(sum_of(recording, 0, 0) + sum_of(recording, 1, 0) == (1 << ALL) - 1);
	/* root, entry, main, its instruction, its loop with two calls; unknown entry, two scripts */
	assert_int_equal(count, 10);
	assert_string_equal(sonde_context_label(sonde_recording_definitions(recording),
						&read[count - 2], label, sizeof(label)),
			    "script");
	assert_string_equal(sonde_context_label(sonde_recording_definitions(recording),
						&read[count - 1], label, sizeof(label)),
			    "script");
	sonde_recording_close(recording);
	assert_clean(scratch_path("named.m"));
	sonde_definitions_free(definitions);
	sonde_loss_free(loss);
}

static uint64_t check(const char *folder, const char *id)
{
	struct sonde_check_options options = { .format = "hpcrun" };
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct sonde_error err = { 0 };
	uint64_t count;

	assert_int_equal(sonde_check(scratch_path(folder), &options, found, &err), SONDE_OK);
	count = id ? count_findings(found, id) : sonde_diagnostics_count(found, SONDE_NOTE);
	sonde_diagnostics_free(found);
	return count;
}

static void test_check(void **state)
{
	struct made_profile made = { 0 };

	(void)state;
	make_folder("m");
	assert_int_equal(check("m", NULL), 0);
	made_trace(&made, 0, 3);
	made_put_u64(&made, 3);
	made_put_u32(&made, 99);
	made_put_u32(&made, 1);
	made_write(&made, name_of("m", 0, ".hpctrace"));
	put_file(name_of("m", 1, ".hpctrace"), "what");
	put_file(name_of("m", 2, ".hpctrace"), "what");
	put_file(name_of("m", 3, ".hpcrun"), "what");
	assert_int_equal(check("m", "hpcrun-trace-node"), 1);
	assert_int_equal(check("m", "hpcrun-trace-order"), 1);
	assert_int_equal(check("m", "hpcrun-trace-cut"), 1);
	assert_int_equal(check("m", "hpcrun-trace-refused"), 1);
	assert_int_equal(check("m", "hpcrun-no-profile"), 1);
	assert_int_equal(check("m", "hpcrun-refused"), 1);
	made_release(&made);
}

static void test_recover(void **state)
{
	struct sonde_recover_options options = { .replace = true };
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct sonde_recover_result result;
	struct sonde_recording *recording;
	struct made_profile made = { 0 };
	struct sonde_error err = { 0 };

	(void)state;
	make_folder("m");
	mkdir(scratch_path("m/structs"), 0777);
	put_file(scratch_path("m/structs/a.hpcstruct"), "<x/>");
	put_file(scratch_path("m/a.log"), "log");
	/* 0: whole, but a sample is of no node */
	made_04(&made);
	made_trace(&made, 0, 8);
	made_put_u64(&made, 2000);
	made_put_u32(&made, 99);
	made_write(&made, name_of("m", 0, ".hpctrace"));
	/* 2: no footer, a node twice, one of no module; its trace names what is lost and is cut */
	made.thread = 2;
	made_04(&made);
	made_patch_u32(&made, MARK_NODE_LEAF, 0, 20);
	made_patch_u32(&made, MARK_NODE_LEAF, 8 - 19, 0x00770000);
	made_patch_u32(&made, MARK_INDEX, 24, 20);
	made.bytes.size = made.marks[MARK_FOOTER];
	made_write(&made, name_of("m", 2, ".hpcrun"));
	made_trace(&made, 0, 4);
	made_put_u64(&made, 3);
	made_put_u32(&made, 99);
	made_put_u32(&made, 1);
	made_write(&made, name_of("m", 2, ".hpctrace"));
	/* 3: an old one that is cut; 4: nothing is left */
	made.little_endian = true;
	made_02_document(&made, 1, false);
	made.bytes.size -= 3;
	made_write(&made, name_of("m", 3, ".hpcrun"));
	put_file(name_of("m", 4, ".hpcrun"), "what");
	assert_int_equal(sonde_recover(scratch_path("m"), scratch_path("good.m"), &options, found,
				       &result, &err),
			 SONDE_OK);
	assert_int_equal(result.tracks_kept, 4);
	assert_int_equal(result.tracks_lost, 1);
	assert_int_equal(result.samples_kept, 22);
	assert_int_equal(count_findings(found, "hpcrun-trace-node"), 1);
	assert_int_equal(count_findings(found, "hpcrun-refused"), 1);
	assert_int_equal(count_findings(found, "hpcrun-node-module"), 1);
	assert_int_equal(check("good.m", NULL), 1); /* the sample that goes back in time */
	assert_int_equal(check("good.m", "hpcrun-trace-order"), 1);
	recording = open_folder("good.m");
	/* the old one is first: it says that its rank is 0, others say nothing of ranks */
	assert_true(sum_of(recording, 0, 0) == MADE_SECONDS - 0.25);
	for (uint32_t track = 1; track < 4; track++)
		assert_true(sum_of(recording, track, 0) == MADE_SECONDS);
	sonde_recording_close(recording);
	assert_int_equal(sonde_path_kind(scratch_path("good.m/structs/a.hpcstruct")),
			 SONDE_PATH_FILE);
	assert_int_equal(sonde_path_kind(scratch_path("good.m/a.log")), SONDE_PATH_FILE);
	/* a folder of nothing gives nothing */
	remove_tree(scratch_path("m"));
	mkdir(scratch_path("m"), 0777);
	put_file(name_of("m", 0, ".hpcrun"), "what");
	assert_int_equal(sonde_recover(scratch_path("m"), scratch_path("none.m"), &options, found,
				       NULL, &err),
			 SONDE_CORRUPT);
	assert_int_equal(sonde_path_kind(scratch_path("none.m")), SONDE_PATH_ABSENT);
	sonde_diagnostics_free(found);
	made_release(&made);
}

/* Real folders open without a finding, and written in both styles they stay the same. */
static void test_corpus(void **state)
{
	static const char *const folders[] = { "small.m", "loops-cputime-t.m",
					       "loops-cuda-nvidia-t.m", "testvdso-02.00b.m" };
	static const char *const styles[] = { NULL, "02.00l" };
	const char *corpus = getenv("SONDE_CORPUS");

	(void)state;
	for (size_t i = 0; corpus && i < 4; i++) {
		struct sonde_recording *recording, *back;
		struct sonde_error err;
		char path[1024];

		snprintf(path, sizeof(path), "%s/hpcrun/%s", corpus, folders[i]);
		assert_clean(path);
		assert_int_equal(sonde_recording_open(path, NULL, &recording, &err), SONDE_OK);
		for (size_t k = 0; k < 2; k++) {
			write_as(recording, "real.m", styles[k], NULL);
			back = open_folder("real.m");
			if (k == 0 || i != 2) /* old files know no GPU streams */
				assert_same(recording, back);
			assert_clean(scratch_path("real.m"));
			sonde_recording_close(back);
		}
		sonde_recording_close(recording);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_generations), cmocka_unit_test(test_placeholders),
		cmocka_unit_test(test_call_trace),  cmocka_unit_test(test_damage),
		cmocka_unit_test(test_write),	    cmocka_unit_test(test_write_names),
		cmocka_unit_test(test_check),	    cmocka_unit_test(test_recover),
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
