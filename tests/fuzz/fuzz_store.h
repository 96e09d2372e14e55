/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in a folder of its own that targets put things into: small parts, few of them, so that it
 * stays small.
 */
#ifndef SONDE_FUZZ_STORE_H
#define SONDE_FUZZ_STORE_H

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "require.h"
#include "store/ingest.h"

static char fuzz_folder[64] = "/tmp/sonde-fuzz-XXXXXX";
static struct sonde_store *fuzz_opened;

static void fuzz_store_close(void)
{
	REQUIRE(sonde_store_close(fuzz_opened, NULL) == SONDE_OK);
	sonde_path_remove(fuzz_folder);
}

static struct sonde_store *fuzz_store(void)
{
	struct sonde_store_settings settings;
	char base[80];

	if (fuzz_opened)
		return fuzz_opened;
	REQUIRE(mkdtemp(fuzz_folder));
	snprintf(base, sizeof(base), "%s/store", fuzz_folder);
	sonde_store_settings_init(&settings);
	settings.part_size = 1 << 20;
	settings.keep_parts = 2;
	settings.archive = false;
	REQUIRE(sonde_store_init(base, &settings, NULL) == SONDE_OK);
	REQUIRE(sonde_store_open(base, &fuzz_opened, NULL, NULL) == SONDE_OK);
	atexit(fuzz_store_close);
	return fuzz_opened;
}

/* Says what a store has taken in since the last call. */
static struct sonde_store_counters fuzz_store_taken(void)
{
	static struct sonde_store_counters before;
	struct sonde_store_counters now, taken;

	sonde_store_counters(fuzz_opened, &now);
	taken = now;
	taken.traces -= before.traces;
	taken.records -= before.records;
	before = now;
	return taken;
}

#endif
