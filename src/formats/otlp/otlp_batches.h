/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of OTLP JSON of any size (one document, or one a line) as requests that are small enough to be decoded
 * at once: some spans of one scope each, with that and their resource. What is before a request is not needed any more.
 */
#ifndef SONDE_FORMATS_OTLP_BATCHES_H
#define SONDE_FORMATS_OTLP_BATCHES_H

#include "base/buffer.h"
#include "base/file.h"
#include "formats/otlp/otlp.h"

struct otlp_batches {
	const struct sonde_mapped_file *file;
	void *user;
	/*
	 * Takes a request; `offset` is where its first span is in the file. SONDE_CORRUPT and
	 * SONDE_LIMIT: its spans are handed in one by one; of a single one that ends it.
	 */
	enum sonde_status (*take)(void *user, const struct sonde_buffer *request, uint64_t offset,
				  struct sonde_error *err);
	/* A span, or (is_text) the text of the file, that cannot be understood, and why. */
	void (*fault)(void *user, bool is_text, const struct sonde_error *why);
};

/* All of a file. Fails where `take` does otherwise. */
enum sonde_status otlp_batches_read(const struct otlp_batches *batches, struct sonde_error *err);

#endif
