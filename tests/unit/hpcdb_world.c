/* SPDX-License-Identifier: Apache-2.0 */
/* See hpcdb_world.h. */
#include "hpcdb_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "scratch.h"

static const struct hpcdb_point first_points[] = {
	{ WORLD_CALLEE_LINE, 0, 4 },  { WORLD_INSTRUCTION, 0, 1 }, { WORLD_CALL, 0, 1.5 },
	{ WORLD_OUTER, 0, 8 },	      { WORLD_UNKNOWN, 0, 16 },	   { WORLD_CALL, 0, 0.5 },
	{ WORLD_INLINED_LINE, 0, 0 },
};

struct state {
	const struct world_track *track;
	size_t done;
};

static enum sonde_status open_track(void *data, uint32_t track, void **state,
				    struct sonde_error *err)
{
	struct world *world = data;
	struct state *own = malloc(sizeof(*own));

	if (!own)
		return sonde_fail_nomem(err);
	*own = (struct state){ .track = &world->data[track] };
	*state = own;
	return SONDE_OK;
}

static enum sonde_status track_values(void *state, struct hpcdb_points *points,
				      struct sonde_error *err)
{
	const struct state *own = state;

	if (!sonde_vec_reserve(&points->items, own->track->point_count + 1))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < own->track->point_count; i++)
		points->items.items[points->items.count++] = own->track->points[i];
	return SONDE_OK;
}

/* A few at a time, so that a track takes several calls. */
static enum sonde_status track_samples(void *state, struct sonde_sample *samples, size_t room,
				       size_t *count, struct sonde_error *err)
{
	struct state *own = state;

	(void)err;
	for (*count = 0; *count < 3 && *count < room && own->done < own->track->sample_count;)
		samples[(*count)++] = own->track->samples[own->done++];
	return SONDE_OK;
}

uint32_t world_string(struct world *world, const char *text)
{
	uint32_t id;

	assert_int_equal(
		sonde_definitions_add_string(world->definitions, text, strlen(text), &id, NULL),
		SONDE_OK);
	return id;
}

static void define(struct world *world)
{
	const struct sonde_module unused = { .path = world_string(world, "/lib/unused.so") };
	const struct sonde_module module = { .path = world_string(world, "/bin/prog") };
	const struct sonde_module twin = { .process = 1, .path = module.path };
	const struct sonde_function functions[] = {
		{ .name = world_string(world, "unused"), .module = 0 },
		{ .name = world_string(world, "main"),
		  .module = 1,
		  .file = world_string(world, "/nowhere/a.c"),
		  .line = 5,
		  .address = 0x1000 },
		{ .name = world_string(world, "inlined"), .module = 2, .file = 0 },
		{ .name = world_string(world, "callee"), .module = SONDE_NONE, .address = 7 },
	};
	uint32_t id;

	sonde_definitions_add_module(world->definitions, &unused, &id, NULL);
	sonde_definitions_add_module(world->definitions, &module, &id, NULL);
	sonde_definitions_add_module(world->definitions, &twin, &id, NULL);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		sonde_definitions_add_function(world->definitions, &functions[i], &id, NULL);
}

static void make_contexts(struct world *world)
{
	uint32_t a = world_string(world, "/nowhere/a.c"), b = world_string(world, "/nowhere/b.c");
	uint32_t unlisted_file = world_string(world, "/nowhere/unlisted.c");
	const struct sonde_context contexts[WORLD_CONTEXTS] = {
		[WORLD_ROOT] = { .parent = SONDE_NONE, .kind = SONDE_CONTEXT_ROOT, .end = 14 },
		[WORLD_MAIN_ENTRY] = { .kind = SONDE_CONTEXT_ENTRY,
				       .entry = SONDE_ENTRY_MAIN_THREAD,
				       .end = 12 },
		[WORLD_MAIN] = { .parent = WORLD_MAIN_ENTRY,
				 .kind = SONDE_CONTEXT_FUNCTION,
				 .relation = SONDE_CONTEXT_CALLED,
				 .function = 1,
				 .end = 12 },
		[WORLD_OUTER] = { .parent = WORLD_MAIN,
				  .kind = SONDE_CONTEXT_LOOP,
				  .file = a,
				  .line = 10,
				  .module = 1,
				  .address = 0x1010,
				  .end = 12 },
		[WORLD_INNER] = { .parent = WORLD_OUTER,
				  .kind = SONDE_CONTEXT_LOOP,
				  .file = a,
				  .line = 11,
				  .module = SONDE_NONE,
				  .end = 12 },
		[WORLD_LINE] = { .parent = WORLD_INNER,
				 .kind = SONDE_CONTEXT_LINE,
				 .file = a,
				 .line = 12,
				 .end = 12 },
		[WORLD_INSTRUCTION] = { .parent = WORLD_LINE,
					.kind = SONDE_CONTEXT_INSTRUCTION,
					.module = 0,
					.address = 0x1020,
					.file = unlisted_file,
					.unlisted = true,
					.end = 7 },
		[WORLD_INLINED] = { .parent = WORLD_LINE,
				    .kind = SONDE_CONTEXT_FUNCTION,
				    .relation = SONDE_CONTEXT_INLINED,
				    .function = 2,
				    .end = 12 },
		[WORLD_INLINED_LINE] = { .parent = WORLD_INLINED,
					 .kind = SONDE_CONTEXT_LINE,
					 .file = a,
					 .line = 30,
					 .end = 12 },
		[WORLD_CALL] = { .parent = WORLD_INLINED_LINE,
				 .kind = SONDE_CONTEXT_INSTRUCTION,
				 .module = 0,
				 .address = 0x1030,
				 .unlisted = true,
				 .end = 12 },
		[WORLD_CALLEE] = { .parent = WORLD_CALL,
				   .kind = SONDE_CONTEXT_FUNCTION,
				   .relation = SONDE_CONTEXT_CALLED,
				   .function = 3,
				   .end = 12 },
		[WORLD_CALLEE_LINE] = { .parent = WORLD_CALLEE,
					.kind = SONDE_CONTEXT_LINE,
					.file = b,
					.line = 5,
					.end = 12 },
		[WORLD_THREAD_ENTRY] = { .kind = SONDE_CONTEXT_ENTRY,
					 .entry = SONDE_ENTRY_OTHER,
					 .name = world_string(world, "signal handler"),
					 .end = 14 },
		[WORLD_UNKNOWN] = { .parent = WORLD_THREAD_ENTRY,
				    .kind = SONDE_CONTEXT_FUNCTION,
				    .relation = SONDE_CONTEXT_CALLED,
				    .function = SONDE_NONE,
				    .end = 14 },
	};

	memcpy(world->contexts, contexts, sizeof(contexts));
}

void world_init(struct world *world)
{
	*world = (struct world){ .definitions = sonde_definitions_new() };
	assert_non_null(world->definitions);
	define(world);
	make_contexts(world);
	world->metrics[0] = (struct hpcdb_metric){ .name = "TIME (sec)", .show_percent = true };
	world->data[0].points = first_points;
	world->data[0].point_count = sizeof(first_points) / sizeof(*first_points);
	world->world = (struct hpcdb_world){
		.title = "title",
		.definitions = world->definitions,
		.contexts = world->contexts,
		.context_count = WORLD_CONTEXTS,
		.metrics = world->metrics,
		.metric_count = 1,
		.tracks = world->tracks,
		.track_count = 1,
	};
	world->source =
		(struct hpcdb_source){ world, open_track, track_values, track_samples, free };
	world->options =
		(struct hpcdb_write_options){ .statistics = HPCDB_STATISTIC_SUM, .threads = 1 };
}

void world_release(struct world *world)
{
	sonde_definitions_free(world->definitions);
}

void world_write(struct world *world, const char *name)
{
	enum sonde_status status = hpcdb_write(scratch_path(name), &world->world, &world->source,
					       &world->options, &world->written, &world->err);

	if (status != SONDE_OK)
		fail_msg("%s %s", world->err.message, world->err.file);
}

void world_refuse(struct world *world, enum sonde_status expected, const char *message)
{
	const char *path = scratch_path("refused.d");

	assert_int_equal(hpcdb_write(path, &world->world, &world->source, &world->options,
				     &world->written, &world->err),
			 expected);
	if (!strstr(world->err.message, message))
		fail_msg("'%s' in '%s'", message, world->err.message);
	assert_int_not_equal(access(path, F_OK), 0);
}

struct world_file world_open(const char *database, const char *name)
{
	struct world_file file;
	char path[300];
	struct sonde_error err;

	snprintf(path, sizeof(path), "%s/%s", scratch_path(database), name);
	if (sonde_mapped_file_open(&file.file, path, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	return file;
}

void world_close(struct world_file *file)
{
	sonde_mapped_file_release(&file->file);
}

static const uint8_t *at(const struct world_file *file, uint64_t offset, uint64_t size)
{
	assert_true(offset <= file->file.size && size <= file->file.size - offset);
	return file->file.data + offset;
}

uint64_t world_u64(const struct world_file *file, uint64_t offset)
{
	return sonde_load_u64le(at(file, offset, 8));
}

uint32_t world_u32(const struct world_file *file, uint64_t offset)
{
	return sonde_load_u32le(at(file, offset, 4));
}

uint16_t world_u16(const struct world_file *file, uint64_t offset)
{
	return sonde_load_u16le(at(file, offset, 2));
}

uint8_t world_u8(const struct world_file *file, uint64_t offset)
{
	return *at(file, offset, 1);
}

const char *world_text(const struct world_file *file, uint64_t offset)
{
	const char *text = (const char *)at(file, offset, 1);

	assert_non_null(memchr(text, 0, file->file.size - offset));
	return text;
}

static double real_at(const struct world_file *file, uint64_t offset)
{
	uint64_t bits = world_u64(file, offset);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint64_t world_value_count(const struct world_file *file, uint32_t profile)
{
	return world_u64(file, 0x40 + (uint64_t)profile * 0x30);
}

double world_value(const struct world_file *file, uint32_t profile, uint32_t context, uint16_t id)
{
	uint64_t info = 0x40 + (uint64_t)profile * 0x30, values = world_u64(file, info);
	uint64_t pairs = world_u64(file, info + 8), index = world_u64(file, info + 0x18);
	uint32_t contexts = world_u32(file, info + 0x10);

	assert_int_equal(index % 4, 0);
	assert_int_equal(pairs % 2, 0);
	for (uint32_t i = 0; i < contexts; i++) {
		uint64_t entry = index + (uint64_t)i * 12, start = world_u64(file, entry + 4);
		uint64_t end = i + 1 < contexts ? world_u64(file, entry + 16) : values;

		assert_true(start < end && end <= values);
		assert_true(!i || world_u32(file, entry) > world_u32(file, entry - 12));
		if (world_u32(file, entry) != context)
			continue;
		for (uint64_t k = start; k < end; k++) {
			assert_true(k == start || world_u16(file, pairs + k * 10) >
							  world_u16(file, pairs + k * 10 - 10));
			if (world_u16(file, pairs + k * 10) == id)
				return real_at(file, pairs + k * 10 + 2);
		}
	}
	return 0;
}

double world_cct_value(const struct world_file *file, uint32_t profile, uint32_t context,
		       uint16_t id)
{
	uint64_t info = 0x40 + (uint64_t)context * 0x20, values = world_u64(file, info);
	uint64_t pairs = world_u64(file, info + 8), index = world_u64(file, info + 0x18);
	uint16_t metrics = world_u16(file, info + 0x10);

	assert_int_equal(pairs % 4, 0);
	assert_int_equal(index, pairs + values * 12);
	for (uint16_t i = 0; i < metrics; i++) {
		uint64_t entry = index + (uint64_t)i * 10, start = world_u64(file, entry + 2);
		uint64_t end = i + 1 < metrics ? world_u64(file, entry + 12) : values;

		assert_true(start < end && end <= values);
		assert_true(!i || world_u16(file, entry) > world_u16(file, entry - 10));
		if (world_u16(file, entry) != id)
			continue;
		for (uint64_t k = start; k < end; k++) {
			assert_true(k == start || world_u32(file, pairs + k * 12) >
							  world_u32(file, pairs + k * 12 - 12));
			if (world_u32(file, pairs + k * 12) == profile)
				return real_at(file, pairs + k * 12 + 4);
		}
	}
	return 0;
}

void assert_same_database(const char *a, const char *b)
{
	static const char *const names[] = { "meta.db",	 "profile.db",		 "cct.db",
					     "trace.db", "metrics/default.yaml", "FORMATS.md" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct world_file one = world_open(a, names[i]), other = world_open(b, names[i]);

		if (one.file.size != other.file.size ||
		    memcmp(one.file.data, other.file.data, one.file.size))
			fail_msg("%s of %s and %s differ", names[i], a, b);
		world_close(&one);
		world_close(&other);
	}
}
