/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement folders for tests of prof. */
#include "prof_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "analyse/prof_read.h"
#include "base/file.h"
#include "scratch.h"

static const struct hpcrun_metric cycles = { .name = "CYCLES",
					     .description = "cycles of the processor",
					     .formula = "",
					     .format = "",
					     .period = 1,
					     .type = 1,
					     .show = HPCRUN_SHOWN,
					     .show_percent = true };

static void put_trace(const char *path, const struct made_profile *made)
{
	uint8_t bytes[HPCTRACE_HEADER_SIZE + 64 * 12];

	assert_true(made->record_count <= 64);
	hpctrace_encode_header(made->trace_flags, bytes);
	hpctrace_encode(made->records, made->record_count, bytes + HPCTRACE_HEADER_SIZE);
	put_bytes(path, bytes, HPCTRACE_HEADER_SIZE + made->record_count * 12);
}

void put_profile(const char *folder, const char *name, const struct made_profile *made)
{
	static struct hpcrun_module modules[] = { { .id = 1, .path = "/app/prog" },
						  { .id = 2, .path = "/app/lib.so" },
						  { .id = 3, .path = "vdso/x.vdso" } };
	static struct hpcrun_pair pairs[] = { { "program-name", "prog" } };
	static struct hpcrun_pair kinds[] = { { "3", "THREAD" } };
	struct hpcrun_profile profile = { .generation = HPCRUN_04_00, .identity_count = 1 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_error err;
	char path[256];

	profile.modules.items = modules;
	profile.modules.count = 3;
	profile.pairs.items = pairs;
	profile.pairs.count = 1;
	profile.kinds.items = kinds;
	profile.kinds.count = 1;
	profile.metrics.items = (struct hpcrun_metric *)(made->metrics ? made->metrics : &cycles);
	profile.metrics.count = made->metrics ? made->metric_count : 1;
	profile.nodes.items = (struct hpcrun_node *)made->nodes;
	profile.nodes.count = made->node_count;
	profile.values.items = (struct hpcrun_value *)made->values;
	profile.values.count = made->value_count;
	profile.identities[0] = (struct sonde_identity){ .kind = SONDE_IDENTITY_THREAD,
							 .physical = made->thread,
							 .logical = made->thread };
	if (sonde_path_kind(folder) == SONDE_PATH_ABSENT)
		assert_int_equal(sonde_folder_create(folder, &err), SONDE_OK);
	assert_int_equal(hpcrun_encode_04(&profile, &bytes, &err), SONDE_OK);
	snprintf(path, sizeof(path), "%s/%s.hpcrun", folder, name);
	put_bytes(path, bytes.data, bytes.size);
	sonde_buffer_release(&bytes);
	snprintf(path, sizeof(path), "%s/%s.hpctrace", folder, name);
	if (made->records)
		put_trace(path, made);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

void put_random_profiles(const char *folder, unsigned int count)
{
	enum { NODES = 120, VALUES = 60 };
	uint64_t random = 7;
	unsigned int i, k;

	for (i = 0; i < count; i++) {
		struct hpcrun_node nodes[NODES] = { ROOT(12), NODE(14, 0, 0, HPCRUN_MAIN) };
		struct hpcrun_value values[VALUES];
		struct hpctrace_record records[20];
		struct made_profile made = { .thread = i,
					     .nodes = nodes,
					     .node_count = NODES,
					     .values = values,
					     .value_count = VALUES,
					     .records = records,
					     .record_count = 20 };
		char name[32];

		for (k = 2; k < NODES; k++)
			nodes[k] = (struct hpcrun_node)NODE(
				12 + 2 * k, (uint32_t)(1 + next_random(&random) % (k - 1)),
				(uint16_t)(1 + next_random(&random) % 3),
				0x1000 + next_random(&random) % 12 + k / 8 * 16);
		for (k = 0; k < VALUES; k++)
			values[k] = (struct hpcrun_value)VALUE(2 + 118 * k / VALUES, 0,
							       1 + next_random(&random) % 1000);
		for (k = 0; k < 20; k++)
			records[k] = (struct hpctrace_record){
				.time_ns = 1000 * k + i,
				.node = (uint32_t)(12 + 2 * (next_random(&random) % NODES))
			};
		snprintf(name, sizeof(name), "prog-%u", i);
		put_profile(folder, name, &made);
	}
}

static void put_label(struct sonde_buffer *out, const struct sonde_definitions *definitions,
		      const struct sonde_context *context)
{
	const struct sonde_function *function =
		sonde_definitions_function(definitions, context->function);
	const char *file = sonde_definitions_string(definitions, context->file);
	const struct sonde_module *module = sonde_definitions_module(definitions, context->module);

	switch (context->kind) {
	case SONDE_CONTEXT_ROOT:
		sonde_buffer_put_text(out, "root");
		break;
	case SONDE_CONTEXT_ENTRY:
		sonde_buffer_put_text(out, sonde_definitions_string(definitions, context->name));
		break;
	case SONDE_CONTEXT_FUNCTION:
		sonde_buffer_put_format(
			out, "function %s",
			function ? sonde_definitions_string(definitions, function->name) : "?");
		break;
	case SONDE_CONTEXT_LOOP:
		sonde_buffer_put_format(out, "loop %s:%u", file, context->line);
		break;
	case SONDE_CONTEXT_LINE:
		sonde_buffer_put_format(out, "line %s:%u", file, context->line);
		break;
	default:
		sonde_buffer_put_format(out, "%s+%llx",
					sonde_definitions_string(definitions, module->path),
					(unsigned long long)context->address);
	}
}

static void put_contexts(struct sonde_buffer *out, const struct prof_contexts *contexts)
{
	static const char *const relations[] = { "in ", "call ", "inlined " };
	uint32_t i, above;

	for (i = 0; i < contexts->count; i++) {
		const struct sonde_context *context = &contexts->contexts[i];

		/* each subtree is one run of numbers */
		assert_true(context->end > i && context->end <= contexts->count);
		for (above = context->parent; above != SONDE_NONE;
		     above = contexts->contexts[above].parent) {
			assert_true(above < i);
			assert_true(contexts->contexts[above].end >= context->end);
			sonde_buffer_put_char(out, ' ');
		}
		if (i)
			sonde_buffer_put_text(out, relations[context->relation]);
		put_label(out, contexts->definitions, context);
		sonde_buffer_put_text(out, context->unlisted ? " *\n" : "\n");
	}
}

const char *contexts_text(const char *const *paths, size_t count,
			  const struct sonde_prof_options *options)
{
	static char text[8192];
	struct prof_inputs inputs = { 0 };
	struct prof_union refused = { 0 }, all = { 0 };
	struct prof_contexts contexts = { 0 };
	struct sonde_buffer out = { 0 };
	struct sonde_error err = { 0 };

	assert_int_equal(prof_inputs_find(&inputs, paths, count, options, &refused, &err), 0);
	assert_int_equal(prof_read(&inputs, options, &all, &err), SONDE_OK);
	assert_int_equal(all.refused.count + refused.refused.count, 0);
	assert_int_equal(prof_contexts_make(&contexts, &all, &inputs, options, &refused, &err), 0);
	put_contexts(&out, &contexts);
	snprintf(text, sizeof(text), "%s", sonde_buffer_text(&out));
	sonde_buffer_release(&out);
	prof_contexts_release(&contexts);
	prof_union_release(&all);
	prof_union_release(&refused);
	prof_inputs_release(&inputs);
	return text;
}

static void assert_same_file(const char *a, const char *b)
{
	struct sonde_mapped_file one, other;
	struct sonde_error err;

	assert_int_equal(sonde_mapped_file_open(&one, a, &err), SONDE_OK);
	assert_int_equal(sonde_mapped_file_open(&other, b, &err), SONDE_OK);
	if (one.size != other.size || memcmp(one.data, other.data, one.size))
		fail_msg("%s and %s differ", a, b);
	sonde_mapped_file_release(&one);
	sonde_mapped_file_release(&other);
}

void assert_same_files(const char *a, const char *b)
{
	struct sonde_folder one = { 0 }, other = { 0 };
	struct sonde_error err;
	size_t i;

	assert_int_equal(sonde_folder_read(&one, a, &err), SONDE_OK);
	assert_int_equal(sonde_folder_read(&other, b, &err), SONDE_OK);
	assert_int_equal(one.count, other.count);
	assert_true(one.count);
	for (i = 0; i < one.count; i++) {
		char *left = sonde_path_join(a, one.names[i]);
		char *right = sonde_path_join(b, other.names[i]);

		assert_string_equal(one.names[i], other.names[i]);
		if (sonde_path_kind(left) == SONDE_PATH_FOLDER)
			assert_same_files(left, right);
		else
			assert_same_file(left, right);
		free(left);
		free(right);
	}
	sonde_folder_release(&one);
	sonde_folder_release(&other);
}
