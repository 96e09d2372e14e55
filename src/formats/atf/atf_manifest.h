/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.json of a pid folder. Modules and symbols go straight into the definitions, which may
 * be many; what concerns threads and the session is kept here. Keys that nobody knows become
 * attributes of what they stand beside, and are written back as they were.
 */
#ifndef SONDE_ATF_MANIFEST_H
#define SONDE_ATF_MANIFEST_H

#include <stdbool.h>

#include <sonde/definitions.h>
#include <sonde/diagnostics.h>

#include "base/buffer.h"
#include "base/map.h"
#include "base/vec.h"

#define ATF_MANIFEST_NAME "manifest.json"
#define ATF_MANIFEST_VERSION "2.1"

/* A key that is not ours, until its owner has an id: both are string ids. */
struct atf_extra {
	uint32_t name;
	uint32_t value; /* JSON text */
};

struct atf_extras {
	struct atf_extra *items;
	size_t count, capacity;
};

struct atf_manifest_thread {
	uint32_t id;
	bool has_detail;
	uint32_t name; /* string id */
	bool name_made_up;
	enum sonde_track_kind kind;
	uint64_t os_id; /* UINT64_MAX: unknown */
	uint64_t dropped_events;
	uint64_t synthetic_head; /* so many events at the start, and at the end, are synthetic */
	uint64_t synthetic_tail;
	struct atf_extras extras;
};

struct atf_manifest_anchor {
	uint64_t clock_ns;
	uint64_t realtime_ns;
};

/* A file with a resource. */
struct atf_manifest_resource {
	uint32_t file; /* string id: its path in the folder of the manifest, of two parts */
	uint32_t name; /* string id */
	bool is_text;
};

/* Where resources lie in the folder of a process. */
#define ATF_RESOURCES_NAME "resources"

/* The "kind" of a thread by enum sonde_track_kind. */
#define ATF_TRACK_KIND_COUNT (SONDE_TRACK_ZONE + 1)
extern const char *const atf_track_kinds[ATF_TRACK_KIND_COUNT];

struct atf_manifest {
	bool present;
	char *path;
	SONDE_VEC(struct atf_manifest_thread) threads;
	struct sonde_key_map thread_ids; /* id -> number in threads */
	bool has_times;
	uint64_t time_start_ns, time_end_ns;
	bool has_clock;
	uint32_t clock_type;
	uint32_t clock_name;	   /* of a clock that clock_type has no number for; a string */
	uint32_t pid;		   /* SONDE_NONE: unknown */
	uint32_t process_name;	   /* string id */
	uint32_t symbol_count;	   /* of functions alone: those of event types do not count */
	uint32_t event_type_count; /* scopes among them */
	SONDE_VEC(struct atf_manifest_anchor) anchors;
	SONDE_VEC(struct atf_manifest_resource) resources;
	struct atf_extras extras;
};

/* Where the symbols of a manifest go. */
struct atf_symbol_maps {
	struct sonde_key_map *functions;   /* function_id -> function */
	struct sonde_key_map *event_types; /* function_id -> event type */
	/*
	 * (name << 32 | arguments) -> event type, over all processes: one that a process before this
	 * one has, that is below `first_event_type`, is the same here.
	 */
	struct sonde_key_map *known_types;
	uint32_t first_event_type;
};

/*
 * Reads the manifest of a folder. One that is missing or damaged is a finding, and what was read
 * before the damage counts. Modules, functions and event types are added for `process`, and `maps`
 * lead from each function_id to them; `threads_only` passes over all that, and over clock anchors.
 */
enum sonde_status atf_manifest_read(struct atf_manifest *manifest, const char *folder,
				    bool threads_only, uint32_t process,
				    struct sonde_definitions *definitions,
				    const struct atf_symbol_maps *maps,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err);
void atf_manifest_release(struct atf_manifest *manifest);

/* Makes the unknown keys beside a definition its attributes. */
enum sonde_status atf_extras_define(const struct atf_extras *extras,
				    struct sonde_definitions *definitions, enum sonde_owner owner,
				    uint32_t owner_id, struct sonde_error *err);

/* Whether a manifest uses this key itself, so that no attribute of that name can stand there. */
bool atf_manifest_has_key(enum sonde_owner owner, const char *name);

/* The entry of a thread, or NULL. */
const struct atf_manifest_thread *atf_manifest_thread(const struct atf_manifest *manifest,
						      uint32_t id);

#endif
