/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches over all parts. A hit first has bounds for what it is sorted by; only where bounds of slots
 * that count in seconds leave the order open are traces decoded.
 */
#include "store/search.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/sort.h"

/* A trace that was found. Keys are turned round for descending orders: smaller comes first. */
struct candidate {
	uint64_t low, high;
	uint32_t part;	 /* position in the base */
	uint32_t number; /* of the part: the order of equal keys */
	uint32_t slot;
};

struct candidates {
	SONDE_VEC(struct candidate) list;
};

struct cursor {
	bool is_set;
	uint64_t key;
	uint32_t number, slot;
};

/* A part in the order in which parts are searched. */
struct piece {
	uint32_t part;
	uint64_t best; /* no trace of it has a smaller key */
};

struct search {
	struct zts_base *base;
	const struct sonde_search_request *request;
	struct cursor after;
	struct piece *pieces;
	size_t done; /* pieces searched */
	struct candidates found;
	uint64_t unreadable;
	pthread_mutex_t lock; /* of found and unreadable, while pieces run */
};

void sonde_search_result_release(struct sonde_search_result *result)
{
	sonde_vec_release(&result->hits);
	sonde_buffer_release(&result->cursor);
}

/* Turned round for descending orders. */
static struct sonde_bounds in_order(const struct search *search, struct sonde_bounds key)
{
	if (search->request->ascending)
		return key;
	return (struct sonde_bounds){ ~key.high, ~key.low };
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Newer parts and slots come first where keys are the same, unless ascending. */
static int compare_places(const struct search *search, uint32_t number_a, uint32_t slot_a,
			  uint32_t number_b, uint32_t slot_b)
{
	int order = compare_numbers(number_a, number_b);

	if (!order)
		order = compare_numbers(slot_a, slot_b);
	return search->request->ascending ? order : -order;
}

static int compare_candidates(const void *a, const void *b, void *context)
{
	const struct candidate *left = a, *right = b;
	int order = compare_numbers(left->low, right->low);

	return order ? order :
		       compare_places(context, left->number, left->slot, right->number,
				      right->slot);
}

/* Whether a candidate may come behind the cursor; with exact keys, whether it does. */
static bool is_after(const struct search *search, const struct candidate *candidate)
{
	if (!search->after.is_set || candidate->low > search->after.key)
		return true;
	if (candidate->high < search->after.key)
		return false;
	if (candidate->low != candidate->high)
		return true;
	return compare_places(search, candidate->number, candidate->slot, search->after.number,
			      search->after.slot) > 0;
}

static bool add_candidates(struct search *search, uint32_t part_number, const struct zts_set *slots,
			   struct candidates *out)
{
	const struct zts_part *part = search->base->parts.items[part_number];
	size_t slot;

	for (slot = zts_set_next(slots, 0); slot != SIZE_MAX;
	     slot = zts_set_next(slots, slot + 1)) {
		struct sonde_bounds key = in_order(
			search, sonde_sort_key(part, (uint32_t)slot, search->request->sort));
		struct candidate candidate = { .low = key.low,
					       .high = key.high,
					       .part = part_number,
					       .number = part->number,
					       .slot = (uint32_t)slot };
		struct candidate *place;

		if (!is_after(search, &candidate))
			continue;
		place = sonde_vec_push(&out->list);
		if (!place)
			return false;
		*place = candidate;
	}
	return true;
}

static bool append(struct candidates *to, const struct candidates *from)
{
	if (!from->list.count)
		return true;
	if (!sonde_vec_reserve(&to->list, from->list.count))
		return false;
	memcpy(to->list.items + to->list.count, from->list.items,
	       from->list.count * sizeof(*from->list.items));
	to->list.count += from->list.count;
	return true;
}

/* How many are wanted, one more to know whether there is more; SIZE_MAX: all. */
static size_t wanted(const struct sonde_search_request *request)
{
	uint64_t sum;

	if (!request->limit || __builtin_add_overflow(request->limit, request->offset, &sum) ||
	    sum >= SIZE_MAX - 1)
		return SIZE_MAX;
	return (size_t)sum + 1;
}

/* The `rank`-th smallest high bound, by partition; changes the order. */
static uint64_t nth_high(uint64_t *keys, size_t count, size_t rank)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		uint64_t pivot = keys[low + (high - low) / 2];
		size_t i = low, j = high;

		while (i <= j) {
			while (keys[i] < pivot)
				i++;
			while (keys[j] > pivot)
				j--;
			if (i <= j) {
				uint64_t key = keys[i];

				keys[i++] = keys[j];
				keys[j] = key;
				if (!j--)
					break;
			}
		}
		if (rank <= j && j != SIZE_MAX)
			high = j;
		else if (rank >= i)
			low = i;
		else
			break;
	}
	return keys[rank];
}

/* Drops candidates that cannot be among the wanted ones, whatever their exact keys are. */
static bool prune(struct search *search, size_t want)
{
	struct candidates *found = &search->found;
	size_t count = found->list.count, kept = 0, i;
	uint64_t *keys, worst;

	if (count <= want)
		return true;
	keys = calloc(count, sizeof(*keys));
	if (!keys)
		return false;
	for (i = 0; i < count; i++)
		keys[i] = found->list.items[i].high;
	worst = nth_high(keys, count, want - 1);
	free(keys);
	for (i = 0; i < count; i++)
		if (found->list.items[i].low <= worst)
			found->list.items[kept++] = found->list.items[i];
	found->list.count = kept;
	return true;
}

static enum sonde_status search_piece(void *user, size_t number, struct sonde_error *err)
{
	struct search *search = user;
	uint32_t part = search->pieces[search->done + number].part;
	struct sonde_finder finder = { .look = { .part = search->base->parts.items[part],
						 .shallow = search->request->shallow } };
	struct candidates found = { 0 };
	struct zts_set slots = { 0 };
	enum sonde_status status = sonde_find(&finder, search->request->query, &slots, err);

	if (status == SONDE_OK && !add_candidates(search, part, &slots, &found))
		status = sonde_fail_nomem(err);
	pthread_mutex_lock(&search->lock);
	search->unreadable += finder.look.unreadable;
	if (status == SONDE_OK && !append(&search->found, &found))
		status = sonde_fail_nomem(err);
	pthread_mutex_unlock(&search->lock);
	sonde_vec_release(&found.list);
	zts_set_release(&slots);
	sonde_finder_release(&finder);
	return status;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	return compare_numbers(left->best, right->best);
}

static enum sonde_status best_of_piece(void *user, size_t number, struct sonde_error *err)
{
	struct search *search = user;
	struct sonde_bounds span;
	enum sonde_status status = sonde_sort_span(search->base->parts.items[number],
						   search->request->sort, &span, err);

	if (status == SONDE_OK)
		search->pieces[number] = (struct piece){ .part = (uint32_t)number,
							 .best = in_order(search, span).low };
	return status;
}

/* Enough, and no part that is left can have a better one. */
static bool is_enough(struct search *search, size_t want)
{
	size_t left = search->base->parts.count - search->done, better = 0, i;

	if (!left)
		return true;
	for (i = 0; i < search->found.list.count; i++)
		better += search->found.list.items[i].high < search->pieces[search->done].best;
	return better >= want;
}

/* Parts with the best traces first, a few at a time. */
static enum sonde_status search_parts(struct search *search, struct sonde_error *err)
{
	size_t count = search->base->parts.count, want = wanted(search->request);
	size_t batch = want == SIZE_MAX ? count : 2;
	enum sonde_status status = sonde_pool_run(count, 0, best_of_piece, search, err);

	if (status != SONDE_OK)
		return status;
	qsort(search->pieces, count, sizeof(*search->pieces), compare_pieces);
	while (status == SONDE_OK && !is_enough(search, want)) {
		if (batch > count - search->done)
			batch = count - search->done;
		status = sonde_pool_run(batch, 0, search_piece, search, err);
		search->done += batch;
		/* Where the first ones have little, much must be searched. */
		batch *= 4;
		if (status == SONDE_OK && want != SIZE_MAX && !prune(search, want))
			status = sonde_fail_nomem(err);
	}
	return status;
}

static int by_place(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	int order = compare_numbers(left->part, right->part);

	return order ? order : compare_numbers(left->slot, right->slot);
}

/* Makes keys exact, by decoding, where they are not; part by part. */
static enum sonde_status resolve(struct search *search, struct sonde_error *err)
{
	struct candidate *items = search->found.list.items;
	struct sonde_look look = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t i;

	for (i = 0; i < search->found.list.count && items[i].low == items[i].high;)
		i++;
	if (i == search->found.list.count)
		return SONDE_OK;
	qsort(items, search->found.list.count, sizeof(*items), by_place);
	for (i = 0; i < search->found.list.count && status == SONDE_OK; i++) {
		uint64_t start_ns, duration_ns, key;

		if (items[i].low == items[i].high)
			continue;
		if (look.part != search->base->parts.items[items[i].part]) {
			search->unreadable += look.unreadable;
			sonde_look_release(&look);
			look = (struct sonde_look){
				.part = search->base->parts.items[items[i].part]
			};
		}
		status = sonde_look_times(&look, items[i].slot, &start_ns, &duration_ns, err);
		key = search->request->sort == SONDE_SORT_TIME ? start_ns : duration_ns;
		items[i].low = items[i].high = search->request->ascending ? key : ~key;
	}
	search->unreadable += look.unreadable;
	sonde_look_release(&look);
	return status;
}

/* By exact keys; where they are the same, by place. */
static bool sort_candidates(const struct search *search, struct candidates *found)
{
	size_t count = found->list.count, i, end;
	struct sonde_sort_item *order = malloc(count * sizeof(*order) + 1);
	struct candidate *sorted = malloc(count * sizeof(*sorted) + 1);
	bool done = order && sorted;

	for (i = 0; i < count && done; i++)
		order[i] = (struct sonde_sort_item){ .key = found->list.items[i].low, .number = i };
	done = done && sonde_sort(order, count);
	for (i = 0; i < count && done; i++)
		sorted[i] = found->list.items[order[i].number];
	for (i = 0; i < count && done; i = end) {
		for (end = i + 1; end < count && sorted[end].low == sorted[i].low;)
			end++;
		if (end - i > 1)
			qsort_r(sorted + i, end - i, sizeof(*sorted), compare_candidates,
				(void *)search);
	}
	if (done)
		memcpy(found->list.items, sorted, count * sizeof(*sorted));
	free(order);
	free(sorted);
	return done;
}

static enum sonde_status order_candidates(struct search *search, struct sonde_error *err)
{
	struct candidates *found = &search->found;
	enum sonde_status status;
	size_t i, kept = 0;

	if (!found->list.count)
		return SONDE_OK;
	status = resolve(search, err);
	if (status != SONDE_OK)
		return status;
	for (i = 0; i < found->list.count; i++)
		if (is_after(search, &found->list.items[i]))
			found->list.items[kept++] = found->list.items[i];
	found->list.count = kept;
	return sort_candidates(search, found) ? SONDE_OK : sonde_fail_nomem(err);
}

static void put_cursor(const struct search *search, const struct cursor *cursor,
		       struct sonde_buffer *out)
{
	sonde_buffer_put_format(out, "%c%u-%016" PRIx64 "-%" PRIx32 "-%" PRIx32,
				search->request->ascending ? 'a' : 'd',
				(unsigned int)search->request->sort, cursor->key, cursor->number,
				cursor->slot);
}

/* The number behind the next dash; what is wrong with it shows when it is written again. */
static uint64_t next_hex(const char **place)
{
	char *end = NULL;
	uint64_t number = 0;

	*place += strcspn(*place, "-");
	if (**place) {
		number = strtoull(*place + 1, &end, 16);
		*place = end;
	}
	return number;
}

/* One of the same order, written exactly as it is given out. */
static bool parse_cursor(struct search *search, const char *text)
{
	struct sonde_buffer again = { 0 };
	const char *place = text;
	bool is_same;

	search->after.is_set = true;
	search->after.key = next_hex(&place);
	search->after.number = (uint32_t)next_hex(&place);
	search->after.slot = (uint32_t)next_hex(&place);
	put_cursor(search, &search->after, &again);
	is_same = sonde_buffer_text(&again) && !strcmp(again.data, text);
	sonde_buffer_release(&again);
	return is_same;
}

/* The hits of the page, with exact times. */
static enum sonde_status take_page(struct search *search, struct sonde_search_result *result,
				   struct sonde_error *err)
{
	const struct sonde_search_request *request = search->request;
	size_t count = search->found.list.count, i;
	size_t begin = request->offset < count ? (size_t)request->offset : count;
	size_t end = request->limit && request->limit < count - begin ?
			     begin + (size_t)request->limit :
			     count;
	struct sonde_look look = { 0 };
	enum sonde_status status = SONDE_OK;

	for (i = begin; i < end && status == SONDE_OK; i++) {
		const struct candidate *candidate = &search->found.list.items[i];
		struct sonde_search_hit *hit = sonde_vec_push(&result->hits);

		if (!hit) {
			status = sonde_fail_nomem(err);
			break;
		}
		*hit = (struct sonde_search_hit){
			.part = search->base->parts.items[candidate->part], .slot = candidate->slot
		};
		if (look.part != hit->part) {
			sonde_look_release(&look);
			look = (struct sonde_look){ .part = hit->part };
		}
		status = sonde_look_times(&look, hit->slot, &hit->start_ns, &hit->duration_ns, err);
	}
	sonde_look_release(&look);
	result->has_more = end < count;
	if (result->has_more && end > begin) {
		const struct candidate *last = &search->found.list.items[end - 1];
		struct cursor cursor = { .key = last->low,
					 .number = last->number,
					 .slot = last->slot };

		put_cursor(search, &cursor, &result->cursor);
	}
	if (status == SONDE_OK && result->cursor.failed)
		status = sonde_fail_nomem(err);
	return status;
}

enum sonde_status sonde_store_search(struct zts_base *base,
				     const struct sonde_search_request *request,
				     struct sonde_search_result *result, struct sonde_error *err)
{
	struct search search = { .base = base, .request = request };
	enum sonde_status status;

	*result = (struct sonde_search_result){ 0 };
	if (request->cursor && !parse_cursor(&search, request->cursor))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "'%s' is no cursor of a search in this order; take it from the "
				  "end of the page before",
				  request->cursor);
	search.pieces = calloc(base->parts.count + 1, sizeof(*search.pieces));
	if (!search.pieces)
		return sonde_fail_nomem(err);
	pthread_mutex_init(&search.lock, NULL);
	status = search_parts(&search, err);
	if (status == SONDE_OK)
		status = order_candidates(&search, err);
	if (status == SONDE_OK)
		status = take_page(&search, result, err);
	result->unreadable = search.unreadable;
	pthread_mutex_destroy(&search.lock);
	sonde_vec_release(&search.found.list);
	free(search.pieces);
	return status;
}

struct sonde_bounds sonde_base_span(const struct zts_base *base)
{
	struct sonde_bounds span = { UINT64_MAX, 0 };
	size_t i, slot;

	for (i = 0; i < base->parts.count; i++) {
		const struct zts_part *part = base->parts.items[i];

		for (slot = 0; slot < part->slots.list.count; slot++) {
			struct sonde_bounds start = sonde_trace_start(part, (uint32_t)slot);
			struct sonde_bounds duration = sonde_trace_duration(part, (uint32_t)slot);
			uint64_t end = start.high + duration.low;

			if (start.low < span.low)
				span.low = start.low;
			if (end > span.high)
				span.high = end;
		}
	}
	if (span.low == UINT64_MAX)
		span.low = 0;
	return span;
}
