/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all formats, and what is done by way of it: finding the format of a path, and
 * handing writing, checking and recovering to it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/exchange.h"

static const struct sonde_format *const formats[] = {
	&sonde_format_atf,	   &sonde_format_callgrind, &sonde_format_cff,
	&sonde_format_cff_json,	   &sonde_format_chrome,    &sonde_format_csv,
	&sonde_format_ctf,	   &sonde_format_dot,	    &sonde_format_firefox,
	&sonde_format_folded,	   &sonde_format_hpcdb,	    &sonde_format_hpcrun,
	&sonde_format_jsonl,	   &sonde_format_otlp_json, &sonde_format_parquet,
	&sonde_format_perf_script, &sonde_format_perfetto,  &sonde_format_pprof,
	&sonde_format_speedscope,  &sonde_format_uftrace,   &sonde_format_wtf_calls,
	&sonde_format_zts,
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

size_t sonde_format_count(void)
{
	return FORMAT_COUNT;
}

const struct sonde_format *sonde_format_at(size_t index)
{
	return index < FORMAT_COUNT ? formats[index] : NULL;
}

const struct sonde_format *sonde_format_by_name(const char *name)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (!strcmp(formats[i]->info.name, name))
			return formats[i];
	}
	return NULL;
}

const struct sonde_format_info *sonde_format_info(const struct sonde_format *format)
{
	return &format->info;
}

static bool is_read(const struct sonde_format *format)
{
	return format->info.lanes_read;
}

/* "atf, cff": the names of formats for a message, cut where there is no room. */
static const char *list_names(bool only_read, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < FORMAT_COUNT && used < size; i++) {
		if (!only_read || is_read(formats[i]))
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 formats[i]->info.name);
	}
	return text;
}

static enum sonde_status fail_unknown_name(struct sonde_error *err, const char *name)
{
	char names[512];

	sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "there is no format \"%s\"; known are: %s",
		   name, list_names(false, names, sizeof(names)));
	return SONDE_ARGUMENT;
}

/* The format of a file that is written here and not read; NULL: it is of none. */
static const struct sonde_format *find_only_written(const char *path)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (!is_read(formats[i]) && formats[i]->probe && formats[i]->probe(path))
			return formats[i];
	}
	return NULL;
}

/* Why nothing fits, and what to do. */
static enum sonde_status fail_unrecognised(const char *path, struct sonde_error *err)
{
	const struct sonde_format *written = find_only_written(path);
	char names[512];

	if (sonde_path_kind(path) == SONDE_PATH_OTHER)
		sonde_fail(
			err, SONDE_FORMAT, SONDE_NO_OFFSET,
			"a file or a folder was expected, this is a pipe or a device; what comes "
			"through a pipe is read by the name - from standard input");
	else if (written)
		sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
			   "recordings in format %s are written here, not read; give what it was "
			   "made of",
			   written->info.name);
	else
		sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
			   "this is in no format that is read here (%s); give the path of a whole "
			   "recording, or name its format where it is too damaged to be recognised",
			   list_names(true, names, sizeof(names)));
	sonde_error_set_file(err, path);
	return SONDE_FORMAT;
}

enum sonde_status sonde_format_detect(const char *path, const struct sonde_format **format,
				      struct sonde_error *err)
{
	int best = 0;

	*format = NULL;
	errno = 0;
	if (sonde_path_kind(path) == SONDE_PATH_ABSENT) {
		if (!errno)
			errno = ENOENT;
		sonde_fail_errno(err, path, "there is nothing to read here");
		return SONDE_IO;
	}
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		int sure = is_read(formats[i]) ? formats[i]->probe(path) : 0;

		if (sure > best) {
			best = sure;
			*format = formats[i];
		}
	}
	if (best)
		return SONDE_OK;
	if (access(path, sonde_path_kind(path) == SONDE_PATH_FOLDER ? R_OK | X_OK : R_OK)) {
		sonde_fail_errno(err, path, "this may not be read");
		return SONDE_IO;
	}
	return fail_unrecognised(path, err);
}

enum sonde_status sonde_format_choose(const char *path, const char *name,
				      const struct sonde_format **format, struct sonde_error *err)
{
	if (!name)
		return sonde_format_detect(path, format, err);
	*format = sonde_format_by_name(name);
	return *format ? SONDE_OK : fail_unknown_name(err, name);
}

size_t sonde_format_suffix_length(const char *name, size_t length, const char *suffixes)
{
	size_t best = 0;

	while (suffixes && *suffixes) {
		size_t size = strcspn(suffixes, " ");

		if (size > best && length > size && !memcmp(name + length - size, suffixes, size))
			best = size;
		suffixes += size + (suffixes[size] == ' ');
	}
	return best;
}

const struct sonde_format *sonde_format_by_suffix(const char *path)
{
	const struct sonde_format *format = NULL;
	size_t length = strlen(path), best = 0;

	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		const struct sonde_format_info *info = &formats[i]->info;
		size_t size = sonde_format_suffix_length(path, length, info->suffix);

		if (info->lanes_written && size > best) {
			best = size;
			format = formats[i];
		}
	}
	return format;
}

static bool is_style(const struct sonde_format_style *styles, const char *word, size_t length)
{
	for (; styles && styles->word; styles++) {
		size_t own = strlen(styles->word);
		bool takes_value = own && styles->word[own - 1] == '=';

		if ((takes_value ? length > own : length == own) &&
		    !memcmp(styles->word, word, own))
			return true;
	}
	return false;
}

static enum sonde_status fail_style(const struct sonde_format *format, const char *word,
				    size_t length, struct sonde_error *err)
{
	const struct sonde_format_style *style = format->info.styles;
	char words[256] = "";
	size_t used = 0;

	for (; style && style->word && used < sizeof(words); style++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
					 used ? ", " : "", style->word);
	if (!used)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "format %s is written in one way only, without styles",
				  format->info.name);
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "format %s has no style \"%.*s\"; it has: %s", format->info.name,
			  (int)(length < 60 ? length : 60), word, words);
}

enum sonde_status sonde_format_check_style(const struct sonde_format *format, const char *style,
					   struct sonde_error *err)
{
	if (!style)
		return SONDE_OK;
	while (*style) {
		size_t length = strcspn(style, ",");

		if (!is_style(format->info.styles, style, length))
			return fail_style(format, style, length, err);
		style += length;
		if (*style && !*++style)
			return fail_style(format, "", 0, err); /* a comma, and nothing behind it */
	}
	return SONDE_OK;
}

bool sonde_format_has_style(const char *style, const char *word)
{
	if (!style)
		return false;
	while (*style) {
		size_t length = strcspn(style, ",");

		if (strlen(word) == length && !memcmp(word, style, length))
			return true;
		style += length + (style[length] == ',');
	}
	return false;
}

const char *sonde_format_style_value(const char *style, const char *word, size_t *length)
{
	size_t own = strlen(word);

	while (style && *style) {
		*length = strcspn(style, ",");
		if (*length > own && !memcmp(word, style, own)) {
			*length -= own;
			return style + own;
		}
		style += *length + (style[*length] == ',');
	}
	*length = 0;
	return NULL;
}

/* Whether there is anything at `path` that a replacement would destroy. */
static bool has_content(const char *path)
{
	enum sonde_path_kind kind = sonde_path_kind(path);
	struct sonde_folder folder;
	struct stat status;
	bool empty;

	if (kind == SONDE_PATH_FILE && !stat(path, &status) && !status.st_size)
		return false; /* a script may have made it with mktemp */
	if (kind != SONDE_PATH_FOLDER || sonde_folder_read(&folder, path, NULL) < 0)
		return kind != SONDE_PATH_ABSENT;
	empty = folder.count == 0;
	sonde_folder_release(&folder);
	return !empty;
}

/* Only a recording is replaced by a recording: a mistyped name must not cost a home folder. */
enum sonde_status sonde_format_check_replaced(const char *path, struct sonde_error *err)
{
	struct sonde_recording *recording;
	enum sonde_status status;

	if (!has_content(path) || find_only_written(path))
		return SONDE_OK;
	status = sonde_recording_open(path, NULL, &recording, err);
	if (status == SONDE_OK) {
		sonde_recording_close(recording);
		return SONDE_OK;
	}
	if (status == SONDE_NOMEM)
		return status;
	status = sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			    "what is there is not a readable recording, so it is not replaced; "
			    "choose another name or remove it yourself");
	sonde_error_set_file(err, path);
	return status;
}

enum sonde_status sonde_check(const char *path, const struct sonde_check_options *options,
			      struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	static const struct sonde_check_options none;
	const struct sonde_format *format;
	enum sonde_status status;

	if (!options)
		options = &none;
	status = sonde_format_choose(path, options->format, &format, err);
	if (status)
		return status;
	if (format->check)
		return format->check(path, options, diagnostics, err);
	if (format->open)
		return exchange_check(format, path, options, diagnostics, err);
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			  "files in format %s are written here, not read, so they cannot be "
			  "checked",
			  format->info.name);
}

enum sonde_status sonde_recover(const char *path, const char *output,
				const struct sonde_recover_options *options,
				struct sonde_diagnostics *diagnostics,
				struct sonde_recover_result *result, struct sonde_error *err)
{
	static const struct sonde_recover_options none;
	struct sonde_recover_result ignored;
	const struct sonde_format *format;
	enum sonde_status status;

	if (!options)
		options = &none;
	if (!result)
		result = &ignored;
	*result = (struct sonde_recover_result){ 0 };
	status = sonde_format_choose(path, options->format, &format, err);
	if (status)
		return status;
	if (!format->recover)
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "a recording in format %s cannot be recovered; `sonde convert` "
				  "writes all of it that can be read into another format",
				  format->info.name);
	if (options->replace)
		status = sonde_format_check_replaced(output, err);
	if (status)
		return status;
	return format->recover(path, output, options, diagnostics, result, err);
}

enum sonde_status sonde_sink_create(const char *path, const struct sonde_create_options *options,
				    struct sonde_sink **sink, struct sonde_error *err)
{
	const struct sonde_format *format;
	enum sonde_status status;

	*sink = NULL;
	if (!options || !options->format)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the format to write must be named");
	format = sonde_format_by_name(options->format);
	if (!format)
		return fail_unknown_name(err, options->format);
	if (!format->create)
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "recordings in format %s are read here, not written",
				  format->info.name);
	status = sonde_format_check_style(format, options->style, err);
	if (!status && options->replace)
		status = sonde_format_check_replaced(path, err);
	if (!status)
		status = format->create(path, options, sink, err);
	if (!status)
		(*sink)->format = &format->info;
	return status;
}
