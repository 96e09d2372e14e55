/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples and values as speedscope has them: stacks, each of them whole, and their weights. What is
 * no function is part of the function around it.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/speedscope/speedscope_write.h"
#include "model/metric.h"

/* The frames of a context from the outermost one on: [4,8,1] */
static void put_stack(const struct speedscope_writer *writer, struct sonde_buffer *out,
		      uint32_t context)
{
	const struct exchange_stack_node *node =
		exchange_stacks_innermost(&writer->stacks, context);
	uint32_t frames[SPEEDSCOPE_STACK_DEPTH];
	size_t count = 0;

	while (node && count < SPEEDSCOPE_STACK_DEPTH) {
		frames[count++] = node->frame;
		node = exchange_stacks_innermost(&writer->stacks, node->above);
	}
	sonde_buffer_put_char(out, '[');
	while (count) {
		sonde_buffer_put_u64(out, frames[--count]);
		if (count)
			sonde_buffer_put_char(out, ',');
	}
	sonde_buffer_put_char(out, ']');
}

/* The sample before this time is over. */
static enum sonde_status put_sample(struct speedscope_writer *writer, struct speedscope_lane *lane,
				    uint32_t track, uint64_t until_ns, struct sonde_error *err)
{
	struct sonde_buffer *stacks = &lane->text[SPEEDSCOPE_PART_STACKS];
	struct sonde_buffer *weights = &lane->text[SPEEDSCOPE_PART_WEIGHTS];
	enum sonde_status status;

	if (!lane->has_samples) {
		lane->has_samples = true;
		lane->first_sample_ns = lane->before.time_ns;
		speedscope_write_profile_head(writer, stacks, "sampled", track, SONDE_NONE);
		sonde_buffer_put_text(stacks, ",\"samples\":[\n");
		sonde_buffer_put_text(weights, "],\n\"weights\":[");
	} else {
		sonde_buffer_put_text(stacks, ",\n");
		sonde_buffer_put_char(weights, ',');
	}
	put_stack(writer, stacks, lane->before.context);
	lane->has_end = until_ns > lane->before.time_ns &&
			exchange_stacks_innermost(&writer->stacks, lane->before.context);
	sonde_buffer_put_u64(weights, until_ns - lane->before.time_ns);
	status = speedscope_flush(writer, lane, track, SPEEDSCOPE_PART_STACKS, false, err);
	if (!status)
		status = speedscope_flush(writer, lane, track, SPEEDSCOPE_PART_WEIGHTS, false, err);
	return status;
}

enum sonde_status speedscope_write_samples(struct speedscope_writer *writer,
					   struct speedscope_lane *lane, uint32_t track,
					   const struct sonde_sample *samples, size_t count,
					   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < count; i++) {
		struct sonde_sample sample = samples[i];

		if (sample.time_ns < lane->before.time_ns) {
			sample.time_ns = lane->before.time_ns;
			lane->losses[SPEEDSCOPE_LOSS_WENT_BACK]++;
		}
		if (lane->has_before)
			status = put_sample(writer, lane, track, sample.time_ns, err);
		lane->before = sample;
		lane->has_before = true;
	}
	return status;
}

static enum sonde_status end_samples(struct speedscope_writer *writer, struct speedscope_lane *lane,
				     uint32_t track, struct sonde_error *err)
{
	struct sonde_buffer *weights = &lane->text[SPEEDSCOPE_PART_WEIGHTS];
	enum sonde_status status = SONDE_OK;

	/* nobody knows how long the last one lasts; the end of a stack is told by its weight */
	if (lane->has_before && (lane->before.context || !lane->has_end))
		status = put_sample(writer, lane, track, lane->before.time_ns, err);
	if (status || !lane->has_samples)
		return status;
	sonde_buffer_put_text(weights, "],\n\"startValue\":");
	speedscope_put_time(writer, weights, lane->first_sample_ns);
	sonde_buffer_put_text(weights, ",\"endValue\":");
	speedscope_put_time(writer, weights, lane->before.time_ns);
	sonde_buffer_put_char(weights, '}');
	lane->losses[SPEEDSCOPE_LOSS_LONG] += lane->before.time_ns - lane->first_sample_ns >
					      (uint64_t)1 << 53;
	return SONDE_OK;
}

enum sonde_status speedscope_write_values(struct speedscope_writer *writer,
					  struct speedscope_lane *lane,
					  const struct sonde_value *values, size_t count,
					  struct sonde_error *err)
{
	return exchange_values_take(&lane->values, writer->metric_count, 0, values, count, err);
}

/* The profile of one metric of a track. */
static enum sonde_status put_metric(struct speedscope_writer *writer, struct speedscope_lane *lane,
				    uint32_t track, uint32_t metric, struct sonde_error *err)
{
	struct sonde_buffer *out = &lane->text[SPEEDSCOPE_PART_WEIGHTS];
	const struct exchange_points *points = &lane->values.metrics[metric];
	enum sonde_status status = SONDE_OK;
	double sum = 0;

	atomic_store(&writer->is_metric_used[metric], true);
	speedscope_write_profile_head(writer, out, "sampled", track, metric);
	sonde_buffer_put_text(out, ",\"samples\":[\n");
	for (size_t i = 0; !status && i < points->list.count; i++) {
		sonde_buffer_put_text(out, i ? ",\n" : "");
		put_stack(writer, out, points->list.items[i].context);
		status = speedscope_flush(writer, lane, track, SPEEDSCOPE_PART_WEIGHTS, false, err);
	}
	sonde_buffer_put_text(out, "],\n\"weights\":[");
	for (size_t i = 0; !status && i < points->list.count; i++) {
		sonde_buffer_put_text(out, i ? "," : "");
		sonde_buffer_put_double(out, points->list.items[i].value);
		sum += points->list.items[i].value;
		status = speedscope_flush(writer, lane, track, SPEEDSCOPE_PART_WEIGHTS, false, err);
	}
	sonde_buffer_put_text(out, "],\n\"startValue\":0,\"endValue\":");
	sonde_buffer_put_double(out, isfinite(sum) ? sum : 0);
	sonde_buffer_put_char(out, '}');
	return status;
}

enum sonde_status speedscope_write_stacks_end(struct speedscope_writer *writer,
					      struct speedscope_lane *lane, uint32_t track,
					      struct sonde_error *err)
{
	enum sonde_status status = end_samples(writer, lane, track, err);

	lane->losses[SPEEDSCOPE_LOSS_NEGATIVE] += lane->values.refused;
	for (uint32_t i = 0; !status && i < lane->values.metric_count; i++) {
		if (lane->values.metrics[i].list.count)
			status = put_metric(writer, lane, track, i, err);
	}
	return status;
}
