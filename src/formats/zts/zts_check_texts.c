/* SPDX-License-Identifier: Apache-2.0 */
/* The text index of a part: every file, every id, and what typed texts are put together of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_check.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_fmi.h"

/* Every block of the packed files; opening looks at their headers only. */
static enum sonde_status verify_fmi(struct zts_part_check *check, const char *name,
				    struct sonde_error *err)
{
	char *path = sonde_path_join(check->folder, name);
	struct sonde_error fault;
	struct zts_fmi *fmi;
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_fmi_open(path, &fmi, &fault);
	if (status == SONDE_OK) {
		bool is_whole = zts_fmi_header_is_whole(fmi);

		status = zts_fmi_verify(fmi, &fault);
		/* a bad header was reported when the texts were opened */
		if (status < 0 && status != SONDE_NOMEM && is_whole)
			zts_found(check->found, FMI_DAMAGED, path, fault.offset,
				  "a sound index\t%s", fault.message);
		zts_fmi_free(fmi);
	}
	free(path);
	return status == SONDE_NOMEM ? sonde_fail_nomem(err) : SONDE_OK;
}

static enum sonde_status verify_packed(struct zts_part_check *check, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, check->folder, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count && status == SONDE_OK; i++) {
		size_t length = strlen(folder.names[i]);

		if (zts_is_part_file(folder.names[i]) && length > 4 &&
		    !strcmp(folder.names[i] + length - 4, ".fmi"))
			status = verify_fmi(check, folder.names[i], err);
	}
	sonde_folder_release(&folder);
	return status;
}

/* The kind of a text; -1 where there is none. */
static int kind_of(struct zts_part_check *check, uint32_t id)
{
	struct zts_typed_text typed;
	const char *text;
	size_t size;

	if (zts_texts_get(check->texts, id, &text, &size, NULL) != SONDE_OK)
		return -1;
	if (zts_text_parse(text, size, &typed, NULL) != SONDE_OK)
		return ZTS_TEXT_STRING;
	return (int)typed.kind;
}

static void check_field(struct zts_part_check *check, uint32_t id, uint32_t field,
			unsigned int kinds, const char *what)
{
	int kind;

	if (!field)
		return;
	kind = kind_of(check, field);
	if (kind < 0)
		zts_found(check->found, TEXT_TYPED, check->folder, SONDE_NO_OFFSET,
			  "text %" PRIu32 ": the text of its %s\tno text %" PRIu32, id, what,
			  field);
	else if (!(kinds & 1u << kind))
		zts_found(check->found, TEXT_TYPED, check->folder, SONDE_NO_OFFSET,
			  "text %" PRIu32 ": its %s to be of another kind\ttext %" PRIu32
			  " of kind %d",
			  id, what, field, kind);
}

#define KIND(name) (1u << ZTS_TEXT_##name)
/* Names are strings in stores of some agents. */
#define NAMES (KIND(STRING) | KIND(KEYWORD) | KIND(CLASS) | KIND(METHOD_NAME) | KIND(SIGNATURE))

static void check_stack(struct zts_part_check *check, uint32_t id, struct zts_typed_text *stack)
{
	uint32_t frame;

	while (zts_text_next_frame(stack, &frame))
		check_field(check, id, frame, KIND(FRAME) | KIND(STRING), "frame");
}

static void check_typed(struct zts_part_check *check, uint32_t id, struct zts_typed_text *typed)
{
	switch (typed->kind) {
	case ZTS_TEXT_KEY_LITERAL:
		check_field(check, id, typed->fields[0], NAMES, "key");
		break;
	case ZTS_TEXT_KEY_VALUE:
		check_field(check, id, typed->fields[0], NAMES, "key");
		check_field(check, id, typed->fields[1], NAMES | KIND(UUID), "value");
		break;
	case ZTS_TEXT_METHOD:
		check_field(check, id, typed->fields[0], NAMES, "class");
		check_field(check, id, typed->fields[1], NAMES, "method name");
		check_field(check, id, typed->fields[2], NAMES, "signature");
		break;
	case ZTS_TEXT_EXCEPTION:
		check_field(check, id, typed->fields[0], NAMES, "class");
		check_field(check, id, typed->fields[1], NAMES, "message");
		check_field(check, id, typed->fields[2], KIND(STACK) | KIND(STRING), "stack");
		check_field(check, id, typed->fields[3], KIND(EXCEPTION) | KIND(STRING), "cause");
		break;
	case ZTS_TEXT_STACK:
		check_stack(check, id, typed);
		break;
	case ZTS_TEXT_FRAME:
		check_field(check, id, typed->fields[0], NAMES, "class");
		check_field(check, id, typed->fields[1], NAMES, "method name");
		check_field(check, id, typed->fields[2], NAMES, "file");
		break;
	default:
		break;
	}
}

static enum sonde_status check_text(struct zts_part_check *check, uint32_t id, bool *is_there,
				    struct sonde_error *err)
{
	struct zts_typed_text typed;
	struct sonde_error fault;
	const char *text;
	size_t size;
	enum sonde_status status = zts_texts_get(check->texts, id, &text, &size, err);

	*is_there = status == SONDE_OK;
	if (status == SONDE_NOMEM)
		return status;
	if (status != SONDE_OK)
		return SONDE_OK;
	zts_set_add(&check->present, id);
	if (zts_text_parse(text, size, &typed, &fault) != SONDE_OK)
		zts_found(check->found, TEXT_TYPED, check->folder, SONDE_NO_OFFSET,
			  "text %" PRIu32 " with its marks\t%s", id, fault.message);
	else
		check_typed(check, id, &typed);
	return SONDE_OK;
}

enum sonde_status zts_check_texts(struct zts_part_check *check, struct sonde_error *err)
{
	uint32_t end, expected = 1;
	enum sonde_status status =
		zts_texts_open(check->folder, "text", check->found, &check->texts, err);

	if (status == SONDE_OK)
		status = verify_packed(check, err);
	if (status < 0)
		return status;
	end = zts_texts_end(check->texts);
	if (!zts_set_init(&check->present, end))
		return sonde_fail_nomem(err);
	for (uint32_t id = zts_texts_next(check->texts, 1); id < end && status == SONDE_OK;
	     id = zts_texts_next(check->texts, id + 1)) {
		bool is_there;

		status = check_text(check, id, &is_there, err);
		if (is_there && id != expected)
			zts_found(check->found, TEXT_IDS, check->folder, SONDE_NO_OFFSET,
				  "text %" PRIu32 "\ttext %" PRIu32, expected, id);
		if (is_there)
			expected = id + 1;
	}
	return status;
}
