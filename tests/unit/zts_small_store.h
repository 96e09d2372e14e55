/* SPDX-License-Identifier: Apache-2.0 */
/* A small store in the scratch folder, made by hand and opened: what tests of stores begin with. */
#ifndef SONDE_TESTS_ZTS_SMALL_STORE_H
#define SONDE_TESTS_ZTS_SMALL_STORE_H

#include "formats/zts/zts_store.h"
#include "zts_making.h"

#define WHOLE (ZTS_RECORD_FIRST | ZTS_RECORD_LAST)
#define TIME_MS 1556712001014ull

/* The part that is being made, the store that is open, what was found in it. */
extern struct made_part made;
extern struct zts_base *base;
extern struct sonde_diagnostics *found;

/* Texts that all parts here have. */
enum { CLASS = 1, NAME, SIGNATURE, METHOD, KEY, VALUE, PAIR, NUMBER_KEY, NUMBER_PAIR, OTHER };
void make_texts(void);

/* A trace of two records with attributes; the offset of its chunk. */
uint64_t make_trace(uint64_t ms);
/* A part of three such traces, UUIDs from 100 on. */
void make_part(void);
/* Writes it as "store/NAME" in the scratch folder; its path. */
const char *write_part(const char *name);
/* Changes a byte of qmeta.idx of part 000001. */
void patch_qmeta(long offset, uint8_t byte);

void open_store(const char *path);
/* Closes it and removes its files. */
void close_store(void);
bool has_found(const char *id);
struct zts_part *only_part(void);
void assert_loads(struct zts_part *part, uint32_t slot, uint32_t records);

#endif
