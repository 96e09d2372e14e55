/* SPDX-License-Identifier: Apache-2.0 */
#include "model/command_line.h"

/* Formats of one process have it as an attribute of the recording. */
const char *sonde_command_line(const struct sonde_definitions *definitions, uint32_t process)
{
	const char *found = sonde_definitions_find_attribute(definitions, SONDE_OWNER_PROCESS,
							     process, SONDE_COMMAND_LINE_ATTRIBUTE);

	if (!found && sonde_definitions_process_count(definitions) == 1)
		found = sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0,
							 SONDE_COMMAND_LINE_ATTRIBUTE);
	return found && *found == '[' ? found : NULL;
}
