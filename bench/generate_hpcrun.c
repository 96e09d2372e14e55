/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a measurement folder as hpcrun 04.00b would: threads that all took samples in one random tree
 * of calls, each in some leaves of it, with values and a trace. The same numbers give the same bytes.
 * usage: sonde-generate-hpcrun FOLDER THREADS TREE LEAVES METRICS TRACE [RANKS]
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"

#define SECTION_ALIGNMENT 1024
#define SECTIONS 6
#define FIRST_ID 16
#define HOST 0x11ac0300
#define END_OF_INDEX 0x656E6421
#define FOOTER_MAGIC 0x48504352554E736D
#define START_NS UINT64_C(1700000000000000000)
#define MODULES 4
#define METRIC_NAMES 6

static const char *const metric_names[METRIC_NAMES] = {
	"CPUTIME (sec)", "PAPI_TOT_CYC", "PAPI_TOT_INS",
	"PAPI_L1_DCM",	 "PAPI_L2_TCM",	 "PAPI_BR_MSP",
};

struct shape {
	const char *folder;
	uint64_t threads, tree, leaves, metrics, trace, ranks;
};

struct place {
	uint32_t parent;
	uint16_t module;
	uint64_t ip;
};

struct thread {
	const struct shape *shape;
	const struct place *tree;
	uint64_t rank, number, random;
	uint32_t *leaves;
	uint32_t leaf_count;
	bool *needed;
	struct sonde_buffer file;
	struct sonde_buffer values, index;
};

static void *need(void *pointer, const char *what)
{
	if (pointer)
		return pointer;
	perror(what);
	exit(3);
}

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

static uint64_t draw_below(uint64_t *state, uint64_t limit)
{
	return limit ? draw(state) % limit : 0;
}

static void put_number(struct sonde_buffer *out, uint64_t value, unsigned int bytes)
{
	while (bytes--)
		sonde_buffer_put_char(out, (char)(value >> bytes * 8));
}

static void put_text(struct sonde_buffer *out, const char *text)
{
	put_number(out, strlen(text), 4);
	sonde_buffer_put_text(out, text);
}

static void put_pair(struct sonde_buffer *out, const char *name, const char *text)
{
	put_text(out, name);
	put_text(out, text);
}

static void put_number_pair(struct sonde_buffer *out, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put_pair(out, name, text);
}

static void put_header(struct thread *thread)
{
	struct sonde_buffer *out = &thread->file;

	sonde_buffer_put_text(out, "HPCRUN-profile____04.00b");
	put_number(out, 11, 4);
	put_pair(out, "program-name", "synth");
	put_pair(out, "program-path", "/app/synth");
	put_pair(out, "env-path", "");
	put_pair(out, "job-id", "");
	put_number_pair(out, "mpi-rank", thread->rank);
	put_number_pair(out, "thread-id", thread->number);
	put_pair(out, "host-id", "11ac0300");
	put_number_pair(out, "process-id", 1000 + thread->rank);
	put_number_pair(out, "trace-min-time", 0);
	put_number_pair(out, "trace-max-time", 0);
	put_number_pair(out, "trace-disorder", 0);
}

static void put_modules(struct thread *thread)
{
	char name[] = "/app/lib0.so";

	put_number(&thread->file, MODULES, 4);
	for (unsigned int module = 1; module <= MODULES; module++) {
		name[8] = (char)('0' + module);
		put_number(&thread->file, module, 2);
		put_text(&thread->file, name);
		put_number(&thread->file, 0, 8);
	}
}

static void put_node(struct sonde_buffer *out, uint32_t id, uint32_t parent, uint16_t module,
		     uint64_t ip)
{
	put_number(out, id, 4);
	put_number(out, parent, 4);
	put_number(out, module, 2);
	put_number(out, ip, 8);
	put_number(out, 1, 1);
}

/* A placeholder's address is its name. */
static uint64_t address_of(const char *name)
{
	uint64_t address = 0;

	while (*name)
		address = address << 8 | (unsigned char)*name++;
	return address;
}

static uint32_t id_of(uint64_t place)
{
	return (uint32_t)(FIRST_ID + 2 * place);
}

static void put_nodes(struct thread *thread)
{
	struct sonde_buffer *out = &thread->file;
	uint64_t count = 2;

	for (uint64_t i = 0; i < thread->shape->tree; i++)
		count += thread->needed[i];
	put_number(out, count, 8);
	put_node(out, 12, 0, 0, address_of("^Primary"));
	put_node(out, 14, 12, 0, address_of("| Main  "));
	for (uint64_t i = 0; i < thread->shape->tree; i++) {
		const struct place *place = &thread->tree[i];

		if (thread->needed[i])
			put_node(out, id_of(i), i ? id_of(place->parent) : 14, place->module,
				 place->ip);
	}
}

static void put_metrics(struct thread *thread)
{
	struct sonde_buffer *out = &thread->file;

	put_number(out, thread->shape->metrics, 4);
	for (uint64_t i = 0; i < thread->shape->metrics; i++) {
		const uint8_t flags[16] = { 1, 0, i ? 1 : 2, 0, 0, 0, 1, 1 };

		put_text(out, metric_names[i % METRIC_NAMES]);
		put_text(out, metric_names[i % METRIC_NAMES]);
		sonde_buffer_put(out, flags, sizeof(flags));
		put_number(out, 1, 8);
		put_text(out, "");
		put_text(out, "");
		put_number(out, 0, 4); /* frequency, multiplexed */
		put_number(out, 0, 8);
		put_number(out, 0, 8);
	}
}

static void put_kinds(struct thread *thread)
{
	static const char *const names[] = { "SUMMARY",	  "NODE",	"RANK",	     "THREAD",
					     "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE" };
	const unsigned int count = sizeof(names) / sizeof(names[0]);

	put_number(&thread->file, count, 2);
	for (unsigned int i = 0; i < count; i++) {
		put_number(&thread->file, i, 2);
		put_text(&thread->file, names[i]);
	}
}

static void put_identity(struct sonde_buffer *out, unsigned int kind, unsigned int interpretation,
			 uint64_t physical, uint64_t logical)
{
	put_number(out, kind | interpretation << 14, 2);
	put_number(out, physical, 8);
	put_number(out, logical, 8);
}

/* The first metric has a value in each leaf, the others in seven of ten. */
static uint64_t make_values(struct thread *thread)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < thread->leaf_count; i++) {
		put_number(&thread->index, id_of(thread->leaves[i]), 4);
		put_number(&thread->index, total, 8);
		for (uint64_t metric = 0; metric < thread->shape->metrics; metric++) {
			uint64_t bits = 1 + draw_below(&thread->random, 99999);
			double seconds = (double)bits * 1e-5;

			if (metric && draw_below(&thread->random, 10) >= 7)
				continue;
			if (!metric)
				memcpy(&bits, &seconds, sizeof(bits));
			put_number(&thread->values, bits, 8);
			put_number(&thread->values, metric, 2);
			total++;
		}
	}
	put_number(&thread->index, END_OF_INDEX, 4);
	put_number(&thread->index, total, 8);
	return total;
}

static void put_values(struct thread *thread)
{
	bool ranks = thread->shape->ranks > 1;
	struct sonde_buffer *out = &thread->file;
	uint64_t total = make_values(thread);

	put_number(out, 2 + ranks, 2);
	put_identity(out, 1, 0, HOST, 0);
	if (ranks)
		put_identity(out, 2, 3, thread->rank, thread->rank);
	put_identity(out, 3, 3, thread->number, thread->number);
	put_number(out, total, 8);
	put_number(out, thread->leaf_count, 4);
	sonde_buffer_put(out, thread->values.data, thread->values.size);
	sonde_buffer_put(out, thread->index.data, thread->index.size);
}

static void write_file(struct thread *thread, const char *extension)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/synth-%06llu-%03llu-%08x-%llu-0.%s", thread->shape->folder,
		 (unsigned long long)thread->rank, (unsigned long long)thread->number, HOST,
		 1000ull + thread->rank, extension);
	file = need(fopen(path, "wb"), path);
	if (thread->file.failed ||
	    fwrite(thread->file.data, 1, thread->file.size, file) != thread->file.size ||
	    fclose(file)) {
		perror(path);
		exit(3);
	}
	sonde_buffer_clear(&thread->file);
}

static void write_profile(struct thread *thread)
{
	static void (*const sections[SECTIONS])(struct thread *) = {
		put_header, put_modules, put_nodes, put_metrics, put_kinds, put_values,
	};
	static const char zeros[SECTION_ALIGNMENT];
	uint64_t places[2 * SECTIONS], footer;

	for (unsigned int i = 0; i < SECTIONS; i++) {
		places[2 * i] = thread->file.size;
		sections[i](thread);
		places[2 * i + 1] = thread->file.size;
		sonde_buffer_put(&thread->file, zeros, -thread->file.size % SECTION_ALIGNMENT);
	}
	footer = thread->file.size;
	for (unsigned int i = 0; i < 2 * SECTIONS; i++)
		put_number(&thread->file, places[i], 8);
	put_number(&thread->file, footer, 8);
	put_number(&thread->file, FOOTER_MAGIC, 8);
	write_file(thread, "hpcrun");
}

static void write_trace(struct thread *thread)
{
	uint64_t time = START_NS;

	if (!thread->shape->trace)
		return;
	sonde_buffer_put_text(&thread->file, "HPCRUN-trace______01.01b");
	put_number(&thread->file, 2, 8);
	for (uint64_t i = 0; i < thread->shape->trace; i++) {
		time += 1000 + draw_below(&thread->random, 1999000);
		put_number(&thread->file, time, 8);
		put_number(&thread->file,
			   id_of(thread->leaves[draw_below(&thread->random, thread->leaf_count)]),
			   4);
	}
	write_file(thread, "hpctrace");
}

/* Leaves are drawn, and all that is above them is needed; a leaf that is drawn twice is one. */
static void choose_leaves(struct thread *thread)
{
	bool *is_leaf = need(calloc(thread->shape->tree, sizeof(*is_leaf)), "memory");

	memset(thread->needed, 0, thread->shape->tree * sizeof(*thread->needed));
	for (uint64_t i = 0; i < thread->shape->leaves; i++)
		is_leaf[draw_below(&thread->random, thread->shape->tree)] = true;
	thread->leaf_count = 0;
	for (uint64_t i = 0; i < thread->shape->tree; i++) {
		if (!is_leaf[i])
			continue;
		thread->leaves[thread->leaf_count++] = (uint32_t)i;
		for (uint64_t above = i; !thread->needed[above]; above = thread->tree[above].parent)
			thread->needed[above] = true;
	}
	free(is_leaf);
}

static struct place *make_tree(uint64_t size)
{
	struct place *tree = need(calloc(size, sizeof(*tree)), "memory");
	uint64_t random = 1;

	for (uint64_t i = 0; i < size; i++) {
		uint64_t back = 1 + (uint64_t)(3 * sqrt((double)i));
		uint64_t first = i > back ? i - back : 0;

		tree[i].parent = i ? (uint32_t)(first + draw_below(&random, i - first)) : 0;
		tree[i].module = (uint16_t)(1 + draw_below(&random, MODULES));
		tree[i].ip = 0x1000 + draw_below(&random, 0x7ffe000);
	}
	return tree;
}

static void write_threads(const struct shape *shape)
{
	struct place *tree = make_tree(shape->tree);
	struct thread thread = { .shape = shape, .tree = tree };

	thread.leaves = need(calloc(shape->leaves, sizeof(*thread.leaves)), "memory");
	thread.needed = need(calloc(shape->tree, sizeof(*thread.needed)), "memory");
	for (uint64_t i = 0; i < shape->threads; i++) {
		thread.rank = i % shape->ranks;
		thread.number = i / shape->ranks;
		thread.random = i << 32;
		choose_leaves(&thread);
		write_profile(&thread);
		write_trace(&thread);
		sonde_buffer_clear(&thread.values);
		sonde_buffer_clear(&thread.index);
	}
	sonde_buffer_release(&thread.file);
	sonde_buffer_release(&thread.values);
	sonde_buffer_release(&thread.index);
	free(thread.leaves);
	free(thread.needed);
	free(tree);
}

int main(int argc, char **argv)
{
	struct shape shape = { .ranks = 1 };
	uint64_t *const numbers[] = { &shape.threads, &shape.tree,  &shape.leaves,
				      &shape.metrics, &shape.trace, &shape.ranks };

	if (argc < 7 || argc > 8) {
		fprintf(stderr, "usage: sonde-generate-hpcrun FOLDER THREADS TREE LEAVES METRICS "
				"TRACE [RANKS]\n");
		return 2;
	}
	shape.folder = argv[1];
	for (int i = 2; i < argc; i++)
		*numbers[i - 2] = strtoull(argv[i], NULL, 10);
	if (!shape.tree || !shape.leaves || !shape.ranks) {
		fprintf(stderr, "sonde-generate-hpcrun: TREE, LEAVES and RANKS are at least 1\n");
		return 2;
	}
	if (mkdir(shape.folder, 0777) && errno != EEXIST) {
		perror(shape.folder);
		return 3;
	}
	write_threads(&shape);
	return 0;
}
