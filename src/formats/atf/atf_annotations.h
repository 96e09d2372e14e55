/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations on reading: the event types of a process, and what the details of instants, flows,
 * counters and ranges add to the events of the model.
 */
#ifndef SONDE_ATF_ANNOTATIONS_H
#define SONDE_ATF_ANNOTATIONS_H

#include "formats/atf/atf_arguments.h"
#include "formats/atf/atf_session.h"

/* The event type of a function_id, added to the definitions where it is new. Any thread. */
enum sonde_status atf_process_event_type(struct atf_process *process,
					 struct sonde_definitions *definitions, uint64_t key,
					 uint32_t *event_type, struct sonde_error *err);

/*
 * The arguments in detail `number` of a segment; `place` makes it cheap in order. SONDE_END where
 * there is no such detail, or none of that type that can be read.
 */
enum sonde_status atf_segment_arguments(struct atf_segment *segment, struct atf_detail_place *place,
					uint64_t number, struct atf_arguments *arguments,
					struct sonde_error *err);

/*
 * Number or value, and the link to the detail, of an event of these kinds: from its arguments, or
 * (NULL) without any. A detail that holds a number and no arguments is none for the model.
 */
void atf_annotation_take(struct sonde_event *event, const struct atf_arguments *arguments);

/* The other way round: what of an event goes into the `extra` of its record. */
uint64_t atf_annotation_extra(const struct sonde_event *event);

#endif
