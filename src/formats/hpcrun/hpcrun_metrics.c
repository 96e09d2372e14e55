/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of measurements: those with values become definitions, those with a formula an attribute.
 * What definitions have no room for is an attribute too, so that writing measurements gives it back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/hpcrun/hpcrun_read.h"

static enum sonde_status intern(struct sonde_recording *recording, const char *text, uint32_t *id,
				struct sonde_error *err)
{
	return sonde_definitions_add_string(recording->definitions, text, strlen(text), id, err);
}

uint32_t hpcrun_metric_number(const struct hpcrun_recording *data,
			      const struct hpcrun_metric *metric)
{
	return sonde_text_map_find(&data->metrics, metric->name, strlen(metric->name));
}

/* An object of one of the attributes, up to what only formulas have. */
static void begin_object(struct sonde_json_writer *writer, struct sonde_buffer *json,
			 const struct hpcrun_metric *metric)
{
	sonde_buffer_put_char(json, json->size ? ',' : '[');
	sonde_json_writer_init(writer, json, false);
	sonde_json_object_begin(writer);
	sonde_json_member_string(writer, "name", metric->name);
	sonde_json_member_u64(writer, "show", metric->show);
	sonde_json_member_bool(writer, "percent", metric->show_percent);
	sonde_json_member_bool(writer, "real", metric->is_real);
	sonde_json_member_bool(writer, "at_function", metric->at_function);
	sonde_json_member_bool(writer, "frequency", metric->is_frequency);
	sonde_json_member_bool(writer, "multiplexed", metric->is_multiplexed);
	sonde_json_member_u64(writer, "period", metric->period);
	sonde_json_member_u64(writer, "type", metric->type);
	sonde_json_member_u64(writer, "value_type", metric->value_type);
	sonde_json_member_string(writer, "format", metric->format);
}

static enum sonde_status define_metric(struct sonde_recording *recording,
				       const struct hpcrun_metric *metric, struct sonde_error *err)
{
	struct hpcrun_recording *data = recording->data;
	struct sonde_metric definition = {
		.hidden = metric->show == HPCRUN_HIDDEN || metric->show == HPCRUN_INVISIBLE,
	};
	struct sonde_json_writer writer;
	size_t length = strlen(metric->name);
	enum sonde_status status;
	const char *name;
	uint32_t id;

	if (sonde_text_map_find(&data->metrics, metric->name, length) != UINT32_MAX)
		return SONDE_OK;
	name = sonde_arena_copy_text(&data->texts, metric->name, length);
	if (!name)
		return sonde_fail_nomem(err);
	status = intern(recording, metric->name, &definition.name, err);
	if (!status)
		status = intern(recording, metric->description, &definition.description, err);
	if (!status)
		status = intern(recording, "point", &definition.scope, err);
	if (!status)
		status =
			sonde_definitions_add_metric(recording->definitions, &definition, &id, err);
	if (!status && !sonde_text_map_add(&data->metrics, name, length, id))
		status = sonde_fail_nomem(err);
	begin_object(&writer, &data->metric_json, metric);
	sonde_json_object_end(&writer);
	return status;
}

/* A name in quotes; one with quotes of both kinds in it cannot be said. */
static void put_quoted(struct sonde_buffer *text, const char *name)
{
	char quote = strchr(name, '"') ? '\'' : '"';

	sonde_buffer_put_char(text, quote);
	sonde_buffer_put_text(text, name);
	sonde_buffer_put_char(text, quote);
}

/* A formula names metrics by their numbers in the file; as an attribute, by their names. */
static void name_metrics(const struct hpcrun_profile *profile, const char *formula,
			 struct sonde_buffer *text)
{
	while (*formula) {
		char *end;
		unsigned long number;

		if (*formula != '#' || formula[1] < '0' || formula[1] > '9') {
			sonde_buffer_put_char(text, *formula++);
			continue;
		}
		number = strtoul(formula + 1, &end, 10);
		put_quoted(text, number < profile->metrics.count ?
					 profile->metrics.items[number].name :
					 "");
		formula = end;
	}
}

static enum sonde_status note_formula(struct hpcrun_recording *data,
				      const struct hpcrun_profile *profile,
				      const struct hpcrun_metric *metric, struct sonde_error *err)
{
	struct sonde_buffer formula = { 0 };
	struct sonde_json_writer writer;
	size_t length = strlen(metric->name);
	const char *name;

	if (sonde_text_map_find(&data->formulas, metric->name, length) != UINT32_MAX)
		return SONDE_OK;
	name = sonde_arena_copy_text(&data->texts, metric->name, length);
	if (!name || !sonde_text_map_add(&data->formulas, name, length, 0))
		return sonde_fail_nomem(err);
	name_metrics(profile, metric->formula, &formula);
	begin_object(&writer, &data->formula_json, metric);
	sonde_json_member_string(&writer, "description", metric->description);
	sonde_json_member_string(&writer, "formula", sonde_buffer_text(&formula) ?: "");
	sonde_json_object_end(&writer);
	sonde_buffer_release(&formula);
	return data->formula_json.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

enum sonde_status hpcrun_note_metrics(struct sonde_recording *recording,
				      const struct hpcrun_profile *profile, struct sonde_error *err)
{
	const struct hpcrun_metric *metrics = profile->metrics.items;
	size_t count = profile->metrics.count;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && !status; i++) {
		if (!*metrics[i].formula)
			status = define_metric(recording, &metrics[i], err);
	}
	for (size_t i = 0; i < count && !status; i++) {
		if (*metrics[i].formula)
			status = note_formula(recording->data, profile, &metrics[i], err);
	}
	return status;
}

static enum sonde_status define_attribute(struct sonde_recording *recording, const char *name,
					  struct sonde_buffer *json, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	enum sonde_status status;
	uint32_t ignored;

	if (!json->size && !json->failed)
		return SONDE_OK;
	sonde_buffer_put_char(json, ']');
	if (!sonde_buffer_text(json))
		return sonde_fail_nomem(err);
	status = intern(recording, name, &attribute.name, err);
	if (!status)
		status = intern(recording, json->data, &attribute.value, err);
	if (!status)
		status = sonde_definitions_add_attribute(recording->definitions, &attribute,
							 &ignored, err);
	return status;
}

enum sonde_status hpcrun_define_metric_attributes(struct sonde_recording *recording,
						  struct sonde_error *err)
{
	struct hpcrun_recording *data = recording->data;
	enum sonde_status status =
		define_attribute(recording, HPCRUN_ATTRIBUTE_METRICS, &data->metric_json, err);

	if (!status)
		status = define_attribute(recording, HPCRUN_ATTRIBUTE_FORMULAS, &data->formula_json,
					  err);
	return status;
}
