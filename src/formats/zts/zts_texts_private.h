/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a text index as zts_texts*.c see them. A source is a WAL, or an FMI, which becomes
 * like a WAL when it is unpacked as a whole.
 */
#ifndef SONDE_FORMATS_ZTS_TEXTS_PRIVATE_H
#define SONDE_FORMATS_ZTS_TEXTS_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"

struct texts_source {
	char *path;	  /* "memory" for bytes in memory */
	const char *name; /* its last part */
	struct zts_fmi *fmi;
	struct sonde_mapped_file file; /* of a WAL */
	/* Entries: of a WAL, or of an FMI that was unpacked. */
	const uint8_t *bytes;
	size_t size;
	size_t parsed;		      /* entries up to here are in `places` */
	SONDE_VEC(uint32_t) places;   /* by id - first_id: offset of the entry; 0: none */
	struct sonde_buffer unpacked; /* what `bytes` are, where unpacked */
	uint32_t first_id, end_id;
	uint32_t asked;	     /* texts extracted from the FMI so far */
	bool not_unpackable; /* it was tried, and is damaged */
	bool replaced;	     /* by an FMI: kept only for what was borrowed */
	/* What composed texts hold: id, kind, number of ids, the ids; see zts_texts_close.c. */
	SONDE_VEC(uint32_t) composed;
	size_t composed_listed;	 /* of `places` */
	bool composed_backwards; /* some text holds an id that is higher than its own */
};

/* A text that is not in a file as it is: unescaped, or extracted. */
struct texts_copy {
	const char *text;
	size_t size;
};

struct zts_texts {
	char *folder; /* NULL: bytes in memory */
	char *prefix;
	SONDE_VEC(struct texts_source *) sources; /* FMIs first: they win */
	SONDE_VEC(struct sonde_mapped_file) retired;
	uint32_t end_id;
	bool failed;   /* memory, since it was asked for the last time */
	bool vanished; /* a file was gone when it was its turn */
	struct sonde_error
		unreadable; /* why the first of the files that cannot be opened could not */
	struct sonde_arena arena;
	struct sonde_key_map copy_of; /* id: number in `copies` */
	SONDE_VEC(struct texts_copy) copies;
	struct sonde_buffer scratch;
};

/* Whether a source's entries are at hand: a WAL, or unpacked. */
static inline bool texts_has_entries(const struct texts_source *source)
{
	return source->bytes != NULL;
}

/*
 * Takes the entries from `parsed` on. Faults go to `diagnostics` (may be NULL). False: no memory.
 */
bool texts_index_entries(struct texts_source *source, struct sonde_diagnostics *diagnostics);

/*
 * Unpacks an FMI as a whole; nothing where that was done, or where it is a WAL. SONDE_CORRUPT
 * where it is damaged: single texts may still be had.
 */
enum sonde_status texts_unpack(struct texts_source *source, struct sonde_error *err);

/* The text of an entry, unescaped: where it lies, or in `scratch`. False: no memory. */
bool texts_plain(const struct zts_wal_entry *entry, struct sonde_buffer *scratch, const char **text,
		 size_t *size);

/*
 * Entries of a source that has them in which a pattern is (escaped as texts are; it may begin with
 * the mark before a text), each once, with their text unescaped. False from `hit` ends it.
 */
enum sonde_status texts_each_hit(struct zts_texts *texts, const struct texts_source *source,
				 const uint8_t *pattern, size_t size,
				 bool (*hit)(void *context, const struct zts_wal_entry *entry,
					     const char *text, size_t text_size),
				 void *context, struct sonde_error *err);

/* How many steps in an FMI take as long as unpacking it. */
uint64_t texts_step_budget(const struct texts_source *source);

#endif
