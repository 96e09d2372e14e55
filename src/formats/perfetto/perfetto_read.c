/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Perfetto traces: files, packed or not, and their packets. What is damaged in a packet is left out
 * with it; what is of a kind not known here is counted.
 */
#include "formats/perfetto/perfetto_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "codec/packed_file.h"
#include "formats/perfetto/perfetto.h"

#define PROBED 8192
/* Packets are packed in pieces of less than 512 KB; what unpacks to much more is no trace. */
#define UNPACK_LIMIT ((size_t)64 << 20)

typedef enum sonde_status take_packet(struct perfetto_reader *reader,
				      const struct perfetto_packet *packet,
				      struct sonde_error *err);

bool perfetto_next_number(const struct sonde_protobuf_field *field, size_t *position,
			  bool is_fixed64, uint64_t *number)
{
	struct sonde_bytes bytes = field->bytes;
	unsigned int shift = 0;

	if (!perfetto_is_bytes(field)) {
		*number = field->value;
		return !(*position)++;
	}
	bytes.position = *position;
	*number = 0;
	if (!sonde_bytes_left(&bytes))
		return false;
	if (is_fixed64) {
		*number = sonde_bytes_u64le(&bytes);
	} else {
		uint8_t byte;

		do {
			byte = sonde_bytes_u8(&bytes);
			*number |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
			shift += 7;
		} while (byte & 0x80 && !bytes.overrun);
	}
	*position = bytes.position;
	return !bytes.overrun;
}

/* Fields that every packet may have; others say what it is about. */
static void take_field(struct perfetto_packet *packet, const struct sonde_protobuf_field *field)
{
	switch (field->number) {
	case PACKET_TIMESTAMP:
		packet->timestamp = field->value;
		packet->has_timestamp = perfetto_is_number(field);
		break;
	case PACKET_CLOCK:
		packet->clock = (uint32_t)field->value;
		break;
	case PACKET_SEQUENCE:
		packet->sequence = (uint32_t)field->value;
		break;
	case PACKET_FLAGS:
		packet->is_cleared |= field->value & FLAG_CLEARED;
		packet->needs_state |= field->value & FLAG_NEEDS_STATE;
		break;
	case PACKET_STATE_CLEARED:
		packet->is_cleared |= field->value != 0;
		break;
	case PACKET_PREVIOUS_DROPPED:
		packet->is_dropped |= field->value != 0;
		break;
	case PACKET_INTERNED:
		packet->interned = field->bytes;
		break;
	case PACKET_DEFAULTS:
		packet->defaults = field->bytes;
		break;
	default:
		if (!perfetto_is_bytes(field))
			break;
		packet->kind = field->number;
		packet->content = field->bytes;
	}
}

static enum sonde_status read_packet(struct perfetto_packet *packet, struct sonde_bytes bytes,
				     struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	packet->content = packet->interned = packet->defaults = sonde_bytes_of(NULL, 0);
	while (!(status = sonde_protobuf_next(&bytes, &field, err)))
		take_field(packet, &field);
	return status == SONDE_END ? SONDE_OK : status;
}

/* Damage stays in its packet; anything else ends reading. */
static enum sonde_status forgive(struct perfetto_reader *reader, enum sonde_status status,
				 uint64_t offset)
{
	if (status != SONDE_CORRUPT && status != SONDE_TRUNCATED)
		return status == SONDE_END ? SONDE_OK : status;
	if (!reader->damaged++)
		reader->first_damaged = offset;
	return SONDE_OK;
}

static enum sonde_status walk(struct perfetto_reader *reader, struct sonde_bytes bytes,
			      uint64_t offset, bool is_packed, take_packet *take,
			      struct sonde_error *err);

static enum sonde_status walk_packed(struct perfetto_reader *reader, struct sonde_bytes bytes,
				     uint64_t offset, take_packet *take, struct sonde_error *err)
{
	enum sonde_status status;

	sonde_buffer_clear(&reader->unpacked);
	status = sonde_unpack(SONDE_PACKING_ZLIB, bytes.data, bytes.size, UNPACK_LIMIT,
			      &reader->unpacked, err);
	if (status == SONDE_LIMIT)
		status = SONDE_CORRUPT;
	if (status)
		return status;
	bytes = sonde_bytes_of(reader->unpacked.data, reader->unpacked.size);
	return walk(reader, bytes, offset, true, take, err);
}

static enum sonde_status walk_one(struct perfetto_reader *reader, struct sonde_bytes bytes,
				  uint64_t offset, bool is_packed, take_packet *take,
				  struct sonde_error *err)
{
	struct perfetto_packet packet = { .offset = offset };
	enum sonde_status status = read_packet(&packet, bytes, err);

	if (status)
		return status;
	if (packet.kind != PACKET_COMPRESSED)
		return take(reader, &packet, err);
	return is_packed ? SONDE_CORRUPT : walk_packed(reader, packet.content, offset, take, err);
}

/* All packets. A trace that ends in the middle of one gives SONDE_TRUNCATED, where it is not packed. */
static enum sonde_status walk(struct perfetto_reader *reader, struct sonde_bytes bytes,
			      uint64_t offset, bool is_packed, take_packet *take,
			      struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;
	struct sonde_trail trail = { 0 };
	size_t start = 0;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		uint64_t place = is_packed ? offset : start;

		if (field.number == TRACE_PACKET && perfetto_is_bytes(&field)) {
			status = walk_one(reader, field.bytes, place, is_packed, take, err);
			status = forgive(reader, status, place);
		}
		if (status)
			return status;
		if (!is_packed)
			sonde_mapped_file_leave(&reader->file, &trail, start, bytes.position);
		start = bytes.position;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

/* The first time: who there is, and clocks. */
static enum sonde_status take_definitions(struct perfetto_reader *reader,
					  const struct perfetto_packet *packet,
					  struct sonde_error *err)
{
	switch (packet->kind) {
	case PACKET_TRACK:
		return perfetto_take_track(reader, packet->content, err);
	case PACKET_PROCESS:
		return perfetto_take_process(reader, packet->content, err);
	case PACKET_THREAD:
		return perfetto_take_thread(reader, NULL, packet->content, err);
	case PACKET_PROCESS_TREE:
		return perfetto_take_tree(reader, packet->content, err);
	case PACKET_CLOCK_SNAPSHOT:
		return perfetto_take_snapshot(reader, packet->content, err);
	case PACKET_SYSTEM_INFO:
		return perfetto_take_system(reader, packet->content, err);
	default:
		return SONDE_OK;
	}
}

static enum sonde_status take_content(struct perfetto_reader *reader,
				      struct perfetto_sequence *sequence,
				      const struct perfetto_packet *packet, struct sonde_error *err)
{
	switch (packet->kind) {
	case PACKET_TRACK_EVENT:
		return perfetto_take_event(reader, sequence, packet, err);
	case PACKET_PERF_SAMPLE:
		return perfetto_take_sample(
			reader, sequence, packet,
			perfetto_time(reader, sequence, packet->clock, packet->timestamp), err);
	case PACKET_STREAMING_PROFILE:
		return perfetto_take_streaming(reader, sequence, packet, err);
	case PACKET_THREAD:
		return perfetto_take_thread(reader, sequence, packet->content, err);
	case PACKET_CLOCK_SNAPSHOT:
		return perfetto_set_clocks(reader, sequence, packet->content, err);
	case 0:
	case PACKET_TRACK:
	case PACKET_PROCESS:
	case PACKET_PROCESS_TREE:
	case PACKET_SYSTEM_INFO:
	case PACKET_SYNCHRONISATION:
		return SONDE_OK;
	default:
		reader->unknown_packets[packet->kind < PERFETTO_KINDS ? packet->kind : 0]++;
		return SONDE_OK;
	}
}

/* The second time: what happened. */
static enum sonde_status take_happenings(struct perfetto_reader *reader,
					 const struct perfetto_packet *packet,
					 struct sonde_error *err)
{
	struct perfetto_sequence *sequence;
	enum sonde_status status;

	status = perfetto_find_sequence(reader, packet->sequence, &sequence, err);
	if (status)
		return status;
	if (packet->is_dropped)
		sequence->is_valid = false;
	if (packet->is_cleared)
		perfetto_clear_sequence(sequence);
	if (packet->needs_state && !sequence->is_valid) {
		reader->stateless++;
		return SONDE_OK;
	}
	status = perfetto_take_defaults(sequence, packet->defaults, err);
	if (!status)
		status = perfetto_take_interned(reader, sequence, packet->interned, err);
	return status ? status : take_content(reader, sequence, packet, err);
}

/* Names of what is met most among what is not read. */
static const char *kind_name(uint32_t kind)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} names[] = {
		{ PACKET_FTRACE, "ftrace events" },
		{ 5, "Chrome events of the old form" },
		{ 7, "system statistics" },
		{ 9, "process statistics" },
		{ 33, "configuration" },
		{ 34, "ftrace statistics" },
		{ 35, "trace statistics" },
		{ 37, "heap profiles" },
		{ 38, "battery counters" },
		{ 39, "Android log" },
		{ 47, "packages" },
		{ 51, "Chrome metadata" },
		{ 53, "GPU render stages" },
		{ 56, "heap graphs" },
		{ 61, "module symbols" },
		{ 67, "CPU information" },
		{ 69, "service events" },
		{ 89, "trace uuid" },
		{ 133, "packets packed by zstd" },
		{ 135, "stack samples" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].kind == kind)
			return names[i].name;
	return NULL;
}

static void tell_unknown(struct perfetto_reader *reader)
{
	for (uint32_t i = 0; i < PERFETTO_KINDS; i++) {
		const char *name = kind_name(i);

		if (reader->unknown_packets[i] && name)
			EXCHANGE_FINDING(reader->recording, UNKNOWN, SONDE_NO_OFFSET,
					 "track events and samples\t%" PRIu64 " of %s",
					 reader->unknown_packets[i], name);
		else if (reader->unknown_packets[i])
			EXCHANGE_FINDING(reader->recording, UNKNOWN, SONDE_NO_OFFSET,
					 "track events and samples\t%" PRIu64
					 " packets with field %" PRIu32,
					 reader->unknown_packets[i], i);
	}
	for (uint32_t i = 0; i < PERFETTO_KINDS; i++)
		if (reader->unknown_phases[i])
			EXCHANGE_FINDING(reader->recording, UNKNOWN, SONDE_NO_OFFSET,
					 "events with a type\t%" PRIu64 " of phase %" PRIu32,
					 reader->unknown_phases[i], i);
}

static void tell_findings(struct perfetto_reader *reader)
{
	struct sonde_recording *recording = reader->recording;

	if (reader->damaged)
		EXCHANGE_FINDING(recording, RECORD, reader->first_damaged,
				 "packets of fields\t%" PRIu64 " with damage, the first here",
				 reader->damaged);
	if (reader->stateless)
		EXCHANGE_FINDING(recording, RECORD, SONDE_NO_OFFSET,
				 "packets whose names are known\t%" PRIu64
				 " that need what was dropped before",
				 reader->stateless);
	if (reader->unresolved)
		EXCHANGE_FINDING(recording, RECORD, SONDE_NO_OFFSET,
				 "interned data\t%" PRIu64 " references that lead nowhere",
				 reader->unresolved);
	if (reader->timeless)
		EXCHANGE_FINDING(recording, TIME, SONDE_NO_OFFSET,
				 "events with a time\t%" PRIu64 " without; they are left out",
				 reader->timeless);
	if (reader->loose)
		EXCHANGE_FINDING(recording, TIME, SONDE_NO_OFFSET,
				 "clocks that snapshots tie together\t%" PRIu64
				 " times on others; they stay as they are",
				 reader->loose);
	tell_unknown(reader);
}

static enum sonde_status read_all(struct perfetto_reader *reader, struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(reader->file.data, reader->file.size);
	struct sonde_error found = { 0 };
	enum sonde_status status = walk(reader, bytes, 0, false, take_definitions, &found);

	reader->damaged = 0;
	if (!status || status == SONDE_TRUNCATED || status == SONDE_CORRUPT)
		status = perfetto_tie_clocks(reader, &found);
	if (!status)
		status = walk(reader, bytes, 0, false, take_happenings, &found);
	if (status == SONDE_TRUNCATED || status == SONDE_CORRUPT) {
		EXCHANGE_FINDING(reader->recording, TRUNCATED, found.offset,
				 "a whole packet\tthe end of the file, or damage");
		status = SONDE_OK;
	}
	if (!status)
		status = perfetto_name_all(reader, &found);
	if (status && err)
		*err = found;
	return status;
}

static void release(struct perfetto_reader *reader)
{
	perfetto_release_state(reader);
	sonde_key_map_release(&reader->place_numbers);
	sonde_key_map_release(&reader->process_names);
	sonde_key_map_release(&reader->thread_names);
	sonde_vec_release(&reader->places);
	sonde_vec_release(&reader->moments);
	sonde_vec_release(&reader->pairs);
	sonde_buffer_release(&reader->unpacked);
	sonde_mapped_file_release(&reader->file);
}

enum sonde_status perfetto_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct perfetto_reader *reader = calloc(1, sizeof(*reader));
	enum sonde_status status;

	if (!reader)
		return sonde_fail_nomem(err);
	reader->recording = recording;
	reader->metric = SONDE_NONE;
	status = exchange_open_unpacked(recording, &reader->file, err);
	if (!status)
		status = sonde_intake_new(recording, &reader->intake, err);
	if (!status)
		status = read_all(reader, err);
	if (!status) {
		tell_findings(reader);
		status = exchange_finish(recording, reader->intake, err);
	}
	/* a finished one belongs to the recording */
	if (status)
		sonde_intake_free(reader->intake);
	release(reader);
	free(reader);
	return status;
}

/* Whether a field of a packet is one that packets of traces have, and nobody else's. */
static bool is_telling(const struct sonde_protobuf_field *field)
{
	bool is_message = field->number == PACKET_CLOCK_SNAPSHOT || field->number == PACKET_TRACK ||
			  field->number == PACKET_SYSTEM_INFO || field->number == PACKET_DEFAULTS ||
			  field->number == PACKET_COMPRESSED;
	bool is_number = field->number == PACKET_TIMESTAMP || field->number == PACKET_SEQUENCE ||
			 field->number == PACKET_FLAGS || field->number == PACKET_CLOCK;

	return field->type == SONDE_PROTOBUF_VARINT ? is_number :
						      perfetto_is_bytes(field) && is_message;
}

/* Fields that are there with another type cannot be those of a packet. */
static bool is_other(const struct sonde_protobuf_field *field)
{
	bool is_number = field->number == 3 || field->number == PACKET_TIMESTAMP ||
			 field->number == PACKET_SEQUENCE || field->number == PACKET_FLAGS;

	if (field->number > 2000)
		return true;
	return field->number <= PACKET_FLAGS && is_number != (field->type == SONDE_PROTOBUF_VARINT);
}

static int judge(struct sonde_bytes bytes, bool is_whole)
{
	struct sonde_protobuf_field packet, field;
	enum sonde_status status;
	size_t telling = 0, packets = 0;

	while (!(status = sonde_protobuf_next(&bytes, &packet, NULL))) {
		if (packet.number != TRACE_PACKET || !perfetto_is_bytes(&packet))
			return 0;
		packets++;
		while (!(status = sonde_protobuf_next(&packet.bytes, &field, NULL))) {
			if (is_other(&field))
				return 0;
			telling += is_telling(&field);
		}
		if (status != SONDE_END)
			return 0;
	}
	/* the first packet may be longer than what was looked at */
	if (!packets && status == SONDE_TRUNCATED && !is_whole)
		return bytes.size > 2 && bytes.data[0] == 0x0a ? 5 : 0;
	if (status != SONDE_END && status != SONDE_TRUNCATED)
		return 0;
	return telling ? 80 : 0;
}

int perfetto_probe(const char *path)
{
	uint8_t start[PROBED];
	size_t size = sonde_packed_file_peek(path, start, sizeof(start));

	return size && start[0] == 0x0a ? judge(sonde_bytes_of(start, size), size < sizeof(start)) :
					  0;
}
