/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 04.00: sections found by a footer, values of few nodes in place of all. Merging reads thousands of
 * these, so that nodes and values are taken in plain loops, made for each order of bytes.
 */
#include <stdio.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_decode.h"

struct range {
	uint64_t start, end;
};

static const char *const section_names[HPCRUN_SECTION_COUNT] = {
	"header", "modules", "nodes", "metrics", "kinds of identities", "values",
};

/* Where the sections are; false where the footer is missing or makes no sense. */
static bool read_footer(const struct hpcrun_decoder *decoder,
			struct range sections[HPCRUN_SECTION_COUNT])
{
	const struct sonde_bytes *bytes = &decoder->bytes;
	uint64_t footer, last = 0;
	const uint8_t *p;

	if (bytes->size < HPCRUN_FOOTER_SIZE + HPCRUN_HEADER_LONG)
		return false;
	footer = bytes->size - HPCRUN_FOOTER_SIZE;
	p = bytes->data + footer;
	if (hpcrun_load_u64(p + HPCRUN_FOOTER_SIZE - 8, decoder->little_endian) !=
		    HPCRUN_FOOTER_MAGIC ||
	    hpcrun_load_u64(p + HPCRUN_FOOTER_SIZE - 16, decoder->little_endian) != footer)
		return false;
	for (size_t i = 0; i < HPCRUN_SECTION_COUNT; i++, p += 16) {
		sections[i].start = hpcrun_load_u64(p, decoder->little_endian);
		sections[i].end = hpcrun_load_u64(p + 8, decoder->little_endian);
		if (sections[i].start < last || sections[i].end < sections[i].start ||
		    sections[i].end > footer)
			return false;
		last = sections[i].end;
	}
	return sections[HPCRUN_SECTION_HEADER].start == 0;
}

/* Faults of one node; kept out of the loop, which meets none of them as a rule. */
static enum sonde_status node_fault(struct hpcrun_decoder *decoder, size_t offset,
				    enum hpcrun_finding_number number, uint32_t id, uint32_t other)
{
	switch (number) {
	case HPCRUN_FINDING_NODE_ID:
		return hpcrun_fault(decoder, number, offset, "a new number above 0\t%u", id);
	case HPCRUN_FINDING_NODE_PARENT:
		return hpcrun_fault(decoder, number, offset, "a parent before node %u\t%u", id,
				    other);
	default:
		return hpcrun_fault(decoder, number, offset, "a module of node %u\tnumber %u", id,
				    other);
	}
}

static inline __attribute__((always_inline)) enum sonde_status
fill_nodes(struct hpcrun_decoder *decoder, const uint8_t *p, uint32_t count, bool little_endian)
{
	struct hpcrun_profile *profile = decoder->profile;
	const struct hpcrun_ids *ids = profile->ids;
	struct hpcrun_node *nodes = profile->nodes.items;
	size_t offset = (size_t)(p - decoder->bytes.data);
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < count; i++, p += HPCRUN_NODE_SIZE) {
		uint32_t parent = hpcrun_load_u32(p + 4, little_endian);
		struct hpcrun_node *node = &nodes[i];
		uint32_t *slot;

		*node = (struct hpcrun_node){
			.id = hpcrun_load_u32(p, little_endian),
			.parent = UINT32_MAX,
			.module = hpcrun_load_u16(p + 8, little_endian),
			.ip = hpcrun_load_u64(p + 10, little_endian),
			.unwound = p[18] & HPCRUN_NODE_UNWOUND,
		};
		if (parent) {
			node->parent = hpcrun_ids_find(ids, nodes, parent);
			if (__builtin_expect(node->parent == UINT32_MAX, 0))
				status = node_fault(decoder, offset + i * HPCRUN_NODE_SIZE,
						    HPCRUN_FINDING_NODE_PARENT, node->id, parent);
		}
		slot = hpcrun_ids_slot(ids, nodes, node->id);
		if (__builtin_expect(*slot == UINT32_MAX && node->id, 1))
			*slot = i;
		else
			status = node_fault(decoder, offset + i * HPCRUN_NODE_SIZE,
					    HPCRUN_FINDING_NODE_ID, node->id, 0);
		if (__builtin_expect(!hpcrun_ids_has_module(ids, node->module), 0))
			status = node_fault(decoder, offset + i * HPCRUN_NODE_SIZE,
					    HPCRUN_FINDING_NODE_MODULE, node->id, node->module);
		if (status < 0)
			return status;
	}
	profile->nodes.count = count;
	return SONDE_OK;
}

/* The lowest and highest id say whether a plain table will do. */
static void id_range(const uint8_t *p, uint64_t count, bool little_endian, uint32_t *lowest,
		     uint32_t *highest)
{
	*lowest = UINT32_MAX;
	*highest = 0;
	for (uint64_t i = 0; i < count; i++, p += HPCRUN_NODE_SIZE) {
		uint32_t id = hpcrun_load_u32(p, little_endian);

		*lowest = id < *lowest ? id : *lowest;
		*highest = id > *highest ? id : *highest;
	}
}

static enum sonde_status decode_nodes(struct hpcrun_decoder *decoder)
{
	struct hpcrun_profile *profile = decoder->profile;
	uint64_t count = hpcrun_u64(decoder);
	enum sonde_status status = hpcrun_expect(decoder, count, HPCRUN_NODE_SIZE, "nodes");
	enum sonde_status filled;
	uint32_t lowest, highest;
	const uint8_t *p;

	if (status < 0 || decoder->bytes.overrun)
		return status;
	if (status == SONDE_END)
		count = sonde_bytes_left(&decoder->bytes) / HPCRUN_NODE_SIZE;
	if (count >= UINT32_MAX)
		return sonde_fail(decoder->err, SONDE_LIMIT, decoder->bytes.position,
				  "%llu nodes in one profile; fewer than 4294967295 are read",
				  (unsigned long long)count);
	p = sonde_bytes_take(&decoder->bytes, count * HPCRUN_NODE_SIZE);
	id_range(p, count, decoder->little_endian, &lowest, &highest);
	if (!sonde_vec_reserve(&profile->nodes, count) ||
	    !hpcrun_ids_begin(profile->ids, lowest, highest, count))
		return sonde_fail_nomem(decoder->err);
	filled = decoder->little_endian ? fill_nodes(decoder, p, (uint32_t)count, true) :
					  fill_nodes(decoder, p, (uint32_t)count, false);
	return filled < 0 ? filled : status;
}

static enum sonde_status decode_kinds(struct hpcrun_decoder *decoder)
{
	uint16_t count = hpcrun_u16(decoder);
	enum sonde_status status = hpcrun_expect(decoder, count, 6, "kinds of identities");

	for (uint16_t i = 0; i < count && status == SONDE_OK; i++) {
		size_t at = decoder->bytes.position;
		uint16_t number = hpcrun_u16(decoder);
		const char *name = hpcrun_text(decoder);
		struct hpcrun_pair *pair;
		char *digits;

		if (decoder->bytes.overrun)
			return hpcrun_fault(decoder, HPCRUN_FINDING_CUT, at,
					    "a whole kind of identity\t%zu bytes",
					    decoder->bytes.size - at);
		pair = sonde_vec_push(&decoder->profile->kinds);
		digits = sonde_arena_take(&decoder->profile->texts, 8);
		if (!pair || !digits || !name)
			return sonde_fail_nomem(decoder->err);
		snprintf(digits, 8, "%u", number);
		*pair = (struct hpcrun_pair){ .name = digits, .value = name };
	}
	return status;
}

static enum sonde_status decode_identities(struct hpcrun_decoder *decoder)
{
	struct hpcrun_profile *profile = decoder->profile;
	uint16_t count = hpcrun_u16(decoder);
	enum sonde_status status =
		hpcrun_expect(decoder, count, HPCRUN_IDENTITY_SIZE, "levels of the identity");

	if (status)
		return status;
	if (count > SONDE_IDENTITY_LIMIT)
		hpcrun_found(decoder->diagnostics, IDENTITY, decoder->file, decoder->bytes.position,
			     "at most %u\t%u", SONDE_IDENTITY_LIMIT, count);
	for (uint16_t i = 0; i < count; i++) {
		uint16_t word = hpcrun_u16(decoder);
		struct sonde_identity identity = {
			.kind = word & HPCRUN_IDENTITY_KIND_MASK,
			.is_physical = word >> HPCRUN_IDENTITY_SHIFT !=
				       HPCRUN_IDENTITY_LOGICAL_ONLY,
			.physical = hpcrun_u64(decoder),
		};

		identity.logical = hpcrun_u64(decoder);
		if (!identity.is_physical)
			identity.physical = identity.logical;
		if (i < SONDE_IDENTITY_LIMIT)
			profile->identities[profile->identity_count++] = identity;
	}
	return SONDE_OK;
}

static enum sonde_status value_fault(struct hpcrun_decoder *decoder, size_t offset, uint16_t metric)
{
	if (metric >= decoder->profile->metrics.count)
		return hpcrun_fault(decoder, HPCRUN_FINDING_VALUE_METRIC, offset,
				    "one of %zu metrics\tnumber %u",
				    decoder->profile->metrics.count, metric);
	return hpcrun_fault(decoder, HPCRUN_FINDING_VALUE_NUMBER, offset,
			    "a finite number\tnone, of metric %u", metric);
}

/* The values of one node, from `first` up to `end`. */
static inline __attribute__((always_inline)) enum sonde_status
take_values(struct hpcrun_decoder *decoder, const uint8_t *values, uint64_t first, uint64_t end,
	    uint32_t node, bool little_endian)
{
	struct hpcrun_profile *profile = decoder->profile;

	for (uint64_t i = first; i < end; i++) {
		const uint8_t *p = values + i * HPCRUN_VALUE_SIZE;
		struct hpcrun_value *value = &profile->values.items[profile->values.count];
		enum sonde_status status;

		*value = (struct hpcrun_value){
			.node = node,
			.metric = hpcrun_load_u16(p + 8, little_endian),
			.bits = hpcrun_load_u64(p, little_endian),
		};
		if (__builtin_expect(value->metric < profile->metrics.count, 1)) {
			if (hpcrun_value_of(&profile->metrics.items[value->metric], value->bits,
					    &value->value)) {
				profile->values.count++;
				continue;
			}
			if (value->value == 0)
				continue;
		}
		status = value_fault(decoder, (size_t)(p - decoder->bytes.data), value->metric);
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

struct value_table {
	const uint8_t *values, *index;
	uint64_t value_count;
	uint64_t entry_count; /* whole ones, that of the end included */
};

static enum sonde_status index_fault(struct hpcrun_decoder *decoder, const uint8_t *entry,
				     uint64_t first, uint64_t end, uint64_t count)
{
	return hpcrun_fault(
		decoder, HPCRUN_FINDING_VALUE_INDEX, (uint64_t)(entry - decoder->bytes.data),
		"ascending numbers up to %llu\t%llu, then %llu", (unsigned long long)count,
		(unsigned long long)first, (unsigned long long)end);
}

/*
 * Entries name ascending values, so that all of them together take each value once at most: `taken`
 * is what makes sure of it.
 */
static inline __attribute__((always_inline)) enum sonde_status
fill_values(struct hpcrun_decoder *decoder, const struct value_table *table, bool little_endian)
{
	const struct hpcrun_profile *profile = decoder->profile;
	const uint8_t *p = table->index;
	uint64_t taken = 0;

	for (uint64_t i = 0; i + 1 < table->entry_count; i++, p += HPCRUN_INDEX_SIZE) {
		uint32_t id = hpcrun_load_u32(p, little_endian);
		uint64_t first = hpcrun_load_u64(p + 4, little_endian);
		uint64_t end = hpcrun_load_u64(p + 4 + HPCRUN_INDEX_SIZE, little_endian);
		uint32_t node = hpcrun_ids_find(profile->ids, profile->nodes.items, id);
		enum sonde_status status = SONDE_OK;

		if (__builtin_expect(first != taken || end < first || end > table->value_count,
				     0)) {
			status = index_fault(decoder, p, first, end, table->value_count);
			first = first > taken ? first : taken;
			end = end > table->value_count ? first : end;
		}
		if (status >= 0 && first < end) {
			if (__builtin_expect(node != UINT32_MAX, 1))
				status = take_values(decoder, table->values, first, end, node,
						     little_endian);
			else
				status = hpcrun_fault(decoder, HPCRUN_FINDING_VALUE_NODE,
						      (uint64_t)(p - decoder->bytes.data),
						      "one of %zu nodes\tnumber %u",
						      profile->nodes.count, id);
		}
		if (status < 0)
			return status;
		taken = end > taken ? end : taken;
	}
	return SONDE_OK;
}

/* The index ends with a mark of its own, and says there how many values there are. */
static enum sonde_status check_index_end(struct hpcrun_decoder *decoder,
					 const struct value_table *table)
{
	const uint8_t *last = table->index + (table->entry_count - 1) * HPCRUN_INDEX_SIZE;
	uint32_t id = hpcrun_load_u32(last, decoder->little_endian);
	uint64_t count = hpcrun_load_u64(last + 4, decoder->little_endian);

	if (id == HPCRUN_INDEX_END && count == table->value_count)
		return SONDE_OK;
	return hpcrun_fault(decoder, HPCRUN_FINDING_VALUE_INDEX,
			    (uint64_t)(last - decoder->bytes.data),
			    "0x%x and %llu at the end\t0x%x and %llu", HPCRUN_INDEX_END,
			    (unsigned long long)table->value_count, id, (unsigned long long)count);
}

static enum sonde_status decode_values(struct hpcrun_decoder *decoder)
{
	struct value_table table = { .value_count = hpcrun_u64(decoder) };
	uint32_t node_count = hpcrun_u32(decoder);
	enum sonde_status status, cut;

	status = hpcrun_expect(decoder, table.value_count, HPCRUN_VALUE_SIZE, "values");
	if (status)
		return status; /* without their index nobody knows whose they are */
	table.values = sonde_bytes_take(&decoder->bytes, table.value_count * HPCRUN_VALUE_SIZE);
	cut = hpcrun_expect(decoder, (uint64_t)node_count + 1, HPCRUN_INDEX_SIZE,
			    "nodes of values");
	if (cut < 0)
		return cut;
	table.entry_count = cut ? sonde_bytes_left(&decoder->bytes) / HPCRUN_INDEX_SIZE :
				  (uint64_t)node_count + 1;
	table.index = sonde_bytes_take(&decoder->bytes, table.entry_count * HPCRUN_INDEX_SIZE);
	if (!sonde_vec_reserve(&decoder->profile->values, table.value_count))
		return sonde_fail_nomem(decoder->err);
	if (!cut)
		status = check_index_end(decoder, &table);
	if (status < 0)
		return status;
	status = decoder->little_endian ? fill_values(decoder, &table, true) :
					  fill_values(decoder, &table, false);
	return status < 0 ? status : cut;
}

/* Numbers that nodes may name without a module. */
static const uint16_t no_modules[] = {
	HPCRUN_MODULE_PLACEHOLDER,
	HPCRUN_MODULE_GPU_CONTEXT,
	HPCRUN_MODULE_GPU_RANGE,
	HPCRUN_MODULE_GPU_RANGE_ROOT,
};

static enum sonde_status decode_section(struct hpcrun_decoder *decoder, enum hpcrun_section section)
{
	enum sonde_status status;

	switch (section) {
	case HPCRUN_SECTION_HEADER:
		decoder->bytes.position += HPCRUN_HEADER_LONG;
		return hpcrun_decode_pairs(decoder);
	case HPCRUN_SECTION_MODULES:
		status = hpcrun_decode_modules(decoder);
		hpcrun_note_modules(decoder, no_modules,
				    sizeof(no_modules) / sizeof(no_modules[0]));
		return status;
	case HPCRUN_SECTION_NODES:
		return decode_nodes(decoder);
	case HPCRUN_SECTION_METRICS:
		return hpcrun_decode_metrics(decoder, true);
	case HPCRUN_SECTION_KINDS:
		return decode_kinds(decoder);
	default:
		status = decode_identities(decoder);
		return status ? status : decode_values(decoder);
	}
}

/* Where the footer says; a section that is cut does not keep the others from being read. */
static enum sonde_status decode_by_footer(struct hpcrun_decoder *decoder,
					  const struct range sections[HPCRUN_SECTION_COUNT])
{
	size_t size = decoder->bytes.size;

	for (size_t i = 0; i < HPCRUN_SECTION_COUNT; i++) {
		enum sonde_status status;

		decoder->bytes = sonde_bytes_of(decoder->bytes.data, sections[i].end);
		decoder->bytes.position = sections[i].start;
		if (i == HPCRUN_SECTION_HEADER && sections[i].end < HPCRUN_HEADER_LONG)
			decoder->bytes.size = HPCRUN_HEADER_LONG;
		status = decode_section(decoder, (enum hpcrun_section)i);
		if (status < 0)
			return status;
		if (!status && sonde_bytes_left(&decoder->bytes))
			hpcrun_found(decoder->diagnostics, SECTION_END, decoder->file,
				     sections[i].end, "the section of %s to end at %llu\tat %zu",
				     section_names[i], (unsigned long long)sections[i].end,
				     decoder->bytes.position);
	}
	decoder->bytes.size = size;
	return SONDE_OK;
}

/* One after the other, each at the next multiple of the alignment, until one is cut. */
static enum sonde_status decode_in_order(struct hpcrun_decoder *decoder)
{
	decoder->bytes.position = 0;
	for (size_t i = 0; i < HPCRUN_SECTION_COUNT; i++) {
		size_t start = (decoder->bytes.position + HPCRUN_SECTION_ALIGNMENT - 1) &
			       ~(size_t)(HPCRUN_SECTION_ALIGNMENT - 1);
		enum sonde_status status;

		if (start >= decoder->bytes.size)
			return hpcrun_fault(decoder, HPCRUN_FINDING_CUT, decoder->bytes.size,
					    "a section of %s at %zu\tthe end of the file",
					    section_names[i], start);
		decoder->bytes.position = start;
		status = decode_section(decoder, (enum hpcrun_section)i);
		if (status)
			return status;
	}
	return SONDE_OK;
}

enum sonde_status hpcrun_decode_04(struct hpcrun_decoder *decoder)
{
	struct range sections[HPCRUN_SECTION_COUNT];
	enum sonde_status status;

	if (!hpcrun_ids_of(decoder->profile))
		return sonde_fail_nomem(decoder->err);
	if (read_footer(decoder, sections))
		return decode_by_footer(decoder, sections);
	status = hpcrun_fault(decoder, HPCRUN_FINDING_FOOTER, decoder->bytes.size,
			      "a footer of %d bytes with the places of %d sections\tnone",
			      HPCRUN_FOOTER_SIZE, HPCRUN_SECTION_COUNT);
	return status < 0 ? status : decode_in_order(decoder);
}
