/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output made of parts that are written side by side: whoever comes first, the parts lie in it in the
 * order of their numbers. The first part that has not ended goes straight to the output; what
 * others bring meanwhile waits in a file without a name, so that memory does not grow with it.
 */
#ifndef SONDE_BASE_PARTS_H
#define SONDE_BASE_PARTS_H

#include "base/file.h"

struct sonde_parts;

/* `count` parts, to be appended to an output that stays the caller's and is left alone until all have
 * ended. */
enum sonde_status sonde_parts_new(struct sonde_output *output, size_t count,
				  struct sonde_parts **parts, struct sonde_error *err);
/* NULL is fine. */
void sonde_parts_free(struct sonde_parts *parts);

/*
 * Adds bytes to a part that has not ended: best many at once, as each call takes a lock. Several
 * threads may write, each to parts of its own.
 */
enum sonde_status sonde_parts_write(struct sonde_parts *parts, size_t number, const void *data,
				    size_t size, struct sonde_error *err);

/* No more of this part. The last end, of whichever part, leaves all of them in the output. */
enum sonde_status sonde_parts_end(struct sonde_parts *parts, size_t number,
				  struct sonde_error *err);

/* Where a part begins in the output; to be asked after all have ended. */
uint64_t sonde_parts_offset(const struct sonde_parts *parts, size_t number);

#endif
