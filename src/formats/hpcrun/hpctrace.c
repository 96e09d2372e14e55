/* SPDX-License-Identifier: Apache-2.0 */
/* .hpctrace: a header and records of one size, so that any of them is one step away. */
#include <string.h>

#include "base/bytes.h"
#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_profile.h"

enum sonde_status hpctrace_of(struct hpctrace *trace, const struct sonde_mapped_file *file,
			      struct sonde_error *err)
{
	static const char magic[] = HPCRUN_MAGIC_TRACE HPCTRACE_VERSION;
	const size_t magic_size = sizeof(magic) - 1;
	size_t prefix = sizeof(HPCRUN_MAGIC_TRACE) - 1;
	size_t left;

	*trace = (struct hpctrace){ 0 };
	if (file->size < prefix || memcmp(file->data, HPCRUN_MAGIC_TRACE, prefix) != 0)
		return sonde_fail(err, SONDE_FORMAT, 0,
				  "expected \"%s\" at the start, found something else: this is no "
				  ".hpctrace file",
				  HPCRUN_MAGIC_TRACE);
	if (file->size < HPCTRACE_HEADER_SIZE)
		return sonde_fail(err, SONDE_TRUNCATED, file->size,
				  "expected a header of %d bytes, found %zu", HPCTRACE_HEADER_SIZE,
				  file->size);
	if (memcmp(file->data, magic, magic_size) != 0)
		return sonde_fail(err, SONDE_UNSUPPORTED, prefix,
				  "version %.6s of traces; %s is read, a newer sonde may read it",
				  (const char *)file->data + prefix, HPCTRACE_VERSION);
	trace->file = *file;
	trace->flags = sonde_load_u64be(file->data + magic_size);
	trace->record_size = trace->flags & HPCTRACE_DATA_CENTRIC ? HPCTRACE_RECORD_SIZE_DATA :
								    HPCTRACE_RECORD_SIZE;
	left = file->size - HPCTRACE_HEADER_SIZE;
	trace->count = left / trace->record_size;
	trace->left_over = left % trace->record_size;
	return SONDE_OK;
}

enum sonde_status hpctrace_open(struct hpctrace *trace, const char *path, struct sonde_error *err)
{
	struct sonde_mapped_file file;
	enum sonde_status status;

	*trace = (struct hpctrace){ 0 };
	status = sonde_mapped_file_open(&file, path, err);
	if (status)
		return status;
	status = hpctrace_of(trace, &file, err);
	if (status) {
		sonde_mapped_file_release(&file);
		sonde_error_set_file(err, path);
	}
	return status;
}

void hpctrace_release(struct hpctrace *trace)
{
	sonde_mapped_file_release(&trace->file);
	*trace = (struct hpctrace){ 0 };
}

size_t hpctrace_read(const struct hpctrace *trace, uint64_t first, struct hpctrace_record *records,
		     size_t room)
{
	const uint8_t *p;

	if (first >= trace->count)
		return 0;
	if (room > trace->count - first)
		room = (size_t)(trace->count - first);
	p = trace->file.data + HPCTRACE_HEADER_SIZE + first * trace->record_size;
	for (size_t i = 0; i < room; i++, p += trace->record_size) {
		records[i].time_ns = sonde_load_u64be(p);
		records[i].node = sonde_load_u32be(p + 8);
	}
	return room;
}
