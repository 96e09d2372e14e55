/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the writer of databases share: the job with the tree and the numbers of
 * metrics, files that are written at any place from any thread, and the steps in the order they are
 * taken.
 */
#ifndef SONDE_HPCDB_WRITE_PRIVATE_H
#define SONDE_HPCDB_WRITE_PRIVATE_H

#include <stdatomic.h>

#include "base/pool.h"
#include "formats/hpcdb/hpcdb_layout.h"
#include "formats/hpcdb/hpcdb_put.h"
#include "formats/hpcdb/hpcdb_write.h"

/* What is stored of the statistics that are asked for; the others follow from these. */
enum hpcdb_stored {
	HPCDB_STORED_SUM,
	HPCDB_STORED_COUNT,
	HPCDB_STORED_SQUARES,
	HPCDB_STORED_MIN,
	HPCDB_STORED_MAX,
	HPCDB_STORED_KINDS,
};

extern const struct hpcdb_stored_kind {
	const char *name;    /* in anchors of default.yaml */
	const char *formula; /* of meta.db */
	uint8_t combine;     /* enum hpcdb_combine */
} hpcdb_stored_kinds[HPCDB_STORED_KINDS];

/* The numbers of a metric. One with a formula has no scopes. */
struct hpcdb_numbers {
	uint32_t base;
	uint32_t first_slot; /* its scopes among those of all metrics, counted without gaps */
	uint8_t scope_count;
	uint8_t scopes[HPCDB_SCOPE_COUNT]; /* enum hpcdb_scope, ascending */
};

struct hpcdb_plan {
	struct hpcdb_numbers *metrics; /* as many as the world has */
	uint32_t slot_count;
	uint16_t *slot_of_id; /* all 65,536; of propMetricId */
	uint16_t *id_of_slot;
	uint8_t stored[HPCDB_STORED_KINDS]; /* enum hpcdb_stored, ascending */
	unsigned int stored_count;
};

/* propMetricId of a metric's scope, by its place among the metric's scopes. */
static inline uint16_t hpcdb_scope_id(const struct hpcdb_numbers *numbers, unsigned int ordinal)
{
	return (uint16_t)(numbers->base + ordinal);
}

/* statMetricId of that, by the place of a statistic in the plan. */
static inline uint16_t hpcdb_statistic_id(const struct hpcdb_numbers *numbers,
					  unsigned int statistic, unsigned int ordinal)
{
	return (uint16_t)(numbers->base + statistic * numbers->scope_count + ordinal);
}

/* What propagation has to know of a context. */
struct hpcdb_node {
	uint32_t parent;
	bool is_enclosed; /* its values belong to the function of its parent too */
	bool is_loop;
};

/* A file of the database, written and read at any place. */
struct hpcdb_target {
	int fd;
	char *path;
};

/* The values of a track in the file of planes. */
struct hpcdb_plane {
	uint64_t offset; /* where its pairs begin */
	uint64_t values;
	uint32_t contexts;
};

/* Bytes of its pairs, and of padding up to its indices. */
static inline uint64_t hpcdb_plane_index_offset(const struct hpcdb_plane *plane)
{
	return plane->offset + hpcdb_aligned(plane->values * HPCDB_PROFILE_VALUE_SIZE, 4);
}

static inline uint64_t hpcdb_plane_end(const struct hpcdb_plane *plane)
{
	return hpcdb_plane_index_offset(plane) +
	       (uint64_t)plane->contexts * HPCDB_PROFILE_INDEX_SIZE;
}

struct hpcdb_used;

struct hpcdb_job {
	const struct hpcdb_world *world;
	const struct hpcdb_source *source;
	const struct hpcdb_write_options *options;
	struct hpcdb_written *written;
	struct sonde_team *team;
	const char *folder; /* where the files are made */
	unsigned int
		slots; /* tracks or groups of contexts of each rank in a round; at least one a thread */
	struct hpcdb_plan plan;
	struct hpcdb_node *nodes;
	uint32_t *listed;	    /* of each context: itself, or the next one above in the tree */
	struct hpcdb_used *used;    /* rank 0 only */
	uint8_t *copied;	    /* of each file in use: it is in src/; NULL: none is */
	struct hpcdb_plane *planes; /* of each track */
	uint64_t *totals;	    /* of each context: values on all tracks */
	struct hpcdb_target values; /* has the planes: profile.db, or a file that is not kept */
	struct hpcdb_target profile, cct, trace;
	uint64_t *
		lines; /* where the samples of each track begin, and where the last end; NULL: no trace */
	_Atomic uint64_t samples, samples_out_of_order, time_first, time_last;
	struct hpcdb_plane summary;
	struct sonde_meter meter; /* two units a track */
};

static inline bool hpcdb_is_first(const struct hpcdb_job *job)
{
	return !sonde_team_rank(job->team);
}

/* Files. Rank 0 creates them, others only open them; reading past the end is SONDE_TRUNCATED. */
enum sonde_status hpcdb_target_open(struct hpcdb_target *file, const struct hpcdb_job *job,
				    const char *name, struct sonde_error *err);
enum sonde_status hpcdb_target_close(struct hpcdb_target *file, struct sonde_error *err);
/* Brings what was written to the disk, where others who open the file from then on see it. */
enum sonde_status hpcdb_target_sync(const struct hpcdb_target *file, struct sonde_error *err);
enum sonde_status hpcdb_target_reopen(struct hpcdb_target *file, struct sonde_error *err);
enum sonde_status hpcdb_target_write(const struct hpcdb_target *file, uint64_t offset,
				     const void *data, size_t size, struct sonde_error *err);
enum sonde_status hpcdb_target_read(const struct hpcdb_target *file, uint64_t offset, void *data,
				    size_t size, struct sonde_error *err);
/* A name with its NUL, as the UTF-8 that all texts of a database are; counted where it was none. */
void hpcdb_put_name(struct sonde_buffer *out, const struct hpcdb_job *job, const char *name);
/*
 * Lets the system begin to bring a file that grows to the disk, so that the sync at the end has less to wait for: all
 * up to `end`, from `*begun` on, unless that is too little for a disk. What fails shows at the sync.
 */
void hpcdb_target_begin_sync(const struct hpcdb_target *file, uint64_t *begun, uint64_t end);
/* A whole small file in the job's folder. */
enum sonde_status hpcdb_put_file(const struct hpcdb_job *job, const char *name,
				 const struct sonde_buffer *text, struct sonde_error *err);

/*
 * Tracks or groups of contexts, which are made by all threads, and placed and stored in the order of their numbers.
 * Each rank has its share of every round.
 */
struct hpcdb_rounds {
	struct hpcdb_job *job;
	size_t count;	     /* pieces of all ranks */
	size_t number_count; /* what all ranks must know of a piece to place it and those behind it */
	void *user;
	/* In one of hpcdb_rounds_slots(), which stays its own until it is stored. From any thread. */
	enum sonde_status (*make)(void *user, size_t piece, size_t slot, uint64_t *numbers,
				  struct sonde_error *err);
	/* Slot SIZE_MAX: a piece of another rank. One at a time, in order. */
	enum sonde_status (*place)(void *user, size_t piece, size_t slot, const uint64_t *numbers,
				   struct sonde_error *err);
	/* Pieces of this rank only. One at a time, in order. */
	enum sonde_status (*store)(void *user, size_t piece, size_t slot, struct sonde_error *err);
};

size_t hpcdb_rounds_slots(const struct hpcdb_job *job);
/* Ends alike on all ranks. */
enum sonde_status hpcdb_rounds_run(const struct hpcdb_rounds *rounds, struct sonde_error *err);

/* The work of one worker for one track: propagation and encoding. Kept from track to track. */
struct hpcdb_encoder;
struct hpcdb_encoder *hpcdb_encoder_new(const struct hpcdb_job *job);
void hpcdb_encoder_free(struct hpcdb_encoder *encoder);
/* Where to put the points of the next track. */
struct hpcdb_points *hpcdb_encoder_points(struct hpcdb_encoder *encoder);
/* The plane of a track: pairs, padding, indices in `bytes`, and how many of them. */
enum sonde_status hpcdb_encode(struct hpcdb_encoder *encoder, const struct hpcdb_job *job,
			       struct sonde_buffer *bytes, struct hpcdb_plane *plane,
			       struct sonde_error *err);

/* How many values each context had on all tracks that went through it. */
void hpcdb_encoder_add_totals(const struct hpcdb_encoder *encoder, uint64_t *totals,
			      uint32_t contexts);

/* One group of contexts, transposed. */
struct hpcdb_group {
	uint32_t first, end;	    /* contexts */
	struct sonde_buffer blocks; /* of cct.db */
	struct sonde_buffer infos;  /* {CI} of them, with offsets in blocks */
	struct sonde_buffer pairs;  /* of the summary */
	struct sonde_buffer index;  /* of the summary, counted from its first pair */
};

/* The work of one worker for a group. */
struct hpcdb_transposer;
struct hpcdb_transposer *hpcdb_transposer_new(void);
void hpcdb_transposer_free(struct hpcdb_transposer *transposer);
enum sonde_status hpcdb_transpose(struct hpcdb_transposer *transposer, const struct hpcdb_job *job,
				  struct hpcdb_group *group, struct sonde_error *err);

/* Steps. All ranks take them all; each ends alike on all ranks. */
enum sonde_status hpcdb_write_planes(struct hpcdb_job *job, struct sonde_error *err);
enum sonde_status hpcdb_write_contexts(struct hpcdb_job *job, struct sonde_error *err);
/* These are for rank 0 alone. */
enum sonde_status hpcdb_write_profile_head(struct hpcdb_job *job, struct sonde_error *err);
enum sonde_status hpcdb_write_sources(struct hpcdb_job *job, struct sonde_error *err);
enum sonde_status hpcdb_write_meta(struct hpcdb_job *job, struct sonde_error *err);
enum sonde_status hpcdb_write_yaml(struct hpcdb_job *job, struct sonde_error *err);
enum sonde_status hpcdb_write_texts(struct hpcdb_job *job, struct sonde_error *err);

/* Where the first plane begins in profile.db. */
uint64_t hpcdb_profile_data_offset(const struct hpcdb_world *world);

/* The trace of one track from a source's state; and the head of trace.db, by rank 0. */
enum sonde_status hpcdb_plan_trace(struct hpcdb_job *job, struct sonde_error *err);
enum sonde_status hpcdb_write_line(struct hpcdb_job *job, uint32_t track, void *state,
				   struct sonde_error *err);
enum sonde_status hpcdb_write_trace_head(struct hpcdb_job *job, struct sonde_error *err);

/*
 * The modules, files and functions that listed contexts name, numbered in the order of their first
 * use. Modules of equal path are one.
 */
struct hpcdb_used *hpcdb_used_new(const struct hpcdb_job *job, struct sonde_error *err);
void hpcdb_used_free(struct hpcdb_used *used);
const uint32_t *hpcdb_used_modules(const struct hpcdb_used *used, uint32_t *count);
const uint32_t *hpcdb_used_files(const struct hpcdb_used *used, uint32_t *count);
const uint32_t *hpcdb_used_functions(const struct hpcdb_used *used, uint32_t *count);
/* Their number by id (modules by that of a module, files by string); UINT32_MAX: not used. */
uint32_t hpcdb_used_module(const struct hpcdb_used *used, uint32_t module);
uint32_t hpcdb_used_file(const struct hpcdb_used *used, uint32_t file);
uint32_t hpcdb_used_function(const struct hpcdb_used *used, uint32_t function);

/* Where a source file is copied to, "src/...", in UTF-8 and with no ".."; false where it cannot be. */
bool hpcdb_source_path(struct sonde_buffer *out, const char *path);

#endif
