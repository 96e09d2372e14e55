/* SPDX-License-Identifier: Apache-2.0 */
/* Opening uftrace's data: `info`, the files beside it, and the records of each task into the intake. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "formats/uftrace/uftrace.h"

/* A record behind something that was not understood is one where its time is at most so much later. */
#define RESYNC_NS (UINT64_C(3600) * 1000000000)

int uftrace_probe(const char *path)
{
	char *info = sonde_path_join(path, "info");
	char magic[UFTRACE_MAGIC_SIZE] = { 0 };
	FILE *file = info && sonde_path_kind(info) == SONDE_PATH_FILE ? fopen(info, "rbe") : NULL;
	size_t got = file ? fread(magic, 1, sizeof(magic), file) : 0;

	if (file)
		fclose(file);
	free(info);
	return got == sizeof(magic) && !memcmp(magic, UFTRACE_MAGIC, sizeof(magic)) ? 100 : 0;
}

/* Lines about the program and its run are kept as attributes. */
static enum sonde_status add_attribute(struct uftrace *data, struct uftrace_text key,
				       struct uftrace_text value, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	enum sonde_status status;
	uint32_t id;

	sonde_buffer_put_text(&text, "uftrace.");
	sonde_buffer_put(&text, key.at, key.size);
	status = sonde_intake_string(data->intake, text.data, text.failed ? 0 : text.size,
				     &attribute.name, err);
	sonde_buffer_clear(&text);
	sonde_json_writer_init(&json, &text, false);
	sonde_json_string_sized(&json, value.at, value.size);
	if (text.failed)
		status = sonde_fail_nomem(err);
	if (!status)
		status = sonde_intake_string(data->intake, text.data, text.size, &attribute.value,
					     err);
	if (!status)
		status = sonde_definitions_add_attribute(data->recording->definitions, &attribute,
							 &id, err);
	sonde_buffer_release(&text);
	return status;
}

static enum sonde_status read_line(struct uftrace *data, struct uftrace_text line,
				   struct sonde_error *err)
{
	static const char *const kept[] = { "exename",	   "build_id",	   "exit_status",
					    "cmdline",	   "osinfo",	   "cpuinfo",
					    "record_date", "elapsed_time", "uftrace_version" };
	struct uftrace_text value = line;
	struct uftrace_text key = uftrace_take(&value, ':');

	if (uftrace_starts(&line, "argspec:lines="))
		return SONDE_OK;
	if (uftrace_starts(&line, "argspec:"))
		data->argument_specs = value;
	else if (uftrace_starts(&line, "retspec:"))
		data->result_specs = value;
	else if (uftrace_starts(&line, "argauto:"))
		data->argument_auto = value;
	else if (uftrace_starts(&line, "retauto:"))
		data->result_auto = value;
	else if (uftrace_starts(&line, "pattern_type:glob"))
		data->by_glob = true;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (key.size == strlen(kept[i]) && !memcmp(key.at, kept[i], key.size) &&
		    !(value.size > 6 && !memcmp(value.at, "lines=", 6)))
			return add_attribute(data, key, value, err);
	}
	return SONDE_OK;
}

static enum sonde_status read_info(struct uftrace *data, struct sonde_error *err)
{
	enum sonde_status status = uftrace_map_file(data, "info", &data->info, err);
	const uint8_t *bytes = data->info.data;
	struct uftrace_text text, line;
	uint32_t version;
	size_t header;

	if (status)
		return status;
	if (data->info.size < UFTRACE_INFO_SIZE ||
	    memcmp(bytes, UFTRACE_MAGIC, UFTRACE_MAGIC_SIZE) != 0)
		return sonde_fail(
			err, SONDE_FORMAT, 0,
			"the file info should begin with \"Ftrace!\" and have at least %d "
			"bytes; this is no data of uftrace, or its recording was cut off",
			UFTRACE_INFO_SIZE);
	version = sonde_load_u32le(bytes + UFTRACE_INFO_VERSION);
	if (bytes[UFTRACE_INFO_ENDIAN] != 1 || version < UFTRACE_VERSION_LEAST ||
	    version > UFTRACE_VERSION_MOST)
		return sonde_fail(
			err, SONDE_UNSUPPORTED, UFTRACE_INFO_VERSION,
			"data of uftrace is read in versions %d to %d, little-endian; this "
			"is version %" PRIu32 ", byte order %u",
			UFTRACE_VERSION_LEAST, UFTRACE_VERSION_MOST, version,
			(unsigned int)bytes[UFTRACE_INFO_ENDIAN]);
	data->is_32_bit = bytes[UFTRACE_INFO_CLASS] == 1;
	data->features = sonde_load_u64le(bytes + UFTRACE_INFO_FEATURES);
	header = sonde_load_u16le(bytes + UFTRACE_INFO_HEADER_SIZE);
	if (header < UFTRACE_INFO_SIZE || header > data->info.size)
		header = UFTRACE_INFO_SIZE;
	text = (struct uftrace_text){ (const char *)bytes + header, data->info.size - header };
	while (!status && uftrace_next_line(&text, &line))
		status = read_line(data, line, err);
	return status;
}

/* One TID.dat while it is read. */
struct task_reader {
	struct uftrace *data;
	struct sonde_mapped_file file;
	const char *name;
	uint32_t pid, process, track;
	bool is_fork;
	const struct uftrace_session *session;
	uint64_t until_ns; /* of the session */
	size_t at;
	uint64_t last_ns; /* of the last record; 0: there was none */
	struct uftrace_notes notes;
	uint32_t pause_functions
		[2];   /* where it waits, where it is pre-empted; SONDE_NONE: not made yet */
	uint32_t base; /* depth of the outermost call in this file */
	SONDE_VEC(uint32_t) open; /* functions of calls that are open */
	uint64_t lost;		  /* records, as the recorder says */
	uint64_t ended;		  /* calls whose exits are not there */
	uint64_t lone;		  /* exits of other functions than the one that was entered */
	uint64_t events;
};

static enum sonde_status add(struct task_reader *task, const struct sonde_intake_event *event,
			     struct sonde_error *err)
{
	return sonde_intake_add(task->data->intake, event, err);
}

/* Ends the innermost call, of which there is no exit. */
static enum sonde_status end_call(struct task_reader *task, uint64_t time_ns,
				  struct sonde_error *err)
{
	task->open.count--;
	task->ended++;
	return add(task,
		   &(struct sonde_intake_event){ .time_ns = time_ns,
						 .track = task->track,
						 .kind = SONDE_EVENT_RETURN,
						 .function = SONDE_NONE,
						 .event_type = SONDE_NONE },
		   err);
}

/* Depths say which calls ended without an exit: longjmp(), lost records. */
static enum sonde_status end_deeper(struct task_reader *task, uint64_t time_ns, unsigned int depth,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!task->open.count)
		task->base = depth;
	while (!status && task->open.count) {
		size_t surplus = (task->base + task->open.count - depth) % UFTRACE_DEPTHS;

		/* deeper than what is known to be open: entries were lost */
		if (!surplus || surplus > UFTRACE_DEPTHS / 2)
			break;
		status = end_call(task, time_ns, err);
	}
	return status;
}

/* Arguments behind a record: packed, and passed over. False where nobody says how long they are. */
static bool take_arguments(struct task_reader *task, uint32_t spec,
			   struct sonde_intake_event *event)
{
	struct uftrace *data = task->data;
	const uint8_t *bytes = task->file.data + task->at;
	size_t taken = 0;

	event->event_type = SONDE_NONE;
	if (spec != SONDE_NONE)
		taken = uftrace_pack(data, &data->specs.items[spec], bytes,
				     task->file.size - task->at);
	if (!taken)
		return false;
	event->event_type = data->specs.items[spec].event_type;
	event->arguments = (const uint8_t *)data->packed.data;
	event->size = data->packed.size;
	task->at += taken;
	return true;
}

static bool is_record(const struct task_reader *task, size_t at)
{
	uint64_t time_ns = sonde_load_u64le(task->file.data + at);
	uint64_t word = sonde_load_u64le(task->file.data + at + 8);

	return UFTRACE_CHECK(word) == UFTRACE_CHECK_VALUE && time_ns >= task->last_ns &&
	       time_ns - task->last_ns < RESYNC_NS;
}

/* Goes on at the next thing that looks like a record. */
static void resync(struct task_reader *task, const char *what)
{
	size_t from = task->at;

	while (task->file.size - task->at >= UFTRACE_RECORD_SIZE && !is_record(task, task->at))
		task->at += 8;
	if (task->file.size - task->at < UFTRACE_RECORD_SIZE)
		task->at = task->file.size;
	EXCHANGE_FINDING(task->data->recording, RECORD, from,
			 "%s in %s\t%zu bytes that are passed over", what, task->name,
			 task->at - from);
}

static enum sonde_status take_entry(struct task_reader *task,
				    const struct sonde_intake_event *event, struct sonde_error *err)
{
	uint32_t *open = sonde_vec_push(&task->open);

	if (!open)
		return sonde_fail_nomem(err);
	*open = event->function;
	return add(task, event, err);
}

static enum sonde_status take_exit(struct task_reader *task, struct sonde_intake_event *event,
				   unsigned int depth, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (task->open.count && task->open.items[task->open.count - 1] == event->function) {
		event->kind = SONDE_EVENT_RETURN;
		task->open.count--;
		return add(task, event, err);
	}
	/*
	 * What a forked process returns from began in its parent. A function that returns twice, as setjmp()
	 * does, ends another that was left by a jump. uftrace counts both as calls without length.
	 */
	if (!task->open.count)
		task->base = depth;
	else
		status = end_call(task, event->time_ns, err);
	task->lone += !task->is_fork;
	event->kind = SONDE_INTAKE_SPAN;
	return status ? status : add(task, event, err);
}

static enum sonde_status take_call(struct task_reader *task, uint64_t time_ns, uint64_t word,
				   struct sonde_error *err)
{
	struct sonde_intake_event event = { .time_ns = time_ns,
					    .end_ns = time_ns,
					    .track = task->track,
					    .event_type = SONDE_NONE };
	bool is_entry = UFTRACE_TYPE(word) == UFTRACE_ENTRY;
	unsigned int depth = UFTRACE_DEPTH(word);
	struct uftrace_place place;
	enum sonde_status status;

	status = uftrace_find_place(task->data, task->session, task->process, UFTRACE_ADDRESS(word),
				    time_ns, &place, err);
	if (!status)
		status = end_deeper(task, time_ns, (depth + !is_entry) % UFTRACE_DEPTHS, err);
	if (status)
		return status;
	event.function = place.function;
	event.kind = SONDE_EVENT_CALL;
	if (UFTRACE_MORE(word) &&
	    !take_arguments(task, is_entry ? place.arguments : place.result, &event))
		resync(task, "values of a kind that info tells of");
	return is_entry ? take_entry(task, &event, err) : take_exit(task, &event, depth, err);
}

/* Something that happened beside calls; its number says what. */
static enum sonde_status take_event(struct task_reader *task, uint64_t time_ns, uint64_t word,
				    struct sonde_error *err)
{
	struct sonde_intake_event event = { .time_ns = time_ns,
					    .track = task->track,
					    .kind = SONDE_EVENT_INSTANT,
					    .event_type = SONDE_NONE };
	char name[32];
	int length = snprintf(name, sizeof(name), "event %" PRIu64, UFTRACE_ADDRESS(word));
	enum sonde_status status = sonde_intake_event_type(task->data->intake, name, (size_t)length,
							   "", &event.function, err);

	if (status)
		return status;
	task->events++;
	if (UFTRACE_MORE(word)) {
		size_t left = task->file.size - task->at;
		size_t size = left < 2 ? 2 :
					 sonde_load_u16le(task->file.data + task->at) + (size_t)2;

		size = (size + 7) & ~(size_t)7;
		task->at += size < left ? size : left;
	}
	return add(task, &event, err);
}

/* Times before a record in which the task did not run: they are calls, as `uftrace report` shows them. */
static enum sonde_status take_pauses(struct task_reader *task, uint64_t before_ns,
				     struct sonde_error *err)
{
	static const char *const names[] = { "linux:schedule", "linux:schedule (pre-empted)" };
	const struct sonde_function like = { .process = task->process, .module = SONDE_NONE };
	enum sonde_status status = SONDE_OK;
	struct uftrace_pause pause;

	while (!status && uftrace_next_pause(&task->notes, before_ns, &pause)) {
		uint32_t *function = &task->pause_functions[pause.is_preempted];
		const char *name = names[pause.is_preempted];

		if (!task->last_ns) /* nothing was called yet */
			continue;
		if (*function == SONDE_NONE)
			status = sonde_intake_function(task->data->intake, &like, name,
						       strlen(name), function, err);
		if (!status)
			status = add(task,
				     &(struct sonde_intake_event){ .time_ns = pause.start_ns,
								   .end_ns = pause.end_ns,
								   .track = task->track,
								   .kind = SONDE_INTAKE_SPAN,
								   .function = *function,
								   .event_type = SONDE_NONE },
				     err);
	}
	return status;
}

static enum sonde_status take_record(struct task_reader *task, struct sonde_error *err)
{
	uint64_t time_ns = sonde_load_u64le(task->file.data + task->at);
	uint64_t word = sonde_load_u64le(task->file.data + task->at + 8);
	enum sonde_status status;

	if (UFTRACE_CHECK(word) != UFTRACE_CHECK_VALUE) {
		resync(task, "a record");
		return SONDE_OK;
	}
	task->at += UFTRACE_RECORD_SIZE;
	status = take_pauses(task, time_ns, err);
	if (status)
		return status;
	task->last_ns = time_ns;
	if (time_ns >= task->until_ns)
		task->session =
			uftrace_find_session(task->data, task->pid, time_ns, &task->until_ns);
	switch (UFTRACE_TYPE(word)) {
	case UFTRACE_LOST:
		task->lost += UFTRACE_ADDRESS(word);
		return SONDE_OK;
	case UFTRACE_EVENT:
		return take_event(task, time_ns, word, err);
	default:
		return take_call(task, time_ns, word, err);
	}
}

static void tell_findings(const struct task_reader *task)
{
	struct sonde_recording *recording = task->data->recording;

	if (task->file.size % 8)
		EXCHANGE_FINDING(recording, TRUNCATED, task->file.size,
				 "whole records in %s\t%zu bytes at its end", task->name,
				 task->file.size % 8);
	if (task->ended)
		EXCHANGE_FINDING(recording, MISSING_END, SONDE_NO_OFFSET,
				 "an exit for each entry in %s\t%" PRIu64 " without", task->name,
				 task->ended);
	if (task->lone)
		EXCHANGE_FINDING(recording, LONE_END, SONDE_NO_OFFSET,
				 "an entry for each exit in %s\t%" PRIu64
				 " without: calls of no length stand for them",
				 task->name, task->lone);
}

static enum sonde_status read_records(struct task_reader *task, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	struct sonde_trail trail = { 0 };
	uint32_t name = 0;

	task->until_ns = 0; /* the first record finds its session */
	while (!status && task->file.size - task->at >= UFTRACE_RECORD_SIZE) {
		size_t start = task->at;

		status = take_record(task, err);
		sonde_mapped_file_leave(&task->file, &trail, start, task->at);
	}
	/* the name it had in the end; that it did not run after its last call is of no interest */
	while (uftrace_next_pause(&task->notes, UINT64_MAX, &(struct uftrace_pause){ 0 }))
		continue;
	if (!status && task->notes.name.size)
		status = sonde_intake_string(task->data->intake, task->notes.name.at,
					     task->notes.name.size, &name, err);
	sonde_intake_track_at(task->data->intake, task->track)->name = name;
	tell_findings(task);
	sonde_intake_track_at(task->data->intake, task->track)->dropped_events = task->lost;
	return status;
}

static enum sonde_status name_process(struct task_reader *task, struct sonde_error *err)
{
	struct sonde_process *process = sonde_intake_process_at(task->data->intake, task->process);
	const struct uftrace_session *session;
	struct uftrace_text name = { 0 };
	enum sonde_status status;
	uint64_t until_ns;
	uint32_t string;

	session = uftrace_find_session(task->data, task->pid, UINT64_MAX, &until_ns);
	if (!session || process->name)
		return SONDE_OK;
	name = session->program;
	while (name.size && memchr(name.at, '/', name.size))
		uftrace_take(&name, '/');
	status = sonde_intake_string(task->data->intake, name.at, name.size, &string, err);
	process->name = string;
	process->os = SONDE_OS_LINUX;
	return status;
}

static enum sonde_status read_task(struct uftrace *data, const char *name, struct sonde_error *err)
{
	struct task_reader task = { .data = data,
				    .name = name,
				    .pause_functions = { SONDE_NONE, SONDE_NONE } };
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	const struct uftrace_task *known = uftrace_find_task(data, tid);
	enum sonde_status status = uftrace_map_file(data, name, &task.file, err);

	if (status && status != SONDE_NOMEM) {
		EXCHANGE_FINDING(data->recording, RECORD, SONDE_NO_OFFSET,
				 "records in %s\tit cannot be read", name);
		return SONDE_OK;
	}
	task.notes = uftrace_find_notes(data, tid);
	task.pid = known ? known->pid : tid;
	task.is_fork = known && known->parent != SONDE_NONE;
	if (!status)
		status = sonde_intake_process(data->intake, task.pid, &task.process, err);
	if (!status)
		status = sonde_intake_track(data->intake, task.process, tid, &task.track, err);
	if (!status)
		status = name_process(&task, err);
	if (!status)
		status = read_records(&task, err);
	sonde_vec_release(&task.open);
	sonde_mapped_file_release(&task.file);
	return status;
}

static bool is_task_file(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits && digits < 11 && !strcmp(name + digits, ".dat");
}

/* Functions of the kernel, in a form of its own. */
static void tell_left_out(struct uftrace *data, const char *name)
{
	struct sonde_mapped_file file;

	if (strncmp(name, "kernel-cpu", 10) != 0 || uftrace_map_file(data, name, &file, NULL))
		return;
	if (file.size)
		EXCHANGE_FINDING(data->recording, UNKNOWN, SONDE_NO_OFFSET,
				 "calls and events of tasks\t%zu bytes in %s: functions of the "
				 "kernel, which are not read",
				 file.size, name);
	sonde_mapped_file_release(&file);
}

static enum sonde_status define_clock(struct uftrace *data, struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_MONOTONIC };
	enum sonde_status status =
		sonde_intake_string(data->intake, "monotonic", 9, &clock.name, err);
	uint32_t id;

	if (status)
		return status;
	return sonde_definitions_add_clock(data->recording->definitions, &clock, &id, err);
}

static enum sonde_status read_folder(struct uftrace *data, const struct sonde_folder *folder,
				     struct sonde_error *err)
{
	enum sonde_status status = read_info(data, err);

	if (!status)
		status = define_clock(data, err);
	if (!status)
		status = uftrace_list_symbols(data, folder, err);
	if (!status)
		status = uftrace_read_tasks(data, err);
	if (!status)
		status = uftrace_read_notes(data, folder, err);
	for (size_t i = 0; !status && i < folder->count; i++) {
		if (is_task_file(folder->names[i]))
			status = read_task(data, folder->names[i], err);
		else
			tell_left_out(data, folder->names[i]);
	}
	return status;
}

static void release(struct uftrace *data)
{
	uftrace_symbols_release(data);
	for (size_t i = 0; i < data->maps.count; i++)
		sonde_mapped_file_release(&data->maps.items[i]);
	for (size_t i = 0; i < data->sessions.count; i++)
		sonde_vec_release(&data->sessions.items[i].mappings);
	sonde_vec_release(&data->maps);
	sonde_vec_release(&data->sessions);
	sonde_vec_release(&data->task_list);
	sonde_vec_release(&data->notes);
	sonde_vec_release(&data->specs);
	sonde_vec_release(&data->places);
	sonde_text_map_release(&data->space_ids);
	sonde_text_map_release(&data->module_ids);
	sonde_key_map_release(&data->place_ids);
	sonde_mapped_file_release(&data->info);
	sonde_mapped_file_release(&data->tasks);
	sonde_buffer_release(&data->packed);
	sonde_arena_release(&data->arena);
}

enum sonde_status uftrace_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct uftrace data = { .recording = recording };
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, recording->path, err);

	if (status)
		return status;
	status = sonde_intake_new(recording, &data.intake, err);
	if (!status)
		status = read_folder(&data, &folder, err);
	release(&data);
	sonde_folder_release(&folder);
	if (!status)
		status = exchange_finish(recording, data.intake, err);
	if (status)
		sonde_intake_free(data.intake);
	return status;
}
