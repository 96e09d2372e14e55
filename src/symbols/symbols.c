/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an ELF file in order of their addresses, from .symtab and .dynsym, and what
 * the symbols say about how the file was built. Source lines are in lines.c.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "base/vec.h"
#include "symbols/elf_file.h"
#include "symbols/lines.h"
#include "symbols/symbols.h"

enum { SYMBOL_SIZE = sizeof(Elf64_Sym), DYNAMIC_SIZE = sizeof(Elf64_Dyn) };

/* An entry of a symbol table. The name may go on after `length` with a version: "f@@V1". */
struct entry {
	uint64_t address, size;
	uint64_t limit; /* end of its section; UINT64_MAX where that is not known */
	const char *name;
	uint32_t length;
	uint16_t section;
	uint8_t type, binding;
	bool defined;
};

struct function {
	uint64_t address, size;
	const char *name;
	/* The nearest function before this one that goes on where this one begins. */
	uint32_t enclosing;
};

#define NO_FUNCTION UINT32_MAX

struct sonde_symbols {
	struct elf_file file, debug;
	bool has_debug, looked_for_debug, looked_for_lines, has_functions;
	SONDE_VEC(struct function) functions;
	struct sonde_arena names; /* those that are not in a file as they are */
	struct sonde_lines *lines;
};

struct entry_list {
	struct entry *items;
	size_t count, capacity;
};

static bool is_function(const struct entry *entry)
{
	return entry->defined && entry->name[0] && entry->name[0] != '@' &&
	       (entry->type == STT_FUNC || entry->type == STT_GNU_IFUNC);
}

static uint64_t section_limit(const struct elf_file *file, uint16_t number, uint64_t address)
{
	const struct elf_section *section;
	uint64_t end;

	if (number >= file->section_count)
		return UINT64_MAX;
	section = &file->sections[number];
	if (address < section->address ||
	    __builtin_add_overflow(section->address, section->size, &end) || address >= end)
		return UINT64_MAX;
	return end;
}

/* A table of symbols: empty where the file has none. */
struct table {
	const struct elf_file *file;
	const uint8_t *data;
	size_t count;
	const char *strings;
	size_t strings_size;
};

static struct table table_of(const struct elf_file *file, uint32_t type)
{
	const struct elf_section *section = elf_file_section_of(file, type), *strings;
	struct table table = { .file = file };

	if (!section || !section->data)
		return table;
	strings = elf_file_link(file, section);
	table.data = section->data;
	table.count = section->size / SYMBOL_SIZE;
	table.strings_size = elf_strings_size(strings);
	table.strings = table.strings_size ? (const char *)strings->data : NULL;
	return table;
}

/* All of an entry but the length of its name and the end of its section. */
static struct entry table_at(const struct table *table, size_t number)
{
	const uint8_t *data = table->data + number * SYMBOL_SIZE;
	uint32_t name = sonde_load_u32le(data + offsetof(Elf64_Sym, st_name));
	uint8_t info = data[offsetof(Elf64_Sym, st_info)];
	uint16_t section = sonde_load_u16le(data + offsetof(Elf64_Sym, st_shndx));

	return (struct entry){
		.address = sonde_load_u64le(data + offsetof(Elf64_Sym, st_value)),
		.size = sonde_load_u64le(data + offsetof(Elf64_Sym, st_size)),
		.name = name < table->strings_size ? table->strings + name : "",
		.section = section,
		.type = ELF64_ST_TYPE(info),
		.binding = ELF64_ST_BIND(info),
		.defined = section != SHN_UNDEF &&
			   (section < SHN_LORESERVE || section == SHN_XINDEX),
	};
}

/* Takes the functions of a table in. */
static bool read_table(const struct table *table, struct entry_list *list)
{
	for (size_t i = 0; i < table->count; i++) {
		struct entry entry = table_at(table, i), *kept;

		if (!is_function(&entry))
			continue;
		kept = sonde_vec_push(list);
		if (!kept)
			return false;
		*kept = entry;
		kept->limit = section_limit(table->file, entry.section, entry.address);
		kept->length = (uint32_t)(strchrnul(entry.name, '@') - entry.name);
	}
	return true;
}

static int binding_rank(uint8_t binding)
{
	switch (binding) {
	case STB_LOCAL:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

static size_t leading_underscores(const struct entry *entry)
{
	return strspn(entry->name, "_");
}

/* Whether `a` is the better name; see symbols.h. The alphabet decides what is left. */
static bool is_better(const struct entry *a, const struct entry *b)
{
	int ranks = binding_rank(a->binding) - binding_rank(b->binding);

	if (ranks)
		return ranks < 0;
	if (leading_underscores(a) != leading_underscores(b))
		return leading_underscores(a) < leading_underscores(b);
	if (a->length != b->length)
		return a->length < b->length;
	return memcmp(a->name, b->name, a->length) < 0;
}

/* A name without its version; borrowed where the file has it so. */
static const char *plain_name(struct sonde_symbols *symbols, const struct entry *entry)
{
	if (!entry->name[entry->length])
		return entry->name;
	return sonde_arena_copy_text(&symbols->names, entry->name, entry->length);
}

/*
 * One function for each address, out of entries that follow each other by address. A size of 0 is
 * kept for the time being, with the end of the section in its place in `limits`.
 */
static bool merge_aliases(struct sonde_symbols *symbols, const struct entry_list *list,
			  const struct sonde_sort_item *order, uint64_t *limits)
{
	for (size_t i = 0; i < list->count;) {
		const struct entry *best = &list->items[order[i].number], *entry;
		struct function function = { .address = best->address };
		uint64_t limit = UINT64_MAX;

		for (; i < list->count && order[i].key == function.address; i++) {
			entry = &list->items[order[i].number];
			if (is_better(entry, best))
				best = entry;
			if (entry->size > function.size)
				function.size = entry->size;
			if (entry->limit < limit)
				limit = entry->limit;
		}
		function.name = plain_name(symbols, best);
		if (!function.name)
			return false;
		limits[symbols->functions.count] = limit;
		symbols->functions.items[symbols->functions.count++] = function;
	}
	return true;
}

/* Sizes that the table does not give, or that go round the end of all addresses. */
static void complete_sizes(struct sonde_symbols *symbols, const uint64_t *limits)
{
	for (size_t i = 0; i < symbols->functions.count; i++) {
		struct function *function = &symbols->functions.items[i];
		uint64_t limit = limits[i];

		if (function->size) {
			if (function->size > UINT64_MAX - function->address)
				function->size = UINT64_MAX - function->address;
		} else {
			if (i + 1 < symbols->functions.count && function[1].address < limit)
				limit = function[1].address;
			if (limit != UINT64_MAX)
				function->size = limit - function->address;
		}
		if (!function->size)
			function->size = 1;
	}
}

static bool goes_beyond(const struct function *function, uint64_t address)
{
	return address - function->address < function->size;
}

static void link_enclosing(struct sonde_symbols *symbols)
{
	struct function *functions = symbols->functions.items;

	for (size_t i = 0; i < symbols->functions.count; i++) {
		uint32_t before = i ? (uint32_t)i - 1 : NO_FUNCTION;

		while (before != NO_FUNCTION &&
		       !goes_beyond(&functions[before], functions[i].address))
			before = functions[before].enclosing;
		functions[i].enclosing = before;
	}
}

static bool build_functions(struct sonde_symbols *symbols, const struct entry_list *list)
{
	struct sonde_sort_item *order = malloc((list->count + 1) * sizeof(*order));
	uint64_t *limits = calloc(list->count + 1, sizeof(*limits));
	bool done = order && limits && list->count < NO_FUNCTION &&
		    sonde_vec_reserve(&symbols->functions, list->count);

	if (done) {
		for (size_t i = 0; i < list->count; i++)
			order[i] = (struct sonde_sort_item){ .key = list->items[i].address,
							     .number = i };
		done = sonde_sort(order, list->count) &&
		       merge_aliases(symbols, list, order, limits);
	}
	if (done) {
		complete_sizes(symbols, limits);
		link_enclosing(symbols);
	}
	free(order);
	free(limits);
	return done;
}

static bool find_debug_file(struct sonde_symbols *symbols)
{
	if (!symbols->looked_for_debug) {
		symbols->looked_for_debug = true;
		symbols->has_debug =
			elf_file_open_debug(&symbols->file, SYMBOLS_DEBUG_ROOT, &symbols->debug);
	}
	return symbols->has_debug;
}

/* Where the larger table of symbols is: strip takes it away, and a separate file keeps it. */
static const struct elf_file *symbol_source(struct sonde_symbols *symbols)
{
	const struct elf_section *table = elf_file_section_of(&symbols->file, SHT_SYMTAB);

	return (!table || !table->data) && find_debug_file(symbols) ? &symbols->debug :
								      &symbols->file;
}

static void find_tables(struct sonde_symbols *symbols, struct table tables[2])
{
	tables[0] = table_of(symbol_source(symbols), SHT_SYMTAB);
	tables[1] = table_of(&symbols->file, SHT_DYNSYM);
}

enum sonde_status sonde_symbols_read(struct sonde_symbols *symbols, struct sonde_error *err)
{
	struct table tables[2];
	struct entry_list list = { 0 };

	if (symbols->has_functions)
		return SONDE_OK;
	find_tables(symbols, tables);
	symbols->has_functions = read_table(&tables[0], &list) && read_table(&tables[1], &list) &&
				 build_functions(symbols, &list);
	sonde_vec_release(&list);
	if (symbols->has_functions)
		return SONDE_OK;
	symbols->functions.count = 0;
	return sonde_fail_nomem(err);
}

static bool has_build_id(const struct elf_file *file, const void *build_id, size_t size)
{
	return file->build_id_size == size && memcmp(file->build_id, build_id, size) == 0;
}

enum sonde_status sonde_symbols_map(const char *path, const void *build_id, size_t build_id_size,
				    struct sonde_symbols **symbols, struct sonde_error *err)
{
	struct sonde_symbols *opened = calloc(1, sizeof(*opened));
	enum sonde_status status;

	*symbols = NULL;
	if (!opened)
		return sonde_fail_nomem(err);
	status = elf_file_open(&opened->file, path, err);
	if (status == SONDE_OK && build_id_size &&
	    !has_build_id(&opened->file, build_id, build_id_size)) {
		status = sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				    "its build-id is not that of the file that was loaded: it was "
				    "replaced since; record again to get names");
		sonde_error_set_file(err, path);
	}
	if (status != SONDE_OK) {
		sonde_symbols_free(opened);
		return status;
	}
	*symbols = opened;
	return SONDE_OK;
}

enum sonde_status sonde_symbols_open(const char *path, const void *build_id, size_t build_id_size,
				     struct sonde_symbols **symbols, struct sonde_error *err)
{
	enum sonde_status status = sonde_symbols_map(path, build_id, build_id_size, symbols, err);

	if (!*symbols)
		return status;
	status = sonde_symbols_read(*symbols, err);
	if (status < 0) {
		sonde_symbols_free(*symbols);
		*symbols = NULL;
	}
	return status;
}

void sonde_symbols_free(struct sonde_symbols *symbols)
{
	if (!symbols)
		return;
	sonde_lines_free(symbols->lines);
	elf_file_release(&symbols->file);
	elf_file_release(&symbols->debug);
	sonde_vec_release(&symbols->functions);
	sonde_arena_release(&symbols->names);
	free(symbols);
}

size_t sonde_symbols_count(const struct sonde_symbols *symbols)
{
	return symbols->functions.count;
}

void sonde_symbols_at(const struct sonde_symbols *symbols, size_t index,
		      struct sonde_symbol *symbol)
{
	const struct function *function = &symbols->functions.items[index];

	*symbol = (struct sonde_symbol){
		.address = function->address,
		.size = function->size,
		.raw_name = function->name,
	};
}

bool sonde_symbols_find(const struct sonde_symbols *symbols, uint64_t address,
			struct sonde_symbol *symbol)
{
	size_t low = 0, high = symbols->functions.count;
	uint32_t found;

	while (low < high) { /* the first that begins after the address */
		size_t middle = low + (high - low) / 2;

		if (symbols->functions.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? (uint32_t)low - 1 : NO_FUNCTION;
	while (found != NO_FUNCTION && !goes_beyond(&symbols->functions.items[found], address))
		found = symbols->functions.items[found].enclosing;
	if (found == NO_FUNCTION)
		return false;
	sonde_symbols_at(symbols, found, symbol);
	return true;
}

bool sonde_symbols_line(struct sonde_symbols *symbols, uint64_t address, const char **file,
			uint32_t *line)
{
	if (!symbols->looked_for_lines) {
		symbols->looked_for_lines = true;
		if (elf_file_has_dwarf(&symbols->file))
			symbols->lines = sonde_lines_open(&symbols->file);
		else if (find_debug_file(symbols) && elf_file_has_dwarf(&symbols->debug))
			symbols->lines = sonde_lines_open(&symbols->debug);
	}
	return symbols->lines && sonde_lines_find(symbols->lines, address, file, line);
}

static char *name_by_place(const char *path, uint64_t address)
{
	const char *last = strrchr(path, '/');
	char *name;

	if (asprintf(&name, "%s+%#llx", last ? last + 1 : path, (unsigned long long)address) < 0)
		return NULL;
	return name;
}

bool sonde_symbols_describe(struct sonde_symbols *symbols, const char *path, uint64_t address,
			    struct sonde_symbol_text *text)
{
	struct sonde_symbol symbol;

	*text = (struct sonde_symbol_text){ 0 };
	if (!symbols || !sonde_symbols_find(symbols, address, &symbol)) {
		text->name = name_by_place(path, address);
		return false;
	}
	text->name = sonde_demangle(symbol.raw_name);
	if (text->name && strcmp(text->name, symbol.raw_name) != 0)
		text->raw_name = symbol.raw_name;
	else if (!text->name)
		text->name = strdup(symbol.raw_name);
	if (!sonde_symbols_line(symbols, symbol.address, &text->file, &text->line))
		text->file = NULL;
	return true;
}

/* ---- how a program was prepared ---- */

/* Whether a name, which may go on with a version, is this one. */
static bool is_named(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return strncmp(name, wanted, length) == 0 && (!name[length] || name[length] == '@');
}

/* What the entries of a table say about the way the file was built. */
static void note_table(const struct table *table, bool is_library,
		       struct sonde_symbols_program *program)
{
	for (size_t i = 0; i < table->count; i++) {
		struct entry entry = table_at(table, i);

		/* A library that defines the hooks (libc, libsonde-rt) is not one that calls them. */
		if (is_named(entry.name, "__cyg_profile_func_enter") &&
		    !(entry.defined && is_library))
			program->hooks = true;
		if (is_named(entry.name, "sonde_record_active") ||
		    is_named(entry.name, "rt_record_itself"))
			program->has_runtime = true;
	}
}

/* Goes through the dynamic section: the libraries it needs, and whether it is one itself. */
static void note_dynamic(const struct elf_file *file, bool *is_library,
			 struct sonde_symbols_program *program)
{
	const struct elf_section *dynamic = elf_file_section_of(file, SHT_DYNAMIC);
	const struct elf_section *strings;
	size_t strings_size;

	if (!dynamic || !dynamic->data)
		return;
	strings = elf_file_link(file, dynamic);
	strings_size = elf_strings_size(strings);
	for (size_t i = 0; i < dynamic->size / DYNAMIC_SIZE; i++) {
		const uint8_t *data = dynamic->data + i * DYNAMIC_SIZE;
		uint64_t tag = sonde_load_u64le(data + offsetof(Elf64_Dyn, d_tag));
		uint64_t value = sonde_load_u64le(data + offsetof(Elf64_Dyn, d_un));
		const char *text = value < strings_size ? (const char *)strings->data + value : "";

		if (tag == DT_NULL)
			return;
		if (tag == DT_SONAME)
			*is_library = true;
		if ((tag == DT_NEEDED || tag == DT_SONAME) &&
		    strncmp(text, "libsonde-rt.", strlen("libsonde-rt.")) == 0)
			program->has_runtime = true;
	}
}

void sonde_symbols_program(struct sonde_symbols *symbols, struct sonde_symbols_program *program)
{
	struct table tables[2];
	bool is_library = false;

	*program = (struct sonde_symbols_program){ .dynamic = symbols->file.has_interpreter };
	note_dynamic(&symbols->file, &is_library, program);
	find_tables(symbols, tables);
	for (size_t i = 0; i < 2; i++)
		note_table(&tables[i], is_library, program);
}

bool sonde_symbols_patchable(const struct sonde_symbols *symbols, uint64_t *address, uint64_t *size)
{
	*size = 0;
	for (size_t i = 0; i < symbols->file.section_count; i++) {
		const struct elf_section *section = &symbols->file.sections[i];

		if (strcmp(section->name, "__patchable_function_entries") != 0 ||
		    !(section->flags & SHF_ALLOC) || !section->data || !section->size)
			continue;
		/* Linkers make one section of all; where there are several that follow each other, all. */
		if (!*size)
			*address = section->address;
		if (section->address == *address + *size)
			*size += section->size;
	}
	return *size;
}
