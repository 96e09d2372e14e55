/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas over metrics, as users ("instructions / cycles"), measurements ("100*(#46/#47)"), meta.db ("($$^2)") and default.yaml
 * ({"*": [100, {/: [*a, *b]}]}) have them: read into one form, evaluated, and printed for YAML.
 * Depth and length are bounded, whatever the text.
 */
#ifndef SONDE_MODEL_FORMULA_H
#define SONDE_MODEL_FORMULA_H

#include <stdbool.h>

#include <sonde/status.h>

#include "base/buffer.h"
#include "base/vec.h"

#define SONDE_EXPRESSION_DEPTH 64   /* groups and functions within each other */
#define SONDE_EXPRESSION_NODES 2000 /* in one formula */

enum sonde_operation {
	SONDE_OPERATION_NUMBER,	   /* `number` */
	SONDE_OPERATION_VALUE,	   /* $$: what the formula is applied to */
	SONDE_OPERATION_REFERENCE, /* #n: `reference` is n */
	SONDE_OPERATION_NEGATE,
	SONDE_OPERATION_ADD, /* this and all below take `arguments` operands */
	SONDE_OPERATION_SUBTRACT,
	SONDE_OPERATION_MULTIPLY,
	SONDE_OPERATION_DIVIDE,
	SONDE_OPERATION_POWER,
	SONDE_OPERATION_SQUARE_ROOT,
	SONDE_OPERATION_LOGARITHM, /* natural, or to the base of a second argument */
	SONDE_OPERATION_MINIMUM,
	SONDE_OPERATION_MAXIMUM,
	SONDE_OPERATION_FLOOR,
	SONDE_OPERATION_CEILING,
	SONDE_OPERATION_STRICT_FLOOR,
	SONDE_OPERATION_STRICT_CEILING,
	SONDE_OPERATION_COUNT,
};

/* Operands come before their operation: the last node is the whole formula. */
struct sonde_expression_node {
	enum sonde_operation operation;
	uint32_t arguments;
	uint32_t size; /* nodes in it, itself counted: its last operand ends right before it */
	uint32_t reference;
	double number;
};

/* Zeroed means none; a formula that was read has at least one node. */
struct sonde_expression {
	SONDE_VEC(struct sonde_expression_node) nodes;
};

void sonde_expression_release(struct sonde_expression *expression);

/* Reads infix text. #n, $n and @n are references, $$ the value. On failure the formula is empty. */
enum sonde_status sonde_expression_parse(struct sonde_expression *expression, const char *text,
					 size_t length, struct sonde_error *err);

/* How names of metrics become references; without it there are none. */
struct sonde_expression_names {
	/* Says what is wrong where there is no such name, which is not NUL-terminated. */
	enum sonde_status (*find)(void *data, const char *name, size_t length, uint32_t *reference,
				  struct sonde_error *err);
	void *data;
};

/*
 * The same with names in place of #n and $$: words (letters, digits, '_', '.'), or whatever is in double or
 * single quotes. A word before '(' is a function first. *position gets where in the text it failed.
 */
enum sonde_status sonde_expression_parse_named(struct sonde_expression *expression,
					       const char *text, size_t length,
					       const struct sonde_expression_names *names,
					       size_t *position, struct sonde_error *err);

/*
 * Of "ipc = instructions / cycles" the length of the name before '=', which may be in quotes, and where the
 * formula begins. 0 where there is no name with a '=' behind it: then *formula is where that was found.
 */
size_t sonde_formula_take_name(const char *text, const char **name, const char **formula);

/* Whether a name needs no quotes in a formula. */
bool sonde_formula_name_is_word(const char *name);

/* Whether the name of a metric is meant by `wanted`: whatever the case, with or without its brackets. */
bool sonde_metric_name_matches(const char *name, const char *wanted, size_t length);

/*
 * How well `wanted` fits the name of a metric, whatever the case: 3 the whole name, 2 its first word
 * ("cputime" of "CPUTIME (sec):Mean"), 1 without brackets ("cputime:mean"), 0 not at all.
 */
unsigned int sonde_metric_name_closeness(const char *name, const char *wanted, size_t length);

/* How close an operation binds its operands; higher is closer. */
unsigned int sonde_expression_precedence(enum sonde_operation operation);

/* Both mean the same: equal but for spaces and parentheses without use. */
bool sonde_expression_equal(const struct sonde_expression *a, const struct sonde_expression *b);

/* What references stand for. `find` gives false where there is no value. */
struct sonde_expression_values {
	double value; /* of $$ */
	bool (*find)(void *data, uint32_t reference, double *value);
	void *data;
};

/*
 * False where there is no result: it is not finite, or none of the references has a value. Where only
 * some have none these count as 0.
 */
bool sonde_expression_evaluate(const struct sonde_expression *expression,
			       const struct sonde_expression_values *values, double *result);

/*
 * As a YAML flow node: a scalar, or {"/": [a, b]} with the names of default.yaml. `put_reference`
 * writes what stands for #n ("*alias").
 */
void sonde_expression_put_yaml(const struct sonde_expression *expression, struct sonde_buffer *out,
			       void (*put_reference)(void *data, uint32_t reference,
						     struct sonde_buffer *out),
			       void *data);

/* As infix text with as few parentheses as needed; references are #n. */
void sonde_expression_put_text(const struct sonde_expression *expression, struct sonde_buffer *out);

/*
 * For other notations: operands, operators and groups in the order of reading. Every call
 * returns SONDE_CORRUPT with what is wrong where the order makes no sense.
 */
struct sonde_expression_builder {
	struct sonde_expression *expression;
	bool has_operand; /* an operation may come, not an operand */
	uint32_t depth;
	struct {
		uint8_t operation; /* of a group: the function, SONDE_OPERATION_NUMBER for parentheses */
		bool is_group;
		uint32_t arguments; /* of a group: finished so far */
	} stack[SONDE_EXPRESSION_DEPTH * 6];
	uint32_t groups;
	const struct sonde_expression_names *names; /* NULL: none are understood */
	size_t position; /* in the last piece of text: of what was looked at last */
};

void sonde_expression_builder_begin(struct sonde_expression_builder *builder,
				    struct sonde_expression *expression);
enum sonde_status sonde_expression_builder_reference(struct sonde_expression_builder *builder,
						     uint32_t reference, struct sonde_error *err);
/* A piece of infix text: it may begin and end in the middle of a formula. */
enum sonde_status sonde_expression_builder_text(struct sonde_expression_builder *builder,
						const char *text, size_t length,
						struct sonde_error *err);
/* Parentheses, or (name not NULL) a function by its name or sign ("sqrt", "/"). */
enum sonde_status sonde_expression_builder_open(struct sonde_expression_builder *builder,
						const char *name, size_t length,
						struct sonde_error *err);
enum sonde_status sonde_expression_builder_next_argument(struct sonde_expression_builder *builder,
							 struct sonde_error *err);
enum sonde_status sonde_expression_builder_close(struct sonde_expression_builder *builder,
						 struct sonde_error *err);
enum sonde_status sonde_expression_builder_finish(struct sonde_expression_builder *builder,
						  struct sonde_error *err);

#endif
