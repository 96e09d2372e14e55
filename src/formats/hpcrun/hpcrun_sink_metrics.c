/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics for a recording's: those of scope "point", and formulas over them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/hpcrun/hpcrun_sink.h"

void hpcrun_sink_metrics_release(struct hpcrun_sink_metrics *metrics)
{
	sonde_vec_release(&metrics->items);
	sonde_vec_release(&metrics->of_definition);
	sonde_text_map_release(&metrics->names);
	sonde_arena_release(&metrics->texts);
}

static enum sonde_status add_metric(struct hpcrun_sink_metrics *metrics,
				    const struct sonde_definitions *definitions,
				    const struct sonde_metric *definition, struct sonde_error *err)
{
	struct hpcrun_metric *metric = sonde_vec_push(&metrics->items);

	if (!metric)
		return sonde_fail_nomem(err);
	*metric = (struct hpcrun_metric){
		.name = sonde_definitions_string(definitions, definition->name),
		.description = sonde_definitions_string(definitions, definition->description),
		.formula = "",
		.format = "",
		.period = 1,
		.type = 1,
		.is_real = true,
		.show = definition->hidden ? HPCRUN_HIDDEN : HPCRUN_SHOWN,
		.show_percent = true,
	};
	if (sonde_text_map_find(&metrics->names, metric->name, strlen(metric->name)) ==
		    UINT32_MAX &&
	    !sonde_text_map_add(&metrics->names, metric->name, strlen(metric->name),
				(uint32_t)metrics->items.count - 1))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

/* A number of the attribute goes where its key says. */
static void take_number(struct hpcrun_metric *metric, const char *key, uint64_t number)
{
	if (!strcmp(key, "show") && number <= HPCRUN_INVISIBLE)
		metric->show = (uint8_t)number;
	else if (!strcmp(key, "period") && number)
		metric->period = number;
	else if (!strcmp(key, "type"))
		metric->type = (uint8_t)number;
	else if (!strcmp(key, "value_type"))
		metric->value_type = (uint8_t)number;
}

static void take_bool(struct hpcrun_metric *metric, const char *key, bool value)
{
	if (!strcmp(key, "percent"))
		metric->show_percent = value;
	else if (!strcmp(key, "real"))
		metric->is_real = value;
	else if (!strcmp(key, "at_function"))
		metric->at_function = value;
	else if (!strcmp(key, "frequency"))
		metric->is_frequency = value;
	else if (!strcmp(key, "multiplexed"))
		metric->is_multiplexed = value;
}

/* One member of an object of an attribute. Texts are copied; what is not known is passed over. */
static enum sonde_status metric_member(struct hpcrun_sink_metrics *metrics,
				       struct sonde_json_reader *reader,
				       struct hpcrun_metric *metric, struct sonde_error *err)
{
	const char **text = !strcmp(reader->text, "name")	 ? &metric->name :
			    !strcmp(reader->text, "description") ? &metric->description :
			    !strcmp(reader->text, "formula")	 ? &metric->formula :
			    !strcmp(reader->text, "format")	 ? &metric->format :
								   NULL;
	char key[16];
	enum sonde_status status;
	uint64_t number;

	snprintf(key, sizeof(key), "%.15s", reader->text);
	status = sonde_json_next(reader, err);
	if (status)
		return status;
	if (text && reader->token == SONDE_JSON_STRING) {
		*text = sonde_arena_copy_text(&metrics->texts, reader->text, reader->length);
		return *text ? SONDE_OK : sonde_fail_nomem(err);
	}
	if (reader->token == SONDE_JSON_NUMBER && sonde_json_u64(reader, &number))
		take_number(metric, key, number);
	else if (reader->token == SONDE_JSON_TRUE || reader->token == SONDE_JSON_FALSE)
		take_bool(metric, key, reader->token == SONDE_JSON_TRUE);
	return sonde_json_skip(reader, err);
}

/* Names of metrics in quotes become numbers of the table; false where one has none. */
static bool renumber(const struct hpcrun_sink_metrics *metrics, const char *formula,
		     struct sonde_buffer *text)
{
	sonde_buffer_clear(text);
	while (*formula) {
		const char *end = NULL;
		uint32_t number;

		if (*formula == '"' || *formula == '\'')
			end = strchr(formula + 1, *formula);
		if (!end) {
			sonde_buffer_put_char(text, *formula++);
			continue;
		}
		number = sonde_text_map_find(&metrics->names, formula + 1,
					     (size_t)(end - formula - 1));
		if (number == UINT32_MAX)
			return false;
		sonde_buffer_put_char(text, '#');
		sonde_buffer_put_u64(text, number);
		formula = end + 1;
	}
	return true;
}

static enum sonde_status add_formula(struct hpcrun_sink_metrics *metrics,
				     struct hpcrun_metric *metric, struct sonde_loss *loss,
				     struct sonde_error *err)
{
	struct sonde_buffer text = { 0 };
	enum sonde_status status = SONDE_OK;
	struct hpcrun_metric *place;

	if (!renumber(metrics, metric->formula, &text) || !text.size) {
		status = sonde_loss_add(loss, "computed metrics",
					"a formula names a metric that is not there", 1, err);
	} else {
		metric->formula = sonde_arena_copy_text(&metrics->texts, text.data, text.size);
		place = sonde_vec_push(&metrics->items);
		if (!metric->formula || !place || text.failed)
			status = sonde_fail_nomem(err);
		else
			*place = *metric;
	}
	sonde_buffer_release(&text);
	return status;
}

/* What a metric of that name says of itself. */
static enum sonde_status add_description(struct hpcrun_sink_metrics *metrics,
					 struct hpcrun_metric *metric, struct sonde_loss *loss,
					 struct sonde_error *err)
{
	uint32_t number = sonde_text_map_find(&metrics->names, metric->name, strlen(metric->name));
	struct hpcrun_metric *place;

	(void)loss;
	(void)err;
	if (number == UINT32_MAX)
		return SONDE_OK;
	place = &metrics->items.items[number];
	metric->name = place->name;
	metric->description = place->description;
	metric->formula = "";
	*place = *metric;
	return SONDE_OK;
}

/* What to do with an object of an attribute. */
typedef enum sonde_status (*metric_taker)(struct hpcrun_sink_metrics *metrics,
					  struct hpcrun_metric *metric, struct sonde_loss *loss,
					  struct sonde_error *err);

/* The attribute is what opening measurements made of it: an array of objects. */
static enum sonde_status read_objects(struct hpcrun_sink_metrics *metrics,
				      struct sonde_json_reader *reader, metric_taker take,
				      struct sonde_loss *loss, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(reader, err);

	while (!status && !(status = sonde_json_next(reader, err)) &&
	       reader->token == SONDE_JSON_OBJECT_BEGIN) {
		struct hpcrun_metric metric = {
			.name = "",
			.description = "",
			.formula = "",
			.format = "",
			.period = 1,
			.type = 1,
			.is_real = true,
			.show = HPCRUN_SHOWN,
		};

		while (!(status = sonde_json_next(reader, err)) &&
		       reader->token == SONDE_JSON_KEY) {
			status = metric_member(metrics, reader, &metric, err);
			if (status)
				return status;
		}
		if (!status)
			status = take(metrics, &metric, loss, err);
	}
	return status;
}

static enum sonde_status take_attribute(struct hpcrun_sink_metrics *metrics,
					const struct sonde_definitions *definitions,
					const char *name, metric_taker take,
					struct sonde_loss *loss, struct sonde_error *err)
{
	const char *json =
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0, name);
	struct sonde_json_reader reader;
	enum sonde_status status;

	if (!json || *json != '[')
		return SONDE_OK;
	sonde_json_reader_init(&reader, json, strlen(json), NULL, NULL);
	status = read_objects(metrics, &reader, take, loss, err);
	sonde_json_reader_release(&reader);
	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED)
		status = sonde_loss_add(loss, "descriptions of metrics",
					"their attribute is damaged", 1, err);
	return status;
}

static enum sonde_status take_attributes(struct hpcrun_sink_metrics *metrics,
					 const struct sonde_definitions *definitions,
					 struct sonde_loss *loss, struct sonde_error *err)
{
	enum sonde_status status = take_attribute(metrics, definitions, HPCRUN_ATTRIBUTE_METRICS,
						  add_description, loss, err);

	if (!status)
		status = take_attribute(metrics, definitions, HPCRUN_ATTRIBUTE_FORMULAS,
					add_formula, loss, err);
	return status;
}

/* What a file has for a value; false where reading it would give another one. */
static bool encode_value(const struct hpcrun_metric *metric, double value, uint64_t *bits)
{
	double period = (double)metric->period, number = value / period;

	if (metric->is_real)
		memcpy(bits, &number, sizeof(number));
	else if (number >= 0 && number <= 0x1p64)
		*bits = number < 0x1p64 ? (uint64_t)number : UINT64_MAX;
	else
		return false;
	return (metric->is_real ? number : (double)*bits) * period == value;
}

size_t hpcrun_sink_encode_values(struct hpcrun_profile *profile)
{
	size_t changed = 0;

	for (size_t i = 0; i < profile->values.count; i++) {
		struct hpcrun_value *value = &profile->values.items[i];
		struct hpcrun_metric *metric = &profile->metrics.items[value->metric];

		if (encode_value(metric, value->value, &value->bits))
			continue;
		metric->is_real = true;
		metric->period = 1;
		changed++;
	}
	/* those of such a metric that came before */
	for (size_t i = 0; changed && i < profile->values.count; i++) {
		struct hpcrun_value *value = &profile->values.items[i];

		encode_value(&profile->metrics.items[value->metric], value->value, &value->bits);
	}
	return changed;
}

enum sonde_status hpcrun_sink_metrics_make(struct hpcrun_sink_metrics *metrics,
					   const struct sonde_definitions *definitions,
					   struct sonde_loss *loss, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_metric_count(definitions);
	enum sonde_status status = SONDE_OK;

	if (!sonde_vec_reserve(&metrics->of_definition, (size_t)count + 1))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count && !status; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);
		const char *scope = sonde_definitions_string(definitions, metric->scope);
		bool is_point = !metric->statistic && (!*scope || !strcmp(scope, "point"));

		metrics->of_definition.items[metrics->of_definition.count++] =
			is_point ? (uint32_t)metrics->items.count : SONDE_NONE;
		if (is_point)
			status = add_metric(metrics, definitions, metric, err);
	}
	if (!status)
		status = take_attributes(metrics, definitions, loss, err);
	if (!status && metrics->items.count > UINT16_MAX)
		status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				    "%zu metrics; a profile numbers at most %d",
				    metrics->items.count, UINT16_MAX);
	return status;
}
