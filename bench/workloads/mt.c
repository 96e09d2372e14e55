/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that call many short functions: a hash table, a search tree, a checksum and a little
 * arithmetic, each a few instructions long. Threads share nothing but the final sum.
 * usage: mt ROUNDS THREADS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1024, NODES = 512, THREADS_MAX = 64 };

struct node {
	uint32_t key;
	struct node *left, *right;
};

struct worker {
	_Alignas(128) pthread_t thread; /* no line of the cache belongs to two of them */
	uint32_t seed;
	unsigned long rounds;
	uint32_t keys[SLOTS], values[SLOTS];
	struct node nodes[NODES], *root;
	size_t node_count;
};

static atomic_ulong total;

static uint32_t next_number(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static uint32_t place_of(uint32_t key)
{
	return key * 2654435761u >> 22;
}

/* A key takes the place of whatever was there: the table never fills up. */
static void table_put(struct worker *worker, uint32_t key, uint32_t value)
{
	uint32_t place = place_of(key);

	worker->keys[place] = key;
	worker->values[place] = value;
}

static uint32_t table_get(const struct worker *worker, uint32_t key)
{
	uint32_t place = place_of(key);

	return worker->keys[place] == key ? worker->values[place] : 0;
}

static struct node *new_node(struct worker *worker, uint32_t key)
{
	struct node *node = &worker->nodes[worker->node_count++];

	*node = (struct node){ .key = key };
	return node;
}

static struct node *tree_add(struct worker *worker, struct node *node, uint32_t key)
{
	if (!node)
		return new_node(worker, key);
	if (key < node->key)
		node->left = tree_add(worker, node->left, key);
	else if (key > node->key)
		node->right = tree_add(worker, node->right, key);
	return node;
}

static unsigned int tree_depth(const struct node *node, uint32_t key)
{
	if (!node || node->key == key)
		return 0;
	return 1 + tree_depth(key < node->key ? node->left : node->right, key);
}

static uint32_t mix(uint32_t a, uint32_t b)
{
	return (a ^ b) * 0x01000193u;
}

static uint32_t checksum(const uint32_t *words, size_t count)
{
	uint32_t sum = 0x811c9dc5u;

	for (size_t i = 0; i < count; i++)
		sum = mix(sum, words[i]);
	return sum;
}

static unsigned long one_round(struct worker *worker)
{
	uint32_t key = next_number(&worker->seed) & 0xffff;

	table_put(worker, key, key + 1);
	if (worker->node_count == NODES) {
		worker->node_count = 0;
		worker->root = NULL;
	}
	worker->root = tree_add(worker, worker->root, key);
	return table_get(worker, key ^ 1) + tree_depth(worker->root, key) +
	       checksum(worker->values, 4);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	unsigned long sum = 0;

	for (unsigned long i = 0; i < worker->rounds; i++)
		sum += one_round(worker);
	atomic_fetch_add(&total, sum);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
	static struct worker workers[THREADS_MAX];

	if (!count || count > THREADS_MAX)
		return 2;
	for (unsigned long i = 0; i < count; i++) {
		workers[i].seed = 12345 + (uint32_t)i;
		workers[i].rounds = rounds;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 3;
	}
	for (unsigned long i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	printf("%lu\n", total);
	return 0;
}
