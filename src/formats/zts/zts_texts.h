/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text index of one store, all its WAL and FMI files together: the text of an id, the ids of a
 * text, and what typed texts mean. Safe for one thread; others open their own.
 */
#ifndef SONDE_FORMATS_ZTS_TEXTS_H
#define SONDE_FORMATS_ZTS_TEXTS_H

#include <sonde/diagnostics.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/vec.h"
#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_set.h"

struct zts_texts;

/*
 * Opens the files "<prefix>-*.wal" and "<prefix>-*.fmi" ("text", "meta") of a folder. Where files
 * overlap in ids an FMI wins. Damage is reported to `diagnostics` (may be NULL) and leaves ids
 * without a text.
 */
enum sonde_status zts_texts_open(const char *folder, const char *prefix,
				 struct sonde_diagnostics *diagnostics, struct zts_texts **texts,
				 struct sonde_error *err);
/* Of WAL bytes in memory, borrowed: an index rebuilt, tests. */
enum sonde_status zts_texts_of(const uint8_t *wal, size_t size, struct zts_texts **texts,
			       struct sonde_error *err);
void zts_texts_free(struct zts_texts *texts);

/* Looks whether WALs have grown (a writer is at work) and takes what is new. */
enum sonde_status zts_texts_refresh(struct zts_texts *texts, struct sonde_error *err);

/* Fails where a file could not even be opened: its texts may be whole, but are not here. */
enum sonde_status zts_texts_all_readable(const struct zts_texts *texts, struct sonde_error *err);

/* One more than the highest id. */
uint32_t zts_texts_end(const struct zts_texts *texts);

/*
 * The lowest id not below `from` that can have a text, or the end: damage may leave gaps of
 * billions between files, which nobody wants to go through.
 */
uint32_t zts_texts_next(const struct zts_texts *texts, uint32_t from);

/*
 * The bytes of a text, unescaped, markers included; borrowed until the texts are freed. SONDE_END:
 * no such id.
 */
enum sonde_status zts_texts_get(struct zts_texts *texts, uint32_t id, const char **text,
				size_t *size, struct sonde_error *err);

/*
 * Where memory fails, names and conditions see a text as lost. Whether that happened since this was
 * asked the last time: whoever is about to answer by texts asks, so that nothing is missing in
 * silence.
 */
bool zts_texts_failed(struct zts_texts *texts);
void zts_texts_set_failed(struct zts_texts *texts);

/* A typed text taken apart: fields are ids or literals. */
#define ZTS_TEXT_FIELDS 4
struct zts_typed_text {
	enum zts_text_kind kind;
	/* without markers: STRING, KEYWORD .. SIGNATURE; the literal of KEY_LITERAL */
	const char *text;
	size_t size;
	uint32_t fields[ZTS_TEXT_FIELDS]; /* ids; of FRAME the line as the last */
	const char *list; /* STACK: the bytes between the outer markers, ids with 0d between */
	size_t list_size;
};

/*
 * SONDE_CORRUPT where a marker begins it and the rest does not fit; `typed` is all of it as a
 * STRING then, which it may well be (a line that begins with a tab).
 */
enum sonde_status zts_text_parse(const char *text, size_t size, struct zts_typed_text *typed,
				 struct sonde_error *err);
enum sonde_status zts_texts_typed(struct zts_texts *texts, uint32_t id,
				  struct zts_typed_text *typed, struct sonde_error *err);
/* The next frame id of a STACK's list; false after the last. */
bool zts_text_next_frame(struct zts_typed_text *stack, uint32_t *frame);

/*
 * Names for people, appended: a string or name as it is; a method as "void
 * com.example.Main.run(int)" where its signature is one of Java, else "class.method"; a frame as
 * "class.method(file:line)"; a lost id as "#17". Always UTF-8: other bytes become U+FFFD.
 */
void zts_texts_put_name(struct zts_texts *texts, uint32_t id, struct sonde_buffer *out);

/*
 * The bytes of a plain text, borrowed from the index or from `space` (until it is used again); what
 * is composed, lost or damaged as zts_texts_put_name() has it. Id 0 is the empty text.
 */
void zts_texts_plain(struct zts_texts *texts, uint32_t id, struct sonde_buffer *space,
		     const char **text, size_t *size);

enum zts_match { ZTS_MATCH_EXACT, ZTS_MATCH_PREFIX, ZTS_MATCH_SUBSTRING };

/*
 * Adds the ids of texts of these kinds (bits 1 << kind; 0: strings and names, not composed ones)
 * that match.
 */
enum sonde_status zts_texts_find(struct zts_texts *texts, unsigned int kinds, enum zts_match match,
				 const char *text, size_t size, struct zts_set *ids,
				 struct sonde_error *err);

/*
 * Adds composed texts that (over any number of steps) hold one of the ids: methods of a class,
 * exceptions of a message, stacks of a frame, pairs of a value. `kinds` limits which are followed.
 */
enum sonde_status zts_texts_close(struct zts_texts *texts, unsigned int kinds, struct zts_set *ids,
				  struct sonde_error *err);

/* Calls `pair` for every KEY_LITERAL (value_id 0) and KEY_VALUE text of a key. */
enum sonde_status zts_texts_pairs(struct zts_texts *texts, uint32_t key,
				  bool (*pair)(void *context, uint32_t pair_id, uint32_t value_id,
					       const char *literal, size_t size),
				  void *context, struct sonde_error *err);

/*
 * For a metadata index: adds the slots of all postings whose id is in `ids`; deep or shallow ones.
 * Few ids are searched for, many are met in one pass.
 */
enum sonde_status zts_texts_postings(struct zts_texts *meta, const struct zts_set *ids, bool deep,
				     struct zts_set *slots, struct sonde_error *err);

#endif
