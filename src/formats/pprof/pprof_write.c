/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof profiles, packed with gzip. Fields of a message may come in any order, so samples are written as they are
 * met, and behind them the tables of what they use: locations, functions, mappings, strings.
 */
#include "formats/pprof/pprof_write.h"

#include <stdlib.h>

#include <sonde/sonde.h>

#include "base/protobuf.h"
#include "base/utf8.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_layout.h"
#include "model/call_tree.h"
#include "model/wall_clock.h"

#define FLUSH_SIZE ((size_t)1 << 20)

/* What is known of a module: samples lie in it, and some of them where no function is known. */
enum { MODULE_USED = 1, MODULE_UNNAMED = 2 };

uint64_t pprof_string(struct pprof_writing *writing, const char *text)
{
	size_t length = strlen(text);
	uint32_t number = sonde_text_map_find(&writing->string_numbers, text, length);
	const char **added;

	if (number != SONDE_NONE)
		return number;
	number = (uint32_t)writing->strings.count;
	added = sonde_vec_push(&writing->strings);
	if (!added || !sonde_text_map_add(&writing->string_numbers, text, length, number)) {
		writing->out.failed = true;
		return 0;
	}
	*added = text;
	return number;
}

uint64_t pprof_string_copy(struct pprof_writing *writing, const char *text)
{
	size_t length = strlen(text);
	uint32_t number = sonde_text_map_find(&writing->string_numbers, text, length);
	const char *copy;

	if (number != SONDE_NONE)
		return number;
	copy = sonde_arena_copy_text(&writing->texts, text, length);
	writing->out.failed |= !copy;
	return copy ? pprof_string(writing, copy) : 0;
}

enum sonde_status pprof_flush(struct pprof_writing *writing, size_t enough, struct sonde_error *err)
{
	enum sonde_status status;

	if (writing->out.failed)
		return sonde_fail_nomem(err);
	if (writing->out.size < enough)
		return SONDE_OK;
	status = sonde_gzip_piece(writing->packer, writing->out.data, writing->out.size,
				  &writing->packed, &writing->sum, err);
	if (!status && writing->packed.failed)
		status = sonde_fail_nomem(err);
	if (!status)
		status = sonde_output_write(&writing->sink->file.output, writing->packed.data,
					    writing->packed.size, err);
	sonde_buffer_clear(&writing->out);
	sonde_buffer_clear(&writing->packed);
	return status;
}

/* "alloc" of "alloc (bytes)": what stands in brackets at the end is a unit, if it is one word. */
static size_t name_size(const struct profile_metric *metric, size_t *unit_size)
{
	size_t length = strlen(metric->name), size = length;

	*unit_size = 0;
	if (!length || metric->name[length - 1] != ')')
		return length;
	while (size && metric->name[size - 1] != '(' && metric->name[size - 1] != ' ')
		size--;
	if (!size || metric->name[size - 1] != '(')
		return length;
	*unit_size = length - size - 1;
	size--;
	while (size && metric->name[size - 1] == ' ')
		size--;
	return size ? size : length;
}

/* Times are whole nanoseconds; what sonde derives from calls is called in pprof's way. */
static void name_type(struct pprof_writing *writing, const struct profile_metric *metric,
		      uint64_t *type, uint64_t *unit)
{
	struct sonde_buffer text = { 0 };
	size_t unit_size, size = name_size(metric, &unit_size);

	*unit = 0;
	if (metric->ns > 0) {
		*unit = pprof_string(writing, PPROF_NANOSECONDS);
	} else if (*metric->unit) {
		*unit = pprof_string(writing, metric->unit);
	} else if (unit_size) {
		sonde_buffer_put(&text, metric->name + strlen(metric->name) - 1 - unit_size,
				 unit_size);
		if (sonde_buffer_text(&text))
			*unit = pprof_string_copy(writing, text.data);
	}
	if (!*unit)
		*unit = pprof_string(writing, PPROF_COUNT);
	sonde_buffer_clear(&text);
	if (!strcmp(metric->name, SONDE_METRIC_TIME))
		sonde_buffer_put_text(&text, PPROF_TIME);
	else if (!strcmp(metric->name, SONDE_METRIC_CALLS))
		sonde_buffer_put_text(&text, PPROF_CALLS);
	else
		sonde_buffer_put(&text, metric->name, size);
	*type = sonde_buffer_text(&text) ? pprof_string_copy(writing, text.data) : 0;
	writing->out.failed |= text.failed;
	sonde_buffer_release(&text);
}

static void put_type(struct pprof_writing *writing, uint64_t type, uint64_t unit)
{
	size_t start = sonde_protobuf_begin(&writing->out, PPROF_SAMPLE_TYPE);

	sonde_protobuf_put_uint(&writing->out, PPROF_TYPE, type);
	sonde_protobuf_put_uint(&writing->out, PPROF_UNIT, unit);
	sonde_protobuf_end(&writing->out, start);
}

static enum sonde_status put_types(struct pprof_writing *writing, struct sonde_error *err)
{
	const struct profile_sink *sink = writing->sink;
	uint64_t type, unit;
	uint32_t first;
	enum sonde_status status = profile_sink_choose(sink, &first, err);

	if (status)
		return status;
	for (uint32_t i = 0; i < sink->metric_count; i++) {
		name_type(writing, &sink->metrics[i], &type, &unit);
		put_type(writing, type, unit);
		if (i == first)
			sonde_protobuf_put_uint(&writing->out, PPROF_DEFAULT_SAMPLE_TYPE, type);
	}
	if (!sink->metric_count) /* a profile without types of samples is refused by many */
		put_type(writing, pprof_string(writing, PPROF_TIME),
			 pprof_string(writing, PPROF_NANOSECONDS));
	return SONDE_OK;
}

/* When it was recorded, as far as the tracks tell. */
static void put_times(struct pprof_writing *writing)
{
	const struct sonde_definitions *definitions = writing->sink->definitions;
	uint64_t first = UINT64_MAX, last = 0, wall = UINT64_MAX;

	for (uint32_t i = 0; i < writing->sink->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);
		uint64_t shift;

		if (!track->time_last_ns)
			continue;
		if (track->time_first_ns < first)
			first = track->time_first_ns;
		if (track->time_last_ns > last)
			last = track->time_last_ns;
		if (sonde_wall_clock_shift(definitions, i, &shift) &&
		    track->time_first_ns + shift < wall)
			wall = track->time_first_ns + shift;
	}
	if (!last) { /* a profile without times: when it was recorded as a whole */
		const struct sonde_process *process = sonde_definitions_process(definitions, 0);

		wall = first = process ? process->start_ns : 0;
		last = process ? process->end_ns : 0;
	}
	if (wall <= INT64_MAX && wall)
		sonde_protobuf_put_uint(&writing->out, PPROF_TIME_NANOS, wall);
	if (last > first && last - first <= INT64_MAX)
		sonde_protobuf_put_uint(&writing->out, PPROF_DURATION_NANOS, last - first);
}

static void put_comment(struct pprof_writing *writing)
{
	struct sonde_buffer text = { 0 };

	sonde_buffer_put_format(&text, PPROF_WRITTEN_BY "%s", sonde_version());
	if (sonde_buffer_text(&text))
		sonde_protobuf_put_uint(&writing->out, PPROF_COMMENT,
					pprof_string_copy(writing, text.data));
	writing->out.failed |= text.failed;
	sonde_buffer_release(&text);
}

/* The address in memory, where it is known where the module was. */
static uint64_t address_of(const struct pprof_writing *writing,
			   const struct pprof_location *location)
{
	const struct sonde_module *module =
		sonde_definitions_module(writing->sink->definitions, location->module);

	return location->address + (module && location->address ? module->base_address : 0);
}

/* Numbers of functions are those of labels: the root, which is none, makes them begin with 1. */
static void put_lines(struct pprof_writing *writing, const struct pprof_location *location,
		      bool *is_used)
{
	struct sonde_buffer *out = &writing->out;

	for (;;) {
		if (location->label != SONDE_NONE) {
			size_t start = sonde_protobuf_begin(out, PPROF_LINE);

			sonde_protobuf_put_uint(out, PPROF_LINE_FUNCTION,
						(uint64_t)location->label + 1);
			if (location->line)
				sonde_protobuf_put_uint(out, PPROF_LINE_NUMBER, location->line);
			sonde_protobuf_end(out, start);
			is_used[location->label] = true;
		}
		if (location->outer == SONDE_NONE)
			return;
		location = &writing->places.locations.items[location->outer];
	}
}

static enum sonde_status put_locations(struct pprof_writing *writing, bool *labels,
				       uint8_t *modules, struct sonde_error *err)
{
	uint32_t module_count = sonde_definitions_module_count(writing->sink->definitions);
	struct sonde_buffer *out = &writing->out;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < writing->places.locations.count && !status; i++) {
		const struct pprof_location *location = &writing->places.locations.items[i];
		uint64_t address = address_of(writing, location);
		size_t start;

		if (!location->is_used)
			continue;
		start = sonde_protobuf_begin(out, PPROF_LOCATION);
		sonde_protobuf_put_uint(out, PPROF_LOCATION_OWN_ID, i + 1);
		if (location->module < module_count) {
			sonde_protobuf_put_uint(out, PPROF_LOCATION_MAPPING,
						(uint64_t)location->module + 1);
			modules[location->module] |= location->label == SONDE_NONE ?
							     MODULE_USED | MODULE_UNNAMED :
							     MODULE_USED;
		}
		if (address)
			sonde_protobuf_put_uint(out, PPROF_ADDRESS, address);
		put_lines(writing, location, labels);
		sonde_protobuf_end(out, start);
		status = pprof_flush(writing, FLUSH_SIZE, err);
	}
	return status;
}

static void put_function(struct pprof_writing *writing, uint32_t label)
{
	const struct sonde_definitions *definitions = writing->sink->definitions;
	const struct sonde_function *function =
		profile_label_function(&writing->places.labels, label);
	struct sonde_buffer *out = &writing->out;
	char space[PROFILE_NAME_SPACE];
	uint64_t name = pprof_string_copy(
		writing, profile_label_name(&writing->places.labels, label, space));
	size_t start = sonde_protobuf_begin(out, PPROF_FUNCTION);

	sonde_protobuf_put_uint(out, PPROF_FUNCTION_ID, (uint64_t)label + 1);
	sonde_protobuf_put_uint(out, PPROF_FUNCTION_NAME, name);
	if (function && function->raw_name)
		name = pprof_string(writing,
				    sonde_definitions_string(definitions, function->raw_name));
	sonde_protobuf_put_uint(out, PPROF_SYSTEM_NAME, name);
	if (function && function->file)
		sonde_protobuf_put_uint(
			out, PPROF_FUNCTION_FILE,
			pprof_string(writing,
				     sonde_definitions_string(definitions, function->file)));
	if (function && function->line)
		sonde_protobuf_put_uint(out, PPROF_START_LINE, function->line);
	sonde_protobuf_end(out, start);
}

static void put_mapping(struct pprof_writing *writing, uint32_t number, bool is_named)
{
	const struct sonde_definitions *definitions = writing->sink->definitions;
	const struct sonde_module *module = sonde_definitions_module(definitions, number);
	struct sonde_buffer *out = &writing->out;
	size_t start = sonde_protobuf_begin(out, PPROF_MAPPING);

	sonde_protobuf_put_uint(out, PPROF_MAPPING_ID, (uint64_t)number + 1);
	if (module->base_address)
		sonde_protobuf_put_uint(out, PPROF_MEMORY_START, module->base_address);
	if (module->base_address + module->size)
		sonde_protobuf_put_uint(out, PPROF_MEMORY_LIMIT,
					module->base_address + module->size);
	if (module->path)
		sonde_protobuf_put_uint(
			out, PPROF_MAPPING_FILE,
			pprof_string(writing, sonde_definitions_string(definitions, module->path)));
	if (module->uuid)
		sonde_protobuf_put_uint(
			out, PPROF_BUILD_ID,
			pprof_string(writing, sonde_definitions_string(definitions, module->uuid)));
	/* so that nobody looks names up anew */
	for (uint32_t i = PPROF_HAS_FUNCTIONS; is_named && i <= PPROF_HAS_INLINE_FRAMES; i++)
		sonde_protobuf_put_uint(out, i, 1);
	sonde_protobuf_end(out, start);
}

static enum sonde_status put_strings(struct pprof_writing *writing, uint64_t *mended,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < writing->strings.count && !status; i++) {
		const char *text = writing->strings.items[i];
		size_t size = strlen(text);

		*mended += !sonde_utf8_valid(text, size);
		sonde_protobuf_put_string(&writing->out, PPROF_STRING_TABLE, text, size);
		status = pprof_flush(writing, FLUSH_SIZE, err);
	}
	return status;
}

static uint64_t count_addresses(const struct pprof_writing *writing, const bool *labels)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < writing->places.labels.contexts.count; i++) {
		const struct sonde_function *function =
			profile_label_function(&writing->places.labels, i);

		count += labels[i] && function && function->address;
	}
	return count;
}

static uint64_t count_descriptions(const struct profile_sink *sink)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < sink->metric_count; i++)
		count += *sink->metrics[i].description &&
			 strcmp(sink->metrics[i].name, SONDE_METRIC_TIME) != 0 &&
			 strcmp(sink->metrics[i].name, SONDE_METRIC_CALLS) != 0;
	return count;
}

/* Tracks of which nothing is in the file. */
static uint64_t count_empty_tracks(const struct profile_sink *sink)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < sink->track_count; i++) {
		size_t points;

		profile_sink_points(sink, i, &points);
		count += !points;
	}
	return count;
}

static enum sonde_status count_lost(const struct pprof_writing *writing, uint64_t mended,
				    uint64_t addresses, struct sonde_error *err)
{
	const struct pprof_places *places = &writing->places;
	const struct profile_sink *sink = writing->sink;
	const struct {
		const char *what, *reason;
		uint64_t count;
	} lost[] = {
		{ "values", "they are larger than 64 bits can hold", writing->too_large },
		{ "values", "they are less than 1 as they are written", writing->vanished },
		{ "fractions of values", "a pprof profile holds whole numbers",
		  writing->fractions },
		{ "names that are not UTF-8", "U+FFFD stands for each bad byte", mended },
		{ "addresses of functions", "a pprof profile has no place for them", addresses },
		{ "descriptions of metrics", "a pprof profile holds names and units only",
		  count_descriptions(sink) },
		{ "loops", "they are part of their functions", places->loops },
		{ "contexts", "no sample has them: nothing was measured there or below",
		  places->unmeasured },
		{ "stacks",
		  "they are too deep for all of them to be written: what was spent there is in a "
		  "frame above",
		  places->moved },
		{ "source lines of contexts", "a pprof function lies in one file",
		  places->other_files },
		{ "marks of inlined calls", "too many of them are inside of each other",
		  places->inlining_cut },
		{ "tracks", "nothing was measured on them", count_empty_tracks(sink) },
		{ "tracks", "samples are summed up over all of them, as asked for",
		  writing->is_summed ? sink->track_count : 0 },
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]) && !status; i++)
		status = sonde_loss_add(sink->loss, lost[i].what, lost[i].reason, lost[i].count,
					err);
	return status;
}

/* What samples use, in the order in which it comes to be known. */
static enum sonde_status put_tables(struct pprof_writing *writing, bool *labels, uint8_t *modules,
				    struct sonde_error *err)
{
	uint32_t module_count = sonde_definitions_module_count(writing->sink->definitions);
	enum sonde_status status = put_locations(writing, labels, modules, err);
	uint64_t mended = 0;

	for (uint32_t i = 0; i < writing->places.labels.contexts.count && !status; i++) {
		if (labels[i])
			put_function(writing, i);
		status = pprof_flush(writing, FLUSH_SIZE, err);
	}
	for (uint32_t i = 0; i < module_count && !status; i++) {
		if (modules[i])
			put_mapping(writing, i, modules[i] == MODULE_USED);
		status = pprof_flush(writing, FLUSH_SIZE, err);
	}
	if (!status)
		status = put_strings(writing, &mended, err);
	if (!status)
		status = pprof_flush(writing, 0, err);
	if (!status)
		status = count_lost(writing, mended, count_addresses(writing, labels), err);
	return status ? status : pprof_count_unused(writing, labels, modules, err);
}

static enum sonde_status write_tables(struct pprof_writing *writing, struct sonde_error *err)
{
	size_t modules = sonde_definitions_module_count(writing->sink->definitions);
	bool *used_labels = calloc(writing->places.labels.contexts.count + 1, sizeof(bool));
	uint8_t *used_modules = calloc(modules + 1, sizeof(*used_modules));
	enum sonde_status status = SONDE_NOMEM;

	if (used_labels && used_modules)
		status = put_tables(writing, used_labels, used_modules, err);
	else
		sonde_fail_nomem(err);
	free(used_labels);
	free(used_modules);
	return status;
}

static enum sonde_status begin(struct pprof_writing *writing, struct sonde_error *err)
{
	struct profile_sink *sink = writing->sink;
	enum sonde_status status = sonde_gzip_packer_new(&writing->packer, err);

	if (!status)
		status = pprof_places_make(&writing->places, sink, writing->is_summed, err);
	if (status)
		return status;
	writing->scales = malloc((sink->metric_count + 1) * sizeof(*writing->scales));
	if (!writing->scales)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->metric_count; i++)
		writing->scales[i] = sink->metrics[i].ns > 0 ? sink->metrics[i].ns : 1;
	sonde_gzip_begin(&writing->packed);
	pprof_string(writing, "");
	status = put_types(writing, err);
	if (status)
		return status;
	put_times(writing);
	put_comment(writing);
	return SONDE_OK;
}

static enum sonde_status end(struct pprof_writing *writing, struct sonde_error *err)
{
	sonde_gzip_end(&writing->packed, writing->sum);
	if (writing->packed.failed)
		return sonde_fail_nomem(err);
	return sonde_output_write(&writing->sink->file.output, writing->packed.data,
				  writing->packed.size, err);
}

static enum sonde_status write_pprof(struct profile_sink *sink, struct sonde_error *err)
{
	struct pprof_writing writing = {
		.sink = sink,
		.is_summed = sonde_format_has_style(sink->style, "sum"),
	};
	enum sonde_status status = begin(&writing, err);

	if (!status)
		status = pprof_write_samples(&writing, err);
	if (!status)
		status = write_tables(&writing, err);
	if (!status)
		status = end(&writing, err);
	pprof_places_release(&writing.places);
	sonde_buffer_release(&writing.out);
	sonde_buffer_release(&writing.packed);
	sonde_buffer_release(&writing.labels);
	sonde_gzip_packer_free(writing.packer);
	sonde_text_map_release(&writing.string_numbers);
	sonde_vec_release(&writing.strings);
	sonde_arena_release(&writing.texts);
	sonde_vec_release(&writing.rows);
	sonde_vec_release(&writing.values);
	free(writing.row_of);
	free(writing.scales);
	return status;
}

enum sonde_status pprof_create(const char *path, const struct sonde_create_options *options,
			       struct sonde_sink **sink, struct sonde_error *err)
{
	return profile_sink_create(path, options, write_pprof, sink, err);
}
