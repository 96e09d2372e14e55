/* SPDX-License-Identifier: Apache-2.0 */
/* trace.db: for each traced profile a line of samples, read from the mapped file. */
#ifndef SONDE_HPCDB_TRACE_H
#define SONDE_HPCDB_TRACE_H

#include "formats/hpcdb/hpcdb_file.h"

struct hpcdb_line {
	uint32_t profile;
	const uint8_t *samples; /* NULL where there are none */
	uint64_t count;		/* as far as they are within the file */
	uint64_t start, end;	/* as stated */
	bool is_whole;		/* all of it is within the file, and of whole samples */
};

struct hpcdb_trace {
	struct hpcdb_file file;
	struct hpcdb_table lines;
	uint64_t first_ns, last_ns; /* as stated */
};

enum sonde_status hpcdb_trace_open(struct hpcdb_trace *trace, const char *folder,
				   struct sonde_error *err);
enum sonde_status hpcdb_trace_of(struct hpcdb_trace *trace, const void *data, size_t size,
				 const char *path, struct sonde_error *err);
void hpcdb_trace_release(struct hpcdb_trace *trace);

/* One that exists. */
struct hpcdb_line hpcdb_trace_at(const struct hpcdb_trace *trace, uint32_t number);

static inline uint64_t hpcdb_line_time(const struct hpcdb_line *line, uint64_t sample)
{
	return sonde_load_u64le(line->samples + sample * HPCDB_SAMPLE_SIZE);
}

static inline uint32_t hpcdb_line_context(const struct hpcdb_line *line, uint64_t sample)
{
	return sonde_load_u32le(line->samples + sample * HPCDB_SAMPLE_SIZE + 8);
}

/* The first sample not before `time_ns`; count where there is none. */
uint64_t hpcdb_line_seek(const struct hpcdb_line *line, uint64_t time_ns);

#endif
