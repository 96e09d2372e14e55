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
	pthread_mutex_t lock;	 /* over the two below while tracks are written */
	struct sonde_table keys; /* function id -> function_id of the file */
	struct sonde_key_map used_keys;
};

/* The `create` of the format. */
enum sonde_status atf_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err);

/* The same with another limit of events a file, so that parts can be tested. */
enum sonde_status atf_create_limited(const char *path, const struct sonde_create_options *options,
				     uint64_t events_per_file, struct sonde_sink **sink,
				     struct sonde_error *err);

/* A detail whose event did not survive, behind all others of the track; before track_end. */
enum sonde_status atf_writer_add_unlinked(struct sonde_sink *sink, uint32_t track,
					  const struct sonde_detail *detail,
					  struct sonde_error *err);

/* The function_id of a function; a new one where the function has none of its own. */
enum sonde_status atf_writer_function_key(struct atf_writer *writer, uint32_t function,
					  uint64_t *key, struct sonde_error *err);

#endif
