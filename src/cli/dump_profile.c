/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde dump --values` and `--samples`, and what they share with `--contexts`. */
#include "cli/dump_profile.h"

#include <string.h>

#include "cli/human.h"
#include "cli/text.h"

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

void dump_profile_init(struct dump_profile *dump, const struct row_form *form, uint64_t start_ns)
{
	bool is_harmless = form && (form == &row_form_json || !dump->cli->out_is_terminal);

	row_writer_init(&dump->rows, form, dump->definitions, is_harmless ? NULL : cli_put_escaped);
	dump->rows.out = &dump->cli->out;
	dump->rows.contexts = dump->contexts;
	dump->rows.context_count = dump->context_count;
	dump->rows.start_ns = start_ns;
}

void dump_profile_release(struct dump_profile *dump)
{
	row_writer_release(&dump->rows);
}

void dump_profile_text(struct dump_profile *dump, const char *text)
{
	cli_put_escaped(&dump->cli->out, text);
}

void dump_profile_label(struct dump_profile *dump, uint32_t context)
{
	const struct name *label = row_context_label(&dump->rows, context);

	sonde_buffer_put(&dump->cli->out, label->text, label->length);
}

uint32_t dump_profile_track(const struct dump_profile *dump, uint32_t number)
{
	if (dump->spec->track_count)
		return number < dump->spec->track_count ? dump->spec->tracks[number] : SONDE_NONE;
	return number < sonde_definitions_track_count(dump->definitions) ? number : SONDE_NONE;
}

/* "track 0  context 3 main: CPUTIME (sec) execution = 1.2" */
static void put_value_text(struct dump_profile *dump, const struct sonde_value *value)
{
	struct sonde_buffer *out = &dump->cli->out;

	if (value->track == SONDE_NONE)
		sonde_buffer_put_format(out, "%s of all tracks",
					row_metric_statistic(dump->definitions, value->metric));
	else
		sonde_buffer_put_format(out, "track %u", value->track);
	sonde_buffer_put_format(out, "  context %u ", value->context);
	dump_profile_label(dump, value->context);
	sonde_buffer_put_text(out, ": ");
	dump_profile_text(dump, row_metric_name(dump->definitions, value->metric));
	sonde_buffer_put_format(out, " %s = %.6g\n",
				row_metric_scope(dump->definitions, value->metric), value->value);
}

static bool put_value(struct dump_profile *dump, const struct sonde_value *value)
{
	bool ends;

	if (dump->metric && strcmp(dump->metric, row_metric_name(dump->definitions, value->metric)))
		return true;
	if (!dump_profile_line(dump, &ends))
		return !ends;
	if (dump->rows.form)
		dump->rows.form->value(&dump->rows, value);
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

	if (dump->rows.form)
		dump->rows.form->head(&dump->rows, ROW_VALUES);
	for (uint32_t i = 0; !status && (track = dump_profile_track(dump, i)) != SONDE_NONE; i++)
		status = put_track_values(dump, track, err);
	/* what is over all tracks, where all are meant */
	if (!status && !dump->spec->track_count)
		status = put_track_values(dump, SONDE_NONE, err);
	return status == SONDE_END ? SONDE_OK : status;
}

/* Above the context are those around it, from the outermost on, as far as a line is for. */
static void put_sample_text(struct dump_profile *dump, const struct sonde_sample *sample)
{
	struct sonde_buffer *out = &dump->cli->out;
	bool is_early = sample->time_ns < dump->rows.start_ns;
	uint64_t relative_ns = is_early ? dump->rows.start_ns - sample->time_ns :
					  sample->time_ns - dump->rows.start_ns;

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
	if (dump->rows.form)
		dump->rows.form->sample(&dump->rows, sample);
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

	if (dump->rows.form)
		dump->rows.form->head(&dump->rows, ROW_SAMPLES);
	for (uint32_t i = 0; !status && (track = dump_profile_track(dump, i)) != SONDE_NONE; i++)
		status = put_track_samples(dump, track, err);
	return status == SONDE_END ? SONDE_OK : status;
}
