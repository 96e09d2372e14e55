/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the texts of sites together, finds their event types, and keeps both. */
#include "record/sites.h"

#include <sonde/annotate.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "formats/atf/atf_arguments.h"
#include "formats/cff/cff_layout.h"

#define PARTS_AT_ONCE 256 /* sites whose texts are under way; the oldest gives way */

/* The texts of one site, as far as they came. */
struct site_part {
	uint64_t site, number, next;
	struct sonde_buffer text;
};

void site_types_release(struct site_types *types)
{
	for (size_t i = 0; i < types->items.count; i++) {
		free(types->items.items[i].name);
		free(types->items.items[i].signature);
		free(types->items.items[i].file);
		free(types->items.items[i].key);
	}
	sonde_vec_release(&types->items);
	sonde_text_map_release(&types->numbers);
}

static void free_site(struct annotation_site *site)
{
	while (site) {
		struct annotation_site *older = site->older;

		free(site->name);
		free(site);
		site = older;
	}
}

void sites_release(struct sites *sites)
{
	for (size_t i = 0; i < sites->items.count; i++)
		free_site(sites->items.items[i]);
	for (size_t i = 0; i < sites->parts.count; i++)
		sonde_buffer_release(&sites->parts.items[i].text);
	free_site(sites->mark);
	sonde_vec_release(&sites->items);
	sonde_vec_release(&sites->parts);
	sonde_vec_release(&sites->scopes);
	sonde_key_map_release(&sites->numbers);
	sonde_key_map_release(&sites->scopes_met);
}

/* What the texts of a site say. */
struct told {
	uint32_t kind, line;
	const char *name, *signature, *file;
	uint32_t flags; /* of the type */
};

/* Names and arguments that the types of other kinds than scopes and events have. */
static const struct {
	const char *name, *signature;
	uint32_t flags;
} builtins[] = {
#define X(name, text, class, flags, signature) [CFF_##name] = { text, signature, flags },
	CFF_BUILTIN_LIST(X)
#undef X
};

static void set_builtin(struct told *type, enum cff_builtin which)
{
	type->name = builtins[which].name;
	type->signature = builtins[which].signature;
	type->flags = builtins[which].flags;
}

/* The type's own texts in place of the site's. */
static struct told type_of(const struct told *site)
{
	struct told type = *site;

	switch (site->kind) {
	case SONDE_ANNOTATE_MARK:
		set_builtin(&type, CFF_MARK);
		break;
	case SONDE_ANNOTATE_FLOW_BEGIN:
		set_builtin(&type, CFF_FLOW_BRANCH);
		break;
	case SONDE_ANNOTATE_FLOW_STEP:
		set_builtin(&type, CFF_FLOW_EXTEND);
		break;
	case SONDE_ANNOTATE_FLOW_END:
		set_builtin(&type, CFF_FLOW_TERMINATE);
		break;
	case SONDE_ANNOTATE_RANGE_BEGIN:
		set_builtin(&type, CFF_RANGE_BEGIN);
		break;
	case SONDE_ANNOTATE_RANGE_END:
		set_builtin(&type, CFF_RANGE_END);
		break;
	case SONDE_ANNOTATE_FRAME_BEGIN:
		set_builtin(&type, CFF_FRAME_START);
		break;
	case SONDE_ANNOTATE_FRAME_END:
		set_builtin(&type, CFF_FRAME_END);
		break;
	case SONDE_ANNOTATE_COUNTER:
		type.signature = "float64 value";
		break;
	case SONDE_ANNOTATE_RESOURCE:
		type.name = "sonde.resource#add";
		type.signature = "uint32 resource, utf8 name";
		break;
	default:
		break;
	}
	return type;
}

/* The number of a type, which is added where it is new; UINT32_MAX where memory is out. */
static uint32_t number_type(struct site_types *types, const struct told *told)
{
	bool is_scope = told->kind == SONDE_ANNOTATE_SCOPE;
	struct sonde_buffer key = { 0 };
	struct site_type *type;
	const char *text;
	uint32_t number;

	sonde_buffer_put_format(&key, "%d\n%s\n%s", is_scope, told->name, told->signature);
	if (told->kind == SONDE_ANNOTATE_COUNTER)
		sonde_buffer_put_text(&key, "\ncounter");
	if (is_scope)
		sonde_buffer_put_format(&key, "\n%s\n%u", told->file, told->line);
	text = sonde_buffer_text(&key);
	number = text ? sonde_text_map_find(&types->numbers, text, key.size) : UINT32_MAX;
	if (number != UINT32_MAX || !text || !sonde_vec_reserve(&types->items, 1)) {
		sonde_buffer_release(&key);
		return number;
	}
	type = &types->items.items[types->items.count];
	*type = (struct site_type){
		.name = strdup(told->name),
		.signature = strdup(told->signature),
		.file = strdup(told->file),
		.line = told->line,
		.flags = told->flags,
		.is_scope = is_scope,
		.key = strdup(text),
	};
	number = (uint32_t)types->items.count++;
	if (!type->name || !type->signature || !type->file || !type->key ||
	    !sonde_text_map_add(&types->numbers, type->key, key.size, number))
		number = UINT32_MAX;
	sonde_buffer_release(&key);
	return number;
}

static struct annotation_site *new_site(struct site_types *types, const struct told *told,
					uint64_t address, uint64_t since)
{
	struct told type = type_of(told);
	/* a zone is no event */
	uint32_t number = told->kind == SONDE_ANNOTATE_ZONE ? 0 : number_type(types, &type);
	struct annotation_site *site = calloc(1, sizeof(*site));

	if (!site || number == UINT32_MAX) {
		free(site);
		return NULL;
	}
	site->address = address;
	site->since = since;
	site->kind = told->kind;
	site->function_id = atf_event_type_key(number);
	site->has_arguments = told->signature[0];
	site->name = strdup(told->name);
	if (site->name)
		return site;
	free(site);
	return NULL;
}

enum sonde_status sites_note_scope(struct sites *sites, uint64_t function_id,
				   struct sonde_error *err)
{
	uint32_t number = (uint32_t)function_id - 1, *scope;

	if (function_id >> 32 != ATF_ANNOTATIONS_MODULE ||
	    sonde_key_map_find(&sites->scopes_met, number) != UINT32_MAX)
		return SONDE_OK;
	scope = sonde_vec_push(&sites->scopes);
	if (!scope || !sonde_key_map_add(&sites->scopes_met, number, 0))
		return sonde_fail_nomem(err);
	*scope = number;
	return SONDE_OK;
}

static enum sonde_status add_site(struct sites *sites, struct annotation_site *site,
				  struct sonde_error *err)
{
	uint32_t number = sonde_key_map_find(&sites->numbers, site->address);
	struct annotation_site *before = number == UINT32_MAX ? NULL : sites->items.items[number];

	if (before && before->function_id == site->function_id && before->kind == site->kind &&
	    !strcmp(before->name, site->name)) {
		free_site(site); /* two threads told of it */
	} else if (before) {
		site->older = before;
		sites->items.items[number] = site;
	} else if (!sonde_vec_reserve(&sites->items, 1) ||
		   !sonde_key_map_add(&sites->numbers, site->address,
				      (uint32_t)sites->items.count)) {
		free_site(site);
		return sonde_fail_nomem(err);
	} else {
		sites->items.items[sites->items.count++] = site;
	}
	return SONDE_OK;
}

/* The next text of a site: up to its 0. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *zero = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	if (!zero)
		return "";
	*at = zero + 1;
	return text;
}

static enum sonde_status take_texts(struct sites *sites, struct site_types *types,
				    const struct shared_module *entry, struct sonde_buffer *text,
				    struct sonde_error *err)
{
	const char *at = sonde_buffer_text(text), *end = text->data + text->size;
	struct annotation_site *site;
	enum sonde_status status = SONDE_OK;
	struct told told = { 0 };

	if (!at)
		return sonde_fail_nomem(err);
	told.kind = (uint32_t)strtoul(next_text(&at, end), NULL, 10);
	told.line = (uint32_t)strtoul(next_text(&at, end), NULL, 10);
	told.name = next_text(&at, end);
	told.signature = next_text(&at, end);
	told.file = next_text(&at, end);
	site = new_site(types, &told, entry->base, entry->time);
	if (!site)
		return sonde_fail_nomem(err);
	if (told.kind == SONDE_ANNOTATE_SCOPE)
		status = sites_note_scope(sites, site->function_id, err);
	if (status >= 0)
		return add_site(sites, site, err);
	free_site(site);
	return status;
}

static struct site_part *find_part(struct sites *sites, const struct shared_module *entry)
{
	for (size_t i = 0; i < sites->parts.count; i++)
		if (sites->parts.items[i].number == entry->low &&
		    sites->parts.items[i].site == entry->base)
			return &sites->parts.items[i];
	return NULL;
}

static void remove_part(struct sites *sites, struct site_part *part)
{
	size_t behind = sites->parts.count - (size_t)(part - sites->parts.items) - 1;

	sonde_buffer_release(&part->text);
	memmove(part, part + 1, behind * sizeof(*part));
	sites->parts.count--;
}

enum sonde_status sites_apply(struct sites *sites, struct site_types *types,
			      const struct shared_module *entry, struct sonde_error *err)
{
	uint64_t part_number = entry->high & ~SITE_LAST;
	struct site_part *part = find_part(sites, entry);
	size_t size = entry->path_size < sizeof(entry->path) ? entry->path_size :
							       sizeof(entry->path);
	enum sonde_status status = SONDE_OK;

	if (!part && part_number)
		return SONDE_OK; /* it was taken in already, or its beginning is lost */
	if (!part) {
		if (sites->parts.count >= PARTS_AT_ONCE)
			remove_part(sites, sites->parts.items);
		part = sonde_vec_push(&sites->parts);
		if (!part)
			return sonde_fail_nomem(err);
		*part = (struct site_part){ .site = entry->base, .number = entry->low };
	}
	if (part->next != part_number)
		return SONDE_OK; /* again */
	part->next++;
	sonde_buffer_put(&part->text, entry->path, size);
	if (!(entry->high & SITE_LAST))
		return SONDE_OK;
	status = take_texts(sites, types, entry, &part->text, err);
	remove_part(sites, part);
	return status;
}

const struct annotation_site *sites_find(const struct sites *sites, uint64_t address,
					 uint64_t ticks)
{
	uint32_t number = sonde_key_map_find(&sites->numbers, address);
	const struct annotation_site *site = number == UINT32_MAX ? NULL :
								    sites->items.items[number];

	while (site && site->since > ticks && site->older)
		site = site->older;
	return site;
}

const struct annotation_site *sites_mark(struct sites *sites, struct site_types *types)
{
	static const struct told mark = {
		.kind = SONDE_ANNOTATE_MARK, .name = "", .signature = "", .file = ""
	};

	if (!sites->mark)
		sites->mark = new_site(types, &mark, 0, 0);
	return sites->mark;
}
