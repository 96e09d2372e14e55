/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a base folder: their numbers, the one that is written on, and when the next one begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sonde/definitions.h>

#include "base/file.h"
#include "store/store_private.h"

#define MOST_PARTS 0xffffffu
#define REMOVED_PREFIX ".removed-"

static bool parse_number(const char *name, uint32_t *number)
{
	if (strlen(name) != 6 || strspn(name, "0123456789abcdef") != 6)
		return false;
	*number = (uint32_t)strtoul(name, NULL, 16);
	return true;
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

enum sonde_status sonde_store_parts(const char *base, struct sonde_part_numbers *numbers,
				    struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, base, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count && status >= 0; i++) {
		uint32_t number, *place;

		if (!parse_number(folder.names[i], &number))
			continue;
		place = sonde_vec_push(&numbers->list);
		if (place)
			*place = number;
		else
			status = sonde_fail_nomem(err);
	}
	sonde_folder_release(&folder);
	if (numbers->list.items)
		qsort(numbers->list.items, numbers->list.count, sizeof(uint32_t), compare_numbers);
	return status;
}

char *sonde_store_part_path(const char *base, uint32_t number)
{
	char name[SONDE_PART_NAME_SIZE];

	snprintf(name, sizeof(name), "%06x", number);
	return sonde_path_join(base, name);
}

void sonde_store_clean(const char *base)
{
	struct sonde_folder folder;

	if (sonde_folder_read(&folder, base, NULL) < 0)
		return;
	for (size_t i = 0; i < folder.count; i++) {
		const char *name = folder.names[i];
		char number_text[7] = "";
		uint32_t number;
		char *path;

		if (name[0] == '.' && strlen(name) == strlen(".000000.partial") &&
		    !strcmp(name + 7, ".partial"))
			memcpy(number_text, name + 1, 6);
		else if (!strncmp(name, REMOVED_PREFIX, strlen(REMOVED_PREFIX)) &&
			 strlen(name) == strlen(REMOVED_PREFIX) + 6)
			memcpy(number_text, name + strlen(REMOVED_PREFIX), 6);
		if (!parse_number(number_text, &number))
			continue;
		path = sonde_path_join(base, name);
		if (path)
			sonde_path_remove(path);
		free(path);
	}
	sonde_folder_release(&folder);
}

static void set_current(struct sonde_store *store, uint32_t number)
{
	pthread_mutex_lock(&store->commit);
	store->current = number;
	pthread_mutex_unlock(&store->commit);
}

static void take_writer(struct sonde_store *store, struct zts_writer *writer, time_t began)
{
	store->writer = writer;
	store->may_go_on = false;
	store->counted = zts_writer_size(writer);
	store->part_began = began;
}

/* When a part was made: its properties are written then, and when it is packed. */
static time_t time_made(const char *part)
{
	char *path = sonde_path_join(part, ZTS_PROPS_NAME);
	struct stat found;
	bool is_there = path && !stat(path, &found);

	free(path);
	return is_there ? found.st_mtime : time(NULL);
}

static enum sonde_status open_writer(struct sonde_store *store,
				     struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	char *path = sonde_store_part_path(store->base, store->current);
	struct zts_writer *writer;
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_writer_open(path, &writer, diagnostics, err);
	if (status >= 0) {
		zts_writer_set_min_duration(writer, store->settings.min_duration_ns);
		take_writer(store, writer, time_made(path));
	}
	free(path);
	return status;
}

enum sonde_status sonde_store_go_on(struct sonde_store *store,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	enum sonde_status status;

	if (store->writer || !store->may_go_on)
		return SONDE_OK;
	status = open_writer(store, diagnostics, err);
	if (status != SONDE_UNSUPPORTED)
		return status;
	store->may_go_on = false;
	set_current(store, SONDE_NONE);
	return SONDE_OK;
}

static enum sonde_status make_part(struct sonde_store *store, struct sonde_error *err)
{
	struct zts_writer_options options = { .codec = store->settings.codec,
					      .min_duration_ns = store->settings.min_duration_ns };
	uint32_t number = store->highest == SONDE_NONE ? 0 : store->highest + 1;
	enum sonde_status status;
	struct zts_writer *writer = NULL;
	char *path, *lines;

	if (number > MOST_PARTS)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "part ffffff was the last one; begin a new store");
	path = sonde_store_part_path(store->base, number);
	lines = sonde_store_props_lines(&store->settings);
	options.props = lines;
	/* Before it is there: the background must not take it for a finished one. */
	set_current(store, number);
	status = path && lines ? zts_writer_create(path, &options, &writer, err) :
				 sonde_fail_nomem(err);
	free(path);
	free(lines);
	if (status < 0) {
		set_current(store, SONDE_NONE);
		return status;
	}
	zts_writer_put_names(writer, store->names);
	take_writer(store, writer, time(NULL));
	store->highest = number;
	pthread_mutex_lock(&store->commit);
	store->counters.parts_begun++;
	pthread_mutex_unlock(&store->commit);
	return SONDE_OK;
}

enum sonde_status sonde_store_need_writer(struct sonde_store *store, struct sonde_error *err)
{
	enum sonde_status status = sonde_store_go_on(store, NULL, err);

	if (status < 0 || store->writer)
		return status;
	return make_part(store, err);
}

void sonde_store_count(struct sonde_store *store)
{
	struct zts_writer_size size = zts_writer_size(store->writer), *before = &store->counted;
	struct sonde_store_counters *counters = &store->counters;

	pthread_mutex_lock(&store->commit);
	counters->traces += size.traces - before->traces;
	counters->records += size.records - before->records;
	counters->short_traces += size.short_traces - before->short_traces;
	counters->data_bytes += size.data_bytes - before->data_bytes;
	pthread_mutex_unlock(&store->commit);
	*before = size;
}

enum sonde_status sonde_store_finish_part(struct sonde_store *store, struct sonde_error *err)
{
	enum sonde_status status;

	sonde_store_settle(store, true);
	if (!store->writer)
		return SONDE_OK;
	zts_writer_names_free(store->names);
	store->names = zts_writer_take_names(store->writer);
	status = zts_writer_sync(store->writer, err);
	if (status < 0) {
		sonde_store_lose_writer(store, err);
		return status;
	}
	zts_writer_free(store->writer);
	store->writer = NULL;
	pthread_mutex_lock(&store->commit);
	store->synced = store->ended;
	store->counters.syncs++;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->commit);
	set_current(store, SONDE_NONE);
	sonde_store_wake_background(store);
	return SONDE_OK;
}
