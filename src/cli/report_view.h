/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sonde report` shows, before it is text, JSON, CSV or HTML: one table of typed cells, and what was read.
 * Views fill it, writers print it; neither knows the others.
 */
#ifndef SONDE_CLI_REPORT_VIEW_H
#define SONDE_CLI_REPORT_VIEW_H

#include "analyse/cct.h"
#include "base/arena.h"
#include "base/vec.h"
#include "cli/cli.h"

enum report_kind {
	REPORT_NOTHING, /* a cell without a value */
	REPORT_TEXT,
	REPORT_COUNT,
	REPORT_ID,     /* a number that counts nothing */
	REPORT_TIME,   /* nanoseconds */
	REPORT_SHARE,  /* of 1 */
	REPORT_NUMBER, /* of no unit, or of one that the column says */
};

struct report_cell {
	enum report_kind kind;
	union {
		const char *text;
		uint64_t count; /* of an id or a time too */
		double number;	/* of a share too */
	};
};

/* Which columns stay where a screen is narrow; those of a level stay or go together. */
enum report_rank {
	REPORT_ALWAYS,
	REPORT_USUAL,
	REPORT_WIDE,
	REPORT_WIDER,
	REPORT_FOR_PROGRAMS, /* in JSON and CSV alone */
};

struct report_column {
	const char *key;   /* in JSON, CSV and --sort; stays the same in all versions */
	const char *title; /* on screens */
	enum report_kind kind;
	enum report_rank rank;
	bool bar;	/* a share that is drawn too */
	bool ascending; /* the way it is sorted in: names; numbers are sorted from the largest */
};

struct report_row {
	uint32_t depth;	  /* in a tree; 0 in a list */
	uint32_t context; /* that it is about; SONDE_NONE: none */
	double weight;	  /* by which it stays or goes, and how hot it is: a share of the whole */
};

/* The last column is the name, which is indented by depth on screens and cut where it is too long. */
struct report_view {
	const char *name;  /* "functions", "tree": in JSON */
	const char *title; /* a line over the table, without an end */
	const char *noun;  /* what a row is: "function"; the plural adds an s (an es after s) */
	bool tree;	   /* rows are in preorder, and depth says which is below which */
	bool failed;	   /* memory failed */
	uint64_t left_out; /* rows that --limit or --min took away */
	SONDE_VEC(struct report_column) columns;
	SONDE_VEC(struct report_row) rows;
	SONDE_VEC(struct report_cell) cells; /* row by row */
	struct sonde_arena texts;
};

void report_view_release(struct report_view *view);

/* Columns first, then rows: begin one, and put as many cells as there are columns. */
void report_add_column(struct report_view *view, struct report_column column);
void report_begin_row(struct report_view *view, uint32_t depth, uint32_t context, double weight);
void report_put_nothing(struct report_view *view);
void report_put_text(struct report_view *view, const char *text);     /* copied */
void report_put_borrowed(struct report_view *view, const char *text); /* not copied */
void report_put_count(struct report_view *view, uint64_t count);
void report_put_id(struct report_view *view, uint64_t id);
void report_put_time(struct report_view *view, uint64_t ns);
void report_put_share(struct report_view *view, double part, double whole);
void report_put_number(struct report_view *view, double number);
/* A time where the metric is one. */
void report_put_value(struct report_view *view, const struct cct_metric *metric, double value);

struct report_cell report_value_cell(const struct cct_metric *metric, double value);

const struct report_cell *report_cell_at(const struct report_view *view, size_t row, size_t column);
/* A column by its key or its title, whatever the case; SIZE_MAX: none. */
size_t report_find_column(const struct report_view *view, const char *name);

/* In a tree the rows below one row are sorted. Equal ones stay as they were. */
void report_sort(struct report_view *view, size_t column);
/* Keeps the first rows of a list, those of most weight of a tree. */
void report_limit(struct report_view *view, uint64_t limit);

/* What was read, for the lines above the table. */
struct report_source {
	const char *path;
	const char *format;
	uint64_t faults; /* warnings and errors met when it was opened */
	bool unfinished; /* the recorder did not close it */
};

struct report_summary {
	const struct report_source *sources;
	size_t source_count;
	const char *metric; /* what all is measured by */
	uint32_t functions, tracks, processes, contexts;
	bool only_threads; /* all tracks are threads */
	uint64_t events, samples, calls, exceptions, dropped;
	uint64_t first_ns, last_ns; /* both 0: the recording has no times */
	uint64_t busy_ns;	    /* over all tracks */
	struct report_cell whole;   /* of the metric */
};

struct report {
	struct report_summary summary;
	struct report_view view;
};

/* A cell as people read it: "12,345", "1.234 ms", "12.3%"; texts made harmless. */
void report_put_cell(struct sonde_buffer *out, const struct report_cell *cell);

/* A count and its noun: "1 process", "2 processes". */
void report_put_plural(struct sonde_buffer *out, uint64_t count, const char *noun);

/* "12 functions, 1,234,567 calls, 1.234 s in 4 threads" */
void report_put_summary(struct sonde_buffer *out, const struct report_summary *summary);
/* "12 events were dropped", and the like; nothing where nothing is missing. */
void report_put_losses(struct sonde_buffer *out, const struct report_summary *summary);

void report_put_screen(struct cli *cli, const struct report *report);
void report_put_json(struct cli *cli, const struct report *report);
void report_put_csv(struct cli *cli, const struct report *report);

#endif
