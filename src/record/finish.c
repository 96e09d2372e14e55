/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a recording: what a flight recorder still has, the list of functions that each process
 * called, the files, and the numbers for the summary.
 */
#include "record/finish.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/map.h"
#include "base/now.h"
#include "record/define.h"
#include "record/process.h"

/* finish_define() takes at most this part of the time, and not all of it in a burst. */
#define DEFINE_SHARE 50
#define DEFINE_REST_NS (UINT64_C(20) * 1000 * 1000)

static bool collect_module(struct recorded_process *process, uint32_t number)
{
	struct load_map_module *module = process->map.modules[number];
	uint64_t words = module->met ? (module->high - module->low + 63) / 64 : 0;

	for (uint64_t i = 0; i < words; i++) {
		uint64_t word = module->met[i];

		for (; word; word &= word - 1) {
			uint64_t address = module->low + i * 64 + (uint64_t)__builtin_ctzll(word) -
					   module->base;
			struct session_function *function = sonde_vec_push(&process->functions);

			if (!function)
				return false;
			*function = (struct session_function){
				.id = (uint64_t)module->id << 32 | (uint32_t)address,
				.module = number,
			};
		}
	}
	free(module->met);
	module->met = NULL;
	return true;
}

/* Addresses in no module; their numbers are in a map from the address. */
static void collect_unknown(struct recorded_process *process)
{
	struct sonde_key_map *ids = process->map.unknown_ids;
	const struct sonde_key_slots *slots = ids ? atomic_load(&ids->current) : NULL;

	for (size_t i = 0; slots && i < slots->size; i++) {
		uint32_t number = atomic_load(&slots->slots[i].value_plus_one);
		struct session_function *function;

		if (!number || !process->map.unknown)
			continue;
		function = sonde_vec_push(&process->functions);
		if (function)
			*function = (struct session_function){
				.id = (uint64_t)process->map.unknown->id << 32 | (number - 1),
				.address = atomic_load(&slots->slots[i].key),
				.module = SONDE_NONE,
			};
	}
}

static int compare_functions(const void *left, const void *right)
{
	const struct session_function *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

void finish_collect(struct recorded_process *process)
{
	size_t kept = 0;

	if (process->collected)
		return;
	process->collected = true;
	for (uint32_t i = 0; i < process->map.count; i++)
		if (!collect_module(process, i))
			break;
	collect_unknown(process);
	if (process->functions.count)
		qsort(process->functions.items, process->functions.count,
		      sizeof(*process->functions.items), compare_functions);
	/* a module that was loaded twice has the same functions twice */
	for (size_t i = 0; i < process->functions.count; i++)
		if (!kept ||
		    process->functions.items[kept - 1].id != process->functions.items[i].id)
			process->functions.items[kept++] = process->functions.items[i];
	process->functions.count = kept;
}

static bool has_crashed(const struct session *session)
{
	int status = session->result->wait_status;

	if (!atomic_load(&session->child_ended) || !WIFSIGNALED(status))
		return false;
	switch (WTERMSIG(status)) {
	case SIGSEGV:
	case SIGABRT:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGSYS:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}

/* A session needs a process, even where nothing was recorded. */
static void open_any(struct session *session)
{
	struct sonde_error ignored;
	struct recorded_process *process;

	if (session->written.count)
		return;
	if (session->processes.count) {
		process_open(session, session->processes.items[0], &ignored);
		return;
	}
	process = calloc(1, sizeof(*process));
	if (!process || !sonde_vec_reserve(&session->processes, 1)) {
		free(process);
		return;
	}
	process->pid = session->child;
	process->pidfd = -1;
	process->number = SONDE_NONE;
	process->start_ns = session->clock.first.boottime_ns;
	session->processes.items[session->processes.count++] = process;
	process_open(session, process, &ignored);
}

static bool has_hooks(struct session *session, const struct recorded_process *process)
{
	for (size_t i = 0; i < process->map.count; i++) {
		const struct module_file *file = selection_file(session, process->map.modules[i]);

		if (file && selection_has_hooks(session, file))
			return true;
	}
	return false;
}

/* What could not be patched, of all that was loaded. */
static void count_unpatched(struct session *session)
{
	struct record_result *result = session->result;

	for (size_t i = 0; i < session->selection.files.count; i++) {
		const struct module_file *file = session->selection.files.items[i];

		result->entries_too_short += file->entries_too_short;
		result->entries_not_writable += file->entries_not_writable;
	}
	for (size_t i = 0; i < session->processes.count; i++)
		result->missed_calls += session->processes.items[i]->missed_calls;
}

/* Those that have a track; a thread has one for each of its stacks. */
static void count_threads(struct session *session)
{
	struct record_result *result = session->result;
	bool *seen = calloc(session->serials, sizeof(*seen));

	for (size_t i = 0; i < session->tracks.count; i++) {
		const struct lane *lane = session->tracks.items[i];

		result->threads += !seen || !seen[lane->serial];
		if (seen)
			seen[lane->serial] = true;
	}
	free(seen);
}

static void count_result(struct session *session)
{
	struct record_result *result = session->result;
	uint64_t lost_threads = atomic_load(&session->memory.control->lost_threads);
	uint64_t lost_processes = atomic_load(&session->memory.control->lost_processes);
	uint64_t hidden = atomic_load(&session->memory.control->hidden_processes);
	uint64_t refused = 0;

	for (size_t i = 0; i < session->processes.count; i++) {
		const struct recorded_process *process = session->processes.items[i];

		result->instrumented += process->events || process->patchable ||
					process->sites.items.count;
		result->cut_arguments += process->cut_arguments;
		refused += process->refused_resources;
		result->processes += process->events != 0;
	}
	/* Filters, or a program that called nothing, may have left no event. */
	for (size_t i = 0; i < session->processes.count && !result->instrumented; i++)
		result->instrumented += has_hooks(session, session->processes.items[i]);
	result->details = atomic_load(&session->details);
	result->dumps = session->flight.dumps;
	result->total.events = atomic_load(&session->events);
	result->total.dropped = atomic_load(&session->dropped);
	result->total.bytes = atomic_load(&session->bytes);
	count_threads(session);
	count_unpatched(session);
	result->incomplete = session->failed || session->lost || lost_threads || lost_processes ||
			     hidden || result->missed_calls || session->annotations_lost;
	if (result->missed_calls)
		session_problem(session,
				"%llu calls were not recorded: there was no memory to keep "
				"their return addresses",
				(unsigned long long)result->missed_calls);
	if (refused)
		session_problem(session, "%llu resources were larger than 64 MB, and were not kept",
				(unsigned long long)refused);
	if (session->annotations_lost)
		session_problem(session, "%llu annotations are missing: not all of them came",
				(unsigned long long)session->annotations_lost);
	if (lost_processes)
		session_problem(session,
				"%llu processes found no free slot, since too many ran at once: "
				"they were not recorded",
				(unsigned long long)lost_processes);
	if (hidden)
		session_problem(session,
				"%llu processes in a namespace of their own could not be told from "
				"others: they were not recorded",
				(unsigned long long)hidden);
	if (lost_threads)
		session_problem(session,
				"%llu threads found no free ring, since too many ran at once: "
				"they were not recorded",
				(unsigned long long)lost_threads);
}

void finish_define(struct session *session)
{
	uint64_t begun_ns = sonde_now_ns(CLOCK_BOOTTIME), now_ns;
	struct sonde_definitions *definitions = NULL;
	struct sonde_error ignored; /* the session is as good without, if it is finished */

	session->changed = false;
	if (!session->written.count)
		return;
	if (define_session(session, false, &definitions, &ignored) == SONDE_OK)
		atf_recorder_define(session->recorder, definitions, &ignored);
	sonde_definitions_free(definitions);
	now_ns = sonde_now_ns(CLOCK_BOOTTIME);
	session->define_after_ns = now_ns + DEFINE_REST_NS + DEFINE_SHARE * (now_ns - begun_ns);
}

void finish_session(struct session *session)
{
	struct sonde_definitions *definitions = NULL;
	struct sonde_error err;
	uint64_t lost = 0;

	if (!session->failed && flight_finish(session, has_crashed(session), &err) < 0)
		session_fail(session, &err);
	open_any(session);
	for (size_t i = 0; i < session->processes.count; i++)
		process_count_missed(session, session->processes.items[i]);
	if (define_session(session, true, &definitions, &err) < 0)
		session_fail(session, &err);
	if (definitions && atf_recorder_finish(session->recorder, definitions, &lost, &err) < 0)
		session_fail(session, &err);
	session->lost += lost;
	if (lost)
		atomic_fetch_sub(&session->events, lost);
	atomic_store(&session->bytes, atf_recorder_bytes(session->recorder));
	count_result(session);
	sonde_definitions_free(definitions);
}
