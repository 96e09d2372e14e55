/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over a file of OTLP JSON without decoding it, and puts pieces of it together as requests. */
#include "formats/otlp/otlp_batches.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define MOST_SPANS 256
#define MOST_BYTES ((size_t)1 << 20) /* of the spans of a request, unless one alone has more */

/* Some text of the file; size 0: none. */
struct range {
	size_t begin, size;
};

struct walk {
	const struct otlp_batches *batches;
	const char *text;
	size_t size;
	struct sonde_json_reader json;
	struct range resource, resource_url, scope, scope_url;
	struct range spans[MOST_SPANS];
	size_t count, bytes;
	struct sonde_buffer request;
	struct sonde_error *err;
	bool failed; /* by `take`, which has told why: not by the text */
};

typedef enum sonde_status read_item(struct walk *walk);

static enum sonde_status next(struct walk *walk)
{
	return sonde_json_next(&walk->json, walk->err);
}

/* The value that comes next, passed over; size 0 where it is not whole. */
static enum sonde_status take_range(struct walk *walk, struct range *range)
{
	size_t begin = (size_t)sonde_json_position(&walk->json);
	enum sonde_status status;

	while (begin < walk->size && memchr(": \t\r\n", walk->text[begin], 5))
		begin++;
	*range = (struct range){ .begin = begin };
	status = sonde_json_skip(&walk->json, walk->err);
	if (!status)
		range->size = (size_t)sonde_json_position(&walk->json) - begin;
	return status;
}

static bool key_is(const struct walk *walk, const char *name)
{
	return walk->json.token == SONDE_JSON_KEY && !strcmp(walk->json.text, name);
}

static void put_range(struct walk *walk, const char *before, struct range range)
{
	if (!range.size)
		return;
	sonde_buffer_put_text(&walk->request, before);
	sonde_buffer_put(&walk->request, walk->text + range.begin, range.size);
	sonde_buffer_put_char(&walk->request, ',');
}

static enum sonde_status give(struct walk *walk, size_t first, size_t end)
{
	size_t from = walk->spans[first].begin;
	size_t to = walk->spans[end - 1].begin + walk->spans[end - 1].size;

	sonde_buffer_clear(&walk->request);
	sonde_buffer_put_text(&walk->request, "{\"resourceSpans\":[{");
	put_range(walk, "\"resource\":", walk->resource);
	put_range(walk, "\"schemaUrl\":", walk->resource_url);
	sonde_buffer_put_text(&walk->request, "\"scopeSpans\":[{");
	put_range(walk, "\"scope\":", walk->scope);
	put_range(walk, "\"schemaUrl\":", walk->scope_url);
	sonde_buffer_put_text(&walk->request, "\"spans\":[");
	sonde_buffer_put(&walk->request, walk->text + from, to - from);
	sonde_buffer_put_text(&walk->request, "]}]}]}");
	if (!sonde_buffer_text(&walk->request))
		return sonde_fail_nomem(walk->err);
	return walk->batches->take(walk->batches->user, &walk->request, from, walk->err);
}

static bool is_bad_input(enum sonde_status status)
{
	return status == SONDE_CORRUPT || status == SONDE_LIMIT || status == SONDE_TRUNCATED;
}

static enum sonde_status give_one(struct walk *walk, size_t number)
{
	enum sonde_status status = give(walk, number, number + 1);
	struct sonde_error why = { 0 };

	if (!is_bad_input(status))
		return status;
	if (walk->err)
		why = *walk->err;
	why.offset = walk->spans[number].begin;
	walk->batches->fault(walk->batches->user, false, &why);
	return SONDE_OK;
}

static enum sonde_status give_all(struct walk *walk)
{
	enum sonde_status status = SONDE_OK;

	if (!walk->count)
		return SONDE_OK;
	if (walk->count > 1)
		status = give(walk, 0, walk->count);
	if (walk->count == 1 || is_bad_input(status)) {
		status = SONDE_OK;
		for (size_t i = 0; !status && i < walk->count; i++)
			status = give_one(walk, i);
	}
	walk->failed = status != SONDE_OK;
	sonde_mapped_file_pass(walk->batches->file, 0, walk->spans[walk->count - 1].begin);
	walk->count = walk->bytes = 0;
	return status;
}

/* The items of an array that comes next; each begins with an object. */
static enum sonde_status read_array(struct walk *walk, read_item *item)
{
	enum sonde_status status = next(walk);

	if (status || walk->json.token == SONDE_JSON_NULL)
		return status;
	if (walk->json.token != SONDE_JSON_ARRAY_BEGIN)
		return sonde_fail(walk->err, SONDE_CORRUPT, walk->json.offset,
				  "an array was expected, something else was found");
	while (!(status = next(walk)) && walk->json.token != SONDE_JSON_ARRAY_END) {
		if (walk->json.token != SONDE_JSON_OBJECT_BEGIN)
			return sonde_fail(walk->err, SONDE_CORRUPT, walk->json.offset,
					  "an object was expected, something else was found");
		status = item(walk);
		if (status)
			return status;
	}
	return status;
}

static enum sonde_status read_span(struct walk *walk)
{
	struct range *span = &walk->spans[walk->count];
	enum sonde_status status;

	span->begin = (size_t)walk->json.offset;
	status = sonde_json_skip(&walk->json, walk->err);
	if (status)
		return status;
	span->size = (size_t)sonde_json_position(&walk->json) - span->begin;
	walk->bytes += span->size;
	walk->count++;
	if (walk->count < MOST_SPANS && walk->bytes < MOST_BYTES)
		return SONDE_OK;
	return give_all(walk);
}

static enum sonde_status read_spans(struct walk *walk)
{
	enum sonde_status status = read_array(walk, read_span);
	/* what was whole before the text went wrong is taken too */
	enum sonde_status given = walk->failed ? SONDE_OK : give_all(walk);

	return given ? given : status;
}

/*
 * The members of an object: two of them as they are, and the list of what is below, which needs the first
 * and so is gone back to where it came before.
 */
struct members {
	const char *about, *list;
	read_item *read_list;
	struct range *value, *url;
};

/* The list that begins at a place which was passed over before. */
static enum sonde_status read_list_at(struct walk *walk, const struct members *members,
				      size_t place)
{
	struct sonde_json_reader behind = walk->json;
	enum sonde_status status;

	sonde_json_reader_init(&walk->json, walk->text, walk->size, NULL, NULL);
	walk->json.depth_limit = SONDE_JSON_MOST_DEPTH;
	sonde_json_seek(&walk->json, place);
	status = members->read_list(walk);
	sonde_json_reader_release(&walk->json);
	walk->json = behind;
	return status;
}

static enum sonde_status read_members(struct walk *walk, const struct members *members)
{
	struct range passed = { 0 };
	enum sonde_status status, list = SONDE_OK;

	*members->value = *members->url = (struct range){ 0 };
	while (!(status = next(walk)) && walk->json.token != SONDE_JSON_OBJECT_END) {
		if (key_is(walk, members->about))
			status = take_range(walk, members->value);
		else if (key_is(walk, "schemaUrl"))
			status = take_range(walk, members->url);
		else if (!key_is(walk, members->list))
			status = sonde_json_skip(&walk->json, walk->err);
		else if (members->value->size)
			status = members->read_list(walk);
		else
			status = take_range(walk, &passed);
		if (status)
			break;
	}
	/* also where the text goes wrong: what is whole in the list counts */
	if (passed.begin && !walk->failed)
		list = read_list_at(walk, members, passed.begin);
	return list ? list : status;
}

static enum sonde_status read_scope(struct walk *walk)
{
	const struct members members = { "scope", "spans", read_spans, &walk->scope,
					 &walk->scope_url };

	return read_members(walk, &members);
}

static enum sonde_status read_scopes(struct walk *walk)
{
	return read_array(walk, read_scope);
}

static enum sonde_status read_resource(struct walk *walk)
{
	const struct members members = { "resource", "scopeSpans", read_scopes, &walk->resource,
					 &walk->resource_url };

	return read_members(walk, &members);
}

static enum sonde_status read_document(struct walk *walk)
{
	enum sonde_status status = next(walk);

	if (status)
		return status;
	if (walk->json.token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_fail(walk->err, SONDE_CORRUPT, walk->json.offset,
				  "an object was expected, something else was found");
	while (!(status = next(walk)) && walk->json.token != SONDE_JSON_OBJECT_END) {
		if (key_is(walk, "resourceSpans"))
			status = read_array(walk, read_resource);
		else
			status = sonde_json_skip(&walk->json, walk->err);
		if (status)
			return status;
	}
	return status;
}

/* Behind a document, or behind the line that it went wrong in. */
static size_t find_next(const struct walk *walk, size_t at, bool is_broken)
{
	const char *newline;

	if (is_broken) {
		newline = memchr(walk->text + at, '\n', walk->size - at);
		at = newline ? (size_t)(newline - walk->text) : walk->size;
	}
	while (at < walk->size && memchr(" \t\r\n", walk->text[at], 4))
		at++;
	return at;
}

enum sonde_status otlp_batches_read(const struct otlp_batches *batches, struct sonde_error *err)
{
	struct sonde_error own = { 0 };
	struct walk *walk = calloc(1, sizeof(*walk));
	enum sonde_status status = SONDE_OK;
	size_t at = 0;

	if (!walk)
		return sonde_fail_nomem(err);
	walk->batches = batches;
	walk->text = (const char *)batches->file->data;
	walk->size = batches->file->size;
	walk->err = err ? err : &own;
	sonde_json_reader_init(&walk->json, walk->text ? walk->text : "", walk->size, NULL, NULL);
	walk->json.depth_limit = SONDE_JSON_MOST_DEPTH;
	at = find_next(walk, 0, false);
	while (!status && at < walk->size) {
		sonde_json_seek(&walk->json, at);
		status = read_document(walk);
		if (walk->failed || status == SONDE_NOMEM)
			break;
		if (status)
			batches->fault(batches->user, true, walk->err);
		at = (size_t)sonde_json_position(&walk->json);
		at = find_next(walk, at, status != SONDE_OK);
		status = SONDE_OK;
	}
	sonde_json_reader_release(&walk->json);
	sonde_buffer_release(&walk->request);
	free(walk);
	return status;
}
