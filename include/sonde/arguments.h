/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed arguments of events. What an event type takes is text, a signature: "uint32 size, utf8 name,
 * float32[] weights". The values of one event are packed bytes in the order of the signature:
 *
 *   numbers		little-endian, padded to 4 bytes; 64-bit ones take 8
 *   text		u32 length in bytes (UINT32_MAX: null), the bytes, padding to 4
 *   arrays		u32 count (UINT32_MAX: null), the items without gaps, padding to 4
 */
#ifndef SONDE_ARGUMENTS_H
#define SONDE_ARGUMENTS_H

#include <stdbool.h>

#include <sonde/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word in a signature, bytes of an item) */
#define SONDE_ARGUMENT_TYPE_LIST(X)                                                                \
	X(BOOL, "bool", 1)                                                                         \
	X(INT8, "int8", 1)                                                                         \
	X(UINT8, "uint8", 1)                                                                       \
	X(CHAR, "char", 1) /* a character of Latin-1 */                                            \
	X(INT16, "int16", 2)                                                                       \
	X(UINT16, "uint16", 2)                                                                     \
	X(WCHAR, "wchar", 2) /* a unit of UTF-16 */                                                \
	X(INT32, "int32", 4)                                                                       \
	X(UINT32, "uint32", 4)                                                                     \
	X(INT64, "int64", 8)                                                                       \
	X(UINT64, "uint64", 8)                                                                     \
	X(FLOAT32, "float32", 4)                                                                   \
	X(FLOAT64, "float64", 8)                                                                   \
	X(FLOW, "flowId", 4)   /* the number of a flow; 0: none */                                 \
	X(TIME32, "time32", 4) /* microseconds */                                                  \
	X(ASCII, "ascii", 0)                                                                       \
	X(UTF8, "utf8", 0)                                                                         \
	X(ANY, "any", 0) /* JSON text */

enum sonde_argument_type {
#define X(name, word, size) SONDE_ARGUMENT_##name,
	SONDE_ARGUMENT_TYPE_LIST(X)
#undef X
};

/* One argument of a signature. */
struct sonde_argument_spec {
	const char *name;
	enum sonde_argument_type type;
	bool is_array;
};

struct sonde_signature;

/*
 * Understands the words above, those with "[]", sequence<T>, and the other names that are in use:
 * byte, octet, short, unsigned short, long, unsigned long, float, DOMString. NULL and ""
 * are the signature without arguments. SONDE_CORRUPT says what is wrong with the text.
 */
enum sonde_status sonde_signature_parse(const char *text, struct sonde_signature **signature,
					struct sonde_error *err);
void sonde_signature_free(struct sonde_signature *signature);
size_t sonde_signature_count(const struct sonde_signature *signature);
/* NULL past the last. Borrowed. */
const struct sonde_argument_spec *sonde_signature_at(const struct sonde_signature *signature,
						     size_t index);

union sonde_argument_value {
	uint64_t u64; /* BOOL too; CHAR and WCHAR: the code */
	int64_t i64;  /* INT8 .. INT64 */
	double f64;   /* FLOAT32, FLOAT64 */
};

/* The value of one argument; pointers go into the packed bytes. */
struct sonde_argument {
	const struct sonde_argument_spec *spec;
	bool is_null;			  /* text and arrays */
	union sonde_argument_value value; /* of a number */
	const uint8_t *bytes;		  /* of text (not NUL-terminated) and arrays */
	size_t count;			  /* bytes of text, items of an array */
};

/* Goes through packed bytes. Set the first three, the rest to 0. */
struct sonde_arguments {
	const struct sonde_signature *signature;
	const uint8_t *bytes;
	size_t size;
	size_t position;
	size_t index;
};

/* The next value; SONDE_END after the last, SONDE_CORRUPT where the bytes end too early. */
enum sonde_status sonde_arguments_next(struct sonde_arguments *arguments,
				       struct sonde_argument *argument, struct sonde_error *err);

/* Item `index` of an array (which must have it). */
union sonde_argument_value sonde_argument_item(const struct sonde_argument *argument, size_t index);

/* The word of a type ("uint32"), and the bytes of one item; 0 for text. */
const char *sonde_argument_type_name(enum sonde_argument_type type);
size_t sonde_argument_type_size(enum sonde_argument_type type);

static inline bool sonde_argument_type_is_text(enum sonde_argument_type type)
{
	return type >= SONDE_ARGUMENT_ASCII;
}

static inline bool sonde_argument_type_is_signed(enum sonde_argument_type type)
{
	return type == SONDE_ARGUMENT_INT8 || type == SONDE_ARGUMENT_INT16 ||
	       type == SONDE_ARGUMENT_INT32 || type == SONDE_ARGUMENT_INT64;
}

static inline bool sonde_argument_type_is_float(enum sonde_argument_type type)
{
	return type == SONDE_ARGUMENT_FLOAT32 || type == SONDE_ARGUMENT_FLOAT64;
}

#ifdef __cplusplus
}
#endif

#endif
