/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things stand in the files of an HPCToolkit database, version 4.0, little-endian. Names and
 * sections are those of the document; strides are what is written, readers use those in the file.
 */
#ifndef SONDE_HPCDB_LAYOUT_H
#define SONDE_HPCDB_LAYOUT_H

/* "Common file structure": magic, format, versions, then pairs {size, pointer} of sections. */
#define HPCDB_MAGIC "HPCTOOLKIT"
#define HPCDB_FOOTER_SIZE 8

enum {
	HPCDB_MAGIC_SIZE = 10,
	HPCDB_FORMAT = 0x0a, /* 4 characters: meta, prof, ctxt, trce */
	HPCDB_MAJOR = 0x0e,
	HPCDB_MINOR = 0x0f,
	HPCDB_SECTIONS = 0x10,
	HPCDB_SECTION_SIZE = 16,
	HPCDB_MAJOR_VERSION = 4,
	HPCDB_MINOR_VERSION = 0,
};

/* "meta.db": numbers of its sections in the header. */
enum hpcdb_meta_section {
	HPCDB_META_GENERAL,
	HPCDB_META_ID_NAMES,
	HPCDB_META_METRICS,
	HPCDB_META_CONTEXT,
	HPCDB_META_STRINGS,
	HPCDB_META_MODULES,
	HPCDB_META_FILES,
	HPCDB_META_FUNCTIONS,
	HPCDB_META_SECTIONS,
};

/* Sizes as written. */
enum {
	HPCDB_META_HEADER = 0x90,
	HPCDB_METRIC_SIZE = 0x20,   /* {MD} */
	HPCDB_INSTANCE_SIZE = 0x10, /* {PSI} */
	HPCDB_SUMMARY_SIZE = 0x18,  /* {SS} */
	HPCDB_SCOPE_SIZE = 0x10,    /* {PS} */
	HPCDB_MODULE_SIZE = 0x10,   /* [LMS] */
	HPCDB_FILE_SIZE = 0x10,	    /* [SFS] */
	HPCDB_FUNCTION_SIZE = 0x28, /* [FS] */
	HPCDB_ENTRY_SIZE = 0x20,    /* {Entry} */
	HPCDB_CONTEXT_SIZE = 0x20,  /* {Ctx} without its flex words */

	HPCDB_PROFILE_HEADER = 0x30,
	HPCDB_PROFILE_SIZE = 0x30, /* {PI} */
	HPCDB_ID_SIZE = 0x10,	   /* {Id} of [HIT] */
	HPCDB_ID_TUPLE_SIZE = 0x08,

	HPCDB_CCT_HEADER = 0x20,
	HPCDB_CCT_CONTEXT_SIZE = 0x20, /* {CI} */

	HPCDB_TRACE_HEADER = 0x20,
	HPCDB_TRACE_SIZE = 0x18, /* {CTH} */
	HPCDB_SAMPLE_SIZE = 0x0c,

	/* Pairs and indices of the value blocks, packed. */
	HPCDB_PROFILE_VALUE_SIZE = 10, /* u16 metric, f64 */
	HPCDB_PROFILE_INDEX_SIZE = 12, /* u32 context, u64 start */
	HPCDB_CCT_VALUE_SIZE = 12,     /* u32 profile, f64 */
	HPCDB_CCT_INDEX_SIZE = 10,     /* u16 metric, u64 start */
};

/* {PS} type. */
enum hpcdb_scope_type {
	HPCDB_SCOPE_CUSTOM,
	HPCDB_SCOPE_POINT,
	HPCDB_SCOPE_EXECUTION,
	HPCDB_SCOPE_TRANSITIVE,
};

/* {SS} combine. */
enum hpcdb_combine { HPCDB_COMBINE_SUM, HPCDB_COMBINE_MIN, HPCDB_COMBINE_MAX };

/* {Ctx} flags: which flex words there are. */
enum {
	HPCDB_HAS_FUNCTION = 1 << 0,
	HPCDB_HAS_SOURCE = 1 << 1,
	HPCDB_HAS_POINT = 1 << 2,
};

/* {Ctx} relation and lexicalType. */
enum hpcdb_relation { HPCDB_LEXICAL, HPCDB_CALL, HPCDB_INLINED };
enum hpcdb_lexical_type { HPCDB_FUNCTION, HPCDB_LOOP, HPCDB_LINE, HPCDB_INSTRUCTION };

enum { HPCDB_PROFILE_IS_SUMMARY = 1 << 0, HPCDB_FILE_COPIED = 1 << 0, HPCDB_ID_PHYSICAL = 1 << 0 };

/* The bit of `propagation` that scope "function" goes by. */
enum { HPCDB_FUNCTION_BIT = 0, HPCDB_NO_BIT = 255 };

#endif
