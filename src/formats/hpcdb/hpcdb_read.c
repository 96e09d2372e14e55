/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a database as a recording, its contexts, and the source files in it. */
#include "formats/hpcdb/hpcdb_read.h"

#include <stdlib.h>

#include "formats/hpcdb/hpcdb_findings.h"

/* Whether a file starts like a .db file of that kind. */
static bool has_magic(const char *folder, enum hpcdb_file_kind kind)
{
	struct hpcdb_file file;
	bool has = hpcdb_file_open(&file, folder, kind, NULL) == SONDE_OK;

	hpcdb_file_release(&file);
	return has;
}

int hpcdb_probe(const char *path)
{
	bool has_meta, has_profile;

	if (sonde_path_kind(path) != SONDE_PATH_FOLDER)
		return 0;
	has_meta = has_magic(path, HPCDB_META_FILE);
	has_profile = has_magic(path, HPCDB_PROFILE_FILE);
	if (has_meta && has_profile)
		return 100;
	if (has_meta || has_profile)
		return 90;
	return has_magic(path, HPCDB_CCT_FILE) || has_magic(path, HPCDB_TRACE_FILE) ? 80 : 0;
}

static enum sonde_status place_context(struct hpcdb_recording *database, uint32_t number,
				       struct sonde_error *err)
{
	static const uint8_t kinds[] = {
		[HPCDB_FUNCTION] = SONDE_CONTEXT_FUNCTION,
		[HPCDB_LOOP] = SONDE_CONTEXT_LOOP,
		[HPCDB_LINE] = SONDE_CONTEXT_LINE,
		[HPCDB_INSTRUCTION] = SONDE_CONTEXT_INSTRUCTION,
	};
	const struct hpcdb_context *source = &database->tree.contexts.items[number];
	struct hpcdb_place place = hpcdb_meta_place(&database->meta, source);
	struct sonde_context *context = &database->contexts[number];

	*context = (struct sonde_context){
		.parent = source->parent,
		.function = place.function,
		.file = place.file == HPCDB_NO_RECORD ? 0 : database->file_names[place.file],
		.line = place.line,
		.module = place.module,
		.address = place.address,
		.relation = source->relation == HPCDB_LEXICAL ? SONDE_CONTEXT_ENCLOSED :
			    source->relation == HPCDB_INLINED ? SONDE_CONTEXT_INLINED :
								SONDE_CONTEXT_CALLED,
		.end = source->end,
	};
	if (source->lexical_type <= HPCDB_INSTRUCTION)
		context->kind = kinds[source->lexical_type];
	else if (place.module != HPCDB_NO_RECORD && place.function == HPCDB_NO_RECORD)
		context->kind = SONDE_CONTEXT_INSTRUCTION;
	else if (place.file != HPCDB_NO_RECORD && place.function == HPCDB_NO_RECORD)
		context->kind = SONDE_CONTEXT_LINE;
	else
		context->kind = SONDE_CONTEXT_FUNCTION;
	if (!number)
		context->kind = SONDE_CONTEXT_ROOT;
	if (!source->is_entry)
		return SONDE_OK;
	context->kind = SONDE_CONTEXT_ENTRY;
	context->entry = place.entry <= SONDE_ENTRY_APPLICATION_THREAD ? (uint8_t)place.entry :
									 SONDE_ENTRY_OTHER;
	if (!place.name.length)
		return SONDE_OK;
	return sonde_definitions_add_string(database->definitions, place.name.text,
					    place.name.length, &context->name, err);
}

/* With the lock. */
static enum sonde_status read_contexts(struct hpcdb_recording *database, struct sonde_error *err)
{
	enum sonde_status status = hpcdb_meta_walk(&database->meta, &database->tree, err);
	size_t count = database->tree.contexts.count;

	if (status == SONDE_OK)
		status = hpcdb_ids_build(&database->ids, &database->tree, err);
	if (status == SONDE_OK) {
		database->contexts = malloc(count * sizeof(*database->contexts));
		if (!database->contexts)
			status = sonde_fail_nomem(err);
	}
	for (uint32_t i = 0; i < count && status == SONDE_OK; i++)
		status = place_context(database, i, err);
	database->has_contexts = status == SONDE_OK;
	if (status < 0) {
		hpcdb_tree_release(&database->tree);
		hpcdb_ids_release(&database->ids);
		free(database->contexts);
		database->contexts = NULL;
	}
	return status;
}

enum sonde_status hpcdb_contexts(struct sonde_recording *recording,
				 const struct sonde_context **contexts, uint32_t *count,
				 struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&database->lock);
	if (!database->has_contexts)
		status = read_contexts(database, err);
	pthread_mutex_unlock(&database->lock);
	*contexts = database->contexts;
	*count = status == SONDE_OK ? (uint32_t)database->tree.contexts.count : 0;
	return status;
}

/* Within the database, and not above it. */
static bool is_safe_path(const char *path)
{
	if (*path == '/' || !*path)
		return false;
	while (*path) {
		if (path[0] == '.' && path[1] == '.' && (path[2] == '/' || !path[2]))
			return false;
		path += strcspn(path, "/");
		path += *path == '/';
	}
	return true;
}

static enum sonde_status find_sources(struct hpcdb_recording *database, const char *folder,
				      struct sonde_diagnostics *found, struct sonde_error *err)
{
	for (uint32_t i = 0; i < database->meta.files.count; i++) {
		struct hpcdb_source_info info = hpcdb_meta_file(&database->meta, i);
		struct hpcdb_blob *blob;
		char *path;

		if (!info.is_copied || !is_safe_path(info.path.text))
			continue;
		path = sonde_path_join(folder, info.path.text);
		if (!path)
			return sonde_fail_nomem(err);
		if (sonde_path_kind(path) != SONDE_PATH_FILE) {
			hpcdb_found(found, SOURCE_MISSING, path, SONDE_NO_OFFSET,
				    "a copy of a source file\tnothing that can be read");
			free(path);
			continue;
		}
		free(path);
		blob = sonde_vec_push(&database->blobs);
		if (!blob)
			return sonde_fail_nomem(err);
		*blob = (struct hpcdb_blob){ .file = i };
	}
	return SONDE_OK;
}

static enum sonde_status open_blob(struct sonde_recording *recording, uint32_t number,
				   struct sonde_blob *blob, struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	struct hpcdb_blob *source = &database->blobs.items[number];
	uint32_t name = database->file_names[source->file];
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&database->lock);
	if (!source->is_open) {
		char *path = sonde_path_join(recording->path,
					     sonde_definitions_string(database->definitions, name));

		status = path ? sonde_mapped_file_open(&source->mapped, path, err) :
				sonde_fail_nomem(err);
		source->is_open = status == SONDE_OK;
		free(path);
	}
	pthread_mutex_unlock(&database->lock);
	if (status == SONDE_OK)
		*blob = (struct sonde_blob){
			.name = name,
			.is_text = true,
			.bytes = source->mapped.data,
			.size = source->mapped.size,
		};
	return status;
}

static void close_database(struct sonde_recording *recording)
{
	struct hpcdb_recording *database = recording->data;

	if (!database)
		return;
	for (size_t i = 0; i < database->blobs.count; i++) {
		if (database->blobs.items[i].is_open)
			sonde_mapped_file_release(&database->blobs.items[i].mapped);
	}
	sonde_vec_release(&database->blobs);
	sonde_vec_release(&database->metrics);
	hpcdb_formulas_release(&database->formulas);
	hpcdb_tree_release(&database->tree);
	hpcdb_ids_release(&database->ids);
	free(database->contexts);
	free(database->track_profiles);
	free(database->profile_tracks);
	free(database->track_lines);
	free(database->prop_uses);
	free(database->stat_uses);
	free(database->bases);
	free(database->file_names);
	hpcdb_meta_release(&database->meta);
	hpcdb_profile_release(&database->profile);
	hpcdb_cct_release(&database->cct);
	hpcdb_trace_release(&database->trace);
	pthread_mutex_destroy(&database->lock);
	free(database);
}

static const struct sonde_recording_ops recording_ops = {
	.blob = open_blob,
	.contexts = hpcdb_contexts,
	.values_open = hpcdb_values_open,
	.context_values_open = hpcdb_context_values_open,
	.value = hpcdb_value,
	.value_count = hpcdb_value_count,
	.formula = hpcdb_formula_at,
	.formula_value = hpcdb_formula_value,
	.samples_open = hpcdb_samples_open,
	.close = close_database,
};

/* cct.db and trace.db: what they hold can be had otherwise, or is not there. */
static enum sonde_status open_beside(struct sonde_recording *recording, struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	struct sonde_error fault;
	enum sonde_status status = hpcdb_cct_open(&database->cct, recording->path, &fault);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0)
		hpcdb_found(recording->diagnostics, CCT_MISSING, fault.file, fault.offset,
			    "values by context\t%s", fault.message);
	status = hpcdb_trace_open(&database->trace, recording->path, &fault);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0 && status != SONDE_IO)
		hpcdb_found(recording->diagnostics, REFUSED, fault.file, fault.offset,
			    "samples\t%s", fault.message);
	return SONDE_OK;
}

/* What is seen without reading values. */
static void look_at_file(struct sonde_recording *recording, const struct hpcdb_file *file)
{
	if (!file->data)
		return;
	if (!file->has_footer)
		hpcdb_found(recording->diagnostics, FOOTER, file->path, file->size,
			    "\"%s\" at the end\tother bytes", hpcdb_file_types[file->kind].footer);
	for (uint32_t i = 0; i < hpcdb_file_types[file->kind].sections; i++) {
		if (file->sections[i].size < file->sections[i].stated_size)
			hpcdb_found(recording->diagnostics, SECTION, file->path,
				    HPCDB_SECTIONS + (uint64_t)i * HPCDB_SECTION_SIZE,
				    "a section within the file\tone beyond its end");
	}
}

static unsigned int find_lanes(const struct hpcdb_recording *database)
{
	unsigned int lanes = SONDE_LANE_CONTEXTS;

	for (uint32_t i = 0; i < hpcdb_profile_count(&database->profile); i++) {
		if (hpcdb_profile_at(&database->profile, i).plane.value_count)
			lanes |= SONDE_LANE_VALUES;
	}
	for (uint32_t i = 0; i < database->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(database->definitions, i);

		if (track->sample_count)
			lanes |= SONDE_LANE_SAMPLES;
	}
	if (database->blobs.count)
		lanes |= SONDE_LANE_BLOBS;
	return lanes;
}

enum sonde_status hpcdb_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct hpcdb_recording *database = calloc(1, sizeof(*database));
	enum sonde_status status;

	if (!database)
		return sonde_fail_nomem(err);
	recording->ops = &recording_ops;
	recording->data = database;
	database->definitions = recording->definitions;
	pthread_mutex_init(&database->lock, NULL);
	status = hpcdb_meta_open(&database->meta, recording->path, err);
	if (status == SONDE_OK)
		status = hpcdb_profile_open(&database->profile, recording->path, err);
	if (status == SONDE_OK)
		status = open_beside(recording, err);
	if (status == SONDE_OK)
		status = hpcdb_define(database, err);
	if (status == SONDE_OK)
		status = find_sources(database, recording->path, recording->diagnostics, err);
	if (status < 0)
		return status;
	look_at_file(recording, &database->meta.file);
	look_at_file(recording, &database->profile.file);
	look_at_file(recording, &database->cct.file);
	look_at_file(recording, &database->trace.file);
	recording->blob_count = (uint32_t)database->blobs.count;
	recording->lanes = find_lanes(database);
	return SONDE_OK;
}
