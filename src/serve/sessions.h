/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents that have registered and their sessions, in memory only: an agent that is not known
 * registers again, one without a session asks for another. The least recently used ones go.
 */
#ifndef SONDE_SERVE_SESSIONS_H
#define SONDE_SERVE_SESSIONS_H

#include "store/ingest.h"

#define SESSION_ID_SIZE 37 /* a UUID as text */
#define SESSION_KEY_SIZE 33

/* Limits; see sessions_new(). */
#define SESSIONS_MOST 1024u
#define SESSIONS_MEMORY ((size_t)256 << 20)

struct sessions;
struct sessions *sessions_new(size_t most, size_t memory);
void sessions_free(struct sessions *sessions);

/* What an agent says of itself; "" where it says nothing. */
struct session_names {
	char host[256], app[256], env[256];
};

/*
 * An agent, by its id ("" for a new one), gets a key. *is_new: it was not known. False where there
 * is no randomness.
 */
bool sessions_register(struct sessions *sessions, char id[SESSION_ID_SIZE],
		       const struct session_names *names, char key[SESSION_KEY_SIZE], bool *is_new);
/* A session for an agent that knows its key; false where it does not. */
bool sessions_open(struct sessions *sessions, const char *id, const char *key,
		   char session[SESSION_ID_SIZE]);

/*
 * The agent of a session, for this thread alone until sessions_release(); NULL where there is none.
 * `names` not NULL: a session of that name is made where there is none.
 */
struct session;
struct session *sessions_acquire(struct sessions *sessions, const char *id,
				 const struct session_names *names);
struct sonde_agent *session_agent(struct session *session);
/* `drop`: it is of no more use. */
void sessions_release(struct sessions *sessions, struct session *session, bool drop);

struct sessions_count {
	uint64_t agents, sessions, memory, dropped;
};
struct sessions_count sessions_count(struct sessions *sessions);

#endif
