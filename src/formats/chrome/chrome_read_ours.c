/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who: metadata events, the member that we write for ourselves, and members of the file that are kept as
 * attributes. All of it is read by the general reader of JSON or is seldom.
 */
#include <inttypes.h>

#include "formats/chrome/chrome_read.h"

/* A member that is longer is not kept. */
#define LONGEST_ATTRIBUTE ((size_t)64 << 10)

static const struct chrome_member *find_argument(const struct chrome_event *event, const char *key)
{
	for (size_t i = 0; i < event->argument_count && i < CHROME_MOST_ARGUMENTS; i++) {
		const struct chrome_text *found = &event->argument_list[i].key;

		if (found->length == strlen(key) && !memcmp(found->text, key, found->length))
			return &event->argument_list[i];
	}
	return NULL;
}

static bool is_named(const struct chrome_event *event, const char *name)
{
	return event->name.length == strlen(name) &&
	       !memcmp(event->name.text, name, event->name.length);
}

static enum sonde_status add_attribute(struct chrome_reader *reader, enum sonde_owner owner,
				       uint32_t owner_id, const char *name, const char *value,
				       size_t length, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = owner, .owner_id = owner_id };
	enum sonde_status status =
		sonde_intake_string(reader->intake, name, strlen(name), &attribute.name, err);

	if (!status)
		status = sonde_intake_string(reader->intake, value, length, &attribute.value, err);
	if (!status)
		status = sonde_definitions_add_attribute(reader->recording->definitions, &attribute,
							 &(uint32_t){ 0 }, err);
	return status;
}

/* The tracks of our own file that have no name but in the eyes of viewers. */
static bool is_unnamed(const struct chrome_reader *reader, uint32_t track)
{
	size_t low = 0, high = reader->unnamed.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->unnamed.items[middle] < track)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->unnamed.count && reader->unnamed.items[low] == track;
}

enum sonde_status chrome_read_metadata(struct chrome_reader *reader, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	const struct chrome_member *name = find_argument(event, "name");
	const struct chrome_member *labels = find_argument(event, "labels");
	bool of_thread = is_named(event, "thread_name"),
	     of_process = is_named(event, "process_name");
	uint32_t process, track, string = 0;
	enum sonde_status status;

	if (is_named(event, "process_sort_index") || is_named(event, "thread_sort_index"))
		return SONDE_OK;
	if (is_named(event, "process_labels") && labels)
		of_process = true;
	else
		labels = NULL;
	if ((!of_thread && !of_process) || (!name && !labels)) {
		reader->counts.metadata++;
		return SONDE_OK;
	}
	if (of_thread) {
		status = chrome_read_track(reader, &process, &track, err);
	} else {
		bool is_text;

		status = sonde_intake_process(reader->intake, chrome_id_of(&event->pid, &is_text),
					      &process, err);
	}
	if (status)
		return status;
	if (labels)
		return add_attribute(reader, SONDE_OWNER_PROCESS, process, "labels",
				     labels->value.text.text -
					     (labels->value.kind == CHROME_KIND_TEXT),
				     labels->value.text.length +
					     2 * (size_t)(labels->value.kind == CHROME_KIND_TEXT),
				     err);
	status = chrome_read_string(reader, &name->value.text, &string, err);
	if (!status && of_process)
		sonde_intake_process_at(reader->intake, process)->name = string;
	if (!status && of_thread && !is_unnamed(reader, track))
		sonde_intake_track_at(reader->intake, track)->name = string;
	return status;
}

/* One entry of a list in our member: numbers and texts by their keys. */
enum { MOST_FIELDS = 16 };

struct field {
	char key[16];
	uint64_t number;
	bool is_text;
	uint32_t text; /* where it starts in the buffer of the reader, with its length */
	uint32_t length;
};

struct entry {
	struct field fields[MOST_FIELDS];
	size_t count;
	struct sonde_buffer texts;
};

static uint64_t number_in(const struct entry *entry, const char *key, uint64_t otherwise)
{
	for (size_t i = 0; i < entry->count; i++) {
		if (!entry->fields[i].is_text && !strcmp(entry->fields[i].key, key))
			return entry->fields[i].number;
	}
	return otherwise;
}

static const char *text_in(const struct entry *entry, const char *key, size_t *length)
{
	*length = 0;
	for (size_t i = 0; i < entry->count; i++) {
		const struct field *field = &entry->fields[i];

		if (field->is_text && !strcmp(field->key, key)) {
			*length = field->length;
			return entry->texts.data + field->text;
		}
	}
	return "";
}

static enum sonde_status string_in(struct chrome_reader *reader, const struct entry *entry,
				   const char *key, uint32_t *string, struct sonde_error *err)
{
	size_t length;
	const char *text = text_in(entry, key, &length);

	return sonde_intake_string(reader->intake, text, length, string, err);
}

/* A KEY is the present token; takes its value. */
static enum sonde_status read_field(struct sonde_json_reader *json, struct entry *entry,
				    struct sonde_error *err)
{
	struct field *field = &entry->fields[entry->count];
	bool is_value = json->length == 5 && !memcmp(json->text, "value", 5);
	enum sonde_status status;

	if (entry->count == MOST_FIELDS || json->length >= sizeof(field->key))
		return sonde_json_skip(json, err);
	*field = (struct field){ .text = (uint32_t)entry->texts.size };
	memcpy(field->key, json->text, json->length);
	if (is_value) { /* of an attribute: JSON as it is */
		status = sonde_json_copy(json, &entry->texts, err);
		field->is_text = true;
		field->length = (uint32_t)entry->texts.size - field->text;
		entry->count++;
		return status;
	}
	status = sonde_json_next(json, err);
	if (status)
		return status;
	if (json->token == SONDE_JSON_STRING) {
		field->is_text = true;
		field->length = (uint32_t)json->length;
		sonde_buffer_put(&entry->texts, json->text, json->length);
		entry->count++;
	} else if (json->token == SONDE_JSON_NUMBER || json->token == SONDE_JSON_TRUE) {
		field->number = 1;
		entry->count += json->token == SONDE_JSON_TRUE ||
				sonde_json_u64(json, &field->number);
	} else {
		return sonde_json_skip(json, err);
	}
	return entry->texts.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

typedef enum sonde_status take_entry(struct chrome_reader *reader, const struct entry *entry,
				     struct sonde_error *err);

static enum sonde_status take_process(struct chrome_reader *reader, const struct entry *entry,
				      struct sonde_error *err)
{
	uint64_t pid = number_in(entry, "pid", 0), os_id = number_in(entry, "os_id", pid);
	struct sonde_process *made;
	uint32_t process;
	enum sonde_status status = sonde_intake_process(reader->intake, pid, &process, err);

	if (status)
		return status;
	made = sonde_intake_process_at(reader->intake, process);
	made->os_id = number_in(entry, "made_up", 0) || os_id > SONDE_NONE ? SONDE_NONE :
									     (uint32_t)os_id;
	made->clock = (uint32_t)number_in(entry, "clock", 0);
	made->arch = number_in(entry, "arch", 0) <= SONDE_ARCH_ARM64 ?
			     (enum sonde_arch)number_in(entry, "arch", 0) :
			     SONDE_ARCH_UNKNOWN;
	made->os = number_in(entry, "os", 0) <= SONDE_OS_WINDOWS ?
			   (enum sonde_os)number_in(entry, "os", 0) :
			   SONDE_OS_UNKNOWN;
	made->start_ns = number_in(entry, "start_ns", 0);
	made->end_ns = number_in(entry, "end_ns", 0);
	if (!sonde_vec_reserve(&reader->pids, 1))
		return sonde_fail_nomem(err);
	reader->pids.items[reader->pids.count++] = pid;
	return SONDE_OK;
}

static enum sonde_track_kind track_kind(const struct entry *entry)
{
	static const char *const kinds[] = CHROME_TRACK_NAMES;
	size_t length;
	const char *kind = text_in(entry, "kind", &length);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i]) == length && !memcmp(kinds[i], kind, length))
			return (enum sonde_track_kind)i;
	}
	return SONDE_TRACK_THREAD;
}

static enum sonde_status take_track(struct chrome_reader *reader, const struct entry *entry,
				    struct sonde_error *err)
{
	uint64_t number = number_in(entry, "process", 0), tid = number_in(entry, "tid", 0);
	struct sonde_track *made;
	uint32_t process, track;
	enum sonde_status status;

	if (number >= reader->pids.count)
		return SONDE_OK;
	status = sonde_intake_process(reader->intake, reader->pids.items[number], &process, err);
	if (!status)
		status = sonde_intake_track(reader->intake, process, tid, &track, err);
	if (status)
		return status;
	if (reader->track_count <= track)
		reader->track_count = track + 1;
	made = sonde_intake_track_at(reader->intake, track);
	made->os_id = number_in(entry, "made_up", 0) ? UINT64_MAX : number_in(entry, "os_id", tid);
	made->slot = (uint32_t)number_in(entry, "slot", 0);
	made->kind = track_kind(entry);
	made->unfinished = number_in(entry, "unfinished", 0) != 0;
	made->dropped_events = number_in(entry, "dropped", 0);
	if (!sonde_vec_reserve(&reader->unnamed, 1))
		return sonde_fail_nomem(err);
	if (number_in(entry, "unnamed", 0) &&
	    (!reader->unnamed.count || reader->unnamed.items[reader->unnamed.count - 1] < track))
		reader->unnamed.items[reader->unnamed.count++] = track;
	return SONDE_OK;
}

static enum sonde_status take_module(struct chrome_reader *reader, const struct entry *entry,
				     struct sonde_error *err)
{
	struct sonde_module made = {
		.process = (uint32_t)number_in(entry, "process", 0),
		.base_address = number_in(entry, "base", 0),
		.size = number_in(entry, "size", 0),
		.key = number_in(entry, "key", UINT64_MAX),
	};
	uint32_t *module = sonde_vec_push(&reader->modules);
	enum sonde_status status;

	if (!module)
		return sonde_fail_nomem(err);
	*module = SONDE_NONE;
	if (made.process >= reader->pids.count)
		return SONDE_OK;
	made.has_key = made.key != UINT64_MAX;
	status = string_in(reader, entry, "path", &made.path, err);
	if (!status)
		status = string_in(reader, entry, "uuid", &made.uuid, err);
	if (!status)
		status = sonde_definitions_add_module(reader->recording->definitions, &made, module,
						      err);
	return status;
}

static enum sonde_status take_clock(struct chrome_reader *reader, const struct entry *entry,
				    struct sonde_error *err)
{
	uint64_t kind = number_in(entry, "kind", 0);
	struct sonde_clock made = {
		.kind = kind <= SONDE_CLOCK_REALTIME ? (enum sonde_clock_kind)kind :
						       SONDE_CLOCK_UNKNOWN,
	};
	enum sonde_status status = string_in(reader, entry, "name", &made.name, err);

	return status ? status :
			sonde_definitions_add_clock(reader->recording->definitions, &made,
						    &(uint32_t){ 0 }, err);
}

static enum sonde_status take_anchor(struct chrome_reader *reader, const struct entry *entry,
				     struct sonde_error *err)
{
	struct sonde_definitions *definitions = reader->recording->definitions;
	struct sonde_anchor made = {
		.clock = (uint32_t)number_in(entry, "clock", 0),
		.clock_ns = number_in(entry, "clock_ns", 0),
		.realtime_ns = number_in(entry, "realtime_ns", 0),
	};

	if (made.clock >= sonde_definitions_clock_count(definitions))
		return SONDE_OK;
	return sonde_definitions_add_anchor(definitions, &made, &(uint32_t){ 0 }, err);
}

static enum sonde_status take_type(struct chrome_reader *reader, const struct entry *entry,
				   struct sonde_error *err)
{
	struct chrome_type *type = sonde_vec_push(&reader->types);
	size_t length, name_length;
	const char *arguments = text_in(entry, "arguments", &length);
	const char *name = text_in(entry, "name", &name_length);
	struct sonde_error ignored;
	enum sonde_status status;

	if (!type)
		return sonde_fail_nomem(err);
	*type = (struct chrome_type){ 0 };
	sonde_buffer_clear(&reader->text);
	sonde_buffer_put(&reader->text, arguments, length);
	if (!sonde_buffer_text(&reader->text))
		return sonde_fail_nomem(err);
	status = sonde_signature_parse(reader->text.data, &type->signature, &ignored);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	return sonde_intake_event_type(reader->intake, name, name_length,
				       status ? "" : reader->text.data, &type->event_type, err);
}

/* Numbers in our member that lead nowhere were not written by us. */
static bool has_owner(const struct chrome_reader *reader, enum sonde_owner owner, uint32_t id)
{
	switch (owner) {
	case SONDE_OWNER_RECORDING:
		return true;
	case SONDE_OWNER_PROCESS:
		return id < reader->pids.count;
	case SONDE_OWNER_TRACK:
		return id < reader->track_count;
	case SONDE_OWNER_MODULE:
		return id < reader->modules.count;
	default:
		return false;
	}
}

static enum sonde_status take_attribute(struct chrome_reader *reader, const struct entry *entry,
					struct sonde_error *err)
{
	static const char *const owners[] = CHROME_OWNER_NAMES;
	struct sonde_attribute made = { .owner_id = (uint32_t)number_in(entry, "id", 0) };
	size_t length, owner = 0;
	const char *word = text_in(entry, "owner", &length);
	enum sonde_status status;

	while (owner < SONDE_OWNER_FUNCTION &&
	       (strlen(owners[owner]) != length || memcmp(owners[owner], word, length) != 0))
		owner++;
	made.owner = (enum sonde_owner)owner;
	(void)text_in(entry, "value", &length);
	if (!length || !has_owner(reader, made.owner, made.owner_id))
		return SONDE_OK;
	status = string_in(reader, entry, "name", &made.name, err);
	if (!status)
		status = string_in(reader, entry, "value", &made.value, err);
	if (!status)
		status = sonde_definitions_add_attribute(reader->recording->definitions, &made,
							 &(uint32_t){ 0 }, err);
	return status;
}

/* A list of objects: the present token is its key. */
static enum sonde_status read_list(struct chrome_reader *reader, struct sonde_json_reader *json,
				   struct entry *entry, take_entry *take, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(json, err);
	unsigned int depth = json->depth;

	if (status || json->token != SONDE_JSON_ARRAY_BEGIN)
		return status ? status : sonde_json_skip(json, err);
	while (!(status = sonde_json_next(json, err))) {
		if (json->token == SONDE_JSON_ARRAY_END && json->depth <= depth)
			return SONDE_OK;
		if (json->token == SONDE_JSON_OBJECT_BEGIN) {
			entry->count = 0;
			sonde_buffer_clear(&entry->texts);
		} else if (json->token == SONDE_JSON_KEY) {
			status = read_field(json, entry, err);
		} else if (json->token == SONDE_JSON_OBJECT_END) {
			status = take(reader, entry, err);
		} else {
			return sonde_fail(err, SONDE_CORRUPT, json->offset,
					  "expected an object in a list of definitions");
		}
		if (status)
			return status;
	}
	return status;
}

static enum sonde_status read_ours(struct chrome_reader *reader, struct sonde_json_reader *json,
				   struct entry *entry, struct sonde_error *err)
{
	static const struct {
		const char *key;
		take_entry *take;
	} lists[] = {
		{ "processes", take_process },	  { "tracks", take_track },
		{ "modules", take_module },	  { "clocks", take_clock },
		{ "anchors", take_anchor },	  { "types", take_type },
		{ "attributes", take_attribute },
	};
	enum sonde_status status = sonde_json_next(json, err);

	if (status || json->token != SONDE_JSON_OBJECT_BEGIN)
		return status ? status :
				sonde_fail(err, SONDE_CORRUPT, json->offset, "expected an object");
	while (!(status = sonde_json_next(json, err)) && json->token == SONDE_JSON_KEY) {
		size_t i = 0, count = sizeof(lists) / sizeof(lists[0]);

		while (i < count && (strlen(lists[i].key) != json->length ||
				     memcmp(lists[i].key, json->text, json->length) != 0))
			i++;
		status = i < count ? read_list(reader, json, entry, lists[i].take, err) :
				     sonde_json_skip(json, err);
		if (status)
			return status;
	}
	return status;
}

/* Processes come before clocks. */
static void mend_clocks(struct chrome_reader *reader)
{
	uint32_t clocks = sonde_definitions_clock_count(reader->recording->definitions);

	for (size_t i = 0; i < reader->pids.count; i++) {
		uint32_t process;

		if (sonde_intake_process(reader->intake, reader->pids.items[i], &process, NULL))
			continue;
		if (sonde_intake_process_at(reader->intake, process)->clock >= clocks)
			sonde_intake_process_at(reader->intake, process)->clock = 0;
	}
}

enum sonde_status chrome_read_ours(struct chrome_reader *reader, struct sonde_error *err)
{
	uint64_t start = chrome_source_at(&reader->source);
	struct sonde_json_reader json;
	struct entry entry = { 0 };
	struct sonde_error fault = { 0 };
	enum sonde_status status;
	bool failed;

	reader->is_ours = true;
	chrome_source_json(&reader->source, &json);
	status = read_ours(reader, &json, &entry, &fault);
	failed = status != SONDE_OK;
	chrome_source_json_end(&reader->source, &json, start, failed);
	sonde_buffer_release(&entry.texts);
	mend_clocks(reader);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (!failed)
		return SONDE_OK;
	EXCHANGE_FINDING(reader->recording, RECORD, start, "definitions as sonde writes them\t%s",
			 fault.message);
	return chrome_source_skip(&reader->source, err);
}

/* What is short is still in the window when its end was found. */
enum sonde_status chrome_read_attribute(struct chrome_reader *reader, const char *key,
					struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	uint64_t start = chrome_source_at(source), length;
	struct sonde_buffer value = { 0 };
	struct sonde_json_reader json;
	enum sonde_status status = chrome_source_skip(source, err);

	if (status)
		return status;
	length = chrome_source_at(source) - start;
	if (length > LONGEST_ATTRIBUTE) {
		EXCHANGE_FINDING(reader->recording, UNKNOWN, start,
				 "\"traceEvents\" and short members\t\"%s\" of %" PRIu64 " bytes",
				 key, length);
		return SONDE_OK;
	}
	sonde_json_reader_init(&json, source->data + (start - source->offset), (size_t)length, NULL,
			       NULL);
	status = sonde_json_copy(&json, &value, NULL);
	sonde_json_reader_release(&json);
	if (status == SONDE_NOMEM || value.failed)
		status = sonde_fail_nomem(err);
	else if (status)
		EXCHANGE_FINDING(reader->recording, RECORD, start, "JSON\t\"%s\" that is none",
				 key);
	else
		status = add_attribute(reader, SONDE_OWNER_RECORDING, 0, key, value.data,
				       value.size, err);
	sonde_buffer_release(&value);
	return status == SONDE_NOMEM ? status : SONDE_OK;
}
