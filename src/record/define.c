/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes down what was recorded, for the manifests. Names come from the symbols of the files that
 * were loaded; a function without one is called by its module and address.
 */
#include "record/define.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/map.h"
#include "formats/atf/atf_arguments.h"
#include "model/command_line.h"
#include "record/finish.h"

struct definer {
	struct session *session;
	struct sonde_definitions *definitions;
	struct sonde_error *err;
	enum sonde_status status;
	uint32_t clock;
	struct sonde_key_map counted; /* ids of functions: the same one may be in many processes */
};

static uint32_t define_string(struct definer *definer, const char *text)
{
	uint32_t id = 0;

	if (text && *text && definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_string(definer->definitions, text,
							       strlen(text), &id, definer->err);
	return id;
}

static void define_attribute(struct definer *definer, enum sonde_owner owner, uint32_t owner_id,
			     const char *name, struct sonde_buffer *json)
{
	struct sonde_attribute attribute = { .owner = owner, .owner_id = owner_id };
	const char *text = sonde_buffer_text(json);
	uint32_t id;

	if (!text && definer->status == SONDE_OK)
		definer->status = sonde_fail_nomem(definer->err);
	attribute.name = define_string(definer, name);
	attribute.value = define_string(definer, text);
	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_attribute(definer->definitions, &attribute,
								  &id, definer->err);
	sonde_buffer_release(json);
}

static void define_number(struct definer *definer, enum sonde_owner owner, uint32_t owner_id,
			  const char *name, uint64_t value)
{
	struct sonde_buffer json = { 0 };

	sonde_buffer_put_u64(&json, value);
	define_attribute(definer, owner, owner_id, name, &json);
}

static void put_list(struct sonde_json_writer *writer, const char *key, const char *const *items)
{
	if (!items || !items[0])
		return;
	sonde_json_key(writer, key);
	sonde_json_array_begin(writer);
	for (; *items; items++)
		sonde_json_string(writer, *items);
	sonde_json_array_end(writer);
}

/* What was not recorded because it was asked for; nothing where there is none. */
static void define_left_out(struct definer *definer)
{
	const struct record_options *options = definer->session->options;
	const struct record_result *result = definer->session->result;
	struct sonde_buffer json = { 0 };
	struct sonde_json_writer writer;

	sonde_json_writer_init(&writer, &json, false);
	sonde_json_object_begin(&writer);
	put_list(&writer, "functions", options->functions);
	put_list(&writer, "exclude", options->exclude);
	put_list(&writer, "modules", options->modules);
	if (options->max_depth) {
		sonde_json_member_u64(&writer, "max_depth", options->max_depth);
		sonde_json_member_u64(&writer, "deep_calls", result->deep_calls);
	}
	if (options->min_time_ns) {
		sonde_json_member_u64(&writer, "min_time_ns", options->min_time_ns);
		sonde_json_member_u64(&writer, "short_calls", result->short_calls);
	}
	sonde_json_object_end(&writer);
	if (json.size > 2)
		define_attribute(definer, SONDE_OWNER_RECORDING, 0, "left_out", &json);
	else
		sonde_buffer_release(&json);
}

static void define_recording(struct definer *definer)
{
	const struct session *session = definer->session;
	struct sonde_buffer json = { 0 };
	struct sonde_json_writer writer;

	sonde_json_writer_init(&writer, &json, false);
	sonde_json_string(&writer, "sonde " SONDE_VERSION);
	define_attribute(definer, SONDE_OWNER_RECORDING, 0, "recorder", &json);
	if (session->lost)
		define_number(definer, SONDE_OWNER_RECORDING, 0, "lost_events", session->lost);
	define_left_out(definer);
}

static void define_anchor(struct definer *definer, const struct record_anchor *from)
{
	struct sonde_anchor anchor = {
		.clock = definer->clock,
		.clock_ns = from->boottime_ns,
		.realtime_ns = from->realtime_ns,
	};
	uint32_t id;

	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_anchor(definer->definitions, &anchor, &id,
							       definer->err);
}

static void define_clock(struct definer *definer)
{
	const struct record_clock *from = &definer->session->clock;
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };

	clock.name = define_string(definer, "boottime");
	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_clock(definer->definitions, &clock,
							      &definer->clock, definer->err);
	define_anchor(definer, &from->first);
	if (from->last.boottime_ns != from->first.boottime_ns)
		define_anchor(definer, &from->last);
}

static void define_marks(struct definer *definer, const struct recorded_process *process)
{
	struct sonde_buffer json = { 0 };
	struct sonde_json_writer writer;

	if (!process->marks.count)
		return;
	sonde_json_writer_init(&writer, &json, false);
	sonde_json_array_begin(&writer);
	for (size_t i = 0; i < process->marks.count; i++) {
		sonde_json_object_begin(&writer);
		sonde_json_member_u64(&writer, "time_ns", process->marks.items[i].time_ns);
		sonde_json_member_u64(&writer, "thread", process->marks.items[i].thread);
		sonde_json_member_string(&writer, "text", process->marks.items[i].text);
		sonde_json_object_end(&writer);
	}
	sonde_json_array_end(&writer);
	define_attribute(definer, SONDE_OWNER_PROCESS, process->number, "marks", &json);
}

/* How the program ended: with its last process, which exec may have made a new one. */
static void define_exit(struct definer *definer, const struct recorded_process *process)
{
	const struct session *session = definer->session;
	int status = session->result->wait_status;

	if (process->pid != session->child || !atomic_load(&session->child_ended))
		return;
	for (uint32_t i = process->number + 1; i < session->written.count; i++)
		if (session->written.items[i]->pid == process->pid)
			return;
	if (WIFEXITED(status))
		define_number(definer, SONDE_OWNER_PROCESS, process->number, "exit_status",
			      (uint64_t)WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		define_number(definer, SONDE_OWNER_PROCESS, process->number, "exit_signal",
			      (uint64_t)WTERMSIG(status));
}

static void define_command_line(struct definer *definer, const struct recorded_process *process)
{
	const char *at = process->command_line, *end;
	struct sonde_buffer json = { 0 };
	struct sonde_json_writer writer;

	if (!at)
		return;
	end = at + process->command_line_size;
	sonde_json_writer_init(&writer, &json, false);
	sonde_json_array_begin(&writer);
	for (; at < end; at += strlen(at) + 1)
		sonde_json_string(&writer, at);
	sonde_json_array_end(&writer);
	define_attribute(definer, SONDE_OWNER_PROCESS, process->number,
			 SONDE_COMMAND_LINE_ATTRIBUTE, &json);
}

static void define_process(struct definer *definer, const struct recorded_process *from)
{
	struct sonde_process process = {
		.os_id = from->pid,
		.clock = definer->clock,
		.arch = SONDE_ARCH_X86_64,
		.os = SONDE_OS_LINUX,
		.start_ns = from->start_ns,
		.end_ns = from->end_ns ? from->end_ns : definer->session->now_ns,
	};
	uint32_t id = SONDE_NONE;

	process.name = define_string(definer, from->name);
	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_process(definer->definitions, &process, &id,
								definer->err);
	define_command_line(definer, from);
	define_marks(definer, from);
	define_exit(definer, from);
	if (from->missed_calls)
		define_number(definer, SONDE_OWNER_PROCESS, id, "missed_calls", from->missed_calls);
}

static void define_track(struct definer *definer, const struct lane *lane)
{
	struct sonde_track track = {
		.process = lane->process->number,
		.slot = lane->slot,
		.os_id = lane->thread,
		.kind = lane->zone ? SONDE_TRACK_ZONE : SONDE_TRACK_THREAD,
		.dropped_events = lane->dropped,
		.event_count = lane->written,
	};
	struct sonde_buffer name = { 0 };
	uint32_t id = SONDE_NONE;

	sonde_buffer_put_text(&name, lane->zone ? lane->zone : lane->name);
	if (lane->number && !lane->zone)
		sonde_buffer_put_format(&name, " / stack %#llx", (unsigned long long)lane->low);
	track.name = define_string(definer, sonde_buffer_text(&name));
	sonde_buffer_release(&name);
	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_track(definer->definitions, &track, &id,
							      definer->err);
	if (lane->returns_left_out)
		define_number(definer, SONDE_OWNER_TRACK, id, "returns_left_out",
			      lane->returns_left_out);
	if (lane->returns_made_up)
		define_number(definer, SONDE_OWNER_TRACK, id, "returns_made_up",
			      lane->returns_made_up);
}

static void define_unpatched(struct definer *definer, uint32_t module,
			     const struct module_file *file)
{
	if (file && file->entries_too_short)
		define_number(definer, SONDE_OWNER_MODULE, module, "entries_too_short",
			      file->entries_too_short);
	if (file && file->entries_not_writable)
		define_number(definer, SONDE_OWNER_MODULE, module, "entries_not_writable",
			      file->entries_not_writable);
}

static uint32_t define_module(struct definer *definer, const struct recorded_process *process,
			      const struct load_map_module *from)
{
	const struct record_clock *clock = &definer->session->clock;
	struct sonde_module module = {
		.process = process->number,
		.has_key = true,
		.key = from->id,
		.base_address = from->base,
		.size = from->high - from->base,
	};
	struct sonde_buffer uuid = { 0 };
	uint32_t id = SONDE_NONE;

	for (uint32_t i = 0; i < from->build_id_size; i++)
		sonde_buffer_put_hex(&uuid, from->build_id[i], 2);
	module.path = define_string(definer, from->path);
	module.uuid = define_string(definer, sonde_buffer_text(&uuid));
	sonde_buffer_release(&uuid);
	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_module(definer->definitions, &module, &id,
							       definer->err);
	if (from->loaded)
		define_number(definer, SONDE_OWNER_MODULE, id, "loaded_ns",
			      record_clock_ns(clock, from->loaded));
	if (from->unloaded > 1)
		define_number(definer, SONDE_OWNER_MODULE, id, "unloaded_ns",
			      record_clock_ns(clock, from->unloaded));
	define_unpatched(definer, id, selection_file(definer->session, from));
	return id;
}

static void count_function(struct definer *definer, uint64_t id, bool named)
{
	struct record_result *result = definer->session->result;

	if (sonde_key_map_find(&definer->counted, id) != UINT32_MAX)
		return;
	if (!sonde_key_map_add(&definer->counted, id, 0) && definer->status == SONDE_OK)
		definer->status = sonde_fail_nomem(definer->err);
	result->functions++;
	result->unnamed_functions += !named;
}

static void define_function(struct definer *definer, const struct recorded_process *process,
			    const struct session_function *from, uint32_t module_id)
{
	const struct load_map_module *module = from->module == SONDE_NONE ?
						       process->map.unknown :
						       process->map.modules[from->module];
	struct sonde_function function = {
		.process = process->number,
		.module = module_id,
		.has_key = true,
		.key = from->id,
	};
	const struct module_file *file =
		from->module == SONDE_NONE ? NULL : selection_file(definer->session, module);
	struct sonde_symbol_text text;
	bool named = sonde_symbols_describe(
		file ? selection_symbols(definer->session, file) : NULL, module->path,
		from->module == SONDE_NONE ? from->address : (uint32_t)from->id, &text);
	uint32_t id;

	function.name = define_string(definer, text.name);
	function.raw_name = define_string(definer, text.raw_name);
	function.file = define_string(definer, text.file);
	function.line = text.line;
	free(text.name);
	count_function(definer, from->id, named);
	if (definer->status == SONDE_OK)
		definer->status = sonde_definitions_add_function(definer->definitions, &function,
								 &id, definer->err);
}

/* In the order of their numbers, on which their function_ids depend. */
static void define_event_types(struct definer *definer)
{
	const struct site_types *types = &definer->session->types;

	for (size_t i = 0; i < types->items.count && definer->status == SONDE_OK; i++) {
		const struct site_type *from = &types->items.items[i];
		struct sonde_event_type type = { .flags = from->flags, .is_scope = from->is_scope };
		uint32_t id;

		type.name = define_string(definer, from->name);
		type.arguments = define_string(definer, from->signature);
		if (definer->status == SONDE_OK)
			definer->status = sonde_definitions_add_event_type(
				definer->definitions, &type, &id, definer->err);
	}
}

/* A scope is a function, too. */
static void define_scopes(struct definer *definer, const struct recorded_process *process,
			  bool count)
{
	const struct site_types *types = &definer->session->types;

	for (size_t i = 0; i < process->sites.scopes.count && definer->status == SONDE_OK; i++) {
		uint32_t number = process->sites.scopes.items[i], id;
		const struct site_type *from = &types->items.items[number];
		struct sonde_function function = {
			.process = process->number,
			.module = SONDE_NONE,
			.line = from->line,
			.has_key = true,
			.key = atf_event_type_key(number),
		};

		function.name = define_string(definer, from->name);
		function.file = define_string(definer, from->file);
		if (count)
			count_function(definer, function.key, true);
		if (definer->status == SONDE_OK)
			definer->status = sonde_definitions_add_function(
				definer->definitions, &function, &id, definer->err);
	}
}

/* The modules, one for each path, and which functions of them were called. */
static void define_modules(struct definer *definer, const struct recorded_process *process,
			   bool functions)
{
	const struct load_map *map = &process->map;
	uint32_t *ids = calloc(map->count + 1, sizeof(*ids)), unknown = SONDE_NONE;

	if (!ids) {
		definer->status = sonde_fail_nomem(definer->err);
		return;
	}
	for (size_t i = 0; i < map->count; i++) {
		size_t same = 0;

		while (map->modules[same]->id != map->modules[i]->id)
			same++;
		ids[i] = same < i ? ids[same] : define_module(definer, process, map->modules[i]);
	}
	if (map->unknown_count)
		unknown = define_module(definer, process, map->unknown);
	for (size_t i = 0; functions && i < process->functions.count && definer->status == SONDE_OK;
	     i++) {
		const struct session_function *function = &process->functions.items[i];

		define_function(definer, process, function,
				function->module == SONDE_NONE ? unknown : ids[function->module]);
	}
	free(ids);
}

enum sonde_status define_session(struct session *session, bool functions,
				 struct sonde_definitions **definitions, struct sonde_error *err)
{
	struct definer definer = {
		.session = session,
		.definitions = sonde_definitions_new(),
		.err = err,
	};

	*definitions = definer.definitions;
	if (!definer.definitions)
		return sonde_fail_nomem(err);
	define_clock(&definer);
	define_recording(&definer);
	define_event_types(&definer);
	for (size_t i = 0; i < session->written.count; i++)
		define_process(&definer, session->written.items[i]);
	for (size_t i = 0; i < session->tracks.count; i++)
		define_track(&definer, session->tracks.items[i]);
	for (size_t i = 0; i < session->written.count && definer.status == SONDE_OK; i++) {
		if (functions)
			finish_collect(session->written.items[i]);
		define_modules(&definer, session->written.items[i], functions);
		define_scopes(&definer, session->written.items[i], functions);
	}
	sonde_key_map_release(&definer.counted);
	return definer.status;
}
