/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions to sets of text ids. */
#include "store/find_ids.h"

#include <stdio.h>
#include <string.h>

void sonde_find_ids_release(struct sonde_find_ids *ids)
{
	zts_set_release(&ids->sure);
	zts_set_release(&ids->keys);
	zts_set_release(&ids->others);
}

static void set_remove(struct zts_set *set, size_t number)
{
	if (number < set->size)
		set->words[number / 64] &= ~(UINT64_C(1) << number % 64);
}

/* The texts (not composed ones) that match as a condition says. */
static enum sonde_status find_texts(struct zts_texts *texts, const struct sonde_query_node *test,
				    struct zts_set *ids, struct sonde_error *err)
{
	static const enum zts_match matches[] = { [SONDE_MATCH_EXACT] = ZTS_MATCH_EXACT,
						  [SONDE_MATCH_PREFIX] = ZTS_MATCH_PREFIX,
						  [SONDE_MATCH_SUFFIX] = ZTS_MATCH_SUBSTRING,
						  [SONDE_MATCH_SUBSTRING] = ZTS_MATCH_SUBSTRING };
	enum sonde_status status =
		zts_texts_find(texts, 0, matches[test->match], test->text, test->size, ids, err);
	struct zts_typed_text typed;
	size_t id;

	if (status != SONDE_OK || test->match != SONDE_MATCH_SUFFIX)
		return status;
	for (id = zts_set_next(ids, 0); id != SIZE_MAX; id = zts_set_next(ids, id + 1))
		if (zts_texts_typed(texts, (uint32_t)id, &typed, NULL) != SONDE_OK || !typed.text ||
		    !sonde_query_matches(test, typed.text, typed.size))
			set_remove(ids, id);
	return SONDE_OK;
}

enum sonde_status sonde_find_keys(struct zts_texts *texts, const char *key, size_t size,
				  struct zts_set *ids, struct sonde_error *err)
{
	return zts_texts_find(texts, 0, ZTS_MATCH_EXACT, key, size, ids, err);
}

/* For the walk over the pairs of a key. */
struct pair_walk {
	struct zts_texts *texts;
	const struct sonde_query_node *test;
	struct sonde_find_ids *ids;
	bool notes_all; /* into `others` */
};

static bool test_pair(void *context, uint32_t pair, uint32_t value, const char *literal,
		      size_t size)
{
	struct pair_walk *walk = context;
	struct zts_typed_text typed;

	if (walk->notes_all)
		zts_set_add(&walk->ids->others, pair);
	if (!value) {
		if (sonde_query_matches_number(walk->test, literal, size))
			zts_set_add(&walk->ids->sure, pair);
		return true;
	}
	if (zts_texts_typed(walk->texts, value, &typed, NULL) == SONDE_OK && typed.text &&
	    sonde_query_matches(walk->test, typed.text, typed.size))
		zts_set_add(&walk->ids->sure, pair);
	return true;
}

/* Doubles are maps with a text: who has the key and the text "double" must be looked at. */
static enum sonde_status doubt_doubles(struct zts_part *part, struct sonde_find_ids *ids,
				       struct sonde_error *err)
{
	ids->rest = SONDE_REST_KEY_AND_VALUES;
	return zts_texts_find(part->texts, 1u << ZTS_TEXT_STRING, ZTS_MATCH_EXACT, "double", 6,
			      &ids->others, err);
}

/* Every pair of the key is looked at: for orders, and where not every number has a pair. */
static enum sonde_status walk_pairs(struct zts_part *part, const struct sonde_query_node *test,
				    struct sonde_find_ids *ids, struct sonde_error *err)
{
	struct pair_walk walk = {
		.texts = part->texts, .test = test, .ids = ids, .notes_all = !part->has_names
	};
	enum sonde_status status = SONDE_OK;
	size_t key;

	for (key = zts_set_next(&ids->keys, 0); key != SIZE_MAX && status == SONDE_OK;
	     key = zts_set_next(&ids->keys, key + 1))
		status = zts_texts_pairs(part->texts, (uint32_t)key, test_pair, &walk, err);
	if (status != SONDE_OK)
		return status;
	if (part->has_names && !part->is_rebuilt)
		return doubt_doubles(part, ids, err);
	/* A rebuilt index lacks pairs that no text was there for. */
	ids->rest = part->is_rebuilt ? SONDE_REST_KEY : SONDE_REST_KEY_NOT_PAIRS;
	return SONDE_OK;
}

/* Keeps of `sure` the pairs of our keys, of values in `others` or with a literal that matches. */
static void keep_our_pairs(struct zts_texts *texts, const struct sonde_query_node *test,
			   struct sonde_find_ids *ids)
{
	struct zts_typed_text typed;
	size_t id;

	for (id = zts_set_next(&ids->sure, 0); id != SIZE_MAX;
	     id = zts_set_next(&ids->sure, id + 1)) {
		bool is_ours = zts_texts_typed(texts, (uint32_t)id, &typed, NULL) == SONDE_OK &&
			       ((typed.kind == ZTS_TEXT_KEY_VALUE &&
				 zts_set_has(&ids->others, typed.fields[1])) ||
				(typed.kind == ZTS_TEXT_KEY_LITERAL &&
				 sonde_query_matches_number(test, typed.text, typed.size))) &&
			       zts_set_has(&ids->keys, typed.fields[0]);

		if (!is_ours)
			set_remove(&ids->sure, id);
	}
}

/* Pairs with a literal like this: numbers, true and false. */
static enum sonde_status find_literals(struct zts_texts *texts, const struct sonde_query_node *test,
				       struct zts_set *ids, struct sonde_error *err)
{
	enum zts_match match = test->match == SONDE_MATCH_EXACT	 ? ZTS_MATCH_EXACT :
			       test->match == SONDE_MATCH_PREFIX ? ZTS_MATCH_PREFIX :
								   ZTS_MATCH_SUBSTRING;
	enum sonde_status status = zts_texts_find(texts, 1u << ZTS_TEXT_KEY_LITERAL, match,
						  test->text, test->size, ids, err);
	char digits[24];
	int size;

	/* 5e2 is written 500 there */
	if (status != SONDE_OK || !test->has_number || test->match != SONDE_MATCH_EXACT ||
	    test->number.is_integer || test->number.real < -9e15 || test->number.real > 9e15 ||
	    test->number.real != (double)(int64_t)test->number.real)
		return status;
	size = snprintf(digits, sizeof(digits), "%lld", (long long)test->number.real);
	return zts_texts_find(texts, 1u << ZTS_TEXT_KEY_LITERAL, ZTS_MATCH_EXACT, digits,
			      (size_t)size, ids, err);
}

/* Whether a number, or true or false, may be meant. */
static bool may_match_literals(const struct sonde_query_node *test)
{
	size_t i;

	if (sonde_query_matches(test, "true", 4) || sonde_query_matches(test, "false", 5))
		return true;
	for (i = 0; i < test->size; i++)
		if (!test->text[i] || !strchr("0123456789+-.eE", test->text[i]))
			return false;
	return true;
}

/* By the values that match: their pairs, and who has one of them in an array or map. */
static enum sonde_status find_values(struct zts_part *part, const struct sonde_query_node *test,
				     struct sonde_find_ids *ids, struct sonde_error *err)
{
	struct zts_texts *texts = part->texts;
	bool with_literals = may_match_literals(test);
	enum sonde_status status = find_texts(texts, test, &ids->others, err);

	if (status != SONDE_OK)
		return status;
	ids->rest = SONDE_REST_KEY_AND_VALUES;
	if (!sonde_set_is_empty(&ids->others)) {
		memcpy(ids->sure.words, ids->others.words, (ids->sure.size + 63) / 64 * 8);
		status = zts_texts_close(texts, 1u << ZTS_TEXT_KEY_VALUE, &ids->sure, err);
	}
	if (status == SONDE_OK && with_literals)
		status = find_literals(texts, test, &ids->sure, err);
	keep_our_pairs(texts, test, ids);
	if (status == SONDE_OK && with_literals)
		status = doubt_doubles(part, ids, err);
	return status;
}

static enum sonde_status find_attribute(struct zts_part *part, const struct sonde_query_node *test,
					const char *key, size_t key_size,
					struct sonde_find_ids *ids, struct sonde_error *err)
{
	enum sonde_status status = sonde_find_keys(part->texts, key, key_size, &ids->keys, err);
	bool is_exact = test->match == SONDE_MATCH_EXACT;

	if (status != SONDE_OK || sonde_set_is_empty(&ids->keys))
		return status;
	if (test->operator!= SONDE_OPERATOR_EQUAL)
		return walk_pairs(part, test, ids, err);
	if (!test->size && !is_exact) {
		memcpy(ids->sure.words, ids->keys.words, (ids->sure.size + 63) / 64 * 8);
		return SONDE_OK;
	}
	/* The empty text has no id, and null has no pair. */
	if (!test->size || (is_exact && test->size == 4 && !memcmp(test->text, "null", 4))) {
		ids->rest = SONDE_REST_KEY;
		return SONDE_OK;
	}
	if ((!part->has_names || part->is_rebuilt) && may_match_literals(test))
		return walk_pairs(part, test, ids, err);
	return find_values(part, test, ids, err);
}

/* Methods are found by a piece of their class or name that every match must have. */
static void method_piece(const struct sonde_query_node *test, const char **piece, size_t *size)
{
	const char *end = memchr(test->text, '(', test->size);
	size_t length = end ? (size_t)(end - test->text) : test->size, from;

	while (length && test->text[length - 1] == '.')
		length--;
	for (from = length; from; from--)
		if (test->text[from - 1] == '.' || (end && test->text[from - 1] == ' '))
			break;
	*piece = test->text + from;
	*size = length - from;
}

static enum sonde_status add_methods(struct zts_part *part, const struct sonde_query_node *test,
				     struct zts_set *ids, struct sonde_error *err)
{
	unsigned int kinds = 1u << ZTS_TEXT_CLASS | 1u << ZTS_TEXT_METHOD_NAME |
			     1u << ZTS_TEXT_STRING;
	struct zts_set pieces = { 0 };
	struct sonde_buffer space = { 0 };
	enum sonde_status status;
	const char *piece;
	size_t size, id;
	struct zts_typed_text typed;

	method_piece(test, &piece, &size);
	if (!zts_set_init(&pieces, zts_texts_end(part->texts)))
		return sonde_fail_nomem(err);
	status = zts_texts_find(part->texts, kinds, ZTS_MATCH_SUBSTRING, piece, size, &pieces, err);
	if (status == SONDE_OK && !sonde_set_is_empty(&pieces))
		status = zts_texts_close(part->texts, 1u << ZTS_TEXT_METHOD, &pieces, err);
	for (id = zts_set_next(&pieces, 0); id != SIZE_MAX && status == SONDE_OK;
	     id = zts_set_next(&pieces, id + 1))
		if (zts_texts_typed(part->texts, (uint32_t)id, &typed, NULL) == SONDE_OK &&
		    typed.kind == ZTS_TEXT_METHOD &&
		    sonde_method_matches(part->texts, test, (uint32_t)id, &space))
			zts_set_add(ids, id);
	if (space.failed)
		status = sonde_fail_nomem(err);
	zts_set_release(&pieces);
	sonde_buffer_release(&space);
	return status;
}

static enum sonde_status find_exceptions(struct zts_part *part, const struct sonde_query_node *test,
					 struct sonde_find_ids *ids, struct sonde_error *err)
{
	struct zts_texts *texts = part->texts;
	struct zts_typed_text typed;
	enum sonde_status status = zts_texts_find(texts, 0, ZTS_MATCH_SUBSTRING, test->text,
						  test->size, &ids->sure, err);
	size_t id;

	if (status != SONDE_OK)
		return status;
	for (id = zts_set_next(&ids->sure, 0); id != SIZE_MAX;
	     id = zts_set_next(&ids->sure, id + 1))
		if (!sonde_exception_text_matches(texts, test, (uint32_t)id))
			set_remove(&ids->sure, id);
	if (sonde_set_is_empty(&ids->sure))
		return SONDE_OK;
	status = zts_texts_close(texts, 1u << ZTS_TEXT_EXCEPTION, &ids->sure, err);
	for (id = zts_set_next(&ids->sure, 0); id != SIZE_MAX;
	     id = zts_set_next(&ids->sure, id + 1))
		if (zts_texts_typed(texts, (uint32_t)id, &typed, NULL) != SONDE_OK ||
		    typed.kind != ZTS_TEXT_EXCEPTION)
			set_remove(&ids->sure, id);
	return status;
}

static enum sonde_status find_any_text(struct zts_part *part, const struct sonde_query_node *test,
				       struct sonde_find_ids *ids, struct sonde_error *err)
{
	struct zts_texts *texts = part->texts;
	enum sonde_status status = find_texts(texts, test, &ids->sure, err);
	size_t id;

	/* Nobody looks for what sonde keeps for itself. */
	if (status == SONDE_OK &&
	    memmem(ZTS_NS_ATTRIBUTE, strlen(ZTS_NS_ATTRIBUTE), test->text, test->size))
		status = sonde_find_keys(texts, ZTS_NS_ATTRIBUTE, strlen(ZTS_NS_ATTRIBUTE),
					 &ids->keys, err);
	for (id = zts_set_next(&ids->keys, 0); id != SIZE_MAX;
	     id = zts_set_next(&ids->keys, id + 1))
		set_remove(&ids->sure, id);
	if (status == SONDE_OK && memchr(test->text, '.', test->size))
		status = add_methods(part, test, &ids->sure, err);
	if (status == SONDE_OK && !sonde_set_is_empty(&ids->sure))
		status = zts_texts_close(texts, ~0u, &ids->sure, err);
	return status;
}

enum sonde_status sonde_find_ids(struct zts_part *part, const struct sonde_query_node *test,
				 const char *key, size_t key_size, struct sonde_find_ids *ids,
				 struct sonde_error *err)
{
	size_t end = zts_texts_end(part->texts);

	*ids = (struct sonde_find_ids){ 0 };
	if (!zts_set_init(&ids->sure, end) || !zts_set_init(&ids->keys, end) ||
	    !zts_set_init(&ids->others, end))
		return sonde_fail_nomem(err);
	switch (test->field) {
	case SONDE_FIELD_METHOD:
		return add_methods(part, test, &ids->sure, err);
	case SONDE_FIELD_EXCEPTION:
		return find_exceptions(part, test, ids, err);
	case SONDE_FIELD_ANY_TEXT:
		return find_any_text(part, test, ids, err);
	default:
		return find_attribute(part, test, key, key_size, ids, err);
	}
}
