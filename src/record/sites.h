/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which annotations are where in a process, as its runtime told in the log of modules, and the event
 * types that they have: one for all places and processes with the same name and arguments; a scope
 * has one for each place, since it is also a function with file and line.
 */
#ifndef SONDE_RECORD_SITES_H
#define SONDE_RECORD_SITES_H

#include "base/map.h"
#include "base/vec.h"
#include "record/calls.h"

struct site_type {
	char *name, *signature, *file;
	uint32_t line;
	uint32_t flags; /* of wtf-trace, of which these types are */
	bool is_scope;
	char *key;
};

/* Of a session: the number of a type is its place here. */
struct site_types {
	SONDE_VEC(struct site_type) items;
	struct sonde_text_map numbers; /* by their keys */
};

void site_types_release(struct site_types *types);

/* Of a process. Zeroed means none. */
struct sites {
	SONDE_VEC(struct annotation_site *) items;
	struct sonde_key_map numbers;	   /* by their addresses */
	SONDE_VEC(struct site_part) parts; /* texts that came in part */
	SONDE_VEC(uint32_t) scopes;	   /* types of scopes that it has, each once */
	struct sonde_key_map scopes_met;
	struct annotation_site *mark; /* of sonde_record_mark() */
};

void sites_release(struct sites *sites);

/* An entry of the log: MODULE_SITE. The same one again changes nothing. */
enum sonde_status sites_apply(struct sites *sites, struct site_types *types,
			      const struct shared_module *entry, struct sonde_error *err);

/* The site at an address at a moment, in ticks; NULL where none is known. */
const struct annotation_site *sites_find(const struct sites *sites, uint64_t address,
					 uint64_t ticks);

/* That of sonde_record_mark(); NULL where memory is out. */
const struct annotation_site *sites_mark(struct sites *sites, struct site_types *types);

/* The process has this scope open, which its parent began. */
enum sonde_status sites_note_scope(struct sites *sites, uint64_t function_id,
				   struct sonde_error *err);

#endif
