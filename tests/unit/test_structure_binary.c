/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures of binaries. They are built by each test with the compilers that are there, in a folder of
 * its own. A comparison with another program over every address is in tests/interop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../structure_text.h"
#include "scratch.h"
#include "symbols/symbols.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const compilers[] = { "gcc", "clang" };

/* The lines of all this are asked for below. */
static const char sample[] = "volatile int sink;\n"
			     "#define INLINED static inline __attribute__((always_inline)) void\n"
			     "INLINED deep(int x)\n"
			     "{\n"
			     "	sink = x;\n"
			     "}\n"
			     "INLINED middle(int x)\n"
			     "{\n"
			     "	deep(x + 1);\n"
			     "}\n"
			     "__attribute__((noinline)) int outer(int x)\n"
			     "{\n"
			     "	middle(x);\n"
			     "	middle(x);\n"
			     "	sink = 3;\n"
			     "	return x;\n"
			     "}\n"
			     "__attribute__((cold, noinline)) static void rare(void)\n"
			     "{\n"
			     "	sink = 4;\n"
			     "}\n"
			     "__attribute__((noinline)) int split(int x)\n"
			     "{\n"
			     "	if (x == 77) {\n"
			     "		rare();\n"
			     "		sink = 5;\n"
			     "		rare();\n"
			     "	}\n"
			     "	return x + sink;\n"
			     "}\n"
			     "int main(int argc, char **argv)\n"
			     "{\n"
			     "	(void)argv;\n"
			     "	return outer(argc) + split(argc);\n"
			     "}\n";

#define DEEP " > inlined middle [sample.c:7] > sample.c:9 > inlined deep [sample.c:3] > sample.c:5"

static struct sonde_structure *open_binary(const char *path, uint64_t limit,
					   enum sonde_structure_origin origin)
{
	struct sonde_structure *structure;
	struct sonde_error err;

	if (sonde_structure_of_binary(path, limit, &structure, &err) != SONDE_OK)
		fail_msg("%s: %s", path, err.message);
	assert_int_equal(sonde_structure_origin(structure), origin);
	return structure;
}

/* Where a function of the binary is; false where it has no such symbol. */
static bool find_symbol(const char *path, const char *name, struct sonde_symbol *symbol)
{
	struct sonde_symbols *symbols;
	bool found = false;

	assert_int_equal(sonde_symbols_open(path, NULL, 0, &symbols, NULL), SONDE_OK);
	for (size_t i = 0; !found && i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, symbol);
		found = strcmp(symbol->raw_name, name) == 0;
	}
	sonde_symbols_free(symbols);
	return found;
}

/* Whether some address of a function has this chain; all that have it have the same node. */
static bool has_chain(struct sonde_structure *structure, const struct sonde_symbol *symbol,
		      const char *expected)
{
	uint32_t node = SONDE_NONE;
	char text[1000];

	for (uint64_t i = 0; i < symbol->size; i++) {
		uint64_t address = symbol->address + i;

		structure_chain(structure, address, text, sizeof(text));
		if (strcmp(text, expected) != 0)
			continue;
		if (node == SONDE_NONE)
			node = sonde_structure_find(structure, address);
		assert_int_equal(sonde_structure_find(structure, address), node);
	}
	return node != SONDE_NONE;
}

static void assert_has(struct sonde_structure *structure, const struct sonde_symbol *symbol,
		       const char *expected)
{
	char text[1000];

	if (has_chain(structure, symbol, expected))
		return;
	for (uint64_t i = 0; i < symbol->size; i++)
		print_message("# %s\n",
			      structure_chain(structure, symbol->address + i, text, sizeof(text)));
	fail_msg("not there: %s", expected);
}

static void assert_whole(const char *symbols_path, const char *path)
{
	struct sonde_structure *structure = open_binary(path, 0, SONDE_STRUCTURE_DWARF);
	const struct sonde_structure_function *function;
	struct sonde_symbol symbol;
	uint32_t node;

	assert_true(find_symbol(symbols_path, "outer", &symbol));
	assert_has(structure, &symbol, "outer [sample.c:11] > sample.c:13" DEEP);
	assert_has(structure, &symbol, "outer [sample.c:11] > sample.c:14" DEEP);
	assert_has(structure, &symbol, "outer [sample.c:11] > sample.c:15");
	for (node = sonde_structure_find(structure, symbol.address);
	     sonde_structure_node(structure, node)->parent != SONDE_NONE;)
		node = sonde_structure_node(structure, node)->parent;
	function = sonde_structure_function(structure,
					    sonde_structure_node(structure, node)->function);
	assert_int_equal(function->address, symbol.address);
	assert_int_equal(sonde_structure_find(structure, 0), SONDE_NONE);
	assert_int_equal(sonde_structure_find(structure, UINT64_MAX), SONDE_NONE);
	assert_false(sonde_structure_failed(structure));
	sonde_structure_free(structure);
}

static void test_every_form(void **state)
{
	static const char *const forms[] = {
		"-gdwarf-4",
		"-gdwarf-5",
		"-gdwarf-4 -O2",
		"-gdwarf-5 -O2",
		"-g -O2 -gz",
		"-g -no-pie",
		"-g -O2 -flto",
		"-g -shared -fPIC",
		"-g -O3 -ffunction-sections",
		"-gdwarf-4 -gsplit-dwarf",
		"-gdwarf-5 -gsplit-dwarf",
	};
	size_t built = 0;

	(void)state;
	put_file("sample.c", sample);
	for (size_t i = 0; i < COUNT_OF(compilers) * COUNT_OF(forms); i++) {
		if (!run_quietly("rm -f ./*.dwo; %s %s sample.c -o sample",
				 compilers[i % COUNT_OF(compilers)],
				 forms[i / COUNT_OF(compilers)]))
			continue; /* clang may not be there */
		built++;
		assert_whole("sample", "sample");
	}
	assert_true(built >= COUNT_OF(forms) - 1);
}

/* The part of a function that the compiler put elsewhere is still that function. */
static void test_cold_part(void **state)
{
	struct sonde_structure *structure;
	const struct sonde_structure_node *node;
	struct sonde_symbol whole, part;

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc -g -O2 sample.c -o sample"));
	if (!find_symbol("sample", "split.cold", &part))
		return; /* a compiler that does not split */
	assert_true(find_symbol("sample", "split", &whole));
	structure = open_binary("sample", 0, SONDE_STRUCTURE_DWARF);
	assert_has(structure, &part, "split [sample.c:22] > sample.c:26");
	node = sonde_structure_node(structure, sonde_structure_find(structure, part.address));
	node = sonde_structure_node(structure, node->parent);
	assert_int_equal(sonde_structure_function(structure, node->function)->address,
			 whole.address);
	assert_has(structure, &whole, "split [sample.c:22] > sample.c:29");
	sonde_structure_free(structure);
}

static void assert_only_functions(const char *path, uint64_t limit)
{
	struct sonde_structure *structure = open_binary(path, limit, SONDE_STRUCTURE_SYMBOLS);
	struct sonde_symbol symbol;

	assert_true(find_symbol(path, "outer", &symbol));
	assert_has(structure, &symbol, "outer [-:0]");
	assert_int_equal(sonde_structure_find(structure, symbol.address),
			 sonde_structure_find(structure, symbol.address + symbol.size - 1));
	sonde_structure_free(structure);
}

static void test_symbols_only(void **state)
{
	struct sonde_structure *structure;
	struct sonde_symbol symbol;

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc sample.c -o sample"));
	assert_only_functions("sample", 0);
	assert_true(run_quietly("gcc -g sample.c -o sample"));
	assert_only_functions("sample", 10);
	assert_true(run_quietly("gcc -g -gz sample.c -o sample"));
	assert_only_functions("sample", 10);
	assert_true(run_quietly("gcc -g -s sample.c -o sample"));
	structure = open_binary("sample", 0, SONDE_STRUCTURE_SYMBOLS);
	assert_int_equal(sonde_structure_find(structure, 0x1000), SONDE_NONE);
	sonde_structure_free(structure);

	/* entries in a file that is gone: symbols and lines are left */
	assert_true(run_quietly("gcc -g -gsplit-dwarf sample.c -o sample && rm -f ./*.dwo"));
	structure = open_binary("sample", 0, SONDE_STRUCTURE_DWARF);
	assert_true(find_symbol("sample", "outer", &symbol));
	assert_has(structure, &symbol, "outer [-:0] > sample.c:15");
	sonde_structure_free(structure);
	assert_true(run_quietly("for name in sample.dwo sample-sample.dwo; do mkfifo $name; done"));
	structure = open_binary("sample", 0, SONDE_STRUCTURE_DWARF);
	assert_has(structure, &symbol, "outer [-:0] > sample.c:15");
	sonde_structure_free(structure);
}

/* Damaged DWARF: the symbols are still good. */
static void test_damaged_dwarf(void **state)
{
	struct sonde_structure *structure;
	struct sonde_symbol symbol = { 0 };
	char text[1000];

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc -g sample.c -o sample && "
				"objcopy --dump-section .debug_abbrev=abbrev sample && "
				"tr '\\001-\\377' '\\377' <abbrev >broken && "
				"objcopy --update-section .debug_abbrev=broken sample"));
	assert_true(find_symbol("sample", "outer", &symbol));
	structure = open_binary("sample", 0, SONDE_STRUCTURE_DWARF);
	structure_chain(structure, symbol.address, text, sizeof(text));
	assert_memory_equal(text, "outer [-:0]", 11);
	sonde_structure_free(structure);
}

static void test_debug_file(void **state)
{
	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly(
		"gcc -g -O2 sample.c -o sample && cp sample whole && "
		"objcopy --only-keep-debug sample sample.debug && strip --strip-all sample && "
		"objcopy --add-gnu-debuglink=sample.debug sample"));
	assert_whole("whole", "sample");
	if (!run_quietly("cp whole other && dwz -m common whole other"))
		return; /* dwz may not be there */
	assert_whole("whole", "whole");
}

static void test_names(void **state)
{
	static const char code[] = "volatile int sink;\n"
				   "namespace space {\n"
				   "template <class T> __attribute__((noinline)) T twice(T x)\n"
				   "{\n"
				   "	sink = 1;\n"
				   "	return x * 2;\n"
				   "}\n"
				   "struct thing {\n"
				   "	int value;\n"
				   "	__attribute__((always_inline)) int get() const\n"
				   "	{\n"
				   "		return value + sink;\n"
				   "	}\n"
				   "};\n"
				   "}\n"
				   "int main(int count, char **)\n"
				   "{\n"
				   "	space::thing thing = { count };\n"
				   "	return space::twice(count) + thing.get();\n"
				   "}\n";
	struct sonde_structure *structure;
	struct sonde_symbol symbol;

	(void)state;
	put_file("sample.cc", code);
	for (size_t i = 0; i < COUNT_OF(compilers); i++) {
		if (!run_quietly("%s -x c++ -g sample.cc -o sample", compilers[i]))
			continue;
		structure = open_binary("sample", 0, SONDE_STRUCTURE_DWARF);
		assert_true(find_symbol("sample", "_ZN5space5twiceIiEET_S1_", &symbol));
		assert_has(structure, &symbol,
			   "int space::twice<int>(int) [sample.cc:3] > sample.cc:6");
		assert_true(find_symbol("sample", "main", &symbol));
		assert_has(structure, &symbol,
			   "main [sample.cc:16] > sample.cc:19 > inlined "
			   "space::thing::get() const [sample.cc:10] > sample.cc:12");
		sonde_structure_free(structure);
	}
}

/* Assembler has lines, but no entries of functions where it is old. */
static void test_assembler(void **state)
{
	static const char code[] = "	.text\n"
				   "	.globl bare\n"
				   "	.type bare, @function\n"
				   "bare:\n"
				   "	nop\n"
				   "	ret\n"
				   "	.size bare, . - bare\n";
	struct sonde_structure *structure;
	struct sonde_symbol symbol = { 0 };
	char text[1000];

	(void)state;
	put_file("bare.s", code);
	assert_true(run_quietly("gcc -g -shared bare.s -o bare.so"));
	assert_true(find_symbol("bare.so", "bare", &symbol));
	structure = open_binary("bare.so", 0, SONDE_STRUCTURE_DWARF);
	structure_chain(structure, symbol.address, text, sizeof(text));
	assert_memory_equal(text, "bare [", 6);
	assert_non_null(strstr(text, "] > bare.s:5"));
	sonde_structure_free(structure);
}

static void test_refused(void **state)
{
	struct sonde_structure *structure;
	struct sonde_error err;

	(void)state;
	put_file("text", "no ELF file, and long enough to look like one if it were one......");
	assert_int_equal(sonde_structure_of_binary("none", 0, &structure, &err), SONDE_IO);
	assert_null(structure);
	assert_string_equal(err.file, "none");
	assert_int_equal(sonde_structure_of_binary("text", 0, &structure, &err), SONDE_FORMAT);
	assert_null(structure);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_form),	  TEST(test_cold_part),	 TEST(test_symbols_only),
		TEST(test_damaged_dwarf), TEST(test_debug_file), TEST(test_names),
		TEST(test_assembler),	  TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
