/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures: the time of a lookup of addresses in a binary with DWARF, and of reading a made-up .hpcstruct
 * file.
 *	sonde-bench-structure BINARY [MEGABYTES]
 * Addresses are taken at random from the binary's functions; the first pass over them reads its DWARF,
 * the second does not.
 */
#include <sys/resource.h>

#include "analyse/structure.h"
#include "base/buffer.h"
#include "need.h"
#include "symbols/symbols.h"

enum { ADDRESSES = 100000 };

static uint64_t addresses[ADDRESSES];

static uint64_t next_random(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static void choose_addresses(const char *path)
{
	struct sonde_symbols *symbols;
	struct sonde_error err;
	size_t count;

	need(sonde_symbols_open(path, NULL, 0, &symbols, &err), &err);
	count = sonde_symbols_count(symbols);
	for (size_t i = 0; count && i < ADDRESSES; i++) {
		struct sonde_symbol symbol;

		sonde_symbols_at(symbols, next_random() % count, &symbol);
		addresses[i] = symbol.address + next_random() % symbol.size;
	}
	sonde_symbols_free(symbols);
}

static void look_up(const char *path)
{
	struct sonde_structure *structure;
	struct sonde_error err;

	choose_addresses(path);
	need(sonde_structure_of_binary(path, 0, &structure, &err), &err);
	for (unsigned int pass = 1; pass <= 2; pass++) {
		double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		size_t found = 0;

		for (size_t i = 0; i < ADDRESSES; i++)
			found += sonde_structure_find(structure, addresses[i]) != SONDE_NONE;
		printf("lookup, pass %u: %.0f ns each, %zu of %d found\n", pass,
		       (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e9 / ADDRESSES, found,
		       ADDRESSES);
	}
	sonde_structure_free(structure);
}

/* Functions with a loop, an inlined call and statements, as in real files. */
static void make_file(struct sonde_buffer *text, size_t size)
{
	uint64_t address = 0x1000;

	sonde_buffer_put_text(text,
			      "<?xml version=\"1.0\"?>\n<HPCToolkitStructure version=\"4.9\">\n"
			      "<LM n=\"/bin/x\" v=\"{}\">\n<F n=\"/src/file.c\">\n");
	for (unsigned int i = 0; text->size < size && !text->failed; i++, address += 0x100)
		sonde_buffer_put_format(
			text,
			"<P i=\"%u\" n=\"space::function_%u(int, char const*)\" l=\"%u\" "
			"v=\"{[0x%llx-0x%llx)}\">\n"
			"<S i=\"1\" l=\"%u\" v=\"{[0x%llx-0x%llx) [0x%llx-0x%llx)}\"/>\n"
			"<L i=\"2\" l=\"7\" f=\"/src/file.c\" v=\"{[0x%llx-0x%llx)}\">\n"
			"<A i=\"3\" l=\"8\" f=\"/src/file.c\" n=\"\" v=\"{}\">\n"
			"<A i=\"4\" l=\"9\" f=\"/src/file.h\" n=\"space::inlined(int)\" v=\"{}\">\n"
			"<S i=\"5\" l=\"10\" v=\"{[0x%llx-0x%llx)}\"/>\n</A>\n</A>\n</L>\n</P>\n",
			i, i, i, (unsigned long long)address, (unsigned long long)address + 1, i,
			(unsigned long long)address, (unsigned long long)address + 0x20,
			(unsigned long long)address + 0x60, (unsigned long long)address + 0x80,
			(unsigned long long)address + 0x20, (unsigned long long)address + 0x21,
			(unsigned long long)address + 0x20, (unsigned long long)address + 0x60);
	sonde_buffer_put_text(text, "</F>\n</LM>\n</HPCToolkitStructure>\n");
}

static void parse(size_t megabytes)
{
	struct sonde_structure_file *file;
	struct sonde_buffer text = { 0 };
	struct sonde_error err;
	struct rusage usage;
	double start;

	make_file(&text, megabytes << 20);
	start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	need(sonde_structure_file_parse(text.data, text.size, &file, &err), &err);
	getrusage(RUSAGE_SELF, &usage);
	printf(".hpcstruct of %zu MB: %.3f s; at most %ld MB in memory, the text among them\n",
	       text.size >> 20, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start,
	       usage.ru_maxrss >> 10);
	sonde_structure_file_free(file);
	sonde_buffer_release(&text);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: sonde-bench-structure BINARY [MEGABYTES]\n", stderr);
		return 2;
	}
	look_up(argv[1]);
	parse(argc > 2 ? strtoul(argv[2], NULL, 10) : 50);
	return 0;
}
