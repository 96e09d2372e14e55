/* SPDX-License-Identifier: Apache-2.0 */
/* The loss report: a short sorted list of what a conversion could not carry over. */
#include "model/loss.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

struct sonde_loss {
	pthread_mutex_t lock;
	struct sonde_arena texts;
	SONDE_VEC(struct sonde_loss_entry) entries; /* by name, then reason */
};

struct sonde_loss *sonde_loss_new(void)
{
	struct sonde_loss *loss = calloc(1, sizeof(*loss));

	if (loss && pthread_mutex_init(&loss->lock, NULL)) {
		free(loss);
		return NULL;
	}
	return loss;
}

void sonde_loss_free(struct sonde_loss *loss)
{
	if (!loss)
		return;
	sonde_vec_release(&loss->entries);
	sonde_arena_release(&loss->texts);
	pthread_mutex_destroy(&loss->lock);
	free(loss);
}

/* The place of an entry, or where it belongs. */
static size_t find_place(const struct sonde_loss *loss, const char *what, const char *reason,
			 bool *found)
{
	size_t low = 0, high = loss->entries.count;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sonde_loss_entry *entry = &loss->entries.items[middle];
		int order = strcmp(entry->what, what);

		if (!order)
			order = strcmp(entry->reason, reason);
		if (!order)
			*found = true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The lock is held. */
static enum sonde_status add(struct sonde_loss *loss, const char *what, const char *reason,
			     uint64_t count, bool only_elsewhere, struct sonde_error *err)
{
	struct sonde_loss_entry entry = { .count = count, .only_elsewhere = only_elsewhere };
	bool found;
	size_t place = find_place(loss, what, reason, &found);

	if (found) {
		loss->entries.items[place].count += count;
		loss->entries.items[place].only_elsewhere &= only_elsewhere;
		return SONDE_OK;
	}
	entry.what = sonde_arena_copy_text(&loss->texts, what, strlen(what));
	entry.reason = sonde_arena_copy_text(&loss->texts, reason, strlen(reason));
	if (!entry.what || !entry.reason || !sonde_vec_reserve(&loss->entries, 1))
		return sonde_fail_nomem(err);
	memmove(&loss->entries.items[place + 1], &loss->entries.items[place],
		(loss->entries.count - place) * sizeof(entry));
	loss->entries.items[place] = entry;
	loss->entries.count++;
	return SONDE_OK;
}

static enum sonde_status add_locked(struct sonde_loss *loss, const char *what, const char *reason,
				    uint64_t count, bool only_elsewhere, struct sonde_error *err)
{
	enum sonde_status status;

	if (!loss || !count)
		return SONDE_OK;
	pthread_mutex_lock(&loss->lock);
	status = add(loss, what, reason, count, only_elsewhere, err);
	pthread_mutex_unlock(&loss->lock);
	return status;
}

enum sonde_status sonde_loss_add(struct sonde_loss *loss, const char *what, const char *reason,
				 uint64_t count, struct sonde_error *err)
{
	return add_locked(loss, what, reason, count, false, err);
}

enum sonde_status sonde_loss_add_elsewhere(struct sonde_loss *loss, const char *what,
					   const char *reason, uint64_t count,
					   struct sonde_error *err)
{
	return add_locked(loss, what, reason, count, true, err);
}

enum sonde_status sonde_loss_add_kinds(struct sonde_loss *loss, const struct sonde_loss_kind *kinds,
				       uint64_t *counts, size_t count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && !status; i++) {
		status = add_locked(loss, kinds[i].what, kinds[i].reason, counts[i],
				    kinds[i].is_elsewhere, err);
		counts[i] = 0;
	}
	return status;
}

const struct sonde_loss_entry *sonde_loss_at(const struct sonde_loss *loss, size_t index)
{
	return index < loss->entries.count ? &loss->entries.items[index] : NULL;
}
