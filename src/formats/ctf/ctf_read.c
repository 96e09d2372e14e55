/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common Trace Format as a recording. Events are on the track of their thread where a context names it, else on
 * that of their stream. Those that tell of entering and leaving (functions, system calls) become calls, all others
 * instants with their fields as arguments. Functions are known by address: where modules are comes in events of its own.
 */
#include "formats/ctf/ctf_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "formats/ctf/ctf_fields.h"
#include "formats/ctf/ctf_graph.h"
#include "formats/exchange.h"

#define SYSCALL_ENTRY "syscall_entry_"
#define SYSCALL_EXIT "syscall_exit_"

enum event_class_kind {
	CLASS_INSTANT,
	CLASS_FUNCTION_ENTRY,
	CLASS_FUNCTION_EXIT,
	CLASS_SYSCALL_ENTRY,
	CLASS_SYSCALL_EXIT,
	CLASS_MODULE,
};

/* What is known of a class of events after the first one. */
struct event_class {
	enum event_class_kind kind;
	uint32_t event_type;
};

struct module {
	uint32_t process, id;
	uint64_t base, size;
};

struct reading {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_key_map class_numbers; /* by address, of the present graph */
	SONDE_VEC(struct event_class) classes;
	SONDE_VEC(struct module) modules;
	struct sonde_key_map functions; /* by process and address */
	struct sonde_key_map module_places;
	struct sonde_buffer scratch, packed, text;
	uint32_t clock;
	bool has_clock;
	bool has_functions; /* there are events of entering functions */
	uint64_t before_origin, without_time;
	uint64_t lost; /* said by the recorder */
};

/* Who an event is of. */
struct place {
	uint32_t process, track;
};

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), size = strlen(end);

	return length >= size && !strcmp(name + length - size, end);
}

static bool is_module_event(const char *name)
{
	return !strcmp(name, "lttng_ust_statedump:bin_info") || !strcmp(name, "lttng_ust_lib:load");
}

static enum event_class_kind kind_of(const char *name)
{
	if (ends_with(name, ":func_entry"))
		return CLASS_FUNCTION_ENTRY;
	if (ends_with(name, ":func_exit"))
		return CLASS_FUNCTION_EXIT;
	if (!strncmp(name, SYSCALL_ENTRY, strlen(SYSCALL_ENTRY)))
		return CLASS_SYSCALL_ENTRY;
	if (!strncmp(name, SYSCALL_EXIT, strlen(SYSCALL_EXIT)))
		return CLASS_SYSCALL_EXIT;
	return is_module_event(name) ? CLASS_MODULE : CLASS_INSTANT;
}

static const char *name_of(const bt_event_class *class)
{
	const char *name = bt.event_class_get_name(class);

	return name ? name : "";
}

/* --- who --- */

static const char *host_of(const bt_trace *trace)
{
	const bt_value *host =
		bt.trace_borrow_environment_entry_value_by_name_const(trace, "hostname");

	return host && bt.value_get_type(host) == BT_VALUE_TYPE_STRING ? bt.value_string_get(host) :
									 "";
}

static enum sonde_status find_process(struct reading *reading, const bt_trace *trace, bool has_pid,
				      uint64_t pid, uint32_t *process, struct sonde_error *err)
{
	struct sonde_process *made;
	enum sonde_status status;
	uint32_t number;

	sonde_buffer_clear(&reading->text);
	sonde_buffer_put_text(&reading->text, host_of(trace));
	sonde_buffer_put_char(&reading->text, '\0');
	if (has_pid)
		sonde_buffer_put_u64(&reading->text, pid);
	if (reading->text.failed)
		return sonde_fail_nomem(err);
	status = sonde_intake_number(reading->intake, reading->text.data, reading->text.size,
				     &number, err);
	if (!status)
		status = sonde_intake_process(reading->intake, number, process, err);
	if (status)
		return status;
	made = sonde_intake_process_at(reading->intake, *process);
	made->os_id = has_pid && pid < SONDE_NONE ? (uint32_t)pid : SONDE_NONE;
	made->clock = reading->clock;
	if (!made->name && !has_pid)
		status = sonde_intake_string(reading->intake, host_of(trace),
					     strlen(host_of(trace)), &made->name, err);
	return status;
}

static enum sonde_status name_thread(struct reading *reading, struct sonde_track *track,
				     const char *name, bool is_main, struct sonde_error *err)
{
	struct sonde_process *process = sonde_intake_process_at(reading->intake, track->process);
	enum sonde_status status;
	uint32_t string;

	if (!*name)
		return SONDE_OK;
	status = sonde_intake_string(reading->intake, name, strlen(name), &string, err);
	if (status)
		return status;
	track->name = string;
	if (is_main || !process->name)
		process->name = string;
	return SONDE_OK;
}

/* A track for events that do not say their thread: of their processor, or else of their stream. */
static enum sonde_status find_stream_track(struct reading *reading, const bt_event *event,
					   struct place *place, struct sonde_error *err)
{
	const bt_stream *stream = bt.event_borrow_stream_const(event);
	const bt_packet *packet = bt.event_borrow_packet_const(event);
	const bt_field *context = packet ? bt.packet_borrow_context_field_const(packet) : NULL;
	uint64_t cpu = 0;
	bool has_cpu = ctf_field_u64(ctf_fields_find(context, "cpu_id"), &cpu);
	struct sonde_track *track;
	enum sonde_status status;
	char name[48];

	status = find_process(reading, bt.stream_borrow_trace_const(stream), false, 0,
			      &place->process, err);
	if (!status)
		status = sonde_intake_track(reading->intake, place->process,
					    has_cpu ? cpu : UINT64_MAX - bt.stream_get_id(stream),
					    &place->track, err);
	if (status)
		return status;
	track = sonde_intake_track_at(reading->intake, place->track);
	if (track->name)
		return SONDE_OK;
	track->os_id = UINT64_MAX;
	snprintf(name, sizeof(name), "%s %" PRIu64, has_cpu ? "cpu" : "stream",
		 has_cpu ? cpu : bt.stream_get_id(stream));
	return sonde_intake_string(reading->intake, name, strlen(name), &track->name, err);
}

/* A field of the context of an event, whichever it is in. */
static const bt_field *find_context(const bt_event *event, const char *name, const char *other)
{
	const bt_field *contexts[] = {
		bt.event_borrow_common_context_field_const(event),
		bt.event_borrow_specific_context_field_const(event),
	};

	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		const bt_field *field = ctf_fields_find(contexts[i], name);

		if (!field)
			field = ctf_fields_find(contexts[i], other);
		if (field)
			return field;
	}
	return NULL;
}

static enum sonde_status find_place(struct reading *reading, const bt_event *event,
				    struct place *place, struct sonde_error *err)
{
	const bt_trace *trace = bt.stream_borrow_trace_const(bt.event_borrow_stream_const(event));
	uint64_t tid, pid;
	enum sonde_status status;
	bool has_pid;

	if (!ctf_field_u64(find_context(event, "vtid", "tid"), &tid))
		return find_stream_track(reading, event, place, err);
	has_pid = ctf_field_u64(find_context(event, "vpid", "pid"), &pid);
	status = find_process(reading, trace, has_pid, has_pid ? pid : 0, &place->process, err);
	if (!status)
		status = sonde_intake_track(reading->intake, place->process, tid, &place->track,
					    err);
	return status ? status :
			name_thread(reading, sonde_intake_track_at(reading->intake, place->track),
				    ctf_field_text(find_context(event, "procname", "comm")),
				    has_pid && pid == tid, err);
}

/* --- what --- */

/* A process and an address in it as one number: two of them would have to differ in all 64 bits by chance. */
static uint64_t place_key(uint32_t process, uint64_t address)
{
	return address ^ process * SONDE_HASH_FACTOR_1;
}

static enum sonde_status add_module(struct reading *reading, const bt_event *event,
				    uint32_t process, struct sonde_error *err)
{
	const bt_field *payload = bt.event_borrow_payload_field_const(event);
	const char *path = ctf_field_text(ctf_fields_find(payload, "path"));
	struct sonde_module module = { .process = process };
	struct module *place;
	enum sonde_status status;
	uint64_t key;
	uint32_t id;

	if (!ctf_field_u64(ctf_fields_find(payload, "baddr"), &module.base_address) ||
	    !ctf_field_u64(ctf_fields_find(payload, "memsz"), &module.size) || !module.size)
		return SONDE_OK;
	key = place_key(process, module.base_address);
	if (sonde_key_map_find(&reading->module_places, key) != SONDE_NONE)
		return SONDE_OK;
	status = sonde_intake_string(reading->intake, path, strlen(path), &module.path, err);
	if (!status)
		status = sonde_definitions_add_module(reading->recording->definitions, &module, &id,
						      err);
	if (status)
		return status;
	place = sonde_vec_push(&reading->modules);
	if (!place || !sonde_key_map_add(&reading->module_places, key, id))
		return sonde_fail_nomem(err);
	*place = (struct module){ process, id, module.base_address, module.size };
	return SONDE_OK;
}

static const struct module *find_module(const struct reading *reading, uint32_t process,
					uint64_t address)
{
	for (size_t i = 0; i < reading->modules.count; i++) {
		const struct module *module = &reading->modules.items[i];

		if (module->process == process && address >= module->base &&
		    address - module->base < module->size)
			return module;
	}
	return NULL;
}

/* "libfoo.so+0x12", or the address itself. */
static enum sonde_status define_function(struct reading *reading, uint32_t process,
					 uint64_t address, uint32_t *function,
					 struct sonde_error *err)
{
	struct sonde_definitions *definitions = reading->recording->definitions;
	const struct module *module = find_module(reading, process, address);
	struct sonde_function like = { .process = process,
				       .module = module ? module->id : SONDE_NONE,
				       .address = module ? address - module->base : address };
	const char *path = "", *base;

	if (module)
		path = sonde_definitions_string(
			definitions, sonde_definitions_module(definitions, module->id)->path);
	base = strrchr(path, '/');
	sonde_buffer_clear(&reading->text);
	sonde_buffer_put_text(&reading->text, base ? base + 1 : path);
	sonde_buffer_put_text(&reading->text, *path ? "+0x" : "0x");
	sonde_buffer_put_hex(&reading->text, like.address, 1);
	if (reading->text.failed)
		return sonde_fail_nomem(err);
	return sonde_intake_function(reading->intake, &like, reading->text.data, reading->text.size,
				     function, err);
}

static enum sonde_status find_function(struct reading *reading, uint32_t process, uint64_t address,
				       uint32_t *function, struct sonde_error *err)
{
	uint64_t key = place_key(process, address);
	enum sonde_status status;

	*function = sonde_key_map_find(&reading->functions, key);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	status = define_function(reading, process, address, function, err);
	if (!status && !sonde_key_map_add(&reading->functions, key, *function))
		return sonde_fail_nomem(err);
	return status;
}

/* The type of the arguments of a class of events: its contexts, then its payload. */
static enum sonde_status define_class(struct reading *reading, const bt_event_class *class,
				      struct event_class *made, struct sonde_error *err)
{
	const char *name = name_of(class);
	const bt_stream_class *stream = bt.event_class_borrow_stream_class_const(class);
	const char *signature;

	sonde_buffer_clear(&reading->scratch);
	ctf_fields_put_signature(bt.event_class_borrow_payload_field_class_const(class),
				 &reading->scratch);
	ctf_fields_put_signature(bt.event_class_borrow_specific_context_field_class_const(class),
				 &reading->scratch);
	ctf_fields_put_signature(
		bt.stream_class_borrow_event_common_context_field_class_const(stream),
		&reading->scratch);
	signature = sonde_buffer_text(&reading->scratch);
	if (!signature)
		return sonde_fail_nomem(err);
	*made = (struct event_class){ .kind = kind_of(name) };
	return sonde_intake_event_type(reading->intake, name, strlen(name), signature,
				       &made->event_type, err);
}

static enum sonde_status find_class(struct reading *reading, const bt_event_class *class,
				    struct event_class *found, struct sonde_error *err)
{
	uint64_t key = (uint64_t)(uintptr_t) class;
	uint32_t number = sonde_key_map_find(&reading->class_numbers, key);
	struct event_class *place;
	enum sonde_status status;

	if (number != SONDE_NONE) {
		*found = reading->classes.items[number];
		return SONDE_OK;
	}
	status = define_class(reading, class, found, err);
	if (status)
		return status;
	place = sonde_vec_push(&reading->classes);
	if (!place ||
	    !sonde_key_map_add(&reading->class_numbers, key, (uint32_t)reading->classes.count - 1))
		return sonde_fail_nomem(err);
	*place = *found;
	return SONDE_OK;
}

/* What an event becomes. */
static enum sonde_status aim(struct reading *reading, const bt_event *event,
			     const struct event_class *class, uint32_t process,
			     struct sonde_intake_event *out, struct sonde_error *err)
{
	const struct sonde_function like = { .process = process, .module = SONDE_NONE };
	const char *name = name_of(bt.event_borrow_class_const(event));
	bool is_entry = class->kind == CLASS_FUNCTION_ENTRY || class->kind == CLASS_SYSCALL_ENTRY;
	uint64_t address;

	out->kind = is_entry ? SONDE_EVENT_CALL : SONDE_EVENT_RETURN;
	switch (class->kind) {
	case CLASS_FUNCTION_ENTRY:
	case CLASS_FUNCTION_EXIT:
		if (ctf_field_u64(
			    ctf_fields_find(bt.event_borrow_payload_field_const(event), "addr"),
			    &address))
			return find_function(reading, process, address, &out->function, err);
		out->function = SONDE_NONE;
		if (!is_entry)
			return SONDE_OK;
		break;
	case CLASS_SYSCALL_ENTRY:
	case CLASS_SYSCALL_EXIT:
		name += strlen(is_entry ? SYSCALL_ENTRY : SYSCALL_EXIT);
		return sonde_intake_function(reading->intake, &like, name, strlen(name),
					     &out->function, err);
	default:
		break;
	}
	out->kind = SONDE_EVENT_INSTANT;
	out->function = class->event_type;
	return SONDE_OK;
}

static bool take_time(struct reading *reading, const bt_message *message, uint64_t *time_ns)
{
	int64_t signed_ns;

	if (!bt.message_event_borrow_stream_class_default_clock_class_const(message)) {
		reading->without_time++;
		return false;
	}
	if (bt.clock_snapshot_get_ns_from_origin(
		    bt.message_event_borrow_default_clock_snapshot_const(message), &signed_ns) !=
		    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK ||
	    signed_ns < 0) {
		reading->before_origin++;
		return false;
	}
	*time_ns = (uint64_t)signed_ns;
	return true;
}

static enum sonde_status take_event(struct reading *reading, const bt_message *message,
				    struct sonde_error *err)
{
	const bt_event *event = bt.message_event_borrow_event_const(message);
	struct sonde_intake_event out = { 0 };
	struct event_class class = { 0 };
	struct place place = { 0 };
	enum sonde_status status;

	if (!take_time(reading, message, &out.time_ns))
		return SONDE_OK;
	status = find_class(reading, bt.event_borrow_class_const(event), &class, err);
	if (!status)
		status = find_place(reading, event, &place, err);
	if (!status)
		status = aim(reading, event, &class, place.process, &out, err);
	if (status)
		return status;
	sonde_buffer_clear(&reading->packed);
	ctf_fields_pack(bt.event_borrow_payload_field_const(event), &reading->scratch,
			&reading->packed);
	ctf_fields_pack(bt.event_borrow_specific_context_field_const(event), &reading->scratch,
			&reading->packed);
	ctf_fields_pack(bt.event_borrow_common_context_field_const(event), &reading->scratch,
			&reading->packed);
	if (reading->packed.failed)
		return sonde_fail_nomem(err);
	out.track = place.track;
	out.event_type = class.event_type;
	out.arguments = (const uint8_t *)reading->packed.data;
	out.size = reading->packed.size;
	if (!out.size)
		out.event_type = SONDE_NONE;
	return sonde_intake_add(reading->intake, &out, err);
}

/* --- about the traces --- */

static enum sonde_status add_attribute(struct reading *reading, const char *name,
				       const bt_value *value, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	struct sonde_json_writer json;
	enum sonde_status status;
	char number[24];
	uint32_t id;

	if (sonde_definitions_find_attribute(reading->recording->definitions, SONDE_OWNER_RECORDING,
					     0, name))
		return SONDE_OK;
	sonde_buffer_clear(&reading->scratch);
	sonde_json_writer_init(&json, &reading->scratch, false);
	if (bt.value_get_type(value) == BT_VALUE_TYPE_STRING) {
		sonde_json_string(&json, bt.value_string_get(value));
	} else if (bt.value_get_type(value) == BT_VALUE_TYPE_SIGNED_INTEGER) {
		snprintf(number, sizeof(number), "%lld",
			 (long long)bt.value_integer_signed_get(value));
		sonde_json_raw(&json, number);
	} else {
		sonde_json_null(&json);
	}
	if (reading->scratch.failed)
		return sonde_fail_nomem(err);
	status = sonde_intake_string(reading->intake, name, strlen(name), &attribute.name, err);
	if (!status)
		status = sonde_intake_string(reading->intake, reading->scratch.data,
					     reading->scratch.size, &attribute.value, err);
	return status ? status :
			sonde_definitions_add_attribute(reading->recording->definitions, &attribute,
							&id, err);
}

static enum sonde_status take_clock(struct reading *reading, const bt_clock_class *class,
				    struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_UNKNOWN };
	const char *name = class ? bt.clock_class_get_name(class) : NULL;
	enum sonde_status status;

	if (!class || reading->has_clock)
		return SONDE_OK;
	reading->has_clock = true;
	if (bt.clock_class_origin_is_unix_epoch(class))
		clock.kind = SONDE_CLOCK_REALTIME;
	name = name ? name : sonde_clock_kind_name(clock.kind);
	status = sonde_intake_string(reading->intake, name, strlen(name), &clock.name, err);
	return status ? status :
			sonde_definitions_add_clock(reading->recording->definitions, &clock,
						    &reading->clock, err);
}

static enum sonde_status take_stream(struct reading *reading, const bt_message *message,
				     struct sonde_error *err)
{
	const bt_stream *stream = bt.message_stream_beginning_borrow_stream_const(message);
	const bt_trace *trace = bt.stream_borrow_trace_const(stream);
	uint64_t count = bt.trace_get_environment_entry_count(trace);
	enum sonde_status status = take_clock(reading,
					      bt.stream_class_borrow_default_clock_class_const(
						      bt.stream_borrow_class_const(stream)),
					      err);

	for (uint64_t i = 0; !status && i < count; i++) {
		const bt_value *value;
		const char *name;

		bt.trace_borrow_environment_entry_by_index_const(trace, i, &name, &value);
		status = add_attribute(reading, name, value, err);
	}
	return status;
}

static enum sonde_status take_message(void *user, const bt_message *message,
				      struct sonde_error *err)
{
	struct reading *reading = user;
	uint64_t count = 0;

	switch (bt.message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		return take_event(reading, message, err);
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		return take_stream(reading, message, err);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (bt.message_discarded_events_get_count(message, &count) !=
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			count = 1;
		reading->lost += count;
		return SONDE_OK;
	default:
		return SONDE_OK;
	}
}

/* --- where modules are, which may be told after the first functions --- */

static bool has_functions(const bt_stream_class *class)
{
	uint64_t count = bt.stream_class_get_event_class_count(class);

	for (uint64_t i = 0; i < count; i++) {
		if (kind_of(name_of(bt.stream_class_borrow_event_class_by_index_const(class, i))) ==
		    CLASS_FUNCTION_ENTRY)
			return true;
	}
	return false;
}

static enum sonde_status take_module(void *user, const bt_message *message, struct sonde_error *err)
{
	struct reading *reading = user;
	bt_message_type type = bt.message_get_type(message);
	struct place place = { 0 };
	const bt_event *event;
	enum sonde_status status;

	if (type == BT_MESSAGE_TYPE_STREAM_BEGINNING) {
		const bt_stream *stream = bt.message_stream_beginning_borrow_stream_const(message);

		reading->has_functions |= has_functions(bt.stream_borrow_class_const(stream));
		return take_stream(reading, message, err);
	}
	if (type != BT_MESSAGE_TYPE_EVENT)
		return SONDE_OK;
	if (!reading->has_functions)
		return SONDE_END;
	event = bt.message_event_borrow_event_const(message);
	if (!is_module_event(name_of(bt.event_borrow_class_const(event))))
		return SONDE_OK;
	status = find_place(reading, event, &place, err);
	return status ? status : add_module(reading, event, place.process, err);
}

/* --- all of it --- */

static void tell_counts(struct reading *reading)
{
	if (reading->before_origin)
		EXCHANGE_FINDING(reading->recording, TIME, SONDE_NO_OFFSET,
				 "times after the origin of the clock\t%" PRIu64
				 " events before it, left out",
				 reading->before_origin);
	if (reading->without_time)
		EXCHANGE_FINDING(reading->recording, TIME, SONDE_NO_OFFSET,
				 "events with times\t%" PRIu64 " without, left out",
				 reading->without_time);
	if (reading->lost)
		EXCHANGE_FINDING(reading->recording, LOST, SONDE_NO_OFFSET,
				 "every event\t%" PRIu64 " lost", reading->lost);
}

/* What cannot be read on is a finding where something came before. */
static enum sonde_status read_traces(struct reading *reading, const struct ctf_traces *traces,
				     struct sonde_error *err)
{
	struct sonde_error why = { 0 };
	enum sonde_status status = ctf_graph_run(traces, take_module, reading, &why);

	/* damage is met again, and told, in the second run */
	if (!status || status == SONDE_CORRUPT)
		status = ctf_graph_run(traces, take_message, reading, &why);
	if (status == SONDE_CORRUPT && reading->classes.count) {
		EXCHANGE_FINDING(reading->recording, TRUNCATED, SONDE_NO_OFFSET,
				 "whole streams\t%s", why.message);
		status = SONDE_OK;
	}
	if (status && err)
		*err = why;
	return status;
}

static enum sonde_status add_anchor(struct reading *reading, struct sonde_error *err)
{
	const struct sonde_clock *clock =
		sonde_definitions_clock(reading->recording->definitions, reading->clock);
	struct sonde_anchor anchor = { .clock = reading->clock };
	uint32_t id;

	if (!reading->has_clock || clock->kind != SONDE_CLOCK_REALTIME)
		return SONDE_OK;
	return sonde_definitions_add_anchor(reading->recording->definitions, &anchor, &id, err);
}

static void release(struct reading *reading)
{
	sonde_key_map_release(&reading->class_numbers);
	sonde_key_map_release(&reading->functions);
	sonde_key_map_release(&reading->module_places);
	sonde_vec_release(&reading->classes);
	sonde_vec_release(&reading->modules);
	sonde_buffer_release(&reading->scratch);
	sonde_buffer_release(&reading->packed);
	sonde_buffer_release(&reading->text);
}

int ctf_probe(const char *path)
{
	struct ctf_traces traces = { 0 };
	int sure = 0;

	if (sonde_path_kind(path) != SONDE_PATH_FOLDER)
		return 0;
	if (ctf_is_trace(path))
		return 95;
	if (!ctf_traces_find(&traces, path, NULL) && traces.paths.count)
		sure = 60;
	ctf_traces_release(&traces);
	return sure;
}

enum sonde_status ctf_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct reading reading = { .recording = recording };
	struct ctf_traces traces = { 0 };
	enum sonde_status status = ctf_traces_find(&traces, recording->path, err);

	if (!status && !traces.paths.count)
		status = sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
				    "a folder with a file \"metadata\" was expected, here or "
				    "below, and none was found");
	if (!status)
		status = ctf_graph_try(&traces, err);
	if (!status)
		status = sonde_intake_new(recording, &reading.intake, err);
	if (!status)
		status = read_traces(&reading, &traces, err);
	if (!status)
		status = add_anchor(&reading, err);
	if (!status)
		tell_counts(&reading);
	if (!status)
		status = exchange_finish(recording, reading.intake, err);
	if (status)
		sonde_intake_free(reading.intake);
	release(&reading);
	ctf_traces_release(&traces);
	return status;
}
