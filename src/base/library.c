/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Finds all functions; puts them where they belong, unless that is NULL. */
static bool find_all(void *library, const char *const *names, size_t count, char *functions)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, names[i]);

		if (!function)
			return false;
		if (functions)
			memcpy(functions + i * sizeof(function), &function, sizeof(function));
	}
	return true;
}

enum sonde_status sonde_library_load(const char *need, const char *file_name,
				     const char *const *names, size_t count, void *functions,
				     struct sonde_error *err)
{
	static const char *const none;
	void *library;

	if (memcmp(functions, &none, sizeof(none)) != 0)
		return SONDE_OK;
	library = dlopen(file_name, RTLD_NOW);
	if (!library || !find_all(library, names, count, NULL))
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "%s, which cannot be loaded: %s; install its package", need,
				  dlerror());
	find_all(library, names, count, functions);
	return SONDE_OK;
}
