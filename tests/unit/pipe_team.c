/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team over sockets: a star with rank 0 in the middle. Every message says which call it belongs
 * to, so that ranks which left their common path are found at once.
 */
#include "pipe_team.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_AT_MOST 60
#define SIGNALLED 128

enum call { CALL_EXCHANGE = 1, CALL_GATHER, CALL_SHARE };

struct message {
	uint64_t number; /* of the call, counted from 1 */
	uint64_t call;
	uint64_t size; /* of what follows */
};

struct pipe_team {
	struct sonde_team team;
	uint64_t calls;
	int sockets[PIPE_TEAM_MOST]; /* rank 0: to the others; the others: [0], to rank 0 */
};

static enum sonde_status send_all(int fd, const void *data, size_t size, struct sonde_error *err)
{
	const char *bytes = data;

	while (size) {
		ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return sonde_fail_errno(err, NULL, "a process of the team is gone");
		bytes += sent;
		size -= (size_t)sent;
	}
	return SONDE_OK;
}

static enum sonde_status receive_all(int fd, void *data, size_t size, struct sonde_error *err)
{
	char *bytes = data;

	while (size) {
		ssize_t received = recv(fd, bytes, size, 0);

		if (received < 0 && errno == EINTR)
			continue;
		if (received <= 0)
			return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET,
					  "a process of the team is gone");
		bytes += received;
		size -= (size_t)received;
	}
	return SONDE_OK;
}

static enum sonde_status send_message(struct pipe_team *team, int fd, enum call call,
				      const void *data, size_t size, struct sonde_error *err)
{
	const struct message message = { team->calls, call, size };
	enum sonde_status status = send_all(fd, &message, sizeof(message), err);

	return status ? status : send_all(fd, data, size, err);
}

static enum sonde_status receive_message(struct pipe_team *team, int fd, enum call call, void *data,
					 size_t size, struct sonde_error *err)
{
	struct message message;
	enum sonde_status status = receive_all(fd, &message, sizeof(message), err);

	if (status)
		return status;
	if (message.number != team->calls || message.call != call || message.size != size)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "rank %u is at call %llu, kind %u of %zu bytes; another one at "
				  "call %llu, kind %u of %zu bytes",
				  team->team.rank, (unsigned long long)team->calls, call, size,
				  (unsigned long long)message.number, (unsigned int)message.call,
				  (size_t)message.size);
	return receive_all(fd, data, size, err);
}

static enum sonde_status spread(struct pipe_team *team, enum call call, void *data, size_t size,
				struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (team->team.rank)
		return receive_message(team, team->sockets[0], call, data, size, err);
	for (unsigned int rank = 1; !status && rank < team->team.size; rank++)
		status = send_message(team, team->sockets[rank], call, data, size, err);
	return status;
}

static enum sonde_status exchange(struct sonde_team *base, const uint64_t *mine, size_t count,
				  uint64_t *all, struct sonde_error *err)
{
	struct pipe_team *team = (struct pipe_team *)base;
	size_t size = count * sizeof(*mine);
	enum sonde_status status = SONDE_OK;

	team->calls++;
	if (base->rank)
		status = send_message(team, team->sockets[0], CALL_EXCHANGE, mine, size, err);
	else
		memmove(all, mine, size);
	for (unsigned int rank = 1; !base->rank && !status && rank < base->size; rank++)
		status = receive_message(team, team->sockets[rank], CALL_EXCHANGE,
					 all + rank * count, size, err);
	return status ? status : spread(team, CALL_EXCHANGE, all, size * base->size, err);
}

static enum sonde_status gather(struct sonde_team *base, const void *bytes, size_t size,
				struct sonde_buffer *all, const uint64_t *sizes,
				struct sonde_error *err)
{
	struct pipe_team *team = (struct pipe_team *)base;
	enum sonde_status status = SONDE_OK;

	team->calls++;
	if (base->rank)
		return send_message(team, team->sockets[0], CALL_GATHER, bytes, size, err);
	sonde_buffer_put(all, bytes, size);
	for (unsigned int rank = 1; !status && rank < base->size; rank++) {
		status = receive_message(team, team->sockets[rank], CALL_GATHER,
					 all->data + all->size, sizes[rank], err);
		if (!status)
			all->size += sizes[rank];
	}
	return status;
}

static enum sonde_status share(struct sonde_team *base, struct sonde_buffer *bytes,
			       struct sonde_error *err)
{
	struct pipe_team *team = (struct pipe_team *)base;

	team->calls++;
	return spread(team, CALL_SHARE, bytes->data, bytes->size, err);
}

static const struct sonde_team_ops ops = { .exchange = exchange, .gather = gather, .share = share };

static int run_rank(struct pipe_team *team, unsigned int rank, unsigned int size,
		    pipe_team_work work, void *context)
{
	int code;

	if (sonde_team_init(&team->team, &ops, rank, size, NULL))
		return -1;
	code = work(&team->team, context);
	sonde_team_release(&team->team);
	return code;
}

/* The child's side of a rank: keeps only its own socket and ends here. */
static _Noreturn void be_rank(const struct pipe_team *middle, int fd, unsigned int rank,
			      unsigned int size, pipe_team_work work, void *context)
{
	struct pipe_team team = { .sockets = { fd } };

	alarm(SECONDS_AT_MOST);
	for (unsigned int other = 1; other < rank; other++)
		close(middle->sockets[other]);
	_exit(run_rank(&team, rank, size, work, context) & 127);
}

static pid_t start_rank(struct pipe_team *middle, unsigned int rank, unsigned int size,
			pipe_team_work work, void *context)
{
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	fflush(NULL);
	child = fork();
	if (!child) {
		close(pair[0]);
		be_rank(middle, pair[1], rank, size, work, context);
	}
	close(pair[1]);
	middle->sockets[rank] = pair[0];
	return child;
}

static int code_of(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

void pipe_team_run(unsigned int size, pipe_team_work work, void *context, int *codes)
{
	struct pipe_team middle = { 0 };
	pid_t children[PIPE_TEAM_MOST];
	unsigned int started = 1;

	for (unsigned int rank = 0; rank < size; rank++)
		codes[rank] = -1;
	while (started < size &&
	       (children[started] = start_rank(&middle, started, size, work, context)) > 0)
		started++;
	if (started == size)
		codes[0] = run_rank(&middle, 0, size, work, context);
	for (unsigned int rank = 1; rank < started; rank++) {
		close(middle.sockets[rank]);
		codes[rank] = code_of(children[rank]);
	}
}
