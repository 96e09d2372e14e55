/* SPDX-License-Identifier: Apache-2.0 */
/* An open recording of this family, and its cursors. */
#ifndef SONDE_CFF_READ_H
#define SONDE_CFF_READ_H

#include "formats/cff/cff.h"
#include "formats/cff/cff_header.h"
#include "formats/cff/cff_scan.h"

struct cff_recording {
	struct cff_image image; /* first: see cff_recording_image() */
	struct cff_header header;
	struct cff_scan scan;
	bool uses_cache;     /* set before the scan: see cff_cache.h */
	bool is_cache_wrong; /* the scan failed for it */
};

/*
 * Reads header and events of an image that is open; options of the scan (is_check, visitor) are
 * set before. Fills definitions but for tracks. Where it fails with is_cache_wrong, all has to be done
 * anew without the cache.
 */
enum sonde_status cff_recording_scan(struct cff_recording *data,
				     struct sonde_definitions *definitions,
				     struct sonde_diagnostics *findings, struct sonde_error *err);
void cff_recording_release(struct cff_recording *data);

enum sonde_status cff_cursor_open(struct sonde_recording *recording, uint32_t track,
				  struct sonde_cursor **cursor, struct sonde_error *err);

/* How sure it is that a file is one of these; for struct sonde_format. */
int cff_probe(const char *path); /* binary, and legacy */
int cff_json_probe(const char *path);
int cff_calls_probe(const char *path);

#endif
