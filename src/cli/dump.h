/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the three outputs of `sonde dump` share. Each is a struct of hooks; names are encoded once
 * per function and kept, since they are printed once per event.
 */
#ifndef SONDE_CLI_DUMP_H
#define SONDE_CLI_DUMP_H

#include <sonde/recording.h>

#include "cli/cli.h"
#include "model/names.h"
#include "model/signatures.h"

enum dump_time { DUMP_TIME_RELATIVE, DUMP_TIME_ABSOLUTE, DUMP_TIME_HUMAN };

struct dump {
	struct cli *cli;
	struct sonde_buffer *out;
	const struct sonde_definitions *definitions;
	enum dump_time time;
	bool with_details;
	bool with_tracks; /* there is more than one */
	uint64_t start_ns;
	uint64_t end_ns;
	unsigned int time_width; /* text: digits before the point */
	unsigned int line_width; /* text: columns of the terminal; 0: any */
	struct names functions;
	struct names types;
	struct names tracks;
	struct signatures signatures;
	struct sonde_buffer scratch;
};

/* What comes with an event. Each is NULL where there is nothing, or nothing is wanted. */
struct dump_extras {
	const struct sonde_detail *detail;	 /* never arguments */
	const struct sonde_detail *arguments;	 /* and what they follow: */
	const struct sonde_signature *signature; /* not NULL with arguments */
	const char *fault;			 /* why it cannot be read */
};

struct dump_output {
	name_encoder *encode;
	/* Before the first event; may be NULL. */
	void (*begin)(struct dump *dump);
	/* One event, with what comes with it. */
	void (*event)(struct dump *dump, const struct sonde_event *event,
		      const struct dump_extras *extras);
};

extern const struct dump_output dump_text;
extern const struct dump_output dump_json;
extern const struct dump_output dump_csv;

/* The function or, of the other kinds, the event type, encoded. */
const struct name *dump_event_name(struct dump *dump, const struct sonde_event *event);

/* Whether the registers of a detail have names; without, there is nothing to call them. */
static inline bool dump_has_registers(const struct sonde_detail *detail)
{
	return detail->kind == SONDE_DETAIL_REGISTERS &&
	       sonde_register_name(detail->registers.arch, 0);
}

/* Bytes as hexadecimal digits without gaps. */
void dump_put_hex_bytes(struct sonde_buffer *out, const uint8_t *bytes, size_t size);

#endif
