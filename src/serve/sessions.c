/* SPDX-License-Identifier: Apache-2.0 */
/* Agents and their sessions, in two lists with the most recently used first. */
#include "serve/sessions.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/uuid.h"
#include "serve/http.h"

struct registered {
	struct registered *next;
	char id[SESSION_ID_SIZE];
	char key[SESSION_KEY_SIZE];
	struct session_names names;
};

struct session {
	struct session *next;
	char *id;
	struct sonde_agent *agent;
	pthread_mutex_t mutex; /* who has it works with the agent */
	unsigned int users;    /* those that have it or wait for it; under sessions->mutex */
	bool is_dropped;
	size_t memory;
};

struct sessions {
	pthread_mutex_t mutex;
	size_t most, memory_limit;
	struct registered *agents;
	struct session *list;
	size_t agent_count, count, memory;
	uint64_t dropped;
};

struct sessions *sessions_new(size_t most, size_t memory)
{
	struct sessions *sessions = calloc(1, sizeof(*sessions));

	if (!sessions)
		return NULL;
	pthread_mutex_init(&sessions->mutex, NULL);
	sessions->most = most;
	sessions->memory_limit = memory;
	return sessions;
}

static void free_session(struct session *session)
{
	if (!session)
		return;
	sonde_agent_free(session->agent);
	pthread_mutex_destroy(&session->mutex);
	free(session->id);
	free(session);
}

void sessions_free(struct sessions *sessions)
{
	if (!sessions)
		return;
	while (sessions->agents) {
		struct registered *next = sessions->agents->next;

		free(sessions->agents);
		sessions->agents = next;
	}
	while (sessions->list) {
		struct session *next = sessions->list->next;

		free_session(sessions->list);
		sessions->list = next;
	}
	pthread_mutex_destroy(&sessions->mutex);
	free(sessions);
}

/* --- agents --- */

/* Found, and the first of the list from now on. */
static struct registered *find_agent(struct sessions *sessions, const char *id)
{
	for (struct registered **at = &sessions->agents; *at; at = &(*at)->next) {
		struct registered *found = *at;

		if (strcmp(found->id, id) != 0)
			continue;
		*at = found->next;
		found->next = sessions->agents;
		sessions->agents = found;
		return found;
	}
	return NULL;
}

static void drop_last_agent(struct sessions *sessions)
{
	struct registered **at = &sessions->agents;

	while ((*at)->next)
		at = &(*at)->next;
	free(*at);
	*at = NULL;
	sessions->agent_count--;
}

static struct registered *add_agent(struct sessions *sessions, const char *id)
{
	struct registered *agent = calloc(1, sizeof(*agent));

	if (!agent)
		return NULL;
	if (sessions->agent_count == sessions->most)
		drop_last_agent(sessions);
	snprintf(agent->id, sizeof(agent->id), "%s", id);
	agent->next = sessions->agents;
	sessions->agents = agent;
	sessions->agent_count++;
	return agent;
}

static bool make_id(char id[SESSION_ID_SIZE])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	sonde_uuid_format(random, id);
	return true;
}

bool sessions_register(struct sessions *sessions, char id[SESSION_ID_SIZE],
		       const struct session_names *names, char key[SESSION_KEY_SIZE], bool *is_new)
{
	uint64_t random[2];
	struct registered *agent;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	snprintf(key, SESSION_KEY_SIZE, "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	if (!*id && !make_id(id))
		return false;
	pthread_mutex_lock(&sessions->mutex);
	agent = find_agent(sessions, id);
	*is_new = !agent;
	if (!agent)
		agent = add_agent(sessions, id);
	if (agent) {
		agent->names = *names;
		snprintf(agent->key, sizeof(agent->key), "%s", key);
	}
	pthread_mutex_unlock(&sessions->mutex);
	return agent != NULL;
}

/* --- sessions --- */

/* Out of the list; freed by the last who uses it. */
static void remove_session(struct sessions *sessions, struct session **place)
{
	struct session *session = *place;

	*place = session->next;
	sessions->count--;
	sessions->memory -= session->memory;
	session->is_dropped = true;
	if (!session->users)
		free_session(session);
}

/* The last ones that nobody uses go, until there is room. */
static void make_room(struct sessions *sessions)
{
	while (sessions->count > sessions->most || sessions->memory > sessions->memory_limit) {
		struct session **last = NULL;

		for (struct session **at = &sessions->list; *at; at = &(*at)->next)
			if (!(*at)->users)
				last = at;
		if (!last)
			return;
		remove_session(sessions, last);
		sessions->dropped++;
	}
}

static struct session *add_session(struct sessions *sessions, const char *id,
				   const struct session_names *names)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	pthread_mutex_init(&session->mutex, NULL);
	session->id = strdup(id);
	session->agent = sonde_agent_new(names->host, names->app, names->env);
	if (!session->id || !session->agent) {
		free_session(session);
		return NULL;
	}
	session->next = sessions->list;
	sessions->list = session;
	sessions->count++;
	return session;
}

static struct session *find_session(struct sessions *sessions, const char *id)
{
	for (struct session **at = &sessions->list; *at; at = &(*at)->next) {
		struct session *found = *at;

		if (strcmp(found->id, id) != 0)
			continue;
		*at = found->next;
		found->next = sessions->list;
		sessions->list = found;
		return found;
	}
	return NULL;
}

bool sessions_open(struct sessions *sessions, const char *id, const char *key,
		   char session[SESSION_ID_SIZE])
{
	const struct registered *agent;
	bool opened = false;

	if (!make_id(session))
		return false;
	pthread_mutex_lock(&sessions->mutex);
	agent = find_agent(sessions, id);
	if (agent && http_same_secret(key, agent->key))
		opened = add_session(sessions, session, &agent->names) != NULL;
	make_room(sessions);
	pthread_mutex_unlock(&sessions->mutex);
	return opened;
}

struct session *sessions_acquire(struct sessions *sessions, const char *id,
				 const struct session_names *names)
{
	struct session *session;

	pthread_mutex_lock(&sessions->mutex);
	session = find_session(sessions, id);
	if (!session && names)
		session = add_session(sessions, id, names);
	if (session)
		session->users++;
	make_room(sessions);
	pthread_mutex_unlock(&sessions->mutex);
	if (session)
		pthread_mutex_lock(&session->mutex);
	return session;
}

struct sonde_agent *session_agent(struct session *session)
{
	return session->agent;
}

void sessions_release(struct sessions *sessions, struct session *session, bool drop)
{
	size_t memory = sonde_agent_memory(session->agent);

	pthread_mutex_unlock(&session->mutex);
	pthread_mutex_lock(&sessions->mutex);
	session->users--;
	if (session->is_dropped) {
		if (!session->users)
			free_session(session);
	} else {
		sessions->memory += memory - session->memory;
		session->memory = memory;
		for (struct session **at = &sessions->list; drop && *at; at = &(*at)->next) {
			if (*at != session)
				continue;
			remove_session(sessions, at);
			break;
		}
		make_room(sessions);
	}
	pthread_mutex_unlock(&sessions->mutex);
}

struct sessions_count sessions_count(struct sessions *sessions)
{
	struct sessions_count count;

	pthread_mutex_lock(&sessions->mutex);
	count = (struct sessions_count){ .agents = sessions->agent_count,
					 .sessions = sessions->count,
					 .memory = sessions->memory,
					 .dropped = sessions->dropped };
	pthread_mutex_unlock(&sessions->mutex);
	return count;
}
