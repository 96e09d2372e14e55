/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to parts when they are finished: packed, and removed when they are too many, too
 * large or too old. In the background when a part is finished, or when asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sonde/definitions.h>

#include "base/file.h"
#include "store/store_private.h"

static bool is_current(struct sonde_store *store, uint32_t number)
{
	bool is_it;

	pthread_mutex_lock(&store->commit);
	is_it = number == store->current;
	pthread_mutex_unlock(&store->commit);
	return is_it;
}

static bool must_stop(struct sonde_store *store)
{
	bool must;

	pthread_mutex_lock(&store->commit);
	must = store->must_stop;
	pthread_mutex_unlock(&store->commit);
	return must;
}

static enum sonde_status pack_part(struct sonde_store *store, uint32_t number, uint32_t *packed,
				   struct sonde_error *err)
{
	char *path = sonde_store_part_path(store->base, number);
	enum sonde_status status = path ? zts_archive(path, err) : sonde_fail_nomem(err);

	free(path);
	/* Packed already, or of a kind that is not packed. */
	if (status == SONDE_END || status == SONDE_UNSUPPORTED)
		return SONDE_OK;
	if (status < 0)
		return status;
	++*packed;
	pthread_mutex_lock(&store->commit);
	store->counters.parts_packed++;
	pthread_mutex_unlock(&store->commit);
	return SONDE_OK;
}

/* All finished parts; one that fails does not keep the others from being packed. */
enum sonde_status sonde_store_archive(struct sonde_store *store, uint32_t *packed,
				      struct sonde_error *err)
{
	struct sonde_part_numbers numbers = { 0 };
	enum sonde_status status;

	*packed = 0;
	pthread_mutex_lock(&store->maintenance);
	status = sonde_store_parts(store->base, &numbers, err);
	for (size_t i = 0; i < numbers.list.count && !must_stop(store); i++) {
		struct sonde_error failure;
		enum sonde_status packing;

		if (is_current(store, numbers.list.items[i]))
			continue;
		packing = pack_part(store, numbers.list.items[i], packed, &failure);
		if (packing < 0 && status >= 0) {
			status = packing;
			if (err)
				*err = failure;
		}
	}
	sonde_vec_release(&numbers.list);
	pthread_mutex_unlock(&store->maintenance);
	return status;
}

struct part_state {
	uint64_t bytes;
	time_t changed; /* when a trace came last */
};

static struct part_state examine_part(const char *path)
{
	struct part_state state = { 0 };
	struct sonde_folder folder;

	if (sonde_folder_read(&folder, path, NULL) < 0)
		return state;
	for (size_t i = 0; i < folder.count; i++) {
		char *name = sonde_path_join(path, folder.names[i]);
		struct stat found;

		if (name && !stat(name, &found)) {
			state.bytes += (uint64_t)found.st_size;
			if (!strcmp(folder.names[i], ZTS_DATA_NAME))
				state.changed = found.st_mtime;
		}
		free(name);
	}
	sonde_folder_release(&folder);
	return state;
}

/* Under another name first: nobody sees half a part. */
static enum sonde_status remove_part(struct sonde_store *store, uint32_t number,
				     struct sonde_error *err)
{
	char name[2 * SONDE_PART_NAME_SIZE];
	char *path = sonde_store_part_path(store->base, number), *gone;
	enum sonde_status status = SONDE_OK;

	snprintf(name, sizeof(name), ".removed-%06x", number);
	gone = sonde_path_join(store->base, name);
	if (!path || !gone)
		status = sonde_fail_nomem(err);
	else if (rename(path, gone) && errno != ENOENT)
		status = sonde_fail_errno(err, path, "cannot be removed");
	else if (!sonde_path_remove(gone) && errno != ENOENT)
		status = sonde_fail_errno(err, gone, "cannot be removed");
	free(path);
	free(gone);
	return status;
}

/* Whether the oldest of `count` parts with `bytes` together has to go. */
static bool is_beyond(const struct sonde_store_settings *settings, size_t count, uint64_t bytes,
		      const struct part_state *oldest, time_t now)
{
	if (settings->keep_parts && count > settings->keep_parts)
		return true;
	if (settings->keep_bytes && bytes > settings->keep_bytes)
		return true;
	return settings->keep_age_s && oldest->changed && now > oldest->changed &&
	       (uint64_t)(now - oldest->changed) > settings->keep_age_s;
}

static enum sonde_status retain(struct sonde_store *store, const struct sonde_part_numbers *numbers,
				struct part_state *states, uint32_t *removed,
				struct sonde_error *err)
{
	size_t count = numbers->list.count;
	time_t now = time(NULL);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		char *path = sonde_store_part_path(store->base, numbers->list.items[i]);

		if (!path)
			return sonde_fail_nomem(err);
		states[i] = examine_part(path);
		bytes += states[i].bytes;
		free(path);
	}
	/* Never the newest. */
	for (size_t i = 0; i + 1 < count; i++) {
		enum sonde_status status;

		if (!is_beyond(&store->settings, count - i, bytes, &states[i], now) ||
		    is_current(store, numbers->list.items[i]))
			return SONDE_OK;
		status = remove_part(store, numbers->list.items[i], err);
		if (status < 0)
			return status;
		bytes -= states[i].bytes;
		++*removed;
		pthread_mutex_lock(&store->commit);
		store->counters.parts_removed++;
		pthread_mutex_unlock(&store->commit);
	}
	return SONDE_OK;
}

enum sonde_status sonde_store_retain(struct sonde_store *store, uint32_t *removed,
				     struct sonde_error *err)
{
	struct sonde_part_numbers numbers = { 0 };
	struct part_state *states = NULL;
	enum sonde_status status;

	*removed = 0;
	pthread_mutex_lock(&store->maintenance);
	status = sonde_store_parts(store->base, &numbers, err);
	if (status >= 0 && numbers.list.count) {
		states = calloc(numbers.list.count, sizeof(*states));
		status = states ? retain(store, &numbers, states, removed, err) :
				  sonde_fail_nomem(err);
	}
	free(states);
	sonde_vec_release(&numbers.list);
	pthread_mutex_unlock(&store->maintenance);
	return status;
}

static void note_failure(struct sonde_store *store, const struct sonde_error *err)
{
	pthread_mutex_lock(&store->commit);
	store->counters.failures++;
	sonde_error_format(err, store->counters.last_failure, sizeof(store->counters.last_failure));
	pthread_mutex_unlock(&store->commit);
}

static void *run_background(void *context)
{
	struct sonde_store *store = context;
	struct sonde_error err;
	uint32_t count;

	pthread_mutex_lock(&store->commit);
	while (store->has_work && !store->must_stop) {
		store->has_work = false;
		pthread_mutex_unlock(&store->commit);
		if (sonde_store_retain(store, &count, &err) < 0)
			note_failure(store, &err);
		if (store->settings.archive && sonde_store_archive(store, &count, &err) < 0)
			note_failure(store, &err);
		pthread_mutex_lock(&store->commit);
	}
	store->is_running = false;
	pthread_mutex_unlock(&store->commit);
	return NULL;
}

void sonde_store_wake_background(struct sonde_store *store)
{
	struct sonde_error err;

	pthread_mutex_lock(&store->commit);
	store->has_work = true;
	if (store->is_running) {
		pthread_mutex_unlock(&store->commit);
		return;
	}
	/* One that ran before has nothing left to do. */
	if (store->has_background)
		pthread_join(store->background, NULL);
	store->has_background = !pthread_create(&store->background, NULL, run_background, store);
	store->is_running = store->has_background;
	pthread_mutex_unlock(&store->commit);
	if (store->has_background)
		return;
	sonde_fail(&err, SONDE_LIMIT, SONDE_NO_OFFSET,
		   "a thread for packing cannot be started; sonde store archive does it later");
	note_failure(store, &err);
}

void sonde_store_stop_background(struct sonde_store *store)
{
	pthread_mutex_lock(&store->commit);
	store->must_stop = true;
	pthread_mutex_unlock(&store->commit);
	if (store->has_background)
		pthread_join(store->background, NULL);
	store->has_background = false;
}
