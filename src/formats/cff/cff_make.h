/* SPDX-License-Identifier: Apache-2.0 */
/* What the makers of an image share: the head of a version 10 file, and chunks with their parts. */
#ifndef SONDE_CFF_MAKE_H
#define SONDE_CFF_MAKE_H

#include "base/buffer.h"
#include "formats/cff/cff_image.h"

/* The newest version of the existing program, a date in ms; files hold its low 32 bits. */
#define CFF_WTF_VERSION UINT64_C(1436947200000)

struct cff_made_part {
	uint32_t type;
	const void *bytes; /* as they are; NULL: decoded from base64 */
	size_t size;
	const char *base64;
	size_t base64_length;
	uint64_t offset; /* of the base64 in the input, for findings */
};

struct cff_made_chunk {
	uint32_t id, type;
	uint32_t start, end; /* or CFF_NO_TIME */
	const struct cff_made_part *parts;
	size_t part_count;
	uint64_t offset; /* in the input, for findings */
};

enum sonde_status cff_make_head(const struct cff_maker *maker, uint32_t wtf_version,
				struct sonde_error *err);

/* Appends a chunk, parts one after the other, padded with zeros, without gaps. */
enum sonde_status cff_make_chunk(const struct cff_maker *maker, const struct cff_made_chunk *chunk,
				 struct sonde_error *err);

/* A chunk with nothing but a file header, which is this JSON. */
enum sonde_status cff_make_header_chunk(const struct cff_maker *maker,
					const struct sonde_buffer *json, struct sonde_error *err);

/* Whether a text is one JSON value, an object: SONDE_OK, or what is wrong, or SONDE_NOMEM. */
enum sonde_status cff_check_json_object(const char *text, size_t length);

#endif
