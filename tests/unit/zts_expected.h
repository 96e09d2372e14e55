/* SPDX-License-Identifier: Apache-2.0 */
/* What the existing program says about the stores of the corpus: the META lines of its dumps. */
#ifndef SONDE_TESTS_ZTS_EXPECTED_H
#define SONDE_TESTS_ZTS_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

struct expected_slot {
	char part[8];
	uint32_t number; /* generation 1: of the slot */
	uint64_t uuid[2];
	uint64_t chunk, data_offset, start_offset, flags, tstamp, duration, calls, errors, records;
	uint64_t type, app, env, host, deep_count, shallow_count; /* generation 1 */
	uint64_t tstart, tstop;					  /* generation 2 */
};

/* Calls `each` for the META lines of a dump; how many there were. 0 without $SONDE_CORPUS. */
unsigned int expected_slots(const char *store, void (*each)(const struct expected_slot *slot));

/* "$SONDE_CORPUS/zts/STORE", NULL without the corpus. Valid until the next call. */
const char *corpus_store(const char *store);

#endif
