/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: reads what can be read of a damaged session and writes it as a new, finished one. The
 * reader has already decided what survives; what is left to do here is to mend links between
 * events and details, and to keep the details whose event is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "formats/atf/atf_annotations.h"
#include "formats/atf/atf_check.h"
#include "formats/atf/atf_findings.h"
#include "formats/atf/atf_session.h"
#include "formats/atf/atf_write.h"

struct recovery {
	struct sonde_recording *recording;
	struct atf_session *session;
	struct sonde_sink *sink;
	struct sonde_meter meter;
	struct sonde_recover_result *result;
	struct sonde_diagnostics *diagnostics;
	/* the thread at hand */
	struct sonde_cursor *cursor;
	uint8_t *carried;     /* a bit per detail: it went along with an event */
	uint64_t next_detail; /* details before it were looked at for claims */
	uint64_t claim;	      /* the detail that claims `claimed_event` */
	uint64_t claimed_event;
	struct sonde_event *events; /* a batch with mended links */
	size_t events_capacity;
	struct atf_naming *namings; /* one for each process, or NULL */
};

static bool is_carried(const struct recovery *recovery, uint64_t detail)
{
	return recovery->carried[detail / 8] >> detail % 8 & 1;
}

/* Whether a detail's link back is borne out: the event it names has its time. */
static bool is_corroborated(struct atf_thread *thread, const struct sonde_detail *detail)
{
	return detail->event != UINT64_MAX &&
	       atf_thread_time(thread, detail->event) == detail->time_ns;
}

/*
 * Moves on to the next detail whose link back is borne out and leads to event `number` or behind
 * it; `claimed_event` is UINT64_MAX when there is none.
 */
static enum sonde_status advance_claim(struct recovery *recovery, struct atf_thread *thread,
				       uint64_t number, struct sonde_error *err)
{
	struct sonde_detail detail;
	enum sonde_status status;

	while (recovery->claimed_event == UINT64_MAX || recovery->claimed_event < number) {
		recovery->claimed_event = UINT64_MAX;
		if (recovery->next_detail >= thread->detail_count)
			break;
		recovery->claim = recovery->next_detail++;
		status = sonde_cursor_detail(recovery->cursor, recovery->claim, &detail, err);
		if (status == SONDE_NOMEM)
			return status;
		if (status < 0)
			break;
		if (is_corroborated(thread, &detail))
			recovery->claimed_event = detail.event;
	}
	return SONDE_OK;
}

static void report_mended(struct recovery *recovery, struct atf_thread *thread, uint64_t number)
{
	const struct atf_index *index = &atf_thread_segment(thread, number)->index;
	uint64_t within = number - atf_thread_segment(thread, number)->first_event;

	recovery->result->links_mended++;
	ATF_FIND(recovery->diagnostics, LINK_FORWARD, index->file.path,
		 atf_index_offset(index, within) + ATF_EVENT_DETAIL,
		 "event %llu and its detail to link to each other\tthey do not",
		 (unsigned long long)within);
}

/*
 * The detail of an event: where the links of both agree, that one; else the detail that claims
 * this event and has its time; else the one the event names, unless that has a better event.
 */
static enum sonde_status choose_detail(struct recovery *recovery, struct atf_thread *thread,
				       struct sonde_event *event, uint64_t number,
				       struct sonde_error *err)
{
	bool linked = event->detail != SONDE_NONE;
	struct sonde_detail detail;
	enum sonde_status status = SONDE_OK;

	if (linked) {
		status = sonde_cursor_detail(recovery->cursor, event->detail, &detail, err);
		if (status == SONDE_NOMEM)
			return status;
		if (status == SONDE_OK && detail.event == number)
			return SONDE_OK;
	}
	if (recovery->claimed_event == number)
		event->detail = (uint32_t)recovery->claim;
	else if (!linked)
		return SONDE_OK;
	else if (status < 0 || is_corroborated(thread, &detail))
		event->detail = SONDE_NONE;
	report_mended(recovery, thread, number);
	return SONDE_OK;
}

static enum sonde_status mend_link(struct recovery *recovery, struct atf_thread *thread,
				   struct sonde_event *event, uint64_t number,
				   struct sonde_error *err)
{
	enum sonde_status status = advance_claim(recovery, thread, number, err);

	if (status == SONDE_OK)
		status = choose_detail(recovery, thread, event, number, err);
	if (status < 0 || event->detail == SONDE_NONE)
		return status;
	if (is_carried(recovery, event->detail)) {
		event->detail = SONDE_NONE;
		return SONDE_OK;
	}
	recovery->carried[event->detail / 8] |= (uint8_t)(1u << event->detail % 8);
	recovery->result->details_kept++;
	return SONDE_OK;
}

/* The arguments in a detail; SONDE_END where it has none. */
static enum sonde_status find_arguments(struct atf_thread *thread, uint64_t number,
					struct atf_arguments *arguments, struct sonde_error *err)
{
	struct atf_segment *segment = atf_thread_detail_segment(thread, number);
	struct atf_detail_place place = { 0 };

	if (number >= thread->detail_count)
		return SONDE_END;
	return atf_segment_arguments(segment, &place, number - segment->first_detail, arguments,
				     err);
}

/*
 * An annotation has its number or value from its detail, so that its link is mended as it is in the
 * file, and the rest follows from it.
 */
static enum sonde_status mend_annotation(struct recovery *recovery, struct atf_thread *thread,
					 struct sonde_event *event, uint64_t number,
					 struct sonde_error *err)
{
	const struct atf_segment *segment = atf_thread_segment(thread, number);
	struct atf_index_event record;
	struct atf_arguments arguments;
	enum sonde_status status;
	uint32_t link;

	atf_index_event_decode(&record,
			       atf_index_at(&segment->index, number - segment->first_event));
	event->detail = record.detail_seq;
	if (event->detail != SONDE_NONE)
		event->detail += (uint32_t)segment->first_detail;
	status = mend_link(recovery, thread, event, number, err);
	link = event->detail;
	if (status == SONDE_OK && link != SONDE_NONE)
		status = find_arguments(thread, link, &arguments, err);
	else if (status == SONDE_OK)
		status = SONDE_END;
	if (status < 0)
		return status;
	atf_annotation_take(event, status == SONDE_OK ? &arguments : NULL);
	if (status == SONDE_END && event->kind == SONDE_EVENT_COUNTER && link != SONDE_NONE) {
		/* a detail of another type, for which a counter has no room */
		recovery->carried[link / 8] &= (uint8_t) ~(1u << link % 8);
		recovery->result->details_kept--;
	}
	return SONDE_OK;
}

static enum sonde_status recover_batch(struct recovery *recovery, struct atf_thread *thread,
				       uint32_t track, struct sonde_batch *batch,
				       struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (batch->count > recovery->events_capacity) {
		struct sonde_event *larger =
			realloc(recovery->events, batch->count * sizeof(*larger));

		if (!larger)
			return sonde_fail_nomem(err);
		recovery->events = larger;
		recovery->events_capacity = batch->count;
	}
	memcpy(recovery->events, batch->events, batch->count * sizeof(*batch->events));
	for (size_t i = 0; i < batch->count && status == SONDE_OK; i++) {
		struct sonde_event *event = &recovery->events[i];

		if (atf_kind_is_annotation(event->kind))
			status = mend_annotation(recovery, thread, event, batch->first_index + i,
						 err);
		else
			status = mend_link(recovery, thread, event, batch->first_index + i, err);
	}
	if (status < 0)
		return status;
	batch->events = recovery->events;
	recovery->result->events_kept += batch->count;
	status = recovery->sink->ops->events(recovery->sink, track, batch, err);
	return status < 0 ? status : sonde_meter_add(&recovery->meter, batch->count, err);
}

/* The details that no event took along, behind the others. */
static enum sonde_status recover_unlinked(struct recovery *recovery, struct atf_thread *thread,
					  uint32_t track, struct sonde_error *err)
{
	struct atf_arguments arguments = { 0 };
	enum sonde_status status = SONDE_OK;
	struct sonde_detail detail;

	for (uint64_t number = 0; number < thread->detail_count && status == SONDE_OK; number++) {
		if (is_carried(recovery, number))
			continue;
		status = sonde_cursor_detail(recovery->cursor, number, &detail, err);
		if (status == SONDE_CORRUPT || status == SONDE_ARGUMENT)
			return SONDE_OK; /* nothing behind a damaged record can be found */
		if (status == SONDE_OK && detail.kind == SONDE_DETAIL_ARGUMENTS)
			status = find_arguments(thread, number, &arguments, err);
		if (status == SONDE_OK)
			status = atf_writer_add_unlinked(recovery->sink, track, &detail,
							 arguments.extra, err);
		recovery->result->details_unlinked++;
		recovery->result->details_kept++;
	}
	return status;
}

static enum sonde_status recover_thread(struct recovery *recovery, uint32_t track,
					struct sonde_error *err)
{
	struct atf_thread *thread = &recovery->session->threads.items[track];
	struct sonde_batch batch;
	enum sonde_status status;

	recovery->next_detail = 0;
	recovery->claimed_event = UINT64_MAX;
	recovery->carried = calloc(thread->detail_count / 8 + 1, 1);
	if (!recovery->carried)
		return sonde_fail_nomem(err);
	status = sonde_cursor_open(recovery->recording, track, &recovery->cursor, err);
	while (status == SONDE_OK) {
		status = sonde_cursor_next(recovery->cursor, &batch, err);
		if (status == SONDE_OK)
			status = recover_batch(recovery, thread, track, &batch, err);
	}
	if (status == SONDE_END)
		status = recover_unlinked(recovery, thread, track, err);
	if (status == SONDE_OK)
		status = recovery->sink->ops->track_end(recovery->sink, track, err);
	for (size_t i = 0; i < thread->segments.count; i++)
		recovery->result->bytes_dropped +=
			thread->segments.items[i].index.file.dropped_bytes +
			thread->segments.items[i].detail.file.dropped_bytes;
	recovery->result->tracks_kept++;
	sonde_cursor_free(recovery->cursor);
	recovery->cursor = NULL;
	free(recovery->carried);
	recovery->carried = NULL;
	return status;
}

/* Lets functions of the modules that the manifests know be named. */
static enum sonde_status begin_naming(struct recovery *recovery,
				      const struct sonde_recover_options *options,
				      struct sonde_error *err)
{
	struct atf_session *session = recovery->session;
	const struct sonde_definitions *definitions = recovery->recording->definitions;

	if (!options->name_function)
		return SONDE_OK;
	recovery->namings = calloc(session->processes.count + 1, sizeof(*recovery->namings));
	if (!recovery->namings)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < session->processes.count; i++) {
		recovery->namings[i].options = options;
		session->processes.items[i]->naming = &recovery->namings[i];
	}
	for (uint32_t i = 0; i < sonde_definitions_module_count(definitions); i++) {
		const struct sonde_module *module = sonde_definitions_module(definitions, i);
		uint32_t key = atf_module_key(definitions, module);
		struct atf_naming *naming;

		if (module->process >= session->processes.count)
			continue;
		naming = &recovery->namings[module->process];
		naming->module_count++;
		if (sonde_key_map_find(&naming->modules, key) == SONDE_NONE &&
		    !sonde_key_map_add(&naming->modules, key, i))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

static void end_naming(struct recovery *recovery)
{
	for (size_t i = 0; recovery->namings && i < recovery->session->processes.count; i++) {
		recovery->session->processes.items[i]->naming = NULL;
		recovery->result->functions_named += recovery->namings[i].named;
		sonde_key_map_release(&recovery->namings[i].modules);
	}
	free(recovery->namings);
}

/* A resource that cannot be read is left out, and said so. */
static enum sonde_status recover_resource(struct recovery *recovery, uint32_t number,
					  struct sonde_error *err)
{
	const struct atf_resource *resource = &recovery->session->resources.items[number];
	struct sonde_error reason;
	struct sonde_blob blob;
	enum sonde_status status =
		sonde_recording_blob(recovery->recording, number, &blob, &reason);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0) {
		ATF_FIND(recovery->diagnostics, RESOURCE_MISSING, resource->path, SONDE_NO_OFFSET,
			 "a readable file\t%s", reason.message);
		return SONDE_OK;
	}
	return recovery->sink->ops->blob(recovery->sink, &blob, err);
}

/* Everything, through the writer. */
static enum sonde_status recover_session(struct recovery *recovery, struct sonde_error *err)
{
	const struct atf_session *session = recovery->session;
	struct sonde_sink *sink = recovery->sink;
	enum sonde_status status;

	recovery->meter.total = sonde_recording_event_count(recovery->recording);
	recovery->result->tracks_lost = recovery->recording->tracks_lost;
	for (size_t i = 0; i < session->processes.count; i++)
		recovery->result->manifests_made +=
			!session->processes.items[i]->parts.items[0].manifest.present;
	status = sink->ops->begin(sink, recovery->recording->definitions, err);
	for (uint32_t i = 0; i < recovery->recording->blob_count && status == SONDE_OK; i++)
		status = recover_resource(recovery, i, err);
	for (uint32_t i = 0; i < session->threads.count && status == SONDE_OK; i++)
		status = recover_thread(recovery, i, err);
	return status < 0 ? status : sink->ops->finish(sink, err);
}

enum sonde_status atf_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err)
{
	struct sonde_create_options create = { .replace = options->replace };
	struct recovery recovery = {
		.recording = sonde_recording_new(&sonde_format_atf, path),
		.meter = { .progress = options->progress },
		.result = result,
		.diagnostics = diagnostics,
	};
	enum sonde_status status;

	*result = (struct sonde_recover_result){ 0 };
	if (!recovery.recording)
		return sonde_fail_nomem(err);
	status = atf_open_to_recover(recovery.recording, err);
	sonde_diagnostics_append(diagnostics, recovery.recording->diagnostics);
	if (status == SONDE_OK)
		status = atf_create(output, &create, &recovery.sink, err);
	if (status == SONDE_OK) {
		recovery.session = recovery.recording->data;
		status = begin_naming(&recovery, options, err);
		if (status == SONDE_OK)
			status = recover_session(&recovery, err);
		end_naming(&recovery);
	}
	sonde_sink_free(recovery.sink);
	sonde_recording_close(recovery.recording);
	free(recovery.events);
	return status;
}
