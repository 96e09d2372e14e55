/* SPDX-License-Identifier: Apache-2.0 */
/* FMI: the packed form of a WAL, a compressed text that is searched without being unpacked. */
#ifndef SONDE_FORMATS_ZTS_FMI_H
#define SONDE_FORMATS_ZTS_FMI_H

#include "base/buffer.h"
#include "base/file.h"
#include "base/vec.h"

struct zts_fmi; /* opaque: shared by threads for reading */

enum sonde_status zts_fmi_open(const char *path, struct zts_fmi **fmi, struct sonde_error *err);
/* Of bytes in memory, borrowed; for tests and fuzzing. */
enum sonde_status zts_fmi_of(const uint8_t *bytes, size_t size, const char *name,
			     struct zts_fmi **fmi, struct sonde_error *err);
void zts_fmi_free(struct zts_fmi *fmi);

uint32_t zts_fmi_first_id(const struct zts_fmi *fmi);
uint32_t zts_fmi_words(const struct zts_fmi *fmi);
size_t zts_fmi_text_size(const struct zts_fmi *fmi);

/*
 * Whether the checksum of header and descriptors fits; a file where it does not may still be read.
 */
bool zts_fmi_header_is_whole(const struct zts_fmi *fmi);

/* Appends the (escaped) text of one id. SONDE_END where it is not in here. */
enum sonde_status zts_fmi_text(const struct zts_fmi *fmi, uint32_t id, struct sonde_buffer *out,
			       struct sonde_error *err);

/*
 * Every occurrence of a byte pattern (escaped as texts are; it may hold marks): the id of the entry
 * it lies in and the first byte of its text (its kind) are given to `found`, more than once where it
 * occurs more than once. False from `found` ends it. For at most so many steps, each of about 100
 * ns: SONDE_LIMIT beyond them, when unpacking all of it is faster. A pattern that begins inside the
 * digits of an id is in no text: not found. SONDE_CORRUPT comes after all that could be found.
 */
enum sonde_status zts_fmi_find_within(const struct zts_fmi *fmi, const uint8_t *pattern,
				      size_t size, uint64_t steps,
				      bool (*found)(void *context, uint32_t id, uint8_t first),
				      void *context, struct sonde_error *err);

/* How often it occurs, without finding where. */
uint64_t zts_fmi_count(const struct zts_fmi *fmi, const uint8_t *pattern, size_t size);

/*
 * For each occurrence of `pattern` the number (up to `most`) whose digits lie before it, back to (not
 * including) the first byte equal to `stop`: the slot of `05 id 07` in the metadata index with stop
 * 07. In no particular order. Nothing but digits may be before it.
 */
enum sonde_status zts_fmi_numbers_before(const struct zts_fmi *fmi, const uint8_t *pattern,
					 size_t size, uint8_t stop, uint32_t most,
					 bool (*found)(void *context, uint32_t number),
					 void *context, struct sonde_error *err);

/* All of it as the bytes of a WAL (magic, entries in the order of ids), appended. */
enum sonde_status zts_fmi_unpack(const struct zts_fmi *fmi, struct sonde_buffer *wal,
				 struct sonde_error *err);

/* Every checksum and rank; the first fault. */
enum sonde_status zts_fmi_verify(const struct zts_fmi *fmi, struct sonde_error *err);

/* The FMI of one or more WALs that follow each other in ids, appended to `out`. */
struct zts_wal_bytes {
	const uint8_t *bytes;
	size_t size;
};
enum sonde_status zts_fmi_pack(const struct zts_wal_bytes *wals, size_t count,
			       struct sonde_buffer *out, struct sonde_error *err);

#endif
