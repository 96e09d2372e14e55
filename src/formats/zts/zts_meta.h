/* SPDX-License-Identifier: Apache-2.0 */
/* qmeta.idx, the list of all traces of a store in slots of fixed size, and store.props. */
#ifndef SONDE_FORMATS_ZTS_META_H
#define SONDE_FORMATS_ZTS_META_H

#include <sonde/diagnostics.h>

#include "base/buffer.h"
#include "base/vec.h"
#include "formats/zts/zts_layout.h"

/* One slot, taken apart. A chunked trace has one for each of its chunks, all with its UUID. */
struct zts_slot {
	uint64_t data_offset; /* of its chunk in traces.dat */
	/* of its record in the chunk's content: not 0 for a trace inside another */
	uint32_t start_offset;
	uint32_t chunk_number;
	uint32_t seconds;	   /* when it ended, since 1970: see zts_slot_set_times() */
	uint32_t duration_seconds; /* generation 0: from ticks */
	uint16_t app, env, type, host;
	uint8_t flags;	 /* ZTS_RECORD_* */
	uint16_t errors; /* records that ended with an exception */
	uint32_t records;
	uint32_t calls;
	uint32_t description; /* text id */
	bool description_is_method;
	uint32_t deep_entry, shallow_entry; /* in the metadata index; UINT32_MAX: none */
	uint64_t uuid[2];
	uint32_t dtrace_tid, dtrace_uuid; /* text ids; 0: none */
	/* Ours, in words that are 0 in other programs' files: 0 where not known. */
	uint64_t start_ns;    /* since 1970; word 10 */
	uint64_t duration_ns; /* word 11 */
};

struct zts_slots {
	SONDE_VEC(struct zts_slot) list;
	uint32_t first_tstart, last_tstop; /* of the header, as they are */
	uint32_t used;			   /* end of the used bytes; 0: no slot was ever written */
	unsigned int generation;	   /* 0 or 1 */
	bool has_names; /* for zts_rebuild(): TYPE in the data is a text id (ZTS_PROPS_NAMES) */
};
void zts_slots_release(struct zts_slots *slots);

/*
 * Reads from slot `list.count` on: all at first, later what a writer has added. On SONDE_CORRUPT
 * the slots that lie within the file are there all the same.
 */
enum sonde_status zts_slots_read(struct zts_slots *slots, const char *path,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err);
/* The same of bytes in memory. */
enum sonde_status zts_slots_parse(struct zts_slots *slots, const uint8_t *bytes, size_t size,
				  const char *path, struct sonde_diagnostics *diagnostics,
				  struct sonde_error *err);

/* For writing: the 96 bytes of a slot, the 64 of the header (fpos: end of used bytes). */
void zts_put_slot(uint8_t bytes[96], const struct zts_slot *slot);
void zts_put_qmeta_header(uint8_t bytes[64], uint32_t fpos, uint32_t tstart, uint32_t tstop);

/* store.props: lines of key=value; comments and order of unknown keys are kept. */
struct zts_props {
	struct sonde_buffer text; /* as in the file */
};
void zts_props_release(struct zts_props *props);
/* An absent file gives no properties; the document's name is read too. */
enum sonde_status zts_props_read(struct zts_props *props, const char *folder,
				 struct sonde_error *err);
/* NULL where it is not set. Borrowed until the next set. *size is its length. */
const char *zts_props_get(const struct zts_props *props, const char *key, size_t *size);
bool zts_props_number(const struct zts_props *props, const char *key, uint64_t *value);
void zts_props_set(struct zts_props *props, const char *key, const char *value);
/* Written beside, synced, renamed. */
enum sonde_status zts_props_write(const struct zts_props *props, const char *folder,
				  struct sonde_error *err);

/* In store.props of our stores: app, env, type and host of slots are text ids of names. */
#define ZTS_PROPS_NAMES "sonde.names"

#endif
