/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is written: the lock, and who has the writer. Parts are in parts.c, what is on the
 * disk in commit.c, archiving and retention in retain.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <sonde/definitions.h>

#include "base/file.h"
#include "store/store_private.h"

#define PID_SIZE 32

static enum sonde_status refuse_locked(int fd, const char *path, struct sonde_error *err)
{
	char pid[PID_SIZE];
	ssize_t size = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[size > 0 ? size : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
		   "another process (%s) writes to this store; stop it, or send it the traces",
		   pid[0] ? pid : "its pid is not known");
	sonde_error_set_file(err, path);
	return SONDE_LIMIT;
}

/* Takes the lock, which the system gives back however the process ends. */
static enum sonde_status lock_at(struct sonde_store *store, const char *path,
				 struct sonde_error *err)
{
	char pid[PID_SIZE];
	int size, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return sonde_fail_errno(err, path, "cannot be opened");
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		enum sonde_status status = errno == EWOULDBLOCK ?
						   refuse_locked(fd, path, err) :
						   sonde_fail_errno(err, path, "cannot be locked");

		close(fd);
		return status;
	}
	store->lock_fd = fd;
	size = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	/* Only for the message to others. */
	if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)size, 0) != size)
		return SONDE_OK;
	return SONDE_OK;
}

static enum sonde_status lock(struct sonde_store *store, struct sonde_error *err)
{
	char *path = sonde_path_join(store->base, ZTS_LOCK_NAME);
	enum sonde_status status = path ? lock_at(store, path, err) : sonde_fail_nomem(err);

	free(path);
	return status;
}

static void free_store(struct sonde_store *store)
{
	zts_writer_free(store->writer);
	zts_writer_names_free(store->names);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	pthread_mutex_destroy(&store->ingest);
	pthread_mutex_destroy(&store->commit);
	pthread_mutex_destroy(&store->maintenance);
	pthread_cond_destroy(&store->changed);
	free(store->base);
	free(store);
}

static struct sonde_store *new_store(const char *base)
{
	struct sonde_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->lock_fd = -1;
	store->current = store->highest = SONDE_NONE;
	pthread_mutex_init(&store->ingest, NULL);
	pthread_mutex_init(&store->commit, NULL);
	pthread_mutex_init(&store->maintenance, NULL);
	pthread_cond_init(&store->changed, NULL);
	store->base = strdup(base);
	if (store->base)
		return store;
	free_store(store);
	return NULL;
}

static enum sonde_status open_parts(struct sonde_store *store,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct sonde_part_numbers numbers = { 0 };
	enum sonde_status status;

	sonde_store_clean(store->base);
	status = sonde_store_parts(store->base, &numbers, err);
	if (status >= 0 && numbers.list.count) {
		store->highest = store->current = numbers.list.items[numbers.list.count - 1];
		store->may_go_on = true;
	}
	sonde_vec_release(&numbers.list);
	return status < 0 ? status : sonde_store_go_on(store, diagnostics, err);
}

enum sonde_status sonde_store_open(const char *base, struct sonde_store **store,
				   struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	enum sonde_status status;

	*store = NULL;
	if (sonde_path_kind(base) != SONDE_PATH_FOLDER) {
		sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			   "there is no such folder; sonde store init makes one");
		sonde_error_set_file(err, base);
		return SONDE_ARGUMENT;
	}
	*store = new_store(base);
	if (!*store)
		return sonde_fail_nomem(err);
	status = lock(*store, err);
	if (status >= 0)
		status = sonde_store_settings_read(base, &(*store)->settings, err);
	if (status >= 0)
		status = open_parts(*store, diagnostics, err);
	if (status < 0) {
		free_store(*store);
		*store = NULL;
	}
	return status;
}

enum sonde_status sonde_store_close(struct sonde_store *store, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!store)
		return SONDE_OK;
	pthread_mutex_lock(&store->ingest);
	sonde_store_settle(store, true);
	if (store->writer) {
		status = zts_writer_close(store->writer, err);
		store->writer = NULL;
	}
	pthread_mutex_unlock(&store->ingest);
	sonde_store_stop_background(store);
	free_store(store);
	return status;
}

static bool is_time_for_a_new_part(const struct sonde_store *store)
{
	const struct sonde_store_settings *settings = &store->settings;
	struct zts_writer_size size = zts_writer_size(store->writer);
	time_t now;

	if (size.is_full)
		return true;
	if (!size.slots)
		return false;
	if (size.total_bytes >= settings->part_size || size.memory_bytes >= settings->memory)
		return true;
	if (!settings->part_age_s)
		return false;
	now = time(NULL);
	return now > store->part_began &&
	       (uint64_t)(now - store->part_began) >= settings->part_age_s;
}

static enum sonde_status prepare_writer(struct sonde_store *store, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	sonde_store_settle(store, false);
	if (store->writer && is_time_for_a_new_part(store))
		status = sonde_store_finish_part(store, err);
	return status < 0 ? status : sonde_store_need_writer(store, err);
}

enum sonde_status sonde_store_begin(struct sonde_store *store, struct zts_writer **writer,
				    struct sonde_error *err)
{
	struct sonde_error failure;
	enum sonde_status status;

	*writer = NULL;
	pthread_mutex_lock(&store->ingest);
	status = prepare_writer(store, &failure);
	if (status < 0) {
		pthread_mutex_unlock(&store->ingest);
		if (err)
			*err = failure;
		return status;
	}
	*writer = store->writer;
	return SONDE_OK;
}

void sonde_store_end(struct sonde_store *store, uint64_t *ticket)
{
	struct sonde_error failure;

	zts_writer_abandon_trace(store->writer);
	sonde_store_count(store);
	pthread_mutex_lock(&store->commit);
	*ticket = ++store->ended;
	pthread_mutex_unlock(&store->commit);
	if (zts_writer_failed(store->writer, &failure) < 0)
		sonde_store_lose_writer(store, &failure);
	pthread_mutex_unlock(&store->ingest);
}

enum sonde_status sonde_store_rotate(struct sonde_store *store, struct sonde_error *err)
{
	struct sonde_error failure;
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&store->ingest);
	sonde_store_settle(store, false);
	if (!store->writer && store->may_go_on)
		status = sonde_store_go_on(store, NULL, &failure);
	if (status >= 0 && store->writer && zts_writer_size(store->writer).slots)
		status = sonde_store_finish_part(store, &failure);
	pthread_mutex_unlock(&store->ingest);
	if (status < 0 && err)
		*err = failure;
	return status;
}

void sonde_store_counters(struct sonde_store *store, struct sonde_store_counters *counters)
{
	pthread_mutex_lock(&store->commit);
	*counters = store->counters;
	pthread_mutex_unlock(&store->commit);
}
