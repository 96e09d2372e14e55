/* SPDX-License-Identifier: Apache-2.0 */
/* How long work tells its caller how far it is, and learns that it should stop. */
#ifndef SONDE_PROGRESS_H
#define SONDE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Called now and then from any thread, one call at a time, with units done out of `total`
 * (0 where unknown). Returning false asks for a stop: the work ends with SONDE_CANCELLED.
 */
typedef bool sonde_progress_function(void *user, uint64_t done, uint64_t total);

/* NULL wherever a progress is taken means: nobody asks. */
struct sonde_progress {
	sonde_progress_function *report;
	void *user;
};

#ifdef __cplusplus
}
#endif

#endif
