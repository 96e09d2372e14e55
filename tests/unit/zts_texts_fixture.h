/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of all kinds as a store has them, made up: the same for the same number of them. */
#ifndef SONDE_TESTS_ZTS_TEXTS_FIXTURE_H
#define SONDE_TESTS_ZTS_TEXTS_FIXTURE_H

#include "base/buffer.h"

/* Entries with ids first .. first + count - 1, as the bytes of a WAL. Zero the buffer. */
void make_texts(struct sonde_buffer *wal, uint32_t first, uint32_t count);

/* A metadata index: three entries for each slot; ids in lines are below `ids`. */
void make_postings(struct sonde_buffer *wal, uint32_t slots, uint32_t ids);

#endif
