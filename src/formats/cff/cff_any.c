/* SPDX-License-Identifier: Apache-2.0 */
/* Values of type any: see cff_any.h. */
#include "formats/cff/cff_any.h"

#include "base/json.h"

enum { UNKNOWN_TEXT, JSON_TEXT, OTHER_TEXT };

static bool text_is_json(const char *text, size_t length)
{
	struct sonde_json_reader json;
	enum sonde_status status;

	sonde_json_reader_init(&json, text, length, NULL, NULL);
	do {
		status = sonde_json_next(&json, NULL);
	} while (status == SONDE_OK && json.token != SONDE_JSON_END);
	sonde_json_reader_release(&json);
	/* deeper than our reader goes is JSON all the same */
	return status == SONDE_OK || status == SONDE_LIMIT;
}

enum sonde_status cff_any_is_json(struct cff_any_texts *texts, struct cff_strings *strings,
				  uint32_t ordinal, bool *is_json, struct sonde_error *err)
{
	const char *text;
	size_t length;
	enum sonde_status status = cff_strings_get(strings, ordinal, &text, &length, err);

	*is_json = !text;
	if (status < 0 || !text || !length)
		return status;
	while (texts->known.count < strings->starts.count) {
		uint8_t *known = sonde_vec_push(&texts->known);

		if (!known)
			return sonde_fail_nomem(err);
		*known = UNKNOWN_TEXT;
	}
	if (texts->known.items[ordinal] == UNKNOWN_TEXT)
		texts->known.items[ordinal] = text_is_json(text, length) ? JSON_TEXT : OTHER_TEXT;
	*is_json = texts->known.items[ordinal] == JSON_TEXT;
	return SONDE_OK;
}
