/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer of a part is made of: interned texts, files that grow, and the trace being built.
 * For the zts_writer_*.c files only; everybody else sees zts_writer.h.
 */
#ifndef SONDE_FORMATS_ZTS_WRITER_PRIVATE_H
#define SONDE_FORMATS_ZTS_WRITER_PRIVATE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/vec.h"
#include "formats/zts/zts_index.h"
#include "formats/zts/zts_writer.h"

/* Ids above do not fit into a slot's description. */
#define ZTS_MAX_TEXT_ID 0x7fffffffu
#define ZTS_MAX_TEXT_SIZE ((size_t)1 << 30)
#define ZTS_MAX_NAME_ID 0xffffu
/* Slots end below 4 GiB in qmeta.idx. */
#define ZTS_MAX_SLOTS ((UINT32_MAX - ZTS_QMETA_HEADER_SIZE) / 96 - 8)

/* Texts of the part, each once. */
struct zts_interned {
	const char *bytes; /* as in the store, markers included, not escaped; in the arena */
	uint32_t size;
};

/* Composed texts are found by what they are composed of: no text is built to look one up. */
struct zts_composed {
	uint32_t fields[4];
	uint32_t kind;
	uint32_t id; /* 0: free */
};

struct zts_interner {
	struct sonde_arena arena;
	SONDE_VEC(struct zts_interned) texts; /* by id; number 0 is none */
	uint64_t *slots;		      /* upper half of the hash << 32 | id; 0: free */
	size_t slot_count, used;
	struct zts_composed *composed;
	size_t composed_count, composed_used;
	struct sonde_buffer scratch;
	uint64_t seed; /* of hashes: nobody outside can prepare texts that collide */
};

void zts_interner_init(struct zts_interner *interner);
void zts_interner_release(struct zts_interner *interner);
/* One more than the highest id. */
static inline uint32_t zts_interner_end(const struct zts_interner *interner)
{
	return interner->texts.count ? (uint32_t)interner->texts.count : 1;
}
size_t zts_interner_memory(const struct zts_interner *interner);
/* Takes over a text of a part that is gone on with, as the next id; false where memory failed. */
bool zts_interner_load(struct zts_interner *interner, const char *text, size_t size);

/* A file that only grows: bytes collect in `pending` and are written at its end. */
struct zts_grown {
	int fd;	       /* -1: none */
	uint64_t size; /* in the file */
	struct sonde_buffer pending;
	bool is_dirty; /* written since the last sync */
};

/* The WAL files "<prefix>-%08x.wal": one after another, each below 4 MiB. */
struct zts_wal_out {
	const char *prefix;
	struct zts_grown file;
	uint64_t finished_bytes; /* of files before the present one */
};

struct zts_open_record {
	uint64_t residue_ns; /* of the start */
	uint32_t records;    /* in its tree, itself included */
	uint32_t trace;	     /* position in `traces`; SONDE_NONE where none begins here */
};

/* A trace that is open: the outer one, and those within it. */
struct zts_open_trace {
	uint64_t uuid[2];
	uint64_t start_ns;    /* since 1970 */
	uint64_t start;	      /* of its first record, as given */
	uint64_t data_offset; /* of the chunk it began in */
	uint32_t start_offset;
	uint32_t chunk_number;
	uint32_t type, method;
	uint32_t before; /* the trace around it; SONDE_NONE */
};

struct zts_writer {
	char *folder;
	int folder_fd;
	bool folder_is_dirty; /* a file was made in it since the last sync */
	enum sonde_codec codec;
	struct sonde_codec_state codec_state;
	size_t chunk_size;
	uint64_t min_duration_ns;

	struct zts_interner texts;
	struct zts_wal_out text_wal, meta_wal;
	struct zts_grown data;
	struct zts_grown slots; /* qmeta.idx; `size` is where the next slots go */
	SONDE_VEC(int) retired; /* WAL files that are full and wait to be synced and closed */
	uint32_t next_meta_id;
	uint32_t slot_count;
	uint32_t first_tstart, last_tstop; /* of the header: low halves of ms */
	uint32_t first_seconds;
	uint64_t traces, records, short_traces;
	uint64_t names[(ZTS_MAX_NAME_ID + 1) / 64]; /* ids that slots have as names: a bitmap */
	uint32_t ns_key;			    /* id of ZTS_NS_ATTRIBUTE; 0: not met yet */
	bool is_full;

	struct sonde_error failure; /* sticky */

	/* The trace being built. */
	bool in_trace, has_ended;
	const char *fault; /* what the caller did wrong; NULL */
	bool is_short;
	bool has_high_name; /* a name's id is beyond what a slot holds */
	bool uses_ticks;
	struct zts_trace_head head;
	struct sonde_buffer content; /* of the chunk */
	struct sonde_buffer pairs;   /* attributes of the open record, not in `content` yet */
	uint32_t pair_count;
	SONDE_VEC(struct zts_open_record) open;
	SONDE_VEC(struct zts_open_trace) open_traces;
	uint32_t trace; /* the innermost open one */
	uint32_t chunk_number;
	uint64_t trace_data_start; /* where its first chunk goes */
	uint64_t stop;		   /* latest time seen, as given */
	uint64_t trace_records;
	struct zts_index index;
	struct sonde_buffer trace_meta; /* entries of its slots */
	SONDE_VEC(struct zts_slot) trace_slots;
	uint32_t trace_meta_id; /* the next one */
};

/* Remembers the first failure; returns its status. */
enum sonde_status zts_writer_fail(struct zts_writer *writer, const struct sonde_error *err);
enum sonde_status zts_writer_fail_nomem(struct zts_writer *writer);

/* Memory of a writer with nothing open; NULL where there is none. */
struct zts_writer *zts_writer_new(const char *folder);
/* Opens folder_fd. */
enum sonde_status zts_writer_open_folder(struct zts_writer *writer, struct sonde_error *err);

/* zts_writer_files.c */
enum sonde_status zts_file_write_at(int fd, const char *name, const void *data, size_t size,
				    uint64_t offset, struct sonde_error *err);
/* A file that appears under its name when it is whole and on the disk. The folder is not synced. */
enum sonde_status zts_file_replace(const char *folder, const char *name, const void *data,
				   size_t size, struct sonde_error *err);
enum sonde_status zts_folder_sync(const char *folder, struct sonde_error *err);
enum sonde_status zts_grown_write(struct zts_grown *file, const char *name,
				  struct sonde_error *err);
/* Makes the file whose first entry has this id. */
enum sonde_status zts_wal_out_begin(struct zts_writer *writer, struct zts_wal_out *wal,
				    uint32_t first_id, struct sonde_error *err);
/*
 * What `pending` got from `start` on is one entry (with this id): begins a new file where it does
 * not fit.
 */
enum sonde_status zts_wal_out_entry(struct zts_writer *writer, struct zts_wal_out *wal,
				    size_t start, uint32_t id, struct sonde_error *err);
#define ZTS_WAL_NAME_SIZE 32
/* The WALs of a prefix among the names of a folder (borrowed), in the order of their ids. */
struct zts_wal_name {
	const char *name;
	uint32_t first_id;
};
struct zts_wal_names {
	SONDE_VEC(struct zts_wal_name) list;
};
enum sonde_status zts_wal_names_find(struct zts_wal_names *wals, const struct sonde_folder *folder,
				     const char *prefix, struct sonde_error *err);
void zts_wal_name(char name[ZTS_WAL_NAME_SIZE], const char *prefix, uint32_t first_id);

/* zts_writer_texts.c: the entry of a new text is appended to the WAL. */
uint32_t zts_writer_pair(struct zts_writer *writer, uint32_t key, uint32_t value);
uint32_t zts_writer_number_pair(struct zts_writer *writer, uint32_t key, int64_t number);
uint32_t zts_writer_bool_pair(struct zts_writer *writer, uint32_t key, bool value);

void zts_writer_mark_name(struct zts_writer *writer, uint32_t id);

/* zts_writer.c: the content so far becomes a chunk of traces.dat; its slot is the caller's. */
enum sonde_status zts_writer_put_chunk(struct zts_writer *writer, struct sonde_error *err);
/* zts_writer_sync.c: texts, data and postings go into their files. */
enum sonde_status zts_writer_write_out(struct zts_writer *writer, struct sonde_error *err);
/* zts_writer_record.c: for zts_index. */
bool zts_writer_trace_ended(void *context, const struct zts_index_trace *trace);

#endif
