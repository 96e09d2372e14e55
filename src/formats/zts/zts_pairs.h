/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a key and a value to the id of their KEY_VALUE or KEY_LITERAL text, over all texts of a
 * store.
 */
#ifndef SONDE_FORMATS_ZTS_PAIRS_H
#define SONDE_FORMATS_ZTS_PAIRS_H

#include "base/map.h"
#include "formats/zts/zts_texts.h"

/* Zeroed is empty. */
struct zts_pairs {
	struct sonde_key_map values;	/* key id << 32 | value id -> pair id */
	struct sonde_text_map literals; /* the typed text, borrowed from the texts -> pair id */
	struct sonde_buffer scratch;
	uint32_t end; /* one more than the highest id that was looked at */
};

/*
 * One pass over all texts, which must outlive the pairs. Ids are dense in real stores; where far
 * more are missing than there can be, it ends there.
 */
enum sonde_status zts_pairs_collect(struct zts_pairs *pairs, struct zts_texts *texts,
				    struct sonde_error *err);
void zts_pairs_release(struct zts_pairs *pairs);

/* 0 where there is none. */
uint32_t zts_pairs_value(const struct zts_pairs *pairs, uint32_t key, uint32_t value);
uint32_t zts_pairs_literal(struct zts_pairs *pairs, uint32_t key, const char *literal, size_t size);

#endif
