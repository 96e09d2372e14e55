/* SPDX-License-Identifier: Apache-2.0 */
/* Opening DWARF and going through it, with bounds on what damaged files can ask for. */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "symbols/dwarf_file.h"

/*
 * Inlined calls within blocks within inlined calls: deeper is no real program. Nor is an entry passed more
 * often: once for each one around it, where the file does not say where those end.
 */
enum { DEPTH_MAX = 400 };

/* Every file has this many ranges, and more than one for each byte of it none. */
#define RANGES_LEAST 65536

/*
 * Whether what DWARF shares with other binaries is in a file, or not there at all. libdw opens it by the
 * name that the binary gives, below the folder that it is in, and would wait for a fifo.
 */
static bool is_alternate_harmless(Dwarf *dwarf, const char *path)
{
	struct sonde_buffer text = { 0 };
	const char *name, *slash = strrchr(path, '/');
	const void *build_id;
	enum sonde_path_kind kind = SONDE_PATH_ABSENT;

	if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id) <= 0)
		return true;
	if (name[0] != '/' && slash)
		sonde_buffer_put(&text, path, (size_t)(slash + 1 - path));
	sonde_buffer_put_text(&text, name);
	if (sonde_buffer_text(&text))
		kind = sonde_path_kind(sonde_buffer_text(&text));
	sonde_buffer_release(&text);
	return kind == SONDE_PATH_FILE || kind == SONDE_PATH_ABSENT;
}

bool dwarf_file_open(struct dwarf_file *file, const char *path)
{
	struct stat status;

	*file = (struct dwarf_file){ 0 };
	elf_version(EV_CURRENT);
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd >= 0 && fstat(file->fd, &status) == 0) {
		file->ranges_left = RANGES_LEAST + (uint64_t)status.st_size;
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	}
	if (file->elf)
		file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (file->dwarf && is_alternate_harmless(file->dwarf, path))
		return true;
	dwarf_file_release(file);
	return false;
}

void dwarf_file_release(struct dwarf_file *file)
{
	dwarf_end(file->dwarf);
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct dwarf_file){ .fd = -1 };
}

bool dwarf_file_next_unit(const struct dwarf_file *file, Dwarf_Off *offset, Dwarf_Off *entry)
{
	Dwarf_Off next;
	size_t header_size;

	if (dwarf_next_unit(file->dwarf, *offset, &next, &header_size, NULL, NULL, NULL, NULL, NULL,
			    NULL) != 0 ||
	    next <= *offset)
		return false;
	*entry = *offset + header_size;
	*offset = next;
	return true;
}

bool dwarf_file_ranges(struct dwarf_file *file, Dwarf_Die *entry, dwarf_add_range *add, void *user)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t place = 0;

	while (file->ranges_left && (place = dwarf_ranges(entry, place, &base, &start, &end)) > 0) {
		if (start <= 1 || end <= start)
			continue;
		file->ranges_left--;
		if (!add(user, start, end))
			return false;
	}
	return true;
}

bool dwarf_unit_has_code(Dwarf_Die *top)
{
	int tag = dwarf_tag(top);

	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

/* Entries that functions can be inside of. */
static bool may_hold_functions(const struct dwarf_visitor *visitor, int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return !visitor->outermost;
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	case DW_TAG_inlined_subroutine:
		return visitor->with_inlined;
	default:
		return false;
	}
}

struct level {
	Dwarf_Die entry;
	uint32_t number;
};

struct walk {
	const char *first, *furthest; /* the entries that were reached */
	uint64_t passed;	      /* how many bytes of entries, those passed again with them */
	size_t depth;
	struct level levels[DEPTH_MAX];
};

/*
 * Passes from one entry to a later one, or to the end of its level; false where that leads back, or too
 * often over the same. What was reached is the measure, since the size that a damaged unit gives may be any.
 */
static bool pass(struct walk *walk, const Dwarf_Die *from, const Dwarf_Die *to)
{
	const char *before = from->addr, *after = to->addr;

	if (after <= before)
		return false;
	if (after > walk->furthest)
		walk->furthest = after;
	walk->passed += (uint64_t)(after - before);
	return walk->passed <= (uint64_t)(walk->furthest - walk->first) * DEPTH_MAX;
}

static bool descend(struct walk *walk)
{
	struct level *level = &walk->levels[walk->depth];

	if (walk->depth + 1 >= DEPTH_MAX || dwarf_child(&level->entry, &level[1].entry) != 0 ||
	    !pass(walk, &level->entry, &level[1].entry))
		return false;
	walk->depth++;
	return true;
}

/*
 * To the next entry beside this one or beside one around it. libdw leaves in `next` where a level ended. In a
 * damaged unit it may find no end, after a search through all that follows; none is begun anew then.
 */
static bool advance(struct walk *walk)
{
	for (;; walk->depth--) {
		struct level *level = &walk->levels[walk->depth];
		Dwarf_Die next = { 0 };
		bool is_end = dwarf_siblingof(&level->entry, &next) != 0;

		if (!pass(walk, &level->entry, &next))
			return false;
		if (!is_end) {
			level->entry = next;
			return true;
		}
		if (!walk->depth)
			return false;
	}
}

bool dwarf_unit_walk(Dwarf_Die *top, struct dwarf_visitor *visitor)
{
	struct walk walk = { .depth = 0 };

	if (dwarf_child(top, &walk.levels[0].entry) != 0)
		return true;
	walk.first = walk.furthest = walk.levels[0].entry.addr;
	do {
		struct level *level = &walk.levels[walk.depth];
		int tag = dwarf_tag(&level->entry);

		level->number = walk.depth ? level[-1].number : UINT32_MAX;
		if ((tag == DW_TAG_subprogram ||
		     (tag == DW_TAG_inlined_subroutine && visitor->with_inlined)) &&
		    !visitor->visit(visitor, &level->entry, tag, level->number, &level->number))
			return false;
		if (may_hold_functions(visitor, tag) && descend(&walk))
			continue;
		if (!advance(&walk))
			return true;
	} while (true);
}

/* The number counts in the table of the unit that the attribute stands in. (dwarf_decl_file() takes 0
 * for no file, which is right before DWARF 5 only.) */
bool dwarf_file_number(Dwarf_Die *entry, unsigned int name, Dwarf_Die *unit, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Half version = 0;

	if (dwarf_formudata(dwarf_attr_integrate(entry, name, &attribute), &value) != 0 ||
	    !dwarf_cu_die(attribute.cu, unit, &version, NULL, NULL, NULL, NULL, NULL))
		return false;
	*number = value;
	return value || version >= 5;
}

const char *dwarf_file_of(Dwarf_Die *entry, unsigned int name, Dwarf_Die *unit)
{
	Dwarf_Files *files;
	uint64_t number;
	size_t count;

	if (!dwarf_file_number(entry, name, unit, &number) ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

void dwarf_put_path(struct sonde_buffer *text, Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attribute;
	const char *folder = NULL;

	if (path[0] != '/')
		folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	if (folder && folder[0] == '/') {
		sonde_buffer_put_text(text, folder);
		sonde_buffer_put_char(text, '/');
	}
	while (*path) {
		size_t length = strcspn(path, "/");

		if (path[length] == '/')
			length++;
		if (!(text->size && text->data[text->size - 1] == '/' && length == 1 &&
		      path[0] == '/') &&
		    !(length == 2 && path[0] == '.' && path[1] == '/'))
			sonde_buffer_put(text, path, length);
		path += length;
	}
}
