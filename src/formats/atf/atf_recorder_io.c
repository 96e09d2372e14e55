/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing thread of the recorder: brings large pieces into their files in the order in which
 * they were queued, past the page cache where the file system can, since filling the page cache
 * costs several times more processor time. It knows nothing about records.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "formats/atf/atf_recorder_private.h"

/*
 * Where a disk is slower than this (in MB a second, over so many bytes) twice in a row and keeps the
 * recorder waiting, so much goes through the page cache, which takes bursts faster than any disk. Not
 * more: the kernel then makes us wait until it is on the disk, which takes longer than direct writes.
 * Once alone is a disk that was busy for a moment, and the page cache takes more processor time.
 */
#define SLOW_RATE 300
#define SLOW_WINDOW ((uint64_t)64 << 20)
#define PLAIN_BURST ((uint64_t)512 << 20)

/* Writes on up to `end`; an errno where that fails. */
static int write_up_to(struct stage *stage, uint64_t end)
{
	while (stage->written < end) {
		ssize_t count = pwrite(stage->fd, stage->data + (stage->written - stage->base),
				       end - stage->written, (off_t)stage->written);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count ? errno : ENOSPC;
		stage->written += (uint64_t)count;
	}
	return 0;
}

/*
 * Writes on up to `end`, both multiples of the alignment, as far as it goes. The rest is tried
 * plainly, which tells why it does not.
 */
static void write_directly(struct staging *staging, struct stage *stage, uint64_t end)
{
	uint64_t from = stage->written, start_ns = sonde_now_ns(CLOCK_MONOTONIC);

	if (fcntl(stage->fd, F_SETFL, O_DIRECT)) {
		atomic_store(&staging->off, true);
		return;
	}
	if (write_up_to(stage, end) == EINVAL && stage->written == from)
		atomic_store(&staging->off, true); /* the file system cannot */
	fcntl(stage->fd, F_SETFL, 0);
	staging->window_bytes += stage->written - from;
	staging->window_ns += sonde_now_ns(CLOCK_MONOTONIC) - start_ns;
}

/* Whatever direct writes leave over is written plainly. An errno where that fails, too. */
static int write_stage(struct staging *staging, struct stage *stage)
{
	uint64_t from = (stage->start + STAGE_ALIGNMENT - 1) / STAGE_ALIGNMENT * STAGE_ALIGNMENT;
	uint64_t to = stage->end / STAGE_ALIGNMENT * STAGE_ALIGNMENT;
	int error = 0;

	if (staging->plain_bytes) {
		uint64_t size = stage->end - stage->start;

		staging->plain_bytes -= size < staging->plain_bytes ? size : staging->plain_bytes;
	} else if (from < to && !atomic_load(&staging->off)) {
		error = write_up_to(stage, from);
		if (!error)
			write_directly(staging, stage, to);
	}
	return error ? error : write_up_to(stage, stage->end);
}

/* Under the lock. */
static void judge_speed(struct staging *staging)
{
	bool slow = staging->waited &&
		    staging->window_bytes * 1000 / SLOW_RATE < staging->window_ns;

	if (staging->window_bytes < SLOW_WINDOW)
		return;
	if (slow && staging->slow)
		staging->plain_bytes = PLAIN_BURST;
	staging->slow = slow;
	staging->waited = false;
	staging->window_bytes = staging->window_ns = 0;
}

static struct stage *find_queued(struct staging *staging)
{
	struct stage *first = NULL;

	for (size_t i = 0; i < staging->count; i++) {
		struct stage *stage = &staging->stages[i];

		if (stage->state == STAGE_QUEUED && (!first || stage->order < first->order))
			first = stage;
	}
	return first;
}

static void *write_pieces(void *context)
{
	struct staging *staging = context;

	prctl(PR_SET_NAME, "sonde-write");
	pthread_mutex_lock(&staging->lock);
	for (;;) {
		struct stage *stage = find_queued(staging);
		struct atf_recorder_thread *thread;
		int error;

		if (!stage && staging->stop)
			break;
		if (!stage) {
			pthread_cond_wait(&staging->queued, &staging->lock);
			continue;
		}
		stage->state = STAGE_WRITING;
		pthread_mutex_unlock(&staging->lock);
		/* behind what failed nothing of the thread may follow, in neither of its files */
		thread = stage->file->thread;
		error = atomic_load(&thread->io_error);
		if (!error && (error = write_stage(staging, stage)))
			thread->io_failed = stage->file;
		pthread_mutex_lock(&staging->lock);
		if (error)
			atomic_store(&thread->io_error, error);
		stage->state = error ? STAGE_FAILED : STAGE_FREE;
		stage->file->pending--;
		judge_speed(staging);
		pthread_cond_broadcast(&staging->done);
	}
	pthread_mutex_unlock(&staging->lock);
	return NULL;
}

bool recorder_io_start(struct staging *staging)
{
	sigset_t all, before;

	if (staging->started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	staging->started = !pthread_create(&staging->thread, NULL, write_pieces, staging);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return staging->started;
}

void recorder_io_stop(struct staging *staging)
{
	if (!staging->started)
		return;
	pthread_mutex_lock(&staging->lock);
	staging->stop = true;
	pthread_cond_broadcast(&staging->queued);
	pthread_mutex_unlock(&staging->lock);
	pthread_join(staging->thread, NULL);
	staging->started = false;
}
