/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, put together by file or by kind, and printed. */
#include "cli/findings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/vec.h"
#include "cli/human.h"
#include "cli/input.h"
#include "cli/text.h"

#define SEVERITY_WIDTH 9 /* with the gap behind it */
#define TEXT_COLUMN (2 + SEVERITY_WIDTH)
#define SHOWN_OF_A_KIND 3 /* in one file, without --verbose */

struct cli_tally cli_tally_of(const struct sonde_diagnostics *diagnostics)
{
	uint64_t errors = sonde_diagnostics_count(diagnostics, SONDE_ERROR);
	uint64_t faults = sonde_diagnostics_count(diagnostics, SONDE_WARNING);

	return (struct cli_tally){
		.errors = errors,
		.warnings = faults - errors,
		.notes = sonde_diagnostics_count(diagnostics, SONDE_NOTE) - faults,
	};
}

void cli_put_tally(struct sonde_buffer *out, const struct cli_tally *tally)
{
	cli_put_counted(out, tally->errors, "error");
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, tally->warnings, "warning");
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, tally->notes, "note");
}

void cli_put_tally_json(struct sonde_json_writer *json, const struct cli_tally *tally)
{
	sonde_json_member_u64(json, "errors", tally->errors);
	sonde_json_member_u64(json, "warnings", tally->warnings);
	sonde_json_member_u64(json, "notes", tally->notes);
}

static enum cli_style style_of(enum sonde_severity severity)
{
	switch (severity) {
	case SONDE_ERROR:
		return CLI_STYLE_RED;
	case SONDE_WARNING:
		return CLI_STYLE_YELLOW;
	default:
		return CLI_STYLE_DIM;
	}
}

void cli_put_severity(struct cli *cli, enum sonde_severity severity)
{
	const char *name = sonde_severity_name(severity);

	cli_put_styled(cli, style_of(severity), name);
	cli_put_spaces(&cli->out, strlen("warning") - strlen(name));
}

/* The findings in the order of files, each file where it appears first. */
struct by_file {
	const struct sonde_diagnostics *diagnostics;
	struct sonde_sort_item *order; /* number: of a finding; key: of its file */
	size_t count;
};

/* Those of one file. */
struct file_group {
	const char *file;
	size_t begin, end; /* in `order` */
};

static const struct sonde_finding *finding_at(const struct by_file *by_file, size_t position)
{
	return sonde_diagnostics_at(by_file->diagnostics, by_file->order[position].number);
}

static bool by_file_init(struct by_file *by_file, const struct sonde_diagnostics *diagnostics)
{
	struct sonde_text_map files = { 0 };
	const struct sonde_finding *finding;
	bool ok = true;
	size_t i;

	*by_file = (struct by_file){ .diagnostics = diagnostics };
	while (sonde_diagnostics_at(diagnostics, by_file->count))
		by_file->count++;
	by_file->order = calloc(by_file->count + 1, sizeof(*by_file->order));
	for (i = 0; by_file->order && ok && i < by_file->count; i++) {
		uint32_t number;
		size_t length;

		finding = sonde_diagnostics_at(diagnostics, i);
		length = strlen(finding->file);
		number = sonde_text_map_find(&files, finding->file, length);
		if (number == UINT32_MAX) {
			number = (uint32_t)i;
			ok = sonde_text_map_add(&files, finding->file, length, number);
		}
		by_file->order[i] = (struct sonde_sort_item){ .key = number, .number = i };
	}
	sonde_text_map_release(&files);
	return by_file->order && ok && sonde_sort(by_file->order, by_file->count);
}

static void by_file_release(struct by_file *by_file)
{
	free(by_file->order);
}

/* The group after `group`; start with a zeroed one. */
static bool next_file(const struct by_file *by_file, struct file_group *group)
{
	group->begin = group->end;
	if (group->begin == by_file->count)
		return false;
	group->file = finding_at(by_file, group->begin)->file;
	while (group->end < by_file->count &&
	       by_file->order[group->end].key == by_file->order[group->begin].key)
		group->end++;
	return true;
}

struct kind {
	const struct sonde_finding_type *type;
	uint64_t count;
};

struct kinds {
	struct kind *items;
	size_t count, capacity;
};

/* The entry of a type, made where it is new; NULL where memory failed. */
static struct kind *kind_of(struct kinds *kinds, const struct sonde_finding_type *type,
			    bool *is_new)
{
	struct kind *kind;
	size_t i;

	*is_new = false;
	for (i = 0; i < kinds->count; i++)
		if (kinds->items[i].type == type)
			return &kinds->items[i];
	kind = sonde_vec_push(kinds);
	if (!kind)
		return NULL;
	*kind = (struct kind){ .type = type };
	*is_new = true;
	return kind;
}

/* The kinds in one file, counted with those that were not kept. */
static bool count_kinds(const struct by_file *by_file, const struct file_group *group,
			struct kinds *kinds)
{
	size_t i;

	kinds->count = 0;
	for (i = group->begin; i < group->end; i++) {
		const struct sonde_finding_type *type = finding_at(by_file, i)->type;
		bool is_new;
		struct kind *kind = kind_of(kinds, type, &is_new);

		if (!kind)
			return false;
		if (is_new)
			kind->count =
				sonde_diagnostics_more(by_file->diagnostics, type, group->file);
		kind->count++;
	}
	return true;
}

/* A file inside the recording without the recording's path. */
static const char *short_name(const char *file, const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (!strncmp(file, path, length) && file[length] == '/')
		return file + length + 1;
	return *file ? file : path;
}

/* Notes stay in the background. */
static enum cli_style text_style_of(const struct sonde_finding_type *type)
{
	return type->severity == SONDE_NOTE ? CLI_STYLE_DIM : CLI_STYLE_NONE;
}

static void put_labelled(struct cli *cli, const struct sonde_finding_type *type, const char *label,
			 const char *text)
{
	enum cli_style style = cli->out_colour ? text_style_of(type) : CLI_STYLE_NONE;

	if (!*text)
		return;
	cli_put_spaces(&cli->out, TEXT_COLUMN);
	cli_put_styled(cli, CLI_STYLE_DIM, label);
	cli_put_style(&cli->out, style);
	cli_put_escaped(&cli->out, text);
	cli_put_style_end(&cli->out, style);
	sonde_buffer_put_char(&cli->out, '\n');
}

/*
 * The line that names a finding: severity, text, id. Where the screen is too narrow the id goes
 * below the text. Empties the text.
 */
static void put_head_line(struct cli *cli, const struct sonde_finding_type *type,
			  struct sonde_buffer *text, size_t indent)
{
	size_t column = indent + SEVERITY_WIDTH, id_width = strlen(type->id);
	const char *shown = sonde_buffer_text(text);

	cli_put_spaces(&cli->out, indent);
	cli_put_severity(cli, type->severity);
	sonde_buffer_put_text(&cli->out, "  ");
	cli_put_styled(cli, text_style_of(type), shown ? shown : type->title);
	if (column + text->size + 2 + id_width > cli_width(cli, UINT_MAX)) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_put_spaces(&cli->out, column);
	} else {
		sonde_buffer_put_text(&cli->out, "  ");
	}
	cli_put_styled(cli, CLI_STYLE_DIM, type->id);
	sonde_buffer_put_char(&cli->out, '\n');
	sonde_buffer_release(text);
}

static void put_finding(struct cli *cli, const struct sonde_finding *finding)
{
	struct sonde_buffer text = { 0 };

	if (finding->offset != SONDE_NO_OFFSET) {
		sonde_buffer_put_text(&text, "offset ");
		sonde_buffer_put_u64(&text, finding->offset);
		sonde_buffer_put_text(&text, " (0x");
		sonde_buffer_put_hex(&text, finding->offset, 1);
		sonde_buffer_put_text(&text, "): ");
	}
	sonde_buffer_put_text(&text, finding->type->title);
	put_head_line(cli, finding->type, &text, 2);
	put_labelled(cli, finding->type, "expected ", finding->expected);
	put_labelled(cli, finding->type, "found    ", finding->found);
}

/* Notes are told one by one only to who wants to know everything. */
static bool is_shown(const struct cli *cli, const struct sonde_finding_type *type)
{
	return cli->common.verbose || type->severity > SONDE_NOTE;
}

/* What is told of the kinds in a file beyond the findings shown. */
static void put_more(struct cli *cli, const struct kinds *kinds, uint64_t shown_of_a_kind)
{
	size_t i;

	for (i = 0; i < kinds->count; i++) {
		if (kinds->items[i].count <= shown_of_a_kind ||
		    !is_shown(cli, kinds->items[i].type))
			continue;
		cli_put_spaces(&cli->out, TEXT_COLUMN);
		sonde_buffer_put_text(&cli->out, "and ");
		cli_put_count(&cli->out, kinds->items[i].count - shown_of_a_kind);
		sonde_buffer_put_text(&cli->out, " more of ");
		sonde_buffer_put_text(&cli->out, kinds->items[i].type->id);
		sonde_buffer_put_text(&cli->out, cli->common.verbose ? "\n" : " (use -v)\n");
	}
}

/* The findings of one file. `told` are the kinds whose advice was given already. */
static bool put_file(struct cli *cli, const struct by_file *by_file, const struct file_group *group,
		     struct kinds *told)
{
	uint64_t most = cli->common.verbose ? SONDE_FINDINGS_KEPT : SHOWN_OF_A_KIND;
	struct kinds here = { 0 };
	bool ok = true, is_new;
	size_t i;

	for (i = group->begin; ok && i < group->end; i++) {
		const struct sonde_finding *finding = finding_at(by_file, i);
		struct kind *kind;

		if (!is_shown(cli, finding->type))
			continue;
		kind = kind_of(&here, finding->type, &is_new);
		ok = kind != NULL;
		if (!ok || kind->count++ >= most)
			continue;
		put_finding(cli, finding);
		ok = kind_of(told, finding->type, &is_new) != NULL;
		if (ok && is_new)
			put_labelled(cli, finding->type, "advice   ", finding->type->advice);
		cli_flush_when_full(cli);
	}
	ok = ok && count_kinds(by_file, group, &here);
	put_more(cli, &here, most);
	sonde_vec_release(&here);
	return ok;
}

static bool has_shown(const struct cli *cli, const struct by_file *by_file,
		      const struct file_group *group)
{
	size_t i;

	for (i = group->begin; i < group->end; i++)
		if (is_shown(cli, finding_at(by_file, i)->type))
			return true;
	return false;
}

static bool put_files(struct cli *cli, const struct by_file *by_file, const char *path)
{
	struct file_group group = { 0 };
	struct kinds told = { 0 };
	bool ok = true;

	while (ok && next_file(by_file, &group)) {
		if (!has_shown(cli, by_file, &group))
			continue;
		cli_put_escaped(&cli->out, cli_input_name(cli, short_name(group.file, path)));
		sonde_buffer_put_char(&cli->out, '\n');
		ok = put_file(cli, by_file, &group, &told);
	}
	sonde_vec_release(&told);
	return ok;
}

/* All kinds over all files. */
static bool count_all_kinds(const struct by_file *by_file, struct kinds *total)
{
	struct file_group group = { 0 };
	struct kinds here = { 0 };
	bool ok = true, is_new;
	size_t i;

	while (ok && next_file(by_file, &group)) {
		ok = count_kinds(by_file, &group, &here);
		for (i = 0; ok && i < here.count; i++) {
			struct kind *kind = kind_of(total, here.items[i].type, &is_new);

			ok = kind != NULL;
			if (ok)
				kind->count += here.items[i].count;
		}
	}
	sonde_vec_release(&here);
	return ok;
}

static void put_kind(struct cli *cli, const struct kind *kind, size_t indent)
{
	struct sonde_buffer text = { 0 };

	sonde_buffer_put_text(&text, kind->type->title);
	if (kind->count > 1) {
		sonde_buffer_put_text(&text, ", ");
		cli_put_count(&text, kind->count);
		sonde_buffer_put_text(&text, " times");
	}
	put_head_line(cli, kind->type, &text, indent);
}

static void put_kinds(struct cli *cli, const struct kinds *kinds, size_t indent, size_t most)
{
	size_t shown = 0, i;
	int severity;

	for (severity = SONDE_ERROR; severity >= SONDE_NOTE; severity--)
		for (i = 0; i < kinds->count; i++)
			if ((int)kinds->items[i].type->severity == severity && shown++ < most)
				put_kind(cli, &kinds->items[i], indent);
	if (shown <= most)
		return;
	cli_put_spaces(&cli->out, indent);
	sonde_buffer_put_text(&cli->out, "and ");
	cli_put_counted(&cli->out, shown - most, "more kind");
	sonde_buffer_put_char(&cli->out, '\n');
}

/* The notes that put_files() did not show, a line for each kind. */
static bool put_notes(struct cli *cli, const struct by_file *by_file)
{
	struct kinds kinds = { 0 };
	bool ok = count_all_kinds(by_file, &kinds);
	size_t i;

	for (i = 0; ok && i < kinds.count; i++)
		if (!is_shown(cli, kinds.items[i].type))
			put_kind(cli, &kinds.items[i], 0);
	sonde_vec_release(&kinds);
	return ok;
}

void cli_put_findings(struct cli *cli, const struct sonde_diagnostics *diagnostics,
		      const char *path)
{
	struct by_file by_file;

	if (!by_file_init(&by_file, diagnostics) || !put_files(cli, &by_file, path) ||
	    !put_notes(cli, &by_file))
		cli->out.failed = true;
	by_file_release(&by_file);
}

void cli_put_findings_briefly(struct cli *cli, const struct sonde_diagnostics *diagnostics,
			      size_t indent, size_t most)
{
	struct kinds kinds = { 0 };
	struct by_file by_file;

	if (by_file_init(&by_file, diagnostics) && count_all_kinds(&by_file, &kinds))
		put_kinds(cli, &kinds, indent, most);
	else
		cli->out.failed = true;
	sonde_vec_release(&kinds);
	by_file_release(&by_file);
}

static void put_finding_json(struct sonde_json_writer *json, const struct sonde_finding *finding)
{
	sonde_json_object_begin(json);
	sonde_json_member_string(json, "severity", sonde_severity_name(finding->type->severity));
	sonde_json_member_string(json, "id", finding->type->id);
	sonde_json_member_string(json, "title", finding->type->title);
	sonde_json_member_string(json, "file", finding->file);
	sonde_json_key(json, "offset");
	if (finding->offset == SONDE_NO_OFFSET)
		sonde_json_null(json);
	else
		sonde_json_number_u64(json, finding->offset);
	sonde_json_member_string(json, "expected", finding->expected);
	sonde_json_member_string(json, "found", finding->found);
	sonde_json_member_string(json, "advice", finding->type->advice);
	sonde_json_object_end(json);
}

static void put_more_json(struct sonde_json_writer *json, const struct by_file *by_file)
{
	struct file_group group = { 0 };
	struct kinds here = { 0 };
	size_t i;

	while (next_file(by_file, &group)) {
		if (!count_kinds(by_file, &group, &here))
			json->out->failed = true;
		for (i = 0; i < here.count; i++) {
			uint64_t more = sonde_diagnostics_more(by_file->diagnostics,
							       here.items[i].type, group.file);

			if (!more)
				continue;
			sonde_json_object_begin_inline(json);
			sonde_json_member_string(json, "id", here.items[i].type->id);
			sonde_json_member_string(json, "file", group.file);
			sonde_json_member_u64(json, "count", more);
			sonde_json_object_end(json);
		}
	}
	sonde_vec_release(&here);
}

void cli_put_findings_json(struct sonde_json_writer *json,
			   const struct sonde_diagnostics *diagnostics)
{
	const struct sonde_finding *finding;
	struct by_file by_file;
	size_t i;

	sonde_json_key(json, "findings");
	sonde_json_array_begin(json);
	for (i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++)
		put_finding_json(json, finding);
	sonde_json_array_end(json);
	sonde_json_key(json, "not_listed");
	sonde_json_array_begin(json);
	if (by_file_init(&by_file, diagnostics))
		put_more_json(json, &by_file);
	else
		json->out->failed = true;
	by_file_release(&by_file);
	sonde_json_array_end(json);
}
