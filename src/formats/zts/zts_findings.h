/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be found wrong with a trace store: one list of stable ids. Errors are damage
 * to the data; what can be made anew from traces.dat and the texts is a warning.
 */
#ifndef SONDE_FORMATS_ZTS_FINDINGS_H
#define SONDE_FORMATS_ZTS_FINDINGS_H

#include <sonde/diagnostics.h>

#define ZTS_ADVICE_RECOVER "sonde store recover writes a good copy with all that is left"
#define ZTS_ADVICE_REBUILD "it is made anew from traces.dat when read; sonde store recover keeps it"

/* X(name, id, severity, title, advice) */
#define ZTS_FINDING_LIST(X)                                                                        \
	/* the folder */                                                                           \
	X(REFUSED, "zts-refused", ERROR, "the store cannot be read", "see what was found")         \
	X(NUMBERING, "zts-numbering", WARNING, "a store's number is missing between others",       \
	  "its traces were removed, or its folder lost")                                           \
	X(FOREIGN, "zts-foreign", NOTE, "something that is no part of a store lies in its folder", \
	  "it is passed over")                                                                     \
	X(PROPS, "zts-props", WARNING, "store.props has a value that makes no sense",              \
	  "the default is taken")                                                                  \
	/* traces.dat */                                                                           \
	X(DATA_MISSING, "zts-data-missing", ERROR, "there is no traces.dat",                       \
	  "put it back, or remove the folder")                                                     \
	X(DATA_MAGIC, "zts-data-magic", ERROR, "traces.dat does not start like one",               \
	  ZTS_ADVICE_RECOVER)                                                                      \
	X(DATA_FLAGS, "zts-data-flags", NOTE, "traces.dat has flags or a checksum not known here", \
	  "it is read all the same")                                                               \
	X(CHUNK_MAGIC, "zts-chunk-magic", ERROR, "bytes in traces.dat that are no chunk",          \
	  ZTS_ADVICE_RECOVER)                                                                      \
	X(CHUNK_CUT, "zts-chunk-cut", ERROR, "traces.dat ends within a chunk", ZTS_ADVICE_RECOVER) \
	X(CHUNK_CRC, "zts-chunk-crc", ERROR, "a chunk is damaged: its checksum differs",           \
	  ZTS_ADVICE_RECOVER)                                                                      \
	X(CHUNK_CODEC, "zts-chunk-codec", ERROR, "a chunk cannot be decompressed",                 \
	  ZTS_ADVICE_RECOVER)                                                                      \
	X(CHUNK_OTHER_CODEC, "zts-chunk-other-codec", NOTE,                                        \
	  "a chunk is packed in another way than the file's header says",                          \
	  "it is read all the same")                                                               \
	/* what is in chunks */                                                                    \
	X(CBOR, "zts-cbor", ERROR, "a chunk's content is not what a trace looks like",             \
	  "the records before this place are kept")                                                \
	X(TRACE_OPEN, "zts-trace-open", ERROR, "a trace has no end",                               \
	  "its end is taken from its calls")                                                       \
	X(TRACE_TIMES, "zts-trace-times", WARNING,                                                 \
	  "a record ends before it begins, or outside its caller", "it is shown as it is")         \
	X(TRACE_LANES, "zts-trace-lanes", NOTE,                                                    \
	  "more calls of a trace overlap than a recording shows side by side",                     \
	  "their times are moved until they nest; sonde store get shows them as they are")         \
	X(TEXT_REF, "zts-text-ref", ERROR, "a trace refers to a text that is not there",           \
	  "it is shown as #id")                                                                    \
	X(TEXT_KIND, "zts-text-kind", WARNING,                                                     \
	  "a trace refers to a text of another kind than needed", "it is shown as it is")          \
	/* the text index */                                                                       \
	X(TEXT_UNREADABLE, "zts-text-unreadable", ERROR, "a .wal or .fmi file cannot be opened",   \
	  "its texts show as #id, searches miss them; mend its rights or the disk")                \
	X(WAL_MAGIC, "zts-wal-magic", ERROR, "a .wal file does not start like one",                \
	  "its texts are lost; traces show them as #id")                                           \
	X(WAL_ENTRY, "zts-wal-entry", ERROR, "an entry of a .wal file is damaged",                 \
	  "the entries behind it are looked for")                                                  \
	X(WAL_CUT, "zts-wal-cut", WARNING, "a .wal file ends within an entry",                     \
	  "the entry was being written when the program died; the rest is whole")                  \
	X(WAL_LONG, "zts-wal-long", WARNING, "a .wal file is longer than existing programs keep",  \
	  "they would cut it to 4 MiB; sonde reads all of it")                                     \
	X(FMI_MAGIC, "zts-fmi-magic", ERROR, "an .fmi file does not start like one",               \
	  "its texts are lost; traces show them as #id")                                           \
	X(FMI_DAMAGED, "zts-fmi-damaged", ERROR, "an .fmi file is damaged",                        \
	  "texts behind the damage are lost; traces show them as #id")                             \
	X(TEXT_IDS, "zts-text-ids", WARNING, "ids of the text index have a gap or overlap",        \
	  "texts in a gap are shown as #id")                                                       \
	X(TEXT_TYPED, "zts-text-typed", WARNING,                                                   \
	  "a typed text is not put together as it should be", "it is shown as it is")              \
	/* metadata */                                                                             \
	X(META_MISSING, "zts-meta-missing", WARNING, "the metadata index is missing",              \
	  ZTS_ADVICE_REBUILD)                                                                      \
	X(QMETA, "zts-qmeta", WARNING, "qmeta.idx is damaged", ZTS_ADVICE_REBUILD)                 \
	X(SLOT_PLACE, "zts-slot-place", WARNING, "a slot points to no trace", ZTS_ADVICE_REBUILD)  \
	X(SLOT_VALUE, "zts-slot-value", WARNING, "a slot says something else than its trace",      \
	  ZTS_ADVICE_REBUILD)                                                                      \
	X(SLOT_MISSING, "zts-slot-missing", WARNING, "a trace has no slot", ZTS_ADVICE_REBUILD)    \
	X(POSTING, "zts-posting", WARNING, "the index of a trace's texts differs from the trace",  \
	  "searches may miss it; sonde store recover makes the index anew")                        \
	X(GENERATION_2, "zts-generation-2", NOTE, "a store of generation 2",                       \
	  "its metadata is made from traces.dat when read")

enum zts_finding_number {
#define X(name, id, severity, title, advice) ZTS_FINDING_##name,
	ZTS_FINDING_LIST(X)
#undef X
		ZTS_FINDING_COUNT
};

extern const struct sonde_finding_type zts_finding_types[ZTS_FINDING_COUNT];
extern const struct sonde_finding_type *const zts_finding_list[ZTS_FINDING_COUNT + 1];

/* zts_found(d, CHUNK_CRC, file, offset, "expected\tfound", ...): nothing where d is NULL. */
#define zts_found(diagnostics, name, file, offset, ...)                                            \
	do {                                                                                       \
		if (diagnostics)                                                                   \
			sonde_diagnostics_add(diagnostics, &zts_finding_types[ZTS_FINDING_##name], \
					      file, offset, __VA_ARGS__);                          \
	} while (0)

#endif
