/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, offsets and numbers of wtf-trace files (the Chunked File Format), binary version 10.
 * Sections named are those of the format's document. All values are little-endian.
 */
#ifndef SONDE_CFF_LAYOUT_H
#define SONDE_CFF_LAYOUT_H

#include <stdint.h>

/* File Layout / Binary. */
#define CFF_MAGIC 0xDEADBEEFu /* the bytes EF BE AD DE; legacy files are big-endian: DE AD BE EF */
#define CFF_VERSION 10u
#define CFF_LEGACY_VERSION 3u
#define CFF_FILE_MAGIC 0
#define CFF_FILE_WTF_VERSION 4
#define CFF_FILE_VERSION 8
#define CFF_FILE_SIZE 12

/* Chunks / Binary. */
#define CFF_CHUNK_ID 0
#define CFF_CHUNK_TYPE 4
#define CFF_CHUNK_LENGTH 8 /* with this header */
#define CFF_CHUNK_START 12
#define CFF_CHUNK_END 16
#define CFF_CHUNK_PARTS 20
#define CFF_CHUNK_SIZE 24
#define CFF_PART_TYPE 0
#define CFF_PART_OFFSET 4 /* from the end of the list of parts */
#define CFF_PART_LENGTH 8 /* without padding */
#define CFF_PART_SIZE 12
#define CFF_NO_TIME UINT32_MAX

/* Chunk Types. */
#define CFF_CHUNK_FILE_HEADER 0x1u
#define CFF_CHUNK_EVENT_DATA 0x2u

/* Chunk Part Types. */
#define CFF_PART_FILE_HEADER 0x10000u
#define CFF_PART_JSON_EVENTS 0x20000u
#define CFF_PART_LEGACY_EVENTS 0x20001u
#define CFF_PART_EVENTS 0x20002u
#define CFF_PART_STRINGS 0x30000u
#define CFF_PART_BINARY_RESOURCE 0x40000u
#define CFF_PART_STRING_RESOURCE 0x40001u

/* Binary-format Event Buffer: wire id, time in us, arguments in slots of 4 bytes. */
#define CFF_EVENT_WIRE 0
#define CFF_EVENT_TIME 4
#define CFF_EVENT_SIZE 8
#define CFF_WIRE_DEFINE 1u

/* Ordinals of strings, and counts of arrays. */
#define CFF_STRING_NULL UINT32_MAX
#define CFF_STRING_EMPTY (UINT32_MAX - 1)
#define CFF_ARRAY_NULL UINT32_MAX

/* wtf.trace.EventType: classes and flags. */
enum cff_event_class { CFF_CLASS_INSTANCE = 0, CFF_CLASS_SCOPE = 1 };

enum {
	CFF_FLAG_HIGH_FREQUENCY = 2,
	CFF_FLAG_SYSTEM_TIME = 4,
	CFF_FLAG_INTERNAL = 8,
	CFF_FLAG_APPEND_SCOPE = 16,
	CFF_FLAG_BUILTIN = 32,
	CFF_FLAG_APPEND_FLOW = 64,
};

/* Events that mean something to a reader. X(name, text, class, flags, signature) */
#define CFF_BUILTIN_LIST(X)                                                                        \
	X(DEFINE, "wtf.event#define", INSTANCE, 40,                                                \
	  "uint16 wireId, uint16 eventClass, uint32 flags, ascii name, ascii args")                \
	X(DISCONTINUITY, "wtf.trace#discontinuity", INSTANCE, 32, "")                              \
	X(ZONE_CREATE, "wtf.zone#create", INSTANCE, 40,                                            \
	  "uint16 zoneId, ascii name, ascii type, ascii location")                                 \
	X(ZONE_DELETE, "wtf.zone#delete", INSTANCE, 40, "uint16 zoneId")                           \
	X(ZONE_SET, "wtf.zone#set", INSTANCE, 40, "uint16 zoneId")                                 \
	X(SCOPE_ENTER, "wtf.scope#enter", SCOPE, 32, "ascii name")                                 \
	X(SCOPE_ENTER_TRACING, "wtf.scope#enterTracing", SCOPE, 44, "")                            \
	X(SCOPE_LEAVE, "wtf.scope#leave", INSTANCE, 40, "")                                        \
	X(SCOPE_APPEND, "wtf.scope#appendData", INSTANCE, 56, "ascii name, any value")             \
	X(FLOW_BRANCH, "wtf.flow#branch", INSTANCE, 40,                                            \
	  "flowId id, flowId parentId, ascii name, any value")                                     \
	X(FLOW_EXTEND, "wtf.flow#extend", INSTANCE, 40, "flowId id, ascii name, any value")        \
	X(FLOW_TERMINATE, "wtf.flow#terminate", INSTANCE, 40, "flowId id, any value")              \
	X(FLOW_APPEND, "wtf.flow#appendData", INSTANCE, 104, "flowId id, ascii name, any value")   \
	X(MARK, "wtf.trace#mark", INSTANCE, 40, "ascii name, any value")                           \
	X(TIME_STAMP, "wtf.trace#timeStamp", INSTANCE, 32, "ascii name, any value")                \
	X(RANGE_BEGIN, "wtf.timeRange#begin", INSTANCE, 40, "uint32 id, ascii name, any value")    \
	X(RANGE_END, "wtf.timeRange#end", INSTANCE, 40, "uint32 id")                               \
	X(FRAME_START, "timing#frameStart", INSTANCE, 8, "uint32 number")                          \
	X(FRAME_END, "timing#frameEnd", INSTANCE, 8, "uint32 number")

enum cff_builtin {
#define X(name, text, class, flags, signature) CFF_##name,
	CFF_BUILTIN_LIST(X)
#undef X
		CFF_USER, /* any other */
};

/*
 * Ours. A counter is an instance type with this prefix before its name and the signature
 * "float64 value" (which is written as cff_names.h says).
 */
#define CFF_COUNTER_PREFIX "sonde.counter#"

/*
 * Ours: exact times. A binary resource of an event chunk that begins with these 8 bytes holds
 * a u64, nanoseconds that every time of the chunk starts from (0 where the u32 of the events do
 * not wrap), then a u16 for each event of the chunk, in order: nanoseconds beyond its
 * microseconds, 0 to 999. Fewer of them than events: the rest are 0.
 */
#define CFF_TIMES_MAGIC "sondeNS1"
#define CFF_TIMES_BASE 8
#define CFF_TIMES_ITEMS 16

#endif
