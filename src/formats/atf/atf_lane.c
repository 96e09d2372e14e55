/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens index.atf and detail.atf and decides how much of them can be read: where the events
 * section ends, how many records it holds, and what is wrong. Nothing here trusts a count or an
 * offset of the file before it is held against the bytes that are there.
 */
#include "formats/atf/atf_lane.h"

#include <stdio.h>

#include "formats/atf/atf_findings.h"

/* How the two files differ in what both have. */
struct file_kind {
	const char *magic;
	const char *footer_magic;
	enum atf_finding unreadable, empty, too_short, bad_magic, bad_endian, bad_version;
	enum atf_finding bad_offset, footer_missing, footer_cut, trailing;
};

static const struct file_kind index_kind = {
	.magic = ATF_INDEX_MAGIC,
	.footer_magic = ATF_INDEX_FOOTER_MAGIC,
	.unreadable = ATF_FINDING_INDEX_UNREADABLE,
	.empty = ATF_FINDING_INDEX_EMPTY,
	.too_short = ATF_FINDING_INDEX_SHORT,
	.bad_magic = ATF_FINDING_INDEX_MAGIC,
	.bad_endian = ATF_FINDING_INDEX_ENDIAN,
	.bad_version = ATF_FINDING_INDEX_VERSION,
	.bad_offset = ATF_FINDING_INDEX_OFFSET,
	.footer_missing = ATF_FINDING_INDEX_FOOTER_MISSING,
	.footer_cut = ATF_FINDING_INDEX_FOOTER_CUT,
	.trailing = ATF_FINDING_INDEX_TRAILING,
};

static const struct file_kind detail_kind = {
	.magic = ATF_DETAIL_MAGIC,
	.footer_magic = ATF_DETAIL_FOOTER_MAGIC,
	.unreadable = ATF_FINDING_DETAIL_UNREADABLE,
	.empty = ATF_FINDING_DETAIL_EMPTY,
	.too_short = ATF_FINDING_DETAIL_SHORT,
	.bad_magic = ATF_FINDING_DETAIL_MAGIC,
	.bad_endian = ATF_FINDING_DETAIL_ENDIAN,
	.bad_version = ATF_FINDING_DETAIL_VERSION,
	.bad_offset = ATF_FINDING_DETAIL_OFFSET,
	.footer_missing = ATF_FINDING_DETAIL_FOOTER_MISSING,
	.footer_cut = ATF_FINDING_DETAIL_FOOTER_CUT,
	.trailing = ATF_FINDING_DETAIL_TRAILING,
};

#define MAGIC_TEXT_SIZE 24

/* Four bytes of a file as a person can read them: "ATI9", or in hexadecimal. */
static const char *magic_text(const uint8_t *magic, char text[MAGIC_TEXT_SIZE])
{
	for (int i = 0; i < ATF_MAGIC_SIZE; i++) {
		if (magic[i] <= ' ' || magic[i] > '~') {
			snprintf(text, MAGIC_TEXT_SIZE, "bytes %02x %02x %02x %02x", magic[0],
				 magic[1], magic[2], magic[3]);
			return text;
		}
	}
	snprintf(text, MAGIC_TEXT_SIZE, "\"%.4s\"", (const char *)magic);
	return text;
}

/* Reports why a file is refused twice: as a finding, and as the error of the call. */
static enum sonde_status refuse(const struct atf_file *file, enum atf_finding finding,
				enum sonde_status status, uint64_t offset,
				struct sonde_diagnostics *diagnostics, struct sonde_error *err,
				const char *expected, const char *found)
{
	const struct sonde_finding_type *type = &atf_finding_types[finding];

	sonde_diagnostics_add(diagnostics, type, file->path, offset, "%s\t%s", expected, found);
	sonde_fail(err, status, offset, "%s: expected %s, found %s", type->title, expected, found);
	sonde_error_set_file(err, file->path);
	return status;
}

/* Size, magic, byte order and version: what must be right before anything else is looked at. */
static enum sonde_status check_identity(const struct atf_file *file, const struct file_kind *kind,
					struct sonde_diagnostics *diagnostics,
					struct sonde_error *err)
{
	const uint8_t *data = file->map.data;
	char expected[MAGIC_TEXT_SIZE], found[MAGIC_TEXT_SIZE];

	if (file->map.size == 0)
		return refuse(file, kind->empty, SONDE_TRUNCATED, 0, diagnostics, err,
			      "a header of 64 bytes", "0 bytes");
	if (file->map.size < ATF_HEADER_SIZE) {
		snprintf(found, sizeof(found), "%zu bytes", file->map.size);
		return refuse(file, kind->too_short, SONDE_TRUNCATED, file->map.size, diagnostics,
			      err, "a header of 64 bytes", found);
	}
	if (memcmp(data, kind->magic, ATF_MAGIC_SIZE) != 0)
		return refuse(file, kind->bad_magic, SONDE_FORMAT, 0, diagnostics, err,
			      magic_text((const uint8_t *)kind->magic, expected),
			      magic_text(data, found));
	if (data[4] != ATF_LITTLE_ENDIAN) {
		snprintf(found, sizeof(found), "%u", data[4]);
		return refuse(file, kind->bad_endian, SONDE_UNSUPPORTED, 4, diagnostics, err,
			      "1 (little-endian)", found);
	}
	if (data[5] != ATF_VERSION) {
		snprintf(found, sizeof(found), "version %u", data[5]);
		return refuse(file, kind->bad_version, SONDE_UNSUPPORTED, 5, diagnostics, err,
			      "version 1", found);
	}
	return SONDE_OK;
}

static enum sonde_status file_open(struct atf_file *file, const char *path,
				   const struct file_kind *kind,
				   struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct sonde_error reason = { 0 };
	enum sonde_status status;

	file->path = strdup(path);
	if (!file->path)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(&file->map, path, &reason);
	if (status < 0) {
		sonde_diagnostics_add(diagnostics, &atf_finding_types[kind->unreadable], path,
				      SONDE_NO_OFFSET, "a readable file\t%s%s%s", reason.message,
				      reason.cause[0] ? ": " : "", reason.cause);
		if (err)
			*err = reason;
		return status;
	}
	return check_identity(file, kind, diagnostics, err);
}

static void file_release(struct atf_file *file)
{
	sonde_mapped_file_release(&file->map);
	free(file->path);
}

static bool has_magic(const struct atf_file *file, uint64_t position, const char *magic)
{
	return position + ATF_MAGIC_SIZE <= file->map.size &&
	       memcmp(file->map.data + position, magic, ATF_MAGIC_SIZE) == 0;
}

/* Whether what is left of the file from `position` on is the beginning of a footer. */
static bool is_cut_footer(const struct atf_file *file, uint64_t position, const char *magic)
{
	size_t left = file->map.size - position;

	if (left >= ATF_FOOTER_SIZE)
		return false;
	return memcmp(file->map.data + position, magic,
		      left < ATF_MAGIC_SIZE ? left : ATF_MAGIC_SIZE) == 0;
}

/*
 * Finds the end of the events section: the footer at the end of the file, else the one where the
 * header says it is, else a footer that is cut there, else there is none and the section goes on
 * to the end of the file.
 */
static void locate_section(struct atf_file *file, const struct file_kind *kind,
			   uint64_t events_offset, uint64_t footer_offset,
			   struct sonde_diagnostics *diagnostics)
{
	uint64_t size = file->map.size;

	file->begin = events_offset;
	if (events_offset < ATF_HEADER_SIZE || events_offset > size) {
		sonde_diagnostics_add(diagnostics, &atf_finding_types[kind->bad_offset], file->path,
				      0, "events_offset from 64 to %llu\t%llu",
				      (unsigned long long)size, (unsigned long long)events_offset);
		file->begin = ATF_HEADER_SIZE;
	}
	file->has_footer = true;
	if (size - file->begin >= ATF_FOOTER_SIZE &&
	    has_magic(file, size - ATF_FOOTER_SIZE, kind->footer_magic)) {
		file->footer_position = file->end = size - ATF_FOOTER_SIZE;
		return;
	}
	if (footer_offset >= file->begin && footer_offset <= size) {
		file->footer_position = file->end = footer_offset;
		if (size - footer_offset >= ATF_FOOTER_SIZE &&
		    has_magic(file, footer_offset, kind->footer_magic)) {
			file->dropped_bytes = size - footer_offset - ATF_FOOTER_SIZE;
			sonde_diagnostics_add(diagnostics, &atf_finding_types[kind->trailing],
					      file->path, footer_offset + ATF_FOOTER_SIZE,
					      "the end of the file\t%llu more bytes",
					      (unsigned long long)file->dropped_bytes);
			return;
		}
		if (footer_offset > file->begin &&
		    is_cut_footer(file, footer_offset, kind->footer_magic)) {
			file->has_footer = false;
			sonde_diagnostics_add(diagnostics, &atf_finding_types[kind->footer_cut],
					      file->path, footer_offset,
					      "a footer of 64 bytes\t%llu bytes",
					      (unsigned long long)(size - footer_offset));
			return;
		}
	}
	file->has_footer = false;
	file->end = size;
	sonde_diagnostics_add(diagnostics, &atf_finding_types[kind->footer_missing], file->path,
			      size, "a footer in the last 64 bytes\tthe end of the file");
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* How many events a finished section holds, when header, footer and size may disagree. */
static void count_finished(struct atf_index *index, struct sonde_diagnostics *diagnostics)
{
	const struct atf_file *file = &index->file;
	uint64_t bytes = file->end - file->begin, room = bytes / ATF_EVENT_SIZE;
	uint64_t footer_count = index->footer.event_count;

	/* A footer whose count is not the section's but whose byte count is: the count is damaged. */
	index->count = room;
	if (footer_count < room && index->footer.bytes_written != bytes)
		index->count = footer_count;
	if (footer_count != room || bytes % ATF_EVENT_SIZE)
		ATF_FIND(diagnostics, INDEX_COUNT, file->path, file->footer_position + 8,
			 "%llu events of 32 bytes in %llu bytes\tthe footer counts %llu",
			 (unsigned long long)room, (unsigned long long)bytes,
			 (unsigned long long)footer_count);
	if (index->header.event_count == 0 && index->count)
		ATF_FIND(diagnostics, INDEX_PLACEHOLDER, file->path, 28, "%llu events\t0",
			 (unsigned long long)index->count);
	else if (index->header.event_count != (uint32_t)index->count)
		ATF_FIND(diagnostics, INDEX_COUNT, file->path, 28,
			 "%llu events\tthe header counts %u", (unsigned long long)index->count,
			 index->header.event_count);
}

/* A footer that is cut right behind `number` events, under a header that does not know of it. */
static bool is_footer_after(const struct atf_index *index, uint64_t number)
{
	uint64_t position = atf_index_offset(index, number);

	return is_cut_footer(&index->file, position, ATF_INDEX_FOOTER_MAGIC) &&
	       index->file.map.size - position >= 16 &&
	       sonde_load_u64le(index->file.map.data + position + 8) == number;
}

/* How many events an unfinished section holds: whole ones, without a cut footer and a zero tail. */
static void count_unfinished(struct atf_index *index, struct sonde_diagnostics *diagnostics)
{
	struct atf_file *file = &index->file;
	uint64_t bytes = file->end - file->begin, zeros = 0;
	uint64_t count = bytes / ATF_EVENT_SIZE;

	/* a footer cut under a placeholder header; under a finished one it was found before */
	for (uint64_t back = 0; file->end == file->map.size && back < 2 && back <= count; back++) {
		if (!is_footer_after(index, count - back))
			continue;
		index->count = count - back;
		file->end = atf_index_offset(index, index->count);
		ATF_FIND(diagnostics, INDEX_FOOTER_CUT, file->path, file->end,
			 "a footer of 64 bytes\t%llu bytes",
			 (unsigned long long)(file->map.size - file->end));
		return;
	}
	if (bytes % ATF_EVENT_SIZE)
		ATF_FIND(diagnostics, INDEX_RECORD_CUT, file->path, atf_index_offset(index, count),
			 "32 bytes\t%llu bytes", (unsigned long long)(bytes % ATF_EVENT_SIZE));
	while (count && all_zero(atf_index_at(index, count - 1), ATF_EVENT_SIZE)) {
		count--;
		zeros++;
	}
	if (zeros)
		ATF_FIND(diagnostics, INDEX_ZEROS, file->path, atf_index_offset(index, count),
			 "events or a footer\t%llu bytes of zeros",
			 (unsigned long long)(zeros * ATF_EVENT_SIZE));
	index->count = count;
	file->dropped_bytes = bytes - count * ATF_EVENT_SIZE;
}

enum sonde_status atf_index_open(struct atf_index *index, const char *path,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct atf_file *file = &index->file;
	enum sonde_status status;
	char found[MAGIC_TEXT_SIZE];

	*index = (struct atf_index){ 0 };
	status = file_open(file, path, &index_kind, diagnostics, err);
	if (status < 0)
		return status;
	atf_index_header_decode(&index->header, file->map.data);
	if (index->header.event_size != ATF_EVENT_SIZE) {
		snprintf(found, sizeof(found), "%u bytes", index->header.event_size);
		return refuse(file, ATF_FINDING_INDEX_EVENT_SIZE, SONDE_UNSUPPORTED, 24,
			      diagnostics, err, "32 bytes", found);
	}
	locate_section(file, &index_kind, index->header.events_offset, index->header.footer_offset,
		       diagnostics);
	if (file->has_footer) {
		atf_index_footer_decode(&index->footer, file->map.data + file->footer_position);
		count_finished(index, diagnostics);
	} else {
		count_unfinished(index, diagnostics);
	}
	if (index->count <= ATF_EVENTS_MAX)
		return SONDE_OK;
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "%s: an index file holds at most %u events, this one has %llu", path,
			  ATF_EVENTS_MAX, (unsigned long long)index->count);
}

void atf_index_release(struct atf_index *index)
{
	file_release(&index->file);
	*index = (struct atf_index){ 0 };
}

/* Why a walk over detail records ended. */
enum walk_end { WALK_COMPLETE, WALK_FOOTER_CUT, WALK_RECORD_CUT, WALK_ZEROS, WALK_LENGTH };

static enum walk_end why_stopped(const struct atf_detail *detail, uint64_t offset)
{
	const struct atf_file *file = &detail->file;
	const uint8_t *bytes = file->map.data + offset;
	uint64_t left = file->end - offset;

	if (left == 0)
		return WALK_COMPLETE;
	if (!file->has_footer && is_cut_footer(file, offset, ATF_DETAIL_FOOTER_MAGIC))
		return WALK_FOOTER_CUT;
	if (all_zero(bytes, left < ATF_DETAIL_RECORD_SIZE ? left : ATF_DETAIL_RECORD_SIZE))
		return WALK_ZEROS;
	if (left >= 4 && sonde_load_u32le(bytes) < ATF_DETAIL_RECORD_SIZE)
		return WALK_LENGTH;
	return WALK_RECORD_CUT;
}

/* The length of the record at an offset, 0 where none fits there. */
static uint32_t record_length(const struct atf_detail *detail, uint64_t offset)
{
	uint64_t left = detail->file.end - offset;
	uint32_t length;

	if (left < ATF_DETAIL_RECORD_SIZE)
		return 0;
	length = sonde_load_u32le(detail->file.map.data + offset);
	return length >= ATF_DETAIL_RECORD_SIZE && length <= left ? length : 0;
}

/* Whether the bytes look like a record of this thread and of a type that is known. */
static bool resembles_record(const struct atf_detail *detail, uint64_t offset)
{
	struct atf_detail_record record;

	if (!record_length(detail, offset))
		return false;
	atf_detail_record_decode(&record, detail->file.map.data + offset);
	return record.thread_id == detail->header.identity.thread_id &&
	       (record.event_type == ATF_DETAIL_TYPE_CALL ||
		record.event_type == ATF_DETAIL_TYPE_RETURN ||
		record.event_type == ATF_DETAIL_TYPE_ARGUMENTS);
}

/* The next place from `offset` on where two records in a row, or the last one, seem to start. */
static uint64_t find_record(const struct atf_detail *detail, uint64_t offset)
{
	for (; offset < detail->file.end; offset++) {
		uint64_t next;

		if (!resembles_record(detail, offset))
			continue;
		next = offset + record_length(detail, offset);
		if (next == detail->file.end || resembles_record(detail, next))
			break;
	}
	return offset;
}

/*
 * Steps through the length prefixes to the last whole record: fills the table of offsets, counts
 * the records, and gives the offset where it stopped.
 */
static enum sonde_status walk(struct atf_detail *detail, uint64_t *count, uint64_t *stop,
			      struct sonde_error *err)
{
	uint64_t offset = detail->file.begin, number = 0;

	detail->offsets.count = 0;
	for (;;) {
		uint32_t length = record_length(detail, offset);

		if (!length && detail->salvages) {
			uint64_t found = find_record(detail, offset);

			if (found < detail->file.end) {
				detail->file.dropped_bytes += found - offset;
				offset = found;
				continue;
			}
		}
		if (!length)
			break;
		if (number % ATF_DETAIL_STRIDE == 0) {
			uint64_t *slot = sonde_vec_push(&detail->offsets);

			if (!slot)
				return sonde_fail_nomem(err);
			*slot = offset;
		}
		offset += length;
		number++;
	}
	detail->walked = true;
	*count = number;
	*stop = offset;
	return SONDE_OK;
}

/* Counts the records of a file without footer, and says what the walk ran into. */
static enum sonde_status count_unfinished_details(struct atf_detail *detail,
						  struct sonde_diagnostics *diagnostics,
						  struct sonde_error *err)
{
	struct atf_file *file = &detail->file;
	enum sonde_status status;
	uint64_t stop = file->end, left;

	status = walk(detail, &detail->count, &stop, err);
	if (status < 0)
		return status;
	left = file->end - stop;
	file->dropped_bytes += left;
	switch (why_stopped(detail, stop)) {
	case WALK_COMPLETE:
		break;
	case WALK_FOOTER_CUT:
		file->dropped_bytes -= left;
		ATF_FIND(diagnostics, DETAIL_FOOTER_CUT, file->path, stop,
			 "a footer of 64 bytes\t%llu bytes", (unsigned long long)left);
		break;
	case WALK_ZEROS:
		ATF_FIND(diagnostics, DETAIL_ZEROS, file->path, stop,
			 "records or a footer\t%llu bytes that start with zeros",
			 (unsigned long long)left);
		break;
	case WALK_LENGTH:
		ATF_FIND(diagnostics, DETAIL_LENGTH, file->path, stop,
			 "a record of at least 24 bytes\tlength %u, and %llu bytes behind it",
			 sonde_load_u32le(file->map.data + stop), (unsigned long long)left);
		break;
	case WALK_RECORD_CUT:
		if (left >= 4)
			ATF_FIND(diagnostics, DETAIL_RECORD_CUT, file->path, stop,
				 "a record of %u bytes\t%llu bytes",
				 sonde_load_u32le(file->map.data + stop), (unsigned long long)left);
		else
			ATF_FIND(diagnostics, DETAIL_RECORD_CUT, file->path, stop,
				 "a record\t%llu bytes", (unsigned long long)left);
		break;
	}
	file->end = stop;
	return SONDE_OK;
}

/* In a finished file as well only what the walk finds can be salvaged. */
static enum sonde_status count_salvaged_details(struct atf_detail *detail,
						struct sonde_diagnostics *diagnostics,
						struct sonde_error *err)
{
	struct atf_file *file = &detail->file;
	uint64_t promised = detail->count, stop = file->end;
	enum sonde_status status = walk(detail, &detail->count, &stop, err);

	if (status < 0)
		return status;
	file->dropped_bytes += file->end - stop;
	if (detail->count != promised)
		ATF_FIND(diagnostics, DETAIL_LENGTH, file->path, SONDE_NO_OFFSET,
			 "%llu records one behind the other\t%llu, and damage between them",
			 (unsigned long long)promised, (unsigned long long)detail->count);
	return SONDE_OK;
}

/* The count of a file with a footer, as far as the bytes have room for it. */
static void count_finished_details(struct atf_detail *detail, struct sonde_diagnostics *diagnostics)
{
	const struct atf_file *file = &detail->file;
	uint64_t room = (file->end - file->begin) / ATF_DETAIL_RECORD_SIZE;

	detail->count = detail->footer.event_count;
	if (detail->count > room) {
		ATF_FIND(diagnostics, DETAIL_COUNT, file->path, file->footer_position + 8,
			 "at most %llu records in %llu bytes\tthe footer counts %llu",
			 (unsigned long long)room, (unsigned long long)(file->end - file->begin),
			 (unsigned long long)detail->count);
		detail->count = room;
	}
	if (detail->header.event_count == 0 && detail->count)
		ATF_FIND(diagnostics, DETAIL_PLACEHOLDER, file->path, 28, "%llu records\t0",
			 (unsigned long long)detail->count);
	else if (detail->header.event_count != detail->footer.event_count)
		ATF_FIND(diagnostics, DETAIL_COUNT, file->path, 28,
			 "%llu records\tthe header counts %llu",
			 (unsigned long long)detail->footer.event_count,
			 (unsigned long long)detail->header.event_count);
}

enum sonde_status atf_detail_open(struct atf_detail *detail, const char *path, bool salvages,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct atf_file *file = &detail->file;
	uint64_t footer_offset;
	enum sonde_status status;

	*detail = (struct atf_detail){ .salvages = salvages, .lock = PTHREAD_MUTEX_INITIALIZER };
	status = file_open(file, path, &detail_kind, diagnostics, err);
	if (status < 0)
		return status;
	atf_detail_header_decode(&detail->header, file->map.data);
	if (__builtin_add_overflow(detail->header.events_offset, detail->header.bytes_length,
				   &footer_offset))
		footer_offset = UINT64_MAX;
	locate_section(file, &detail_kind, detail->header.events_offset, footer_offset,
		       diagnostics);
	if (!file->has_footer)
		return count_unfinished_details(detail, diagnostics, err);
	atf_detail_footer_decode(&detail->footer, file->map.data + file->footer_position);
	count_finished_details(detail, diagnostics);
	return salvages ? count_salvaged_details(detail, diagnostics, err) : SONDE_OK;
}

void atf_detail_release(struct atf_detail *detail)
{
	file_release(&detail->file);
	sonde_vec_release(&detail->offsets);
	pthread_mutex_destroy(&detail->lock);
	*detail = (struct atf_detail){ 0 };
}

enum sonde_status atf_detail_record_at(const struct atf_detail *detail, uint64_t offset,
				       struct atf_detail_record *record, struct sonde_error *err)
{
	const struct atf_file *file = &detail->file;
	uint64_t left = offset <= file->end ? file->end - offset : 0;

	if (left >= ATF_DETAIL_RECORD_SIZE) {
		atf_detail_record_decode(record, file->map.data + offset);
		if (record->total_length >= ATF_DETAIL_RECORD_SIZE && record->total_length <= left)
			return SONDE_OK;
		sonde_fail(err, SONDE_CORRUPT, offset,
			   "expected a detail record of 24 to %llu bytes, found length %u",
			   (unsigned long long)left, record->total_length);
	} else {
		sonde_fail(err, SONDE_CORRUPT, offset,
			   "expected a detail record of at least 24 bytes, found %llu bytes",
			   (unsigned long long)left);
	}
	sonde_error_set_file(err, file->path);
	return SONDE_CORRUPT;
}

/* The offset of the record at or before `number` that the table knows. */
static enum sonde_status table_seek(struct atf_detail *detail, struct atf_detail_place *place,
				    uint64_t number, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint64_t slot = number / ATF_DETAIL_STRIDE, count, stop;

	pthread_mutex_lock(&detail->lock);
	if (!detail->walked)
		status = walk(detail, &count, &stop, err);
	if (status == SONDE_OK && slot < detail->offsets.count) {
		place->number = slot * ATF_DETAIL_STRIDE;
		place->offset = detail->offsets.items[slot];
	} else if (status == SONDE_OK) {
		status = sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				    "detail %llu cannot be reached: a record before it is damaged",
				    (unsigned long long)number);
		sonde_error_set_file(err, detail->file.path);
	}
	pthread_mutex_unlock(&detail->lock);
	return status;
}

enum sonde_status atf_detail_seek(struct atf_detail *detail, struct atf_detail_place *place,
				  uint64_t number, struct sonde_error *err)
{
	struct atf_detail_record record;
	enum sonde_status status;

	if (number >= detail->count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "detail %llu does not exist: %s has %llu",
				  (unsigned long long)number, detail->file.path,
				  (unsigned long long)detail->count);
	if (number == 0 && !detail->salvages)
		*place = (struct atf_detail_place){ .offset = detail->file.begin };
	if (!place->offset || number < place->number ||
	    number - place->number >= ATF_DETAIL_STRIDE) {
		status = table_seek(detail, place, number, err);
		if (status < 0)
			return status;
	}
	while (place->number < number) {
		status = atf_detail_record_at(detail, place->offset, &record, err);
		if (status < 0) {
			place->offset = 0;
			return status;
		}
		place->offset += record.total_length;
		if (detail->salvages && !record_length(detail, place->offset))
			place->offset = find_record(detail, place->offset);
		place->number++;
	}
	return SONDE_OK;
}
