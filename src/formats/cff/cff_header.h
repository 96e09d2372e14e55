/* SPDX-License-Identifier: Apache-2.0 */
/* The file header: one JSON object, whose members become attributes of the recording. */
#ifndef SONDE_CFF_HEADER_H
#define SONDE_CFF_HEADER_H

#include <sonde/definitions.h>

#include "formats/cff/cff_image.h"

struct cff_member {
	char *name;
	char *value; /* JSON */
};

struct cff_header {
	bool is_there; /* in a chunk that begins with an object */
	uint32_t chunk, part;
	bool is_whole;	 /* it is JSON, and has a timebase */
	double timebase; /* milliseconds; 0 where there is none */
	char *title;	 /* of the context, or its uri; NULL: none */
	bool is_ours;	 /* metadata.sonde is there, and of a version known here */
	uint64_t origin_ns;
	SONDE_VEC(struct cff_member) members;
};

/* Reads the last header of an image. What is wrong is a finding, and leaves what could be read. */
enum sonde_status cff_header_read(struct cff_header *header, const struct cff_image *image,
				  struct sonde_diagnostics *findings, struct sonde_error *err);
void cff_header_release(struct cff_header *header);

/* A process named after the title, a clock, an anchor where the timebase is a date, attributes. */
enum sonde_status cff_header_define(const struct cff_header *header,
				    struct sonde_definitions *definitions, struct sonde_error *err);

#endif
