/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds its way in a large JSON document without reading all of it: where the members of an object
 * are, and where a value ends. Nothing is checked beyond that; who reads a value checks it.
 */
#ifndef SONDE_SPEEDSCOPE_SCAN_H
#define SONDE_SPEEDSCOPE_SCAN_H

#include "base/file.h"

struct speedscope_scan {
	const struct sonde_mapped_file *file;
	const char *data;
	size_t size;
	size_t passed; /* pages before this were let go */
};

void speedscope_scan_init(struct speedscope_scan *scan, const struct sonde_mapped_file *file);

/* Pages before this place are let go, now and then. */
void speedscope_scan_pass(struct speedscope_scan *scan, size_t position);

/* The first place from here on that is no white space; the size where there is none. */
size_t speedscope_scan_blank(const struct speedscope_scan *scan, size_t position);

/* The place behind the value that starts here; the size where it has no end. */
size_t speedscope_scan_value(struct speedscope_scan *scan, size_t position);

struct speedscope_member {
	const char *key; /* as it is written, without quotes */
	size_t length;
	size_t value; /* where its value starts */
};

/* The way through the members of an object, or the elements of an array (which have no key). */
struct speedscope_walk {
	struct speedscope_scan *scan;
	size_t position;
	bool is_object;
	bool is_broken; /* it ended without a closing bracket */
};

/* Of the value that starts at `position`; false where that is neither object nor array. */
bool speedscope_walk_begin(struct speedscope_walk *walk, struct speedscope_scan *scan,
			   size_t position);
/* The next one; false behind the last one, and where this is no JSON any more. */
bool speedscope_walk_next(struct speedscope_walk *walk, struct speedscope_member *member);
/* Goes on behind its value. To be done after each one. */
void speedscope_walk_skip(struct speedscope_walk *walk, const struct speedscope_member *member);

bool speedscope_member_is(const struct speedscope_member *member, const char *key);

#endif
