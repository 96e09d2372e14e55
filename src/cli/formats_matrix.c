/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What survives where, worked out of what formats say of themselves: a thing is carried over where the
 * target holds it, made of something else where the pipeline can do that (src/model/derive.h), or lost.
 * It is about formats; what a certain recording loses is in the loss report of its conversion.
 */
#include "cli/formats_matrix.h"
#include "base/buffer.h"
#include "cli/text.h"

/* Something that a recording may have. */
struct thing {
	const char *name;
	unsigned int lane;
	unsigned int kinds; /* of events; all of these */
	unsigned int fact;
};

static const struct thing things[] = {
	{ "calls", SONDE_LANE_EVENTS, SONDE_KINDS_CALLS, 0 },
	{ "exceptions", SONDE_LANE_EVENTS, SONDE_KIND(EXCEPTION), 0 },
	{ "instants", SONDE_LANE_EVENTS, SONDE_KIND(INSTANT), 0 },
	{ "marks", SONDE_LANE_EVENTS, SONDE_KIND(MARK), 0 },
	{ "flows", SONDE_LANE_EVENTS,
	  SONDE_KIND(FLOW_BEGIN) | SONDE_KIND(FLOW_STEP) | SONDE_KIND(FLOW_END), 0 },
	{ "ranges", SONDE_LANE_EVENTS, SONDE_KIND(RANGE_BEGIN) | SONDE_KIND(RANGE_END), 0 },
	{ "counters", SONDE_LANE_EVENTS, SONDE_KIND(COUNTER), 0 },
	{ "other events", SONDE_LANE_EVENTS, SONDE_KIND(OTHER), 0 },
	{ "arguments", SONDE_LANE_DETAILS, 0, 0 },
	{ "samples", SONDE_LANE_SAMPLES, 0, 0 },
	{ "contexts", SONDE_LANE_CONTEXTS, 0, 0 },
	{ "values", SONDE_LANE_VALUES, 0, 0 },
	{ "resources", SONDE_LANE_BLOBS, 0, 0 },
#define X(name, bit, text) { text, 0, 0, SONDE_FACT_##name },
	SONDE_FACT_LIST(X)
#undef X
};

#define THING_COUNT (sizeof(things) / sizeof(things[0]))

static bool holds(const struct sonde_format_info *format, unsigned int lanes,
		  const struct thing *thing)
{
	return (lanes & thing->lane) == thing->lane &&
	       (format->kinds & thing->kinds) == thing->kinds &&
	       (format->facts & thing->fact) == thing->fact;
}

/* How recordings of one format come into another. */
enum how { WHOLE, PARTLY, AS_PROFILE, AS_CALLS, REFUSED, HOW_COUNT };

static const struct {
	char sign;
	const char *word;
	const char *help;
} hows[HOW_COUNT] = {
	[WHOLE] = { '=', "whole", "all that the source can hold" },
	[PARTLY] = { '~', "partly", "what both hold; below is what a target does not" },
	[AS_PROFILE] = { 'p', "profile-of-calls",
			 "calls become contexts, values and samples; other events are lost" },
	[AS_CALLS] = { 'c', "calls-of-samples",
		       "samples become calls; values are lost, and a source that has nothing "
		       "but values is refused" },
	[REFUSED] = { '-', "refused", "nothing: values say how long, and not when" },
};

enum fate { ABSENT, CARRIED, DERIVED, LOST };

static enum fate fate_of(const struct sonde_format_info *source,
			 const struct sonde_format_info *target, const struct thing *thing)
{
	unsigned int written = target->lanes_written;
	bool becomes_calls = (source->lanes_read & SONDE_LANE_SAMPLES) &&
			     (written & SONDE_LANE_EVENTS);

	if (!holds(source, source->lanes_read, thing))
		return ABSENT;
	if (source == target || holds(target, written, thing))
		return CARRIED;
	if (thing->kinds == SONDE_KINDS_CALLS && !(written & SONDE_LANE_EVENTS) &&
	    (written & SONDE_LANE_CONTEXTS))
		return DERIVED;
	if (becomes_calls &&
	    (thing->lane == SONDE_LANE_SAMPLES || thing->lane == SONDE_LANE_CONTEXTS))
		return DERIVED;
	return LOST;
}

static enum how how_of(const struct sonde_format_info *source,
		       const struct sonde_format_info *target)
{
	const unsigned int main_lanes = SONDE_LANE_EVENTS | SONDE_LANE_SAMPLES | SONDE_LANE_VALUES;
	bool carries = false, loses = false, derives = false;

	for (size_t i = 0; i < THING_COUNT; i++) {
		enum fate fate = fate_of(source, target, &things[i]);

		carries |= fate == CARRIED && (things[i].lane & main_lanes);
		derives |= fate == DERIVED;
		loses |= fate == LOST;
	}
	if (carries)
		return loses || derives ? PARTLY : WHOLE;
	if (!derives)
		return REFUSED;
	return target->lanes_written & SONDE_LANE_EVENTS ? AS_CALLS : AS_PROFILE;
}

static const struct sonde_format_info *info_at(size_t index)
{
	return sonde_format_info(sonde_format_at(index));
}

#define NAME_WIDTH 12

static void put_heads(struct sonde_buffer *out)
{
	unsigned int number = 0;

	cli_put_spaces(out, NAME_WIDTH + 3);
	for (size_t i = 0; i < sonde_format_count(); i++) {
		if (info_at(i)->lanes_written)
			sonde_buffer_put_format(out, " %2u", ++number);
	}
	sonde_buffer_put_char(out, '\n');
}

/* A source with what becomes of it; its number where it is a target too. */
static void put_row(struct sonde_buffer *out, const struct sonde_format_info *source,
		    unsigned int number)
{
	if (source->lanes_written)
		sonde_buffer_put_format(out, "%2u ", number);
	else
		cli_put_spaces(out, 3);
	cli_put_column(out, source->name, strlen(source->name), NAME_WIDTH, false);
	for (size_t i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *target = info_at(i);
		char sign = source->lanes_read ? hows[how_of(source, target)].sign : ' ';

		if (target->lanes_written)
			sonde_buffer_put_format(out, "  %c", sign);
	}
	while (out->size && out->data[out->size - 1] == ' ')
		out->size--;
	sonde_buffer_put_char(out, '\n');
}

static void put_grid(struct cli *cli)
{
	unsigned int number = 0;

	cli_put_styled(cli, CLI_STYLE_BOLD, "SOURCE, AND TARGETS BY THEIR NUMBERS");
	sonde_buffer_put_char(&cli->out, '\n');
	put_heads(&cli->out);
	for (size_t i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *source = info_at(i);

		number += source->lanes_written != 0;
		if (source->lanes_read || source->lanes_written)
			put_row(&cli->out, source, number);
	}
	sonde_buffer_put_char(&cli->out, '\n');
	for (size_t i = 0; i < HOW_COUNT; i++) {
		sonde_buffer_put_format(&cli->out, "  %c  ", hows[i].sign);
		cli_put_wrapped(&cli->out, hows[i].help, 5, cli_width(cli, 80), 5);
	}
}

/* What a target has no place for. */
static void put_not_held(struct cli *cli, const struct sonde_format_info *target,
			 unsigned int number)
{
	struct sonde_buffer text = { 0 };

	for (size_t i = 0; i < THING_COUNT; i++) {
		if (!holds(target, target->lanes_written, &things[i]))
			sonde_buffer_put_format(&text, text.size ? ", %s" : "%s", things[i].name);
	}
	if (!text.size)
		sonde_buffer_put_text(&text, "nothing: it holds everything");
	sonde_buffer_put_format(&cli->out, "%2u ", number);
	cli_put_column(&cli->out, target->name, strlen(target->name), NAME_WIDTH, false);
	sonde_buffer_put_char(&cli->out, ' ');
	if (sonde_buffer_text(&text))
		cli_put_wrapped(&cli->out, text.data, NAME_WIDTH + 4, cli_width(cli, 80),
				NAME_WIDTH + 4);
	sonde_buffer_release(&text);
}

void cli_put_matrix(struct cli *cli)
{
	unsigned int number = 0;

	put_grid(cli);
	sonde_buffer_put_char(&cli->out, '\n');
	cli_put_styled(cli, CLI_STYLE_BOLD, "TARGET, AND WHAT IT DOES NOT HOLD");
	sonde_buffer_put_char(&cli->out, '\n');
	for (size_t i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *target = info_at(i);

		if (target->lanes_written)
			put_not_held(cli, target, ++number);
	}
}

void cli_put_held_json(struct sonde_json_writer *json, const char *key,
		       const struct sonde_format_info *format, unsigned int lanes)
{
	sonde_json_key(json, key);
	sonde_json_array_begin_inline(json);
	for (size_t i = 0; lanes && i < THING_COUNT; i++) {
		if (holds(format, lanes, &things[i]))
			sonde_json_string(json, things[i].name);
	}
	sonde_json_array_end(json);
}

static void put_fates_json(struct sonde_json_writer *json, const struct sonde_format_info *source,
			   const struct sonde_format_info *target, const char *key, enum fate fate)
{
	sonde_json_key(json, key);
	sonde_json_array_begin_inline(json);
	for (size_t i = 0; i < THING_COUNT; i++) {
		if (fate_of(source, target, &things[i]) == fate)
			sonde_json_string(json, things[i].name);
	}
	sonde_json_array_end(json);
}

void cli_put_matrix_json(struct cli *cli)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_array_begin(&json);
	for (size_t i = 0; i < sonde_format_count() * sonde_format_count(); i++) {
		const struct sonde_format_info *source = info_at(i / sonde_format_count());
		const struct sonde_format_info *target = info_at(i % sonde_format_count());

		if (!source->lanes_read || !target->lanes_written)
			continue;
		sonde_json_object_begin(&json);
		sonde_json_member_string(&json, "source", source->name);
		sonde_json_member_string(&json, "target", target->name);
		sonde_json_member_string(&json, "how", hows[how_of(source, target)].word);
		put_fates_json(&json, source, target, "carried", CARRIED);
		put_fates_json(&json, source, target, "derived", DERIVED);
		put_fates_json(&json, source, target, "lost", LOST);
		sonde_json_object_end(&json);
	}
	sonde_json_array_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
}
