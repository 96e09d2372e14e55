/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of a WAL, one at a time: their ids, their marks, their escapes. Which files there are and
 * what the texts mean is known to zts_texts.
 */
#include "formats/zts/zts_wal.h"

#include "base/bytes.h"

#define DIGIT_BITS 6
#define DIGIT_COUNT 64

size_t zts_id_put(uint32_t id, uint8_t digits[ZTS_ID_DIGITS])
{
	size_t count = 1;

	for (uint32_t rest = id >> DIGIT_BITS; rest; rest >>= DIGIT_BITS)
		count++;
	for (size_t i = count; i--; id >>= DIGIT_BITS)
		digits[i] = (uint8_t)(ZTS_ID_DIGIT + (id & (DIGIT_COUNT - 1)));
	return count;
}

void zts_id_append(uint32_t id, struct sonde_buffer *out)
{
	uint8_t digits[ZTS_ID_DIGITS];
	size_t count = zts_id_put(id, digits);

	sonde_buffer_put(out, digits, count);
}

bool zts_id_parse(const uint8_t *digits, size_t count, uint32_t *id)
{
	uint64_t value = 0;

	if (!count || count > ZTS_ID_DIGITS)
		return false;
	for (size_t i = 0; i < count; i++) {
		unsigned int digit = digits[i] - (unsigned int)ZTS_ID_DIGIT;

		if (digit >= DIGIT_COUNT)
			return false;
		value = value << DIGIT_BITS | digit;
	}
	*id = (uint32_t)value;
	return value <= UINT32_MAX;
}

#define EACH_BYTE (~0ull / 255)

/*
 * The first mark (a byte below 4) from `offset` on, `size` where there is none. Eight bytes at a
 * time: a byte below 4 borrows from its highest bit; the lowest byte that does so is the first
 * mark.
 */
static size_t next_mark(const uint8_t *bytes, size_t size, size_t offset)
{
	for (; size - offset >= 8; offset += 8) {
		uint64_t word = sonde_load_u64le(bytes + offset);
		uint64_t below = (word - EACH_BYTE * 4) & ~word & EACH_BYTE * 0x80;

		if (below)
			return offset + (size_t)__builtin_ctzll(below) / 8;
	}
	while (offset < size && bytes[offset] > ZTS_WAL_END_MARK)
		offset++;
	return offset;
}

/* The digits from `offset` on, at most as many as an id has. */
static size_t count_digits(const uint8_t *bytes, size_t size, size_t offset)
{
	size_t count = 0;

	while (count < ZTS_ID_DIGITS && offset + count < size &&
	       bytes[offset + count] - (unsigned int)ZTS_ID_DIGIT < DIGIT_COUNT)
		count++;
	return count;
}

/* A whole entry; false for anything else. Every search begins with many of these. */
static bool take_whole(const uint8_t *bytes, size_t size, size_t offset,
		       struct zts_wal_entry *entry)
{
	size_t digits = 0, mark;
	uint64_t id = 0;

	while (digits <= ZTS_ID_DIGITS && offset + digits < size) {
		unsigned int digit = bytes[offset + digits] - (unsigned int)ZTS_ID_DIGIT;

		if (digit >= DIGIT_COUNT)
			break;
		id = id << DIGIT_BITS | digit;
		digits++;
	}
	if (!digits || digits > ZTS_ID_DIGITS || id > UINT32_MAX || offset + digits == size ||
	    bytes[offset + digits] != ZTS_WAL_TEXT_MARK)
		return false;
	mark = next_mark(bytes, size, offset + digits + 1);
	if (size - mark < digits + 2 || bytes[mark] != ZTS_WAL_ID_MARK ||
	    bytes[mark + 1 + digits] != ZTS_WAL_END_MARK)
		return false;
	for (size_t i = 0; i < digits; i++)
		if (bytes[offset + i] != bytes[mark + 1 + i])
			return false;
	*entry = (struct zts_wal_entry){ .id = (uint32_t)id,
					 .offset = offset,
					 .text = bytes + offset + digits + 1,
					 .size = mark - (offset + digits + 1),
					 .next = mark + digits + 2 };
	return true;
}

/* Why there is no whole entry, and where. */
static enum sonde_status find_fault(const uint8_t *bytes, size_t size, size_t offset, size_t *fault)
{
	size_t digits, text, mark;
	uint32_t id;

	*fault = offset;
	if (offset >= size || !bytes[offset])
		return SONDE_END;
	digits = count_digits(bytes, size, offset);
	text = *fault = offset + digits;
	if (text == size || !bytes[text])
		return SONDE_TRUNCATED;
	if (bytes[text++] != ZTS_WAL_TEXT_MARK || !zts_id_parse(bytes + offset, digits, &id))
		return SONDE_CORRUPT;
	mark = *fault = next_mark(bytes, size, text);
	if (mark == size || !bytes[mark])
		return SONDE_TRUNCATED;
	if (bytes[mark] != ZTS_WAL_ID_MARK)
		return SONDE_CORRUPT;
	*fault = mark + 1 + count_digits(bytes, size, mark + 1);
	if (*fault == size || !bytes[*fault])
		return SONDE_TRUNCATED;
	return SONDE_CORRUPT;
}

/* The entry, or why there is none. No message: most callers have no use for it. */
static enum sonde_status parse(const uint8_t *bytes, size_t size, size_t offset,
			       struct zts_wal_entry *entry, size_t *fault)
{
	return take_whole(bytes, size, offset, entry) ? SONDE_OK :
							find_fault(bytes, size, offset, fault);
}

enum sonde_status zts_wal_at(const uint8_t *bytes, size_t size, size_t offset,
			     struct zts_wal_entry *entry, struct sonde_error *err)
{
	size_t fault;
	enum sonde_status status = parse(bytes, size, offset, entry, &fault);

	if (status == SONDE_TRUNCATED)
		return sonde_fail(err, status, fault,
				  "expected the rest of the entry that begins at %zu, found its "
				  "end; what is before it is whole",
				  offset);
	if (status == SONDE_CORRUPT)
		return sonde_fail(err, status, fault,
				  "expected an entry (id 01 text 02 id 03) from %zu on, found byte "
				  "%02x; entries behind it may be whole",
				  offset, bytes[fault]);
	return status;
}

enum sonde_status zts_wal_resync(const uint8_t *bytes, size_t size, size_t offset,
				 struct zts_wal_entry *entry)
{
	size_t mark = offset;

	/* Digits before the mark that begins a text: as many as are behind it again. */
	for (; (mark = next_mark(bytes, size, mark)) < size; mark++) {
		size_t most = mark - offset < ZTS_ID_DIGITS ? mark - offset : ZTS_ID_DIGITS;

		for (size_t digits = most; bytes[mark] == ZTS_WAL_TEXT_MARK && digits; digits--)
			if (take_whole(bytes, size, mark - digits, entry))
				return SONDE_OK;
	}
	return SONDE_END;
}

bool zts_wal_is_escaped(const uint8_t *text, size_t size)
{
	return size && memchr(text, ZTS_WAL_ESCAPE, size);
}

void zts_wal_unescape(const uint8_t *text, size_t size, struct sonde_buffer *out)
{
	char *place = sonde_buffer_reserve(out, size);
	size_t used = 0;

	if (!place)
		return;
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = text[i];

		if (byte == ZTS_WAL_ESCAPE && i + 1 < size && text[i + 1] >= 4 &&
		    text[i + 1] <= 8) {
			byte = text[++i];
			byte = byte == 8 ? ZTS_WAL_ESCAPE : (uint8_t)(byte - 4);
		}
		place[used++] = (char)byte;
	}
	out->size += used;
}

void zts_wal_escape(const void *text, size_t size, struct sonde_buffer *out)
{
	const uint8_t *bytes = text;
	size_t start = 0;

	for (size_t i = 0; i < size; i++) {
		uint8_t byte = bytes[i];

		if (byte > ZTS_WAL_END_MARK && byte != ZTS_WAL_ESCAPE)
			continue;
		sonde_buffer_put(out, bytes + start, i - start);
		sonde_buffer_put_char(out, (char)ZTS_WAL_ESCAPE);
		sonde_buffer_put_char(out, (char)(byte == ZTS_WAL_ESCAPE ? 8 : byte + 4));
		start = i + 1;
	}
	if (size)
		sonde_buffer_put(out, bytes + start, size - start);
}

void zts_wal_put_entry(struct sonde_buffer *out, uint32_t id, const void *text, size_t size)
{
	uint8_t digits[ZTS_ID_DIGITS];
	size_t count = zts_id_put(id, digits);

	sonde_buffer_put(out, digits, count);
	sonde_buffer_put_char(out, ZTS_WAL_TEXT_MARK);
	zts_wal_escape(text, size, out);
	sonde_buffer_put_char(out, ZTS_WAL_ID_MARK);
	sonde_buffer_put(out, digits, count);
	sonde_buffer_put_char(out, ZTS_WAL_END_MARK);
}
