/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the texts of an annotation's site into the log of modules, in as many entries as they take.
 * Several threads may do so for one site at a time: the launcher then hears of it twice.
 */
#include <sonde/arguments.h>

#include "runtime/annotate.h"
#include "runtime/system.h"

#define X(name, word, size) word,
static const char *const words[] = { SONDE_ARGUMENT_TYPE_LIST(X) };
#undef X

_Static_assert((int)SONDE_ANNOTATE_U32 == SONDE_ARGUMENT_UINT32 &&
		       (int)SONDE_ANNOTATE_F64 == SONDE_ARGUMENT_FLOAT64 &&
		       (int)SONDE_ANNOTATE_STR == SONDE_ARGUMENT_UTF8 &&
		       (int)SONDE_ANNOTATE_JSON == SONDE_ARGUMENT_ANY,
	       "types of annotations are those of arguments");

struct log_text {
	uint64_t site;
	struct shared_module *entry; /* NULL: the launcher is gone */
	uint64_t number;	     /* of the entry, */
	uint64_t first;		     /* and of the first for this site */
	uint64_t part;
};

static void begin_part(struct log_text *text)
{
	text->entry = rt_log_begin(&text->number);
	if (!text->entry)
		return;
	if (!text->part)
		text->first = text->number;
	text->entry->news = MODULE_SITE;
	text->entry->base = text->site;
	text->entry->low = text->first;
	text->entry->high = text->part++;
}

static void put_char(struct log_text *text, char c)
{
	if (text->entry && text->entry->path_size == sizeof(text->entry->path)) {
		rt_log_end(text->entry, text->number);
		begin_part(text);
	}
	if (text->entry)
		text->entry->path[text->entry->path_size++] = c;
}

static void put_text(struct log_text *text, const char *from)
{
	for (; from && *from; from++)
		put_char(text, *from);
}

static void put_number(struct log_text *text, uint32_t number)
{
	char digits[12];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		put_char(text, digits[--count]);
	put_char(text, '\0');
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* An expression as the name of an argument: "p->width" becomes "p_width". */
static void put_name(struct log_text *text, const char *name)
{
	bool gap = false, begun = false;

	for (; name && *name; name++) {
		bool digit = *name >= '0' && *name <= '9';

		if (!is_letter(*name) && !digit && !((unsigned char)*name & 0x80)) {
			gap = begun;
			continue;
		}
		if (gap || (digit && !begun))
			put_char(text, '_');
		put_char(text, *name);
		gap = false;
		begun = true;
	}
	if (!begun)
		put_text(text, "value");
}

static void put_signature(struct log_text *text, const struct sonde_annotate_site *site)
{
	for (unsigned int i = 0; i < site->count; i++) {
		const struct sonde_annotate_parameter *parameter = &site->parameters[i];
		unsigned int type = parameter->type & ~(unsigned int)SONDE_ANNOTATE_ARRAY;

		if (i)
			put_text(text, ", ");
		put_text(text, words[type < sizeof(words) / sizeof(words[0]) ? type : 0]);
		if (parameter->type & SONDE_ANNOTATE_ARRAY)
			put_text(text, "[]");
		put_char(text, ' ');
		put_name(text, parameter->name);
	}
	put_char(text, '\0');
}

static uint32_t find_shape(unsigned int type)
{
	size_t size = rt_number_size(type & ~(unsigned int)SONDE_ANNOTATE_ARRAY);

	if (!size)
		return RT_SHAPE_TEXT;
	if (type & SONDE_ANNOTATE_ARRAY)
		return RT_SHAPE_ARRAY + (uint32_t)__builtin_ctzll(size);
	return size > 4 ? RT_SHAPE_WORD : RT_SHAPE_HALF;
}

static uint32_t find_shapes(const struct sonde_annotate_site *site)
{
	uint32_t shapes = 0;

	for (unsigned int i = 0; i < site->count; i++)
		shapes |= find_shape(site->parameters[i].type) << i * RT_SHAPE_BITS;
	return shapes;
}

void rt_announce(struct sonde_annotate_site *site)
{
	struct log_text text = { .site = (uint64_t)site & UNIT_FUNCTION_MASK };
	uint64_t mask = rt_block_signals(); /* an entry that is begun must be ended */

	begin_part(&text);
	put_number(&text, site->kind);
	put_number(&text, site->line);
	put_text(&text, site->name);
	put_char(&text, '\0');
	put_signature(&text, site);
	put_text(&text, site->file);
	put_char(&text, '\0');
	if (text.entry) {
		text.entry->high |= SITE_LAST;
		rt_log_end(text.entry, text.number);
		site->shape = find_shapes(site);
		__atomic_store_n(&site->state, rt_process->generation, __ATOMIC_RELEASE);
	}
	rt_restore_signals(mask);
}
