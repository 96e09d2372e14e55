/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Firefox profile says beside samples and markers: about itself, its libraries, and who its
 * threads are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "base/utf8.h"
#include "formats/firefox/firefox_write.h"
#include "model/derive.h"
#include "model/wall_clock.h"

#define NS_PER_MS 1000000

/* Processes are told apart by their pids, which must be different therefore, and are texts. */
enum sonde_status firefox_make_pids(struct firefox_writer *writer, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_process_count(writer->definitions);
	struct sonde_key_map seen = { NULL };
	enum sonde_status status = SONDE_OK;

	writer->pids = calloc((size_t)count + 1, sizeof(*writer->pids));
	if (!writer->pids)
		return sonde_fail_nomem(err);
	writer->process_count = count;
	for (uint32_t i = 0; !status && i < count; i++) {
		uint32_t pid = sonde_definitions_process(writer->definitions, i)->os_id;
		char text[32];

		if (pid == SONDE_NONE)
			snprintf(text, sizeof(text), "process %" PRIu32, i);
		else if (sonde_key_map_find(&seen, pid) != SONDE_NONE)
			snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, pid, i);
		else
			snprintf(text, sizeof(text), "%" PRIu32, pid);
		writer->pids[i] = strdup(text);
		if (!writer->pids[i] || (sonde_key_map_find(&seen, pid) == SONDE_NONE &&
					 !sonde_key_map_add(&seen, pid, i)))
			status = sonde_fail_nomem(err);
	}
	sonde_key_map_release(&seen);
	return status;
}

void firefox_put_length(struct sonde_buffer *out, uint64_t length_ns)
{
	uint64_t rest = length_ns % NS_PER_MS;
	unsigned int digits = 6;

	sonde_buffer_put_u64(out, length_ns / NS_PER_MS);
	if (!rest)
		return;
	for (; rest % 10 == 0; digits--)
		rest /= 10;
	sonde_buffer_put_char(out, '.');
	sonde_buffer_put_u64_wide(out, rest, digits, '0');
}

void firefox_put_time(const struct firefox_writer *writer, struct sonde_buffer *out,
		      uint64_t time_ns)
{
	if (time_ns < writer->start_ns)
		sonde_buffer_put_char(out, '-');
	firefox_put_length(out, time_ns < writer->start_ns ? writer->start_ns - time_ns :
							     time_ns - writer->start_ns);
}

/* Milliseconds since 1970 of the start, where that is known. */
static void put_start(const struct firefox_writer *writer, struct sonde_buffer *out)
{
	uint64_t shift_ns = 0;

	sonde_buffer_put_text(out, ",\"startTime\":");
	if (writer->track_count && sonde_wall_clock_shift(writer->definitions, 0, &shift_ns))
		firefox_put_length(out, writer->start_ns + shift_ns);
	else
		sonde_buffer_put_char(out, '0');
}

/* How markers are shown: their fields by the type of their data. */
static const char schemas[] =
	",\"markerSchema\":["
	"{\"name\":\"Event\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
	"\"fields\":[{\"key\":\"kind\",\"label\":\"Kind\",\"format\":\"string\"}]},"
	"{\"name\":\"Range\",\"tooltipLabel\":\"{marker.name}\",\"display\":[\"marker-chart\","
	"\"marker-table\",\"timeline-overview\"],"
	"\"fields\":[{\"key\":\"number\",\"label\":\"Number\",\"format\":\"integer\"}]},"
	"{\"name\":\"Flow\",\"display\":[\"marker-chart\",\"marker-table\"],"
	"\"fields\":[{\"key\":\"step\",\"label\":\"Step\",\"format\":\"string\"},"
	"{\"key\":\"number\",\"label\":\"Number\",\"format\":\"integer\"}]},"
	"{\"name\":\"Counter\",\"display\":[\"marker-chart\",\"marker-table\"],"
	"\"fields\":[{\"key\":\"value\",\"label\":\"Value\",\"format\":\"decimal\"}]}]";

void firefox_write_head(struct firefox_writer *writer, struct sonde_buffer *out)
{
	struct sonde_json_writer json;
	const struct sonde_process *process = sonde_definitions_process(writer->definitions, 0);
	const char *name = process ? sonde_definitions_string(writer->definitions, process->name) :
				     "";

	sonde_buffer_put_text(out, "{\"meta\":{\"interval\":1");
	put_start(writer, out);
	sonde_buffer_put_text(out, ",\"product\":");
	sonde_json_writer_init(&json, out, false);
	sonde_json_string(&json, *name ? name : "sonde");
	sonde_buffer_put_format(out,
				",\"version\":%d,\"preprocessedProfileVersion\":%d,"
				"\"processType\":0,\"stackwalk\":1,\"debug\":false,"
				"\"importedFrom\":\"sonde %s\",\"symbolicated\":true,"
				"\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
				"\"sourceCodeIsNotOnSearchfox\":true,"
				"\"keepProfileThreadOrder\":true,",
				FIREFOX_GECKO_VERSION, FIREFOX_VERSION, sonde_version());
	sonde_buffer_put_text(out, "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\","
				   "\"subcategories\":[\"Other\"]}]");
	sonde_buffer_put_text(out, schemas);
	sonde_buffer_put_text(out, "},\n\"threads\":[\n");
}

static void put_library(struct firefox_writer *writer, struct sonde_json_writer *json,
			const struct sonde_module *module)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_process *process =
		sonde_definitions_process(definitions, module->process);
	const char *path = sonde_definitions_string(definitions, module->path);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	writer->losses[FIREFOX_LOSS_BAD_TEXT] += !sonde_utf8_valid(path, strlen(path));
	sonde_json_object_begin(json);
	sonde_json_member_string(json, "arch", process ? sonde_arch_name(process->arch) : "");
	sonde_json_member_string(json, "name", name);
	sonde_json_member_string(json, "path", path);
	sonde_json_member_string(json, "debugName", name);
	sonde_json_member_string(json, "debugPath", path);
	sonde_json_member_string(json, "breakpadId", "");
	sonde_json_key(json, "codeId");
	if (module->uuid)
		sonde_json_string(json, sonde_definitions_string(definitions, module->uuid));
	else
		sonde_json_null(json);
	sonde_json_object_end(json);
}

void firefox_write_tail(struct firefox_writer *writer, struct sonde_buffer *out)
{
	uint32_t count = sonde_definitions_module_count(writer->definitions);
	struct sonde_json_writer json;

	sonde_buffer_put_text(out, "],\n\"libs\":");
	sonde_json_writer_init(&json, out, false);
	sonde_json_array_begin(&json);
	for (uint32_t i = 0; i < count; i++)
		put_library(writer, &json, sonde_definitions_module(writer->definitions, i));
	sonde_json_array_end(&json);
	sonde_buffer_put_text(out, ",\"pages\":[],\"counters\":[],\"profilerOverhead\":[]}\n");
}

/* "worker" or, for what a metric counts there, "worker: CPUTIME (sec)" */
static void put_name(const struct firefox_writer *writer, struct sonde_json_writer *json,
		     uint32_t track, const struct sonde_metric *metric)
{
	struct sonde_buffer name = { 0 };
	char label[SONDE_LABEL_SIZE];

	sonde_buffer_put_text(&name,
			      sonde_definitions_track_label(writer->definitions, track, label));
	if (metric) {
		sonde_buffer_put_text(&name, ": ");
		sonde_buffer_put_text(&name,
				      sonde_definitions_string(writer->definitions, metric->name));
	}
	json->out->failed |= name.failed;
	sonde_json_key(json, "name");
	sonde_json_string_sized(json, name.data ? name.data : "", name.size);
	sonde_buffer_release(&name);
}

void firefox_write_thread_head(const struct firefox_writer *writer, struct sonde_buffer *out,
			       uint32_t number, const struct sonde_metric *metric)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_track *track = sonde_definitions_track(definitions, number);
	const struct sonde_process *process =
		sonde_definitions_process(definitions, track->process);
	struct sonde_json_writer json;

	if (number || metric)
		sonde_buffer_put_text(out, ",\n");
	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	put_name(writer, &json, number, metric);
	sonde_json_member_bool(&json, "isMainThread",
			       !metric && sonde_track_is_main(definitions, number));
	sonde_json_member_string(&json, "processType", "default");
	if (process && process->name)
		sonde_json_member_string(&json, "processName",
					 sonde_definitions_string(definitions, process->name));
	sonde_json_member_string(&json, "pid", process ? writer->pids[track->process] : "process");
	sonde_json_member_u64(&json, "tid", track->os_id != UINT64_MAX ? track->os_id : number);
	sonde_json_member_bool(&json, "showMarkersInTimeline", true);
	sonde_buffer_put_text(out, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
				   "\"registerTime\":0,\"unregisterTime\":null,"
				   "\"pausedRanges\":[],\n\"samples\":{");
}
