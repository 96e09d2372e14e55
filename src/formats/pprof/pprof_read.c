/* SPDX-License-Identifier: Apache-2.0 */
/* pprof profiles of any origin: samples become values of contexts, on tracks that their labels tell. */
#include "formats/pprof/pprof_read.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_layout.h"

/* What labels of a sample say of where it was taken. Texts are places in the table of strings; 0: none. */
struct who {
	uint64_t process, thread, entry;
	uint64_t process_id, thread_id, track; /* UINT64_MAX: unknown */
	bool is_unnamed;		       /* the name of the thread is made up */
};

static bool is_text(const char *text, size_t size, const char *wanted)
{
	return strlen(wanted) == size && !memcmp(text, wanted, size);
}

static bool is_any(const char *text, size_t size, const char *const *wanted)
{
	for (; *wanted; wanted++) {
		if (is_text(text, size, *wanted))
			return true;
	}
	return false;
}

/* False: it says something else. */
static bool use_label(struct pprof_reading *reading, struct who *who, const uint64_t *label)
{
	static const char *const processes[] = { PPROF_LABEL_PROCESS, "process_name", "comm",
						 NULL };
	static const char *const process_ids[] = { PPROF_LABEL_PROCESS_ID, "process_id", NULL };
	static const char *const threads[] = { PPROF_LABEL_THREAD, "thread_name", "thread.name",
					       "thread name", NULL };
	static const char *const thread_ids[] = { PPROF_LABEL_THREAD_ID, "tid", "thread.id",
						  "thread id", NULL };
	uint64_t text = label[PPROF_LABEL_TEXT], number = label[PPROF_LABEL_NUMBER];
	size_t size;
	const char *key = pprof_text(reading, label[PPROF_LABEL_KEY], &size);

	if (text && is_any(key, size, processes))
		who->process = text;
	else if (text && is_any(key, size, threads))
		who->thread = text;
	else if (text && is_text(key, size, PPROF_LABEL_ENTRY))
		who->entry = text;
	else if (!text && is_any(key, size, process_ids))
		who->process_id = number;
	else if (!text && is_any(key, size, thread_ids))
		who->thread_id = number;
	else if (!text && is_text(key, size, PPROF_LABEL_TRACK))
		who->track = number;
	else if (!text && is_text(key, size, PPROF_LABEL_UNNAMED))
		who->is_unnamed = number != 0;
	else
		return false;
	return true;
}

static bool take_label(struct pprof_reading *reading, struct sonde_bytes bytes, struct who *who)
{
	uint64_t label[PPROF_LABEL_UNIT + 1] = { 0 };
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, NULL))) {
		if (field.number <= PPROF_LABEL_UNIT && field.type == SONDE_PROTOBUF_VARINT)
			label[field.number] = field.value;
	}
	if (!use_label(reading, who, label))
		reading->trouble.labels++;
	return status == SONDE_END;
}

static uint64_t either_key(uint64_t id, uint64_t text)
{
	/* ids of systems are small: what stands for a name is not mistaken for one */
	if (id != UINT64_MAX)
		return id;
	return text ? UINT64_C(1) << 62 | text : UINT64_C(1) << 63;
}

/* The name of the program, where no label tells: the first mapping is its file. */
static const char *program_name(struct pprof_reading *reading, size_t *size)
{
	const char *path, *slash;

	*size = 0;
	if (!reading->mappings.count)
		return "";
	path = pprof_text(reading, reading->mappings.items[0].file, size);
	slash = *size ? memrchr(path, '/', *size) : NULL;
	if (!slash)
		return path;
	*size -= (size_t)(slash + 1 - path);
	return slash + 1;
}

static enum sonde_status set_process(struct pprof_reading *reading, uint32_t number,
				     const struct who *who, struct sonde_error *err)
{
	size_t size;
	const char *name = who->process ? pprof_text(reading, who->process, &size) :
					  program_name(reading, &size);
	uint32_t string;
	enum sonde_status status = sonde_intake_string(reading->intake, name, size, &string, err);
	struct sonde_process *process = sonde_intake_process_at(reading->intake, number);

	if (status || process->name)
		return status;
	process->name = string;
	process->os_id = who->process_id < SONDE_NONE ? (uint32_t)who->process_id : SONDE_NONE;
	if (reading->time_nanos && reading->time_nanos <= INT64_MAX &&
	    reading->duration_nanos <= INT64_MAX) {
		process->start_ns = reading->time_nanos;
		process->end_ns = reading->time_nanos + reading->duration_nanos;
	}
	return SONDE_OK;
}

static enum sonde_status add_track(struct pprof_reading *reading, const struct who *who,
				   uint32_t *number, struct sonde_error *err)
{
	uint64_t key = either_key(who->thread_id, who->thread);
	size_t size;
	const char *name;
	struct sonde_track *track;
	uint32_t process, string;
	enum sonde_status status = sonde_intake_process(
		reading->intake, either_key(who->process_id, who->process), &process, err);

	if (!status)
		status = set_process(reading, process, who, err);
	if (who->track != UINT64_MAX)
		key = sonde_hash_also(key, who->track);
	if (!status)
		status = sonde_intake_track(reading->intake, process, key, number, err);
	if (status)
		return status;
	name = pprof_text(reading, who->thread, &size);
	status = sonde_intake_string(reading->intake, name, size, &string, err);
	track = sonde_intake_track_at(reading->intake, *number);
	track->os_id = who->thread_id;
	if (track->name)
		return status;
	track->name = string;
	track->name_made_up = who->is_unnamed;
	return status;
}

static enum sonde_status find_track(struct pprof_reading *reading, const struct who *who,
				    uint32_t *track, struct sonde_error *err)
{
	uint64_t key = sonde_hash_also(who->process, who->process_id);
	enum sonde_status status;

	key = sonde_hash_also(sonde_hash_also(key, who->thread), who->thread_id);
	key = sonde_hash_also(key, who->track);
	*track = sonde_key_map_find(&reading->tracks, key);
	if (*track != SONDE_NONE)
		return SONDE_OK;
	status = add_track(reading, who, track, err);
	if (!status && !sonde_key_map_add(&reading->tracks, key, *track))
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status find_stack(struct pprof_reading *reading, const struct who *who,
				    uint32_t *node, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*node = 0;
	if (who->entry) {
		size_t size;
		const char *name = pprof_text(reading, who->entry, &size);

		status = pprof_find_entry(reading, name, size, node, err);
	}
	for (size_t i = reading->stack.count; i-- && !status;) {
		uint32_t location =
			sonde_key_map_find(&reading->location_ids, reading->stack.items[i]);

		if (location == SONDE_NONE)
			reading->trouble.unknown_locations++;
		else
			status = pprof_find_node(reading, *node, location, node, err);
	}
	return status;
}

static enum sonde_status add_values(struct pprof_reading *reading, uint32_t track, uint32_t node,
				    struct sonde_error *err)
{
	size_t count = reading->values.count;
	enum sonde_status status = SONDE_OK;

	if (count != reading->types.count) {
		reading->trouble.wrong_counts++;
		count = count < reading->types.count ? count : reading->types.count;
	}
	for (size_t i = 0; i < count && !status; i++) {
		const struct pprof_value_type *type = &reading->types.items[i];
		int64_t value = (int64_t)reading->values.items[i];

		if (value)
			status = sonde_intake_value(reading->intake, track, node, type->metric,
						    (double)value / type->scale, err);
	}
	return status;
}

static enum sonde_status take_sample(struct pprof_reading *reading, struct sonde_bytes bytes,
				     struct sonde_error *err)
{
	struct who who = { .process_id = UINT64_MAX, .thread_id = UINT64_MAX, .track = UINT64_MAX };
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK, next;
	uint32_t track, node;
	bool is_bad = false;

	reading->stack.count = reading->values.count = 0;
	while (!status && !(next = sonde_protobuf_next(&bytes, &field, NULL))) {
		if (field.number == PPROF_LOCATION_ID)
			status = pprof_take_numbers(&field, &reading->stack.items,
						    &reading->stack.count, &reading->stack.capacity,
						    &is_bad, err);
		else if (field.number == PPROF_VALUE)
			status = pprof_take_numbers(&field, &reading->values.items,
						    &reading->values.count,
						    &reading->values.capacity, &is_bad, err);
		else if (field.number == PPROF_LABEL && field.type == SONDE_PROTOBUF_BYTES)
			is_bad |= !take_label(reading, field.bytes, &who);
	}
	if (status)
		return status;
	reading->trouble.bad_messages += is_bad || next < 0;
	status = find_track(reading, &who, &track, err);
	if (!status)
		status = find_stack(reading, &who, &node, err);
	return status ? status : add_values(reading, track, node, err);
}

static enum sonde_status take_samples(struct pprof_reading *reading, struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(reading->file.data, reading->file.size);
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;
	struct sonde_trail trail = { 0 };
	size_t start = 0;

	while (!status && !sonde_protobuf_next(&bytes, &field, NULL)) {
		if (field.number == PPROF_SAMPLE && field.type == SONDE_PROTOBUF_BYTES)
			status = take_sample(reading, field.bytes, err);
		sonde_mapped_file_leave(&reading->file, &trail, start, bytes.position);
		start = bytes.position;
	}
	return status;
}

static void tell_trouble(struct pprof_reading *reading)
{
	const struct pprof_trouble *trouble = &reading->trouble;
	const struct {
		uint64_t count;
		const char *expected, *found;
	} records[] = {
		{ trouble->bad_messages, "whole messages", "that are damaged" },
		{ trouble->unknown_locations, "locations of samples", "that are not in the file" },
		{ trouble->unknown_functions, "functions of locations",
		  "that are not in the file" },
		{ trouble->unknown_strings, "texts", "that are not in the file" },
		{ trouble->wrong_counts, "as many values as types of samples",
		  "samples with other numbers of them" },
		{ trouble->repeated_ids, "an id for each thing", "with the id of another" },
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		if (records[i].count)
			EXCHANGE_FINDING(reading->recording, RECORD, SONDE_NO_OFFSET,
					 "%s\t%" PRIu64 " %s", records[i].expected,
					 records[i].count, records[i].found);
	}
	if (trouble->labels)
		EXCHANGE_FINDING(reading->recording, UNKNOWN, SONDE_NO_OFFSET,
				 "labels of processes and threads\t%" PRIu64 " other labels",
				 trouble->labels);
}

static enum sonde_status read_all(struct pprof_reading *reading, struct sonde_error *err)
{
	enum sonde_status status = exchange_open_unpacked(reading->recording, &reading->file, err);

	if (!status)
		status = sonde_intake_new(reading->recording, &reading->intake, err);
	if (!status)
		status = pprof_read_tables(reading, err);
	if (!status && !reading->strings.count)
		status = sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
				    "a table of texts was expected, and there is none: this is no "
				    "profile");
	if (!status)
		status = pprof_define(reading, err);
	if (!status)
		status = take_samples(reading, err);
	if (status)
		return status;
	tell_trouble(reading);
	status = exchange_finish(reading->recording, reading->intake, err);
	if (!status)
		reading->intake = NULL; /* it is the recording's now */
	return status;
}

enum sonde_status pprof_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct pprof_reading reading = { .recording = recording };
	enum sonde_status status = read_all(&reading, err);

	sonde_intake_free(reading.intake);
	sonde_mapped_file_release(&reading.file);
	sonde_vec_release(&reading.strings);
	sonde_vec_release(&reading.types);
	sonde_vec_release(&reading.mappings);
	sonde_vec_release(&reading.functions);
	sonde_vec_release(&reading.locations);
	sonde_vec_release(&reading.lines);
	sonde_vec_release(&reading.comments);
	sonde_vec_release(&reading.stack);
	sonde_vec_release(&reading.values);
	sonde_key_map_release(&reading.mapping_ids);
	sonde_key_map_release(&reading.function_ids);
	sonde_key_map_release(&reading.location_ids);
	sonde_key_map_release(&reading.nodes);
	sonde_key_map_release(&reading.tracks);
	return status;
}
