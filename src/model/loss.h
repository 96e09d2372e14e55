/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a writer that counts what it cannot carry over by kind: its table of kinds, and how the counts get into
 * the loss report. The report itself is in <sonde/pipeline.h>.
 */
#ifndef SONDE_MODEL_LOSS_H
#define SONDE_MODEL_LOSS_H

#include <sonde/pipeline.h>

struct sonde_loss_kind {
	const char *what, *reason;
	bool is_elsewhere; /* see sonde_loss_add_elsewhere() */
};

/* Adds `counts`, one for each of `kinds`, and sets them to 0. */
enum sonde_status sonde_loss_add_kinds(struct sonde_loss *loss, const struct sonde_loss_kind *kinds,
				       uint64_t *counts, size_t count, struct sonde_error *err);

#endif
