/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the arguments of annotations against the signatures of their event types. */
#include "formats/atf/atf_check_annotations.h"

#include "formats/atf/atf_findings.h"

enum sonde_status atf_check_event_type(struct atf_annotation_check *check, uint64_t key,
				       const char *path, uint64_t offset, struct sonde_error *err)
{
	if (sonde_key_map_find(&check->process->event_types, key) != UINT32_MAX ||
	    !check->process->parts.items[0].manifest.present ||
	    sonde_key_map_find(&check->reported, key) != UINT32_MAX)
		return SONDE_OK;
	ATF_FIND(check->diagnostics, EVENT_TYPE_MISSING, path, offset,
		 "a symbol with \"event_type\" for 0x%016llx\tnone in the manifest",
		 (unsigned long long)key);
	return sonde_key_map_add(&check->reported, key, 0) ? SONDE_OK : sonde_fail_nomem(err);
}

/* The signature of an event type, parsed once; borrowed. */
static enum sonde_status find_signature(struct atf_annotation_check *check, uint32_t type,
					const struct sonde_signature **signature,
					struct sonde_error *err)
{
	const struct sonde_event_type *definition =
		sonde_definitions_event_type(check->definitions, type);
	enum sonde_status status = SONDE_OK;

	while (check->signatures.count <= type) {
		struct sonde_signature **place = sonde_vec_push(&check->signatures);

		if (!place)
			return sonde_fail_nomem(err);
		*place = NULL;
	}
	if (!check->signatures.items[type])
		status = sonde_signature_parse(
			sonde_definitions_string(check->definitions, definition->arguments),
			&check->signatures.items[type], err);
	*signature = check->signatures.items[type];
	return status;
}

/* An event may go without arguments, but those that it has must be all of them. */
static enum sonde_status check_values(struct atf_annotation_check *check, uint32_t type,
				      const struct atf_arguments *values, const char *path,
				      uint64_t offset, struct sonde_error *err)
{
	struct sonde_arguments arguments = { .bytes = values->values, .size = values->size };
	struct sonde_argument argument;
	struct sonde_error reason;
	enum sonde_status status = find_signature(check, type, &arguments.signature, err);

	if (status < 0 || !values->size)
		return status;
	do
		status = sonde_arguments_next(&arguments, &argument, &reason);
	while (status == SONDE_OK);
	if (status < 0)
		ATF_FIND(check->diagnostics, DETAIL_ARGUMENTS, path, offset,
			 "the arguments of its event type\t%zu bytes: %s", values->size,
			 reason.message);
	return SONDE_OK;
}

enum sonde_status atf_check_arguments(struct atf_annotation_check *check,
				      const struct atf_file *file, uint64_t offset,
				      const struct atf_detail_record *record,
				      struct sonde_error *err)
{
	uint64_t start = offset + ATF_DETAIL_RECORD_SIZE;
	size_t size = record->total_length - ATF_DETAIL_RECORD_SIZE;
	struct atf_arguments arguments;
	uint32_t type;

	if (!atf_arguments_decode(&arguments, file->map.data + start, size)) {
		ATF_FIND(check->diagnostics, DETAIL_ARGUMENTS, file->path, start,
			 "a payload of at least %d bytes\t%zu bytes", ATF_ARGUMENTS_VALUES, size);
		return SONDE_OK;
	}
	type = sonde_key_map_find(&check->process->event_types, arguments.type_key);
	if (type == UINT32_MAX)
		return atf_check_event_type(check, arguments.type_key, file->path,
					    start + ATF_ARGUMENTS_TYPE, err);
	return check_values(check, type, &arguments, file->path, start + ATF_ARGUMENTS_VALUES, err);
}

void atf_annotation_check_release(struct atf_annotation_check *check)
{
	for (size_t i = 0; i < check->signatures.count; i++)
		sonde_signature_free(check->signatures.items[i]);
	sonde_vec_release(&check->signatures);
	sonde_key_map_release(&check->reported);
}
