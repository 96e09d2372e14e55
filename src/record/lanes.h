/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the events of a thread go: each of its stacks is a lane, and each lane with events a track
 * of the session, written to files at once or kept by the flight recorder.
 */
#ifndef SONDE_RECORD_LANES_H
#define SONDE_RECORD_LANES_H

#include "record/session.h"

/* The hooks for calls_new(); `thread` has its first lane. */
void lanes_output(struct recorded_thread *thread, struct calls_output *output);

/* A further lane of a thread; lane 0 is made the same way. */
enum sonde_status lanes_add(struct recorded_thread *thread, uint32_t number, uint64_t low,
			    uint64_t high, struct sonde_error *err);

/* Events straight to the files; the lane's track is made with its first ones. */
enum sonde_status lane_write(struct session *session, struct lane *lane,
			     struct atf_index_event *events, size_t count, struct sonde_error *err);

/* The lane's thread in the recorder, made where it is not there yet. */
enum sonde_status lane_open(struct session *session, struct lane *lane, struct sonde_error *err);

/* Makes the detail record of an annotation: ATF_ARGUMENTS_HEAD_SIZE and the arguments are its size. */
size_t lane_encode_arguments(uint8_t *record, const struct call_arguments *arguments,
			     const struct atf_index_event *event, uint32_t slot,
			     uint32_t index_seq);

void lane_free(struct lane *lane);

/* Before units are converted: starts a new part where a file is nearly full. */
enum sonde_status lanes_make_room(struct recorded_thread *thread, struct sonde_error *err);

/* The thread is gone: its files are closed, and lanes that nobody needs are freed. */
enum sonde_status lanes_end(struct recorded_thread *thread, struct sonde_error *err);

#endif
