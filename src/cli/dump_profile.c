/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde dump --values` and `--samples`, and what they share with `--contexts`. */
#include "cli/dump_profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/human.h"
#include "cli/text.h"

#define LABEL_LONGEST 512

bool dump_profile_line(struct dump_profile *dump, bool *ends)
{
	*ends = false;
	if (dump->to_skip) {
		dump->to_skip--;
		return false;
	}
	if (!dump->left) {
		*ends = true;
		return false;
	}
	dump->printed++;
	*ends = !--dump->left;
	return true;
}

void dump_profile_text(struct dump_profile *dump, const char *text)
{
	struct sonde_json_writer json;

	if (dump->form == DUMP_PROFILE_JSON) {
		sonde_json_writer_init(&json, &dump->cli->out, false);
		sonde_json_string(&json, text);
	} else if (dump->form == DUMP_PROFILE_CSV && !dump->cli->out_is_terminal) {
		cli_put_csv(&dump->cli->out, text, strlen(text));
	} else {
		cli_put_escaped(&dump->cli->out, text);
	}
}

void dump_profile_number(struct dump_profile *dump, double value)
{
	if (dump->form == DUMP_PROFILE_JSON && !isfinite(value))
		sonde_buffer_put_text(&dump->cli->out, "null");
	else
		sonde_buffer_put_format(&dump->cli->out, "%.17g", value);
}

void dump_profile_label(struct dump_profile *dump, uint32_t context)
{
	const struct sonde_context *about =
		context < dump->context_count ? &dump->contexts[context] : NULL;
	const struct sonde_function *function =
		about && about->kind == SONDE_CONTEXT_FUNCTION ?
			sonde_definitions_function(dump->definitions, about->function) :
			NULL;
	char space[LABEL_LONGEST];

	/* a name in full: a label is cut where the space ends */
	if (function && function->name)
		dump_profile_text(dump,
				  sonde_definitions_string(dump->definitions, function->name));
	else
		dump_profile_text(dump, about ? sonde_context_label(dump->definitions, about, space,
								    sizeof(space)) :
						"");
}

uint32_t dump_profile_track(const struct dump_profile *dump, uint32_t number)
{
	if (dump->spec->track_count)
		return number < dump->spec->track_count ? dump->spec->tracks[number] : SONDE_NONE;
	return number < sonde_definitions_track_count(dump->definitions) ? number : SONDE_NONE;
}

const char *dump_metric_name(const struct dump_profile *dump, uint32_t metric)
{
	const struct sonde_metric *found = sonde_definitions_metric(dump->definitions, metric);

	return found ? sonde_definitions_string(dump->definitions, found->name) : "";
}

const char *dump_metric_scope(const struct dump_profile *dump, uint32_t metric)
{
	const struct sonde_metric *found = sonde_definitions_metric(dump->definitions, metric);

	return found ? sonde_definitions_string(dump->definitions, found->scope) : "";
}

const char *dump_metric_statistic(const struct dump_profile *dump, uint32_t metric)
{
	const struct sonde_metric *found = sonde_definitions_metric(dump->definitions, metric);

	return found ? sonde_definitions_string(dump->definitions, found->statistic) : "";
}

static void put_value_json(struct dump_profile *dump, const struct sonde_value *value)
{
	struct sonde_buffer *out = &dump->cli->out;

	sonde_buffer_put_text(out, "{\"track\":");
	if (value->track == SONDE_NONE)
		sonde_buffer_put_text(out, "null");
	else
		sonde_buffer_put_u64(out, value->track);
	sonde_buffer_put_text(out, ",\"context\":");
	sonde_buffer_put_u64(out, value->context);
	sonde_buffer_put_text(out, ",\"name\":");
	dump_profile_label(dump, value->context);
	sonde_buffer_put_text(out, ",\"metric\":");
	dump_profile_text(dump, dump_metric_name(dump, value->metric));
	sonde_buffer_put_text(out, ",\"scope\":");
	dump_profile_text(dump, dump_metric_scope(dump, value->metric));
	if (value->track == SONDE_NONE) {
		sonde_buffer_put_text(out, ",\"statistic\":");
		dump_profile_text(dump, dump_metric_statistic(dump, value->metric));
	}
	sonde_buffer_put_text(out, ",\"value\":");
	dump_profile_number(dump, value->value);
	sonde_buffer_put_text(out, "}\n");
}

static void put_value_csv(struct dump_profile *dump, const struct sonde_value *value)
{
	struct sonde_buffer *out = &dump->cli->out;

	if (value->track != SONDE_NONE)
		sonde_buffer_put_u64(out, value->track);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, value->context);
	sonde_buffer_put_char(out, ',');
	dump_profile_label(dump, value->context);
	sonde_buffer_put_char(out, ',');
	dump_profile_text(dump, dump_metric_name(dump, value->metric));
	sonde_buffer_put_char(out, ',');
	dump_profile_text(dump, dump_metric_scope(dump, value->metric));
	sonde_buffer_put_char(out, ',');
	dump_profile_text(dump, dump_metric_statistic(dump, value->metric));
	sonde_buffer_put_char(out, ',');
	dump_profile_number(dump, value->value);
	sonde_buffer_put_text(out, "\r\n");
}

/* "track 0  context 3 main: CPUTIME (sec) execution = 1.2" */
static void put_value_text(struct dump_profile *dump, const struct sonde_value *value)
{
	struct sonde_buffer *out = &dump->cli->out;

	if (value->track == SONDE_NONE)
		sonde_buffer_put_format(out, "%s of all tracks",
					dump_metric_statistic(dump, value->metric));
	else
		sonde_buffer_put_format(out, "track %u", value->track);
	sonde_buffer_put_format(out, "  context %u ", value->context);
	dump_profile_label(dump, value->context);
	sonde_buffer_put_text(out, ": ");
	dump_profile_text(dump, dump_metric_name(dump, value->metric));
	sonde_buffer_put_format(out, " %s = %.6g\n", dump_metric_scope(dump, value->metric),
				value->value);
}

static bool put_value(struct dump_profile *dump, const struct sonde_value *value)
{
	bool ends;

	if (dump->metric && strcmp(dump->metric, dump_metric_name(dump, value->metric)))
		return true;
	if (!dump_profile_line(dump, &ends))
		return !ends;
	if (dump->form == DUMP_PROFILE_JSON)
		put_value_json(dump, value);
	else if (dump->form == DUMP_PROFILE_CSV)
		put_value_csv(dump, value);
	else
		put_value_text(dump, value);
	return !ends && cli_flush_when_full(dump->cli);
}

/* SONDE_END where no more is wanted. */
static enum sonde_status put_track_values(struct dump_profile *dump, uint32_t track,
					  struct sonde_error *err)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	enum sonde_status status;
	bool goes_on = true;
	size_t count;

	status = sonde_value_cursor_open(dump->recording, track, &cursor, err);
	if (status)
		return status;
	while (goes_on && !(status = sonde_value_cursor_next(cursor, &values, &count, err))) {
		for (size_t i = 0; i < count && goes_on; i++)
			goes_on = put_value(dump, &values[i]);
	}
	sonde_value_cursor_free(cursor);
	if (!goes_on)
		return SONDE_END;
	return status == SONDE_END ? SONDE_OK : status;
}

enum sonde_status dump_values(struct dump_profile *dump, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t track;

	if (dump->form == DUMP_PROFILE_CSV)
		sonde_buffer_put_text(&dump->cli->out,
				      "track,context,name,metric,scope,statistic,value\r\n");
	for (uint32_t i = 0; !status && (track = dump_profile_track(dump, i)) != SONDE_NONE; i++)
		status = put_track_values(dump, track, err);
	/* what is over all tracks, where all are meant */
	if (!status && !dump->spec->track_count)
		status = put_track_values(dump, SONDE_NONE, err);
	return status == SONDE_END ? SONDE_OK : status;
}

static void put_relative(struct dump_profile *dump, uint64_t time_ns)
{
	bool is_early = time_ns < dump->start_ns;

	if (is_early)
		sonde_buffer_put_char(&dump->cli->out, '-');
	sonde_buffer_put_u64(&dump->cli->out,
			     is_early ? dump->start_ns - time_ns : time_ns - dump->start_ns);
}

static void put_sample_json(struct dump_profile *dump, const struct sonde_sample *sample)
{
	struct sonde_buffer *out = &dump->cli->out;

	sonde_buffer_put_text(out, "{\"time_ns\":");
	sonde_buffer_put_u64(out, sample->time_ns);
	sonde_buffer_put_text(out, ",\"relative_ns\":");
	put_relative(dump, sample->time_ns);
	sonde_buffer_put_text(out, ",\"track\":");
	sonde_buffer_put_u64(out, sample->track);
	sonde_buffer_put_text(out, ",\"context\":");
	sonde_buffer_put_u64(out, sample->context);
	sonde_buffer_put_text(out, ",\"name\":");
	dump_profile_label(dump, sample->context);
	sonde_buffer_put_text(out, "}\n");
}

static void put_sample_csv(struct dump_profile *dump, const struct sonde_sample *sample)
{
	struct sonde_buffer *out = &dump->cli->out;

	sonde_buffer_put_u64(out, sample->time_ns);
	sonde_buffer_put_char(out, ',');
	put_relative(dump, sample->time_ns);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, sample->track);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, sample->context);
	sonde_buffer_put_char(out, ',');
	dump_profile_label(dump, sample->context);
	sonde_buffer_put_text(out, "\r\n");
}

/* Above the context are those around it, from the outermost on, as far as a line is for. */
static void put_sample_text(struct dump_profile *dump, const struct sonde_sample *sample)
{
	struct sonde_buffer *out = &dump->cli->out;
	bool is_early = sample->time_ns < dump->start_ns;
	uint64_t relative_ns = is_early ? dump->start_ns - sample->time_ns :
					  sample->time_ns - dump->start_ns;

	if (dump->time == DUMP_TIME_ABSOLUTE) {
		sonde_buffer_put_u64(out, sample->time_ns);
	} else {
		sonde_buffer_put_text(out, is_early ? "-" : "");
		if (dump->time == DUMP_TIME_HUMAN)
			cli_put_duration(out, relative_ns, "");
		else
			cli_put_seconds(out, relative_ns, 1);
	}
	sonde_buffer_put_format(out, "  track %u  ", sample->track);
	if (sample->context) {
		sonde_buffer_put_format(out, "context %u ", sample->context);
		dump_profile_label(dump, sample->context);
	} else {
		sonde_buffer_put_text(out, "not running");
	}
	sonde_buffer_put_char(out, '\n');
}

/* False where no more is wanted. */
static bool put_sample(struct dump_profile *dump, const struct sonde_sample *sample)
{
	bool ends;

	if (sample->time_ns < dump->spec->from_ns ||
	    (dump->spec->to_ns && sample->time_ns >= dump->spec->to_ns))
		return true;
	if (!dump_profile_line(dump, &ends))
		return !ends;
	if (dump->form == DUMP_PROFILE_JSON)
		put_sample_json(dump, sample);
	else if (dump->form == DUMP_PROFILE_CSV)
		put_sample_csv(dump, sample);
	else
		put_sample_text(dump, sample);
	return !ends && cli_flush_when_full(dump->cli);
}

/* SONDE_END where no more is wanted. */
static enum sonde_status put_track_samples(struct dump_profile *dump, uint32_t track,
					   struct sonde_error *err)
{
	struct sonde_sample_cursor *cursor = NULL;
	const struct sonde_sample *samples;
	enum sonde_status status;
	bool goes_on = true;
	size_t count;

	status = sonde_sample_cursor_open(dump->recording, track, &cursor, err);
	if (status)
		return status;
	if (dump->spec->from_ns)
		sonde_sample_cursor_seek_time(cursor, dump->spec->from_ns);
	while (goes_on && !(status = sonde_sample_cursor_next(cursor, &samples, &count, err))) {
		/* in the order of time nothing fits after this */
		if (dump->spec->to_ns && samples[0].time_ns >= dump->spec->to_ns)
			break;
		for (size_t i = 0; i < count && goes_on; i++)
			goes_on = put_sample(dump, &samples[i]);
	}
	sonde_sample_cursor_free(cursor);
	if (!goes_on)
		return SONDE_END;
	return status == SONDE_END ? SONDE_OK : status;
}

enum sonde_status dump_samples(struct dump_profile *dump, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t track;

	if (dump->form == DUMP_PROFILE_CSV)
		sonde_buffer_put_text(&dump->cli->out,
				      "time_ns,relative_ns,track,context,name\r\n");
	for (uint32_t i = 0; !status && (track = dump_profile_track(dump, i)) != SONDE_NONE; i++)
		status = put_track_samples(dump, track, err);
	return status == SONDE_END ? SONDE_OK : status;
}
