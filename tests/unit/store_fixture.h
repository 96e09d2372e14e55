/* SPDX-License-Identifier: Apache-2.0 */
/* Scripted traces (zts_script.h) into a store, acknowledged, and what is in it. No asserts. */
#ifndef SONDE_TESTS_STORE_FIXTURE_H
#define SONDE_TESTS_STORE_FIXTURE_H

#include "store/store.h"
#include "zts_script.h"

/* Puts one trace in and waits until it is on the disk. */
enum sonde_status store_put(struct sonde_store *store, uint64_t number,
			    const struct script_options *options, struct sonde_error *err);

/* NULL where a store has traces 0 .. count-1, each once, and nothing else. */
const char *store_compare(const char *base, uint64_t count, const struct script_options *options);

/*
 * Marks which of `count` traces are there, in part `first_part` and later ones; those from
 * `compared` on are compared too. NULL, or what is wrong: a trace twice, or one that differs.
 */
const char *store_find(const char *base, uint32_t first_part, uint8_t *found, uint64_t count,
		       uint64_t compared, const struct script_options *options);

#endif
