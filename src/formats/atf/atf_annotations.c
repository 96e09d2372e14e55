/* SPDX-License-Identifier: Apache-2.0 */
/* What index events of the kinds from 4 on, which are ours, become in the model. */
#include "formats/atf/atf_annotations.h"

#include <stdio.h>

/* An event type that the manifest does not have is called as the function of its number, or by it. */
static enum sonde_status add_unknown(struct atf_process *process,
				     struct sonde_definitions *definitions, uint64_t key,
				     uint32_t *event_type, struct sonde_error *err)
{
	uint32_t function = sonde_key_map_find(&process->functions, key);
	struct sonde_event_type type = { 0 };
	enum sonde_status status = SONDE_OK;
	char number[64];

	if (function != SONDE_NONE)
		type.name = sonde_definitions_function(definitions, function)->name;
	if (!type.name) {
		int length = snprintf(number, sizeof(number), "[unknown]+%#llx",
				      (unsigned long long)key);

		status = sonde_definitions_add_string(definitions, number, (size_t)length,
						      &type.name, err);
	}
	if (status == SONDE_OK)
		status = sonde_definitions_add_event_type(definitions, &type, event_type, err);
	if (status == SONDE_OK && !sonde_key_map_add(&process->event_types, key, *event_type))
		status = sonde_fail_nomem(err);
	return status;
}

enum sonde_status atf_process_event_type(struct atf_process *process,
					 struct sonde_definitions *definitions, uint64_t key,
					 uint32_t *event_type, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*event_type = sonde_key_map_find(&process->event_types, key);
	if (*event_type != SONDE_NONE)
		return SONDE_OK;
	pthread_mutex_lock(&process->lock);
	*event_type = sonde_key_map_find(&process->event_types, key);
	if (*event_type == SONDE_NONE)
		status = add_unknown(process, definitions, key, event_type, err);
	pthread_mutex_unlock(&process->lock);
	return status;
}

enum sonde_status atf_segment_arguments(struct atf_segment *segment, struct atf_detail_place *place,
					uint64_t number, struct atf_arguments *arguments,
					struct sonde_error *err)
{
	const struct atf_detail *detail = &segment->detail;
	struct atf_detail_record record;
	enum sonde_status status;

	if (!segment->has_detail || number >= detail->count)
		return SONDE_END;
	status = atf_detail_seek(&segment->detail, place, number, err);
	if (status == SONDE_OK)
		status = atf_detail_record_at(detail, place->offset, &record, err);
	if (status != SONDE_OK)
		return status == SONDE_NOMEM ? status : SONDE_END;
	if (record.event_type != ATF_DETAIL_TYPE_ARGUMENTS ||
	    !atf_arguments_decode(arguments,
				  detail->file.map.data + place->offset + ATF_DETAIL_RECORD_SIZE,
				  record.total_length - ATF_DETAIL_RECORD_SIZE))
		return SONDE_END;
	return SONDE_OK;
}

void atf_annotation_take(struct sonde_event *event, const struct atf_arguments *arguments)
{
	uint64_t extra = arguments ? arguments->extra : 0;

	if (event->kind == SONDE_EVENT_COUNTER) {
		event->detail = (uint32_t)extra;
		event->extra = (uint32_t)(extra >> 32);
		return;
	}
	event->extra = (uint32_t)extra;
	if (arguments && !arguments->size)
		event->detail = SONDE_NONE;
}

uint64_t atf_annotation_extra(const struct sonde_event *event)
{
	if (event->kind == SONDE_EVENT_COUNTER)
		return (uint64_t)event->extra << 32 | event->detail;
	return event->extra;
}
