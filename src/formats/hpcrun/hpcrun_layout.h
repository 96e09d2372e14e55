/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of .hpcrun and .hpctrace files. 02.00l follows the document of 2009 ("fmt-hdr [epoch]*");
 * what later generations changed is settled by the files that existing programs write. A text is its
 * length (u32) and its bytes, a list its count (u32) and its items.
 */
#ifndef SONDE_HPCRUN_LAYOUT_H
#define SONDE_HPCRUN_LAYOUT_H

#include <stdint.h>

/* fmt-magicno-version: the letter behind the version is the order of bytes, l or b. */
#define HPCRUN_MAGIC_SHORT "HPCRUN____"
#define HPCRUN_MAGIC_LONG "HPCRUN-profile____"
#define HPCRUN_MAGIC_TRACE "HPCRUN-trace______"

enum {
	HPCRUN_MAGIC_SHORT_SIZE = 10,
	HPCRUN_MAGIC_LONG_SIZE = 18,
	HPCRUN_VERSION_SIZE = 5, /* "02.00" */
	HPCRUN_HEADER_SHORT = HPCRUN_MAGIC_SHORT_SIZE + HPCRUN_VERSION_SIZE + 1,
	HPCRUN_HEADER_LONG = HPCRUN_MAGIC_LONG_SIZE + HPCRUN_VERSION_SIZE + 1,
};

/* epoch-tag */
#define HPCRUN_EPOCH_TAG "EPOCH___"
#define HPCRUN_EPOCH_TAG_SIZE 8
/* epoch-flags: the tree has the fields of logical unwinding */
#define HPCRUN_EPOCH_LOGICAL (UINT64_C(1) << 0)
/* nv-pair of an epoch: how many u64 a logical address has */
#define HPCRUN_PAIR_LOGICAL_SIZE "LIP-size"

/* metric-flags of 02.00l */
#define HPCRUN_METRIC_ASYNCHRONOUS (UINT64_C(1) << 1)
#define HPCRUN_METRIC_REAL (UINT64_C(1) << 2)

/* 02.00b and later: the sixteen bytes of a metric's flags. */
enum {
	HPCRUN_METRIC_TYPE = 0,
	HPCRUN_METRIC_VALUE_TYPE = 1,
	HPCRUN_METRIC_FORMAT = 2,
	HPCRUN_METRIC_AT_FUNCTION = 3,
	HPCRUN_METRIC_PARTNER = 4, /* u16 */
	HPCRUN_METRIC_SHOW = 6,
	HPCRUN_METRIC_SHOW_PERCENT = 7,
	HPCRUN_METRIC_FLAGS_SIZE = 16,
};
enum { HPCRUN_METRIC_IS_INTEGER = 1, HPCRUN_METRIC_IS_REAL = 2 };

/* 04.00: six sections, each filled up to a multiple of this, and a footer at the end of the file. */
#define HPCRUN_SECTION_ALIGNMENT 1024
enum hpcrun_section {
	HPCRUN_SECTION_HEADER,
	HPCRUN_SECTION_MODULES,
	HPCRUN_SECTION_NODES,
	HPCRUN_SECTION_METRICS,
	HPCRUN_SECTION_KINDS,
	HPCRUN_SECTION_VALUES,
	HPCRUN_SECTION_COUNT,
};
/* Start and end of each section, start of the footer, this number. */
#define HPCRUN_FOOTER_MAGIC UINT64_C(0x48504352554E736D)
#define HPCRUN_FOOTER_SIZE ((2 * HPCRUN_SECTION_COUNT + 2) * 8)

/* 04.00: node: u32 id, u32 parent, u16 module, u64 ip, u8 flags. */
#define HPCRUN_NODE_SIZE 19
#define HPCRUN_NODE_UNWOUND 1
/* Identity: u16 kind and interpretation, u64 physical, u64 logical. */
#define HPCRUN_IDENTITY_SIZE 18
#define HPCRUN_IDENTITY_KIND_MASK 0x3fff
#define HPCRUN_IDENTITY_SHIFT 14
#define HPCRUN_IDENTITY_LOGICAL_ONLY 3
/* Value: u64 bits, u16 metric. Its index: u32 node id, u64 number of its first value. */
#define HPCRUN_VALUE_SIZE 10
#define HPCRUN_INDEX_SIZE 12
#define HPCRUN_INDEX_END UINT32_C(0x656E6421)

/* .hpctrace: magic, u64 flags; records of u64 time, u32 node [, u32 metric]. */
#define HPCTRACE_VERSION "01.01b"
#define HPCTRACE_HEADER_SIZE 32
#define HPCTRACE_RECORD_SIZE 12
#define HPCTRACE_RECORD_SIZE_DATA 16

/*
 * Not of the document: a module "[main]" with addresses below this is a function of that name, which sonde knew
 * without an address. No module has code there, it is where the header of an ELF file lies.
 */
#define HPCRUN_NAMED_LIMIT 64

#endif
