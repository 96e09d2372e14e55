/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index that files of our own end with: what the pass over all events would find, so that a
 * large file opens without it. A file that was changed since has another size, or other chunks:
 * then its index is not used. What an index says is never trusted with memory.
 */
#ifndef SONDE_CFF_INDEX_H
#define SONDE_CFF_INDEX_H

#include "formats/cff/cff_scan.h"

/* Layout: head, places of chunks with definitions, tracks, chunks, open scopes. */
#define CFF_INDEX_FILE_SIZE 8
#define CFF_INDEX_TRACKS 16
#define CFF_INDEX_CHUNKS 20
#define CFF_INDEX_DEFINITIONS 24
#define CFF_INDEX_STACKS 28
#define CFF_INDEX_SIZE 32

#define CFF_INDEX_TRACK_EVENTS 0
#define CFF_INDEX_TRACK_DETAILS 8
#define CFF_INDEX_TRACK_FIRST 16
#define CFF_INDEX_TRACK_LAST 24
#define CFF_INDEX_TRACK_SIZE 32

#define CFF_INDEX_CHUNK_OFFSET 0
#define CFF_INDEX_CHUNK_INDEX 8
#define CFF_INDEX_CHUNK_FIRST 16
#define CFF_INDEX_CHUNK_LAST 24
#define CFF_INDEX_CHUNK_TRACK 32
#define CFF_INDEX_CHUNK_EVENTS 36
#define CFF_INDEX_CHUNK_STACK 40
#define CFF_INDEX_CHUNK_DEPTH 44
#define CFF_INDEX_CHUNK_SIZE 48

#define CFF_INDEX_FRAME_SIZE 8 /* function, depth */

/*
 * Fills a scan, whose first members are set, by the index of its image instead of by the pass.
 * *is_used is false where there is no index or it does not fit, and nothing was done.
 */
enum sonde_status cff_index_use(struct cff_scan *scan, bool *is_used, struct sonde_error *err);

/* Compares the index, where there is one, with what the pass found; false where it is wrong. */
bool cff_index_verify(const struct cff_scan *scan);

#endif
