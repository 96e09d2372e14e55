/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions of two sides are the same. A program may have another name on each side (app.old, app.new), a
 * library another version, one side may be recorded without modules or built without debug information:
 * what tells functions apart is only taken as far as it is needed, and as far as both sides have it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_private.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"

/* A name of modules, and who has it. */
struct module_name {
	const char *text;
	const char *stands_for; /* the name it is matched by */
	bool on_side[2];
	bool has_main;
};

/* Functions of one name in one module. */
struct homonyms {
	size_t last_part; /* that has one, plus one */
	bool several;	  /* a part has more than one: files tell them apart */
};

struct matcher {
	const struct cct *const *trees;
	size_t count, before_count;
	struct sonde_arena texts;
	struct sonde_text_map module_map, function_map;
	SONDE_VEC(struct module_name) modules;
	SONDE_VEC(struct homonyms) homonyms;
	struct sonde_buffer scratch;
	struct cct_names *names; /* by part; its arrays are owned here */
	uint32_t **
		module_numbers; /* by part, by module: in `modules`; the last is that of no module */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libfoo.so" of "libfoo.so.1.2.3" */
static size_t length_without_version(const char *name)
{
	const char *ending = strstr(name, ".so.");

	return ending ? (size_t)(ending - name) + 3 : strlen(name);
}

static const char *keep_text(struct matcher *matcher, const char *text, size_t length)
{
	return sonde_arena_copy_text(&matcher->texts, text, length);
}

/* The number of a module's name; SONDE_NONE where memory failed. */
static uint32_t module_number(struct matcher *matcher, const char *path, bool side)
{
	const char *name = base_name(path);
	size_t length = length_without_version(name);
	uint32_t number = sonde_text_map_find(&matcher->module_map, name, length);

	if (number == SONDE_NONE) {
		const char *text = keep_text(matcher, name, length);
		struct module_name *module = text ? sonde_vec_push(&matcher->modules) : NULL;

		number = (uint32_t)matcher->modules.count - 1;
		if (!module || !sonde_text_map_add(&matcher->module_map, text, length, number))
			return SONDE_NONE;
		*module = (struct module_name){ .text = text, .stands_for = text };
	}
	if (number >= matcher->modules.count)
		return SONDE_NONE;
	matcher->modules.items[number].on_side[side] = true;
	return number;
}

static uint32_t number_of_function_module(const struct matcher *matcher, size_t part,
					  const struct sonde_function *function)
{
	uint32_t count = sonde_definitions_module_count(matcher->trees[part]->definitions);

	return matcher->module_numbers[part][function->module < count ? function->module : count];
}

/* Names of the modules of one part, and that of no module where a function has none. */
static bool list_modules(struct matcher *matcher, size_t part)
{
	const struct sonde_definitions *definitions = matcher->trees[part]->definitions;
	uint32_t modules = sonde_definitions_module_count(definitions), i;
	uint32_t functions = sonde_definitions_function_count(definitions);
	uint32_t *numbers = malloc(((size_t)modules + 1) * sizeof(*numbers));
	bool side = part >= matcher->before_count;

	matcher->module_numbers[part] = numbers;
	if (!numbers)
		return false;
	for (i = 0; i < modules; i++) {
		const struct sonde_module *module = sonde_definitions_module(definitions, i);

		numbers[i] = module_number(
			matcher, sonde_definitions_string(definitions, module->path), side);
		if (numbers[i] == SONDE_NONE)
			return false;
	}
	numbers[modules] = SONDE_NONE;
	for (i = 0; i < functions; i++) {
		const struct sonde_function *function = sonde_definitions_function(definitions, i);
		uint32_t *number =
			&numbers[function->module < modules ? function->module : modules];

		if (*number == SONDE_NONE)
			*number = module_number(matcher, "", side);
		if (*number == SONDE_NONE)
			return false;
		if (!strcmp(sonde_definitions_string(definitions, function->name), "main"))
			matcher->modules.items[*number].has_main = true;
	}
	return true;
}

/* The only module of a side that the other side does not have; with `main` in it, if asked for. */
static struct module_name *only_unmatched(struct matcher *matcher, bool side, bool with_main)
{
	struct module_name *found = NULL;
	size_t i;

	for (i = 0; i < matcher->modules.count; i++) {
		struct module_name *module = &matcher->modules.items[i];

		if (module->on_side[!side] || !module->on_side[side] ||
		    (with_main && !module->has_main))
			continue;
		if (found)
			return NULL;
		found = module;
	}
	return found;
}

static void pair(struct module_name *before, struct module_name *after)
{
	if (!before || !after)
		return;
	after->stands_for = before->text;
	before->on_side[1] = after->on_side[0] = true;
}

/* Whether a side knows modules at all. */
static bool has_modules(const struct matcher *matcher, bool side)
{
	size_t i;

	for (i = 0; i < matcher->modules.count; i++)
		if (matcher->modules.items[i].on_side[side] && *matcher->modules.items[i].text)
			return true;
	return false;
}

static void match_modules(struct matcher *matcher)
{
	size_t i;

	if (!has_modules(matcher, false) || !has_modules(matcher, true)) {
		for (i = 0; i < matcher->modules.count; i++)
			matcher->modules.items[i].stands_for = "";
		return;
	}
	pair(only_unmatched(matcher, false, true), only_unmatched(matcher, true, true));
	pair(only_unmatched(matcher, false, false), only_unmatched(matcher, true, false));
}

/* What all functions of a name in a module have in common, in `scratch`. */
static void put_identity(struct matcher *matcher, size_t part,
			 const struct sonde_function *function)
{
	const struct sonde_definitions *definitions = matcher->trees[part]->definitions;
	uint32_t module = number_of_function_module(matcher, part, function);
	struct sonde_buffer *out = &matcher->scratch;

	sonde_buffer_clear(out);
	sonde_buffer_put_text(out, matcher->modules.items[module].stands_for);
	sonde_buffer_put_char(out, '\n');
	if (function->name)
		sonde_buffer_put_text(out, sonde_definitions_string(definitions, function->name));
	else
		sonde_buffer_put_format(out, "\n%" PRIx64 "\n%" PRIx64,
					function->has_key ? function->key : 0, function->address);
}

static bool count_homonyms(struct matcher *matcher, size_t part)
{
	const struct sonde_definitions *definitions = matcher->trees[part]->definitions;
	uint32_t functions = sonde_definitions_function_count(definitions), i, number;

	for (i = 0; i < functions; i++) {
		const struct sonde_buffer *text = &matcher->scratch;
		struct homonyms *homonyms;

		put_identity(matcher, part, sonde_definitions_function(definitions, i));
		if (text->failed)
			return false;
		number = sonde_text_map_find(&matcher->function_map, text->data, text->size);
		if (number == SONDE_NONE) {
			const char *kept = keep_text(matcher, text->data, text->size);

			number = (uint32_t)matcher->homonyms.count;
			homonyms = sonde_vec_push(&matcher->homonyms);
			if (!kept || !homonyms ||
			    !sonde_text_map_add(&matcher->function_map, kept, text->size, number))
				return false;
			*homonyms = (struct homonyms){ 0 };
		}
		homonyms = &matcher->homonyms.items[number];
		homonyms->several |= homonyms->last_part == part + 1;
		homonyms->last_part = part + 1;
	}
	return true;
}

static bool name_functions(struct matcher *matcher, size_t part)
{
	const struct sonde_definitions *definitions = matcher->trees[part]->definitions;
	uint32_t functions = sonde_definitions_function_count(definitions), i, number;
	const char **names = calloc((size_t)functions + 1, sizeof(*names));
	struct sonde_buffer *text = &matcher->scratch;

	matcher->names[part].functions = names;
	if (!names)
		return false;
	for (i = 0; i < functions; i++) {
		const struct sonde_function *function = sonde_definitions_function(definitions, i);

		put_identity(matcher, part, function);
		number = sonde_text_map_find(&matcher->function_map, text->data, text->size);
		if (number != SONDE_NONE && matcher->homonyms.items[number].several) {
			sonde_buffer_put_char(text, '\n');
			sonde_buffer_put_text(text, base_name(sonde_definitions_string(
							    definitions, function->file)));
		}
		names[i] = text->failed ? NULL : keep_text(matcher, text->data, text->size);
		if (!names[i])
			return false;
	}
	return true;
}

static bool name_modules(struct matcher *matcher, size_t part)
{
	const struct sonde_definitions *definitions = matcher->trees[part]->definitions;
	uint32_t modules = sonde_definitions_module_count(definitions), i;
	const char **names = calloc((size_t)modules + 1, sizeof(*names));
	const uint32_t *numbers = matcher->module_numbers[part];

	matcher->names[part].modules = names;
	if (!names || !numbers)
		return false;
	for (i = 0; i < modules; i++) {
		if (numbers[i] >= matcher->modules.count)
			return false;
		names[i] = matcher->modules.items[numbers[i]].stands_for;
	}
	return true;
}

static bool match(struct matcher *matcher)
{
	bool good = true;
	size_t part;

	for (part = 0; part < matcher->count && good; part++)
		good = list_modules(matcher, part);
	if (good)
		match_modules(matcher);
	for (part = 0; part < matcher->count && good; part++)
		good = count_homonyms(matcher, part);
	for (part = 0; part < matcher->count && good; part++)
		good = name_functions(matcher, part) && name_modules(matcher, part);
	return good;
}

static void matcher_release(struct matcher *matcher)
{
	size_t part;

	for (part = 0; part < matcher->count; part++) {
		if (matcher->names) {
			free((void *)matcher->names[part].modules);
			free((void *)matcher->names[part].functions);
		}
		if (matcher->module_numbers)
			free(matcher->module_numbers[part]);
	}
	free(matcher->names);
	free(matcher->module_numbers);
	sonde_text_map_release(&matcher->module_map);
	sonde_text_map_release(&matcher->function_map);
	sonde_vec_release(&matcher->modules);
	sonde_vec_release(&matcher->homonyms);
	sonde_buffer_release(&matcher->scratch);
	sonde_arena_release(&matcher->texts);
}

enum sonde_status compare_merge(const struct cct *const *trees, size_t count, size_t before_count,
				struct cct **whole, uint32_t **maps, struct sonde_error *err)
{
	struct matcher matcher = {
		.trees = trees,
		.count = count,
		.before_count = before_count,
		.names = calloc(count + 1, sizeof(*matcher.names)),
		.module_numbers = calloc(count + 1, sizeof(uint32_t *)),
	};
	enum sonde_status status;

	if (matcher.names && matcher.module_numbers && match(&matcher))
		status = cct_merge_as(trees, count, matcher.names, whole, maps, err);
	else
		status = sonde_fail_nomem(err);
	matcher_release(&matcher);
	return status;
}
