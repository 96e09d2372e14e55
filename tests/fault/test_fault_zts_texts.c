/* SPDX-License-Identifier: Apache-2.0 */
/* The text index of trace stores with each allocation and each system call failing in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/scratch.h"
#include "../unit/zts_texts_fixture.h"
#include "fault.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"

enum { COUNT = 400 };

static struct sonde_buffer first_half, second_half;

static int make(void **state)
{
	(void)state;
	make_texts(&first_half, 1, COUNT / 2);
	make_texts(&second_half, 1 + COUNT / 2, COUNT / 2);
	return 0;
}

static int release(void **state)
{
	(void)state;
	sonde_buffer_release(&first_half);
	sonde_buffer_release(&second_half);
	return 0;
}

static enum sonde_status pack(struct sonde_buffer *packed, struct sonde_error *err)
{
	struct zts_wal_bytes wal = { (const uint8_t *)first_half.data, first_half.size };

	return zts_fmi_pack(&wal, 1, packed, err);
}

/* Packs, opens what was packed, and unpacks it. */
static enum sonde_status use_fmi(void *user, struct sonde_error *err)
{
	struct sonde_buffer packed = { 0 }, unpacked = { 0 };
	enum sonde_status status = pack(&packed, err);
	struct zts_fmi *fmi = NULL;

	(void)user;
	if (status == SONDE_OK)
		status = zts_fmi_of((const uint8_t *)packed.data, packed.size, "packed", &fmi, err);
	if (status == SONDE_OK)
		status = zts_fmi_text(fmi, 5, &unpacked, err);
	sonde_buffer_clear(&unpacked);
	if (status == SONDE_OK)
		status = zts_fmi_unpack(fmi, &unpacked, err);
	if (status == SONDE_OK && (unpacked.size != first_half.size ||
				   memcmp(unpacked.data, first_half.data, unpacked.size) != 0))
		status = sonde_fail(err, SONDE_CORRUPT, 0, "other bytes came back");
	zts_fmi_free(fmi);
	sonde_buffer_release(&packed);
	sonde_buffer_release(&unpacked);
	return status;
}

static void put_store(void)
{
	struct sonde_buffer packed = { 0 };

	assert_int_equal(sonde_folder_create("store", NULL), SONDE_OK);
	assert_int_equal(pack(&packed, NULL), SONDE_OK);
	put_bytes("store/text-00000001-000000c8.fmi", packed.data, packed.size);
	put_bytes("store/text-000000c9.wal", second_half.data, second_half.size);
	sonde_buffer_release(&packed);
}

static bool take_pair(void *context, uint32_t pair_id, uint32_t value_id, const char *literal,
		      size_t size)
{
	(void)pair_id;
	(void)value_id;
	(void)literal;
	*(size_t *)context += size;
	return true;
}

static enum sonde_status get_all(struct zts_texts *texts, struct sonde_error *err)
{
	for (uint32_t id = 1; id <= COUNT; id++) {
		const char *text;
		size_t size;
		enum sonde_status status = zts_texts_get(texts, id, &text, &size, err);

		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

static enum sonde_status search(struct zts_texts *texts, struct sonde_error *err)
{
	struct zts_set ids = { 0 }, slots = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t bytes = 0;

	if (!zts_set_init(&ids, COUNT + 1) || !zts_set_init(&slots, 10))
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = zts_texts_find(texts, 0, ZTS_MATCH_SUBSTRING, "zażółć", 9, &ids, err);
	if (status == SONDE_OK)
		status = zts_texts_find(texts, 0, ZTS_MATCH_PREFIX, "java", 4, &ids, err);
	if (status == SONDE_OK)
		status = zts_texts_close(texts, 0, &ids, err);
	if (status == SONDE_OK)
		status = zts_texts_pairs(texts, 3, take_pair, &bytes, err);
	if (status == SONDE_OK)
		status = zts_texts_postings(texts, &ids, true, &slots, err);
	zts_set_release(&ids);
	zts_set_release(&slots);
	return status;
}

/* Opens the store, searches and gets everything. */
static enum sonde_status use_texts(void *user, struct sonde_error *err)
{
	struct zts_texts *texts = NULL;
	enum sonde_status status = zts_texts_open("store", "text", NULL, &texts, err);

	(void)user;
	if (status == SONDE_OK)
		status = search(texts, err);
	if (status == SONDE_OK)
		status = zts_texts_refresh(texts, err);
	if (status == SONDE_OK)
		status = get_all(texts, err);
	zts_texts_free(texts);
	return status;
}

static void test_fmi(void **state)
{
	struct fault_case fault_case = { .run = use_fmi };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 10);
}

static void test_texts(void **state)
{
	struct fault_case fault_case = { .run = use_texts };

	(void)state;
	put_store();
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 20);
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fmi),
		cmocka_unit_test_setup_teardown(test_texts, enter_folder, leave_folder),
	};

	return cmocka_run_group_tests(tests, make, release);
}
