/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From JSON to a version 10 image: documents in both spellings, whole or as fragments. What their
 * chunks are made of is in cff_json_chunk.c.
 */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/search.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_json_chunk.h"

/* A chunk from its opening brace, the present token. */
static enum sonde_status read_chunk(struct cff_json_maker *state, struct cff_json_chunk *unused,
				    struct sonde_error *err)
{
	const uint64_t start = state->json.offset;
	struct cff_json_chunk chunk = cff_json_chunk_at(start);
	enum sonde_status status;
	bool is_member;

	(void)unused;
	for (;;) {
		status = sonde_json_next(&state->json, err);
		if (status < 0 || state->json.token != SONDE_JSON_KEY)
			break;
		status = cff_json_chunk_member(state, &chunk, &is_member, err);
		if (status >= 0 && !is_member)
			status = sonde_json_skip(&state->json, err);
		if (status < 0)
			break;
	}
	status = cff_json_chunk_finish(state, &chunk, status, err);
	sonde_mapped_file_leave(state->maker->file, &state->trail, (size_t)start,
				(size_t)sonde_json_position(&state->json));
	return status;
}

/* Documents */

static enum sonde_status read_wtf_version(struct cff_json_maker *state, struct sonde_error *err)
{
	uint64_t version = 0;
	bool has_version = false;
	enum sonde_status status =
		cff_json_read_number(state, UINT64_MAX, &version, &has_version, err);

	if (has_version)
		state->wtf_version = (uint32_t)version;
	if (version > CFF_WTF_VERSION)
		CFF_FIND(state->maker->findings, JSON_WTF_VERSION, state->maker->path,
			 state->json.offset, "at most %" PRIu64 "\t%" PRIu64, CFF_WTF_VERSION,
			 version);
	return status;
}

static enum sonde_status read_format_version(struct cff_json_maker *state, struct sonde_error *err)
{
	uint64_t version = CFF_VERSION;
	bool has_version = false;
	enum sonde_status status =
		cff_json_read_number(state, UINT64_MAX, &version, &has_version, err);

	if (status < 0 || version == CFF_VERSION)
		return status;
	CFF_FIND(state->maker->findings, JSON_VERSION, state->maker->path, state->json.offset,
		 "version %u\tversion %" PRIu64, CFF_VERSION, version);
	return sonde_fail(err, SONDE_UNSUPPORTED, state->json.offset,
			  "format version %u was expected, %" PRIu64 " was found", CFF_VERSION,
			  version);
}

/* A whole file, the first fragment of one, one with chunks, or one that is a chunk. */
static enum sonde_status read_document(struct cff_json_maker *state, struct sonde_error *err)
{
	struct cff_json_chunk chunk = cff_json_chunk_at(state->json.offset);
	bool is_chunk = false, is_member = false;
	enum sonde_status status;

	for (;;) {
		status = sonde_json_next(&state->json, err);
		if (status < 0 || state->json.token != SONDE_JSON_KEY)
			break;
		if (cff_json_is_either(&state->json, "wtfVersion", "wtf_version"))
			status = read_wtf_version(state, err);
		else if (cff_json_is_either(&state->json, "formatVersion", "format_version"))
			status = read_format_version(state, err);
		else if (cff_json_is(&state->json, "chunks"))
			status = cff_json_each(state, "an array of chunks", "a chunk", read_chunk,
					       NULL, err);
		else
			status = cff_json_chunk_member(state, &chunk, &is_member, err);
		is_chunk = is_chunk || is_member;
		if (status < 0)
			break;
		if (state->json.token == SONDE_JSON_KEY)
			status = sonde_json_skip(&state->json, err);
		if (status < 0)
			break;
	}
	return is_chunk ? cff_json_chunk_finish(state, &chunk, status, err) : status;
}

/* The oldest form is an array, and existing readers find no events in it either. */
static enum sonde_status read_old(struct cff_json_maker *state, struct sonde_error *err)
{
	struct sonde_buffer header = { 0 };
	enum sonde_status status = SONDE_OK;

	CFF_FIND(state->maker->findings, JSON_OLD, state->maker->path, state->json.offset,
		 "an object\tan array");
	sonde_buffer_put_text(&header, "{\"type\":\"file_header\",\"flags\":[],\"timebase\":");
	while (status >= 0 && state->json.token != SONDE_JSON_OBJECT_END &&
	       state->json.token != SONDE_JSON_END) {
		status = sonde_json_next(&state->json, err);
		if (status < 0 || state->json.token != SONDE_JSON_KEY ||
		    !cff_json_is(&state->json, "timebase"))
			continue;
		status = sonde_json_next(&state->json, err);
		if (status >= 0 && state->json.token == SONDE_JSON_NUMBER)
			break;
	}
	if (status >= 0 && state->json.token == SONDE_JSON_NUMBER)
		sonde_buffer_put(&header, state->json.text, state->json.length);
	else
		sonde_buffer_put_char(&header, '0');
	sonde_buffer_put_char(&header, '}');
	if (status >= 0 || cff_json_is_broken(status))
		status = cff_make_header_chunk(state->maker, &header, err);
	sonde_buffer_release(&header);
	return status;
}

static bool skip_space(const struct cff_maker *maker, uint64_t *position)
{
	while (*position < maker->size &&
	       (maker->input[*position] == ' ' || maker->input[*position] == '\n' ||
		maker->input[*position] == '\r' || maker->input[*position] == '\t'))
		++*position;
	return *position < maker->size;
}

static enum sonde_status read_documents(struct cff_json_maker *state, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&state->json, err);
	uint64_t position;

	if (status >= 0 && state->json.token == SONDE_JSON_ARRAY_BEGIN)
		return read_old(state, err);
	for (;;) {
		if (status < 0)
			return status;
		if (state->json.token != SONDE_JSON_OBJECT_BEGIN)
			return sonde_fail(err, SONDE_CORRUPT, state->json.offset,
					  "an object was expected");
		status = read_document(state, err);
		if (status < 0)
			return status;
		position = sonde_json_position(&state->json);
		if (!skip_space(state->maker, &position))
			return SONDE_OK;
		sonde_json_seek(&state->json, position);
		status = sonde_json_next(&state->json, err);
	}
}

/* The version may stand behind everything else. */
static enum sonde_status set_version(const struct cff_json_maker *state, struct sonde_error *err)
{
	uint8_t bytes[4];

	if (state->wtf_version == (uint32_t)CFF_WTF_VERSION)
		return SONDE_OK;
	sonde_store_u32le(bytes, state->wtf_version);
	return sonde_output_patch(state->maker->out, CFF_FILE_WTF_VERSION, bytes, sizeof(bytes),
				  err);
}

/* Piece by piece, so that a large file does not pass through memory at once. */
static bool has_json_events(const struct cff_maker *maker)
{
	static const char word[] = "\"json_event_buffer\"";
	const size_t piece = (size_t)1 << 20, length = sizeof(word) - 1;
	struct sonde_trail trail = { 0 };

	for (size_t at = 0; at < maker->size; at += piece) {
		size_t left = maker->size - at;
		size_t size = left < piece + length ? left : piece + length;

		if (sonde_search(maker->input + at, size, word, length))
			return true;
		sonde_mapped_file_leave(maker->file, &trail, at, at + size);
	}
	return false;
}

enum sonde_status cff_make_from_json(const struct cff_maker *maker, struct sonde_error *err)
{
	struct cff_json_maker state = { .maker = maker, .wtf_version = (uint32_t)CFF_WTF_VERSION };
	enum sonde_status status = cff_make_head(maker, (uint32_t)CFF_WTF_VERSION, err);
	struct sonde_error failure = { 0 };

	if (status < 0)
		return status;
	status = cff_json_events_init(&state.events, maker, err);
	if (status < 0) {
		cff_json_events_release(&state.events);
		return status;
	}
	state.has_json_events = has_json_events(maker);
	sonde_json_reader_init(&state.json, (const char *)maker->input, maker->size, NULL, NULL);
	sonde_json_reader_borrow(&state.json);
	status = read_documents(&state, &failure);
	if (cff_json_is_broken(status)) {
		CFF_FIND(maker->findings, JSON_BROKEN, maker->path, failure.offset,
			 "whole JSON\t%s", failure.message);
		status = SONDE_OK;
	} else if (status < 0 && err) {
		*err = failure;
	}
	if (status >= 0)
		status = set_version(&state, err);
	sonde_json_reader_release(&state.json);
	cff_json_events_release(&state.events);
	return status;
}
