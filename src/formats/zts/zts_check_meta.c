/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a part against what its data says: slots and postings are made anew (which
 * reports damaged chunks on the way) and compared with those in the files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "formats/zts/zts_check.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_wal.h"

struct meta_check {
	struct zts_part_check *part;
	char *path; /* of qmeta.idx */
	struct zts_slots stored;
	struct zts_texts *stored_meta;
	struct zts_slots expected;
	struct sonde_buffer expected_wal;
	struct zts_texts *expected_meta;
	struct sonde_sort_item *order; /* of the expected ones by place */
	bool *met;		       /* of the expected ones: a slot is there */
};

/* Bytes of slots in qmeta.idx. */
static uint64_t place_of_slot(const struct meta_check *check, size_t number)
{
	size_t words = check->stored.generation ? ZTS_QMETA_SLOT_WORDS : ZTS_QMETA_OLD_SLOT_WORDS;

	return ZTS_QMETA_HEADER_SIZE + (uint64_t)number * words * 8;
}

static enum sonde_status order_expected(struct meta_check *check, struct sonde_error *err)
{
	size_t count = check->expected.list.count;

	check->order = calloc(count + 1, sizeof(*check->order));
	check->met = calloc(count + 1, sizeof(*check->met));
	if (!check->order || !check->met)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		check->order[i] =
			(struct sonde_sort_item){ check->expected.list.items[i].start_offset, i };
	if (!sonde_sort(check->order, count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		check->order[i].key =
			check->expected.list.items[check->order[i].number].data_offset;
	return sonde_sort(check->order, count) ? SONDE_OK : sonde_fail_nomem(err);
}

/*
 * The position of the slot that is expected at a place. A chunk of a chunked trace and a trace
 * inside it may begin at the same place: their flags tell them apart.
 */
static size_t find_expected(const struct meta_check *check, const struct zts_slot *slot)
{
	size_t low = 0, high = check->expected.list.count, count = high, found = SIZE_MAX;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct zts_slot *at =
			&check->expected.list.items[check->order[middle].number];

		if (at->data_offset < slot->data_offset ||
		    (at->data_offset == slot->data_offset && at->start_offset < slot->start_offset))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count; low++) {
		size_t number = check->order[low].number;
		const struct zts_slot *at = &check->expected.list.items[number];

		if (at->data_offset != slot->data_offset || at->start_offset != slot->start_offset)
			break;
		if (found == SIZE_MAX || at->flags == slot->flags)
			found = number;
	}
	return found;
}

static void compare_value(const struct meta_check *check, size_t number, const char *what,
			  uint64_t expected, uint64_t found)
{
	if (expected != found)
		zts_found(check->part->found, SLOT_VALUE, check->path, place_of_slot(check, number),
			  "slot %zu: %s %" PRIu64 "\t%" PRIu64, number, what, expected, found);
}

static void compare_slot(const struct meta_check *check, size_t number,
			 const struct zts_slot *expected)
{
	const struct zts_slot *found = &check->stored.list.items[number];

	if (!check->stored.generation)
		return; /* its numbers are counted in other ways */
	compare_value(check, number, "seconds", expected->seconds, found->seconds);
	compare_value(check, number, "duration", expected->duration_seconds,
		      found->duration_seconds);
	compare_value(check, number, "flags", expected->flags, found->flags);
	compare_value(check, number, "records", expected->records, found->records);
	compare_value(check, number, "calls", expected->calls, found->calls);
	compare_value(check, number, "errors", expected->errors, found->errors);
	if (found->start_ns) {
		compare_value(check, number, "start", expected->start_ns, found->start_ns);
		compare_value(check, number, "nanoseconds", expected->duration_ns,
			      found->duration_ns);
	}
}

/* The next `slot 05 id mark` of a line; false after the last. */
static bool next_posting(const char **at, const char *end, uint8_t mark, uint32_t *slot,
			 uint32_t *id)
{
	const char *middle = *at < end ? memchr(*at, ZTS_META_ID_MARK, (size_t)(end - *at)) : NULL;
	const char *stop = middle ? memchr(middle, mark, (size_t)(end - middle)) : NULL;
	bool is_one;

	if (!stop)
		return false;
	is_one = zts_id_parse((const uint8_t *)*at, (size_t)(middle - *at), slot) &&
		 zts_id_parse((const uint8_t *)middle + 1, (size_t)(stop - middle - 1), id);
	*at = stop + 1;
	return is_one;
}

static bool take_line(struct zts_texts *meta, uint32_t entry, uint8_t mark, const char **at,
		      const char **end)
{
	const char *text;
	size_t size;

	if (!meta || zts_texts_get(meta, entry, &text, &size, NULL) != SONDE_OK || !size ||
	    (uint8_t)text[0] != mark)
		return false;
	*at = text + 1;
	*end = text + size;
	return true;
}

static void report_posting(const struct meta_check *check, size_t number, const char *what,
			   uint32_t id)
{
	zts_found(check->part->found, POSTING, check->path, place_of_slot(check, number),
		  "slot %zu: text %" PRIu32 " in its %s line\tit is not there", number, id, what);
}

/* Every id that the trace has is in the line; both are ascending. */
static void compare_line(const struct meta_check *check, size_t number, uint32_t expected_entry,
			 uint32_t found_entry, uint8_t mark)
{
	const char *what = mark == ZTS_META_DEEP ? "deep" : "shallow";
	const char *at, *end, *other, *other_end;
	uint32_t slot, id, other_slot = 0, other_id = 0;
	bool has_other = true;

	if (expected_entry == UINT32_MAX ||
	    !take_line(check->expected_meta, expected_entry, mark, &at, &end))
		return;
	if (!take_line(check->stored_meta, found_entry, mark, &other, &other_end)) {
		zts_found(check->part->found, POSTING, check->path, place_of_slot(check, number),
			  "slot %zu: a %s line as entry %" PRIu32 "\tnone", number, what,
			  found_entry);
		return;
	}
	has_other = next_posting(&other, other_end, mark, &other_slot, &other_id);
	if (has_other && other_slot != number) {
		zts_found(check->part->found, POSTING, check->path, place_of_slot(check, number),
			  "slot %zu: its own %s line\tthe one of slot %" PRIu32, number, what,
			  other_slot);
		return;
	}
	while (next_posting(&at, end, mark, &slot, &id)) {
		while (has_other && other_id < id)
			has_other = next_posting(&other, other_end, mark, &other_slot, &other_id);
		if (!has_other || other_id != id) {
			report_posting(check, number, what, id);
			return;
		}
	}
}

static void compare_all(struct meta_check *check)
{
	for (size_t i = 0; i < check->stored.list.count; i++) {
		const struct zts_slot *slot = &check->stored.list.items[i];
		size_t place = find_expected(check, slot);
		const struct zts_slot *expected;

		if (place == SIZE_MAX) {
			zts_found(check->part->found, SLOT_PLACE, check->path,
				  place_of_slot(check, i),
				  "slot %zu: a trace\tnone at %" PRIu64 " and %" PRIu32, i,
				  slot->data_offset, slot->start_offset);
			continue;
		}
		check->met[place] = true;
		expected = &check->expected.list.items[place];
		compare_slot(check, i, expected);
		if (!check->stored.generation)
			continue;
		compare_line(check, i, expected->deep_entry, slot->deep_entry, ZTS_META_DEEP);
		compare_line(check, i, expected->shallow_entry, slot->shallow_entry,
			     ZTS_META_SHALLOW);
	}
	for (size_t i = 0; i < check->expected.list.count; i++) {
		const struct zts_slot *slot = &check->expected.list.items[i];

		if (!check->met[i])
			zts_found(check->part->found, SLOT_MISSING, check->part->chunks.path,
				  slot->data_offset,
				  "a slot\tnone for the trace at %" PRIu32 " in this chunk",
				  slot->start_offset);
	}
}

/* Reads the stored slots and postings; false where there are none. */
static enum sonde_status read_stored(struct meta_check *check, bool *is_there,
				     struct sonde_error *err)
{
	enum sonde_status status;

	*is_there = sonde_path_kind(check->path) == SONDE_PATH_FILE;
	if (!*is_there) {
		if (!check->part->is_generation_2)
			zts_found(check->part->found, META_MISSING, check->path, SONDE_NO_OFFSET,
				  "a file\tnone");
		return SONDE_OK;
	}
	status = zts_slots_read(&check->stored, check->path, check->part->found, err);
	if (status < 0 && (status == SONDE_NOMEM || status == SONDE_IO))
		return status;
	status = zts_texts_open(check->part->folder, "meta", check->part->found,
				&check->stored_meta, err);
	if (status == SONDE_OK && check->stored.list.count && check->stored.generation &&
	    zts_texts_end(check->stored_meta) <= 1)
		zts_found(check->part->found, META_MISSING, check->part->folder, SONDE_NO_OFFSET,
			  "meta-*.wal or meta-*.fmi\tno entries");
	return status;
}

static enum sonde_status check_meta(struct meta_check *check, struct sonde_error *err)
{
	bool is_there = false;
	enum sonde_status status;

	check->expected.has_names = check->part->has_names;
	status = zts_rebuild(&check->part->chunks, check->part->texts, &check->expected,
			     &check->expected_wal, check->part->found, err);
	if (status == SONDE_OK)
		status = read_stored(check, &is_there, err);
	if (status < 0 || !is_there)
		return status;
	status = zts_texts_of((const uint8_t *)check->expected_wal.data, check->expected_wal.size,
			      &check->expected_meta, err);
	if (status == SONDE_OK)
		status = order_expected(check, err);
	if (status == SONDE_OK)
		compare_all(check);
	return status;
}

enum sonde_status zts_check_meta(struct zts_part_check *part, struct sonde_error *err)
{
	struct meta_check check = { .part = part };
	enum sonde_status status;

	check.path = sonde_path_join(part->folder, ZTS_QMETA_NAME);
	status = check.path ? check_meta(&check, err) : sonde_fail_nomem(err);
	zts_texts_free(check.expected_meta);
	zts_texts_free(check.stored_meta);
	zts_slots_release(&check.stored);
	zts_slots_release(&check.expected);
	sonde_buffer_release(&check.expected_wal);
	free(check.order);
	free(check.met);
	free(check.path);
	return status;
}
