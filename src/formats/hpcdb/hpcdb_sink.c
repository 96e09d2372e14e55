/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that writes databases: what comes of each track, from any thread, is kept in one file
 * without a name until all of it is there; then hpcdb_write() asks for it, track by track.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/hpcdb/hpcdb_sink.h"
#include "formats/hpcdb/hpcdb_sink_formulas.h"
#include "formats/hpcdb/hpcdb_write.h"
#include "model/wall_clock.h"

#define BATCH 1024

const struct sonde_format_style hpcdb_styles[] = {
	{ "mean", "the mean over all tracks, beside the sum" },
	{ "deviation", "standard deviation and coefficient of variation" },
	{ "extrema", "the smallest and the largest value" },
	{ "count", "on how many tracks there is a value" },
	{ "all", "all of these statistics" },
	{ "no-traces", "without samples: no trace.db" },
	{ "sources", "with copies of the source files" },
	{ NULL, NULL },
};

/* A piece of the spool: so many points or samples. */
struct piece {
	uint64_t offset;
	uint64_t count;
};

struct pieces {
	SONDE_VEC(struct piece) list;
};

struct track {
	struct pieces values;  /* struct hpcdb_point */
	struct pieces samples; /* struct sonde_sample */
	uint64_t sample_count;
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	size_t identity_count;
	uint64_t shift_ns; /* to the wall clock, modulo 2^64 */
};

struct sink {
	struct sonde_sink base;
	char *path;
	struct sonde_loss *loss;
	struct hpcdb_write_options options;
	bool is_plain; /* no style was asked for */
	const struct sonde_definitions *definitions;
	struct track *tracks;
	uint32_t track_count;
	const struct sonde_context *contexts;
	struct sonde_context *own_contexts; /* NULL, or with one more than those that came */
	uint32_t context_count;
	uint32_t shift;		   /* of numbers of contexts but the root's */
	uint32_t *metric_numbers;  /* of definitions -> of `metrics`; SONDE_NONE: not held */
	uint32_t definition_count; /* of metrics, when the first value came */
	struct hpcdb_metric *metrics;
	uint32_t metric_count;
	struct hpcdb_sink_formulas formulas;
	struct sonde_output spool;
	struct sonde_mapped_file spooled;
	struct sonde_staged copy; /* of a database taken as a whole */
	bool is_copy;
	pthread_mutex_t lock; /* of the spool and what metrics there are */
};

static struct sink *sink_of(struct sonde_sink *sink)
{
	return (struct sink *)sink;
}

/* What no part of a database has a place for. */
static enum sonde_status count_attributes(struct sink *sink, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_attribute_count(sink->definitions);
	uint64_t lost = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(sink->definitions, i);
		const char *name = sonde_definitions_string(sink->definitions, attribute->name);

		lost += strcmp(name, SONDE_IDENTITY_ATTRIBUTE) && strcmp(name, "hpc.title") &&
			strcmp(name, "hpc.description") && strcmp(name, "hpc.formulas");
	}
	return sonde_loss_add(sink->loss, "attributes", "a database has no place for them", lost,
			      err);
}

static bool is_point(const struct sonde_definitions *definitions, const struct sonde_metric *metric)
{
	const char *scope = sonde_definitions_string(definitions, metric->scope);

	return !metric->statistic && (!*scope || !strcmp(scope, "point"));
}

static enum sonde_status begin_formulas(struct sink *sink, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sink->definitions;
	enum sonde_status status = SONDE_OK;
	uint64_t lost = 0;

	for (uint32_t i = 0; !status && i < sonde_definitions_metric_count(definitions); i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);

		if (is_point(definitions, metric))
			status = hpcdb_sink_formulas_metric(
				&sink->formulas,
				sonde_definitions_string(definitions, metric->name), i, err);
	}
	if (!status)
		status = hpcdb_sink_formulas_take(&sink->formulas, definitions, &lost, err);
	if (!status)
		status = sonde_loss_add(sink->loss, "formulas",
					"they name metrics that are not there", lost, err);
	return status;
}

static enum sonde_status begin(struct sonde_sink *base, const struct sonde_definitions *definitions,
			       struct sonde_error *err)
{
	struct sink *sink = sink_of(base);
	enum sonde_status status;
	uint64_t unknown = 0;

	sink->definitions = definitions;
	sink->track_count = sonde_definitions_track_count(definitions);
	sink->tracks = calloc((size_t)sink->track_count + 1, sizeof(*sink->tracks));
	if (!sink->tracks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->track_count; i++) {
		struct track *track = &sink->tracks[i];

		status = sonde_identity_of_track(definitions, i, track->identities,
						 &track->identity_count, err);
		if (status < 0)
			return status;
		unknown += !sonde_wall_clock_shift(definitions, i, &track->shift_ns);
	}
	status = sonde_loss_add(sink->loss, "clocks of tracks",
				"the samples of a database are in the time of the wall clock, and "
				"nothing tells how that was; times stay as they are",
				unknown, err);
	if (!status)
		status = count_attributes(sink, err);
	if (!status)
		status = begin_formulas(sink, err);
	return status < 0 ? status : sonde_output_open_unnamed(&sink->spool, err);
}

/* Statistics are worked out anew, where they are asked for. */
static bool is_made_anew(const struct sink *sink, const char *name)
{
	static const struct {
		const char *suffix;
		unsigned int statistic;
	} variants[] = {
		{ ":Mean", HPCDB_STATISTIC_MEAN },	 { ":StdDev", HPCDB_STATISTIC_DEVIATION },
		{ ":CfVar", HPCDB_STATISTIC_DEVIATION }, { ":Min", HPCDB_STATISTIC_EXTREMA },
		{ ":Max", HPCDB_STATISTIC_EXTREMA },	 { ":Count", HPCDB_STATISTIC_COUNT },
	};
	const char *colon = strrchr(name, ':');

	for (size_t i = 0; colon && i < sizeof(variants) / sizeof(*variants); i++) {
		if (!strcmp(colon, variants[i].suffix))
			return sink->options.statistics & variants[i].statistic;
	}
	return false;
}

static enum sonde_status take_formula(struct sonde_sink *base, const struct sonde_formula *formula,
				      struct sonde_error *err)
{
	struct sink *sink = sink_of(base);

	if (is_made_anew(sink, formula->name))
		return SONDE_OK;
	return hpcdb_sink_formulas_add(&sink->formulas, formula, err);
}

/* Formulas are metrics behind those that are measured. */
static enum sonde_status number_formulas(struct sink *sink, struct sonde_error *err)
{
	for (size_t i = 0; i < sink->formulas.items.count; i++) {
		const struct hpcdb_sink_formula *formula = &sink->formulas.items.items[i];
		const char *text =
			hpcdb_sink_formulas_text(&sink->formulas, i, sink->metric_numbers);

		if (!text)
			return sonde_fail_nomem(err);
		sink->metrics[sink->metric_count++] = (struct hpcdb_metric){
			.name = formula->name,
			.description = formula->description,
			.formula = text,
		};
	}
	return SONDE_OK;
}

/* The metrics of scope "point", all of which are there when the first value comes. */
static enum sonde_status take_metrics(struct sink *sink, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sink->definitions;
	uint32_t count = sonde_definitions_metric_count(definitions);

	sink->metrics =
		calloc((size_t)count + sink->formulas.items.count + 1, sizeof(*sink->metrics));
	sink->metric_numbers = malloc(((size_t)count + 1) * sizeof(*sink->metric_numbers));
	if (!sink->metrics || !sink->metric_numbers)
		return sonde_fail_nomem(err);
	sink->definition_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);

		sink->metric_numbers[i] = SONDE_NONE;
		if (!is_point(definitions, metric))
			continue;
		sink->metric_numbers[i] = sink->metric_count;
		sink->metrics[sink->metric_count++] = (struct hpcdb_metric){
			.name = sonde_definitions_string(definitions, metric->name),
			.description = sonde_definitions_string(definitions, metric->description),
			.visibility = metric->hidden ? HPCDB_HIDDEN_BY_DEFAULT : HPCDB_SHOWN,
			.show_percent = true,
		};
	}
	return number_formulas(sink, err);
}

/*
 * A database has nothing but entries below the root. Where there is something else, an entry for
 * those whose callers are unknown is put before all others, and their numbers grow by one.
 */
static enum sonde_status add_entry(struct sink *sink, struct sonde_error *err)
{
	uint32_t count = sink->context_count;
	struct sonde_context *own = malloc(((size_t)count + 1) * sizeof(*own));

	if (!own)
		return sonde_fail_nomem(err);
	own[0] = sink->contexts[0];
	own[0].end = count + 1;
	own[1] = (struct sonde_context){ .function = SONDE_NONE,
					 .module = SONDE_NONE,
					 .kind = SONDE_CONTEXT_ENTRY,
					 .relation = SONDE_CONTEXT_CALLED,
					 .entry = SONDE_ENTRY_UNKNOWN,
					 .end = count + 1 };
	for (uint32_t i = 1; i < count; i++) {
		struct sonde_context *context = &own[i + 1];

		*context = sink->contexts[i];
		context->end++;
		if (context->parent)
			context->parent++;
		else if (context->kind != SONDE_CONTEXT_ENTRY)
			context->parent = 1;
	}
	sink->own_contexts = own;
	sink->contexts = own;
	sink->context_count = count + 1;
	sink->shift = 1;
	return SONDE_OK;
}

static enum sonde_status contexts(struct sonde_sink *base, const struct sonde_context *items,
				  uint32_t count, struct sonde_error *err)
{
	struct sink *sink = sink_of(base);

	sink->contexts = items;
	sink->context_count = count;
	for (uint32_t i = 1; i < count; i++)
		if (!items[i].parent && items[i].kind != SONDE_CONTEXT_ENTRY)
			return add_entry(sink, err);
	return SONDE_OK;
}

static enum sonde_status check_fed(const struct sink *sink, uint32_t track, uint32_t context,
				   struct sonde_error *err)
{
	if (track < sink->track_count && context < sink->context_count - sink->shift)
		return SONDE_OK;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "context %u of track %u, but there are %u contexts and %u tracks",
			  context, track, sink->context_count - sink->shift, sink->track_count);
}

/* Appends to the spool; the last piece grows where this follows right behind it. */
static enum sonde_status spool(struct sink *sink, struct pieces *pieces, const void *items,
			       size_t count, size_t item_size, struct sonde_error *err)
{
	struct piece *last = pieces->list.count ? &pieces->list.items[pieces->list.count - 1] :
						  NULL;
	enum sonde_status status;
	uint64_t offset;

	pthread_mutex_lock(&sink->lock);
	offset = sink->spool.written;
	status = sonde_output_write(&sink->spool, items, count * item_size, err);
	pthread_mutex_unlock(&sink->lock);
	if (status < 0)
		return status;
	if (last && last->offset + last->count * item_size == offset) {
		last->count += count;
		return SONDE_OK;
	}
	last = sonde_vec_push(&pieces->list);
	if (!last)
		return sonde_fail_nomem(err);
	*last = (struct piece){ offset, count };
	return SONDE_OK;
}

static enum sonde_status need_metrics(struct sink *sink, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&sink->lock);
	if (!sink->metrics)
		status = take_metrics(sink, err);
	pthread_mutex_unlock(&sink->lock);
	return status;
}

static enum sonde_status values(struct sonde_sink *base, uint32_t track,
				const struct sonde_value *items, size_t count,
				struct sonde_error *err)
{
	struct sink *sink = sink_of(base);
	struct hpcdb_point points[BATCH];
	enum sonde_status status = need_metrics(sink, err);
	size_t used = 0;

	for (size_t i = 0; i < count && status >= 0; i++) {
		const struct sonde_value *value = &items[i];

		status = check_fed(sink, track, value->context, err);
		if (status < 0)
			return status;
		/* other scopes, and statistics, follow from these */
		if (value->metric >= sink->definition_count ||
		    sink->metric_numbers[value->metric] == SONDE_NONE)
			continue;
		points[used++] = (struct hpcdb_point){
			.context = value->context ? value->context + sink->shift : 0,
			.metric = sink->metric_numbers[value->metric],
			.value = value->value,
		};
		if (used < BATCH)
			continue;
		status = spool(sink, &sink->tracks[track].values, points, used, sizeof(*points),
			       err);
		used = 0;
	}
	if (status >= 0 && used)
		status = spool(sink, &sink->tracks[track].values, points, used, sizeof(*points),
			       err);
	return status;
}

static enum sonde_status samples(struct sonde_sink *base, uint32_t track,
				 const struct sonde_sample *items, size_t count,
				 struct sonde_error *err)
{
	struct sink *sink = sink_of(base);
	struct sonde_sample batch[BATCH];
	enum sonde_status status = SONDE_OK;

	for (size_t done = 0; done < count && status >= 0;) {
		size_t part = count - done < BATCH ? count - done : BATCH;

		for (size_t i = 0; i < part; i++) {
			batch[i] = items[done + i];
			batch[i].time_ns += sink->tracks[track].shift_ns;
			status = check_fed(sink, track, batch[i].context, err);
			if (status < 0)
				return status;
			batch[i].context += batch[i].context ? sink->shift : 0;
		}
		status =
			spool(sink, &sink->tracks[track].samples, batch, part, sizeof(*batch), err);
		done += part;
		sink->tracks[track].sample_count += part;
	}
	return status;
}

static enum sonde_status track_end(struct sonde_sink *base, uint32_t track, struct sonde_error *err)
{
	(void)base;
	(void)track;
	(void)err;
	return SONDE_OK;
}

/* What hpcdb_write() is given of a track. */
struct state {
	const struct sink *sink;
	const struct track *track;
	size_t piece;  /* of samples */
	uint64_t done; /* of that piece */
	struct sonde_trail trail;
};

static enum sonde_status open_track(void *data, uint32_t track, void **state,
				    struct sonde_error *err)
{
	struct sink *sink = data;
	struct state *own = malloc(sizeof(*own));

	if (!own)
		return sonde_fail_nomem(err);
	*own = (struct state){ .sink = sink, .track = &sink->tracks[track] };
	*state = own;
	return SONDE_OK;
}

static enum sonde_status track_values(void *state, struct hpcdb_points *points,
				      struct sonde_error *err)
{
	const struct state *own = state;
	const struct pieces *pieces = &own->track->values;

	for (size_t i = 0; i < pieces->list.count; i++) {
		const struct piece *piece = &pieces->list.items[i];

		if (!sonde_vec_reserve(&points->items, piece->count))
			return sonde_fail_nomem(err);
		memcpy(points->items.items + points->items.count,
		       own->sink->spooled.data + piece->offset,
		       piece->count * sizeof(*points->items.items));
		points->items.count += piece->count;
	}
	return SONDE_OK;
}

static enum sonde_status track_samples(void *state, struct sonde_sample *items, size_t room,
				       size_t *count, struct sonde_error *err)
{
	struct state *own = state;
	const struct pieces *pieces = &own->track->samples;

	(void)err;
	for (*count = 0; *count < room && own->piece < pieces->list.count;) {
		const struct piece *piece = &pieces->list.items[own->piece];
		uint64_t left = piece->count - own->done;
		size_t part = left < room - *count ? left : room - *count;

		size_t start = (size_t)piece->offset + own->done * sizeof(*items);

		memcpy(items + *count, own->sink->spooled.data + start, part * sizeof(*items));
		sonde_mapped_file_leave(&own->sink->spooled, &own->trail, start,
					start + part * sizeof(*items));
		*count += part;
		own->done += part;
		if (own->done == piece->count) {
			own->piece++;
			own->done = 0;
		}
	}
	return SONDE_OK;
}

/* The text of a JSON string; *text stays NULL for anything else. */
static enum sonde_status read_text(const char *json, char **text, struct sonde_error *err)
{
	struct sonde_json_reader reader;
	enum sonde_status status = SONDE_OK;

	sonde_json_reader_init(&reader, json, strlen(json), NULL, NULL);
	if (sonde_json_next(&reader, NULL) >= 0 && reader.token == SONDE_JSON_STRING) {
		*text = strdup(reader.text);
		status = *text ? SONDE_OK : sonde_fail_nomem(err);
	}
	sonde_json_reader_release(&reader);
	return status;
}

static enum sonde_status find_text(const struct sink *sink, const char *name, char **text,
				   struct sonde_error *err)
{
	const char *json =
		sonde_definitions_find_attribute(sink->definitions, SONDE_OWNER_RECORDING, 0, name);

	*text = NULL;
	return json ? read_text(json, text, err) : SONDE_OK;
}

static const char *process_name(const struct sonde_definitions *definitions)
{
	const struct sonde_process *process = sonde_definitions_process(definitions, 0);

	return process ? sonde_definitions_string(definitions, process->name) : "";
}

static enum sonde_status write_world(struct sink *sink, struct hpcdb_world *world,
				     struct sonde_error *err)
{
	const struct hpcdb_source source = { sink, open_track, track_values, track_samples, free };
	static const struct sonde_context root = { .parent = SONDE_NONE,
						   .kind = SONDE_CONTEXT_ROOT,
						   .function = SONDE_NONE,
						   .module = SONDE_NONE,
						   .end = 1 };
	char *title = NULL, *description = NULL;
	struct hpcdb_written written = { 0 };
	enum sonde_status status = find_text(sink, "hpc.title", &title, err);

	if (status >= 0)
		status = find_text(sink, "hpc.description", &description, err);
	if (status >= 0) {
		world->title = title ? title : process_name(sink->definitions);
		world->description = description;
		world->definitions = sink->definitions;
		world->contexts = sink->context_count ? sink->contexts : &root;
		world->context_count = sink->context_count ? sink->context_count : 1;
		world->metrics = sink->metrics;
		world->metric_count = sink->metric_count;
		status = hpcdb_write(sink->path, world, &source, &sink->options, &written, err);
	}
	if (status >= 0)
		status = sonde_loss_add(sink->loss, "names that are not UTF-8",
					"U+FFFD stands for each bad byte", written.names_mended,
					err);
	free(title);
	free(description);
	return status;
}

static enum sonde_status finish(struct sonde_sink *base, struct sonde_error *err)
{
	struct sink *sink = sink_of(base);
	struct hpcdb_world world = { .track_count = sink->track_count };
	struct hpcdb_track *tracks;
	enum sonde_status status;

	if (sink->is_copy)
		return sonde_staged_commit(&sink->copy, err);
	status = need_metrics(sink, err);
	if (status >= 0)
		status = sonde_output_map(&sink->spool, &sink->spooled, err);
	if (status < 0)
		return status;
	tracks = calloc((size_t)sink->track_count + 1, sizeof(*tracks));
	if (!tracks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->track_count; i++)
		tracks[i] = (struct hpcdb_track){
			.identities = sink->tracks[i].identities,
			.identity_count = sink->tracks[i].identity_count,
			.sample_limit = sink->tracks[i].sample_count,
		};
	world.tracks = tracks;
	status = write_world(sink, &world, err);
	free(tracks);
	return status;
}

static uint64_t all_samples(const struct sonde_definitions *definitions)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions); i++)
		sum += sonde_definitions_track(definitions, i)->sample_count;
	return sum;
}

/* A database stays as it is, with all that it has: its files are copied. */
static enum sonde_status whole(struct sonde_sink *base, struct sonde_recording *source,
			       struct sonde_run_result *result, struct sonde_error *err)
{
	struct sink *sink = sink_of(base);
	const struct sonde_context *items;
	enum sonde_status status;
	uint32_t count;

	if (!sink->is_plain || source->format != &sonde_format_hpcdb)
		return SONDE_END;
	status = sonde_recording_contexts(source, &items, &count, err);
	if (status >= 0)
		status = sonde_staged_begin(&sink->copy, sink->path, true, sink->options.replace,
					    err);
	if (status < 0)
		return status;
	sink->is_copy = true;
	result->contexts_written = count;
	result->samples_read = result->samples_written =
		all_samples(sonde_recording_definitions(source));
	status = sonde_recording_value_count(source, &result->values_written, err);
	if (status < 0)
		return status;
	return hpcdb_copy_folder(source->path, sink->copy.work, err);
}

static void sink_free(struct sonde_sink *base)
{
	struct sink *sink = sink_of(base);

	for (uint32_t i = 0; sink->tracks && i < sink->track_count; i++) {
		sonde_vec_release(&sink->tracks[i].values.list);
		sonde_vec_release(&sink->tracks[i].samples.list);
	}
	sonde_output_release(&sink->spool);
	sonde_mapped_file_release(&sink->spooled);
	sonde_staged_release(&sink->copy);
	pthread_mutex_destroy(&sink->lock);
	free(sink->tracks);
	free(sink->own_contexts);
	free(sink->metric_numbers);
	free(sink->metrics);
	hpcdb_sink_formulas_release(&sink->formulas);
	free(sink->path);
	free(sink);
}

static const struct sonde_sink_ops sink_ops = {
	.lanes = HPCDB_LANES_WRITTEN,
	.parallel_tracks = true,
	.begin = begin,
	.whole = whole,
	.formula = take_formula,
	.contexts = contexts,
	.values = values,
	.samples = samples,
	.track_end = track_end,
	.finish = finish,
	.free = sink_free,
};

static unsigned int statistics_of(const char *style)
{
	static const struct {
		const char *word;
		unsigned int bits;
	} words[] = {
		{ "mean", HPCDB_STATISTIC_MEAN },
		{ "deviation", HPCDB_STATISTIC_DEVIATION },
		{ "extrema", HPCDB_STATISTIC_EXTREMA },
		{ "count", HPCDB_STATISTIC_COUNT },
		{ "all", HPCDB_STATISTIC_MEAN | HPCDB_STATISTIC_DEVIATION |
				 HPCDB_STATISTIC_EXTREMA | HPCDB_STATISTIC_COUNT },
	};
	unsigned int bits = HPCDB_STATISTIC_SUM;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sonde_format_has_style(style, words[i].word))
			bits |= words[i].bits;
	return bits;
}

/* What is at the path is looked at now, and not when hours of work are done. */
static enum sonde_status check_path(const char *path, bool replace, struct sonde_error *err)
{
	struct sonde_staged staged;
	enum sonde_status status = sonde_staged_begin(&staged, path, true, replace, err);

	if (status >= 0)
		sonde_staged_release(&staged);
	return status;
}

enum sonde_status hpcdb_create(const char *path, const struct sonde_create_options *options,
			       struct sonde_sink **sink, struct sonde_error *err)
{
	enum sonde_status status = check_path(path, options->replace, err);
	struct sink *own;

	if (status < 0)
		return status;
	own = calloc(1, sizeof(*own));
	if (!own)
		return sonde_fail_nomem(err);
	own->base.ops = &sink_ops;
	own->loss = options->loss;
	own->spool.fd = -1;
	own->is_plain = !options->style || !*options->style;
	own->options = (struct hpcdb_write_options){
		.statistics = statistics_of(options->style),
		.no_traces = sonde_format_has_style(options->style, "no-traces"),
		.copy_sources = sonde_format_has_style(options->style, "sources"),
		.replace = options->replace,
	};
	pthread_mutex_init(&own->lock, NULL);
	own->path = strdup(path);
	if (!own->path) {
		sink_free(&own->base);
		return sonde_fail_nomem(err);
	}
	*sink = &own->base;
	return SONDE_OK;
}
