/* SPDX-License-Identifier: Apache-2.0 */
/* See cff_making.h. */
#include "cff_making.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum sonde_status make_image(maker_function *function, const void *data, size_t size,
			     struct sonde_mapped_file *image, struct sonde_diagnostics *findings)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct sonde_error err = { 0 };
	struct sonde_output out;
	struct cff_maker maker = {
		.file = &(struct sonde_mapped_file){ .is_copy = true },
		.input = copy,
		.size = size,
		.path = "test",
		.findings = findings,
		.out = &out,
	};
	enum sonde_status status;

	memcpy(copy, data, size);
	*image = (struct sonde_mapped_file){ 0 };
	assert_int_equal(sonde_output_open_unnamed(&out, &err), SONDE_OK);
	status = function(&maker, &err);
	if (status == SONDE_OK)
		assert_int_equal(sonde_output_map(&out, image, &err), SONDE_OK);
	sonde_output_release(&out);
	free(copy);
	return status;
}
