/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of a part by their id: as bytes, and as names for people that are put together once only.
 */
#ifndef SONDE_STORE_NAMES_H
#define SONDE_STORE_NAMES_H

#include "base/map.h"
#include "formats/zts/zts_texts.h"

struct sonde_name {
	size_t offset, size;
};

/* Names of one part. Zeroed but for texts. */
struct sonde_names {
	struct zts_texts *texts;
	struct sonde_key_map known; /* id -> position in `names` */
	SONDE_VEC(struct sonde_name) names;
	struct sonde_buffer bytes;
};
void sonde_names_release(struct sonde_names *names);

/* Borrowed until the next call; "" where memory failed (names->bytes.failed says so). */
const char *sonde_names_get(struct sonde_names *names, uint32_t id, size_t *size);

#endif
