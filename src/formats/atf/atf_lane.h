/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files of a thread, mapped, with the decision how much of each can be read: finished,
 * unfinished, cut or damaged. Everything above (cursor, check, recover) works on this decision.
 */
#ifndef SONDE_ATF_LANE_H
#define SONDE_ATF_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include <sonde/diagnostics.h>

#include "base/file.h"
#include "base/vec.h"
#include "formats/atf/atf_layout.h"

/* What index.atf and detail.atf have in common. */
struct atf_file {
	char *path;
	struct sonde_mapped_file map;
	uint64_t begin, end; /* the events section, as offsets in the file */
	bool has_footer;
	uint64_t footer_position; /* where has_footer */
	uint64_t dropped_bytes;	  /* that belong to no readable record and no footer */
};

struct atf_index {
	struct atf_file file;
	struct atf_index_header header;
	struct atf_index_footer footer; /* where file.has_footer */
	uint64_t count;			/* events that can be read */
};

/*
 * Maps index.atf and decides. A file that cannot be read as an index at all gives an error
 * (and the same as a finding); whatever else is wrong is a finding. Release in either case.
 */
enum sonde_status atf_index_open(struct atf_index *index, const char *path,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err);
void atf_index_release(struct atf_index *index);

static inline uint64_t atf_index_offset(const struct atf_index *index, uint64_t number)
{
	return index->file.begin + number * ATF_EVENT_SIZE;
}

/* The bytes of an event that there is. */
static inline const uint8_t *atf_index_at(const struct atf_index *index, uint64_t number)
{
	return index->file.map.data + atf_index_offset(index, number);
}

/* Every ATF_DETAIL_STRIDE-th record's offset is kept, so that a lookup is O(1) and memory small. */
#define ATF_DETAIL_STRIDE 64

struct atf_detail {
	struct atf_file file;
	struct atf_detail_header header;
	struct atf_detail_footer footer; /* where file.has_footer */
	uint64_t count;			 /* records that can be read */
	bool salvages;			 /* goes on behind a damaged record where it finds one */
	pthread_mutex_t lock;		 /* over what follows */
	bool walked;
	SONDE_VEC(uint64_t) offsets; /* of records 0, 64, 128 ... */
};

/*
 * As atf_index_open(). With `salvages` records behind a damaged one are looked for and numbered
 * on: good for recovery, which follows the links of the details, and wrong for everybody who
 * trusts the links of the events.
 */
enum sonde_status atf_detail_open(struct atf_detail *detail, const char *path, bool salvages,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err);
void atf_detail_release(struct atf_detail *detail);

/* Where a reader of details is: makes reading them in order cheap. Zeroed means nowhere. */
struct atf_detail_place {
	uint64_t number;
	uint64_t offset; /* of record `number`; 0: nowhere */
};

/* Decodes the record at an offset; SONDE_CORRUPT where none fits there. */
enum sonde_status atf_detail_record_at(const struct atf_detail *detail, uint64_t offset,
				       struct atf_detail_record *record, struct sonde_error *err);

/* Moves `place` to record `number`: one step, or through the table of offsets, in O(1). */
enum sonde_status atf_detail_seek(struct atf_detail *detail, struct atf_detail_place *place,
				  uint64_t number, struct sonde_error *err);

#endif
