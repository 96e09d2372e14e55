/* SPDX-License-Identifier: Apache-2.0 */
/* Between zts_part.c, zts_links.c and zts_base.c: what outsiders of a part do not need. */
#ifndef SONDE_FORMATS_ZTS_PART_H
#define SONDE_FORMATS_ZTS_PART_H

#include "formats/zts/zts_store.h"

/* Finds which chunks continue each other; anew after slots came to the list. */
enum sonde_status zts_part_link_chunks(struct zts_part *part, struct sonde_error *err);

/* The number of a part's folder from its name: six hexadecimal digits; false for other names. */
bool zts_part_number(const char *name, uint32_t *number);

/* The same of the last name in a path; 0 where it is none. */
uint32_t zts_part_number_of_path(const char *path);

/* Whether something in a base folder that is no part belongs there: settings, the lock, and (hidden) what a
 * writer makes or removes just now. */
bool zts_is_base_file(const char *name);

/* Whether a base folder has such files and no part yet. */
bool zts_is_empty_store(const struct sonde_folder *folder);

/*
 * Takes what a writer added. SONDE_END where that is not enough (files came or went, a rebuilt part has
 * new data, damage): the part is to be opened anew.
 */
enum sonde_status zts_part_refresh(struct zts_part *part, struct sonde_error *err);

/*
 * Gives rebuilt slots the UUIDs that the lines of the old metadata index have. False where it does not know
 * exactly these slots; nothing is changed then.
 */
bool zts_part_recall_uuids(struct zts_part *part, struct zts_texts *meta);

#endif
