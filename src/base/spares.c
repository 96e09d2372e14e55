/* SPDX-License-Identifier: Apache-2.0 */
/* A list of spare things under a lock. */
#include "base/spares.h"

bool sonde_spares_init(struct sonde_spares *spares)
{
	*spares = (struct sonde_spares){ 0 };
	return !pthread_mutex_init(&spares->lock, NULL);
}

void sonde_spares_release(struct sonde_spares *spares)
{
	sonde_vec_release(&spares->items);
	pthread_mutex_destroy(&spares->lock);
}

void *sonde_spares_take(struct sonde_spares *spares)
{
	void *item = NULL;

	pthread_mutex_lock(&spares->lock);
	if (spares->items.count)
		item = spares->items.items[--spares->items.count];
	pthread_mutex_unlock(&spares->lock);
	return item;
}

bool sonde_spares_give(struct sonde_spares *spares, void *item)
{
	void **place;

	pthread_mutex_lock(&spares->lock);
	place = sonde_vec_push(&spares->items);
	if (place)
		*place = item;
	pthread_mutex_unlock(&spares->lock);
	return place;
}
