/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the decoders of the generations share: a place in the bytes, the order of bytes, what to do
 * with a fault, and the parts that all generations have. Inside of the format only.
 */
#ifndef SONDE_HPCRUN_DECODE_H
#define SONDE_HPCRUN_DECODE_H

#include "base/bytes.h"
#include "base/hash.h"
#include "formats/hpcrun/hpcrun_findings.h"
#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_profile.h"

/* Epochs beyond are not read: each is a profile of its own, and each costs a walk over the file. */
#define HPCRUN_EPOCH_LIMIT 64

struct hpcrun_decoder {
	struct sonde_bytes bytes;
	bool little_endian;
	struct hpcrun_profile *profile;
	struct sonde_diagnostics *diagnostics; /* NULL: every error ends the decoding */
	const char *file;		       /* for findings */
	struct sonde_error *err;
};

/*
 * An error in the file. Without diagnostics the decoding fails: returns SONDE_CORRUPT, or
 * SONDE_TRUNCATED for a CUT. With them it becomes a finding, and SONDE_END says that the caller goes
 * on with what is whole. The text is what was expected, a tab, what was found.
 */
enum sonde_status hpcrun_fault(struct hpcrun_decoder *decoder, enum hpcrun_finding_number number,
			       uint64_t offset, const char *expected_tab_found, ...)
	__attribute__((format(printf, 4, 5)));

static inline uint16_t hpcrun_u16(struct hpcrun_decoder *decoder)
{
	uint16_t value = sonde_bytes_u16le(&decoder->bytes);

	return decoder->little_endian ? value : __builtin_bswap16(value);
}

static inline uint32_t hpcrun_u32(struct hpcrun_decoder *decoder)
{
	uint32_t value = sonde_bytes_u32le(&decoder->bytes);

	return decoder->little_endian ? value : __builtin_bswap32(value);
}

static inline uint64_t hpcrun_u64(struct hpcrun_decoder *decoder)
{
	uint64_t value = sonde_bytes_u64le(&decoder->bytes);

	return decoder->little_endian ? value : __builtin_bswap64(value);
}

static inline uint16_t hpcrun_load_u16(const uint8_t *p, bool little_endian)
{
	uint16_t value = sonde_load_u16le(p);

	return little_endian ? value : __builtin_bswap16(value);
}

static inline uint32_t hpcrun_load_u32(const uint8_t *p, bool little_endian)
{
	return little_endian ? sonde_load_u32le(p) : sonde_load_u32be(p);
}

static inline uint64_t hpcrun_load_u64(const uint8_t *p, bool little_endian)
{
	return little_endian ? sonde_load_u64le(p) : sonde_load_u64be(p);
}

/* A text in the profile's arena; "" with overrun where it does not fit, NULL where memory failed. */
const char *hpcrun_text(struct hpcrun_decoder *decoder);

/*
 * Whether `count` things of at least `size` bytes can still follow. Else a CUT, as hpcrun_fault(), with
 * `what` in its message.
 */
enum sonde_status hpcrun_expect(struct hpcrun_decoder *decoder, uint64_t count, size_t size,
				const char *what);

/* The lists that generations share. SONDE_END: cut, and what is whole was taken. */
enum sonde_status hpcrun_decode_pairs(struct hpcrun_decoder *decoder);
enum sonde_status hpcrun_decode_modules(struct hpcrun_decoder *decoder);
/* `has_more`: the layout of later 02.00b files and of 04.00. */
enum sonde_status hpcrun_decode_metrics(struct hpcrun_decoder *decoder, bool has_more);

/* The value of bits of a metric; false where it is not to be kept: 0, or no finite number. */
bool hpcrun_value_of(const struct hpcrun_metric *metric, uint64_t bits, double *value);

/* Empties everything, keeping the memory. */
void hpcrun_profile_clear(struct hpcrun_profile *profile);

/* The decoders of the generations, from the bytes behind the magic on. */
enum sonde_status hpcrun_decode_04(struct hpcrun_decoder *decoder);
enum sonde_status hpcrun_decode_02(struct hpcrun_decoder *decoder, uint32_t epoch,
				   uint32_t *epochs);

/*
 * Node ids -> index, and which modules there are. Ids that lie close together are a plain table, others
 * are hashed.
 */
struct hpcrun_ids {
	bool is_dense;
	uint32_t first;		/* dense: the id of slot 0 */
	unsigned int shift;	/* hashed */
	size_t size;		/* slots in use */
	uint32_t *slots;	/* index of a node, UINT32_MAX: none */
	size_t capacity;	/* of slots */
	uint64_t modules[1024]; /* a bit for each number of a module */
};

/* The profile's ids, made where there are none; NULL where memory failed. */
struct hpcrun_ids *hpcrun_ids_of(struct hpcrun_profile *profile);
/* Empty slots for `count` ids between these. False where memory failed. */
bool hpcrun_ids_begin(struct hpcrun_ids *ids, uint32_t lowest, uint32_t highest, size_t count);

static inline size_t hpcrun_ids_hash(const struct hpcrun_ids *ids, uint32_t id)
{
	return (size_t)(((id ^ (uint64_t)(uintptr_t)ids->slots) * SONDE_HASH_FACTOR_1) >>
			ids->shift);
}

/* The slot of an id: either it is there, or it is free. Dense ids must be within first and size. */
static inline uint32_t *hpcrun_ids_slot(const struct hpcrun_ids *ids,
					const struct hpcrun_node *nodes, uint32_t id)
{
	size_t i;

	if (ids->is_dense)
		return &ids->slots[id - ids->first];
	i = hpcrun_ids_hash(ids, id);
	while (ids->slots[i] != UINT32_MAX && nodes[ids->slots[i]].id != id)
		i = (i + 1) & (ids->size - 1);
	return &ids->slots[i];
}

static inline uint32_t hpcrun_ids_find(const struct hpcrun_ids *ids,
				       const struct hpcrun_node *nodes, uint32_t id)
{
	if (ids->is_dense) {
		uint32_t distance = id - ids->first;

		return distance < ids->size ? ids->slots[distance] : UINT32_MAX;
	}
	return *hpcrun_ids_slot(ids, nodes, id);
}

static inline bool hpcrun_ids_has_module(const struct hpcrun_ids *ids, uint16_t module)
{
	return ids->modules[module >> 6] >> (module & 63) & 1;
}

/*
 * Sets the numbers that nodes may name: those that are `always` there, and those of the modules that the
 * profile lists. One that is listed and there already is told.
 */
void hpcrun_note_modules(struct hpcrun_decoder *decoder, const uint16_t *always, size_t count);

#endif
