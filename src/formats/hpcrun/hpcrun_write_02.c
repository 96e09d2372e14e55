/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 02.00l as in the document: one epoch, every metric of every node. Nodes name addresses of the
 * process, so that each module needs a place of its own in it.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/put.h"
#include "formats/hpcrun/hpcrun_write.h"

/* Where the first module is put that does not say where it was, and how far apart they are. */
#define FIRST_PLACE UINT64_C(0x400000)
#define PLACE_ALIGNMENT UINT64_C(0x10000)
/* Above, addresses could be taken for placeholders. */
#define LAST_PLACE (UINT64_C(1) << 56)

/* Those that are no modules, but have numbers like them. */
static const struct hpcrun_module special_modules[] = {
	{ .id = HPCRUN_MODULE_GPU_CONTEXT, .path = "[gpu context]" },
	{ .id = HPCRUN_MODULE_GPU_RANGE, .path = "[gpu range]" },
	{ .id = HPCRUN_MODULE_GPU_RANGE_ROOT, .path = "[gpu range root]" },
};
#define SPECIAL_COUNT (sizeof(special_modules) / sizeof(special_modules[0]))

struct place {
	const struct hpcrun_module *module;
	uint64_t highest; /* ip in it */
	bool is_used;
	uint64_t address, offset;
};

struct encoder {
	const struct hpcrun_profile *profile;
	struct sonde_buffer *bytes;
	struct sonde_error *err;
	struct place *places; /* all modules, then the special ones */
	size_t place_count;
	uint32_t *place_of;    /* by the number of a module; UINT32_MAX: none */
	uint32_t *first_value; /* by node, one more than there are */
	uint32_t *order;       /* values, node by node */
	uint8_t *has_child;
	bool has_logical;
};

static void put_text(struct sonde_buffer *bytes, const char *text)
{
	size_t length = strlen(text);

	sonde_put_u32le(bytes, (uint32_t)length);
	sonde_buffer_put(bytes, text, length);
}

static bool is_epoch_pair(const struct hpcrun_pair *pair)
{
	return !strcmp(pair->name, HPCRUN_PAIR_LOGICAL_SIZE);
}

static void put_header(struct encoder *encoder)
{
	const struct hpcrun_profile *profile = encoder->profile;
	uint32_t count = 0;

	for (size_t i = 0; i < profile->pairs.count; i++)
		count += !is_epoch_pair(&profile->pairs.items[i]);
	sonde_buffer_put_text(encoder->bytes, HPCRUN_MAGIC_SHORT "02.00l");
	sonde_put_u32le(encoder->bytes, count);
	for (size_t i = 0; i < profile->pairs.count; i++) {
		if (is_epoch_pair(&profile->pairs.items[i]))
			continue;
		put_text(encoder->bytes, profile->pairs.items[i].name);
		put_text(encoder->bytes, profile->pairs.items[i].value);
	}
}

static void put_epoch(struct encoder *encoder)
{
	const struct hpcrun_profile *profile = encoder->profile;
	uint64_t flags = profile->epoch_flags & ~HPCRUN_EPOCH_LOGICAL;

	sonde_put_u32le(encoder->bytes, 1); /* epochs */
	sonde_buffer_put_text(encoder->bytes, HPCRUN_EPOCH_TAG);
	sonde_put_u64le(encoder->bytes, flags | (encoder->has_logical ? HPCRUN_EPOCH_LOGICAL : 0));
	sonde_put_u32le(encoder->bytes, profile->return_distance);
	sonde_put_u64le(encoder->bytes, profile->granularity);
	sonde_put_u32le(encoder->bytes, encoder->has_logical);
	if (encoder->has_logical) {
		put_text(encoder->bytes, HPCRUN_PAIR_LOGICAL_SIZE);
		put_text(encoder->bytes, "2");
	}
	sonde_put_u32le(encoder->bytes, (uint32_t)profile->metrics.count);
	for (size_t i = 0; i < profile->metrics.count; i++) {
		const struct hpcrun_metric *metric = &profile->metrics.items[i];

		put_text(encoder->bytes, metric->name);
		sonde_put_u64le(encoder->bytes, (metric->flags & ~HPCRUN_METRIC_REAL) |
							(metric->is_real ? HPCRUN_METRIC_REAL : 0));
		sonde_put_u64le(encoder->bytes, metric->period);
	}
}

/* Which modules there are, and how much room each needs. */
static enum sonde_status measure_modules(struct encoder *encoder)
{
	const struct hpcrun_profile *profile = encoder->profile;
	const struct hpcrun_node *nodes = profile->nodes.items;
	size_t count = profile->modules.count;

	encoder->place_count = count + SPECIAL_COUNT;
	encoder->places = calloc(encoder->place_count, sizeof(*encoder->places));
	encoder->place_of = malloc(65536 * sizeof(*encoder->place_of));
	if (!encoder->places || !encoder->place_of)
		return sonde_fail_nomem(encoder->err);
	memset(encoder->place_of, 0xff, 65536 * sizeof(*encoder->place_of));
	for (size_t i = 0; i < encoder->place_count; i++) {
		const struct hpcrun_module *module = i < count ? &profile->modules.items[i] :
								 &special_modules[i - count];

		encoder->places[i].module = module;
		encoder->places[i].is_used = i < count;
		if (encoder->place_of[module->id] == UINT32_MAX)
			encoder->place_of[module->id] = (uint32_t)i;
	}
	for (size_t i = 0; i < profile->nodes.count; i++) {
		uint32_t number = encoder->place_of[nodes[i].module];
		struct place *place;

		if (nodes[i].module == HPCRUN_MODULE_PLACEHOLDER || number == UINT32_MAX)
			continue;
		place = &encoder->places[number];
		place->is_used = true;
		if (nodes[i].ip > place->highest)
			place->highest = nodes[i].ip;
	}
	return SONDE_OK;
}

/* The sign of a number tells leaves from others. */
static enum sonde_status check_ids(const struct encoder *encoder)
{
	const struct hpcrun_profile *profile = encoder->profile;

	for (size_t i = 0; i < profile->nodes.count; i++) {
		if (profile->nodes.items[i].id > UINT32_C(1) << 31)
			return sonde_fail(encoder->err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "a node's number is %u, too large for version 02.00l; "
					  "write 04.00b",
					  profile->nodes.items[i].id);
	}
	return SONDE_OK;
}

static enum sonde_status place_modules(struct encoder *encoder)
{
	uint64_t next = FIRST_PLACE;
	bool is_known = encoder->profile->generation == HPCRUN_02_00_DOCUMENT ||
			encoder->profile->generation == HPCRUN_02_00_CODED;

	for (size_t i = 0; i < encoder->place_count; i++) {
		struct place *place = &encoder->places[i];

		if (!place->is_used)
			continue;
		place->address = is_known ? place->module->address : next;
		place->offset = is_known ? place->module->offset : 0;
		if (is_known)
			continue;
		if (place->highest >= LAST_PLACE - next - 2 * PLACE_ALIGNMENT)
			return sonde_fail(encoder->err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "address 0x%llx of %s is too large for version 02.00l; "
					  "write 04.00b",
					  (unsigned long long)place->highest, place->module->path);
		next = (next + place->highest + 2 * PLACE_ALIGNMENT) & -PLACE_ALIGNMENT;
	}
	return SONDE_OK;
}

static void put_modules(struct encoder *encoder)
{
	uint32_t used = 0;

	for (size_t i = 0; i < encoder->place_count; i++)
		used += encoder->places[i].is_used;
	sonde_put_u32le(encoder->bytes, used);
	for (size_t i = 0; i < encoder->place_count; i++) {
		const struct place *place = &encoder->places[i];

		if (!place->is_used)
			continue;
		sonde_put_u64le(encoder->bytes, place->address);
		sonde_put_u64le(encoder->bytes, place->offset);
		put_text(encoder->bytes, place->module->path);
		sonde_put_u32le(encoder->bytes, (uint32_t)place->module->flags);
	}
}

/* Values in the order of their nodes, and which nodes have children. */
static enum sonde_status order_values(struct encoder *encoder)
{
	const struct hpcrun_profile *profile = encoder->profile;
	size_t nodes = profile->nodes.count, values = profile->values.count;

	encoder->first_value = calloc(nodes + 2, sizeof(*encoder->first_value));
	encoder->order = malloc((values + 1) * sizeof(*encoder->order));
	encoder->has_child = calloc(nodes + 1, 1);
	if (!encoder->first_value || !encoder->order || !encoder->has_child)
		return sonde_fail_nomem(encoder->err);
	for (size_t i = 0; i < values; i++)
		encoder->first_value[profile->values.items[i].node + 2]++;
	for (size_t i = 2; i < nodes + 2; i++)
		encoder->first_value[i] += encoder->first_value[i - 1];
	for (size_t i = 0; i < values; i++)
		encoder->order[encoder->first_value[profile->values.items[i].node + 1]++] =
			(uint32_t)i;
	for (size_t i = 0; i < nodes; i++) {
		const struct hpcrun_node *node = &profile->nodes.items[i];

		if (node->parent != UINT32_MAX)
			encoder->has_child[node->parent] = 1;
		encoder->has_logical |= node->association || node->logical_ip[0] ||
					node->logical_ip[1];
	}
	return SONDE_OK;
}

/* The address in the process; roots are small numbers, as they were when this version was written. */
static uint64_t address_of(const struct encoder *encoder, const struct hpcrun_node *node)
{
	uint32_t number = encoder->place_of[node->module];

	if (node->module == HPCRUN_MODULE_PLACEHOLDER || number == UINT32_MAX) {
		if (node->ip == HPCRUN_PRIMARY && node->parent == UINT32_MAX)
			return 0;
		return node->ip == HPCRUN_PARTIAL ? 1 : node->ip;
	}
	return node->ip - encoder->places[number].offset + encoder->places[number].address;
}

static uint64_t add_bits(uint64_t a, uint64_t b, bool is_real)
{
	double left, right;

	if (!is_real)
		return a + b;
	memcpy(&left, &a, sizeof(a));
	memcpy(&right, &b, sizeof(b));
	left += right;
	memcpy(&a, &left, sizeof(a));
	return a;
}

static void put_nodes(struct encoder *encoder, uint64_t *row)
{
	const struct hpcrun_profile *profile = encoder->profile;
	const struct hpcrun_node *nodes = profile->nodes.items;
	size_t metrics = profile->metrics.count;

	sonde_put_u32le(encoder->bytes, (uint32_t)profile->nodes.count);
	for (size_t i = 0; i < profile->nodes.count; i++) {
		const struct hpcrun_node *node = &nodes[i];

		sonde_put_u32le(encoder->bytes, encoder->has_child[i] ? node->id : -node->id);
		sonde_put_u32le(encoder->bytes,
				node->parent == UINT32_MAX ? 0 : nodes[node->parent].id);
		if (encoder->has_logical)
			sonde_put_u32le(encoder->bytes, node->association);
		sonde_put_u64le(encoder->bytes, address_of(encoder, node));
		for (size_t k = 0; encoder->has_logical && k < 2; k++)
			sonde_put_u64le(encoder->bytes, node->logical_ip[k]);
		memset(row, 0, metrics * sizeof(*row));
		for (uint32_t k = encoder->first_value[i]; k < encoder->first_value[i + 1]; k++) {
			const struct hpcrun_value *value =
				&profile->values.items[encoder->order[k]];

			row[value->metric] =
				add_bits(row[value->metric], value->bits,
					 profile->metrics.items[value->metric].is_real);
		}
		for (size_t k = 0; k < metrics; k++)
			sonde_put_u64le(encoder->bytes, row[k]);
	}
}

enum sonde_status hpcrun_encode_02(const struct hpcrun_profile *profile, struct sonde_buffer *bytes,
				   struct sonde_error *err)
{
	struct encoder encoder = { .profile = profile, .bytes = bytes, .err = err };
	uint64_t *row = calloc(profile->metrics.count + 1, sizeof(*row));
	enum sonde_status status = row ? measure_modules(&encoder) : sonde_fail_nomem(err);

	sonde_buffer_clear(bytes);
	if (!status)
		status = check_ids(&encoder);
	if (!status)
		status = place_modules(&encoder);
	if (!status)
		status = order_values(&encoder);
	if (!status) {
		put_header(&encoder);
		put_epoch(&encoder);
		put_modules(&encoder);
		put_nodes(&encoder, row);
		if (bytes->failed)
			status = sonde_fail_nomem(err);
	}
	free(row);
	free(encoder.places);
	free(encoder.place_of);
	free(encoder.first_value);
	free(encoder.order);
	free(encoder.has_child);
	return status;
}
