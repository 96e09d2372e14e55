/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files instead of under a fuzzer: every argument is a file, or a folder
 * whose files are all taken. So the corpus is a regression test with any compiler.
 */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Weak: a target may do without. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static unsigned int replayed;

static int replay(const char *path, const struct stat *status, int type, struct FTW *where)
{
	uint8_t *data;
	size_t size;
	FILE *file;

	(void)where;
	if (type != FTW_F)
		return 0;
	size = (size_t)status->st_size;
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return 1;
	}
	/* Exactly `size` bytes, so that a sanitizer sees a read past the end. */
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		fclose(file);
		free(data);
		return 1;
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (i = 1; i < argc; i++) {
		if (nftw(argv[i], replay, 16, FTW_PHYS)) {
			fprintf(stderr, "%s: not replayed\n", argv[i]);
			return 1;
		}
	}
	printf("%u inputs replayed\n", replayed);
	return replayed ? 0 : 1;
}
