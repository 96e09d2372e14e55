/* SPDX-License-Identifier: Apache-2.0 */
/* The formats this library speaks, and what can be done to a file without opening it as a recording. */
#ifndef SONDE_FORMAT_H
#define SONDE_FORMAT_H

#include <sonde/pipeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One way to write a format: a word, and what it does. One that ends in '=' takes a value behind it. */
struct sonde_format_style {
	const char *word;
	const char *help;
};

/*
 * What a format may hold of those who took part, and of details, beside the lanes. What a target does not
 * hold a pipeline counts as lost, under this name; the last three its writer does, which knows better.
 */
#define SONDE_FACT_LIST(X)                                                                         \
	X(PROCESS_IDS, 0, "ids of processes")                                                      \
	X(MACHINES, 1, "machines of processes")                                                    \
	X(CLOCKS, 2, "clocks of processes")                                                        \
	X(TRACK_NAMES, 3, "names of tracks")                                                       \
	X(TRACK_IDS, 4, "ids of threads")                                                          \
	X(ZONES, 5, "zones")                                                                       \
	X(STREAMS, 6, "GPU streams")                                                               \
	X(MODULES, 7, "modules of functions")                                                      \
	X(MODULE_PLACES, 8, "build ids and places of modules")                                     \
	X(SOURCE_PLACES, 9, "source places of functions")                                          \
	X(RAW_NAMES, 10, "names before demangling")                                                \
	X(DROPPED, 11, "numbers of dropped events")                                                \
	X(ATTRIBUTES, 12, "attributes")                                                            \
	X(REGISTERS, 13, "registers and stack bytes")                                              \
	X(ANY_ARGUMENTS, 14, "arguments of returns, and of calls that are no scopes")

enum sonde_fact {
#define X(name, bit, text) SONDE_FACT_##name = 1 << (bit),
	SONDE_FACT_LIST(X)
#undef X
};

#define SONDE_FACTS_ALL ((1U << 15) - 1)

/* Kinds of events as bits. */
#define SONDE_KIND(name) (1U << SONDE_EVENT_##name)
#define SONDE_KINDS_CALLS (SONDE_KIND(CALL) | SONDE_KIND(RETURN))
#define SONDE_KINDS_ALL ((1U << SONDE_EVENT_KIND_COUNT) - 1)

/* What the outside may know of a format. */
struct sonde_format_info {
	const char *name;	    /* "atf" */
	const char *title;	    /* "ADA Trace Format v2" */
	const char *shape;	    /* "folder", "file": what a recording of it is on disk */
	unsigned int lanes_read;    /* bits of enum sonde_lane; 0: not read */
	unsigned int lanes_written; /* likewise */
	/*
	 * What of the events, and which facts, it holds: SONDE_KIND() and enum sonde_fact. Events of
	 * other kinds are counted as lost by its writer.
	 */
	unsigned int kinds;
	unsigned int facts;
	bool can_check; /* byte by byte; else a check reads all that can be read */
	bool can_recover;
	const struct sonde_finding_type *const *findings; /* all it can find; NULL-terminated */
	/* Ways to write it that differ from the usual one; ends with a NULL word. NULL: none. */
	const struct sonde_format_style *styles;
	/* What names of it end in (".wtf-trace"), several with spaces; NULL: anything. */
	const char *suffix;
};

size_t sonde_format_count(void);
const struct sonde_format *sonde_format_at(size_t index);
const struct sonde_format *sonde_format_by_name(const char *name);
const struct sonde_format_info *sonde_format_info(const struct sonde_format *format);

/* The format a path seems to be in. SONDE_FORMAT with advice where none fits. */
enum sonde_status sonde_format_detect(const char *path, const struct sonde_format **format,
				      struct sonde_error *err);

struct sonde_check_options {
	const char *format; /* NULL: detect */
	unsigned int threads;
	const struct sonde_progress *progress;
};

/*
 * Looks at every byte and adds what is wrong to `diagnostics`. SONDE_OK means that the check was
 * carried through, whatever it found; a file refused as a whole is a finding too.
 */
enum sonde_status sonde_check(const char *path, const struct sonde_check_options *options,
			      struct sonde_diagnostics *diagnostics, struct sonde_error *err);

/* One line a reader of a recovery report wants: what was kept, lost or guessed. */
struct sonde_recover_result {
	uint64_t events_kept;
	uint64_t details_kept;
	uint64_t details_unlinked; /* of those kept: their event did not survive */
	uint64_t bytes_dropped;	   /* cut or unreadable bytes that are not in the output */
	uint32_t tracks_kept;
	uint32_t tracks_lost;	  /* not even a header could be read */
	uint64_t links_mended;	  /* between events and details: they disagreed, one was chosen */
	uint32_t manifests_made;  /* processes without one: their threads and clock were guessed */
	uint32_t functions_named; /* by name_function() */
	uint64_t samples_kept;
	uint64_t values_kept;
};

/* What a function is called; "" and NULL alike mean that something is not known. */
struct sonde_function_name {
	const char *name, *raw_name;
	const char *file;
	uint32_t line;
};

struct sonde_recover_options {
	const char *format; /* NULL: detect */
	bool replace;	    /* as in sonde_create_options */
	const struct sonde_progress *progress;
	/*
	 * Finds the name of a function that the recording knows by its module and its address there
	 * only, because it was never finished; false where that cannot be done. What it gives must
	 * stay until the next call. NULL: such functions have no names. The build id is in hex, or
	 * "".
	 */
	bool (*name_function)(void *context, const char *module, const char *build_id,
			      uint64_t address, struct sonde_function_name *name);
	void *name_context;
};

/*
 * Writes a new, finished recording at `output` with everything in `path` that survives. The
 * input is not touched. What was wrong with it is added to `diagnostics`.
 */
enum sonde_status sonde_recover(const char *path, const char *output,
				const struct sonde_recover_options *options,
				struct sonde_diagnostics *diagnostics,
				struct sonde_recover_result *result, struct sonde_error *err);

#ifdef __cplusplus
}
#endif

#endif
