/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles and traces of every generation, put together byte by byte without the library's writers. All
 * tell of the same small program, with places marked where tests do damage.
 */
#ifndef SONDE_TESTS_HPCRUN_MAKING_H
#define SONDE_TESTS_HPCRUN_MAKING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum made_mark {
	MARK_PAIRS,	/* their count */
	MARK_MODULES,	/* their count */
	MARK_MODULE_2,	/* number of the second */
	MARK_NODES,	/* their count */
	MARK_NODE_LEAF, /* the last node: id, parent, module ... */
	MARK_METRICS,	/* their count */
	MARK_IDENTITY,	/* how many levels */
	MARK_VALUES,	/* the first value: bits, metric */
	MARK_INDEX,	/* the first entry: node, number */
	MARK_INDEX_END, /* the last entry */
	MARK_FOOTER,
	MARK_EPOCH, /* the first epoch */
	MARK_COUNT
};

struct made_profile {
	struct sonde_buffer bytes;
	bool little_endian;
	size_t marks[MARK_COUNT];
	/* what may differ */
	uint32_t thread;
	uint32_t id_step;    /* between ids of nodes; 0: 2 */
	uint32_t module_id;  /* of the second module; 0: 2 */
	unsigned int levels; /* of the identity beyond node and thread */
};

/* The program: root 12, no activity, main thread, a() at 0x100 in module 1, b() at 0x200 in module 2. */
enum { MADE_NODES = 6, MADE_METRICS = 3 };
/* Sums over nodes: the real metric, and the whole one times its period of 10. */
#define MADE_SECONDS 1.75
#define MADE_CYCLES 70.0

void made_04(struct made_profile *made);
void made_02_document(struct made_profile *made, unsigned int epochs, bool logical);
void made_02_coded(struct made_profile *made, unsigned int epochs);
void made_02_b(struct made_profile *made, unsigned int epochs, bool later);
void made_trace(struct made_profile *made, uint64_t flags, unsigned int records);
void made_release(struct made_profile *made);

/* Writes what was made below a folder of the scratch folder. */
void made_write(const struct made_profile *made, const char *path);

void made_put_u16(struct made_profile *made, uint16_t value);
void made_put_u32(struct made_profile *made, uint32_t value);
void made_put_u64(struct made_profile *made, uint64_t value);
/* Overwrites bytes at a mark. */
void made_patch_u32(struct made_profile *made, enum made_mark mark, size_t offset, uint32_t value);
void made_patch_u64(struct made_profile *made, enum made_mark mark, size_t offset, uint64_t value);

#endif
