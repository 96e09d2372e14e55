/* SPDX-License-Identifier: Apache-2.0 */
/* 04.00b and .hpctrace as bytes, and the names of files. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/put.h"
#include "formats/hpcrun/hpcrun_write.h"

static void put_u8(struct sonde_buffer *bytes, uint8_t value)
{
	sonde_buffer_put(bytes, &value, sizeof(value));
}

static void put_text(struct sonde_buffer *bytes, const char *text)
{
	size_t length = strlen(text);

	sonde_put_u32be(bytes, (uint32_t)length);
	sonde_buffer_put(bytes, text, length);
}

static void put_header(const struct hpcrun_profile *profile, struct sonde_buffer *bytes)
{
	sonde_buffer_put_text(bytes, HPCRUN_MAGIC_LONG "04.00b");
	sonde_put_u32be(bytes, (uint32_t)profile->pairs.count);
	for (size_t i = 0; i < profile->pairs.count; i++) {
		put_text(bytes, profile->pairs.items[i].name);
		put_text(bytes, profile->pairs.items[i].value);
	}
}

static void put_modules(const struct hpcrun_profile *profile, struct sonde_buffer *bytes)
{
	sonde_put_u32be(bytes, (uint32_t)profile->modules.count);
	for (size_t i = 0; i < profile->modules.count; i++) {
		sonde_put_u16be(bytes, profile->modules.items[i].id);
		put_text(bytes, profile->modules.items[i].path);
		sonde_put_u64be(bytes, profile->modules.items[i].flags);
	}
}

static void put_nodes(const struct hpcrun_profile *profile, struct sonde_buffer *bytes)
{
	const struct hpcrun_node *nodes = profile->nodes.items;

	sonde_put_u64be(bytes, profile->nodes.count);
	for (size_t i = 0; i < profile->nodes.count; i++) {
		sonde_put_u32be(bytes, nodes[i].id);
		sonde_put_u32be(bytes,
				nodes[i].parent == UINT32_MAX ? 0 : nodes[nodes[i].parent].id);
		sonde_put_u16be(bytes, nodes[i].module);
		sonde_put_u64be(bytes, nodes[i].ip);
		put_u8(bytes, nodes[i].unwound ? HPCRUN_NODE_UNWOUND : 0);
	}
}

static void put_metric(const struct hpcrun_metric *metric, struct sonde_buffer *bytes)
{
	static const uint8_t zeros[8];
	uint64_t mean;

	memcpy(&mean, &metric->mean, sizeof(mean));
	put_text(bytes, metric->name);
	put_text(bytes, metric->description);
	put_u8(bytes, metric->type);
	put_u8(bytes, metric->value_type);
	put_u8(bytes, metric->is_real ? HPCRUN_METRIC_IS_REAL : HPCRUN_METRIC_IS_INTEGER);
	put_u8(bytes, metric->at_function);
	sonde_put_u16be(bytes, metric->partner);
	put_u8(bytes, metric->show);
	put_u8(bytes, metric->show_percent);
	sonde_buffer_put(bytes, zeros, sizeof(zeros));
	sonde_put_u64be(bytes, metric->period);
	put_text(bytes, metric->formula);
	put_text(bytes, metric->format);
	sonde_put_u16be(bytes, metric->is_frequency);
	sonde_put_u16be(bytes, metric->is_multiplexed);
	sonde_put_u64be(bytes, mean);
	sonde_put_u64be(bytes, metric->samples);
}

static void put_kinds(const struct hpcrun_profile *profile, struct sonde_buffer *bytes)
{
	sonde_put_u16be(bytes, (uint16_t)profile->kinds.count);
	for (size_t i = 0; i < profile->kinds.count; i++) {
		sonde_put_u16be(bytes, (uint16_t)strtoul(profile->kinds.items[i].name, NULL, 10));
		put_text(bytes, profile->kinds.items[i].value);
	}
}

/* Both numbers known, or the logical one still to be given by who merges, or the logical one only. */
static unsigned int interpretation(const struct sonde_identity *identity)
{
	if (!identity->is_physical)
		return HPCRUN_IDENTITY_LOGICAL_ONLY;
	return identity->physical && !identity->logical;
}

static void put_identities(const struct hpcrun_profile *profile, struct sonde_buffer *bytes)
{
	sonde_put_u16be(bytes, (uint16_t)profile->identity_count);
	for (size_t i = 0; i < profile->identity_count; i++) {
		const struct sonde_identity *identity = &profile->identities[i];

		sonde_put_u16be(bytes,
				(uint16_t)((identity->kind & HPCRUN_IDENTITY_KIND_MASK) |
					   interpretation(identity) << HPCRUN_IDENTITY_SHIFT));
		sonde_put_u64be(bytes, identity->physical);
		sonde_put_u64be(bytes, identity->logical);
	}
}

static void put_values(const struct hpcrun_profile *profile, struct sonde_buffer *bytes)
{
	const struct hpcrun_value *values = profile->values.items;
	size_t count = profile->values.count;
	uint32_t node_count = 0;

	put_identities(profile, bytes);
	for (size_t i = 0; i < count; i++)
		node_count += !i || values[i].node != values[i - 1].node;
	sonde_put_u64be(bytes, count);
	sonde_put_u32be(bytes, node_count);
	for (size_t i = 0; i < count; i++) {
		sonde_put_u64be(bytes, values[i].bits);
		sonde_put_u16be(bytes, values[i].metric);
	}
	for (size_t i = 0; i < count; i++) {
		if (i && values[i].node == values[i - 1].node)
			continue;
		sonde_put_u32be(bytes, profile->nodes.items[values[i].node].id);
		sonde_put_u64be(bytes, i);
	}
	sonde_put_u32be(bytes, HPCRUN_INDEX_END);
	sonde_put_u64be(bytes, count);
}

static void put_section(const struct hpcrun_profile *profile, enum hpcrun_section section,
			struct sonde_buffer *bytes)
{
	switch (section) {
	case HPCRUN_SECTION_HEADER:
		put_header(profile, bytes);
		break;
	case HPCRUN_SECTION_MODULES:
		put_modules(profile, bytes);
		break;
	case HPCRUN_SECTION_NODES:
		put_nodes(profile, bytes);
		break;
	case HPCRUN_SECTION_METRICS:
		sonde_put_u32be(bytes, (uint32_t)profile->metrics.count);
		for (size_t i = 0; i < profile->metrics.count; i++)
			put_metric(&profile->metrics.items[i], bytes);
		break;
	case HPCRUN_SECTION_KINDS:
		put_kinds(profile, bytes);
		break;
	default:
		put_values(profile, bytes);
		break;
	}
}

enum sonde_status hpcrun_encode_04(const struct hpcrun_profile *profile, struct sonde_buffer *bytes,
				   struct sonde_error *err)
{
	static const uint8_t zeros[HPCRUN_SECTION_ALIGNMENT];
	uint64_t places[2 * HPCRUN_SECTION_COUNT];
	uint64_t footer;

	sonde_buffer_clear(bytes);
	for (size_t i = 0; i < HPCRUN_SECTION_COUNT; i++) {
		places[2 * i] = bytes->size;
		put_section(profile, (enum hpcrun_section)i, bytes);
		places[2 * i + 1] = bytes->size;
		sonde_buffer_put(bytes, zeros, -bytes->size & (HPCRUN_SECTION_ALIGNMENT - 1));
	}
	footer = bytes->size;
	for (size_t i = 0; i < 2 * HPCRUN_SECTION_COUNT; i++)
		sonde_put_u64be(bytes, places[i]);
	sonde_put_u64be(bytes, footer);
	sonde_put_u64be(bytes, HPCRUN_FOOTER_MAGIC);
	return bytes->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

enum sonde_status hpcrun_write_file(const char *path, const void *bytes, size_t size,
				    struct sonde_error *err)
{
	struct sonde_output output;
	enum sonde_status status = sonde_output_open(&output, path, err);

	if (status)
		return status;
	status = sonde_output_write(&output, bytes, size, err);
	if (!status)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	return status;
}

void hpctrace_encode_header(uint64_t flags, uint8_t header[HPCTRACE_HEADER_SIZE])
{
	memcpy(header, HPCRUN_MAGIC_TRACE HPCTRACE_VERSION, HPCTRACE_HEADER_SIZE - 8);
	sonde_store_u64be(header + HPCTRACE_HEADER_SIZE - 8, flags);
}

void hpctrace_encode(const struct hpctrace_record *records, size_t count, uint8_t *bytes)
{
	for (size_t i = 0; i < count; i++, bytes += HPCTRACE_RECORD_SIZE) {
		sonde_store_u64be(bytes, records[i].time_ns);
		sonde_store_u32be(bytes + 8, records[i].node);
	}
}

void hpcrun_name_text(const struct hpcrun_name *name, char text[HPCRUN_NAME_SIZE])
{
	char program[128];
	size_t length = 0;

	for (const char *p = name->program; *p && length < sizeof(program) - 1; p++)
		program[length++] = (unsigned char)*p <= ' ' || *p == '/' ? '_' : *p;
	program[length] = '\0';
	snprintf(text, HPCRUN_NAME_SIZE, "%s-%06u-%03d-%08x-%u-%d", length ? program : "unknown",
		 name->rank, name->thread, name->host, name->process, name->generation);
}

/* The number behind the last '-' before `end`; moves `end` to that '-'. */
static bool parse_back(const char *text, size_t *end, int base, unsigned long *number)
{
	size_t start = *end;
	char digits[24];
	char *stop;

	while (start && text[start - 1] != '-')
		start--;
	if (start < 2 || start == *end || *end - start >= sizeof(digits))
		return false;
	memcpy(digits, text + start, *end - start);
	digits[*end - start] = '\0';
	*number = strtoul(digits, &stop, base);
	*end = start - 1;
	return !*stop && *number <= UINT32_MAX;
}

bool hpcrun_name_parse(const char *text, struct hpcrun_name *name, size_t *program_length)
{
	const char *dot = strrchr(text, '.');
	size_t end = dot ? (size_t)(dot - text) : strlen(text);
	unsigned long generation, process, host, thread, rank;

	if (!parse_back(text, &end, 10, &generation) || !parse_back(text, &end, 10, &process) ||
	    !parse_back(text, &end, 16, &host) || !parse_back(text, &end, 10, &thread) ||
	    !parse_back(text, &end, 10, &rank))
		return false;
	*name = (struct hpcrun_name){
		.rank = (uint32_t)rank,
		.thread = (int)thread,
		.host = (uint32_t)host,
		.process = (uint32_t)process,
		.generation = (int)generation,
	};
	*program_length = end;
	return true;
}
