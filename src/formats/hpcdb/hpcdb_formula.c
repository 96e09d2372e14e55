/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading formulas: one machine of operators and groups with two stacks, fed by infix text here and by
 * the nodes of YAML elsewhere. Evaluating and printing is in hpcdb_formula_use.c.
 */
#include "formats/hpcdb/hpcdb_formula.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_NAME_LIMIT 16
#define NUMBER_LIMIT 64

struct function_name {
	const char *name;
	enum hpcdb_operation operation;
	uint32_t least, most; /* arguments */
};

static const struct function_name functions[] = {
	{ "sum", HPCDB_ADD, 0, UINT32_MAX },
	{ "prod", HPCDB_MULTIPLY, 0, UINT32_MAX },
	{ "pow", HPCDB_POWER, 2, 2 },
	{ "sqrt", HPCDB_SQUARE_ROOT, 1, 1 },
	{ "log", HPCDB_LOGARITHM, 1, 2 },
	{ "ln", HPCDB_LOGARITHM, 1, 1 },
	{ "min", HPCDB_MINIMUM, 1, UINT32_MAX },
	{ "max", HPCDB_MAXIMUM, 1, UINT32_MAX },
	{ "floor", HPCDB_FLOOR, 1, 1 },
	{ "ceil", HPCDB_CEILING, 1, 1 },
	{ "strict floor", HPCDB_STRICT_FLOOR, 1, 1 },
	{ "strict ceil", HPCDB_STRICT_CEILING, 1, 1 },
	{ "+", HPCDB_ADD, 0, UINT32_MAX },
	{ "-", HPCDB_SUBTRACT, 1, UINT32_MAX },
	{ "*", HPCDB_MULTIPLY, 0, UINT32_MAX },
	{ "/", HPCDB_DIVIDE, 2, UINT32_MAX },
	{ "^", HPCDB_POWER, 2, 2 },
};

void hpcdb_formula_release(struct hpcdb_formula *formula)
{
	sonde_vec_release(&formula->nodes);
}

unsigned int hpcdb_formula_precedence(enum hpcdb_operation operation)
{
	switch (operation) {
	case HPCDB_ADD:
	case HPCDB_SUBTRACT:
		return 1;
	case HPCDB_MULTIPLY:
	case HPCDB_DIVIDE:
		return 2;
	case HPCDB_NEGATE:
		return 3;
	default:
		return 4; /* powers, the only ones that are taken from the right */
	}
}

void hpcdb_builder_begin(struct hpcdb_formula_builder *builder, struct hpcdb_formula *formula)
{
	*builder = (struct hpcdb_formula_builder){ .formula = formula };
	formula->nodes.count = 0;
}

static enum sonde_status add_node(struct hpcdb_formula_builder *builder,
				  const struct hpcdb_formula_node *node, struct sonde_error *err)
{
	struct hpcdb_formula *formula = builder->formula;
	struct hpcdb_formula_node *added;
	uint32_t size = 1;

	if (formula->nodes.count >= HPCDB_FORMULA_NODES)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a formula of more than %d parts is not read",
				  HPCDB_FORMULA_NODES);
	for (uint32_t i = 0; i < node->arguments; i++)
		size += formula->nodes.items[formula->nodes.count - size].size;
	added = sonde_vec_push(&formula->nodes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = *node;
	added->size = size;
	return SONDE_OK;
}

static enum sonde_status add_operation(struct hpcdb_formula_builder *builder,
				       enum hpcdb_operation operation, uint32_t arguments,
				       struct sonde_error *err)
{
	struct hpcdb_formula_node node = { .operation = operation, .arguments = arguments };

	return add_node(builder, &node, err);
}

static enum sonde_status add_operand(struct hpcdb_formula_builder *builder,
				     const struct hpcdb_formula_node *node, struct sonde_error *err)
{
	if (builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operator between two operands of a formula, "
				  "found none");
	builder->has_operand = true;
	return add_node(builder, node, err);
}

static enum sonde_status builder_number(struct hpcdb_formula_builder *builder, double number,
					struct sonde_error *err)
{
	struct hpcdb_formula_node node = { .operation = HPCDB_NUMBER, .number = number };

	return add_operand(builder, &node, err);
}

enum sonde_status hpcdb_builder_reference(struct hpcdb_formula_builder *builder, uint32_t reference,
					  struct sonde_error *err)
{
	struct hpcdb_formula_node node = { .operation = HPCDB_REFERENCE, .reference = reference };

	return add_operand(builder, &node, err);
}

static enum sonde_status push(struct hpcdb_formula_builder *builder, enum hpcdb_operation operation,
			      bool is_group, struct sonde_error *err)
{
	size_t room = sizeof(builder->stack) / sizeof(builder->stack[0]);

	if (builder->depth >= room || (is_group && builder->groups >= HPCDB_FORMULA_DEPTH))
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a formula with more than %d levels is not read",
				  HPCDB_FORMULA_DEPTH);
	builder->stack[builder->depth].operation = (uint8_t)operation;
	builder->stack[builder->depth].is_group = is_group;
	builder->stack[builder->depth++].arguments = 0;
	builder->groups += is_group;
	return SONDE_OK;
}

/* Takes operations from the stack that bind at least so close, down to the group around. */
static enum sonde_status pop_operations(struct hpcdb_formula_builder *builder, unsigned int least,
					struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (status == SONDE_OK && builder->depth &&
	       !builder->stack[builder->depth - 1].is_group) {
		enum hpcdb_operation operation = builder->stack[builder->depth - 1].operation;

		if (hpcdb_formula_precedence(operation) < least)
			break;
		builder->depth--;
		status = add_operation(builder, operation, operation == HPCDB_NEGATE ? 1 : 2, err);
	}
	return status;
}

static enum sonde_status put_sign(struct hpcdb_formula_builder *builder, char sign,
				  struct sonde_error *err)
{
	static const char signs[] = "+-*/^";
	enum hpcdb_operation operation =
		HPCDB_ADD + (enum hpcdb_operation)(strchr(signs, sign) - signs);
	enum sonde_status status;

	if (!builder->has_operand) {
		if (sign == '+')
			return SONDE_OK;
		if (sign == '-')
			return push(builder, HPCDB_NEGATE, false, err);
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operand before '%c' in a formula, found none", sign);
	}
	status = pop_operations(
		builder, hpcdb_formula_precedence(operation) + (operation == HPCDB_POWER), err);
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

enum sonde_status hpcdb_builder_open(struct hpcdb_formula_builder *builder, const char *name,
				     size_t length, struct sonde_error *err)
{
	const struct function_name *function = name ? find_function(name, length) : NULL;

	if (name && !function)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a function of formulas, found \"%.*s\"",
				  (int)(length < 40 ? length : 40), name);
	if (builder->has_operand)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected an operator before a group of a formula, found none");
	return push(builder, function ? function->operation : HPCDB_NUMBER, true, err);
}

static enum sonde_status end_argument(struct hpcdb_formula_builder *builder,
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

enum sonde_status hpcdb_builder_next_argument(struct hpcdb_formula_builder *builder,
					      struct sonde_error *err)
{
	enum sonde_status status = end_argument(builder, err);

	builder->has_operand = false;
	return status;
}

static enum sonde_status check_arguments(enum hpcdb_operation operation, uint32_t count,
					 struct sonde_error *err)
{
	for (size_t i = 0;
	     operation != HPCDB_NUMBER && i < sizeof(functions) / sizeof(functions[0]); i++) {
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

enum sonde_status hpcdb_builder_close(struct hpcdb_formula_builder *builder,
				      struct sonde_error *err)
{
	bool is_empty = !builder->has_operand && builder->depth &&
			builder->stack[builder->depth - 1].is_group &&
			!builder->stack[builder->depth - 1].arguments;
	enum sonde_status status = is_empty ? SONDE_OK : end_argument(builder, err);
	enum hpcdb_operation operation;
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
	if (operation == HPCDB_NUMBER)
		return SONDE_OK;
	if (operation == HPCDB_SUBTRACT && count == 1)
		operation = HPCDB_NEGATE;
	return add_operation(builder, operation, count, err);
}

enum sonde_status hpcdb_builder_finish(struct hpcdb_formula_builder *builder,
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

static enum sonde_status put_number(struct hpcdb_formula_builder *builder, const char *text,
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
static enum sonde_status put_variable(struct hpcdb_formula_builder *builder, const char *text,
				      size_t length, size_t *used, struct sonde_error *err)
{
	static const struct hpcdb_formula_node value = { .operation = HPCDB_VALUE };
	uint32_t number = 0;
	size_t i = 1;

	*used = 2;
	if (length >= 2 && text[0] == '$' && text[1] == '$')
		return add_operand(builder, &value, err);
	for (; i < length && isdigit((unsigned char)text[i]) && number < 100000000; i++)
		number = number * 10 + (uint32_t)(text[i] - '0');
	*used = i;
	if (i > 1)
		return hpcdb_builder_reference(builder, number, err);
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected $$ or the number of a metric behind '%c', found neither",
			  text[0]);
}

/* "sqrt (": a name and what opens its arguments. */
static enum sonde_status put_function(struct hpcdb_formula_builder *builder, const char *text,
				      size_t length, size_t *used, struct sonde_error *err)
{
	size_t size = 0, i;

	while (size < length && size < FUNCTION_NAME_LIMIT &&
	       (isalpha((unsigned char)text[size]) || (size && text[size] == ' ')))
		size++;
	for (i = size; i < length && text[i] == ' ';)
		i++;
	while (size && text[size - 1] == ' ')
		size--;
	if (!size || i >= length || text[i] != '(')
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "expected a number, a metric or a function in a formula, found "
				  "\"%.*s\"",
				  (int)(length < 20 ? length : 20), text);
	*used = i + 1;
	return hpcdb_builder_open(builder, text, size, err);
}

static enum sonde_status put_token(struct hpcdb_formula_builder *builder, const char *text,
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
		return hpcdb_builder_open(builder, NULL, 0, err);
	case ')':
		return hpcdb_builder_close(builder, err);
	case ',':
		return hpcdb_builder_next_argument(builder, err);
	case '#':
	case '$':
	case '@':
		return put_variable(builder, text, length, used, err);
	default:
		return put_function(builder, text, length, used, err);
	}
}

enum sonde_status hpcdb_builder_text(struct hpcdb_formula_builder *builder, const char *text,
				     size_t length, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t used;

	for (size_t i = 0; i < length && status == SONDE_OK; i += used)
		status = put_token(builder, text + i, length - i, &used, err);
	return status;
}

enum sonde_status hpcdb_formula_parse(struct hpcdb_formula *formula, const char *text,
				      size_t length, struct sonde_error *err)
{
	struct hpcdb_formula_builder builder;
	enum sonde_status status;

	hpcdb_builder_begin(&builder, formula);
	status = hpcdb_builder_text(&builder, text, length, err);
	if (status == SONDE_OK)
		status = hpcdb_builder_finish(&builder, err);
	if (status < 0)
		formula->nodes.count = 0;
	return status;
}
