/* SPDX-License-Identifier: Apache-2.0 */
/* Loads two plugins in turn, calls each once and unloads it, two hundred rounds in all. */
#include <dlfcn.h>
#include <string.h>

#include "rec.h"

enum { ROUNDS = 200 };

static unsigned long shared_addresses;

FN static int use(const char *path, const char *name, void **last)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*run)(int) = NULL;
	int result = -1;

	if (library)
		*(void **)&run = dlsym(library, name);
	if (run) {
		shared_addresses += *last == (void *)run;
		*last = (void *)run;
		result = run(5);
		dlclose(library);
	}
	return result;
}

int main(int argc, char **argv)
{
	char path[4096];
	void *last = NULL;
	long sum = 0;

	if (argc < 2)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(path, sizeof(path), "%s/lib%s.so", argv[1], i % 2 ? "beta" : "alpha");
		sum += use(path, i % 2 ? "beta_run" : "alpha_run", &last);
	}
	side_put("shared_addresses", shared_addresses);
	printf("sum %ld\n", sum);
	return 0;
}
