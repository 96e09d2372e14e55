/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of ATF sessions: a sink, with what recovery needs beyond the sink interface. */
#ifndef SONDE_ATF_WRITE_H
#define SONDE_ATF_WRITE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/file.h"
#include "base/map.h"
#include "base/table.h"
#include "formats/atf/atf_manifest_write.h"
#include "formats/format.h"

/* A thread being written. */
struct atf_track_writer {
	struct atf_written_track written;
	struct atf_part_writer *open; /* the files of the present part */
};

struct atf_writer {
	struct sonde_sink base;
	struct sonde_staged staged;
	struct sonde_loss *loss;
	const struct sonde_definitions *definitions;
	uint64_t events_per_file;
	char **folders; /* per process */
	size_t process_count;
	struct atf_track_writer *tracks; /* per track */
	size_t track_count;
	pthread_mutex_t lock;	 /* over what is below while tracks are written */
	struct sonde_table keys; /* function id -> function_id of the file */
	struct sonde_key_map used_keys;
	/* annotations: see atf_write_annotations.c */
	struct sonde_table type_keys; /* event type -> function_id, 0: that of a function */
	uint32_t next_type;
	struct sonde_key_map scopes;	      /* name -> event type */
	struct sonde_key_map scope_functions; /* (process << 32 | event type) -> function */
	struct sonde_key_map used_types; /* (process << 32 | event type): has events; that of no
					    process: in any */
	struct atf_written_resources resources;
};

/* The `create` of the format. */
enum sonde_status atf_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err);

/* The same with another limit of events a file, so that parts can be tested. */
enum sonde_status atf_create_limited(const char *path, const struct sonde_create_options *options,
				     uint64_t events_per_file, struct sonde_sink **sink,
				     struct sonde_error *err);

/*
 * A detail whose event did not survive, behind all others of the track; before track_end. `extra`
 * of one with arguments.
 */
enum sonde_status atf_writer_add_unlinked(struct sonde_sink *sink, uint32_t track,
					  const struct sonde_detail *detail, uint64_t extra,
					  struct sonde_error *err);

/* The function_id of a function; a new one where the function has none of its own. */
enum sonde_status atf_writer_function_key(struct atf_writer *writer, uint32_t function,
					  uint64_t *key, struct sonde_error *err);

/* Counts a detail that the source cannot read any more. */
enum sonde_status atf_writer_lose_detail(struct atf_writer *writer, struct sonde_error *err);

/* In atf_write_annotations.c: begins, when functions have their function_ids; and ends. */
enum sonde_status atf_writer_begin_types(struct atf_writer *writer, struct sonde_error *err);
void atf_writer_release_annotations(struct atf_writer *writer);

/* The function_id of an event type in a process that uses it. */
enum sonde_status atf_writer_type_key(struct atf_writer *writer, uint32_t process, uint32_t type,
				      uint64_t *key, struct sonde_error *err);

/* The same for the manifest of a process, by `context` a writer; SONDE_END: it is not listed there. */
enum sonde_status atf_writer_listed_type(void *context, uint32_t process, uint32_t type,
					 uint64_t *key, struct sonde_error *err);

/* The detail to write beside an annotation; SONDE_END: none. */
enum sonde_status atf_writer_annotation(struct atf_writer *writer, const struct sonde_batch *batch,
					const struct sonde_event *event,
					struct sonde_detail *detail, struct sonde_error *err);

/* The `blob` of the sink. */
enum sonde_status atf_writer_blob(struct sonde_sink *sink, const struct sonde_blob *blob,
				  struct sonde_error *err);

#endif
