/* SPDX-License-Identifier: Apache-2.0 */
/* Names of pieces, and the losses of all of them. */
#include "cli/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/human.h"
#include "cli/text.h"
#include "formats/format.h"

/* The last part of a path without a suffix that a format has. */
static void put_base(struct sonde_buffer *out, const char *path)
{
	const struct sonde_format *format = sonde_format_by_suffix(path);
	const char *end = path + strlen(path), *start;

	while (end > path + 1 && end[-1] == '/')
		end--;
	for (start = end; start > path && start[-1] != '/'; start--)
		;
	if (format)
		end -= sonde_format_suffix_length(start, (size_t)(end - start),
						  sonde_format_info(format)->suffix);
	sonde_buffer_put(out, start, (size_t)(end - start));
}

static bool is_folder(const char *path)
{
	size_t length = strlen(path);

	return (length && path[length - 1] == '/') || sonde_path_kind(path) == SONDE_PATH_FOLDER;
}

bool split_names_init(struct split_names *names, const char *output, const char *recording,
		      const struct sonde_format_info *format)
{
	const char *suffix = format->suffix ? format->suffix : "";
	size_t length = strcspn(suffix, " ");

	sonde_buffer_put(&names->suffix, suffix, length);
	if (!sonde_buffer_text(&names->suffix))
		return false;
	if (!output || is_folder(output)) {
		sonde_buffer_put_text(&names->prefix, output ? output : "");
		if (output && output[strlen(output) - 1] != '/')
			sonde_buffer_put_char(&names->prefix, '/');
		put_base(&names->prefix, recording);
	} else {
		size_t size = strlen(output);

		if (length && size > length && !strcmp(output + size - length, names->suffix.data))
			size -= length;
		sonde_buffer_put(&names->prefix, output, size);
	}
	return sonde_buffer_text(&names->prefix);
}

void split_names_release(struct split_names *names)
{
	sonde_buffer_release(&names->prefix);
	sonde_buffer_release(&names->suffix);
	sonde_buffer_release(&names->name);
}

const char *split_name(struct split_names *names, size_t number)
{
	sonde_buffer_clear(&names->name);
	sonde_buffer_put_format(&names->name, "%s-%0*zu%s", names->prefix.data, SPLIT_DIGITS,
				number, names->suffix.data);
	return sonde_buffer_text(&names->name);
}

static struct split_loss *find(struct split_losses *losses, const struct sonde_loss_entry *entry)
{
	struct split_loss *loss;

	for (size_t i = 0; i < losses->count; i++) {
		loss = &losses->items[i];
		if (!strcmp(loss->what, entry->what) && !strcmp(loss->reason, entry->reason) &&
		    loss->only_elsewhere == entry->only_elsewhere)
			return loss;
	}
	loss = sonde_vec_push(losses);
	if (!loss)
		return NULL;
	*loss = (struct split_loss){ .what = strdup(entry->what),
				     .reason = strdup(entry->reason),
				     .only_elsewhere = entry->only_elsewhere,
				     .is_same = true,
				     .count = entry->count };
	return loss->what && loss->reason ? loss : NULL;
}

bool split_losses_add(struct split_losses *losses, const struct sonde_loss *loss)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++) {
		struct split_loss *found = find(losses, entry);

		if (!found)
			return false;
		found->is_same &= found->count == entry->count;
		found->total += entry->count;
		found->pieces++;
	}
	return true;
}

void split_losses_release(struct split_losses *losses)
{
	for (size_t i = 0; i < losses->count; i++) {
		free(losses->items[i].what);
		free(losses->items[i].reason);
	}
	sonde_vec_release(losses);
}

/* What each piece lacks alike is told once: it may be the same things each time. */
static bool is_of_each(const struct split_loss *loss, size_t pieces)
{
	return loss->is_same && loss->pieces == pieces && pieces > 1;
}

static size_t put_entries(struct cli *cli, const struct split_losses *losses, size_t pieces,
			  bool only_elsewhere, const char *title)
{
	struct sonde_buffer *out = &cli->out;
	size_t count = 0;

	for (size_t i = 0; i < losses->count; i++) {
		const struct split_loss *loss = &losses->items[i];
		bool of_each = is_of_each(loss, pieces);

		if (loss->only_elsewhere != only_elsewhere)
			continue;
		if (!count++) {
			cli_put_styled(cli, CLI_STYLE_YELLOW, title);
			sonde_buffer_put_char(out, '\n');
		}
		sonde_buffer_put_text(out, "  ");
		cli_put_count(out, of_each ? loss->count : loss->total);
		sonde_buffer_put_char(out, ' ');
		cli_put_escaped(out, loss->what);
		sonde_buffer_put_text(out, of_each ? ", in each piece: " : ": ");
		cli_put_escaped(out, loss->reason);
		sonde_buffer_put_char(out, '\n');
	}
	return count;
}

void split_put_losses(struct cli *cli, const struct split_losses *losses, size_t pieces,
		      const char *format)
{
	struct sonde_buffer elsewhere = { 0 };

	if (!put_entries(cli, losses, pieces, false, "lost:"))
		sonde_buffer_put_text(&cli->out, "nothing was lost\n");
	sonde_buffer_put_format(&elsewhere, "kept, but other readers of %s will not see:", format);
	if (sonde_buffer_text(&elsewhere))
		put_entries(cli, losses, pieces, true, elsewhere.data);
	sonde_buffer_release(&elsewhere);
}

void split_put_losses_json(struct sonde_json_writer *json, const struct split_losses *losses)
{
	sonde_json_key(json, "losses");
	sonde_json_array_begin(json);
	for (size_t i = 0; i < losses->count; i++) {
		const struct split_loss *loss = &losses->items[i];

		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "what", loss->what);
		sonde_json_member_u64(json, "count", loss->total);
		sonde_json_member_u64(json, "pieces", loss->pieces);
		sonde_json_member_string(json, "reason", loss->reason);
		sonde_json_member_bool(json, "only_elsewhere", loss->only_elsewhere);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}
