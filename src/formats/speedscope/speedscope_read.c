/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads speedscope files of any tool. The file is gone through once to find the parts, which may
 * come in any order, and a second time to read them; what is packed with gzip is unpacked into a
 * file without a name first.
 */
#include "formats/speedscope/speedscope_read.h"

#include <inttypes.h>
#include <stdlib.h>

#include "codec/packed_file.h"

#define PROBE_BYTES 8192

/* Whether this text is somewhere in the first bytes. */
static bool has_text(const char *data, size_t size, const char *text)
{
	return memmem(data, size, text, strlen(text));
}

/* Whether it says that this is its schema: texts of other formats may mention it. */
static bool has_schema(const char *data, size_t size)
{
	static const char schema[] = "\"" SPEEDSCOPE_SCHEMA "\"";
	const char *value = sonde_json_find_member(data, size, "$schema");

	return value && (size_t)(data + size - value) >= strlen(schema) &&
	       !memcmp(value, schema, strlen(schema));
}

/* The beginning of a file. */
static int judge(const char *data, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\r\n\xef\xbb\xbf", data[i]))
		i++;
	if (i >= length || data[i] != '{')
		return 0;
	if (has_schema(data, length))
		return 100;
	/*
	 * keys that no other format has together; events and stacks may fill all that is seen here
	 */
	if (sonde_json_find_member(data, length, "shared") &&
	    sonde_json_find_member(data, length, "frames") &&
	    !sonde_json_find_member(data, length, "meta") &&
	    !sonde_json_find_member(data, length, "traceEvents"))
		return 80;
	if (sonde_json_find_member(data, length, "profiles") &&
	    (has_text(data, length, "\"evented\"") || has_text(data, length, "\"sampled\"")))
		return 80;
	return 0;
}

int speedscope_probe(const char *path)
{
	struct sonde_mapped_file file;
	char text[PROBE_BYTES];
	int sure = 0;

	if (sonde_path_kind(path) != SONDE_PATH_FILE || sonde_mapped_file_open(&file, path, NULL))
		return 0;
	sonde_mapped_file_read_ahead(&file, false);
	if (!sonde_gzip_is(file.data, file.size)) {
		sure = judge((const char *)file.data,
			     file.size < PROBE_BYTES ? file.size : PROBE_BYTES);
		/*
		 * the schema may come last: tools that sort their keys do not, but some end with it
		 */
		if (!sure && file.size > PROBE_BYTES && *file.data == '{' &&
		    has_schema((const char *)file.data + file.size - PROBE_BYTES, PROBE_BYTES))
			sure = 90;
	} else {
		sure = judge(text, sonde_packed_file_peek(path, text, sizeof(text)));
	}
	sonde_mapped_file_release(&file);
	return sure;
}

enum sonde_status speedscope_take_fault(struct speedscope_reader *reader, enum sonde_status status,
					const struct sonde_error *fault, struct sonde_error *err)
{
	if (status == SONDE_TRUNCATED)
		EXCHANGE_FINDING(reader->recording, TRUNCATED, fault->offset,
				 "more of the file\tits end");
	else if (status == SONDE_CORRUPT || status == SONDE_LIMIT)
		EXCHANGE_FINDING(reader->recording, RECORD, fault->offset, "a speedscope file\t%s",
				 fault->message);
	else if (status && err)
		*err = *fault;
	return status == SONDE_TRUNCATED || status == SONDE_CORRUPT || status == SONDE_LIMIT ?
		       SONDE_OK :
		       status;
}

/* Top-level members. */
struct layout {
	size_t ours, shared, name, exporter;
	bool has_profiles;
};

static enum sonde_status find_profile(struct speedscope_reader *reader, size_t position,
				      size_t *end, struct sonde_error *err)
{
	static const char *const keys[] = {
#define X(name, key) key,
		SPEEDSCOPE_MEMBER_LIST(X)
#undef X
	};
	struct speedscope_place place = { .position = position }, *added;
	struct speedscope_member member;
	struct speedscope_walk walk;

	if (!speedscope_walk_begin(&walk, &reader->scan, position) || !walk.is_object) {
		EXCHANGE_FINDING(reader->recording, RECORD, position,
				 "a profile\tsomething that is no object");
		return SONDE_OK;
	}
	for (; speedscope_walk_next(&walk, &member); speedscope_walk_skip(&walk, &member)) {
		for (unsigned int i = 0; i < SPEEDSCOPE_MEMBERS; i++) {
			if (speedscope_member_is(&member, keys[i]))
				place.members[i] = member.value;
		}
	}
	*end = walk.position + !walk.is_broken;
	added = sonde_vec_push(&reader->profiles);
	if (!added)
		return sonde_fail_nomem(err);
	*added = place;
	return SONDE_OK;
}

/* Gives where the array ends, so that it need not be gone through again; 0: not known. */
static enum sonde_status find_profiles(struct speedscope_reader *reader, size_t position,
				       size_t *array_end, struct sonde_error *err)
{
	struct speedscope_member member;
	struct speedscope_walk walk;
	enum sonde_status status = SONDE_OK;

	if (!speedscope_walk_begin(&walk, &reader->scan, position) || walk.is_object)
		return SONDE_OK;
	while (!status && speedscope_walk_next(&walk, &member)) {
		size_t end = 0;

		status = find_profile(reader, member.value, &end, err);
		if (end > member.value)
			walk.position = end;
		else
			speedscope_walk_skip(&walk, &member);
	}
	*array_end = walk.position + !walk.is_broken;
	return status;
}

static enum sonde_status find_parts(struct speedscope_reader *reader, struct layout *layout,
				    struct sonde_error *err)
{
	struct speedscope_member member;
	struct speedscope_walk walk;
	enum sonde_status status = SONDE_OK;
	size_t start = reader->file.size >= 3 && !memcmp(reader->file.data, "\xef\xbb\xbf", 3) ? 3 :
												 0;

	if (!speedscope_walk_begin(&walk, &reader->scan, start) || !walk.is_object)
		return sonde_fail(err, SONDE_FORMAT, 0,
				  "expected a JSON object with profiles, found something else");
	while (!status && speedscope_walk_next(&walk, &member)) {
		size_t end = 0;

		if (speedscope_member_is(&member, "profiles")) {
			layout->has_profiles = true;
			status = find_profiles(reader, member.value, &end, err);
		}
		if (speedscope_member_is(&member, "shared"))
			layout->shared = member.value;
		if (speedscope_member_is(&member, SPEEDSCOPE_OURS))
			layout->ours = member.value;
		if (speedscope_member_is(&member, "name"))
			layout->name = member.value;
		if (speedscope_member_is(&member, "exporter"))
			layout->exporter = member.value;
		if (end > member.value)
			walk.position = end;
		else
			speedscope_walk_skip(&walk, &member);
	}
	if (!status && walk.is_broken)
		EXCHANGE_FINDING(reader->recording, TRUNCATED, reader->file.size,
				 "the end of the file's object\tthe end of the file");
	if (!status && !layout->has_profiles)
		return sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
				  "expected a member \"profiles\", found none: no speedscope file");
	return status;
}

static enum sonde_status find_frames(struct speedscope_reader *reader, size_t shared,
				     struct sonde_error *err)
{
	struct speedscope_member member;
	struct speedscope_walk walk;

	if (!shared || !speedscope_walk_begin(&walk, &reader->scan, shared) || !walk.is_object)
		return SONDE_OK;
	for (; speedscope_walk_next(&walk, &member); speedscope_walk_skip(&walk, &member)) {
		if (speedscope_member_is(&member, "frames"))
			return speedscope_read_frames(reader, member.value, err);
	}
	return SONDE_OK;
}

/* What another tool says of itself is an attribute of the recording. */
static enum sonde_status keep_text(struct speedscope_reader *reader, const char *name,
				   size_t position, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	struct sonde_error fault = { 0 };
	struct sonde_buffer text = { 0 };
	enum sonde_status status;
	uint32_t id;

	if (!position)
		return SONDE_OK;
	sonde_json_seek(&reader->json, position);
	status = sonde_json_copy(&reader->json, &text, &fault);
	if (!status && text.failed)
		status = sonde_fail_nomem(&fault);
	if (!status)
		status = sonde_intake_string(reader->intake, name, strlen(name), &attribute.name,
					     &fault);
	if (!status)
		status = sonde_intake_string(reader->intake, text.data, text.size, &attribute.value,
					     &fault);
	if (!status)
		status = sonde_definitions_add_attribute(reader->recording->definitions, &attribute,
							 &id, &fault);
	sonde_buffer_release(&text);
	return speedscope_take_fault(reader, status, &fault, err);
}

/* Who there is, where the file does not say. */
static enum sonde_status make_process(struct speedscope_reader *reader, struct sonde_error *err)
{
	uint32_t *process;
	enum sonde_status status;

	if (reader->processes.count)
		return SONDE_OK;
	process = sonde_vec_push(&reader->processes);
	if (!process)
		return sonde_fail_nomem(err);
	status = sonde_intake_process(reader->intake, 0, process, err);
	if (!status)
		sonde_intake_process_at(reader->intake, *process)->os_id = SONDE_NONE;
	return status;
}

static void report(const struct speedscope_reader *reader)
{
	struct sonde_recording *recording = reader->recording;

	if (reader->columns)
		EXCHANGE_FINDING(recording, UNKNOWN, SONDE_NO_OFFSET,
				 "frames with a line\t%" PRIu64 " with a column too",
				 reader->columns);
	if (reader->bad_times)
		EXCHANGE_FINDING(recording, TIME, SONDE_NO_OFFSET,
				 "times of 64 bits\t%" PRIu64
				 " before 0 or too large: they are put "
				 "at the nearest one",
				 reader->bad_times);
	if (reader->bad_weights)
		EXCHANGE_FINDING(recording, RECORD, SONDE_NO_OFFSET,
				 "weights of 0 and more\t%" PRIu64 " others", reader->bad_weights);
	if (reader->bad_frames)
		EXCHANGE_FINDING(recording, RECORD, SONDE_NO_OFFSET,
				 "numbers of the %zu frames there are\t%" PRIu64
				 " others: they are called by their number",
				 reader->frames.count, reader->bad_frames);
}

static enum sonde_status read_all(struct speedscope_reader *reader, struct sonde_error *err)
{
	struct layout layout = { 0 };
	enum sonde_status status = find_parts(reader, &layout, err);

	if (!status && layout.ours)
		status = speedscope_read_ours(reader, layout.ours, err);
	if (!status)
		status = make_process(reader, err);
	if (!status && !reader->is_ours)
		status = keep_text(reader, "exporter", layout.exporter, err);
	if (!status && !reader->is_ours)
		status = keep_text(reader, "name", layout.name, err);
	if (!status)
		status = find_frames(reader, layout.shared, err);
	for (size_t i = 0; !status && i < reader->profiles.count; i++)
		status = speedscope_read_profile(reader, i, err);
	return status ? status : speedscope_define_rest(reader, err);
}

static void reader_release(struct speedscope_reader *reader)
{
	sonde_intake_free(reader->intake);
	sonde_json_reader_release(&reader->json);
	sonde_json_reader_release(&reader->weights);
	sonde_vec_release(&reader->profiles);
	sonde_vec_release(&reader->frames);
	sonde_vec_release(&reader->processes);
	sonde_vec_release(&reader->tracks);
	sonde_key_map_release(&reader->missing);
	sonde_key_map_release(&reader->modules);
	sonde_key_map_release(&reader->metrics);
	sonde_mapped_file_release(&reader->file);
}

enum sonde_status speedscope_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct speedscope_reader reader = { .recording = recording };
	enum sonde_status status;

	status = exchange_open_unpacked(recording, &reader.file, err);
	if (status)
		return status;
	status = sonde_intake_new(recording, &reader.intake, err);
	if (!status) {
		const char *data = reader.file.data ? (const char *)reader.file.data : "";

		speedscope_scan_init(&reader.scan, &reader.file);
		speedscope_scan_init(&reader.weights_scan, &reader.file);
		sonde_json_reader_init(&reader.json, data, reader.file.size, NULL, NULL);
		sonde_json_reader_init(&reader.weights, data, reader.file.size, NULL, NULL);
		status = read_all(&reader, err);
	}
	if (!status) {
		report(&reader);
		status = exchange_finish(recording, reader.intake, err);
		/* it is the recording's now, unless that failed */
		if (!status)
			reader.intake = NULL;
	}
	reader_release(&reader);
	return status;
}
