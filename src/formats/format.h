/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format is to the rest of the library: one const struct. The table of all of them is in
 * registry.c; nothing outside a format's folder knows its bytes.
 */
#ifndef SONDE_FORMATS_FORMAT_H
#define SONDE_FORMATS_FORMAT_H

#include <sonde/format.h>

#include "model/recording.h"

struct sonde_format {
	struct sonde_format_info info;

	/*
	 * How sure it is that `path` is this format: 0 no, 100 certain. Cheap; never fails. Of a format that
	 * is only written: whether a new one may take its place.
	 */
	int (*probe)(const char *path);

	/*
	 * Fills a recording made by sonde_recording_new(): definitions, lanes, ops, data, and
	 * diagnostics for whatever was wrong and survivable. On failure the caller closes it.
	 */
	enum sonde_status (*open)(struct sonde_recording *recording, struct sonde_error *err);

	enum sonde_status (*create)(const char *path, const struct sonde_create_options *options,
				    struct sonde_sink **sink, struct sonde_error *err);

	enum sonde_status (*check)(const char *path, const struct sonde_check_options *options,
				   struct sonde_diagnostics *diagnostics, struct sonde_error *err);

	enum sonde_status (*recover)(const char *path, const char *output,
				     const struct sonde_recover_options *options,
				     struct sonde_diagnostics *diagnostics,
				     struct sonde_recover_result *result, struct sonde_error *err);
};

extern const struct sonde_format sonde_format_atf;
extern const struct sonde_format sonde_format_callgrind;
extern const struct sonde_format sonde_format_cff;
extern const struct sonde_format sonde_format_cff_json;
extern const struct sonde_format sonde_format_chrome;
extern const struct sonde_format sonde_format_csv;
extern const struct sonde_format sonde_format_ctf;
extern const struct sonde_format sonde_format_dot;
extern const struct sonde_format sonde_format_firefox;
extern const struct sonde_format sonde_format_folded;
extern const struct sonde_format sonde_format_hpcdb;
extern const struct sonde_format sonde_format_hpcrun;
extern const struct sonde_format sonde_format_jsonl;
extern const struct sonde_format sonde_format_otlp_json;
extern const struct sonde_format sonde_format_parquet;
extern const struct sonde_format sonde_format_perf_script;
extern const struct sonde_format sonde_format_perfetto;
extern const struct sonde_format sonde_format_pprof;
extern const struct sonde_format sonde_format_speedscope;
extern const struct sonde_format sonde_format_uftrace;
extern const struct sonde_format sonde_format_wtf_calls;
extern const struct sonde_format sonde_format_zts;

/* The format of that name, or (name NULL) the one that `path` seems to be in. */
enum sonde_status sonde_format_choose(const char *path, const char *name,
				      const struct sonde_format **format, struct sonde_error *err);

/*
 * SONDE_ARGUMENT, and which words there are, where a style has one that the format does not know.
 */
enum sonde_status sonde_format_check_style(const struct sonde_format *format, const char *style,
					   struct sonde_error *err);

/* Whether a style (words with commas, or NULL) has this word: for a format's create. */
bool sonde_format_has_style(const char *style, const char *word);

/* Of a word that ends in '=': what a style has behind it, borrowed, up to `length`; NULL: it has not. */
const char *sonde_format_style_value(const char *style, const char *word, size_t *length);

/* How long the longest of the suffixes (with spaces between) is that a name ends in; 0: none. */
size_t sonde_format_suffix_length(const char *name, size_t length, const char *suffixes);

/* The format that is written and whose recordings have names that end like this one, or NULL. */
const struct sonde_format *sonde_format_by_suffix(const char *path);

/* Refuses to replace what is at `path` unless that is nothing, or a recording that opens. */
enum sonde_status sonde_format_check_replaced(const char *path, struct sonde_error *err);

#endif
