/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http_library.h"

#include "base/library.h"

struct http_library http_library;

#define NAME_OF(function) #function,
static const char *const names[] = { HTTP_FUNCTION_LIST(NAME_OF) };

_Static_assert(sizeof(http_library) == sizeof(names), "a pointer for each name");

enum sonde_status http_library_load(struct sonde_error *err)
{
	return sonde_library_load("a server needs libmicrohttpd", SONDE_HTTP_LIBRARY, names,
				  sizeof(names) / sizeof(*names), &http_library, err);
}
