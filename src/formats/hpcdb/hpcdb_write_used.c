/* SPDX-License-Identifier: Apache-2.0 */
/* Which modules, files and functions a database has to name, and their numbers in it. */
#include <stdlib.h>

#include "base/map.h"
#include "formats/hpcdb/hpcdb_write_private.h"

struct numbered {
	struct sonde_key_map numbers;
	SONDE_VEC(uint32_t) ids;
};

struct hpcdb_used {
	const struct sonde_definitions *definitions;
	struct numbered modules; /* by the string of their path */
	struct numbered files;
	struct numbered functions;
};

static bool use(struct numbered *numbered, uint64_t key, uint32_t id)
{
	uint32_t *place;

	if (sonde_key_map_find(&numbered->numbers, key) != UINT32_MAX)
		return true;
	place = sonde_vec_push(&numbered->ids);
	if (!place)
		return false;
	*place = id;
	return sonde_key_map_add(&numbered->numbers, key, (uint32_t)numbered->ids.count - 1);
}

static bool use_module(struct hpcdb_used *used, uint32_t id)
{
	const struct sonde_module *module = sonde_definitions_module(used->definitions, id);

	return !module || use(&used->modules, module->path, id);
}

static bool use_file(struct hpcdb_used *used, uint32_t id)
{
	return !id || use(&used->files, id, id);
}

static bool use_function(struct hpcdb_used *used, uint32_t id)
{
	const struct sonde_function *function = sonde_definitions_function(used->definitions, id);

	if (!function)
		return true;
	return use(&used->functions, id, id) && use_module(used, function->module) &&
	       use_file(used, function->file);
}

static bool use_context(struct hpcdb_used *used, const struct sonde_context *context)
{
	switch (context->kind) {
	case SONDE_CONTEXT_FUNCTION:
		return use_function(used, context->function);
	case SONDE_CONTEXT_LOOP:
		return use_file(used, context->file) && use_module(used, context->module);
	case SONDE_CONTEXT_LINE:
		return use_file(used, context->file);
	case SONDE_CONTEXT_INSTRUCTION:
		return use_module(used, context->module);
	default:
		return true;
	}
}

struct hpcdb_used *hpcdb_used_new(const struct hpcdb_job *job, struct sonde_error *err)
{
	const struct hpcdb_world *world = job->world;
	struct hpcdb_used *used = calloc(1, sizeof(*used));
	bool is_good = used;

	if (used)
		used->definitions = world->definitions;
	for (uint32_t i = 1; i < world->context_count && is_good; i++)
		is_good = world->contexts[i].unlisted || use_context(used, &world->contexts[i]);
	if (is_good)
		return used;
	hpcdb_used_free(used);
	sonde_fail_nomem(err);
	return NULL;
}

static void numbered_release(struct numbered *numbered)
{
	sonde_key_map_release(&numbered->numbers);
	sonde_vec_release(&numbered->ids);
}

void hpcdb_used_free(struct hpcdb_used *used)
{
	if (!used)
		return;
	numbered_release(&used->modules);
	numbered_release(&used->files);
	numbered_release(&used->functions);
	free(used);
}

static const uint32_t *items(const struct numbered *numbered, uint32_t *count)
{
	*count = (uint32_t)numbered->ids.count;
	return numbered->ids.items;
}

const uint32_t *hpcdb_used_modules(const struct hpcdb_used *used, uint32_t *count)
{
	return items(&used->modules, count);
}

const uint32_t *hpcdb_used_files(const struct hpcdb_used *used, uint32_t *count)
{
	return items(&used->files, count);
}

const uint32_t *hpcdb_used_functions(const struct hpcdb_used *used, uint32_t *count)
{
	return items(&used->functions, count);
}

uint32_t hpcdb_used_module(const struct hpcdb_used *used, uint32_t module)
{
	const struct sonde_module *definition = sonde_definitions_module(used->definitions, module);

	return definition ? sonde_key_map_find(&used->modules.numbers, definition->path) :
			    UINT32_MAX;
}

uint32_t hpcdb_used_file(const struct hpcdb_used *used, uint32_t file)
{
	return sonde_key_map_find(&used->files.numbers, file);
}

uint32_t hpcdb_used_function(const struct hpcdb_used *used, uint32_t function)
{
	return sonde_key_map_find(&used->functions.numbers, function);
}
