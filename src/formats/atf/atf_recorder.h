/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an ATF session while the program runs: straight into the folder, each file a valid
 * unfinished one at every moment, so that `recover` makes a session of whatever a killed recorder
 * leaves. Nothing is known beforehand: processes and threads come as they start. For one thread
 * at a time.
 */
#ifndef SONDE_ATF_RECORDER_H
#define SONDE_ATF_RECORDER_H

#include <sonde/definitions.h>
#include <sonde/event.h>

#include "formats/atf/atf_layout.h"

struct atf_recorder;
struct atf_recorder_thread;

/* For tests: 0 takes what is usual. */
struct atf_recorder_limits {
	uint64_t events_per_file;
	size_t open_files; /* at most so many at a time */
	/* Large pieces: the size of each (a multiple of 4096), how many there are at most, and
	 * after how many bytes a file is written so (UINT64_MAX: none is). */
	size_t stage_size, stage_count;
	uint64_t stage_after;
};

/*
 * Makes the folder. What exists there is only replaced with `replace`, and only where it opens as
 * a recording or is an empty folder.
 */
enum sonde_status atf_recorder_create(const char *folder, bool replace,
				      struct atf_recorder **recorder, struct sonde_error *err);
enum sonde_status atf_recorder_create_limited(const char *folder, bool replace,
					      const struct atf_recorder_limits *limits,
					      struct atf_recorder **recorder,
					      struct sonde_error *err);

/*
 * Before the end the manifests will take about so many bytes, beyond what is kept for them and
 * for the threads anyway (256 KB and 8 KB a thread): room for them is set aside, as far as there
 * is any. Worth telling when many functions were met.
 */
void atf_recorder_reserve(struct atf_recorder *recorder, uint64_t manifest_bytes);

/* A new process; its folder pid_N (pid_N_2 for a second of that pid) is made with its first thread. */
enum sonde_status atf_recorder_add_process(struct atf_recorder *recorder, uint32_t pid,
					   uint32_t *process, struct sonde_error *err);

/* A new thread of a process: thread_K with K from 0 in its process. Its number in the recorder
 * counts from 0 over all processes in the order of these calls. */
enum sonde_status atf_recorder_add_thread(struct atf_recorder *recorder, uint32_t process,
					  struct atf_recorder_thread **thread,
					  struct sonde_error *err);

uint32_t atf_recorder_thread_slot(const struct atf_recorder_thread *thread);

/*
 * How many more events fit into the present file; at 0 call next_part. index_seq of the next event
 * is next_index.
 */
uint32_t atf_recorder_room(const struct atf_recorder_thread *thread);
uint32_t atf_recorder_next_index(const struct atf_recorder_thread *thread);
enum sonde_status atf_recorder_next_part(struct atf_recorder_thread *thread,
					 struct sonde_error *err);

/*
 * Appends events as they are (thread_id is the thread's slot; times never go back): all of them, or
 * (where it fails) none. Those of a thread that has little are in its file at once; much of it is
 * gathered and written in large pieces by a thread of the recorder's own. Where such a piece could
 * not be written, the next call fails, and what is not in the file counts as lost in the end. A
 * thread that failed once fails at once from then on; what it has stays, and is finished in the
 * end. Writing past a limit on the size of files raises SIGXFSZ: ignore it.
 */
enum sonde_status atf_recorder_events(struct atf_recorder_thread *thread,
				      const struct atf_index_event *events, size_t count,
				      struct sonde_error *err);

/*
 * Details of events that are still to come. place() gives room for records of `size` bytes in all
 * (at most ATF_RECORDER_DETAILS_MAX), and the number of the first for the detail_seq of its event;
 * put() takes in `count` of them that were put there. Between the two is no other call for this
 * thread. index_seq is that of the event, which must fit into the present part; they come in the
 * order of their events.
 */
#define ATF_RECORDER_DETAILS_MAX ((size_t)256 << 10)
enum sonde_status atf_recorder_detail_place(struct atf_recorder_thread *thread, size_t size,
					    uint8_t **place, uint32_t *detail_seq,
					    struct sonde_error *err);
void atf_recorder_detail_put(struct atf_recorder_thread *thread, size_t size, size_t count,
			     const uint8_t *last);

/* The first and last events of a thread were not recorded but made up to open and close calls. */
void atf_recorder_set_synthetic(struct atf_recorder_thread *thread, uint64_t head, uint64_t tail);

/*
 * A resource of a process that has a thread: it is in its file at once, and in the manifest with the
 * next define() or finish(). Name and bytes are copied.
 */
enum sonde_status atf_recorder_add_resource(struct atf_recorder *recorder, uint32_t process,
					    const char *name, bool is_text, const void *bytes,
					    size_t size, struct sonde_error *err);

/*
 * Call it about four times a second: writes what has been waiting for its piece to become full
 * since the call before. So a recorder that is killed loses about the last half second. Tells
 * about threads that failed without having been told.
 */
enum sonde_status atf_recorder_settle(struct atf_recorder *recorder, struct sonde_error *err);

/* Bytes of the files so far, those that wait to be written among them. */
uint64_t atf_recorder_bytes(const struct atf_recorder *recorder);

/*
 * Finishes all files of one thread that will get no more events (its files are closed; adding
 * events again reopens them). finish() does it for all that were not ended. Where pieces could not
 * be written it finishes what there is, and fails.
 */
enum sonde_status atf_recorder_end_thread(struct atf_recorder_thread *thread,
					  struct sonde_error *err);

/*
 * Writes manifests with what is known so far, for whoever opens the session before it is finished,
 * or recovers it where it never is. The definitions are those of finish(); functions may be missing.
 */
enum sonde_status atf_recorder_define(struct atf_recorder *recorder,
				      const struct sonde_definitions *definitions,
				      struct sonde_error *err);

/*
 * Writes footers, headers and manifests. The definitions have the recorder's processes and, as
 * tracks, its threads, both in the order in which they were added, and the functions with their
 * keys. Event types have the function_ids of atf_event_type_key(), and a function with the same one
 * is that of the scope. After a failed write (a full disk) the session is finished with what is in the files;
 * `lost` gets the number of events that were taken in and are not in the files: their piece could
 * not be written, or they had to make room for footers.
 */
enum sonde_status atf_recorder_finish(struct atf_recorder *recorder,
				      const struct sonde_definitions *definitions, uint64_t *lost,
				      struct sonde_error *err);
void atf_recorder_free(struct atf_recorder *recorder);

#endif
