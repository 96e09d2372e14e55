/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas over metrics, as measurements ("100*(#46/#47)"), meta.db ("($$^2)") and default.yaml
 * ({"*": [100, {/: [*a, *b]}]}) have them: read into one form, evaluated, and printed for YAML.
 * Depth and length are bounded, whatever the text.
 */
#ifndef SONDE_HPCDB_FORMULA_H
#define SONDE_HPCDB_FORMULA_H

#include <stdbool.h>

#include <sonde/status.h>

#include "base/buffer.h"
#include "base/vec.h"

#define HPCDB_FORMULA_DEPTH 64	 /* groups and functions within each other */
#define HPCDB_FORMULA_NODES 2000 /* in one formula */

enum hpcdb_operation {
	HPCDB_NUMBER,	 /* `number` */
	HPCDB_VALUE,	 /* $$: what the formula is applied to */
	HPCDB_REFERENCE, /* #n: `reference` is n */
	HPCDB_NEGATE,
	HPCDB_ADD, /* this and all below take `arguments` operands */
	HPCDB_SUBTRACT,
	HPCDB_MULTIPLY,
	HPCDB_DIVIDE,
	HPCDB_POWER,
	HPCDB_SQUARE_ROOT,
	HPCDB_LOGARITHM, /* natural, or to the base of a second argument */
	HPCDB_MINIMUM,
	HPCDB_MAXIMUM,
	HPCDB_FLOOR,
	HPCDB_CEILING,
	HPCDB_STRICT_FLOOR,
	HPCDB_STRICT_CEILING,
	HPCDB_OPERATORS,
};

/* Operands come before their operation: the last node is the whole formula. */
struct hpcdb_formula_node {
	enum hpcdb_operation operation;
	uint32_t arguments;
	uint32_t size; /* nodes in it, itself counted: its last operand ends right before it */
	uint32_t reference;
	double number;
};

/* Zeroed means none; a formula that was read has at least one node. */
struct hpcdb_formula {
	SONDE_VEC(struct hpcdb_formula_node) nodes;
};

void hpcdb_formula_release(struct hpcdb_formula *formula);

/* Reads infix text. #n, $n and @n are references, $$ the value. On failure the formula is empty. */
enum sonde_status hpcdb_formula_parse(struct hpcdb_formula *formula, const char *text,
				      size_t length, struct sonde_error *err);

/* How close an operation binds its operands; higher is closer. */
unsigned int hpcdb_formula_precedence(enum hpcdb_operation operation);

/* Both mean the same: equal but for spaces and parentheses without use. */
bool hpcdb_formula_equal(const struct hpcdb_formula *a, const struct hpcdb_formula *b);

/* What references stand for. `find` gives false where there is no value. */
struct hpcdb_formula_values {
	double value; /* of $$ */
	bool (*find)(void *data, uint32_t reference, double *value);
	void *data;
};

/*
 * False where there is no result: it is not finite, or none of the references has a value. Where only
 * some have none these count as 0.
 */
bool hpcdb_formula_evaluate(const struct hpcdb_formula *formula,
			    const struct hpcdb_formula_values *values, double *result);

/*
 * As a YAML flow node: a scalar, or {"/": [a, b]} with the names of default.yaml. `put_reference`
 * writes what stands for #n ("*alias").
 */
void hpcdb_formula_put_yaml(const struct hpcdb_formula *formula, struct sonde_buffer *out,
			    void (*put_reference)(void *data, uint32_t reference,
						  struct sonde_buffer *out),
			    void *data);

/* As infix text with as few parentheses as needed; references are #n. */
void hpcdb_formula_put_text(const struct hpcdb_formula *formula, struct sonde_buffer *out);

/*
 * For other notations: operands, operators and groups in the order of reading. Every call
 * returns SONDE_CORRUPT with what is wrong where the order makes no sense.
 */
struct hpcdb_formula_builder {
	struct hpcdb_formula *formula;
	bool has_operand; /* an operation may come, not an operand */
	uint32_t depth;
	struct {
		uint8_t operation; /* of a group: the function, HPCDB_NUMBER for parentheses */
		bool is_group;
		uint32_t arguments; /* of a group: finished so far */
	} stack[HPCDB_FORMULA_DEPTH * 6];
	uint32_t groups;
};

void hpcdb_builder_begin(struct hpcdb_formula_builder *builder, struct hpcdb_formula *formula);
enum sonde_status hpcdb_builder_reference(struct hpcdb_formula_builder *builder, uint32_t reference,
					  struct sonde_error *err);
/* A piece of infix text: it may begin and end in the middle of a formula. */
enum sonde_status hpcdb_builder_text(struct hpcdb_formula_builder *builder, const char *text,
				     size_t length, struct sonde_error *err);
/* Parentheses, or (name not NULL) a function by its name or sign ("sqrt", "/"). */
enum sonde_status hpcdb_builder_open(struct hpcdb_formula_builder *builder, const char *name,
				     size_t length, struct sonde_error *err);
enum sonde_status hpcdb_builder_next_argument(struct hpcdb_formula_builder *builder,
					      struct sonde_error *err);
enum sonde_status hpcdb_builder_close(struct hpcdb_formula_builder *builder,
				      struct sonde_error *err);
enum sonde_status hpcdb_builder_finish(struct hpcdb_formula_builder *builder,
				       struct sonde_error *err);

#endif
