/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks an ATF session: every invariant that header, footer, events, details, links and manifest
 * must keep. What opening found comes first; then each thread is walked, several at a time.
 */
#include "formats/atf/atf_check.h"

#include <stdlib.h>

#include "base/crc.h"
#include "base/pool.h"
#include "formats/atf/atf_check_annotations.h"
#include "formats/atf/atf_findings.h"

/* Events between two looks at the checksum and the progress: 64 KiB, which stay in the cache. */
#define BLOCK_EVENTS 2048

/* A call on the stack whose function is not known, because events before it are missing. */
#define UNKNOWN_FUNCTION UINT64_MAX

/* How many missing calls are made up to follow a jump in depth. */
#define DEPTH_JUMP_MAX 65536

/* A thread under check; `diagnostics` is its own, so that threads do not disturb each other. */
struct thread_check {
	struct atf_thread *thread;
	struct sonde_diagnostics *diagnostics;
	struct sonde_meter *meter;
	struct atf_index_header reference; /* of the first thread of the process */
	bool has_symbols;
	struct sonde_key_view symbols; /* those of the manifest: a check adds none */
	struct sonde_key_map nameless; /* functions without symbol that were reported */
	struct atf_annotation_check annotations;
	SONDE_VEC(uint64_t) stack; /* functions of the open calls */
	uint64_t last_time_ns;
	uint64_t time_min_ns, time_max_ns; /* over all events; min > max: none */
	/* the segment at hand */
	struct atf_segment *segment;
	struct atf_detail_place place;
	bool missing_detail_reported;
};

static enum sonde_status check_symbol(struct thread_check *check, uint64_t function,
				      uint64_t offset, struct sonde_error *err)
{
	if (sonde_key_view_find(check->symbols, function) != UINT32_MAX || !check->has_symbols ||
	    sonde_key_map_find(&check->nameless, function) != UINT32_MAX)
		return SONDE_OK;
	ATF_FIND(check->diagnostics, SYMBOL_MISSING, check->segment->index.file.path,
		 offset + ATF_EVENT_FUNCTION,
		 "a symbol for function 0x%016llx\tnone in the manifest",
		 (unsigned long long)function);
	if (!sonde_key_map_add(&check->nameless, function, 0))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

/* Brings the stack to `depth` open calls after a disagreement, as far as that is sensible. */
static enum sonde_status resync_stack(struct thread_check *check, uint32_t depth,
				      struct sonde_error *err)
{
	if (depth > check->stack.count + DEPTH_JUMP_MAX)
		return SONDE_OK;
	if (depth > check->stack.count &&
	    !sonde_vec_reserve(&check->stack, depth - check->stack.count))
		return sonde_fail_nomem(err);
	while (check->stack.count < depth)
		check->stack.items[check->stack.count++] = UNKNOWN_FUNCTION;
	check->stack.count = depth;
	return SONDE_OK;
}

static enum sonde_status check_call(struct thread_check *check, const struct atf_index_event *event,
				    uint64_t offset, struct sonde_error *err)
{
	enum sonde_status status;
	uint64_t *slot;

	if (__builtin_expect(event->call_depth != check->stack.count + 1, 0)) {
		ATF_FIND(check->diagnostics, EVENT_DEPTH, check->segment->index.file.path,
			 offset + ATF_EVENT_DEPTH, "depth %zu inside %zu open calls\tdepth %u",
			 check->stack.count + 1, check->stack.count, event->call_depth);
		status = event->call_depth ? resync_stack(check, event->call_depth - 1, err) : 0;
		if (status < 0)
			return status;
	}
	slot = sonde_vec_push(&check->stack);
	if (!slot)
		return sonde_fail_nomem(err);
	*slot = event->function_id;
	return SONDE_OK;
}

static enum sonde_status check_leave(struct thread_check *check,
				     const struct atf_index_event *event, uint64_t offset,
				     struct sonde_error *err)
{
	const char *path = check->segment->index.file.path;
	uint64_t top;

	if (__builtin_expect(event->call_depth != check->stack.count, 0)) {
		enum sonde_status status;

		if (check->stack.count == 0)
			ATF_FIND(check->diagnostics, EVENT_UNOPENED, path, offset,
				 "an open call of 0x%016llx\tno open call",
				 (unsigned long long)event->function_id);
		else
			ATF_FIND(check->diagnostics, EVENT_DEPTH, path, offset + ATF_EVENT_DEPTH,
				 "depth %zu inside %zu open calls\tdepth %u", check->stack.count,
				 check->stack.count, event->call_depth);
		status = resync_stack(check, event->call_depth, err);
		if (status < 0)
			return status;
	}
	if (check->stack.count == 0)
		return SONDE_OK;
	top = check->stack.items[--check->stack.count];
	if (top != event->function_id && top != UNKNOWN_FUNCTION)
		ATF_FIND(check->diagnostics, EVENT_NESTING, path, offset + ATF_EVENT_FUNCTION,
			 "0x%016llx, the innermost open call\t0x%016llx", (unsigned long long)top,
			 (unsigned long long)event->function_id);
	return SONDE_OK;
}

/* The link of an event to its detail, and the detail's link back. */
static enum sonde_status check_forward_link(struct thread_check *check,
					    const struct atf_index_event *event, uint64_t number,
					    struct sonde_error *err)
{
	struct atf_segment *segment = check->segment;
	const char *path = segment->index.file.path;
	uint64_t offset = atf_index_offset(&segment->index, number) + ATF_EVENT_DETAIL;
	struct atf_detail_record record;
	enum sonde_status status;

	if (!segment->has_detail) {
		if (!check->missing_detail_reported)
			ATF_FIND(check->diagnostics, DETAIL_MISSING, path, offset,
				 "detail.atf for detail %u\tno such file", event->detail_seq);
		check->missing_detail_reported = true;
		return SONDE_OK;
	}
	if (event->detail_seq >= segment->detail.count) {
		ATF_FIND(check->diagnostics, LINK_PAST_DETAILS, path, offset,
			 "a detail below %llu\tdetail %u",
			 (unsigned long long)segment->detail.count, event->detail_seq);
		return SONDE_OK;
	}
	status = atf_detail_seek(&segment->detail, &check->place, event->detail_seq, err);
	if (status == SONDE_OK)
		status = atf_detail_record_at(&segment->detail, check->place.offset, &record, err);
	if (status == SONDE_CORRUPT)
		return SONDE_OK; /* the walk over the details says where and why */
	if (status != SONDE_OK)
		return status;
	if (record.index_seq != number)
		ATF_FIND(check->diagnostics, LINK_FORWARD, path, offset,
			 "detail %u to link back to event %llu\tit links to event %u",
			 event->detail_seq, (unsigned long long)number, record.index_seq);
	if (atf_kind_has_extra(event->event_kind) &&
	    (record.event_type != ATF_DETAIL_TYPE_ARGUMENTS ||
	     record.total_length < ATF_ARGUMENTS_HEAD_SIZE))
		ATF_FIND(check->diagnostics, EVENT_NUMBER, path, offset,
			 "detail %u to be of type %u\ttype %u, %u bytes", event->detail_seq,
			 ATF_DETAIL_TYPE_ARGUMENTS, record.event_type, record.total_length);
	return SONDE_OK;
}

static void check_event_fields(struct thread_check *check, const struct atf_index_event *event,
			       uint64_t offset)
{
	const char *path = check->segment->index.file.path;

	if (event->timestamp_ns < check->last_time_ns)
		ATF_FIND(check->diagnostics, EVENT_TIME, path, offset, "%llu ns or later\t%llu ns",
			 (unsigned long long)check->last_time_ns,
			 (unsigned long long)event->timestamp_ns);
	if (event->thread_id != check->segment->index.header.identity.thread_id)
		ATF_FIND(check->diagnostics, EVENT_THREAD, path, offset + ATF_EVENT_THREAD,
			 "thread %u\tthread %u", check->segment->index.header.identity.thread_id,
			 event->thread_id);
	check->last_time_ns = event->timestamp_ns;
	if (event->timestamp_ns < check->time_min_ns)
		check->time_min_ns = event->timestamp_ns;
	if (event->timestamp_ns > check->time_max_ns)
		check->time_max_ns = event->timestamp_ns;
}

/* An instant, flow, counter or range: of a type that is known, and with a number if it needs one. */
static enum sonde_status check_annotation(struct thread_check *check,
					  const struct atf_index_event *event, uint64_t offset,
					  struct sonde_error *err)
{
	const char *path = check->segment->index.file.path;

	if (event->detail_seq == ATF_NO_LINK && atf_kind_has_extra(event->event_kind))
		ATF_FIND(check->diagnostics, EVENT_NUMBER, path, offset + ATF_EVENT_DETAIL,
			 "a detail for an event of kind %u\tnone", event->event_kind);
	return atf_check_event_type(&check->annotations, event->function_id, path,
				    offset + ATF_EVENT_FUNCTION, err);
}

static enum sonde_status check_event(struct thread_check *check, uint64_t number,
				     struct sonde_error *err)
{
	const struct atf_index *index = &check->segment->index;
	uint64_t offset = atf_index_offset(index, number);
	struct atf_index_event event;
	enum sonde_status status;

	atf_index_event_decode(&event, index->file.map.data + offset);
	check_event_fields(check, &event, offset);
	if (event.event_kind == ATF_KIND_CALL)
		status = check_call(check, &event, offset, err);
	else if (event.event_kind == ATF_KIND_RETURN || event.event_kind == ATF_KIND_EXCEPTION)
		status = check_leave(check, &event, offset, err);
	else if (atf_kind_is_annotation(event.event_kind))
		status = check_annotation(check, &event, offset, err);
	else {
		status = SONDE_OK;
		ATF_FIND(check->diagnostics, EVENT_KIND, index->file.path, offset + ATF_EVENT_KIND,
			 "1 (call) to %u (end of a range)\t%u", ATF_KIND_RANGE_END,
			 event.event_kind);
	}
	if (status == SONDE_OK && !atf_kind_is_annotation(event.event_kind))
		status = check_symbol(check, event.function_id, offset, err);
	if (status == SONDE_OK && event.detail_seq != ATF_NO_LINK)
		status = check_forward_link(check, &event, number, err);
	return status;
}

/* Walks the events of a segment, and holds the checksum against them on the way. */
static enum sonde_status check_events(struct thread_check *check, struct sonde_error *err)
{
	const struct atf_index *index = &check->segment->index;
	const struct atf_file *file = &index->file;
	enum sonde_status status = SONDE_OK;
	struct sonde_trail trail = { 0 };
	uint32_t crc = 0;

	for (uint64_t start = 0; start < index->count && status == SONDE_OK;
	     start += BLOCK_EVENTS) {
		uint64_t count = index->count - start;

		if (count > BLOCK_EVENTS)
			count = BLOCK_EVENTS;
		crc = sonde_crc32(crc, atf_index_at(index, start), count * ATF_EVENT_SIZE);
		for (uint64_t i = start; i < start + count && status == SONDE_OK; i++)
			status = check_event(check, i, err);
		if (status == SONDE_OK)
			status = sonde_meter_add(check->meter, count * ATF_EVENT_SIZE, err);
		sonde_mapped_file_leave(&file->map, &trail, atf_index_offset(index, start),
					atf_index_offset(index, start + count));
	}
	if (status < 0 || !file->has_footer)
		return status;
	/* bytes of the section behind the last whole event are under the checksum too */
	crc = sonde_crc32(crc, file->map.data + atf_index_offset(index, index->count),
			  file->end - atf_index_offset(index, index->count));
	if (index->footer.checksum == 0 && crc)
		ATF_FIND(check->diagnostics, INDEX_CHECKSUM_NONE, file->path,
			 file->footer_position + 4, "CRC-32 0x%08x\t0, not computed", crc);
	else if (index->footer.checksum != crc)
		ATF_FIND(check->diagnostics, INDEX_CHECKSUM, file->path, file->footer_position + 4,
			 "CRC-32 0x%08x of the events\t0x%08x", crc, index->footer.checksum);
	return SONDE_OK;
}

static void check_machine(struct thread_check *check)
{
	const struct atf_index_header *header = &check->segment->index.header;
	const struct atf_index_header *reference = &check->reference;

	if (header->identity.arch > SONDE_ARCH_ARM64 || header->identity.os > SONDE_OS_WINDOWS ||
	    header->clock_type > SONDE_CLOCK_BOOTTIME)
		ATF_FIND(check->diagnostics, INDEX_MACHINE, check->segment->index.file.path, 6,
			 "arch 1-2, os 1-5, clock 1-3\tarch %u, os %u, clock %u",
			 header->identity.arch, header->identity.os, header->clock_type);
	else if (header->identity.arch != reference->identity.arch ||
		 header->identity.os != reference->identity.os ||
		 header->clock_type != reference->clock_type)
		ATF_FIND(
			check->diagnostics, INDEX_MACHINE, check->segment->index.file.path, 6,
			"arch %u, os %u, clock %u as in the first thread\tarch %u, os %u, clock %u",
			reference->identity.arch, reference->identity.os, reference->clock_type,
			header->identity.arch, header->identity.os, header->clock_type);
	else if (!header->identity.arch || !header->identity.os || !header->clock_type)
		ATF_FIND(check->diagnostics, INDEX_MACHINE_NONE, check->segment->index.file.path, 6,
			 "arch 1-2, os 1-5, clock 1-3\tarch %u, os %u, clock %u",
			 header->identity.arch, header->identity.os, header->clock_type);
}

/* Time range, at `offset` of the file, against the first and last event or record. */
static void check_range(struct thread_check *check, enum atf_finding finding,
			const struct atf_file *file, uint64_t offset, const uint64_t found[2],
			const uint64_t expected[2])
{
	if (found[0] == expected[0] && found[1] == expected[1])
		return;
	sonde_diagnostics_add(check->diagnostics, &atf_finding_types[finding], file->path, offset,
			      "%llu to %llu ns\t%llu to %llu ns", (unsigned long long)expected[0],
			      (unsigned long long)expected[1], (unsigned long long)found[0],
			      (unsigned long long)found[1]);
}

/* What header and footer of index.atf say beyond what opening has used. */
static void check_index_frame(struct thread_check *check)
{
	const struct atf_segment *segment = check->segment;
	const struct atf_index *index = &segment->index;
	const struct atf_file *file = &index->file;
	bool flag = index->header.identity.flags & ATF_FLAG_HAS_DETAIL;
	uint64_t times[2] = { 0, 0 };

	check_machine(check);
	if (index->header.identity.thread_id != check->thread->slot)
		ATF_FIND(check->diagnostics, INDEX_THREAD, file->path, 12, "thread %u\tthread %u",
			 check->thread->slot, index->header.identity.thread_id);
	if (flag != segment->has_detail && file->has_footer)
		ATF_FIND(check->diagnostics, INDEX_FLAG, file->path, 8,
			 "has_detail %d\thas_detail %d", segment->has_detail, flag);
	if (!file->has_footer)
		return;
	if (index->footer.bytes_written != file->end - file->begin)
		ATF_FIND(check->diagnostics, INDEX_BYTES, file->path, file->footer_position + 32,
			 "%llu bytes\t%llu bytes", (unsigned long long)(file->end - file->begin),
			 (unsigned long long)index->footer.bytes_written);
	if (index->count) {
		times[0] = sonde_load_u64le(atf_index_at(index, 0));
		times[1] = sonde_load_u64le(atf_index_at(index, index->count - 1));
	}
	check_range(check, ATF_FINDING_INDEX_TIME, file, file->footer_position + 16,
		    (uint64_t[]){ index->footer.time_start_ns, index->footer.time_end_ns }, times);
	if (index->header.event_count)
		check_range(check, ATF_FINDING_INDEX_TIME, file, 48,
			    (uint64_t[]){ index->header.time_start_ns, index->header.time_end_ns },
			    times);
}

/* What the records of a detail file came to, to hold against its header and footer. */
struct detail_sums {
	uint64_t count;
	uint64_t times[2];
	uint64_t linked[2]; /* first and last index number; first > last: none */
	uint64_t unlinked;  /* records that belong to no event */
	uint64_t stop;	    /* where the records end */
	uint32_t crc;	    /* of all up to there */
};

/* Payload of a call or return record. */
static void check_payload(struct thread_check *check, const struct atf_detail_record *record,
			  uint64_t offset)
{
	const struct atf_file *file = &check->segment->detail.file;
	const uint8_t *payload = file->map.data + offset + ATF_DETAIL_RECORD_SIZE;
	size_t size = record->total_length - ATF_DETAIL_RECORD_SIZE;
	unsigned int stack_size;

	if (size < ATF_PAYLOAD_SIZE) {
		ATF_FIND(check->diagnostics, DETAIL_PAYLOAD, file->path, offset,
			 "a payload of at least %d bytes\t%zu bytes", ATF_PAYLOAD_SIZE, size);
		return;
	}
	stack_size = sonde_load_u16le(payload + ATF_PAYLOAD_STACK_SIZE);
	if (stack_size > size - ATF_PAYLOAD_SIZE || stack_size > ATF_STACK_MAX)
		ATF_FIND(check->diagnostics, DETAIL_PAYLOAD, file->path,
			 offset + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_STACK_SIZE,
			 "at most %zu stack bytes\t%u",
			 size - ATF_PAYLOAD_SIZE < ATF_STACK_MAX ? size - ATF_PAYLOAD_SIZE :
								   (size_t)ATF_STACK_MAX,
			 stack_size);
}

/* A record of a known type against the event that it is about. */
static void compare_with_event(struct thread_check *check, const struct atf_detail_record *record,
			       uint64_t offset, const struct atf_index_event *event)
{
	const struct atf_file *file = &check->segment->detail.file;
	bool arguments = record->event_type == ATF_DETAIL_TYPE_ARGUMENTS &&
			 atf_kind_is_annotation(event->event_kind);
	bool known = arguments || record->event_type == ATF_DETAIL_TYPE_CALL ||
		     record->event_type == ATF_DETAIL_TYPE_RETURN;
	uint64_t function;

	if (record->timestamp != event->timestamp_ns)
		ATF_FIND(check->diagnostics, DETAIL_TIME, file->path, offset + 16,
			 "%llu ns\t%llu ns", (unsigned long long)event->timestamp_ns,
			 (unsigned long long)record->timestamp);
	if (!known)
		return;
	if ((record->event_type == ATF_DETAIL_TYPE_RETURN && event->event_kind == ATF_KIND_CALL) ||
	    (record->event_type == ATF_DETAIL_TYPE_CALL && event->event_kind == ATF_KIND_RETURN))
		ATF_FIND(check->diagnostics, DETAIL_KIND, file->path, offset + 4,
			 "a detail of event kind %u\tdetail type %u", event->event_kind,
			 record->event_type);
	if (record->total_length <
	    (arguments ? ATF_ARGUMENTS_HEAD_SIZE : ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE))
		return;
	function = sonde_load_u64le(file->map.data + offset + ATF_DETAIL_RECORD_SIZE);
	if (function != event->function_id)
		ATF_FIND(check->diagnostics, DETAIL_FUNCTION, file->path,
			 offset + ATF_DETAIL_RECORD_SIZE, "0x%016llx\t0x%016llx",
			 (unsigned long long)event->function_id, (unsigned long long)function);
}

/* The link of a record back to its event, and the event's link to it. */
static void check_backward_link(struct thread_check *check, const struct atf_detail_record *record,
				uint64_t offset, struct detail_sums *sums)
{
	const struct atf_segment *segment = check->segment;
	const char *path = segment->detail.file.path;
	struct atf_index_event event;

	if (record->index_seq == ATF_NO_LINK) {
		sums->unlinked++;
		return;
	}
	if (sums->linked[0] > sums->linked[1])
		sums->linked[0] = record->index_seq;
	sums->linked[1] = record->index_seq;
	if (record->index_seq >= segment->index.count) {
		ATF_FIND(check->diagnostics, LINK_PAST_EVENTS, path, offset + 8,
			 "an event below %llu\tevent %u", (unsigned long long)segment->index.count,
			 record->index_seq);
		return;
	}
	atf_index_event_decode(&event, atf_index_at(&segment->index, record->index_seq));
	if (event.detail_seq == sums->count) {
		compare_with_event(check, record, offset, &event);
		return;
	}
	ATF_FIND(check->diagnostics, LINK_BACKWARD, path, offset + 8,
		 "event %u to link to detail %llu\tit links to %s", record->index_seq,
		 (unsigned long long)sums->count,
		 event.detail_seq == ATF_NO_LINK ? "none" : "another");
}

static enum sonde_status check_record(struct thread_check *check,
				      const struct atf_detail_record *record, uint64_t offset,
				      struct detail_sums *sums, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	const char *path = check->segment->detail.file.path;

	if (record->thread_id != check->segment->detail.header.identity.thread_id)
		ATF_FIND(check->diagnostics, DETAIL_THREAD, path, offset + 12,
			 "thread %u\tthread %u", check->segment->detail.header.identity.thread_id,
			 record->thread_id);
	if (record->event_type == ATF_DETAIL_TYPE_CALL ||
	    record->event_type == ATF_DETAIL_TYPE_RETURN)
		check_payload(check, record, offset);
	else if (record->event_type == ATF_DETAIL_TYPE_ARGUMENTS)
		status = atf_check_arguments(&check->annotations, &check->segment->detail.file,
					     offset, record, err);
	else
		ATF_FIND(check->diagnostics, DETAIL_TYPE, path, offset + 4,
			 "3 call, 4 return or %u arguments\t%u", ATF_DETAIL_TYPE_ARGUMENTS,
			 record->event_type);
	check_backward_link(check, record, offset, sums);
	return status;
}

static enum sonde_status check_records(struct thread_check *check, struct detail_sums *sums,
				       struct sonde_error *err)
{
	const struct atf_detail *detail = &check->segment->detail;
	struct atf_detail_record record;
	enum sonde_status status = SONDE_OK;
	uint64_t offset = detail->file.begin, reported = offset;
	struct sonde_trail trail = { 0 };

	*sums = (struct detail_sums){ .linked = { 1, 0 } };
	while (offset < detail->file.end && status == SONDE_OK) {
		if (atf_detail_record_at(detail, offset, &record, NULL) < 0) {
			ATF_FIND(check->diagnostics, DETAIL_LENGTH, detail->file.path, offset,
				 "a record of 24 to %llu bytes\t%u bytes",
				 (unsigned long long)(detail->file.end - offset),
				 detail->file.end - offset >= 4 ?
					 sonde_load_u32le(detail->file.map.data + offset) :
					 0);
			break;
		}
		status = check_record(check, &record, offset, sums, err);
		if (sums->count++ == 0)
			sums->times[0] = record.timestamp;
		sums->times[1] = record.timestamp;
		sums->crc =
			sonde_crc32(sums->crc, detail->file.map.data + offset, record.total_length);
		sonde_mapped_file_leave(&detail->file.map, &trail, offset,
					offset + record.total_length);
		offset += record.total_length;
		if (status == SONDE_OK && offset - reported >= BLOCK_EVENTS * ATF_EVENT_SIZE) {
			status = sonde_meter_add(check->meter, offset - reported, err);
			reported = offset;
		}
	}
	sums->stop = offset;
	if (sums->unlinked)
		ATF_FIND(check->diagnostics, DETAIL_UNLINKED, detail->file.path, SONDE_NO_OFFSET,
			 "every detail to belong to an event\t%llu that belong to none",
			 (unsigned long long)sums->unlinked);
	return status < 0 ? status : sonde_meter_add(check->meter, offset - reported, err);
}

/* Header and footer of a finished detail.atf against its records. */
static void check_detail_frame(struct thread_check *check, const struct detail_sums *sums)
{
	const struct atf_detail *detail = &check->segment->detail;
	const struct atf_file *file = &detail->file;
	uint64_t size = file->end - file->begin;
	/* bytes behind the last whole record are under the checksum too */
	uint32_t crc = sonde_crc32(sums->crc, file->map.data + sums->stop, file->end - sums->stop);

	if (detail->footer.checksum == 0 && crc)
		ATF_FIND(check->diagnostics, DETAIL_CHECKSUM_NONE, file->path,
			 file->footer_position + 4, "CRC-32 0x%08x\t0, not computed", crc);
	else if (detail->footer.checksum != crc)
		ATF_FIND(check->diagnostics, DETAIL_CHECKSUM, file->path, file->footer_position + 4,
			 "CRC-32 0x%08x of the records\t0x%08x", crc, detail->footer.checksum);
	if (detail->footer.bytes_length != size)
		ATF_FIND(check->diagnostics, DETAIL_BYTES, file->path, file->footer_position + 16,
			 "%llu bytes\t%llu bytes", (unsigned long long)size,
			 (unsigned long long)detail->footer.bytes_length);
	if (detail->header.event_count && detail->header.bytes_length != size)
		ATF_FIND(check->diagnostics, DETAIL_BYTES, file->path, 36, "%llu bytes\t%llu bytes",
			 (unsigned long long)size, (unsigned long long)detail->header.bytes_length);
	if (sums->stop != file->end)
		return; /* what comes behind the damage is not known */
	if (detail->footer.event_count != sums->count)
		ATF_FIND(check->diagnostics, DETAIL_COUNT, file->path, file->footer_position + 8,
			 "%llu records\tthe footer counts %llu", (unsigned long long)sums->count,
			 (unsigned long long)detail->footer.event_count);
	if (sums->count)
		check_range(
			check, ATF_FINDING_DETAIL_TIME_RANGE, file, file->footer_position + 24,
			(uint64_t[]){ detail->footer.time_start_ns, detail->footer.time_end_ns },
			sums->times);
	if (detail->header.event_count && sums->linked[0] <= sums->linked[1] &&
	    (detail->header.index_seq_start != sums->linked[0] ||
	     detail->header.index_seq_end != sums->linked[1]))
		ATF_FIND(check->diagnostics, DETAIL_RANGE, file->path, 44,
			 "events %llu to %llu\t%llu to %llu", (unsigned long long)sums->linked[0],
			 (unsigned long long)sums->linked[1],
			 (unsigned long long)detail->header.index_seq_start,
			 (unsigned long long)detail->header.index_seq_end);
}

static enum sonde_status check_details(struct thread_check *check, struct sonde_error *err)
{
	const struct atf_segment *segment = check->segment;
	const struct atf_detail *detail = &segment->detail;
	struct detail_sums sums;
	enum sonde_status status;

	if (!segment->has_detail)
		return SONDE_OK;
	if (detail->header.identity.thread_id != check->thread->slot)
		ATF_FIND(check->diagnostics, DETAIL_THREAD, detail->file.path, 12,
			 "thread %u\tthread %u", check->thread->slot,
			 detail->header.identity.thread_id);
	if (detail->header.identity.arch != segment->index.header.identity.arch ||
	    detail->header.identity.os != segment->index.header.identity.os)
		ATF_FIND(check->diagnostics, DETAIL_MACHINE, detail->file.path, 6,
			 "arch %u, os %u\tarch %u, os %u", segment->index.header.identity.arch,
			 segment->index.header.identity.os, detail->header.identity.arch,
			 detail->header.identity.os);
	status = check_records(check, &sums, err);
	if (status == SONDE_OK && detail->file.has_footer)
		check_detail_frame(check, &sums);
	return status;
}

static enum sonde_status check_thread(struct thread_check *check, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < check->thread->segments.count && status == SONDE_OK; i++) {
		check->segment = &check->thread->segments.items[i];
		check->place = (struct atf_detail_place){ 0 };
		check->missing_detail_reported = false;
		check_index_frame(check);
		status = check_events(check, err);
		if (status == SONDE_OK)
			status = check_details(check, err);
	}
	if (status == SONDE_OK && check->stack.count)
		ATF_FIND(check->diagnostics, EVENT_OPEN, check->segment->index.file.path,
			 SONDE_NO_OFFSET, "every call to be left\tcalls that are open: %zu",
			 check->stack.count);
	sonde_vec_release(&check->stack);
	sonde_key_map_release(&check->nameless);
	atf_annotation_check_release(&check->annotations);
	return status;
}

/* The manifest's entry of a thread, and its time range, against the files. */
static void check_manifest_entry(const struct thread_check *check,
				 const struct atf_segment *segment,
				 struct sonde_diagnostics *diagnostics)
{
	const struct atf_manifest *manifest =
		&check->thread->process->parts.items[segment->part].manifest;
	const struct atf_manifest_thread *entry =
		atf_manifest_thread(manifest, check->thread->slot);

	if (entry && entry->has_detail != segment->has_detail)
		ATF_FIND(diagnostics, MANIFEST_DETAIL, manifest->path, SONDE_NO_OFFSET,
			 "thread %u: has_detail %s\t%s", check->thread->slot,
			 segment->has_detail ? "true" : "false",
			 entry->has_detail ? "true" : "false");
	if (manifest->has_clock && manifest->clock_type != segment->index.header.clock_type)
		ATF_FIND(diagnostics, MANIFEST_CLOCK, manifest->path, SONDE_NO_OFFSET,
			 "clock_type %u\t%u", segment->index.header.clock_type,
			 manifest->clock_type);
}

static void check_manifest_times(const struct thread_check *check,
				 struct sonde_diagnostics *diagnostics)
{
	const struct atf_manifest *manifest = &check->thread->process->parts.items[0].manifest;

	if (!manifest->has_times || check->time_min_ns > check->time_max_ns)
		return;
	if (check->time_min_ns < manifest->time_start_ns ||
	    check->time_max_ns > manifest->time_end_ns)
		ATF_FIND(diagnostics, MANIFEST_TIME, manifest->path, SONDE_NO_OFFSET,
			 "a range around %llu to %llu ns of thread %u\t%llu to %llu ns",
			 (unsigned long long)check->time_min_ns,
			 (unsigned long long)check->time_max_ns, check->thread->slot,
			 (unsigned long long)manifest->time_start_ns,
			 (unsigned long long)manifest->time_end_ns);
}

static enum sonde_status check_one(void *user, size_t number, struct sonde_error *err)
{
	struct thread_check *checks = user;

	return check_thread(&checks[number], err);
}

/* A thread_check for every thread; NULL where memory failed. */
static struct thread_check *prepare_checks(struct atf_session *session,
					   const struct sonde_definitions *definitions,
					   struct sonde_meter *meter)
{
	struct thread_check *checks = calloc(session->threads.count, sizeof(*checks));

	for (size_t i = 0; checks && i < session->threads.count; i++) {
		struct atf_thread *thread = &session->threads.items[i];
		bool first = i == 0 || session->threads.items[i - 1].process != thread->process;

		checks[i] = (struct thread_check){
			.thread = thread,
			.diagnostics = sonde_diagnostics_new(),
			.meter = meter,
			.reference = first ? thread->segments.items[0].index.header :
					     checks[i - 1].reference,
			.symbols = sonde_key_map_view(&thread->process->functions),
			.has_symbols = thread->process->parts.items[0].manifest.symbol_count > 0,
			.time_min_ns = UINT64_MAX,
		};
		for (size_t k = 0; k < thread->segments.count; k++)
			meter->total += thread->segments.items[k].index.file.map.size +
					thread->segments.items[k].detail.file.map.size;
		checks[i].annotations = (struct atf_annotation_check){
			.definitions = definitions,
			.process = thread->process,
			.diagnostics = checks[i].diagnostics,
		};
		if (checks[i].diagnostics)
			continue;
		while (i-- > 0)
			sonde_diagnostics_free(checks[i].diagnostics);
		free(checks);
		return NULL;
	}
	return checks;
}

static void check_symbols_present(const struct atf_session *session,
				  struct sonde_diagnostics *diagnostics)
{
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct atf_manifest *manifest =
			&session->processes.items[i]->parts.items[0].manifest;

		if (manifest->present && !manifest->symbol_count && !manifest->event_type_count)
			ATF_FIND(diagnostics, SYMBOLS_NONE, manifest->path, SONDE_NO_OFFSET,
				 "\"symbols\"\tnone");
	}
}

static enum sonde_status check_session(struct atf_session *session,
				       const struct sonde_definitions *definitions,
				       const struct sonde_check_options *options,
				       struct sonde_diagnostics *diagnostics,
				       struct sonde_error *err)
{
	struct sonde_meter meter = { .progress = options->progress };
	struct thread_check *checks = prepare_checks(session, definitions, &meter);
	enum sonde_status status;

	if (!checks)
		return sonde_fail_nomem(err);
	check_symbols_present(session, diagnostics);
	status = sonde_pool_run(session->threads.count, options->threads, check_one, checks, err);
	for (size_t i = 0; i < session->threads.count; i++) {
		struct thread_check *check = &checks[i];

		for (size_t k = 0; k < check->thread->segments.count; k++)
			check_manifest_entry(check, &check->thread->segments.items[k], diagnostics);
		check_manifest_times(check, diagnostics);
		sonde_diagnostics_append(diagnostics, check->diagnostics);
		sonde_diagnostics_free(check->diagnostics);
	}
	free(checks);
	return status;
}

enum sonde_status atf_check(const char *path, const struct sonde_check_options *options,
			    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct sonde_recording *recording = sonde_recording_new(&sonde_format_atf, path);
	enum sonde_status status;

	if (!recording)
		return sonde_fail_nomem(err);
	status = atf_open(recording, err);
	sonde_diagnostics_append(diagnostics, recording->diagnostics);
	if (status == SONDE_OK)
		status = check_session(recording->data, recording->definitions, options,
				       diagnostics, err);
	else if (status != SONDE_NOMEM && sonde_diagnostics_count(diagnostics, SONDE_ERROR))
		status = SONDE_OK; /* refused as a whole, and the findings say why */
	sonde_recording_close(recording);
	return status;
}
