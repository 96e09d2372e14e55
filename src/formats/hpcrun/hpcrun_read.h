/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A measurement folder as a recording: what its parts share. Opening reads every profile once for the
 * union of their nodes; cursors read a profile again.
 */
#ifndef SONDE_HPCRUN_READ_H
#define SONDE_HPCRUN_READ_H

#include "base/buffer.h"
#include "base/map.h"
#include "formats/format.h"
#include "formats/hpcrun/hpcrun_beside.h"
#include "formats/hpcrun/hpcrun_profile.h"
#include "formats/hpcrun/hpcrun_tree.h"

/* Pairs of a header are attributes with this before their names. */
#define HPCRUN_ATTRIBUTE "hpcrun."
/* Of the recording, arrays of objects: what metrics say beyond their definitions; computed metrics. */
#define HPCRUN_ATTRIBUTE_METRICS "hpc.metrics"
#define HPCRUN_ATTRIBUTE_FORMULAS "hpc.formulas"

/* Of a track, true where its samples name the functions that were called, not addresses in them. */
#define HPCRUN_ATTRIBUTE_CALLS HPCRUN_ATTRIBUTE "trace-of-calls"

/* The files of one profile. Paths are owned. */
struct hpcrun_files {
	char *path;
	char *trace; /* NULL: none */
};

/* What is in a folder, or the one file; ordered by name. Zeroed means empty. */
struct hpcrun_folder {
	bool is_folder;
	SONDE_VEC(struct hpcrun_files) profiles;
	SONDE_VEC(char *) orphans; /* traces without a profile */
};

enum sonde_status hpcrun_folder_open(struct hpcrun_folder *folder, const char *path,
				     struct sonde_error *err);
void hpcrun_folder_release(struct hpcrun_folder *folder);

/* A pair of a header, as strings of the definitions. */
struct hpcrun_defined_pair {
	uint32_t name;	/* with the prefix of attributes */
	uint32_t value; /* JSON */
};

/* One profile of the recording; its number is the track's. */
struct hpcrun_input {
	struct hpcrun_files files; /* owned by the folder */
	uint32_t epochs;
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	size_t identity_count;
	uint32_t first_pair, pair_count; /* in pairs */
	const char *program, *process_key;
	uint32_t pid, slot;
	bool samples_calls;
	uint64_t sample_count, time_first_ns, time_last_ns;
};

struct hpcrun_recording {
	struct hpcrun_folder folder;
	SONDE_VEC(struct hpcrun_input) inputs;
	SONDE_VEC(struct hpcrun_defined_pair) pairs;
	struct sonde_arena texts;
	struct sonde_text_map modules; /* path -> number of the definition */
	SONDE_VEC(const char *) module_paths;
	SONDE_VEC(uint32_t) module_inputs; /* where each was met first */
	struct sonde_text_map metrics;	   /* name -> number of the definition */
	struct sonde_text_map formulas;	   /* name of a computed metric -> 0 */
	struct sonde_buffer metric_json,
		formula_json; /* the attributes, but for their last bracket */
	struct hpcrun_tree tree;
	uint32_t *numbers; /* tree node -> context */
	struct sonde_context *contexts;
	uint32_t context_count;
	uint64_t value_count; /* in the files */
	struct hpcrun_beside beside;
};

int hpcrun_probe(const char *path);
enum sonde_status hpcrun_open(struct sonde_recording *recording, struct sonde_error *err);

/*
 * Where the nodes of a profile are in the union; room that is used again. Zeroed means empty. Nothing
 * is known of functions here, so that what was called is the address, too.
 */
struct hpcrun_places {
	SONDE_VEC(uint32_t) items;   /* by node */
	SONDE_VEC(uint32_t) modules; /* by number in the file */
};

void hpcrun_places_release(struct hpcrun_places *places);

/*
 * Places every node of a profile. With `add` what is missing in the union is added; without, that is
 * SONDE_CORRUPT: the file was changed after it was opened.
 */
enum sonde_status hpcrun_place_nodes(struct hpcrun_recording *data,
				     const struct hpcrun_profile *profile, bool add,
				     struct hpcrun_places *places, struct sonde_error *err);

/* Contexts of the union; defines the functions that placeholders are. */
enum sonde_status hpcrun_make_contexts(struct hpcrun_recording *data,
				       struct sonde_definitions *definitions,
				       struct sonde_error *err);

/* Defines the metrics of a profile that are new, and notes what they say of themselves. */
enum sonde_status hpcrun_note_metrics(struct sonde_recording *recording,
				      const struct hpcrun_profile *profile,
				      struct sonde_error *err);
/* What was noted, as attributes of the recording. */
enum sonde_status hpcrun_define_metric_attributes(struct sonde_recording *recording,
						  struct sonde_error *err);

/* The number of the definition of a file's metric; SONDE_NONE for one without values. */
uint32_t hpcrun_metric_number(const struct hpcrun_recording *data,
			      const struct hpcrun_metric *metric);

/* Hooks of the recording. */
enum sonde_status hpcrun_values_open(struct sonde_recording *recording, uint32_t track,
				     struct sonde_value_cursor **cursor, struct sonde_error *err);
enum sonde_status hpcrun_samples_open(struct sonde_recording *recording, uint32_t track,
				      struct sonde_sample_cursor **cursor, struct sonde_error *err);

enum sonde_status hpcrun_create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err);
enum sonde_status hpcrun_check(const char *path, const struct sonde_check_options *options,
			       struct sonde_diagnostics *diagnostics, struct sonde_error *err);
enum sonde_status hpcrun_recover(const char *path, const char *output,
				 const struct sonde_recover_options *options,
				 struct sonde_diagnostics *diagnostics,
				 struct sonde_recover_result *result, struct sonde_error *err);

#endif
