/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be found wrong with an ATF session: one list of stable ids. The reader adds
 * the findings it meets on opening, the check adds the rest.
 */
#ifndef SONDE_ATF_FINDINGS_H
#define SONDE_ATF_FINDINGS_H

#include <sonde/diagnostics.h>

#define ATF_ADVICE_RECOVER "sonde recover writes a finished copy with every event that survives"
#define ATF_ADVICE_READ "it is read all the same"
#define ATF_ADVICE_REFUSED "this thread cannot be read; the others can"
#define ATF_ADVICE_RECORD "record again if you can; the events themselves are damaged"

/* X(name, id, severity, title, advice) */
#define ATF_FINDING_LIST(X)                                                                        \
	/* the manifest */                                                                         \
	X(MANIFEST_MISSING, "atf-manifest-missing", WARNING, "no manifest.json",                   \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(MANIFEST_JSON, "atf-manifest-json", ERROR, "the manifest is not whole JSON",             \
	  "names and modules after this place are lost; sonde recover writes a good manifest")     \
	X(MANIFEST_VALUE, "atf-manifest-value", WARNING, "a manifest entry has a wrong value",     \
	  "the entry is ignored")                                                                  \
	X(MANIFEST_VERSION, "atf-manifest-version", WARNING, "unknown manifest version",           \
	  ATF_ADVICE_READ)                                                                         \
	X(MANIFEST_THREAD_MISSING, "atf-manifest-thread-missing", ERROR,                           \
	  "a thread of the manifest has no readable files", "copy its folder back if you have it") \
	X(MANIFEST_THREAD_UNLISTED, "atf-manifest-thread-unlisted", WARNING,                       \
	  "a thread folder is not in the manifest", ATF_ADVICE_READ)                               \
	X(MANIFEST_DETAIL, "atf-manifest-detail", WARNING,                                         \
	  "has_detail of the manifest disagrees with the files", "the files decide")               \
	X(MANIFEST_TIME, "atf-manifest-time", WARNING,                                             \
	  "events lie outside the time range of the manifest", "the events decide")                \
	X(MANIFEST_CLOCK, "atf-manifest-clock", WARNING,                                           \
	  "clock_type of the manifest disagrees with the files", "the files decide")               \
	X(SYMBOLS_NONE, "atf-symbols-none", NOTE, "no function has a name",                        \
	  "functions are shown by their number")                                                   \
	X(SYMBOL_MISSING, "atf-symbol-missing", WARNING, "a function in use has no symbol",        \
	  "it is shown by its number")                                                             \
	X(SYMBOL_DUPLICATE, "atf-symbol-duplicate", WARNING, "a function has two symbols",         \
	  "the first one is taken")                                                                \
	X(SYMBOL_MODULE, "atf-symbol-module", WARNING,                                             \
	  "a symbol names a module that is not listed", "the symbol is kept without a module")     \
	X(RESOURCE_MISSING, "atf-resource-missing", ERROR,                                         \
	  "a resource of the manifest has no file", "copy it back if you have it")                 \
	X(EVENT_TYPE_MISSING, "atf-event-type-missing", WARNING,                                   \
	  "an event type in use is not in the manifest", "it is shown by its number")              \
	/* index.atf as a file */                                                                  \
	X(INDEX_MISSING, "atf-index-missing", ERROR, "a thread folder without index.atf",          \
	  ATF_ADVICE_REFUSED)                                                                      \
	X(INDEX_UNREADABLE, "atf-index-unreadable", ERROR, "index.atf cannot be read",             \
	  ATF_ADVICE_REFUSED)                                                                      \
	X(INDEX_EMPTY, "atf-index-empty", ERROR, "index.atf is empty", ATF_ADVICE_REFUSED)         \
	X(INDEX_SHORT, "atf-index-short", ERROR, "index.atf is shorter than its header",           \
	  ATF_ADVICE_REFUSED)                                                                      \
	X(INDEX_MAGIC, "atf-index-magic", ERROR, "index.atf does not start like an index file",    \
	  ATF_ADVICE_REFUSED)                                                                      \
	X(INDEX_ENDIAN, "atf-index-endian", ERROR, "index.atf is not little-endian",               \
	  ATF_ADVICE_REFUSED)                                                                      \
	X(INDEX_VERSION, "atf-index-version", ERROR, "index.atf has an unknown version",           \
	  "a newer sonde may read it")                                                             \
	X(INDEX_EVENT_SIZE, "atf-index-event-size", ERROR,                                         \
	  "index.atf has events of an unknown size", "a newer sonde may read it")                  \
	X(INDEX_OFFSET, "atf-index-offset", ERROR, "the index header points outside the file",     \
	  "events are taken to start right after the header")                                      \
	X(INDEX_FOOTER_MISSING, "atf-index-footer-missing", ERROR,                                 \
	  "index.atf was never finished: it has no footer", ATF_ADVICE_RECOVER)                    \
	X(INDEX_FOOTER_CUT, "atf-index-footer-cut", ERROR, "the footer of index.atf is cut",       \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(INDEX_RECORD_CUT, "atf-index-record-cut", ERROR, "the last event of index.atf is cut",   \
	  "it is dropped; " ATF_ADVICE_RECOVER)                                                    \
	X(INDEX_ZEROS, "atf-index-zeros", ERROR, "index.atf ends in zeros that are no events",     \
	  "they are dropped; " ATF_ADVICE_RECOVER)                                                 \
	X(INDEX_TRAILING, "atf-index-trailing", WARNING, "bytes after the footer of index.atf",    \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(INDEX_PLACEHOLDER, "atf-index-placeholder", WARNING,                                     \
	  "the header of index.atf was never finalised",                                           \
	  "the footer decides; " ATF_ADVICE_RECOVER)                                               \
	X(INDEX_COUNT, "atf-index-count", ERROR, "the event counts of index.atf disagree",         \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(INDEX_BYTES, "atf-index-bytes", WARNING,                                                 \
	  "bytes_written of the index footer disagrees with the file", ATF_ADVICE_RECOVER)         \
	X(INDEX_TIME, "atf-index-time", WARNING,                                                   \
	  "the time range of header or footer disagrees with the events", ATF_ADVICE_RECOVER)      \
	X(INDEX_CHECKSUM, "atf-index-checksum", ERROR,                                             \
	  "the checksum of index.atf is wrong: events were changed", ATF_ADVICE_RECORD)            \
	X(INDEX_CHECKSUM_NONE, "atf-index-checksum-none", NOTE, "index.atf has no checksum",       \
	  "sonde convert writes one")                                                              \
	X(INDEX_THREAD, "atf-index-thread", WARNING,                                               \
	  "thread_id of index.atf disagrees with its folder", "the folder decides")                \
	X(INDEX_FLAG, "atf-index-flag", WARNING,                                                   \
	  "the has_detail flag of index.atf disagrees with the files", "the files decide")         \
	X(INDEX_MACHINE, "atf-index-machine", WARNING,                                             \
	  "arch, os or clock of index.atf is unknown or differs within the session",               \
	  ATF_ADVICE_READ)                                                                         \
	X(INDEX_MACHINE_NONE, "atf-index-machine-none", NOTE,                                      \
	  "index.atf does not say of which arch, os or clock it is",                               \
	  "as sessions made of a format that does not know either")                                \
	/* its events */                                                                           \
	X(EVENT_KIND, "atf-event-kind", ERROR, "an event is of an unknown kind", ATF_ADVICE_READ)  \
	X(EVENT_NUMBER, "atf-event-number", ERROR,                                                 \
	  "a flow, range or counter has no detail with its number or value", "it is read as 0")    \
	X(EVENT_TIME, "atf-event-time", ERROR, "time goes backwards", ATF_ADVICE_RECORD)           \
	X(EVENT_THREAD, "atf-event-thread", WARNING, "an event names another thread",              \
	  "the file decides")                                                                      \
	X(EVENT_DEPTH, "atf-event-depth", ERROR, "the depth of an event does not fit the calls",   \
	  ATF_ADVICE_RECORD)                                                                       \
	X(EVENT_NESTING, "atf-event-nesting", ERROR, "a call is left by another function",         \
	  ATF_ADVICE_RECORD)                                                                       \
	X(EVENT_UNOPENED, "atf-event-unopened", ERROR, "a return without a call",                  \
	  ATF_ADVICE_RECORD)                                                                       \
	X(EVENT_OPEN, "atf-event-open", NOTE, "calls are still open at the end",                   \
	  "usual where a program exits or dies inside them")                                       \
	/* detail.atf as a file */                                                                 \
	X(DETAIL_MISSING, "atf-detail-missing", ERROR,                                             \
	  "events link to details, but there is no detail.atf",                                    \
	  "copy the file back if you have it")                                                     \
	X(DETAIL_UNREADABLE, "atf-detail-unreadable", ERROR, "detail.atf cannot be read",          \
	  "the events are read without details")                                                   \
	X(DETAIL_EMPTY, "atf-detail-empty", ERROR, "detail.atf is empty", ATF_ADVICE_RECOVER)      \
	X(DETAIL_SHORT, "atf-detail-short", ERROR, "detail.atf is shorter than its header",        \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(DETAIL_MAGIC, "atf-detail-magic", ERROR, "detail.atf does not start like a detail file", \
	  "the events are read without details")                                                   \
	X(DETAIL_ENDIAN, "atf-detail-endian", ERROR, "detail.atf is not little-endian",            \
	  "the events are read without details")                                                   \
	X(DETAIL_VERSION, "atf-detail-version", ERROR, "detail.atf has an unknown version",        \
	  "a newer sonde may read it")                                                             \
	X(DETAIL_OFFSET, "atf-detail-offset", ERROR, "the detail header points outside the file",  \
	  "records are taken to start right after the header")                                     \
	X(DETAIL_FOOTER_MISSING, "atf-detail-footer-missing", ERROR,                               \
	  "detail.atf was never finished: it has no footer", ATF_ADVICE_RECOVER)                   \
	X(DETAIL_FOOTER_CUT, "atf-detail-footer-cut", ERROR, "the footer of detail.atf is cut",    \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(DETAIL_RECORD_CUT, "atf-detail-record-cut", ERROR,                                       \
	  "the last record of detail.atf is cut", "it is dropped; " ATF_ADVICE_RECOVER)            \
	X(DETAIL_ZEROS, "atf-detail-zeros", ERROR, "detail.atf ends in zeros that are no records", \
	  "they are dropped; " ATF_ADVICE_RECOVER)                                                 \
	X(DETAIL_LENGTH, "atf-detail-length", ERROR, "a detail record has an impossible length",   \
	  "only sonde recover finds the records behind it")                                        \
	X(DETAIL_TRAILING, "atf-detail-trailing", WARNING, "bytes after the footer of detail.atf", \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(DETAIL_PLACEHOLDER, "atf-detail-placeholder", WARNING,                                   \
	  "the header of detail.atf was never finalised",                                          \
	  "the footer decides; " ATF_ADVICE_RECOVER)                                               \
	X(DETAIL_COUNT, "atf-detail-count", ERROR, "the record counts of detail.atf disagree",     \
	  ATF_ADVICE_RECOVER)                                                                      \
	X(DETAIL_BYTES, "atf-detail-bytes", WARNING,                                               \
	  "bytes_length of detail.atf disagrees with the file", ATF_ADVICE_RECOVER)                \
	X(DETAIL_RANGE, "atf-detail-range", WARNING,                                               \
	  "the range of index numbers in the detail header is wrong", ATF_ADVICE_RECOVER)          \
	X(DETAIL_TIME_RANGE, "atf-detail-time-range", WARNING,                                     \
	  "the time range of the detail footer disagrees with the records", ATF_ADVICE_RECOVER)    \
	X(DETAIL_CHECKSUM, "atf-detail-checksum", ERROR,                                           \
	  "the checksum of detail.atf is wrong: records were changed", ATF_ADVICE_RECORD)          \
	X(DETAIL_CHECKSUM_NONE, "atf-detail-checksum-none", NOTE, "detail.atf has no checksum",    \
	  "sonde convert writes one")                                                              \
	X(DETAIL_THREAD, "atf-detail-thread", WARNING,                                             \
	  "detail.atf or a record names another thread", "the folder decides")                     \
	X(DETAIL_MACHINE, "atf-detail-machine", WARNING,                                           \
	  "arch or os of detail.atf differs from index.atf",                                       \
	  "registers may be shown under wrong names")                                              \
	X(DETAIL_TYPE, "atf-detail-type", NOTE, "a detail record is of an unknown type",           \
	  "its bytes are kept as they are")                                                        \
	X(DETAIL_PAYLOAD, "atf-detail-payload", ERROR,                                             \
	  "a detail record is too short for its registers and stack",                              \
	  "its bytes are kept as they are")                                                        \
	X(DETAIL_ARGUMENTS, "atf-detail-arguments", ERROR,                                         \
	  "a detail record is too short for its arguments", "its bytes are kept as they are")      \
	X(DETAIL_FUNCTION, "atf-detail-function", WARNING,                                         \
	  "a detail record names another function than its event", ATF_ADVICE_READ)                \
	X(DETAIL_TIME, "atf-detail-time", WARNING,                                                 \
	  "a detail record has another time than its event", ATF_ADVICE_READ)                      \
	X(DETAIL_KIND, "atf-detail-kind", WARNING,                                                 \
	  "a detail record is of another kind than its event", ATF_ADVICE_READ)                    \
	/* links */                                                                                \
	X(LINK_FORWARD, "atf-link-forward", ERROR,                                                 \
	  "an event links to a detail that does not link back", "sonde recover mends the link")    \
	X(LINK_BACKWARD, "atf-link-backward", ERROR,                                               \
	  "a detail links to an event that does not link to it", "sonde recover mends the link")   \
	X(LINK_PAST_DETAILS, "atf-link-past-details", ERROR,                                       \
	  "an event links past the last detail", "the event is kept without detail")               \
	X(LINK_PAST_EVENTS, "atf-link-past-events", WARNING, "a detail outlived its event",        \
	  "sonde recover keeps it, unlinked")                                                      \
	X(DETAIL_UNLINKED, "atf-detail-unlinked", NOTE, "details belong to no event",              \
	  "their events did not survive a crash")

enum atf_finding {
#define X(name, id, severity, title, advice) ATF_FINDING_##name,
	ATF_FINDING_LIST(X)
#undef X
};

#define ATF_FINDING_COUNT (ATF_FINDING_DETAIL_UNLINKED + 1)

extern const struct sonde_finding_type atf_finding_types[ATF_FINDING_COUNT];

/* The same as a NULL-terminated list, for struct sonde_format_info. */
extern const struct sonde_finding_type *const atf_finding_list[ATF_FINDING_COUNT + 1];

/* sonde_diagnostics_add() by the name of the finding. */
#define ATF_FIND(diagnostics, name, file, offset, ...)                                             \
	sonde_diagnostics_add(diagnostics, &atf_finding_types[ATF_FINDING_##name], file, offset,   \
			      __VA_ARGS__)

#endif
