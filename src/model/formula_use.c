/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with a formula that was read: evaluating, comparing, printing. */
#include "model/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operands on the stack at most; more only with functions of very many arguments. */
#define STACK_SIZE 256

static double fold(enum sonde_operation operation, const double *values, uint32_t count)
{
	double result = count ? values[0] : (operation == SONDE_OPERATION_MULTIPLY ? 1 : 0);

	for (uint32_t i = 1; i < count; i++) {
		double next = values[i];

		switch (operation) {
		case SONDE_OPERATION_ADD:
			result += next;
			break;
		case SONDE_OPERATION_SUBTRACT:
			result -= next;
			break;
		case SONDE_OPERATION_MULTIPLY:
			result *= next;
			break;
		case SONDE_OPERATION_DIVIDE:
			result /= next;
			break;
		case SONDE_OPERATION_POWER:
			result = pow(result, next);
			break;
		case SONDE_OPERATION_LOGARITHM:
			return log(result) / log(next);
		case SONDE_OPERATION_MINIMUM:
			result = fmin(result, next);
			break;
		default:
			result = fmax(result, next);
			break;
		}
	}
	return result;
}

static double apply(const struct sonde_expression_node *node, const double *values)
{
	switch (node->operation) {
	case SONDE_OPERATION_NEGATE:
		return -values[0];
	case SONDE_OPERATION_SQUARE_ROOT:
		return sqrt(values[0]);
	case SONDE_OPERATION_FLOOR:
		return floor(values[0]);
	case SONDE_OPERATION_CEILING:
		return ceil(values[0]);
	case SONDE_OPERATION_STRICT_FLOOR:
		return ceil(values[0]) - 1;
	case SONDE_OPERATION_STRICT_CEILING:
		return floor(values[0]) + 1;
	case SONDE_OPERATION_LOGARITHM:
		if (node->arguments == 1)
			return log(values[0]);
		break;
	default:
		break;
	}
	return fold(node->operation, values, node->arguments);
}

/* How far the evaluation is. */
struct evaluation {
	const struct sonde_expression_values *values;
	uint32_t references, found;
};

static double operand(struct evaluation *evaluation, const struct sonde_expression_node *node)
{
	const struct sonde_expression_values *values = evaluation->values;
	double value = 0;

	if (node->operation == SONDE_OPERATION_NUMBER)
		return node->number;
	if (node->operation == SONDE_OPERATION_VALUE)
		return values->value;
	evaluation->references++;
	if (!values->find || !values->find(values->data, node->reference, &value))
		return 0;
	evaluation->found++;
	return value;
}

bool sonde_expression_evaluate(const struct sonde_expression *expression,
			       const struct sonde_expression_values *values, double *result)
{
	struct evaluation evaluation = { .values = values };
	double space[STACK_SIZE], *stack = space;
	size_t depth = 0, count = expression->nodes.count;

	*result = 0;
	if (!count)
		return false;
	if (count > STACK_SIZE)
		stack = malloc(count * sizeof(*stack));
	for (size_t i = 0; stack && i < count; i++) {
		const struct sonde_expression_node *node = &expression->nodes.items[i];

		if (node->operation <= SONDE_OPERATION_REFERENCE) {
			stack[depth++] = operand(&evaluation, node);
			continue;
		}
		depth -= node->arguments;
		stack[depth] = apply(node, stack + depth);
		depth++;
	}
	*result = stack ? stack[0] : NAN;
	if (stack != space)
		free(stack);
	return isfinite(*result) && (!evaluation.references || evaluation.found);
}

bool sonde_expression_equal(const struct sonde_expression *a, const struct sonde_expression *b)
{
	if (a->nodes.count != b->nodes.count)
		return false;
	for (size_t i = 0; i < a->nodes.count; i++) {
		const struct sonde_expression_node *x = &a->nodes.items[i], *y = &b->nodes.items[i];

		if (x->operation != y->operation || x->arguments != y->arguments ||
		    x->reference != y->reference || x->number != y->number)
			return false;
	}
	return true;
}

/* The shortest text that reads back as the same number. */
static void put_number(double number, struct sonde_buffer *out)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	sonde_buffer_put_text(out, text);
}

/* As keys of a map; quoted where YAML would take the sign for something else. */
static const char *const yaml_names[SONDE_OPERATION_COUNT] = {
	[SONDE_OPERATION_NEGATE] = "\"-\"",
	[SONDE_OPERATION_ADD] = "+",
	[SONDE_OPERATION_SUBTRACT] = "\"-\"",
	[SONDE_OPERATION_MULTIPLY] = "\"*\"",
	[SONDE_OPERATION_DIVIDE] = "/",
	[SONDE_OPERATION_POWER] = "^",
	[SONDE_OPERATION_SQUARE_ROOT] = "sqrt",
	[SONDE_OPERATION_LOGARITHM] = "log",
	[SONDE_OPERATION_MINIMUM] = "min",
	[SONDE_OPERATION_MAXIMUM] = "max",
	[SONDE_OPERATION_FLOOR] = "floor",
	[SONDE_OPERATION_CEILING] = "ceil",
	[SONDE_OPERATION_STRICT_FLOOR] = "strict floor",
	[SONDE_OPERATION_STRICT_CEILING] = "strict ceil",
};

struct printing {
	const struct sonde_expression_node *nodes;
	struct sonde_buffer *out;
	void (*put_reference)(void *data, uint32_t reference, struct sonde_buffer *out);
	void *data;
};

static void put_operand(const struct printing *printing, const struct sonde_expression_node *node)
{
	if (node->operation == SONDE_OPERATION_NUMBER)
		put_number(node->number, printing->out);
	else if (node->operation == SONDE_OPERATION_VALUE)
		sonde_buffer_put_text(printing->out, "$$");
	else
		printing->put_reference(printing->data, node->reference, printing->out);
}

/* The last node of operand `number` of the operation at `at`. */
static size_t operand_of(const struct printing *printing, size_t at, uint32_t number)
{
	size_t place = at - 1;

	for (uint32_t i = printing->nodes[at].arguments - 1; i > number; i--)
		place -= printing->nodes[place].size;
	return place;
}

/* As deep as the formula, which its reader bounds. */
static void put_yaml(const struct printing *printing, size_t at)
{
	const struct sonde_expression_node *node = &printing->nodes[at];

	if (node->operation <= SONDE_OPERATION_REFERENCE) {
		put_operand(printing, node);
		return;
	}
	sonde_buffer_put_char(printing->out, '{');
	sonde_buffer_put_text(printing->out, yaml_names[node->operation]);
	sonde_buffer_put_text(printing->out, ": [");
	for (uint32_t i = 0; i < node->arguments; i++) {
		if (i)
			sonde_buffer_put_text(printing->out, ", ");
		put_yaml(printing, operand_of(printing, at, i));
	}
	sonde_buffer_put_text(printing->out, "]}");
}

void sonde_expression_put_yaml(const struct sonde_expression *expression, struct sonde_buffer *out,
			       void (*put_reference)(void *data, uint32_t reference,
						     struct sonde_buffer *out),
			       void *data)
{
	struct printing printing = { expression->nodes.items, out, put_reference, data };

	if (expression->nodes.count)
		put_yaml(&printing, expression->nodes.count - 1);
}

/* Numbers and functions stand for themselves; a negative number has a sign. */
static unsigned int text_precedence(const struct sonde_expression_node *node)
{
	if (node->operation == SONDE_OPERATION_NUMBER)
		return node->number < 0 ? sonde_expression_precedence(SONDE_OPERATION_NEGATE) : 5;
	if (node->operation < SONDE_OPERATION_NEGATE || node->operation > SONDE_OPERATION_POWER)
		return 5;
	return sonde_expression_precedence(node->operation);
}

static void put_text(const struct printing *printing, size_t at, unsigned int least);

static void put_call(const struct printing *printing, size_t at)
{
	const struct sonde_expression_node *node = &printing->nodes[at];
	const char *name = yaml_names[node->operation];

	if (node->operation == SONDE_OPERATION_ADD)
		name = "sum";
	if (node->operation == SONDE_OPERATION_MULTIPLY)
		name = "prod";
	sonde_buffer_put_text(printing->out, name);
	sonde_buffer_put_char(printing->out, '(');
	for (uint32_t i = 0; i < node->arguments; i++) {
		if (i)
			sonde_buffer_put_char(printing->out, ',');
		put_text(printing, operand_of(printing, at, i), 0);
	}
	sonde_buffer_put_char(printing->out, ')');
}

/* `least`: what binds less close than that is put in parentheses. */
static void put_text(const struct printing *printing, size_t at, unsigned int least)
{
	static const char signs[] = "+-*/^";
	const struct sonde_expression_node *node = &printing->nodes[at];
	unsigned int own = text_precedence(node);
	bool is_infix = node->operation >= SONDE_OPERATION_ADD &&
			node->operation <= SONDE_OPERATION_POWER && node->arguments >= 2;

	if (node->operation <= SONDE_OPERATION_REFERENCE) {
		put_operand(printing, node);
		return;
	}
	if (!is_infix && node->operation != SONDE_OPERATION_NEGATE) {
		put_call(printing, at);
		return;
	}
	if (own < least)
		sonde_buffer_put_char(printing->out, '(');
	for (uint32_t i = 0; i < node->arguments; i++) {
		bool is_right = i > 0;

		if (!is_infix)
			sonde_buffer_put_char(printing->out, '-');
		else if (i)
			sonde_buffer_put_char(printing->out,
					      signs[node->operation - SONDE_OPERATION_ADD]);
		if (node->operation == SONDE_OPERATION_POWER)
			is_right = i == 0;
		put_text(printing, operand_of(printing, at, i), own + is_right);
	}
	if (own < least)
		sonde_buffer_put_char(printing->out, ')');
}

static void put_number_sign(void *data, uint32_t reference, struct sonde_buffer *out)
{
	(void)data;
	sonde_buffer_put_format(out, "#%u", reference);
}

void sonde_expression_put_text(const struct sonde_expression *expression, struct sonde_buffer *out)
{
	struct printing printing = { expression->nodes.items, out, put_number_sign, NULL };

	if (expression->nodes.count)
		put_text(&printing, expression->nodes.count - 1, 0);
}
