/* SPDX-License-Identifier: Apache-2.0 */
/* What lies at an address: the .sym files with names, and the .dbg files with lines and arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/uftrace/uftrace.h"

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), size = strlen(end);

	return length > size && !strcmp(name + length - size, end);
}

static bool is_same(struct uftrace_text a, struct uftrace_text b)
{
	return a.size == b.size && (!a.size || !memcmp(a.at, b.at, a.size));
}

/* The lines at the top: "# path name: ..." and "# build-id: ...". */
static void read_head(struct uftrace_symbols *symbols)
{
	struct uftrace_text text = { (const char *)symbols->text.data, symbols->text.size };
	struct uftrace_text line;

	while (uftrace_next_line(&text, &line) && uftrace_starts(&line, "#")) {
		if (uftrace_starts(&line, " path name: "))
			symbols->path = line;
		else if (uftrace_starts(&line, " build-id: "))
			symbols->build_id = line;
	}
}

static enum sonde_status add_file(struct uftrace *data, const struct sonde_folder *folder,
				  const char *name, struct sonde_error *err)
{
	struct uftrace_symbols *symbols = sonde_vec_push(&data->symbols);
	size_t stem = strlen(name) - strlen(".sym");
	enum sonde_status status;

	if (!symbols)
		return sonde_fail_nomem(err);
	*symbols = (struct uftrace_symbols){ 0 };
	symbols->file = sonde_arena_copy_text(&data->arena, name, strlen(name));
	if (!symbols->file)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < folder->count; i++) {
		if (ends_with(folder->names[i], ".dbg") && strlen(folder->names[i]) == stem + 4 &&
		    !memcmp(folder->names[i], name, stem)) {
			symbols->debug_file =
				sonde_arena_copy_text(&data->arena, folder->names[i], stem + 4);
			if (!symbols->debug_file)
				return sonde_fail_nomem(err);
		}
	}
	status = uftrace_map_file(data, name, &symbols->text, err);
	if (status == SONDE_NOMEM)
		return status;
	if (status) {
		EXCHANGE_FINDING(data->recording, RECORD, SONDE_NO_OFFSET,
				 "names of functions in %s\tit cannot be read", name);
		return SONDE_OK;
	}
	read_head(symbols);
	return SONDE_OK;
}

enum sonde_status uftrace_list_symbols(struct uftrace *data, const struct sonde_folder *folder,
				       struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < folder->count; i++) {
		if (ends_with(folder->names[i], ".sym"))
			status = add_file(data, folder, folder->names[i], err);
	}
	return status;
}

/* The name of a file without folders. */
static struct uftrace_text base_of(struct uftrace_text path)
{
	struct uftrace_text rest = path;

	while (rest.size && memchr(rest.at, '/', rest.size))
		uftrace_take(&rest, '/');
	return rest;
}

uint32_t uftrace_symbols_of(const struct uftrace *data, struct uftrace_text path,
			    struct uftrace_text build_id)
{
	struct uftrace_text base = base_of(path);
	uint32_t by_path = SONDE_NONE, by_name = SONDE_NONE;

	for (uint32_t i = 0; i < data->symbols.count; i++) {
		const struct uftrace_symbols *symbols = &data->symbols.items[i];
		size_t stem = strlen(symbols->file) - 4;

		if (is_same(symbols->path, path)) {
			/* of several of one path the one with the same build */
			if (is_same(symbols->build_id, build_id))
				return i;
			by_path = i;
		}
		if (stem == base.size && !memcmp(symbols->file, base.at, stem))
			by_name = i;
	}
	return by_path != SONDE_NONE ? by_path : by_name;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct uftrace_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->name.at > b->name.at) - (a->name.at < b->name.at);
}

/* "address [size] type name" */
static bool parse_symbol(struct uftrace_text line, struct uftrace_symbol *symbol)
{
	struct uftrace_text type;

	*symbol =
		(struct uftrace_symbol){ .address = uftrace_number(uftrace_take(&line, ' '), 16) };
	type = uftrace_take(&line, ' ');
	if (type.size > 1)
		type = uftrace_take(&line, ' ');
	symbol->name = line;
	symbol->ends = type.size == 1 && type.at[0] == '?';
	return type.size == 1 && line.size;
}

static struct uftrace_symbol *symbol_at(const struct uftrace_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &symbols->items.items[low - 1] : NULL;
}

/* "F: address name", then of that function "L: line file", "A: @arguments", "R: @result". */
static void read_debug(struct uftrace_symbols *symbols)
{
	struct uftrace_text text = { (const char *)symbols->debug_text.data,
				     symbols->debug_text.size };
	struct uftrace_symbol *symbol = NULL;
	struct uftrace_text line;

	while (uftrace_next_line(&text, &line)) {
		if (uftrace_starts(&line, "F: ")) {
			uint64_t address = uftrace_number(uftrace_take(&line, ' '), 16);

			symbol = symbol_at(symbols, address);
			if (symbol && symbol->address != address)
				symbol = NULL;
		} else if (symbol && uftrace_starts(&line, "L: ")) {
			symbol->line = (uint32_t)uftrace_number(uftrace_take(&line, ' '), 10);
			symbol->file = line;
		} else if (symbol && uftrace_starts(&line, "A: @")) {
			symbol->arguments = line;
		} else if (symbol && uftrace_starts(&line, "R: @")) {
			symbol->result = line;
		}
	}
}

static enum sonde_status load(struct uftrace *data, struct uftrace_symbols *symbols,
			      struct sonde_error *err)
{
	struct uftrace_text text = { (const char *)symbols->text.data, symbols->text.size };
	struct uftrace_text line;
	struct uftrace_symbol symbol;
	enum sonde_status status;

	if (symbols->loaded)
		return SONDE_OK;
	symbols->loaded = true;
	while (uftrace_next_line(&text, &line)) {
		struct uftrace_symbol *added;

		if (uftrace_starts(&line, "#") || !parse_symbol(line, &symbol))
			continue;
		added = sonde_vec_push(&symbols->items);
		if (!added)
			return sonde_fail_nomem(err);
		*added = symbol;
	}
	if (symbols->items.count)
		qsort(symbols->items.items, symbols->items.count, sizeof(*symbols->items.items),
		      compare_symbols);
	if (!symbols->debug_file)
		return SONDE_OK;
	status = uftrace_map_file(data, symbols->debug_file, &symbols->debug_text, err);
	if (!status)
		read_debug(symbols);
	return status == SONDE_NOMEM ? status : SONDE_OK;
}

/* The mapping that an address lies in. Of those without an end the one that begins last before it. */
static const struct uftrace_mapping *mapping_of(const struct uftrace_session *session,
						uint64_t address, uint64_t time_ns)
{
	const struct uftrace_mapping *found = NULL;

	for (size_t i = 0; session && i < session->mappings.count; i++) {
		const struct uftrace_mapping *mapping = &session->mappings.items[i];

		if (address < mapping->start || mapping->since_ns > time_ns)
			continue;
		if (mapping->end && address < mapping->end)
			return mapping;
		if (!mapping->end && (!found || mapping->start >= found->start))
			found = mapping;
	}
	return found;
}

static enum sonde_status define_module(struct uftrace *data, uint32_t process,
				       const struct uftrace_mapping *mapping, uint32_t *module,
				       struct sonde_error *err)
{
	struct sonde_module made = { .process = process,
				     .base_address = mapping->base,
				     .size = mapping->end ? mapping->end - mapping->base : 0 };
	uint32_t key[2] = { process, mapping->symbols };
	enum sonde_status status;
	const char *copy;

	*module = sonde_text_map_find(&data->module_ids, (const char *)key, sizeof(key));
	if (*module != SONDE_NONE)
		return SONDE_OK;
	status = sonde_intake_string(data->intake, mapping->path.at, mapping->path.size, &made.path,
				     err);
	if (!status)
		status = sonde_intake_string(
			data->intake, data->symbols.items[mapping->symbols].build_id.at,
			data->symbols.items[mapping->symbols].build_id.size, &made.uuid, err);
	if (!status)
		status = sonde_definitions_add_module(data->recording->definitions, &made, module,
						      err);
	if (status)
		return status;
	copy = sonde_arena_copy_text(&data->arena, (const char *)key, sizeof(key));
	if (!copy || !sonde_text_map_add(&data->module_ids, copy, sizeof(key), *module))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static enum sonde_status define_symbol(struct uftrace *data, uint32_t process,
				       const struct uftrace_mapping *mapping,
				       const struct uftrace_symbol *symbol,
				       struct uftrace_place *place, struct sonde_error *err)
{
	struct sonde_function like = { .process = process,
				       .line = symbol->line,
				       .address = symbol->address };
	enum sonde_status status = define_module(data, process, mapping, &like.module, err);

	if (!status)
		status = sonde_intake_string(data->intake, symbol->file.at, symbol->file.size,
					     &like.file, err);
	if (!status)
		status = sonde_intake_function(data->intake, &like, symbol->name.at,
					       symbol->name.size, &place->function, err);
	if (!status)
		status = uftrace_find_spec(data, symbol->name, symbol->arguments, false,
					   &place->arguments, err);
	if (!status)
		status = uftrace_find_spec(data, symbol->name, symbol->result, true, &place->result,
					   err);
	return status;
}

static enum sonde_status make_place(struct uftrace *data, const struct uftrace_session *session,
				    uint32_t process, uint64_t address, uint64_t time_ns,
				    struct uftrace_place *place, struct sonde_error *err)
{
	const struct uftrace_mapping *mapping = mapping_of(session, address, time_ns);
	const struct uftrace_symbol *symbol = NULL;
	struct sonde_function unknown = { .process = process,
					  .module = SONDE_NONE,
					  .address = address };
	enum sonde_status status = SONDE_OK;
	char name[32];
	int length;

	*place = (struct uftrace_place){ .arguments = SONDE_NONE, .result = SONDE_NONE };
	if (mapping && mapping->symbols != SONDE_NONE) {
		struct uftrace_symbols *symbols = &data->symbols.items[mapping->symbols];

		status = load(data, symbols, err);
		symbol = symbol_at(symbols, data->features & UFTRACE_FEATURE_RELATIVE ?
						    address - mapping->base :
						    address);
	}
	if (status)
		return status;
	if (symbol && !symbol->ends)
		return define_symbol(data, process, mapping, symbol, place, err);
	length = snprintf(name, sizeof(name), "<%llx>", (unsigned long long)address);
	return sonde_intake_function(data->intake, &unknown, name, (size_t)length, &place->function,
				     err);
}

/* Processes and sessions as a small number. */
static enum sonde_status space_of(struct uftrace *data, const struct uftrace_session *session,
				  uint32_t process, uint64_t *space, struct sonde_error *err)
{
	uint64_t key[2] = { (uint64_t)(session ? session - data->sessions.items + 1 : 0), process };
	uint32_t found = sonde_text_map_find(&data->space_ids, (const char *)key, sizeof(key));
	const char *copy;

	*space = found;
	if (found != SONDE_NONE)
		return SONDE_OK;
	if (data->space_count > UINT16_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more than 65536 programs were run in one recording");
	copy = sonde_arena_copy_text(&data->arena, (const char *)key, sizeof(key));
	if (!copy || !sonde_text_map_add(&data->space_ids, copy, sizeof(key), data->space_count))
		return sonde_fail_nomem(err);
	*space = data->space_count++;
	return SONDE_OK;
}

enum sonde_status uftrace_find_place(struct uftrace *data, const struct uftrace_session *session,
				     uint32_t process, uint64_t address, uint64_t time_ns,
				     struct uftrace_place *place, struct sonde_error *err)
{
	enum sonde_status status;
	struct uftrace_place *added;
	uint64_t space, key;
	uint32_t found;

	status = space_of(data, session, process, &space, err);
	if (status)
		return status;
	key = space << 48 | address;
	found = sonde_key_map_find(&data->place_ids, key);
	if (found != SONDE_NONE) {
		*place = data->places.items[found];
		return SONDE_OK;
	}
	status = make_place(data, session, process, address, time_ns, place, err);
	if (status)
		return status;
	added = sonde_vec_push(&data->places);
	if (!added || !sonde_key_map_add(&data->place_ids, key, (uint32_t)(data->places.count - 1)))
		return sonde_fail_nomem(err);
	*added = *place;
	return SONDE_OK;
}

void uftrace_symbols_release(struct uftrace *data)
{
	for (size_t i = 0; i < data->symbols.count; i++) {
		sonde_mapped_file_release(&data->symbols.items[i].text);
		sonde_mapped_file_release(&data->symbols.items[i].debug_text);
		sonde_vec_release(&data->symbols.items[i].items);
	}
	sonde_vec_release(&data->symbols);
}
