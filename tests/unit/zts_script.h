/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces by number: the same number always gives the same calls, attributes and exceptions. They
 * are put into a writer, or compared with what a reader of a part finds.
 */
#ifndef SONDE_TESTS_ZTS_SCRIPT_H
#define SONDE_TESTS_ZTS_SCRIPT_H

#include "formats/zts/zts_store.h"
#include "formats/zts/zts_writer.h"

/* What a script tries beside plain calls. */
struct script_options {
	bool use_ticks;
	unsigned int calls; /* at most, beside the first; 0: 20 */
	bool no_inner_traces;
	bool large; /* attributes of some kB */
};

/* Puts trace `number` into the writer; gives what end_trace said. */
enum sonde_status script_write(struct zts_writer *writer, uint64_t number,
			       const struct script_options *options, struct sonde_error *err);

/* The UUID of trace `number`, and back; false for one that no script has. */
void script_uuid(uint64_t number, uint64_t uuid[2]);
bool script_number(const uint64_t uuid[2], uint64_t *number);

/*
 * NULL where a slot's trace is what the script of its number says: records, times, attributes,
 * exceptions, names of the slot. Else what differs (valid until the next call). No asserts.
 */
const char *script_compare(struct zts_part *part, uint32_t slot,
			   const struct script_options *options);

/*
 * The slots and postings of a part are those that are made anew from its data; NULL, or what
 * differs.
 */
const char *script_compare_metadata(struct zts_part *part);

#endif
