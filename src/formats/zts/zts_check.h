/* SPDX-License-Identifier: Apache-2.0 */
/* The check of one part: its folder, texts, data, and metadata, each in a file of its own. */
#ifndef SONDE_FORMATS_ZTS_CHECK_H
#define SONDE_FORMATS_ZTS_CHECK_H

#include "base/pool.h"
#include "formats/zts/zts_read.h"

struct zts_part_check {
	const char *folder;
	struct sonde_diagnostics *found;
	struct sonde_meter *meter;
	bool has_names; /* types, apps and the like are text ids */
	bool is_generation_2;
	struct zts_chunks chunks;
	struct zts_texts *texts;
	struct zts_set present; /* ids that have a text */
	struct sonde_buffer scratch;
};

/* Files that are of a part. */
bool zts_is_part_file(const char *name);

/* Texts that are missing, damaged or not put together as they should be. Opens check->texts. */
enum sonde_status zts_check_texts(struct zts_part_check *check, struct sonde_error *err);
/* What chunks refer to, and the times in them. Damaged ones are passed over: zts_rebuild() reports them. */
enum sonde_status zts_check_data(struct zts_part_check *part, struct sonde_error *err);
/* Slots and postings against those made anew. */
enum sonde_status zts_check_meta(struct zts_part_check *part, struct sonde_error *err);

#endif
