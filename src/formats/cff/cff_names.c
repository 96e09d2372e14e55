/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits and joins arguments of 64 bits, as cff_names.h says, and knows the names that the existing
 * reader refuses.
 */
#include "formats/cff/cff_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "model/arguments.h"

/* The end of the names that stand for a type of 64 bits; NULL for any other type. */
static const char *wide_ending(enum sonde_argument_type type)
{
	switch (type) {
	case SONDE_ARGUMENT_INT64:
		return "i64";
	case SONDE_ARGUMENT_UINT64:
		return "u64";
	case SONDE_ARGUMENT_FLOAT64:
		return "f64";
	default:
		return NULL;
	}
}

unsigned int cff_argument_slots(const struct sonde_argument_spec *spec)
{
	if (spec->is_array || !wide_ending(spec->type))
		return 1;
	return spec->type == SONDE_ARGUMENT_FLOAT64 ? 3 : 2;
}

/* "type name" or "type name_what_ending" behind what is there. */
static void put_argument(struct sonde_buffer *out, const char *type, const char *name,
			 const char *what, const char *ending)
{
	if (out->size)
		sonde_buffer_put_text(out, ", ");
	sonde_buffer_put_text(out, type);
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_text(out, name);
	if (!ending)
		return;
	sonde_buffer_put_text(out, what);
	sonde_buffer_put_text(out, ending);
}

/* What arrays of types that have no arrays in a file are written as; NULL: as they are. */
static const char *array_type(enum sonde_argument_type type)
{
	if (type == SONDE_ARGUMENT_BOOL)
		return "uint8[]";
	return type == SONDE_ARGUMENT_FLOW || type == SONDE_ARGUMENT_TIME32 ? "uint32[]" : NULL;
}

static void put_plain(struct sonde_buffer *out, const struct sonde_argument_spec *spec)
{
	const char *name = sonde_argument_type_name(spec->type);

	if (out->size)
		sonde_buffer_put_text(out, ", ");
	sonde_buffer_put_text(out, name);
	if (spec->is_array)
		sonde_buffer_put_text(out, "[]");
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_text(out, spec->name);
}

/* True where the argument is not written as it is. */
static bool put_split(struct sonde_buffer *out, const struct sonde_argument_spec *spec)
{
	const char *ending = wide_ending(spec->type);

	if (spec->is_array && ending) {
		put_argument(out, "uint32[]", spec->name, "_pairs_", ending);
	} else if (ending && spec->type == SONDE_ARGUMENT_FLOAT64) {
		put_argument(out, "float32", spec->name, "", NULL);
		put_argument(out, "uint32", spec->name, "_low_", ending);
		put_argument(out, "uint32", spec->name, "_high_", ending);
	} else if (ending) {
		put_argument(out, "uint32", spec->name, "", NULL);
		put_argument(out, "uint32", spec->name, "_high_", ending);
	} else if (spec->is_array && array_type(spec->type)) {
		put_argument(out, array_type(spec->type), spec->name, "", NULL);
	} else {
		put_plain(out, spec);
		return false;
	}
	return true;
}

/* The text that was built, or a copy of the original where nothing was changed. */
static enum sonde_status take_text(struct sonde_buffer *made, const char *text, bool changed,
				   char **result, struct sonde_error *err)
{
	const char *chosen = changed ? sonde_buffer_text(made) : (text ? text : "");

	*result = chosen && !made->failed ? strdup(chosen) : NULL;
	sonde_buffer_release(made);
	return *result ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status cff_signature_split(const char *text, char **split, bool *is_split,
				      struct sonde_error *err)
{
	struct sonde_buffer made = { 0 };
	struct sonde_signature *signature;
	bool changed = false;
	enum sonde_status status = sonde_signature_parse(text, &signature, err);

	*split = NULL;
	if (status < 0)
		return status;
	for (size_t i = 0; i < sonde_signature_count(signature); i++)
		changed |= put_split(&made, sonde_signature_at(signature, i));
	sonde_signature_free(signature);
	if (is_split)
		*is_split = changed;
	return take_text(&made, text, changed, split, err);
}

/* `spec` is a uint32 whose name is `name`, `what` and `ending`. */
static bool continues(const struct sonde_argument_spec *spec, const char *name, const char *what,
		      const char *ending)
{
	size_t length = strlen(name), middle = strlen(what);

	return spec && spec->type == SONDE_ARGUMENT_UINT32 && !spec->is_array &&
	       !strncmp(spec->name, name, length) && !strncmp(spec->name + length, what, middle) &&
	       !strcmp(spec->name + length + middle, ending);
}

static const enum sonde_argument_type wide_types[] = {
	SONDE_ARGUMENT_INT64,
	SONDE_ARGUMENT_UINT64,
	SONDE_ARGUMENT_FLOAT64,
};

#define WIDE_TYPE_COUNT (sizeof(wide_types) / sizeof(wide_types[0]))

/* An array of pairs: its type and the length of its name; false where it is none. */
static bool find_pairs(const struct sonde_argument_spec *spec, enum sonde_argument_type *type,
		       size_t *length)
{
	static const char pairs[] = "_pairs_";
	size_t whole = strlen(spec->name), tail = sizeof(pairs) - 1 + 3;

	if (spec->type != SONDE_ARGUMENT_UINT32 || !spec->is_array || whole <= tail)
		return false;
	*length = whole - tail;
	if (strncmp(spec->name + *length, pairs, sizeof(pairs) - 1) != 0)
		return false;
	for (size_t i = 0; i < WIDE_TYPE_COUNT; i++) {
		*type = wide_types[i];
		if (!strcmp(spec->name + whole - 3, wide_ending(*type)))
			return true;
	}
	return false;
}

/* The type of 64 bits that begins with argument `i`, and how many it takes; 0: none does. */
static unsigned int find_wide(const struct sonde_signature *signature, size_t i,
			      enum sonde_argument_type *type)
{
	const struct sonde_argument_spec *spec = sonde_signature_at(signature, i);
	const struct sonde_argument_spec *next = sonde_signature_at(signature, i + 1);
	bool is_float = spec->type == SONDE_ARGUMENT_FLOAT32;

	if (spec->is_array || (spec->type != SONDE_ARGUMENT_UINT32 && !is_float))
		return 0;
	for (size_t k = 0; k < WIDE_TYPE_COUNT; k++) {
		const char *ending = wide_ending(wide_types[k]);

		*type = wide_types[k];
		if (is_float != (*type == SONDE_ARGUMENT_FLOAT64))
			continue;
		if (!is_float && continues(next, spec->name, "_high_", ending))
			return 2;
		if (is_float && continues(next, spec->name, "_low_", ending) &&
		    continues(sonde_signature_at(signature, i + 2), spec->name, "_high_", ending))
			return 3;
	}
	return 0;
}

enum sonde_status cff_signature_join(const char *text, char **joined, bool *is_joined,
				     struct sonde_error *err)
{
	struct sonde_buffer made = { 0 };
	struct sonde_signature *signature;
	bool changed = false;
	enum sonde_status status = sonde_signature_parse(text, &signature, err);

	*joined = NULL;
	if (status < 0)
		return status;
	for (size_t i = 0; i < sonde_signature_count(signature);) {
		const struct sonde_argument_spec *spec = sonde_signature_at(signature, i);
		enum sonde_argument_type type;
		unsigned int taken = find_wide(signature, i, &type);
		size_t length;

		if (taken) {
			put_argument(&made, sonde_argument_type_name(type), spec->name, "", NULL);
		} else if (find_pairs(spec, &type, &length)) {
			if (made.size)
				sonde_buffer_put_text(&made, ", ");
			sonde_buffer_put_text(&made, sonde_argument_type_name(type));
			sonde_buffer_put_text(&made, "[] ");
			sonde_buffer_put(&made, spec->name, length);
			taken = 1;
		} else {
			put_plain(&made, spec);
			i++;
			continue;
		}
		changed = true;
		i += taken;
	}
	sonde_signature_free(signature);
	if (is_joined)
		*is_joined = changed;
	return take_text(&made, text, changed, joined, err);
}

/* The values behind the first of a split number: low and high word, or high word only. */
static enum sonde_status join_number(struct sonde_arguments *values,
				     const struct sonde_argument_spec *spec,
				     struct sonde_argument *argument, struct sonde_error *err)
{
	unsigned int slots = cff_argument_slots(spec);
	uint64_t low = argument->value.u64;
	enum sonde_status status = SONDE_OK;

	for (unsigned int i = 1; !status && i < slots; i++) {
		status = sonde_arguments_next(values, argument, err);
		if (!status && i + 1 < slots)
			low = argument->value.u64;
	}
	argument->value.u64 = argument->value.u64 << 32 | (uint32_t)low;
	return status;
}

enum sonde_status cff_arguments_join(const struct sonde_signature *split,
				     const struct sonde_signature *joined, const uint8_t *bytes,
				     size_t size, struct sonde_buffer *out, struct sonde_error *err)
{
	struct sonde_arguments values = { .signature = split, .bytes = bytes, .size = size };

	for (size_t i = 0; i < sonde_signature_count(joined); i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(joined, i);
		struct sonde_argument argument;
		enum sonde_status status = sonde_arguments_next(&values, &argument, err);

		if (status == SONDE_END)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "an event has fewer arguments than its type");
		if (!status && cff_argument_slots(spec) > 1)
			status = join_number(&values, spec, &argument, err);
		if (status < 0)
			return status;
		if (spec->is_array && wide_ending(spec->type))
			argument.count /= 2;
		argument.spec = spec;
		sonde_arguments_put(out, &argument);
	}
	return SONDE_OK;
}

/* Words that JavaScript keeps for itself in strict code. */
static bool is_reserved_word(const char *text, size_t length)
{
	static const char words[] =
		" arguments break case catch class const continue debugger default delete do else "
		"enum eval export extends false finally for function if implements import in "
		"instanceof interface let new null package private protected public return static "
		"super switch this throw true try typeof var void while with yield ";
	const char *at = words;

	while (length && (at = strchr(at, ' ')) && *++at) {
		size_t size = strcspn(at, " ");

		if (size == length && !memcmp(at, text, length))
			return true;
	}
	return false;
}

bool cff_name_put(struct sonde_buffer *out, const char *name)
{
	bool changed = false;

	for (;;) {
		size_t length = strcspn(name, ".#:");
		bool is_reserved = is_reserved_word(name, length);

		sonde_buffer_put(out, name, length);
		if (is_reserved)
			sonde_buffer_put_char(out, '_');
		changed |= is_reserved;
		if (!name[length])
			return changed;
		sonde_buffer_put_char(out, name[length]);
		name += length + 1;
	}
}
