/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording from start to end, as the thread that asked for it sees it: makes everything, starts
 * the program, then waits for it, for signals and for timers, while another thread reads the rings.
 */
#include "record/record.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "record/drain.h"
#include "record/lanes.h"
#include "record/launch.h"
#include "record/process.h"
#include "record/session.h"
#include "record/witness.h"

#define STATUS_NS UINT64_C(200000000)
/* Gathered before they are handed on: 16 KB, which stay in the nearest cache. */
#define EVENTS_AT_ONCE (1 << 9)

void session_problem(struct session *session, const char *format, ...)
{
	struct record_result *result = session->result;
	va_list arguments;

	if (result->problem_count == sizeof(result->problems) / sizeof(result->problems[0]))
		return;
	va_start(arguments, format);
	vsnprintf(result->problems[result->problem_count].text, sizeof(result->problems[0].text),
		  format, arguments);
	va_end(arguments);
	result->problem_count++;
}

void session_fail(struct session *session, const struct sonde_error *err)
{
	char text[400];

	if (session->failed)
		return;
	session->failed = true;
	atomic_store(&session->memory.control->mode, MODE_OFF);
	sonde_error_format(err, text, sizeof(text));
	session_problem(session, "recording stopped, the program went on: %s", text);
}

/* How hooks work while recording is on. */
static enum shared_mode mode_when_on(const struct session *session, bool detail)
{
	if (session->clock.kind != SHARED_CLOCK_TSC || session->selection.by_name)
		return MODE_GENERAL;
	return detail ? MODE_DETAIL : MODE_PLAIN;
}

static void session_switch(struct session *session, enum record_trigger_action action)
{
	struct shared_control *control = session->memory.control;
	uint32_t mode = atomic_load(&control->mode);

	if (mode == MODE_OFF)
		return;
	switch (action) {
	case TRIGGER_RECORD_ON:
		atomic_store(&control->mode, mode_when_on(session, atomic_load(&control->detail)));
		break;
	case TRIGGER_RECORD_OFF:
		atomic_store(&control->mode, MODE_PAUSED);
		break;
	case TRIGGER_DETAIL_ON:
	case TRIGGER_DETAIL_OFF:
		atomic_store(&control->detail, action == TRIGGER_DETAIL_ON);
		if (mode != MODE_PAUSED)
			atomic_store(&control->mode,
				     mode_when_on(session, action == TRIGGER_DETAIL_ON));
		break;
	case TRIGGER_DUMP:
		atomic_store(&session->dump, 1);
		drain_wake(session);
		break;
	}
}

static void session_release(struct session *session)
{
	while (session->threads.count)
		drain_free_thread(session->threads.items[--session->threads.count]);
	flight_release(session);
	for (size_t i = 0; i < session->tracks.count; i++) {
		lane_free(session->tracks.items[i]);
	}
	for (size_t i = 0; i < session->processes.count; i++)
		process_free(session, session->processes.items[i]);
	for (size_t i = 0; i < SESSION_FORK_NOTES; i++)
		free(session->forks[i].open);
	sonde_vec_release(&session->threads);
	sonde_vec_release(&session->tracks);
	sonde_vec_release(&session->processes);
	sonde_vec_release(&session->written);
	sonde_vec_release(&session->slots_dead);
	sonde_vec_release(&session->early);
	selection_release(&session->selection);
	site_types_release(&session->types);
	atf_recorder_free(session->recorder);
	shared_memory_release(&session->memory);
	free(session->slots);
	free(session->rings);
	free(session->copy);
	free(session->calls_options.events);
}

/* With details a record takes some four times the room, and its thread waits for more as often. */
static uint64_t usual_ring_size(const struct record_options *options)
{
	return options->detail ? 2 << 20 : 1 << 20;
}

/* A pause can end without the program having a part in it. */
static bool can_resume(const struct record_options *options)
{
	for (size_t i = 0; i < options->trigger_count; i++) {
		const struct record_trigger *trigger = &options->triggers[i];

		if (trigger->action == TRIGGER_RECORD_ON && trigger->kind != TRIGGER_SYMBOL)
			return true;
	}
	return false;
}

static enum sonde_status prepare_memory(struct session *session, struct sonde_error *err)
{
	const struct record_options *options = session->options;
	struct calls_options *calls = &session->calls_options;
	struct shared_memory_options memory = {
		.clock = session->clock.kind,
		.on_full = options->on_full,
		.stack_bytes = options->stack_bytes,
		.mode = options->start_paused ? MODE_PAUSED :
						mode_when_on(session, options->detail),
		.detail = options->detail,
		.follow = options->follow,
		.resumes = can_resume(options),
		.ring_size = options->ring_size ? options->ring_size : usual_ring_size(options),
	};
	enum sonde_status status = shared_memory_create(&session->memory, &memory, err);

	if (status < 0)
		return status;
	session->slots = calloc(session->memory.control->process_count, sizeof(*session->slots));
	session->rings = calloc(session->memory.control->ring_count, sizeof(*session->rings));
	session->copy = malloc(session->memory.control->chunk_size);
	calls->event_capacity = session->flight.enabled ? flight_batch(session) : EVENTS_AT_ONCE;
	calls->events = calloc(calls->event_capacity, sizeof(*calls->events));
	if (!session->slots || !session->rings || !session->copy || !calls->events)
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static enum sonde_status prepare(struct session *session, struct sonde_error *err)
{
	const struct record_options *options = session->options;
	enum sonde_status status;

	session->calls_options.max_depth = options->max_depth;
	session->calls_options.min_time_ns = options->min_time_ns;
	selection_init(session);
	flight_init(session);
	status = atf_recorder_create(options->output, options->replace, &session->recorder, err);
	if (status < 0)
		return status;
	record_clock_start(&session->clock, record_clock_choose());
	return prepare_memory(session, err);
}

/* What the waiting thread keeps. */
struct waiter {
	struct session *session;
	const struct record_observer *observer;
	pid_t child;
	struct witness witness;
	int signals; /* a signalfd */
	uint64_t start_ns, status_ns;
	bool *fired; /* for each trigger */
	bool stopped;
};

/* Fires the triggers of a signal; false where it is none of theirs. */
static bool fire_signal(struct session *session, int number)
{
	const struct record_options *options = session->options;
	bool fired = false;

	for (size_t i = 0; i < options->trigger_count; i++) {
		const struct record_trigger *trigger = &options->triggers[i];

		if (trigger->kind != TRIGGER_SIGNAL || trigger->signal != number)
			continue;
		session_switch(session, trigger->action);
		fired = true;
	}
	return fired;
}

static void stop(struct waiter *waiter)
{
	waiter->stopped = true;
	atomic_store(&waiter->session->memory.control->mode, MODE_OFF);
	atomic_store(&waiter->session->stop, 1);
	drain_wake(waiter->session);
}

static void reap(struct waiter *waiter)
{
	struct session *session = waiter->session;
	int status;

	if (atomic_load(&session->child_ended) || waitpid(waiter->child, &status, WNOHANG) <= 0)
		return;
	session->result->wait_status = status;
	atomic_store(&session->child_ended, 1);
	drain_wake(session);
}

/* Whether the program got a signal itself: from the terminal, or with its process group. */
static bool has_got(struct waiter *waiter, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;
	bool shared = witness_saw(&waiter->witness, number);

	if (info->ssi_code == SI_KERNEL && (number == SIGINT || number == SIGQUIT))
		return true;
	return shared && getpgid(waiter->child) == getpgrp();
}

static void take_signal(struct waiter *waiter, const struct signalfd_siginfo *info)
{
	struct session *session = waiter->session;
	int number = (int)info->ssi_signo;
	bool ended = atomic_load(&session->child_ended), got;

	if (number == SIGCHLD) {
		reap(waiter);
		return;
	}
	got = has_got(waiter, info);
	if (fire_signal(session, number))
		return;
	if (ended && (number == SIGINT || number == SIGTERM || number == SIGHUP))
		stop(waiter);
	else if (!ended && !got)
		kill(waiter->child, number);
}

static void take_signals(struct waiter *waiter)
{
	struct signalfd_siginfo info;

	while (read(waiter->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(waiter, &info);
}

/* Fires what is due, and says how long nothing more will be. */
static uint64_t run_timers(struct waiter *waiter, uint64_t now_ns)
{
	const struct record_options *options = waiter->session->options;
	uint64_t elapsed = now_ns - waiter->start_ns, next = elapsed + STATUS_NS;

	for (size_t i = 0; i < options->trigger_count; i++) {
		const struct record_trigger *trigger = &options->triggers[i];

		if (trigger->kind != TRIGGER_TIME || waiter->fired[i])
			continue;
		if (trigger->time_ns <= elapsed) {
			waiter->fired[i] = true;
			session_switch(waiter->session, trigger->action);
		} else if (trigger->time_ns < next) {
			next = trigger->time_ns;
		}
	}
	if (options->duration_ns && !waiter->stopped) {
		if (options->duration_ns <= elapsed)
			stop(waiter);
		else if (options->duration_ns < next)
			next = options->duration_ns;
	}
	return next - elapsed;
}

static void tell_status(struct waiter *waiter, uint64_t now_ns)
{
	struct session *session = waiter->session;
	struct record_status status = {
		.elapsed_ns = now_ns - waiter->start_ns,
		.events = atomic_load(&session->events),
		.dropped = atomic_load(&session->dropped),
		.bytes = atomic_load(&session->bytes),
		.program_ended = atomic_load(&session->child_ended),
		.writing = atomic_load(&session->writing),
	};

	if (!waiter->observer || !waiter->observer->status ||
	    now_ns - waiter->status_ns < STATUS_NS)
		return;
	waiter->status_ns = now_ns;
	waiter->observer->status(waiter->observer->context, &status);
}

/* Until the session is finished and the program has ended. */
static void await(struct waiter *waiter)
{
	struct session *session = waiter->session;

	while (!atomic_load(&session->done) || !atomic_load(&session->child_ended)) {
		uint64_t now_ns = sonde_now_ns(CLOCK_MONOTONIC);
		uint64_t left_ns = run_timers(waiter, now_ns);
		struct pollfd file = { .fd = waiter->signals, .events = POLLIN };
		bool ending = atomic_load(&session->child_ended) || waiter->stopped;

		tell_status(waiter, now_ns);
		if (ending && left_ns > 2000000)
			left_ns = 2000000; /* the other thread is about to be done */
		poll(&file, 1, (int)((left_ns + 999999) / 1000000));
		take_signals(waiter);
		reap(waiter);
	}
	session->result->total.elapsed_ns = sonde_now_ns(CLOCK_MONOTONIC) - waiter->start_ns;
	session->result->total.program_ended = true;
}

/* The signals that we take ourselves while the program runs. */
static void block_signals(const struct record_options *options, struct launch_signals *signals,
			  sigset_t *taken)
{
	static const int always[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
	struct sigaction standard = { .sa_handler = SIG_DFL };

	sigemptyset(taken);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		sigaddset(taken, always[i]);
	for (size_t i = 0; i < options->trigger_count; i++)
		if (options->triggers[i].kind == TRIGGER_SIGNAL)
			sigaddset(taken, options->triggers[i].signal);
	sigaction(SIGCHLD, &standard, &signals->child);
	pthread_sigmask(SIG_BLOCK, taken, &signals->mask);
}

static void restore_signals(const struct launch_signals *signals, const sigset_t *taken)
{
	const struct timespec none = { 0 };

	while (sigtimedwait(taken, NULL, &none) > 0)
		; /* what came at the end was meant for the program */
	sigaction(SIGCHLD, &signals->child, NULL);
	pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
}

static enum sonde_status run(struct waiter *waiter, const char *path,
			     const struct launch_signals *signals, struct sonde_error *err)
{
	struct session *session = waiter->session;
	pthread_t thread;
	enum sonde_status status;
	int failed;

	status = launch_start(session->options, path, session->memory.fd, signals, &waiter->child,
			      err);
	if (status < 0)
		return status;
	session->child = (uint32_t)waiter->child;
	session->result->started = true;
	waiter->start_ns = waiter->status_ns = sonde_now_ns(CLOCK_MONOTONIC);
	launch_raise_file_limit();
	failed = pthread_create(&thread, NULL, drain_main, session);
	if (failed) { /* the program runs on, unrecorded */
		errno = failed;
		sonde_fail_errno(err, NULL, "cannot start a thread");
		session_fail(session, err);
		process_wave_through(session);
		atomic_store(&session->done, 1);
	}
	await(waiter);
	atomic_store(&session->leave, 1);
	drain_wake(session);
	if (!failed)
		pthread_join(thread, NULL);
	return SONDE_OK;
}

enum sonde_status record_run(const struct record_options *options,
			     const struct record_observer *observer, struct record_result *result,
			     struct sonde_error *err)
{
	struct session *session = calloc(1, sizeof(*session));
	struct waiter waiter = { .session = session, .observer = observer, .signals = -1 };
	struct launch_signals signals;
	enum sonde_status status;
	char *path = NULL;
	sigset_t taken;

	memset(result, 0, sizeof(*result));
	waiter.fired = calloc(options->trigger_count + 1, sizeof(*waiter.fired));
	if (!session || !waiter.fired) {
		free(session);
		free(waiter.fired);
		return sonde_fail_nomem(err);
	}
	session->options = options;
	session->result = result;
	session->memory.fd = -1;
	witness_start(&waiter.witness);
	status = launch_find(options, &path, err);
	if (status == SONDE_OK)
		status = prepare(session, err);
	if (status == SONDE_OK) {
		block_signals(options, &signals, &taken);
		waiter.signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
		if (waiter.signals < 0)
			status = sonde_fail_errno(err, NULL, "cannot wait for signals");
		else
			status = run(&waiter, path, &signals, err);
		restore_signals(&signals, &taken);
		if (waiter.signals >= 0)
			close(waiter.signals);
	}
	witness_end(&waiter.witness);
	session_release(session);
	free(session);
	free(waiter.fired);
	free(path);
	return status;
}
