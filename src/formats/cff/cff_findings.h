/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be found wrong with a file of the wtf-trace family: one list of stable ids.
 * What existing strict readers refuse is an error; what they think nothing of is a note.
 */
#ifndef SONDE_CFF_FINDINGS_H
#define SONDE_CFF_FINDINGS_H

#include <sonde/diagnostics.h>

#include "formats/cff/cff_findings_json.h"

#define CFF_ADVICE_RECOVER "sonde recover writes a good copy with every whole chunk"
#define CFF_ADVICE_READ "it is read all the same"
#define CFF_ADVICE_EVENTS                                                                          \
	"the events of the chunk before this place are kept, as sonde recover does"

/* X(name, id, severity, title, advice) */
#define CFF_FINDING_LIST(X)                                                                        \
	/* the file */                                                                             \
	X(REFUSED, "cff-refused", ERROR, "the file cannot be read", "see what was found")          \
	X(MAGIC, "cff-magic", ERROR, "the file does not start like a wtf-trace file",              \
	  "give a .wtf-trace, .wtf-json or .wtf-calls file")                                       \
	X(VERSION, "cff-version", ERROR, "unknown format version", "only version 10 is known")     \
	X(SIZE, "cff-size", ERROR, "the size of the file is not possible", CFF_ADVICE_RECOVER)     \
	X(TRAILING, "cff-trailing", ERROR, "bytes after the last chunk", CFF_ADVICE_RECOVER)       \
	/* chunks */                                                                               \
	X(CHUNK_LENGTH, "cff-chunk-length", ERROR, "a chunk has an impossible length",             \
	  "what follows is not read; sonde recover looks for chunks behind it")                    \
	X(CHUNK_CUT, "cff-chunk-cut", ERROR, "the file ends within a chunk", CFF_ADVICE_RECOVER)   \
	X(CHUNK_PARTS, "cff-chunk-parts", ERROR, "a chunk has more parts than it has room for",    \
	  "the chunk is skipped")                                                                  \
	X(CHUNK_TYPE, "cff-chunk-type", ERROR, "a chunk of an unknown type", "it is skipped")      \
	X(CHUNK_TIMES, "cff-chunk-times", ERROR, "a chunk starts after its end", CFF_ADVICE_READ)  \
	/* parts */                                                                                \
	X(PART_OUTSIDE, "cff-part-outside", ERROR, "a part goes past its chunk",                   \
	  "the part is left out")                                                                  \
	X(PART_TYPE, "cff-part-type", ERROR, "a part of an unknown type", "it is skipped")         \
	X(PART_SECOND, "cff-part-second", NOTE, "a chunk has more than one part of this type",     \
	  "the last one is taken, as the existing reader does")                                    \
	X(EVENTS_MISSING, "cff-events-missing", ERROR, "an event chunk without an event buffer",   \
	  "there is nothing to read in it")                                                        \
	X(EVENTS_FORM, "cff-events-form", ERROR,                                                   \
	  "an event buffer of a form not known in a binary file", "its events are not read")       \
	X(EVENTS_LENGTH, "cff-events-length", ERROR,                                               \
	  "the length of an event buffer is not a multiple of 4", CFF_ADVICE_READ)                 \
	X(STRINGS_END, "cff-strings-end", NOTE, "a string table does not end with a NUL",          \
	  CFF_ADVICE_READ)                                                                         \
	X(TIMES_RESOURCE, "cff-times-resource", ERROR,                                             \
	  "a resource of exact times has a wrong form",                                            \
	  "times of the chunk are taken from its events alone")                                    \
	/* the header */                                                                           \
	X(HEADER_MISSING, "cff-header-missing", ERROR, "no file header chunk",                     \
	  "the timebase is taken to be 0")                                                         \
	X(HEADER_LATE, "cff-header-late", NOTE, "the file header is not the first chunk",          \
	  CFF_ADVICE_READ)                                                                         \
	X(HEADER_SECOND, "cff-header-second", NOTE, "more than one file header",                   \
	  "the last one is taken")                                                                 \
	X(HEADER_JSON, "cff-header-json", ERROR, "the file header is not JSON",                    \
	  "what was read of it is kept")                                                           \
	X(HEADER_TIMEBASE, "cff-header-timebase", ERROR, "the file header has no timebase",        \
	  "it is taken to be 0")                                                                   \
	X(HEADER_VALUE, "cff-header-value", NOTE, "a member of the file header has an odd value",  \
	  CFF_ADVICE_READ)                                                                         \
	/* events */                                                                               \
	X(EVENT_UNDEFINED, "cff-event-undefined", ERROR, "an event whose type is not defined",     \
	  CFF_ADVICE_EVENTS)                                                                       \
	X(EVENT_PAST_END, "cff-event-past-end", ERROR, "an event goes past its buffer",            \
	  CFF_ADVICE_EVENTS)                                                                       \
	X(EVENT_ZONE, "cff-event-zone", ERROR, "an event in a zone that was not created",          \
	  CFF_ADVICE_EVENTS)                                                                       \
	X(EVENT_TIME, "cff-event-time", NOTE, "times of a zone go back", CFF_ADVICE_READ)          \
	X(ZONE_UNKNOWN, "cff-zone-unknown", NOTE, "a zone is made current that was not created",   \
	  "an event in it would be an error")                                                      \
	X(DEFINE, "cff-define", ERROR, "the definition of an event type cannot be understood",     \
	  "events of this type cannot be read")                                                    \
	X(DEFINE_OTHERS, "cff-define-others", ERROR,                                               \
	  "an event type is defined again with another class or other arguments",                  \
	  "the first definition is kept, as the existing reader does")                             \
	X(BUILTIN, "cff-builtin", WARNING, "a builtin event type with other arguments",            \
	  "its events are shown, but not carried out")                                             \
	X(SCOPE_LEAVE, "cff-scope-leave", NOTE, "a scope is left that was not entered",            \
	  CFF_ADVICE_READ)                                                                         \
	X(STRING_ORDINAL, "cff-string-ordinal", NOTE,                                              \
	  "a text that the string table does not have",                                            \
	  "it is read as null, as the existing reader does")                                       \
	X(ANY_JSON, "cff-any-json", ERROR, "a value of type any is not JSON",                      \
	  "it is handed out as it is; sonde recover makes it null")                                \
	/* ours */                                                                                 \
	X(DEFINITIONS, "cff-definitions", WARNING,                                                 \
	  "the definitions that sonde wrote into the file are damaged or gone",                    \
	  "the file is read as one of another program")                                            \
	X(INDEX_WRONG, "cff-index-wrong", ERROR, "the index in the file is wrong",                 \
	  "sonde recover writes a copy without it")                                                \
	X(INDEX, "cff-index", WARNING, "the index in the file cannot be used",                     \
	  "the whole file is read instead; sonde recover drops the index")                         \
	/* recovery */                                                                             \
	X(RECOVER_GAP, "cff-recover-gap", ERROR, "bytes without a chunk", "they are dropped")      \
	X(RECOVER_HEADER, "cff-recover-header", WARNING, "the file header was lost",               \
	  "a new one with timebase 0 was made: times have no date")                                \
	CFF_JSON_FINDING_LIST(X)

enum cff_finding {
#define X(name, id, severity, title, advice) CFF_FINDING_##name,
	CFF_FINDING_LIST(X)
#undef X
		CFF_FINDING_COUNT
};

extern const struct sonde_finding_type cff_finding_types[CFF_FINDING_COUNT];
extern const struct sonde_finding_type *const cff_finding_list[CFF_FINDING_COUNT + 1];

/* sonde_diagnostics_add() by the name of the finding. */
#define CFF_FIND(diagnostics, name, file, offset, ...)                                             \
	sonde_diagnostics_add(diagnostics, &cff_finding_types[CFF_FINDING_##name], file, offset,   \
			      __VA_ARGS__)

#endif
