/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <stdbool.h>

static bool find_all(void *library, const char *const *names, size_t count, void **found)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, names[i]);

		if (!function)
			return false;
		if (found)
			found[i] = function;
	}
	return true;
}

enum sonde_status sonde_library_load(const char *need, const char *file_name,
				     const char *const *names, size_t count, void *functions,
				     struct sonde_error *err)
{
	void *library = dlopen(file_name, RTLD_NOW);

	/* all or none */
	if (!library || !find_all(library, names, count, NULL))
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "%s, which cannot be loaded: %s; install its package", need,
				  dlerror());
	find_all(library, names, count, functions);
	return SONDE_OK;
}
