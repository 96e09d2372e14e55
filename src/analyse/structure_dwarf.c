/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of binaries. Not written yet: none has any. */
#include "analyse/structure.h"

enum sonde_status sonde_structure_of_binary(const char *path, uint64_t dwarf_limit,
					    struct sonde_structure **structure,
					    struct sonde_error *err)
{
	(void)path, (void)dwarf_limit;
	*structure = NULL;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			  "structures of binaries are not read yet");
}
