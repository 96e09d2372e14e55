/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as JSON lines: one object each. What a row does not have is not in its object. */
#include <math.h>

#include "formats/rows/rows.h"
#include "model/context_place.h"
#include "model/detail_json.h"

#define EVENT_ROOM 256 /* for a row but its names */

#define ROW_PUT(place, text) row_put(place, text, sizeof(text) - 1)

static void put_json_string(struct sonde_buffer *out, const char *text)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_string(&json, text);
}

/* Objects name their members themselves. */
static void put_head(struct row_writer *writer, enum row_table table)
{
	(void)writer;
	(void)table;
}

static void put_number(struct sonde_buffer *out, const char *opening, uint64_t value)
{
	sonde_buffer_put_text(out, opening);
	sonde_buffer_put_u64(out, value);
}

/* A value with all its digits; what is not finite is null. */
static void put_double(struct sonde_buffer *out, const char *opening, double value)
{
	sonde_buffer_put_text(out, opening);
	if (isfinite(value))
		sonde_buffer_put_format(out, "%.17g", value);
	else
		sonde_buffer_put_text(out, "null");
}

static void put_text(struct row_writer *writer, const char *opening, const char *text)
{
	sonde_buffer_put_text(writer->out, opening);
	writer->encode(writer->out, text);
}

static void put_name(struct sonde_buffer *out, const char *opening, const struct name *name)
{
	sonde_buffer_put_text(out, opening);
	sonde_buffer_put(out, name->text, name->length);
}

static void put_detail(struct sonde_buffer *out, const struct sonde_detail *detail)
{
	struct sonde_json_writer json;

	sonde_buffer_put_text(out, ",\"detail\":");
	sonde_json_writer_init(&json, out, false);
	sonde_detail_put_json(&json, detail);
}

/* What the rarer kinds carry. */
static void put_extra(struct sonde_buffer *out, const struct sonde_event *event)
{
	switch (event->kind) {
	case SONDE_EVENT_COUNTER:
		put_double(out, ",\"value\":", sonde_event_value(event));
		break;
	case SONDE_EVENT_FLOW_BEGIN:
	case SONDE_EVENT_FLOW_STEP:
	case SONDE_EVENT_FLOW_END:
		put_number(out, ",\"flow\":", event->extra);
		break;
	case SONDE_EVENT_RANGE_BEGIN:
	case SONDE_EVENT_RANGE_END:
		put_number(out, ",\"range\":", event->extra);
		break;
	case SONDE_EVENT_OTHER:
		put_number(out, ",\"format_kind\":", event->extra);
		break;
	default:
		break;
	}
	if (event->flags & SONDE_EVENT_SYNTHETIC)
		sonde_buffer_put_text(out, ",\"synthetic\":true");
}

static void put_fault(struct sonde_buffer *out, const char *fault)
{
	sonde_buffer_put_text(out, ",\"detail_fault\":");
	put_json_string(out, fault);
}

static void put_arguments(struct sonde_buffer *out, const struct row_extras *extras)
{
	struct sonde_json_writer json;
	struct sonde_error err = { 0 };

	sonde_buffer_put_text(out, ",\"arguments\":");
	sonde_json_writer_init(&json, out, false);
	if (sonde_arguments_put_json(&json, extras->signature, extras->arguments->bytes,
				     extras->arguments->size, &err))
		put_fault(out, err.message);
}

static void put_event(struct row_writer *writer, const struct sonde_event *event,
		      const struct row_extras *extras)
{
	struct sonde_buffer *out = writer->out;
	const struct name *track = names_get(&writer->tracks, event->track);
	const struct name *name = row_event_name(writer, event);
	struct name kind = row_kind_name(event->kind);
	char *place = sonde_buffer_reserve(out, EVENT_ROOM + track->length + name->length);

	if (!place)
		return;
	place = ROW_PUT(place, "{\"time_ns\":");
	place = row_put_u64(place, event->time_ns);
	place = ROW_PUT(place, ",\"relative_ns\":");
	place = row_put_relative(writer, place, event->time_ns);
	place = ROW_PUT(place, ",\"track\":");
	place = row_put_u64(place, event->track);
	place = ROW_PUT(place, ",\"track_name\":");
	place = row_put_name(place, track);
	place = ROW_PUT(place, ",\"kind\":\"");
	place = row_put_name(place, &kind);
	place = ROW_PUT(place, "\",\"name\":");
	place = row_put_name(place, name);
	place = ROW_PUT(place, ",\"depth\":");
	place = row_put_u64(place, event->depth);
	out->size = (size_t)(place - out->data);
	put_extra(out, event);
	if (extras->arguments)
		put_arguments(out, extras);
	if (extras->detail)
		put_detail(out, extras->detail);
	if (extras->fault)
		put_fault(out, extras->fault);
	sonde_buffer_put(out, "}\n", 2);
}

static void put_span(struct row_writer *writer, uint32_t track, const struct sonde_call_span *span)
{
	struct sonde_buffer *out = writer->out;
	char space[32] = { 0 };

	put_number(out, "{\"start_ns\":", span->start_ns);
	sonde_buffer_put_text(out, ",\"relative_ns\":");
	sonde_buffer_put(out, space,
			 (size_t)(row_put_relative(writer, space, span->start_ns) - space));
	put_number(out, ",\"track\":", track);
	put_name(out, ",\"track_name\":", names_get(&writer->tracks, track));
	put_name(out, ",\"name\":", names_get(&writer->functions, span->function));
	if (span->caller != SONDE_NONE)
		put_name(out, ",\"caller\":", names_get(&writer->functions, span->caller));
	put_number(out, ",\"depth\":", span->depth);
	put_number(out, ",\"dur_ns\":", span->duration_ns);
	put_number(out, ",\"self_ns\":", span->self_ns);
	sonde_buffer_put_text(out, ",\"ended_by\":\"");
	sonde_buffer_put_text(out, sonde_span_end_name(span->ended_by));
	sonde_buffer_put_text(out, span->is_recursive ? "\",\"recursive\":true}\n" :
							"\",\"recursive\":false}\n");
}

static void put_value(struct row_writer *writer, const struct sonde_value *value)
{
	struct sonde_buffer *out = writer->out;

	if (value->track == SONDE_NONE)
		sonde_buffer_put_text(out, "{\"track\":null");
	else
		put_number(out, "{\"track\":", value->track);
	put_number(out, ",\"context\":", value->context);
	put_name(out, ",\"name\":", row_context_label(writer, value->context));
	put_text(writer, ",\"metric\":", row_metric_name(writer->definitions, value->metric));
	put_text(writer, ",\"scope\":", row_metric_scope(writer->definitions, value->metric));
	if (value->track == SONDE_NONE)
		put_text(writer, ",\"statistic\":",
			 row_metric_statistic(writer->definitions, value->metric));
	put_double(out, ",\"value\":", value->value);
	sonde_buffer_put_text(out, "}\n");
}

static void put_sample(struct row_writer *writer, const struct sonde_sample *sample)
{
	struct sonde_buffer *out = writer->out;
	char space[32] = { 0 };

	put_number(out, "{\"time_ns\":", sample->time_ns);
	sonde_buffer_put_text(out, ",\"relative_ns\":");
	sonde_buffer_put(out, space,
			 (size_t)(row_put_relative(writer, space, sample->time_ns) - space));
	put_number(out, ",\"track\":", sample->track);
	put_number(out, ",\"context\":", sample->context);
	put_name(out, ",\"name\":", row_context_label(writer, sample->context));
	sonde_buffer_put_text(out, "}\n");
}

static void put_context(struct row_writer *writer, uint32_t number, const struct row_sums *sums)
{
	const struct sonde_context *context = &writer->contexts[number];
	struct sonde_context_place place = sonde_context_place(writer->definitions, context);
	struct sonde_buffer *out = writer->out;

	put_number(out, "{\"context\":", number);
	if (context->parent == SONDE_NONE)
		sonde_buffer_put_text(out, ",\"parent\":null");
	else
		put_number(out, ",\"parent\":", context->parent);
	sonde_buffer_put_format(out, ",\"kind\":\"%s\",\"relation\":\"%s\"",
				sonde_context_kind_name(context->kind),
				sonde_context_relation_name(context->relation));
	put_name(out, ",\"name\":", row_context_label(writer, number));
	if (*place.file) {
		put_text(writer, ",\"file\":", place.file);
		put_number(out, ",\"line\":", place.line);
	}
	if (*place.module) {
		put_text(writer, ",\"module\":", place.module);
		sonde_buffer_put_format(out, ",\"address\":\"0x%llx\"",
					(unsigned long long)place.address);
	}
	if (context->unlisted)
		sonde_buffer_put_text(out, ",\"unlisted\":true");
	if (sums) {
		put_double(out, ",\"total\":", sums->total[number]);
		put_double(out, ",\"self\":", sums->self[number]);
	}
	sonde_buffer_put_text(out, "}\n");
}

const struct row_form row_form_json = {
	.encode = put_json_string,
	.head = put_head,
	.event = put_event,
	.span = put_span,
	.value = put_value,
	.sample = put_sample,
	.context = put_context,
};
