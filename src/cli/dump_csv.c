/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde dump --csv`: RFC 4180 with a header line. */
#include <string.h>

#include "cli/dump.h"
#include "cli/text.h"

static void put_field(struct sonde_buffer *out, const char *text)
{
	cli_put_csv(out, text, strlen(text));
}

static void begin(struct dump *dump)
{
	sonde_buffer_put_text(dump->out, "time_ns,relative_ns,track,track_name,kind,name,depth,"
					 "synthetic,value,arguments");
	if (dump->with_details)
		sonde_buffer_put_text(dump->out, ",detail_type,detail_flags,registers,stack,bytes");
	sonde_buffer_put_text(dump->out, "\r\n");
}

static void put_registers(struct sonde_buffer *out, const struct sonde_registers *registers)
{
	unsigned int i;

	for (i = 0; i < SONDE_REGISTER_COUNT; i++)
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
	if (dump_has_registers(detail))
		put_registers(out, &detail->registers);
	sonde_buffer_put_char(out, ',');
	dump_put_hex_bytes(out, detail->stack, detail->stack_size);
	sonde_buffer_put_char(out, ',');
	dump_put_hex_bytes(out, detail->bytes, detail->size);
}

/* Arguments as JSON; what cannot be read of them is left out. */
static void put_arguments(struct dump *dump, const struct dump_extras *extras)
{
	struct sonde_json_writer json;

	sonde_buffer_put_char(dump->out, ',');
	if (!extras->arguments)
		return;
	sonde_buffer_clear(&dump->scratch);
	sonde_json_writer_init(&json, &dump->scratch, false);
	sonde_arguments_put_json(&json, extras->signature, extras->arguments->bytes,
				 extras->arguments->size, NULL);
	if (sonde_buffer_text(&dump->scratch))
		dump->types.encode(dump->out, dump->scratch.data);
}

/* The value of a counter, the number of a flow or range, the format's own kind of an unknown one. */
static void put_value(struct sonde_buffer *out, const struct sonde_event *event)
{
	if (event->kind == SONDE_EVENT_COUNTER)
		sonde_buffer_put_format(out, "%.17g", sonde_event_value(event));
	else if (event->kind == SONDE_EVENT_OTHER || event->kind >= SONDE_EVENT_FLOW_BEGIN)
		sonde_buffer_put_u64(out, event->extra);
}

static void put_event(struct dump *dump, const struct sonde_event *event,
		      const struct dump_extras *extras)
{
	struct sonde_buffer *out = dump->out;
	const struct name *track = names_get(&dump->tracks, event->track);
	const struct name *name = dump_event_name(dump, event);
	bool is_early = event->time_ns < dump->start_ns;

	/* Of a fault nothing is said: the fields stay empty. */
	sonde_buffer_put_u64(out, event->time_ns);
	sonde_buffer_put(out, ",-", is_early ? 2 : 1);
	sonde_buffer_put_u64(out, is_early ? dump->start_ns - event->time_ns :
					     event->time_ns - dump->start_ns);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, event->track);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put(out, track->text, track->length);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_text(out, sonde_event_kind_name(event->kind));
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put(out, name->text, name->length);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, event->depth);
	sonde_buffer_put(out, event->flags & SONDE_EVENT_SYNTHETIC ? ",1," : ",0,", 3);
	put_value(out, event);
	put_arguments(dump, extras);
	if (dump->with_details)
		put_detail(out, extras->detail);
	sonde_buffer_put(out, "\r\n", 2);
}

const struct dump_output dump_csv = {
	.encode = put_field,
	.begin = begin,
	.event = put_event,
};
