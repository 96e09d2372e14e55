/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The witness has all signals blocked, waits for a question, and answers with those that have come
 * since the last one. It ends when we do: nobody else has our end of the socket.
 */
#include "record/witness.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SENDING_NS 5000000 /* until who sends to a group has reached all of it */
#define ANSWER_US 500000

static void testify(int socket)
{
	const struct timespec none = { 0 };
	sigset_t all;
	char question;

	sigfillset(&all);
	prctl(PR_SET_NAME, "sonde-witness");
	while (recv(socket, &question, 1, 0) == 1) {
		uint64_t seen = 0;
		int number;

		while ((number = sigtimedwait(&all, NULL, &none)) > 0)
			seen |= UINT64_C(1) << (number - 1);
		if (send(socket, &seen, sizeof(seen), MSG_NOSIGNAL) < 0)
			break;
	}
}

void witness_start(struct witness *witness)
{
	const struct timeval patience = { .tv_usec = ANSWER_US };
	sigset_t all, before;
	int ends[2];

	*witness = (struct witness){ .socket = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	witness->pid = fork();
	if (!witness->pid) {
		dup2(ends[1], STDIN_FILENO);
		close_range(STDIN_FILENO + 1, ~0U, 0);
		testify(STDIN_FILENO);
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	witness->socket = ends[0];
	if (witness->pid < 0)
		witness_end(witness);
	else
		setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

bool witness_saw(struct witness *witness, int number)
{
	const struct timespec sending = { .tv_nsec = SENDING_NS };
	uint64_t seen;

	if (witness->socket < 0)
		return false;
	nanosleep(&sending, NULL);
	if (send(witness->socket, "?", 1, MSG_NOSIGNAL) == 1 &&
	    recv(witness->socket, &seen, sizeof(seen), 0) == sizeof(seen))
		return seen >> (number - 1) & 1;
	kill(witness->pid,
	     SIGKILL); /* it is gone, or stopped: a late answer would be a wrong one */
	witness_end(witness);
	return false;
}

void witness_end(struct witness *witness)
{
	if (witness->socket < 0)
		return;
	close(witness->socket);
	witness->socket = -1;
	if (witness->pid > 0)
		while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
			;
}
