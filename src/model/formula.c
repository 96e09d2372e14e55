/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading formulas: one machine of operators and groups with two stacks, fed by infix text here and by
 * the nodes of YAML elsewhere. Evaluating and printing is in formula_use.c.
 */
#include "model/formula.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_NAME_LIMIT 16
#define NUMBER_LIMIT 64

struct function_name {
	const char *name;
	enum sonde_operation operation;
	uint32_t least, most; /* arguments */
};

static const struct function_name functions[] = {
	{ "sum", SONDE_OPERATION_ADD, 0, UINT32_MAX },
	{ "prod", SONDE_OPERATION_MULTIPLY, 0, UINT32_MAX },
	{ "pow", SONDE_OPERATION_POWER, 2, 2 },
	{ "sqrt", SONDE_OPERATION_SQUARE_ROOT, 1, 1 },
	{ "log", SONDE_OPERATION_LOGARITHM, 1, 2 },
	{ "ln", SONDE_OPERATION_LOGARITHM, 1, 1 },
	{ "min", SONDE_OPERATION_MINIMUM, 1, UINT32_MAX },
	{ "max", SONDE_OPERATION_MAXIMUM, 1, UINT32_MAX },
	{ "floor", SONDE_OPERATION_FLOOR, 1, 1 },
	{ "ceil", SONDE_OPERATION_CEILING, 1, 1 },
	{ "strict floor", SONDE_OPERATION_STRICT_FLOOR, 1, 1 },
	{ "strict ceil", SONDE_OPERATION_STRICT_CEILING, 1, 1 },
	{ "+", SONDE_OPERATION_ADD, 0, UINT32_MAX },
	{ "-", SONDE_OPERATION_SUBTRACT, 1, UINT32_MAX },
	{ "*", SONDE_OPERATION_MULTIPLY, 0, UINT32_MAX },
	{ "/", SONDE_OPERATION_DIVIDE, 2, UINT32_MAX },
	{ "^", SONDE_OPERATION_POWER, 2, 2 },
};

void sonde_expression_release(struct sonde_expression *expression)
{
	sonde_vec_release(&expression->nodes);
}

unsigned int sonde_expression_precedence(enum sonde_operation operation)
{
	switch (operation) {
	case SONDE_OPERATION_ADD:
	case SONDE_OPERATION_SUBTRACT:
		return 1;
	case SONDE_OPERATION_MULTIPLY:
	case SONDE_OPERATION_DIVIDE:
		return 2;
	case SONDE_OPERATION_NEGATE:
		return 3;
	default:
		return 4; /* powers, the only ones that are taken from the right */
	}
}

void sonde_expression_builder_begin(struct sonde_expression_builder *builder,
				    struct sonde_expression *expression)
{
	*builder = (struct sonde_expression_builder){ .expression = expression };
	expression->nodes.count = 0;
}

static enum sonde_status add_node(struct sonde_expression_builder *builder,
				  const struct sonde_expression_node *node, struct sonde_error *err)
{
	struct sonde_expression *expression = builder->expression;
	struct sonde_expression_node *added;
	uint32_t size = 1;

	if (expression->nodes.count >= SONDE_EXPRESSION_NODES)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a formula of more than %d parts is not read",
				  SONDE_EXPRESSION_NODES);
	for (uint32_t i = 0; i < node->arguments; i++)
		size += expression->nodes.items[expression->nodes.count - size].size;
	added = sonde_vec_push(&expression->nodes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = *node;
	added->size = size;
	return SONDE_OK;
}

static enum sonde_status add_operation(struct sonde_expression_builder *builder,
				       enum sonde_operation operation, uint32_t arguments,
				       struct sonde_error *err)
{
	struct sonde_expression_node node = { .operation = operation, .arguments = arguments };

	return add_node(builder, &node, err);
}

static enum sonde_status add_operand(struct sonde_expression_builder *builder,
				     const struct sonde_expression_node *node,
				     struct sonde_error *err)
{
	if (builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operator between two operands of a formula, "
				  "found none");
	builder->has_operand = true;
	return add_node(builder, node, err);
}

static enum sonde_status builder_number(struct sonde_expression_builder *builder, double number,
					struct sonde_error *err)
{
	struct sonde_expression_node node = { .operation = SONDE_OPERATION_NUMBER,
					      .number = number };

	return add_operand(builder, &node, err);
}

enum sonde_status sonde_expression_builder_reference(struct sonde_expression_builder *builder,
						     uint32_t reference, struct sonde_error *err)
{
	struct sonde_expression_node node = { .operation = SONDE_OPERATION_REFERENCE,
					      .reference = reference };

	return add_operand(builder, &node, err);
}

static enum sonde_status push(struct sonde_expression_builder *builder,
			      enum sonde_operation operation, bool is_group,
			      struct sonde_error *err)
{
	size_t room = sizeof(builder->stack) / sizeof(builder->stack[0]);

	if (builder->depth >= room || (is_group && builder->groups >= SONDE_EXPRESSION_DEPTH))
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a formula with more than %d levels is not read",
				  SONDE_EXPRESSION_DEPTH);
	builder->stack[builder->depth].operation = (uint8_t)operation;
	builder->stack[builder->depth].is_group = is_group;
	builder->stack[builder->depth++].arguments = 0;
	builder->groups += is_group;
	return SONDE_OK;
}

/* Takes operations from the stack that bind at least so close, down to the group around. */
static enum sonde_status pop_operations(struct sonde_expression_builder *builder,
					unsigned int least, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (status == SONDE_OK && builder->depth &&
	       !builder->stack[builder->depth - 1].is_group) {
		enum sonde_operation operation = builder->stack[builder->depth - 1].operation;

		if (sonde_expression_precedence(operation) < least)
			break;
		builder->depth--;
		status = add_operation(builder, operation,
				       operation == SONDE_OPERATION_NEGATE ? 1 : 2, err);
	}
	return status;
}

static enum sonde_status put_sign(struct sonde_expression_builder *builder, char sign,
				  struct sonde_error *err)
{
	static const char signs[] = "+-*/^";
	enum sonde_operation operation =
		SONDE_OPERATION_ADD + (enum sonde_operation)(strchr(signs, sign) - signs);
	enum sonde_status status;

	if (!builder->has_operand) {
		if (sign == '+')
			return SONDE_OK;
		if (sign == '-')
			return push(builder, SONDE_OPERATION_NEGATE, false, err);
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operand before '%c' in a formula, found none", sign);
	}
	status = pop_operations(
		builder,
		sonde_expression_precedence(operation) + (operation == SONDE_OPERATION_POWER), err);
	if (status == SONDE_OK)
		status = push(builder, operation, false, err);
	builder->has_operand = false;
	return status;
}

static const struct function_name *find_function(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length))
			return &functions[i];
	}
	return NULL;
}

enum sonde_status sonde_expression_builder_open(struct sonde_expression_builder *builder,
						const char *name, size_t length,
						struct sonde_error *err)
{
	const struct function_name *function = name ? find_function(name, length) : NULL;

	if (name && !function)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a function of formulas, found \"%.*s\"",
				  (int)(length < 40 ? length : 40), name);
	if (builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operator before a group of a formula, found none");
	return push(builder, function ? function->operation : SONDE_OPERATION_NUMBER, true, err);
}

static enum sonde_status end_argument(struct sonde_expression_builder *builder,
				      struct sonde_error *err)
{
	enum sonde_status status;

	if (!builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operand at the end of a part of a formula, found "
				  "none");
	status = pop_operations(builder, 0, err);
	if (status == SONDE_OK && !builder->depth)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a part of a formula ends that was not begun");
	if (status == SONDE_OK)
		builder->stack[builder->depth - 1].arguments++;
	return status;
}

enum sonde_status sonde_expression_builder_next_argument(struct sonde_expression_builder *builder,
							 struct sonde_error *err)
{
	enum sonde_status status = end_argument(builder, err);

	builder->has_operand = false;
	return status;
}

static enum sonde_status check_arguments(enum sonde_operation operation, uint32_t count,
					 struct sonde_error *err)
{
	for (size_t i = 0;
	     operation != SONDE_OPERATION_NUMBER && i < sizeof(functions) / sizeof(functions[0]);
	     i++) {
		if (functions[i].operation != operation)
			continue;
		if (count >= functions[i].least && count <= functions[i].most)
			return SONDE_OK;
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "function %s of a formula has %u arguments, which is not allowed",
				  functions[i].name, count);
	}
	if (count == 1)
		return SONDE_OK;
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected one formula in parentheses, found %u", count);
}

enum sonde_status sonde_expression_builder_close(struct sonde_expression_builder *builder,
						 struct sonde_error *err)
{
	bool is_empty = !builder->has_operand && builder->depth &&
			builder->stack[builder->depth - 1].is_group &&
			!builder->stack[builder->depth - 1].arguments;
	enum sonde_status status = is_empty ? SONDE_OK : end_argument(builder, err);
	enum sonde_operation operation;
	uint32_t count;

	if (status < 0)
		return status;
	builder->depth--;
	builder->groups--;
	operation = builder->stack[builder->depth].operation;
	count = builder->stack[builder->depth].arguments;
	status = check_arguments(operation, count, err);
	if (status < 0)
		return status;
	builder->has_operand = true;
	if (operation == SONDE_OPERATION_NUMBER)
		return SONDE_OK;
	if (operation == SONDE_OPERATION_SUBTRACT && count == 1)
		operation = SONDE_OPERATION_NEGATE;
	return add_operation(builder, operation, count, err);
}

enum sonde_status sonde_expression_builder_finish(struct sonde_expression_builder *builder,
						  struct sonde_error *err)
{
	if (!builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operand at the end of a formula, found none");
	if (builder->groups)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a group of a formula is not closed");
	return pop_operations(builder, 0, err);
}

/* The length of the number that text starts with, 0 where it does not. */
static size_t number_length(const char *text, size_t length)
{
	size_t i = 0, digits = 0;

	for (; i < length && (isdigit((unsigned char)text[i]) || text[i] == '.'); i++)
		digits += text[i] != '.';
	if (!digits)
		return 0;
	if (i + 1 < length && (text[i] == 'e' || text[i] == 'E')) {
		size_t j = i + 1 + (text[i + 1] == '-' || text[i + 1] == '+');

		if (j < length && isdigit((unsigned char)text[j])) {
			for (i = j; i < length && isdigit((unsigned char)text[i]);)
				i++;
		}
	}
	return i;
}

static enum sonde_status put_number(struct sonde_expression_builder *builder, const char *text,
				    size_t length, struct sonde_error *err)
{
	char copy[NUMBER_LIMIT + 1], *end;
	double number;

	if (length > NUMBER_LIMIT)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a number of more than %d characters is not read", NUMBER_LIMIT);
	memcpy(copy, text, length);
	copy[length] = '\0';
	number = strtod(copy, &end);
	if (*end)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a number in a formula, found \"%s\"", copy);
	return builder_number(builder, number, err);
}

/* "#12", "$12", "@12", "$$"; *used is 0 where it is none of them. */
static enum sonde_status put_variable(struct sonde_expression_builder *builder, const char *text,
				      size_t length, size_t *used, struct sonde_error *err)
{
	static const struct sonde_expression_node value = { .operation = SONDE_OPERATION_VALUE };
	uint32_t number = 0;
	size_t i = 1;

	*used = 2;
	if (length >= 2 && text[0] == '$' && text[1] == '$')
		return add_operand(builder, &value, err);
	for (; i < length && isdigit((unsigned char)text[i]) && number < 100000000; i++)
		number = number * 10 + (uint32_t)(text[i] - '0');
	*used = i;
	if (i > 1)
		return sonde_expression_builder_reference(builder, number, err);
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected $$ or the number of a metric behind '%c', found neither",
			  text[0]);
}

/* "sqrt (": how long a name is, and *used, how long with what opens its arguments; 0: there is none. */
static size_t function_length(const char *text, size_t length, size_t *used)
{
	size_t size = 0, i;

	while (size < length && size < FUNCTION_NAME_LIMIT &&
	       (isalpha((unsigned char)text[size]) || (size && text[size] == ' ')))
		size++;
	for (i = size; i < length && text[i] == ' ';)
		i++;
	while (size && text[size - 1] == ' ')
		size--;
	*used = i + 1;
	return i < length && text[i] == '(' ? size : 0;
}

static enum sonde_status put_function(struct sonde_expression_builder *builder, const char *text,
				      size_t length, size_t *used, struct sonde_error *err)
{
	size_t size = function_length(text, length, used);

	if (!size)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a number, a metric or a function in a formula, found "
				  "\"%.*s\"",
				  (int)(length < 20 ? length : 20), text);
	return sonde_expression_builder_open(builder, text, size, err);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* A function where a name of one and a parenthesis are next, else a metric. */
static enum sonde_status put_name(struct sonde_expression_builder *builder, const char *text,
				  size_t length, size_t *used, struct sonde_error *err)
{
	bool is_quoted = *text == '"' || *text == '\'';
	size_t size = is_quoted, function = function_length(text, length, used);
	uint32_t reference = 0;
	enum sonde_status status;

	if (function && find_function(text, function))
		return sonde_expression_builder_open(builder, text, function, err);
	while (size < length && (is_quoted ? text[size] != *text : is_word(text[size])))
		size++;
	if (is_quoted && size == length)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a %c that ends a name in a formula, found none", *text);
	*used = size + is_quoted;
	if (builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operator before a name in a formula, found none");
	status = builder->names->find(builder->names->data, text + is_quoted, size - is_quoted,
				      &reference, err);
	return status < 0 ? status : sonde_expression_builder_reference(builder, reference, err);
}

static enum sonde_status put_token(struct sonde_expression_builder *builder, const char *text,
				   size_t length, size_t *used, struct sonde_error *err)
{
	size_t digits = number_length(text, length);

	*used = 1;
	if (isspace((unsigned char)*text))
		return SONDE_OK;
	if (digits) {
		*used = digits;
		return put_number(builder, text, digits, err);
	}
	switch (*text) {
	case '+':
	case '-':
	case '*':
	case '/':
	case '^':
		return put_sign(builder, *text, err);
	case '(':
		return sonde_expression_builder_open(builder, NULL, 0, err);
	case ')':
		return sonde_expression_builder_close(builder, err);
	case ',':
		return sonde_expression_builder_next_argument(builder, err);
	case '#':
	case '$':
	case '@':
		if (builder->names)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "expected the name of a metric in a formula, found '%c'",
					  *text);
		return put_variable(builder, text, length, used, err);
	default:
		break;
	}
	if (builder->names &&
	    (*text == '"' || *text == '\'' || *text == '_' || isalpha((unsigned char)*text)))
		return put_name(builder, text, length, used, err);
	return put_function(builder, text, length, used, err);
}

enum sonde_status sonde_expression_builder_text(struct sonde_expression_builder *builder,
						const char *text, size_t length,
						struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t used;

	for (size_t i = 0; i < length && status == SONDE_OK; i += used) {
		builder->position = i;
		status = put_token(builder, text + i, length - i, &used, err);
	}
	if (status == SONDE_OK)
		builder->position = length;
	return status;
}

enum sonde_status sonde_expression_parse_named(struct sonde_expression *expression,
					       const char *text, size_t length,
					       const struct sonde_expression_names *names,
					       size_t *position, struct sonde_error *err)
{
	struct sonde_expression_builder builder;
	enum sonde_status status;

	sonde_expression_builder_begin(&builder, expression);
	builder.names = names;
	status = sonde_expression_builder_text(&builder, text, length, err);
	if (status == SONDE_OK)
		status = sonde_expression_builder_finish(&builder, err);
	if (status < 0)
		expression->nodes.count = 0;
	*position = builder.position;
	return status;
}

enum sonde_status sonde_expression_parse(struct sonde_expression *expression, const char *text,
					 size_t length, struct sonde_error *err)
{
	size_t position;

	return sonde_expression_parse_named(expression, text, length, NULL, &position, err);
}
