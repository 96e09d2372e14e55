/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open ATF session: processes (pid folders), their threads, and each thread's files. A thread
 * of more than 2^32-1 events goes on in part_2, part_3 ... of its pid folder, so a thread is a
 * list of segments, which a cursor reads as one.
 */
#ifndef SONDE_ATF_SESSION_H
#define SONDE_ATF_SESSION_H

#include "formats/atf/atf_lane.h"
#include "formats/atf/atf_manifest.h"
#include "formats/format.h"

#define ATF_INDEX_NAME "index.atf"
#define ATF_DETAIL_NAME "detail.atf"
#define ATF_THREAD_PREFIX "thread_"
#define ATF_PID_PREFIX "pid_"
#define ATF_PART_PREFIX "part_"
#define ATF_SESSION_PREFIX "session_"

/* One pair of files of a thread. */
struct atf_segment {
	struct atf_index index;
	bool has_detail; /* detail.atf is there and can be read */
	struct atf_detail detail;
	uint32_t part;	       /* number of the part it lies in, from 0 */
	uint64_t first_event;  /* number of its first event in the track */
	uint64_t first_detail; /* likewise */
};

/* A thread: the track of the same number in the definitions. */
struct atf_thread {
	struct atf_process *process;
	uint32_t slot; /* N of thread_N */
	SONDE_VEC(struct atf_segment) segments;
	uint64_t event_count;
	uint64_t detail_count;
	uint64_t synthetic_head, synthetic_tail;
};

/* A pid folder, or part_N of one. */
struct atf_part {
	char *folder;
	struct atf_manifest manifest;
};

/* Names for the functions of a process that the manifest does not have, while it is recovered. */
struct atf_naming {
	const struct sonde_recover_options *options;
	struct sonde_key_map modules; /* high half of a function_id -> module */
	uint32_t module_count;
	uint32_t named;
};

struct atf_process {
	uint32_t id;
	SONDE_VEC(struct atf_part) parts;
	/* function_id -> function, and -> event type; shared by the cursors */
	struct sonde_key_map functions, event_types;
	pthread_mutex_t lock;	   /* over adding to them */
	struct atf_naming *naming; /* of functions without a name; NULL: none */
	uint32_t first_event_type; /* event types below are of processes before this one */
};

/* A resource; its file is mapped when it is asked for. */
struct atf_resource {
	char *path;
	uint32_t name; /* string id */
	bool is_text;
	bool mapped;
	struct sonde_mapped_file file;
};

struct atf_session {
	bool salvages; /* see atf_detail_open() */
	SONDE_VEC(struct atf_process *) processes;
	SONDE_VEC(struct atf_thread) threads;
	struct sonde_key_map known_types;	  /* see struct atf_symbol_maps */
	SONDE_VEC(struct atf_resource) resources; /* the blobs of the recording */
	pthread_mutex_t resource_lock;		  /* over mapping them */
};

/* How sure it is that a path is an ATF session, part of one, or a damaged one. */
int atf_probe(const char *path);

/* The `open` of the format; recording->data is a struct atf_session. */
enum sonde_status atf_open(struct sonde_recording *recording, struct sonde_error *err);

/* The same for recovery: see atf_detail_open() about salvaging. */
enum sonde_status atf_open_to_recover(struct sonde_recording *recording, struct sonde_error *err);

/* The function id of a function_id, added to the definitions where it is new. Any thread. */
enum sonde_status atf_process_function(struct atf_process *process,
				       struct sonde_definitions *definitions, uint64_t key,
				       uint32_t *function, struct sonde_error *err);

/* The `cursor_open` of the format. */
enum sonde_status atf_cursor_open(struct sonde_recording *recording, uint32_t track,
				  struct sonde_cursor **cursor, struct sonde_error *err);

/* The resources that a manifest lists, those that have a file; `blob` of the format; the end. */
enum sonde_status atf_resources_open(struct sonde_recording *recording, const struct atf_part *part,
				     struct sonde_error *err);
enum sonde_status atf_resource_read(struct sonde_recording *recording, uint32_t number,
				    struct sonde_blob *blob, struct sonde_error *err);
void atf_resources_release(struct atf_session *session);

/* The segment that holds event `number` of a thread; the last one for a number past the end. */
struct atf_segment *atf_thread_segment(struct atf_thread *thread, uint64_t number);

/* The same for a detail. */
struct atf_segment *atf_thread_detail_segment(struct atf_thread *thread, uint64_t number);

/* The time of an event that there is. */
uint64_t atf_thread_time(struct atf_thread *thread, uint64_t number);

/* Decodes a record and its payload; pointers go into the file. `offset` is where it starts. */
enum sonde_status atf_detail_decode(const struct atf_segment *segment, uint64_t offset,
				    struct atf_process *process,
				    struct sonde_definitions *definitions,
				    struct sonde_detail *detail, struct sonde_error *err);

#endif
