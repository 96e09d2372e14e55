/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders a few frames of a Julia set: the main thread cuts each frame into tiles and puts them into
 * a queue, workers take them out. It says what it does with <sonde/annotate.h>: which frame, which
 * tile came from where and went to whom, how long the queue is.
 *
 *	cc -O2 frames.c $(sonde cflags --annotate) -o frames -lpthread
 *	sonde record ./frames
 */
#define _GNU_SOURCE /* names of threads */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/annotate.h>

enum { WIDTH = 96, HEIGHT = 64, TILE = 16, WORKERS = 3, QUEUE = 8, ROUNDS = 60 };

struct tile {
	int x, y;
	unsigned int job; /* number of its flow */
	double turn;	  /* of the picture */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more, less, done;
	struct tile tiles[QUEUE];
	size_t first, count;
	int unfinished; /* tiles of this frame */
	int closed;
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER,
	.less = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static unsigned char picture[HEIGHT][WIDTH];

static unsigned char shade(double x, double y, double turn)
{
	double cx = -0.7 + 0.2 * turn, cy = 0.27;
	int round;

	for (round = 0; round < ROUNDS && x * x + y * y < 4; round++) {
		double next = x * x - y * y + cx;

		y = 2 * x * y + cy;
		x = next;
	}
	return (unsigned char)(round * 255 / ROUNDS);
}

static void render(const struct tile *tile)
{
	SONDE_SCOPE("render", SONDE_ARG(tile->x), SONDE_ARG(tile->y), SONDE_ARG(tile->turn));
	unsigned int sum = 0;

	for (int y = tile->y; y < tile->y + TILE; y++) {
		for (int x = tile->x; x < tile->x + TILE; x++) {
			picture[y][x] =
				shade(3.0 * x / WIDTH - 1.5, 2.0 * y / HEIGHT - 1, tile->turn);
			sum += picture[y][x];
		}
	}
	if (!sum)
		SONDE_EVENT("empty tile", SONDE_ARG(tile->job));
}

static int take(struct tile *tile)
{
	SONDE_SCOPE("take");
	int some;

	pthread_mutex_lock(&queue.lock);
	while (!queue.count && !queue.closed)
		pthread_cond_wait(&queue.more, &queue.lock);
	some = queue.count > 0;
	if (some) {
		*tile = queue.tiles[queue.first];
		queue.first = (queue.first + 1) % QUEUE;
		queue.count--;
		SONDE_COUNTER("queue", queue.count);
		pthread_cond_signal(&queue.less);
	}
	pthread_mutex_unlock(&queue.lock);
	return some;
}

static void *work(void *name)
{
	struct tile tile;

	pthread_setname_np(pthread_self(), name);
	SONDE_MARK("worker starts");
	while (take(&tile)) {
		SONDE_SCOPE("job", SONDE_STR_AS("worker", name), SONDE_ARG(tile.job));
		SONDE_FLOW_STEP(tile.job, "taken");
		render(&tile);
		SONDE_FLOW_END(tile.job);
		pthread_mutex_lock(&queue.lock);
		if (!--queue.unfinished)
			pthread_cond_signal(&queue.done);
		pthread_mutex_unlock(&queue.lock);
	}
	return NULL;
}

static void put(const struct tile *tile)
{
	SONDE_SCOPE("put", SONDE_ARG(tile->job));

	pthread_mutex_lock(&queue.lock);
	while (queue.count == QUEUE)
		pthread_cond_wait(&queue.less, &queue.lock);
	SONDE_FLOW_BEGIN(tile->job, "tile");
	queue.tiles[(queue.first + queue.count++) % QUEUE] = *tile;
	SONDE_COUNTER("queue", queue.count);
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

static void draw(int frame, double turn)
{
	static unsigned int jobs;
	struct tile tile = { .turn = turn };

	SONDE_FRAME_BEGIN(frame);
	queue.unfinished = WIDTH / TILE * (HEIGHT / TILE);
	for (tile.y = 0; tile.y < HEIGHT; tile.y += TILE) {
		for (tile.x = 0; tile.x < WIDTH; tile.x += TILE) {
			tile.job = ++jobs;
			put(&tile);
		}
	}
	{
		SONDE_SCOPE("wait for workers");
		pthread_mutex_lock(&queue.lock);
		while (queue.unfinished)
			pthread_cond_wait(&queue.done, &queue.lock);
		pthread_mutex_unlock(&queue.lock);
	}
	SONDE_FRAME_END(frame);
}

int main(int argc, char **argv)
{
	static char *names[WORKERS] = { "red", "green", "blue" };
	pthread_t workers[WORKERS];
	int frames = argc > 1 ? atoi(argv[1]) : 5;
	unsigned long sum = 0;

	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, names[i]) != 0)
			return 1;
	{
		SONDE_ZONE("render loop");
		SONDE_RANGE_BEGIN(1, "all frames");
		for (int i = 0; i < frames; i++)
			draw(i, (double)i / frames);
		SONDE_RANGE_END(1);
	}
	pthread_mutex_lock(&queue.lock);
	queue.closed = 1;
	pthread_cond_broadcast(&queue.more);
	pthread_mutex_unlock(&queue.lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	SONDE_RESOURCE("last frame", picture, sizeof(picture));
	for (size_t i = 0; i < sizeof(picture); i++)
		sum = sum * 31 + ((const unsigned char *)picture)[i];
	printf("%d frames, checksum %lu\n", frames, sum % 1000000);
	return 0;
}
