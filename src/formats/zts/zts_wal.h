/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WAL: entries `id 01 text 02 id 03` one after another, of the text index and of the metadata
 * index. Reading works on bytes in memory (mapped or being built); ids are dense and increasing.
 */
#ifndef SONDE_FORMATS_ZTS_WAL_H
#define SONDE_FORMATS_ZTS_WAL_H

#include <sonde/status.h>

#include "base/buffer.h"
#include "formats/zts/zts_layout.h"

/* Ids in base 64, most significant digit first; at least one digit. */
#define ZTS_ID_DIGITS 6
size_t zts_id_put(uint32_t id, uint8_t digits[ZTS_ID_DIGITS]); /* how many digits */
/* The same, appended. */
void zts_id_append(uint32_t id, struct sonde_buffer *out);
/* False where it is no id, or one beyond 32 bits. */
bool zts_id_parse(const uint8_t *digits, size_t count, uint32_t *id);

struct zts_wal_entry {
	uint32_t id;
	size_t offset;	     /* of the entry in the bytes */
	const uint8_t *text; /* still escaped: see zts_wal_unescape() */
	size_t size;
	size_t next; /* where the next entry begins */
};

/*
 * The entry at `offset` (4 is the first). SONDE_END where zeros or the end follow; SONDE_TRUNCATED
 * for an entry cut short; SONDE_CORRUPT for one whose ids differ or that is none.
 */
enum sonde_status zts_wal_at(const uint8_t *bytes, size_t size, size_t offset,
			     struct zts_wal_entry *entry, struct sonde_error *err);

/*
 * The next place behind `offset` where a whole entry is: after damage. SONDE_END where there is
 * none.
 */
enum sonde_status zts_wal_resync(const uint8_t *bytes, size_t size, size_t offset,
				 struct zts_wal_entry *entry);

/* Whether there is an escape in a text at all (rare), and the text without them, appended. */
bool zts_wal_is_escaped(const uint8_t *text, size_t size);
void zts_wal_unescape(const uint8_t *text, size_t size, struct sonde_buffer *out);

/* Appends a text with escapes, and a whole entry. */
void zts_wal_escape(const void *text, size_t size, struct sonde_buffer *out);
void zts_wal_put_entry(struct sonde_buffer *out, uint32_t id, const void *text, size_t size);

#endif
