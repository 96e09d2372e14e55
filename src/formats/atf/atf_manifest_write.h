/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing manifest.json: from definitions, and from what the writing of the threads came to. Both
 * the sink (atf_write.c) and the recorder (atf_recorder.c) hand that in here.
 */
#ifndef SONDE_ATF_MANIFEST_WRITE_H
#define SONDE_ATF_MANIFEST_WRITE_H

#include <stdbool.h>

#include <sonde/event.h>

#include "base/sort.h"
#include "base/vec.h"

/* What one part of a thread came to. */
struct atf_written {
	bool has_detail;
};

/* What a thread came to, for its entry in the manifests. */
struct atf_written_track {
	uint32_t process;
	uint32_t slot; /* thread_N it is written to */
	SONDE_VEC(struct atf_written) parts;
	uint64_t event_count; /* over all parts */
	uint64_t time_min_ns, time_max_ns;
	uint64_t synthetic_head, synthetic_tail;
};

/* A resource that was written, for the manifest of its process. */
struct atf_written_resource {
	uint32_t process;
	uint32_t number; /* its file is resources/N */
	char *name;
	bool is_text;
};

struct atf_written_resources {
	struct atf_written_resource *items;
	size_t count, capacity;
};

/* Writes a resource of a process into its folder, and adds it to the list. In atf_resources.c. */
enum sonde_status atf_resource_write(struct atf_written_resources *resources, uint32_t process,
				     const char *folder, const char *name,
				     const struct sonde_blob *blob, struct sonde_error *err);
void atf_written_resources_release(struct atf_written_resources *resources);

/* Ids of definitions in the order of what they belong to. */
struct atf_owned {
	struct sonde_sort_item *items; /* key: the owner; number: the id */
	size_t count;
};

/* For the manifests of all processes. Fill in what is not private, then init. */
struct atf_manifest_writer {
	const struct sonde_definitions *definitions;
	void *context;
	/* What became of a track of the definitions, for each of the first `track_count`. */
	uint32_t track_count;
	const struct atf_written_track *(*track)(void *context, uint32_t track);
	/* The function_id of a function; NULL: all functions bring their own. */
	enum sonde_status (*function_key)(void *context, uint32_t function, uint64_t *key,
					  struct sonde_error *err);
	/*
	 * The function_id of an event type in a process; SONDE_END: it is not used there. NULL: all
	 * are listed everywhere, with atf_event_type_key().
	 */
	enum sonde_status (*event_type_key)(void *context, uint32_t process, uint32_t event_type,
					    uint64_t *key, struct sonde_error *err);
	const struct atf_written_resources *resources;		 /* may be NULL */
	struct atf_owned attributes, tracks, modules, functions; /* private */
};

enum sonde_status atf_manifest_writer_init(struct atf_manifest_writer *writer,
					   struct sonde_error *err);
/* Also after a failed init. */
void atf_manifest_writer_release(struct atf_manifest_writer *writer);

/*
 * Writes manifest.json into the folder of a process and of each of its further parts: as many as
 * its longest track has. A failed write leaves its errno.
 */
enum sonde_status atf_manifests_write(struct atf_manifest_writer *writer, uint32_t process,
				      const char *folder, struct sonde_error *err);

/* module_id of a module: its own, or the hash of its path. */
uint32_t atf_module_key(const struct sonde_definitions *definitions,
			const struct sonde_module *module);

/* clock_type of a process; 0 for a clock that ATF has no number for. */
uint8_t atf_clock_type(const struct sonde_definitions *definitions,
		       const struct sonde_process *process);

#endif
