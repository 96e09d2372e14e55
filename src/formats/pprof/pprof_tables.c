/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a pprof profile: all tables, each as it lies in the file. */
#include "formats/pprof/pprof_layout.h"
#include "formats/pprof/pprof_read.h"

#define MOST_NUMBERS ((size_t)16 << 20) /* bytes of one list: a stack of millions is none */

const char *pprof_text(struct pprof_reading *reading, uint64_t number, size_t *size)
{
	if (number >= reading->strings.count) {
		reading->trouble.unknown_strings += number != 0;
		*size = 0;
		return "";
	}
	*size = reading->strings.items[number].size;
	return (const char *)reading->file.data + reading->strings.items[number].offset;
}

/* A message whose fields are all numbers: those up to `count` into `values`, by number. */
static bool take_message(struct pprof_reading *reading, struct sonde_bytes bytes, uint64_t *values,
			 size_t count)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, NULL))) {
		if (field.number < count && field.type == SONDE_PROTOBUF_VARINT)
			values[field.number] = field.value;
	}
	reading->trouble.bad_messages += status < 0;
	return status == SONDE_END;
}

/* The first one of an id is it. */
static bool remember(struct pprof_reading *reading, struct sonde_key_map *map, uint64_t id,
		     size_t place)
{
	if (sonde_key_map_find(map, id) == SONDE_NONE)
		return sonde_key_map_add(map, id, (uint32_t)place);
	reading->trouble.repeated_ids++;
	return true;
}

static bool take_type(struct pprof_reading *reading, struct sonde_bytes bytes)
{
	uint64_t values[PPROF_UNIT + 1] = { 0 };
	struct pprof_value_type *type = sonde_vec_push(&reading->types);

	if (!type)
		return false;
	take_message(reading, bytes, values, PPROF_UNIT + 1);
	*type = (struct pprof_value_type){ .type = values[PPROF_TYPE], .unit = values[PPROF_UNIT] };
	return true;
}

static bool take_mapping(struct pprof_reading *reading, struct sonde_bytes bytes)
{
	uint64_t values[PPROF_BUILD_ID + 1] = { 0 };
	struct pprof_mapping *mapping = sonde_vec_push(&reading->mappings);

	if (!mapping)
		return false;
	take_message(reading, bytes, values, PPROF_BUILD_ID + 1);
	*mapping = (struct pprof_mapping){
		.start = values[PPROF_MEMORY_START],
		.limit = values[PPROF_MEMORY_LIMIT],
		.offset = values[PPROF_FILE_OFFSET],
		.file = values[PPROF_MAPPING_FILE],
		.build_id = values[PPROF_BUILD_ID],
		.module = SONDE_NONE,
	};
	return remember(reading, &reading->mapping_ids, values[PPROF_MAPPING_ID],
			reading->mappings.count - 1);
}

static bool take_function(struct pprof_reading *reading, struct sonde_bytes bytes)
{
	uint64_t values[PPROF_START_LINE + 1] = { 0 };
	struct pprof_function *function = sonde_vec_push(&reading->functions);

	if (!function)
		return false;
	take_message(reading, bytes, values, PPROF_START_LINE + 1);
	*function = (struct pprof_function){
		.name = values[PPROF_FUNCTION_NAME],
		.system_name = values[PPROF_SYSTEM_NAME],
		.file = values[PPROF_FUNCTION_FILE],
		.line = (int64_t)values[PPROF_START_LINE],
	};
	return remember(reading, &reading->function_ids, values[PPROF_FUNCTION_ID],
			reading->functions.count - 1);
}

static bool take_line(struct pprof_reading *reading, struct sonde_bytes bytes)
{
	uint64_t values[PPROF_LINE_NUMBER + 1] = { 0 };
	struct pprof_line *line = sonde_vec_push(&reading->lines);

	if (!line)
		return false;
	take_message(reading, bytes, values, PPROF_LINE_NUMBER + 1);
	*line = (struct pprof_line){ .function = values[PPROF_LINE_FUNCTION],
				     .line = (int64_t)values[PPROF_LINE_NUMBER] };
	return true;
}

static bool take_location(struct pprof_reading *reading, struct sonde_bytes bytes)
{
	struct pprof_read_location *location = sonde_vec_push(&reading->locations);
	struct sonde_protobuf_field field;
	size_t first_line = reading->lines.count;
	enum sonde_status status;
	uint64_t id = 0;

	if (!location)
		return false;
	*location = (struct pprof_read_location){ .first_line = first_line };
	while (!(status = sonde_protobuf_next(&bytes, &field, NULL))) {
		if (field.number == PPROF_LINE && field.type == SONDE_PROTOBUF_BYTES) {
			if (!take_line(reading, field.bytes))
				return false;
		}
		if (field.type != SONDE_PROTOBUF_VARINT)
			continue;
		if (field.number == PPROF_LOCATION_OWN_ID)
			id = field.value;
		else if (field.number == PPROF_LOCATION_MAPPING)
			location->mapping = field.value;
		else if (field.number == PPROF_ADDRESS)
			location->address = field.value;
	}
	reading->trouble.bad_messages += status < 0;
	location->line_count = (uint32_t)(reading->lines.count - first_line);
	return remember(reading, &reading->location_ids, id, reading->locations.count - 1);
}

static bool take_string(struct pprof_reading *reading, const struct sonde_bytes *bytes)
{
	struct pprof_text *text = sonde_vec_push(&reading->strings);

	if (!text)
		return false;
	*text = (struct pprof_text){ .offset = (uint64_t)(bytes->data - reading->file.data),
				     .size = bytes->size };
	return true;
}

enum sonde_status pprof_take_numbers(const struct sonde_protobuf_field *field, uint64_t **items,
				     size_t *count, size_t *capacity, bool *is_bad,
				     struct sonde_error *err)
{
	struct sonde_bytes bytes = field->bytes;
	size_t room = field->type == SONDE_PROTOBUF_BYTES ? bytes.size : 1;

	if (room > MOST_NUMBERS) {
		*is_bad = true;
		return SONDE_OK;
	}
	/* a number takes a byte at least */
	if (*capacity - *count < room &&
	    !sonde_vec_grow(items, capacity, *count, room, sizeof(**items)))
		return sonde_fail_nomem(err);
	if (field->type == SONDE_PROTOBUF_VARINT) {
		(*items)[(*count)++] = field->value;
		return SONDE_OK;
	}
	while (field->type == SONDE_PROTOBUF_BYTES && sonde_bytes_left(&bytes)) {
		uint64_t value;

		if (sonde_protobuf_varint(&bytes, &value)) {
			*is_bad = true;
			break;
		}
		(*items)[(*count)++] = value;
	}
	return SONDE_OK;
}

static enum sonde_status take_comment(struct pprof_reading *reading,
				      const struct sonde_protobuf_field *field,
				      struct sonde_error *err)
{
	bool is_bad = false;
	enum sonde_status status = pprof_take_numbers(field, &reading->comments.items,
						      &reading->comments.count,
						      &reading->comments.capacity, &is_bad, err);

	reading->trouble.bad_messages += is_bad;
	return status;
}

static void take_number(struct pprof_reading *reading, const struct sonde_protobuf_field *field)
{
	uint64_t *const places[] = {
		[PPROF_DROP_FRAMES] = &reading->drop_frames,
		[PPROF_KEEP_FRAMES] = &reading->keep_frames,
		[PPROF_TIME_NANOS] = &reading->time_nanos,
		[PPROF_DURATION_NANOS] = &reading->duration_nanos,
		[PPROF_PERIOD] = &reading->period,
		[PPROF_DEFAULT_SAMPLE_TYPE] = &reading->default_type,
	};

	if (field->number < sizeof(places) / sizeof(places[0]) && places[field->number])
		*places[field->number] = field->value;
}

static bool take_field(struct pprof_reading *reading, const struct sonde_protobuf_field *field)
{
	uint64_t values[PPROF_UNIT + 1] = { 0 };

	switch (field->number) {
	case PPROF_SAMPLE_TYPE:
		return take_type(reading, field->bytes);
	case PPROF_MAPPING:
		return take_mapping(reading, field->bytes);
	case PPROF_LOCATION:
		return take_location(reading, field->bytes);
	case PPROF_FUNCTION:
		return take_function(reading, field->bytes);
	case PPROF_STRING_TABLE:
		return take_string(reading, &field->bytes);
	case PPROF_PERIOD_TYPE:
		take_message(reading, field->bytes, values, PPROF_UNIT + 1);
		reading->period_type.type = values[PPROF_TYPE];
		reading->period_type.unit = values[PPROF_UNIT];
		return true;
	default:
		return true;
	}
}

enum sonde_status pprof_read_tables(struct pprof_reading *reading, struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(reading->file.data, reading->file.size);
	struct sonde_protobuf_field field;
	struct sonde_error trouble = { 0 };
	enum sonde_status status;
	struct sonde_trail trail = { 0 };
	size_t start = 0;

	while (!(status = sonde_protobuf_next(&bytes, &field, &trouble))) {
		if (field.number == PPROF_COMMENT)
			status = take_comment(reading, &field, err);
		else if (field.type == SONDE_PROTOBUF_VARINT)
			take_number(reading, &field);
		else if (field.type == SONDE_PROTOBUF_BYTES && !take_field(reading, &field))
			status = sonde_fail_nomem(err);
		if (status)
			return status;
		sonde_mapped_file_leave(&reading->file, &trail, start, bytes.position);
		start = bytes.position;
	}
	if (status < 0)
		EXCHANGE_FINDING(reading->recording, TRUNCATED, bytes.position, "a whole field\t%s",
				 trouble.message);
	return SONDE_OK;
}
