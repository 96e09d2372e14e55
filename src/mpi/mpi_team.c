/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a team in terms of MPI, all of them in its forms that do not wait. What is the same for
 * every team, sizes and failures of single ranks, is in base/team.c.
 */
#include "mpi/mpi_team.h"

#include <limits.h>
#include <time.h>

#include "base/now.h"

#define PIECE ((size_t)1 << 30)
#define TAG 1
#define EAGER_TESTS 200 /* before sleeping: what comes at once should not cost a sleep */
#define FIRST_SLEEP_NS 20000
#define LAST_SLEEP_NS 1000000
#define NS_PER_MS 1000000

static enum sonde_status fail_mpi(struct sonde_error *err, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "unknown error";
	int length;

	MPI_Error_string(code, text, &length);
	return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET, "a call of MPI failed: %s", text);
}

/* Until the request is done, or the time (0: for ever) is over: then *done is false. */
static int wait_until(MPI_Request *request, uint64_t deadline_ns, bool *done)
{
	struct timespec pause = { .tv_nsec = FIRST_SLEEP_NS };
	int code = MPI_SUCCESS, finished = 0;

	for (unsigned int tests = 0;; tests++) {
		code = MPI_Test(request, &finished, MPI_STATUS_IGNORE);
		*done = finished;
		if (code || finished)
			return code;
		if (deadline_ns && sonde_now_ns(CLOCK_MONOTONIC) > deadline_ns)
			return MPI_SUCCESS;
		if (tests < EAGER_TESTS)
			continue;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < LAST_SLEEP_NS)
			pause.tv_nsec += pause.tv_nsec / 4;
	}
}

/* Waits for what a call of MPI began; `code` is what that call returned. */
static enum sonde_status wait_for(int code, MPI_Request *request, struct sonde_error *err)
{
	bool done;

	if (!code)
		code = wait_until(request, 0, &done);
	return code ? fail_mpi(err, code) : SONDE_OK;
}

static enum sonde_status exchange(struct sonde_team *base, const uint64_t *mine, size_t count,
				  uint64_t *all, struct sonde_error *err)
{
	struct mpi_team *team = (struct mpi_team *)base;
	MPI_Request request;
	int code;

	if (count > INT_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%zu numbers cannot be exchanged at once", count);
	code = MPI_Iallgather(mine, (int)count, MPI_UINT64_T, all, (int)count, MPI_UINT64_T,
			      team->ranks, &request);
	return wait_for(code, &request, err);
}

enum direction { SEND, RECEIVE, SPREAD };

/* From or to `other`, in pieces; the side of the other rank cuts them the same way. */
static enum sonde_status move(struct mpi_team *team, enum direction direction, unsigned int other,
			      char *bytes, uint64_t size, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status && size) {
		int piece = (int)(size < team->piece ? size : team->piece), code;
		MPI_Request request;

		if (direction == SEND)
			code = MPI_Isend(bytes, piece, MPI_BYTE, (int)other, TAG, team->ranks,
					 &request);
		else if (direction == RECEIVE)
			code = MPI_Irecv(bytes, piece, MPI_BYTE, (int)other, TAG, team->ranks,
					 &request);
		else
			code = MPI_Ibcast(bytes, piece, MPI_BYTE, (int)other, team->ranks,
					  &request);
		status = wait_for(code, &request, err);
		bytes += piece;
		size -= (uint64_t)piece;
	}
	return status;
}

static enum sonde_status gather(struct sonde_team *base, const void *bytes, size_t size,
				struct sonde_buffer *all, const uint64_t *sizes,
				struct sonde_error *err)
{
	struct mpi_team *team = (struct mpi_team *)base;
	enum sonde_status status = SONDE_OK;

	if (base->rank)
		return move(team, SEND, 0, (char *)(uintptr_t)bytes, size, err);
	sonde_buffer_put(all, bytes, size);
	for (unsigned int rank = 1; !status && rank < base->size; rank++) {
		status = move(team, RECEIVE, rank, all->data + all->size, sizes[rank], err);
		all->size += sizes[rank];
	}
	return status;
}

static enum sonde_status share(struct sonde_team *base, struct sonde_buffer *bytes,
			       struct sonde_error *err)
{
	return move((struct mpi_team *)base, SPREAD, 0, bytes->data, bytes->size, err);
}

static void guard(struct sonde_team *base, const char *path)
{
	struct mpi_team *team = (struct mpi_team *)base;

	if (team->guard)
		team->guard(team->user, path);
}

static const struct sonde_team_ops ops = {
	.exchange = exchange,
	.gather = gather,
	.share = share,
	.guard = guard,
};

enum sonde_status mpi_team_init(struct mpi_team *team, struct sonde_error *err)
{
	int rank, size, code;

	*team = (struct mpi_team){ .piece = PIECE };
	code = MPI_Comm_dup(MPI_COMM_WORLD, &team->ranks);
	if (code)
		return fail_mpi(err, code);
	MPI_Comm_set_errhandler(team->ranks, MPI_ERRORS_RETURN);
	MPI_Comm_rank(team->ranks, &rank);
	MPI_Comm_size(team->ranks, &size);
	return sonde_team_init(&team->team, &ops, (unsigned int)rank, (unsigned int)size, err);
}

void mpi_team_release(struct mpi_team *team)
{
	sonde_team_release(&team->team);
	MPI_Comm_free(&team->ranks);
}

bool mpi_team_meet(unsigned int milliseconds)
{
	uint64_t now = sonde_now_ns(CLOCK_MONOTONIC);
	bool done = false;
	MPI_Request request;

	if (MPI_Ibarrier(MPI_COMM_WORLD, &request))
		return false;
	return !wait_until(&request, milliseconds ? now + (uint64_t)milliseconds * NS_PER_MS : 0,
			   &done) &&
	       done;
}
