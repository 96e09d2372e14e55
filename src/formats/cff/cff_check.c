/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a file: the same pass as reading, with every argument of every event looked at. What is
 * an error follows what strict existing readers refuse, and every read past a buffer.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/pool.h"
#include "formats/cff/cff_any.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_index.h"
#include "formats/cff/cff_put.h"
#include "formats/cff/cff_read.h"

struct check {
	struct cff_visitor visitor; /* first */
	struct sonde_meter meter;
	uint32_t chunk;
	struct cff_any_texts any_texts;
};

static enum sonde_status check_chunk(struct cff_visitor *visitor, struct cff_scan *scan,
				     uint32_t chunk, struct sonde_error *err)
{
	struct check *check = (struct check *)visitor;

	check->chunk = chunk;
	check->any_texts.known.count = 0;
	return sonde_meter_add(&check->meter, scan->image->chunks.items[chunk].length, err);
}

static enum sonde_status check_text(struct check *check, struct cff_scan *scan,
				    const struct sonde_argument_spec *spec, const uint8_t *slot,
				    struct sonde_error *err)
{
	uint32_t ordinal = sonde_load_u32le(slot);
	enum sonde_status status;
	bool is_json = true;
	const char *text;
	size_t length;

	if (spec->type == SONDE_ARGUMENT_ANY)
		status = cff_any_is_json(&check->any_texts, &scan->strings, ordinal, &is_json, err);
	else
		status = cff_strings_get(&scan->strings, ordinal, &text, &length, err);
	if (status < 0)
		return status;
	if (ordinal < CFF_STRING_EMPTY && ordinal >= scan->strings.starts.count)
		CFF_FIND(scan->findings, STRING_ORDINAL, scan->image->path,
			 cff_scan_offset(scan, slot),
			 "chunk %" PRIu32 ": \"%.60s\" to be one of %zu texts\ttext %" PRIu32,
			 check->chunk, spec->name, scan->strings.starts.count, ordinal);
	if (!is_json)
		CFF_FIND(scan->findings, ANY_JSON, scan->image->path, cff_scan_offset(scan, slot),
			 "chunk %" PRIu32 ": \"%.60s\" to be JSON\ttext %" PRIu32 " is not",
			 check->chunk, spec->name, ordinal);
	return SONDE_OK;
}

static enum sonde_status check_event(struct cff_visitor *visitor, struct cff_scan *scan,
				     const struct cff_type *type, const uint8_t *event, size_t size,
				     struct sonde_error *err)
{
	struct check *check = (struct check *)visitor;
	size_t count = sonde_signature_count(type->signature), at = CFF_EVENT_SIZE;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && at < size && status == SONDE_OK; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);
		uint32_t slot = sonde_load_u32le(event + at);

		if (!spec->is_array && sonde_argument_type_is_text(spec->type))
			status = check_text(check, scan, spec, event + at, err);
		at += 4;
		if (spec->is_array && slot != CFF_ARRAY_NULL)
			at += cff_padded(slot * sonde_argument_type_size(spec->type));
	}
	return status;
}

/* The file as a whole; the recording is there to collect definitions, and thrown away. */
static enum sonde_status check_file(struct check *check, const char *path,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct cff_recording file = { 0 };
	struct sonde_definitions *definitions = sonde_definitions_new();
	enum sonde_status status;

	if (!definitions)
		return sonde_fail_nomem(err);
	status = cff_image_open(&file.image, path, diagnostics, err);
	if (status == SONDE_OK) {
		check->meter.total = file.image.size;
		file.scan.is_check = true;
		file.scan.visitor = &check->visitor;
		status = cff_recording_scan(&file, definitions, diagnostics, err);
		if (status == SONDE_OK)
			cff_index_verify(&file.scan);
	}
	cff_recording_release(&file);
	sonde_definitions_free(definitions);
	return status;
}

enum sonde_status cff_check(const char *path, const struct sonde_check_options *options,
			    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct check check = {
		.visitor = { .chunk = check_chunk, .event = check_event },
		.meter = { .progress = options->progress },
	};
	uint64_t errors = sonde_diagnostics_count(diagnostics, SONDE_ERROR);
	enum sonde_status status;

	status = check_file(&check, path, diagnostics, err);
	sonde_vec_release(&check.any_texts.known);
	if (status < 0 && status != SONDE_NOMEM && status != SONDE_IO &&
	    status != SONDE_CANCELLED && sonde_diagnostics_count(diagnostics, SONDE_ERROR) > errors)
		return SONDE_OK; /* refused as a whole, and the findings say why */
	return status;
}
