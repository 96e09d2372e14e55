/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pid folders and threads under a path and opens them as a recording. The folders
 * decide what there is; the manifest, which a crashed recorder never wrote, only adds to it.
 */
#include "formats/atf/atf_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_findings.h"

/* What a path is. */
enum place {
	PLACE_NONE,
	PLACE_FILE,	/* index.atf, detail.atf or manifest.json, perhaps under another name */
	PLACE_THREAD,	/* a folder with index.atf or detail.atf */
	PLACE_PROCESS,	/* a folder with thread_N or a manifest */
	PLACE_SESSION,	/* a folder with pid_N */
	PLACE_SESSIONS, /* a folder with session_X */
};

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The number behind a prefix ("thread_12" -> 12); false where the rest is no u32. */
static bool parse_numbered(const char *name, const char *prefix, uint32_t *number)
{
	uint64_t value = 0;

	if (!has_prefix(name, prefix))
		return false;
	name += strlen(prefix);
	if (!*name)
		return false;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return false;
		value = value * 10 + (uint64_t)(*name - '0');
		if (value >= SONDE_NONE)
			return false;
	}
	*number = (uint32_t)value;
	return true;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder that holds a path, malloc'd. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static enum place folder_place(const struct sonde_folder *folder)
{
	enum place place = PLACE_NONE, seen;
	uint32_t number;

	for (size_t i = 0; i < folder->count; i++) {
		const char *name = folder->names[i];

		seen = PLACE_NONE;
		if (parse_numbered(name, ATF_THREAD_PREFIX, &number) ||
		    strcmp(name, ATF_MANIFEST_NAME) == 0)
			seen = PLACE_PROCESS;
		else if (strcmp(name, ATF_INDEX_NAME) == 0 || strcmp(name, ATF_DETAIL_NAME) == 0)
			seen = PLACE_THREAD;
		else if (has_prefix(name, ATF_PID_PREFIX))
			seen = PLACE_SESSION;
		else if (has_prefix(name, ATF_SESSION_PREFIX))
			seen = PLACE_SESSIONS;
		/* the most telling name wins: PROCESS, then THREAD, SESSION, SESSIONS */
		if (seen == PLACE_PROCESS)
			return seen;
		if (place == PLACE_NONE || (seen != PLACE_NONE && seen < place))
			place = seen;
	}
	return place;
}

static bool is_atf_file(const char *path)
{
	const char *name = base_name(path);
	char magic[ATF_MAGIC_SIZE];
	FILE *file;
	bool known;

	if (strcmp(name, ATF_INDEX_NAME) == 0 || strcmp(name, ATF_DETAIL_NAME) == 0)
		return true;
	file = fopen(path, "re");
	if (!file)
		return false;
	known = fread(magic, 1, sizeof(magic), file) == sizeof(magic) &&
		(memcmp(magic, ATF_INDEX_MAGIC, sizeof(magic)) == 0 ||
		 memcmp(magic, ATF_DETAIL_MAGIC, sizeof(magic)) == 0);
	fclose(file);
	return known;
}

static enum place path_place(const char *path)
{
	struct sonde_folder folder;
	enum place place;

	switch (sonde_path_kind(path)) {
	case SONDE_PATH_FILE:
		if (strcmp(base_name(path), ATF_MANIFEST_NAME) == 0)
			return PLACE_FILE;
		return is_atf_file(path) ? PLACE_FILE : PLACE_NONE;
	case SONDE_PATH_FOLDER:
		if (sonde_folder_read(&folder, path, NULL) < 0)
			return PLACE_NONE;
		place = folder_place(&folder);
		sonde_folder_release(&folder);
		return place;
	default:
		return PLACE_NONE;
	}
}

int atf_probe(const char *path)
{
	static const int certainty[] = {
		[PLACE_NONE] = 0,     [PLACE_FILE] = 90,    [PLACE_THREAD] = 90,
		[PLACE_PROCESS] = 80, [PLACE_SESSION] = 70, [PLACE_SESSIONS] = 60,
	};

	return certainty[path_place(path)];
}

/* What opening goes along with. */
struct opener {
	struct atf_session *session;
	struct sonde_recording *recording;
	struct sonde_definitions *definitions;
	struct sonde_diagnostics *diagnostics;
	struct sonde_error first_error; /* of the first thread that was refused */
	bool refused;
};

static bool is_fatal(enum sonde_status status)
{
	return status == SONDE_NOMEM || status == SONDE_LIMIT;
}

/* The thread of a slot in the process that is being opened, made where it is new. */
static struct atf_thread *thread_of_slot(struct opener *opener, struct atf_process *process,
					 size_t first_thread, uint32_t slot)
{
	struct atf_session *session = opener->session;
	struct atf_thread *thread;

	/* later parts repeat few threads, in order: a search from the end is short */
	for (size_t i = session->threads.count; process->parts.count > 1 && i-- > first_thread;)
		if (session->threads.items[i].slot == slot)
			return &session->threads.items[i];
	thread = sonde_vec_push(&session->threads);
	if (thread)
		*thread = (struct atf_thread){ .process = process, .slot = slot };
	return thread;
}

/* Opens detail.atf of a segment; one that is absent or refused leaves the events usable. */
static enum sonde_status open_detail(struct opener *opener, struct atf_segment *segment,
				     const char *folder, struct sonde_error *err)
{
	char *path = sonde_path_join(folder, ATF_DETAIL_NAME);
	enum sonde_status status = SONDE_OK;

	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) != SONDE_PATH_ABSENT) {
		status = atf_detail_open(&segment->detail, path, opener->session->salvages,
					 opener->diagnostics, err);
		segment->has_detail = status == SONDE_OK;
		if (status < 0)
			atf_detail_release(&segment->detail);
	}
	free(path);
	return is_fatal(status) ? status : SONDE_OK;
}

/* Opens the index of a thread folder; NULL name: `folder` itself is the index file. */
static enum sonde_status open_index(struct opener *opener, struct atf_segment *segment,
				    const char *folder, const char *name, struct sonde_error *err)
{
	char *path = name ? sonde_path_join(folder, name) : strdup(folder);
	struct sonde_error reason = { 0 };
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) == SONDE_PATH_ABSENT) {
		ATF_FIND(opener->diagnostics, INDEX_MISSING, path, SONDE_NO_OFFSET,
			 "a file\tnothing");
		status = sonde_fail(&reason, SONDE_TRUNCATED, SONDE_NO_OFFSET,
				    "a thread folder without index.atf");
		sonde_error_set_file(&reason, path);
	} else {
		status = atf_index_open(&segment->index, path, opener->diagnostics, &reason);
		if (status < 0)
			atf_index_release(&segment->index);
	}
	if (status < 0 && !opener->refused) {
		opener->refused = true;
		opener->first_error = reason;
	}
	if (is_fatal(status) && err)
		*err = reason;
	free(path);
	return status;
}

static void segment_release(struct atf_segment *segment)
{
	atf_index_release(&segment->index);
	if (segment->has_detail)
		atf_detail_release(&segment->detail);
}

/* Puts an opened segment at the end of its thread. */
static enum sonde_status append_segment(struct atf_thread *thread, struct atf_segment *segment,
					struct sonde_error *err)
{
	struct atf_segment *place = sonde_vec_push(&thread->segments);

	if (!place) {
		segment_release(segment);
		return sonde_fail_nomem(err);
	}
	segment->first_event = thread->event_count;
	segment->first_detail = thread->detail_count;
	thread->event_count += segment->index.count;
	if (segment->has_detail)
		thread->detail_count += segment->detail.count;
	*place = *segment;
	if (thread->detail_count < SONDE_NONE)
		return SONDE_OK;
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "thread %u has %llu details; at most %u can be read", thread->slot,
			  (unsigned long long)thread->detail_count, SONDE_NONE - 1);
}

/* Opens one thread folder into its track; a refused one is counted and passed over. */
static enum sonde_status open_thread(struct opener *opener, struct atf_process *process,
				     size_t first_thread, const char *folder,
				     const char *index_name, uint32_t slot, struct sonde_error *err)
{
	struct atf_segment segment = { .part = (uint32_t)process->parts.count - 1 };
	struct atf_thread *thread;
	enum sonde_status status;

	status = open_index(opener, &segment, folder, index_name, err);
	if (is_fatal(status))
		return status;
	if (status < 0) {
		opener->recording->tracks_lost++;
		return SONDE_OK;
	}
	if (slot == SONDE_NONE)
		slot = segment.index.header.identity.thread_id;
	if (index_name)
		status = open_detail(opener, &segment, folder, err);
	thread = status == SONDE_OK ? thread_of_slot(opener, process, first_thread, slot) : NULL;
	if (thread)
		return append_segment(thread, &segment, err);
	segment_release(&segment);
	return status < 0 ? status : sonde_fail_nomem(err);
}

/* Threads that the manifest lists and the folder lacks. */
static void find_missing_threads(struct opener *opener, const struct atf_manifest *manifest,
				 const struct sonde_key_map *slots)
{
	for (size_t i = 0; i < manifest->threads.count; i++) {
		uint32_t id = manifest->threads.items[i].id;

		if (sonde_key_map_find(slots, id) == SONDE_NONE)
			ATF_FIND(opener->diagnostics, MANIFEST_THREAD_MISSING, manifest->path,
				 SONDE_NO_OFFSET, "a folder thread_%u\tnothing", id);
	}
}

/* All thread_N of one pid folder or part. */
static enum sonde_status open_threads(struct opener *opener, struct atf_process *process,
				      size_t first_thread, struct sonde_error *err)
{
	const struct atf_part *part = &process->parts.items[process->parts.count - 1];
	struct sonde_key_map slots = { NULL };
	struct sonde_folder folder;
	enum sonde_status status;

	status = sonde_folder_read(&folder, part->folder, err);
	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count && status == SONDE_OK; i++) {
		uint32_t slot;
		char *path;

		if (!parse_numbered(folder.names[i], ATF_THREAD_PREFIX, &slot) ||
		    sonde_key_map_find(&slots, slot) != SONDE_NONE)
			continue;
		path = sonde_path_join(part->folder, folder.names[i]);
		if (!path || !sonde_key_map_add(&slots, slot, slot))
			status = sonde_fail_nomem(err);
		else
			status = open_thread(opener, process, first_thread, path, ATF_INDEX_NAME,
					     slot, err);
		free(path);
		if (status == SONDE_OK && part->manifest.present &&
		    !atf_manifest_thread(&part->manifest, slot))
			ATF_FIND(opener->diagnostics, MANIFEST_THREAD_UNLISTED, part->manifest.path,
				 SONDE_NO_OFFSET, "thread %u in \"threads\"\tnothing", slot);
	}
	if (status == SONDE_OK)
		find_missing_threads(opener, &part->manifest, &slots);
	sonde_key_map_release(&slots);
	sonde_folder_release(&folder);
	return status;
}

/* Reads the manifest of a folder as the next part of a process. Takes over `folder`. */
static enum sonde_status add_part(struct opener *opener, struct atf_process *process, char *folder,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct atf_part *part = sonde_vec_push(&process->parts);
	struct atf_symbol_maps maps = {
		.functions = &process->functions,
		.event_types = &process->event_types,
		.known_types = &opener->session->known_types,
		.first_event_type = process->first_event_type,
	};
	const struct atf_manifest *first;
	bool repeated;

	if (!part) {
		free(folder);
		return sonde_fail_nomem(err);
	}
	/* every part repeats what the first one says of modules and functions */
	first = &process->parts.items[0].manifest;
	repeated = process->parts.count > 1 && (first->symbol_count || first->event_type_count);
	*part = (struct atf_part){ .folder = folder };
	return atf_manifest_read(&part->manifest, folder, repeated, process->id,
				 opener->definitions, &maps, diagnostics, err);
}

static struct atf_process *new_process(struct opener *opener)
{
	struct atf_process **place = sonde_vec_push(&opener->session->processes);
	struct atf_process *process = place ? calloc(1, sizeof(*process)) : NULL;

	if (!place)
		return NULL;
	*place = process;
	if (!process) {
		opener->session->processes.count--;
		return NULL;
	}
	pthread_mutex_init(&process->lock, NULL);
	process->id = sonde_definitions_process_count(opener->definitions);
	process->first_event_type = sonde_definitions_event_type_count(opener->definitions);
	return process;
}

/* Values of the file beyond what the model has a word for become "unknown". */
static enum sonde_arch arch_of(unsigned int value)
{
	return value <= SONDE_ARCH_ARM64 ? (enum sonde_arch)value : SONDE_ARCH_UNKNOWN;
}

static enum sonde_os os_of(unsigned int value)
{
	return value <= SONDE_OS_WINDOWS ? (enum sonde_os)value : SONDE_OS_UNKNOWN;
}

static enum sonde_clock_kind clock_of(unsigned int value)
{
	return value <= SONDE_CLOCK_BOOTTIME ? (enum sonde_clock_kind)value : SONDE_CLOCK_UNKNOWN;
}

/* A clock that the files have no number for is named in the manifest. */
static enum sonde_clock_kind named_clock(const struct sonde_definitions *definitions, uint32_t name)
{
	const char *text = sonde_definitions_string(definitions, name);

	for (unsigned int kind = SONDE_CLOCK_BOOTTIME + 1; kind <= SONDE_CLOCK_REALTIME; kind++) {
		if (!strcmp(text, sonde_clock_kind_name((enum sonde_clock_kind)kind)))
			return (enum sonde_clock_kind)kind;
	}
	return SONDE_CLOCK_UNKNOWN;
}

static enum sonde_status define_clock(struct opener *opener, const struct atf_manifest *manifest,
				      unsigned int clock_type, uint32_t *clock,
				      struct sonde_error *err)
{
	struct sonde_clock definition = { .kind = clock_of(clock_type) };
	enum sonde_status status;
	const char *name;

	if (definition.kind == SONDE_CLOCK_UNKNOWN)
		definition.kind = named_clock(opener->definitions, manifest->clock_name);
	name = sonde_clock_kind_name(definition.kind);
	status = sonde_definitions_add_string(opener->definitions, name, strlen(name),
					      &definition.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_clock(opener->definitions, &definition, clock, err);
	for (size_t i = 0; i < manifest->anchors.count && status == SONDE_OK; i++) {
		struct sonde_anchor anchor = {
			.clock = *clock,
			.clock_ns = manifest->anchors.items[i].clock_ns,
			.realtime_ns = manifest->anchors.items[i].realtime_ns,
		};

		status = sonde_definitions_add_anchor(opener->definitions, &anchor,
						      &(uint32_t){ 0 }, err);
	}
	return status;
}

static enum sonde_status define_process(struct opener *opener, struct atf_process *process,
					size_t first_thread, struct sonde_error *err)
{
	const struct atf_part *part = &process->parts.items[0];
	const struct atf_manifest *manifest = &part->manifest;
	struct atf_index_header header = { 0 };
	struct sonde_process definition;
	enum sonde_status status;
	uint32_t id;

	if (first_thread < opener->session->threads.count)
		header =
			opener->session->threads.items[first_thread].segments.items[0].index.header;
	definition = (struct sonde_process){
		.name = manifest->process_name,
		.os_id = manifest->pid,
		.arch = arch_of(header.identity.arch),
		.os = os_of(header.identity.os),
		.start_ns = manifest->has_times ? manifest->time_start_ns : 0,
		.end_ns = manifest->has_times ? manifest->time_end_ns : 0,
	};
	if (definition.os_id == SONDE_NONE)
		parse_numbered(base_name(part->folder), ATF_PID_PREFIX, &definition.os_id);
	status = define_clock(opener, manifest, header.clock_type, &definition.clock, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_process(opener->definitions, &definition, &id, err);
	if (status == SONDE_OK)
		status = atf_extras_define(&manifest->extras, opener->definitions,
					   SONDE_OWNER_PROCESS, id, err);
	return status;
}

/* Whether the recorder left any file of the thread unfinished. */
static bool is_unfinished(const struct atf_thread *thread)
{
	for (size_t i = 0; i < thread->segments.count; i++) {
		const struct atf_segment *segment = &thread->segments.items[i];

		if (!segment->index.file.has_footer ||
		    (segment->has_detail && !segment->detail.file.has_footer))
			return true;
	}
	return false;
}

static enum sonde_status define_track(struct opener *opener, struct atf_thread *thread,
				      struct sonde_error *err)
{
	const struct atf_manifest *manifest = &thread->process->parts.items[0].manifest;
	const struct atf_manifest_thread *entry = atf_manifest_thread(manifest, thread->slot);
	struct sonde_track track = {
		.process = thread->process->id,
		.slot = thread->slot,
		.kind = entry ? entry->kind : SONDE_TRACK_THREAD,
		.os_id = entry ? entry->os_id : UINT64_MAX,
		.name = entry ? entry->name : 0,
		.name_made_up = entry && entry->name_made_up,
		.dropped_events = entry ? entry->dropped_events : 0,
		.unfinished = is_unfinished(thread),
		.event_count = thread->event_count,
		.detail_count = thread->detail_count,
	};
	enum sonde_status status;
	uint32_t id;

	if (thread->event_count) {
		track.time_first_ns = atf_thread_time(thread, 0);
		track.time_last_ns = atf_thread_time(thread, thread->event_count - 1);
	}
	if (entry && entry->synthetic_head <= thread->event_count)
		thread->synthetic_head = entry->synthetic_head;
	if (entry && entry->synthetic_tail <= thread->event_count)
		thread->synthetic_tail = entry->synthetic_tail;
	opener->recording->lanes |= SONDE_LANE_EVENTS;
	if (thread->detail_count)
		opener->recording->lanes |= SONDE_LANE_DETAILS;
	status = sonde_definitions_add_track(opener->definitions, &track, &id, err);
	if (status == SONDE_OK && entry)
		status = atf_extras_define(&entry->extras, opener->definitions, SONDE_OWNER_TRACK,
					   id, err);
	return status;
}

/* Definitions for everything that was opened since `first_thread`. */
static enum sonde_status define_all(struct opener *opener, struct atf_process *process,
				    size_t first_thread, struct sonde_error *err)
{
	enum sonde_status status = define_process(opener, process, first_thread, err);

	for (size_t i = first_thread; i < opener->session->threads.count && status == SONDE_OK; i++)
		status = define_track(opener, &opener->session->threads.items[i], err);
	return status;
}

/* One folder of a process with its manifest and threads. Takes over `folder`. */
static enum sonde_status open_part(struct opener *opener, struct atf_process *process,
				   size_t first_thread, char *folder, struct sonde_error *err)
{
	enum sonde_status status = add_part(opener, process, folder, opener->diagnostics, err);

	return status < 0 ? status : open_threads(opener, process, first_thread, err);
}

/* A pid folder with all its threads, and its further parts. Takes over `folder`. */
static enum sonde_status open_process(struct opener *opener, char *folder, struct sonde_error *err)
{
	struct atf_process *process = new_process(opener);
	size_t first_thread = opener->session->threads.count;
	enum sonde_status status;

	if (!process) {
		free(folder);
		return sonde_fail_nomem(err);
	}
	status = open_part(opener, process, first_thread, folder, err);
	if (status == SONDE_OK)
		status = atf_resources_open(opener->recording, &process->parts.items[0], err);
	for (unsigned int number = 2; status == SONDE_OK; number++) {
		char name[32], *part;

		snprintf(name, sizeof(name), ATF_PART_PREFIX "%u", number);
		part = sonde_path_join(process->parts.items[0].folder, name);
		if (!part)
			return sonde_fail_nomem(err);
		if (sonde_path_kind(part) != SONDE_PATH_FOLDER) {
			free(part);
			break;
		}
		status = open_part(opener, process, first_thread, part, err);
	}
	return status < 0 ? status : define_all(opener, process, first_thread, err);
}

/* A single thread: `folder` of index.atf, or (index_name NULL) an index file of another name. */
static enum sonde_status open_single(struct opener *opener, const char *folder,
				     const char *index_name, struct sonde_error *err)
{
	struct atf_process *process = new_process(opener);
	size_t first_thread = opener->session->threads.count;
	uint32_t slot = SONDE_NONE;
	struct sonde_diagnostics *ignored = NULL;
	enum sonde_status status;
	char *parent;

	parse_numbered(base_name(folder), ATF_THREAD_PREFIX, &slot);
	parent = process ? parent_of(folder) : NULL;
	if (!parent)
		return sonde_fail_nomem(err);
	/* whether the manifest next to it is missing or wrong does not concern a single file */
	ignored = sonde_diagnostics_new();
	if (!ignored) {
		free(parent);
		return sonde_fail_nomem(err);
	}
	status = add_part(opener, process, parent, ignored, err);
	sonde_diagnostics_free(ignored);
	if (status == SONDE_OK)
		status = open_thread(opener, process, first_thread, folder, index_name, slot, err);
	return status < 0 ? status : define_all(opener, process, first_thread, err);
}

/* Every pid_X under a session folder. */
static enum sonde_status open_pid_folders(struct opener *opener, const char *path,
					  struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, path, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count && status == SONDE_OK; i++) {
		char *pid_folder;

		if (!has_prefix(folder.names[i], ATF_PID_PREFIX))
			continue;
		pid_folder = sonde_path_join(path, folder.names[i]);
		if (!pid_folder)
			status = sonde_fail_nomem(err);
		else if (sonde_path_kind(pid_folder) == SONDE_PATH_FOLDER)
			status = open_process(opener, pid_folder, err);
		else
			free(pid_folder);
	}
	sonde_folder_release(&folder);
	return status;
}

/* A folder of sessions: opens the only one, or says which there are. */
static enum sonde_status open_only_session(struct opener *opener, const char *path,
					   struct sonde_error *err)
{
	struct sonde_folder folder;
	const char *only = NULL;
	size_t sessions = 0;
	char *session = NULL;
	enum sonde_status status = sonde_folder_read(&folder, path, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count; i++) {
		if (has_prefix(folder.names[i], ATF_SESSION_PREFIX)) {
			only = folder.names[i];
			sessions++;
		}
	}
	if (sessions != 1)
		status = sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				    "%s holds %zu sessions, the last is %s: name one of them", path,
				    sessions, only ? only : "none");
	else if (!(session = sonde_path_join(path, only)))
		status = sonde_fail_nomem(err);
	else
		status = open_pid_folders(opener, session, err);
	free(session);
	sonde_folder_release(&folder);
	return status;
}

/* A file named by the user: a thread's index or detail file, or a manifest. */
static enum sonde_status open_file(struct opener *opener, const char *path, struct sonde_error *err)
{
	const char *name = base_name(path);
	char *folder;
	enum sonde_status status;

	if (strcmp(name, ATF_INDEX_NAME) != 0 && strcmp(name, ATF_DETAIL_NAME) != 0 &&
	    strcmp(name, ATF_MANIFEST_NAME) != 0)
		return open_single(opener, path, NULL, err);
	folder = parent_of(path);
	if (!folder)
		return sonde_fail_nomem(err);
	if (strcmp(name, ATF_MANIFEST_NAME) == 0)
		return open_process(opener, folder, err);
	status = open_single(opener, folder, ATF_INDEX_NAME, err);
	free(folder);
	return status;
}

static void process_free(struct atf_process *process)
{
	for (size_t i = 0; i < process->parts.count; i++) {
		atf_manifest_release(&process->parts.items[i].manifest);
		free(process->parts.items[i].folder);
	}
	sonde_vec_release(&process->parts);
	sonde_key_map_release(&process->functions);
	sonde_key_map_release(&process->event_types);
	pthread_mutex_destroy(&process->lock);
	free(process);
}

static void atf_close(struct sonde_recording *recording)
{
	struct atf_session *session = recording->data;

	for (size_t i = 0; i < session->threads.count; i++) {
		struct atf_thread *thread = &session->threads.items[i];

		for (size_t k = 0; k < thread->segments.count; k++)
			segment_release(&thread->segments.items[k]);
		sonde_vec_release(&thread->segments);
	}
	sonde_vec_release(&session->threads);
	for (size_t i = 0; i < session->processes.count; i++)
		process_free(session->processes.items[i]);
	sonde_vec_release(&session->processes);
	sonde_key_map_release(&session->known_types);
	atf_resources_release(session);
	free(session);
}

static const struct sonde_recording_ops atf_recording_ops = {
	.cursor_open = atf_cursor_open,
	.blob = atf_resource_read,
	.close = atf_close,
};

/* Opens whatever the path is, into recording->data. */
static enum sonde_status open_place(struct opener *opener, const char *path,
				    struct sonde_error *err)
{
	char *folder;

	switch (path_place(path)) {
	case PLACE_FILE:
		return open_file(opener, path, err);
	case PLACE_THREAD:
		return open_single(opener, path, ATF_INDEX_NAME, err);
	case PLACE_PROCESS:
		folder = strdup(path);
		return folder ? open_process(opener, folder, err) : sonde_fail_nomem(err);
	case PLACE_SESSION:
		return open_pid_folders(opener, path, err);
	case PLACE_SESSIONS:
		return open_only_session(opener, path, err);
	case PLACE_NONE:
		break;
	}
	return SONDE_OK;
}

static enum sonde_status open_session(struct sonde_recording *recording, bool salvages,
				      struct sonde_error *err)
{
	struct atf_session *session = calloc(1, sizeof(*session));
	struct opener opener = {
		.session = session,
		.recording = recording,
		.definitions = recording->definitions,
		.diagnostics = recording->diagnostics,
	};
	size_t length = strlen(recording->path);
	enum sonde_status status;
	char *path;

	if (!session)
		return sonde_fail_nomem(err);
	session->salvages = salvages;
	pthread_mutex_init(&session->resource_lock, NULL);
	recording->data = session;
	recording->ops = &atf_recording_ops;
	while (length > 1 && recording->path[length - 1] == '/')
		length--;
	path = strndup(recording->path, length);
	if (!path)
		return sonde_fail_nomem(err);
	status = open_place(&opener, path, err);
	free(path);
	if (status < 0 || session->threads.count)
		return status;
	if (opener.refused) {
		if (err)
			*err = opener.first_error;
		return opener.first_error.status;
	}
	status = sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
			    "no thread of an ATF session here: expected folders thread_N with "
			    "index.atf, or pid_N with such folders");
	sonde_error_set_file(err, recording->path);
	return status;
}

enum sonde_status atf_open(struct sonde_recording *recording, struct sonde_error *err)
{
	return open_session(recording, false, err);
}

enum sonde_status atf_open_to_recover(struct sonde_recording *recording, struct sonde_error *err)
{
	return open_session(recording, true, err);
}
