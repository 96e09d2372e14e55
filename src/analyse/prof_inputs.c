/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for profiles and recordings at the paths that were given. Nothing is read but names and heads. */
#include "analyse/prof_inputs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>

#include <sonde/format.h>

#include "base/file.h"

#define PROFILE_SUFFIX ".hpcrun"
#define TRACE_SUFFIX ".hpctrace"

/* Which file or folder it is, to know it again under another name. */
struct seen {
	uint64_t device, inode;
	const char *path;
	uint32_t number; /* of the item; SONDE_NONE: a folder or recording */
};

struct search {
	struct prof_inputs *inputs;
	const struct sonde_prof_options *options;
	struct prof_union *refused;
	SONDE_VEC(struct seen) seen;
	struct sonde_error *err;
};

char *prof_trace_path(const char *profile)
{
	size_t stem = strlen(profile) - strlen(PROFILE_SUFFIX);
	char *path = malloc(stem + sizeof(TRACE_SUFFIX));

	if (!path)
		return NULL;
	memcpy(path, profile, stem);
	memcpy(path + stem, TRACE_SUFFIX, sizeof(TRACE_SUFFIX));
	return path;
}

const char *prof_reason(const struct sonde_error *err, char *space, size_t size)
{
	struct sonde_error shown = *err;

	shown.file[0] = '\0';
	sonde_error_format(&shown, space, size);
	return space;
}

static bool is_profile(const char *name)
{
	size_t length = strlen(name), suffix = strlen(PROFILE_SUFFIX);

	return length > suffix && !strcmp(name + length - suffix, PROFILE_SUFFIX);
}

static enum sonde_status refuse(struct search *search, const char *path, const char *reason)
{
	return prof_union_refuse(search->refused, SONDE_NONE, path, reason) ?
		       SONDE_OK :
		       sonde_fail_nomem(search->err);
}

static enum sonde_status refuse_error(struct search *search, const char *path,
				      const struct sonde_error *why)
{
	char reason[sizeof(why->message) + sizeof(why->cause) + 64];

	if (why->status == SONDE_NOMEM)
		return sonde_fail_nomem(search->err);
	return refuse(search, path, prof_reason(why, reason, sizeof(reason)));
}

/* Patterns are for names: of the file, also without what it ends in. */
static bool is_wanted(const struct sonde_prof_options *options, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char stem[256];
	size_t i;

	snprintf(stem, sizeof(stem), "%s", name);
	if (is_profile(stem))
		stem[strlen(stem) - strlen(PROFILE_SUFFIX)] = '\0';
	for (i = 0; i < options->only_count; i++)
		if (!fnmatch(options->only[i], name, 0) || !fnmatch(options->only[i], stem, 0))
			return true;
	return !options->only_count;
}

/* Remembers what is at the path; an item's number goes with it. */
static enum sonde_status remember(struct search *search, const char *path, uint32_t number)
{
	struct seen *seen;
	struct stat status;

	if (stat(path, &status)) {
		struct sonde_error why = { 0 };

		sonde_fail_errno(&why, path, "cannot look at it");
		if (number != SONDE_NONE)
			search->inputs->items.items[number].path = NULL;
		return refuse_error(search, path, &why);
	}
	seen = sonde_vec_push(&search->seen);
	if (!seen)
		return sonde_fail_nomem(search->err);
	*seen = (struct seen){
		.device = status.st_dev, .inode = status.st_ino, .path = path, .number = number
	};
	return SONDE_OK;
}

static const char *keep(struct search *search, const char *path)
{
	return sonde_arena_copy_text(&search->inputs->texts, path, strlen(path));
}

static enum sonde_status add_item(struct search *search, const char *path, uint32_t recording,
				  uint32_t track)
{
	struct prof_item *item = sonde_vec_push(&search->inputs->items);

	if (!item || !path)
		return sonde_fail_nomem(search->err);
	*item = (struct prof_item){ .path = path, .recording = recording, .track = track };
	if (recording != SONDE_NONE)
		return SONDE_OK;
	return remember(search, path, (uint32_t)search->inputs->items.count - 1);
}

static enum sonde_status add_profile(struct search *search, const char *path)
{
	if (!is_wanted(search->options, path))
		return SONDE_OK;
	return add_item(search, keep(search, path), SONDE_NONE, 0);
}

/* Adds the profiles of a folder; *count says how many there are, wanted or not. */
static enum sonde_status add_names(struct search *search, const char *path,
				   const struct sonde_folder *folder, size_t *count)
{
	enum sonde_status status = SONDE_OK;
	size_t i;

	for (i = 0; i < folder->count && status == SONDE_OK; i++) {
		char *profile;

		if (!is_profile(folder->names[i]))
			continue;
		profile = sonde_path_join(path, folder->names[i]);
		status = profile ? add_profile(search, profile) : sonde_fail_nomem(search->err);
		free(profile);
		++*count;
	}
	return status;
}

static enum sonde_status add_folder(struct search *search, const char *path, size_t *count)
{
	struct sonde_folder folder = { 0 };
	struct sonde_error why = { 0 };
	const char **kept;
	enum sonde_status status;

	if (sonde_folder_read(&folder, path, &why)) {
		++*count; /* nobody else needs to look into it */
		return refuse_error(search, path, &why);
	}
	status = add_names(search, path, &folder, count);
	sonde_folder_release(&folder);
	if (status != SONDE_OK || !*count)
		return status;
	kept = sonde_vec_push(&search->inputs->folders);
	if (!kept || !(*kept = keep(search, path)))
		return sonde_fail_nomem(search->err);
	return SONDE_OK;
}

/* What lies beside a single profile (structs, vdso, gpubins) is used like that of its whole folder. */
static enum sonde_status add_single(struct search *search, const char *path)
{
	struct prof_inputs *inputs = search->inputs;
	const char *slash = strrchr(path, '/'), **kept, *folder;
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!is_wanted(search->options, path))
		return SONDE_OK;
	folder = !slash	 ? keep(search, ".") :
		 !length ? keep(search, "/") :
			   sonde_arena_copy_text(&inputs->texts, path, length);
	kept = sonde_vec_push(&inputs->folders);
	if (!kept || !folder)
		return sonde_fail_nomem(search->err);
	*kept = folder;
	return add_profile(search, path);
}

static bool is_database(const char *path)
{
	static const char *const names[] = { "meta.db", "profile.db" };
	bool is_one = true;
	size_t i;

	for (i = 0; i < 2 && is_one; i++) {
		char *file = sonde_path_join(path, names[i]);

		is_one = file && sonde_path_kind(file) == SONDE_PATH_FILE;
		free(file);
	}
	return is_one;
}

static enum sonde_status add_recording(struct search *search, const char *path)
{
	struct sonde_recording *recording = NULL;
	const struct sonde_format *format;
	struct sonde_error why = { 0 };
	const char *kept = keep(search, path), **place;
	enum sonde_status status = SONDE_OK;
	uint32_t track, count;
	unsigned int lanes;
	uint64_t faults;

	if (!is_wanted(search->options, path))
		return SONDE_OK;
	if (sonde_format_detect(path, &format, &why) == SONDE_FORMAT)
		return refuse(
			search, path,
			"there is nothing to merge in it: expected a folder with .hpcrun files "
			"(traces alone are not enough), an .hpcrun file, or a recording with "
			"calls");
	if (sonde_recording_open(path, NULL, &recording, &why))
		return refuse_error(search, path, &why);
	lanes = sonde_recording_lanes(recording);
	faults = sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_ERROR);
	count = sonde_definitions_track_count(sonde_recording_definitions(recording));
	sonde_recording_close(recording);
	if (!(lanes & SONDE_LANE_EVENTS))
		return refuse(search, path,
			      "it has no calls; expected measurements (.hpcrun files) or a "
			      "recording with calls");
	place = sonde_vec_push(&search->inputs->recording_paths);
	if (!place || !kept)
		return sonde_fail_nomem(search->err);
	*place = kept;
	if (faults)
		status = refuse(
			search, path,
			"it is damaged: what can be read of it is merged; 'sonde check' says "
			"what is wrong");
	for (track = 0; track < count && status == SONDE_OK; track++)
		status = add_item(search, kept, (uint32_t)search->inputs->recording_paths.count - 1,
				  track);
	return status == SONDE_OK ? remember(search, kept, SONDE_NONE) : status;
}

static bool is_seen(const struct search *search, const char *path)
{
	struct stat status;
	size_t i;

	if (stat(path, &status))
		return false;
	for (i = 0; i < search->seen.count; i++)
		if (search->seen.items[i].number == SONDE_NONE &&
		    search->seen.items[i].inode == status.st_ino &&
		    search->seen.items[i].device == status.st_dev)
			return true;
	return false;
}

static enum sonde_status add_input(struct search *search, const char *path)
{
	enum sonde_path_kind kind = sonde_path_kind(path);
	enum sonde_status status;
	size_t count = 0;

	if (kind == SONDE_PATH_ABSENT)
		return refuse(search, path, "there is no such file or folder");
	if (kind == SONDE_PATH_FILE && is_profile(path))
		return add_single(search, path);
	if (is_seen(search, path))
		return refuse(search, path, "it was given before; it is merged once");
	if (kind == SONDE_PATH_FOLDER) {
		if (is_database(path))
			return refuse(search, path,
				      "it is a database already; merge the measurements that it "
				      "was made of");
		status = add_folder(search, path, &count);
		if (status != SONDE_OK)
			return status;
		if (count)
			return remember(search, keep(search, path), SONDE_NONE);
	}
	return add_recording(search, path);
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *one = a, *other = b;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	if (one->inode != other->inode)
		return one->inode < other->inode ? -1 : 1;
	return strcmp(one->path, other->path);
}

/* Of the profiles that are one file under several names, the first name stays. */
static enum sonde_status refuse_twins(struct search *search)
{
	struct seen *seen = search->seen.items;
	size_t i, first = 0;

	if (search->seen.count)
		qsort(seen, search->seen.count, sizeof(*seen), compare_seen);
	for (i = 1; i < search->seen.count; i++) {
		char reason[600];

		if (seen[i].number == SONDE_NONE || seen[i].inode != seen[first].inode ||
		    seen[i].device != seen[first].device || seen[first].number == SONDE_NONE) {
			first = i;
			continue;
		}
		search->inputs->items.items[seen[i].number].path = NULL;
		snprintf(reason, sizeof(reason), "it is the same file as %s; it is merged once",
			 seen[first].path);
		if (refuse(search, seen[i].path, reason))
			return SONDE_NOMEM;
	}
	return SONDE_OK;
}

static int compare_items(const void *a, const void *b)
{
	const struct prof_item *one = a, *other = b;
	int order = strcmp(one->path, other->path);

	return order ? order : (one->track > other->track) - (one->track < other->track);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Drops what was refused, and gives the rest its order. */
static void settle(struct prof_inputs *inputs)
{
	size_t i, kept = 0;

	for (i = 0; i < inputs->items.count; i++)
		if (inputs->items.items[i].path)
			inputs->items.items[kept++] = inputs->items.items[i];
	inputs->items.count = kept;
	if (kept)
		qsort(inputs->items.items, kept, sizeof(*inputs->items.items), compare_items);
	if (inputs->folders.count)
		qsort(inputs->folders.items, inputs->folders.count, sizeof(const char *),
		      compare_texts);
	for (i = 0, kept = 0; i < inputs->folders.count; i++)
		if (!i || strcmp(inputs->folders.items[i], inputs->folders.items[i - 1]) != 0)
			inputs->folders.items[kept++] = inputs->folders.items[i];
	inputs->folders.count = kept;
}

static enum sonde_status look(struct prof_inputs *inputs, const char *const *paths, size_t count,
			      const struct sonde_prof_options *options, struct prof_union *refused,
			      struct sonde_error *err)
{
	struct search search = {
		.inputs = inputs, .options = options, .refused = refused, .err = err
	};
	enum sonde_status status = SONDE_OK;
	size_t i;

	for (i = 0; i < count && status == SONDE_OK; i++)
		status = add_input(&search, paths[i]);
	if (status == SONDE_OK)
		status = refuse_twins(&search);
	sonde_vec_release(&search.seen);
	if (status == SONDE_OK)
		settle(inputs);
	if (status == SONDE_OK && inputs->items.count >= SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET, "too many profiles");
	return status;
}

static void put_inputs(const struct prof_inputs *inputs, struct sonde_buffer *bytes)
{
	size_t i;

	sonde_put_u32le(bytes, (uint32_t)inputs->folders.count);
	for (i = 0; i < inputs->folders.count; i++)
		prof_put_text(bytes, inputs->folders.items[i]);
	sonde_put_u32le(bytes, (uint32_t)inputs->recording_paths.count);
	for (i = 0; i < inputs->recording_paths.count; i++)
		prof_put_text(bytes, inputs->recording_paths.items[i]);
	sonde_put_u32le(bytes, (uint32_t)inputs->items.count);
	for (i = 0; i < inputs->items.count; i++) {
		prof_put_text(bytes, inputs->items.items[i].path);
		sonde_put_u32le(bytes, inputs->items.items[i].recording);
		sonde_put_u32le(bytes, inputs->items.items[i].track);
	}
}

/* The next text of the bytes; NULL where memory failed. */
static const char *take_text(struct prof_inputs *inputs, struct sonde_bytes *bytes)
{
	const char *text = prof_take_text(bytes);

	return sonde_arena_copy_text(&inputs->texts, text, strlen(text));
}

static enum sonde_status take_inputs(struct prof_inputs *inputs, struct sonde_bytes *bytes,
				     struct sonde_error *err)
{
	uint32_t count = sonde_bytes_u32le(bytes), i;

	for (i = 0; i < count && !bytes->overrun; i++) {
		const char **folder = sonde_vec_push(&inputs->folders);

		if (!folder || !(*folder = take_text(inputs, bytes)))
			return sonde_fail_nomem(err);
	}
	count = sonde_bytes_u32le(bytes);
	for (i = 0; i < count && !bytes->overrun; i++) {
		const char **path = sonde_vec_push(&inputs->recording_paths);

		if (!path || !(*path = take_text(inputs, bytes)))
			return sonde_fail_nomem(err);
	}
	count = sonde_bytes_u32le(bytes);
	for (i = 0; i < count && !bytes->overrun; i++) {
		struct prof_item *item = sonde_vec_push(&inputs->items);

		if (!item || !(item->path = take_text(inputs, bytes)))
			return sonde_fail_nomem(err);
		item->recording = sonde_bytes_u32le(bytes);
		item->track = sonde_bytes_u32le(bytes);
		bytes->overrun |= item->recording != SONDE_NONE &&
				  item->recording >= inputs->recording_paths.count;
	}
	if (bytes->overrun)
		return sonde_fail(err, SONDE_CORRUPT, bytes->position,
				  "the list of inputs that rank 0 sent is cut short");
	return SONDE_OK;
}

static enum sonde_status share_inputs(struct prof_inputs *inputs, struct sonde_team *team,
				      struct sonde_error *err)
{
	struct sonde_buffer bytes = { 0 };
	struct sonde_bytes cursor;
	enum sonde_status status;

	if (!sonde_team_rank(team))
		put_inputs(inputs, &bytes);
	status = sonde_team_agree(team, bytes.failed ? sonde_fail_nomem(err) : SONDE_OK, err);
	if (status == SONDE_OK)
		status = sonde_team_share(team, &bytes, err);
	cursor = sonde_bytes_of(bytes.data, bytes.size);
	if (status == SONDE_OK && sonde_team_rank(team))
		status = take_inputs(inputs, &cursor, err);
	sonde_buffer_release(&bytes);
	return status;
}

static enum sonde_status open_recordings(struct prof_inputs *inputs, struct sonde_error *err)
{
	size_t count = inputs->recording_paths.count, i;
	enum sonde_status status;

	if (!count)
		return SONDE_OK;
	inputs->recordings = calloc(count, sizeof(*inputs->recordings));
	if (!inputs->recordings)
		return sonde_fail_nomem(err);
	for (i = 0; i < count; i++) {
		status = sonde_recording_open(inputs->recording_paths.items[i], NULL,
					      &inputs->recordings[i], err);
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

enum sonde_status prof_inputs_find(struct prof_inputs *inputs, const char *const *paths,
				   size_t count, const struct sonde_prof_options *options,
				   struct prof_union *refused, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!sonde_team_rank(options->team))
		status = look(inputs, paths, count, options, refused, err);
	status = sonde_team_agree(options->team, status, err);
	if (status == SONDE_OK && options->team)
		status = share_inputs(inputs, options->team, err);
	if (status == SONDE_OK)
		status = open_recordings(inputs, err);
	return sonde_team_agree(options->team, status, err);
}

void prof_inputs_release(struct prof_inputs *inputs)
{
	size_t i;

	for (i = 0; inputs->recordings && i < inputs->recording_paths.count; i++)
		sonde_recording_close(inputs->recordings[i]);
	free(inputs->recordings);
	sonde_vec_release(&inputs->items);
	sonde_vec_release(&inputs->folders);
	sonde_vec_release(&inputs->recording_paths);
	sonde_arena_release(&inputs->texts);
	*inputs = (struct prof_inputs){ 0 };
}
