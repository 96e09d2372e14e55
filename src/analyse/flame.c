/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts to frames. Frames are first made in the order of contexts, in which parents come before
 * their children; then summed up from the end, sorted by width, and numbered anew in preorder. No step
 * recurses, and all of them are linear in contexts.
 */
#include "analyse/flame.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/sort.h"
#include "model/context_frame.h"

/* A frame while frames are made. */
struct draft {
	struct flame_frame frame;
	uint32_t first_child, next_sibling; /* of those that stay, the widest first */
	bool stays;
};

struct making {
	struct flame *flame;
	const struct cct *cct;
	const struct flame_options *options;
	SONDE_VEC(struct draft) drafts;
	uint32_t *frame_of; /* by context */
	struct sonde_key_map labels;
	struct sonde_key_map children; /* by parent, label and whether it is inlined */
	struct sonde_sort_item *order; /* drafts that may stay, the widest first */
	size_t order_count;
};

/* What contexts of one label have in common. Places do not fit, but are as good as never mistaken. */
static uint64_t label_key(const struct sonde_context *context)
{
	uint64_t place = (uint64_t)context->file << 32 | context->line;

	switch (context->kind) {
	case SONDE_CONTEXT_ROOT:
		return 0;
	case SONDE_CONTEXT_ENTRY:
		return (uint64_t)context->kind << 32 | context->name;
	case SONDE_CONTEXT_FUNCTION:
		return (uint64_t)context->kind << 32 | context->function;
	default:
		place = sonde_hash_mix(place) ^ context->address;
		place = sonde_hash_mix(place) ^ context->module;
		return sonde_hash_mix(place + context->kind) | UINT64_C(1) << 63;
	}
}

static uint32_t find_label(struct making *making, uint32_t number)
{
	uint64_t key = label_key(&making->cct->contexts[number]);
	uint32_t label = sonde_key_map_find(&making->labels, key);
	struct flame_label *added;

	if (label != SONDE_NONE)
		return label;
	label = (uint32_t)making->flame->labels.count;
	added = sonde_vec_push(&making->flame->labels);
	if (!added || !sonde_key_map_add(&making->labels, key, label))
		return SONDE_NONE;
	added->context = number;
	return label;
}

/* The draft below `parent` that a context belongs to; SONDE_NONE where memory failed. */
static uint32_t find_draft(struct making *making, uint32_t number, uint32_t parent)
{
	bool inlined = making->cct->contexts[number].relation == SONDE_CONTEXT_INLINED;
	uint32_t label = find_label(making, number), found;
	uint64_t key = (uint64_t)parent << 32 | (uint64_t)label << 1 | inlined;
	struct draft *draft;

	if (label == SONDE_NONE)
		return SONDE_NONE;
	found = sonde_key_map_find(&making->children, key);
	if (found != SONDE_NONE)
		return found;
	found = (uint32_t)making->drafts.count;
	draft = sonde_vec_push(&making->drafts);
	if (!draft || !sonde_key_map_add(&making->children, key, found))
		return SONDE_NONE;
	*draft = (struct draft){
		.frame = { .parent = parent,
			   .label = label,
			   .context = number,
			   .inlined = inlined,
			   .depth = parent == SONDE_NONE ?
					    0 :
					    making->drafts.items[parent].frame.depth + 1 },
		.first_child = SONDE_NONE,
		.next_sibling = SONDE_NONE,
	};
	return found;
}

static enum sonde_status refuse_value(const struct making *making, const char *why,
				      struct sonde_error *err)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "the metric '%s' %s, so it has no widths to draw; choose another one",
			  making->cct->metrics[making->options->metric].name, why);
}

static const double *after_of(const struct making *making)
{
	return making->options->after ? making->options->after :
					making->cct->metrics[making->options->metric].self;
}

static enum sonde_status make_drafts(struct making *making, struct sonde_error *err)
{
	const struct cct *cct = making->cct;
	const double *after = after_of(making), *before = making->options->before;
	uint32_t i;

	for (i = 0; i < cct->context_count; i++) {
		const struct sonde_context *context = &cct->contexts[i];
		uint32_t above = i ? making->frame_of[context->parent] : SONDE_NONE;
		uint32_t number = sonde_context_has_frame(context) ? find_draft(making, i, above) :
								     above;
		struct flame_frame *frame;

		if (number == SONDE_NONE)
			return sonde_fail_nomem(err);
		making->frame_of[i] = number;
		frame = &making->drafts.items[number].frame;
		if (!(after[i] >= 0) || !isfinite(after[i]) ||
		    (before && (!(before[i] >= 0) || !isfinite(before[i]))))
			return refuse_value(making, "has values below zero, or none at all", err);
		frame->self += after[i];
		if (before)
			frame->before_self += before[i];
		else if (cct->calls && number != above)
			frame->calls += cct->calls[i].count;
	}
	return SONDE_OK;
}

/* Totals are made of what is drawn, so that no frame is narrower than those on it. */
static enum sonde_status sum_up(struct making *making, struct sonde_error *err)
{
	const struct cct *cct = making->cct;
	double whole = cct->metrics[making->options->metric].total[0];
	struct draft *drafts = making->drafts.items;
	size_t i;

	if (!making->drafts.count)
		return sonde_fail_nomem(err); /* never: there is a root */
	for (i = making->drafts.count; i--;) {
		struct flame_frame *frame = &drafts[i].frame, *parent;

		frame->total += frame->self;
		frame->before_total += frame->before_self;
		if (!i)
			break;
		parent = &drafts[frame->parent].frame;
		parent->total += frame->total;
		parent->before_total += frame->before_total;
	}
	if (!isfinite(drafts[0].frame.total) || !isfinite(drafts[0].frame.before_total))
		return refuse_value(making, "is too large to be added up", err);
	if (!making->options->after && fabs(drafts[0].frame.total - whole) > 1e-6 * fabs(whole))
		return refuse_value(making, "is not a sum over what was called", err);
	return SONDE_OK;
}

/* Nobody is below something that does not stay: widths only shrink, and depths grow. */
static void leave_out(struct making *making, const struct flame_frame *frame, uint32_t *count)
{
	struct draft *parent = &making->drafts.items[frame->parent];

	(*count)++;
	if (!parent->stays)
		return;
	making->flame->left_out += frame->total;
	parent->frame.left_out += frame->total;
	parent->frame.before_left_out += frame->before_total;
}

static uint64_t sort_key(double width)
{
	uint64_t bits;

	memcpy(&bits, &width, sizeof(bits)); /* of numbers that are not negative: in their order */
	return ~bits;
}

static bool sort_drafts(struct making *making)
{
	const struct draft *drafts = making->drafts.items;
	size_t i;

	if (making->drafts.count)
		making->order = malloc(making->drafts.count * sizeof(*making->order));
	if (!making->order)
		return false;
	for (i = 0; i < making->drafts.count; i++)
		making->order[i] = (struct sonde_sort_item){
			.key = sort_key(drafts[i].frame.total),
			.number = i,
		};
	making->order_count = making->drafts.count;
	return sonde_sort(making->order, making->order_count);
}

static bool has_width(const struct flame_options *options, const struct flame_frame *frame)
{
	return frame->total > 0 || (options->keep_vanished && frame->before_total > 0);
}

/* Decides who stays, and hangs them below their parents. */
static void choose(struct making *making)
{
	const struct flame_options *options = making->options;
	struct flame *flame = making->flame;
	struct draft *drafts = making->drafts.items;
	double whole = drafts[0].frame.total, narrowest = options->min_share * whole;
	uint32_t most = options->most_frames ? options->most_frames : UINT32_MAX;
	size_t i;

	flame->narrowest = options->min_share;
	for (i = 0; i < making->order_count; i++) {
		struct draft *draft = &drafts[making->order[i].number];
		struct flame_frame *frame = &draft->frame;

		if (frame->parent != SONDE_NONE && !has_width(options, frame))
			continue; /* nothing was spent there: nothing is missing */
		draft->stays = frame->parent == SONDE_NONE;
		if (!draft->stays && options->most_depth && frame->depth > options->most_depth) {
			leave_out(making, frame, &flame->deep_count);
			continue;
		}
		if (!draft->stays && (frame->total < narrowest || flame->count >= most)) {
			if (frame->total >= narrowest && frame->total > flame->narrowest * whole)
				flame->narrowest = frame->total / whole;
			leave_out(making, frame, &flame->narrow_count);
			continue;
		}
		draft->stays = true;
		flame->count++;
	}
	for (i = making->order_count; i--;) {
		uint32_t number = (uint32_t)making->order[i].number;
		struct draft *draft = &drafts[number];

		if (!draft->stays || draft->frame.parent == SONDE_NONE)
			continue;
		draft->next_sibling = drafts[draft->frame.parent].first_child;
		drafts[draft->frame.parent].first_child = number;
	}
}

/* A frame gets its number, and its place right of the last one of its parent. */
static void place_frame(struct flame *flame, uint32_t number, const struct draft *draft,
			uint32_t parent, double start)
{
	struct flame_frame *frame = &flame->frames[number];

	*frame = draft->frame;
	frame->parent = parent;
	frame->start = start;
	if (frame->depth > flame->most_depth)
		flame->most_depth = frame->depth;
}

/*
 * Preorder without recursion: down to the first child, else on to the sibling of the nearest above that
 * has one. `frame_of` is not needed any more and takes the new number of each draft.
 */
static enum sonde_status number_frames(struct making *making, struct sonde_error *err)
{
	struct flame *flame = making->flame;
	const struct draft *drafts = making->drafts.items;
	uint32_t at = 0, next = 0, parent = SONDE_NONE;
	uint32_t *numbers = malloc(making->drafts.count * sizeof(*numbers));
	double start = 0;

	flame->frames = calloc(flame->count, sizeof(*flame->frames));
	if (!numbers || !flame->frames) {
		free(numbers);
		return sonde_fail_nomem(err);
	}
	while (at != SONDE_NONE) {
		numbers[at] = next;
		place_frame(flame, next++, &drafts[at], parent, start);
		if (drafts[at].first_child != SONDE_NONE) {
			parent = numbers[at];
			at = drafts[at].first_child;
			continue;
		}
		for (; at != SONDE_NONE; at = drafts[at].frame.parent) {
			flame->frames[numbers[at]].end = next;
			if (drafts[at].next_sibling != SONDE_NONE)
				break;
		}
		if (at == SONDE_NONE)
			break;
		start = flame->frames[numbers[at]].start + drafts[at].frame.total;
		parent = flame->frames[numbers[at]].parent;
		at = drafts[at].next_sibling;
	}
	free(numbers);
	return SONDE_OK;
}

static int compare_vanished(const void *a, const void *b)
{
	const struct flame_vanished *first = a, *second = b;

	if (first->total != second->total)
		return first->total < second->total ? 1 : -1;
	return first->context < second->context ? -1 : first->context > second->context;
}

static enum sonde_status list_vanished(struct making *making, struct sonde_error *err)
{
	const struct draft *drafts = making->drafts.items;
	struct flame *flame = making->flame;
	size_t i;

	for (i = 1; i < making->drafts.count; i++) {
		const struct flame_frame *frame = &drafts[i].frame;
		struct flame_vanished *vanished;

		if (frame->total > 0 || !(frame->before_total > 0))
			continue;
		if (frame->parent && !(drafts[frame->parent].frame.total > 0))
			continue;
		vanished = sonde_vec_push(&flame->vanished);
		if (!vanished)
			return sonde_fail_nomem(err);
		*vanished = (struct flame_vanished){ .context = frame->context,
						     .total = frame->before_total };
		flame->vanished_total += frame->before_total;
	}
	if (flame->vanished.count)
		qsort(flame->vanished.items, flame->vanished.count, sizeof(*flame->vanished.items),
		      compare_vanished);
	return SONDE_OK;
}

static enum sonde_status make(struct making *making, struct sonde_error *err)
{
	enum sonde_status status;

	making->frame_of = malloc(making->cct->context_count * sizeof(*making->frame_of));
	if (!making->frame_of)
		return sonde_fail_nomem(err);
	status = make_drafts(making, err);
	if (status == SONDE_OK)
		status = sum_up(making, err);
	if (status != SONDE_OK)
		return status;
	if (!sort_drafts(making))
		return sonde_fail_nomem(err);
	choose(making);
	status = number_frames(making, err);
	if (status == SONDE_OK && making->options->before)
		status = list_vanished(making, err);
	return status;
}

enum sonde_status flame_make(struct flame *flame, const struct cct *cct,
			     const struct flame_options *options, struct sonde_error *err)
{
	struct making making = { .flame = flame, .cct = cct, .options = options };
	enum sonde_status status;

	*flame = (struct flame){ .cct = cct,
				 .metric = options->metric,
				 .is_difference = options->before != NULL };
	if (!cct->context_count || options->metric >= cct->metric_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the recording has neither calls nor values, so there is nothing "
				  "to draw");
	status = make(&making, err);
	sonde_vec_release(&making.drafts);
	sonde_key_map_release(&making.labels);
	sonde_key_map_release(&making.children);
	free(making.frame_of);
	free(making.order);
	if (status != SONDE_OK)
		flame_release(flame);
	return status;
}

void flame_release(struct flame *flame)
{
	free(flame->frames);
	sonde_vec_release(&flame->labels);
	sonde_vec_release(&flame->vanished);
	*flame = (struct flame){ 0 };
}

const char *flame_context_name(const struct cct *cct, uint32_t context, char *space, size_t size)
{
	return sonde_context_frame_name(cct->definitions, &cct->contexts[context], space, size);
}

uint32_t flame_context_module(const struct cct *cct, uint32_t context)
{
	const struct sonde_context *found = &cct->contexts[context];
	const struct sonde_function *function =
		found->function == SONDE_NONE ?
			NULL :
			sonde_definitions_function(cct->definitions, found->function);

	return function && found->kind == SONDE_CONTEXT_FUNCTION ? function->module : found->module;
}
