/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of text: what CSV and JSON share. */
#include "formats/rows/rows.h"

#include <stdio.h>

#define LABEL_LONGEST 16384

const char *row_type_label(const struct sonde_definitions *definitions, uint32_t id,
			   char space[SONDE_LABEL_SIZE])
{
	const struct sonde_event_type *type = sonde_definitions_event_type(definitions, id);

	if (type && type->name)
		return sonde_definitions_string(definitions, type->name);
	snprintf(space, SONDE_LABEL_SIZE, "event type %u", id);
	return space;
}

void row_writer_init(struct row_writer *writer, const struct row_form *form,
		     const struct sonde_definitions *definitions, name_encoder *encode)
{
	if (!encode)
		encode = form->encode;
	*writer = (struct row_writer){
		.form = form,
		.definitions = definitions,
		.encode = encode,
		.functions = { .definitions = definitions,
			       .encode = encode,
			       .lookup = sonde_definitions_function_label },
		.types = { .definitions = definitions, .encode = encode, .lookup = row_type_label },
		.tracks = { .definitions = definitions,
			    .encode = encode,
			    .lookup = sonde_definitions_track_label },
		.context_labels = { .definitions = definitions, .encode = encode },
		.signatures = { .definitions = definitions },
	};
}

void row_writer_release(struct row_writer *writer)
{
	names_release(&writer->functions);
	names_release(&writer->types);
	names_release(&writer->tracks);
	names_release(&writer->context_labels);
	signatures_release(&writer->signatures);
	sonde_buffer_release(&writer->scratch);
}

bool row_writer_failed(const struct row_writer *writer)
{
	return writer->functions.failed || writer->types.failed || writer->tracks.failed ||
	       writer->context_labels.failed || writer->scratch.failed || writer->signatures.failed;
}

void row_take_detail(struct row_writer *writer, const struct sonde_detail *detail,
		     struct row_extras *extras, struct sonde_error *err)
{
	if (detail->kind != SONDE_DETAIL_ARGUMENTS) {
		extras->detail = writer->with_details ? detail : NULL;
		return;
	}
	extras->signature = signatures_get(&writer->signatures, detail->event_type, err);
	if (extras->signature)
		extras->arguments = detail;
	else
		extras->fault = err->message;
}

const struct name *row_event_name(struct row_writer *writer, const struct sonde_event *event)
{
	return names_get(sonde_event_has_function(event) ? &writer->functions : &writer->types,
			 event->function);
}

const struct name *row_context_label(struct row_writer *writer, uint32_t context)
{
	struct names *labels = &writer->context_labels;
	bool is_there = context < writer->context_count;
	char space[LABEL_LONGEST];
	const char *label = "";

	if (context < labels->count && labels->items[context].text)
		return &labels->items[context];
	if (is_there)
		label = sonde_context_label(writer->definitions, &writer->contexts[context], space,
					    sizeof(space));
	sonde_buffer_clear(&labels->scratch);
	labels->encode(&labels->scratch, label);
	/* what is not there shares a place behind all others */
	return names_keep(labels, is_there ? context : writer->context_count);
}

const char *row_metric_name(const struct sonde_definitions *definitions, uint32_t metric)
{
	const struct sonde_metric *found = sonde_definitions_metric(definitions, metric);

	return found ? sonde_definitions_string(definitions, found->name) : "";
}

const char *row_metric_scope(const struct sonde_definitions *definitions, uint32_t metric)
{
	const struct sonde_metric *found = sonde_definitions_metric(definitions, metric);

	return found ? sonde_definitions_string(definitions, found->scope) : "";
}

const char *row_metric_statistic(const struct sonde_definitions *definitions, uint32_t metric)
{
	const struct sonde_metric *found = sonde_definitions_metric(definitions, metric);

	return found ? sonde_definitions_string(definitions, found->statistic) : "";
}

struct name row_kind_name(unsigned int kind)
{
	static const struct name names[] = {
#define X(name, value, text) [value] = { text, sizeof(text) - 1 },
		SONDE_EVENT_KIND_LIST(X)
#undef X
	};

	return names[kind < SONDE_EVENT_KIND_COUNT ? kind : SONDE_EVENT_OTHER];
}

char *row_put_u64(char *place, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char digits[20], *end = digits + sizeof(digits), *start = end;

	/* not in chains: halves of eight digits are divided side by side */
	while (value >= 100000000) {
		uint32_t low = (uint32_t)(value % 100000000), high = low / 10000;

		value /= 100000000;
		low %= 10000;
		start -= 8;
		memcpy(start, pairs + high / 100 * 2, 2);
		memcpy(start + 2, pairs + high % 100 * 2, 2);
		memcpy(start + 4, pairs + low / 100 * 2, 2);
		memcpy(start + 6, pairs + low % 100 * 2, 2);
	}
	for (; value >= 100; value /= 100) {
		start -= 2;
		memcpy(start, pairs + value % 100 * 2, 2);
	}
	if (value >= 10) {
		start -= 2;
		memcpy(start, pairs + value * 2, 2);
	} else {
		*--start = (char)('0' + value);
	}
	return row_put(place, start, (size_t)(end - start));
}

char *row_put_relative(const struct row_writer *writer, char *place, uint64_t time_ns)
{
	if (time_ns >= writer->start_ns)
		return row_put_u64(place, time_ns - writer->start_ns);
	*place++ = '-';
	return row_put_u64(place, writer->start_ns - time_ns);
}
