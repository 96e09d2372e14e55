/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of what makes an image out of JSON, legacy and wtf-calls files; see cff_findings.h. */
#ifndef SONDE_CFF_FINDINGS_JSON_H
#define SONDE_CFF_FINDINGS_JSON_H

/* X(name, id, severity, title, advice) */
#define CFF_JSON_FINDING_LIST(X)                                                                   \
	X(JSON_BROKEN, "cff-json-broken", ERROR, "the JSON is not whole",                          \
	  "everything before this place is read; sonde recover writes it to a new file")           \
	X(JSON_VERSION, "cff-json-version", ERROR, "an unknown format version",                    \
	  "a newer sonde may read it")                                                             \
	X(JSON_WTF_VERSION, "cff-json-wtf-version", ERROR,                                         \
	  "written by a newer program than any known", "it is read as far as it is understood")    \
	X(JSON_OLD, "cff-json-old", NOTE, "the old form of JSON, which holds no readable events",  \
	  "only its header is read")                                                               \
	X(JSON_VALUE, "cff-json-value", WARNING, "a member has a wrong value",                     \
	  "the member is ignored")                                                                 \
	X(JSON_CHUNK_TYPE, "cff-json-chunk-type", NOTE, "a chunk of an unknown type",              \
	  "it is skipped")                                                                         \
	X(JSON_CHUNK_SIZE, "cff-json-chunk-size", ERROR, "a chunk of more than 4 GB",              \
	  "the parts that do not fit are left out; divide them over several chunks")               \
	X(JSON_PART_TYPE, "cff-json-part-type", NOTE, "a part of an unknown type",                 \
	  "it is skipped")                                                                         \
	X(JSON_PART, "cff-json-part", ERROR, "a part without its contents", "it is left out")      \
	X(JSON_MODE, "cff-json-mode", ERROR, "bytes in an unknown encoding", "they are left out")  \
	X(JSON_BASE64, "cff-json-base64", ERROR, "bytes that are not base64",                      \
	  "the bytes before this place are read")                                                  \
	X(JSON_LENGTH, "cff-json-length", ERROR, "byteLength disagrees with the bytes",            \
	  "the bytes that are there are read")                                                     \
	X(JSON_EVENT, "cff-json-event", ERROR, "an event that cannot be understood",               \
	  "it is left out")                                                                        \
	X(JSON_EVENT_TYPE, "cff-json-event-type", ERROR, "an event of an undefined type",          \
	  "it is left out; define the type before it is used")                                     \
	X(JSON_DEFINITION, "cff-json-definition", ERROR, "a definition that cannot be understood", \
	  "events of this type cannot be read")                                                    \
	X(JSON_ARGUMENT, "cff-json-argument", WARNING, "an argument has a wrong value",            \
	  "it is taken as 0, or null")                                                             \
	X(JSON_ARGUMENT_NAME, "cff-json-argument-name", WARNING,                                   \
	  "an argument that the type does not have", "it is ignored")                              \
	X(LEGACY_HEADER, "cff-legacy-header", ERROR, "the header of a legacy file is damaged",     \
	  "what can be read of it is used")                                                        \
	X(LEGACY_EVENT, "cff-legacy-event", ERROR, "an event of a legacy file cannot be read",     \
	  "the events before this place are read")                                                 \
	X(CALLS_HEADER, "cff-calls-header", ERROR, "the header of a wtf-calls file is damaged",    \
	  "functions without a name are named by their number")                                    \
	X(CALLS_VERSION, "cff-calls-version", WARNING, "a wtf-calls file of an unknown version",   \
	  "it is read all the same")                                                               \
	X(CALLS_FUNCTION, "cff-calls-function", WARNING,                                           \
	  "a call of a function that is not listed", "it is named by its number")                  \
	X(CALLS_RECORD, "cff-calls-record", ERROR, "a record of a wtf-calls file cannot be read",  \
	  "it is left out")

#endif
