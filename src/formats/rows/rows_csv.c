/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as CSV: RFC 4180 with a header line, in UTF-8. */
#include "base/utf8.h"
#include "formats/rows/rows.h"
#include "model/context_place.h"
#include "model/detail_json.h"

/* For a row but its names. */
#define EVENT_ROOM 128
#define SPAN_ROOM 192

/* A field that is UTF-8 whatever the text is. */
static void put_field(struct sonde_buffer *out, const char *text)
{
	size_t size = strlen(text);
	struct sonde_buffer mended = { 0 };

	if (sonde_utf8_valid(text, size)) {
		sonde_buffer_put_csv(out, text, size);
		return;
	}
	sonde_buffer_put_utf8(&mended, text, size);
	out->failed |= mended.failed;
	sonde_buffer_put_csv(out, mended.data, mended.size);
	sonde_buffer_release(&mended);
}

static void put_head(struct row_writer *writer, enum row_table table)
{
	static const char *const heads[ROW_TABLE_COUNT] = {
		[ROW_EVENTS] =
			"time_ns,relative_ns,track,track_name,kind,name,depth,synthetic,value,"
			"arguments",
		[ROW_SPANS] = "start_ns,relative_ns,track,track_name,name,caller,depth,dur_ns,"
			      "self_ns,ended_by,recursive",
		[ROW_VALUES] = "track,context,name,metric,scope,statistic,value",
		[ROW_SAMPLES] = "time_ns,relative_ns,track,context,name",
		[ROW_CONTEXTS] = "context,parent,kind,relation,name,file,line,module,address,"
				 "unlisted,total,self",
	};

	sonde_buffer_put_text(writer->out, heads[table]);
	if (table == ROW_EVENTS && writer->with_details)
		sonde_buffer_put_text(writer->out,
				      ",detail_type,detail_flags,registers,stack,bytes");
	sonde_buffer_put_text(writer->out, "\r\n");
}

static void put_registers(struct sonde_buffer *out, const struct sonde_registers *registers)
{
	for (unsigned int i = 0; i < SONDE_REGISTER_COUNT; i++)
		sonde_buffer_put_format(out, "%s%s=0x%llx", i ? " " : "",
					sonde_register_name(registers->arch, i),
					(unsigned long long)registers->values[i]);
}

static void put_detail(struct sonde_buffer *out, const struct sonde_detail *detail)
{
	if (!detail) {
		sonde_buffer_put_text(out, ",,,,,");
		return;
	}
	sonde_buffer_put_format(out, ",%u,%u,", detail->type, detail->flags);
	if (sonde_detail_has_registers(detail))
		put_registers(out, &detail->registers);
	sonde_buffer_put_char(out, ',');
	sonde_put_hex_bytes(out, detail->stack, detail->stack_size);
	sonde_buffer_put_char(out, ',');
	sonde_put_hex_bytes(out, detail->bytes, detail->size);
}

/* Arguments as JSON; what cannot be read of them is left out. */
static void put_arguments(struct row_writer *writer, const struct row_extras *extras)
{
	struct sonde_json_writer json;

	sonde_buffer_clear(&writer->scratch);
	sonde_json_writer_init(&json, &writer->scratch, false);
	sonde_arguments_put_json(&json, extras->signature, extras->arguments->bytes,
				 extras->arguments->size, NULL);
	if (sonde_buffer_text(&writer->scratch))
		writer->encode(writer->out, writer->scratch.data);
}

/* The value of a counter, the number of a flow or range, the format's own kind of an unknown one. */
static void put_value(struct sonde_buffer *out, const struct sonde_event *event)
{
	if (event->kind == SONDE_EVENT_COUNTER)
		sonde_buffer_put_format(out, "%.17g", sonde_event_value(event));
	else if (event->kind == SONDE_EVENT_OTHER || event->kind >= SONDE_EVENT_FLOW_BEGIN)
		sonde_buffer_put_u64(out, event->extra);
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
	place = row_put_u64(place, event->time_ns);
	*place++ = ',';
	place = row_put_relative(writer, place, event->time_ns);
	*place++ = ',';
	place = row_put_u64(place, event->track);
	*place++ = ',';
	place = row_put_name(place, track);
	*place++ = ',';
	place = row_put_name(place, &kind);
	*place++ = ',';
	place = row_put_name(place, name);
	*place++ = ',';
	place = row_put_u64(place, event->depth);
	place = row_put(place, event->flags & SONDE_EVENT_SYNTHETIC ? ",1," : ",0,", 3);
	out->size = (size_t)(place - out->data);
	put_value(out, event);
	sonde_buffer_put_char(out, ',');
	/* Of a fault nothing is said: the fields stay empty. */
	if (extras->arguments)
		put_arguments(writer, extras);
	if (writer->with_details)
		put_detail(out, extras->detail);
	sonde_buffer_put(out, "\r\n", 2);
}

static void put_span(struct row_writer *writer, uint32_t track_number,
		     const struct sonde_call_span *span)
{
	struct sonde_buffer *out = writer->out;
	const struct name *track = names_get(&writer->tracks, track_number);
	/* copies: names move where there are more of them */
	struct name name = *names_get(&writer->functions, span->function);
	struct name caller = { "", 0 };
	const char *end = sonde_span_end_name(span->ended_by);
	char *place;

	if (span->caller != SONDE_NONE)
		caller = *names_get(&writer->functions, span->caller);
	place = sonde_buffer_reserve(out, SPAN_ROOM + track->length + name.length + caller.length);
	if (!place)
		return;
	place = row_put_u64(place, span->start_ns);
	*place++ = ',';
	place = row_put_relative(writer, place, span->start_ns);
	*place++ = ',';
	place = row_put_u64(place, track_number);
	*place++ = ',';
	place = row_put_name(place, track);
	*place++ = ',';
	place = row_put_name(place, &name);
	*place++ = ',';
	place = row_put_name(place, &caller);
	*place++ = ',';
	place = row_put_u64(place, span->depth);
	*place++ = ',';
	place = row_put_u64(place, span->duration_ns);
	*place++ = ',';
	place = row_put_u64(place, span->self_ns);
	*place++ = ',';
	place = row_put(place, end, strlen(end));
	place = row_put(place, span->is_recursive ? ",1\r\n" : ",0\r\n", 4);
	out->size = (size_t)(place - out->data);
}

static void put_name(struct sonde_buffer *out, const struct name *name)
{
	sonde_buffer_put(out, name->text, name->length);
	sonde_buffer_put_char(out, ',');
}

static void put_text(struct row_writer *writer, const char *text)
{
	writer->encode(writer->out, text);
	sonde_buffer_put_char(writer->out, ',');
}

static void put_number(struct sonde_buffer *out, uint64_t value)
{
	sonde_buffer_put_u64(out, value);
	sonde_buffer_put_char(out, ',');
}

static void put_value_row(struct row_writer *writer, const struct sonde_value *value)
{
	struct sonde_buffer *out = writer->out;

	if (value->track != SONDE_NONE)
		sonde_buffer_put_u64(out, value->track);
	sonde_buffer_put_char(out, ',');
	put_number(out, value->context);
	put_name(out, row_context_label(writer, value->context));
	put_text(writer, row_metric_name(writer->definitions, value->metric));
	put_text(writer, row_metric_scope(writer->definitions, value->metric));
	put_text(writer, row_metric_statistic(writer->definitions, value->metric));
	sonde_buffer_put_format(out, "%.17g\r\n", value->value);
}

static void put_sample(struct row_writer *writer, const struct sonde_sample *sample)
{
	const struct name *label = row_context_label(writer, sample->context);
	struct sonde_buffer *out = writer->out;
	char space[32] = { 0 };

	put_number(out, sample->time_ns);
	sonde_buffer_put(out, space,
			 (size_t)(row_put_relative(writer, space, sample->time_ns) - space));
	sonde_buffer_put_char(out, ',');
	put_number(out, sample->track);
	put_number(out, sample->context);
	sonde_buffer_put(out, label->text, label->length);
	sonde_buffer_put_text(out, "\r\n");
}

static void put_context(struct row_writer *writer, uint32_t number, const struct row_sums *sums)
{
	const struct sonde_context *context = &writer->contexts[number];
	struct sonde_context_place place = sonde_context_place(writer->definitions, context);
	struct sonde_buffer *out = writer->out;

	put_number(out, number);
	if (context->parent != SONDE_NONE)
		sonde_buffer_put_u64(out, context->parent);
	sonde_buffer_put_format(out, ",%s,%s,", sonde_context_kind_name(context->kind),
				sonde_context_relation_name(context->relation));
	put_name(out, row_context_label(writer, number));
	put_text(writer, place.file);
	if (*place.file)
		sonde_buffer_put_u64(out, place.line);
	sonde_buffer_put_char(out, ',');
	put_text(writer, place.module);
	if (*place.module)
		sonde_buffer_put_format(out, "0x%llx", (unsigned long long)place.address);
	sonde_buffer_put_text(out, context->unlisted ? ",1," : ",0,");
	if (sums)
		sonde_buffer_put_format(out, "%.17g", sums->total[number]);
	sonde_buffer_put_char(out, ',');
	if (sums)
		sonde_buffer_put_format(out, "%.17g", sums->self[number]);
	sonde_buffer_put_text(out, "\r\n");
}

const struct row_form row_form_csv = {
	.encode = put_field,
	.head = put_head,
	.event = put_event,
	.span = put_span,
	.value = put_value_row,
	.sample = put_sample,
	.context = put_context,
};
