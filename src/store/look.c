/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions over traces, by looking at them. */
#include "store/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/attribute.h"
#include "store/names.h"

#define LONGEST_CAUSES 100 /* exceptions that cause each other; damaged ones go in circles */

void sonde_look_release(struct sonde_look *look)
{
	zts_loaded_release(&look->loaded);
	sonde_buffer_release(&look->space);
	sonde_buffer_release(&look->name);
}

enum sonde_status sonde_look_failed(struct sonde_look *look, struct sonde_error *err)
{
	if (zts_texts_failed(look->part->texts) || look->space.failed || look->name.failed)
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

const char *const *sonde_field_attributes(enum sonde_query_field field)
{
	static const char *const none[] = { NULL };
	static const char *const service[] = { "service.name", NULL };
	static const char *const host[] = { "host.name", NULL };
	static const char *const env[] = { "deployment.environment", "deployment.environment.name",
					   NULL };

	switch (field) {
	case SONDE_FIELD_SERVICE:
		return service;
	case SONDE_FIELD_HOST:
		return host;
	case SONDE_FIELD_ENV:
		return env;
	default:
		return none;
	}
}

uint32_t sonde_field_of_slot(enum sonde_query_field field, const struct zts_slot *slot)
{
	switch (field) {
	case SONDE_FIELD_TYPE:
		return slot->type;
	case SONDE_FIELD_SERVICE:
	case SONDE_FIELD_APP:
		return slot->app;
	case SONDE_FIELD_HOST:
		return slot->host;
	case SONDE_FIELD_ENV:
		return slot->env;
	default:
		return 0;
	}
}

static int number_matches(const struct sonde_query_node *test, uint64_t value)
{
	struct sonde_number number = { .is_integer = value <= INT64_MAX,
				       .integer = (int64_t)value,
				       .real = (double)value };

	return sonde_query_number_matches(test, &number);
}

/* Where both bounds give the same answer, and an equality is not between them, all do. */
static int bounds_match(const struct sonde_query_node *test, struct sonde_bounds bounds)
{
	int low = number_matches(test, bounds.low);

	if (sonde_bounds_are_exact(bounds))
		return low;
	if (test->operator== SONDE_OPERATOR_EQUAL)
		return test->number.real < (double)bounds.low ||
				       test->number.real > (double)bounds.high ?
			       0 :
			       -1;
	return low == number_matches(test, bounds.high) ? low : -1;
}

bool sonde_slot_name_matches(const struct zts_part *part, const struct sonde_query_node *test,
			     uint32_t name)
{
	char digits[12];
	struct zts_typed_text typed;

	if (!name)
		return false;
	if (part->has_names)
		return zts_texts_typed(part->texts, name, &typed, NULL) == SONDE_OK && typed.text &&
		       sonde_query_matches(test, typed.text, typed.size);
	return sonde_query_matches(test, digits,
				   (size_t)snprintf(digits, sizeof(digits), "%" PRIu32, name));
}

/* With or without dashes; a * at the end is fine. */
static bool id_matches(const struct sonde_query_node *test, const struct sonde_hex_id *id)
{
	struct sonde_hex_id wanted;

	if (!sonde_hex_id_parse(test->text, test->size, &wanted))
		return false;
	if (test->match == SONDE_MATCH_EXACT)
		return wanted.count == id->count && sonde_hex_id_is_prefix(&wanted, id);
	return test->match == SONDE_MATCH_PREFIX ? sonde_hex_id_is_prefix(&wanted, id) :
						   strstr(id->digits, wanted.digits) != NULL;
}

static bool trace_id_matches(const struct zts_part *part, const struct sonde_query_node *test,
			     uint32_t slot)
{
	struct sonde_hex_id id = sonde_hex_id_of(part->slots.list.items[slot].uuid);

	return id_matches(test, &id) ||
	       (sonde_trace_distributed_id(part, slot, &id) && id_matches(test, &id));
}

int sonde_slot_matches(const struct zts_part *part, const struct sonde_query_node *test,
		       uint32_t slot)
{
	const struct zts_slot *first = &part->slots.list.items[slot];

	switch (test->field) {
	case SONDE_FIELD_TIME:
		return bounds_match(test, sonde_trace_start(part, slot));
	case SONDE_FIELD_DURATION:
		return bounds_match(test, sonde_trace_duration(part, slot));
	case SONDE_FIELD_ERRORS: {
		struct sonde_trace_totals totals = sonde_trace_totals(part, slot);

		return number_matches(test, totals.errors ? totals.errors : totals.has_error);
	}
	case SONDE_FIELD_CALLS:
		return number_matches(test, sonde_trace_totals(part, slot).calls);
	case SONDE_FIELD_RECORDS:
		return number_matches(test, sonde_trace_totals(part, slot).records);
	case SONDE_FIELD_TYPE:
	case SONDE_FIELD_APP:
		return sonde_slot_name_matches(part, test, sonde_field_of_slot(test->field, first));
	case SONDE_FIELD_SERVICE:
	case SONDE_FIELD_HOST:
	case SONDE_FIELD_ENV: /* or in an attribute */
		return sonde_slot_name_matches(part, test,
					       sonde_field_of_slot(test->field, first)) ?
			       1 :
			       -1;
	case SONDE_FIELD_ANY_TEXT:
		return part->has_names && (sonde_slot_name_matches(part, test, first->type) ||
					   sonde_slot_name_matches(part, test, first->app) ||
					   sonde_slot_name_matches(part, test, first->env) ||
					   sonde_slot_name_matches(part, test, first->host)) ?
			       1 :
			       -1;
	case SONDE_FIELD_TRACE:
		return trace_id_matches(part, test, slot);
	default:
		return -1;
	}
}

/* A value of an attribute, for the walk over it. */
struct value_test {
	const struct sonde_query_node *test;
	bool with_keys;
	bool only_texts;
	bool matches;
};

/* Of arrays and maps the texts count, not numbers; null is only like `null` and like anything. */
static bool scalar_matches(const struct sonde_query_node *test, const struct sonde_scalar *scalar)
{
	if (scalar->kind >= SONDE_SCALAR_TEXT)
		return sonde_query_matches(test, scalar->text, scalar->size);
	if (scalar->is_nested ||
	    (scalar->kind == SONDE_SCALAR_NULL && test->match != SONDE_MATCH_EXACT))
		return false;
	return sonde_query_matches_number(test, scalar->text, scalar->size);
}

static bool test_scalar(void *context, const struct sonde_scalar *scalar)
{
	struct value_test *test = context;

	if (scalar->kind == SONDE_SCALAR_KEY && !test->with_keys)
		return true;
	if (scalar->kind < SONDE_SCALAR_TEXT && test->only_texts)
		return true;
	test->matches = scalar_matches(test->test, scalar);
	return !test->matches;
}

static void key_of(struct sonde_look *look, const struct zts_attribute_cursor *cursor,
		   const char **key, size_t *size)
{
	*key = (const char *)cursor->key_text;
	*size = cursor->key_size;
	if (!cursor->key_text)
		zts_texts_plain(look->part->texts, cursor->key, &look->name, key, size);
}

/* An attribute of a record; a key of NULL means any. */
static bool attribute_matches(struct sonde_look *look, const struct sonde_query_node *test,
			      uint32_t record, const char *wanted, size_t wanted_size)
{
	struct zts_attribute_cursor cursor = { .tree = &look->loaded.tree, .record = record };
	struct value_test value = { .test = test, .with_keys = !wanted, .only_texts = !wanted };
	const char *key;
	size_t size;

	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		key_of(look, &cursor, &key, &size);
		if (wanted && (size != wanted_size || memcmp(key, wanted, size) != 0))
			continue;
		if (!wanted && size == strlen(ZTS_NS_ATTRIBUTE) &&
		    !memcmp(key, ZTS_NS_ATTRIBUTE, size))
			continue;
		if (!wanted && sonde_query_matches(test, key, size))
			return true;
		/* key=* : it is there, even if empty */
		if (wanted && !test->size && test->match != SONDE_MATCH_EXACT)
			return true;
		sonde_value_walk(look->part->texts, cursor.value, test_scalar, &value);
		if (value.matches)
			return true;
	}
	return false;
}

static bool text_matches(struct zts_texts *texts, const struct sonde_query_node *test, uint32_t id)
{
	struct zts_typed_text typed;

	return id && zts_texts_typed(texts, id, &typed, NULL) == SONDE_OK && typed.text &&
	       sonde_query_matches(test, typed.text, typed.size);
}

bool sonde_method_matches(struct zts_texts *texts, const struct sonde_query_node *test, uint32_t id,
			  struct sonde_buffer *space)
{
	struct zts_typed_text method, part;

	if (test->match == SONDE_MATCH_EXACT) {
		sonde_buffer_clear(space);
		zts_texts_put_name(texts, id, space);
		if (sonde_query_matches(test, space->data, space->size))
			return true;
	}
	if (zts_texts_typed(texts, id, &method, NULL) != SONDE_OK || method.kind != ZTS_TEXT_METHOD)
		return false;
	if (text_matches(texts, test, method.fields[1]))
		return true;
	sonde_buffer_clear(space);
	if (zts_texts_typed(texts, method.fields[0], &part, NULL) == SONDE_OK && part.text)
		sonde_buffer_put(space, part.text, part.size);
	sonde_buffer_put_char(space, '.');
	if (zts_texts_typed(texts, method.fields[1], &part, NULL) == SONDE_OK && part.text)
		sonde_buffer_put(space, part.text, part.size);
	if (space->failed)
		zts_texts_set_failed(texts);
	return sonde_query_matches(test, space->data, space->size);
}

/* Any text that a method is made of, and class.method. */
static bool method_has_text(struct sonde_look *look, const struct sonde_query_node *test,
			    uint32_t id)
{
	struct zts_texts *texts = look->part->texts;
	struct zts_typed_text method;

	if (text_matches(texts, test, id))
		return true;
	if (zts_texts_typed(texts, id, &method, NULL) != SONDE_OK || method.kind != ZTS_TEXT_METHOD)
		return false;
	return text_matches(texts, test, method.fields[0]) ||
	       text_matches(texts, test, method.fields[1]) ||
	       text_matches(texts, test, method.fields[2]) ||
	       (memchr(test->text, '.', test->size) &&
		sonde_method_matches(texts, test, id, &look->space));
}

static bool frame_has_text(struct zts_texts *texts, const struct sonde_query_node *test,
			   uint32_t id)
{
	struct zts_typed_text frame;

	return zts_texts_typed(texts, id, &frame, NULL) == SONDE_OK &&
	       frame.kind == ZTS_TEXT_FRAME &&
	       (text_matches(texts, test, frame.fields[0]) ||
		text_matches(texts, test, frame.fields[1]) ||
		text_matches(texts, test, frame.fields[2]));
}

static bool stack_has_text(struct zts_texts *texts, const struct sonde_query_node *test,
			   uint32_t id)
{
	struct zts_typed_text stack;
	uint32_t frame;

	if (!id || zts_texts_typed(texts, id, &stack, NULL) != SONDE_OK ||
	    stack.kind != ZTS_TEXT_STACK)
		return false;
	while (zts_text_next_frame(&stack, &frame))
		if (frame_has_text(texts, test, frame))
			return true;
	return false;
}

bool sonde_exception_text_matches(struct zts_texts *texts, const struct sonde_query_node *test,
				  uint32_t id)
{
	struct zts_typed_text typed;
	size_t i;

	if (!id || zts_texts_typed(texts, id, &typed, NULL) != SONDE_OK || !typed.text)
		return false;
	if (sonde_query_matches(test, typed.text, typed.size))
		return true;
	for (i = typed.size; i > 0 && typed.kind == ZTS_TEXT_CLASS; i--)
		if (typed.text[i - 1] == '.' || typed.text[i - 1] == '$')
			return sonde_query_matches(test, typed.text + i, typed.size - i);
	return false;
}

/* An exception or one of its causes, by class or message; with every text, by its frames too. */
static bool exception_matches(struct sonde_look *look, const struct sonde_query_node *test,
			      uint32_t id)
{
	struct zts_texts *texts = look->part->texts;
	struct zts_typed_text exception;
	unsigned int i;

	for (i = 0; id && i < LONGEST_CAUSES; i++, id = exception.fields[3]) {
		if (zts_texts_typed(texts, id, &exception, NULL) != SONDE_OK ||
		    exception.kind != ZTS_TEXT_EXCEPTION)
			return false;
		if (test->field == SONDE_FIELD_EXCEPTION &&
		    (sonde_exception_text_matches(texts, test, exception.fields[0]) ||
		     sonde_exception_text_matches(texts, test, exception.fields[1])))
			return true;
		if (test->field == SONDE_FIELD_ANY_TEXT &&
		    (text_matches(texts, test, exception.fields[0]) ||
		     text_matches(texts, test, exception.fields[1]) ||
		     stack_has_text(texts, test, exception.fields[2])))
			return true;
	}
	return false;
}

static bool span_matches(const struct sonde_look *look, const struct sonde_query_node *test,
			 const struct zts_record *record)
{
	const struct zts_identity *identity;
	struct sonde_hex_id id = { .count = 16 };

	if (record->identity == SONDE_NONE)
		return false;
	identity = &look->loaded.tree.identities.items[record->identity];
	snprintf(id.digits, sizeof(id.digits), "%016" PRIx64, identity->span);
	return identity->has_span && id_matches(test, &id);
}

/* The type of a record where one begins a trace inside of this one. */
static bool type_matches(const struct sonde_look *look, const struct sonde_query_node *test,
			 const struct zts_record *record)
{
	const struct zts_identity *identity;

	if (record->identity == SONDE_NONE || !look->part->has_names)
		return false;
	identity = &look->loaded.tree.identities.items[record->identity];
	return identity->has_type && sonde_slot_name_matches(look->part, test, identity->type);
}

static bool well_known_matches(struct sonde_look *look, const struct sonde_query_node *test,
			       uint32_t record)
{
	const char *const *name;

	for (name = sonde_field_attributes(test->field); *name; name++)
		if (attribute_matches(look, test, record, *name, strlen(*name)))
			return true;
	return false;
}

static bool record_matches(struct sonde_look *look, const struct sonde_query_node *test,
			   uint32_t number)
{
	const struct zts_record *record = &look->loaded.tree.records.items[number];

	switch (test->field) {
	case SONDE_FIELD_ATTRIBUTE:
		return attribute_matches(look, test, number, test->key, test->key_size);
	case SONDE_FIELD_METHOD:
		return sonde_method_matches(look->part->texts, test, record->method, &look->space);
	case SONDE_FIELD_EXCEPTION:
		return exception_matches(look, test, record->exception);
	case SONDE_FIELD_SPAN:
		return span_matches(look, test, record);
	case SONDE_FIELD_ANY_TEXT:
		return method_has_text(look, test, record->method) ||
		       type_matches(look, test, record) ||
		       attribute_matches(look, test, number, NULL, 0) ||
		       exception_matches(look, test, record->exception);
	default:
		return well_known_matches(look, test, number);
	}
}

/* False where the trace cannot be read. */
static enum sonde_status load(struct sonde_look *look, uint32_t slot, bool *loaded,
			      struct sonde_error *err)
{
	enum sonde_status status = zts_part_load(look->part, slot, &look->loaded, err);

	*loaded = status == SONDE_OK;
	if (status == SONDE_OK || status == SONDE_NOMEM || status == SONDE_CANCELLED)
		return status;
	look->unreadable++;
	return SONDE_OK;
}

enum sonde_status sonde_look_times(struct sonde_look *look, uint32_t slot, uint64_t *start_ns,
				   uint64_t *duration_ns, struct sonde_error *err)
{
	struct sonde_bounds start = sonde_trace_start(look->part, slot);
	struct sonde_bounds duration = sonde_trace_duration(look->part, slot);
	enum sonde_status status;
	bool loaded;

	*start_ns = start.high;
	*duration_ns = duration.low;
	if (sonde_bounds_are_exact(start) && sonde_bounds_are_exact(duration))
		return SONDE_OK;
	status = load(look, slot, &loaded, err);
	if (loaded)
		zts_loaded_times(look->part, &look->loaded, look->loaded.root, start_ns,
				 duration_ns);
	return status == SONDE_OK ? sonde_look_failed(look, err) : status;
}

enum sonde_status sonde_look_test(struct sonde_look *look, const struct sonde_query_node *test,
				  uint32_t slot, bool *matches, struct sonde_error *err)
{
	int answer = sonde_slot_matches(look->part, test, slot);
	uint64_t start_ns, duration_ns;
	enum sonde_status status;
	uint32_t i, count;

	*matches = answer > 0;
	if (answer >= 0)
		return SONDE_OK;
	if (test->field == SONDE_FIELD_TIME || test->field == SONDE_FIELD_DURATION) {
		status = sonde_look_times(look, slot, &start_ns, &duration_ns, err);
		*matches = number_matches(test,
					  test->field == SONDE_FIELD_TIME ? start_ns : duration_ns);
		return status;
	}
	status = load(look, slot, matches, err);
	if (!*matches)
		return status;
	count = look->shallow ? 1 : look->loaded.tree.records.items[look->loaded.root].records;
	for (i = 0, *matches = false; i < count && !*matches; i++)
		*matches = record_matches(look, test, look->loaded.root + i);
	return SONDE_OK;
}
