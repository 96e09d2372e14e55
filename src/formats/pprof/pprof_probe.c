/* SPDX-License-Identifier: Apache-2.0 */
/* Whether bytes are a pprof profile: nothing in it says so, but all of its fields must be of the right kind. */
#include "base/protobuf.h"
#include "codec/packed_file.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_layout.h"

#define PROBE_SIZE 4096
#define ENOUGH_FIELDS 3

/* By number of a field of the profile: how many fields its message has; 0: it is a number, -1: a text. */
static const int message_fields[] = {
	[PPROF_SAMPLE_TYPE] = PPROF_UNIT,	   [PPROF_SAMPLE] = PPROF_LABEL,
	[PPROF_MAPPING] = PPROF_HAS_INLINE_FRAMES, [PPROF_LOCATION] = PPROF_IS_FOLDED,
	[PPROF_FUNCTION] = PPROF_START_LINE,	   [PPROF_STRING_TABLE] = -1,
	[PPROF_PERIOD_TYPE] = PPROF_UNIT,	   [PPROF_DEFAULT_SAMPLE_TYPE] = 0,
};

/* All fields are numbers, but those of samples, and lines of locations. */
static bool is_message(struct sonde_bytes bytes, uint32_t number)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, NULL))) {
		bool is_list = number == PPROF_SAMPLE ||
			       (number == PPROF_LOCATION && field.number == PPROF_LINE);

		if (field.number > (uint32_t)message_fields[number])
			return false;
		if (field.type != SONDE_PROTOBUF_VARINT &&
		    !(is_list && field.type == SONDE_PROTOBUF_BYTES))
			return false;
	}
	return status == SONDE_END;
}

static bool is_field(const struct sonde_protobuf_field *field)
{
	if (field->number >= sizeof(message_fields) / sizeof(message_fields[0]))
		return false;
	if (field->number == PPROF_COMMENT && field->type == SONDE_PROTOBUF_BYTES)
		return true; /* packed */
	if (!message_fields[field->number])
		return field->type == SONDE_PROTOBUF_VARINT;
	if (field->type != SONDE_PROTOBUF_BYTES)
		return false;
	return message_fields[field->number] < 0 || is_message(field->bytes, field->number);
}

int pprof_probe(const char *path)
{
	uint8_t data[PROBE_SIZE];
	size_t size = sonde_packed_file_peek(path, data, sizeof(data));
	struct sonde_bytes bytes = sonde_bytes_of(data, size);
	struct sonde_protobuf_field field;
	enum sonde_status status;
	unsigned int count = 0;

	while (!(status = sonde_protobuf_next(&bytes, &field, NULL))) {
		if (!is_field(&field))
			return 0;
		count++;
	}
	/* the last field may go on behind what was looked at */
	if (!count || (status != SONDE_END && (status != SONDE_TRUNCATED || size < sizeof(data))))
		return count > ENOUGH_FIELDS && status == SONDE_TRUNCATED ? 40 : 0;
	return count >= ENOUGH_FIELDS ? 80 : 30;
}
