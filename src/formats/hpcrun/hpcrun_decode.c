/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that all generations share: texts, pairs, modules, metrics; and what a fault does. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_decode.h"

enum sonde_status hpcrun_fault(struct hpcrun_decoder *decoder, enum hpcrun_finding_number number,
			       uint64_t offset, const char *expected_tab_found, ...)
{
	enum sonde_status status = number == HPCRUN_FINDING_CUT ? SONDE_TRUNCATED : SONDE_CORRUPT;
	char text[256];
	const char *tab;
	va_list arguments;

	va_start(arguments, expected_tab_found);
	vsnprintf(text, sizeof(text), expected_tab_found, arguments);
	va_end(arguments);
	if (decoder->diagnostics) {
		sonde_diagnostics_add(decoder->diagnostics, &hpcrun_finding_types[number],
				      decoder->file, offset, "%s", text);
		return SONDE_END;
	}
	tab = strchr(text, '\t');
	return sonde_fail(decoder->err, status, offset,
			  "%s: expected %.*s, found %s; sonde recover keeps what is whole",
			  hpcrun_finding_types[number].title, tab ? (int)(tab - text) : 0, text,
			  tab ? tab + 1 : text);
}

const char *hpcrun_text(struct hpcrun_decoder *decoder)
{
	uint64_t offset = decoder->bytes.position;
	uint32_t length = hpcrun_u32(decoder);
	const uint8_t *start = sonde_bytes_take(&decoder->bytes, length);
	size_t whole;

	if (!start)
		return "";
	whole = strnlen((const char *)start, length);
	if (whole != length)
		hpcrun_found(decoder->diagnostics, TEXT, decoder->file, offset,
			     "a text of %u bytes\ta NUL at %zu of them", length, whole);
	return sonde_arena_copy_text(&decoder->profile->texts, (const char *)start, whole);
}

enum sonde_status hpcrun_expect(struct hpcrun_decoder *decoder, uint64_t count, size_t size,
				const char *what)
{
	size_t left = sonde_bytes_left(&decoder->bytes);

	if (!decoder->bytes.overrun && count <= left / size)
		return SONDE_OK;
	return hpcrun_fault(decoder, HPCRUN_FINDING_CUT, decoder->bytes.position,
			    "%llu %s, of %zu bytes and more each\t%zu bytes",
			    (unsigned long long)count, what, size, left);
}

/*
 * Reads a count and checks it. Where more is announced than can be there, *count is what fits, and
 * the list will end early: SONDE_END.
 */
static enum sonde_status list_count(struct hpcrun_decoder *decoder, size_t size, const char *what,
				    uint32_t *count)
{
	enum sonde_status status;

	*count = hpcrun_u32(decoder);
	status = hpcrun_expect(decoder, *count, size, what);
	if (status == SONDE_END)
		*count = decoder->bytes.overrun ?
				 0 :
				 (uint32_t)(sonde_bytes_left(&decoder->bytes) / size);
	return status;
}

/* An item that runs past the end; `at` is where it starts. */
static enum sonde_status item_cut(struct hpcrun_decoder *decoder, size_t at, const char *what)
{
	return hpcrun_fault(decoder, HPCRUN_FINDING_CUT, at, "a whole %s\t%zu bytes", what,
			    decoder->bytes.size - at);
}

enum sonde_status hpcrun_decode_pairs(struct hpcrun_decoder *decoder)
{
	uint32_t count;
	enum sonde_status status = list_count(decoder, 8, "names with values", &count);

	if (status < 0)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		size_t at = decoder->bytes.position;
		struct hpcrun_pair pair;
		struct hpcrun_pair *place;

		pair.name = hpcrun_text(decoder);
		pair.value = hpcrun_text(decoder);
		if (decoder->bytes.overrun)
			return item_cut(decoder, at, "name with value");
		place = pair.name && pair.value ? sonde_vec_push(&decoder->profile->pairs) : NULL;
		if (!place)
			return sonde_fail_nomem(decoder->err);
		*place = pair;
	}
	return status;
}

enum sonde_status hpcrun_decode_modules(struct hpcrun_decoder *decoder)
{
	uint32_t count;
	enum sonde_status status = list_count(decoder, 14, "modules", &count);

	if (status < 0)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		size_t at = decoder->bytes.position;
		struct hpcrun_module module = { .id = hpcrun_u16(decoder) };
		struct hpcrun_module *place;

		module.path = hpcrun_text(decoder);
		module.flags = hpcrun_u64(decoder);
		if (decoder->bytes.overrun)
			return item_cut(decoder, at, "module");
		place = module.path ? sonde_vec_push(&decoder->profile->modules) : NULL;
		if (!place)
			return sonde_fail_nomem(decoder->err);
		*place = module;
	}
	return status;
}

static void metric_flags(struct hpcrun_metric *metric, const uint8_t *flags, bool little_endian)
{
	metric->type = flags[HPCRUN_METRIC_TYPE];
	metric->value_type = flags[HPCRUN_METRIC_VALUE_TYPE];
	metric->is_real = flags[HPCRUN_METRIC_FORMAT] == HPCRUN_METRIC_IS_REAL;
	metric->at_function = flags[HPCRUN_METRIC_AT_FUNCTION];
	metric->partner = hpcrun_load_u16(flags + HPCRUN_METRIC_PARTNER, little_endian);
	metric->show = flags[HPCRUN_METRIC_SHOW];
	metric->show_percent = flags[HPCRUN_METRIC_SHOW_PERCENT];
}

static void one_metric(struct hpcrun_decoder *decoder, bool has_more, struct hpcrun_metric *metric)
{
	const uint8_t *flags;
	uint64_t mean;

	*metric = (struct hpcrun_metric){ .name = hpcrun_text(decoder) };
	metric->description = hpcrun_text(decoder);
	flags = sonde_bytes_take(&decoder->bytes, HPCRUN_METRIC_FLAGS_SIZE);
	if (flags)
		metric_flags(metric, flags, decoder->little_endian);
	metric->period = hpcrun_u64(decoder);
	metric->formula = hpcrun_text(decoder);
	metric->format = hpcrun_text(decoder);
	if (!has_more)
		return;
	metric->is_frequency = hpcrun_u16(decoder);
	metric->is_multiplexed = hpcrun_u16(decoder);
	mean = hpcrun_u64(decoder);
	memcpy(&metric->mean, &mean, sizeof(mean));
	metric->samples = hpcrun_u64(decoder);
}

enum sonde_status hpcrun_decode_metrics(struct hpcrun_decoder *decoder, bool has_more)
{
	uint32_t count;
	enum sonde_status status = list_count(decoder, has_more ? 60 : 40, "metrics", &count);

	if (status < 0)
		return status;
	if (count > UINT16_MAX)
		return hpcrun_fault(decoder, HPCRUN_FINDING_SECTION, decoder->bytes.position,
				    "at most %u metrics\t%u", UINT16_MAX, count);
	for (uint32_t i = 0; i < count; i++) {
		size_t at = decoder->bytes.position;
		struct hpcrun_metric metric, *place;

		one_metric(decoder, has_more, &metric);
		if (decoder->bytes.overrun)
			return item_cut(decoder, at, "metric");
		if (!metric.name || !metric.description || !metric.formula || !metric.format)
			return sonde_fail_nomem(decoder->err);
		place = sonde_vec_push(&decoder->profile->metrics);
		if (!place)
			return sonde_fail_nomem(decoder->err);
		*place = metric;
	}
	return status;
}

bool hpcrun_value_of(const struct hpcrun_metric *metric, uint64_t bits, double *value)
{
	double number;

	if (metric->is_real)
		memcpy(&number, &bits, sizeof(number));
	else
		number = (double)bits;
	*value = number * (double)metric->period;
	return isfinite(*value) && *value != 0;
}

static void add_module(struct hpcrun_ids *ids, uint16_t module)
{
	ids->modules[module >> 6] |= UINT64_C(1) << (module & 63);
}

void hpcrun_note_modules(struct hpcrun_decoder *decoder, const uint16_t *always, size_t count)
{
	const struct hpcrun_profile *profile = decoder->profile;
	struct hpcrun_ids *ids = profile->ids;

	memset(ids->modules, 0, sizeof(ids->modules));
	for (size_t i = 0; i < count; i++)
		add_module(ids, always[i]);
	for (size_t i = 0; i < profile->modules.count; i++) {
		uint16_t id = profile->modules.items[i].id;

		if (hpcrun_ids_has_module(ids, id))
			hpcrun_found(decoder->diagnostics, MODULE_TWICE, decoder->file,
				     SONDE_NO_OFFSET, "a new number for %s\t%u",
				     profile->modules.items[i].path, id);
		add_module(ids, id);
	}
}
