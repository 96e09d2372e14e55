/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One .hpcrun file, decoded: whatever its generation, one thread's profile in one form. `prof` reads
 * measurements through this, thousands of them, so that it is arrays and no more; the recording, check
 * and recover of the format are built upon it.
 */
#ifndef SONDE_HPCRUN_PROFILE_H
#define SONDE_HPCRUN_PROFILE_H

#include <sonde/diagnostics.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/vec.h"
#include "model/identity.h"

enum hpcrun_generation {
	HPCRUN_02_00_DOCUMENT, /* 02.00l as in the document */
	HPCRUN_02_00_CODED,    /* 02.00l as it was once coded */
	HPCRUN_02_00_B,	       /* 02.00b, either layout of metrics */
	HPCRUN_04_00,	       /* 04.00b (or l), sparse */
};

/* Texts are borrowed from the profile's arena, end with NUL, and have none inside. */
struct hpcrun_pair {
	const char *name, *value;
};

struct hpcrun_module {
	uint16_t id; /* as nodes name it; 02.00l: the number of the entry, from 1 */
	const char *path;
	uint64_t flags;
	uint64_t address, offset; /* 02.00l: where it was loaded; 0 else */
};

enum hpcrun_show {
	HPCRUN_HIDDEN,
	HPCRUN_SHOWN,
	HPCRUN_INCLUSIVE_ONLY,
	HPCRUN_EXCLUSIVE_ONLY,
	HPCRUN_INVISIBLE,
};

struct hpcrun_metric {
	const char *name, *description;
	const char *formula, *format; /* "" where there is none; with a formula it has no values */
	uint64_t period;
	uint64_t flags; /* 02.00l: as they were */
	uint8_t type;	/* 1 raw, 2 final, 3 derived */
	uint8_t value_type;
	bool is_real;	  /* values are doubles, else integers */
	bool at_function; /* values belong to the function that was called, not to the address */
	uint16_t partner;
	uint8_t show; /* enum hpcrun_show */
	bool show_percent;
	bool is_frequency, is_multiplexed; /* the four that later files add */
	double mean;
	uint64_t samples;
};

/* Modules that are none. */
enum {
	HPCRUN_MODULE_PLACEHOLDER = 0, /* ip is eight characters */
	HPCRUN_MODULE_GPU_CONTEXT = 65531,
	HPCRUN_MODULE_GPU_RANGE = 65532,
	HPCRUN_MODULE_GPU_RANGE_ROOT = 65533,
};

/* ip of a placeholder: its characters as a big-endian number. */
#define HPCRUN_PLACEHOLDER(a, b, c, d, e, f, g, h)                                                 \
	((uint64_t)(a) << 56 | (uint64_t)(b) << 48 | (uint64_t)(c) << 40 | (uint64_t)(d) << 32 |   \
	 (uint64_t)(e) << 24 | (uint64_t)(f) << 16 | (uint64_t)(g) << 8 | (uint64_t)(h))
#define HPCRUN_PRIMARY HPCRUN_PLACEHOLDER('^', 'P', 'r', 'i', 'm', 'a', 'r', 'y')
#define HPCRUN_PARTIAL HPCRUN_PLACEHOLDER('^', 'P', 'a', 'r', 't', 'i', 'a', 'l')
#define HPCRUN_MAIN HPCRUN_PLACEHOLDER('|', ' ', 'M', 'a', 'i', 'n', ' ', ' ')
#define HPCRUN_THREAD HPCRUN_PLACEHOLDER('|', ' ', 'T', 'h', 'r', 'e', 'a', 'd')
#define HPCRUN_NO_ACTIVITY HPCRUN_PLACEHOLDER('N', 'o', 'A', 'c', 't', 'v', 't', 'y')
#define HPCRUN_UNNORMALIZED HPCRUN_PLACEHOLDER('*', 'U', 'n', 'n', 'o', 'r', 'm', ' ')

/* "<gpu kernel>", "<omp idle>": what other placeholders are called; NULL for one not known here. */
const char *hpcrun_placeholder_name(uint64_t ip);
/* The first placeholder of that name, 0 where there is none. */
uint64_t hpcrun_placeholder_ip(const char *name);

/* Parents come before children; `parent` is an index in this array, UINT32_MAX for a root. */
struct hpcrun_node {
	uint64_t ip;
	uint32_t id; /* as in the file; traces name it */
	uint32_t parent;
	uint16_t module;
	bool unwound;	      /* false: its callers are to be guessed (GPU samples) */
	bool is_leaf;	      /* 02.00: negative id */
	uint32_t association; /* logical unwinding ("lush"); 0 where the file has none */
	uint64_t logical_ip[2];
};

struct hpcrun_value {
	uint32_t node;	 /* index in nodes */
	uint16_t metric; /* index in metrics */
	double value;	 /* number times period; never 0 */
	uint64_t bits;	 /* as in the file */
};

/* Zeroed means empty. */
struct hpcrun_profile {
	enum hpcrun_generation generation;
	bool little_endian;
	struct sonde_mapped_file file;
	SONDE_VEC(struct hpcrun_pair) pairs;
	SONDE_VEC(struct hpcrun_module) modules;
	SONDE_VEC(struct hpcrun_metric) metrics;
	SONDE_VEC(struct hpcrun_node) nodes;
	SONDE_VEC(struct hpcrun_value) values; /* in the order of the file */
	SONDE_VEC(struct hpcrun_pair) kinds; /* of identities: value is the name, name its number */
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	size_t identity_count;
	/* 02.00: of the epoch. More than one epoch gives more than one profile. */
	uint64_t epoch_flags, granularity;
	uint32_t return_distance;
	struct sonde_arena texts;
	void *ids; /* node id -> index, for hpcrun_profile_find() */
};

/*
 * Reads a whole file; epochs beyond the first are counted in *epochs (NULL: not wanted) and read with
 * `epoch` > 0. Arrays of an earlier profile in *profile are used again, so that thousands of files cost no
 * allocation each. SONDE_FORMAT: it is no .hpcrun file. SONDE_CORRUPT, SONDE_TRUNCATED with offset and
 * what was expected; then the profile holds nothing. With `diagnostics` a fault that leaves something
 * readable becomes a finding instead, and the profile holds what is whole.
 */
enum sonde_status hpcrun_profile_read(struct hpcrun_profile *profile, const char *path,
				      uint32_t epoch, uint32_t *epochs,
				      struct sonde_diagnostics *diagnostics,
				      struct sonde_error *err);
/* The same of bytes in memory (not mapped); for tests and fuzzers. */
enum sonde_status hpcrun_profile_decode(struct hpcrun_profile *profile, const void *bytes,
					size_t size, uint32_t epoch, uint32_t *epochs,
					struct sonde_diagnostics *diagnostics,
					struct sonde_error *err);
void hpcrun_profile_release(struct hpcrun_profile *profile);

/* The index of a node by its id, UINT32_MAX where there is none. */
uint32_t hpcrun_profile_find(const struct hpcrun_profile *profile, uint32_t id);

/* The value of a pair, or NULL. */
const char *hpcrun_profile_pair(const struct hpcrun_profile *profile, const char *name);

/* .hpctrace: mapped, samples taken in pieces. */
struct hpctrace {
	struct sonde_mapped_file file;
	uint64_t flags;
	uint64_t count;	      /* of whole records */
	uint64_t left_over;   /* bytes behind the last whole record */
	uint32_t record_size; /* 12, or 16 where data-centric */
};

enum {
	HPCTRACE_DATA_CENTRIC = 1 << 0,
	HPCTRACE_LCA_RECORDED = 1 << 1, /* said of old; the time is whole nevertheless */
	HPCTRACE_CALLS = 1 << 2, /* a record names the function called, not the address in it */
};

struct hpctrace_record {
	uint64_t time_ns;
	uint32_t node; /* its id */
};

enum sonde_status hpctrace_open(struct hpctrace *trace, const char *path, struct sonde_error *err);
/* The same of a file that is mapped, or of bytes in memory; taken over where it succeeds. */
enum sonde_status hpctrace_of(struct hpctrace *trace, const struct sonde_mapped_file *file,
			      struct sonde_error *err);
void hpctrace_release(struct hpctrace *trace);

/* Copies up to `room` records from number `first` on; gives how many. */
size_t hpctrace_read(const struct hpctrace *trace, uint64_t first, struct hpctrace_record *records,
		     size_t room);

#endif
