/* SPDX-License-Identifier: Apache-2.0 */
/* Reading trace.db. */
#include "formats/hpcdb/hpcdb_trace.h"

static void read_headers(struct hpcdb_trace *trace)
{
	const struct hpcdb_section *section = &trace->file.sections[HPCDB_TRACE_HEADERS];
	const uint8_t *p = section->size >= 0x20 ? trace->file.data + section->offset : NULL;

	trace->lines = (struct hpcdb_table){ .stride = HPCDB_TRACE_SIZE };
	if (!p)
		return;
	trace->lines = hpcdb_table_of(&trace->file, sonde_load_u64le(p), sonde_load_u32le(p + 8),
				      p[0x0c], HPCDB_TRACE_SIZE);
	trace->first_ns = sonde_load_u64le(p + 0x10);
	trace->last_ns = sonde_load_u64le(p + 0x18);
}

enum sonde_status hpcdb_trace_open(struct hpcdb_trace *trace, const char *folder,
				   struct sonde_error *err)
{
	enum sonde_status status;

	*trace = (struct hpcdb_trace){ 0 };
	status = hpcdb_file_open(&trace->file, folder, HPCDB_TRACE_FILE, err);
	if (status == SONDE_OK)
		read_headers(trace);
	return status;
}

enum sonde_status hpcdb_trace_of(struct hpcdb_trace *trace, const void *data, size_t size,
				 const char *path, struct sonde_error *err)
{
	enum sonde_status status;

	*trace = (struct hpcdb_trace){ 0 };
	status = hpcdb_file_of(&trace->file, data, size, path, HPCDB_TRACE_FILE, err);
	if (status == SONDE_OK)
		read_headers(trace);
	return status;
}

void hpcdb_trace_release(struct hpcdb_trace *trace)
{
	hpcdb_file_release(&trace->file);
}

struct hpcdb_line hpcdb_trace_at(const struct hpcdb_trace *trace, uint32_t number)
{
	const uint8_t *p = hpcdb_table_at(&trace->file, &trace->lines, number);
	struct hpcdb_line line = {
		.profile = sonde_load_u32le(p),
		.start = sonde_load_u64le(p + 8),
		.end = sonde_load_u64le(p + 16),
	};
	uint64_t end = line.end < trace->file.size ? line.end : trace->file.size;

	line.is_whole = line.start <= line.end && line.end <= trace->file.size &&
			!((line.end - line.start) % HPCDB_SAMPLE_SIZE);
	if (line.start < end)
		line.count = (end - line.start) / HPCDB_SAMPLE_SIZE;
	if (line.count)
		line.samples = trace->file.data + line.start;
	return line;
}

uint64_t hpcdb_line_seek(const struct hpcdb_line *line, uint64_t time_ns)
{
	uint64_t low = 0, high = line->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (hpcdb_line_time(line, middle) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
