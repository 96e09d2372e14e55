/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles and traces byte by byte. */
#include "hpcrun_making.h"

#include <string.h>

#include "scratch.h"

static void put(struct made_profile *made, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sonde_buffer_put_char(
			&made->bytes,
			(char)(value >> 8 * (made->little_endian ? i : size - 1 - i)));
}

void made_put_u16(struct made_profile *made, uint16_t value)
{
	put(made, value, 2);
}

void made_put_u32(struct made_profile *made, uint32_t value)
{
	put(made, value, 4);
}

void made_put_u64(struct made_profile *made, uint64_t value)
{
	put(made, value, 8);
}

static void patch(struct made_profile *made, size_t at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		made->bytes.data[at + i] =
			(char)(value >> 8 * (made->little_endian ? i : size - 1 - i));
}

void made_patch_u32(struct made_profile *made, enum made_mark mark, size_t offset, uint32_t value)
{
	patch(made, made->marks[mark] + offset, value, 4);
}

void made_patch_u64(struct made_profile *made, enum made_mark mark, size_t offset, uint64_t value)
{
	patch(made, made->marks[mark] + offset, value, 8);
}

static void put_real(struct made_profile *made, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	made_put_u64(made, bits);
}

static void put_text(struct made_profile *made, const char *text)
{
	made_put_u32(made, (uint32_t)strlen(text));
	sonde_buffer_put_text(&made->bytes, text);
}

static void put_pair(struct made_profile *made, const char *name, const char *value)
{
	put_text(made, name);
	put_text(made, value);
}

static void mark(struct made_profile *made, enum made_mark which)
{
	made->marks[which] = made->bytes.size;
}

static void start(struct made_profile *made, const char *magic)
{
	sonde_buffer_clear(&made->bytes);
	sonde_buffer_put_text(&made->bytes, magic);
	sonde_buffer_put_char(&made->bytes, made->little_endian ? 'l' : 'b');
}

static void put_pairs(struct made_profile *made)
{
	char thread[12];

	thread[0] = (char)('0' + made->thread % 10);
	thread[1] = '\0';
	mark(made, MARK_PAIRS);
	made_put_u32(made, 8);
	put_pair(made, "program-name", "prog");
	put_pair(made, "program-path", "/bin/prog");
	put_pair(made, "job-id", "");
	put_pair(made, "mpi-rank", "0");
	put_pair(made, "thread-id", thread);
	put_pair(made, "host-id", "11ac0300");
	put_pair(made, "process-id", "42");
	put_pair(made, "trace-disorder", "0");
}

struct node {
	uint32_t id, parent; /* in steps from 10; 0: none */
	uint16_t module;
	uint64_t ip;
	double seconds;
	uint64_t cycles;
};

static uint64_t placeholder(const char *text)
{
	uint64_t ip = 0;

	for (size_t i = 0; i < 8; i++)
		ip = ip << 8 | (uint8_t)text[i];
	return ip;
}

/* Module 9 stands for the second one. */
static void nodes_of(struct node nodes[MADE_NODES])
{
	const struct node all[MADE_NODES] = {
		{ 1, 0, 0, placeholder("^Primary"), 0, 0 },
		{ 2, 1, 0, placeholder("NoActvty"), 0, 0 },
		{ 3, 1, 0, placeholder("| Main  "), 0, 0 },
		{ 4, 3, 1, 0x100, 0.5, 0 },
		{ 5, 4, 9, 0x200, 1, 4 },
		{ 6, 4, 0, placeholder("GPUKernl"), 0.25, 3 },
	};

	memcpy(nodes, all, sizeof(all));
}

static uint32_t id_of(const struct made_profile *made, uint32_t number)
{
	return number ? 10 + number * (made->id_step ? made->id_step : 2) : 0;
}

static uint16_t second_module(const struct made_profile *made)
{
	return (uint16_t)(made->module_id ? made->module_id : 2);
}

static uint16_t module_of(const struct made_profile *made, const struct node *node)
{
	return node->module == 9 ? second_module(made) : node->module;
}

static void put_modules(struct made_profile *made)
{
	mark(made, MARK_MODULES);
	made_put_u32(made, 2);
	made_put_u16(made, 1);
	put_text(made, "/bin/prog");
	made_put_u64(made, 1);
	mark(made, MARK_MODULE_2);
	made_put_u16(made, second_module(made));
	put_text(made, "/lib/libb.so");
	made_put_u64(made, 0);
}

static void put_metric(struct made_profile *made, const char *name, uint8_t format, uint64_t period,
		       const char *formula, bool later)
{
	const uint8_t flags[] = { 1, 0, format, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 };

	put_text(made, name);
	put_text(made, "what is counted");
	sonde_buffer_put(&made->bytes, flags, sizeof(flags));
	made_put_u64(made, period);
	put_text(made, formula);
	put_text(made, *formula ? "%6.0f" : "");
	if (!later)
		return;
	made_put_u16(made, 1);
	made_put_u16(made, 0);
	put_real(made, 2.5);
	made_put_u64(made, 7);
}

static void put_metrics(struct made_profile *made, bool later)
{
	mark(made, MARK_METRICS);
	made_put_u32(made, MADE_METRICS);
	put_metric(made, "TIME (sec)", 2, 1, "", later);
	put_metric(made, "CYCLES", 1, 10, "", later);
	put_metric(made, "RATE", 2, 1, "#1/#0", later);
}

static size_t fill_up(struct made_profile *made)
{
	while (made->bytes.size % 1024)
		sonde_buffer_put_char(&made->bytes, '\0');
	return made->bytes.size;
}

static void put_identity(struct made_profile *made)
{
	mark(made, MARK_IDENTITY);
	made_put_u16(made, (uint16_t)(2 + made->levels));
	made_put_u16(made, 1 | 1 << 14);
	made_put_u64(made, 0x11ac0300);
	made_put_u64(made, 0);
	for (unsigned int i = 0; i < made->levels; i++) {
		made_put_u16(made, 7 | 3 << 14);
		made_put_u64(made, i);
		made_put_u64(made, i);
	}
	made_put_u16(made, 3 | 3 << 14);
	made_put_u64(made, made->thread);
	made_put_u64(made, made->thread);
}

static void put_values(struct made_profile *made)
{
	struct node nodes[MADE_NODES];

	nodes_of(nodes);
	put_identity(made);
	made_put_u64(made, 5);
	made_put_u32(made, 3);
	mark(made, MARK_VALUES);
	for (size_t i = 3; i < MADE_NODES; i++) {
		put_real(made, nodes[i].seconds);
		made_put_u16(made, 0);
		if (!nodes[i].cycles)
			continue;
		made_put_u64(made, nodes[i].cycles);
		made_put_u16(made, 1);
	}
	mark(made, MARK_INDEX);
	made_put_u32(made, id_of(made, 4));
	made_put_u64(made, 0);
	made_put_u32(made, id_of(made, 5));
	made_put_u64(made, 1);
	made_put_u32(made, id_of(made, 6));
	made_put_u64(made, 3);
	mark(made, MARK_INDEX_END);
	made_put_u32(made, 0x656E6421);
	made_put_u64(made, 5);
}

static void put_nodes(struct made_profile *made)
{
	struct node nodes[MADE_NODES];

	nodes_of(nodes);
	mark(made, MARK_NODES);
	made_put_u64(made, MADE_NODES);
	for (size_t i = 0; i < MADE_NODES; i++) {
		mark(made, MARK_NODE_LEAF);
		made_put_u32(made, id_of(made, nodes[i].id));
		made_put_u32(made, id_of(made, nodes[i].parent));
		made_put_u16(made, module_of(made, &nodes[i]));
		made_put_u64(made, nodes[i].ip);
		sonde_buffer_put_char(&made->bytes, 1);
	}
}

static void put_kinds(struct made_profile *made)
{
	static const char *const names[] = { "SUMMARY", "NODE", "RANK", "THREAD" };

	made_put_u16(made, 4);
	for (uint16_t i = 0; i < 4; i++) {
		made_put_u16(made, i);
		put_text(made, names[i]);
	}
}

void made_04(struct made_profile *made)
{
	size_t places[12], footer;

	start(made, "HPCRUN-profile____04.00");
	places[0] = 0;
	put_pairs(made);
	places[1] = made->bytes.size;
	places[2] = fill_up(made);
	put_modules(made);
	places[3] = made->bytes.size;
	places[4] = fill_up(made);
	put_nodes(made);
	places[5] = made->bytes.size;
	places[6] = fill_up(made);
	put_metrics(made, true);
	places[7] = made->bytes.size;
	places[8] = fill_up(made);
	put_kinds(made);
	places[9] = made->bytes.size;
	places[10] = fill_up(made);
	put_values(made);
	places[11] = made->bytes.size;
	footer = fill_up(made);
	mark(made, MARK_FOOTER);
	for (size_t i = 0; i < 12; i++)
		made_put_u64(made, places[i]);
	made_put_u64(made, footer);
	made_put_u64(made, UINT64_C(0x48504352554E736D));
}

/* Addresses of the process: module 1 at 0x10000, module 2 at 0x50000, its file starting at 0x100. */
static uint64_t process_address(const struct node *node)
{
	if (node->module == 1)
		return 0x10000 + node->ip;
	if (node->module == 9)
		return 0x50000 - 0x100 + node->ip;
	if (node->id == 1)
		return 0;
	return node->ip;
}

static void put_old_nodes(struct made_profile *made, bool logical, bool has_modules)
{
	struct node nodes[MADE_NODES];

	nodes_of(nodes);
	for (size_t i = 0; i < MADE_NODES; i++) {
		bool leaf = nodes[i].id != 1 && nodes[i].id != 3 && nodes[i].id != 4;
		uint32_t id = id_of(made, nodes[i].id);

		mark(made, MARK_NODE_LEAF);
		made_put_u32(made, leaf ? -id : id);
		made_put_u32(made, id_of(made, nodes[i].parent));
		if (logical)
			made_put_u32(made, 5);
		if (has_modules) {
			made_put_u16(made, module_of(made, &nodes[i]));
			made_put_u64(made, nodes[i].id == 1 ? 0 : nodes[i].ip);
		} else {
			made_put_u64(made, process_address(&nodes[i]));
		}
		if (logical) {
			made_put_u64(made, 6);
			made_put_u64(made, 7);
		}
		put_real(made, nodes[i].seconds);
		made_put_u64(made, nodes[i].cycles);
		if (has_modules)
			made_put_u64(made, 0);
	}
}

static void put_short_metrics(struct made_profile *made)
{
	made_put_u32(made, 2);
	put_text(made, "TIME (sec)");
	made_put_u64(made, 1 << 2);
	made_put_u64(made, 1);
	put_text(made, "CYCLES");
	made_put_u64(made, 1 << 1);
	made_put_u64(made, 10);
}

void made_02_document(struct made_profile *made, unsigned int epochs, bool logical)
{
	start(made, "HPCRUN____02.00");
	put_pairs(made);
	made_put_u32(made, epochs);
	mark(made, MARK_EPOCH);
	for (unsigned int i = 0; i < epochs; i++) {
		sonde_buffer_put_text(&made->bytes, "EPOCH___");
		made_put_u64(made, logical);
		made_put_u32(made, 4);
		made_put_u64(made, 1);
		made_put_u32(made, logical);
		if (logical)
			put_pair(made, "LIP-size", "2");
		put_short_metrics(made);
		made_put_u32(made, 2);
		made_put_u64(made, 0x10000);
		made_put_u64(made, 0);
		put_text(made, "/bin/prog");
		made_put_u32(made, 1);
		made_put_u64(made, 0x50000);
		made_put_u64(made, 0x100);
		put_text(made, "/lib/libb.so");
		made_put_u32(made, 0);
		mark(made, MARK_NODES);
		made_put_u32(made, MADE_NODES);
		put_old_nodes(made, logical, false);
	}
}

void made_02_coded(struct made_profile *made, unsigned int epochs)
{
	start(made, "HPCRUN____02.00");
	put_pairs(made);
	for (unsigned int i = 0; i < epochs; i++) {
		sonde_buffer_put_text(&made->bytes, "EPOCH___");
		made_put_u64(made, 0);
		made_put_u32(made, 4);
		made_put_u64(made, 1);
		made_put_u32(made, 1);
		put_pair(made, "LIP-size", "2");
		put_short_metrics(made);
		made_put_u32(made, 2);
		put_text(made, "/bin/prog");
		made_put_u64(made, 0);
		made_put_u64(made, 0x10000);
		put_text(made, "/lib/libb.so");
		made_put_u64(made, 0x100);
		made_put_u64(made, 0x50000);
		mark(made, MARK_NODES);
		made_put_u64(made, MADE_NODES);
		put_old_nodes(made, true, false);
	}
}

void made_02_b(struct made_profile *made, unsigned int epochs, bool later)
{
	start(made, "HPCRUN-profile____02.00");
	put_pairs(made);
	for (unsigned int i = 0; i < epochs; i++) {
		sonde_buffer_put_text(&made->bytes, "EPOCH___");
		made_put_u64(made, 0);
		made_put_u64(made, 1);
		made_put_u32(made, 4);
		made_put_u32(made, 0);
		put_metrics(made, later);
		put_modules(made);
		mark(made, MARK_NODES);
		made_put_u64(made, MADE_NODES);
		put_old_nodes(made, false, true);
	}
}

void made_trace(struct made_profile *made, uint64_t flags, unsigned int records)
{
	static const uint32_t nodes[] = { 2, 4, 5, 6 };

	made->little_endian = false;
	sonde_buffer_clear(&made->bytes);
	sonde_buffer_put_text(&made->bytes, "HPCRUN-trace______01.01b");
	made_put_u64(made, flags);
	for (unsigned int i = 0; i < records; i++) {
		made_put_u64(made, 1000 + 10 * (uint64_t)i);
		made_put_u32(made, id_of(made, nodes[i % 4]));
		if (flags & 1)
			made_put_u32(made, 0);
	}
}

void made_release(struct made_profile *made)
{
	sonde_buffer_release(&made->bytes);
}

void made_write(const struct made_profile *made, const char *path)
{
	put_bytes(path, made->bytes.data, made->bytes.size);
}
