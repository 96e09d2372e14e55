/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, values and samples of a recording, as far as all formats are alike: the checks around a
 * format's hooks, and what stands in where it has none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/profile_scan.h"
#include "model/recording.h"

enum sonde_status sonde_recording_contexts(struct sonde_recording *recording,
					   const struct sonde_context **contexts, uint32_t *count,
					   struct sonde_error *err)
{
	*contexts = NULL;
	*count = 0;
	if (!recording->ops || !recording->ops->contexts)
		return SONDE_OK;
	return recording->ops->contexts(recording, contexts, count, err);
}

static enum sonde_status check_track(const struct sonde_recording *recording, uint32_t track,
				     struct sonde_error *err)
{
	uint32_t count = sonde_definitions_track_count(recording->definitions);

	if (track < count || track == SONDE_NONE)
		return SONDE_OK;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "there is no track %" PRIu32 ": the recording has %" PRIu32
			  ", numbered from 0",
			  track, count);
}

static enum sonde_status check_context(struct sonde_recording *recording, uint32_t context,
				       struct sonde_error *err)
{
	const struct sonde_context *contexts;
	enum sonde_status status;
	uint32_t count;

	status = sonde_recording_contexts(recording, &contexts, &count, err);
	if (status || context < count)
		return status;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "there is no context %" PRIu32 ": the recording has %" PRIu32
			  ", numbered from 0",
			  context, count);
}

static enum sonde_status check_metric(const struct sonde_recording *recording, uint32_t metric,
				      struct sonde_error *err)
{
	uint32_t count = sonde_definitions_metric_count(recording->definitions);

	if (metric < count)
		return SONDE_OK;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "there is no metric %" PRIu32 ": the recording has %" PRIu32
			  ", numbered from 0",
			  metric, count);
}

static enum sonde_status no_values_next(struct sonde_value_cursor *cursor,
					const struct sonde_value **values, size_t *count,
					struct sonde_error *err)
{
	(void)cursor;
	(void)err;
	*values = NULL;
	*count = 0;
	return SONDE_END;
}

static void no_values_free(struct sonde_value_cursor *cursor)
{
	(void)cursor;
}

/* Of a recording without values. */
static const struct sonde_value_cursor_ops no_values_ops = {
	.next = no_values_next,
	.free = no_values_free,
};
static struct sonde_value_cursor no_values = { .ops = &no_values_ops };

enum sonde_status sonde_value_cursor_open(struct sonde_recording *recording, uint32_t track,
					  struct sonde_value_cursor **cursor,
					  struct sonde_error *err)
{
	enum sonde_status status = check_track(recording, track, err);

	*cursor = &no_values;
	if (status || !recording->ops || !recording->ops->values_open)
		return status;
	status = recording->ops->values_open(recording, track, cursor, err);
	/* a format without statistics may say so */
	if (status == SONDE_END) {
		*cursor = &no_values;
		return SONDE_OK;
	}
	return status;
}

enum sonde_status sonde_value_cursor_open_context(struct sonde_recording *recording,
						  uint32_t context,
						  struct sonde_value_cursor **cursor,
						  struct sonde_error *err)
{
	enum sonde_status status = check_context(recording, context, err);

	*cursor = &no_values;
	if (status || !recording->ops || !recording->ops->values_open)
		return status;
	if (!recording->ops->context_values_open)
		return sonde_scan_context(recording, context, cursor, err);
	return recording->ops->context_values_open(recording, context, cursor, err);
}

enum sonde_status sonde_value_cursor_next(struct sonde_value_cursor *cursor,
					  const struct sonde_value **values, size_t *count,
					  struct sonde_error *err)
{
	return cursor->ops->next(cursor, values, count, err);
}

void sonde_value_cursor_free(struct sonde_value_cursor *cursor)
{
	if (cursor)
		cursor->ops->free(cursor);
}

enum sonde_status sonde_recording_value(struct sonde_recording *recording, uint32_t track,
					uint32_t context, uint32_t metric, double *value,
					struct sonde_error *err)
{
	enum sonde_status status = check_track(recording, track, err);

	*value = 0;
	if (!status)
		status = check_context(recording, context, err);
	if (!status)
		status = check_metric(recording, metric, err);
	if (status)
		return status;
	if (!recording->ops || !recording->ops->values_open)
		return SONDE_END;
	if (!recording->ops->value)
		return sonde_scan_value(recording, track, context, metric, value, err);
	return recording->ops->value(recording, track, context, metric, value, err);
}

enum sonde_status sonde_recording_value_count(struct sonde_recording *recording, uint64_t *count,
					      struct sonde_error *err)
{
	*count = 0;
	if (!recording->ops || !recording->ops->values_open)
		return SONDE_OK;
	if (!recording->ops->value_count)
		return sonde_scan_value_count(recording, count, err);
	*count = recording->ops->value_count(recording);
	return SONDE_OK;
}

bool sonde_recording_formula(struct sonde_recording *recording, uint32_t number,
			     struct sonde_formula *formula)
{
	*formula = (struct sonde_formula){ "", "", NULL };
	return recording->ops && recording->ops->formula &&
	       recording->ops->formula(recording, number, formula);
}

bool sonde_recording_formula_value(struct sonde_recording *recording, uint32_t number,
				   uint32_t context, bool total, double *value)
{
	if (recording->ops && recording->ops->formula_value &&
	    recording->ops->formula_value(recording, number, context, total, value))
		return true;
	*value = 0;
	return false;
}

static enum sonde_status no_samples_next(struct sonde_sample_cursor *cursor,
					 const struct sonde_sample **samples, size_t *count,
					 struct sonde_error *err)
{
	(void)cursor;
	(void)err;
	*samples = NULL;
	*count = 0;
	return SONDE_END;
}

static void no_samples_seek(struct sonde_sample_cursor *cursor, uint64_t time_ns)
{
	(void)cursor;
	(void)time_ns;
}

static void no_samples_free(struct sonde_sample_cursor *cursor)
{
	(void)cursor;
}

static const struct sonde_sample_cursor_ops no_samples_ops = {
	.next = no_samples_next,
	.seek_time = no_samples_seek,
	.free = no_samples_free,
};
static struct sonde_sample_cursor no_samples = { .ops = &no_samples_ops };

enum sonde_status sonde_sample_cursor_open(struct sonde_recording *recording, uint32_t track,
					   struct sonde_sample_cursor **cursor,
					   struct sonde_error *err)
{
	enum sonde_status status = check_track(recording, track, err);

	*cursor = &no_samples;
	if (status || track == SONDE_NONE || !recording->ops || !recording->ops->samples_open)
		return status;
	return recording->ops->samples_open(recording, track, cursor, err);
}

enum sonde_status sonde_sample_cursor_next(struct sonde_sample_cursor *cursor,
					   const struct sonde_sample **samples, size_t *count,
					   struct sonde_error *err)
{
	return cursor->ops->next(cursor, samples, count, err);
}

void sonde_sample_cursor_seek_time(struct sonde_sample_cursor *cursor, uint64_t time_ns)
{
	cursor->ops->seek_time(cursor, time_ns);
}

void sonde_sample_cursor_free(struct sonde_sample_cursor *cursor)
{
	if (cursor)
		cursor->ops->free(cursor);
}

/* The file without its folders. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void print_place(const struct sonde_definitions *definitions,
			const struct sonde_context *context, const char *what, char *space,
			size_t size)
{
	const char *file = sonde_definitions_string(definitions, context->file);

	if (*file)
		snprintf(space, size, "%s%s:%" PRIu32, what, base_name(file), context->line);
	else
		snprintf(space, size, "%s?", what);
}

static void print_instruction(const struct sonde_definitions *definitions,
			      const struct sonde_context *context, char *space, size_t size)
{
	const struct sonde_module *module = sonde_definitions_module(definitions, context->module);
	const char *path = module ? sonde_definitions_string(definitions, module->path) : "";

	snprintf(space, size, "%s+0x%" PRIx64, *path ? base_name(path) : "?", context->address);
}

const char *sonde_entry_name(unsigned int entry)
{
	switch (entry) {
	case SONDE_ENTRY_MAIN_THREAD:
		return "main thread";
	case SONDE_ENTRY_APPLICATION_THREAD:
		return "application thread";
	default:
		return "unknown entry";
	}
}

const char *sonde_context_label(const struct sonde_definitions *definitions,
				const struct sonde_context *context, char *space, size_t size)
{
	const struct sonde_function *function =
		context->kind == SONDE_CONTEXT_FUNCTION ?
			sonde_definitions_function(definitions, context->function) :
			NULL;
	char label[SONDE_LABEL_SIZE];

	if (function && function->name)
		return sonde_definitions_string(definitions, function->name);
	if (context->kind == SONDE_CONTEXT_ENTRY)
		return sonde_definitions_string(definitions, context->name);
	if (!size)
		return "";
	switch (context->kind) {
	case SONDE_CONTEXT_ROOT:
		snprintf(space, size, "all");
		break;
	case SONDE_CONTEXT_FUNCTION:
		if (context->function == SONDE_NONE)
			snprintf(space, size, "<unknown function>");
		else
			snprintf(space, size, "%s",
				 sonde_definitions_function_label(definitions, context->function,
								  label));
		break;
	case SONDE_CONTEXT_LOOP:
		print_place(definitions, context, "loop at ", space, size);
		break;
	case SONDE_CONTEXT_LINE:
		print_place(definitions, context, "", space, size);
		break;
	default:
		print_instruction(definitions, context, space, size);
		break;
	}
	return space;
}

const char *sonde_context_kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[SONDE_CONTEXT_ROOT] = "root",	       [SONDE_CONTEXT_ENTRY] = "entry",
		[SONDE_CONTEXT_FUNCTION] = "function", [SONDE_CONTEXT_LOOP] = "loop",
		[SONDE_CONTEXT_LINE] = "line",	       [SONDE_CONTEXT_INSTRUCTION] = "instruction",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}

const char *sonde_context_relation_name(unsigned int relation)
{
	static const char *const names[] = {
		[SONDE_CONTEXT_ENCLOSED] = "enclosed",
		[SONDE_CONTEXT_CALLED] = "called",
		[SONDE_CONTEXT_INLINED] = "inlined",
	};

	return relation < sizeof(names) / sizeof(names[0]) ? names[relation] : "other";
}
