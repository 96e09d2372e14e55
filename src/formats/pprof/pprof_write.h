/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the writer: pprof_write.c writes the file from its head to its tables, pprof_write_samples.c
 * the samples in between, which are nearly all of it.
 */
#ifndef SONDE_FORMATS_PPROF_WRITE_H
#define SONDE_FORMATS_PPROF_WRITE_H

#include "base/arena.h"
#include "codec/gzip.h"
#include "formats/pprof/pprof_places.h"

/* Values of one stack while a track is gone through. */
struct pprof_row {
	uint32_t context;
};

struct pprof_writing {
	struct profile_sink *sink;
	struct pprof_places places;
	struct sonde_buffer out, packed; /* before and after gzip */
	struct sonde_gzip_packer *packer;
	struct sonde_gzip_sum sum;
	/* strings, numbered as they are met; [0] is "" */
	struct sonde_text_map string_numbers;
	SONDE_VEC(const char *) strings;
	struct sonde_arena texts; /* of those that are in no definition */
	double *scales;		  /* by metric */
	bool is_summed;		  /* over the tracks: no labels of threads */
	/* the stacks of a track: `row_of` by context leads to a row, whose values lie in `values` */
	uint32_t *row_of;
	SONDE_VEC(struct pprof_row) rows;
	SONDE_VEC(double) values;
	struct sonde_buffer labels; /* of the track */
	/* lost */
	uint64_t fractions, too_large, vanished;
};

/* The number of a string in the table. A failure is kept in `out`. */
uint64_t pprof_string(struct pprof_writing *writing, const char *text);
/* Of one that is gone when the caller returns. */
uint64_t pprof_string_copy(struct pprof_writing *writing, const char *text);

/* Packs and writes what waits, where it is enough. */
enum sonde_status pprof_flush(struct pprof_writing *writing, size_t enough,
			      struct sonde_error *err);

/* In pprof_write_samples.c: all samples. */
enum sonde_status pprof_write_samples(struct pprof_writing *writing, struct sonde_error *err);

/*
 * In pprof_unused.c: what definitions say of those that no sample is of; by label and by module, whether the file has
 * them.
 */
enum sonde_status pprof_count_unused(const struct pprof_writing *writing, const bool *labels,
				     const uint8_t *modules, struct sonde_error *err);

#endif
