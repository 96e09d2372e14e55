/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events, spans, values, samples and contexts as lines of text: CSV (RFC 4180) with a header, or JSON with
 * one object a line. The formats csv and jsonl write files of them, `sonde dump` prints them: the same
 * columns, spelled in the same way. Names are encoded once and kept, since they are written for each row.
 */
#ifndef SONDE_FORMATS_ROWS_H
#define SONDE_FORMATS_ROWS_H

#include <sonde/profile.h>

#include "model/call_spans.h"
#include "model/names.h"
#include "model/signatures.h"

/* Which rows. Words of a style for those that have one. */
enum row_table {
	ROW_EVENTS,
	ROW_SPANS,
	ROW_VALUES,
	ROW_SAMPLES,
	ROW_CONTEXTS,
	ROW_TABLE_COUNT,
};

struct row_form;

/* One thread at a time. */
struct row_writer {
	const struct row_form *form;
	struct sonde_buffer *out; /* where rows are appended; keeps failures */
	const struct sonde_definitions *definitions;
	const struct sonde_context *contexts;
	uint32_t context_count;
	uint64_t start_ns; /* relative times count from here */
	bool with_details; /* registers, stack and bytes too; arguments always */
	name_encoder *encode;
	struct names functions, types, tracks, context_labels;
	struct signatures signatures;
	struct sonde_buffer scratch;
};

/* What comes with an event. Each is NULL where there is nothing, or nothing is wanted. */
struct row_extras {
	const struct sonde_detail *detail;	 /* never arguments */
	const struct sonde_detail *arguments;	 /* and what they follow: */
	const struct sonde_signature *signature; /* not NULL with arguments */
	const char *fault;			 /* why it cannot be read */
};

/* Of a metric, by context: in it and all below, and in it alone. */
struct row_sums {
	double *total, *self;
};

struct row_form {
	/* A text as a field. */
	name_encoder *encode;
	/* Before the first row. */
	void (*head)(struct row_writer *writer, enum row_table table);
	void (*event)(struct row_writer *writer, const struct sonde_event *event,
		      const struct row_extras *extras);
	void (*span)(struct row_writer *writer, uint32_t track, const struct sonde_call_span *span);
	void (*value)(struct row_writer *writer, const struct sonde_value *value);
	void (*sample)(struct row_writer *writer, const struct sonde_sample *sample);
	/* `sums` NULL: there is no metric. */
	void (*context)(struct row_writer *writer, uint32_t number, const struct row_sums *sums);
};

extern const struct row_form row_form_csv;
extern const struct row_form row_form_json;

/* `encode` in place of the form's own; NULL: that. Contexts, start and details are set by the caller. */
void row_writer_init(struct row_writer *writer, const struct row_form *form,
		     const struct sonde_definitions *definitions, name_encoder *encode);
void row_writer_release(struct row_writer *writer);

/* Whether memory failed for names; what is written is not right then. */
bool row_writer_failed(const struct row_writer *writer);

/* What a detail becomes: arguments always, anything else where it is wanted. `err` keeps the fault's text. */
void row_take_detail(struct row_writer *writer, const struct sonde_detail *detail,
		     struct row_extras *extras, struct sonde_error *err);

/* What the forms share. */

/* The function or, of the other kinds, the event type, encoded. */
const struct name *row_event_name(struct row_writer *writer, const struct sonde_event *event);
/* What a context is called, encoded; of one that is not there "". */
const struct name *row_context_label(struct row_writer *writer, uint32_t context);
/* The texts of a metric; "" where there is none. */
const char *row_metric_name(const struct sonde_definitions *definitions, uint32_t metric);
const char *row_metric_scope(const struct sonde_definitions *definitions, uint32_t metric);
const char *row_metric_statistic(const struct sonde_definitions *definitions, uint32_t metric);
/* The word of a kind, with its length. */
struct name row_kind_name(unsigned int kind);

/* The name of an event type, or something made up. */
const char *row_type_label(const struct sonde_definitions *definitions, uint32_t id,
			   char space[SONDE_LABEL_SIZE]);

/* A piece of a row at a place with room for it; gives the place behind. */
static inline char *row_put(char *place, const char *text, size_t size)
{
	memcpy(place, text, size);
	return place + size;
}

static inline char *row_put_name(char *place, const struct name *name)
{
	return row_put(place, name->text, name->length);
}

/* Digits of a number, 20 at most. */
char *row_put_u64(char *place, uint64_t value);
/* The time since the start, with a sign where it is before; 21 at most. */
char *row_put_relative(const struct row_writer *writer, char *place, uint64_t time_ns);

#endif
