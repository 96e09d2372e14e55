/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes annotations into the thread's ring: see <sonde/annotate.h>. The hot path is as that of a
 * hook, with the arguments packed straight into the ring behind the unit. What is too long for one
 * record comes in pieces before it. No lock, no system call and no allocation, but for the first
 * use of a site, which tells the launcher about it.
 */
#include "runtime/annotate.h"

#include <string.h>

#include "runtime/record.h"

/* Until it is known whether anybody records, they ask. */
RT_PUBLIC uint32_t sonde_annotate_on = 1;

struct note {
	enum unit_kind kind;
	struct sonde_annotate_site *site;
	uint64_t stack, place;
	const struct sonde_annotate_value *values; /* or NULL: */
	const void *data;			   /* all of it, as it is */
	size_t size;				   /* packed */
};

static inline uint64_t site_bits(const struct sonde_annotate_site *site)
{
	return (uint64_t)site & UNIT_FUNCTION_MASK;
}

/* ---- packing ---- */

/* Words of eight bytes go to the ring; all that is packed is made of whole halves of them. */
struct packer {
	volatile uint64_t *to;
	volatile uint64_t *header; /* of the detail: this word is not ours */
	volatile uint64_t *end;	   /* of the record */
	uint32_t low;		   /* first half of the next word, */
	bool half;		   /* where there is one */

	/* Of an annotation that comes in pieces. */
	struct rt_taken taken;
	uint64_t number, done, size;
	bool lost;
};

static RT_COLD void next_piece(struct packer *packer);

static inline __attribute__((always_inline)) void put_word(struct packer *packer, uint64_t word,
							   const bool pieces)
{
	if (packer->to == packer->header)
		packer->to++;
	if (pieces && packer->to == packer->end)
		next_piece(packer);
	if (pieces && packer->lost)
		return;
	rt_store(packer->to, word);
	if (((uintptr_t)packer->to & 31) == 24 && rt_looks_like_unit(word))
		rt_thread.ring->details = 1;
	packer->to++;
}

static inline __attribute__((always_inline)) void put_half(struct packer *packer, uint32_t value,
							   const bool pieces)
{
	if (packer->half)
		put_word(packer, (uint64_t)value << 32 | packer->low, pieces);
	packer->low = value;
	packer->half = !packer->half;
}

static inline __attribute__((always_inline)) void put_whole(struct packer *packer, uint64_t value,
							    const bool pieces)
{
	if (!packer->half) {
		put_word(packer, value, pieces);
		return;
	}
	put_word(packer, value << 32 | packer->low, pieces);
	packer->low = (uint32_t)(value >> 32);
}

/* 1 to 7 bytes; `more`: eight can be read before them. */
static inline uint64_t last_bytes(const char *from, size_t count, bool more)
{
	uint64_t word = 0;
	uint32_t low, high;

	if (more) {
		__builtin_memcpy(&word, from + count - sizeof(word), sizeof(word));
		return word >> (sizeof(word) - count) * 8;
	}
	if (count >= 4) {
		__builtin_memcpy(&low, from, sizeof(low));
		__builtin_memcpy(&high, from + count - sizeof(high), sizeof(high));
		return low | (uint64_t)high << (count - 4) * 8;
	}
	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)(unsigned char)from[i] << i * 8;
	return word;
}

static inline __attribute__((always_inline)) void
put_bytes(struct packer *packer, const void *bytes, size_t size, const bool pieces)
{
	const char *from = bytes;
	size_t left = size;
	uint64_t word = 0;

	for (; left >= sizeof(word); left -= sizeof(word), from += sizeof(word)) {
		__builtin_memcpy(&word, from, sizeof(word));
		put_whole(packer, word, pieces);
	}
	if (!left)
		return;
	word = last_bytes(from, left, size > left);
	put_half(packer, (uint32_t)word, pieces);
	if (left > 4)
		put_half(packer, (uint32_t)(word >> 32), pieces);
}

static inline size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static RT_COLD void count_cut(uint64_t count)
{
	struct shared_process *slots = rt_shared(rt_control->processes);

	atomic_fetch_add(&slots[rt_process->slot].cut_arguments, count);
}

/* How many items of a text or an array are kept, where `room` bytes are left for them. */
static size_t kept_items(const struct sonde_annotate_parameter *parameter,
			 const struct sonde_annotate_value *value, size_t room, size_t *item_size)
{
	unsigned int type = parameter->type & ~(unsigned int)SONDE_ANNOTATE_ARRAY;
	bool is_text = !(parameter->type & SONDE_ANNOTATE_ARRAY);
	size_t most, count;

	*item_size = is_text ? 1 : rt_number_size(type);
	if (room > ANNOTATION_ITEM_MAX)
		room = ANNOTATION_ITEM_MAX;
	most = *item_size ? room / *item_size : 0;
	if (!is_text)
		return value->number < most ? value->number : most;
	count = strnlen(value->bytes, most);
	if (RT_LIKELY(count < most))
		return count;
	/* not in the middle of a character */
	for (size_t i = 0;
	     i < 3 && count && (((const unsigned char *)value->bytes)[count] & 0xc0) == 0x80; i++)
		count--;
	return count;
}

/*
 * Goes through the arguments: gives their packed size, or, with a packer, packs them. Both times
 * the same is cut; texts that change meanwhile are kept to the length that they had.
 */
static size_t measure(const struct note *note, uint32_t counts[])
{
	const struct sonde_annotate_site *site = note->site;
	size_t size = 0, item_size;
	uint64_t cut = 0;

	for (unsigned int i = 0; i < site->count; i++) {
		const struct sonde_annotate_parameter *parameter = &site->parameters[i];
		const struct sonde_annotate_value *value = &note->values[i];
		size_t number = rt_number_size(parameter->type), kept;

		if (number) {
			size += number > 4 ? 8 : 4;
			continue;
		}
		size += 4;
		counts[i] = UINT32_MAX;
		if (!value->bytes)
			continue;
		kept = kept_items(parameter, value,
				  size < ANNOTATION_MAX ? ANNOTATION_MAX - size : 0, &item_size);
		counts[i] = (uint32_t)kept;
		if (parameter->type & SONDE_ANNOTATE_ARRAY)
			cut += kept < value->number;
		else
			cut += ((const char *)value->bytes)[kept] != '\0';
		size += padded(kept * item_size);
	}
	if (RT_UNLIKELY(cut))
		count_cut(cut);
	return size;
}

static inline __attribute__((always_inline)) void
pack(struct packer *packer, const struct note *note, const uint32_t counts[], const bool pieces)
{
	const struct sonde_annotate_site *site = note->site;

	if (!note->values) {
		put_bytes(packer, note->data, note->size, pieces);
		return;
	}
	for (unsigned int i = 0; i < site->count; i++) {
		unsigned int type = site->parameters[i].type;
		size_t size = rt_number_size(type);

		if (size == 8) {
			put_whole(packer, note->values[i].number, pieces);
		} else if (size) { /* its other bytes are 0 */
			put_half(packer, (uint32_t)note->values[i].number, pieces);
		} else {
			put_half(packer, counts[i], pieces);
			if (counts[i] == UINT32_MAX)
				continue;
			size = type & SONDE_ANNOTATE_ARRAY ?
				       rt_number_size(type & ~(unsigned int)SONDE_ANNOTATE_ARRAY) :
				       1;
			put_bytes(packer, note->values[i].bytes, counts[i] * size, pieces);
		}
	}
}

/* Nothing more in this record: what is left there from before must not look like a unit. */
static inline void end_words(struct packer *packer)
{
	uintptr_t at = (uintptr_t)packer->to;

	if (packer->to > packer->header + 1 && (at & 31) && (at & 31) <= 24)
		rt_store((volatile uint64_t *)((at & ~(uintptr_t)31) + 24), 0);
}

static inline void start_words(struct packer *packer, const struct rt_place *place)
{
	packer->to = (volatile uint64_t *)(place->unit + UNIT);
	packer->header = packer->to + 3;
	packer->low = 0;
	packer->half = false;
}

static inline uint64_t detail_word(size_t size, uint64_t flags, uint64_t units)
{
	return size | flags << 16 | units << 32;
}

/* ---- in pieces ---- */

static void end_piece(struct packer *packer)
{
	uint64_t held = packer->size - packer->done;

	if (held > ANNOTATION_BYTES_MAX)
		held = ANNOTATION_BYTES_MAX;
	end_words(packer);
	rt_store(packer->header, detail_word(held, 0, annotation_units(held)));
	rt_put(&packer->taken.place, UNIT_PIECE | UNIT_DETAIL, 0, packer->number, packer->done);
	rt_end_taken(&packer->taken);
	packer->done += held;
}

static void begin_piece(struct packer *packer)
{
	uint64_t left = packer->size - packer->done;
	uint64_t units = left > ANNOTATION_BYTES_MAX ? ANNOTATION_UNITS : annotation_units(left);

	packer->lost = !rt_take(&packer->taken, units * UNIT);
	if (packer->lost)
		return;
	packer->to = (volatile uint64_t *)(packer->taken.place.unit + UNIT);
	packer->header = packer->to + 3;
	packer->end = (volatile uint64_t *)(packer->taken.place.unit + units * UNIT);
}

static void next_piece(struct packer *packer)
{
	if (packer->lost)
		return;
	end_piece(packer);
	begin_piece(packer);
}

static RT_COLD bool write_pieces(const struct note *note, const uint32_t counts[])
{
	struct packer packer = {
		.number = __atomic_add_fetch(&rt_thread.pieces, 1, __ATOMIC_RELAXED),
		.size = note->size,
	};
	struct rt_taken taken;
	volatile uint64_t *to;

	begin_piece(&packer);
	if (!packer.lost)
		pack(&packer, note, counts, true);
	if (!packer.lost && packer.half)
		put_word(&packer, packer.low, true);
	if (packer.lost)
		return false;
	end_piece(&packer);
	if (!rt_take(&taken, 2 * UNIT))
		return false;
	to = (volatile uint64_t *)(taken.place.unit + UNIT);
	rt_store(&to[0], packer.number);
	rt_store(&to[1], note->size);
	rt_store(&to[2], 0);
	rt_store(&to[3], detail_word(0, SHARED_DETAIL_PIECES, 2));
	rt_put(&taken.place, note->kind | UNIT_DETAIL, site_bits(note->site), note->stack,
	       note->place);
	rt_end_taken(&taken);
	return true;
}

/* ---- records ---- */

static bool write_small(const struct note *note, const uint32_t counts[])
{
	uint64_t units = annotation_units(note->size);
	struct rt_taken taken;
	struct packer packer;

	if (!rt_take(&taken, units * UNIT))
		return false;
	start_words(&packer, &taken.place);
	pack(&packer, note, counts, false);
	if (packer.half)
		put_word(&packer, packer.low, false);
	end_words(&packer);
	rt_store(packer.header, detail_word(note->size, 0, units));
	rt_put(&taken.place, note->kind | UNIT_DETAIL, site_bits(note->site), note->stack,
	       note->place);
	rt_end_taken(&taken);
	return true;
}

static bool write_unit(const struct note *note)
{
	struct rt_taken taken;

	if (!rt_take(&taken, UNIT))
		return false;
	rt_put(&taken.place, note->kind, site_bits(note->site), note->stack, note->place);
	rt_end_taken(&taken);
	return true;
}

static __attribute__((noinline)) bool write_note(struct note *note)
{
	uint32_t counts[8];

	if (note->values)
		note->size = measure(note, counts);
	if (RT_UNLIKELY(note->size > ANNOTATION_BYTES_MAX))
		return write_pieces(note, counts);
	return note->values || note->data ? write_small(note, counts) : write_unit(note);
}

/* Whether to write it, where that is not plain; sets up what is not yet. */
static RT_COLD bool is_wanted(struct sonde_annotate_site *site, uint64_t stack, uint64_t code)
{
	if (RT_UNLIKELY(!rt_process->generation) && !rt_start())
		return false;
	if (rt_control->mode <= MODE_OFF)
		return false;
	if (RT_UNLIKELY(rt_thread.loading))
		rt_load_check(stack, code);
	if (rt_is_paused()) {
		rt_note_pause();
		return false;
	}
	if (site->state != rt_process->generation)
		rt_announce(site);
	return site->state == rt_process->generation;
}

static inline bool is_plain(const struct sonde_annotate_site *site)
{
	return RT_LIKELY(rt_is_plain() &&
			 *(volatile const uint32_t *)&site->state == rt_process->generation);
}

/* The rest of the way where a record does not fit into its chunk. */
static RT_COLD bool write_late(struct rt_place place, uint64_t word, uint64_t stack,
			       uint64_t number)
{
	uint64_t mask;

	if (!rt_place_blocked(&place, place.unit, UNIT, &mask))
		return false;
	rt_put(&place, 0, word, stack, number);
	rt_restore_signals(mask);
	return true;
}

/* The hot path of what has no arguments. */
static inline __attribute__((always_inline)) bool
write_plain(enum unit_kind kind, struct sonde_annotate_site *site, uint64_t stack, uint64_t number)
{
	struct rt_place place;

	if (RT_UNLIKELY(!rt_place_take(&place, UNIT)))
		return write_late(place, site_bits(site) | (uint64_t)kind << UNIT_KIND_SHIFT, stack,
				  number);
	rt_put(&place, kind, site_bits(site), stack, number);
	return true;
}

/* Whatever it takes: long texts, another clock, no arguments. */
static RT_COLD bool write_long(enum unit_kind kind, struct sonde_annotate_site *site,
			       const struct sonde_annotate_value *values, uint64_t stack,
			       uint64_t place)
{
	struct note note = {
		.kind = kind,
		.site = site,
		.stack = stack,
		.place = place,
		.values = values,
	};

	return write_note(&note);
}

/* ---- the hot path of what has arguments ---- */

/*
 * Arguments are packed on the stack and then copied to the ring, since their size must be known
 * before a place is taken, and what is packed has a word of the detail in its middle. The clock is
 * read in between: until then what was stored in parts can be loaded as words without a wait.
 */
enum {
	STAGE_BYTES = ANNOTATION_HEAD + 7 * 32,
	STAGE_MORE = 8 * 12 + 32, /* numbers and sizes are not compared with the end; padding */
};

static inline __attribute__((always_inline)) char *stage_half(char *to, uint32_t value)
{
	__builtin_memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static inline __attribute__((always_inline)) char *stage_word(char *to, uint64_t value)
{
	__builtin_memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

/* With padding. What overlaps is copied twice. */
static inline __attribute__((always_inline)) char *stage_bytes(char *to, const char *from,
							       size_t size)
{
	if (size >= 8) {
		for (size_t i = 0; i < size - 8; i += 8)
			__builtin_memcpy(to + i, from + i, 8);
		__builtin_memcpy(to + size - 8, from + size - 8, 8);
	} else if (size >= 4) {
		__builtin_memcpy(to, from, 4);
		__builtin_memcpy(to + size - 4, from + size - 4, 4);
	} else if (size) {
		to[0] = from[0];
		to[size / 2] = from[size / 2];
		to[size - 1] = from[size - 1];
	}
	stage_half(to + size, 0);
	return to + padded(size);
}

/* The highest bit of the first byte that is 0; bits above that say nothing. */
static inline uint64_t zero_byte(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
}

/*
 * The size of a text, or something above STAGE_BYTES. Loads aligned words only: they never reach
 * into a page that the text has no part of.
 */
static inline __attribute__((always_inline)) size_t text_size(const char *text)
{
	uintptr_t from = (uintptr_t)text & ~(uintptr_t)7;
	uint64_t before = ~(UINT64_MAX << ((uintptr_t)text & 7) * 8);
	uint64_t found = zero_byte(*(const volatile uint64_t *)from | before);

	while (!found) {
		from += 8;
		if (RT_UNLIKELY(from > (uintptr_t)text + STAGE_BYTES))
			return from - (uintptr_t)text;
		found = zero_byte(*(const volatile uint64_t *)from);
	}
	return from + (unsigned int)__builtin_ctzll(found) / 8 - (uintptr_t)text;
}

/* A text or an array. NULL: it is too long for here. */
static inline __attribute__((always_inline)) char *
stage_many(char *to, const char *end, const struct sonde_annotate_value *value, uint32_t shape)
{
	size_t count, size;

	if (!value->bytes)
		return stage_half(to, UINT32_MAX);
	if (shape == RT_SHAPE_TEXT) {
		count = size = text_size(value->bytes);
	} else {
		count = value->number;
		if (RT_UNLIKELY(count > STAGE_BYTES))
			return NULL;
		size = count << (shape - RT_SHAPE_ARRAY);
	}
	to = stage_half(to, (uint32_t)count);
	return RT_LIKELY(to + size <= end) ? stage_bytes(to, value->bytes, size) : NULL;
}

/* Where what is packed ends, and zeros begin; NULL: it is too long for here. */
static inline __attribute__((always_inline)) char *
stage_values(char *to, const struct sonde_annotate_value *values, uint32_t shapes)
{
	const char *end = to + STAGE_BYTES;

	do {
		uint32_t shape = shapes & RT_SHAPE_MASK;

		if (shape == RT_SHAPE_HALF) /* the other bytes are 0 */
			to = stage_half(to, (uint32_t)values->number);
		else if (shape == RT_SHAPE_WORD)
			to = stage_word(to, values->number);
		else
			to = stage_many(to, end, values, shape);
		if (RT_UNLIKELY(!to))
			return NULL;
		values++;
		shapes >>= RT_SHAPE_BITS;
	} while (shapes);
	for (size_t i = 0; i < UNIT; i += sizeof(uint64_t))
		stage_word(to + i, 0);
	return to;
}

static inline __attribute__((always_inline)) void
put_staged(const struct rt_place *place, const uint64_t words[], size_t size, uint64_t units)
{
	volatile uint64_t *to = (volatile uint64_t *)(place->unit + UNIT);

	rt_store(&to[0], words[0]);
	rt_store(&to[1], words[1]);
	rt_store(&to[2], words[2]);
	rt_store(&to[3], detail_word(size, 0, units));
	for (words += 3; units > 2; units--, words += 4) {
		to += 4;
		rt_copy_unit(to, words);
	}
}

/* The rest of the way where what is staged does not fit into its chunk; `note` has its words. */
static RT_COLD bool write_staged_late(const struct note *note, struct rt_place place)
{
	uint64_t units = annotation_units(note->size), mask;

	if (!rt_place_blocked(&place, place.unit, units * UNIT, &mask))
		return false;
	put_staged(&place, note->data, note->size, units);
	rt_put(&place, note->kind | UNIT_DETAIL, site_bits(note->site), note->stack, note->place);
	rt_restore_signals(mask);
	return true;
}

static __attribute__((noinline)) bool write_values(enum unit_kind kind,
						   struct sonde_annotate_site *site,
						   const struct sonde_annotate_value *values,
						   uint64_t stack, uint64_t number)
{
	uint64_t words[(STAGE_BYTES + STAGE_MORE) / sizeof(uint64_t)], units;
	const char *end = stage_values((char *)words, values, site->shape);
	struct rt_place place;
	size_t size;

	if (RT_UNLIKELY(!end))
		return write_long(kind, site, values, stack, number);
	size = (size_t)(end - (const char *)words);
	units = annotation_units(size);
	if (RT_UNLIKELY(!rt_place_take(&place, units * UNIT)))
		return write_staged_late(&(struct note){ .kind = kind,
							 .site = site,
							 .stack = stack,
							 .place = number,
							 .data = words,
							 .size = size },
					 place);
	put_staged(&place, words, size, units);
	rt_put(&place, kind | UNIT_DETAIL, site_bits(site), stack, number);
	return true;
}

static RT_COLD bool write_general(enum unit_kind kind, struct sonde_annotate_site *site,
				  const struct sonde_annotate_value *values, uint64_t stack,
				  uint64_t code, uint64_t place)
{
	if (!is_plain(site) && !is_wanted(site, stack, code))
		return false;
	if (values && rt_control->clock == SHARED_CLOCK_TSC)
		return write_values(kind, site, values, stack, place);
	return write_long(kind, site, values, stack, place);
}

static inline __attribute__((always_inline)) bool
annotate(enum unit_kind kind, struct sonde_annotate_site *site,
	 const struct sonde_annotate_value *values, uint64_t stack, uint64_t code, uint64_t place)
{
	if (!is_plain(site))
		return write_general(kind, site, values, stack, code, place);
	if (!values)
		return write_plain(kind, site, stack, place);
	return write_values(kind, site, values, stack, place);
}

#define STACK() ((uint64_t)__builtin_dwarf_cfa())
#define CODE() ((uint64_t)__builtin_return_address(0))

RT_PUBLIC bool sonde_annotate_begin(struct sonde_annotate_site *site,
				    const struct sonde_annotate_value *values, uintptr_t object)
{
	return annotate(site->kind == SONDE_ANNOTATE_ZONE ? UNIT_ZONE : UNIT_SCOPE, site,
			site->count ? values : NULL, STACK(), CODE(), object);
}

RT_PUBLIC void sonde_annotate_end(struct sonde_annotate_site *site, uintptr_t object)
{
	annotate(site->kind == SONDE_ANNOTATE_ZONE ? UNIT_ZONE_END : UNIT_SCOPE_END, site, NULL,
		 STACK(), CODE(), object);
}

RT_PUBLIC void sonde_annotate_event(struct sonde_annotate_site *site,
				    const struct sonde_annotate_value *values, uint64_t number)
{
	annotate(UNIT_EVENT, site, site->count ? values : NULL, STACK(), CODE(), number);
}

RT_PUBLIC void sonde_annotate_resource(struct sonde_annotate_site *site, const void *data,
				       size_t size)
{
	struct note note = {
		.kind = UNIT_EVENT,
		.site = site,
		.stack = STACK(),
		.data = data ? data : "",
		.size = data ? size : 0,
	};
	struct shared_process *slots;

	if (!is_plain(site) && !is_wanted(site, note.stack, CODE()))
		return;
	if (size > RESOURCE_MAX) {
		slots = rt_shared(rt_control->processes);
		atomic_fetch_add(&slots[rt_process->slot].refused_resources, 1);
		return;
	}
	write_note(&note);
}
