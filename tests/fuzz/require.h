/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets hold beyond "does not crash". */
#ifndef SONDE_FUZZ_REQUIRE_H
#define SONDE_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,          \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
