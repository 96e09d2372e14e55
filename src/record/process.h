/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorded processes: answers those that start, finds forked ones, follows what they load, and
 * notices when they are gone.
 */
#ifndef SONDE_RECORD_PROCESS_H
#define SONDE_RECORD_PROCESS_H

#include "record/session.h"

/* Once a round: takes in the log of modules, and processes that are new. */
enum sonde_status process_round(struct session *session, struct sonde_error *err);

/* Takes in what is new in the log of modules. */
enum sonde_status process_read_log(struct session *session, struct sonde_error *err);

/* Takes in what a process told of its annotations, also behind what is not ready yet. */
void process_look_ahead(struct session *session, struct recorded_process *process);

/* Asks the system which processes are gone; `again` even where it was asked a moment ago. */
void process_poll(struct session *session, bool again);

/* Some process is still there. */
bool process_any_alive(const struct session *session);

/*
 * Children that were forked but never made a call may still become processes of the recording.
 * Looks for them in /proc, where a fork is unaccounted for; true where there is one.
 */
bool process_any_silent(struct session *session);

/* A process does not know its id: tells it that, or 0 where it is not the only one it could be. */
void process_identify(struct session *session, struct shared_process *slot);

/* Gives a process its number in the recorder. */
enum sonde_status process_open(struct session *session, struct recorded_process *process,
			       struct sonde_error *err);

/* A thread is about to fork: keeps what it has open. */
enum sonde_status process_note_fork(struct recorded_thread *thread, uint64_t number,
				    struct sonde_error *err);

/* Closes processes that are gone and have no ring, and gives old slots back. */
void process_close_dead(struct session *session);

/* Takes over what its runtime counted, while it has its slot. */
void process_count_missed(const struct session *session, struct recorded_process *process);

/* After the end of the recording: lets starting processes go on, unrecorded. */
void process_wave_through(struct session *session);

void process_free(struct session *session, struct recorded_process *process);

#endif
