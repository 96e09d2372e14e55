/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/ctf/ctf_library.h"

#include "base/library.h"

struct ctf_library bt;

#define CTF_NAME(name) "bt_" #name,
static const char *const names[] = { CTF_FUNCTION_LIST(CTF_NAME) };

_Static_assert(sizeof(bt) == sizeof(names), "a pointer for each name");

enum sonde_status ctf_library_load(struct sonde_error *err)
{
	return sonde_library_load("reading CTF needs libbabeltrace2", SONDE_CTF_LIBRARY, names,
				  sizeof(names) / sizeof(*names), &bt, err);
}
