/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the formats that other tools speak have in common. None of them can be checked or recovered byte by
 * byte; `check` opens them and tells what was found.
 */
#ifndef SONDE_FORMATS_EXCHANGE_H
#define SONDE_FORMATS_EXCHANGE_H

#include "base/file.h"
#include "base/json.h"
#include "formats/format.h"
#include "model/intake.h"

/* X(name, id, severity, title, advice) */
#define EXCHANGE_FINDING_LIST(X)                                                                   \
	X(TRUNCATED, "exchange-truncated", ERROR, "the file ends in the middle",                   \
	  "what comes before is read; ask whoever wrote it for the rest")                          \
	X(RECORD, "exchange-record", ERROR, "something that cannot be understood",                 \
	  "it is left out")                                                                        \
	X(UNKNOWN, "exchange-unknown", NOTE, "something of a kind that is not known here",         \
	  "it is left out")                                                                        \
	X(TIME, "exchange-time", WARNING, "a time that cannot be",                                 \
	  "the event is left out, or its time is put right, as said here")                         \
	X(ORDER, "exchange-order", NOTE, "times go back in the file", "they are put in order")     \
	X(LONE_END, "exchange-lone-end", WARNING, "ends of calls that never began",                \
	  "they are left out, or calls of no length stand for them where it says so here; the "    \
	  "recording may have started in their middle")                                            \
	X(MISSING_END, "exchange-missing-end", WARNING, "calls without an end of their own",       \
	  "they end with the call around them")                                                    \
	X(OVERLAP, "exchange-overlap", NOTE, "calls on one track that overlap without nesting",    \
	  "the later ones are on a further track of the same name")                                \
	X(LOST, "exchange-lost", WARNING, "events that the recorder lost", "they are nowhere")     \
	X(OPEN, "exchange-open", NOTE, "calls that never end", "they stay open")                   \
	X(REFUSED, "exchange-refused", ERROR, "the recording cannot be read",                      \
	  "see what was found; name its format with --format where another one was taken for it")

enum exchange_finding {
#define X(name, id, severity, title, advice) EXCHANGE_FINDING_##name,
	EXCHANGE_FINDING_LIST(X)
#undef X
		EXCHANGE_FINDING_COUNT
};

extern const struct sonde_finding_type exchange_finding_types[EXCHANGE_FINDING_COUNT];
extern const struct sonde_finding_type *const exchange_finding_list[EXCHANGE_FINDING_COUNT + 1];

/* EXCHANGE_FINDING(recording, TRUNCATED, offset, "expected\tfound %d", n); */
#define EXCHANGE_FINDING(recording, name, offset, ...)                                             \
	sonde_diagnostics_add((recording)->diagnostics,                                            \
			      &exchange_finding_types[EXCHANGE_FINDING_##name], (recording)->path, \
			      (offset), __VA_ARGS__)

/*
 * Checks a recording of a format that has no check of its own: opens it and reads all that it has. What was
 * found on the way, and why it could not be read, is added to `diagnostics`.
 */
enum sonde_status exchange_check(const struct sonde_format *format, const char *path,
				 const struct sonde_check_options *options,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err);

/*
 * 100 where a file, packed or not, begins with this text, else 0: the probe of a format that is only written, whose own
 * files a new one may take the place of.
 */
int exchange_begins_with(const char *path, const char *text);

/*
 * Maps the file of a recording, or what gzip makes of it in a file without a name. Of one that is damaged
 * that is what comes before the damage, and a finding.
 */
enum sonde_status exchange_open_unpacked(struct sonde_recording *recording,
					 struct sonde_mapped_file *file, struct sonde_error *err);

/* The member "anchors" of an object: pairs of a time of a clock and one of the wall. */
void exchange_put_anchors(const struct sonde_definitions *definitions,
			  struct sonde_json_writer *json);

/* Finishes an intake, and makes findings of what did not fit. */
enum sonde_status exchange_finish(struct sonde_recording *recording, struct sonde_intake *intake,
				  struct sonde_error *err);

#endif
