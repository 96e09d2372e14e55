/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde info --json`: every definition, for programs. */
#include <sonde/format.h>

#include "cli/findings.h"
#include "cli/info.h"

/* One recording on its way out. */
struct info_writer {
	struct cli *cli;
	struct sonde_json_writer *json;
	struct info info;
};

static void put_string(struct info_writer *writer, const char *key, uint32_t id)
{
	sonde_json_member_string(writer->json, key,
				 sonde_definitions_string(writer->info.definitions, id));
}

/* A number, or null where it is the one for "none". */
static void put_or_null(struct info_writer *writer, const char *key, uint64_t value, uint64_t none)
{
	sonde_json_key(writer->json, key);
	if (value == none)
		sonde_json_null(writer->json);
	else
		sonde_json_number_u64(writer->json, value);
}

static void put_hex(struct info_writer *writer, const char *key, uint64_t value)
{
	sonde_json_key(writer->json, key);
	sonde_json_hex(writer->json, value, 1);
}

static void put_process(struct info_writer *writer, uint32_t id)
{
	const struct sonde_process *process =
		sonde_definitions_process(writer->info.definitions, id);

	put_or_null(writer, "pid", process->os_id, SONDE_NONE);
	put_string(writer, "name", process->name);
	sonde_json_member_string(writer->json, "arch", sonde_arch_name(process->arch));
	sonde_json_member_string(writer->json, "os", sonde_os_name(process->os));
	sonde_json_member_u64(writer->json, "clock", process->clock);
}

static void put_track(struct info_writer *writer, uint32_t id)
{
	const struct sonde_track *track = sonde_definitions_track(writer->info.definitions, id);
	bool is_empty = !track->event_count && !track->sample_count;
	uint64_t none = is_empty ? 0 : UINT64_MAX; /* then the times are 0 */
	char space[SONDE_LABEL_SIZE], identity_space[INFO_IDENTITY_SIZE];
	const char *identity = info_identity(&writer->info, id, identity_space);

	sonde_json_member_u64(writer->json, "process", track->process);
	sonde_json_member_string(
		writer->json, "name",
		sonde_definitions_track_label(writer->info.definitions, id, space));
	sonde_json_member_bool(writer->json, "named", track->name && !track->name_made_up);
	sonde_json_member_string(writer->json, "kind", info_track_kind_name(track->kind));
	sonde_json_member_u64(writer->json, "slot", track->slot);
	put_or_null(writer, "os_id", track->os_id, UINT64_MAX);
	sonde_json_member_u64(writer->json, "events", track->event_count);
	sonde_json_member_u64(writer->json, "samples", track->sample_count);
	sonde_json_member_u64(writer->json, "details", track->detail_count);
	sonde_json_member_u64(writer->json, "dropped", track->dropped_events);
	if (*identity)
		sonde_json_member_string(writer->json, "identity", identity);
	put_or_null(writer, "first_ns", track->time_first_ns, none);
	put_or_null(writer, "last_ns", track->time_last_ns, none);
	sonde_json_member_bool(writer->json, "unfinished", track->unfinished);
}

static void put_module(struct info_writer *writer, uint32_t id)
{
	const struct sonde_module *module = sonde_definitions_module(writer->info.definitions, id);

	sonde_json_member_u64(writer->json, "process", module->process);
	put_string(writer, "path", module->path);
	put_string(writer, "uuid", module->uuid);
	if (module->has_key)
		put_hex(writer, "key", module->key);
	put_hex(writer, "base_address", module->base_address);
	sonde_json_member_u64(writer->json, "size", module->size);
}

static void put_function(struct info_writer *writer, uint32_t id)
{
	const struct sonde_function *function =
		sonde_definitions_function(writer->info.definitions, id);
	char space[SONDE_LABEL_SIZE];

	sonde_json_member_u64(writer->json, "process", function->process);
	sonde_json_member_string(
		writer->json, "name",
		sonde_definitions_function_label(writer->info.definitions, id, space));
	if (function->raw_name)
		put_string(writer, "raw_name", function->raw_name);
	put_or_null(writer, "module", function->module, SONDE_NONE);
	if (function->has_key)
		put_hex(writer, "key", function->key);
	if (function->file) {
		put_string(writer, "file", function->file);
		sonde_json_member_u64(writer->json, "line", function->line);
	}
}

static void put_event_type(struct info_writer *writer, uint32_t id)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(writer->info.definitions, id);

	put_string(writer, "name", type->name);
	put_string(writer, "arguments", type->arguments);
	sonde_json_member_bool(writer->json, "scope", type->is_scope);
	sonde_json_member_u64(writer->json, "flags", type->flags);
}

static void put_metric(struct info_writer *writer, uint32_t id)
{
	const struct sonde_metric *metric = sonde_definitions_metric(writer->info.definitions, id);

	put_string(writer, "name", metric->name);
	put_string(writer, "scope", metric->scope);
	if (metric->statistic)
		put_string(writer, "statistic", metric->statistic);
	if (metric->unit)
		put_string(writer, "unit", metric->unit);
	if (metric->description)
		put_string(writer, "description", metric->description);
	if (metric->hidden)
		sonde_json_member_bool(writer->json, "hidden", true);
}

static void put_clock(struct info_writer *writer, uint32_t id)
{
	const struct sonde_clock *clock = sonde_definitions_clock(writer->info.definitions, id);

	put_string(writer, "name", clock->name);
	sonde_json_member_string(writer->json, "kind", sonde_clock_kind_name(clock->kind));
}

static void put_anchor(struct info_writer *writer, uint32_t id)
{
	const struct sonde_anchor *anchor = sonde_definitions_anchor(writer->info.definitions, id);

	sonde_json_member_u64(writer->json, "clock", anchor->clock);
	sonde_json_member_u64(writer->json, "clock_ns", anchor->clock_ns);
	sonde_json_member_u64(writer->json, "realtime_ns", anchor->realtime_ns);
}

static void put_attribute(struct info_writer *writer, uint32_t id)
{
	const struct sonde_definitions *definitions = writer->info.definitions;
	const struct sonde_attribute *attribute = sonde_definitions_attribute(definitions, id);

	sonde_json_member_string(writer->json, "owner", info_owner_name(attribute->owner));
	sonde_json_member_u64(writer->json, "owner_id", attribute->owner_id);
	put_string(writer, "name", attribute->name);
	sonde_json_key(writer->json, "value");
	sonde_json_raw(writer->json, sonde_definitions_string(definitions, attribute->value));
}

/* A kind of definitions as an array of objects, each with its id. */
struct section {
	const char *key;
	uint32_t (*count)(const struct sonde_definitions *definitions);
	void (*put)(struct info_writer *writer, uint32_t id);
};

static void put_section(struct info_writer *writer, const struct section *section)
{
	uint32_t count = section->count(writer->info.definitions), i;

	sonde_json_key(writer->json, section->key);
	sonde_json_array_begin(writer->json);
	for (i = 0; i < count; i++) {
		sonde_json_object_begin_inline(writer->json);
		sonde_json_member_u64(writer->json, "id", i);
		section->put(writer, i);
		sonde_json_object_end(writer->json);
		cli_flush_when_full(writer->cli);
	}
	sonde_json_array_end(writer->json);
}

static void put_resources(struct info_writer *writer)
{
	uint32_t i;

	sonde_json_key(writer->json, "resources");
	sonde_json_array_begin(writer->json);
	for (i = 0; i < writer->info.resource_count; i++) {
		struct sonde_blob blob = info_resource(&writer->info, i);

		sonde_json_object_begin_inline(writer->json);
		sonde_json_member_u64(writer->json, "id", i);
		put_string(writer, "name", blob.name);
		sonde_json_member_bool(writer->json, "text", blob.is_text);
		sonde_json_member_u64(writer->json, "bytes", blob.size);
		sonde_json_object_end(writer->json);
		cli_flush_when_full(writer->cli);
	}
	sonde_json_array_end(writer->json);
}

static void put_formulas(struct info_writer *writer)
{
	struct sonde_formula formula;

	sonde_json_key(writer->json, "formulas");
	sonde_json_array_begin(writer->json);
	for (uint32_t i = 0; sonde_recording_formula(writer->info.recording, i, &formula); i++) {
		sonde_json_object_begin_inline(writer->json);
		sonde_json_member_string(writer->json, "name", formula.name);
		sonde_json_member_string(writer->json, "description", formula.description);
		sonde_json_object_end(writer->json);
		cli_flush_when_full(writer->cli);
	}
	sonde_json_array_end(writer->json);
}

static void put_summary(struct info_writer *writer)
{
	const struct info *info = &writer->info;
	const struct sonde_format_info *format =
		sonde_format_info(sonde_recording_format(info->recording));
	uint64_t realtime_ns = UINT64_MAX;

	sonde_json_member_string(writer->json, "path", sonde_recording_path(info->recording));
	sonde_json_member_string(writer->json, "format", format->name);
	sonde_json_member_string(writer->json, "state", info_state(info));
	sonde_json_member_u64(writer->json, "bytes", info->bytes);
	sonde_json_member_u64(writer->json, "events", info->event_count);
	sonde_json_member_u64(writer->json, "details", info->detail_count);
	sonde_json_member_u64(writer->json, "contexts", info->context_count);
	sonde_json_member_u64(writer->json, "values", info->value_count);
	sonde_json_member_u64(writer->json, "samples", info->sample_count);
	sonde_json_member_u64(writer->json, "dropped", info->dropped_count);
	if (info->has_time) {
		sonde_json_member_u64(writer->json, "first_ns", info->first_ns);
		sonde_json_member_u64(writer->json, "last_ns", info->last_ns);
		if (!info_realtime(info, info->first_ns, &realtime_ns))
			realtime_ns = UINT64_MAX;
	}
	put_or_null(writer, "first_realtime_ns", realtime_ns, UINT64_MAX);
}

void cli_put_info_json(struct cli *cli, struct sonde_recording *recording,
		       struct sonde_json_writer *json)
{
	static const struct section sections[] = {
		{ "processes", sonde_definitions_process_count, put_process },
		{ "clocks", sonde_definitions_clock_count, put_clock },
		{ "anchors", sonde_definitions_anchor_count, put_anchor },
		{ "tracks", sonde_definitions_track_count, put_track },
		{ "modules", sonde_definitions_module_count, put_module },
		{ "functions", sonde_definitions_function_count, put_function },
		{ "event_types", sonde_definitions_event_type_count, put_event_type },
		{ "metrics", sonde_definitions_metric_count, put_metric },
		{ "attributes", sonde_definitions_attribute_count, put_attribute },
	};
	struct info_writer writer = { .cli = cli, .json = json };
	struct cli_tally tally;
	size_t i;

	info_gather(&writer.info, recording);
	tally = cli_tally_of(writer.info.diagnostics);
	sonde_json_object_begin(json);
	put_summary(&writer);
	info_put_path_json(&writer.info, json);
	cli_put_tally_json(json, &tally);
	cli_put_findings_json(json, writer.info.diagnostics);
	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		put_section(&writer, &sections[i]);
	put_formulas(&writer);
	put_resources(&writer);
	sonde_json_object_end(json);
}
