/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the ZTS trace store, by file. "Document" is the description of the format; where real
 * stores differ, they are followed, and the document's own spelling is understood too: see
 * doc/formats/zts.md.
 */
#ifndef SONDE_FORMATS_ZTS_LAYOUT_H
#define SONDE_FORMATS_ZTS_LAYOUT_H

/* traces.dat, big-endian: document, "Raw trace store format". */
#define ZTS_DATA_NAME "traces.dat"
#define ZTS_DATA_MAGIC "ZTS0"
#define ZTS_DATA_HEADER_SIZE 16
#define ZTS_CHUNK_MAGIC "ZCH0"
#define ZTS_CHUNK_HEADER_SIZE 16
#define ZTS_CHUNK_MAX_SIZE (256u << 20) /* decompressed; ours: longer ones are refused */
#define ZTS_FLAG_CODEC_MASK 0x0fu
#define ZTS_FLAG_CODEC_ZLIB 1u /* in the document: LZ4 */
#define ZTS_FLAG_CODEC_LZ4 2u  /* in the document: zlib */
#define ZTS_FLAG_CRC 0x10u

/* CBOR tags in a chunk. */
enum {
	ZTS_TAG_INFO_DOCUMENT = 0x02,	    /* the document's tag of method call info */
	ZTS_TAG_ATTRIBUTES_DOCUMENT = 0x03, /* and of attributes */
	ZTS_TAG_STRING = 0x06,		    /* a text id */
	ZTS_TAG_RECORD = 0x08,
	ZTS_TAG_ATTRIBUTES = 0x09,
	ZTS_TAG_PROLOG_BIG = 0x0a, /* 8 bytes: method << 40 | start ticks */
	ZTS_TAG_PROLOG_LITTLE = 0x0b,
	ZTS_TAG_EPILOG_BIG = 0x0c, /* 8 or 16 bytes: calls << 40 | stop ticks, calls */
	ZTS_TAG_EPILOG_LITTLE = 0x0d,
	ZTS_TAG_INFO = 0x0e,
	ZTS_TAG_FLAGS = 0x0f,
	ZTS_TAG_BEGIN = 0x21,	  /* [clock ms, span or type, parent] */
	ZTS_TAG_EXCEPTION = 0x22, /* [id, class, message, cause, stack] */
	ZTS_TAG_EXCEPTION_REF = 0x23,
	ZTS_TAG_UPWARD = 0x26, /* [trace id, attributes] of agents: for a record further up */
};

/* Keys of method call info. */
enum {
	ZTS_INFO_TRACE_ID = 0x01,
	ZTS_INFO_CHUNK_NUMBER = 0x02,
	ZTS_INFO_CHUNK_OFFSET = 0x03,
	ZTS_INFO_CHUNK_LENGTH = 0x04,
	ZTS_INFO_TIMESTAMP = 0x05, /* ms since 1970 */
	ZTS_INFO_DURATION = 0x06,
	ZTS_INFO_TYPE = 0x07,
	ZTS_INFO_RECORDS = 0x08,
	ZTS_INFO_CALLS = 0x09,
	ZTS_INFO_ERRORS = 0x0a,
	ZTS_INFO_FLAGS = 0x0b,
	ZTS_INFO_START = 0x0c, /* ticks */
	ZTS_INFO_STOP = 0x0d,
	ZTS_INFO_METHOD = 0x0e,
	ZTS_INFO_SKIP = 0x0f,
	ZTS_INFO_FLAGS_C = 0x10,
	ZTS_INFO_PARENT = 0x11,
	ZTS_INFO_SPAN = 0x12,
};

/* Flags of records and of slots. */
enum {
	ZTS_RECORD_SUBMIT = 0x01,
	ZTS_RECORD_SUBMIT_METHOD = 0x02,
	ZTS_RECORD_DROP = 0x04,
	ZTS_RECORD_ERROR = 0x08,
	ZTS_RECORD_CHUNKED = 0x10,
	ZTS_RECORD_FIRST = 0x20,
	ZTS_RECORD_LAST = 0x40,
};

#define ZTS_TICK_NS 65536u

/*
 * Ours: what ticks cannot say. An attribute of a record with an integer: start residue << 16 | stop
 * residue, in ns. For the first record of a trace the start residue counts from TIMESTAMP (below
 * 1,000,000), for others from their start tick; absent where all are 0.
 */
#define ZTS_NS_ATTRIBUTE "sonde.ns"

/* Typed texts: the marker begins, separates and ends the fields. */
enum zts_text_kind {
	ZTS_TEXT_STRING = 0, /* no marker: the bytes as they are */
	ZTS_TEXT_KEYWORD = 0x04,
	ZTS_TEXT_CLASS = 0x05,
	ZTS_TEXT_METHOD_NAME = 0x06,
	ZTS_TEXT_UUID = 0x07,
	ZTS_TEXT_SIGNATURE = 0x08,
	ZTS_TEXT_KEY_LITERAL = 0x09, /* key id, literal */
	ZTS_TEXT_KEY_VALUE = 0x0a,   /* key id, value id */
	ZTS_TEXT_METHOD = 0x0b,	     /* class id, method name id, signature id */
	ZTS_TEXT_EXCEPTION = 0x0c,   /* class id, message id, stack id, cause id (0: none) */
	ZTS_TEXT_STACK = 0x0d,	     /* frame ids */
	ZTS_TEXT_FRAME =
		0x0e, /* class id, method name id, file id, line number; all as ids are written */
	ZTS_TEXT_AGENT = 0x0f,
};

/* WAL of the text index and of the metadata index. */
#define ZTS_WAL_MAGIC "WAL\x03"
#define ZTS_WAL_MAX_SIZE (4u << 20) /* existing programs cut longer files to this */
#define ZTS_WAL_TEXT_MARK 0x01
#define ZTS_WAL_ID_MARK 0x02
#define ZTS_WAL_END_MARK 0x03
#define ZTS_WAL_ESCAPE 0xff /* ff 08: ff; ff 04 .. ff 07: 00 .. 03 */
#define ZTS_ID_DIGIT 48	    /* base 64 digits, most significant first */

/* Entries of the metadata index. */
#define ZTS_META_SLOT_MARK 0x0d /* slot 0d uuid 0b */
#define ZTS_META_UUID_END 0x0b
#define ZTS_META_ID_MARK 0x05
#define ZTS_META_DEEP 0x07    /* 07 (slot 05 id 07)*: every id in the trace */
#define ZTS_META_SHALLOW 0x06 /* 06 (slot 05 id 06)*: those of its first record */

/* FMI, little-endian. */
#define ZTS_FMI_MAGIC 0x5a464d30u
#define ZTS_FMI_HEADER_SIZE 32
#define ZTS_FMI_RANKS 256
#define ZTS_FMI_DESCRIPTOR_SIZE 14
#define ZTS_FMI_BLOCK_SIZE 1024
#define ZTS_FMI_FULL_RANKS_EVERY 32
#define ZTS_FMI_DATA 1u
#define ZTS_FMI_LZ4 2u
#define ZTS_FMI_FULL_RANKS 4u

/* qmeta.idx, big-endian; slots of 12 words (generation 0: 8). */
#define ZTS_QMETA_NAME "qmeta.idx"
#define ZTS_QMETA_MAGIC "MQI0"
#define ZTS_QMETA_HEADER_SIZE 64
#define ZTS_QMETA_SLOT_WORDS 12
#define ZTS_QMETA_OLD_SLOT_WORDS 8

#define ZTS_PROPS_NAME "store.props"
#define ZTS_PROPS_NAME_DOCUMENT "config.props"
#define ZTS_PROPS_ARCHIVED 1u

/* Ours: in the base folder, held by the program that writes. */
#define ZTS_LOCK_NAME "sonde.lock"

#endif
