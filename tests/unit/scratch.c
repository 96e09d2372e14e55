/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary folders for tests: made, filled, looked at, removed. */
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <sonde/sonde.h>

char scratch[64];

static int make_in(const char *folder)
{
	snprintf(scratch, sizeof(scratch), "%s/sonde-test-XXXXXX", folder);
	return mkdtemp(scratch) ? 0 : -1;
}

int make_scratch(void **state)
{
	(void)state;
	return make_in("/tmp");
}

int make_scratch_in_memory(void **state)
{
	(void)state;
	return make_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

const char *scratch_path(const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

int remove_scratch(void **state)
{
	(void)state;
	umount2(scratch_path("disk"), MNT_DETACH); /* where a test failed half way */
	remove_tree(scratch);
	return access(scratch, F_OK) == 0;
}

int enter_folder(void **state)
{
	char path[] = "/tmp/sonde-test-XXXXXX";

	if (!mkdtemp(path) || chdir(path))
		return -1;
	*state = strdup(path);
	return *state ? 0 : -1;
}

int leave_folder(void **state)
{
	int result = chdir("/");

	remove_tree(*state);
	free(*state);
	return result;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

void remove_tree(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void put_bytes(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

bool run_quietly(const char *format, ...)
{
	char line[1000], quiet[1100];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	snprintf(quiet, sizeof(quiet), "{ %s; } >run.log 2>&1", line);
	return system(quiet) == 0;
}

void put_file(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

void assert_clean(const char *path)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .threads = 1 };
	const struct sonde_finding *finding;
	struct sonde_error err = { 0 };

	if (sonde_check(path, &options, diagnostics, &err) != SONDE_OK)
		fail_msg("%s: %s", err.file, err.message);
	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++)
		if (finding->type->severity > SONDE_NOTE)
			fail_msg("%s: %s: expected %s, found %s", finding->file, finding->type->id,
				 finding->expected, finding->found);
	sonde_diagnostics_free(diagnostics);
}
