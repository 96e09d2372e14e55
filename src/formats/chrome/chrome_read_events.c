/* SPDX-License-Identifier: Apache-2.0 */
/* What the members of an event mean: phases become calls, spans, counters, flows, ranges, names. */
#include <inttypes.h>
#include <math.h>

#include "base/hash.h"
#include "formats/chrome/chrome_read.h"

#define AT_MEMBERS 8
#define TEXT_ID_BIT (UINT64_C(1) << 63)

enum sonde_status chrome_read_string(struct chrome_reader *reader, const struct chrome_text *text,
				     uint32_t *string, struct sonde_error *err)
{
	sonde_buffer_clear(&reader->text);
	chrome_unescape(&reader->text, text);
	if (reader->text.failed)
		return sonde_fail_nomem(err);
	return sonde_intake_string(reader->intake, reader->text.data, reader->text.size, string,
				   err);
}

uint64_t chrome_id_of(const struct chrome_value *value, bool *is_text)
{
	struct chrome_value inner = { 0 };

	*is_text = false;
	switch (value->kind) {
	case CHROME_KIND_INT64:
	case CHROME_KIND_BOOL:
		return (uint64_t)value->integer;
	case CHROME_KIND_FLOAT64:
	case CHROME_KIND_TEXT:
		break;
	default:
		return 0;
	}
	if (chrome_scan_item(value->text.text, value->text.text + value->text.length, &inner) &&
	    inner.kind == CHROME_KIND_INT64)
		return (uint64_t)inner.integer;
	*is_text = true;
	return sonde_hash_bytes(SONDE_HASH_START, value->text.text, value->text.length) |
	       TEXT_ID_BIT;
}

/* A track that was not met of late. */
static enum sonde_status find_track(struct chrome_reader *reader, struct chrome_known_track *known,
				    bool is_text_tid, struct sonde_error *err)
{
	struct sonde_track *made;
	uint32_t name = 0, track;
	enum sonde_status status =
		sonde_intake_process(reader->intake, known->pid, &known->process, err);

	if (!status && is_text_tid)
		status = chrome_read_string(reader, &reader->event.tid.text, &name, err);
	if (!status)
		status =
			sonde_intake_track(reader->intake, known->process, known->tid, &track, err);
	if (status)
		return status;
	known->track_plus_one = track + 1;
	made = sonde_intake_track_at(reader->intake, track);
	if (is_text_tid) {
		made->os_id = UINT64_MAX;
		if (!made->name)
			made->name = name;
	}
	return SONDE_OK;
}

/* Without a thread the process is taken for one: some tools write no other id. */
enum sonde_status chrome_read_track(struct chrome_reader *reader, uint32_t *process,
				    uint32_t *track, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	bool is_text_pid, is_text_tid = false;
	uint64_t pid = chrome_id_of(&event->pid, &is_text_pid);
	uint64_t tid = event->tid.kind ? chrome_id_of(&event->tid, &is_text_tid) : pid;
	struct chrome_known_track *known =
		&reader->tracks[(tid ^ pid * 31) & (CHROME_TRACK_CACHE - 1)];
	enum sonde_status status = SONDE_OK;

	if (!known->track_plus_one || known->pid != pid || known->tid != tid) {
		*known = (struct chrome_known_track){ .pid = pid, .tid = tid };
		status = find_track(reader, known, is_text_tid, err);
	}
	*process = known->process;
	*track = known->track_plus_one - 1;
	return status;
}

static bool is_member(const struct chrome_member *member, const char *key)
{
	return member->key.length == strlen(key) &&
	       !memcmp(member->key.text, key, member->key.length);
}

/* The path of a module that had no number when the file was begun. */
static enum sonde_status read_path(struct chrome_reader *reader, uint32_t process,
				   const struct chrome_text *path, uint32_t *module,
				   struct sonde_error *err)
{
	struct sonde_module made = { .process = process };
	enum sonde_status status = chrome_read_string(reader, path, &made.path, err);
	struct chrome_name_entry *entry;
	uint32_t key[2] = { process, made.path };
	bool is_new;

	if (status)
		return status;
	entry = chrome_names_find(&reader->names, CHROME_GROUP_MODULES, (const char *)key,
				  sizeof(key), &is_new);
	if (!entry)
		return sonde_fail_nomem(err);
	if (is_new)
		status = sonde_definitions_add_module(reader->recording->definitions, &made,
						      &entry->value, err);
	*module = entry->value;
	return status;
}

/* One member of where a function is. */
static enum sonde_status read_place_member(struct chrome_reader *reader,
					   const struct chrome_member *member,
					   struct sonde_function *like, struct sonde_error *err)
{
	const struct chrome_value *value = &member->value;
	uint64_t number = (uint64_t)value->integer;

	if (value->kind == CHROME_KIND_TEXT) {
		if (is_member(member, "file"))
			return chrome_read_string(reader, &value->text, &like->file, err);
		if (is_member(member, "raw"))
			return chrome_read_string(reader, &value->text, &like->raw_name, err);
		if (is_member(member, "path"))
			return read_path(reader, like->process, &value->text, &like->module, err);
	} else if (value->kind == CHROME_KIND_INT64) {
		if (is_member(member, "module") && number < reader->modules.count)
			like->module = reader->modules.items[number];
		else if (is_member(member, "line") && number <= UINT32_MAX)
			like->line = (uint32_t)number;
		else if (is_member(member, "address"))
			like->address = number;
	}
	return SONDE_OK;
}

static enum sonde_status read_place(struct chrome_reader *reader, const struct chrome_text *text,
				    struct sonde_function *like, struct sonde_error *err)
{
	struct chrome_member members[AT_MEMBERS];
	const char *at = text->text;
	enum sonde_status status = SONDE_OK;
	size_t count;

	if (chrome_scan_members(&at, at + text->length, members, AT_MEMBERS, &count))
		return SONDE_OK; /* it was not us who wrote it */
	for (size_t i = 0; !status && i < count && i < AT_MEMBERS; i++)
		status = read_place_member(reader, &members[i], like, err);
	return status;
}

/* A category belongs to the function that first has one. */
static enum sonde_status keep_category(struct chrome_reader *reader, uint32_t function,
				       struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_FUNCTION, .owner_id = function };
	struct sonde_json_writer json;
	struct sonde_buffer value = { 0 };
	enum sonde_status status;

	sonde_buffer_clear(&reader->text);
	chrome_unescape(&reader->text, &reader->event.category);
	sonde_json_writer_init(&json, &value, false);
	sonde_json_string_sized(&json, reader->text.data, reader->text.size);
	if (reader->text.failed || value.failed)
		status = sonde_fail_nomem(err);
	else
		status = sonde_intake_string(reader->intake, value.data, value.size,
					     &attribute.value, err);
	sonde_buffer_release(&value);
	if (!status)
		status = sonde_intake_string(reader->intake, CHROME_CATEGORY,
					     sizeof(CHROME_CATEGORY) - 1, &attribute.name, err);
	if (!status)
		status = sonde_definitions_add_attribute(reader->recording->definitions, &attribute,
							 &(uint32_t){ 0 }, err);
	return status;
}

static enum sonde_status define_function(struct chrome_reader *reader, uint32_t process,
					 uint32_t *function, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	struct sonde_function like = { .process = process, .module = SONDE_NONE };
	uint32_t before = sonde_definitions_function_count(reader->recording->definitions);
	enum sonde_status status = SONDE_OK;

	if (event->at.text)
		status = read_place(reader, &event->at, &like, err);
	if (status)
		return status;
	sonde_buffer_clear(&reader->text);
	chrome_unescape(&reader->text, &event->name);
	if (reader->text.failed)
		return sonde_fail_nomem(err);
	status = sonde_intake_function(reader->intake, &like, reader->text.data, reader->text.size,
				       function, err);
	if (!status && *function >= before && event->category.text && event->category.length)
		status = keep_category(reader, *function, err);
	return status;
}

/* The function of a call by its name; one that says where it is means that name from here on. */
static enum sonde_status find_function(struct chrome_reader *reader, uint32_t process,
				       uint32_t *function, bool *is_shared, struct sonde_error *err)
{
	const struct chrome_text *name = &reader->event.name;
	struct chrome_name_entry *entry;
	enum sonde_status status;
	bool is_new;

	entry = chrome_names_find(&reader->names, process, name->text, name->length, &is_new);
	if (!entry)
		return sonde_fail_nomem(err);
	if (is_new || reader->event.at.text) {
		struct chrome_name_entry *again;

		status = define_function(reader, process, function, err);
		if (status)
			return status;
		/* the table may have grown by the names of modules */
		again = chrome_names_find(&reader->names, process, name->text, name->length,
					  &is_new);
		if (!again)
			return sonde_fail_nomem(err);
		again->is_shared |= again->value != SONDE_NONE && again->value != *function;
		again->value = *function;
		entry = again;
	}
	*function = entry->value;
	*is_shared = entry->is_shared;
	return SONDE_OK;
}

/* Takes the mark of an exception off the arguments; true where it was there. */
static bool take_exception(struct chrome_event *event)
{
	const struct chrome_member *last;

	if (!event->argument_count || event->argument_count > CHROME_MOST_ARGUMENTS)
		return false;
	last = &event->argument_list[event->argument_count - 1];
	if (!is_member(last, CHROME_EXCEPTION) || last->value.kind != CHROME_KIND_BOOL ||
	    !last->value.integer)
		return false;
	event->argument_count--;
	return true;
}

/* The start of an event that must have one; SONDE_END where it cannot be used. */
static enum sonde_status read_time(struct chrome_reader *reader, uint64_t *time_ns)
{
	const struct chrome_moment *start = &reader->event.start;

	if (!start->is_there || start->is_bad) {
		EXCHANGE_FINDING(reader->recording, TIME, reader->event_offset,
				 "a time in microseconds\t%s, so the event is left out",
				 start->is_there ? "none that can be" : "none");
		return SONDE_END;
	}
	*time_ns = chrome_moment_ns(start);
	if (start->is_negative) {
		reader->counts.negative++;
		*time_ns = 0;
	}
	return SONDE_OK;
}

/* The end of an X: rounded after it was added up, so that spans stay inside of each other. */
static void read_end(struct chrome_reader *reader, struct sonde_intake_event *added)
{
	const struct chrome_moment *duration = &reader->event.duration;
	struct chrome_moment end = reader->event.start;
	bool is_good = duration->is_there && !duration->is_bad && !duration->is_negative &&
		       !end.is_negative && chrome_moment_add(&end, duration);

	added->end_ns = is_good ? chrome_moment_ns(&end) : added->time_ns;
	if (!is_good)
		EXCHANGE_FINDING(reader->recording, TIME, reader->event_offset,
				 "a duration in microseconds\tnone that can be; it takes no time");
}

static enum sonde_status add_detail(struct chrome_reader *reader, struct sonde_intake_event *added,
				    struct sonde_error *err)
{
	enum sonde_status status = chrome_read_arguments(reader, &added->event_type, err);

	added->arguments = (const uint8_t *)reader->packed.data;
	added->size = reader->packed.size;
	return status;
}

/* Of new flows only: a call that one leaves, or comes to. */
static enum sonde_status add_bound_flow(struct chrome_reader *reader,
					const struct sonde_intake_event *call,
					struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	struct sonde_intake_event added = { .time_ns = call->time_ns,
					    .track = call->track,
					    .event_type = SONDE_NONE };
	enum sonde_status status;

	if (event->bind_id.kind == CHROME_KIND_NONE || (!event->flow_in && !event->flow_out))
		return SONDE_OK;
	added.kind = event->flow_in && event->flow_out ? SONDE_EVENT_FLOW_STEP :
		     event->flow_out		       ? SONDE_EVENT_FLOW_BEGIN :
							 SONDE_EVENT_FLOW_END;
	status = chrome_read_type(reader, &added.function, err);
	if (!status)
		status = sonde_intake_number(reader->intake, event->bind_id.text.text,
					     event->bind_id.text.length, &added.extra, err);
	return status ? status : sonde_intake_add(reader->intake, &added, err);
}

/* B and X. */
static enum sonde_status read_call(struct chrome_reader *reader, uint32_t process,
				   struct sonde_intake_event *added, struct sonde_error *err)
{
	bool is_shared;
	enum sonde_status status;

	added->kind = SONDE_EVENT_CALL;
	if (reader->event.phase == 'X') {
		added->kind = SONDE_INTAKE_SPAN;
		read_end(reader, added);
	}
	status = find_function(reader, process, &added->function, &is_shared, err);
	if (!status)
		status = add_detail(reader, added, err);
	if (!status)
		status = sonde_intake_add(reader->intake, added, err);
	return status ? status : add_bound_flow(reader, added, err);
}

/* E; one without a name, or with a name of several functions, ends whatever is open. */
static enum sonde_status read_return(struct chrome_reader *reader, uint32_t process,
				     struct sonde_intake_event *added, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	bool is_shared = false;

	added->kind = take_exception(&reader->event) ? SONDE_EVENT_EXCEPTION : SONDE_EVENT_RETURN;
	added->function = SONDE_NONE;
	if (reader->event.name.length)
		status = find_function(reader, process, &added->function, &is_shared, err);
	if (is_shared)
		added->function = SONDE_NONE;
	if (!status)
		status = add_detail(reader, added, err);
	return status ? status : sonde_intake_add(reader->intake, added, err);
}

/* A counter of several series is as many counters. */
static enum sonde_status read_counter(struct chrome_reader *reader,
				      struct sonde_intake_event *added, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	enum sonde_status status = SONDE_OK;

	added->kind = SONDE_EVENT_COUNTER;
	for (size_t i = 0; !status && i < event->argument_count && i < CHROME_MOST_ARGUMENTS; i++) {
		const struct chrome_member *member = &event->argument_list[i];
		const struct chrome_value *value = &member->value;

		sonde_buffer_clear(&reader->text);
		chrome_unescape(&reader->text, &event->name);
		if (event->argument_count > 1 || !is_member(member, CHROME_VALUE)) {
			sonde_buffer_put_char(&reader->text, '.');
			chrome_unescape(&reader->text, &member->key);
		}
		if (reader->text.failed)
			return sonde_fail_nomem(err);
		added->value = value->kind == CHROME_KIND_ANY && !chrome_value_is_number(value) ?
				       NAN :
				       chrome_double(value->text.text, value->text.length);
		status = sonde_intake_event_type(reader->intake, reader->text.data,
						 reader->text.size, "", &added->function, err);
		if (!status)
			status = sonde_intake_add(reader->intake, added, err);
	}
	return status;
}

static void put_part(struct sonde_buffer *out, const struct chrome_text *text)
{
	sonde_buffer_put(out, text->text, text->length);
	sonde_buffer_put_char(out, '\0');
}

/*
 * The number of a flow or range. Other tools tie them together by category, id, scope, and, with ids of one process
 * only, by that; nested ranges of one id also by name.
 */
static enum sonde_status read_number(struct chrome_reader *reader, bool is_range, uint32_t process,
				     uint32_t *number, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	struct sonde_buffer *key = &reader->shape;
	struct chrome_text id = event->id.text;
	struct chrome_member member = { 0 };
	size_t count = 0;

	sonde_buffer_clear(key);
	sonde_buffer_put_char(key, is_range ? 'r' : 'f');
	if (event->id2.text) {
		const char *at = event->id2.text;

		if (!chrome_scan_members(&at, at + event->id2.length, &member, 1, &count) && count)
			id = member.value.text;
		if (count && is_member(&member, "local"))
			sonde_buffer_put_u64(key, process);
	}
	if (!reader->is_ours) {
		put_part(key, &event->category);
		put_part(key, &event->scope);
		if (is_range)
			put_part(key, &event->name);
	}
	sonde_buffer_put(key, id.text, id.length);
	if (key->failed)
		return sonde_fail_nomem(err);
	return sonde_intake_number(reader->intake, key->data, key->size, number, err);
}

/* Instants, marks, flows, ranges: events with a type. */
static enum sonde_status read_typed(struct chrome_reader *reader, uint32_t process,
				    enum sonde_event_kind kind, struct sonde_intake_event *added,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	added->kind = (uint8_t)kind;
	reader->counts.categories += reader->event.category.length && !reader->is_ours;
	if (kind >= SONDE_EVENT_FLOW_BEGIN)
		status = read_number(reader, kind >= SONDE_EVENT_RANGE_BEGIN, process,
				     &added->extra, err);
	if (!status)
		status = add_detail(reader, added, err);
	added->function = added->event_type;
	if (!status && added->event_type == SONDE_NONE)
		status = chrome_read_type(reader, &added->function, err);
	return status ? status : sonde_intake_add(reader->intake, added, err);
}

/* What phases are events with a type. */
static const uint8_t kinds[256] = {
	['i'] = SONDE_EVENT_INSTANT,	 ['I'] = SONDE_EVENT_INSTANT,
	['n'] = SONDE_EVENT_INSTANT,	 ['T'] = SONDE_EVENT_INSTANT,
	['p'] = SONDE_EVENT_INSTANT,	 ['R'] = SONDE_EVENT_MARK,
	['s'] = SONDE_EVENT_FLOW_BEGIN,	 ['t'] = SONDE_EVENT_FLOW_STEP,
	['f'] = SONDE_EVENT_FLOW_END,	 ['b'] = SONDE_EVENT_RANGE_BEGIN,
	['S'] = SONDE_EVENT_RANGE_BEGIN, ['e'] = SONDE_EVENT_RANGE_END,
	['F'] = SONDE_EVENT_RANGE_END,
};

/* An event that has a place in time, on a track. */
static enum sonde_status read_timed(struct chrome_reader *reader, struct sonde_error *err)
{
	struct sonde_intake_event added = { .event_type = SONDE_NONE };
	unsigned char phase = (unsigned char)reader->event.phase;
	uint32_t process;
	enum sonde_status status = read_time(reader, &added.time_ns);

	if (status)
		return SONDE_OK;
	status = chrome_read_track(reader, &process, &added.track, err);
	if (status)
		return status;
	if (phase == 'B' || phase == 'X')
		return read_call(reader, process, &added, err);
	if (phase == 'E')
		return read_return(reader, process, &added, err);
	if (phase == 'C')
		return read_counter(reader, &added, err);
	return read_typed(reader, process, kinds[phase], &added, err);
}

enum sonde_status chrome_read_event(struct chrome_reader *reader, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	unsigned char phase = (unsigned char)event->phase;

	reader->events++;
	reader->counts.thread_clocks += event->has_thread_clock;
	reader->counts.stacks += event->has_stack;
	if (phase == 'M')
		return chrome_read_metadata(reader, err);
	if (kinds[phase] || phase == 'B' || phase == 'E' || phase == 'X' || phase == 'C')
		return read_timed(reader, err);
	reader->counts.phases[phase]++;
	return SONDE_OK;
}
