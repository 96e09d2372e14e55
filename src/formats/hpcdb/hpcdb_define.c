/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a database defines, as definitions of a recording: modules and functions have the numbers of
 * their records, tracks are the profiles that are no summaries, each with its identities.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json.h"
#include "formats/hpcdb/hpcdb_read.h"
#include "model/formula.h"

/* Where kinds go whose number means something else here; a database has no more than 255. */
#define OTHER_KINDS 200

static enum sonde_status add_text(struct hpcdb_recording *database, struct hpcdb_text text,
				  uint32_t *id, struct sonde_error *err)
{
	*id = 0;
	if (!text.length)
		return SONDE_OK;
	return sonde_definitions_add_string(database->definitions, text.text, text.length, id, err);
}

static enum sonde_status add_string(struct hpcdb_recording *database, const char *text,
				    uint32_t *id, struct sonde_error *err)
{
	return sonde_definitions_add_string(database->definitions, text, strlen(text), id, err);
}

static enum sonde_status define_attribute(struct hpcdb_recording *database, const char *name,
					  struct hpcdb_text text, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	struct sonde_buffer json = { 0 };
	struct sonde_json_writer writer;
	enum sonde_status status;

	if (!text.length)
		return SONDE_OK;
	sonde_json_writer_init(&writer, &json, false);
	sonde_json_string_sized(&writer, text.text, text.length);
	status = sonde_buffer_text(&json) ? SONDE_OK : sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = add_string(database, json.data, &attribute.value, err);
	if (status == SONDE_OK)
		status = add_string(database, name, &attribute.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_attribute(database->definitions, &attribute,
							 &(uint32_t){ 0 }, err);
	sonde_buffer_release(&json);
	return status;
}

static enum sonde_status define_modules(struct hpcdb_recording *database, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	for (uint32_t i = 0; i < database->meta.modules.count && status == SONDE_OK; i++) {
		struct sonde_module module = { 0 };

		status = add_text(database, hpcdb_meta_module(&database->meta, i).path,
				  &module.path, err);
		if (status == SONDE_OK)
			status = sonde_definitions_add_module(database->definitions, &module, &id,
							      err);
	}
	return status;
}

static enum sonde_status define_files(struct hpcdb_recording *database, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	database->file_names = calloc(database->meta.files.count + 1, sizeof(uint32_t));
	if (!database->file_names)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < database->meta.files.count && status == SONDE_OK; i++)
		status = add_text(database, hpcdb_meta_file(&database->meta, i).path,
				  &database->file_names[i], err);
	return status;
}

static enum sonde_status define_functions(struct hpcdb_recording *database, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	for (uint32_t i = 0; i < database->meta.functions.count && status == SONDE_OK; i++) {
		struct hpcdb_function_info info = hpcdb_meta_function(&database->meta, i);
		struct sonde_function function = {
			.module = info.module,
			.file = info.file == HPCDB_NO_RECORD ? 0 : database->file_names[info.file],
			.line = info.line,
			.address = info.address,
		};

		status = add_text(database, info.name, &function.name, err);
		if (status == SONDE_OK)
			status = sonde_definitions_add_function(database->definitions, &function,
								&id, err);
	}
	return status;
}

/* "sum", "count" ... of a formula and a way to combine, in `space` where it is none of the usual. */
static const char *statistic_name(const struct hpcdb_summary *summary, char *space, size_t size)
{
	static const char *const combines[] = { "sum", "min", "max" };
	const char *combine = summary->combine <= HPCDB_COMBINE_MAX ? combines[summary->combine] :
								      "other";
	struct sonde_expression formula = { 0 };
	struct sonde_buffer canonical = { 0 };
	const char *name = space, *text = NULL;

	if (sonde_expression_parse(&formula, summary->formula.text, summary->formula.length,
				   NULL) == SONDE_OK) {
		sonde_expression_put_text(&formula, &canonical);
		text = sonde_buffer_text(&canonical);
	}
	if (!text)
		text = summary->formula.text;
	snprintf(space, size, "%s of %s", combine, text);
	if (!strcmp(text, "$$"))
		name = combine;
	else if (!strcmp(text, "1") && summary->combine == HPCDB_COMBINE_SUM)
		name = "count";
	else if (!strcmp(text, "$$^2") && summary->combine == HPCDB_COMBINE_SUM)
		name = "sum of squares";
	sonde_expression_release(&formula);
	sonde_buffer_release(&canonical);
	return name;
}

static enum sonde_status add_metric(struct hpcdb_recording *database,
				    const struct sonde_metric *metric,
				    const struct hpcdb_model_metric *place, uint32_t *id,
				    struct sonde_error *err)
{
	struct hpcdb_model_metric *added = sonde_vec_push(&database->metrics);

	if (!added)
		return sonde_fail_nomem(err);
	*added = *place;
	return sonde_definitions_add_metric(database->definitions, metric, id, err);
}

/* The name of a scope; "" where the pointer to it leads nowhere. */
static enum sonde_status add_scope(struct hpcdb_recording *database, uint32_t scope, uint32_t *id,
				   struct sonde_error *err)
{
	struct hpcdb_text none = { "", 0, true };

	return add_text(database,
			scope < database->meta.scopes.count ?
				database->meta.scopes.items[scope].name :
				none,
			id, err);
}

/* Which of a metric's scopes the point values are worked out from. */
static struct hpcdb_base find_base(const struct hpcdb_meta *meta,
				   const struct hpcdb_metric_info *info)
{
	struct hpcdb_base base = { .point = SONDE_NONE, .sum_point = SONDE_NONE };

	for (uint32_t i = 0; i < info->instance_count; i++) {
		const struct hpcdb_instance *instance =
			&meta->instances.items[info->first_instance + i];
		const struct hpcdb_scope_info *scope;

		if (instance->scope == HPCDB_NO_RECORD)
			continue;
		scope = &meta->scopes.items[instance->scope];
		if (!(scope->type == HPCDB_SCOPE_TRANSITIVE && scope->index < 16) &&
		    scope->type != HPCDB_SCOPE_EXECUTION)
			continue;
		base.exists = true;
		base.id = instance->id;
		base.scope = instance->scope;
		base.bits = 0;
		if (scope->type == HPCDB_SCOPE_EXECUTION)
			continue;
		base.bits = (uint16_t)(1u << scope->index);
		break;
	}
	return base;
}

static bool is_point_scope(const struct hpcdb_meta *meta, uint32_t scope)
{
	return scope != HPCDB_NO_RECORD && meta->scopes.items[scope].type == HPCDB_SCOPE_POINT;
}

static enum sonde_status define_instance(struct hpcdb_recording *database, uint32_t number,
					 struct sonde_metric metric, struct sonde_error *err)
{
	const struct hpcdb_instance *instance = &database->meta.instances.items[number];
	struct hpcdb_base *base = &database->bases[instance->metric];
	bool is_point = is_point_scope(&database->meta, instance->scope);
	struct hpcdb_model_metric place = { .id = instance->id, .of_metric = instance->metric };
	struct hpcdb_use *use = &database->prop_uses[instance->id];
	uint32_t id = SONDE_NONE;
	enum sonde_status status = add_scope(database, instance->scope, &metric.scope, err);

	if (status == SONDE_OK && is_point && base->exists) {
		place.is_point = true;
		place.id = base->id;
	}
	if (status == SONDE_OK)
		status = add_metric(database, &metric, &place, &id, err);
	if (status < 0)
		return status;
	if (place.is_point && base->point == SONDE_NONE)
		base->point = id;
	if (use->metric == SONDE_NONE)
		*use = (struct hpcdb_use){
			.metric = id,
			.of_metric = instance->metric,
			.is_base = base->exists && base->id == instance->id,
			.is_point = place.is_point,
		};
	return SONDE_OK;
}

static bool is_sum(const struct hpcdb_summary *summary)
{
	char space[128];

	return !strcmp(statistic_name(summary, space, sizeof(space)), "sum");
}

static void find_sum(const struct hpcdb_meta *meta, const struct hpcdb_metric_info *info,
		     struct hpcdb_base *base)
{
	for (uint32_t i = 0; i < info->summary_count && base->exists && !base->has_sum; i++) {
		const struct hpcdb_summary *summary =
			&meta->summaries.items[info->first_summary + i];

		if (summary->scope != base->scope || !is_sum(summary))
			continue;
		base->has_sum = true;
		base->sum_id = summary->id;
	}
}

/*
 * Statistics of "point" as they are stored lack what contexts that are not listed have, which the points
 * of tracks do not. The sum is worked out as those are; others do not follow from anything stored.
 */
static enum sonde_status define_summary(struct hpcdb_recording *database, uint32_t number,
					struct sonde_metric metric, struct sonde_error *err)
{
	const struct hpcdb_summary *summary = &database->meta.summaries.items[number];
	struct hpcdb_base *base = &database->bases[summary->metric];
	bool is_point = base->exists && is_point_scope(&database->meta, summary->scope);
	struct hpcdb_model_metric place = { .id = summary->id,
					    .is_statistic = true,
					    .of_metric = summary->metric };
	struct hpcdb_use *use = &database->stat_uses[summary->id];
	char space[128];
	uint32_t id = SONDE_NONE;
	enum sonde_status status;

	if (is_point && (!base->has_sum || !is_sum(summary)))
		return SONDE_OK;
	if (is_point) {
		place.is_point = true;
		place.id = base->sum_id;
	}
	status = add_scope(database, summary->scope, &metric.scope, err);
	if (status == SONDE_OK)
		status = add_string(database, statistic_name(summary, space, sizeof(space)),
				    &metric.statistic, err);
	if (status == SONDE_OK)
		status = add_metric(database, &metric, &place, &id, err);
	if (status < 0)
		return status;
	if (is_point && base->sum_point == SONDE_NONE)
		base->sum_point = id;
	if (use->metric == SONDE_NONE)
		*use = (struct hpcdb_use){
			.metric = id,
			.of_metric = summary->metric,
			.is_base = base->has_sum && base->sum_id == summary->id,
			.is_point = is_point,
		};
	return SONDE_OK;
}

static enum sonde_status define_metric(struct hpcdb_recording *database, uint32_t number,
				       struct sonde_error *err)
{
	const struct hpcdb_metric_info *info = &database->meta.metrics.items[number];
	struct hpcdb_base *base = &database->bases[number];
	struct sonde_metric metric = { 0 };
	enum sonde_status status = add_text(database, info->name, &metric.name, err);

	*base = find_base(&database->meta, info);
	find_sum(&database->meta, info, base);
	for (uint32_t i = 0; i < info->instance_count && status == SONDE_OK; i++)
		status = define_instance(database, info->first_instance + i, metric, err);
	if (status == SONDE_OK && base->exists && base->point == SONDE_NONE) {
		struct hpcdb_model_metric place = { .id = base->id,
						    .is_point = true,
						    .of_metric = number };

		status = add_string(database, "point", &metric.scope, err);
		if (status == SONDE_OK)
			status = add_metric(database, &metric, &place, &base->point, err);
	}
	for (uint32_t i = 0; i < info->summary_count && status == SONDE_OK; i++)
		status = define_summary(database, info->first_summary + i, metric, err);
	return status;
}

static struct hpcdb_use *new_uses(uint32_t count)
{
	struct hpcdb_use *uses = calloc((size_t)count + 1, sizeof(*uses));

	for (uint32_t i = 0; uses && i < count; i++)
		uses[i].metric = SONDE_NONE;
	return uses;
}

static enum sonde_status define_metrics(struct hpcdb_recording *database, struct sonde_error *err)
{
	const struct hpcdb_meta *meta = &database->meta;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < meta->instances.count; i++) {
		if (meta->instances.items[i].id >= database->prop_count)
			database->prop_count = meta->instances.items[i].id + 1u;
	}
	for (size_t i = 0; i < meta->summaries.count; i++) {
		if (meta->summaries.items[i].id >= database->stat_count)
			database->stat_count = meta->summaries.items[i].id + 1u;
	}
	database->prop_uses = new_uses(database->prop_count);
	database->stat_uses = new_uses(database->stat_count);
	database->bases = calloc(meta->metrics.count + 1, sizeof(*database->bases));
	if (!database->prop_uses || !database->stat_uses || !database->bases)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < meta->metrics.count && status == SONDE_OK; i++)
		status = define_metric(database, i, err);
	return status;
}

/* Kinds are numbered by meta.db; those of a name known here get the number they have here. */
static uint16_t known_kind(const struct hpcdb_meta *meta, uint16_t kind)
{
	if (kind >= meta->kinds.count || !meta->kinds.items[kind].length)
		return kind;
	for (unsigned int i = 0; i < SONDE_IDENTITY_KNOWN; i++) {
		if (!strcmp(meta->kinds.items[kind].text, sonde_identity_kind_name((uint16_t)i)))
			return (uint16_t)i;
	}
	return kind < SONDE_IDENTITY_KNOWN ? (uint16_t)(kind + OTHER_KINDS) : kind;
}

/* Processes by what their identities say. */
struct processes {
	struct sonde_text_map numbers;
	struct sonde_arena keys;
	uint32_t name; /* of all of them: the title, which may be long */
};

/* The process of a track: nodes and ranks tell processes from each other. */
static enum sonde_status define_process(struct hpcdb_recording *database, struct processes *known,
					const char *key, uint32_t *process, struct sonde_error *err)
{
	struct sonde_process definition = { .os_id = SONDE_NONE, .name = known->name };
	size_t length = strlen(key);
	enum sonde_status status;

	*process = sonde_text_map_find(&known->numbers, key, length);
	if (*process != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_process(database->definitions, &definition, process, err);
	if (status < 0)
		return status;
	key = sonde_arena_copy_text(&known->keys, key, length);
	if (!key || !sonde_text_map_add(&known->numbers, key, length, *process))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static void describe_track(struct hpcdb_recording *database, struct sonde_track *track,
			   uint32_t number, const struct sonde_identity *identities, size_t count)
{
	uint32_t line = database->track_lines[number];

	track->slot = number;
	track->os_id = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		if (identities[i].kind == SONDE_IDENTITY_GPU_STREAM)
			track->kind = SONDE_TRACK_GPU_STREAM;
		if (identities[i].kind == SONDE_IDENTITY_GPU_STREAM ||
		    identities[i].kind == SONDE_IDENTITY_THREAD)
			track->slot = (uint32_t)identities[i].logical;
	}
	if (line != SONDE_NONE) {
		struct hpcdb_line samples = hpcdb_trace_at(&database->trace, line);

		track->sample_count = samples.count;
		if (samples.count) {
			track->time_first_ns = hpcdb_line_time(&samples, 0);
			track->time_last_ns = hpcdb_line_time(&samples, samples.count - 1);
		}
	}
}

static enum sonde_status define_track(struct hpcdb_recording *database, uint32_t number,
				      struct processes *processes, struct sonde_error *err)
{
	struct hpcdb_profile_info info =
		hpcdb_profile_at(&database->profile, database->track_profiles[number]);
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	struct sonde_track track = { .name_made_up = true };
	char key[128] = "", text[256];
	size_t count, used = 0;
	enum sonde_status status;
	uint32_t id;

	hpcdb_profile_identities(&database->profile, &info, identities, &count);
	for (size_t i = 0; i < count; i++) {
		identities[i].kind = known_kind(&database->meta, identities[i].kind);
		if (identities[i].kind <= SONDE_IDENTITY_RANK && used < sizeof(key))
			used += (size_t)snprintf(key + used, sizeof(key) - used, "%u:%llx:%llx ",
						 identities[i].kind,
						 (unsigned long long)identities[i].physical,
						 (unsigned long long)identities[i].logical);
	}
	describe_track(database, &track, number, identities, count);
	status = define_process(database, processes, key, &track.process, err);
	if (status == SONDE_OK && count)
		status = add_string(database,
				    sonde_identity_text(identities, count, text, sizeof(text)),
				    &track.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_track(database->definitions, &track, &id, err);
	if (status == SONDE_OK && count)
		status = sonde_identity_define(database->definitions, id, identities, count, err);
	return status;
}

/* Which profiles are tracks, and which line of trace.db is whose. */
static enum sonde_status number_tracks(struct hpcdb_recording *database, struct sonde_error *err)
{
	uint32_t profiles = hpcdb_profile_count(&database->profile);

	database->summary = SONDE_NONE;
	database->track_profiles = calloc((size_t)profiles + 1, sizeof(uint32_t));
	database->profile_tracks = calloc((size_t)profiles + 1, sizeof(uint32_t));
	database->track_lines = calloc((size_t)profiles + 1, sizeof(uint32_t));
	if (!database->track_profiles || !database->profile_tracks || !database->track_lines)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < profiles; i++) {
		bool is_summary = hpcdb_profile_at(&database->profile, i).is_summary;

		database->profile_tracks[i] = SONDE_NONE;
		if (is_summary && database->summary == SONDE_NONE)
			database->summary = i;
		if (is_summary)
			continue;
		database->profile_tracks[i] = database->track_count;
		database->track_lines[database->track_count] = SONDE_NONE;
		database->track_profiles[database->track_count++] = i;
	}
	for (uint32_t i = 0; i < database->trace.lines.count; i++) {
		uint32_t profile = hpcdb_trace_at(&database->trace, i).profile;
		uint32_t track = profile < profiles ? database->profile_tracks[profile] :
						      SONDE_NONE;

		if (track != SONDE_NONE && database->track_lines[track] == SONDE_NONE)
			database->track_lines[track] = i;
	}
	return SONDE_OK;
}

static enum sonde_status define_tracks(struct hpcdb_recording *database, struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_REALTIME };
	struct processes processes = { 0 };
	enum sonde_status status = number_tracks(database, err);
	uint32_t id;

	if (status == SONDE_OK)
		status = add_string(database, "realtime", &clock.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_clock(database->definitions, &clock, &id, err);
	if (status == SONDE_OK)
		status = add_text(database, database->meta.title, &processes.name, err);
	/* functions and modules belong to process 0, which must be there without any track too */
	if (status == SONDE_OK && !database->track_count)
		status = define_process(database, &processes, "", &id, err);
	for (uint32_t i = 0; i < database->track_count && status == SONDE_OK; i++)
		status = define_track(database, i, &processes, err);
	sonde_text_map_release(&processes.numbers);
	sonde_arena_release(&processes.keys);
	return status;
}

enum sonde_status hpcdb_define(struct hpcdb_recording *database, struct sonde_error *err)
{
	enum sonde_status status = define_tracks(database, err);

	if (status == SONDE_OK)
		status = define_attribute(database, "hpc.title", database->meta.title, err);
	if (status == SONDE_OK)
		status = define_attribute(database, "hpc.description", database->meta.description,
					  err);
	if (status == SONDE_OK)
		status = define_modules(database, err);
	if (status == SONDE_OK)
		status = define_files(database, err);
	if (status == SONDE_OK)
		status = define_functions(database, err);
	if (status == SONDE_OK)
		status = define_metrics(database, err);
	return status;
}
