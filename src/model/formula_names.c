/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in formulas that people write: the one that a formula gives to its result, and how the name of a
 * metric may be shortened.
 */
#include "model/formula.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define WORD_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

bool sonde_formula_name_is_word(const char *name)
{
	return !name[strspn(name, WORD_CHARACTERS)];
}

size_t sonde_formula_take_name(const char *text, const char **name, const char **formula)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	if (*text == '"' || *text == '\'') {
		*name = text + 1;
		length = strcspn(*name, *text == '"' ? "\"" : "'");
		text = *name + length + ((*name)[length] != '\0');
	} else {
		*name = text;
		length = strspn(text, WORD_CHARACTERS);
		text += length;
	}
	while (isspace((unsigned char)*text))
		text++;
	*formula = text;
	if (*text != '=' || !length)
		return 0;
	(*formula)++;
	return length;
}

static bool equals(const char *name, size_t size, const char *wanted, size_t length)
{
	return size == length && !strncasecmp(name, wanted, length);
}

bool sonde_metric_name_matches(const char *name, const char *wanted, size_t length)
{
	if (equals(name, strlen(name), wanted, length))
		return true;
	while (*name) {
		const char *end = name[0] == ' ' && name[1] == '(' ? strchr(name, ')') : NULL;

		if (end) {
			name = end + 1;
			continue;
		}
		if (!length || tolower((unsigned char)*name) != tolower((unsigned char)*wanted))
			return false;
		name++;
		wanted++;
		length--;
	}
	return !length;
}

unsigned int sonde_metric_name_closeness(const char *name, const char *wanted, size_t length)
{
	size_t first_word = strcspn(name, " ([");

	if (equals(name, strlen(name), wanted, length))
		return 3;
	if (first_word && equals(name, first_word, wanted, length))
		return 2;
	return sonde_metric_name_matches(name, wanted, length);
}
