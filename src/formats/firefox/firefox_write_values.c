/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a profile as threads of their own, one for each metric of a track: a sample for each
 * context, with the value as its weight. There are no times in them; they follow each other as long
 * as they are.
 */
#include <math.h>
#include <stdatomic.h>

#include "formats/firefox/firefox_write.h"
#include "model/metric.h"

enum sonde_status firefox_take_values(struct firefox_writer *writer, struct firefox_lane *lane,
				      const struct sonde_value *values, size_t count,
				      struct sonde_error *err)
{
	return exchange_values_take(&lane->values, writer->metric_count, -INFINITY, values, count,
				    err);
}

static void put_column(struct sonde_buffer *out, const struct exchange_points *metric,
		       double factor, bool adds_up)
{
	double sum = 0;

	for (size_t i = 0; i < metric->list.count; i++) {
		double value = metric->list.items[i].value * factor;

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
	const struct exchange_points *metric = &lane->values.metrics[number];
	const struct sonde_metric *definition =
		sonde_definitions_metric(writer->definitions, number);
	const char *name = sonde_definitions_string(writer->definitions, definition->name);
	const char *unit = sonde_definitions_string(writer->definitions, definition->unit);
	double ms = sonde_metric_ns(name, unit) / 1e6;
	enum sonde_status status = SONDE_OK;

	atomic_store(&writer->is_metric_used[number], true);
	firefox_write_thread_head(writer, out, track, definition);
	sonde_buffer_put_text(out, ms > 0 ? "\"weightType\":\"tracing-ms\"" :
				   sonde_metric_is_bytes(name, unit) ?
					    "\"weightType\":\"bytes\"" :
					    "\"weightType\":\"samples\"");
	sonde_buffer_put_text(out, ",\"stack\":[");
	for (size_t i = 0; !status && i < metric->list.count; i++) {
		uint32_t stack;

		status = firefox_context(&lane->tables, &writer->stacks,
					 metric->list.items[i].context, &stack, err);
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
	sonde_buffer_put_format(out, "],\n\"length\":%zu},\n", metric->list.count);
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

	lane->losses[FIREFOX_LOSS_NO_NUMBER] += lane->values.refused;
	for (uint32_t i = 0; !status && i < lane->values.metric_count; i++) {
		if (lane->values.metrics[i].list.count)
			status = put_metric(writer, lane, track, i, err);
	}
	return status;
}
