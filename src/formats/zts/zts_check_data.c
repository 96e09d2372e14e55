/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of chunks: which texts it refers to, and whether times make sense. References are
 * found by going from one CBOR item to the next, so that chunks which continue others need no
 * special care.
 */
#include <inttypes.h>

#include "formats/zts/zts_check.h"
#include "formats/zts/zts_findings.h"

#define KIND(name) (1u << ZTS_TEXT_##name)

struct data_check {
	struct zts_part_check *part;
	struct sonde_codec_state codec;
	struct sonde_buffer content;
	struct zts_tree tree;
	uint64_t offset;	     /* of the chunk */
	struct zts_set good_methods; /* texts that were looked at, by what they are needed for */
	struct zts_set good_strings;
	struct zts_set good_exceptions;
};

static void check_reference(struct data_check *check, uint64_t id, unsigned int kinds,
			    const char *what, struct zts_set *good)
{
	struct zts_part_check *part = check->part;
	struct zts_typed_text typed;
	const char *text;
	size_t size;

	if (!id || (id <= UINT32_MAX && zts_set_has(good, (size_t)id)))
		return;
	if (id > UINT32_MAX ||
	    zts_texts_get(part->texts, (uint32_t)id, &text, &size, NULL) != SONDE_OK) {
		zts_found(part->found, TEXT_REF, part->chunks.path, check->offset,
			  "the text of a %s\tno text %" PRIu64, what, id);
		return;
	}
	if (zts_text_parse(text, size, &typed, NULL) == SONDE_OK && !(kinds & 1u << typed.kind)) {
		zts_found(part->found, TEXT_KIND, part->chunks.path, check->offset,
			  "the text of a %s\ttext %" PRIu64 " of kind %u", what, id,
			  (unsigned int)typed.kind);
		return;
	}
	zts_set_add(good, (size_t)id);
}

/* METHOD, and in our stores TYPE. */
static void check_info(struct data_check *check, struct sonde_bytes *bytes)
{
	struct sonde_cbor_item item, value;
	uint64_t pairs;

	if (sonde_cbor_next(bytes, &item, NULL) != SONDE_OK || item.type != SONDE_CBOR_MAP)
		return;
	pairs = item.value;
	for (uint64_t i = 0; i < pairs; i++) {
		if (sonde_cbor_next(bytes, &item, NULL) != SONDE_OK ||
		    sonde_cbor_next(bytes, &value, NULL) != SONDE_OK)
			return;
		if (item.type != SONDE_CBOR_UINT || value.type != SONDE_CBOR_UINT)
			return;
		if (item.value == ZTS_INFO_METHOD)
			check_reference(check, value.value, KIND(METHOD), "method",
					&check->good_methods);
		else if (item.value == ZTS_INFO_TYPE && check->part->has_names)
			check_reference(check, value.value, KIND(STRING) | KIND(KEYWORD), "type",
					&check->good_strings);
	}
}

static void check_references(struct data_check *check)
{
	struct sonde_bytes bytes = sonde_bytes_of(check->content.data, check->content.size);
	struct sonde_cbor_item item;

	while (sonde_cbor_next(&bytes, &item, NULL) == SONDE_OK) {
		struct sonde_bytes ahead = bytes;
		uint64_t tag = item.value;

		if (item.type != SONDE_CBOR_TAG)
			continue;
		if (tag == ZTS_TAG_INFO || tag == ZTS_TAG_INFO_DOCUMENT) {
			check_info(check, &bytes);
			continue;
		}
		if (sonde_cbor_next(&ahead, &item, NULL) != SONDE_OK ||
		    item.type != SONDE_CBOR_UINT)
			continue;
		if (tag == ZTS_TAG_STRING)
			check_reference(check, item.value,
					~(KIND(METHOD) | KIND(EXCEPTION) | KIND(STACK) |
					  KIND(FRAME) | KIND(KEY_LITERAL) | KIND(KEY_VALUE)),
					"string", &check->good_strings);
		else if (tag == ZTS_TAG_EXCEPTION_REF)
			check_reference(check, item.value, KIND(EXCEPTION), "exception",
					&check->good_exceptions);
	}
}

/* Spans of OpenTelemetry may outlive their parents; calls of a program do not. */
static void check_times(struct data_check *check)
{
	const struct zts_tree *tree = &check->tree;

	for (size_t i = 0; i < tree->records.count; i++) {
		const struct zts_record *record = &tree->records.items[i];
		const struct zts_record *parent =
			record->parent == SONDE_NONE ? NULL : &tree->records.items[record->parent];
		bool is_span = record->identity != SONDE_NONE &&
			       tree->identities.items[record->identity].has_span;

		if (record->stop && record->stop < record->start)
			zts_found(check->part->found, TRACE_TIMES, check->part->chunks.path,
				  check->offset,
				  "record %zu to end at %" PRIu64 " or later\t%" PRIu64, i,
				  record->start, record->stop);
		else if (parent && !is_span && record->stop && parent->stop &&
			 (record->start < parent->start || record->stop > parent->stop))
			zts_found(check->part->found, TRACE_TIMES, check->part->chunks.path,
				  check->offset,
				  "record %zu within %" PRIu64 " and %" PRIu64 "\t%" PRIu64
				  " to %" PRIu64,
				  i, parent->start, parent->stop, record->start, record->stop);
	}
}

static enum sonde_status check_chunk(struct data_check *check, const struct zts_chunk *chunk,
				     struct sonde_error *err)
{
	const struct zts_chunks *chunks = &check->part->chunks;
	enum sonde_codec codec;
	enum sonde_status status;

	check->offset = chunk->offset;
	sonde_buffer_clear(&check->content);
	status = zts_chunks_read_any(chunks, &check->codec, chunk, &check->content, &codec, err);
	if (status < 0)
		return status == SONDE_NOMEM ? status : SONDE_OK;
	if (codec != chunks->codec)
		zts_found(check->part->found, CHUNK_OTHER_CODEC, chunks->path, chunk->offset,
			  "as flags 0x%" PRIx32 " say\tanother way", chunks->flags);
	check_references(check);
	status = zts_tree_decode(&check->tree, (const uint8_t *)check->content.data,
				 check->content.size, err);
	if (status == SONDE_NOMEM)
		return status;
	check_times(check);
	return sonde_meter_add(check->part->meter, chunk->stored_size, err);
}

static enum sonde_status check_chunks(struct data_check *check, struct sonde_error *err)
{
	const struct zts_chunks *chunks = &check->part->chunks;
	uint64_t offset = ZTS_DATA_HEADER_SIZE;
	struct zts_chunk chunk;
	enum sonde_status status;

	for (;;) {
		status = zts_chunks_at(chunks, offset, &chunk, err);
		if (status < 0 && status != SONDE_NOMEM)
			status = zts_chunks_resync(chunks, &check->codec, offset + 1, &chunk, err);
		if (status)
			return status == SONDE_END ? SONDE_OK : status;
		status = check_chunk(check, &chunk, err);
		if (status < 0)
			return status;
		offset = zts_chunk_next(&chunk);
	}
}

enum sonde_status zts_check_data(struct zts_part_check *part, struct sonde_error *err)
{
	struct data_check check = { .part = part };
	uint32_t end = zts_texts_end(part->texts);
	enum sonde_status status = SONDE_OK;

	if (!zts_set_init(&check.good_methods, end) || !zts_set_init(&check.good_strings, end) ||
	    !zts_set_init(&check.good_exceptions, end))
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = check_chunks(&check, err);
	zts_set_release(&check.good_methods);
	zts_set_release(&check.good_strings);
	zts_set_release(&check.good_exceptions);
	sonde_codec_state_release(&check.codec);
	sonde_buffer_release(&check.content);
	zts_tree_release(&check.tree);
	return status;
}
