/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovering a file: whole chunks are copied as they are. Of a damaged one its good parts are
 * written anew, and of its events those before the fault; what strict readers refuse without need
 * is put right (a value that is not JSON becomes null, a definition says what the first did).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/pool.h"
#include "formats/cff/cff_any.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_index.h"
#include "formats/cff/cff_ours.h"
#include "formats/cff/cff_put.h"
#include "formats/cff/cff_read.h"
#include "formats/cff/cff_resync.h"

/* A change to the bytes of events. */
struct patch {
	uint64_t offset; /* in the image */
	uint32_t value;
	enum {
		PATCH_VALUE,
		PATCH_TEXT,
		PATCH_DROP
	} kind; /* TEXT: `value` counts added texts;
							      DROP: of a whole definition */
};

/* Events may refer to texts that a table does not have; those added come behind, within reason. */
#define FILLERS_MAX 65536u

/* Where the patches of a chunk start, and the texts that they add to its string table. */
struct mending {
	size_t patches;
	size_t texts, texts_end; /* in recovery.texts */
	uint32_t text_count;
	uint32_t texts_before; /* that the table has */
	uint32_t ordinals_end; /* events refer to none from here on */
};

struct recovery {
	struct cff_visitor visitor; /* first */
	struct sonde_meter meter;
	struct cff_recording file;
	struct sonde_definitions *definitions;
	SONDE_VEC(struct patch) patches;    /* in the order of the file */
	SONDE_VEC(struct mending) mendings; /* by chunk */
	struct sonde_buffer texts;
	struct cff_any_texts any_texts;
	bool is_changed; /* the output differs from the input */
	uint64_t dropped;
	struct sonde_new_file made;
	struct sonde_buffer chunk; /* one that is written anew */
};

static enum sonde_status add_patch(struct recovery *recovery, const struct cff_scan *scan,
				   const uint8_t *at, uint32_t value, int kind,
				   struct sonde_error *err)
{
	struct patch *patch = sonde_vec_push(&recovery->patches);

	if (!patch)
		return sonde_fail_nomem(err);
	*patch = (struct patch){ (uint64_t)(at - scan->image->data), value, kind };
	recovery->is_changed = true;
	return SONDE_OK;
}

static enum sonde_status visit_chunk(struct cff_visitor *visitor, struct cff_scan *scan,
				     uint32_t chunk, struct sonde_error *err)
{
	struct recovery *recovery = (struct recovery *)visitor;
	struct mending *mending = sonde_vec_push(&recovery->mendings);

	if (!mending)
		return sonde_fail_nomem(err);
	recovery->any_texts.known.count = 0;
	*mending = (struct mending){
		.patches = recovery->patches.count,
		.texts = recovery->texts.size,
		.texts_end = recovery->texts.size,
	};
	return sonde_meter_add(&recovery->meter, scan->image->chunks.items[chunk].length, err);
}

/* Notes how far the ordinals of a chunk go, also where its table does not. */
static void note_ordinal(struct mending *mending, uint32_t ordinal)
{
	if (ordinal < CFF_STRING_EMPTY && ordinal >= mending->ordinals_end)
		mending->ordinals_end = ordinal + 1;
}

/* The ordinal of the first text that is added to the table of a chunk. */
static uint32_t first_added(const struct mending *mending)
{
	uint32_t most = mending->texts_before + FILLERS_MAX;

	if (mending->ordinals_end < mending->texts_before)
		return mending->texts_before;
	return mending->ordinals_end < most ? mending->ordinals_end : most;
}

static enum sonde_status visit_event(struct cff_visitor *visitor, struct cff_scan *scan,
				     const struct cff_type *type, const uint8_t *event, size_t size,
				     struct sonde_error *err)
{
	struct recovery *recovery = (struct recovery *)visitor;
	struct mending *mending = &recovery->mendings.items[recovery->mendings.count - 1];
	size_t count = sonde_signature_count(type->signature), at = CFF_EVENT_SIZE;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && at < size && status == SONDE_OK; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);
		uint32_t slot = sonde_load_u32le(event + at);
		bool is_json = true;

		if (sonde_argument_type_is_text(spec->type))
			note_ordinal(mending, slot);
		if (!spec->is_array && spec->type == SONDE_ARGUMENT_ANY)
			status = cff_any_is_json(&recovery->any_texts, &scan->strings, slot,
						 &is_json, err);
		if (status == SONDE_OK && !is_json)
			status = add_patch(recovery, scan, event + at, CFF_STRING_NULL, PATCH_VALUE,
					   err);
		at += 4;
		if (spec->is_array && slot != CFF_ARRAY_NULL)
			at += cff_padded(slot * sonde_argument_type_size(spec->type));
	}
	return status;
}

/* A definition that is at fault says what the first one of its name did, or is left out. */
static enum sonde_status visit_misdefined(struct cff_visitor *visitor, struct cff_scan *scan,
					  const uint8_t *event, const struct cff_type *type,
					  struct sonde_error *err)
{
	struct recovery *recovery = (struct recovery *)visitor;
	struct mending *mending = &recovery->mendings.items[recovery->mendings.count - 1];
	const uint8_t *slots = event + CFF_EVENT_SIZE;
	enum sonde_status status;

	if (!type)
		return add_patch(recovery, scan, event, 0, PATCH_DROP, err);
	status = add_patch(recovery, scan, slots + 4, type->class, PATCH_VALUE, err);
	if (status < 0)
		return status;
	if (!*type->arguments)
		return add_patch(recovery, scan, slots + 16, CFF_STRING_NULL, PATCH_VALUE, err);
	status = add_patch(recovery, scan, slots + 16, mending->text_count++, PATCH_TEXT, err);
	sonde_buffer_put(&recovery->texts, type->arguments, strlen(type->arguments) + 1);
	mending->texts_end = recovery->texts.size;
	mending->texts_before = (uint32_t)scan->strings.starts.count;
	return recovery->texts.failed ? sonde_fail_nomem(err) : status;
}

static bool is_index(const struct recovery *recovery, const struct cff_part *part)
{
	size_t size = sizeof(CFF_OURS_INDEX) - 1;

	return recovery->file.header.is_ours && part->type == CFF_PART_BINARY_RESOURCE &&
	       part->size >= size && !memcmp(part->data, CFF_OURS_INDEX, size);
}

/* Where the header is lost a new one is made, and nothing of the old one is written. */
static bool has_header(const struct recovery *recovery)
{
	return recovery->file.header.is_there && recovery->file.header.is_whole;
}

/* The type that a chunk has in the output: there may be more in that of a lost header. */
static uint32_t written_type(const struct recovery *recovery, uint32_t number)
{
	const struct cff_image *image = &recovery->file.image;
	uint32_t type = image->chunks.items[number].type;

	return type == CFF_CHUNK_FILE_HEADER && !has_header(recovery) ? CFF_CHUNK_EVENT_DATA : type;
}

/* Part `number` of a chunk goes into the output. */
static bool is_kept(const struct recovery *recovery, uint32_t chunk, uint32_t number,
		    const struct cff_part *part)
{
	const struct cff_buffer *buffer = &recovery->file.scan.buffers.items[chunk];

	if (number == buffer->part)
		return true;
	if (!part->data)
		return false;
	switch (part->type) {
	case CFF_PART_FILE_HEADER:
		return has_header(recovery);
	case CFF_PART_STRINGS:
	case CFF_PART_STRING_RESOURCE:
		return true;
	case CFF_PART_EVENTS: /* not the one that is read */
		return part->size % 4 == 0;
	case CFF_PART_BINARY_RESOURCE:
		return !(number == buffer->times_part && buffer->is_times_bad) &&
		       !(recovery->is_changed && is_index(recovery, part));
	default:
		return false;
	}
}

/* A chunk can be copied as it is. */
static bool is_whole(const struct recovery *recovery, uint32_t number)
{
	const struct cff_image *image = &recovery->file.image;
	const struct cff_chunk *chunk = &image->chunks.items[number];
	const struct cff_buffer *buffer = &recovery->file.scan.buffers.items[number];
	uint32_t type = chunk->type;
	uint32_t start = cff_chunk_field(image, chunk, CFF_CHUNK_START);
	uint32_t end = cff_chunk_field(image, chunk, CFF_CHUNK_END);
	size_t next = number + 1 < recovery->mendings.count ?
			      recovery->mendings.items[number + 1].patches :
			      recovery->patches.count;
	uint32_t parts = cff_chunk_part_count(image, chunk);

	if (cff_chunk_field(image, chunk, CFF_CHUNK_LENGTH) != chunk->length || chunk->length % 4 ||
	    (start != CFF_NO_TIME && end != CFF_NO_TIME && start > end) || buffer->is_faulty ||
	    next != recovery->mendings.items[number].patches ||
	    (type == CFF_CHUNK_EVENT_DATA && buffer->part == SONDE_NONE))
		return false;
	for (uint32_t i = 0; i < parts; i++) {
		struct cff_part part = cff_chunk_part(image, chunk, i);

		if (!part.data || !is_kept(recovery, number, i, &part))
			return false;
	}
	return (type == CFF_CHUNK_EVENT_DATA || type == CFF_CHUNK_FILE_HEADER) &&
	       type == written_type(recovery, number);
}

/* Head and list of parts of a chunk that is written anew; the lengths come later. */
static void begin_chunk(struct sonde_buffer *out, uint32_t id, uint32_t type, uint32_t start,
			uint32_t end, uint32_t parts)
{
	sonde_buffer_clear(out);
	sonde_put_u32le(out, id);
	sonde_put_u32le(out, type);
	sonde_put_u32le(out, 0);
	sonde_put_u32le(out, start);
	sonde_put_u32le(out, end);
	sonde_put_u32le(out, parts);
	for (uint32_t i = 0; i < parts * (CFF_PART_SIZE / 4); i++)
		sonde_put_u32le(out, 0);
}

/* Says in the list of parts what was put into the buffer from `start` on. */
static void end_part(struct sonde_buffer *out, uint32_t number, uint32_t parts, uint32_t type,
		     size_t start)
{
	size_t list = CFF_CHUNK_SIZE + (size_t)number * CFF_PART_SIZE;
	size_t head = CFF_CHUNK_SIZE + (size_t)parts * CFF_PART_SIZE;
	uint8_t *entry = (uint8_t *)out->data + list;

	if (out->failed)
		return;
	sonde_store_u32le(entry + CFF_PART_TYPE, type);
	sonde_store_u32le(entry + CFF_PART_OFFSET, (uint32_t)(start - head));
	sonde_store_u32le(entry + CFF_PART_LENGTH, (uint32_t)(out->size - start));
	cff_put_padding(out);
}

static enum sonde_status write_chunk(struct recovery *recovery, struct sonde_error *err)
{
	struct sonde_buffer *chunk = &recovery->chunk;

	if (chunk->failed)
		return sonde_fail_nomem(err);
	if (chunk->size > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a chunk would be larger than 4 GB");
	sonde_store_u32le((uint8_t *)chunk->data + CFF_CHUNK_LENGTH, (uint32_t)chunk->size);
	return sonde_output_write(&recovery->made.output, chunk->data, chunk->size, err);
}

/* The events up to the fault, with the patches carried out. */
static void put_events(struct recovery *recovery, uint32_t number)
{
	const struct cff_buffer *buffer = &recovery->file.scan.buffers.items[number];
	uint64_t begin = (uint64_t)(buffer->data - recovery->file.image.data), copied = begin;
	uint64_t end = begin + buffer->size;
	struct sonde_buffer *out = &recovery->chunk;

	for (size_t i = recovery->mendings.items[number].patches;
	     i < recovery->patches.count && recovery->patches.items[i].offset < end; i++) {
		const struct patch *patch = &recovery->patches.items[i];

		if (patch->offset < copied)
			break; /* of a later chunk whose buffer lies elsewhere */
		sonde_buffer_put(out, recovery->file.image.data + copied, patch->offset - copied);
		if (patch->kind == PATCH_TEXT)
			sonde_put_u32le(out, first_added(&recovery->mendings.items[number]) +
						     patch->value);
		else if (patch->kind == PATCH_VALUE)
			sonde_put_u32le(out, patch->value);
		copied = patch->offset + (patch->kind == PATCH_DROP ? CFF_EVENT_SIZE + 20 : 4);
	}
	sonde_buffer_put(out, recovery->file.image.data + copied, end - copied);
}

static void put_strings(struct recovery *recovery, uint32_t number, const struct cff_part *part)
{
	const struct mending *mending = &recovery->mendings.items[number];
	struct sonde_buffer *out = &recovery->chunk;

	if (part)
		sonde_buffer_put(out, part->data, part->size);
	if (!mending->text_count)
		return;
	if (part && part->size && part->data[part->size - 1])
		sonde_buffer_put_char(out, '\0');
	/* empty texts of a table are read as null, as those that it does not have are */
	for (uint32_t i = mending->texts_before; i < first_added(mending); i++)
		sonde_buffer_put_char(out, '\0');
	sonde_buffer_put(out, recovery->texts.data + mending->texts,
			 mending->texts_end - mending->texts);
}

/* What to write of a chunk: its good parts, and those it has to have. */
struct selection {
	uint32_t kept;	  /* parts of the input */
	uint32_t strings; /* the one that is read; SONDE_NONE: none */
	bool adds_strings, adds_events;
};

/*
 * Goes through the parts that are kept, in order. Parts may overlap: where they come to more than
 * twice the chunk, the rest is left out.
 */
static bool takes_part(const struct recovery *recovery, uint32_t chunk, uint32_t number,
		       const struct cff_part *part, uint64_t *size)
{
	uint64_t limit = 2 * (uint64_t)recovery->file.image.chunks.items[chunk].length;

	if (!is_kept(recovery, chunk, number, part))
		return false;
	if (number == recovery->file.scan.buffers.items[chunk].part)
		return true;
	if (*size + part->size > limit)
		return false;
	*size += part->size;
	return true;
}

static struct selection select_parts(const struct recovery *recovery, uint32_t number)
{
	const struct cff_image *image = &recovery->file.image;
	const struct cff_chunk *chunk = &image->chunks.items[number];
	const struct cff_buffer *buffer = &recovery->file.scan.buffers.items[number];
	uint32_t parts = cff_chunk_part_count(image, chunk);
	struct selection selection = { .strings = SONDE_NONE };
	uint64_t size = 0;

	for (uint32_t i = 0; i < parts; i++) {
		struct cff_part part = cff_chunk_part(image, chunk, i);

		if (!takes_part(recovery, number, i, &part, &size))
			continue;
		selection.kept++;
		if (part.type == CFF_PART_STRINGS)
			selection.strings = i;
	}
	selection.adds_events = written_type(recovery, number) == CFF_CHUNK_EVENT_DATA &&
				buffer->part == SONDE_NONE;
	selection.adds_strings = recovery->mendings.items[number].text_count &&
				 selection.strings == SONDE_NONE;
	return selection;
}

static enum sonde_status rewrite_chunk(struct recovery *recovery, uint32_t number,
				       struct sonde_error *err)
{
	const struct cff_image *image = &recovery->file.image;
	const struct cff_chunk *chunk = &image->chunks.items[number];
	const struct cff_buffer *buffer = &recovery->file.scan.buffers.items[number];
	struct selection selection = select_parts(recovery, number);
	uint32_t parts = selection.kept + selection.adds_strings + selection.adds_events, done = 0;
	uint32_t type = written_type(recovery, number);
	uint32_t start = cff_chunk_field(image, chunk, CFF_CHUNK_START);
	uint32_t end = cff_chunk_field(image, chunk, CFF_CHUNK_END);
	struct sonde_buffer *out = &recovery->chunk;
	uint64_t size = 0;
	bool is_reversed = start != CFF_NO_TIME && end != CFF_NO_TIME && start > end;

	begin_chunk(out, cff_chunk_field(image, chunk, CFF_CHUNK_ID), type,
		    is_reversed ? CFF_NO_TIME : start, is_reversed ? CFF_NO_TIME : end, parts);
	for (uint32_t i = 0; i < cff_chunk_part_count(image, chunk) && !out->failed; i++) {
		struct cff_part part = cff_chunk_part(image, chunk, i);
		size_t at = out->size;

		if (!takes_part(recovery, number, i, &part, &size))
			continue;
		if (i == buffer->part)
			put_events(recovery, number);
		else if (i == selection.strings)
			put_strings(recovery, number, &part);
		else
			sonde_buffer_put(out, part.data, part.size);
		end_part(out, done++, parts, part.type, at);
	}
	if (selection.adds_strings) {
		size_t at = out->size;

		put_strings(recovery, number, NULL);
		end_part(out, done++, parts, CFF_PART_STRINGS, at);
	}
	if (selection.adds_events)
		end_part(out, done, parts, CFF_PART_EVENTS, out->size);
	return write_chunk(recovery, err);
}

/* A header with what could be read of the old one. */
static enum sonde_status make_header(struct recovery *recovery, struct sonde_error *err)
{
	const struct cff_header *header = &recovery->file.header;
	struct sonde_buffer *out = &recovery->chunk;
	struct sonde_json_writer json;
	bool has_timebase = false;
	size_t at;

	begin_chunk(out, 1, CFF_CHUNK_FILE_HEADER, CFF_NO_TIME, CFF_NO_TIME, 1);
	at = out->size;
	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "type", "file_header");
	for (size_t i = 0; i < header->members.count; i++) {
		has_timebase |= !strcmp(header->members.items[i].name, "timebase");
		sonde_json_key(&json, header->members.items[i].name);
		sonde_json_raw(&json, header->members.items[i].value);
	}
	if (!has_timebase)
		sonde_json_member_u64(&json, "timebase", 0);
	sonde_json_object_end(&json);
	end_part(out, 0, 1, CFF_PART_FILE_HEADER, at);
	if (!has_timebase)
		CFF_FIND(recovery->file.image.findings, RECOVER_HEADER, recovery->file.image.path,
			 SONDE_NO_OFFSET, "a timebase\tnone that could be read");
	return write_chunk(recovery, err);
}

static enum sonde_status write_file(struct recovery *recovery, struct sonde_recover_result *result,
				    struct sonde_error *err)
{
	const struct cff_image *image = &recovery->file.image;
	bool has_head = image->size >= CFF_FILE_SIZE && sonde_load_u32le(image->data) == CFF_MAGIC;
	uint8_t head[CFF_FILE_SIZE];
	enum sonde_status status;

	sonde_store_u32le(head + CFF_FILE_MAGIC, CFF_MAGIC);
	sonde_store_u32le(head + CFF_FILE_WTF_VERSION,
			  has_head ? sonde_load_u32le(image->data + CFF_FILE_WTF_VERSION) : 0);
	sonde_store_u32le(head + CFF_FILE_VERSION, CFF_VERSION);
	status = sonde_output_write(&recovery->made.output, head, sizeof(head), err);
	if (status == SONDE_OK && !has_header(recovery)) {
		result->manifests_made = 1;
		status = make_header(recovery, err);
	}
	for (uint32_t i = 0; i < image->chunks.count && status == SONDE_OK; i++) {
		const struct cff_chunk *chunk = &image->chunks.items[i];
		uint32_t type = chunk->type;
		uint64_t written = recovery->made.output.written, copied;

		bool is_good = type == CFF_CHUNK_EVENT_DATA ||
			       (type == CFF_CHUNK_FILE_HEADER &&
				(has_header(recovery) || select_parts(recovery, i).kept));

		if (is_good && is_whole(recovery, i))
			status = sonde_output_write(&recovery->made.output,
						    image->data + chunk->offset, chunk->length,
						    err);
		else if (is_good)
			status = rewrite_chunk(recovery, i, err);
		copied = recovery->made.output.written - written;
		recovery->dropped += copied < chunk->length ? chunk->length - copied : 0;
	}
	return status;
}

/* Binary files are taken as they are, whatever their head says; others are made into one. */
static enum sonde_status open_file(struct recovery *recovery, const char *path,
				   struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct cff_image *image = &recovery->file.image;
	struct sonde_mapped_file file;
	enum cff_origin origin = CFF_BINARY;
	enum sonde_status status = sonde_mapped_file_open(&file, path, err);

	if (status < 0)
		return status;
	if (cff_image_recognise(file.data, file.size, &origin) && origin != CFF_BINARY) {
		sonde_mapped_file_release(&file);
		return cff_image_open(image, path, diagnostics, err);
	}
	*image = (struct cff_image){
		.file = file,
		.data = file.data,
		.size = file.size,
		.path = path,
		.findings = diagnostics,
	};
	status = cff_choose_chunks(image, &recovery->dropped, err);
	if (status == SONDE_OK && !image->chunks.count) {
		sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			   "there is no chunk in this file, so nothing can be recovered");
		sonde_error_set_file(err, path);
		status = SONDE_CORRUPT;
	}
	return status;
}

static void count_result(struct recovery *recovery, struct sonde_recover_result *result)
{
	const struct cff_scan *scan = &recovery->file.scan;

	for (size_t i = 0; i < scan->zones.count; i++) {
		result->events_kept += scan->zones.items[i]->count;
		result->details_kept += scan->zones.items[i]->details;
	}
	result->tracks_kept = (uint32_t)scan->zones.count;
	result->bytes_dropped = recovery->dropped;
}

static enum sonde_status scan_file(struct recovery *recovery, struct sonde_diagnostics *diagnostics,
				   struct sonde_error *err)
{
	const struct cff_image *image = &recovery->file.image;
	enum sonde_status status;

	recovery->meter.total = image->size;
	recovery->file.scan.is_check = true;
	recovery->file.scan.visitor = &recovery->visitor;
	status = cff_recording_scan(&recovery->file, recovery->definitions, diagnostics, err);
	if (status == SONDE_OK)
		recovery->is_changed |= !cff_index_verify(&recovery->file.scan);
	recovery->is_changed |= recovery->dropped || !recovery->file.header.is_there ||
				!recovery->file.header.is_whole;
	for (uint32_t i = 0; status == SONDE_OK && i < image->chunks.count; i++)
		recovery->is_changed |= !is_whole(recovery, i);
	return status;
}

static enum sonde_status write_output(struct recovery *recovery, const char *output, bool replace,
				      struct sonde_recover_result *result, struct sonde_error *err)
{
	enum sonde_status status = sonde_new_file_begin(&recovery->made, output, replace, err);

	if (status == SONDE_OK)
		status = write_file(recovery, result, err);
	if (status == SONDE_OK)
		status = sonde_new_file_commit(&recovery->made, err);
	sonde_new_file_release(&recovery->made);
	return status;
}

enum sonde_status cff_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err)
{
	struct recovery recovery = {
		.visitor = { visit_chunk, visit_event, visit_misdefined },
		.meter = { .progress = options->progress },
		.definitions = sonde_definitions_new(),
	};
	enum sonde_status status;

	*result = (struct sonde_recover_result){ 0 };
	if (!recovery.definitions)
		return sonde_fail_nomem(err);
	status = open_file(&recovery, path, diagnostics, err);
	if (status == SONDE_OK)
		status = scan_file(&recovery, diagnostics, err);
	if (status == SONDE_OK)
		status = write_output(&recovery, output, options->replace, result, err);
	if (status == SONDE_OK)
		count_result(&recovery, result);
	cff_recording_release(&recovery.file);
	sonde_definitions_free(recovery.definitions);
	sonde_vec_release(&recovery.patches);
	sonde_vec_release(&recovery.mendings);
	sonde_vec_release(&recovery.any_texts.known);
	sonde_buffer_release(&recovery.texts);
	sonde_buffer_release(&recovery.chunk);
	return status;
}
