/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder offer to cff.c, which makes formats of the library out of it. */
#ifndef SONDE_CFF_H
#define SONDE_CFF_H

#include "formats/cff/cff_image.h"
#include "formats/format.h"

/* recording->data of an open recording begins with its image. */
enum sonde_status cff_open(struct sonde_recording *recording, struct sonde_error *err);
const struct cff_image *cff_recording_image(const struct sonde_recording *recording);
bool cff_recording_is_cff(const struct sonde_recording *recording); /* of this family */

enum sonde_status cff_check(const char *path, const struct sonde_check_options *options,
			    struct sonde_diagnostics *diagnostics, struct sonde_error *err);
enum sonde_status cff_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err);

/* Writers. Both take a recording of this family as a whole, chunk by chunk, where they can. */
enum sonde_status cff_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err);
enum sonde_status cff_json_create(const char *path, const struct sonde_create_options *options,
				  struct sonde_sink **sink, struct sonde_error *err);

#endif
