/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qmeta.idx: a header with the end of the used bytes, then slots of 12 big-endian words (8 in
 * generation 0). A writer appends slots first and moves the end afterwards, so that what lies
 * before the end is always whole.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_meta.h"

#define SLOT_SIZE ((size_t)ZTS_QMETA_SLOT_WORDS * 8)
#define OLD_SLOT_SIZE ((size_t)ZTS_QMETA_OLD_SLOT_WORDS * 8)
#define DATA_OFFSET_MASK 0xffffffffffffull
#define DESCRIPTION_IS_TEXT 0x80000000u
#define NANOSECONDS 1000000000u
/* How many slots are looked at to tell the generations apart. */
#define GUESSED_SLOTS 64
/* No traces.dat is longer than 1 TiB: they are replaced by new ones long before. */
#define SENSIBLE_OFFSET (1ull << 40)

/* 0-based words of a slot. */
enum {
	WORD_TIME,
	WORD_NAMES,
	WORD_PLACE,
	WORD_DURATION,
	WORD_ENTRIES,
	WORD_COUNTS,
	WORD_UUID,
	WORD_UUID_LOW,
	WORD_DTRACE,
	WORD_START_NS,
	WORD_DURATION_NS,
};

void zts_slots_release(struct zts_slots *slots)
{
	sonde_vec_release(&slots->list);
	*slots = (struct zts_slots){ 0 };
}

static uint64_t load_word(const uint8_t *slot, unsigned int word)
{
	return sonde_load_u64be(slot + (size_t)word * 8);
}

static void store_word(uint8_t *slot, unsigned int word, uint64_t value)
{
	sonde_store_u64be(slot + (size_t)word * 8, value);
}

/* What both generations have alike. */
static inline void decode_common(const uint8_t *bytes, struct zts_slot *slot)
{
	uint64_t time = load_word(bytes, WORD_TIME), names = load_word(bytes, WORD_NAMES);
	uint64_t place = load_word(bytes, WORD_PLACE), entries = load_word(bytes, WORD_ENTRIES);
	uint64_t counts = load_word(bytes, WORD_COUNTS);
	uint32_t description = (uint32_t)load_word(bytes, WORD_DURATION);

	slot->start_offset = (uint32_t)(time >> 32);
	slot->seconds = (uint32_t)time;
	slot->app = (uint16_t)(names >> 48);
	slot->env = (uint16_t)(names >> 32);
	slot->type = (uint16_t)(names >> 16);
	slot->flags = (uint8_t)names;
	slot->chunk_number = (uint32_t)(place >> 48);
	slot->data_offset = place & DATA_OFFSET_MASK;
	slot->description = description & ~DESCRIPTION_IS_TEXT;
	slot->description_is_method = !(description & DESCRIPTION_IS_TEXT);
	slot->deep_entry = (uint32_t)entries;
	slot->shallow_entry = (uint32_t)(entries >> 32);
	slot->records = (uint32_t)(counts >> 40);
	slot->errors = (uint16_t)((counts >> 32 & 0xff) << 8 | (names >> 8 & 0xff));
	slot->calls = (uint32_t)counts;
	slot->uuid[0] = load_word(bytes, WORD_UUID);
	slot->uuid[1] = load_word(bytes, WORD_UUID_LOW);
}

static inline void decode_slot(const uint8_t *bytes, struct zts_slot *slot)
{
	uint64_t duration = load_word(bytes, WORD_DURATION), dtrace = load_word(bytes, WORD_DTRACE);

	decode_common(bytes, slot);
	slot->host = (uint16_t)(duration >> 48);
	slot->duration_seconds = duration >> 32 & 0xffff;
	slot->dtrace_tid = (uint32_t)(dtrace >> 32);
	slot->dtrace_uuid = (uint32_t)dtrace;
	slot->start_ns = load_word(bytes, WORD_START_NS);
	slot->duration_ns = load_word(bytes, WORD_DURATION_NS);
}

/* Generation 0: the upper half of the fourth word is the duration in ticks; there is no host. */
static void decode_old_slot(const uint8_t *bytes, struct zts_slot *slot)
{
	uint64_t ticks = load_word(bytes, WORD_DURATION) >> 32;

	decode_common(bytes, slot);
	slot->host = 0;
	slot->duration_ns = ticks * ZTS_TICK_NS;
	slot->duration_seconds = (uint32_t)(slot->duration_ns / NANOSECONDS);
	slot->dtrace_tid = slot->dtrace_uuid = 0;
	slot->start_ns = 0;
}

/* How many of the first slots make sense where they are `slot_size` bytes long. */
static size_t count_sensible(const uint8_t *slots, size_t size, size_t slot_size)
{
	size_t sensible = 0;
	uint64_t last_offset = ZTS_DATA_HEADER_SIZE;

	for (size_t i = 0; i < GUESSED_SLOTS && slot_size <= size - i * slot_size; i++) {
		struct zts_slot slot;

		decode_common(slots + i * slot_size, &slot);
		if (slot.data_offset < last_offset || slot.data_offset >= SENSIBLE_OFFSET ||
		    slot.flags & 0x80 ||
		    !(slot.flags & (ZTS_RECORD_CHUNKED | ZTS_RECORD_FIRST | ZTS_RECORD_LAST)))
			break;
		last_offset = slot.data_offset;
		sensible++;
	}
	return sensible;
}

/*
 * Both generations have the same magic. The used bytes must be whole slots; where both sizes divide
 * them, that one is right with which the slots make sense for more bytes: offsets of data that are
 * not huge and do not go backwards, flags that slots have. (A slot read at a wrong place has a UUID
 * or 0 as its offset.)
 */
static unsigned int guess_generation(const uint8_t *slots, size_t size)
{
	bool new_fits = size % SLOT_SIZE == 0, old_fits = size % OLD_SLOT_SIZE == 0;

	if (new_fits != old_fits)
		return new_fits ? 1 : 0;
	return count_sensible(slots, size, SLOT_SIZE) * SLOT_SIZE >=
			       count_sensible(slots, size, OLD_SLOT_SIZE) * OLD_SLOT_SIZE ?
		       1 :
		       0;
}

static enum sonde_status damaged(struct sonde_diagnostics *diagnostics, const char *path,
				 uint64_t offset, const char *expected, uint64_t found,
				 struct sonde_error *err)
{
	zts_found(diagnostics, QMETA, path, offset, "%s\t%llu", expected,
		  (unsigned long long)found);
	sonde_fail(err, SONDE_CORRUPT, offset,
		   "expected %s, found %llu; the list of traces can be made anew from traces.dat",
		   expected, (unsigned long long)found);
	sonde_error_set_file(err, path);
	return SONDE_CORRUPT;
}

static enum sonde_status append_slots(struct zts_slots *slots, const uint8_t *bytes, size_t size,
				      struct sonde_error *err)
{
	size_t slot_size = slots->generation ? SLOT_SIZE : OLD_SLOT_SIZE;
	size_t count = size / slot_size, from = slots->list.count;

	if (count < from)
		return sonde_fail(err, SONDE_CORRUPT, 4,
				  "expected at least %zu slots as before, found %zu", from, count);
	if (count == from)
		return SONDE_OK;
	if (!sonde_vec_reserve(&slots->list, count - from))
		return sonde_fail_nomem(err);
	for (size_t i = from; i < count; i++) {
		if (slots->generation)
			decode_slot(bytes + i * slot_size, &slots->list.items[i]);
		else
			decode_old_slot(bytes + i * slot_size, &slots->list.items[i]);
	}
	slots->list.count = count;
	return SONDE_OK;
}

enum sonde_status zts_slots_parse(struct zts_slots *slots, const uint8_t *bytes, size_t size,
				  const char *path, struct sonde_diagnostics *diagnostics,
				  struct sonde_error *err)
{
	size_t used, slot_size;
	enum sonde_status status;

	if (size < ZTS_QMETA_HEADER_SIZE)
		return damaged(diagnostics, path, size, "a header of 64 bytes", size, err);
	if (memcmp(bytes, ZTS_QMETA_MAGIC, 4) != 0)
		return damaged(diagnostics, path, 0, "the magic number MQI0",
			       sonde_load_u32be(bytes), err);
	used = slots->used = sonde_load_u32be(bytes + 4);
	if (!used) /* a new file of existing programs */
		used = ZTS_QMETA_HEADER_SIZE;
	if (used < ZTS_QMETA_HEADER_SIZE)
		return damaged(diagnostics, path, 4, "an end of at least 64 bytes", used, err);
	slots->first_tstart = sonde_load_u32be(bytes + 8);
	slots->last_tstop = sonde_load_u32be(bytes + 12);
	if (!slots->list.count)
		slots->generation =
			guess_generation(bytes + ZTS_QMETA_HEADER_SIZE,
					 (used < size ? used : size) - ZTS_QMETA_HEADER_SIZE);
	slot_size = slots->generation ? SLOT_SIZE : OLD_SLOT_SIZE;
	status = append_slots(slots, bytes + ZTS_QMETA_HEADER_SIZE,
			      (used < size ? used : size) - ZTS_QMETA_HEADER_SIZE, err);
	if (status < 0)
		return status;
	if (used > size)
		return damaged(diagnostics, path, 4, "an end within the file", used, err);
	if ((used - ZTS_QMETA_HEADER_SIZE) % slot_size)
		return damaged(diagnostics, path, 4, "an end after a whole slot", used, err);
	return SONDE_OK;
}

enum sonde_status zts_slots_read(struct zts_slots *slots, const char *path,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct sonde_mapped_file file;
	enum sonde_status status = sonde_mapped_file_open(&file, path, err);

	if (status < 0)
		return status;
	status = zts_slots_parse(slots, file.data, file.size, path, diagnostics, err);
	sonde_mapped_file_release(&file);
	if (status < 0)
		sonde_error_set_file(err, path);
	return status;
}

static uint64_t at_most(uint64_t value, uint64_t highest)
{
	return value < highest ? value : highest;
}

void zts_put_slot(uint8_t bytes[96], const struct zts_slot *slot)
{
	uint32_t description = slot->description & ~DESCRIPTION_IS_TEXT;

	if (!slot->description_is_method)
		description |= DESCRIPTION_IS_TEXT;
	memset(bytes, 0, SLOT_SIZE);
	store_word(bytes, WORD_TIME, (uint64_t)slot->start_offset << 32 | slot->seconds);
	store_word(bytes, WORD_NAMES,
		   (uint64_t)slot->app << 48 | (uint64_t)slot->env << 32 |
			   (uint64_t)slot->type << 16 | (uint64_t)(slot->errors & 0xff) << 8 |
			   slot->flags);
	store_word(bytes, WORD_PLACE,
		   at_most(slot->chunk_number, 0xffff) << 48 |
			   (slot->data_offset & DATA_OFFSET_MASK));
	store_word(bytes, WORD_DURATION,
		   (uint64_t)slot->host << 48 | at_most(slot->duration_seconds, 0xffff) << 32 |
			   description);
	store_word(bytes, WORD_ENTRIES, (uint64_t)slot->shallow_entry << 32 | slot->deep_entry);
	store_word(bytes, WORD_COUNTS,
		   at_most(slot->records, 0xffffff) << 40 | (uint64_t)(slot->errors >> 8) << 32 |
			   slot->calls);
	store_word(bytes, WORD_UUID, slot->uuid[0]);
	store_word(bytes, WORD_UUID_LOW, slot->uuid[1]);
	store_word(bytes, WORD_DTRACE, (uint64_t)slot->dtrace_tid << 32 | slot->dtrace_uuid);
	store_word(bytes, WORD_START_NS, slot->start_ns);
	store_word(bytes, WORD_DURATION_NS, slot->duration_ns);
}

void zts_put_qmeta_header(uint8_t bytes[64], uint32_t fpos, uint32_t tstart, uint32_t tstop)
{
	memset(bytes, 0, ZTS_QMETA_HEADER_SIZE);
	memcpy(bytes, ZTS_QMETA_MAGIC, 4);
	sonde_store_u32be(bytes + 4, fpos);
	sonde_store_u32be(bytes + 8, tstart);
	sonde_store_u32be(bytes + 12, tstop);
}
