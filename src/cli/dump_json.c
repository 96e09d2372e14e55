/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde dump --json`: one object a line and an event. */
#include "base/json.h"
#include "cli/dump.h"

static void put_json_string(struct sonde_buffer *out, const char *text)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_string(&json, text);
}

static void put_member(struct sonde_buffer *out, const char *opening, const struct name *name)
{
	sonde_buffer_put_text(out, opening);
	sonde_buffer_put(out, name->text, name->length);
}

static void put_number(struct sonde_buffer *out, const char *opening, uint64_t value)
{
	sonde_buffer_put_text(out, opening);
	sonde_buffer_put_u64(out, value);
}

static void put_bytes(struct sonde_json_writer *json, const char *key, const uint8_t *bytes,
		      size_t size)
{
	sonde_json_key(json, key);
	/* Digits need no escapes: put between the quotes of an empty raw value. */
	sonde_json_raw(json, "\"");
	dump_put_hex_bytes(json->out, bytes, size);
	sonde_buffer_put_char(json->out, '"');
}

static void put_registers(struct sonde_json_writer *json, const struct sonde_registers *registers)
{
	unsigned int i;

	sonde_json_member_string(json, "arch", sonde_arch_name(registers->arch));
	sonde_json_member_u64(json, "register_flags", registers->flags);
	sonde_json_key(json, "registers");
	sonde_json_object_begin(json);
	for (i = 0; i < SONDE_REGISTER_COUNT; i++) {
		sonde_json_key(json, sonde_register_name(registers->arch, i));
		sonde_json_hex(json, registers->values[i], 16);
	}
	sonde_json_object_end(json);
}

static void put_detail(struct sonde_buffer *out, const struct sonde_detail *detail)
{
	struct sonde_json_writer json;

	sonde_buffer_put_text(out, ",\"detail\":");
	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	sonde_json_member_u64(&json, "type", detail->type);
	sonde_json_member_u64(&json, "flags", detail->flags);
	sonde_json_member_u64(&json, "time_ns", detail->time_ns);
	if (dump_has_registers(detail))
		put_registers(&json, &detail->registers);
	if (detail->kind == SONDE_DETAIL_REGISTERS)
		put_bytes(&json, "stack", detail->stack, detail->stack_size);
	if (detail->size)
		put_bytes(&json, "bytes", detail->bytes, detail->size);
	sonde_json_object_end(&json);
}

/* What the rarer kinds carry. */
static void put_extra(struct sonde_buffer *out, const struct sonde_event *event)
{
	switch (event->kind) {
	case SONDE_EVENT_COUNTER:
		sonde_buffer_put_text(out, ",\"value\":");
		if (__builtin_isfinite(sonde_event_value(event)))
			sonde_buffer_put_format(out, "%.17g", sonde_event_value(event));
		else
			sonde_buffer_put_text(out, "null");
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

static void put_arguments(struct sonde_buffer *out, const struct dump_extras *extras)
{
	struct sonde_json_writer json;
	struct sonde_error err = { 0 };

	sonde_buffer_put_text(out, ",\"arguments\":");
	sonde_json_writer_init(&json, out, false);
	if (sonde_arguments_put_json(&json, extras->signature, extras->arguments->bytes,
				     extras->arguments->size, &err))
		put_fault(out, err.message);
}

static void put_event(struct dump *dump, const struct sonde_event *event,
		      const struct dump_extras *extras)
{
	struct sonde_buffer *out = dump->out;

	put_number(out, "{\"time_ns\":", event->time_ns);
	if (event->time_ns < dump->start_ns)
		put_number(out, ",\"relative_ns\":-", dump->start_ns - event->time_ns);
	else
		put_number(out, ",\"relative_ns\":", event->time_ns - dump->start_ns);
	put_number(out, ",\"track\":", event->track);
	put_member(out, ",\"track_name\":", names_get(&dump->tracks, event->track));
	sonde_buffer_put_text(out, ",\"kind\":\"");
	sonde_buffer_put_text(out, sonde_event_kind_name(event->kind));
	put_member(out, "\",\"name\":", dump_event_name(dump, event));
	put_number(out, ",\"depth\":", event->depth);
	put_extra(out, event);
	if (extras->arguments)
		put_arguments(out, extras);
	if (extras->detail)
		put_detail(out, extras->detail);
	if (extras->fault)
		put_fault(out, extras->fault);
	sonde_buffer_put(out, "}\n", 2);
}

const struct dump_output dump_json = {
	.encode = put_json_string,
	.event = put_event,
};
