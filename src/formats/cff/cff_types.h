/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event types that a file has defined up to some place, by wire id, and how long the arguments
 * of an event are. The state goes through a file from its start: definitions hold across chunks.
 */
#ifndef SONDE_CFF_TYPES_H
#define SONDE_CFF_TYPES_H

#include <sonde/arguments.h>

#include "base/map.h"
#include "base/vec.h"
#include "formats/cff/cff_strings.h"

/*
 * Names and lists of arguments are not longer than this: many events may refer to one text, and
 * each has to be compared.
 */
#define CFF_NAME_LIMIT 4096

/* The event types of CFF_BUILTIN_LIST. */
struct cff_builtin_type {
	const char *name;
	enum cff_event_class class;
	uint32_t flags;
	const char *arguments;
};

extern const struct cff_builtin_type cff_builtin_types[CFF_USER];

/* By name; CFF_USER: none of them. */
enum cff_builtin cff_builtin_find(const char *name);

struct cff_type {
	char *name;
	const char *arguments; /* signature as in the file */
	const struct sonde_signature *signature;
	const char *model_arguments; /* the same in the words of the model: cff_arguments.h */
	const struct cff_field *fields;
	size_t field_count;
	uint32_t flags;
	enum cff_event_class class;
	enum cff_builtin builtin; /* by name, whatever flags say */
	uint32_t fixed_size;	  /* bytes of an event with its head; 0: has arrays, see below */
	uint32_t number;	  /* in cff_types.all */
};

struct cff_types {
	SONDE_VEC(struct cff_type *) all;   /* each name once, in the order of definition */
	SONDE_VEC(struct cff_type *) wires; /* by wire id; NULL: undefined */
	/* private */
	struct sonde_text_map names;
	struct sonde_text_map forms_by_text;
	SONDE_VEC(struct cff_form *) forms; /* each list of arguments once */
};

/* Knows wire id 1, and nothing else. */
enum sonde_status cff_types_init(struct cff_types *types, struct sonde_error *err);
void cff_types_release(struct cff_types *types);

/* What a definition was. */
enum cff_defined {
	CFF_DEFINED_NEW,
	CFF_DEFINED_AGAIN,  /* the same once more, or one more wire id for it */
	CFF_DEFINED_OTHERS, /* the name had another class or other arguments, and keeps them */
};

/* Carries out a wtf.event#define. SONDE_CORRUPT: its signature cannot be understood. */
enum sonde_status cff_types_define(struct cff_types *types, uint32_t wire, uint32_t class,
				   uint32_t flags, const char *name, const char *arguments,
				   enum cff_defined *defined, struct sonde_error *err);

/* The same from the bytes of such an event (its head included), of fixed size and whole. */
enum sonde_status cff_types_define_event(struct cff_types *types, const uint8_t *event,
					 struct cff_strings *strings, enum cff_defined *defined,
					 struct sonde_error *err);

static inline const struct cff_type *cff_types_find(const struct cff_types *types, uint32_t wire)
{
	return wire < types->wires.count ? types->wires.items[wire] : NULL;
}

/*
 * The size of an event, its head included; 0 where it goes past `left` bytes, of which there are at
 * least CFF_EVENT_SIZE.
 */
size_t cff_type_size_slow(const struct cff_type *type, const uint8_t *event, size_t left);

static inline size_t cff_type_size(const struct cff_type *type, const uint8_t *event, size_t left)
{
	if (__builtin_expect(type->fixed_size != 0, 1))
		return type->fixed_size <= left ? type->fixed_size : 0;
	return cff_type_size_slow(type, event, left);
}

#endif
