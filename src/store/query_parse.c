/* SPDX-License-Identifier: Apache-2.0 */
/* The language of searches: a recursive descent over words, with places for messages. */
#include <string.h>
#include <strings.h>

#include "store/query_build.h"

#define DEEPEST 64 /* parentheses and nots */

enum token_kind {
	TOKEN_END,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_WORD,   /* or a quoted text */
	TOKEN_COMPARE /* = != < <= > >= ~ !~ */
};

struct token {
	enum token_kind kind;
	size_t position;
	const char *text;
	size_t size;
	bool is_quoted;
};

struct parser {
	struct sonde_query *query;
	const char *expression;
	size_t at;
	struct token token;
	unsigned int depth;
	struct sonde_error *err;
};

static enum sonde_status parse_or(struct parser *parser, uint32_t *node);

static enum sonde_status fail_at(struct parser *parser, size_t position, const char *message)
{
	return sonde_fail(parser->err, SONDE_ARGUMENT, position, "%s", message);
}

/* A text in double quotes; \" and \\ stand for themselves. */
static enum sonde_status take_quoted(struct parser *parser)
{
	const char *from = parser->expression + parser->at + 1, *c;
	size_t longest = strlen(from);
	char *copy = sonde_arena_take(&parser->query->texts, longest + 1);
	size_t size = 0;

	if (!copy)
		return sonde_fail_nomem(parser->err);
	for (c = from; *c != '"'; c++) {
		if (*c == '\\' && (c[1] == '"' || c[1] == '\\'))
			c++;
		if (!*c)
			return fail_at(parser, parser->at,
				       "the text that begins here has no end: "
				       "a closing \" is missing");
		copy[size++] = *c;
	}
	parser->token = (struct token){ .kind = TOKEN_WORD,
					.position = parser->at,
					.text = copy,
					.size = size,
					.is_quoted = true };
	parser->at = (size_t)(c + 1 - parser->expression);
	return SONDE_OK;
}

static enum token_kind kind_of_word(const char *text, size_t size)
{
	if (size == 3 && !strncasecmp(text, "and", 3))
		return TOKEN_AND;
	if (size == 2 && !strncasecmp(text, "or", 2))
		return TOKEN_OR;
	if (size == 3 && !strncasecmp(text, "not", 3))
		return TOKEN_NOT;
	return TOKEN_WORD;
}

static size_t skip_spaces(struct parser *parser)
{
	parser->at += strspn(parser->expression + parser->at, " \t\r\n");
	return parser->at;
}

/* The next token; a value, behind a comparison, goes on up to a space or parenthesis. */
static enum sonde_status next_token(struct parser *parser, bool is_value)
{
	size_t position = skip_spaces(parser), size;
	const char *text = parser->expression + position;
	enum token_kind kind = TOKEN_WORD;

	if (*text == '"')
		return take_quoted(parser);
	size = strcspn(text, is_value ? " \t\r\n()" : " \t\r\n()=!<>~\"");
	if (size) {
		kind = is_value ? TOKEN_WORD : kind_of_word(text, size);
	} else if (*text == '(' || *text == ')') {
		kind = *text == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
		size = 1;
	} else if (*text) {
		kind = TOKEN_COMPARE;
		size = text[0] != '~' && (text[1] == '=' || (*text == '!' && text[1] == '~')) ? 2 :
												1;
		if (size == 1 && *text == '!')
			return fail_at(parser, position,
				       "expected != or !~ here; for \"not\" "
				       "write the word not");
	} else {
		kind = TOKEN_END;
	}
	parser->token =
		(struct token){ .kind = kind, .position = position, .text = text, .size = size };
	parser->at = position + size;
	return SONDE_OK;
}

static const struct {
	const char *name;
	enum sonde_query_field field;
} well_known[] = {
	{ "duration", SONDE_FIELD_DURATION },
	{ "errors", SONDE_FIELD_ERRORS },
	{ "calls", SONDE_FIELD_CALLS },
	{ "records", SONDE_FIELD_RECORDS },
	{ "type", SONDE_FIELD_TYPE },
	{ "service", SONDE_FIELD_SERVICE },
	{ "app", SONDE_FIELD_APP },
	{ "host", SONDE_FIELD_HOST },
	{ "env", SONDE_FIELD_ENV },
	{ "method", SONDE_FIELD_METHOD },
	{ "exception", SONDE_FIELD_EXCEPTION },
	{ "trace", SONDE_FIELD_TRACE },
	{ "span", SONDE_FIELD_SPAN },
};

/* What the word before a comparison names; @name is always an attribute. */
static void take_name(const struct token *name, struct sonde_query_test *test)
{
	size_t i;

	test->field = SONDE_FIELD_ATTRIBUTE;
	test->key = name->text;
	test->key_size = name->size;
	if (name->is_quoted)
		return;
	if (name->size > 1 && name->text[0] == '@') {
		test->key++;
		test->key_size--;
		return;
	}
	for (i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++)
		if (strlen(well_known[i].name) == name->size &&
		    !memcmp(well_known[i].name, name->text, name->size))
			test->field = well_known[i].field;
}

static bool is_counted(enum sonde_query_field field)
{
	return field == SONDE_FIELD_ERRORS || field == SONDE_FIELD_CALLS ||
	       field == SONDE_FIELD_RECORDS || field == SONDE_FIELD_DURATION;
}

/* "100ms": nanoseconds. */
static bool parse_duration(const struct token *value, struct sonde_number *number)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },  { "us", 1e3 }, { "ms", 1e6 },
		      { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	size_t digits = 0, i;

	while (digits < value->size && strchr("0123456789.", value->text[digits]))
		digits++;
	if (!sonde_number_parse(value->text, digits, number))
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != value->size - digits ||
		    memcmp(units[i].name, value->text + digits, value->size - digits) != 0)
			continue;
		number->real *= units[i].ns;
		number->is_integer = number->real < 9e18;
		number->integer = number->is_integer ? (int64_t)(number->real + 0.5) : 0;
		return true;
	}
	return digits == value->size && number->real == 0;
}

static enum sonde_status take_number(struct parser *parser, struct sonde_query_test *test)
{
	const struct token *value = &parser->token;

	if (test->field == SONDE_FIELD_DURATION) {
		test->has_number = parse_duration(value, &test->number);
		if (!test->has_number)
			return fail_at(parser, value->position,
				       "expected a duration like 100ms or 1.5s (ns, us, ms, s, m, "
				       "h)");
		return SONDE_OK;
	}
	test->has_number = sonde_number_parse(value->text, value->size, &test->number);
	return test->has_number ? SONDE_OK :
				  fail_at(parser, value->position, "expected a number here");
}

struct comparison {
	enum sonde_query_operator operator;
	bool is_not, is_contained;
};

static struct comparison comparison_of(const struct token *token)
{
	bool with_equal = token->size == 2 && token->text[1] == '=';

	switch (token->text[0]) {
	case '<':
		return (struct comparison){ .operator= with_equal ? SONDE_OPERATOR_AT_MOST :
								    SONDE_OPERATOR_LESS };
	case '>':
		return (struct comparison){ .operator= with_equal ? SONDE_OPERATOR_AT_LEAST :
								    SONDE_OPERATOR_MORE };
	default:
		return (struct comparison){ .is_not = token->text[0] == '!',
					    .is_contained = token->text[token->size - 1] == '~' };
	}
}

static enum sonde_status push_not(struct parser *parser, uint32_t *node)
{
	struct sonde_query_node not = { .kind = SONDE_QUERY_NOT, .left = *node };

	return sonde_query_push(parser->query, &not, node, parser->err);
}

/* The value behind a comparison, into the test. */
static enum sonde_status take_value(struct parser *parser, struct comparison comparison,
				    struct sonde_query_test *test)
{
	enum sonde_status status = next_token(parser, true);
	const struct token *value = &parser->token;
	bool is_ordered = comparison.operator!= SONDE_OPERATOR_EQUAL;

	if (status != SONDE_OK)
		return status;
	if (value->kind != TOKEN_WORD)
		return fail_at(parser, value->position,
			       "expected a value here; one with spaces or parentheses stands in "
			       "\"quotes\"");
	test->operator= comparison.operator;
	test->text = value->text;
	test->size = value->size;
	test->has_wildcards = !value->is_quoted && !comparison.is_contained;
	test->match = comparison.is_contained ? SONDE_MATCH_SUBSTRING : SONDE_MATCH_EXACT;
	if (!is_ordered && !is_counted(test->field))
		return SONDE_OK;
	if (comparison.is_contained)
		return fail_at(parser, value->position, "~ looks for text, this is a number");
	test->has_wildcards = false;
	return take_number(parser, test);
}

static enum sonde_status parse_comparison(struct parser *parser, const struct token *name,
					  uint32_t *node)
{
	struct sonde_query_test test = { 0 };
	struct comparison comparison = comparison_of(&parser->token);
	enum sonde_status status;

	take_name(name, &test);
	status = take_value(parser, comparison, &test);
	if (status == SONDE_OK)
		status = sonde_query_push_test(parser->query, &test, node, parser->err);
	if (status == SONDE_OK && comparison.is_not)
		status = push_not(parser, node);
	return status == SONDE_OK ? next_token(parser, false) : status;
}

/* A word alone is looked for in all texts, anywhere in them; word* only at their beginning. */
static enum sonde_status push_free_text(struct parser *parser, const struct token *word,
					uint32_t *node)
{
	struct sonde_query_test test = { .field = SONDE_FIELD_ANY_TEXT,
					 .text = word->text,
					 .size = word->size,
					 .match = SONDE_MATCH_SUBSTRING };

	test.has_wildcards = !word->is_quoted && word->size > 1 &&
			     (word->text[0] == '*' || word->text[word->size - 1] == '*');
	if (!word->size || (!word->is_quoted && word->size == 1 && word->text[0] == '*'))
		return fail_at(parser, word->position, "expected a text to look for");
	return sonde_query_push_test(parser->query, &test, node, parser->err);
}

static enum sonde_status parse_parentheses(struct parser *parser, uint32_t *node)
{
	size_t opened = parser->token.position;
	enum sonde_status status = next_token(parser, false);

	if (status == SONDE_OK)
		status = parse_or(parser, node);
	if (status != SONDE_OK)
		return status;
	if (parser->token.kind != TOKEN_CLOSE)
		return fail_at(parser, opened, "the parenthesis that opens here is never closed");
	return next_token(parser, false);
}

static enum sonde_status parse_not(struct parser *parser, uint32_t *node);

static enum sonde_status parse_term(struct parser *parser, uint32_t *node)
{
	struct token word = parser->token;
	enum sonde_status status;

	switch (word.kind) {
	case TOKEN_OPEN:
		return parse_parentheses(parser, node);
	case TOKEN_WORD:
		break;
	case TOKEN_END:
		return fail_at(parser, word.position, "expected a condition here, found the end");
	case TOKEN_COMPARE:
		return fail_at(parser, word.position,
			       "expected the name of an attribute before "
			       "this");
	default:
		return fail_at(parser, word.position, "expected a condition here");
	}
	status = next_token(parser, false);
	if (status != SONDE_OK)
		return status;
	if (parser->token.kind == TOKEN_COMPARE)
		return parse_comparison(parser, &word, node);
	return push_free_text(parser, &word, node);
}

static enum sonde_status parse_not(struct parser *parser, uint32_t *node)
{
	enum sonde_status status;

	if (parser->depth >= DEEPEST)
		return fail_at(parser, parser->token.position, "nested too deeply");
	parser->depth++;
	if (parser->token.kind == TOKEN_NOT) {
		status = next_token(parser, false);
		if (status == SONDE_OK)
			status = parse_not(parser, node);
		if (status == SONDE_OK)
			status = push_not(parser, node);
	} else {
		status = parse_term(parser, node);
	}
	parser->depth--;
	return status;
}

static enum sonde_status push_pair(struct parser *parser, enum sonde_query_kind kind,
				   uint32_t right, uint32_t *node)
{
	struct sonde_query_node pair = { .kind = kind, .left = *node, .right = right };

	return sonde_query_push(parser->query, &pair, node, parser->err);
}

/* Conditions that only stand beside each other must hold together, too. */
static enum sonde_status parse_and(struct parser *parser, uint32_t *node)
{
	enum sonde_status status = parse_not(parser, node);

	while (status == SONDE_OK && parser->token.kind != TOKEN_END &&
	       parser->token.kind != TOKEN_OR && parser->token.kind != TOKEN_CLOSE) {
		uint32_t right = 0;

		if (parser->token.kind == TOKEN_AND)
			status = next_token(parser, false);
		if (status == SONDE_OK)
			status = parse_not(parser, &right);
		if (status == SONDE_OK)
			status = push_pair(parser, SONDE_QUERY_AND, right, node);
	}
	return status;
}

static enum sonde_status parse_or(struct parser *parser, uint32_t *node)
{
	enum sonde_status status = parse_and(parser, node);

	while (status == SONDE_OK && parser->token.kind == TOKEN_OR) {
		uint32_t right = 0;

		status = next_token(parser, false);
		if (status == SONDE_OK)
			status = parse_and(parser, &right);
		if (status == SONDE_OK)
			status = push_pair(parser, SONDE_QUERY_OR, right, node);
	}
	return status;
}

enum sonde_status sonde_query_parse(struct sonde_query *query, const char *expression,
				    struct sonde_error *err)
{
	struct parser parser = { .query = query, .expression = expression, .err = err };
	bool had_root = query->nodes.count > 0;
	uint32_t node = 0;
	enum sonde_status status = next_token(&parser, false);

	if (status == SONDE_OK)
		status = parse_or(&parser, &node);
	if (status != SONDE_OK)
		return status;
	if (parser.token.kind != TOKEN_END)
		return fail_at(&parser, parser.token.position,
			       "this parenthesis closes nothing that was opened");
	return sonde_query_join(query, had_root, node, err);
}
