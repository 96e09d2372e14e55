/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the fields of Perfetto's trace messages, as far as they are read or written here; see
 * protos/perfetto/trace in Perfetto's sources. Those that begin with OWN are ours: from 1000 on, which
 * other readers pass over.
 */
#ifndef SONDE_PERFETTO_LAYOUT_H
#define SONDE_PERFETTO_LAYOUT_H

enum { TRACE_PACKET = 1 };

/* TracePacket */
enum {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_SYNCHRONISATION = 36,
	PACKET_STATE_CLEARED = 41,
	PACKET_PREVIOUS_DROPPED = 42,
	PACKET_PROCESS = 43,
	PACKET_THREAD = 44,
	PACKET_SYSTEM_INFO = 45,
	PACKET_COMPRESSED = 50,
	PACKET_STREAMING_PROFILE = 54,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_PERF_SAMPLE = 66,
};

/* Bits of PACKET_FLAGS */
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };

/* ClockSnapshot, its clocks, and the clocks that have a number for all */
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2 };
enum { CLOCK_NUMBER = 1, CLOCK_TIME = 2, CLOCK_INCREMENTAL = 3, CLOCK_MULTIPLIER = 4 };
enum {
	BUILTIN_REALTIME = 1,
	BUILTIN_MONOTONIC = 3,
	BUILTIN_BOOTTIME = 6,
	FIRST_SEQUENCE_CLOCK = 64, /* to 127: known in their sequence only */
	LAST_SEQUENCE_CLOCK = 127,
};

/* SystemInfo and its utsname */
enum { SYSTEM_UTSNAME = 1, SYSTEM_TRACER = 4, SYSTEM_OWN_ATTRIBUTE = 1010 };
enum { UTSNAME_SYSTEM = 1, UTSNAME_MACHINE = 4 };

/* An attribute of ours: a name, and its value as JSON */
enum { OWN_ATTRIBUTE_NAME = 1, OWN_ATTRIBUTE_VALUE = 2 };

/* TrackDescriptor, ProcessDescriptor, ThreadDescriptor, CounterDescriptor */
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_STATIC_NAME = 10,
	TRACK_ATRACE_NAME = 13,
	TRACK_OWN_KIND = 1000,
	TRACK_OWN_ID = 1001, /* the id that the system gave, plus one; absent where unknown */
	TRACK_OWN_UNFINISHED = 1002,
	TRACK_OWN_DROPPED = 1003,
	TRACK_OWN_START = 1004,
	TRACK_OWN_END = 1005,
	TRACK_OWN_ARCH = 1006,
	TRACK_OWN_OS = 1007,
	TRACK_OWN_NAME_MADE_UP = 1008,
	TRACK_OWN_ATTRIBUTE = 1010,
};
enum { PROCESS_PID = 1, PROCESS_COMMAND = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5, THREAD_REFERENCE_US = 6 };
enum { COUNTER_TYPE = 1, COUNTER_MULTIPLIER = 4, COUNTER_INCREMENTAL = 5 };

/* TracePacketDefaults (numbers as in TracePacket) and TrackEventDefaults (as in TrackEvent) */

/* TrackEvent */
enum {
	EVENT_DELTA_US = 1,
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_LEGACY = 6,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_EXTRA_VALUES = 12,
	EVENT_ABSOLUTE_US = 16,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_EXTRA_TRACKS = 31,
	EVENT_LOCATION = 33,
	EVENT_LOCATION_IID = 34,
	EVENT_FLOW_OLD = 36,
	EVENT_FLOW_END_OLD = 42,
	EVENT_COUNTER_DOUBLE = 44,
	EVENT_EXTRA_DOUBLE_TRACKS = 45,
	EVENT_EXTRA_DOUBLES = 46,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* LegacyEvent */
enum {
	LEGACY_NAME_IID = 1,
	LEGACY_PHASE = 2,
	LEGACY_DURATION_US = 3,
	LEGACY_ID = 6,
	LEGACY_BIND_ID = 8,
	LEGACY_LOCAL_ID = 10,
	LEGACY_GLOBAL_ID = 11,
	LEGACY_DIRECTION = 13,
	LEGACY_PID = 18,
	LEGACY_TID = 19,
};

/* DebugAnnotation and its NestedValue */
enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NESTED = 8,
	ANNOTATION_JSON = 9,
	ANNOTATION_NAME = 10,
	ANNOTATION_ENTRY = 11, /* of a dictionary */
	ANNOTATION_ITEM = 12,  /* of an array */
	ANNOTATION_STRING_IID = 17,
};
enum {
	NESTED_TYPE = 1,
	NESTED_KEY = 2,
	NESTED_ENTRY = 3,
	NESTED_ITEM = 4,
	NESTED_INT = 5,
	NESTED_DOUBLE = 6,
	NESTED_BOOL = 7,
	NESTED_STRING = 8,
};
enum { NESTED_TYPE_DICTIONARY = 1, NESTED_TYPE_ARRAY = 2 };

/* InternedData; all its entries have IID, most of them a text */
enum {
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ANNOTATION_NAME = 3,
	INTERNED_LOCATION = 4,
	INTERNED_FUNCTION_NAME = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_MAPPING_PATH = 17,
	INTERNED_SOURCE_PATH = 18,
	INTERNED_MAPPING = 19,
	INTERNED_ANNOTATION_STRING = 29,
};
enum { IID = 1, INTERNED_TEXT = 2 };
enum { NAME_OWN_FILE = 1000, NAME_OWN_LINE, NAME_OWN_MODULE, NAME_OWN_RAW, NAME_OWN_ADDRESS };
enum { ANNOTATION_NAME_OWN_TYPE = 1000 };
enum { LOCATION_FILE = 2, LOCATION_FUNCTION = 3, LOCATION_LINE = 4 };
enum { MAPPING_PATH = 7 };
enum {
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_ADDRESS = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_OWN_ENTRY = 1000, /* an entry: its kind plus one */
	FRAME_OWN_INLINED = 1001,
	FRAME_OWN_FILE = 1002, /* of the function, as FRAME_SOURCE */
	FRAME_OWN_LINE = 1003,
	FRAME_OWN_WHOLE = 1004, /* it is in the function as a whole: its line is the function's */
};
enum { CALLSTACK_FRAME = 2 };

/* PerfSample, StreamingProfilePacket */
enum { SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_CALLSTACK = 4 };
enum { STREAMING_CALLSTACK = 1, STREAMING_DELTA_US = 2 };

/* ProcessTree and what is in it */
enum { TREE_PROCESS = 1, TREE_THREAD = 2 };
enum { TREE_PROCESS_PID = 1, TREE_PROCESS_COMMAND = 3 };
enum { TREE_THREAD_TID = 1, TREE_THREAD_NAME = 2, TREE_THREAD_PID = 3 };

/* What SYSTEM_TRACER begins with in files that sonde wrote. */
#define PERFETTO_OWN_TRACER "sonde "

/* Ids from here on stand for those that are not known, or are taken: no system gives so large ones. */
#define PERFETTO_MADE_ID 0x40000000u

/* The categories of what Perfetto has no type for, and an annotation, in files that sonde wrote. */
#define PERFETTO_MARK "mark"
#define PERFETTO_RANGE "range"
#define PERFETTO_FLOW_BEGIN "flow-begin"
#define PERFETTO_FLOW_STEP "flow-step"
#define PERFETTO_FLOW_END "flow-end"
#define PERFETTO_EXCEPTION "exception"

#endif
