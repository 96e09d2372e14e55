/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs against the names of functions, once for each file, and the tables in shared memory that
 * hooks look into. A process keeps the table that it was answered with: what it loads later is
 * added there.
 */
#include "record/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "record/session.h"

enum { TABLE_MIN = 16384 };

static bool has_items(const char *const *list)
{
	return list && list[0];
}

/* Whether globs leave any out: "*" takes all, those without a name with them. */
static bool are_narrow(const char *const *globs)
{
	bool narrow = has_items(globs);

	for (; narrow && *globs; globs++)
		narrow = strcmp(*globs, "*") != 0;
	return narrow;
}

void selection_init(struct session *session)
{
	const struct record_options *options = session->options;
	struct selection *selection = &session->selection;

	selection->by_name = are_narrow(options->functions) || has_items(options->exclude) ||
			     are_narrow(options->modules);
	for (size_t i = 0; i < options->trigger_count; i++)
		selection->by_name |= options->triggers[i].kind == TRIGGER_SYMBOL;
	selection->default_action = FILTER_RECORD;
	if (are_narrow(options->functions) || are_narrow(options->modules))
		selection->default_action = 0;
}

static void free_file(struct module_file *file)
{
	if (!file)
		return;
	sonde_vec_release(&file->rules);
	free(file->path);
	free(file);
}

void selection_release(struct selection *selection)
{
	for (size_t i = 0; i < selection->files.count; i++)
		free_file(selection->files.items[i]);
	sonde_vec_release(&selection->files);
	sonde_symbol_files_release(&selection->symbol_files);
}

struct module_file *selection_file(struct session *session, const struct load_map_module *module)
{
	struct selection *selection = &session->selection;
	uint32_t number = sonde_symbol_files_find(&selection->symbol_files, module->path,
						  module->build_id, module->build_id_size);
	const struct sonde_symbols *symbols;
	struct module_file *file;

	if (number < selection->files.count)
		return selection->files.items[number];
	if (number != selection->files.count || !sonde_vec_reserve(&selection->files, 1))
		return NULL;
	file = calloc(1, sizeof(*file));
	if (file)
		file->path = strdup(module->path);
	if (!file || !file->path) {
		free_file(file);
		return NULL;
	}
	file->number = number;
	symbols = sonde_symbol_files_mapped(&selection->symbol_files, number);
	if (symbols)
		sonde_symbols_patchable(symbols, &file->patchable_address, &file->patchable_size);
	selection->files.items[selection->files.count++] = file;
	return file;
}

struct sonde_symbols *selection_symbols(const struct session *session,
					const struct module_file *file)
{
	return sonde_symbol_files_at(&session->selection.symbol_files, file->number);
}

bool selection_has_hooks(const struct session *session, const struct module_file *file)
{
	struct sonde_symbols *symbols =
		sonde_symbol_files_mapped(&session->selection.symbol_files, file->number);
	struct sonde_symbols_program program = { 0 };

	if (symbols)
		sonde_symbols_program(symbols, &program);
	return program.hooks;
}

/* The forms of one function's name that a glob may mean. */
struct names {
	const char *raw;
	char *demangled; /* NULL: as raw */
	char *plain;	 /* without its arguments; NULL: as demangled */
};

/* "space::name(int) const" without what begins with its last pair of outer brackets. */
static char *without_arguments(const char *name)
{
	const char *end = strrchr(name, ')'), *at = end;
	int depth = 0;

	for (; at && at >= name; at--) {
		depth += *at == ')';
		depth -= *at == '(';
		if (!depth)
			return at > name ? strndup(name, (size_t)(at - name)) : NULL;
	}
	return NULL;
}

static bool matches(const char *glob, const struct names *names)
{
	return !fnmatch(glob, names->raw, 0) ||
	       (names->demangled && !fnmatch(glob, names->demangled, 0)) ||
	       (names->plain && !fnmatch(glob, names->plain, 0));
}

static bool matches_any(const char *const *globs, const struct names *names)
{
	for (; globs && *globs; globs++)
		if (matches(*globs, names))
			return true;
	return false;
}

static bool module_matches(const char *const *globs, const char *path)
{
	const char *last = strrchr(path, '/');

	for (; globs && *globs; globs++)
		if (!fnmatch(*globs, path, 0) || (last && !fnmatch(*globs, last + 1, 0)))
			return true;
	return false;
}

static uint32_t trigger_actions(const struct record_options *options, const struct names *names)
{
	static const uint32_t bits[] = {
		[TRIGGER_RECORD_ON] = FILTER_TRIGGER_ON, [TRIGGER_RECORD_OFF] = FILTER_TRIGGER_OFF,
		[TRIGGER_DETAIL_ON] = FILTER_DETAIL_ON,	 [TRIGGER_DETAIL_OFF] = FILTER_DETAIL_OFF,
		[TRIGGER_DUMP] = FILTER_REQUEST_DUMP,
	};
	uint32_t actions = 0;

	for (size_t i = 0; i < options->trigger_count; i++)
		if (options->triggers[i].kind == TRIGGER_SYMBOL &&
		    matches(options->triggers[i].symbol, names))
			actions |= bits[options->triggers[i].action];
	return actions;
}

static uint32_t decide(const struct record_options *options, bool in_module,
		       const struct names *names)
{
	bool record = in_module;

	if (record && has_items(options->functions))
		record = matches_any(options->functions, names);
	if (record)
		record = !matches_any(options->exclude, names);
	return (record ? FILTER_RECORD : 0) | trigger_actions(options, names);
}

static void decide_function(struct session *session, struct module_file *file, bool in_module,
			    const struct sonde_symbol *symbol)
{
	struct names names = { .raw = symbol->raw_name };
	struct module_rule *rule;
	uint32_t action;

	names.demangled = sonde_demangle(symbol->raw_name);
	if (names.demangled)
		names.plain = without_arguments(names.demangled);
	action = decide(session->options, in_module, &names);
	free(names.demangled);
	free(names.plain);
	if (action == session->selection.default_action)
		return;
	rule = sonde_vec_push(&file->rules);
	if (rule)
		*rule = (struct module_rule){ .address = symbol->address, .action = action };
}

static void decide_file(struct session *session, struct module_file *file)
{
	bool in_module = !has_items(session->options->modules) ||
			 module_matches(session->options->modules, file->path);
	const struct sonde_symbols *symbols = selection_symbols(session, file);
	size_t count = symbols ? sonde_symbols_count(symbols) : 0;

	file->decided = true;
	for (size_t i = 0; i < count; i++) {
		struct sonde_symbol symbol;

		sonde_symbols_at(symbols, i, &symbol);
		decide_function(session, file, in_module, &symbol);
	}
}

/* Action first: a hook that sees the function sees its action. True where it is a new one. */
static bool put_filter(struct shared_filter *table, uint64_t size, uint64_t function,
		       uint64_t action)
{
	uint64_t place = function_hash(function) & (size - 1);
	bool is_new;

	while (table[place].function && table[place].function != function)
		place = (place + 1) & (size - 1);
	is_new = !table[place].function;
	table[place].action = action;
	__atomic_store_n(&table[place].function, function, __ATOMIC_RELEASE);
	return is_new;
}

static struct filter_table *new_table(struct session *session, uint64_t functions)
{
	struct filter_table *table = calloc(1, sizeof(*table));
	uint64_t size = TABLE_MIN;

	while (size < functions * 4)
		size *= 2;
	if (!table)
		return NULL;
	table->offset = shared_memory_take_filters(&session->memory, size);
	table->size = size;
	table->references = 1;
	if (table->offset)
		return table;
	free(table);
	return NULL;
}

/* Room for so many more functions: the table that there is, or a larger one with its contents. */
static bool make_room(struct session *session, struct recorded_process *process, size_t more)
{
	struct shared_process *slot = &session->memory.processes[process->slot];
	struct filter_table *old = process->filter, *table;
	struct shared_filter *filters;

	if (old && old->used + more <= old->size / 8 * (process->answered ? 7 : 4))
		return true;
	if (process->answered)
		return false;
	table = new_table(session, (old ? old->used : 0) + more);
	if (!table)
		return false;
	filters = shared_memory_filters(&session->memory, table->offset);
	for (uint64_t i = 0; old && i < old->size; i++) {
		const struct shared_filter *from =
			&shared_memory_filters(&session->memory, old->offset)[i];

		if (from->function)
			put_filter(filters, table->size, from->function, from->action);
	}
	table->used = old ? old->used : 0;
	slot->filter = table->offset;
	slot->filter_mask = table->size - 1;
	selection_drop(session, process);
	process->filter = table;
	return true;
}

static void add_patches(struct session *session, struct recorded_process *process,
			const struct load_map_module *module, const struct module_file *file)
{
	struct shared_process *slot = &session->memory.processes[process->slot];
	uint64_t low = module->base + file->patchable_address;
	uint32_t count = slot->patch_count;

	process->patchable = true;
	if (count >= sizeof(slot->patch) / sizeof(slot->patch[0])) {
		if (!session->selection.patches_full)
			session_problem(session,
					"process %u has more than %zu modules with patchable "
					"entries: those of %s are not recorded",
					process->pid, sizeof(slot->patch) / sizeof(slot->patch[0]),
					module->path);
		session->selection.patches_full = true;
		return;
	}
	slot->patch[count].low = low;
	slot->patch[count].high = low + file->patchable_size;
	process->patch_bases[count] = module->base;
	__atomic_store_n(&slot->patch_count, count + 1, __ATOMIC_RELEASE);
}

static void remove_patches(struct session *session, struct recorded_process *process,
			   const struct load_map_module *module)
{
	struct shared_process *slot = &session->memory.processes[process->slot];
	uint32_t count = slot->patch_count, kept = 0;

	for (uint32_t i = 0; i < count && i < sizeof(slot->patch) / sizeof(slot->patch[0]); i++) {
		if (process->patch_bases[i] == module->base)
			continue;
		process->patch_bases[kept] = process->patch_bases[i];
		slot->patch[kept].low = slot->patch[i].low;
		slot->patch[kept++].high = slot->patch[i].high;
	}
	__atomic_store_n(&slot->patch_count, kept, __ATOMIC_RELEASE);
}

/* The rules of a file for one module; `action` in place of theirs where it is not SONDE_NONE. */
static void put_rules(struct session *session, struct recorded_process *process,
		      const struct load_map_module *module, const struct module_file *file,
		      uint32_t action)
{
	struct filter_table *table = process->filter;
	struct shared_filter *filters = shared_memory_filters(&session->memory, table->offset);

	for (size_t i = 0; i < file->rules.count; i++) {
		const struct module_rule *rule = &file->rules.items[i];

		table->used += put_filter(filters, table->size, module->base + rule->address,
					  action == SONDE_NONE ? rule->action : action);
	}
}

void selection_add_module(struct session *session, struct recorded_process *process,
			  const struct load_map_module *module)
{
	struct module_file *file = selection_file(session, module);

	if (!file)
		return;
	if (session->selection.by_name && !file->decided)
		decide_file(session, file);
	if (file->rules.count && make_room(session, process, file->rules.count)) {
		put_rules(session, process, module, file, SONDE_NONE);
	} else if (file->rules.count && !session->selection.full) {
		session->selection.full = true;
		session_problem(session, "there is no room for more filters: functions of some "
					 "processes are not told apart");
	}
	if (file->patchable_size)
		add_patches(session, process, module, file);
}

void selection_remove_module(struct session *session, struct recorded_process *process,
			     const struct load_map_module *module)
{
	struct module_file *file = selection_file(session, module);

	if (!file)
		return;
	if (process->filter && process->filter->references == 1)
		put_rules(session, process, module, file, session->selection.default_action);
	if (file->patchable_size)
		remove_patches(session, process, module);
}

/* All processes want the same of a file: what several of them tell is one thing. */
void selection_note_unpatched(struct session *session, const struct load_map_module *module,
			      const struct shared_module *entry)
{
	struct module_file *file = selection_file(session, module);

	if (!file)
		return;
	if (file->entries_too_short < entry->entries_too_short)
		file->entries_too_short = entry->entries_too_short;
	if (file->entries_not_writable < entry->entries_not_writable)
		file->entries_not_writable = entry->entries_not_writable;
}

void selection_prepare(struct session *session, struct recorded_process *process)
{
	if (session->selection.by_name && !process->filter)
		make_room(session, process, 1);
}

void selection_share(struct recorded_process *child, struct recorded_process *parent)
{
	child->filter = parent->filter;
	if (child->filter)
		child->filter->references++;
}

void selection_drop(struct session *session, struct recorded_process *process)
{
	struct filter_table *table = process->filter;

	process->filter = NULL;
	if (!table || --table->references)
		return;
	if (session->memory.base)
		shared_memory_give_filters(&session->memory, table->offset, table->size);
	free(table);
}
