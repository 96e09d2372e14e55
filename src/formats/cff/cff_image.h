/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the wtf-trace family as the bytes of a binary version 10 file: the mapped file itself
 * where it is one, else made from it (JSON, legacy version 3, wtf-calls) in a file without a name.
 * So everything behind this, reading, checking, recovering and writing, knows one layout only.
 */
#ifndef SONDE_CFF_IMAGE_H
#define SONDE_CFF_IMAGE_H

#include <sonde/diagnostics.h>

#include "base/file.h"
#include "base/vec.h"
#include "formats/cff/cff_layout.h"

enum cff_origin { CFF_BINARY, CFF_JSON, CFF_LEGACY, CFF_CALLS };

/* Where a chunk stands. Its header and its list of parts lie within the image; nothing else was looked at. */
struct cff_chunk {
	uint64_t offset;
	uint32_t length; /* what of it is there: less than it says where the file is cut */
	uint32_t type;	 /* as it says */
};

struct cff_image {
	enum cff_origin origin;
	struct sonde_mapped_file file; /* as it is */
	const uint8_t *data;	       /* version 10: file.data, or made of it */
	size_t size;
	size_t whole; /* of those, so many bytes are chunks and the head of the file */
	struct sonde_mapped_file *made; /* what data lies in where that is not `file` */
	SONDE_VEC(struct cff_chunk) chunks;
	const char *path;		    /* borrowed, for findings */
	struct sonde_diagnostics *findings; /* borrowed: where cff_image_open() put what it found */
};

/* What the first bytes of a file look like; false: none of these. */
bool cff_image_recognise(const uint8_t *data, size_t size, enum cff_origin *origin);

/*
 * Maps the file and finds its chunks; nothing is read ahead of that where they are large, until
 * sonde_mapped_file_read_ahead(). What is wrong and leaves something readable goes to
 * `findings` (chunks are found up to the fault); a file that is refused as a whole fails, and is a
 * finding too. `path` and `findings` must outlive the image.
 */
enum sonde_status cff_image_open(struct cff_image *image, const char *path,
				 struct sonde_diagnostics *findings, struct sonde_error *err);
void cff_image_release(struct cff_image *image);

/*
 * An offset in the image as findings have it: one in the file that was opened. Those of a made image
 * mean nothing to whoever has the file.
 */
static inline uint64_t cff_image_offset(const struct cff_image *image, uint64_t offset)
{
	return image->origin == CFF_BINARY ? offset : SONDE_NO_OFFSET;
}

/* What the data of an image lies in. */
static inline const struct sonde_mapped_file *cff_image_mapping(const struct cff_image *image)
{
	return image->made ? image->made : &image->file;
}

/* A chunk was read and will hardly be read again. */
static inline void cff_image_leave(const struct cff_image *image, struct sonde_trail *trail,
				   uint32_t chunk)
{
	const struct cff_chunk *left = &image->chunks.items[chunk];

	sonde_mapped_file_leave(cff_image_mapping(image), trail, (size_t)left->offset,
				(size_t)left->offset + left->length);
}

/* One part of a chunk; `data` is NULL where it does not lie within the chunk as far as it is there. */
struct cff_part {
	uint32_t type;
	uint32_t size;	 /* without padding */
	uint64_t offset; /* in the image */
	const uint8_t *data;
};

uint32_t cff_chunk_part_count(const struct cff_image *image, const struct cff_chunk *chunk);
struct cff_part cff_chunk_part(const struct cff_image *image, const struct cff_chunk *chunk,
			       uint32_t number);

/*
 * An event buffer, also one that goes past its chunk: of that, the whole words that are there. Its
 * `data` is never NULL.
 */
struct cff_part cff_chunk_events(const struct cff_image *image, const struct cff_chunk *chunk,
				 const struct cff_part *part);

/* A u32 of a chunk's header, by its CFF_CHUNK_* offset. */
uint32_t cff_chunk_field(const struct cff_image *image, const struct cff_chunk *chunk,
			 unsigned int field);

/*
 * Makers of an image, each in its own file. They append the version 10 form of `input` to `out`,
 * which becomes the image; what is wrong goes to findings, with offsets in `input`.
 */
struct cff_maker {
	const struct sonde_mapped_file *file; /* what the input lies in */
	const uint8_t *input;
	size_t size;
	const char *path;
	struct sonde_diagnostics *findings;
	struct sonde_output *out; /* a file without a name */
};

enum sonde_status cff_make_from_json(const struct cff_maker *maker, struct sonde_error *err);
enum sonde_status cff_make_from_legacy(const struct cff_maker *maker, struct sonde_error *err);
enum sonde_status cff_make_from_calls(const struct cff_maker *maker, struct sonde_error *err);

/* How JSON is written; bits. */
enum cff_json_style {
	CFF_JSON_PARTIAL = 1, /* a fragment a line instead of one document */
	CFF_JSON_SPEC = 2,    /* the document's spelling instead of the existing program's */
	CFF_JSON_EVENTS = 4,  /* json_event_buffer, to be edited, instead of base64 */
};

/* Writes a version 10 image as JSON. What JSON cannot say (gaps between parts) is counted in loss. */
struct sonde_loss;
enum sonde_status cff_image_write_json(const struct cff_image *image, unsigned int style,
				       struct sonde_output *out, struct sonde_loss *loss,
				       struct sonde_error *err);

#endif
