/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the wtf-trace writer share: a source, what was written of it, and the loss. */
#ifndef TESTS_CFF_WORLD_H
#define TESTS_CFF_WORLD_H

#include <sonde/sonde.h>

#include "cff_decoder.h"
#include "model/arguments.h"

/* What one test works with. */
struct world {
	struct sonde_recording *source;
	uint32_t process;
	struct sonde_loss *loss;
	struct decoded *decoded;
	const char *path;
};

struct world *new_world(void);
void world_free(struct world *world);

/* Writes the source; `create` is cff_create() or cff_json_create(). */
void write_to(struct world *world, const char *path,
	      enum sonde_status (*create)(const char *path,
					  const struct sonde_create_options *options,
					  struct sonde_sink **sink, struct sonde_error *err),
	      const char *style);

/* Writes the source and reads it back, with the decoder and the reader; all events are there. */
void write_and_compare(struct world *world);
void assert_read_back(struct world *world);

/* The count of an entry of the loss report; 0 where there is none. */
uint64_t lost(const struct world *world, const char *what, bool elsewhere);

/* Nothing that our own reader would miss. */
void assert_nothing_lost(const struct world *world);

/* The index, if there is one, agrees with what was decoded. */
void assert_index_agrees(const struct decoded *decoded);

uint32_t add_module(struct world *world, const char *path);
uint32_t add_type(struct world *world, const char *name, const char *arguments, bool scope);

/* An event of track 0 with arguments that are packed already. */
void add_with(struct world *world, struct sonde_event event, uint32_t type,
	      const struct sonde_buffer *values);
void put_number(struct sonde_buffer *values, enum sonde_argument_type type, uint64_t bits);

#endif
