/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libmicrohttpd, by the name that the build found (SONDE_HTTP_LIBRARY).
 */
#include "serve/http_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

struct http_library http_library;

#define NAME_OF(function) #function,
static const char *const names[] = { HTTP_FUNCTION_LIST(NAME_OF) };

_Static_assert(sizeof(http_library) == sizeof(names), "a pointer for each name");

enum sonde_status http_library_load(struct sonde_error *err)
{
	void *found[sizeof(names) / sizeof(*names)];
	void *library = dlopen(SONDE_HTTP_LIBRARY, RTLD_NOW);
	bool is_whole = library != NULL;

	for (size_t i = 0; is_whole && i < sizeof(names) / sizeof(*names); i++) {
		found[i] = dlsym(library, names[i]);
		is_whole = found[i] != NULL;
	}
	if (!is_whole)
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "a server needs libmicrohttpd, which cannot be loaded: %s; "
				  "install its package",
				  dlerror());
	memcpy(&http_library, found, sizeof(found));
	return SONDE_OK;
}
