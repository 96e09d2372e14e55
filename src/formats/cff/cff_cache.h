/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pass over a large file of another program found, kept in the user's cache (base/cache.h)
 * so that the next opening does without it. Definitions are not in it, but where they are in the
 * file, so they come out the same; neither is anything that a damaged file was found to have.
 */
#ifndef SONDE_CFF_CACHE_H
#define SONDE_CFF_CACHE_H

#include "base/cache.h"
#include "formats/cff/cff_scan.h"

struct cff_cache {
	bool is_on; /* else nothing is looked for or kept */
	struct sonde_cache_key key;
};

enum cff_cached { CFF_CACHED_NOT, CFF_CACHED_USED, CFF_CACHED_WRONG };

/* Whether a file that is open may have an entry. */
void cff_cache_begin(struct cff_cache *cache, const struct cff_image *image);

/*
 * Fills a scan, whose first members are set, by an entry instead of by the pass. NOT: nothing was
 * done. WRONG: the entry is not one of this file, though it says so; it was removed, and neither the
 * scan nor the definitions are of use any more.
 */
enum sonde_status cff_cache_use(const struct cff_cache *cache, struct cff_scan *scan,
				enum cff_cached *outcome, struct sonde_error *err);

/* Keeps what the pass found, if it kept its actions. */
void cff_cache_keep(const struct cff_cache *cache, const struct cff_scan *scan);

#endif
