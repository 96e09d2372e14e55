/* SPDX-License-Identifier: Apache-2.0 */
/* Images made of JSON, legacy and wtf-calls files in memory. */
#ifndef SONDE_TESTS_CFF_MAKING_H
#define SONDE_TESTS_CFF_MAKING_H

#include "formats/cff/cff_image.h"

typedef enum sonde_status maker_function(const struct cff_maker *maker, struct sonde_error *err);

/* Makes an image out of bytes that stand alone, so that a sanitizer sees a read past them. */
enum sonde_status make_image(maker_function *function, const void *data, size_t size,
			     struct sonde_mapped_file *image, struct sonde_diagnostics *findings);

#endif
