/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde dump` for people: a line an event, indented by depth; details below as dumps. */
#include <string.h>

#include "cli/dump.h"
#include "cli/human.h"
#include "cli/text.h"
#include "model/detail_json.h"

#define DEEPEST_INDENT 40
#define DETAIL_INDENT 6
#define REGISTERS_A_LINE 3
#define BYTES_A_LINE 16
#define HUMAN_WIDTH 12
#define LEAST_ARGUMENTS 24 /* columns for them however narrow the terminal is */
#define EXTRA_WIDTH 12	   /* columns left for what follows them, " #4294967295" */

static void put_human(struct sonde_buffer *out, uint64_t ns)
{
	size_t begin = out->size, width, fill;
	char *place;

	cli_put_duration(out, ns, "");
	width = out->size - begin;
	if (out->failed || width >= HUMAN_WIDTH)
		return;
	fill = HUMAN_WIDTH - width;
	cli_put_spaces(out, fill);
	if (out->failed)
		return;
	place = out->data + begin;
	memmove(place + fill, place, width);
	memset(place, ' ', fill);
}

static void put_time(struct dump *dump, uint64_t time_ns)
{
	if (dump->time == DUMP_TIME_ABSOLUTE) {
		sonde_buffer_put_u64_wide(dump->rows.out, time_ns, dump->time_width, ' ');
		return;
	}
	if (time_ns < dump->rows.start_ns) {
		/* Only where time goes backwards in a damaged track. */
		sonde_buffer_put_char(dump->rows.out, '-');
		time_ns = dump->rows.start_ns - time_ns;
	} else {
		time_ns -= dump->rows.start_ns;
	}
	if (dump->time == DUMP_TIME_HUMAN)
		put_human(dump->rows.out, time_ns);
	else
		cli_put_seconds(dump->rows.out, time_ns, dump->time_width);
}

static enum cli_style style_of(unsigned int kind)
{
	switch (kind) {
	case SONDE_EVENT_CALL:
		return CLI_STYLE_GREEN;
	case SONDE_EVENT_RETURN:
		return CLI_STYLE_DIM;
	case SONDE_EVENT_EXCEPTION:
		return CLI_STYLE_RED;
	default:
		return CLI_STYLE_CYAN;
	}
}

static void put_mark(struct sonde_buffer *out, unsigned int kind)
{
	switch (kind) {
	case SONDE_EVENT_CALL:
		sonde_buffer_put(out, "-> ", 3);
		break;
	case SONDE_EVENT_RETURN:
		sonde_buffer_put(out, "<- ", 3);
		break;
	case SONDE_EVENT_EXCEPTION:
		sonde_buffer_put(out, "!! ", 3);
		break;
	default:
		sonde_buffer_put_text(out, sonde_event_kind_name(kind));
		sonde_buffer_put_char(out, ' ');
	}
}

/* What the rarer kinds carry beside a name. */
static void put_extra(struct sonde_buffer *out, const struct sonde_event *event)
{
	switch (event->kind) {
	case SONDE_EVENT_COUNTER:
		sonde_buffer_put_format(out, " = %.17g", sonde_event_value(event));
		break;
	case SONDE_EVENT_FLOW_BEGIN:
	case SONDE_EVENT_FLOW_STEP:
	case SONDE_EVENT_FLOW_END:
	case SONDE_EVENT_RANGE_BEGIN:
	case SONDE_EVENT_RANGE_END:
		sonde_buffer_put_format(out, " #%u", event->extra);
		break;
	case SONDE_EVENT_OTHER:
		sonde_buffer_put_format(out, " (kind %u)", event->extra);
		break;
	default:
		break;
	}
	if (event->flags & SONDE_EVENT_SYNTHETIC)
		sonde_buffer_put_text(out, " (synthetic)");
}

static size_t columns_since(const struct sonde_buffer *out, size_t begin)
{
	return out->failed ? 0 : cli_text_width(out->data + begin, out->size - begin);
}

/* Leaves no more of the arguments that start at `begin` than fit behind `used` columns. */
static void cut_arguments(const struct dump *dump, size_t begin, size_t used)
{
	struct sonde_buffer *out = dump->rows.out;
	size_t room = LEAST_ARGUMENTS;

	if (dump->line_width > used + room)
		room = dump->line_width - used;
	if (columns_since(out, begin) <= room)
		return;
	out->size = begin + cli_text_fit(out->data + begin, out->size - begin, room - 4);
	sonde_buffer_put_text(out, "...)");
}

/* Gives the reason where they cannot be decoded to their end, else NULL. */
static const char *put_arguments(struct dump *dump, const struct row_extras *extras,
				 struct sonde_error *err)
{
	enum sonde_status status;

	sonde_buffer_clear(&dump->rows.scratch);
	status = signatures_put_text(&dump->rows.scratch, extras->signature,
				     extras->arguments->bytes, extras->arguments->size, err);
	if (sonde_buffer_text(&dump->rows.scratch))
		cli_put_escaped(dump->rows.out, dump->rows.scratch.data);
	return status < 0 ? err->message : NULL;
}

static void put_name(struct dump *dump, const struct sonde_event *event)
{
	enum cli_style style = dump->cli->out_colour ? style_of(event->kind) : CLI_STYLE_NONE;
	const struct name *name = row_event_name(&dump->rows, event);

	if (style != CLI_STYLE_NONE)
		cli_put_style(dump->rows.out, style);
	put_mark(dump->rows.out, event->kind);
	sonde_buffer_put(dump->rows.out, name->text, name->length);
	if (style != CLI_STYLE_NONE)
		cli_put_style_end(dump->rows.out, style);
}

/* Columns of what put_name() puts. */
static size_t name_width(struct dump *dump, const struct sonde_event *event)
{
	const struct name *name = row_event_name(&dump->rows, event);
	size_t mark = event->kind && event->kind <= SONDE_EVENT_EXCEPTION ?
			      2 :
			      strlen(sonde_event_kind_name(event->kind));

	return mark + 1 + cli_text_width(name->text, name->length);
}

static const char *put_line(struct dump *dump, const struct sonde_event *event,
			    const struct row_extras *extras, struct sonde_error *err)
{
	struct sonde_buffer *out = dump->rows.out;
	/* what happens in a call stands inside it */
	uint32_t level = event->depth - (event->depth && sonde_event_has_function(event));
	bool has_extra = event->flags || event->kind > SONDE_EVENT_EXCEPTION ||
			 event->kind == SONDE_EVENT_OTHER;
	bool may_be_cut = extras->arguments && dump->line_width;
	size_t begin = out->size, used = 0;
	const char *fault = extras->fault;

	put_time(dump, event->time_ns);
	if (dump->with_tracks) {
		const struct name *track = names_get(&dump->rows.tracks, event->track);

		sonde_buffer_put(out, "  ", 2);
		sonde_buffer_put(out, track->text, track->length);
	}
	cli_put_spaces(out, 2 + 2 * (size_t)(level < DEEPEST_INDENT ? level : DEEPEST_INDENT));
	if (level > DEEPEST_INDENT)
		sonde_buffer_put_format(out, "(depth %u) ", event->depth);
	if (may_be_cut)
		used = columns_since(out, begin) + name_width(dump, event) +
		       (has_extra ? EXTRA_WIDTH : 0);
	put_name(dump, event);
	begin = out->size;
	if (extras->arguments)
		fault = put_arguments(dump, extras, err);
	if (may_be_cut)
		cut_arguments(dump, begin, used);
	if (has_extra)
		put_extra(out, event);
	sonde_buffer_put_char(out, '\n');
	return fault;
}

/*
 * Where each group of registers of x86_64 ends, and the flag that says that it is real. Other
 * recorders never set it, so a group counts as not captured only where it is all zeros too.
 */
static bool is_captured(const struct sonde_registers *registers, unsigned int number)
{
	static const struct {
		unsigned int first, end, flag;
	} groups[] = { { 0, 6, SONDE_REGISTERS_ARGUMENTS }, { 6, 8, SONDE_REGISTERS_RESULT } };
	size_t i;
	unsigned int k;

	if (registers->arch != SONDE_ARCH_X86_64)
		return true;
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (number < groups[i].first || number >= groups[i].end)
			continue;
		for (k = groups[i].first; k < groups[i].end; k++)
			if (registers->values[k])
				return true;
		return registers->flags & groups[i].flag;
	}
	return true;
}

static void put_registers(struct sonde_buffer *out, const struct sonde_registers *registers)
{
	unsigned int shown = 0, i;

	for (i = 0; i < SONDE_REGISTER_COUNT; i++) {
		if (!is_captured(registers, i))
			continue;
		if (shown % REGISTERS_A_LINE == 0)
			cli_put_spaces(out, DETAIL_INDENT);
		sonde_buffer_put_format(out, "%-4s 0x%016llx",
					sonde_register_name(registers->arch, i),
					(unsigned long long)registers->values[i]);
		shown++;
		/* The last one is always captured. */
		sonde_buffer_put_text(
			out, shown % REGISTERS_A_LINE == 0 || i == SONDE_REGISTER_COUNT - 1 ? "\n" :
											      "  ");
	}
}

static void put_dump_line(struct sonde_buffer *out, const uint8_t *bytes, size_t offset,
			  size_t count)
{
	size_t i;

	cli_put_spaces(out, DETAIL_INDENT + 2);
	sonde_buffer_put_char(out, '+');
	sonde_buffer_put_hex(out, offset, 4);
	sonde_buffer_put_char(out, ' ');
	for (i = 0; i < BYTES_A_LINE; i++) {
		sonde_buffer_put_text(out, i == BYTES_A_LINE / 2 ? "  " : " ");
		if (i < count)
			sonde_buffer_put_hex(out, bytes[i], 2);
		else
			sonde_buffer_put_text(out, "  ");
	}
	sonde_buffer_put_text(out, "  |");
	for (i = 0; i < count; i++)
		sonde_buffer_put_char(out,
				      bytes[i] >= 0x20 && bytes[i] < 0x7f ? (char)bytes[i] : '.');
	sonde_buffer_put_text(out, "|\n");
}

static void put_bytes(struct sonde_buffer *out, const char *what, const uint8_t *bytes, size_t size)
{
	size_t offset;

	if (!size)
		return;
	cli_put_spaces(out, DETAIL_INDENT);
	sonde_buffer_put_text(out, what);
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, size, "byte");
	sonde_buffer_put_char(out, '\n');
	for (offset = 0; offset < size; offset += BYTES_A_LINE)
		put_dump_line(out, bytes + offset, offset,
			      size - offset < BYTES_A_LINE ? size - offset : BYTES_A_LINE);
}

static void put_detail(struct dump *dump, const struct sonde_detail *detail)
{
	struct sonde_buffer *out = dump->rows.out;

	cli_put_spaces(out, DETAIL_INDENT);
	sonde_buffer_put_format(out, "detail type %u, flags 0x%x", detail->type, detail->flags);
	if (detail->kind == SONDE_DETAIL_REGISTERS)
		sonde_buffer_put_format(out, ", register flags 0x%x", detail->registers.flags);
	sonde_buffer_put_char(out, '\n');
	if (sonde_detail_has_registers(detail))
		put_registers(out, &detail->registers);
	put_bytes(out, "stack", detail->stack, detail->stack_size);
	put_bytes(out, detail->kind == SONDE_DETAIL_REGISTERS ? "more" : "payload", detail->bytes,
		  detail->size);
}

void dump_text_event(struct dump *dump, const struct sonde_event *event,
		     const struct row_extras *extras)
{
	struct sonde_error err = { 0 };
	const char *fault = put_line(dump, event, extras, &err);

	if (extras->detail)
		put_detail(dump, extras->detail);
	if (fault) {
		cli_put_spaces(dump->rows.out, DETAIL_INDENT);
		sonde_buffer_put_text(dump->rows.out, "detail cannot be read: ");
		cli_put_escaped(dump->rows.out, fault);
		sonde_buffer_put_char(dump->rows.out, '\n');
	}
}

void dump_text_begin(struct dump *dump)
{
	uint64_t largest = dump->time == DUMP_TIME_ABSOLUTE ?
				   dump->end_ns :
				   (dump->end_ns - dump->rows.start_ns) / CLI_NS_PER_S;

	dump->time_width = cli_digits(largest);
	if (dump->cli->out_is_terminal)
		dump->line_width = cli_width(dump->cli, 0);
}
