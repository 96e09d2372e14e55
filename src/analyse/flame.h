/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of contexts as frames of a flame graph: lines and loops are part of their function, what is
 * called from several lines of a function is one frame, and what is too narrow to be seen is left out and
 * counted. Where frames are drawn, and how, is the business of the command.
 */
#ifndef SONDE_ANALYSE_FLAME_H
#define SONDE_ANALYSE_FLAME_H

#include "analyse/cct.h"
#include "base/vec.h"

/* Frames of one label are of the same function, or the same kind of entry. */
struct flame_label {
	uint32_t context; /* one that has it */
};

/* In preorder, [0] being all; of the same parent the widest comes first. */
struct flame_frame {
	uint32_t parent; /* frame; SONDE_NONE of the first */
	uint32_t end;	 /* the first frame after its subtree */
	uint32_t depth;
	uint32_t label;
	uint32_t context; /* the first of those that it stands for */
	bool inlined;
	uint64_t calls;	    /* 0 of a profile, and of a difference */
	double self, total; /* of the metric, in its unit */
	double start;	    /* what is left of it; frames of one parent follow each other */
	double left_out;    /* what was spent in frames on it that are left out */
	/* Of a difference: what it was. */
	double before_self, before_total, before_left_out;
};

/* Of a difference: what is not there any more, with all that it called. */
struct flame_vanished {
	uint32_t context;
	double total;
};

struct flame {
	const struct cct *cct; /* borrowed */
	uint32_t metric;
	bool is_difference;
	struct flame_frame *frames;
	uint32_t count;
	uint32_t most_depth; /* of any frame */
	SONDE_VEC(struct flame_label) labels;
	/* What is not drawn: frames, and what was spent in them. */
	uint32_t narrow_count, deep_count;
	double left_out;
	double narrowest; /* share of the whole below which frames are left out */
	SONDE_VEC(struct flame_vanished) vanished; /* the most first */
	double vanished_total;
};

struct flame_options {
	uint32_t metric;
	double min_share;     /* of the whole, 0 to 1: narrower frames are left out */
	uint32_t most_frames; /* 0: any number; else the narrowest are left out beyond it */
	uint32_t most_depth;  /* 0: any; else deeper frames are left out */
	/* Of a difference: what was spent in each context itself before and after; else NULL. */
	const double *before, *after;
	bool keep_vanished; /* frames in which nothing is spent any more stay too */
};

/*
 * A metric that is no sum (a ratio), or has values below 0, cannot be drawn: SONDE_ARGUMENT. The tree must
 * stay until release.
 */
enum sonde_status flame_make(struct flame *flame, const struct cct *cct,
			     const struct flame_options *options, struct sonde_error *err);
void flame_release(struct flame *flame);

/* The name of what a context is in, never empty; borrowed, or in `space`. */
const char *flame_context_name(const struct cct *cct, uint32_t context, char *space, size_t size);

/* The module of a context; SONDE_NONE where it is not known. */
uint32_t flame_context_module(const struct cct *cct, uint32_t context);

/* What was spent in all, and how much of that a value is (0 where there is nothing). */
static inline double flame_total(const struct flame *flame)
{
	return flame->frames[0].total;
}

static inline double flame_share(const struct flame *flame, double value)
{
	double total = flame_total(flame);

	return total > 0 ? value / total : 0;
}

#endif
