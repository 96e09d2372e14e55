/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a file as a window that moves on: all of a mapped file at once, or as much of a packed one as is
 * needed. What was read need not count as memory of this process.
 */
#ifndef SONDE_CHROME_SOURCE_H
#define SONDE_CHROME_SOURCE_H

#include "base/file.h"
#include "base/json.h"
#include "codec/gzip.h"

struct chrome_source {
	/* the window; the place of the next byte in it is the reader's to move on */
	const char *data;
	size_t size, position;
	bool is_last;	 /* nothing comes behind the window */
	uint64_t offset; /* of the window in the text */
	/* private */
	struct sonde_mapped_file file;
	struct sonde_gzip_reader *gzip;
	char *window;
	size_t capacity;
	size_t passed; /* bytes of the file that were let go */
	bool is_damaged;
	struct sonde_error damage; /* why the text ended too early, where is_damaged */
};

enum sonde_status chrome_source_open(struct chrome_source *source, const char *path,
				     struct sonde_error *err);
void chrome_source_release(struct chrome_source *source);

/* Where the next byte is in the text. */
static inline uint64_t chrome_source_at(const struct chrome_source *source)
{
	return source->offset + source->position;
}

/*
 * Makes more text follow the position; pointers into the window do not hold any more. SONDE_END where there
 * is none, SONDE_LIMIT where what stands at the position is longer than anything should be.
 */
enum sonde_status chrome_source_more(struct chrome_source *source, struct sonde_error *err);

/* Lets go what was read; cheap. */
void chrome_source_pass(struct chrome_source *source);

/* The next byte that is no white space; false at the end, or on an error in *status. */
bool chrome_source_peek(struct chrome_source *source, char *byte, enum sonde_status *status,
			struct sonde_error *err);

/* Steps over the value at the position, of any length; SONDE_TRUNCATED where it does not end. */
enum sonde_status chrome_source_skip(struct chrome_source *source, struct sonde_error *err);

/* A reader of the value at the position. */
void chrome_source_json(struct chrome_source *source, struct sonde_json_reader *reader);
/* Releases it; the position is behind its last token, or, where that failed, where it was. */
void chrome_source_json_end(struct chrome_source *source, struct sonde_json_reader *reader,
			    uint64_t start, bool failed);

#endif
