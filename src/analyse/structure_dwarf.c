/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures out of DWARF. The units are put in order by their addresses at first; the entries of a unit
 * are gone through once, when one of its addresses is asked for, and kept as ranges of addresses.
 * Nodes are made when they are met: one for each function, for each inlined call of a function at a
 * line, and for each line of either. DWARF knows no loops.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/structure_dwarf.h"
#include "base/buffer.h"
#include "base/file.h"
#include "symbols/dwarf_file.h"
#include "symbols/symbols.h"

/* An origin has an origin has an origin: longer chains lead in a circle. */
enum { ORIGIN_MAX = 16 };

/* A function or an inlined call. */
struct scope {
	Dwarf_Off offset; /* of its entry */
	uint32_t outer;	  /* the scope that an inlined call is in; SONDE_NONE for functions */
	uint32_t node;	  /* SONDE_NONE before it is asked for */
};

struct unit {
	Dwarf_Off offset; /* of its first entry */
	bool has_code, is_read;
	Dwarf_Die top; /* first entry, which the line table belongs to */
	Dwarf *dwarf;  /* that the scopes are in: a .dwo file's where there is one */
	struct structure_ranges ranges; /* the owners are scopes */
	SONDE_VEC(struct scope) scopes;
};

struct structure_dwarf {
	struct sonde_structure *structure;
	structure_symbol_at *symbol_at;
	struct dwarf_file file;
	SONDE_VEC(struct unit) units;
	struct structure_ranges ranges; /* the owners are units */
	struct sonde_key_map files;	/* text of libdw (its address) -> number of our text */
	struct sonde_key_map places;	/* text number << 32 | line -> number of the place */
	uint32_t place_count;
	struct sonde_key_map lines;   /* parent << 32 | place -> node */
	struct sonde_key_map origins; /* entry of an inlined function (its address) -> function */
	struct sonde_key_map inlined; /* parent << 32 | function -> node */
};

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* Remembers a number that was made; SONDE_NONE where memory is out, or was before. */
static uint32_t remember(struct structure_dwarf *dwarf, struct sonde_key_map *map, uint64_t key,
			 uint32_t number)
{
	if (number != SONDE_NONE && sonde_key_map_add(map, key, number))
		return number;
	dwarf->structure->failed = true;
	return SONDE_NONE;
}

/* ---- texts and nodes ---- */

/* The number of a file's path; SONDE_NONE where memory is out. */
static uint32_t file_number(struct structure_dwarf *dwarf, Dwarf_Die *unit, const char *path)
{
	uint32_t number = sonde_key_map_find(&dwarf->files, (uintptr_t)path);
	struct sonde_buffer text = { 0 };

	if (number != SONDE_NONE)
		return number;
	dwarf_put_path(&text, unit, path);
	if (!text.failed)
		number = structure_text_number(dwarf->structure, text.data ? text.data : "",
					       text.size);
	sonde_buffer_release(&text);
	return remember(dwarf, &dwarf->files, (uintptr_t)path, number);
}

static uint32_t line_node(struct structure_dwarf *dwarf, uint32_t parent, uint32_t file,
			  uint32_t line)
{
	uint32_t place = sonde_key_map_find(&dwarf->places, pair(file, line)), number;

	if (place == SONDE_NONE) {
		place = remember(dwarf, &dwarf->places, pair(file, line), dwarf->place_count);
		if (place == SONDE_NONE)
			return SONDE_NONE;
		dwarf->place_count++;
	}
	number = sonde_key_map_find(&dwarf->lines, pair(parent, place));
	if (number != SONDE_NONE)
		return number;
	number = structure_add_node(dwarf->structure,
				    &(struct sonde_structure_node){
					    .parent = parent,
					    .kind = SONDE_CONTEXT_LINE,
					    .relation = SONDE_CONTEXT_ENCLOSED,
					    .function = SONDE_NONE,
					    .file = dwarf->structure->texts.items[file],
					    .line = line,
				    });
	return remember(dwarf, &dwarf->lines, pair(parent, place), number);
}

/* Whether names of the linker say more than those of the source. */
static bool has_mangled_names(Dwarf_Die *entry)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(entry, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_ObjC_plus_plus:
		return true;
	default:
		return false;
	}
}

/*
 * The name that the linker knows, else the plain one; NULL where it has none. Borrowed. Compilers leave
 * the linker's name away for functions that no other unit can call.
 */
static const char *name_of(struct structure_dwarf *dwarf, Dwarf_Die *entry, uint64_t address)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(entry, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(
			dwarf_attr_integrate(entry, DW_AT_MIPS_linkage_name, &attribute));
	if (!name && address && has_mangled_names(entry))
		name = dwarf->symbol_at(dwarf->structure, address);
	return name ? name : dwarf_diename(entry);
}

/* The record of a function as its entry, or what that was made of, describes it. */
static uint32_t make_function(struct structure_dwarf *dwarf, Dwarf_Die *entry, uint64_t address)
{
	struct sonde_structure_function function = { .address = address };
	Dwarf_Die unit;
	const char *path = dwarf_file_of(entry, DW_AT_decl_file, &unit);
	const char *name = name_of(dwarf, entry, address);
	int line;

	if (name) {
		function.name = structure_name(dwarf->structure, name);
		if (!function.name)
			return SONDE_NONE;
	}
	if (path) {
		uint32_t number = file_number(dwarf, &unit, path);

		if (number == SONDE_NONE)
			return SONDE_NONE;
		function.file = dwarf->structure->texts.items[number];
		if (dwarf_decl_line(entry, &line) == 0 && line > 0)
			function.line = (uint32_t)line;
	}
	return structure_add_function(dwarf->structure, &function);
}

static bool take_first(void *user, uint64_t start, uint64_t end)
{
	uint64_t *first = user;

	(void)end;
	*first = start;
	return false;
}

/* A function in several pieces begins with the one that is named first. */
static uint64_t entry_address(struct structure_dwarf *dwarf, Dwarf_Die *entry)
{
	uint64_t first = 0;
	Dwarf_Addr address;

	if (dwarf_hasattr(entry, DW_AT_entry_pc) && dwarf_entrypc(entry, &address) == 0)
		return address;
	dwarf_file_ranges(&dwarf->file, entry, take_first, &first);
	return first;
}

static uint32_t function_node(struct structure_dwarf *dwarf, Dwarf_Die *entry)
{
	uint32_t function = make_function(dwarf, entry, entry_address(dwarf, entry));

	if (function == SONDE_NONE)
		return SONDE_NONE;
	return structure_add_node(dwarf->structure, &(struct sonde_structure_node){
							    .parent = SONDE_NONE,
							    .kind = SONDE_CONTEXT_FUNCTION,
							    .relation = SONDE_CONTEXT_CALLED,
							    .function = function,
						    });
}

/* The function that an inlined call is of: one record, wherever it was inlined. */
static uint32_t inlined_function(struct structure_dwarf *dwarf, Dwarf_Die *entry)
{
	Dwarf_Die origin = *entry, next;
	Dwarf_Attribute attribute;
	uint32_t number;

	for (int i = 0; i < ORIGIN_MAX; i++) {
		if (!dwarf_formref_die(dwarf_attr(&origin, DW_AT_abstract_origin, &attribute),
				       &next))
			break;
		origin = next;
	}
	number = sonde_key_map_find(&dwarf->origins, (uintptr_t)origin.addr);
	if (number != SONDE_NONE)
		return number;
	return remember(dwarf, &dwarf->origins, (uintptr_t)origin.addr,
			make_function(dwarf, &origin, 0));
}

/* The line of the call, and within it the function; a call without a file lies in `outer` itself. */
static uint32_t inlined_node(struct structure_dwarf *dwarf, Dwarf_Die *entry, uint32_t outer)
{
	Dwarf_Die unit;
	Dwarf_Attribute attribute;
	const char *path = dwarf_file_of(entry, DW_AT_call_file, &unit);
	uint32_t function = inlined_function(dwarf, entry), number;
	Dwarf_Word line = 0;

	if (function == SONDE_NONE)
		return SONDE_NONE;
	if (path) {
		number = file_number(dwarf, &unit, path);
		if (number == SONDE_NONE)
			return SONDE_NONE;
		if (dwarf_formudata(dwarf_attr(entry, DW_AT_call_line, &attribute), &line) != 0 ||
		    line > UINT32_MAX)
			line = 0;
		outer = line_node(dwarf, outer, number, (uint32_t)line);
		if (outer == SONDE_NONE)
			return SONDE_NONE;
	}
	number = sonde_key_map_find(&dwarf->inlined, pair(outer, function));
	if (number != SONDE_NONE)
		return number;
	number = structure_add_node(dwarf->structure, &(struct sonde_structure_node){
							      .parent = outer,
							      .kind = SONDE_CONTEXT_FUNCTION,
							      .relation = SONDE_CONTEXT_INLINED,
							      .function = function,
						      });
	return remember(dwarf, &dwarf->inlined, pair(outer, function), number);
}

/* ---- units and scopes ---- */

/* Ranges that are to have one owner. */
struct addition {
	struct structure_ranges *ranges;
	uint32_t owner;
};

static bool add_range(void *user, uint64_t start, uint64_t end)
{
	const struct addition *addition = user;

	return structure_ranges_add(addition->ranges, start, end, addition->owner, addition->owner);
}

struct scope_visitor {
	struct dwarf_visitor base;
	struct structure_dwarf *dwarf;
	struct unit *unit;
};

/* Inner scopes come later than outer ones, so that their higher numbers make them count. */
static bool visit_scope(struct dwarf_visitor *visitor, Dwarf_Die *entry, int tag, uint32_t outer,
			uint32_t *number)
{
	struct scope_visitor *scopes = (struct scope_visitor *)visitor;
	struct unit *unit = scopes->unit;
	struct addition addition = { .ranges = &unit->ranges,
				     .owner = (uint32_t)unit->scopes.count };
	size_t before = unit->ranges.count;
	struct scope *scope;

	if (tag == DW_TAG_inlined_subroutine && outer == SONDE_NONE)
		return true;
	if (unit->scopes.count >= SONDE_NONE)
		return true;
	if (!dwarf_file_ranges(&scopes->dwarf->file, entry, add_range, &addition))
		return false;
	/* Declarations have no code, nor have functions that were inlined everywhere. */
	if (unit->ranges.count == before) {
		if (tag == DW_TAG_subprogram)
			*number = SONDE_NONE;
		return true;
	}
	scope = sonde_vec_push(&unit->scopes);
	if (!scope)
		return false;
	*scope = (struct scope){
		.offset = dwarf_dieoffset(entry),
		.outer = tag == DW_TAG_inlined_subroutine ? outer : SONDE_NONE,
		.node = SONDE_NONE,
	};
	*number = addition.owner;
	return true;
}

/*
 * The first entry of the .dwo file that a unit left its entries to. libdw opens it by the name that the
 * binary gives, so that is looked at first: it may not be there, or be no file.
 */
static bool find_split(struct structure_dwarf *dwarf, Dwarf_Die *top, Dwarf_Die *split)
{
	struct sonde_buffer path = { 0 };
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr(top, DW_AT_dwo_name, &attribute));
	uint8_t type;
	bool found;

	if (!name)
		name = dwarf_formstring(dwarf_attr(top, DW_AT_GNU_dwo_name, &attribute));
	if (!name)
		return false;
	dwarf_put_path(&path, top, name);
	found = sonde_buffer_text(&path) &&
		sonde_path_kind(sonde_buffer_text(&path)) == SONDE_PATH_FILE;
	if (path.failed)
		dwarf->structure->failed = true;
	sonde_buffer_release(&path);
	return found && dwarf_cu_info(top->cu, NULL, &type, NULL, split, NULL, NULL, NULL) == 0 &&
	       split->addr;
}

/* Reads the scopes of a unit; a failure leaves it as if it had none, to be tried again. */
static bool read_unit(struct structure_dwarf *dwarf, struct unit *unit)
{
	struct scope_visitor visitor = {
		.base = { .with_inlined = true, .visit = visit_scope },
		.dwarf = dwarf,
		.unit = unit,
	};
	Dwarf_Die split, *top = find_split(dwarf, &unit->top, &split) ? &split : &unit->top;

	unit->dwarf = dwarf_cu_getdwarf(top->cu);
	if (dwarf_unit_walk(top, &visitor.base) && structure_ranges_settle(&unit->ranges)) {
		unit->is_read = true;
		return true;
	}
	sonde_vec_release(&unit->ranges);
	sonde_vec_release(&unit->scopes);
	dwarf->structure->failed = true;
	return false;
}

/* Where a unit names no addresses its functions tell. */
static bool add_unit(struct structure_dwarf *dwarf, Dwarf_Off offset)
{
	struct unit *unit = sonde_vec_push(&dwarf->units);
	struct addition addition = { .ranges = &dwarf->ranges,
				     .owner = (uint32_t)dwarf->units.count - 1 };
	size_t before = dwarf->ranges.count;

	if (!unit)
		return false;
	*unit = (struct unit){ .offset = offset };
	if (!dwarf_offdie(dwarf->file.dwarf, offset, &unit->top) ||
	    !dwarf_unit_has_code(&unit->top))
		return true;
	unit->has_code = true;
	if (!dwarf_file_ranges(&dwarf->file, &unit->top, add_range, &addition))
		return false;
	if (dwarf->ranges.count > before)
		return true;
	if (!read_unit(dwarf, unit))
		return false;
	for (size_t i = 0; i < unit->ranges.count; i++)
		if (!add_range(&addition, unit->ranges.items[i].start, unit->ranges.items[i].end))
			return false;
	return true;
}

static bool read_units(struct structure_dwarf *dwarf)
{
	Dwarf_Off offset = 0, entry;

	while (dwarf_file_next_unit(&dwarf->file, &offset, &entry))
		if (dwarf->units.count >= SONDE_NONE || !add_unit(dwarf, entry))
			return false;
	return structure_ranges_settle(&dwarf->ranges);
}

struct structure_dwarf *structure_dwarf_open(struct sonde_structure *structure, const char *path,
					     structure_symbol_at *symbol_at)
{
	struct structure_dwarf *dwarf = calloc(1, sizeof(*dwarf));

	if (!dwarf) {
		structure->failed = true;
		return NULL;
	}
	dwarf->structure = structure;
	dwarf->symbol_at = symbol_at;
	if (dwarf_file_open(&dwarf->file, path)) {
		if (read_units(dwarf))
			return dwarf;
		structure->failed = true;
	}
	structure_dwarf_free(dwarf);
	return NULL;
}

void structure_dwarf_free(struct structure_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->units.count; i++) {
		sonde_vec_release(&dwarf->units.items[i].ranges);
		sonde_vec_release(&dwarf->units.items[i].scopes);
	}
	sonde_vec_release(&dwarf->units);
	sonde_vec_release(&dwarf->ranges);
	sonde_key_map_release(&dwarf->files);
	sonde_key_map_release(&dwarf->places);
	sonde_key_map_release(&dwarf->lines);
	sonde_key_map_release(&dwarf->origins);
	sonde_key_map_release(&dwarf->inlined);
	dwarf_file_release(&dwarf->file);
	free(dwarf);
}

/* ---- asking ---- */

static struct unit *unit_at(struct structure_dwarf *dwarf, uint64_t address)
{
	uint32_t number = structure_ranges_find(&dwarf->ranges, address);

	return number == SONDE_NONE ? NULL : &dwarf->units.items[number];
}

/* The scopes around one that have no node yet, outermost first, get theirs. */
static uint32_t scope_node(struct structure_dwarf *dwarf, struct unit *unit, uint32_t innermost)
{
	for (;;) {
		uint32_t number = innermost, outer;
		struct scope *scope;
		Dwarf_Die entry;

		while (unit->scopes.items[number].node == SONDE_NONE &&
		       unit->scopes.items[number].outer != SONDE_NONE &&
		       unit->scopes.items[unit->scopes.items[number].outer].node == SONDE_NONE)
			number = unit->scopes.items[number].outer;
		scope = &unit->scopes.items[number];
		if (scope->node != SONDE_NONE)
			return scope->node;
		if (!dwarf_offdie(unit->dwarf, scope->offset, &entry))
			return SONDE_NONE;
		outer = scope->outer;
		scope->node = outer == SONDE_NONE ?
				      function_node(dwarf, &entry) :
				      inlined_node(dwarf, &entry, unit->scopes.items[outer].node);
		if (scope->node == SONDE_NONE) {
			dwarf->structure->failed = true;
			return SONDE_NONE;
		}
	}
}

uint32_t structure_dwarf_function(struct structure_dwarf *dwarf, uint64_t address)
{
	struct unit *unit = unit_at(dwarf, address);
	uint32_t scope;

	if (!unit || (!unit->is_read && !read_unit(dwarf, unit)))
		return SONDE_NONE;
	scope = structure_ranges_find(&unit->ranges, address);
	return scope == SONDE_NONE ? SONDE_NONE : scope_node(dwarf, unit, scope);
}

uint32_t structure_dwarf_line(struct structure_dwarf *dwarf, uint64_t address, uint32_t function)
{
	struct unit *unit = unit_at(dwarf, address);
	Dwarf_Line *row = unit ? dwarf_getsrc_die(&unit->top, address) : NULL;
	const char *path;
	uint32_t file, node;
	int line;

	if (!row || dwarf_lineno(row, &line) != 0 || line <= 0)
		return function;
	path = dwarf_linesrc(row, NULL, NULL);
	if (!path)
		return function;
	file = file_number(dwarf, &unit->top, path);
	node = file == SONDE_NONE ? SONDE_NONE : line_node(dwarf, function, file, (uint32_t)line);
	return node == SONDE_NONE ? function : node;
}
