/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets up a process for recording: opens the memory of the launcher, takes a slot, tells what is
 * loaded and waits for the answer; a forked child takes a slot of its own. Also knows whether the
 * launcher lives, and sees the end of threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "runtime/annotate.h"
#include "runtime/system.h"

enum { SAFE_KEYS = 32 }; /* pthread_setspecific() allocates for higher ones */

/* What hooks find where nothing is recorded: never equal, so they go the general way. */
static struct rt_process no_process;
static struct shared_control no_control = { .mode = MODE_OFF };

struct rt_process *rt_process = &no_process;
struct shared_control *rt_control = &no_control;
char *rt_memory;
_Atomic bool rt_was_put_off;
struct shared_process rt_answer; /* kept apart: after a fork the parent's slot can vanish */

static struct shared_process *slot; /* ours, after a fork still the parent's */
static char memory_path[64];	    /* in the launcher's /proc */
static bool at_home;		    /* in its namespace of process ids */
static _Atomic uint32_t starter;    /* the thread that sets up; 0: none */
static uint32_t generations;
static _Atomic uint64_t forks;
static uint32_t forked_paused, forked_detail; /* the state of the process before a fork */
static pthread_key_t end_key;
static bool have_end_key;

/* ---- the launcher ---- */

void rt_wake_launcher(void)
{
	atomic_fetch_add(&rt_control->wake, 1);
	if (rt_control->sleeping)
		rt_futex_wake(&rt_control->wake);
}

void rt_off(void)
{
	rt_was_put_off = true;
	sonde_annotate_on = 0;
	rt_process->ready = 0;
	rt_process->generation = 0;
}

bool rt_launcher_lives(void)
{
	if (rt_is_over())
		return false;
	/* what the kernel writes where the owner of a robust mutex ends; trylock is not for handlers */
	if (!(*(volatile int *)&rt_control->lives.__data.__lock & FUTEX_OWNER_DIED))
		return true;
	rt_control->mode = MODE_OFF; /* of all its processes: nobody else will */
	rt_off();
	return false;
}

bool rt_wait(_Atomic uint32_t *word, uint32_t value, long most_ns)
{
	rt_futex_wait(word, value, most_ns);
	return rt_launcher_lives();
}

/* ---- setting up ---- */

static uint32_t ready_now(void)
{
	if (!rt_process->generation || rt_process->paused == RT_PAUSED || rt_process->loading ||
	    rt_control->clock != SHARED_CLOCK_TSC)
		return 0;
	return MODE_PLAIN;
}

void rt_set_ready(void)
{
	/* Another thread may be doing the same with other news. */
	do
		rt_process->ready = ready_now();
	while (rt_process->ready != ready_now());
}

static bool is_usable(const struct shared_control *control, uint64_t size)
{
	return control->magic == SHARED_MAGIC && control->version == SHARED_VERSION &&
	       control->size <= size && control->processes < control->filters &&
	       control->rings < control->filters && control->events_before < control->filters &&
	       control->modules < control->filters && control->filters < control->rings_memory &&
	       control->rings_memory < size && control->chunk_size && control->chunk_count &&
	       control->ring_count && control->process_count && control->module_count;
}

/* Maps the memory; the file descriptor is closed again. */
static bool map_memory(const char *path)
{
	long fd = RT_CALL3(SYS_open, path, O_RDWR | O_CLOEXEC, 0), size;
	struct shared_control *control;
	void *all;

	if (fd < 0)
		return false;
	size = RT_CALL3(SYS_lseek, fd, 0, SEEK_END);
	all = MAP_FAILED;
	if (size >= (long)sizeof(*control))
		all = (void *)rt_call(SYS_mmap, 0, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd,
				      0);
	RT_CALL1(SYS_close, fd);
	if ((unsigned long)all >= -4095UL)
		return false;
	control = all;
	if (RT_CALL3(SYS_mprotect, all, 4096, PROT_READ | PROT_WRITE) ||
	    !is_usable(control, (uint64_t)size) ||
	    RT_CALL3(SYS_mprotect, all, control->filters, PROT_READ | PROT_WRITE)) {
		RT_CALL2(SYS_munmap, all, size);
		return false;
	}
	RT_CALL3(SYS_madvise, all, size, MADV_DONTDUMP);
	if (strlen(path) < sizeof(memory_path))
		memcpy(memory_path, path, strlen(path));
	rt_memory = all;
	rt_control = control;
	return true;
}

/* What is not used stays out of reach, or mlockall() would fill it. */
bool rt_open_filter(const struct shared_process *answer)
{
	uint64_t first = answer->filter & ~UINT64_C(4095);
	uint64_t end = answer->filter + (answer->filter_mask + 1) * sizeof(struct shared_filter);

	return !answer->filter_mask ||
	       !RT_CALL3(SYS_mprotect, rt_shared(first), end - first, PROT_READ);
}

/* The page that a fork wipes. */
static bool map_process(void)
{
	void *page = rt_map(4096);

	if (!page)
		return false;
	if (RT_CALL3(SYS_madvise, page, 4096, MADV_WIPEONFORK)) {
		RT_CALL2(SYS_munmap, page, 4096);
		return false;
	}
	rt_process = page;
	return true;
}

/* The last number that a link of /proc names; 0: none. */
static uint32_t number_in_link(const char *path)
{
	char text[64] = "";
	long size = RT_CALL3(SYS_readlink, path, text, sizeof(text));
	uint32_t number = 0;

	for (long i = 0; i < size; i++)
		number = text[i] == '/' ? 0 : number * 10 + (uint32_t)(text[i] - '0');
	return number;
}

/*
 * We are in the launcher's namespace of process ids. In a chroot there may be no /proc that says so,
 * but then our parent was there, and the kernel shows no parent to who is in another than that.
 */
static bool is_at_home(void)
{
	struct stat namespace = { .st_ino = 0 };

	if (!RT_CALL2(SYS_stat, "/proc/self/ns/pid", &namespace))
		at_home = namespace.st_ino == rt_control->namespace;
	else if (!RT_CALL0(SYS_getppid))
		at_home = false;
	return at_home;
}

/* /proc has the ids that the launcher knows: it is one in which our memory is found. */
static bool is_proc_outside(void)
{
	struct stat found = { .st_ino = 0 };

	return !RT_CALL2(SYS_stat, memory_path, &found) && found.st_ino == rt_control->inode;
}

/* The id that the launcher knows us by; 0: it cannot be seen from here. */
static uint32_t id_outside(void)
{
	if (is_at_home())
		return (uint32_t)RT_CALL0(SYS_getpid);
	return is_proc_outside() ? number_in_link("/proc/self") : 0;
}

uint32_t rt_thread_id(void)
{
	uint32_t inside = (uint32_t)RT_CALL0(SYS_gettid), outside = 0;

	if (inside == slot->pid_inside)
		return slot->pid;
	if (!at_home && is_proc_outside())
		outside = number_in_link("/proc/thread-self");
	return outside ? outside : inside;
}

/* The launcher looks for us among all processes. Without a pid it would not know when we are gone. */
static bool ask_id(void)
{
	atomic_store(&slot->state, PROCESS_ASKING);
	rt_wake_launcher();
	while (slot->state == PROCESS_ASKING)
		if (!rt_wait(&slot->state, PROCESS_ASKING, LONG_WAIT_NS))
			return false;
	if (slot->pid)
		return true;
	atomic_fetch_add(&rt_control->hidden_processes, 1);
	slot->state = PROCESS_FREE;
	return false;
}

static bool take_slot(void)
{
	struct shared_process *slots = rt_shared(rt_control->processes);
	uint32_t state;

	for (uint32_t i = 0; i < rt_control->process_count; i++) {
		state = PROCESS_FREE;
		if (slots[i].state != PROCESS_FREE ||
		    !atomic_compare_exchange_strong(&slots[i].state, &state, PROCESS_TAKEN))
			continue;
		rt_raise(&rt_control->processes_high, i);
		slot = &slots[i];
		rt_process->slot = i;
		slot->pid_inside = (uint32_t)RT_CALL0(SYS_getpid);
		slot->pid = id_outside();
		if (!slot->pid && !ask_id())
			return false;
		slot->parent = SHARED_NONE;
		slot->parent_ring = SHARED_NONE;
		slot->fork_number = 0;
		slot->missed_calls = 0;
		slot->cut_arguments = 0;
		slot->refused_resources = 0;
		slot->start_time = rt_clock();
		slot->filter_mask = 0;
		slot->filter_default = FILTER_RECORD;
		slot->patch_count = 0;
		RT_CALL2(SYS_prctl, PR_GET_NAME, slot->name);
		return true;
	}
	atomic_fetch_add(&rt_control->lost_processes, 1);
	return false;
}

static bool set_up_first(void)
{
	const char *path = getenv(SHARED_ENVIRONMENT);

	if (!path || !*path || !map_memory(path) || !map_process() || !take_slot())
		return false;
	slot->has_barrier = !RT_CALL2(SYS_membarrier, SHARED_BARRIER_JOIN, 0);
	have_end_key = !pthread_key_create(&end_key, rt_thread_ends) && end_key < SAFE_KEYS;
	rt_stack_remember_main();
	rt_load_scan();
	atomic_store(&slot->state, PROCESS_STARTING);
	rt_wake_launcher();
	while (slot->state == PROCESS_STARTING)
		if (!rt_wait(&slot->state, PROCESS_STARTING, LONG_WAIT_NS))
			return false;
	memcpy(&rt_answer, slot, sizeof(rt_answer));
	if (!rt_open_filter(&rt_answer))
		return false;
	rt_process->generation = ++generations;
	rt_patch_start();
	return true;
}

/* A forked child goes on as its parent was, in a slot of its own. Only this thread is in it. */
static bool set_up_child(void)
{
	struct rt_thread *thread = &rt_thread;
	struct shared_process *parent = slot;

	if (!rt_control->follow || rt_control->mode <= MODE_OFF || !take_slot())
		return false;
	slot->parent =
		(uint32_t)(parent - (struct shared_process *)rt_shared(rt_control->processes));
	if (thread->room)
		slot->parent_ring = (uint32_t)(thread->ring -
					       (struct shared_ring *)rt_shared(rt_control->rings));
	slot->fork_number = thread->fork_number;
	slot->has_barrier = rt_answer.has_barrier; /* a fork hands it on */
	slot->filter = rt_answer.filter;
	slot->filter_mask = rt_answer.filter_mask;
	slot->filter_default = rt_answer.filter_default;
	slot->patch_count = rt_answer.patch_count;
	memcpy(slot->patch, rt_answer.patch, sizeof(slot->patch));
	*thread = (struct rt_thread){ .next = NULL };
	if (slot->fork_number) {
		rt_process->paused = forked_paused;
		rt_process->detail = forked_detail;
	}
	rt_load_forked();
	rt_process->generation = ++generations;
	atomic_store(&slot->state, PROCESS_RUNNING);
	rt_wake_launcher();
	return true;
}

/* One thread sets up; true for it. The others wait until it is done. */
static bool become_starter(uint32_t self)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	uint32_t other = 0;

	while (!atomic_compare_exchange_strong(&starter, &other, self)) {
		if (other == self)
			return false; /* from inside of the setting up */
		RT_CALL2(SYS_nanosleep, &pause, NULL);
		if (RT_CALL3(SYS_tgkill, RT_CALL0(SYS_getpid), other, 0) != -ESRCH)
			other = 0;
	}
	return true;
}

bool rt_start(void)
{
	int saved_errno;
	uint64_t mask;

	if (rt_was_put_off)
		return false;
	saved_errno = errno;
	mask = rt_block_signals();
	if (become_starter((uint32_t)RT_CALL0(SYS_gettid))) {
		if (!rt_was_put_off && !rt_process->generation) {
			if (rt_memory ? set_up_child() : set_up_first())
				rt_set_ready();
			else
				rt_off();
		}
		starter = 0;
	}
	rt_restore_signals(mask);
	errno = saved_errno;
	return rt_process->generation;
}

/* ---- fork and the end of threads ---- */

void rt_fork_before(void)
{
	if (!rt_is_on())
		return;
	forked_paused = rt_process->paused;
	forked_detail = rt_process->detail;
	rt_thread.fork_number = ++forks;
	rt_record(UNIT_FORK, 0, (uint64_t)__builtin_frame_address(0), rt_thread.fork_number, NULL);
}

void rt_fork_after(bool child)
{
	if (child && rt_memory && !rt_was_put_off)
		rt_start();
	rt_thread.fork_number = 0;
}

/*
 * Destructors of other keys may call instrumented functions, so the ring is kept until the last
 * round of them.
 */
void rt_thread_ends(void *unused)
{
	int saved_errno = errno;

	if (!rt_process->generation)
		return; /* in a child that is not recorded: the ring is its parent's */
	if (++rt_thread.ending < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(end_key, unused);
	else
		rt_ring_end();
	errno = saved_errno;
}

void rt_watch_thread_end(void)
{
	if (have_end_key)
		pthread_setspecific(end_key, &rt_thread);
}

/* ---- the constructor ---- */

/* Children are not recorded: takes us out of the environment that they get. */
static void leave_environment(void)
{
	const char *preload = getenv("LD_PRELOAD"), *name;
	char left[PATH_MAX], *end = left;
	size_t size;

	unsetenv(SHARED_ENVIRONMENT);
	if (!preload || strlen(preload) >= sizeof(left))
		return;
	while (*preload) {
		size = strcspn(preload, ": ");
		name = memmem(preload, size, "libsonde-rt.so", 14);
		if (!name && size) {
			if (end > left)
				*end++ = ':';
			memcpy(end, preload, size);
			end += size;
		}
		preload += size + (preload[size] != 0);
	}
	*end = 0;
	if (end > left)
		setenv("LD_PRELOAD", left, 1);
	else
		unsetenv("LD_PRELOAD");
}

__attribute__((constructor(101))) static void begin(int argc, char **argv)
{
	int saved_errno = errno;

	rt_record_itself(argc, argv);
	rt_start();
	if (rt_memory && !rt_control->follow)
		leave_environment();
	errno = saved_errno;
}
