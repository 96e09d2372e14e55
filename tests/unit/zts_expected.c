/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the dumps beside the stores of the corpus. */
#include "zts_expected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *corpus_store(const char *store)
{
	static char path[512];
	const char *corpus = getenv("SONDE_CORPUS");

	if (!corpus)
		return NULL;
	snprintf(path, sizeof(path), "%s/zts/%s", corpus, store);
	return path;
}

/* The number after "\tNAME=", 0 where it is not there. */
static uint64_t number_of(const char *line, const char *name)
{
	char key[32];
	const char *found;

	snprintf(key, sizeof(key), "\t%s=", name);
	found = strstr(line, key);
	return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

static void read_uuid(const char *text, uint64_t uuid[2])
{
	unsigned int digits = 0;

	for (; digits < 32 && *text; text++) {
		char digit[2] = { *text, 0 };

		if (*text == '-')
			continue;
		uuid[digits / 16] = uuid[digits / 16] << 4 | strtoul(digit, NULL, 16);
		digits++;
	}
	assert_int_equal(digits, 32);
}

static void read_line(const char *line, struct expected_slot *slot)
{
	const char *uuid = strstr(line, "\tuuid=");

	*slot = (struct expected_slot){
		.chunk = number_of(line, "chunk"),
		.data_offset = number_of(line, "dataOffs"),
		.start_offset = number_of(line, "startOffs"),
		.flags = number_of(line, "flags"),
		.tstamp = number_of(line, "tstamp"),
		.duration = number_of(line, "dur"),
		.calls = number_of(line, "calls"),
		.errors = number_of(line, "errors"),
		.records = number_of(line, "recs"),
		.type = number_of(line, "type"),
		.app = number_of(line, "app"),
		.env = number_of(line, "env"),
		.host = number_of(line, "host"),
		.deep_count = number_of(line, "fids"),
		.shallow_count = number_of(line, "tids"),
		.tstart = number_of(line, "tstart"),
		.tstop = number_of(line, "tstop"),
	};
	memcpy(slot->part, line + 5, 6);
	slot->number = (uint32_t)strtoul(line + 12, NULL, 10);
	if (uuid)
		read_uuid(uuid + 6, slot->uuid);
}

unsigned int expected_slots(const char *store, void (*each)(const struct expected_slot *slot))
{
	char path[600], *line = NULL;
	struct expected_slot slot;
	unsigned int count = 0;
	size_t size = 0;
	FILE *file;

	if (!getenv("SONDE_CORPUS"))
		return 0;
	snprintf(path, sizeof(path), "%s/%s.tree.txt", corpus_store("expected"), store);
	file = fopen(path, "r");
	assert_non_null(file);
	while (getline(&line, &size, file) > 0) {
		if (strncmp(line, "META\t", 5) != 0)
			continue;
		read_line(line, &slot);
		each(&slot);
		count++;
	}
	free(line);
	fclose(file);
	return count;
}
