/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small measurement folders made by hand, and the contexts that prof makes of them as text: a line each,
 * indented by depth, with relation (call, inlined, "in"), kind, and "*" for what is not listed.
 */
#ifndef SONDE_TESTS_PROF_FIXTURE_H
#define SONDE_TESTS_PROF_FIXTURE_H

#include "analyse/prof_contexts.h"
#include "formats/hpcrun/hpcrun_write.h"

/* Modules of every profile: 1 "/app/prog", 2 "/app/lib.so", 3 "vdso/x.vdso". */
#define ROOT(number)                                                                               \
	{                                                                                          \
		.id = (number), .ip = HPCRUN_PRIMARY, .parent = UINT32_MAX, .unwound = true        \
	}
/* `above` is the index of the parent in the array. */
#define NODE(number, above, mod, address)                                                          \
	{                                                                                          \
		.id = (number), .ip = (address), .parent = (above), .module = (mod),               \
		.unwound = true                                                                    \
	}
#define VALUE(at, of, number)                                                                      \
	{                                                                                          \
		.node = (at), .metric = (of), .bits = (number)                                     \
	}

struct made_profile {
	uint64_t thread; /* also its place in the order */
	const struct hpcrun_node *nodes;
	size_t node_count;
	const struct hpcrun_value *values;
	size_t value_count;
	const struct hpcrun_metric *metrics; /* NULL: one, "CYCLES" */
	size_t metric_count;
	const struct hpctrace_record *records;
	size_t record_count;
	uint64_t trace_flags;
};

#define MADE(number, of_nodes, of_values)                                                          \
	{                                                                                          \
		.thread = (number), .nodes = (of_nodes),                                           \
		.node_count = sizeof(of_nodes) / sizeof((of_nodes)[0]), .values = (of_values),     \
		.value_count = sizeof(of_values) / sizeof((of_values)[0])                          \
	}

/* Writes folder/NAME.hpcrun, and .hpctrace where it has records; the folder is made where missing. */
void put_profile(const char *folder, const char *name, const struct made_profile *made);

/* Some hundred contexts in so many profiles, random and the same in every run. */
void put_random_profiles(const char *folder, unsigned int count);

/* What the contexts of these inputs are; the text is valid until the next call. */
const char *contexts_text(const char *const *paths, size_t count,
			  const struct sonde_prof_options *options);

/* The contents of all files below a folder are equal. */
void assert_same_files(const char *a, const char *b);

#endif
