/* SPDX-License-Identifier: Apache-2.0 */
/* A small store of random traces, with everything that searches meet. */
#ifndef SONDE_TESTS_SEARCH_FIXTURE_H
#define SONDE_TESTS_SEARCH_FIXTURE_H

#include <stdint.h>

#include "store/look.h"

/* `parts` parts of `traces` traces each under `base`; every second one is archived. */
void search_make_store(const char *base, unsigned int parts, unsigned int traces, uint64_t seed);

/* Appends traces to a part that is there. */
void search_add_traces(const char *folder, unsigned int traces, uint64_t seed);

/* Whether a trace fulfils a query, without any index: what searches are compared with. */
enum sonde_status search_look(struct sonde_look *look, const struct sonde_query *query,
			      uint32_t slot, bool *matches, struct sonde_error *err);

#endif
