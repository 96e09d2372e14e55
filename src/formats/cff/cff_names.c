/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits arguments of 64 bits, as cff_names.h says, and knows the names that the existing reader
 * refuses.
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
