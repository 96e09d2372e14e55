/* SPDX-License-Identifier: Apache-2.0 */
/* Files that lie beside the profiles of a folder, as resources of a recording. */
#ifndef SONDE_HPCRUN_BESIDE_H
#define SONDE_HPCRUN_BESIDE_H

#include <pthread.h>

#include <sonde/pipeline.h>

#include "base/file.h"
#include "base/vec.h"

struct hpcrun_beside_file {
	uint32_t name; /* string: its path in the folder */
	bool is_open;
	struct sonde_mapped_file mapped;
};

/* Zeroed but for the lock means empty. */
struct hpcrun_beside {
	pthread_mutex_t lock; /* of mapping */
	SONDE_VEC(struct hpcrun_beside_file) files;
};

/* Whether a name ends like this, with something before. */
bool hpcrun_has_ending(const char *name, const char *ending);
/* A folder in a folder of measurements that belongs to it. */
bool hpcrun_is_side_folder(const char *name);
/* A file in a folder of measurements that is neither a profile nor a trace. */
bool hpcrun_is_beside(const char *name);

/* Lists the files, and defines their names. */
enum sonde_status hpcrun_beside_open(struct hpcrun_beside *beside,
				     struct sonde_definitions *definitions, const char *folder,
				     struct sonde_error *err);
void hpcrun_beside_release(struct hpcrun_beside *beside);
/* One of them; the bytes are there until the release. From any thread. */
enum sonde_status hpcrun_beside_map(struct hpcrun_beside *beside, const char *folder,
				    const struct sonde_definitions *definitions, uint32_t number,
				    struct sonde_blob *blob, struct sonde_error *err);

/*
 * Writes a resource to its place in a folder, and nowhere else: a name that is no such place (of another
 * folder, absolute, with "..") is counted as lost, and gives SONDE_END.
 */
enum sonde_status hpcrun_beside_write(const char *folder, const char *place,
				      const struct sonde_blob *blob, struct sonde_loss *loss,
				      struct sonde_error *err);

#endif
