/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both decoders of OTLP requests share: lists that grow within limits, spans that are kept or
 * rejected, trees made of spans.
 */
#include "formats/otlp/otlp.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "base/utf8.h"

/* The end of what the seconds of a slot (32 bits) can say. */
#define LAST_NS (UINT64_C(4294967295) * 1000000000)

void otlp_request_release(struct otlp_request *request)
{
	sonde_vec_release(&request->resources);
	sonde_vec_release(&request->scopes);
	sonde_vec_release(&request->spans);
	sonde_vec_release(&request->values);
	sonde_vec_release(&request->notes);
	sonde_vec_release(&request->roots);
	sonde_arena_release(&request->arena);
}

static enum sonde_status too_many(struct sonde_error *err, size_t most, const char *what)
{
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "a request with more than %zu %s; send smaller batches", most, what);
}

enum sonde_status otlp_add_value(struct otlp_request *request, struct otlp_list *list,
				 uint32_t *position, struct sonde_error *err)
{
	struct otlp_value *value;

	if (request->values.count == OTLP_MOST_VALUES)
		return too_many(err, OTLP_MOST_VALUES, "attributes and values");
	value = sonde_vec_push(&request->values);
	if (!value)
		return sonde_fail_nomem(err);
	*value = (struct otlp_value){ .next = SONDE_NONE };
	*position = (uint32_t)(request->values.count - 1);
	if (list->first == SONDE_NONE)
		list->first = *position;
	else
		request->values.items[list->last].next = *position;
	list->last = *position;
	return SONDE_OK;
}

enum sonde_status otlp_add_note(struct otlp_request *request, struct otlp_list *list,
				uint32_t *position, struct sonde_error *err)
{
	struct otlp_note *note;

	if (request->notes.count == OTLP_MOST_NOTES)
		return too_many(err, OTLP_MOST_NOTES, "events and links");
	note = sonde_vec_push(&request->notes);
	if (!note)
		return sonde_fail_nomem(err);
	*note = (struct otlp_note){ .next = SONDE_NONE, .attributes = OTLP_EMPTY_LIST };
	*position = (uint32_t)(request->notes.count - 1);
	if (list->first == SONDE_NONE)
		list->first = *position;
	else
		request->notes.items[list->last].next = *position;
	list->last = *position;
	return SONDE_OK;
}

enum sonde_status otlp_add_resource(struct otlp_request *request, uint32_t *position,
				    struct sonde_error *err)
{
	struct otlp_resource *resource;

	if (request->resources.count == OTLP_MOST_GROUPS)
		return too_many(err, OTLP_MOST_GROUPS, "resources");
	resource = sonde_vec_push(&request->resources);
	if (!resource)
		return sonde_fail_nomem(err);
	*resource = (struct otlp_resource){ .attributes = OTLP_EMPTY_LIST };
	*position = (uint32_t)(request->resources.count - 1);
	return SONDE_OK;
}

enum sonde_status otlp_add_scope(struct otlp_request *request, uint32_t resource,
				 uint32_t *position, struct sonde_error *err)
{
	struct otlp_scope *scope;

	if (request->scopes.count == OTLP_MOST_GROUPS)
		return too_many(err, OTLP_MOST_GROUPS, "scopes");
	scope = sonde_vec_push(&request->scopes);
	if (!scope)
		return sonde_fail_nomem(err);
	*scope = (struct otlp_scope){ .resource = resource, .attributes = OTLP_EMPTY_LIST };
	*position = (uint32_t)(request->scopes.count - 1);
	return SONDE_OK;
}

void otlp_say_mended(struct otlp_request *request, const char *reason)
{
	if (!request->mended++ && !request->rejected)
		snprintf(request->reason, sizeof(request->reason), "%s", reason);
}

/* Why a span cannot be kept; NULL where it can. Fills in its ids. */
static const char *find_fault(struct otlp_span *span, const struct otlp_span_ids *ids)
{
	if (ids->trace.size != 16)
		return "a trace id that is not 16 bytes";
	if (ids->span.size != 8)
		return "a span id that is not 8 bytes";
	if (ids->parent.size && ids->parent.size != 8)
		return "a parent span id that is not 8 bytes";
	span->trace_id[0] = sonde_load_u64be((const uint8_t *)ids->trace.data);
	span->trace_id[1] = sonde_load_u64be((const uint8_t *)ids->trace.data + 8);
	span->span_id = sonde_load_u64be((const uint8_t *)ids->span.data);
	span->parent_id = ids->parent.size ? sonde_load_u64be((const uint8_t *)ids->parent.data) :
					     0;
	if (!span->trace_id[0] && !span->trace_id[1])
		return "a trace id of zeros";
	if (!span->span_id)
		return "a span id of zeros";
	if (!span->start_ns)
		return "no start time";
	if (span->start_ns > LAST_NS || span->end_ns > LAST_NS)
		return "a time after the year 2106";
	return NULL;
}

enum sonde_status otlp_add_span(struct otlp_request *request, struct otlp_span *span,
				const struct otlp_span_ids *ids, struct sonde_error *err)
{
	const char *fault = request->has_long_text ? "a text of more than 1 MiB" :
						     find_fault(span, ids);
	struct otlp_span *kept;

	request->has_long_text = false;
	if (fault) {
		if (!request->rejected++)
			snprintf(request->reason, sizeof(request->reason),
				 "the span \"%.*s\" has %s",
				 (int)(span->name.size < 80 ? span->name.size : 80),
				 span->name.size ? span->name.data : "", fault);
		return SONDE_OK;
	}
	if (request->spans.count == OTLP_MOST_SPANS)
		return too_many(err, OTLP_MOST_SPANS, "spans");
	if (span->end_ns < span->start_ns)
		otlp_say_mended(request,
				"a span ends before it starts; it was kept with a duration of 0");
	kept = sonde_vec_push(&request->spans);
	if (!kept)
		return sonde_fail_nomem(err);
	*kept = *span;
	kept->parent = kept->first_child = kept->next_sibling = SONDE_NONE;
	return SONDE_OK;
}

void otlp_limit_text(struct otlp_request *request, struct otlp_text *text)
{
	if (text->size <= OTLP_LONGEST_TEXT)
		return;
	request->has_long_text = true;
	text->size = 0;
}

enum sonde_status otlp_check_texts(struct otlp_request *request, struct sonde_error *err)
{
	if (!request->has_long_text)
		return SONDE_OK;
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "a text of more than 1 MiB in a resource or scope");
}

enum sonde_status otlp_clean_text(struct otlp_request *request, struct otlp_text *text,
				  struct sonde_error *err)
{
	static const char replacement[] = "\xEF\xBF\xBD";
	size_t from = 0, to = 0;
	char *copy;

	otlp_limit_text(request, text);
	if (sonde_utf8_valid(text->data, text->size))
		return SONDE_OK;
	copy = sonde_arena_take(&request->arena, text->size * 3);
	if (!copy)
		return sonde_fail_nomem(err);
	while (from < text->size) {
		size_t length = sonde_utf8_length(text->data + from, text->size - from);

		memcpy(copy + to, length ? text->data + from : replacement, length ? length : 3);
		to += length ? length : 3;
		from += length ? length : 1;
	}
	*text = (struct otlp_text){ copy, to };
	otlp_limit_text(request, text);
	otlp_say_mended(request, "a text is not UTF-8; its bad bytes were replaced by U+FFFD");
	return SONDE_OK;
}

/* --- trees --- */

struct span_key {
	uint32_t resource;
	uint32_t position;
	uint64_t trace_id[2];
	uint64_t span_id;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_identity(const struct span_key *a, const struct span_key *b)
{
	int order = compare_numbers(a->span_id, b->span_id);

	if (!order)
		order = compare_numbers(a->trace_id[1], b->trace_id[1]);
	if (!order)
		order = compare_numbers(a->trace_id[0], b->trace_id[0]);
	if (!order)
		order = compare_numbers(a->resource, b->resource);
	return order;
}

static int compare_keys(const void *a, const void *b)
{
	const struct span_key *left = a, *right = b;
	int order = compare_identity(left, right);

	return order ? order : compare_numbers(left->position, right->position);
}

/* The first span with these ids; SONDE_NONE. */
static uint32_t find_span(const struct span_key *keys, size_t count, const struct span_key *wanted)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_identity(&keys[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count || compare_identity(&keys[low], wanted) != 0)
		return SONDE_NONE;
	return keys[low].position;
}

static void find_parents(struct otlp_request *request, struct span_key *keys)
{
	size_t count = request->spans.count;

	for (size_t i = 0; i < count; i++) {
		struct otlp_span *span = &request->spans.items[i];

		keys[i] = (struct span_key){
			.resource = request->scopes.items[span->scope].resource,
			.position = (uint32_t)i,
			.trace_id = { span->trace_id[0], span->trace_id[1] },
			.span_id = span->span_id,
		};
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++) {
		struct otlp_span *span = &request->spans.items[keys[i].position];
		struct span_key wanted = keys[i];

		span->is_copy = i && compare_identity(&keys[i - 1], &keys[i]) == 0;
		wanted.span_id = span->parent_id;
		if (span->parent_id && !span->is_copy && span->parent_id != span->span_id)
			span->parent = find_span(keys, count, &wanted);
	}
}

/*
 * Cuts circles of parents open: the span that a walk towards the root comes back to is a root
 * itself. Walks begin with the earliest span, so that mostly that one is it.
 */
static void cut_circles(struct otlp_span *spans, const struct sonde_sort_item *by_start,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t walk = (uint32_t)i + 1, at = (uint32_t)by_start[i].number;

		while (!spans[at].walk) {
			spans[at].walk = walk;
			if (spans[at].parent == SONDE_NONE)
				break;
			at = spans[at].parent;
			if (spans[at].walk == walk)
				spans[at].parent = SONDE_NONE;
		}
	}
}

static enum sonde_status link_children(struct otlp_request *request,
				       const struct sonde_sort_item *by_start,
				       struct sonde_error *err)
{
	struct otlp_span *spans = request->spans.items;
	size_t count = request->spans.count;

	if (!sonde_vec_reserve(&request->roots, count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		if (spans[by_start[i].number].parent == SONDE_NONE)
			request->roots.items[request->roots.count++] = (uint32_t)by_start[i].number;
	/* from the last to the first, each put before its siblings */
	for (size_t i = count; i-- > 0;) {
		uint32_t at = (uint32_t)by_start[i].number, parent = spans[at].parent;

		if (parent == SONDE_NONE)
			continue;
		spans[at].next_sibling = spans[parent].first_child;
		spans[parent].first_child = at;
	}
	return SONDE_OK;
}

/* What writing a text costs beside the value that it belongs to. */
static uint64_t text_weight(const struct otlp_text *text)
{
	return text->size / 64;
}

/*
 * All that is in a list, also in its arrays and maps, which nest as deep as the decoders let them.
 */
static uint64_t list_weight(const struct otlp_request *request, uint32_t first)
{
	uint64_t weight = 0;

	for (uint32_t at = first; at != SONDE_NONE; at = request->values.items[at].next) {
		const struct otlp_value *value = &request->values.items[at];

		weight += 1 + text_weight(&value->key);
		if (value->kind == OTLP_ARRAY || value->kind == OTLP_MAP)
			weight += list_weight(request, value->first);
		else if (value->kind == OTLP_STRING || value->kind == OTLP_BYTES)
			weight += text_weight(&value->text);
	}
	return weight;
}

/* What is written many times must not make much out of a small request. */
static enum sonde_status check_repeated(struct otlp_request *request, struct sonde_error *err)
{
	uint64_t repeated = 0;

	for (size_t i = 0; i < request->resources.count; i++) {
		struct otlp_resource *resource = &request->resources.items[i];

		resource->weight = list_weight(request, resource->attributes.first) +
				   text_weight(&resource->schema_url);
	}
	for (size_t i = 0; i < request->scopes.count; i++) {
		struct otlp_scope *scope = &request->scopes.items[i];

		scope->weight = list_weight(request, scope->attributes.first) +
				text_weight(&scope->name) + text_weight(&scope->version) +
				text_weight(&scope->schema_url);
	}
	for (size_t i = 0; i < request->spans.count; i++) {
		const struct otlp_span *span = &request->spans.items[i];
		const struct otlp_scope *scope = &request->scopes.items[span->scope];

		repeated += scope->weight;
		if (span->parent == SONDE_NONE)
			repeated += request->resources.items[scope->resource].weight;
	}
	if (repeated <= OTLP_MOST_REPEATED)
		return SONDE_OK;
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "attributes of resources and scopes stand for too many values in the "
			  "spans of this request; send smaller batches");
}

static enum sonde_status link_spans(struct otlp_request *request, struct span_key *keys,
				    struct sonde_sort_item *by_start, struct sonde_error *err)
{
	size_t count = request->spans.count;
	enum sonde_status status;

	find_parents(request, keys);
	for (size_t i = 0; i < count; i++)
		by_start[i] = (struct sonde_sort_item){ .key = request->spans.items[i].start_ns,
							.number = i };
	if (!sonde_sort(by_start, count))
		return sonde_fail_nomem(err);
	cut_circles(request->spans.items, by_start, count);
	status = link_children(request, by_start, err);
	return status < 0 ? status : check_repeated(request, err);
}

enum sonde_status otlp_link(struct otlp_request *request, struct sonde_error *err)
{
	size_t count = request->spans.count;
	struct sonde_sort_item *by_start;
	struct span_key *keys;
	enum sonde_status status;

	if (!count)
		return SONDE_OK;
	keys = calloc(count, sizeof(*keys));
	by_start = calloc(count, sizeof(*by_start));
	if (keys && by_start)
		status = link_spans(request, keys, by_start, err);
	else
		status = sonde_fail_nomem(err);
	free(keys);
	free(by_start);
	return status;
}

const char *otlp_kind_name(uint32_t kind, char space[OTLP_KIND_NAME])
{
	static const char *const names[] = { "",       "internal", "server",
					     "client", "producer", "consumer" };

	if (kind < sizeof(names) / sizeof(names[0]))
		return names[kind];
	snprintf(space, OTLP_KIND_NAME, "kind-%u", kind);
	return space;
}

bool otlp_is_environment(const struct otlp_text *name)
{
	return otlp_text_is(name, "deployment.environment") ||
	       otlp_text_is(name, "deployment.environment.name");
}
