/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions are declared, after DWARF, which libdw reads. First the units are put in order
 * by the addresses that they name themselves (.debug_aranges is not needed: clang writes none),
 * then each unit's functions when one of them is asked for.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/vec.h"
#include "symbols/dwarf_file.h"
#include "symbols/lines.h"
#include "symbols/source_files.h"

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
	enum { NO_FUNCTIONS, OUTER_FUNCTIONS, ALL_FUNCTIONS } has;
	struct range_list functions;
};

struct sonde_lines {
	struct dwarf_file file;
	SONDE_VEC(struct unit) units;
	struct range_list ranges; /* of the units */
	struct source_files sources;
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

/* A list that the ranges of an entry are added to. */
struct addition {
	struct range_list *list;
	uint64_t owner;
};

static bool add_range(void *user, uint64_t start, uint64_t end)
{
	const struct addition *addition = user;
	struct range *range = sonde_vec_push(addition->list);

	if (!range)
		return false;
	*range = (struct range){ .start = start, .end = end, .owner = addition->owner };
	return true;
}

/* Adds the addresses of an entry; false only where memory is out. */
static bool add_ranges(struct sonde_lines *lines, struct range_list *list, Dwarf_Die *entry,
		       uint64_t owner)
{
	struct addition addition = { .list = list, .owner = owner };

	return dwarf_file_ranges(&lines->file, entry, add_range, &addition);
}

struct function_visitor {
	struct dwarf_visitor base;
	struct sonde_lines *lines;
	struct unit *unit;
};

static bool visit_function(struct dwarf_visitor *visitor, Dwarf_Die *entry, int tag, uint32_t outer,
			   uint32_t *number)
{
	struct function_visitor *functions = (struct function_visitor *)visitor;

	(void)tag;
	*number = outer;
	return add_ranges(functions->lines, &functions->unit->functions, entry,
			  dwarf_dieoffset(entry));
}

/*
 * Goes through the entries below a unit's and notes every function that has code, those inside of
 * functions only with `all`.
 */
static bool read_functions(struct sonde_lines *lines, struct unit *unit, Dwarf_Die *top, bool all)
{
	struct function_visitor visitor = {
		.base = { .outermost = !all, .visit = visit_function },
		.lines = lines,
		.unit = unit,
	};

	unit->has = all ? ALL_FUNCTIONS : OUTER_FUNCTIONS;
	unit->functions.count = 0;
	if (!dwarf_unit_walk(top, &visitor.base))
		return false;
	sort_ranges(&unit->functions);
	return true;
}

/* Where a unit names no addresses its functions tell. */
static bool add_unit(struct sonde_lines *lines, Dwarf_Off offset)
{
	struct unit *unit = sonde_vec_push(&lines->units);
	struct addition addition = { .list = &lines->ranges, .owner = lines->units.count - 1 };
	size_t before = lines->ranges.count;
	Dwarf_Die top;

	if (!unit)
		return false;
	*unit = (struct unit){ .offset = offset };
	if (!dwarf_offdie(lines->file.dwarf, offset, &top) || !dwarf_unit_has_code(&top))
		return true;
	if (!add_ranges(lines, &lines->ranges, &top, addition.owner))
		return false;
	if (lines->ranges.count > before)
		return true;
	if (!read_functions(lines, unit, &top, true))
		return false;
	for (size_t i = 0; i < unit->functions.count; i++)
		if (!add_range(&addition, unit->functions.items[i].start,
			       unit->functions.items[i].end))
			return false;
	return true;
}

static bool read_units(struct sonde_lines *lines)
{
	Dwarf_Off offset = 0, entry;

	while (dwarf_file_next_unit(&lines->file, &offset, &entry))
		if (!add_unit(lines, entry))
			return false;
	sort_ranges(&lines->ranges);
	return true;
}

struct sonde_lines *sonde_lines_open(const struct elf_file *elf)
{
	struct sonde_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	source_files_init(&lines->sources, elf);
	if (dwarf_file_open(&lines->file, elf->path) && read_units(lines))
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
	source_files_release(&lines->sources);
	sonde_arena_release(&lines->paths);
	dwarf_file_release(&lines->file);
	free(lines);
}

static const char *make_path(struct sonde_lines *lines, Dwarf_Die *unit, const char *path)
{
	struct sonde_buffer text = { 0 };
	const char *made = NULL;

	dwarf_put_path(&text, unit, path);
	if (!text.failed)
		made = sonde_arena_copy_text(&lines->paths, text.data, text.size);
	sonde_buffer_release(&text);
	return made;
}

/* The path as it is kept; functions that follow each other mostly have the same. */
static const char *absolute_path(struct sonde_lines *lines, Dwarf_Die *unit, const char *path)
{
	if (path[0] == '/' && !strstr(path, "/./") && !strstr(path, "//"))
		return path;
	if (path != lines->path_given) {
		lines->path_given = path;
		lines->path_made = make_path(lines, unit, path);
	}
	return lines->path_made;
}

/* The path of a file that an entry names. Units of other files, which share DWARF, have tables there. */
static const char *declared_file(struct sonde_lines *lines, Dwarf_Die *entry, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word table;
	uint64_t number;
	const char *path = NULL;

	if (!dwarf_file_number(entry, DW_AT_decl_file, unit, &number))
		return NULL;
	if (dwarf_cu_getdwarf(unit->cu) == lines->file.dwarf &&
	    dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &table) == 0)
		path = source_files_find(
			&lines->sources, table, number,
			dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)));
	return path ? path : dwarf_file_of(entry, DW_AT_decl_file, unit);
}

/* Its line, where the entry or what it was made of says so. */
static bool declared_line(struct sonde_lines *lines, Dwarf_Off offset, const char **file,
			  uint32_t *line)
{
	Dwarf_Die entry, unit;
	const char *path;
	int number;

	if (!dwarf_offdie(lines->file.dwarf, offset, &entry) ||
	    dwarf_decl_line(&entry, &number) != 0 || number <= 0)
		return false;
	path = declared_file(lines, &entry, &unit);
	*file = path ? absolute_path(lines, &unit, path) : NULL;
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

/* The function that begins at an address, else one that it lies in; NULL where there is none. */
static const struct range *find_function(struct sonde_lines *lines, struct unit *unit,
					 Dwarf_Die *top, uint64_t address)
{
	const struct range *function;

	if (unit->has == NO_FUNCTIONS && !read_functions(lines, unit, top, false))
		return NULL;
	function = find_range(&unit->functions, address);
	if ((function && function->start == address) || unit->has == ALL_FUNCTIONS)
		return function;
	return read_functions(lines, unit, top, true) ? find_range(&unit->functions, address) :
							NULL;
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
	if (!dwarf_offdie(lines->file.dwarf, unit->offset, &top))
		return false;
	function = find_function(lines, unit, &top, address);
	return (function && declared_line(lines, function->owner, file, line)) ||
	       code_line(lines, &top, address, file, line);
}
