/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the recorder share: atf_recorder.c takes in processes, threads and records,
 * atf_recorder_files.c writes bytes with few files open, atf_recorder_stage.c gathers much of them
 * and atf_recorder_io.c writes that in large pieces, atf_recorder_finish.c ends threads and
 * sessions, also on a full disk.
 */
#ifndef SONDE_ATF_RECORDER_PRIVATE_H
#define SONDE_ATF_RECORDER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/vec.h"
#include "formats/atf/atf_frame.h"
#include "formats/atf/atf_manifest_write.h"
#include "formats/atf/atf_recorder.h"

/* Details that have no stage wait here for the next events of their thread; threads take turns. */
#define DETAIL_BUFFERS 16
#define DETAIL_BUFFER_SIZE ATF_RECORDER_DETAILS_MAX

struct detail_buffer {
	struct atf_recorder_thread *thread; /* NULL: free */
	uint8_t *data;
	size_t used;
	uint32_t count;
	uint64_t first_ns, last_ns;
	uint32_t linked_first, linked_last;
};

#define CACHE_LINE 64

enum stage_state {
	STAGE_FREE,
	STAGE_FILLING, /* the stage of its file */
	STAGE_QUEUED,
	STAGE_WRITING,
	STAGE_FAILED, /* not all of it is in the file; kept for recorder_roll_back() */
};

/*
 * Memory that stands for a range of a file, data[0] for the offset `base`, a multiple of
 * STAGE_ALIGNMENT. From `start` to `end` it has what is not in the file; a detail may begin in one
 * stage and end in the next. The state is under the lock; the rest belongs to the writing thread
 * while QUEUED or WRITING, else to the recorder.
 */
struct stage {
	enum stage_state state;
	struct recorder_file *file;
	uint8_t *data;
	uint64_t base, start, end;
	uint8_t line[CACHE_LINE]; /* what is behind the last whole one, until it is put there */
	uint64_t order;		  /* in the queue */
	unsigned int age;	  /* how often atf_recorder_settle() saw it */
	int fd;
	uint64_t written; /* up to this offset it is in the file */
	/* of the part, before what in here was put */
	struct atf_index_footer footer;
	struct atf_detail_footer detail_footer;
	uint32_t linked_first, linked_last;
};

#define STAGE_ALIGNMENT 4096 /* whole lines */

struct staging {
	pthread_mutex_t lock;
	pthread_cond_t queued, done;
	void *mapping;
	uint8_t *data;
	struct stage *stages; /* `limit` of them, `count` with memory */
	size_t count, limit, size, owner_count;
	uint64_t after;
	uint64_t next_order;
	bool started, stop;
	pthread_t thread;
	atomic_bool off; /* no large pieces any more */
	/* how fast it went lately: the writing thread's, apart from `waited` */
	bool waited, slow;
	uint64_t window_bytes, window_ns;
	uint64_t plain_bytes; /* to go through the page cache before the disk is tried again */
};

/* index.atf or detail.atf of the present part of a thread. */
struct recorder_file {
	struct atf_recorder_thread *thread;
	const char *name;
	int fd; /* -1: not open now */
	bool recent;
	size_t place;  /* in recorder->open */
	uint64_t size; /* bytes in the file, or in stages, that count */
	/* Without a stage nothing is being written by the other thread, and `io_fd` is -1. */
	struct stage *stage;
	int io_fd;	      /* for the writing thread */
	unsigned int pending; /* stages queued; under the lock */
};

struct recorder_process {
	uint32_t pid;
	uint32_t thread_count;
	char *folder; /* NULL before the first thread */
};

struct atf_recorder_thread {
	struct atf_recorder *recorder;
	struct atf_written_track written;
	struct atf_frame frame; /* of the present part: what is in its files */
	struct recorder_file index, detail;
	struct detail_buffer *buffer; /* NULL: no details are waiting */
	uint64_t synthetic_head, synthetic_tail;
	uint64_t lost;			 /* events taken back */
	int failure;			 /* errno of the write that failed, 0: none did */
	atomic_int io_error;		 /* likewise, of the writing thread, */
	struct recorder_file *io_failed; /* which set this before */
	bool no_stage;			 /* could not be had once */
	uint64_t part_first;		 /* events in earlier parts */
	bool finished;			 /* the files of the present part are */
};

struct atf_recorder {
	char *folder;
	bool made_folder;
	bool finished;
	uint64_t events_per_file;
	uint64_t bytes;
	SONDE_VEC(struct recorder_process) processes;
	SONDE_VEC(struct atf_recorder_thread *) threads;
	struct atf_written_resources resources;
	size_t unfinished_count; /* threads */
	/* files that are open, and where the search for one to close goes on */
	struct recorder_file **open;
	size_t open_count, open_limit, hand;
	struct detail_buffer buffers[DETAIL_BUFFERS];
	size_t next_buffer; /* the next to be taken from its thread */
	struct staging staging;
	struct sonde_buffer encoded;
	/* room on the disk for the end */
	char *reserve_path;
	int reserve_fd;
	uint64_t reserve_size, manifest_bytes;
};

/* The path of a file, malloc'd. */
char *recorder_file_path(const struct recorder_file *file);

/* Makes the file with a header; nothing stays where that fails. */
enum sonde_status recorder_file_create(struct recorder_file *file,
				       const uint8_t header[ATF_HEADER_SIZE],
				       struct sonde_error *err);

/* Failing, these leave errno; a write leaves the bytes that counted before. */
enum sonde_status recorder_file_write(struct recorder_file *file, uint64_t offset, const void *data,
				      size_t size, struct sonde_error *err);
/* For reading what is in it. */
enum sonde_status recorder_file_map(struct recorder_file *file, struct sonde_mapped_file *map,
				    struct sonde_error *err);
enum sonde_status recorder_file_cut(struct recorder_file *file, uint64_t size,
				    struct sonde_error *err);
enum sonde_status recorder_file_close(struct recorder_file *file, struct sonde_error *err);

/* As a write that failed, and errno says why. */
enum sonde_status recorder_file_fail(const struct recorder_file *file, const char *what,
				     struct sonde_error *err);

/* The writing thread: started with the first stage. False where it cannot be. */
bool recorder_io_start(struct staging *staging);
void recorder_io_stop(struct staging *staging);

bool recorder_staging_init(struct staging *staging, const struct atf_recorder_limits *limits);
void recorder_staging_release(struct staging *staging);

/*
 * Makes room for at least `needed` bytes behind what the file has: fills in how much there is, 0
 * where the file is to be written plainly. Takes, hands over and waits for stages as needed.
 * Failing, the thread is rolled back.
 */
enum sonde_status recorder_stage_room(struct recorder_file *file, size_t needed, size_t *room,
				      struct sonde_error *err);

/* Puts so many bytes there: whole records; to be counted in the frame. */
void recorder_stage_put(struct recorder_file *file, const void *data, size_t size);

/* Brings all of a thread into its files, and gives its stages back. */
enum sonde_status recorder_unstage(struct atf_recorder_thread *thread, struct sonde_error *err);

/* Strikes out the last events of the present part, at most `count`, with their details. */
enum sonde_status recorder_take_back(struct atf_recorder_thread *thread, uint64_t count,
				     struct sonde_error *err);

/* Forgets the details that are waiting: their events never came. */
void recorder_drop_details(struct atf_recorder_thread *thread);

/* Writes footers and final headers of the present part and closes its files. */
enum sonde_status recorder_finish_part(struct atf_recorder_thread *thread, struct sonde_error *err);
/* Makes files that were finished ready for more. */
enum sonde_status recorder_reopen_part(struct atf_recorder_thread *thread, struct sonde_error *err);

/* Notes why a thread failed, from errno; gives `status` back. */
enum sonde_status recorder_give_up(struct atf_recorder_thread *thread, enum sonde_status status);

/* Sets room on the disk aside for what is known now. */
enum sonde_status recorder_reserve(struct atf_recorder *recorder, struct sonde_error *err);
void recorder_release_reserve(struct atf_recorder *recorder);

#endif
