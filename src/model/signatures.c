/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures by event type, each parsed once; arguments as text. */
#include "model/signatures.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void signatures_release(struct signatures *signatures)
{
	for (size_t i = 0; i < signatures->count; i++) {
		sonde_signature_free(signatures->items[i].signature);
		free(signatures->items[i].fault);
	}
	sonde_vec_release(signatures);
}

/* The place of an event type, or NULL where memory fails. */
static struct known_signature *place_of(struct signatures *signatures, uint32_t event_type)
{
	size_t more;

	if (event_type < signatures->count)
		return &signatures->items[event_type];
	more = event_type + (size_t)1 - signatures->count;
	if (!sonde_vec_reserve(signatures, more))
		return NULL;
	memset(signatures->items + signatures->count, 0, more * sizeof(*signatures->items));
	signatures->count += more;
	return &signatures->items[event_type];
}

const struct sonde_signature *signatures_get(struct signatures *signatures, uint32_t event_type,
					     struct sonde_error *err)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(signatures->definitions, event_type);
	struct known_signature *known = type ? place_of(signatures, event_type) : NULL;
	enum sonde_status status = SONDE_OK;

	if (!type) {
		sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			   "there is no event type %u to tell what its arguments are", event_type);
		return NULL;
	}
	if (known && !known->signature && !known->fault)
		status = sonde_signature_parse(
			sonde_definitions_string(signatures->definitions, type->arguments),
			&known->signature, err);
	if (!known || status == SONDE_NOMEM) {
		signatures->failed = true;
		sonde_fail_nomem(err);
		return NULL;
	}
	if (status)
		known->fault = strdup(err->message);
	if (known->fault)
		sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET, "%s", known->fault);
	return known->signature;
}

enum sonde_status signatures_put_text(struct sonde_buffer *out,
				      const struct sonde_signature *signature, const uint8_t *bytes,
				      size_t size, struct sonde_error *err)
{
	struct sonde_arguments arguments = { signature, bytes, size, 0, 0 };
	struct sonde_argument argument;
	enum sonde_status status;

	while ((status = sonde_arguments_next(&arguments, &argument, err)) == SONDE_OK) {
		struct sonde_json_writer json;

		sonde_buffer_put_text(out, arguments.index == 1 ? "(" : ", ");
		sonde_buffer_put_text(out, argument.spec->name);
		sonde_buffer_put_char(out, '=');
		sonde_json_writer_init(&json, out, false);
		sonde_argument_put_json(&json, &argument);
	}
	if (arguments.index)
		sonde_buffer_put_char(out, ')');
	return status == SONDE_END ? SONDE_OK : status;
}
