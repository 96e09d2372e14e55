/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One profile and one trace: every generation is read as the same program, what is written is read back,
 * and each fault is refused, or a finding with the rest kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/hpcrun/hpcrun_decode.h"
#include "formats/hpcrun/hpcrun_write.h"
#include "hpcrun_making.h"
#include "scratch.h"

static enum sonde_status decode(struct hpcrun_profile *profile, const struct made_profile *made,
				struct sonde_diagnostics *found)
{
	struct sonde_error err = { 0 };
	enum sonde_status status = hpcrun_profile_decode(profile, made->bytes.data,
							 made->bytes.size, 0, NULL, found, &err);

	if (status)
		assert_int_equal(status, err.status);
	return status;
}

static double sum_of(const struct hpcrun_profile *profile, uint16_t metric)
{
	double sum = 0;

	for (size_t i = 0; i < profile->values.count; i++) {
		assert_true(profile->values.items[i].node < profile->nodes.count);
		if (profile->values.items[i].metric == metric)
			sum += profile->values.items[i].value;
	}
	return sum;
}

static void assert_program(const struct hpcrun_profile *profile)
{
	const struct hpcrun_node *nodes = profile->nodes.items;

	assert_int_equal(profile->nodes.count, MADE_NODES);
	assert_int_equal(nodes[0].parent, UINT32_MAX);
	assert_true(nodes[0].module == 0 && nodes[0].ip == HPCRUN_PRIMARY);
	assert_true(nodes[2].parent == 0 && nodes[2].ip == HPCRUN_MAIN);
	assert_true(nodes[3].parent == 2 && nodes[3].module == 1 && nodes[3].ip == 0x100);
	assert_true(nodes[4].parent == 3 && nodes[4].module == 2 && nodes[4].ip == 0x200);
	assert_true(nodes[5].parent == 3 && nodes[5].module == 0 && nodes[5].unwound);
	assert_string_equal(hpcrun_placeholder_name(nodes[5].ip), "<gpu kernel>");
	assert_int_equal(profile->values.count, 5);
	assert_true(sum_of(profile, 0) == MADE_SECONDS);
	assert_true(sum_of(profile, 1) == MADE_CYCLES);
	assert_string_equal(profile->modules.items[1].path, "/lib/libb.so");
	assert_string_equal(profile->metrics.items[1].name, "CYCLES");
	assert_int_equal(profile->metrics.items[1].period, 10);
	assert_true(profile->metrics.items[0].is_real && !profile->metrics.items[1].is_real);
	assert_string_equal(hpcrun_profile_pair(profile, "program-name"), "prog");
	assert_null(hpcrun_profile_pair(profile, "nothing"));
	assert_int_equal(hpcrun_profile_find(profile, nodes[4].id), 4);
	assert_int_equal(hpcrun_profile_find(profile, 99999), UINT32_MAX);
	assert_true(profile->identity_count >= 2);
	assert_true(profile->identities[0].kind == SONDE_IDENTITY_NODE &&
		    profile->identities[0].physical == 0x11ac0300);
}

static void test_generations(void **state)
{
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { 0 };

	(void)state;
	for (int little = 0; little < 2; little++) {
		made.little_endian = little;
		made_04(&made);
		assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
		assert_int_equal(profile.generation, HPCRUN_04_00);
		assert_program(&profile);
		assert_string_equal(profile.metrics.items[2].formula, "#1/#0");
		assert_true(profile.metrics.items[0].mean == 2.5);
		made_02_document(&made, 1, false);
		assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
		assert_int_equal(profile.generation, HPCRUN_02_00_DOCUMENT);
		assert_program(&profile);
		assert_true(profile.nodes.items[1].is_leaf && !profile.nodes.items[3].is_leaf);
		made_02_document(&made, 1, true);
		assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
		assert_program(&profile);
		assert_int_equal(profile.nodes.items[2].logical_ip[1], 7);
		made_02_coded(&made, 1);
		assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
		assert_int_equal(profile.generation, HPCRUN_02_00_CODED);
		assert_program(&profile);
		assert_int_equal(profile.nodes.items[2].association, 5);
		for (int later = 0; later < 2; later++) {
			made_02_b(&made, 1, later);
			assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
			assert_int_equal(profile.generation, HPCRUN_02_00_B);
			assert_program(&profile);
			assert_int_equal(profile.granularity, 1);
			assert_int_equal(profile.return_distance, 4);
			assert_int_equal(profile.metrics.items[0].samples, later ? 7 : 0);
		}
	}
	hpcrun_profile_release(&profile);
	made_release(&made);
}

static void test_epochs(void **state)
{
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { .little_endian = true };
	struct sonde_error err;
	uint32_t epochs;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		if (kind == 0)
			made_02_document(&made, 3, false);
		else if (kind == 1)
			made_02_coded(&made, 3);
		else
			made_02_b(&made, 3, true);
		for (uint32_t epoch = 0; epoch < 3; epoch++) {
			assert_int_equal(hpcrun_profile_decode(&profile, made.bytes.data,
							       made.bytes.size, epoch, &epochs,
							       NULL, &err),
					 SONDE_OK);
			assert_int_equal(epochs, 3);
			assert_program(&profile);
		}
		assert_int_equal(hpcrun_profile_decode(&profile, made.bytes.data, made.bytes.size,
						       3, &epochs, NULL, &err),
				 SONDE_ARGUMENT);
	}
	made_02_document(&made, 0, false);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
	assert_int_equal(profile.nodes.count, 0);
	made_04(&made);
	assert_int_equal(hpcrun_profile_decode(&profile, made.bytes.data, made.bytes.size, 1, NULL,
					       NULL, &err),
			 SONDE_ARGUMENT);
	hpcrun_profile_release(&profile);
	made_release(&made);
}

/* Ids far apart are hashed; the arrays of one profile serve the next. */
static void test_sparse_ids(void **state)
{
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { .id_step = 100000007 };

	(void)state;
	made_04(&made);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
		assert_program(&profile);
	}
	made.id_step = 3;
	made_04(&made);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
	assert_program(&profile);
	hpcrun_profile_release(&profile);
	made_release(&made);
}

/* Whatever was decoded is encoded into the same bytes. */
static void test_encode_04(void **state)
{
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { .thread = 3 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_error err;

	(void)state;
	made_04(&made);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
	assert_int_equal(hpcrun_encode_04(&profile, &bytes, &err), SONDE_OK);
	assert_int_equal(bytes.size, made.bytes.size);
	assert_memory_equal(bytes.data, made.bytes.data, bytes.size);
	sonde_buffer_release(&bytes);
	hpcrun_profile_release(&profile);
	made_release(&made);
}

static void assert_same_tree(const struct hpcrun_profile *a, const struct hpcrun_profile *b)
{
	assert_int_equal(a->nodes.count, b->nodes.count);
	for (size_t i = 0; i < a->nodes.count; i++) {
		const struct hpcrun_node *left = &a->nodes.items[i], *right = &b->nodes.items[i];

		assert_true(left->id == right->id && left->parent == right->parent &&
			    left->ip == right->ip);
		assert_true(!left->module == !right->module);
	}
	assert_int_equal(a->values.count, b->values.count);
	for (uint16_t i = 0; i < a->metrics.count; i++)
		assert_true(sum_of(a, i) == sum_of(b, i));
	assert_int_equal(a->pairs.count, b->pairs.count);
	for (size_t i = 0; i < a->pairs.count; i++)
		assert_string_equal(a->pairs.items[i].value, b->pairs.items[i].value);
}

/* Of any generation 02.00l is written, and read back as the same tree. */
static void test_encode_02(void **state)
{
	struct hpcrun_profile profile = { 0 }, back = { 0 };
	struct made_profile made = { 0 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_error err;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		if (kind == 0)
			made_04(&made);
		else if (kind == 1)
			made_02_b(&made, 1, false);
		else
			made_02_coded(&made, 1);
		assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
		assert_int_equal(hpcrun_encode_02(&profile, &bytes, &err), SONDE_OK);
		assert_memory_equal(bytes.data, "HPCRUN____02.00l", 16);
		assert_int_equal(
			hpcrun_profile_decode(&back, bytes.data, bytes.size, 0, NULL, NULL, &err),
			SONDE_OK);
		assert_int_equal(back.generation, HPCRUN_02_00_DOCUMENT);
		assert_program(&back);
		assert_same_tree(&profile, &back);
	}
	/* what was read as 02.00l is written as it was */
	made.little_endian = true;
	made_02_document(&made, 1, true);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
	assert_int_equal(hpcrun_encode_02(&profile, &bytes, &err), SONDE_OK);
	assert_int_equal(bytes.size, made.bytes.size);
	assert_memory_equal(bytes.data, made.bytes.data, bytes.size);
	/* an address too large for a process */
	made.little_endian = false;
	made_04(&made);
	made_patch_u64(&made, MARK_NODE_LEAF, 10 - 19, UINT64_MAX / 2);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_OK);
	assert_int_equal(hpcrun_encode_02(&profile, &bytes, &err), SONDE_LIMIT);
	sonde_buffer_release(&bytes);
	hpcrun_profile_release(&profile);
	hpcrun_profile_release(&back);
	made_release(&made);
}

static void test_foreign(void **state)
{
	static const char *const texts[] = { "", "HPCRUN", "hello world, this is no profile",
					     "HPCRUN____02.00" };
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sonde_buffer_clear(&made.bytes);
		sonde_buffer_put_text(&made.bytes, texts[i]);
		assert_int_equal(decode(&profile, &made, NULL), SONDE_FORMAT);
	}
	sonde_buffer_clear(&made.bytes);
	sonde_buffer_put_text(&made.bytes, "HPCRUN-profile____05.00b....");
	assert_int_equal(decode(&profile, &made, NULL), SONDE_UNSUPPORTED);
	sonde_buffer_clear(&made.bytes);
	sonde_buffer_put_text(&made.bytes, "HPCRUN-profile____04.00x....");
	assert_int_equal(decode(&profile, &made, NULL), SONDE_CORRUPT);
	hpcrun_profile_release(&profile);
	made_release(&made);
}

/* A fault of 04.00: what is done to the bytes, what is found, and how much stays. */
struct fault {
	const char *id;
	void (*damage)(struct made_profile *made);
	size_t nodes, values;
	bool is_survived; /* without diagnostics as well */
};

static void long_list(struct made_profile *made)
{
	made_patch_u32(made, MARK_PAIRS, 0, UINT32_MAX);
}

static void no_footer(struct made_profile *made)
{
	made->bytes.size = made->marks[MARK_FOOTER];
}

static void cut_in_nodes(struct made_profile *made)
{
	made->bytes.size = made->marks[MARK_NODE_LEAF] + 3;
}

static void cut_in_index(struct made_profile *made)
{
	made->bytes.size = made->marks[MARK_INDEX] + 30;
}

static void cut_in_values(struct made_profile *made)
{
	made->bytes.size = made->marks[MARK_VALUES] + 3;
}

static void footer_elsewhere(struct made_profile *made)
{
	made_patch_u64(made, MARK_FOOTER, 16, UINT64_MAX);
}

static void section_shorter(struct made_profile *made)
{
	made_patch_u32(made, MARK_MODULES, 0, 1);
	made_patch_u32(made, MARK_NODE_LEAF, 8 - 19, 0x00010000); /* of module 1 */
}

static void many_metrics(struct made_profile *made)
{
	made_patch_u32(made, MARK_METRICS, 0, 100000);
}

static void text_with_nul(struct made_profile *made)
{
	made->bytes.data[made->marks[MARK_PAIRS] + 9] = '\0';
}

static void module_twice(struct made_profile *made)
{
	made->bytes.data[made->marks[MARK_MODULE_2] + 1] = 1;
	made_patch_u32(made, MARK_NODE_LEAF, 8 - 19, 0x00010000);
}

static void node_twice(struct made_profile *made)
{
	made_patch_u32(made, MARK_NODE_LEAF, 0, 20);
	made_patch_u32(made, MARK_INDEX, 24, 20);
}

static void node_zero(struct made_profile *made)
{
	made_patch_u32(made, MARK_NODE_LEAF, 0, 0);
	made_patch_u32(made, MARK_INDEX, 24, 20);
}

static void parent_later(struct made_profile *made)
{
	made_patch_u32(made, MARK_NODE_LEAF, 4 - 19, 22);
}

static void module_missing(struct made_profile *made)
{
	made_patch_u32(made, MARK_NODE_LEAF, 8 - 19, 0x00770000);
}

static void index_back(struct made_profile *made)
{
	made_patch_u64(made, MARK_INDEX, 16, 4);
}

static void index_too_far(struct made_profile *made)
{
	made_patch_u64(made, MARK_INDEX, 28, 400);
}

static void index_end(struct made_profile *made)
{
	made_patch_u32(made, MARK_INDEX_END, 0, 1);
}

static void value_of_nobody(struct made_profile *made)
{
	made_patch_u32(made, MARK_INDEX, 0, 19);
}

static void value_of_no_metric(struct made_profile *made)
{
	made->bytes.data[made->marks[MARK_VALUES] + 9] = 77;
}

static void value_infinite(struct made_profile *made)
{
	made_patch_u64(made, MARK_VALUES, 0, UINT64_C(0x7ff0000000000000));
}

static const struct fault faults[] = {
	{ "hpcrun-cut", long_list, 6, 5, false },
	{ "hpcrun-footer", no_footer, 6, 5, false },
	{ "hpcrun-footer", footer_elsewhere, 6, 5, false },
	{ "hpcrun-cut", cut_in_nodes, 5, 0, false },
	{ "hpcrun-cut", cut_in_index, 6, 1, false },
	{ "hpcrun-cut", cut_in_values, 6, 0, false },
	{ "hpcrun-section-end", section_shorter, 6, 5, true },
	{ "hpcrun-cut", many_metrics, 6, 5, false },
	{ "hpcrun-text", text_with_nul, 6, 5, true },
	{ "hpcrun-module-twice", module_twice, 6, 5, true },
	{ "hpcrun-node-id", node_twice, 6, 5, false },
	{ "hpcrun-node-id", node_zero, 6, 5, false },
	{ "hpcrun-node-parent", parent_later, 6, 5, false },
	{ "hpcrun-node-module", module_missing, 6, 5, false },
	{ "hpcrun-value-index", index_back, 6, 5, false },
	{ "hpcrun-value-index", index_too_far, 6, 1, false },
	{ "hpcrun-value-index", index_end, 6, 5, false },
	{ "hpcrun-value-node", value_of_nobody, 6, 4, false },
	{ "hpcrun-value-metric", value_of_no_metric, 6, 4, false },
	{ "hpcrun-value-number", value_infinite, 6, 4, false },
};

static bool has_finding(const struct sonde_diagnostics *found, const char *id)
{
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(found, i)); i++) {
		if (!strcmp(finding->type->id, id))
			return true;
	}
	return false;
}

static void test_faults(void **state)
{
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *fault = &faults[i];
		struct sonde_diagnostics *found = sonde_diagnostics_new();
		enum sonde_status strict;

		made_04(&made);
		fault->damage(&made);
		strict = decode(&profile, &made, NULL);
		if (fault->is_survived != (strict == SONDE_OK))
			print_error("%s: %d\n", fault->id, strict);
		assert_int_equal(fault->is_survived, strict == SONDE_OK);
		assert_true(strict == SONDE_OK || strict == SONDE_CORRUPT ||
			    strict == SONDE_TRUNCATED);
		assert_int_equal(decode(&profile, &made, found), SONDE_OK);
		if (!has_finding(found, fault->id) || profile.nodes.count != fault->nodes ||
		    profile.values.count != fault->values)
			print_error("fault %zu, %s: %zu nodes, %zu values\n", i, fault->id,
				    profile.nodes.count, profile.values.count);
		assert_true(has_finding(found, fault->id));
		assert_int_equal(profile.nodes.count, fault->nodes);
		assert_int_equal(profile.values.count, fault->values);
		sonde_diagnostics_free(found);
	}
	hpcrun_profile_release(&profile);
	made_release(&made);
}

/* Faults of the older versions, and of what surrounds a profile. */
static void test_old_faults(void **state)
{
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { 0 };

	(void)state;
	made_02_b(&made, 2, true);
	made_put_u32(&made, 0);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_TRUNCATED);
	assert_int_equal(decode(&profile, &made, found), SONDE_OK);
	assert_program(&profile);
	made_02_document(&made, 1, false);
	made_put_u32(&made, 0);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_CORRUPT);
	assert_int_equal(decode(&profile, &made, found), SONDE_OK);
	assert_true(has_finding(found, "hpcrun-left-over"));
	assert_program(&profile);
	made_02_document(&made, 1, false);
	made.bytes.data[made.marks[MARK_EPOCH]] = 'X';
	assert_int_equal(decode(&profile, &made, NULL), SONDE_CORRUPT);
	assert_int_equal(decode(&profile, &made, found), SONDE_OK);
	assert_true(has_finding(found, "hpcrun-section"));
	made_02_b(&made, 70, false);
	assert_int_equal(decode(&profile, &made, NULL), SONDE_CORRUPT);
	assert_int_equal(decode(&profile, &made, found), SONDE_OK);
	assert_program(&profile);
	assert_true(has_finding(found, "hpcrun-epochs"));
	made_02_b(&made, 1, false);
	made.bytes.data[made.marks[MARK_PAIRS] + 9] = '\0';
	assert_int_equal(decode(&profile, &made, found), SONDE_OK);
	assert_true(has_finding(found, "hpcrun-text"));
	made.levels = 40;
	made_04(&made);
	assert_int_equal(decode(&profile, &made, found), SONDE_OK);
	assert_int_equal(profile.identity_count, SONDE_IDENTITY_LIMIT);
	assert_true(has_finding(found, "hpcrun-identity"));
	sonde_diagnostics_free(found);
	hpcrun_profile_release(&profile);
	made_release(&made);
}

/* Cut at every place, each generation is refused, or gives nodes that are whole. */
static void test_cuts(void **state)
{
	struct hpcrun_profile profile = { 0 };
	struct made_profile made = { 0 };

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		size_t size;

		if (kind == 0)
			made_04(&made);
		else if (kind == 1)
			made_02_document(&made, 1, true);
		else if (kind == 2)
			made_02_coded(&made, 1);
		else
			made_02_b(&made, 1, true);
		size = made.bytes.size;
		for (made.bytes.size = 0; made.bytes.size < size; made.bytes.size++) {
			struct sonde_diagnostics *found = sonde_diagnostics_new();
			/* exact, so that reading beyond it is seen */
			char *copy = malloc(made.bytes.size + 1);
			struct made_profile exact = { .bytes = made.bytes };

			memcpy(copy, made.bytes.data, made.bytes.size);
			exact.bytes.data = copy;
			/* of a coded one there may be no epoch left, which is fine */
			if (decode(&profile, &exact, NULL) == SONDE_OK)
				assert_int_equal(profile.nodes.count, 0);
			if (decode(&profile, &exact, found) == SONDE_OK)
				for (size_t i = 0; i < profile.nodes.count; i++)
					assert_true(profile.nodes.items[i].parent == UINT32_MAX ||
						    profile.nodes.items[i].parent < i);
			free(copy);
			sonde_diagnostics_free(found);
		}
	}
	hpcrun_profile_release(&profile);
	made_release(&made);
}

static void test_trace(void **state)
{
	struct made_profile made = { 0 };
	struct hpctrace_record records[10];
	struct hpctrace trace;
	struct sonde_error err;
	uint8_t header[HPCTRACE_HEADER_SIZE], bytes[10 * HPCTRACE_RECORD_SIZE];

	(void)state;
	for (uint64_t flags = 0; flags < 2; flags++) {
		made_trace(&made, flags, 7);
		made_put_u32(&made, 1); /* a cut record */
		made_write(&made, scratch_path("a.hpctrace"));
		assert_int_equal(hpctrace_open(&trace, scratch_path("a.hpctrace"), &err), SONDE_OK);
		assert_int_equal(trace.count, 7);
		assert_int_equal(trace.left_over, 4);
		assert_int_equal(trace.flags, flags);
		assert_int_equal(hpctrace_read(&trace, 0, records, 10), 7);
		assert_int_equal(hpctrace_read(&trace, 5, records, 10), 2);
		assert_int_equal(records[1].time_ns, 1060);
		assert_int_equal(records[1].node, 20);
		assert_int_equal(hpctrace_read(&trace, 7, records, 10), 0);
		hpctrace_read(&trace, 0, records, 10);
		hpctrace_release(&trace);
	}
	made_trace(&made, 0, 7);
	hpctrace_encode_header(0, header);
	hpctrace_encode(records, 7, bytes);
	assert_memory_equal(header, made.bytes.data, sizeof(header));
	assert_memory_equal(bytes, made.bytes.data + sizeof(header),
			    made.bytes.size - sizeof(header));
	made.bytes.size = 20;
	made_write(&made, scratch_path("a.hpctrace"));
	assert_int_equal(hpctrace_open(&trace, scratch_path("a.hpctrace"), &err), SONDE_TRUNCATED);
	made_trace(&made, 0, 1);
	made.bytes.data[19] = '2';
	made_write(&made, scratch_path("a.hpctrace"));
	assert_int_equal(hpctrace_open(&trace, scratch_path("a.hpctrace"), &err),
			 SONDE_UNSUPPORTED);
	put_file(scratch_path("a.hpctrace"), "nothing of the kind");
	assert_int_equal(hpctrace_open(&trace, scratch_path("a.hpctrace"), &err), SONDE_FORMAT);
	made_release(&made);
}

static void test_names(void **state)
{
	struct hpcrun_name name = { .program = "a b/c",
				    .rank = 12,
				    .thread = 501,
				    .host = 0x7f0101,
				    .process = 4974,
				    .generation = 2 };
	struct hpcrun_name back;
	char text[HPCRUN_NAME_SIZE];
	size_t length;

	(void)state;
	hpcrun_name_text(&name, text);
	assert_string_equal(text, "a_b_c-000012-501-007f0101-4974-2");
	assert_true(hpcrun_name_parse("my-prog-000012-501-007f0101-4974-2.hpcrun", &back, &length));
	assert_int_equal(length, 7);
	assert_true(back.rank == 12 && back.thread == 501 && back.host == 0x7f0101 &&
		    back.process == 4974 && back.generation == 2);
	assert_false(hpcrun_name_parse("a.hpcrun", &back, &length));
	assert_false(hpcrun_name_parse("-000012-501-007f0101-4974-2", &back, &length));
	assert_false(hpcrun_name_parse("a-000012-501-007g0101-4974-2", &back, &length));
	assert_int_equal(hpcrun_placeholder_ip("<gpu kernel>"),
			 HPCRUN_PLACEHOLDER('G', 'P', 'U', 'K', 'e', 'r', 'n', 'l'));
	assert_int_equal(hpcrun_placeholder_ip("main"), 0);
}

/* Real files: all of 04.00b come back byte for byte, all as 02.00l are the same tree. */
static void test_corpus(void **state)
{
	static const char *const folders[] = { "small.m", "loops-cputime-t.m",
					       "loops-cuda-nvidia-t.m", "testvdso-02.00b.m" };
	const char *corpus = getenv("SONDE_CORPUS");
	struct hpcrun_profile profile = { 0 }, back = { 0 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_error err;
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; corpus && i < 4; i++) {
		struct sonde_folder names;
		char path[1024];

		snprintf(path, sizeof(path), "%s/hpcrun/%s", corpus, folders[i]);
		assert_int_equal(sonde_folder_read(&names, path, &err), SONDE_OK);
		for (size_t k = 0; k < names.count; k++) {
			struct sonde_mapped_file file;

			if (!strstr(names.names[k], ".hpcrun"))
				continue;
			snprintf(path, sizeof(path), "%s/hpcrun/%s/%s", corpus, folders[i],
				 names.names[k]);
			assert_int_equal(hpcrun_profile_read(&profile, path, 0, NULL, NULL, &err),
					 SONDE_OK);
			assert_int_equal(hpcrun_encode_04(&profile, &bytes, &err), SONDE_OK);
			assert_int_equal(sonde_mapped_file_open(&file, path, &err), SONDE_OK);
			if (profile.generation == HPCRUN_04_00) {
				assert_int_equal(bytes.size, file.size);
				assert_memory_equal(bytes.data, file.data, file.size);
			}
			sonde_mapped_file_release(&file);
			assert_int_equal(hpcrun_encode_02(&profile, &bytes, &err), SONDE_OK);
			assert_int_equal(hpcrun_profile_decode(&back, bytes.data, bytes.size, 0,
							       NULL, NULL, &err),
					 SONDE_OK);
			assert_same_tree(&profile, &back);
			seen++;
		}
		sonde_folder_release(&names);
	}
	assert_true(!corpus || seen == 8);
	sonde_buffer_release(&bytes);
	hpcrun_profile_release(&profile);
	hpcrun_profile_release(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generations), cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_sparse_ids),  cmocka_unit_test(test_encode_04),
		cmocka_unit_test(test_encode_02),   cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_faults),	    cmocka_unit_test(test_old_faults),
		cmocka_unit_test(test_cuts),	    cmocka_unit_test(test_trace),
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
