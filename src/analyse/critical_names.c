/* SPDX-License-Identifier: Apache-2.0 */
/* The table of names, and who has which. */
#include "analyse/critical_names.h"

#include <fnmatch.h>
#include <string.h>

struct known_name {
	const char *pattern; /* of a shell, over the name up to its arguments */
	struct critical_role role;
};

#define WAITS(kind)                                                                                \
	{                                                                                          \
		.waits_for = (kind)                                                                \
	}
#define ENDS(kind)                                                                                 \
	{                                                                                          \
		.ends = (kind)                                                                     \
	}

static const struct known_name known_names[] = {
	{ "pthread_join", WAITS(WAIT_FOR_END) },
	{ "pthread_timedjoin_np", WAITS(WAIT_FOR_END) },
	{ "thrd_join", WAITS(WAIT_FOR_END) },
	{ "std::thread::join", WAITS(WAIT_FOR_END) },
	{ "*Thread.join", WAITS(WAIT_FOR_END) },
	{ "waitpid", WAITS(WAIT_FOR_END) },
	{ "pthread_barrier_wait", WAITS(WAIT_FOR_ALL) },
	{ "GOMP_barrier*", WAITS(WAIT_FOR_ALL) },
	{ "__kmpc_barrier*", WAITS(WAIT_FOR_ALL) },
	{ "omp_barrier", WAITS(WAIT_FOR_ALL) },
	{ "*[Ii]mplicit_barrier*", WAITS(WAIT_FOR_ALL) },
	{ "MPI_Barrier", WAITS(WAIT_FOR_ALL) },
	{ "PMPI_Barrier", WAITS(WAIT_FOR_ALL) },
	{ "MPI_All*", WAITS(WAIT_FOR_ALL) },
	{ "pthread_mutex_lock", WAITS(WAIT_FOR_LOCK) },
	{ "pthread_mutex_timedlock", WAITS(WAIT_FOR_LOCK) },
	{ "pthread_rwlock_rdlock", WAITS(WAIT_FOR_LOCK) },
	{ "pthread_rwlock_wrlock", WAITS(WAIT_FOR_LOCK) },
	{ "mtx_lock", WAITS(WAIT_FOR_LOCK) },
	{ "std::mutex::lock", WAITS(WAIT_FOR_LOCK) },
	{ "pthread_mutex_unlock", ENDS(WAIT_FOR_LOCK) },
	{ "pthread_rwlock_unlock", ENDS(WAIT_FOR_LOCK) },
	{ "mtx_unlock", ENDS(WAIT_FOR_LOCK) },
	{ "std::mutex::unlock", ENDS(WAIT_FOR_LOCK) },
	{ "pthread_cond_wait", WAITS(WAIT_FOR_CONDITION) },
	{ "pthread_cond_timedwait", WAITS(WAIT_FOR_CONDITION) },
	{ "cnd_wait", WAITS(WAIT_FOR_CONDITION) },
	{ "cnd_timedwait", WAITS(WAIT_FOR_CONDITION) },
	{ "std::condition_variable*::wait*", WAITS(WAIT_FOR_CONDITION) },
	{ "java.lang.Object.wait", WAITS(WAIT_FOR_CONDITION) },
	{ "*LockSupport.park*", WAITS(WAIT_FOR_CONDITION) },
	{ "futex_wait", WAITS(WAIT_FOR_CONDITION) },
	{ "futex_wake", ENDS(WAIT_FOR_CONDITION) },
	{ "pthread_cond_signal", ENDS(WAIT_FOR_CONDITION) },
	{ "pthread_cond_broadcast", ENDS(WAIT_FOR_CONDITION) },
	{ "cnd_signal", ENDS(WAIT_FOR_CONDITION) },
	{ "cnd_broadcast", ENDS(WAIT_FOR_CONDITION) },
	{ "std::condition_variable*::notify_*", ENDS(WAIT_FOR_CONDITION) },
	{ "java.lang.Object.notify*", ENDS(WAIT_FOR_CONDITION) },
	{ "*LockSupport.unpark", ENDS(WAIT_FOR_CONDITION) },
	{ "sem_wait", WAITS(WAIT_FOR_SEMAPHORE) },
	{ "sem_timedwait", WAITS(WAIT_FOR_SEMAPHORE) },
	{ "sem_post", ENDS(WAIT_FOR_SEMAPHORE) },
	{ "MPI_Wait*", WAITS(WAIT_FOR_MESSAGE) },
	{ "MPI_Recv", WAITS(WAIT_FOR_MESSAGE) },
	{ "MPI_Probe", WAITS(WAIT_FOR_MESSAGE) },
	{ "MPI_Sendrecv", WAITS(WAIT_FOR_MESSAGE) },
	{ "MPI_*[Ss]end", ENDS(WAIT_FOR_MESSAGE) },
	{ "poll", WAITS(WAIT_FOR_ANYTHING) },
	{ "ppoll", WAITS(WAIT_FOR_ANYTHING) },
	{ "select", WAITS(WAIT_FOR_ANYTHING) },
	{ "pselect", WAITS(WAIT_FOR_ANYTHING) },
	{ "epoll_wait", WAITS(WAIT_FOR_ANYTHING) },
	{ "epoll_pwait", WAITS(WAIT_FOR_ANYTHING) },
	{ "futex", WAITS(WAIT_FOR_ANYTHING) },
	{ "accept", WAITS(WAIT_FOR_ANYTHING) },
	{ "recv", WAITS(WAIT_FOR_ANYTHING) },
	{ "recvmsg", WAITS(WAIT_FOR_ANYTHING) },
	{ "nanosleep", WAITS(WAIT_FOR_ANYTHING) },
	{ "cudaDeviceSynchronize", WAITS(WAIT_FOR_ANYTHING) },
	{ "cudaStreamSynchronize", WAITS(WAIT_FOR_ANYTHING) },
	{ "pthread_create", { .creates = true } },
	{ "thrd_create", { .creates = true } },
	{ "fork", { .creates = true } },
	{ "std::thread::thread*", { .creates = true } },
	{ "*Thread.start", { .creates = true } },
	{ "GOMP_parallel*", { .creates = true } },
};

static struct critical_role find_role(const char *name)
{
	char plain[128];
	size_t length = strcspn(name, "(<@");

	if (!length || length >= sizeof(plain))
		return (struct critical_role){ .is_known = true };
	memcpy(plain, name, length);
	plain[length] = '\0';
	for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++) {
		if (!fnmatch(known_names[i].pattern, plain, 0)) {
			struct critical_role role = known_names[i].role;

			role.is_known = true;
			return role;
		}
	}
	return (struct critical_role){ .is_known = true };
}

struct critical_role critical_role_of(struct critical_names *names, uint32_t function)
{
	const struct sonde_function *definition;
	struct critical_role *role;

	if (function < names->roles.count && names->roles.items[function].is_known)
		return names->roles.items[function];
	definition = sonde_definitions_function(names->definitions, function);
	while (definition && names->roles.count <= function) {
		role = sonde_vec_push(&names->roles);
		if (!role)
			return (struct critical_role){ 0 };
		*role = (struct critical_role){ 0 };
	}
	if (!definition)
		return (struct critical_role){ 0 };
	role = &names->roles.items[function];
	*role = find_role(sonde_definitions_string(names->definitions, definition->name));
	return *role;
}

void critical_names_release(struct critical_names *names)
{
	sonde_vec_release(&names->roles);
}
