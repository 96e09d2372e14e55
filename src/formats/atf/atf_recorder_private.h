/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the recorder share: atf_recorder.c takes in processes, threads and records,
 * atf_recorder_files.c writes bytes with few files open, atf_recorder_finish.c ends threads and
 * sessions, also on a full disk.
 */
#ifndef SONDE_ATF_RECORDER_PRIVATE_H
#define SONDE_ATF_RECORDER_PRIVATE_H

#include "base/buffer.h"
#include "base/vec.h"
#include "formats/atf/atf_frame.h"
#include "formats/atf/atf_manifest_write.h"
#include "formats/atf/atf_recorder.h"

/* Details wait here for the next events of their thread; threads take turns. */
#define DETAIL_BUFFERS 16
#define DETAIL_BUFFER_SIZE ((size_t)256 << 10)

struct detail_buffer {
	struct atf_recorder_thread *thread; /* NULL: free */
	uint8_t *data;
	size_t used;
	uint32_t count;
	uint64_t first_ns, last_ns;
	uint32_t linked_first, linked_last;
};

/* index.atf or detail.atf of the present part of a thread. */
struct recorder_file {
	struct atf_recorder_thread *thread;
	const char *name;
	int fd; /* -1: not open now */
	bool recent;
	size_t place;  /* in recorder->open */
	uint64_t size; /* bytes in the file that count */
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
	uint64_t lost; /* events taken back */
	int failure;   /* errno of the write that failed, 0: none did */
	bool finished; /* the files of the present part are */
};

struct atf_recorder {
	char *folder;
	bool made_folder;
	bool finished;
	uint64_t events_per_file;
	uint64_t bytes;
	SONDE_VEC(struct recorder_process) processes;
	SONDE_VEC(struct atf_recorder_thread *) threads;
	size_t unfinished_count; /* threads */
	/* files that are open, and where the search for one to close goes on */
	struct recorder_file **open;
	size_t open_count, open_limit, hand;
	struct detail_buffer buffers[DETAIL_BUFFERS];
	size_t next_buffer; /* the next to be taken from its thread */
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
void recorder_file_remove(struct recorder_file *file);

/* Failing, these leave errno; a write leaves the bytes that counted before. */
enum sonde_status recorder_file_write(struct recorder_file *file, uint64_t offset, const void *data,
				      size_t size, struct sonde_error *err);
enum sonde_status recorder_file_cut(struct recorder_file *file, uint64_t size,
				    struct sonde_error *err);
enum sonde_status recorder_file_close(struct recorder_file *file, struct sonde_error *err);

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
