/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identities of tracks as JSON text and back. An attribute comes from a file that anybody may have
 * written: what cannot be understood counts as absent, and the track is named by process and slot.
 */
#include "model/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static const char *const kind_names[SONDE_IDENTITY_KNOWN] = {
	[SONDE_IDENTITY_SUMMARY] = "SUMMARY",
	[SONDE_IDENTITY_NODE] = "NODE",
	[SONDE_IDENTITY_RANK] = "RANK",
	[SONDE_IDENTITY_THREAD] = "THREAD",
	[SONDE_IDENTITY_GPU_DEVICE] = "GPUDEVICE",
	[SONDE_IDENTITY_GPU_CONTEXT] = "GPUCONTEXT",
	[SONDE_IDENTITY_GPU_STREAM] = "GPUSTREAM",
	[SONDE_IDENTITY_CORE] = "CORE",
};

const char *sonde_identity_kind_name(uint16_t kind)
{
	return kind < SONDE_IDENTITY_KNOWN ? kind_names[kind] : NULL;
}

static void write_identity(struct sonde_json_writer *writer, const struct sonde_identity *identity)
{
	const char *name = sonde_identity_kind_name(identity->kind);

	sonde_json_object_begin(writer);
	if (name)
		sonde_json_member_string(writer, "kind", name);
	else
		sonde_json_member_u64(writer, "kind", identity->kind);
	if (identity->is_physical)
		sonde_json_member_u64(writer, "physical", identity->physical);
	sonde_json_member_u64(writer, "logical", identity->logical);
	sonde_json_object_end(writer);
}

static enum sonde_status add_attribute(struct sonde_definitions *definitions, uint32_t track,
				       const struct sonde_buffer *text, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_TRACK, .owner_id = track };
	enum sonde_status status;
	uint32_t id;

	if (text->failed)
		return sonde_fail_nomem(err);
	status = sonde_definitions_add_string(definitions, SONDE_IDENTITY_ATTRIBUTE,
					      strlen(SONDE_IDENTITY_ATTRIBUTE), &attribute.name,
					      err);
	if (!status)
		status = sonde_definitions_add_string(definitions, text->data, text->size,
						      &attribute.value, err);
	if (!status)
		status = sonde_definitions_add_attribute(definitions, &attribute, &id, err);
	return status;
}

enum sonde_status sonde_identity_define(struct sonde_definitions *definitions, uint32_t track,
					const struct sonde_identity *identities, size_t count,
					struct sonde_error *err)
{
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer writer;
	enum sonde_status status;

	sonde_json_writer_init(&writer, &text, false);
	sonde_json_array_begin(&writer);
	for (size_t i = 0; i < count && i < SONDE_IDENTITY_LIMIT; i++)
		write_identity(&writer, &identities[i]);
	sonde_json_array_end(&writer);
	status = add_attribute(definitions, track, &text, err);
	sonde_buffer_release(&text);
	return status;
}

static bool read_kind(const struct sonde_json_reader *reader, uint16_t *kind)
{
	uint64_t number;

	if (reader->token == SONDE_JSON_NUMBER) {
		if (!sonde_json_u64(reader, &number) || number > UINT16_MAX)
			return false;
		*kind = (uint16_t)number;
		return true;
	}
	for (uint16_t i = 0; reader->token == SONDE_JSON_STRING && i < SONDE_IDENTITY_KNOWN; i++) {
		if (strcmp(reader->text, kind_names[i]))
			continue;
		*kind = i;
		return true;
	}
	return false;
}

/* Members of an identity that were met, as bits. */
enum { HAS_KIND = 1, HAS_LOGICAL = 2, HAS_PHYSICAL = 4 };

/* The value of a key of which the token is present; *understood turns false where it is none. */
static enum sonde_status read_member(struct sonde_json_reader *reader,
				     struct sonde_identity *identity, unsigned int *has,
				     bool *understood, struct sonde_error *err)
{
	enum sonde_status status;
	unsigned int which = 0;

	if (!strcmp(reader->text, "kind"))
		which = HAS_KIND;
	else if (!strcmp(reader->text, "logical"))
		which = HAS_LOGICAL;
	else if (!strcmp(reader->text, "physical"))
		which = HAS_PHYSICAL;
	else
		return sonde_json_skip(reader, err);
	status = sonde_json_next(reader, err);
	if (status)
		return status;
	*has |= which;
	if (which == HAS_KIND)
		*understood &= read_kind(reader, &identity->kind);
	else
		*understood &= reader->token == SONDE_JSON_NUMBER &&
			       sonde_json_u64(reader, which == HAS_LOGICAL ? &identity->logical :
									     &identity->physical);
	return SONDE_OK;
}

/* The object whose begin is the present token. */
static enum sonde_status read_identity(struct sonde_json_reader *reader,
				       struct sonde_identity *identity, bool *understood,
				       struct sonde_error *err)
{
	enum sonde_status status;
	unsigned int has = 0;

	*identity = (struct sonde_identity){ 0 };
	status = sonde_json_next(reader, err);
	while (!status && *understood && reader->token == SONDE_JSON_KEY) {
		status = read_member(reader, identity, &has, understood, err);
		if (!status && *understood)
			status = sonde_json_next(reader, err);
	}
	*understood &= (has & HAS_KIND) && (has & HAS_LOGICAL);
	identity->is_physical = has & HAS_PHYSICAL;
	if (!identity->is_physical)
		identity->physical = identity->logical;
	return status;
}

/* *count stays 0 where the text is not a list of identities. */
static enum sonde_status read_identities(struct sonde_json_reader *reader,
					 struct sonde_identity identities[SONDE_IDENTITY_LIMIT],
					 size_t *count, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(reader, err);
	bool understood = true;
	size_t read = 0;

	if (status || reader->token != SONDE_JSON_ARRAY_BEGIN)
		return status;
	status = sonde_json_next(reader, err);
	while (!status && reader->token == SONDE_JSON_OBJECT_BEGIN && read < SONDE_IDENTITY_LIMIT) {
		status = read_identity(reader, &identities[read], &understood, err);
		if (status || !understood)
			return status;
		read++;
		status = sonde_json_next(reader, err);
	}
	if (!status && (reader->token == SONDE_JSON_ARRAY_END || read == SONDE_IDENTITY_LIMIT))
		*count = read;
	return status;
}

/* Where nobody said who a track is. */
static size_t make_up(const struct sonde_track *track, struct sonde_identity *identities)
{
	size_t count = 0;

	if (!track)
		return 0;
	if (track->process != SONDE_NONE)
		identities[count++] = (struct sonde_identity){
			.kind = SONDE_IDENTITY_RANK,
			.physical = track->process,
			.logical = track->process,
		};
	identities[count++] = (struct sonde_identity){
		.kind = track->kind == SONDE_TRACK_GPU_STREAM ? SONDE_IDENTITY_GPU_STREAM :
								SONDE_IDENTITY_THREAD,
		.physical = track->slot,
		.logical = track->slot,
	};
	return count;
}

enum sonde_status sonde_identity_of_track(const struct sonde_definitions *definitions,
					  uint32_t track,
					  struct sonde_identity identities[SONDE_IDENTITY_LIMIT],
					  size_t *count, struct sonde_error *err)
{
	const char *text = sonde_definitions_find_attribute(definitions, SONDE_OWNER_TRACK, track,
							    SONDE_IDENTITY_ATTRIBUTE);
	struct sonde_json_reader reader;
	enum sonde_status status;

	*count = 0;
	if (text) {
		sonde_json_reader_init(&reader, text, strlen(text), NULL, NULL);
		status = read_identities(&reader, identities, count, err);
		sonde_json_reader_release(&reader);
		if (status == SONDE_NOMEM)
			return status;
	}
	if (!*count)
		*count = make_up(sonde_definitions_track(definitions, track), identities);
	return SONDE_OK;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int sonde_identity_compare(const struct sonde_identity *a, size_t a_count,
			   const struct sonde_identity *b, size_t b_count)
{
	for (size_t i = 0; i < a_count && i < b_count; i++) {
		int order = compare_numbers(a[i].kind, b[i].kind);

		if (!order)
			order = compare_numbers(a[i].physical, b[i].physical);
		if (!order)
			order = compare_numbers(a[i].logical, b[i].logical);
		if (order)
			return order;
	}
	return compare_numbers(a_count, b_count);
}

/* A host id is told in hexadecimal, as tools print it; all else counts. */
static int print_identity(const struct sonde_identity *identity, char *space, size_t size)
{
	const char *name = sonde_identity_kind_name(identity->kind);
	char number[32];

	if (identity->is_physical && identity->kind == SONDE_IDENTITY_NODE)
		snprintf(number, sizeof(number), "0x%" PRIx64, identity->physical);
	else
		snprintf(number, sizeof(number), "%" PRIu64, identity->logical);
	if (name)
		return snprintf(space, size, "%s %s", name, number);
	return snprintf(space, size, "KIND%u %s", identity->kind, number);
}

const char *sonde_identity_text(const struct sonde_identity *identities, size_t count, char *space,
				size_t size)
{
	size_t used = 0;

	if (!size)
		return "";
	space[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		int length;

		if (i && used + 1 < size) {
			space[used++] = ' ';
			space[used] = '\0';
		}
		length = print_identity(&identities[i], space + used, size - used);
		if (length < 0 || (size_t)length >= size - used)
			break;
		used += (size_t)length;
	}
	return space;
}
