/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `perf script`: a line for each sample, then (where stacks were recorded) a line for each frame from
 * the innermost on, then a blank one. Which fields a line has depends on how perf was called.
 */
#ifndef SONDE_FORMATS_PERF_SCRIPT_H
#define SONDE_FORMATS_PERF_SCRIPT_H

#include "formats/exchange.h"

struct perf_text {
	const char *at;
	size_t size;
};

/* "comm pid/tid [cpu] time: period event: rest". What is not there is SONDE_NONE, empty, or false. */
struct perf_sample {
	struct perf_text comm;
	uint32_t pid, tid;
	uint64_t time_ns;
	bool has_period;
	uint64_t period;
	struct perf_text event;
	struct perf_text rest; /* a frame, fields of a tracepoint, or nothing */
};

/* "address symbol+offset (module)" */
struct perf_frame {
	struct perf_text symbol, module;
	bool is_inlined;
};

/* False: this is no such line. */
bool perf_parse_sample(struct perf_text line, struct perf_sample *sample);
bool perf_parse_frame(struct perf_text line, struct perf_frame *frame);
/* "file.c:12"; false where no line is known. */
bool perf_parse_source(struct perf_text line, struct perf_text *file, uint32_t *number);

/* Whether the rest of a line is what perf notes about itself. */
bool perf_is_record(struct perf_text text);
struct perf_text perf_trim(struct perf_text text);

enum sonde_status perf_script_open(struct sonde_recording *recording, struct sonde_error *err);
int perf_script_probe(const char *path);

#endif
