/* SPDX-License-Identifier: Apache-2.0 */
/* The names of folders in a session that is written. Reading them is in atf_session.c. */
#include "formats/atf/atf_paths.h"

#include <stdio.h>
#include <string.h>

#include <sonde/definitions.h>

#include "base/file.h"
#include "formats/atf/atf_session.h"

char *atf_process_folder(const char *session, uint32_t pid, uint32_t number)
{
	char name[48], base[32] = ATF_PID_PREFIX "unknown";

	if (pid != SONDE_NONE)
		snprintf(base, sizeof(base), ATF_PID_PREFIX "%u", pid);
	if (number > 1)
		snprintf(name, sizeof(name), "%s_%u", base, number);
	else
		snprintf(name, sizeof(name), "%s", base);
	return sonde_path_join(session, name);
}

char *atf_part_folder(const char *process_folder, uint32_t part)
{
	char name[32];

	if (part == 0)
		return strdup(process_folder);
	snprintf(name, sizeof(name), ATF_PART_PREFIX "%u", part + 1);
	return sonde_path_join(process_folder, name);
}

char *atf_thread_folder(const char *part_folder, uint32_t slot)
{
	char name[32];

	snprintf(name, sizeof(name), ATF_THREAD_PREFIX "%u", slot);
	return sonde_path_join(part_folder, name);
}
