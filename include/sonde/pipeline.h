/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source -> filters -> sink. A sink receives definitions and batches; a writer of a format is a
 * sink, and so is a filter, which feeds another sink. What a target cannot hold is counted in a
 * loss report, never dropped in silence.
 */
#ifndef SONDE_PIPELINE_H
#define SONDE_PIPELINE_H

#include <sonde/profile.h>
#include <sonde/progress.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What could not be carried over, and why. Safe from several threads. */
struct sonde_loss;

struct sonde_loss_entry {
	const char *what;   /* "details", "events of kind counter" */
	const char *reason; /* "an ATF index holds calls, returns and exceptions only" */
	uint64_t count;
	/* It is in the file and sonde reads it back; other readers of the format do not see it. */
	bool only_elsewhere;
};

struct sonde_loss *sonde_loss_new(void);
void sonde_loss_free(struct sonde_loss *loss);

/* Adds `count` to the entry of that name and reason; NULL loss and count 0 do nothing. */
enum sonde_status sonde_loss_add(struct sonde_loss *loss, const char *what, const char *reason,
				 uint64_t count, struct sonde_error *err);

/* The same for what only other readers of the format will miss; `strict` does not mind these. */
enum sonde_status sonde_loss_add_elsewhere(struct sonde_loss *loss, const char *what,
					   const char *reason, uint64_t count,
					   struct sonde_error *err);

/* Entries ordered by name, then reason; NULL past the last. Borrowed until the next add. */
const struct sonde_loss_entry *sonde_loss_at(const struct sonde_loss *loss, size_t index);

struct sonde_sink;
struct sonde_run_result;

/*
 * Order of calls: begin; contexts; then per track, any number of `events`, `samples` and `values`,
 * one `track_end`; then complete and finish or, when anything failed, neither; free in every case.
 * Definitions are looked up when needed in the `definitions` of `begin`, which may grow meanwhile and
 * live until finish. What a track's definition says of its events and samples (counts, times) is the
 * source's: filters may let fewer come, and what is derived is not counted there.
 */
struct sonde_sink_ops {
	/* Lanes it can hold, bits of enum sonde_lane. */
	unsigned int lanes;
	/* Different tracks may be fed from different threads at the same time. */
	bool parallel_tracks;
	enum sonde_status (*begin)(struct sonde_sink *sink,
				   const struct sonde_definitions *definitions,
				   struct sonde_error *err);
	/*
	 * Takes a source as a whole, where it knows how to do that better than by its events: when
	 * there is one source and no selection, and before begin, which then does not follow, nor
	 * do events; complete and finish do. SONDE_END: it does not. May be NULL. Fills *result, but for the
	 * resources: all of them come along.
	 */
	enum sonde_status (*whole)(struct sonde_sink *sink, struct sonde_recording *source,
				   struct sonde_run_result *result, struct sonde_error *err);
	/*
	 * An embedded resource; all come after begin, before events. SONDE_END: it cannot hold this one,
	 * and has counted it as lost. NULL: it holds none.
	 */
	enum sonde_status (*blob)(struct sonde_sink *sink, const struct sonde_blob *blob,
				  struct sonde_error *err);
	/*
	 * A formula of a source's; all come after begin. SONDE_END: it cannot hold this one, which is
	 * counted as lost. NULL: it holds none.
	 */
	enum sonde_status (*formula)(struct sonde_sink *sink, const struct sonde_formula *formula,
				     struct sonde_error *err);
	/* All events of a batch are of `track`, in the order of time as far as the source is. */
	enum sonde_status (*events)(struct sonde_sink *sink, uint32_t track,
				    const struct sonde_batch *batch, struct sonde_error *err);
	/*
	 * The tree of contexts, once, after begin and before the first samples and values; borrowed
	 * until finish. NULL: it cannot hold contexts. A sink with contexts and without events is
	 * fed what is derived from the calls, one without samples and with events what is derived
	 * from the samples.
	 */
	enum sonde_status (*contexts)(struct sonde_sink *sink, const struct sonde_context *contexts,
				      uint32_t count, struct sonde_error *err);
	/*
	 * Values of scope "point" of a track, in the order of contexts; what follows from them (other
	 * scopes, statistics) a sink works out for itself. NULL: it cannot hold values.
	 */
	enum sonde_status (*values)(struct sonde_sink *sink, uint32_t track,
				    const struct sonde_value *values, size_t count,
				    struct sonde_error *err);
	/* Samples of a track in the order of time. NULL: it cannot hold samples. */
	enum sonde_status (*samples)(struct sonde_sink *sink, uint32_t track,
				     const struct sonde_sample *samples, size_t count,
				     struct sonde_error *err);
	/* No more of this track. Called once for every track, also for empty ones. */
	enum sonde_status (*track_end)(struct sonde_sink *sink, uint32_t track,
				       struct sonde_error *err);
	/*
	 * All was fed: writes what is left, and reports what is lost by that. A run that must not
	 * lose anything ends here where something is. May be NULL.
	 */
	enum sonde_status (*complete)(struct sonde_sink *sink, struct sonde_error *err);
	/* All is there: make the output visible under its final name. */
	enum sonde_status (*finish)(struct sonde_sink *sink, struct sonde_error *err);
	/* Releases the sink; without a finish before, nothing of the output stays. */
	void (*free)(struct sonde_sink *sink);
};

struct sonde_format_info;

/* First member of every sink. */
struct sonde_sink {
	const struct sonde_sink_ops *ops;
	const struct sonde_format_info *format; /* of a writer, by sonde_sink_create(); else NULL */
};

/* NULL is fine. */
void sonde_sink_free(struct sonde_sink *sink);

struct sonde_create_options {
	const char *format;	 /* the name of a format that can be written */
	bool replace;		 /* an existing recording is replaced, once the new one is whole */
	struct sonde_loss *loss; /* where a writer counts what it cannot hold; may be NULL */
	const char *style;	 /* words of sonde_format_info.styles with commas; NULL: as usual */
	/* Lanes of what will be written, bits of enum sonde_lane; 0: not known. A format that holds one
	 * thing at a time chooses by it. */
	unsigned int source_lanes;
};

/* Opens a writer. Nothing appears under `path` before its finish. */
enum sonde_status sonde_sink_create(const char *path, const struct sonde_create_options *options,
				    struct sonde_sink **sink, struct sonde_error *err);

/* Which events are wanted. Zeroed means all. */
struct sonde_selection_spec {
	uint64_t from_ns;	      /* first time wanted */
	uint64_t to_ns;		      /* first time no longer wanted; 0: no end */
	const uint32_t *tracks;	      /* of several sources: counted on from one to the next */
	size_t track_count;	      /* 0: all */
	const char *const *functions; /* shell patterns over names; any may match */
	size_t function_count;	      /* 0: all */
	unsigned int kinds;	      /* bits 1 << enum sonde_event_kind; 0: all */
	uint32_t min_depth;
	uint32_t max_depth; /* 0: no limit */
};

/* A compiled selection. Not safe from several threads: each takes its own. */
struct sonde_selection;

enum sonde_status sonde_selection_new(const struct sonde_selection_spec *spec,
				      const struct sonde_definitions *definitions,
				      struct sonde_selection **selection, struct sonde_error *err);
void sonde_selection_free(struct sonde_selection *selection);

/* Time, track, kind, function and depth all fit. */
bool sonde_selection_has(struct sonde_selection *selection, const struct sonde_event *event);

/*
 * From the clock of a source to that of the target: a moment on both of them, and by how much more than
 * a nanosecond the target's goes on in a nanosecond of the source's, in units of 2^-50. Its absolute
 * value is below 2^50. Times that come out before 0 or behind the last one are those.
 */
struct sonde_time_map {
	uint64_t source_ns;
	uint64_t target_ns;
	int64_t drift;
};

/*
 * For runs over consecutive pieces of time of the same sources, each from where the one before it
 * ended: what came before is then not read again. Not for several runs at the same time.
 */
struct sonde_resume;

/* NULL where memory failed. */
struct sonde_resume *sonde_resume_new(void);
void sonde_resume_free(struct sonde_resume *resume);

/* The next run goes on behind the last one. Without this it begins where the last one began. */
void sonde_resume_accept(struct sonde_resume *resume);

struct sonde_run_options {
	/*
	 * What to carry over. Tracks not selected are absent from the target. The calls open at
	 * from_ns are opened again there and those open at to_ns closed there, marked
	 * SONDE_EVENT_SYNTHETIC; depths are counted anew over the calls that stay. Samples are cut
	 * in the same way. Values are sums over a whole track: with a time they are left out, which
	 * counts as a loss. Functions, kinds and depths select events: with them a run in which
	 * samples or values are carried over as they are fails with SONDE_ARGUMENT.
	 */
	struct sonde_selection_spec selection;
	unsigned int threads; /* 0: as many as there are processors */
	struct sonde_loss *loss;
	/*
	 * With any loss the run fails with SONDE_LIMIT, and nothing is finished. What is lost only
	 * for other readers of the format does not count.
	 */
	bool strict;
	const struct sonde_progress *progress;
	/*
	 * By process, counted on from one source to the next: its times in the target. All processes
	 * then have the clock of process `clock_of` of the first source. Times of the selection are
	 * those of the sources. NULL: times stay as they are.
	 */
	const struct sonde_time_map *time_maps;
	uint32_t clock_of;
	/* By source: put before the names of its processes, with a slash. NULL, also one: nothing. */
	const char *const *labels;
	struct sonde_resume *resume; /* or NULL */
};

/* What a run did; for the user's eyes. */
struct sonde_run_result {
	uint64_t events_read;
	uint64_t events_written; /* synthetic ones included; of kinds that the target holds */
	uint64_t calls_opened;	 /* of those: calls opened again at the start of a piece */
	uint64_t calls_closed;	 /* and calls closed at its end, by this run */
	uint64_t details_written;
	uint64_t blobs_written; /* embedded resources */
	uint64_t samples_read;
	uint64_t samples_written;
	uint64_t values_written;
	uint64_t contexts_written; /* the root included; 0: the target holds none */
};

/*
 * Feeds everything selected in the sources to the sink, and finishes it. With several sources
 * their processes stay apart and everything is numbered anew. The sink is not freed.
 */
enum sonde_status sonde_pipeline_run(struct sonde_recording *const *sources, size_t count,
				     struct sonde_sink *sink,
				     const struct sonde_run_options *options,
				     struct sonde_run_result *result, struct sonde_error *err);

#ifdef __cplusplus
}
#endif

#endif
