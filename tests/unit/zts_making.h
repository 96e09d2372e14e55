/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a trace store made by hand, byte by byte, for tests: texts, chunks, slots, files. */
#ifndef SONDE_TESTS_ZTS_MAKING_H
#define SONDE_TESTS_ZTS_MAKING_H

#include "base/buffer.h"
#include "formats/zts/zts_meta.h"

struct made_part {
	struct sonde_buffer texts, meta, data, content;
	uint32_t text_count;
	uint32_t last_entry; /* of the metadata index */
	SONDE_VEC(struct zts_slot) slots;
	const char *props; /* NULL: none */
};

void made_release(struct made_part *made);

/* Texts, as bytes with their marks; the id. */
uint32_t made_text(struct made_part *made, const char *text);
uint32_t made_typed(struct made_part *made, char mark, const uint32_t *ids, size_t count);

/* Into `content`: a record begins, what it says of itself, and its end. */
void made_begin(struct made_part *made, uint32_t method, uint64_t start);
void made_timestamp(struct made_part *made, uint64_t ms, uint32_t type);
void made_string_attribute(struct made_part *made, uint32_t key, uint32_t value);
void made_number_attribute(struct made_part *made, uint32_t key, int64_t value);
void made_end(struct made_part *made, uint64_t stop, uint64_t calls, uint32_t exception);

/* The content becomes a chunk; its offset. */
uint64_t made_chunk(struct made_part *made);

/* A slot with lines in the metadata index that hold `id` only. */
struct zts_slot *made_slot(struct made_part *made, uint64_t data_offset, uint32_t start_offset,
			   uint8_t flags, uint64_t uuid, uint32_t id);

/* Writes all files of the part into a folder, which is made where it is not there. */
void made_write(const struct made_part *made, const char *folder);

#endif
