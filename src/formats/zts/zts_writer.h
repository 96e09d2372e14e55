/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one part: traces.dat, the WAL files of texts and metadata, qmeta.idx, store.props. Traces
 * are built record by record and appended whole. Which part, when the next one begins, locks and
 * retention are the store's (src/store).
 */
#ifndef SONDE_FORMATS_ZTS_WRITER_H
#define SONDE_FORMATS_ZTS_WRITER_H

#include "codec/codec.h"
#include "formats/zts/zts_meta.h"

struct zts_writer;

struct zts_writer_options {
	enum sonde_codec codec;
	/* Lines for store.props of a new part ("store.rotate.max-size=16\n..."); NULL: defaults. */
	const char *props;
	uint64_t min_duration_ns; /* shorter traces are counted, not kept; 0: all are */
	size_t chunk_size; /* content of a trace beyond this goes into another chunk; 0: 16 MiB */
};

/* A new part in a folder that is not there yet. */
enum sonde_status zts_writer_create(const char *folder, const struct zts_writer_options *options,
				    struct zts_writer **writer, struct sonde_error *err);
/*
 * Goes on with a part of generation 1 that is not archived. What a killed writer left half done is
 * mended first: a cut chunk and a cut entry go, slots and postings that are missing are made from
 * traces.dat; whatever was synced stays. SONDE_UNSUPPORTED for a part that cannot be written on
 * (begin a new one).
 */
enum sonde_status zts_writer_open(const char *folder, struct zts_writer **writer,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err);
/* As in the options, for a part gone on with. */
void zts_writer_set_min_duration(struct zts_writer *writer, uint64_t min_duration_ns);
/* Syncs, and frees in any case. */
enum sonde_status zts_writer_close(struct zts_writer *writer, struct sonde_error *err);
/* Frees without syncing: after a failure. */
void zts_writer_free(struct zts_writer *writer);

/*
 * Typed texts: the id of a text, interned. 0 for "" of kind STRING; 0 where memory failed or ids
 * ran out (see zts_writer_failed). NUL and every other byte are fine.
 */
uint32_t zts_writer_text(struct zts_writer *writer, enum zts_text_kind kind, const char *text,
			 size_t size);
uint32_t zts_writer_method(struct zts_writer *writer, uint32_t class_id, uint32_t name,
			   uint32_t signature);
uint32_t zts_writer_frame(struct zts_writer *writer, uint32_t class_id, uint32_t name,
			  uint32_t file, uint32_t line);
uint32_t zts_writer_stack(struct zts_writer *writer, const uint32_t *frames, size_t count);
uint32_t zts_writer_exception(struct zts_writer *writer, uint32_t class_id, uint32_t message,
			      uint32_t stack, uint32_t cause);
/* Sticky: what went wrong first since the writer was opened; SONDE_OK while nothing did. */
enum sonde_status zts_writer_failed(const struct zts_writer *writer, struct sonde_error *err);

/* What a slot says of a trace beside its records. Names (text ids) must be below 65536 to fit. */
struct zts_trace_head {
	uint64_t uuid[2];
	uint32_t app, env, host; /* text ids; 0: none */
	uint32_t dtrace_uuid;	 /* text id (UUID) of the distributed trace; 0: none */
	uint32_t description;	 /* text id; 0: the method of the first record */
};

struct zts_record_head {
	uint32_t method;
	/*
	 * Ticks (has_ticks) as agents count them, or ns since 1970. In one trace all are alike.
	 * With ns the writer keeps what ticks cannot say in ZTS_NS_ATTRIBUTE.
	 */
	bool has_ticks;
	uint64_t start;
	/*
	 * A trace begins here: the first record always, others where they have a slot of their own.
	 */
	bool begins_trace;
	uint64_t timestamp_ms; /* begins_trace with ticks; with ns it follows from start */
	uint32_t type; /* text id; 0: none. Also where no trace begins, as span and parent */
	uint64_t span, parent; /* 0: none */
	uint64_t uuid[2];      /* of an inner trace; zeros: made from the outer one's */
};

/*
 * An attribute's value. CBOR: one whole item, strings in it as C6 id; no floats, nothing
 * indefinite.
 */
enum zts_value_kind {
	ZTS_VALUE_NULL,
	ZTS_VALUE_BOOL,
	ZTS_VALUE_INT,
	ZTS_VALUE_STRING,
	ZTS_VALUE_CBOR
};
struct zts_value {
	enum zts_value_kind kind;
	int64_t number;	     /* BOOL, INT */
	uint32_t string;     /* STRING: text id */
	const uint8_t *cbor; /* CBOR: borrowed */
	size_t size;
};

/*
 * One trace: begin, records that nest, end. A record's attributes may come at any time while it is
 * open.
 */
void zts_writer_begin_trace(struct zts_writer *writer, const struct zts_trace_head *head);
void zts_writer_begin_record(struct zts_writer *writer, const struct zts_record_head *head);
void zts_writer_attribute(struct zts_writer *writer, uint32_t key, const struct zts_value *value);
/*
 * `exception`: text id or 0. calls 0: as many as there are records in its tree. flags:
 * ZTS_RECORD_ERROR and the like.
 */
void zts_writer_end_record(struct zts_writer *writer, uint64_t stop, uint64_t calls,
			   uint32_t exception, uint32_t flags);
/*
 * Appends the chunk, its texts, postings and slots to memory; written out when enough has come
 * together (the slots with the next sync). SONDE_LIMIT, with nothing of the trace kept, where
 * the part is full or an app, env, host or type has a text id beyond 65535: begin a new part
 * and give the trace to that one.
 */
enum sonde_status zts_writer_end_trace(struct zts_writer *writer, struct sonde_error *err);
/*
 * Whether a text id fits into a slot as app, env, host or type. Where it does not, the part counts
 * as full: the next one is needed for a trace with that name.
 */
bool zts_writer_name_fits(struct zts_writer *writer, uint32_t id);
/*
 * What was put in since the last sync must not stay: the writer fails for good, for this reason.
 * Opened anew, the part is as it was at that sync.
 */
void zts_writer_give_up(struct zts_writer *writer, const struct sonde_error *reason);
/* Forgets the trace that was begun; texts interned for it stay. */
void zts_writer_abandon_trace(struct zts_writer *writer);

/*
 * Writes out everything that is in memory, in the order that readers rely on (texts, data,
 * postings, slots, header), and waits until it is on the disk: what is acknowledged.
 */
enum sonde_status zts_writer_sync(struct zts_writer *writer, struct sonde_error *err);

/*
 * The same in two steps, so that others may go on with the writer while the disk is waited for:
 * `begin` with the writer, `finish` without. One at a time, and no other sync between. The
 * writer must outlive it; after a failure it is of no more use. `finish` frees in any case.
 */
struct zts_writer_sync;
enum sonde_status zts_writer_sync_begin(struct zts_writer *writer, struct zts_writer_sync **sync,
					struct sonde_error *err);
enum sonde_status zts_writer_sync_finish(struct zts_writer_sync *sync, struct sonde_error *err);

/*
 * Names (app, env, host, type) that slots of a part have: a new part gets them before other texts,
 * so that their ids stay low. `take` is NULL where memory fails, which only costs a part that is
 * finished early.
 */
struct zts_writer_names;
struct zts_writer_names *zts_writer_take_names(const struct zts_writer *writer);
void zts_writer_put_names(struct zts_writer *writer, const struct zts_writer_names *names);
void zts_writer_names_free(struct zts_writer_names *names);

/* Sizes, for rotation: bytes of traces.dat and of all files; texts in memory. */
struct zts_writer_size {
	uint64_t data_bytes;
	uint64_t total_bytes;
	uint64_t memory_bytes;
	uint32_t texts;
	uint32_t slots;
	uint32_t first_seconds; /* of the earliest trace; 0: none yet */
	/* Since it was opened. */
	uint64_t traces, records, short_traces;
	bool is_full; /* SONDE_LIMIT was answered: only a new part helps */
};
struct zts_writer_size zts_writer_size(const struct zts_writer *writer);

/*
 * Packs the WALs of a finished part into FMI files and marks it archived. Written beside and
 * renamed; readers see the one or the other. Interrupted at any moment it leaves a whole store.
 * Already packed: SONDE_END.
 */
enum sonde_status zts_archive(const char *folder, struct sonde_error *err);

#endif
