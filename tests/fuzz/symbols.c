/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of ELF files: the input is a file whose functions are all listed, looked up,
 * and asked for their lines and plain names. Beyond "does not crash" it holds what symbols.h says
 * about order and sizes.
 */
#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
#include "require.h"
#include "symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_function(struct sonde_symbols *symbols, const struct sonde_symbol *symbol)
{
	struct sonde_symbol found;
	const char *file;
	uint32_t line;

	REQUIRE(symbol->size > 0);
	REQUIRE(symbol->raw_name[0]);
	REQUIRE(sonde_symbols_find(symbols, symbol->address, &found));
	REQUIRE(found.address == symbol->address);
	REQUIRE(sonde_symbols_find(symbols, symbol->address + symbol->size - 1, &found));
	REQUIRE(found.address >= symbol->address);
	if (sonde_symbols_line(symbols, symbol->address, &file, &line))
		REQUIRE(line > 0 && strlen(file) > 0);
	free(sonde_demangle(symbol->raw_name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = memory_file(data, size);
	struct sonde_symbols *symbols;
	struct sonde_symbols_program program;
	struct sonde_symbol symbol, before = { 0 };
	struct sonde_error err = { 0 };
	uint64_t address, patchable_size;

	if (sonde_symbols_open(path, NULL, 0, &symbols, &err) < 0) {
		REQUIRE(err.message[0]);
		return 0;
	}
	sonde_symbols_program(symbols, &program);
	REQUIRE(sonde_symbols_patchable(symbols, &address, &patchable_size) ==
		(patchable_size > 0));
	for (size_t i = 0; i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, &symbol);
		REQUIRE(!i || symbol.address > before.address);
		walk_function(symbols, &symbol);
		before = symbol;
	}
	sonde_symbols_free(symbols);
	return 0;
}
