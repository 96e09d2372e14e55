/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who there is in a Perfetto trace, and in which time: numbers of processes and threads, which must differ
 * in the whole trace, clocks, descriptors, and attributes, which only sonde reads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "formats/perfetto/perfetto_write.h"
#include "model/command_line.h"

#define HEAD_SEQUENCE 1

/* Takes an id where nobody has it yet, or makes one up. */
static bool take_id(struct sonde_key_map *taken, uint64_t wanted, uint64_t *next, uint64_t *id)
{
	if (!wanted || wanted > INT32_MAX || sonde_key_map_find(taken, wanted) != SONDE_NONE) {
		while (sonde_key_map_find(taken, *next) != SONDE_NONE)
			(*next)++;
		wanted = (*next)++;
	}
	*id = wanted;
	return sonde_key_map_add(taken, wanted, 0);
}

static bool number_processes(struct perfetto_writer *writer)
{
	struct sonde_key_map taken = { NULL };
	uint64_t next = PERFETTO_MADE_ID, id = 0;
	bool happened = true;

	for (uint32_t i = 0; happened && i < writer->process_count; i++) {
		uint32_t wanted = sonde_definitions_process(writer->definitions, i)->os_id;

		happened = take_id(&taken, wanted == SONDE_NONE ? 0 : wanted, &next, &id);
		writer->pids[i] = (uint32_t)id;
	}
	sonde_key_map_release(&taken);
	return happened;
}

static bool number_tracks(struct perfetto_writer *writer)
{
	struct sonde_key_map taken = { NULL };
	uint64_t next = PERFETTO_MADE_ID;
	bool happened = true;

	for (uint32_t i = 0; happened && i < writer->track_count; i++) {
		uint64_t wanted = sonde_definitions_track(writer->definitions, i)->os_id;

		happened =
			take_id(&taken, wanted == UINT64_MAX ? 0 : wanted, &next, &writer->tids[i]);
	}
	sonde_key_map_release(&taken);
	return happened;
}

static bool sort_attributes(struct perfetto_writer *writer)
{
	uint32_t count = sonde_definitions_attribute_count(writer->definitions);

	writer->attributes = calloc((size_t)count + 1, sizeof(*writer->attributes));
	if (!writer->attributes)
		return false;
	writer->attribute_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(writer->definitions, i);

		writer->attributes[i].key = (uint64_t)attribute->owner << 32 | attribute->owner_id;
		writer->attributes[i].number = i;
	}
	return sonde_sort(writer->attributes, count);
}

/* The number of a kind of clock that all sequences know, or 0. */
static uint32_t builtin(const struct sonde_clock *clock)
{
	if (!clock)
		return 0;
	switch (clock->kind) {
	case SONDE_CLOCK_BOOTTIME:
		return BUILTIN_BOOTTIME;
	case SONDE_CLOCK_MONOTONIC:
		return BUILTIN_MONOTONIC;
	case SONDE_CLOCK_REALTIME:
		return BUILTIN_REALTIME;
	default:
		return 0;
	}
}

static const struct sonde_anchor *find_anchor(const struct perfetto_writer *writer, uint32_t clock)
{
	uint32_t count = sonde_definitions_anchor_count(writer->definitions);

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_anchor *anchor =
			sonde_definitions_anchor(writer->definitions, i);

		if (anchor->clock == clock)
			return anchor;
	}
	return NULL;
}

/*
 * The clock of the first process is that of the trace. Others are tied to it through the wall clock where
 * both are; each of their sequences says so for itself, as two machines may have clocks of one kind.
 */
static uint64_t choose_clocks(struct perfetto_writer *writer)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_process *first = sonde_definitions_process(definitions, 0);
	uint32_t main_clock = first ? first->clock : SONDE_NONE;
	uint32_t number = builtin(sonde_definitions_clock(definitions, main_clock));
	bool is_tied = number == BUILTIN_REALTIME || find_anchor(writer, main_clock);
	uint64_t loose = 0;

	for (uint32_t i = 0; i < writer->process_count; i++) {
		uint32_t id = sonde_definitions_process(definitions, i)->clock;
		const struct sonde_anchor *anchor;

		writer->clocks[i].number = number;
		if (id == main_clock)
			continue;
		anchor = find_anchor(writer, id);
		if (is_tied && anchor) {
			writer->clocks[i] = (struct perfetto_clock){
				.number = FIRST_SEQUENCE_CLOCK,
				.in_sequence = true,
				.clock_ns = anchor->clock_ns,
				.realtime_ns = anchor->realtime_ns,
			};
		} else if (is_tied &&
			   builtin(sonde_definitions_clock(definitions, id)) == BUILTIN_REALTIME) {
			writer->clocks[i].number = BUILTIN_REALTIME;
		} else {
			loose++;
		}
	}
	return loose;
}

enum sonde_status perfetto_number_all(struct perfetto_writer *writer, struct sonde_error *err)
{
	writer->pids = calloc((size_t)writer->process_count + 1, sizeof(*writer->pids));
	writer->tids = calloc((size_t)writer->track_count + 1, sizeof(*writer->tids));
	writer->clocks = calloc((size_t)writer->process_count + 1, sizeof(*writer->clocks));
	if (!writer->pids || !writer->tids || !writer->clocks || !number_processes(writer) ||
	    !number_tracks(writer) || !sort_attributes(writer))
		return sonde_fail_nomem(err);
	return sonde_loss_add(writer->loss, "clocks of processes",
			      "nothing ties them to the clock of the first process; times stay as "
			      "they are",
			      choose_clocks(writer), err);
}

/* Where the attributes of an owner begin. */
static size_t first_attribute(const struct perfetto_writer *writer, uint64_t key)
{
	size_t low = 0, high = writer->attribute_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (writer->attributes[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Those of an owner, but for the command line where that is told in its own place. */
static void put_attributes(const struct perfetto_writer *writer, struct sonde_buffer *out,
			   uint32_t field, enum sonde_owner owner, uint32_t owner_id)
{
	uint64_t key = (uint64_t)owner << 32 | owner_id;

	for (size_t i = first_attribute(writer, key);
	     i < writer->attribute_count && writer->attributes[i].key == key; i++) {
		const struct sonde_attribute *attribute = sonde_definitions_attribute(
			writer->definitions, (uint32_t)writer->attributes[i].number);
		const char *name = sonde_definitions_string(writer->definitions, attribute->name);
		const char *value = sonde_definitions_string(writer->definitions, attribute->value);
		size_t start;

		if (owner == SONDE_OWNER_PROCESS && !strcmp(name, SONDE_COMMAND_LINE_ATTRIBUTE))
			continue;
		start = sonde_protobuf_begin(out, field);
		sonde_protobuf_put_string(out, OWN_ATTRIBUTE_NAME, name, strlen(name));
		sonde_protobuf_put_string(out, OWN_ATTRIBUTE_VALUE, value, strlen(value));
		sonde_protobuf_end(out, start);
	}
}

static size_t head_begin(struct sonde_buffer *out)
{
	size_t start = sonde_protobuf_begin(out, TRACE_PACKET);

	sonde_protobuf_put_uint(out, PACKET_SEQUENCE, HEAD_SEQUENCE);
	return start;
}

static void put_word(struct sonde_buffer *out, uint32_t field, const char *text)
{
	sonde_protobuf_put_string(out, field, text, strlen(text));
}

static const char *system_name(enum sonde_os os)
{
	switch (os) {
	case SONDE_OS_IOS:
	case SONDE_OS_MACOS:
		return "Darwin";
	case SONDE_OS_ANDROID:
	case SONDE_OS_LINUX:
		return "Linux";
	case SONDE_OS_WINDOWS:
		return "Windows";
	default:
		return NULL;
	}
}

static void put_system(const struct perfetto_writer *writer, struct sonde_buffer *out)
{
	const struct sonde_process *process = sonde_definitions_process(writer->definitions, 0);
	const char *name = process ? system_name(process->os) : NULL;
	size_t packet = head_begin(out), system = sonde_protobuf_begin(out, PACKET_SYSTEM_INFO);

	if (name || (process && process->arch)) {
		size_t utsname = sonde_protobuf_begin(out, SYSTEM_UTSNAME);

		if (name)
			put_word(out, UTSNAME_SYSTEM, name);
		if (process->arch)
			put_word(out, UTSNAME_MACHINE,
				 process->arch == SONDE_ARCH_ARM64 ? "aarch64" : "x86_64");
		sonde_protobuf_end(out, utsname);
	}
	put_word(out, SYSTEM_TRACER, PERFETTO_OWN_TRACER SONDE_VERSION);
	put_attributes(writer, out, SYSTEM_OWN_ATTRIBUTE, SONDE_OWNER_RECORDING, 0);
	sonde_protobuf_end(out, system);
	sonde_protobuf_end(out, packet);
}

static void put_clock(struct sonde_buffer *out, uint32_t number, uint64_t time_ns)
{
	size_t start = sonde_protobuf_begin(out, SNAPSHOT_CLOCK);

	sonde_protobuf_put_uint(out, CLOCK_NUMBER, number);
	sonde_protobuf_put_uint(out, CLOCK_TIME, time_ns);
	sonde_protobuf_end(out, start);
}

/* Every anchor of the trace's clock; without any, which clock it is all the same. */
static void put_snapshots(const struct perfetto_writer *writer, struct sonde_buffer *out)
{
	const struct sonde_process *first = sonde_definitions_process(writer->definitions, 0);
	uint32_t count = sonde_definitions_anchor_count(writer->definitions);
	uint32_t own = first ? writer->clocks[0].number : 0;
	/* a clock of no kind that is known here counts as the one that times have by default */
	uint32_t number = own ? own : BUILTIN_BOOTTIME;
	bool any = false;

	for (uint32_t i = 0; first && i <= count; i++) {
		const struct sonde_anchor *anchor =
			sonde_definitions_anchor(writer->definitions, i);
		size_t packet, snapshot;

		if (anchor ? anchor->clock != first->clock : any || !own)
			continue;
		any = true;
		packet = head_begin(out);
		snapshot = sonde_protobuf_begin(out, PACKET_CLOCK_SNAPSHOT);
		put_clock(out, number, anchor ? anchor->clock_ns : first->start_ns);
		if (anchor && number != BUILTIN_REALTIME)
			put_clock(out, BUILTIN_REALTIME, anchor->realtime_ns);
		sonde_protobuf_put_uint(out, SNAPSHOT_PRIMARY, number);
		sonde_protobuf_end(out, snapshot);
		sonde_protobuf_end(out, packet);
	}
}

/* The words of a JSON list. */
static void put_command(struct sonde_buffer *out, const char *json)
{
	struct sonde_json_reader reader;
	enum sonde_status status;

	sonde_json_reader_init(&reader, json, strlen(json), NULL, NULL);
	while (!(status = sonde_json_next(&reader, NULL)) && reader.token != SONDE_JSON_END)
		if (reader.token == SONDE_JSON_STRING)
			sonde_protobuf_put_string(out, PROCESS_COMMAND, reader.text, reader.length);
	sonde_json_reader_release(&reader);
	if (status == SONDE_NOMEM)
		out->failed = true;
}

static void put_process(const struct perfetto_writer *writer, struct sonde_buffer *out,
			uint32_t number)
{
	const struct sonde_process *process =
		sonde_definitions_process(writer->definitions, number);
	const char *name = sonde_definitions_string(writer->definitions, process->name);
	const char *command = sonde_command_line(writer->definitions, number);
	size_t packet = head_begin(out), track = sonde_protobuf_begin(out, PACKET_TRACK), inner;

	sonde_protobuf_put_uint(out, TRACK_UUID, perfetto_process_uuid(number));
	inner = sonde_protobuf_begin(out, TRACK_PROCESS);
	sonde_protobuf_put_uint(out, PROCESS_PID, writer->pids[number]);
	if (command)
		put_command(out, command);
	if (*name)
		put_word(out, PROCESS_NAME, name);
	sonde_protobuf_end(out, inner);
	if (process->os_id != SONDE_NONE)
		sonde_protobuf_put_uint(out, TRACK_OWN_ID, (uint64_t)process->os_id + 1);
	if (process->start_ns || process->end_ns) {
		sonde_protobuf_put_uint(out, TRACK_OWN_START, process->start_ns);
		sonde_protobuf_put_uint(out, TRACK_OWN_END, process->end_ns);
	}
	sonde_protobuf_put_uint(out, TRACK_OWN_ARCH, process->arch);
	sonde_protobuf_put_uint(out, TRACK_OWN_OS, process->os);
	put_attributes(writer, out, TRACK_OWN_ATTRIBUTE, SONDE_OWNER_PROCESS, number);
	sonde_protobuf_end(out, track);
	sonde_protobuf_end(out, packet);
}

/* As a field of the packet that is open. */
void perfetto_put_track(const struct perfetto_writer *writer, uint32_t number,
			struct perfetto_track *track)
{
	const struct sonde_track *definition = sonde_definitions_track(writer->definitions, number);
	const char *name = sonde_definitions_string(writer->definitions, definition->name);
	struct sonde_buffer *out = &track->out;
	size_t start = sonde_protobuf_begin(out, PACKET_TRACK), thread;

	sonde_protobuf_put_uint(out, TRACK_UUID, perfetto_track_uuid(writer, number));
	sonde_protobuf_put_uint(out, TRACK_PARENT, perfetto_process_uuid(definition->process));
	thread = sonde_protobuf_begin(out, TRACK_THREAD);
	sonde_protobuf_put_uint(out, THREAD_PID, track->pid);
	sonde_protobuf_put_uint(out, THREAD_TID, track->tid);
	if (*name)
		put_word(out, THREAD_NAME, name);
	sonde_protobuf_end(out, thread);
	sonde_protobuf_put_uint(out, TRACK_OWN_KIND, definition->kind);
	if (definition->os_id != UINT64_MAX)
		sonde_protobuf_put_uint(out, TRACK_OWN_ID, definition->os_id + 1);
	if (definition->name && definition->name_made_up)
		sonde_protobuf_put_uint(out, TRACK_OWN_NAME_MADE_UP, 1);
	if (definition->unfinished)
		sonde_protobuf_put_uint(out, TRACK_OWN_UNFINISHED, 1);
	if (definition->dropped_events)
		sonde_protobuf_put_uint(out, TRACK_OWN_DROPPED, definition->dropped_events);
	put_attributes(writer, out, TRACK_OWN_ATTRIBUTE, SONDE_OWNER_TRACK, number);
	sonde_protobuf_end(out, start);
}

/* What only sonde will find again in the descriptors, and what is not in them. */
static enum sonde_status count_losses(const struct perfetto_writer *writer, struct sonde_error *err)
{
	uint64_t kept = 0, lost = 0, unfinished = 0, dropped = 0, times = 0, kinds = 0;
	enum sonde_status status;

	for (size_t i = 0; i < writer->attribute_count; i++) {
		bool is_kept = writer->attributes[i].key >> 32 < SONDE_OWNER_MODULE;

		kept += is_kept;
		lost += !is_kept;
	}
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(writer->definitions, i);

		unfinished += track->unfinished;
		dropped += track->dropped_events;
		kinds += track->kind != SONDE_TRACK_THREAD;
	}
	for (uint32_t i = 0; i < writer->process_count; i++)
		times += sonde_definitions_process(writer->definitions, i)->start_ns != 0;
	status = sonde_loss_add(writer->loss, "attributes",
				"there is no place for those of modules and functions", lost, err);
	if (!status)
		status = sonde_loss_add_elsewhere(writer->loss, "attributes",
						  "other programs look for none", kept, err);
	if (!status)
		status = sonde_loss_add_elsewhere(writer->loss, "marks of unfinished tracks",
						  "other programs look for none", unfinished, err);
	if (!status)
		status = sonde_loss_add_elsewhere(writer->loss, "numbers of dropped events",
						  "other programs look for no counts", dropped,
						  err);
	if (!status)
		status = sonde_loss_add_elsewhere(writer->loss, "kinds of tracks",
						  "they are threads to other programs", kinds, err);
	if (!status)
		status = sonde_loss_add_elsewhere(writer->loss, "begin and end of processes",
						  "other programs look for none", times, err);
	return status;
}

/* Functions are defined until the end; what is lost of them is counted by what there is at the start. */
static enum sonde_status count_functions(const struct perfetto_writer *writer,
					 struct sonde_error *err)
{
	uint32_t count = sonde_definitions_function_count(writer->definitions);
	uint64_t places = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_function *function =
			sonde_definitions_function(writer->definitions, i);

		places += function->file || function->module != SONDE_NONE || function->raw_name ||
			  function->address;
	}
	return sonde_loss_add_elsewhere(writer->loss, "places of functions",
					"module, file, line and address lie beside the name, where "
					"other programs do not look",
					places, err);
}

enum sonde_status perfetto_write_head(struct perfetto_writer *writer, struct sonde_error *err)
{
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	put_system(writer, &out);
	put_snapshots(writer, &out);
	for (uint32_t i = 0; i < writer->process_count; i++)
		put_process(writer, &out, i);
	status = out.failed ? sonde_fail_nomem(err) :
			      sonde_output_write(&writer->file.output, out.data, out.size, err);
	sonde_buffer_release(&out);
	if (!status)
		status = count_losses(writer, err);
	if (!status)
		status = count_functions(writer, err);
	return status;
}
