/* SPDX-License-Identifier: Apache-2.0 */
/* What other tools' formats share: findings, files that may be packed, the end of an intake, anchors. */
#include "formats/exchange.h"

#include <inttypes.h>
#include <string.h>

#include "codec/packed_file.h"

#define FINDINGS EXCHANGE_FINDING_LIST
#define FINDING(name) EXCHANGE_FINDING_##name
#define FINDING_TYPES exchange_finding_types
#define FINDING_LIST exchange_finding_list
#include "formats/finding_types.h"

/* All that can be unpacked, into a file without a name; damage is a finding. */
static enum sonde_status unpack(struct sonde_recording *recording, struct sonde_packed_file *packed,
				struct sonde_output *out, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status) {
		struct sonde_error trouble = { 0 };
		const uint8_t *data;
		size_t size;

		status = sonde_packed_file_next(packed, &data, &size, &trouble);
		if (status == SONDE_NOMEM)
			return sonde_fail_nomem(err);
		if (status)
			EXCHANGE_FINDING(recording, TRUNCATED, sonde_packed_file_position(packed),
					 "a whole gzip file\t%s", trouble.message);
		if (!size)
			return SONDE_OK;
		status = sonde_output_write(out, data, size, err);
	}
	return status;
}

enum sonde_status exchange_open_unpacked(struct sonde_recording *recording,
					 struct sonde_mapped_file *file, struct sonde_error *err)
{
	struct sonde_packed_file packed = { 0 };
	struct sonde_output unpacked = { .fd = -1 };
	enum sonde_status status = sonde_packed_file_open(&packed, recording->path, err);

	*file = (struct sonde_mapped_file){ 0 };
	if (status)
		return status;
	if (!packed.gzip) {
		*file = packed.file;
		return SONDE_OK;
	}
	status = sonde_output_open_unnamed(&unpacked, err);
	if (!status)
		status = unpack(recording, &packed, &unpacked, err);
	if (!status)
		status = sonde_output_map(&unpacked, file, err);
	sonde_output_release(&unpacked);
	sonde_packed_file_release(&packed);
	return status;
}

enum sonde_status exchange_finish(struct sonde_recording *recording, struct sonde_intake *intake,
				  struct sonde_error *err)
{
	struct sonde_intake_counts counts = { 0 };
	enum sonde_status status = sonde_intake_finish(intake, &counts, err);

	if (status)
		return status;
	if (counts.lone_returns)
		EXCHANGE_FINDING(recording, LONE_END, SONDE_NO_OFFSET,
				 "a beginning for each end\t%" PRIu64 " without",
				 counts.lone_returns);
	if (counts.missing_returns)
		EXCHANGE_FINDING(recording, MISSING_END, SONDE_NO_OFFSET,
				 "an end for each call\t%" PRIu64 " without",
				 counts.missing_returns);
	if (counts.overlaps)
		EXCHANGE_FINDING(recording, OVERLAP, SONDE_NO_OFFSET,
				 "calls inside of each other\t%" PRIu64 " that overlap",
				 counts.overlaps);
	if (counts.went_back)
		EXCHANGE_FINDING(recording, ORDER, SONDE_NO_OFFSET,
				 "times in order\t%" PRIu64 " earlier than the one before",
				 counts.went_back);
	if (counts.open_calls)
		EXCHANGE_FINDING(recording, OPEN, SONDE_NO_OFFSET,
				 "an end for each call\t%" PRIu64 " open", counts.open_calls);
	return SONDE_OK;
}

int exchange_begins_with(const char *path, const char *text)
{
	char head[256];
	size_t length = strlen(text), size = sonde_packed_file_peek(path, head, sizeof(head));

	return size >= length && !memcmp(head, text, length) ? 100 : 0;
}

void exchange_put_anchors(const struct sonde_definitions *definitions,
			  struct sonde_json_writer *json)
{
	uint32_t count = sonde_definitions_anchor_count(definitions);

	sonde_json_key(json, "anchors");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_anchor *anchor = sonde_definitions_anchor(definitions, i);

		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "clock", anchor->clock);
		sonde_json_member_u64(json, "clock_ns", anchor->clock_ns);
		sonde_json_member_u64(json, "realtime_ns", anchor->realtime_ns);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}
