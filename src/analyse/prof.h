/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From measurements to a database: merges the profiles of any number of threads, gives their addresses
 * names and lines, and has the HPCToolkit v4 database written. `sonde prof` and `sonde-mpi prof`
 * are this function with options.
 */
#ifndef SONDE_ANALYSE_PROF_H
#define SONDE_ANALYSE_PROF_H

#include <sonde/diagnostics.h>
#include <sonde/progress.h>

#include "base/team.h"
#include "base/vec.h"

/* A path that begins with `from` is taken to begin with `to`. */
struct sonde_prof_replacement {
	const char *from, *to;
};

struct sonde_prof_options {
	const char *title; /* NULL: the program's name */
	bool replace;	   /* an existing database is replaced once the new one is whole */
	bool dry_run;	   /* all is read and worked out, nothing is written */
	unsigned int threads;
	unsigned int statistics; /* bits of HPCDB_STATISTIC_* */
	bool no_thread_values, no_traces, copy_sources;
	bool ignore_structs;	    /* .hpcstruct files beside the measurements are not used */
	bool ignore_binaries;	    /* nor is what binaries say, but for those beside them */
	uint64_t dwarf_limit;	    /* DWARF of larger files is not read; 0: no limit */
	const char *const *structs; /* more .hpcstruct files, or folders of them */
	size_t struct_count;
	const struct sonde_prof_replacement *replacements;
	size_t replacement_count;
	const char *const *only; /* shell patterns over names of profiles; any may match. 0: all */
	size_t only_count;
	struct sonde_team *team;
	const struct sonde_progress *progress;
};

/* An input, or a part of one, that was not merged, and why. */
struct sonde_prof_refusal {
	char *path;
	char *reason;
};

/* How a module got its names. */
struct sonde_prof_module {
	const char *path;    /* the report's */
	unsigned int origin; /* enum sonde_structure_origin */
	bool recorded;	     /* no address was looked up: a recording has its names */
	uint64_t contexts;   /* that lie in it */
};

/* What was done. Zeroed means empty. */
struct sonde_prof_report {
	uint32_t profiles; /* merged */
	SONDE_VEC(struct sonde_prof_refusal) refusals;
	uint32_t contexts, contexts_listed, metrics, derived_metrics;
	uint64_t values, samples, samples_out_of_order, bytes;
	uint64_t samples_unknown;  /* they name a context that their profile does not have */
	uint64_t contexts_unwound; /* not: GPU samples whose callers are unknown */
	uint64_t entries_demoted;  /* contexts below the root that are no entry points */
	uint64_t names_mended;	   /* were not UTF-8 */
	uint64_t sources_copied, sources_missing;
	SONDE_VEC(struct sonde_prof_module) modules; /* by path */
	SONDE_VEC(char *) notes;		     /* what disagrees between profiles */
};

void sonde_prof_report_release(struct sonde_prof_report *report);

/*
 * Merges the measurement folders, .hpcrun files and recordings with calls at `inputs` into a database at
 * `output`. Damaged profiles are refused, listed in the report, and the rest is merged; nothing left to
 * merge is SONDE_FORMAT.
 */
enum sonde_status sonde_prof_run(const char *const *inputs, size_t input_count, const char *output,
				 const struct sonde_prof_options *options,
				 struct sonde_prof_report *report, struct sonde_error *err);

#endif
