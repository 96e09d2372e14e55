/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.db up to its tree of contexts: title, kinds of identities, metrics, strings, modules, files
 * and functions, all in one buffer that starts at the first byte of the file. The tree follows in
 * hpcdb_write_tree.c.
 */
#include <stdlib.h>

#include "base/map.h"
#include "base/utf8.h"
#include "formats/hpcdb/hpcdb_write_meta.h"
#include "model/recording.h"

static const char *const scope_names[HPCDB_SCOPE_COUNT] = {
	[HPCDB_POINT] = "point",
	[HPCDB_FUNCTION_SCOPE] = "function",
	[HPCDB_LEX_AWARE] = "lex_aware",
	[HPCDB_EXECUTION] = "execution",
};

static const struct {
	uint8_t type, bit;
} scope_types[HPCDB_SCOPE_COUNT] = {
	[HPCDB_POINT] = { HPCDB_SCOPE_POINT, HPCDB_NO_BIT },
	[HPCDB_FUNCTION_SCOPE] = { HPCDB_SCOPE_TRANSITIVE, HPCDB_FUNCTION_BIT },
	[HPCDB_LEX_AWARE] = { HPCDB_SCOPE_CUSTOM, HPCDB_NO_BIT },
	[HPCDB_EXECUTION] = { HPCDB_SCOPE_EXECUTION, HPCDB_NO_BIT },
};

const char *hpcdb_scope_name(enum hpcdb_scope scope)
{
	return scope_names[scope];
}

/* Where strings of definitions are in the file. */
struct strings {
	const struct hpcdb_job *job;
	struct sonde_key_map numbers;
	SONDE_VEC(uint64_t) offsets;
	bool failed;
};

void hpcdb_meta_section(struct sonde_buffer *out, enum hpcdb_meta_section section, uint64_t size,
			uint64_t offset)
{
	size_t place = HPCDB_SECTIONS + (size_t)section * HPCDB_SECTION_SIZE;

	hpcdb_patch_u64(out, place, size);
	hpcdb_patch_u64(out, place + 8, offset);
}

/* The section goes from `start` to here; the next one begins aligned. */
static void end_section(struct sonde_buffer *out, enum hpcdb_meta_section section, uint64_t start)
{
	hpcdb_meta_section(out, section, out->size - start, start);
	hpcdb_put_alignment(out, 8);
}

static void put_general(struct sonde_buffer *out, const struct hpcdb_job *job)
{
	const struct hpcdb_world *world = job->world;
	uint64_t start = out->size;

	sonde_put_u64le(out, start + 0x10);
	sonde_put_u64le(out, 0);
	hpcdb_put_name(out, job, world->title ? world->title : "");
	hpcdb_patch_u64(out, start + 8, out->size);
	hpcdb_put_name(out, job, world->description ? world->description : "");
	end_section(out, HPCDB_META_GENERAL, start);
}

static const char *kind_name(const struct hpcdb_world *world, uint32_t kind)
{
	const char *known = sonde_identity_kind_name((uint16_t)kind);

	if (kind < world->kind_count && world->kind_names[kind])
		return world->kind_names[kind];
	return known ? known : "";
}

static void put_kinds(struct sonde_buffer *out, const struct hpcdb_job *job)
{
	const struct hpcdb_world *world = job->world;
	uint64_t start = out->size, strings[UINT8_MAX];
	uint32_t count = world->kind_count > SONDE_IDENTITY_KNOWN ? world->kind_count :
								    SONDE_IDENTITY_KNOWN;

	if (count > UINT8_MAX)
		count = UINT8_MAX;
	sonde_put_u64le(out, 0);
	sonde_buffer_put_char(out, (char)count);
	sonde_buffer_put_char(out, 0);
	for (uint32_t i = 0; i < count; i++) {
		strings[i] = out->size;
		hpcdb_put_name(out, job, kind_name(world, i));
	}
	hpcdb_put_alignment(out, 8);
	hpcdb_patch_u64(out, start, out->size);
	for (uint32_t i = 0; i < count; i++)
		sonde_put_u64le(out, strings[i]);
	end_section(out, HPCDB_META_ID_NAMES, start);
}

static void put_scopes(struct sonde_buffer *out, uint64_t offsets[HPCDB_SCOPE_COUNT])
{
	uint64_t names[HPCDB_SCOPE_COUNT];

	for (unsigned int i = 0; i < HPCDB_SCOPE_COUNT; i++) {
		names[i] = out->size;
		hpcdb_put_string(out, scope_names[i]);
	}
	hpcdb_put_alignment(out, 8);
	for (unsigned int i = 0; i < HPCDB_SCOPE_COUNT; i++) {
		offsets[i] = out->size;
		sonde_put_u64le(out, names[i]);
		sonde_buffer_put_char(out, (char)scope_types[i].type);
		sonde_buffer_put_char(out, (char)scope_types[i].bit);
		hpcdb_put_zeros(out, 6);
	}
}

/* Where the parts of a metric are. */
struct placed {
	uint64_t instances, summaries, name;
};

/* {PSI} and {SS} of a metric. */
static void put_instances(struct sonde_buffer *out, const struct hpcdb_plan *plan,
			  const struct hpcdb_numbers *numbers, const uint64_t *scopes,
			  struct placed *placed)
{
	uint64_t formulas[HPCDB_STORED_KINDS];

	placed->instances = out->size;
	for (unsigned int i = 0; i < numbers->scope_count; i++) {
		sonde_put_u64le(out, scopes[numbers->scopes[i]]);
		sonde_put_u64le(out, hpcdb_scope_id(numbers, i));
	}
	for (unsigned int i = 0; i < plan->stored_count; i++) {
		formulas[i] = out->size;
		hpcdb_put_string(out, hpcdb_stored_kinds[plan->stored[i]].formula);
	}
	hpcdb_put_alignment(out, 8);
	placed->summaries = out->size;
	for (unsigned int i = 0; i < plan->stored_count; i++) {
		for (unsigned int k = 0; k < numbers->scope_count; k++) {
			sonde_put_u64le(out, scopes[numbers->scopes[k]]);
			sonde_put_u64le(out, formulas[i]);
			sonde_put_u16le(out, hpcdb_stored_kinds[plan->stored[i]].combine);
			sonde_put_u16le(out, hpcdb_statistic_id(numbers, i, k));
			sonde_put_u32le(out, 0);
		}
	}
}

/* Metrics with a formula are in default.yaml only. */
static void put_metrics(struct sonde_buffer *out, const struct hpcdb_job *job,
			struct placed *placed)
{
	const struct hpcdb_world *world = job->world;
	const struct hpcdb_plan *plan = &job->plan;
	uint64_t start = out->size, scopes[HPCDB_SCOPE_COUNT];
	uint32_t count = 0;

	hpcdb_put_zeros(out, 0x1b);
	put_scopes(out, scopes);
	for (uint32_t i = 0; i < world->metric_count; i++)
		if (plan->metrics[i].scope_count)
			put_instances(out, plan, &plan->metrics[i], scopes, &placed[count++]);
	count = 0;
	for (uint32_t i = 0; i < world->metric_count; i++) {
		if (!plan->metrics[i].scope_count)
			continue;
		placed[count++].name = out->size;
		hpcdb_put_name(out, job, world->metrics[i].name);
	}
	hpcdb_put_alignment(out, 8);
	hpcdb_patch_u64(out, start, out->size);
	hpcdb_patch_u64(out, start + 8,
			count | (uint64_t)HPCDB_METRIC_SIZE << 32 |
				(uint64_t)HPCDB_INSTANCE_SIZE << 40 |
				(uint64_t)HPCDB_SUMMARY_SIZE << 48);
	hpcdb_patch_u64(out, start + 0x10, scopes[0]);
	if (!out->failed) {
		sonde_store_u16le((uint8_t *)out->data + start + 0x18, HPCDB_SCOPE_COUNT);
		out->data[start + 0x1a] = HPCDB_SCOPE_SIZE;
	}
	count = 0;
	for (uint32_t i = 0; i < world->metric_count; i++) {
		const struct hpcdb_numbers *numbers = &plan->metrics[i];

		if (!numbers->scope_count)
			continue;
		sonde_put_u64le(out, placed[count].name);
		sonde_put_u64le(out, placed[count].instances);
		sonde_put_u64le(out, placed[count++].summaries);
		sonde_put_u16le(out, numbers->scope_count);
		sonde_put_u16le(out, (uint16_t)(numbers->scope_count * plan->stored_count));
		sonde_put_u32le(out, 0);
	}
	end_section(out, HPCDB_META_METRICS, start);
}

static uint64_t keep_offset(struct strings *strings, uint64_t key, uint64_t offset)
{
	uint64_t *place = sonde_vec_push(&strings->offsets);

	if (place)
		*place = offset;
	if (!place ||
	    !sonde_key_map_add(&strings->numbers, key, (uint32_t)strings->offsets.count - 1))
		strings->failed = true;
	return offset;
}

/* A string of the definitions, once in the file; gives where. */
static uint64_t put_text(struct sonde_buffer *out, struct strings *strings, uint32_t id)
{
	uint32_t number = sonde_key_map_find(&strings->numbers, id);
	uint64_t offset = out->size;

	if (strings->offsets.items && number < strings->offsets.count)
		return strings->offsets.items[number];
	hpcdb_put_name(out, strings->job,
		       sonde_definitions_string(strings->job->world->definitions, id));
	return keep_offset(strings, id, offset);
}

/* Offsets of the strings that records need, in the order of the records. */
struct text_offsets {
	uint64_t *modules, *files, *functions;
};

static void put_function_name(struct sonde_buffer *out, const struct hpcdb_job *job,
			      struct strings *strings, uint32_t id, uint64_t *offset)
{
	const struct sonde_definitions *definitions = job->world->definitions;
	const struct sonde_function *function = sonde_definitions_function(definitions, id);
	char space[SONDE_LABEL_SIZE];

	if (function->name) {
		*offset = put_text(out, strings, function->name);
		return;
	}
	/* at least one of name, module and file must be there */
	if (function->file || hpcdb_used_module(job->used, function->module) != UINT32_MAX)
		return;
	*offset = out->size;
	hpcdb_put_name(out, job, sonde_definitions_function_label(definitions, id, space));
}

static void put_file_path(struct sonde_buffer *out, const struct hpcdb_job *job,
			  struct strings *strings, uint32_t number, uint32_t id, uint64_t *offset)
{
	const char *path = sonde_definitions_string(job->world->definitions, id);

	if (!job->copied || !job->copied[number]) {
		*offset = put_text(out, strings, id);
		return;
	}
	*offset = out->size;
	hpcdb_source_path(out, path);
	job->written->names_mended += !sonde_utf8_valid(path, strlen(path));
	sonde_buffer_put_char(out, 0);
}

static void put_strings(struct sonde_buffer *out, const struct hpcdb_job *job,
			struct strings *strings, struct text_offsets *texts, uint64_t *entries)
{
	const struct hpcdb_world *world = job->world;
	uint64_t start = out->size;
	uint32_t count;
	const uint32_t *ids;

	for (uint32_t i = 1, n = 0; i < world->context_count; i++) {
		const struct sonde_context *context = &world->contexts[i];

		if (context->kind != SONDE_CONTEXT_ENTRY)
			continue;
		if (context->name) {
			entries[n++] = put_text(out, strings, context->name);
		} else {
			entries[n++] = out->size;
			hpcdb_put_string(out, sonde_entry_name(context->entry));
		}
	}
	ids = hpcdb_used_modules(job->used, &count);
	for (uint32_t i = 0; i < count; i++)
		texts->modules[i] = put_text(
			out, strings, sonde_definitions_module(world->definitions, ids[i])->path);
	ids = hpcdb_used_files(job->used, &count);
	for (uint32_t i = 0; i < count; i++)
		put_file_path(out, job, strings, i, ids[i], &texts->files[i]);
	ids = hpcdb_used_functions(job->used, &count);
	for (uint32_t i = 0; i < count; i++)
		put_function_name(out, job, strings, ids[i], &texts->functions[i]);
	end_section(out, HPCDB_META_STRINGS, start);
}

/* The head of a section of records; gives where the first one is. */
static uint64_t put_array_head(struct sonde_buffer *out, uint32_t count, uint16_t size)
{
	sonde_put_u64le(out, out->size + 0x10);
	sonde_put_u32le(out, count);
	sonde_put_u32le(out, size);
	return out->size;
}

static void put_records(struct sonde_buffer *out, const struct hpcdb_job *job,
			const struct text_offsets *texts, struct hpcdb_places *places)
{
	const struct sonde_definitions *definitions = job->world->definitions;
	uint64_t start = out->size;
	uint32_t count;
	const uint32_t *ids;

	hpcdb_used_modules(job->used, &count);
	places->modules = put_array_head(out, count, HPCDB_MODULE_SIZE);
	for (uint32_t i = 0; i < count; i++) {
		sonde_put_u64le(out, 0);
		sonde_put_u64le(out, texts->modules[i]);
	}
	end_section(out, HPCDB_META_MODULES, start);
	start = out->size;
	hpcdb_used_files(job->used, &count);
	places->files = put_array_head(out, count, HPCDB_FILE_SIZE);
	for (uint32_t i = 0; i < count; i++) {
		sonde_put_u64le(out, job->copied && job->copied[i] ? HPCDB_FILE_COPIED : 0);
		sonde_put_u64le(out, texts->files[i]);
	}
	end_section(out, HPCDB_META_FILES, start);
	start = out->size;
	ids = hpcdb_used_functions(job->used, &count);
	places->functions = put_array_head(out, count, HPCDB_FUNCTION_SIZE);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_function *function =
			sonde_definitions_function(definitions, ids[i]);

		sonde_put_u64le(out, texts->functions[i]);
		sonde_put_u64le(out, hpcdb_module_place(job, places, function->module));
		sonde_put_u64le(out, function->address);
		sonde_put_u64le(out, hpcdb_file_place(job, places, function->file));
		sonde_put_u32le(out, function->line);
		sonde_put_u32le(out, 0);
	}
	end_section(out, HPCDB_META_FUNCTIONS, start);
}

uint64_t hpcdb_module_place(const struct hpcdb_job *job, const struct hpcdb_places *places,
			    uint32_t module)
{
	uint32_t number = hpcdb_used_module(job->used, module);

	return number == UINT32_MAX ? 0 : places->modules + (uint64_t)number * HPCDB_MODULE_SIZE;
}

uint64_t hpcdb_file_place(const struct hpcdb_job *job, const struct hpcdb_places *places,
			  uint32_t file)
{
	uint32_t number = hpcdb_used_file(job->used, file);

	return number == UINT32_MAX ? 0 : places->files + (uint64_t)number * HPCDB_FILE_SIZE;
}

uint64_t hpcdb_function_place(const struct hpcdb_job *job, const struct hpcdb_places *places,
			      uint32_t function)
{
	uint32_t number = hpcdb_used_function(job->used, function);

	return number == UINT32_MAX ? 0 :
				      places->functions + (uint64_t)number * HPCDB_FUNCTION_SIZE;
}

static uint64_t *offsets_of(const uint32_t *(*list)(const struct hpcdb_used *, uint32_t *),
			    const struct hpcdb_job *job)
{
	uint32_t count;

	list(job->used, &count);
	return calloc((size_t)count + 1, sizeof(uint64_t));
}

/* Everything but the tree. */
static enum sonde_status put_all(struct sonde_buffer *out, const struct hpcdb_job *job,
				 struct hpcdb_places *places, struct sonde_error *err)
{
	struct placed *placed = calloc((size_t)job->world->metric_count + 1, sizeof(*placed));
	struct strings strings = { .job = job };
	struct text_offsets texts = {
		.modules = offsets_of(hpcdb_used_modules, job),
		.files = offsets_of(hpcdb_used_files, job),
		.functions = offsets_of(hpcdb_used_functions, job),
	};
	bool is_good = placed && texts.modules && texts.files && texts.functions;

	if (is_good) {
		hpcdb_put_magic(out, "meta");
		hpcdb_put_zeros(out, HPCDB_META_HEADER - HPCDB_SECTIONS);
		put_general(out, job);
		put_kinds(out, job);
		put_metrics(out, job, placed);
		put_strings(out, job, &strings, &texts, places->entry_names);
		put_records(out, job, &texts, places);
		is_good = !out->failed && !strings.failed;
	}
	sonde_key_map_release(&strings.numbers);
	sonde_vec_release(&strings.offsets);
	free(placed);
	free(texts.modules);
	free(texts.files);
	free(texts.functions);
	return is_good ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status hpcdb_write_meta(struct hpcdb_job *job, struct sonde_error *err)
{
	const struct hpcdb_world *world = job->world;
	struct hpcdb_places places = { 0 };
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	for (uint32_t i = 1; i < world->context_count; i++)
		places.entry_count += world->contexts[i].kind == SONDE_CONTEXT_ENTRY;
	if (places.entry_count > UINT16_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%u entry points; a database has no more than %u",
				  places.entry_count, UINT16_MAX);
	places.entry_names = calloc((size_t)places.entry_count + 1, sizeof(*places.entry_names));
	status = places.entry_names ? put_all(&out, job, &places, err) : sonde_fail_nomem(err);
	if (status >= 0)
		status = hpcdb_write_tree(job, &out, &places, err);
	free(places.entry_names);
	sonde_buffer_release(&out);
	return status;
}
