/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace stores with each allocation and each call to the system failing in turn: parts opened, made
 * anew, loaded and refreshed, properties written. What cannot be done fails cleanly, and a file of
 * properties is the old one or the new one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../unit/scratch.h"
#include "../unit/zts_making.h"
#include "fault.h"
#include "formats/zts/zts_store.h"

enum { METHOD = 1, KEY, VALUE, PAIR };

/* Two parts: one with a chunked trace and one inside of it, one without metadata. */
static void make_store(void)
{
	static const uint32_t pair[] = { KEY, VALUE };
	struct made_part made = { .props = "sonde.names=1\n" };
	uint64_t first, last;
	uint32_t inner;

	made_text(&made, "run");
	made_text(&made, "URI");
	made_text(&made, "/");
	made_typed(&made, ZTS_TEXT_KEY_VALUE, pair, 2);
	made_begin(&made, METHOD, 1);
	made_timestamp(&made, 1556712001000, METHOD);
	made_string_attribute(&made, KEY, VALUE);
	first = made_chunk(&made);
	inner = (uint32_t)made.content.size;
	made_begin(&made, METHOD, 2);
	made_timestamp(&made, 1556712001000, METHOD);
	made_end(&made, 3, 1, 0);
	made_end(&made, 4, 2, 0);
	last = made_chunk(&made);
	made_slot(&made, first, 0, 0x30, 1, PAIR);
	made_slot(&made, last, inner, 0x70, 2, PAIR);
	made_slot(&made, last, 0, 0x50, 1, PAIR);
	mkdir(scratch_path("store"), 0777);
	made_write(&made, scratch_path("store/000001"));
	made_write(&made, scratch_path("store/000002"));
	unlink(scratch_path("store/000002/qmeta.idx"));
	made_release(&made);
}

static enum sonde_status load_all(struct zts_base *base, struct sonde_error *err)
{
	struct zts_loaded loaded = { 0 };
	enum sonde_status status = SONDE_OK;
	uint64_t start, duration;

	for (size_t part = 0; part < base->parts.count && status >= 0; part++)
		for (uint32_t i = 0; i < base->parts.items[part]->slots.list.count && status >= 0;
		     i++) {
			status = zts_part_load(base->parts.items[part], i, &loaded, err);
			if (status >= 0)
				zts_loaded_times(base->parts.items[part], &loaded, loaded.root,
						 &start, &duration);
		}
	zts_loaded_release(&loaded);
	return status;
}

static enum sonde_status run_store(void *user, struct sonde_error *err)
{
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct zts_base *base;
	enum sonde_status status = zts_base_open(user, found, &base, err);

	if (status >= 0) {
		status = load_all(base, err);
		if (status >= 0)
			status = zts_base_refresh(base, err);
		zts_base_free(base);
	}
	sonde_diagnostics_free(found);
	return status;
}

static void run_all(enum fault_class class)
{
	char path[128];
	struct fault_case store = { .run = run_store, .user = path };

	make_store();
	snprintf(path, sizeof(path), "%s", scratch_path("store"));
	assert_true(fault_run_all(class, &store) > 10);
	snprintf(path, sizeof(path), "%s", scratch_path("store/000002"));
	assert_true(fault_run_all(class, &store) > 10);
	remove_tree(scratch_path("store"));
}

static void test_allocations(void **state)
{
	(void)state;
	run_all(FAULT_ALLOCATION);
}

static void test_input(void **state)
{
	(void)state;
	run_all(FAULT_INPUT);
}

static enum sonde_status run_props(void *user, struct sonde_error *err)
{
	struct zts_props props = { 0 };
	enum sonde_status status = zts_props_read(&props, user, err);

	if (status >= 0) {
		zts_props_set(&props, "a", "new");
		status = zts_props_write(&props, user, err);
	}
	zts_props_release(&props);
	return status;
}

static void restore_props(void *user)
{
	(void)user;
	put_file(scratch_path("props/store.props"), "a=old\nb=1\n");
}

static void look_at_props(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct zts_props props = { 0 };

	(void)err;
	assert_int_equal(zts_props_read(&props, user, NULL), SONDE_OK);
	if (strcmp(sonde_buffer_text(&props.text), "a=new\nb=1\n") != 0) {
		assert_true(status < 0);
		assert_string_equal(sonde_buffer_text(&props.text), "a=old\nb=1\n");
	}
	zts_props_release(&props);
}

static void test_properties(void **state)
{
	char path[128];
	struct fault_case props = {
		.run = run_props, .before = restore_props, .after = look_at_props, .user = path
	};

	(void)state;
	snprintf(path, sizeof(path), "%s", scratch_path("props"));
	mkdir(path, 0777);
	assert_true(fault_run_all(FAULT_ALLOCATION, &props) > 3);
	assert_true(fault_run_all(FAULT_INPUT, &props) > 1);
	assert_true(fault_run_all(FAULT_OUTPUT, &props) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_properties),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
