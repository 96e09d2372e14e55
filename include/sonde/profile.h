/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a profile has in place of events, or beside them: a tree of calling contexts, values (how much
 * of a metric a track spent in a context) and samples (in which context a track was at a time).
 */
#ifndef SONDE_PROFILE_H
#define SONDE_PROFILE_H

#include <sonde/recording.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_context_kind {
	SONDE_CONTEXT_ROOT,	   /* above all others; always context 0, and only that */
	SONDE_CONTEXT_ENTRY,	   /* how the system came to the program: `name`, `entry` */
	SONDE_CONTEXT_FUNCTION,	   /* `function`; SONDE_NONE: one that could not be found out */
	SONDE_CONTEXT_LOOP,	   /* `file`, `line`, and `module`, `address` of its head */
	SONDE_CONTEXT_LINE,	   /* `file`, `line` */
	SONDE_CONTEXT_INSTRUCTION, /* `module`, `address` */
};

/* How a context is reached from its parent. */
enum sonde_context_relation {
	SONDE_CONTEXT_ENCLOSED, /* it lies in it: a line in a function */
	SONDE_CONTEXT_CALLED,	/* it is called there */
	SONDE_CONTEXT_INLINED,	/* it is called there, by a call that the compiler did away with */
};

enum sonde_context_entry {
	SONDE_ENTRY_UNKNOWN, /* nobody knows who called: the stack could not be followed to its end */
	SONDE_ENTRY_MAIN_THREAD,
	SONDE_ENTRY_APPLICATION_THREAD,
	SONDE_ENTRY_OTHER, /* of a kind not known here; `name` says which */
};

/* A node of the tree. Parents come before their children, and each subtree is one run of numbers. */
struct sonde_context {
	uint32_t parent; /* SONDE_NONE for the root */
	uint32_t function;
	uint32_t file; /* string; 0: unknown */
	uint32_t line;
	uint32_t module; /* SONDE_NONE: unknown */
	uint32_t name;	 /* string; of an entry only */
	uint64_t address;
	uint8_t kind;	  /* enum sonde_context_kind */
	uint8_t relation; /* enum sonde_context_relation */
	uint8_t entry;	  /* enum sonde_context_entry */
	/* An instruction within something bigger: it has values, but trees are shown without it. */
	uint8_t unlisted;
	uint32_t end; /* the first context after its subtree */
};

struct sonde_value {
	uint32_t track; /* SONDE_NONE: of a statistic over the tracks */
	uint32_t context;
	uint32_t metric;
	double value; /* never 0: what is absent was not measured */
};

struct sonde_sample {
	uint64_t time_ns;
	uint32_t track;
	uint32_t context; /* 0: the track did not run from here on */
};

struct sonde_value_cursor;
struct sonde_sample_cursor;

/*
 * All contexts, [0] being the root; borrowed until the recording is closed. A recording without that
 * lane has none: count 0. The first call may take a while; safe from several threads.
 */
enum sonde_status sonde_recording_contexts(struct sonde_recording *recording,
					   const struct sonde_context **contexts, uint32_t *count,
					   struct sonde_error *err);

/*
 * The values of one track, ordered by context, then metric. Track SONDE_NONE gives the statistics
 * over all tracks, where the recording has them.
 */
enum sonde_status sonde_value_cursor_open(struct sonde_recording *recording, uint32_t track,
					  struct sonde_value_cursor **cursor,
					  struct sonde_error *err);

/* The values of one context over the tracks, ordered by metric, then track. */
enum sonde_status sonde_value_cursor_open_context(struct sonde_recording *recording,
						  uint32_t context,
						  struct sonde_value_cursor **cursor,
						  struct sonde_error *err);

/* The next values, never none with SONDE_OK, borrowed until the next call; SONDE_END after the last. */
enum sonde_status sonde_value_cursor_next(struct sonde_value_cursor *cursor,
					  const struct sonde_value **values, size_t *count,
					  struct sonde_error *err);
void sonde_value_cursor_free(struct sonde_value_cursor *cursor);

/* One value, without reading others where the format allows it; SONDE_END where there is none. */
enum sonde_status sonde_recording_value(struct sonde_recording *recording, uint32_t track,
					uint32_t context, uint32_t metric, double *value,
					struct sonde_error *err);

/*
 * How many values the tracks have, in all scopes that are stored. Formats that cannot tell read all of
 * them.
 */
enum sonde_status sonde_recording_value_count(struct sonde_recording *recording, uint64_t *count,
					      struct sonde_error *err);

/*
 * Something that a recording works out of its values over all tracks, by a formula of its own: "GHZ", or
 * "CPUTIME (sec):Mean". Texts are borrowed until the recording is closed.
 */
struct sonde_formula {
	const char *name, *description;
	/* How it follows from metrics as they are measured, by their names in quotes; NULL: not at all. */
	const char *text;
};

/* Formula `number`, counted from 0; false past the last, or where there are none that can be read. */
bool sonde_recording_formula(struct sonde_recording *recording, uint32_t number,
			     struct sonde_formula *formula);

/*
 * What a formula gives in a context and all below it (`total`), or in it alone; false where it gives
 * nothing there.
 */
bool sonde_recording_formula_value(struct sonde_recording *recording, uint32_t number,
				   uint32_t context, bool total, double *value);

/* The samples of one track in the order of time. */
enum sonde_status sonde_sample_cursor_open(struct sonde_recording *recording, uint32_t track,
					   struct sonde_sample_cursor **cursor,
					   struct sonde_error *err);
enum sonde_status sonde_sample_cursor_next(struct sonde_sample_cursor *cursor,
					   const struct sonde_sample **samples, size_t *count,
					   struct sonde_error *err);

/* The next batch starts with the first sample not before this time. */
void sonde_sample_cursor_seek_time(struct sonde_sample_cursor *cursor, uint64_t time_ns);
void sonde_sample_cursor_free(struct sonde_sample_cursor *cursor);

/*
 * What to call a context on a screen ("main", "loop at a.c:12"): a name as it is, borrowed, else something
 * put together in `space`, as far as `size` allows.
 */
const char *sonde_context_label(const struct sonde_definitions *definitions,
				const struct sonde_context *context, char *space, size_t size);

/* The word for a kind ("function") or a relation ("called"); "other" for what is not known. */
const char *sonde_context_kind_name(unsigned int kind);
const char *sonde_context_relation_name(unsigned int relation);

#ifdef __cplusplus
}
#endif

#endif
