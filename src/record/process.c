/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded processes by their slots in shared memory. A slot that waits for an answer belongs to a
 * program that just started; one that runs without ever having asked belongs to a forked child.
 * Slots of dead processes are kept for a while: a child that forked from them may come late.
 */
#include "record/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/drain.h"
#include "record/finish.h"
#include "record/names.h"
#include "record/proc_file.h"

enum {
	DEAD_SLOTS_MAX = 256,
};

#define MILLISECOND UINT64_C(1000000)
#define POLL_NS (5 * MILLISECOND)
#define LOG_STUCK_NS (1000 * MILLISECOND)

static void set_gone(struct session *session, struct recorded_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pidfd = -1;
	process->alive = false;
	process->end_ns = session->now_ns;
}

/* Where the kernel has no pidfd_open(), or a sandbox forbids it. A zombie counts as gone. */
static bool is_gone(const struct session *session, const struct recorded_process *process)
{
	char text[256], *state;

	if (process->pid == session->child)
		return atomic_load(&session->child_ended);
	if (proc_file_read(text, sizeof(text), "/proc/%u/stat", process->pid) < 0)
		return kill((pid_t)process->pid, 0) && errno == ESRCH;
	state = strrchr(text, ')');
	return !text[0] || (state && (state[1] == ' ' && strchr("ZX", state[2])));
}

static void poll_without_files(struct session *session)
{
	uint32_t high = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < high; i++) {
		struct recorded_process *process = session->slots[i];

		if (process && process->alive && process->pidfd < 0 && is_gone(session, process))
			set_gone(session, process);
	}
}

void process_poll(struct session *session, bool again)
{
	uint32_t high = shared_memory_processes_high(&session->memory);
	struct pollfd *files;
	size_t count = 0;

	if (!again && session->now_ns - session->polled_ns < POLL_NS)
		return;
	session->polled_ns = session->now_ns;
	poll_without_files(session);
	files = calloc(high + 1, sizeof(*files));
	if (!files)
		return;
	for (uint32_t i = 0; i < high; i++)
		if (session->slots[i] && session->slots[i]->pidfd >= 0)
			files[count++] = (struct pollfd){
				.fd = session->slots[i]->pidfd,
				.events = POLLIN,
			};
	if (count && poll(files, count, 0) > 0) {
		count = 0;
		for (uint32_t i = 0; i < high; i++) {
			if (!session->slots[i] || session->slots[i]->pidfd < 0)
				continue;
			if (files[count++].revents)
				set_gone(session, session->slots[i]);
		}
	}
	free(files);
}

bool process_any_alive(const struct session *session)
{
	uint32_t high = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < high; i++)
		if (session->slots[i] && session->slots[i]->alive)
			return true;
	return false;
}

enum sonde_status process_open(struct session *session, struct recorded_process *process,
			       struct sonde_error *err)
{
	enum sonde_status status;

	if (process->number != SONDE_NONE)
		return SONDE_OK;
	if (!sonde_vec_reserve(&session->written, 1))
		return sonde_fail_nomem(err);
	status = atf_recorder_add_process(session->recorder, process->pid, &process->number, err);
	if (status < 0) {
		process->number = SONDE_NONE;
		return status;
	}
	session->written.items[session->written.count++] = process;
	return SONDE_OK;
}

/* The module that is at this address now. */
static const struct load_map_module *find_module(const struct recorded_process *process,
						 uint64_t base)
{
	for (size_t i = process->map.count; i--;)
		if (process->map.modules[i]->base == base && !process->map.modules[i]->unloaded)
			return process->map.modules[i];
	return NULL;
}

/* A module that was just loaded, or is gone, goes into the answer for its process. */
static enum sonde_status take_module(struct session *session, struct recorded_process *process,
				     const struct shared_module *entry, struct sonde_error *err)
{
	const struct load_map_module *module = find_module(process, entry->base);
	enum sonde_status status;

	if (entry->news == MODULE_SITE) {
		session->changed = true;
		return sites_apply(&process->sites, &session->types, entry, err);
	}
	if (entry->news == MODULE_UNPATCHED) {
		if (module)
			selection_note_unpatched(session, module, entry);
		return SONDE_OK;
	}
	session->changed = true;
	status = load_map_apply(&process->map, entry, err);
	if (status < 0 || process->refused)
		return status;
	if (module && entry->news == MODULE_UNLOADED)
		selection_remove_module(session, process, module);
	if (entry->news != MODULE_LOADED)
		return SONDE_OK;
	module = find_module(process, entry->base);
	if (module)
		selection_add_module(session, process, module);
	return SONDE_OK;
}

static enum sonde_status take_entry(struct session *session, const struct shared_module *entry,
				    struct sonde_error *err)
{
	struct recorded_process *process;
	struct shared_module *early;

	if (entry->process >= session->memory.control->process_count)
		return SONDE_OK;
	process = session->slots[entry->process];
	if (process)
		return process->closed ? SONDE_OK : take_module(session, process, entry, err);
	early = sonde_vec_push(&session->early);
	if (!early)
		return sonde_fail_nomem(err);
	memcpy(early, entry, sizeof(*early));
	return SONDE_OK;
}

/* An entry that somebody began and never finished must not stop the log. */
static bool is_log_stuck(struct session *session)
{
	if (!session->log_stuck_ns)
		session->log_stuck_ns = session->now_ns;
	return session->now_ns - session->log_stuck_ns > LOG_STUCK_NS;
}

enum sonde_status process_read_log(struct session *session, struct sonde_error *err)
{
	struct shared_control *control = session->memory.control;
	uint64_t number = atomic_load(&control->modules_read);

	while (number < atomic_load(&control->modules_begun)) {
		struct shared_module *entry =
			&session->memory.modules[number % control->module_count];
		bool ready = atomic_load_explicit(&entry->ready, memory_order_acquire) ==
			     number + 1;
		enum sonde_status status;

		if (!ready && !is_log_stuck(session))
			return SONDE_OK;
		session->log_stuck_ns = 0;
		status = ready ? take_entry(session, entry, err) : SONDE_OK;
		atomic_store(&control->modules_read, ++number);
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

/* An entry that somebody else is about to finish stands before what a process told already. */
void process_look_ahead(struct session *session, struct recorded_process *process)
{
	struct shared_control *control = session->memory.control;
	uint64_t number = atomic_load(&control->modules_read);
	uint64_t end = atomic_load(&control->modules_begun);
	struct sonde_error ignored;

	for (; number < end && number - atomic_load(&control->modules_read) < control->module_count;
	     number++) {
		struct shared_module *entry =
			&session->memory.modules[number % control->module_count];

		if (atomic_load_explicit(&entry->ready, memory_order_acquire) == number + 1 &&
		    entry->process == process->slot && entry->news == MODULE_SITE)
			sites_apply(&process->sites, &session->types, entry, &ignored);
	}
}

/* Applies what the log said about a slot before its process was known. */
static enum sonde_status take_early(struct session *session, struct recorded_process *process,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t kept = 0;

	for (size_t i = 0; i < session->early.count; i++) {
		struct shared_module *entry = &session->early.items[i];

		if (entry->process != process->slot)
			memmove(&session->early.items[kept++], entry, sizeof(*entry));
		else if (status == SONDE_OK)
			status = take_module(session, process, entry, err);
	}
	session->early.count = kept;
	return status;
}

/* The same pid in another slot: the program there was replaced by exec. */
static void end_replaced(struct session *session, uint32_t pid)
{
	uint32_t high = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < high; i++)
		if (session->slots[i] && session->slots[i]->alive && session->slots[i]->pid == pid)
			set_gone(session, session->slots[i]);
}

static struct recorded_process *new_process(struct session *session, uint32_t number,
					    struct sonde_error *err)
{
	const struct shared_process *slot = &session->memory.processes[number];
	struct recorded_process *process = calloc(1, sizeof(*process));

	if (!process || !sonde_vec_reserve(&session->processes, 1)) {
		free(process);
		sonde_fail_nomem(err);
		return NULL;
	}
	process->slot = number;
	process->pid = slot->pid;
	process->number = SONDE_NONE;
	process->start_ns = record_clock_ns(&session->clock, slot->start_time);
	process->refused = !session->options->follow && slot->pid != session->child;
	session_copy_name(process->name, slot->name);
	if (!process->name[0])
		names_read(process->pid, process->pid, process->name);
	if (!slot->has_barrier)
		session->no_barrier = true;
	end_replaced(session, slot->pid);
	process->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)slot->pid, 0);
	process->alive = process->pidfd >= 0 || errno != ESRCH;
	if (!process->alive)
		set_gone(session, process);
	session->processes.items[session->processes.count++] = process;
	session->slots[number] = process;
	session->news = true;
	return process;
}

/* A forked child has that of its parent, even if the system tells another of it by now. */
static void take_command_line(struct recorded_process *process,
			      const struct recorded_process *parent)
{
	size_t size = parent ? parent->command_line_size : 0;

	if (!size) {
		process->command_line = names_command_line(process->pid, &size);
	} else {
		process->command_line = malloc(size);
		if (process->command_line)
			memcpy(process->command_line, parent->command_line, size);
	}
	if (process->command_line)
		process->command_line_size = size;
}

/* A program has started and waits: fills in the answer, and lets it go on. */
static enum sonde_status answer(struct session *session, uint32_t number, struct sonde_error *err)
{
	struct shared_process *slot = &session->memory.processes[number];
	struct recorded_process *process = new_process(session, number, err);
	enum sonde_status status;

	slot->patch_count = 0;
	slot->filter_mask = 0;
	slot->filter_default = process && !process->refused ? session->selection.default_action : 0;
	if (!process)
		status = SONDE_NOMEM;
	else
		status = load_map_init(&process->map, process->pid, err);
	if (process)
		take_command_line(process, NULL);
	if (status == SONDE_OK)
		status = take_early(session, process, err);
	if (status == SONDE_OK && !process->refused)
		selection_prepare(session, process);
	if (process)
		process->answered = true;
	atomic_store_explicit(&slot->state, PROCESS_RUNNING, memory_order_release);
	futex_wake(&slot->state);
	return status;
}

enum sonde_status process_note_fork(struct recorded_thread *thread, uint64_t number,
				    struct sonde_error *err)
{
	struct session *session = thread->session;
	struct fork_note *note = &session->forks[session->fork_count++ % SESSION_FORK_NOTES];

	free(note->open);
	*note = (struct fork_note){
		.ring = thread->ring,
		.number = number,
		.process = thread->process,
	};
	return calls_copy_open(thread->calls, &note->open, &note->count, err);
}

static struct fork_note *find_note(struct session *session, const struct shared_process *slot)
{
	uint64_t count = session->fork_count < SESSION_FORK_NOTES ? session->fork_count :
								    SESSION_FORK_NOTES;

	for (uint64_t i = 1; i <= count; i++) {
		struct fork_note *note =
			&session->forks[(session->fork_count - i) % SESSION_FORK_NOTES];

		if (!note->met && note->ring == slot->parent_ring &&
		    note->number == slot->fork_number && note->process->slot == slot->parent)
			return note;
	}
	return NULL;
}

/* The note of the fork that a child came from; its parent's ring is read up to there. */
static enum sonde_status look_up_fork(struct session *session, const struct shared_process *slot,
				      struct fork_note **note, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*note = NULL;
	if (!slot->fork_number || slot->parent_ring >= session->memory.control->ring_count)
		return SONDE_OK;
	*note = find_note(session, slot);
	if (*note)
		return SONDE_OK;
	status = drain_ring(session, slot->parent_ring, err);
	if (status == SONDE_OK)
		*note = find_note(session, slot);
	return status;
}

/* A forked child recorded its first call. */
static enum sonde_status take_fork(struct session *session, uint32_t number,
				   struct sonde_error *err)
{
	const struct shared_process *slot = &session->memory.processes[number];
	struct recorded_process *parent = NULL, *process;
	struct fork_note *note;
	enum sonde_status status = look_up_fork(session, slot, &note, err);

	if (status < 0)
		return status;
	if (note)
		parent = note->process;
	else if (slot->parent < session->memory.control->process_count)
		parent = session->slots[slot->parent];
	process = new_process(session, number, err);
	if (!process)
		return SONDE_NOMEM;
	process->answered = true;
	take_command_line(process, parent);
	if (parent && !parent->collected)
		status = load_map_copy(&process->map, &parent->map, process->pid, err);
	else
		status = load_map_init(&process->map, process->pid, err);
	if (status < 0)
		return status;
	if (parent) {
		selection_share(process, parent);
		memcpy(process->patch_bases, parent->patch_bases, sizeof(process->patch_bases));
		process->patchable = parent->patchable;
	}
	if (note) {
		note->met = true;
		process->inherited = note->open;
		process->inherited_count = note->count;
		note->open = NULL;
		note->count = 0;
	}
	return take_early(session, process, err);
}

enum sonde_status process_round(struct session *session, struct sonde_error *err)
{
	enum sonde_status status = process_read_log(session, err);
	uint32_t count = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < count && status == SONDE_OK; i++) {
		uint32_t state = atomic_load_explicit(&session->memory.processes[i].state,
						      memory_order_acquire);

		if (state == PROCESS_ASKING)
			process_identify(session, &session->memory.processes[i]);
		if (state < PROCESS_STARTING || session->slots[i])
			continue;
		status = process_read_log(session,
					  err); /* what it wrote before it took this state */
		if (status == SONDE_OK)
			status = state == PROCESS_STARTING ? answer(session, i, err) :
							     take_fork(session, i, err);
	}
	return status;
}

/* Nobody refers to this slot any more: a new process may have it. */
static void give_slot_back(struct session *session, uint32_t number)
{
	struct recorded_process *process = session->slots[number];

	finish_collect(process);
	selection_drop(session, process);
	session->slots[number] = NULL;
	atomic_store_explicit(&session->memory.processes[number].state, PROCESS_FREE,
			      memory_order_release);
}

void process_count_missed(const struct session *session, struct recorded_process *process)
{
	const struct shared_process *slot = &session->memory.processes[process->slot];

	if (session->slots[process->slot] != process)
		return;
	process->missed_calls = atomic_load(&slot->missed_calls);
	process->cut_arguments = atomic_load(&slot->cut_arguments);
	process->refused_resources = atomic_load(&slot->refused_resources);
}

void process_close_dead(struct session *session)
{
	uint32_t high = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < high; i++) {
		struct recorded_process *process = session->slots[i];
		uint32_t *slot;

		if (!process || process->alive || process->closed || process->threads)
			continue;
		process->closed = true;
		process_count_missed(session, process);
		slot = sonde_vec_push(&session->slots_dead);
		if (slot)
			*slot = i;
	}
	while (session->slots_dead.items && session->slots_dead.count > DEAD_SLOTS_MAX) {
		give_slot_back(session, session->slots_dead.items[0]);
		memmove(session->slots_dead.items, session->slots_dead.items + 1,
			--session->slots_dead.count * sizeof(*session->slots_dead.items));
	}
}

void process_wave_through(struct session *session)
{
	struct shared_control *control = session->memory.control;
	uint32_t high = shared_memory_processes_high(&session->memory);

	atomic_store(&control->modules_read, atomic_load(&control->modules_begun));
	for (uint32_t i = 0; i < high; i++) {
		struct shared_process *slot = &session->memory.processes[i];

		if (atomic_load(&slot->state) != PROCESS_STARTING)
			continue;
		slot->patch_count = 0;
		slot->filter_mask = 0;
		slot->filter_default = 0;
		atomic_store(&slot->state, PROCESS_RUNNING);
		futex_wake(&slot->state);
	}
}

void process_free(struct session *session, struct recorded_process *process)
{
	if (!process)
		return;
	if (process->pidfd >= 0)
		close(process->pidfd);
	selection_drop(session, process);
	load_map_release(&process->map);
	sites_release(&process->sites);
	free(process->command_line);
	for (size_t i = 0; i < process->marks.count; i++)
		free(process->marks.items[i].text);
	sonde_vec_release(&process->marks);
	sonde_vec_release(&process->functions);
	free(process->inherited);
	free(process);
}
