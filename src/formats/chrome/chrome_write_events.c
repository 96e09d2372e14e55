/* SPDX-License-Identifier: Apache-2.0 */
/* Events of all kinds, one by one: what is more than a plain call or return. */
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "formats/chrome/chrome_write.h"
#include "model/arguments.h"

/* ,"cat":"c","name":"main"} in the lane's own memory. */
static bool make_name(struct chrome_writer *writer, struct chrome_lane *lane, uint32_t function,
		      struct chrome_name *name)
{
	struct sonde_buffer text = { 0 };
	char label[SONDE_LABEL_SIZE];
	const char *shown = sonde_definitions_function_label(writer->definitions, function, label);
	struct sonde_json_writer json;
	size_t length = strlen(shown);

	if (!sonde_utf8_valid(shown, length))
		lane->losses[CHROME_LOSS_BAD_TEXT]++;
	if (function < writer->function_count && writer->categories[function]) {
		sonde_buffer_put_text(&text, ",\"cat\":");
		chrome_put_json(&text, sonde_definitions_string(writer->definitions,
								writer->categories[function]));
	}
	sonde_buffer_put_text(&text, ",\"name\":");
	sonde_json_writer_init(&json, &text, false);
	sonde_json_string_sized(&json, shown, length);
	sonde_buffer_put_char(&text, '}');
	if (!text.failed && text.size < UINT32_MAX) {
		name->text = sonde_arena_copy_text(&lane->names, text.data, text.size);
		name->length = (uint32_t)text.size;
	}
	sonde_buffer_release(&text);
	return name->text != NULL;
}

struct chrome_name *chrome_name_of(struct chrome_writer *writer, struct chrome_lane *lane,
				   uint32_t function)
{
	struct chrome_name *name = &lane->unknown;
	uint32_t count = sonde_definitions_function_count(writer->definitions);

	if (function < count) {
		size_t known = lane->functions.count;

		if (function >= known) {
			if (!sonde_vec_reserve(&lane->functions, count - known))
				return NULL;
			memset(lane->functions.items + known, 0,
			       (count - known) * sizeof(*lane->functions.items));
			lane->functions.count = count;
		}
		name = &lane->functions.items[function];
	}
	if (!name->text && !make_name(writer, lane, function, name))
		return NULL;
	return name;
}

/* From now on this name means this function; the one that it meant before must be shown again. */
static bool bind_name(const struct chrome_writer *writer, struct chrome_lane *lane,
		      uint32_t function, struct chrome_name *name)
{
	const struct sonde_function *found =
		sonde_definitions_function(writer->definitions, function);
	uint64_t key = (uint64_t)found->process << 32 | found->name;
	uint32_t place;

	name->shown = lane->turn;
	if (!found->name)
		return true;
	place = sonde_key_map_find(&lane->by_name, key);
	if (place == UINT32_MAX) {
		uint32_t *added = sonde_vec_push(&lane->shown);

		if (!added)
			return false;
		*added = function;
		return sonde_key_map_add(&lane->by_name, key, (uint32_t)lane->shown.count - 1);
	}
	if (lane->shown.items[place] != function)
		lane->functions.items[lane->shown.items[place]].shown = 0;
	lane->shown.items[place] = function;
	return true;
}

static void put_module(const struct chrome_writer *writer, struct sonde_json_writer *json,
		       uint32_t number)
{
	const struct sonde_module *module = sonde_definitions_module(writer->definitions, number);

	if (number < writer->module_count)
		sonde_json_member_u64(json, "module", number);
	else if (module)
		sonde_json_member_string(
			json, "path", sonde_definitions_string(writer->definitions, module->path));
}

/* Where the function of a call is: once in a track, and whenever another one of its name was called. */
static bool put_place(const struct chrome_writer *writer, struct chrome_lane *lane,
		      uint32_t function, struct chrome_name *name)
{
	const struct sonde_function *found =
		sonde_definitions_function(writer->definitions, function);
	struct sonde_json_writer json;

	if (!found || name->shown == lane->turn)
		return true;
	if (!bind_name(writer, lane, function, name))
		return false;
	if (function < writer->function_count)
		atomic_store_explicit(&writer->is_called[function], true, memory_order_relaxed);
	sonde_json_writer_init(&json, &lane->text, false);
	sonde_buffer_put_text(&lane->text, ",\"" CHROME_AT "\":");
	sonde_json_object_begin(&json);
	if (found->module != SONDE_NONE)
		put_module(writer, &json, found->module);
	if (found->file)
		sonde_json_member_string(
			&json, "file", sonde_definitions_string(writer->definitions, found->file));
	if (found->line)
		sonde_json_member_u64(&json, "line", found->line);
	if (found->address)
		sonde_json_member_u64(&json, "address", found->address);
	if (found->raw_name)
		sonde_json_member_string(
			&json, "raw",
			sonde_definitions_string(writer->definitions, found->raw_name));
	sonde_json_object_end(&json);
	lane->losses[CHROME_LOSS_PLACES] += found->module != SONDE_NONE || found->file;
	return true;
}

/* ,\n{"pid":1,"tid":2,"ph":"i","ts":1.5 */
static void put_start(struct chrome_lane *lane, char phase, uint64_t time_ns)
{
	char *place = sonde_buffer_reserve(&lane->text, CHROME_EVENT_ROOM), *end;
	size_t length = lane->call.length;

	if (!place)
		return;
	memcpy(place, lane->call.text, CHROME_PREFIX_SIZE);
	/* the prefix ends in B","ts": */
	place[length - sizeof("B\",\"ts\":") + 1] = phase;
	end = chrome_put_time(&lane->time, time_ns, place + length);
	lane->text.size += (size_t)(end - place);
}

/* NULL where it cannot be understood; also where memory failed, which the text of the lane keeps in mind. */
static const struct sonde_signature *signature_of(struct chrome_writer *writer,
						  struct chrome_lane *lane, uint32_t type,
						  struct sonde_error *err)
{
	const struct sonde_event_type *found =
		sonde_definitions_event_type(writer->definitions, type);
	size_t known = lane->signatures.count, wanted = (size_t)type + 1;

	if (!found)
		return NULL;
	if (wanted > known) {
		if (!sonde_vec_reserve(&lane->signatures, wanted - known)) {
			lane->text.failed = true;
			return NULL;
		}
		memset(lane->signatures.items + known, 0,
		       (wanted - known) * sizeof(*lane->signatures.items));
		lane->signatures.count = wanted;
	}
	if (!lane->signatures.items[type] &&
	    sonde_signature_parse(sonde_definitions_string(writer->definitions, found->arguments),
				  &lane->signatures.items[type], err) == SONDE_NOMEM)
		lane->text.failed = true;
	return lane->signatures.items[type];
}

/* The members inside of "args"; those of a signature that stands for all of them are an object already. */
static bool put_members(struct sonde_buffer *out, const struct sonde_signature *signature,
			const struct sonde_detail *detail)
{
	size_t start = out->size;
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	if (sonde_signature_count(signature) == 1) {
		struct sonde_arguments arguments = { signature, detail->bytes, detail->size, 0, 0 };
		const struct sonde_argument_spec *spec = sonde_signature_at(signature, 0);
		struct sonde_argument only;

		if (spec->type == SONDE_ARGUMENT_ANY && !strcmp(spec->name, CHROME_ARGUMENTS) &&
		    !sonde_arguments_next(&arguments, &only, NULL)) {
			sonde_argument_put_json(&json, &only);
			if (!out->failed && out->data[start] == '{')
				return true;
			out->size = start;
			sonde_json_writer_init(&json, out, false);
		}
	}
	return sonde_arguments_put_json(&json, signature, detail->bytes, detail->size, NULL) ==
	       SONDE_OK;
}

/* Adds a member to the object of arguments that ends the text. */
static void put_exception(struct sonde_buffer *out)
{
	if (out->failed || !out->size)
		return;
	out->size--;
	if (out->data[out->size - 1] != '{')
		sonde_buffer_put_char(out, ',');
	sonde_buffer_put_text(out, "\"" CHROME_EXCEPTION "\":true}");
}

/* The detail of an event, where it has one that can be had and written. */
static enum sonde_status take_detail(struct chrome_lane *lane, const struct sonde_batch *batch,
				     const struct sonde_event *event, struct sonde_detail *detail,
				     bool *has, struct sonde_error *err)
{
	enum sonde_status status = sonde_batch_detail(batch, event, detail, err);

	*has = false;
	if (status == SONDE_END)
		return SONDE_OK;
	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_ARGUMENT) {
		lane->losses[CHROME_LOSS_UNREAD]++;
		return SONDE_OK;
	}
	if (status < 0)
		return status;
	*has = detail->kind == SONDE_DETAIL_ARGUMENTS;
	lane->losses[CHROME_LOSS_REGISTERS] += detail->kind == SONDE_DETAIL_REGISTERS;
	lane->losses[CHROME_LOSS_OPAQUE] += detail->kind == SONDE_DETAIL_OPAQUE;
	return SONDE_OK;
}

/* ,"type":3,"args":{...} of an event that has a detail. */
static enum sonde_status put_detail(struct chrome_writer *writer, struct chrome_lane *lane,
				    const struct sonde_batch *batch,
				    const struct sonde_event *event, struct sonde_error *err)
{
	struct sonde_buffer *out = &lane->text;
	const struct sonde_signature *signature;
	struct sonde_detail detail;
	size_t start;
	bool has;
	enum sonde_status status = take_detail(lane, batch, event, &detail, &has, err);

	if (status || !has) {
		if (!status && event->kind == SONDE_EVENT_EXCEPTION)
			sonde_buffer_put_text(out, ",\"args\":{\"" CHROME_EXCEPTION "\":true}");
		return status;
	}
	signature = signature_of(writer, lane, detail.event_type, err);
	start = out->size;
	if (signature && detail.event_type < writer->type_count) {
		sonde_buffer_put_text(out, ",\"" CHROME_TYPE "\":");
		sonde_buffer_put_u64(out, detail.event_type);
	}
	sonde_buffer_put_text(out, ",\"args\":");
	if (!signature || !put_members(out, signature, &detail)) {
		lane->losses[CHROME_LOSS_UNREAD]++;
		out->size = start;
		sonde_buffer_put_text(out, ",\"args\":{}");
	}
	if (event->kind == SONDE_EVENT_EXCEPTION)
		put_exception(out);
	return SONDE_OK;
}

static enum sonde_status put_call(struct chrome_writer *writer, struct chrome_lane *lane,
				  const struct sonde_batch *batch, const struct sonde_event *event,
				  struct sonde_error *err)
{
	bool is_call = event->kind == SONDE_EVENT_CALL;
	struct chrome_name *name = chrome_name_of(writer, lane, event->function);
	enum sonde_status status;

	if (!name)
		return sonde_fail_nomem(err);
	put_start(lane, is_call ? 'B' : 'E', event->time_ns);
	sonde_buffer_put(&lane->text, name->text, name->length - 1);
	if (is_call && !put_place(writer, lane, event->function, name))
		return sonde_fail_nomem(err);
	status = put_detail(writer, lane, batch, event, err);
	sonde_buffer_put_char(&lane->text, '}');
	return status;
}

static void put_id(struct sonde_buffer *out, uint32_t id)
{
	sonde_buffer_put_text(out, ",\"id\":");
	sonde_buffer_put_u64(out, id);
}

static void put_event_name(struct chrome_writer *writer, struct chrome_lane *lane, uint32_t type)
{
	const struct sonde_event_type *found =
		sonde_definitions_event_type(writer->definitions, type);
	const char *name = found ? sonde_definitions_string(writer->definitions, found->name) : "";
	struct sonde_json_writer json;

	sonde_buffer_put_text(&lane->text, ",\"name\":");
	sonde_json_writer_init(&json, &lane->text, false);
	sonde_json_string(&json, name);
}

/* Says which type it is, where name and arguments do not; details say so too. */
static void put_type(struct chrome_writer *writer, struct chrome_lane *lane,
		     const struct sonde_event *event, bool is_needed)
{
	const struct sonde_event_type *found =
		sonde_definitions_event_type(writer->definitions, event->function);

	if (!found || event->function >= writer->type_count || sonde_event_has_detail(event) ||
	    (!is_needed && !found->arguments))
		return;
	sonde_buffer_put_text(&lane->text, ",\"" CHROME_TYPE "\":");
	sonde_buffer_put_u64(&lane->text, event->function);
}

static void put_counter(struct chrome_writer *writer, struct chrome_lane *lane,
			const struct sonde_event *event)
{
	struct sonde_json_writer json;

	put_start(lane, 'C', event->time_ns);
	put_event_name(writer, lane, event->function);
	sonde_buffer_put_text(&lane->text, ",\"args\":{\"" CHROME_VALUE "\":");
	sonde_json_writer_init(&json, &lane->text, false);
	sonde_json_number_double(&json, sonde_event_value(event));
	sonde_buffer_put(&lane->text, "}}", 2);
}

/* Instants, marks, flows and ranges. Viewers tie flows together by name, category and id. */
static enum sonde_status put_other(struct chrome_writer *writer, struct chrome_lane *lane,
				   const struct sonde_batch *batch, const struct sonde_event *event,
				   struct sonde_error *err)
{
	static const char phases[SONDE_EVENT_KIND_COUNT] = {
		[SONDE_EVENT_INSTANT] = 'i',	[SONDE_EVENT_MARK] = 'R',
		[SONDE_EVENT_FLOW_BEGIN] = 's', [SONDE_EVENT_FLOW_STEP] = 't',
		[SONDE_EVENT_FLOW_END] = 'f',	[SONDE_EVENT_RANGE_BEGIN] = 'b',
		[SONDE_EVENT_RANGE_END] = 'e',
	};
	bool is_flow = event->kind >= SONDE_EVENT_FLOW_BEGIN && event->kind <= SONDE_EVENT_FLOW_END;
	enum sonde_status status;

	put_start(lane, phases[event->kind], event->time_ns);
	if (is_flow)
		sonde_buffer_put_text(&lane->text, ",\"cat\":\"" CHROME_FLOW "\"");
	if (is_flow && event->function < writer->type_count)
		sonde_buffer_put_text(&lane->text, ",\"name\":\"" CHROME_FLOW "\"");
	else
		put_event_name(writer, lane, event->function);
	if (event->kind == SONDE_EVENT_RANGE_BEGIN || event->kind == SONDE_EVENT_RANGE_END)
		sonde_buffer_put_text(&lane->text, ",\"cat\":\"" CHROME_RANGE "\"");
	if (event->kind == SONDE_EVENT_INSTANT || event->kind == SONDE_EVENT_MARK)
		sonde_buffer_put_text(&lane->text, ",\"s\":\"t\"");
	else
		put_id(&lane->text, event->extra);
	if (event->kind == SONDE_EVENT_FLOW_END)
		sonde_buffer_put_text(&lane->text, ",\"bp\":\"e\"");
	put_type(writer, lane, event, is_flow);
	status = put_detail(writer, lane, batch, event, err);
	sonde_buffer_put_char(&lane->text, '}');
	return status;
}

enum sonde_status chrome_write_event(struct chrome_writer *writer, struct chrome_lane *lane,
				     const struct sonde_batch *batch,
				     const struct sonde_event *event, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	lane->losses[CHROME_LOSS_SYNTHETIC] += (event->flags & SONDE_EVENT_SYNTHETIC) != 0;
	switch (event->kind) {
	case SONDE_EVENT_CALL:
	case SONDE_EVENT_RETURN:
	case SONDE_EVENT_EXCEPTION:
		status = put_call(writer, lane, batch, event, err);
		break;
	case SONDE_EVENT_COUNTER:
		put_counter(writer, lane, event);
		break;
	case SONDE_EVENT_INSTANT:
	case SONDE_EVENT_MARK:
	case SONDE_EVENT_FLOW_BEGIN:
	case SONDE_EVENT_FLOW_STEP:
	case SONDE_EVENT_FLOW_END:
	case SONDE_EVENT_RANGE_BEGIN:
	case SONDE_EVENT_RANGE_END:
		status = put_other(writer, lane, batch, event, err);
		break;
	default:
		lane->losses[CHROME_LOSS_OTHER]++;
		break;
	}
	return !status && lane->text.failed ? sonde_fail_nomem(err) : status;
}
