/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target over an FMI: whatever is in it, every operation ends within bounds. The checksum of
 * its header is made right first, so that the rest is reached.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_wal.h"
#include "require.h"

#define MOST_STEPS 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_id(void *context, uint32_t id)
{
	(void)id;
	return ++*(size_t *)context < 10000;
}

static bool count_hit(void *context, uint32_t id, uint8_t first)
{
	(void)first;
	return count_id(context, id);
}

static void use(const struct zts_fmi *fmi)
{
	struct sonde_buffer text = { 0 }, wal = { 0 };
	uint32_t first = zts_fmi_first_id(fmi);
	size_t count = 0;

	for (uint32_t i = 0; i < 20 && i < zts_fmi_words(fmi); i++)
		zts_fmi_text(fmi, first + i, &text, NULL);
	zts_fmi_find_within(fmi, (const uint8_t *)"a", 1, MOST_STEPS, count_hit, &count, NULL);
	zts_fmi_find_within(fmi, (const uint8_t *)"\1\5", 2, MOST_STEPS, count_hit, &count, NULL);
	count = 0;
	zts_fmi_numbers_before(fmi, (const uint8_t *)"\5", 1, 7, 100000, count_id, &count, NULL);
	if (zts_fmi_unpack(fmi, &wal, NULL) == SONDE_OK) {
		struct zts_wal_entry entry = { .next = 4 };

		while (zts_wal_at((const uint8_t *)wal.data, wal.size, entry.next, &entry, NULL) ==
		       SONDE_OK)
			REQUIRE(entry.id >= first && entry.id - first < zts_fmi_words(fmi));
		REQUIRE(entry.next == wal.size);
	}
	sonde_buffer_release(&text);
	sonde_buffer_release(&wal);
}

static void repair_checksum(uint8_t *bytes, size_t size)
{
	uint64_t end;

	if (size < 1056)
		return;
	end = 1056 + (uint64_t)sonde_load_u32le(bytes + 4) * ZTS_FMI_DESCRIPTOR_SIZE;
	sonde_store_u32le(bytes + 24, 0);
	if (end <= size)
		sonde_store_u32le(bytes + 24, sonde_crc32(0, bytes, (size_t)end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	struct zts_fmi *fmi;

	REQUIRE(bytes);
	memcpy(bytes, data, size);
	repair_checksum(bytes, size);
	/* Long texts of few bytes are bounded, and slow. */
	if (zts_fmi_of(bytes, size, "fuzz", &fmi, NULL) == SONDE_OK) {
		zts_fmi_verify(fmi, NULL);
		if (zts_fmi_text_size(fmi) < 1 << 18)
			use(fmi);
		zts_fmi_free(fmi);
	}
	free(bytes);
	return 0;
}
