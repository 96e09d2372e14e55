/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a profile as threads of their own, one for each metric of a track: a sample for each
 * context, with the value as its weight. There are no times in them; they follow each other as long
 * as they are.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>

#include "formats/firefox/firefox_write.h"
#include "model/metric.h"

enum sonde_status firefox_take_values(struct firefox_writer *writer, struct firefox_lane *lane,
				      const struct sonde_value *values, size_t count,
				      struct sonde_error *err)
{
	if (!lane->metrics && writer->metric_count) {
		lane->metrics = calloc(writer->metric_count, sizeof(*lane->metrics));
		if (!lane->metrics)
			return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < count; i++) {
		struct firefox_point *point;

		if (values[i].metric >= writer->metric_count || !isfinite(values[i].value))
			continue;
		point = sonde_vec_push(&lane->metrics[values[i].metric].points);
		if (!point)
			return sonde_fail_nomem(err);
		point->context = values[i].context;
		point->value = values[i].value;
	}
	return SONDE_OK;
}

/* What a metric counts: milliseconds for one of it, 0 where it is no time. */
static double milliseconds_of(const struct sonde_definitions *definitions,
			      const struct sonde_metric *metric, bool *is_bytes)
{
	static const struct {
		const char *text;
		double ms;
	} units[] = { { "sec", 1e3 }, { "s", 1e3 },	{ "msec", 1 },	  { "ms", 1 },
		      { "us", 1e-3 }, { "usec", 1e-3 }, { "nsec", 1e-6 }, { "ns", 1e-6 } };
	const char *text = sonde_definitions_string(definitions, metric->unit);
	const char *bracket = strrchr(sonde_definitions_string(definitions, metric->name), '(');
	size_t length = strlen(text);

	if (!length && bracket) {
		text = bracket + 1;
		length = strcspn(text, ")");
	}
	*is_bytes = (length == 5 && !strncasecmp(text, "bytes", length)) ||
		    (length == 1 && *text == 'B');
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].text) == length && !strncasecmp(text, units[i].text, length))
			return units[i].ms;
	}
	return 0;
}

static void put_column(struct sonde_buffer *out, const struct firefox_metric *metric, double factor,
		       bool adds_up)
{
	double sum = 0;

	for (size_t i = 0; i < metric->points.count; i++) {
		double value = metric->points.items[i].value * factor;

		if (i)
			sonde_buffer_put_char(out, ',');
		sonde_buffer_put_double(out, adds_up ? sum : value);
		sum += value > 0 ? value : 0;
	}
}

static enum sonde_status put_metric(struct firefox_writer *writer, struct firefox_lane *lane,
				    uint32_t track, uint32_t number, struct sonde_error *err)
{
	struct sonde_buffer *out = &lane->text[FIREFOX_COLUMN_TABLES];
	const struct firefox_metric *metric = &lane->metrics[number];
	const struct sonde_metric *definition =
		sonde_definitions_metric(writer->definitions, number);
	bool is_bytes = false;
	double ms = milliseconds_of(writer->definitions, definition, &is_bytes);
	enum sonde_status status = SONDE_OK;

	atomic_store(&writer->is_metric_used[number], true);
	firefox_write_thread_head(writer, out, track, definition);
	sonde_buffer_put_text(out, ms > 0   ? "\"weightType\":\"tracing-ms\"" :
				   is_bytes ? "\"weightType\":\"bytes\"" :
					      "\"weightType\":\"samples\"");
	sonde_buffer_put_text(out, ",\"stack\":[");
	for (size_t i = 0; !status && i < metric->points.count; i++) {
		uint32_t stack;

		status = firefox_context(&lane->tables, &writer->stacks,
					 metric->points.items[i].context, &stack, err);
		sonde_buffer_put_text(out, i ? "," : "");
		if (stack == SONDE_NONE)
			sonde_buffer_put_text(out, "null");
		else
			sonde_buffer_put_u64(out, stack);
	}
	sonde_buffer_put_text(out, "],\n\"time\":[");
	put_column(out, metric, ms > 0 ? ms : 1, true);
	sonde_buffer_put_text(out, "],\n\"weight\":[");
	put_column(out, metric, ms > 0 ? ms : 1, false);
	sonde_buffer_put_format(out, "],\n\"length\":%zu},\n", metric->points.count);
	sonde_buffer_put_text(out, "\"markers\":{\"name\":[],\"startTime\":[],\"endTime\":[],"
				   "\"phase\":[],\"category\":[],\"data\":[],\"length\":0},\n");
	if (!status)
		status = firefox_write_tables(writer, lane, out, err);
	return status ? status :
			firefox_flush(writer, lane, track, FIREFOX_COLUMN_TABLES, false, err);
}

enum sonde_status firefox_write_values(struct firefox_writer *writer, struct firefox_lane *lane,
				       uint32_t track, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && lane->metrics && i < writer->metric_count; i++) {
		if (lane->metrics[i].points.count)
			status = put_metric(writer, lane, track, i, err);
	}
	return status;
}

uint64_t firefox_count_unused(const struct firefox_writer *writer)
{
	const struct sonde_definitions *definitions = writer->definitions;
	uint64_t count = 0;

	for (uint32_t i = 0; i < writer->metric_count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);

		count += sonde_metric_is_point(definitions, metric) &&
			 !atomic_load(&writer->is_metric_used[i]);
	}
	return count;
}
