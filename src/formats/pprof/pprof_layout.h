/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the fields in messages of pprof's profile.proto. */
#ifndef SONDE_FORMATS_PPROF_LAYOUT_H
#define SONDE_FORMATS_PPROF_LAYOUT_H

enum pprof_profile_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING_TABLE = 6,
	PPROF_DROP_FRAMES = 7,
	PPROF_KEEP_FRAMES = 8,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_SAMPLE_TYPE = 14,
};

enum pprof_value_type_field { PPROF_TYPE = 1, PPROF_UNIT = 2 };

enum pprof_sample_field { PPROF_LOCATION_ID = 1, PPROF_VALUE = 2, PPROF_LABEL = 3 };

enum pprof_label_field {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_TEXT = 2,
	PPROF_LABEL_NUMBER = 3,
	PPROF_LABEL_UNIT = 4,
};

enum pprof_mapping_field {
	PPROF_MAPPING_ID = 1,
	PPROF_MEMORY_START = 2,
	PPROF_MEMORY_LIMIT = 3,
	PPROF_FILE_OFFSET = 4,
	PPROF_MAPPING_FILE = 5,
	PPROF_BUILD_ID = 6,
	PPROF_HAS_FUNCTIONS = 7,
	PPROF_HAS_FILE_NAMES = 8,
	PPROF_HAS_LINE_NUMBERS = 9,
	PPROF_HAS_INLINE_FRAMES = 10,
};

enum pprof_location_field {
	PPROF_LOCATION_OWN_ID = 1,
	PPROF_LOCATION_MAPPING = 2,
	PPROF_ADDRESS = 3,
	PPROF_LINE = 4,
	PPROF_IS_FOLDED = 5,
};

enum pprof_line_field { PPROF_LINE_FUNCTION = 1, PPROF_LINE_NUMBER = 2, PPROF_LINE_COLUMN = 3 };

enum pprof_function_field {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILE = 4,
	PPROF_START_LINE = 5,
};

/* What sonde calls metrics there, and labels. */
#define PPROF_TIME "time"
#define PPROF_CALLS "calls"
#define PPROF_COUNT "count"
#define PPROF_NANOSECONDS "nanoseconds"
#define PPROF_WRITTEN_BY "written by sonde " /* a comment; behind it the version */
#define PPROF_LABEL_THREAD "thread"
#define PPROF_LABEL_THREAD_ID "thread_id"
#define PPROF_LABEL_PROCESS "process"
#define PPROF_LABEL_PROCESS_ID "pid"
#define PPROF_LABEL_ENTRY "entry"
#define PPROF_LABEL_UNNAMED "unnamed_thread" /* 1: the name of the thread is made up */
#define PPROF_LABEL_TRACK "track"	     /* a number, of threads that have no id */

#endif
