/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 02.00: one stream of epochs with the values of every metric in every node. Four layouts share two
 * magics; which one a file has shows only in that it comes out even at its end.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_decode.h"

/* A logical address has as many u64 as an epoch says, in reason. */
#define LOGICAL_WORDS 2
#define LOGICAL_WORDS_LIMIT 64

struct layout {
	enum hpcrun_generation generation;
	bool has_epoch_count;  /* else epochs follow until the file ends */
	bool distance_first;   /* return-address distance before granularity */
	bool has_described;    /* metrics with descriptions, modules with numbers */
	bool has_more;	       /* metrics with the four fields of later files */
	bool entry_name_first; /* module: name, where it should be, where it was */
	bool count_is_wide;    /* nodes are counted in a u64 */
	bool logical_always;   /* fields of logical unwinding whatever the flags say */
};

static const struct layout layouts_short[] = {
	{
		.generation = HPCRUN_02_00_DOCUMENT,
		.has_epoch_count = true,
		.distance_first = true,
	},
	{
		.generation = HPCRUN_02_00_CODED,
		.distance_first = true,
		.entry_name_first = true,
		.count_is_wide = true,
		.logical_always = true,
	},
};

static const struct layout layouts_long[] = {
	{
		.generation = HPCRUN_02_00_B,
		.has_described = true,
		.has_more = true,
		.count_is_wide = true,
	},
	{
		.generation = HPCRUN_02_00_B,
		.has_described = true,
		.count_is_wide = true,
	},
};

/* Modules ordered by where they were, to find that of an address. */
struct place {
	uint64_t address;
	uint32_t module;
};

struct epoch_reader {
	struct hpcrun_decoder *decoder;
	const struct layout *layout;
	bool has_logical;
	size_t logical_words;
	SONDE_VEC(struct place) places;
};

static enum sonde_status decode_metrics_short(struct hpcrun_decoder *decoder)
{
	uint32_t count = hpcrun_u32(decoder);
	enum sonde_status status = hpcrun_expect(decoder, count, 20, "metrics");

	if (!status && count > UINT16_MAX)
		status = hpcrun_fault(decoder, HPCRUN_FINDING_SECTION, decoder->bytes.position,
				      "at most %u metrics\t%u", UINT16_MAX, count);
	for (uint32_t i = 0; i < count && !status; i++) {
		struct hpcrun_metric metric = {
			.name = hpcrun_text(decoder),
			.description = "",
			.formula = "",
			.format = "",
			.type = 1,
			.show = HPCRUN_SHOWN,
			.show_percent = true,
		};
		struct hpcrun_metric *place;

		metric.flags = hpcrun_u64(decoder);
		metric.period = hpcrun_u64(decoder);
		metric.is_real = metric.flags & HPCRUN_METRIC_REAL;
		status = hpcrun_expect(decoder, 0, 1, "metric");
		if (status)
			break;
		place = metric.name ? sonde_vec_push(&decoder->profile->metrics) : NULL;
		if (!place)
			return sonde_fail_nomem(decoder->err);
		*place = metric;
	}
	return status;
}

static enum sonde_status decode_modules_short(struct epoch_reader *reader)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	uint32_t count = hpcrun_u32(decoder);
	enum sonde_status status = hpcrun_expect(decoder, count, 20, "modules");

	if (!status && count >= HPCRUN_MODULE_GPU_CONTEXT)
		status = hpcrun_fault(decoder, HPCRUN_FINDING_SECTION, decoder->bytes.position,
				      "fewer than %u modules\t%u", HPCRUN_MODULE_GPU_CONTEXT,
				      count);
	for (uint32_t i = 0; i < count && !status; i++) {
		struct hpcrun_module module = { .id = (uint16_t)(i + 1) };
		struct hpcrun_module *place;

		if (reader->layout->entry_name_first) {
			module.path = hpcrun_text(decoder);
			module.offset = hpcrun_u64(decoder);
			module.address = hpcrun_u64(decoder);
		} else {
			module.address = hpcrun_u64(decoder);
			module.offset = hpcrun_u64(decoder);
			module.path = hpcrun_text(decoder);
			module.flags = hpcrun_u32(decoder);
		}
		status = hpcrun_expect(decoder, 0, 1, "module");
		if (status)
			break;
		place = module.path ? sonde_vec_push(&decoder->profile->modules) : NULL;
		if (!place)
			return sonde_fail_nomem(decoder->err);
		*place = module;
	}
	return status;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->module > right->module) - (left->module < right->module);
}

static enum sonde_status order_places(struct epoch_reader *reader)
{
	const struct hpcrun_profile *profile = reader->decoder->profile;

	reader->places.count = 0;
	for (size_t i = 0; i < profile->modules.count; i++) {
		struct place *place = sonde_vec_push(&reader->places);

		if (!place)
			return sonde_fail_nomem(reader->decoder->err);
		place->address = profile->modules.items[i].address;
		place->module = (uint32_t)i;
	}
	if (reader->places.count)
		qsort(reader->places.items, reader->places.count, sizeof(struct place),
		      compare_places);
	return SONDE_OK;
}

/* Eight characters in place of an address: no program has code there. */
static bool is_placeholder(uint64_t ip)
{
	for (int i = 0; i < 8; i++, ip >>= 8) {
		if ((ip & 0xff) < 0x20 || (ip & 0xff) > 0x7e)
			return false;
	}
	return true;
}

/* From an address in the process to the module that was there, and the address in its file. */
static void locate(const struct epoch_reader *reader, struct hpcrun_node *node)
{
	const struct place *places = reader->places.items;
	size_t low = 0, high = reader->places.count;
	const struct hpcrun_module *module;

	if (is_placeholder(node->ip))
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places[middle].address <= node->ip)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return;
	module = &reader->decoder->profile->modules.items[places[low - 1].module];
	node->module = module->id;
	node->ip = node->ip - module->address + module->offset;
}

static size_t node_size(const struct epoch_reader *reader)
{
	return 16 + (reader->has_logical ? 4 + 8 * reader->logical_words : 0) +
	       (reader->layout->has_described ? 2 : 0) +
	       8 * reader->decoder->profile->metrics.count;
}

/* What the first versions say with a small number is what later ones say with a placeholder. */
static void name_roots(struct hpcrun_node *node, uint32_t parent)
{
	if (node->module != HPCRUN_MODULE_PLACEHOLDER)
		return;
	if (node->ip == 0 && !parent)
		node->ip = HPCRUN_PRIMARY;
	else if (node->ip == 1)
		node->ip = HPCRUN_PARTIAL;
}

static uint32_t one_node(struct epoch_reader *reader, struct hpcrun_node *node)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	uint32_t id = hpcrun_u32(decoder), parent = hpcrun_u32(decoder);
	bool is_leaf = id >> 31;

	*node = (struct hpcrun_node){
		.id = is_leaf ? -id : id,
		.parent = UINT32_MAX,
		.unwound = true,
		.is_leaf = is_leaf,
	};
	if (reader->has_logical)
		node->association = hpcrun_u32(decoder);
	if (reader->layout->has_described)
		node->module = hpcrun_u16(decoder);
	node->ip = hpcrun_u64(decoder);
	for (size_t i = 0; reader->has_logical && i < reader->logical_words; i++) {
		uint64_t word = hpcrun_u64(decoder);

		if (i < LOGICAL_WORDS)
			node->logical_ip[i] = word;
	}
	name_roots(node, parent);
	if (!reader->layout->has_described)
		locate(reader, node);
	return parent >> 31 ? -parent : parent;
}

static enum sonde_status one_nodes_values(struct epoch_reader *reader, uint32_t node)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	struct hpcrun_profile *profile = decoder->profile;

	for (size_t i = 0; i < profile->metrics.count; i++) {
		struct hpcrun_value value = { .node = node, .metric = (uint16_t)i };
		struct hpcrun_value *place;
		enum sonde_status status;

		value.bits = hpcrun_u64(decoder);
		if (hpcrun_value_of(&profile->metrics.items[i], value.bits, &value.value)) {
			place = sonde_vec_push(&profile->values);
			if (!place)
				return sonde_fail_nomem(decoder->err);
			*place = value;
		} else if (value.value != 0) {
			status = hpcrun_fault(decoder, HPCRUN_FINDING_VALUE_NUMBER,
					      decoder->bytes.position - 8,
					      "a finite number\tnone, of metric %zu", i);
			if (status < 0)
				return status;
		}
	}
	return SONDE_OK;
}

static bool has_module(const struct epoch_reader *reader, uint16_t module)
{
	const struct hpcrun_ids *ids = reader->decoder->profile->ids;

	return module == HPCRUN_MODULE_PLACEHOLDER || hpcrun_ids_has_module(ids, module);
}

/* Puts a node that was read into its place: id, parent, module. */
static enum sonde_status enter_node(struct epoch_reader *reader, uint32_t index, uint32_t parent,
				    size_t offset)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	struct hpcrun_profile *profile = decoder->profile;
	struct hpcrun_node *nodes = profile->nodes.items, *node = &nodes[index];
	enum sonde_status status = SONDE_OK;
	uint32_t *slot;

	if (parent) {
		node->parent = hpcrun_ids_find(profile->ids, nodes, parent);
		if (node->parent == UINT32_MAX)
			status = hpcrun_fault(decoder, HPCRUN_FINDING_NODE_PARENT, offset,
					      "a parent before node %u\t%u", node->id, parent);
	}
	slot = hpcrun_ids_slot(profile->ids, nodes, node->id);
	if (*slot == UINT32_MAX && node->id)
		*slot = index;
	else if (status >= 0)
		status = hpcrun_fault(decoder, HPCRUN_FINDING_NODE_ID, offset,
				      "a new number above 0\t%u", node->id);
	if (status >= 0 && !has_module(reader, node->module))
		status = hpcrun_fault(decoder, HPCRUN_FINDING_NODE_MODULE, offset,
				      "a module of node %u\tnumber %u", node->id, node->module);
	return status < 0 ? status : SONDE_OK;
}

/* The lowest and highest id of nodes that follow each other at `size` bytes. */
static void id_range(const struct hpcrun_decoder *decoder, uint64_t count, size_t size,
		     uint32_t *lowest, uint32_t *highest)
{
	const uint8_t *p = decoder->bytes.data + decoder->bytes.position;

	*lowest = UINT32_MAX;
	*highest = 0;
	for (uint64_t i = 0; i < count; i++, p += size) {
		uint32_t id = hpcrun_load_u32(p, decoder->little_endian);

		id = id >> 31 ? -id : id;
		*lowest = id < *lowest ? id : *lowest;
		*highest = id > *highest ? id : *highest;
	}
}

static enum sonde_status decode_nodes(struct epoch_reader *reader)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	struct hpcrun_profile *profile = decoder->profile;
	uint64_t count = reader->layout->count_is_wide ? hpcrun_u64(decoder) : hpcrun_u32(decoder);
	size_t size = node_size(reader);
	enum sonde_status cut = hpcrun_expect(decoder, count, size, "nodes");
	uint32_t lowest, highest;

	if (cut < 0 || decoder->bytes.overrun)
		return cut;
	if (cut)
		count = sonde_bytes_left(&decoder->bytes) / size;
	if (count >= UINT32_MAX)
		return sonde_fail(decoder->err, SONDE_LIMIT, decoder->bytes.position,
				  "%llu nodes in one profile; fewer than 4294967295 are read",
				  (unsigned long long)count);
	id_range(decoder, count, size, &lowest, &highest);
	hpcrun_note_modules(reader->decoder, NULL, 0);
	if (!sonde_vec_reserve(&profile->nodes, count) ||
	    !hpcrun_ids_begin(profile->ids, lowest, highest, count))
		return sonde_fail_nomem(decoder->err);
	for (uint64_t i = 0; i < count; i++) {
		size_t offset = decoder->bytes.position;
		uint32_t index = (uint32_t)profile->nodes.count++;
		uint32_t parent = one_node(reader, &profile->nodes.items[index]);
		enum sonde_status status = enter_node(reader, index, parent, offset);

		if (!status)
			status = one_nodes_values(reader, index);
		if (status)
			return status;
	}
	return cut;
}

static enum sonde_status decode_epoch_head(struct epoch_reader *reader)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	struct hpcrun_profile *profile = decoder->profile;
	size_t at = decoder->bytes.position, first_pair = profile->pairs.count;
	const uint8_t *tag = sonde_bytes_take(&decoder->bytes, HPCRUN_EPOCH_TAG_SIZE);
	enum sonde_status status = hpcrun_expect(decoder, 0, 1, "epoch");

	if (status)
		return status;
	if (memcmp(tag, HPCRUN_EPOCH_TAG, HPCRUN_EPOCH_TAG_SIZE) != 0)
		return hpcrun_fault(decoder, HPCRUN_FINDING_SECTION, at,
				    "\"" HPCRUN_EPOCH_TAG "\" before an epoch\tother bytes");
	profile->epoch_flags = hpcrun_u64(decoder);
	if (reader->layout->distance_first)
		profile->return_distance = hpcrun_u32(decoder);
	profile->granularity = hpcrun_u64(decoder);
	if (!reader->layout->distance_first)
		profile->return_distance = hpcrun_u32(decoder);
	status = hpcrun_decode_pairs(decoder);
	if (status < 0)
		return status;
	reader->has_logical = reader->layout->logical_always ||
			      (profile->epoch_flags & HPCRUN_EPOCH_LOGICAL);
	reader->logical_words = LOGICAL_WORDS;
	for (size_t i = first_pair; i < profile->pairs.count; i++) {
		if (!strcmp(profile->pairs.items[i].name, HPCRUN_PAIR_LOGICAL_SIZE))
			reader->logical_words = strtoul(profile->pairs.items[i].value, NULL, 10);
	}
	if (!status && reader->logical_words > LOGICAL_WORDS_LIMIT)
		status = hpcrun_fault(decoder, HPCRUN_FINDING_SECTION, at,
				      "at most %d words in a logical address\t%zu",
				      LOGICAL_WORDS_LIMIT, reader->logical_words);
	return status;
}

static enum sonde_status decode_epoch(struct epoch_reader *reader)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	enum sonde_status status = decode_epoch_head(reader);

	if (status)
		return status;
	status = reader->layout->has_described ?
			 hpcrun_decode_metrics(decoder, reader->layout->has_more) :
			 decode_metrics_short(decoder);
	if (status)
		return status;
	status = reader->layout->has_described ? hpcrun_decode_modules(decoder) :
						 decode_modules_short(reader);
	if (!status && !reader->layout->has_described)
		status = order_places(reader);
	return status ? status : decode_nodes(reader);
}

/* Forgets an epoch that is not wanted; the texts stay, which are few. */
static void forget_epoch(struct hpcrun_profile *profile, size_t pairs)
{
	profile->pairs.count = pairs;
	profile->metrics.count = profile->modules.count = 0;
	profile->nodes.count = profile->values.count = 0;
}

/* Reads the wanted epoch and walks over the others. */
static enum sonde_status decode_epochs(struct epoch_reader *reader, uint32_t wanted,
				       uint32_t *epochs)
{
	struct hpcrun_decoder *decoder = reader->decoder;
	uint32_t announced = reader->layout->has_epoch_count ? hpcrun_u32(decoder) : UINT32_MAX;
	size_t pairs = decoder->profile->pairs.count;
	enum sonde_status status = hpcrun_expect(decoder, 0, 1, "count of epochs");
	bool found = false;

	for (*epochs = 0; !status && *epochs < announced; ++*epochs) {
		if (!reader->layout->has_epoch_count && !sonde_bytes_left(&decoder->bytes))
			break;
		if (*epochs == HPCRUN_EPOCH_LIMIT) {
			status = hpcrun_fault(decoder, HPCRUN_FINDING_EPOCHS,
					      decoder->bytes.position, "at most %d epochs\tmore",
					      HPCRUN_EPOCH_LIMIT);
			break;
		}
		if (!found)
			forget_epoch(decoder->profile, pairs);
		if (found) {
			struct hpcrun_profile *kept = decoder->profile, skipped = { 0 };

			decoder->profile = &skipped;
			status = hpcrun_ids_of(&skipped) ? decode_epoch(reader) :
							   sonde_fail_nomem(decoder->err);
			decoder->profile = kept;
			hpcrun_profile_release(&skipped);
		} else {
			status = decode_epoch(reader);
		}
		found = found || *epochs == wanted;
	}
	if (status < 0)
		return status;
	if (wanted && !found)
		return sonde_fail(decoder->err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no epoch %u", wanted);
	if (!status && sonde_bytes_left(&decoder->bytes))
		status = hpcrun_fault(decoder, HPCRUN_FINDING_LEFT_OVER, decoder->bytes.position,
				      "the end of the file\t%zu more bytes",
				      sonde_bytes_left(&decoder->bytes));
	return status;
}

/* A file that does not say who it is of is given what its pairs and names say. */
static void add_identity(struct hpcrun_profile *profile, uint16_t kind, const char *name, int base)
{
	const char *text = hpcrun_profile_pair(profile, name);
	struct sonde_identity *identity = &profile->identities[profile->identity_count];
	char *end;

	if (!text || !*text)
		return;
	identity->kind = kind;
	identity->logical = strtoull(text, &end, base);
	if (*end)
		return;
	identity->physical = identity->logical;
	identity->is_physical = kind == SONDE_IDENTITY_NODE;
	if (identity->is_physical)
		identity->logical = 0;
	profile->identity_count++;
}

static void make_identities(struct hpcrun_profile *profile)
{
	profile->identity_count = 0;
	add_identity(profile, SONDE_IDENTITY_NODE, "host-id", 16);
	add_identity(profile, SONDE_IDENTITY_RANK, "mpi-rank", 10);
	add_identity(profile, SONDE_IDENTITY_THREAD, "thread-id", 10);
	add_identity(profile, SONDE_IDENTITY_THREAD, "canonical-thread-id", 10);
}

static enum sonde_status decode_as(struct hpcrun_decoder *decoder, const struct layout *layout,
				   uint32_t epoch, uint32_t *epochs)
{
	struct epoch_reader reader = { .decoder = decoder, .layout = layout };
	enum sonde_status status;

	hpcrun_profile_clear(decoder->profile);
	decoder->profile->generation = layout->generation;
	decoder->bytes.overrun = false;
	decoder->bytes.position = layout->has_described ? HPCRUN_HEADER_LONG : HPCRUN_HEADER_SHORT;
	status = hpcrun_decode_pairs(decoder);
	if (!status)
		status = decode_epochs(&reader, epoch, epochs);
	sonde_vec_release(&reader.places);
	if (status >= 0) {
		make_identities(decoder->profile);
		*epochs += !*epochs;
	}
	return status;
}

enum sonde_status hpcrun_decode_02(struct hpcrun_decoder *decoder, uint32_t epoch, uint32_t *epochs)
{
	const struct layout *layouts =
		decoder->profile->generation == HPCRUN_02_00_B ? layouts_long : layouts_short;
	struct sonde_diagnostics *diagnostics = decoder->diagnostics;
	const struct layout *best = &layouts[0];
	enum sonde_status status = SONDE_CORRUPT;
	size_t furthest = 0;

	if (!hpcrun_ids_of(decoder->profile))
		return sonde_fail_nomem(decoder->err);
	decoder->diagnostics = NULL;
	for (size_t i = 0; i < 2 && status; i++) {
		status = decode_as(decoder, &layouts[i], epoch, epochs);
		if (status == SONDE_NOMEM || status == SONDE_ARGUMENT)
			return status;
		if (!status || decoder->bytes.position > furthest) {
			furthest = decoder->bytes.position;
			best = &layouts[i];
		}
	}
	decoder->diagnostics = diagnostics;
	/* where no layout fits, the one that came furthest says what is wrong */
	if (status || diagnostics)
		status = decode_as(decoder, best, epoch, epochs);
	return status;
}
