/* SPDX-License-Identifier: Apache-2.0 */
/* What one process of a team found out about addresses, as bytes for the others. */
#include "analyse/prof_structs.h"

/* Ids of texts count from 0, which is ""; they are put in order until one is "" again. */
static void put_texts(const struct prof_names *names, uint32_t most, struct sonde_buffer *bytes)
{
	uint32_t id;

	sonde_put_u32le(bytes, most);
	for (id = 1; id <= most; id++)
		prof_put_text(bytes, sonde_definitions_string(names->texts, id));
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The largest id of a text in use. */
static uint32_t last_text(const struct prof_names *names)
{
	uint32_t last = 0;
	size_t i, j;

	for (i = 0; i < names->module_count; i++) {
		const struct prof_module_names *module = &names->modules[i];

		for (j = 0; j < module->nodes.count; j++)
			last = larger(last, module->nodes.items[j].file);
		for (j = 0; j < module->functions.count; j++) {
			last = larger(last, module->functions.items[j].name);
			last = larger(last, module->functions.items[j].file);
		}
	}
	return last;
}

static void put_module(const struct prof_module_names *module, struct sonde_buffer *bytes)
{
	size_t i;

	sonde_put_u32le(bytes, module->origin);
	sonde_put_u32le(bytes, (uint32_t)module->functions.count);
	for (i = 0; i < module->functions.count; i++) {
		const struct prof_name_function *function = &module->functions.items[i];

		sonde_put_u64le(bytes, function->address);
		sonde_put_u32le(bytes, function->name);
		sonde_put_u32le(bytes, function->file);
		sonde_put_u32le(bytes, function->line);
	}
	sonde_put_u32le(bytes, (uint32_t)module->nodes.count);
	for (i = 0; i < module->nodes.count; i++) {
		const struct prof_name_node *node = &module->nodes.items[i];

		sonde_put_u64le(bytes, node->address);
		sonde_put_u32le(bytes, node->parent);
		sonde_put_u32le(bytes, node->function);
		sonde_put_u32le(bytes, node->file);
		sonde_put_u32le(bytes, node->line);
		sonde_put_u32le(bytes, (uint32_t)node->kind << 8 | node->relation);
	}
}

void prof_names_put(const struct prof_names *names, const struct prof_places *places,
		    struct sonde_buffer *bytes)
{
	uint32_t i;

	put_texts(names, last_text(names), bytes);
	for (i = 0; i < names->module_count; i++)
		put_module(&names->modules[i], bytes);
	sonde_put_u32le(bytes, places->count);
	for (i = 0; i < places->count; i++)
		sonde_put_u32le(bytes, places->items[i].node);
}

static enum sonde_status take_texts(struct prof_names *names, struct sonde_bytes *bytes,
				    uint32_t *count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t id, i;

	*count = sonde_bytes_u32le(bytes);
	for (i = 1; i <= *count && status == SONDE_OK && !bytes->overrun; i++) {
		const char *text = prof_take_text(bytes);

		status = sonde_definitions_add_string(names->texts, text, strlen(text), &id, err);
		bytes->overrun |= id != i;
	}
	return status;
}

static bool take_module(struct prof_module_names *module, struct sonde_bytes *bytes, uint32_t texts)
{
	uint32_t i, count;

	module->origin = (enum sonde_structure_origin)sonde_bytes_u32le(bytes);
	bytes->overrun |= module->origin > SONDE_STRUCTURE_FILE;
	count = sonde_bytes_u32le(bytes);
	for (i = 0; i < count && !bytes->overrun; i++) {
		struct prof_name_function *function = sonde_vec_push(&module->functions);

		if (!function)
			return false;
		function->address = sonde_bytes_u64le(bytes);
		function->name = sonde_bytes_u32le(bytes);
		function->file = sonde_bytes_u32le(bytes);
		function->line = sonde_bytes_u32le(bytes);
		bytes->overrun |= function->name > texts || function->file > texts;
	}
	count = sonde_bytes_u32le(bytes);
	for (i = 0; i < count && !bytes->overrun; i++) {
		struct prof_name_node *node = sonde_vec_push(&module->nodes);
		uint32_t kind;

		if (!node)
			return false;
		node->address = sonde_bytes_u64le(bytes);
		node->parent = sonde_bytes_u32le(bytes);
		node->function = sonde_bytes_u32le(bytes);
		node->file = sonde_bytes_u32le(bytes);
		node->line = sonde_bytes_u32le(bytes);
		kind = sonde_bytes_u32le(bytes);
		node->kind = (uint8_t)(kind >> 8);
		node->relation = (uint8_t)kind;
		bytes->overrun |= (node->parent != SONDE_NONE && node->parent >= i) ||
				  (node->kind == SONDE_CONTEXT_FUNCTION &&
				   node->function >= module->functions.count) ||
				  node->file > texts;
	}
	return true;
}

enum sonde_status prof_names_take(struct prof_names *names, struct prof_places *places,
				  struct sonde_bytes *bytes, struct sonde_error *err)
{
	uint32_t texts, i;
	enum sonde_status status = take_texts(names, bytes, &texts, err);

	if (status != SONDE_OK)
		return status;
	for (i = 0; i < names->module_count && !bytes->overrun; i++)
		if (!take_module(&names->modules[i], bytes, texts))
			return sonde_fail_nomem(err);
	bytes->overrun |= sonde_bytes_u32le(bytes) != places->count;
	for (i = 0; i < places->count && !bytes->overrun; i++) {
		uint32_t node = sonde_bytes_u32le(bytes);

		bytes->overrun |= node != SONDE_NONE &&
				  node >= names->modules[places->items[i].module].nodes.count;
		places->items[i].node = node;
	}
	if (bytes->overrun)
		return sonde_fail(err, SONDE_CORRUPT, bytes->position,
				  "the names that rank 0 sent do not fit together; do all of the "
				  "team run the same version of sonde?");
	return SONDE_OK;
}
