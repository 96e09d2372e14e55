/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions are declared, after DWARF, which libdw reads. First the units are put in order
 * by the addresses that they name themselves (.debug_aranges is not needed: clang writes none),
 * then each unit's functions when one of them is asked for. libdwfl, which may ask servers on
 * the network for debug files, is not used.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/vec.h"
#include "symbols/lines.h"

/* Functions inside functions inside classes inside namespaces: deeper is no real program. */
enum { DEPTH_MAX = 64 };

/* Addresses [start, end) of a unit (its number) or of a function (the offset of its entry). */
struct range {
	uint64_t start, end;
	uint64_t owner;
};

struct range_list {
	struct range *items;
	size_t count, capacity;
};

struct unit {
	Dwarf_Off offset; /* of its entry */
	bool functions_read;
	struct range_list functions;
};

struct sonde_lines {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	SONDE_VEC(struct unit) units;
	struct range_list ranges; /* of the units */
	struct sonde_arena paths;
	const char *path_given, *path_made; /* the last path that was made absolute */
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	return 0;
}

static void sort_ranges(struct range_list *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare_ranges);
}

/* The range that an address lies in: of those that do, the one that begins last. */
static const struct range *find_range(const struct range_list *list, uint64_t address)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of several with the same start the first one. */
	while (low > 1 && list->items[low - 2].start == list->items[low - 1].start)
		low--;
	if (!low || address >= list->items[low - 1].end)
		return NULL;
	return &list->items[low - 1];
}

/* Linkers leave 0 or 1 as the address of what they have thrown away. */
static bool add_range(struct range_list *list, Dwarf_Addr start, Dwarf_Addr end, uint64_t owner)
{
	struct range *range;

	if (start <= 1 || end <= start)
		return true;
	range = sonde_vec_push(list);
	if (!range)
		return false;
	*range = (struct range){ .start = start, .end = end, .owner = owner };
	return true;
}

/* Adds the addresses of an entry; false only where memory is out. */
static bool add_ranges(struct range_list *list, Dwarf_Die *entry, uint64_t owner)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t place = 0;

	while ((place = dwarf_ranges(entry, place, &base, &start, &end)) > 0)
		if (!add_range(list, start, end, owner))
			return false;
	return true;
}

/* Entries that functions can be inside of. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

/* The next sibling; false at the end, and where a damaged file leads back. */
static bool next_sibling(Dwarf_Die *entry)
{
	Dwarf_Off before = dwarf_dieoffset(entry);
	Dwarf_Die next;

	if (dwarf_siblingof(entry, &next) != 0 || dwarf_dieoffset(&next) <= before)
		return false;
	*entry = next;
	return true;
}

/* Goes through the entries below a unit's and notes every function that has code. */
static bool read_functions(struct unit *unit, Dwarf_Die *top)
{
	Dwarf_Die path[DEPTH_MAX];
	size_t depth = 0;

	if (dwarf_child(top, &path[0]) != 0)
		return true;
	for (;;) {
		Dwarf_Die *entry = &path[depth];
		int tag = dwarf_tag(entry);

		if (tag == DW_TAG_subprogram &&
		    !add_ranges(&unit->functions, entry, dwarf_dieoffset(entry)))
			return false;
		if (may_hold_functions(tag) && depth + 1 < DEPTH_MAX &&
		    dwarf_child(entry, &path[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (!next_sibling(&path[depth])) {
			if (!depth)
				return true;
			depth--;
		}
	}
}

/* Units of types have none, and partial units are parts of others. */
static bool has_code(int tag)
{
	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

/* Where a unit names no addresses its functions tell. */
static bool add_unit(struct sonde_lines *lines, Dwarf_Off offset)
{
	struct unit *unit = sonde_vec_push(&lines->units);
	uint64_t number = lines->units.count - 1;
	size_t before = lines->ranges.count;
	Dwarf_Die top;

	if (!unit)
		return false;
	*unit = (struct unit){ .offset = offset };
	if (!dwarf_offdie(lines->dwarf, offset, &top) || !has_code(dwarf_tag(&top)))
		return true;
	if (!add_ranges(&lines->ranges, &top, number))
		return false;
	if (lines->ranges.count > before)
		return true;
	unit->functions_read = true;
	if (!read_functions(unit, &top))
		return false;
	sort_ranges(&unit->functions);
	for (size_t i = 0; i < unit->functions.count; i++)
		if (!add_range(&lines->ranges, unit->functions.items[i].start,
			       unit->functions.items[i].end, number))
			return false;
	return true;
}

static bool read_units(struct sonde_lines *lines)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	while (dwarf_next_unit(lines->dwarf, offset, &next, &header_size, NULL, NULL, NULL, NULL,
			       NULL, NULL) == 0) {
		if (!add_unit(lines, offset + header_size))
			return false;
		if (next <= offset)
			break;
		offset = next;
	}
	sort_ranges(&lines->ranges);
	return true;
}

struct sonde_lines *sonde_lines_open(const char *path)
{
	struct sonde_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	elf_version(EV_CURRENT);
	lines->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (lines->fd >= 0)
		lines->elf = elf_begin(lines->fd, ELF_C_READ_MMAP, NULL);
	if (lines->elf)
		lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	if (lines->dwarf && read_units(lines))
		return lines;
	sonde_lines_free(lines);
	return NULL;
}

void sonde_lines_free(struct sonde_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->units.count; i++)
		sonde_vec_release(&lines->units.items[i].functions);
	sonde_vec_release(&lines->units);
	sonde_vec_release(&lines->ranges);
	sonde_arena_release(&lines->paths);
	dwarf_end(lines->dwarf);
	elf_end(lines->elf);
	if (lines->fd >= 0)
		close(lines->fd);
	free(lines);
}

/*
 * Takes "./" and doubled slashes out, and puts the unit's folder before a relative path. A folder
 * that is relative itself (the build hid its real one) is in the path already.
 */
static const char *make_path(struct sonde_lines *lines, const char *folder, const char *path)
{
	struct sonde_buffer text = { 0 };
	const char *made = NULL;

	if (path[0] != '/' && folder && folder[0] == '/') {
		sonde_buffer_put_text(&text, folder);
		sonde_buffer_put_char(&text, '/');
	}
	while (*path) {
		size_t length = strcspn(path, "/");

		if (path[length] == '/')
			length++;
		if (!(text.size && text.data[text.size - 1] == '/' && length == 1 &&
		      path[0] == '/') &&
		    !(length == 2 && path[0] == '.' && path[1] == '/'))
			sonde_buffer_put(&text, path, length);
		path += length;
	}
	if (!text.failed)
		made = sonde_arena_copy_text(&lines->paths, text.data, text.size);
	sonde_buffer_release(&text);
	return made;
}

/* The path as it is kept; functions that follow each other mostly have the same. */
static const char *absolute_path(struct sonde_lines *lines, Dwarf_Die *top, const char *path)
{
	Dwarf_Attribute attribute;

	if (path[0] == '/' && !strstr(path, "/./") && !strstr(path, "//"))
		return path;
	if (path != lines->path_given) {
		lines->path_given = path;
		lines->path_made = make_path(
			lines, dwarf_formstring(dwarf_attr(top, DW_AT_comp_dir, &attribute)), path);
	}
	return lines->path_made;
}

/*
 * The file that an entry, or what it was made of, is declared in. Its number counts in the table
 * of the unit that the attribute stands in. (dwarf_decl_file() takes 0 for no file, which is right
 * before DWARF 5 only.)
 */
static const char *declared_file(Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Half version = 0;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(entry, DW_AT_decl_file, &attribute), &number) ||
	    !dwarf_cu_die(attribute.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) ||
	    (!number && version < 5) || dwarf_getsrcfiles(&unit, &files, &count) != 0 ||
	    number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* Its line, where the entry or what it was made of says so. */
static bool declared_line(struct sonde_lines *lines, Dwarf_Die *top, Dwarf_Off offset,
			  const char **file, uint32_t *line)
{
	Dwarf_Die entry;
	const char *path;
	int number;

	if (!dwarf_offdie(lines->dwarf, offset, &entry) || dwarf_decl_line(&entry, &number) != 0 ||
	    number <= 0)
		return false;
	path = declared_file(&entry);
	*file = path ? absolute_path(lines, top, path) : NULL;
	*line = (uint32_t)number;
	return *file != NULL;
}

/* The line of the instruction at an address. */
static bool code_line(struct sonde_lines *lines, Dwarf_Die *top, uint64_t address,
		      const char **file, uint32_t *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(top, address);
	const char *path;
	int number;

	if (!row || dwarf_lineno(row, &number) != 0 || number <= 0)
		return false;
	path = dwarf_linesrc(row, NULL, NULL);
	*file = path ? absolute_path(lines, top, path) : NULL;
	*line = (uint32_t)number;
	return *file != NULL;
}

bool sonde_lines_find(struct sonde_lines *lines, uint64_t address, const char **file,
		      uint32_t *line)
{
	const struct range *range = find_range(&lines->ranges, address);
	const struct range *function;
	struct unit *unit;
	Dwarf_Die top;

	if (!range)
		return false;
	unit = &lines->units.items[range->owner];
	if (!dwarf_offdie(lines->dwarf, unit->offset, &top))
		return false;
	if (!unit->functions_read) {
		unit->functions_read = true;
		if (!read_functions(unit, &top))
			return false;
		sort_ranges(&unit->functions);
	}
	function = find_range(&unit->functions, address);
	return (function && declared_line(lines, &top, function->owner, file, line)) ||
	       code_line(lines, &top, address, file, line);
}
