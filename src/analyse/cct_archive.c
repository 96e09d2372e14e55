/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a tree of contexts. Each part is passed by one function, which writes it or reads it, so that
 * both know the same layout. What follows from other parts (recursion, sums of functions, where subtrees end)
 * is not kept but worked out again.
 */
#include "analyse/cct_archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/put.h"
#include "base/vec.h"

struct archive {
	struct cct_body *body;
	struct sonde_buffer *out; /* NULL: it is read */
	struct sonde_bytes in;
	bool is_bad;
	/* strings are numbered in the order they are met: here those of the definitions */
	SONDE_VEC(uint32_t) strings;
	struct sonde_key_map numbers; /* of those, while it is written */
};

static void pass_u64(struct archive *archive, uint64_t *value)
{
	if (archive->out)
		sonde_put_u64le(archive->out, *value);
	else
		*value = sonde_bytes_u64le(&archive->in);
}

static void pass_u32(struct archive *archive, uint32_t *value)
{
	if (archive->out)
		sonde_put_u32le(archive->out, *value);
	else
		*value = sonde_bytes_u32le(&archive->in);
}

static void pass_double(struct archive *archive, double *value)
{
	uint64_t bits;

	memcpy(&bits, value, sizeof(bits));
	pass_u64(archive, &bits);
	memcpy(value, &bits, sizeof(*value));
}

static void pass_bool(struct archive *archive, bool *value)
{
	uint32_t number = *value;

	pass_u32(archive, &number);
	*value = number;
}

/* A number below `limit`, or SONDE_NONE where that is allowed. */
static void pass_id(struct archive *archive, uint32_t *id, uint32_t limit, bool may_be_none)
{
	pass_u32(archive, id);
	if (!archive->out && *id >= limit && !(may_be_none && *id == SONDE_NONE))
		archive->is_bad = true;
}

/* So many items of at least `size` bytes. */
static void pass_count(struct archive *archive, uint32_t *count, size_t size)
{
	pass_u32(archive, count);
	if (!archive->out && *count > sonde_bytes_left(&archive->in) / size) {
		archive->is_bad = true;
		*count = 0;
	}
}

static void write_string(struct archive *archive, uint32_t string)
{
	uint32_t number = sonde_key_map_find(&archive->numbers, string);
	uint32_t *added;

	if (number == SONDE_NONE) {
		number = (uint32_t)archive->strings.count;
		added = sonde_vec_push(&archive->strings);
		if (!added || !sonde_key_map_add(&archive->numbers, string, number)) {
			archive->is_bad = true;
			return;
		}
		*added = string;
	}
	sonde_put_u32le(archive->out, number);
}

static void pass_string(struct archive *archive, uint32_t *string)
{
	uint32_t number;

	if (archive->out) {
		write_string(archive, *string);
		return;
	}
	number = sonde_bytes_u32le(&archive->in);
	if (number < archive->strings.count)
		*string = archive->strings.items[number];
	else
		archive->is_bad = true;
}

/* Definitions: each kind is a count and the items, which are added when they are read. */

static void pass_clock(struct archive *archive, struct sonde_clock *clock)
{
	uint32_t kind = clock->kind;

	pass_string(archive, &clock->name);
	pass_id(archive, &kind, SONDE_CLOCK_REALTIME + 1, false);
	clock->kind = (enum sonde_clock_kind)kind;
}

static void pass_anchor(struct archive *archive, struct sonde_anchor *anchor)
{
	pass_id(archive, &anchor->clock, sonde_definitions_clock_count(archive->body->definitions),
		true);
	pass_u64(archive, &anchor->clock_ns);
	pass_u64(archive, &anchor->realtime_ns);
}

static void pass_process(struct archive *archive, struct sonde_process *process)
{
	uint32_t arch = process->arch, os = process->os;

	pass_string(archive, &process->name);
	pass_u32(archive, &process->os_id);
	pass_u32(archive, &process->clock);
	pass_id(archive, &arch, SONDE_ARCH_ARM64 + 1, false);
	pass_id(archive, &os, SONDE_OS_WINDOWS + 1, false);
	pass_u64(archive, &process->start_ns);
	pass_u64(archive, &process->end_ns);
	process->arch = (enum sonde_arch)arch;
	process->os = (enum sonde_os)os;
}

static void pass_track(struct archive *archive, struct sonde_track *track)
{
	uint32_t kind = track->kind;

	pass_id(archive, &track->process,
		sonde_definitions_process_count(archive->body->definitions), true);
	pass_string(archive, &track->name);
	pass_u32(archive, &track->slot);
	pass_u64(archive, &track->os_id);
	pass_id(archive, &kind, SONDE_TRACK_ZONE + 1, false);
	pass_bool(archive, &track->unfinished);
	pass_u64(archive, &track->event_count);
	pass_u64(archive, &track->time_first_ns);
	pass_u64(archive, &track->time_last_ns);
	pass_u64(archive, &track->detail_count);
	pass_u64(archive, &track->sample_count);
	pass_u64(archive, &track->dropped_events);
	track->kind = (enum sonde_track_kind)kind;
}

static void pass_attribute(struct archive *archive, struct sonde_attribute *attribute)
{
	uint32_t owner = attribute->owner;

	pass_id(archive, &owner, SONDE_OWNER_FUNCTION + 1, false);
	pass_u32(archive, &attribute->owner_id);
	pass_string(archive, &attribute->name);
	pass_string(archive, &attribute->value);
	attribute->owner = (enum sonde_owner)owner;
}

static void pass_module(struct archive *archive, struct sonde_module *module)
{
	pass_id(archive, &module->process,
		sonde_definitions_process_count(archive->body->definitions), true);
	pass_string(archive, &module->path);
	pass_string(archive, &module->uuid);
	pass_bool(archive, &module->has_key);
	pass_u64(archive, &module->key);
	pass_u64(archive, &module->base_address);
	pass_u64(archive, &module->size);
}

static void pass_function(struct archive *archive, struct sonde_function *function)
{
	pass_id(archive, &function->process,
		sonde_definitions_process_count(archive->body->definitions), true);
	pass_id(archive, &function->module,
		sonde_definitions_module_count(archive->body->definitions), true);
	pass_string(archive, &function->name);
	pass_string(archive, &function->raw_name);
	pass_string(archive, &function->file);
	pass_u32(archive, &function->line);
	pass_bool(archive, &function->has_key);
	pass_u64(archive, &function->key);
	pass_u64(archive, &function->address);
}

#define PASS_ALL(kind)                                                                             \
	static void pass_all_##kind(struct archive *archive)                                       \
	{                                                                                          \
		struct sonde_definitions *definitions = archive->body->definitions;                \
		uint32_t count = sonde_definitions_##kind##_count(definitions), id;                \
                                                                                                   \
		pass_count(archive, &count, 8);                                                    \
		for (uint32_t i = 0; i < count && !archive->is_bad; i++) {                         \
			struct sonde_##kind item = { 0 };                                          \
                                                                                                   \
			if (archive->out)                                                          \
				item = *sonde_definitions_##kind(definitions, i);                  \
			pass_##kind(archive, &item);                                               \
			if (!archive->out && !archive->is_bad &&                                   \
			    sonde_definitions_add_##kind(definitions, &item, &id, NULL))           \
				archive->is_bad = true;                                            \
		}                                                                                  \
	}
PASS_ALL(clock)
PASS_ALL(anchor)
PASS_ALL(process)
PASS_ALL(track)
PASS_ALL(attribute)
PASS_ALL(module)
PASS_ALL(function)

static void pass_u8(struct archive *archive, uint8_t *value, uint32_t limit)
{
	uint32_t number = *value;

	pass_id(archive, &number, limit, false);
	*value = (uint8_t)number;
}

static void pass_context(struct archive *archive, struct sonde_context *context)
{
	const struct sonde_definitions *definitions = archive->body->definitions;

	pass_u32(archive, &context->parent);
	pass_id(archive, &context->function, sonde_definitions_function_count(definitions), true);
	pass_id(archive, &context->module, sonde_definitions_module_count(definitions), true);
	pass_string(archive, &context->file);
	pass_u32(archive, &context->line);
	pass_string(archive, &context->name);
	pass_u64(archive, &context->address);
	pass_u8(archive, &context->kind, SONDE_CONTEXT_INSTRUCTION + 1);
	pass_u8(archive, &context->relation, SONDE_CONTEXT_INLINED + 1);
	pass_u8(archive, &context->entry, SONDE_ENTRY_OTHER + 1);
	pass_u8(archive, &context->unlisted, 2);
}

/* Parents come before children, and each subtree is one run: so its end follows. */
static bool close_contexts(struct sonde_context *contexts, uint32_t count)
{
	uint32_t above = SONDE_NONE;

	for (uint32_t i = 0; i < count; i++) {
		while (above != SONDE_NONE && above != contexts[i].parent) {
			contexts[above].end = i;
			above = contexts[above].parent;
		}
		if (above != contexts[i].parent || (above == SONDE_NONE) != !i ||
		    (contexts[i].kind == SONDE_CONTEXT_ROOT) != !i)
			return false;
		above = i;
	}
	for (; above != SONDE_NONE; above = contexts[above].parent)
		contexts[above].end = count;
	return count;
}

/* Memory for what is read; what is written is there. */
static void *make(struct archive *archive, void *items, size_t count, size_t size)
{
	if (archive->out)
		return items;
	items = archive->is_bad ? NULL : calloc(count + 1, size);
	if (!items)
		archive->is_bad = true;
	return items;
}

static void pass_contexts(struct archive *archive)
{
	struct cct_body *body = archive->body;
	uint32_t count = body->context_count;

	pass_count(archive, &count, 48);
	body->contexts = make(archive, body->contexts, count, sizeof(*body->contexts));
	for (uint32_t i = 0; i < count && !archive->is_bad; i++)
		pass_context(archive, &body->contexts[i]);
	if (archive->out || archive->is_bad)
		return;
	body->context_count = count;
	if (!close_contexts(body->contexts, count) || cct_body_add_recursion(body, NULL))
		archive->is_bad = true;
}

static void pass_metric(struct archive *archive, uint32_t number)
{
	struct cct_body *body = archive->body;
	struct cct_metric *metric = archive->out ? &body->cct.metrics[number] : NULL;
	uint32_t name = 0, description = 0;

	/* their texts are strings of the definitions, where they are found again */
	if (metric &&
	    (sonde_definitions_add_string(body->definitions, metric->name, strlen(metric->name),
					  &name, NULL) ||
	     sonde_definitions_add_string(body->definitions, metric->description,
					  strlen(metric->description), &description, NULL)))
		archive->is_bad = true;
	pass_string(archive, &name);
	pass_string(archive, &description);
	if (!archive->out && !archive->is_bad &&
	    cct_add_metric(&body->cct, sonde_definitions_string(body->definitions, name),
			   sonde_definitions_string(body->definitions, description), &metric, NULL))
		archive->is_bad = true;
	if (archive->is_bad || !metric)
		return;
	pass_double(archive, &metric->ns);
	pass_bool(archive, &metric->hidden);
	for (uint32_t i = 0; i < body->context_count; i++)
		pass_double(archive, &metric->self[i]);
	for (uint32_t i = 0; i < body->context_count; i++)
		pass_double(archive, &metric->total[i]);
}

static void pass_metrics(struct archive *archive)
{
	struct cct_body *body = archive->body;
	uint32_t count = body->cct.metric_count;

	pass_count(archive, &count, 16 + (size_t)body->context_count * 16);
	for (uint32_t i = 0; i < count && !archive->is_bad; i++)
		pass_metric(archive, i);
}

/* After the metrics, which make room for the totals. */
static void pass_tracks(struct archive *archive)
{
	struct cct_body *body = archive->body;
	uint32_t count = sonde_definitions_track_count(body->definitions);

	for (uint32_t i = 0; i < count && !archive->is_bad; i++) {
		struct cct_track *track = &body->tracks[i];

		pass_u64(archive, &track->event_count);
		pass_u64(archive, &track->sample_count);
		pass_u64(archive, &track->dropped_events);
		pass_u64(archive, &track->first_ns);
		pass_u64(archive, &track->last_ns);
		pass_u64(archive, &track->busy_ns);
		for (uint32_t k = 0; k < body->cct.metric_count; k++)
			pass_double(archive, &track->totals[k]);
	}
}

static void pass_sketch(struct archive *archive, struct sonde_sketch *sketch)
{
	uint32_t count = sketch->group_count;

	pass_count(archive, &count, SONDE_SKETCH_STEPS * sizeof(uint64_t));
	pass_u64(archive, &sketch->min);
	pass_u64(archive, &sketch->max);
	pass_double(archive, &sketch->sum);
	for (uint32_t i = 0, group = 0; i < count && !archive->is_bad; i++, group++) {
		uint64_t *buckets;

		while (archive->out && !sketch->groups[group])
			group++;
		pass_id(archive, &group, SONDE_SKETCH_GROUPS, false);
		if (archive->is_bad || (!archive->out && sketch->groups[group])) {
			archive->is_bad = true;
			return;
		}
		buckets = sonde_sketch_bucket(sketch, group * SONDE_SKETCH_STEPS);
		if (!buckets) {
			archive->is_bad = true;
			return;
		}
		for (uint32_t k = 0; k < SONDE_SKETCH_STEPS; k++) {
			pass_u64(archive, &buckets[k]);
			sketch->count += archive->out ? 0 : buckets[k];
		}
	}
}

static void pass_durations(struct archive *archive)
{
	struct cct_body *body = archive->body;
	uint32_t count = sonde_definitions_function_count(body->definitions);

	body->durations = make(archive, body->durations, count, sizeof(*body->durations));
	for (uint32_t i = 0; i < count && !archive->is_bad; i++)
		pass_sketch(archive, &body->durations[i]);
}

static void pass_calls(struct archive *archive)
{
	struct cct_body *body = archive->body;
	bool has_calls = body->calls;

	pass_bool(archive, &has_calls);
	if (!has_calls)
		return;
	body->calls = make(archive, body->calls, body->context_count, sizeof(*body->calls));
	for (uint32_t i = 0; i < body->context_count && !archive->is_bad; i++) {
		struct cct_calls *calls = &body->calls[i];

		pass_u64(archive, &calls->count);
		pass_u64(archive, &calls->exceptions);
		pass_u64(archive, &calls->unfinished);
		pass_u64(archive, &calls->sum_ns);
		pass_u64(archive, &calls->min_ns);
		pass_u64(archive, &calls->max_ns);
		pass_double(archive, &calls->squares);
	}
	pass_durations(archive);
}

static void pass_spread(struct archive *archive, struct cct_spread **spreads, uint32_t count,
			uint32_t places, bool may_be_none)
{
	*spreads = make(archive, *spreads, count, sizeof(**spreads));
	for (uint32_t i = 0; i < count && !archive->is_bad; i++) {
		struct cct_spread *spread = &(*spreads)[i];

		pass_u32(archive, &spread->count);
		/* 0 where nobody has any */
		pass_id(archive, &spread->max_place, places ? places : 1, may_be_none);
		pass_double(archive, &spread->min);
		pass_double(archive, &spread->max);
		pass_double(archive, &spread->sum);
		pass_double(archive, &spread->squares);
	}
}

static void pass_spreads(struct archive *archive)
{
	struct cct_body *body = archive->body;
	uint32_t tracks = sonde_definitions_track_count(body->definitions);
	uint32_t processes = sonde_definitions_process_count(body->definitions);
	uint32_t functions = sonde_definitions_function_count(body->definitions);
	bool has_spreads = body->context_spread;

	pass_bool(archive, &has_spreads);
	if (!has_spreads)
		return;
	pass_id(archive, &body->cct.spread_metric, body->cct.metric_count, false);
	pass_spread(archive, &body->context_spread, body->context_count, tracks, false);
	pass_spread(archive, &body->context_process_spread, body->context_count, processes, true);
	pass_spread(archive, &body->function_spread, functions, tracks, false);
	pass_spread(archive, &body->function_process_spread, functions, processes, true);
}

static void pass_tree(struct archive *archive)
{
	pass_all_clock(archive);
	pass_all_anchor(archive);
	pass_all_process(archive);
	pass_all_track(archive);
	pass_all_attribute(archive);
	pass_all_module(archive);
	pass_all_function(archive);
	pass_contexts(archive);
	if (!archive->out && !archive->is_bad && cct_body_add_tracks(archive->body, NULL))
		archive->is_bad = true;
	pass_metrics(archive);
	pass_tracks(archive);
	pass_calls(archive);
	pass_spreads(archive);
}

static void put_text(struct sonde_buffer *out, const char *text)
{
	size_t length = strlen(text);

	sonde_put_u32le(out, (uint32_t)length);
	sonde_buffer_put(out, text, length);
}

bool cct_archive_write(const struct cct_body *body, const char *subject, struct sonde_buffer *out)
{
	struct sonde_buffer tree = { 0 };
	struct archive archive = { .body = (struct cct_body *)body, .out = &tree };
	bool happened;

	pass_tree(&archive);
	put_text(out, subject);
	sonde_put_u32le(out, (uint32_t)archive.strings.count);
	for (size_t i = 0; i < archive.strings.count; i++)
		put_text(out,
			 sonde_definitions_string(body->definitions, archive.strings.items[i]));
	sonde_buffer_put(out, tree.data, tree.size);
	happened = !archive.is_bad && !tree.failed && !out->failed;
	sonde_buffer_release(&tree);
	sonde_key_map_release(&archive.numbers);
	sonde_vec_release(&archive.strings);
	return happened;
}

static const char *take_text(struct archive *archive, size_t *length)
{
	*length = sonde_bytes_u32le(&archive->in);
	return (const char *)sonde_bytes_take(&archive->in, *length);
}

static void read_strings(struct archive *archive)
{
	uint32_t count = 0;

	pass_count(archive, &count, 4);
	for (uint32_t i = 0; i < count && !archive->is_bad; i++) {
		size_t length;
		const char *text = take_text(archive, &length);
		uint32_t *string = sonde_vec_push(&archive->strings);

		if (!text || !string ||
		    sonde_definitions_add_string(archive->body->definitions, text, length, string,
						 NULL))
			archive->is_bad = true;
	}
}

static bool is_subject(struct archive *archive, const char *subject)
{
	size_t length;
	const char *text = take_text(archive, &length);

	return text && length == strlen(subject) && !memcmp(text, subject, length);
}

struct cct_body *cct_archive_read(const void *data, size_t size, const char *subject)
{
	struct archive archive = { .body = cct_body_new(), .in = sonde_bytes_of(data, size) };

	if (!archive.body)
		return NULL;
	if (!is_subject(&archive, subject))
		archive.is_bad = true;
	if (!archive.is_bad)
		read_strings(&archive);
	if (!archive.is_bad)
		pass_tree(&archive);
	if (archive.in.overrun || sonde_bytes_left(&archive.in) ||
	    (!archive.is_bad && cct_body_finish(archive.body, NULL)))
		archive.is_bad = true;
	sonde_vec_release(&archive.strings);
	if (!archive.is_bad)
		return archive.body;
	cct_free(&archive.body->cct);
	return NULL;
}
