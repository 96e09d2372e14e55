/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for the writer of databases, with all that propagation has to tell apart, and a
 * look at the bytes that were written, by offsets of the format document.
 */
#ifndef SONDE_TESTS_HPCDB_WORLD_H
#define SONDE_TESTS_HPCDB_WORLD_H

#include "base/file.h"
#include "formats/hpcdb/hpcdb_write.h"

/* Contexts of the world, in its order. */
enum {
	WORLD_ROOT,
	WORLD_MAIN_ENTRY,
	WORLD_MAIN,	   /* function, called */
	WORLD_OUTER,	   /* loop in it, a.c:10 */
	WORLD_INNER,	   /* loop in that, a.c:11 */
	WORLD_LINE,	   /* a.c:12 in that */
	WORLD_INSTRUCTION, /* in that, unlisted */
	WORLD_INLINED,	   /* function that the line calls, inlined */
	WORLD_INLINED_LINE,
	WORLD_CALL,   /* instruction in that, unlisted */
	WORLD_CALLEE, /* function that it calls */
	WORLD_CALLEE_LINE,
	WORLD_THREAD_ENTRY,
	WORLD_UNKNOWN, /* function that could not be found out */
	WORLD_CONTEXTS
};

enum { WORLD_TRACKS = 4 };

struct world_track {
	const struct hpcdb_point *points;
	size_t point_count;
	const struct sonde_sample *samples;
	size_t sample_count;
};

/* Change what a test needs after world_init(). */
struct world {
	struct hpcdb_world world;
	struct hpcdb_source source;
	struct hpcdb_write_options options;
	struct hpcdb_metric metrics[4];
	struct hpcdb_track tracks[WORLD_TRACKS];
	struct world_track data[WORLD_TRACKS];
	struct sonde_context contexts[WORLD_CONTEXTS];
	struct sonde_definitions *definitions;
	struct hpcdb_written written;
	struct sonde_error err;
};

/* One metric "TIME (sec)", track 0 with a value in six contexts, statistic sum; no samples. */
void world_init(struct world *world);
void world_release(struct world *world);
uint32_t world_string(struct world *world, const char *text);

/* Writes it to that name in the scratch folder, which must work. */
void world_write(struct world *world, const char *name);
/* The same, which must fail like that and leave nothing. */
void world_refuse(struct world *world, enum sonde_status expected, const char *message);

/* A file of a database in the scratch folder. */
struct world_file {
	struct sonde_mapped_file file;
};
struct world_file world_open(const char *database, const char *name);
void world_close(struct world_file *file);
uint64_t world_u64(const struct world_file *file, uint64_t offset);
uint32_t world_u32(const struct world_file *file, uint64_t offset);
uint16_t world_u16(const struct world_file *file, uint64_t offset);
uint8_t world_u8(const struct world_file *file, uint64_t offset);
const char *world_text(const struct world_file *file, uint64_t offset);

/* The value of a profile, context and metric id in profile.db; 0: none. */
double world_value(const struct world_file *file, uint32_t profile, uint32_t context, uint16_t id);
/* The same in cct.db. */
double world_cct_value(const struct world_file *file, uint32_t profile, uint32_t context,
		       uint16_t id);
uint64_t world_value_count(const struct world_file *file, uint32_t profile);

/* Both folders have the same files with the same bytes. */
void assert_same_database(const char *a, const char *b);

#endif
