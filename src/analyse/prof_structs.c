/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .hpcstruct files and binaries, one module at a time on each thread. Addresses are asked for in
 * ascending order, so that what is found is numbered the same whoever asks.
 */
#include "analyse/prof_structs.h"

#include <stdio.h>

#include "analyse/prof_read.h"
#include "base/file.h"
#include "base/pool.h"

#define STRUCT_SUFFIX ".hpcstruct"
/* Nothing in a source is nested so deep; what is makes no contexts. */
#define DEPTH_LIMIT 1000

struct struct_file {
	char *path;
	struct sonde_structure_file *file;
	struct sonde_error why; /* status SONDE_OK: it was read */
};

struct finding {
	struct prof_names *names;
	const char *const *paths; /* of modules */
	struct prof_places *places;
	const struct prof_inputs *inputs;
	const struct sonde_prof_options *options;
	struct prof_union *refused;
	SONDE_VEC(struct struct_file) files;
	struct sonde_structure **structures; /* by module; taken from a file */
};

static enum sonde_status add_file(struct finding *finding, const char *path,
				  struct sonde_error *err)
{
	struct struct_file *file = sonde_vec_push(&finding->files);

	if (!file)
		return sonde_fail_nomem(err);
	*file = (struct struct_file){ .path = strdup(path) };
	return file->path ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status add_folder(struct finding *finding, const char *path,
				    struct sonde_error *err)
{
	struct sonde_folder folder = { 0 };
	enum sonde_status status = sonde_folder_read(&folder, path, err);
	size_t i;

	for (i = 0; status == SONDE_OK && i < folder.count; i++) {
		size_t length = strlen(folder.names[i]), suffix = strlen(STRUCT_SUFFIX);
		char *file;

		if (length <= suffix || strcmp(folder.names[i] + length - suffix, STRUCT_SUFFIX))
			continue;
		file = sonde_path_join(path, folder.names[i]);
		status = file ? add_file(finding, file, err) : sonde_fail_nomem(err);
		free(file);
	}
	sonde_folder_release(&folder);
	return status;
}

/* Files that were asked for come before those beside the measurements. */
static enum sonde_status list_files(struct finding *finding, struct sonde_error *err)
{
	const struct sonde_prof_options *options = finding->options;
	enum sonde_status status = SONDE_OK;
	size_t i;

	for (i = 0; status == SONDE_OK && i < options->struct_count; i++)
		status = sonde_path_kind(options->structs[i]) == SONDE_PATH_FOLDER ?
				 add_folder(finding, options->structs[i], err) :
				 add_file(finding, options->structs[i], err);
	for (i = 0;
	     status == SONDE_OK && !options->ignore_structs && i < finding->inputs->folders.count;
	     i++) {
		char *folder = sonde_path_join(finding->inputs->folders.items[i], "structs");

		if (!folder)
			return sonde_fail_nomem(err);
		if (sonde_path_kind(folder) == SONDE_PATH_FOLDER)
			status = add_folder(finding, folder, err);
		free(folder);
	}
	return status;
}

static enum sonde_status read_file(void *user, size_t number, struct sonde_error *err)
{
	struct finding *finding = user;
	struct struct_file *file = &finding->files.items[number];

	file->why = (struct sonde_error){ .offset = SONDE_NO_OFFSET };
	file->why.status = sonde_structure_file_read(file->path, &file->file, &file->why);
	if (file->why.status != SONDE_NOMEM)
		return SONDE_OK;
	return sonde_fail_nomem(err);
}

static enum sonde_status refuse_file(struct finding *finding, const struct struct_file *file,
				     struct sonde_error *err)
{
	char reason[sizeof(err->message) + sizeof(err->cause) + 64];

	prof_reason(&file->why, reason, sizeof(reason));
	return prof_union_refuse(finding->refused, SONDE_NONE, file->path, reason) ?
		       SONDE_OK :
		       sonde_fail_nomem(err);
}

static size_t find_module(const struct finding *finding, const char *path)
{
	size_t low = 0, high = finding->names->module_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(finding->paths[middle], path);

		if (!order)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

/* Takes what a file has for modules that occur and that no earlier file had. */
static enum sonde_status take_structures(struct finding *finding, struct struct_file *file,
					 struct sonde_buffer *space, struct sonde_error *err)
{
	size_t count = sonde_structure_file_count(file->file), i, module;

	for (i = 0; i < count; i++) {
		const char *path = prof_replaced(finding->options,
						 sonde_structure_file_module(file->file, i), space);

		if (!path)
			return sonde_fail_nomem(err);
		module = find_module(finding, path);
		if (module != SIZE_MAX && !finding->structures[module])
			finding->structures[module] = sonde_structure_file_take(file->file, i);
	}
	return SONDE_OK;
}

static enum sonde_status read_files(struct finding *finding, struct sonde_error *err)
{
	struct sonde_buffer space = { 0 };
	enum sonde_status status = list_files(finding, err);
	size_t i;

	if (status == SONDE_OK)
		status = sonde_pool_run(finding->files.count, finding->options->threads, read_file,
					finding, err);
	for (i = 0; status == SONDE_OK && i < finding->files.count; i++) {
		struct struct_file *file = &finding->files.items[i];

		status = file->why.status ? refuse_file(finding, file, err) :
					    take_structures(finding, file, &space, err);
		sonde_structure_file_free(file->file);
		file->file = NULL;
	}
	sonde_buffer_release(&space);
	return status;
}

struct numbers {
	uint32_t *items;
	size_t count, capacity;
};

/* While one module's places are looked up. */
struct lookup {
	struct finding *finding;
	struct sonde_structure *structure;
	struct prof_module_names *names;
	struct numbers nodes; /* by node of the structure: its number here, SONDE_NONE */
	struct numbers functions;
	struct numbers chain;
	struct sonde_buffer space;
};

/* The place of an index in a list of numbers, which grows to it. NULL where memory failed. */
static uint32_t *number_at(struct numbers *numbers, uint32_t index)
{
	if (index >= numbers->count) {
		size_t more = (size_t)index + 1 - numbers->count;

		if (!sonde_vec_reserve(numbers, more))
			return NULL;
		memset(numbers->items + numbers->count, 0xff, more * sizeof(uint32_t));
		numbers->count += more;
	}
	return &numbers->items[index];
}

/* A text with its path replaced where `is_path`; 0 for none. */
static enum sonde_status intern(struct lookup *lookup, const char *text, bool is_path, uint32_t *id,
				struct sonde_error *err)
{
	*id = 0;
	if (text && is_path)
		text = prof_replaced(lookup->finding->options, text, &lookup->space);
	else if (!text)
		return SONDE_OK;
	if (!text)
		return sonde_fail_nomem(err);
	return sonde_definitions_add_string(lookup->finding->names->texts, text, strlen(text), id,
					    err);
}

static enum sonde_status keep_function(struct lookup *lookup, uint32_t number, uint32_t *kept,
				       struct sonde_error *err)
{
	const struct sonde_structure_function *function =
		sonde_structure_function(lookup->structure, number);
	struct prof_name_function *copy;
	enum sonde_status status;
	uint32_t name, file;

	status = intern(lookup, function->name, false, &name, err);
	if (status == SONDE_OK)
		status = intern(lookup, function->file, true, &file, err);
	if (status != SONDE_OK)
		return status;
	copy = sonde_vec_push(&lookup->names->functions);
	if (!copy)
		return sonde_fail_nomem(err);
	*copy = (struct prof_name_function){
		.address = function->address, .name = name, .file = file, .line = function->line
	};
	*kept = (uint32_t)lookup->names->functions.count - 1;
	return SONDE_OK;
}

static enum sonde_status keep_node(struct lookup *lookup, uint32_t number, uint32_t parent,
				   uint32_t *kept, struct sonde_error *err)
{
	const struct sonde_structure_node *node = sonde_structure_node(lookup->structure, number);
	struct prof_name_node copy = { .address = node->address,
				       .parent = parent,
				       .function = SONDE_NONE,
				       .line = node->line,
				       .kind = node->kind,
				       .relation = node->relation };
	struct prof_name_node *place;
	enum sonde_status status = SONDE_OK;

	if (node->kind == SONDE_CONTEXT_FUNCTION) {
		uint32_t *function = number_at(&lookup->functions, node->function);

		if (!function)
			return sonde_fail_nomem(err);
		if (*function == SONDE_NONE)
			status = keep_function(lookup, node->function, function, err);
		copy.function = *function;
	} else {
		status = intern(lookup, node->file, true, &copy.file, err);
	}
	if (status != SONDE_OK)
		return status;
	place = sonde_vec_push(&lookup->names->nodes);
	if (!place)
		return sonde_fail_nomem(err);
	*place = copy;
	*kept = (uint32_t)lookup->names->nodes.count - 1;
	return SONDE_OK;
}

/* A node of the structure and what is around it, as far as it is not kept yet. */
static enum sonde_status keep_chain(struct lookup *lookup, uint32_t number, uint32_t *kept,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t parent = SONDE_NONE, *place;

	lookup->chain.count = 0;
	while (number != SONDE_NONE) {
		place = number_at(&lookup->nodes, number);
		if (!place)
			return sonde_fail_nomem(err);
		parent = *place;
		if (parent != SONDE_NONE)
			break;
		place = sonde_vec_push(&lookup->chain);
		if (!place)
			return sonde_fail_nomem(err);
		*place = number;
		number = sonde_structure_node(lookup->structure, number)->parent;
		if (lookup->chain.count > DEPTH_LIMIT) {
			*kept = SONDE_NONE;
			return SONDE_OK;
		}
	}
	while (lookup->chain.count && status == SONDE_OK) {
		number = lookup->chain.items[--lookup->chain.count];
		place = &lookup->nodes.items[number];
		status = keep_node(lookup, number, parent, place, err);
		parent = *place;
	}
	*kept = parent;
	return status;
}

static enum sonde_status look_up(struct lookup *lookup, size_t module, struct sonde_error *err)
{
	struct prof_places *places = lookup->finding->places;
	enum sonde_status status = SONDE_OK;
	uint32_t i;

	for (i = places->starts[module]; status == SONDE_OK && i < places->starts[module + 1]; i++)
		status = keep_chain(lookup,
				    sonde_structure_find(lookup->structure, places->items[i].ip),
				    &places->items[i].node, err);
	/* only now: what it is may turn out while it is used */
	lookup->names->origin = sonde_structure_origin(lookup->structure);
	if (status == SONDE_OK && sonde_structure_failed(lookup->structure))
		return sonde_fail_nomem(err);
	return status;
}

static enum sonde_status open_binary(const struct finding *finding, const char *path,
				     struct sonde_structure **structure, struct sonde_error *err)
{
	struct sonde_error why = { .offset = SONDE_NO_OFFSET };
	enum sonde_status status;

	if (sonde_path_kind(path) != SONDE_PATH_FILE)
		return SONDE_OK;
	status = sonde_structure_of_binary(path, finding->options->dwarf_limit, structure, &why);
	/* a file that is none, or cannot be read, is as good as absent */
	return status == SONDE_NOMEM ? sonde_fail_nomem(err) : SONDE_OK;
}

/* What a path is called in a folder of measurements: all of it, or what hpcrun puts there; or NULL. */
static const char *name_in_folder(const char *path)
{
	static const char *const kept[] = { "/vdso/", "/gpubins/" };
	const char *found;
	size_t i;

	if (path[0] != '/')
		return path;
	for (i = 0; i < 2; i++)
		if ((found = strstr(path, kept[i])))
			return found + 1;
	return NULL;
}

static enum sonde_status find_binary(const struct finding *finding, const char *path,
				     struct sonde_structure **structure, struct sonde_error *err)
{
	const char *name = name_in_folder(path);
	enum sonde_status status = SONDE_OK;
	size_t i;

	if (path[0] == '/')
		status = open_binary(finding, path, structure, err);
	for (i = 0; status == SONDE_OK && !*structure && name && i < finding->inputs->folders.count;
	     i++) {
		char *file = sonde_path_join(finding->inputs->folders.items[i], name);

		if (!file)
			return sonde_fail_nomem(err);
		status = open_binary(finding, file, structure, err);
		free(file);
	}
	return status;
}

static enum sonde_status find_names(void *user, size_t module, struct sonde_error *err)
{
	struct finding *finding = user;
	struct lookup lookup = { .finding = finding,
				 .structure = finding->structures[module],
				 .names = &finding->names->modules[module] };
	enum sonde_status status = SONDE_OK;

	finding->structures[module] = NULL;
	/* what lies beside the profiles is a part of the measurement */
	if (!lookup.structure &&
	    !(finding->options->ignore_binaries && finding->paths[module][0] == '/') &&
	    finding->places->starts[module] != finding->places->starts[module + 1])
		status = find_binary(finding, finding->paths[module], &lookup.structure, err);
	if (status == SONDE_OK && lookup.structure)
		status = look_up(&lookup, module, err);
	sonde_structure_free(lookup.structure);
	sonde_vec_release(&lookup.nodes);
	sonde_vec_release(&lookup.functions);
	sonde_vec_release(&lookup.chain);
	sonde_buffer_release(&lookup.space);
	return status;
}

static bool begin_names(struct prof_names *names, size_t module_count)
{
	names->module_count = module_count;
	names->modules = calloc(module_count + 1, sizeof(*names->modules));
	names->texts = sonde_definitions_new();
	return names->modules && names->texts;
}

static enum sonde_status find_all(struct finding *finding, struct sonde_error *err)
{
	size_t count = finding->names->module_count, i;
	enum sonde_status status;

	finding->structures = calloc(count + 1, sizeof(*finding->structures));
	status = finding->structures ? read_files(finding, err) : sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = sonde_pool_run(count, finding->options->threads, find_names, finding, err);
	for (i = 0; finding->structures && i < count; i++)
		sonde_structure_free(finding->structures[i]);
	free(finding->structures);
	for (i = 0; i < finding->files.count; i++) {
		sonde_structure_file_free(finding->files.items[i].file);
		free(finding->files.items[i].path);
	}
	sonde_vec_release(&finding->files);
	return status;
}

static enum sonde_status share_names(struct prof_names *names, struct prof_places *places,
				     struct sonde_team *team, struct sonde_error *err)
{
	struct sonde_buffer bytes = { 0 };
	struct sonde_bytes cursor;
	enum sonde_status status;

	if (!sonde_team_rank(team))
		prof_names_put(names, places, &bytes);
	status = sonde_team_agree(team, bytes.failed ? sonde_fail_nomem(err) : SONDE_OK, err);
	if (status == SONDE_OK)
		status = sonde_team_share(team, &bytes, err);
	cursor = sonde_bytes_of(bytes.data, bytes.size);
	if (status == SONDE_OK && sonde_team_rank(team))
		status = prof_names_take(names, places, &cursor, err);
	sonde_buffer_release(&bytes);
	return sonde_team_agree(team, status, err);
}

enum sonde_status prof_names_find(struct prof_names *names, const char *const *modules,
				  size_t module_count, struct prof_places *places,
				  const struct prof_inputs *inputs,
				  const struct sonde_prof_options *options,
				  struct prof_union *refused, struct sonde_error *err)
{
	struct finding finding = { .names = names,
				   .paths = modules,
				   .places = places,
				   .inputs = inputs,
				   .options = options,
				   .refused = refused };
	enum sonde_status status = SONDE_OK;

	if (!begin_names(names, module_count))
		status = sonde_fail_nomem(err);
	else if (!sonde_team_rank(options->team))
		status = find_all(&finding, err);
	status = sonde_team_agree(options->team, status, err);
	if (status == SONDE_OK && options->team)
		status = share_names(names, places, options->team, err);
	return status;
}

void prof_names_release(struct prof_names *names)
{
	size_t i;

	for (i = 0; names->modules && i < names->module_count; i++) {
		sonde_vec_release(&names->modules[i].nodes);
		sonde_vec_release(&names->modules[i].functions);
	}
	free(names->modules);
	sonde_definitions_free(names->texts);
	*names = (struct prof_names){ 0 };
}
