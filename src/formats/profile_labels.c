/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of frames, found by a key of what they say. */
#include "formats/profile_labels.h"

#include "model/context_frame.h"

/* Keys of different kinds of labels never meet. */
enum { KEY_NAME = 1, KEY_ENTRY, KEY_NUMBER, KEY_PLACE };

static uint64_t tag(uint64_t key, unsigned int kind)
{
	return (key & ~(UINT64_C(7) << 61)) | (uint64_t)kind << 61;
}

static uint32_t module_path(const struct sonde_definitions *definitions, uint32_t module)
{
	const struct sonde_module *found = sonde_definitions_module(definitions, module);

	return found ? found->path : 0;
}

/* What does not fit into a key is as good as never mistaken. */
static uint64_t function_key(const struct sonde_definitions *definitions, uint32_t number,
			     bool by_name)
{
	const struct sonde_function *function = sonde_definitions_function(definitions, number);
	uint64_t hash;

	if (!function || !function->name)
		return tag(number, KEY_NUMBER);
	if (by_name)
		return tag(function->name, KEY_NAME);
	hash = sonde_hash_also(function->name, module_path(definitions, function->module));
	return tag(sonde_hash_also(hash, (uint64_t)function->file << 32 | function->line),
		   KEY_NAME);
}

static uint64_t label_key(const struct sonde_definitions *definitions,
			  const struct sonde_context *context, bool by_name)
{
	uint64_t hash;

	switch (context->kind) {
	case SONDE_CONTEXT_ROOT:
		return 0;
	case SONDE_CONTEXT_ENTRY:
		return tag(context->name, KEY_ENTRY);
	case SONDE_CONTEXT_FUNCTION:
		return function_key(definitions, context->function, by_name);
	default:
		hash = sonde_hash_also(context->kind,
				       (uint64_t)context->file << 32 | context->line);
		hash = sonde_hash_also(hash, context->address);
		return tag(sonde_hash_also(hash, module_path(definitions, context->module)),
			   KEY_PLACE);
	}
}

static uint32_t find_label(struct profile_labels *labels, uint32_t number, bool by_name)
{
	uint64_t key =
		label_key(labels->sink->definitions, &labels->sink->contexts[number], by_name);
	uint32_t label = sonde_key_map_find(&labels->keys, key), *added;

	if (label != SONDE_NONE)
		return label;
	label = (uint32_t)labels->contexts.count;
	added = sonde_vec_push(&labels->contexts);
	if (!added || !sonde_key_map_add(&labels->keys, key, label))
		return SONDE_NONE;
	*added = number;
	return label;
}

enum sonde_status profile_labels_make(struct profile_labels *labels,
				      const struct profile_sink *sink, bool by_name,
				      struct sonde_error *err)
{
	*labels = (struct profile_labels){ .sink = sink };
	labels->of = malloc(sink->context_count * sizeof(*labels->of));
	if (!labels->of)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->context_count; i++) {
		const struct sonde_context *context = &sink->contexts[i];

		if (!i || sonde_context_has_frame(context)) {
			labels->of[i] = find_label(labels, i, by_name);
			if (labels->of[i] == SONDE_NONE)
				return sonde_fail_nomem(err);
		} else {
			labels->of[i] = labels->of[context->parent];
			labels->parts++;
		}
	}
	return SONDE_OK;
}

void profile_labels_release(struct profile_labels *labels)
{
	free(labels->of);
	sonde_vec_release(&labels->contexts);
	sonde_key_map_release(&labels->keys);
	*labels = (struct profile_labels){ 0 };
}

static const struct sonde_context *context_of(const struct profile_labels *labels, uint32_t label)
{
	return &labels->sink->contexts[labels->contexts.items[label]];
}

const char *profile_label_name(const struct profile_labels *labels, uint32_t label,
			       char space[PROFILE_NAME_SPACE])
{
	return sonde_context_frame_name(labels->sink->definitions, context_of(labels, label), space,
					PROFILE_NAME_SPACE);
}

const struct sonde_function *profile_label_function(const struct profile_labels *labels,
						    uint32_t label)
{
	const struct sonde_context *context = context_of(labels, label);

	if (context->kind != SONDE_CONTEXT_FUNCTION)
		return NULL;
	return sonde_definitions_function(labels->sink->definitions, context->function);
}

const char *profile_label_module(const struct profile_labels *labels, uint32_t label)
{
	const struct sonde_definitions *definitions = labels->sink->definitions;
	const struct sonde_function *function = profile_label_function(labels, label);
	uint32_t module = function ? function->module : context_of(labels, label)->module;

	return sonde_definitions_string(definitions, module_path(definitions, module));
}
