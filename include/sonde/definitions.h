/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions of a recording: strings, processes, tracks, modules, functions and the rest.
 * Each kind is numbered densely from 0, so that a table about it is an array. Definitions may
 * still be added while events are read (a function met for the first time): ids stay valid, and
 * pointers to definitions stay valid until the definitions are freed.
 */
#ifndef SONDE_DEFINITIONS_H
#define SONDE_DEFINITIONS_H

#include <stdbool.h>

#include <sonde/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "No such thing" wherever a u32 id or number stands. */
#define SONDE_NONE UINT32_MAX

struct sonde_definitions;

enum sonde_arch { SONDE_ARCH_UNKNOWN, SONDE_ARCH_X86_64, SONDE_ARCH_ARM64 };

enum sonde_os {
	SONDE_OS_UNKNOWN,
	SONDE_OS_IOS,
	SONDE_OS_ANDROID,
	SONDE_OS_MACOS,
	SONDE_OS_LINUX,
	SONDE_OS_WINDOWS,
};

enum sonde_clock_kind {
	SONDE_CLOCK_UNKNOWN,
	SONDE_CLOCK_MACH_CONTINUOUS,
	SONDE_CLOCK_QPC,
	SONDE_CLOCK_BOOTTIME,
	SONDE_CLOCK_MONOTONIC,
	SONDE_CLOCK_REALTIME,
};

enum sonde_track_kind { SONDE_TRACK_THREAD, SONDE_TRACK_GPU_STREAM, SONDE_TRACK_ZONE };

/* What an attribute or an anchor belongs to. */
enum sonde_owner {
	SONDE_OWNER_RECORDING,
	SONDE_OWNER_PROCESS,
	SONDE_OWNER_TRACK,
	SONDE_OWNER_MODULE,
	SONDE_OWNER_FUNCTION,
};

/* In all structs below `name`, `path` and the like are string ids; string 0 is "". */

struct sonde_process {
	uint32_t name;
	uint32_t os_id; /* pid; SONDE_NONE where unknown */
	uint32_t clock; /* clock id of every time in this process */
	enum sonde_arch arch;
	enum sonde_os os;
	uint64_t start_ns; /* when its recording began and ended, as the recorder said; */
	uint64_t end_ns;   /* both 0 where it did not say */
};

struct sonde_track {
	uint32_t process;
	uint32_t name;
	uint32_t slot;	/* small number of the track within its process */
	uint64_t os_id; /* thread id; UINT64_MAX where unknown */
	enum sonde_track_kind kind;
	bool unfinished;	/* the recorder did not close this track: its end may be lost */
	bool name_made_up;	/* by a reader: the recording does not say how it is called */
	uint64_t event_count;	/* as far as readable */
	uint64_t time_first_ns; /* of the first event or sample; 0 where there is none */
	uint64_t time_last_ns;	/* of the last one; 0 where there is none */
	uint64_t detail_count;
	uint64_t sample_count;
	uint64_t dropped_events; /* the recorder said it lost these */
};

struct sonde_module {
	uint32_t process;
	uint32_t path;
	uint32_t uuid;
	bool has_key;
	uint64_t key; /* the format's own id, where has_key */
	uint64_t base_address;
	uint64_t size;
};

struct sonde_function {
	uint32_t process;
	uint32_t module;   /* SONDE_NONE where unknown */
	uint32_t name;	   /* as shown; 0 where unknown */
	uint32_t raw_name; /* before demangling; 0 where the same as name */
	uint32_t file;	   /* source file; 0 where unknown */
	uint32_t line;
	bool has_key;
	uint64_t key;	  /* the format's own id, unique in its process, where has_key */
	uint64_t address; /* of its first instruction, in the module's file; 0 where unknown */
};

/* A typed argument list is text: "uint32 size, utf8 name". */
struct sonde_event_type {
	uint32_t name;
	uint32_t arguments;
	uint32_t flags; /* the format's own */
	bool is_scope;
};

/*
 * What a value counts. The same name with another scope or statistic is another metric: "point" is
 * what was measured in a context itself, "execution" what was measured in it and below, "function"
 * the same without calls, "lex_aware" that for a loop without the loops in it.
 */
struct sonde_metric {
	uint32_t name; /* as the tool that measured it wrote it: "CPUTIME (sec)" */
	uint32_t unit; /* 0 where only the name says it */
	uint32_t description;
	uint32_t scope;	    /* "point", "function", "lex_aware", "execution" ... as a string */
	uint32_t statistic; /* over the tracks: "sum", "min", "max" ...; 0: values of one track */
	bool hidden;	    /* not meant to be shown unless it is asked for */
};

struct sonde_clock {
	uint32_t name;
	enum sonde_clock_kind kind;
};

/* The same moment on a recording's clock and on the wall clock. */
struct sonde_anchor {
	uint32_t clock;
	uint64_t clock_ns;
	uint64_t realtime_ns; /* since 1970-01-01 UTC */
};

/* A named value about something; `value` is JSON text, so that every type survives. */
struct sonde_attribute {
	enum sonde_owner owner;
	uint32_t owner_id;
	uint32_t name;
	uint32_t value;
};

/* Every kind that is added and looked up in the same way. */
#define SONDE_DEFINITION_LIST(X)                                                                   \
	X(process)                                                                                 \
	X(track)                                                                                   \
	X(module)                                                                                  \
	X(function)                                                                                \
	X(event_type)                                                                              \
	X(metric)                                                                                  \
	X(clock)                                                                                   \
	X(anchor)                                                                                  \
	X(attribute)

struct sonde_definitions *sonde_definitions_new(void);
void sonde_definitions_free(struct sonde_definitions *definitions);

/*
 * For each kind, here for `function`:
 *  sonde_definitions_add_function()   copies *value, gives its id; safe from several threads
 *  sonde_definitions_function()       borrows; NULL where the id is out of range
 *  sonde_definitions_function_count() how many there are now
 */
#define X(kind)                                                                                    \
	enum sonde_status sonde_definitions_add_##kind(struct sonde_definitions *definitions,      \
						       const struct sonde_##kind *value,           \
						       uint32_t *id, struct sonde_error *err);     \
	const struct sonde_##kind *sonde_definitions_##kind(                                       \
		const struct sonde_definitions *definitions, uint32_t id);                         \
	uint32_t sonde_definitions_##kind##_count(const struct sonde_definitions *definitions);
SONDE_DEFINITION_LIST(X)
#undef X

/* Interns a string: equal text gives an equal id. NUL bytes inside are not allowed. */
enum sonde_status sonde_definitions_add_string(struct sonde_definitions *definitions,
					       const char *text, size_t length, uint32_t *id,
					       struct sonde_error *err);

/* The text of a string id, "" for an unknown id; borrowed. */
const char *sonde_definitions_string(const struct sonde_definitions *definitions, uint32_t id);

/*
 * What to call a function or a track on a screen: its name, or something made up of its numbers
 * ("0x7506790500000002", "thread 3") written into `space`. Never NULL.
 */
#define SONDE_LABEL_SIZE 32
const char *sonde_definitions_function_label(const struct sonde_definitions *definitions,
					     uint32_t function, char space[SONDE_LABEL_SIZE]);
const char *sonde_definitions_track_label(const struct sonde_definitions *definitions,
					  uint32_t track, char space[SONDE_LABEL_SIZE]);

/* First attribute of that owner and name; its JSON text, or NULL. Borrowed. */
const char *sonde_definitions_find_attribute(const struct sonde_definitions *definitions,
					     enum sonde_owner owner, uint32_t owner_id,
					     const char *name);

/* Lower-case words for files and screens ("x86_64", "boottime"); never NULL. */
const char *sonde_arch_name(enum sonde_arch arch);
const char *sonde_os_name(enum sonde_os os);
const char *sonde_clock_kind_name(enum sonde_clock_kind kind);

#ifdef __cplusplus
}
#endif

#endif
