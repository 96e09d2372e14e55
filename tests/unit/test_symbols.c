/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines of functions in ELF files. The files are built by each test with the compilers
 * that are there, in a folder of its own, so that both compilers are met in every form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "scratch.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const compilers[] = { "gcc", "clang" };

/* The lines of these functions are asked for below. */
static const char sample[] =
	"static int hidden(int x);\n"
	"int\n"
	"shown(int x)\n"
	"{\n"
	"	return hidden(x) + 1;\n"
	"}\n"
	"static __attribute__((noinline)) int\n"
	"hidden(int x)\n"
	"{\n"
	"	return x * 2;\n"
	"}\n"
	"__attribute__((weak, alias(\"shown\"))) int a(int x);\n"
	"extern __attribute__((alias(\"shown\"))) int __shown(int x);\n"
	"extern __attribute__((alias(\"shown\"))) int shown_too(int x);\n"
	"__asm__(\".text; .type bare, @function; bare: nop; nop; nop; nop\");\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argv;\n"
	"	return shown(argc) == 3;\n"
	"}\n";

static struct sonde_symbols *open_symbols(const char *path)
{
	struct sonde_symbols *symbols;
	struct sonde_error err;

	if (sonde_symbols_open(path, NULL, 0, &symbols, &err) != SONDE_OK)
		fail_msg("%s: %s", path, err.message);
	return symbols;
}

static bool find_name(const struct sonde_symbols *symbols, const char *name,
		      struct sonde_symbol *symbol)
{
	for (size_t i = 0; i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, symbol);
		if (strcmp(symbol->raw_name, name) == 0)
			return true;
	}
	return false;
}

static void assert_line(struct sonde_symbols *symbols, const char *folder, const char *name,
			uint32_t expected)
{
	struct sonde_symbol symbol;
	char path[200];
	const char *file;
	uint32_t line;

	snprintf(path, sizeof(path), "%s/sample.c", folder);
	assert_true(find_name(symbols, name, &symbol));
	assert_true(sonde_symbols_line(symbols, symbol.address, &file, &line));
	assert_string_equal(file, path);
	assert_int_equal(line, expected);
}

/* What holds in every form that the sample is built in. */
static void check_sample(struct sonde_symbols *symbols)
{
	struct sonde_symbol symbol, found, before = { 0 };

	for (size_t i = 0; i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, &symbol);
		assert_true(symbol.size > 0);
		assert_true(!i || symbol.address > before.address);
		assert_true(sonde_symbols_find(symbols, symbol.address, &found));
		assert_int_equal(found.address, symbol.address);
		before = symbol;
	}
	assert_true(find_name(symbols, "shown", &symbol));
	assert_true(sonde_symbols_find(symbols, symbol.address + symbol.size - 1, &found));
	assert_string_equal(found.raw_name, "shown");
	assert_true(find_name(symbols, "hidden", &symbol));
	assert_true(find_name(symbols, "bare", &symbol));
	assert_true(symbol.size >= 4);
	assert_false(find_name(symbols, "a", &symbol));
	assert_false(find_name(symbols, "shown_too", &symbol));
	assert_false(find_name(symbols, "__shown", &symbol));
	assert_false(sonde_symbols_find(symbols, 0, &symbol));
	assert_false(sonde_symbols_find(symbols, UINT64_MAX, &symbol));
}

static void test_lines_in_every_form(void **state)
{
	static const char *const forms[] = {
		"-gdwarf-4",  "-gdwarf-5",  "-gdwarf-4 -O2",	"-gdwarf-5 -O2",	  "-g -gz",
		"-g -no-pie", "-g -static", "-g -shared -fPIC", "-g -ffunction-sections", "-g3",
	};
	size_t built = 0;

	put_file("sample.c", sample);
	for (size_t i = 0; i < COUNT_OF(compilers) * COUNT_OF(forms); i++) {
		struct sonde_symbols *symbols;

		if (!run_quietly("%s %s sample.c -o sample", compilers[i % COUNT_OF(compilers)],
				 forms[i / COUNT_OF(compilers)]))
			continue; /* clang, or a static libc, may not be there */
		built++;
		symbols = open_symbols("sample");
		check_sample(symbols);
		assert_line(symbols, *state, "shown", 3);
		assert_line(symbols, *state, "hidden", 8);
		assert_line(symbols, *state, "main", 16);
		sonde_symbols_free(symbols);
	}
	assert_true(built >= COUNT_OF(forms) - 1);
}

/* Without declarations the line of the first instruction is taken. */
static void test_lines_of_code(void **state)
{
	static const char *const forms[] = { "-gdwarf-4 -gsplit-dwarf",
					     "-g -gdwarf-5 -gsplit-dwarf", "-gline-tables-only" };
	size_t built = 0;

	put_file("sample.c", sample);
	for (size_t i = 0; i < COUNT_OF(compilers) * COUNT_OF(forms); i++) {
		struct sonde_symbols *symbols;

		if (!run_quietly("%s %s sample.c -o sample && rm -f ./*.dwo",
				 compilers[i % COUNT_OF(compilers)],
				 forms[i / COUNT_OF(compilers)]))
			continue;
		built++;
		symbols = open_symbols("sample");
		assert_line(symbols, *state, "shown", 4);
		assert_line(symbols, *state, "hidden", 9);
		sonde_symbols_free(symbols);
	}
	assert_true(built >= COUNT_OF(forms) - 1);
}

static void test_stripped(void **state)
{
	struct sonde_symbols *symbols;
	struct sonde_symbol symbol;
	const char *file;
	uint32_t line;

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc -g -s -shared -fPIC sample.c -o sample"));
	symbols = open_symbols("sample");
	assert_true(find_name(symbols, "shown", &symbol));
	assert_false(sonde_symbols_line(symbols, symbol.address, &file, &line));
	assert_false(find_name(symbols, "hidden", &symbol));
	sonde_symbols_free(symbols);

	assert_true(run_quietly("gcc -s sample.c -o sample"));
	symbols = open_symbols("sample");
	assert_false(find_name(symbols, "shown", &symbol));
	sonde_symbols_free(symbols);
}

static void assert_whole(const char *folder, const char *path)
{
	struct sonde_symbols *symbols = open_symbols(path);

	assert_line(symbols, folder, "shown", 3);
	assert_line(symbols, folder, "hidden", 8);
	sonde_symbols_free(symbols);
}

/* A debug file beside the program, in .debug, and one that belongs to another program. */
static void test_debug_link(void **state)
{
	static const char *const ids[] = { "sha1", "none" };
	struct sonde_symbols *symbols;
	struct sonde_symbol symbol;

	put_file("sample.c", sample);
	put_file("other.c", "int main(void) { return 0; }");
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		assert_true(run_quietly("gcc -g -Wl,--build-id=%s sample.c -o sample && "
					"objcopy --only-keep-debug sample sample.debug && "
					"strip --strip-all sample && "
					"objcopy --add-gnu-debuglink=sample.debug sample",
					ids[i]));
		assert_whole(*state, "sample");
		assert_whole(*state, "./sample");
		assert_true(run_quietly("mkdir -p .debug && mv sample.debug .debug/"));
		assert_whole(*state, "sample");
		assert_true(run_quietly("gcc -g -Wl,--build-id=%s other.c -o .debug/sample.debug",
					ids[i]));
		symbols = open_symbols("sample");
		assert_false(find_name(symbols, "hidden", &symbol));
		sonde_symbols_free(symbols);
	}
	assert_true(run_quietly("rm -r .debug && mkfifo sample.debug"));
	sonde_symbols_free(open_symbols("sample"));
}

static void test_debug_build_id(void **state)
{
	struct elf_file file, debug;
	struct sonde_error err;
	char path[200], folder[100];
	size_t length;

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc -g -Wl,--build-id=0xabcdef0123456789 sample.c -o sample && "
				"objcopy --only-keep-debug sample whole.debug && "
				"strip --strip-all sample && mkdir -p root/.build-id/ab && "
				"cp whole.debug root/.build-id/ab/cdef0123456789.debug"));
	assert_int_equal(elf_file_open(&file, "sample", &err), SONDE_OK);
	assert_int_equal(file.build_id_size, 8);
	assert_false(elf_file_open_debug(&file, "/nowhere", &debug));
	assert_true(elf_file_open_debug(&file, "root", &debug));
	assert_true(elf_file_has_dwarf(&debug));
	elf_file_release(&debug);

	/* the same by a link below the root */
	assert_non_null(getcwd(folder, sizeof(folder)));
	length = (size_t)snprintf(path, sizeof(path), "%s/root%s", folder, folder);
	assert_true(length < sizeof(path));
	elf_file_release(&file);
	assert_true(run_quietly("rm -r root && mkdir -p %s && mv whole.debug %s/ && "
				"objcopy --add-gnu-debuglink=%s/whole.debug sample",
				path, path, path));
	assert_int_equal(elf_file_open(&file, "sample", &err), SONDE_OK);
	snprintf(path, sizeof(path), "%s/root", folder);
	assert_true(elf_file_open_debug(&file, path, &debug));
	elf_file_release(&debug);
	elf_file_release(&file);
}

static void test_build_id_must_agree(void **state)
{
	static const uint8_t right[] = { 0xab, 0xcd, 0xef }, wrong[] = { 0xab, 0xcd, 0xee };
	struct sonde_symbols *symbols;
	struct sonde_error err;

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc -Wl,--build-id=0xabcdef sample.c -o sample"));
	assert_int_equal(sonde_symbols_open("sample", right, 3, &symbols, &err), SONDE_OK);
	sonde_symbols_free(symbols);
	assert_int_equal(sonde_symbols_open("sample", wrong, 3, &symbols, &err), SONDE_CORRUPT);
	assert_non_null(strstr(err.message, "replaced"));
	assert_int_equal(sonde_symbols_open("sample", right, 2, &symbols, &err), SONDE_CORRUPT);
	assert_true(run_quietly("gcc -Wl,--build-id=none sample.c -o sample"));
	assert_int_equal(sonde_symbols_open("sample", right, 3, &symbols, &err), SONDE_CORRUPT);
}

/* Functions inside of functions, asked for before and after those around them. */
static void test_inner_functions(void **state)
{
	static const char inner[] = "int outer(int x)\n"
				    "{\n"
				    "	int\n"
				    "	first(int y)\n"
				    "	{\n"
				    "		return y + x;\n"
				    "	}\n"
				    "	{\n"
				    "		int\n"
				    "		second(int y)\n"
				    "		{\n"
				    "			return y * x;\n"
				    "		}\n"
				    "		x += second(x);\n"
				    "	}\n"
				    "	return first(x);\n"
				    "}\n"
				    "int main(void) { return outer(0); }\n";
	static const struct {
		const char *name;
		uint32_t line;
	} functions[] = { { "outer", 1 }, { "first.1", 4 }, { "main", 18 }, { "second.0", 10 } };
	struct sonde_symbols *symbols;

	put_file("sample.c", inner);
	assert_true(run_quietly("gcc -g -O0 sample.c -o sample"));
	for (size_t first = 0; first < COUNT_OF(functions); first++) {
		symbols = open_symbols("sample");
		for (size_t i = 0; i < COUNT_OF(functions); i++) {
			size_t number = (first + i) % COUNT_OF(functions);

			assert_line(symbols, *state, functions[number].name,
				    functions[number].line);
		}
		sonde_symbols_free(symbols);
	}
}

static void assert_program(const char *path, struct sonde_symbols_program expected,
			   uint64_t patchable_size)
{
	struct sonde_symbols_program program;
	struct sonde_symbols *symbols;
	uint64_t address = 0, size;

	/* without its functions */
	assert_int_equal(sonde_symbols_map(path, NULL, 0, &symbols, NULL), SONDE_OK);
	assert_int_equal(sonde_symbols_count(symbols), 0);
	sonde_symbols_program(symbols, &program);
	assert_int_equal(program.hooks, expected.hooks);
	assert_int_equal(program.dynamic, expected.dynamic);
	assert_int_equal(program.has_runtime, expected.has_runtime);
	assert_int_equal(sonde_symbols_patchable(symbols, &address, &size), patchable_size != 0);
	assert_int_equal(size, patchable_size);
	assert_int_equal(address != 0, patchable_size != 0);
	sonde_symbols_free(symbols);
}

static void test_program(void **state)
{
	static const char runtime[] = "int sonde_record_active(void) { return 0; }"
				      "void __cyg_profile_func_enter(void *a, void *b)"
				      "{ (void)a; (void)b; }"
				      "void __cyg_profile_func_exit(void *a, void *b)"
				      "{ (void)a; (void)b; }";

	(void)state;
	put_file("sample.c", sample);
	put_file("runtime.c", runtime);
	assert_true(run_quietly("gcc sample.c -o sample"));
	assert_program("sample", (struct sonde_symbols_program){ .dynamic = true }, 0);
	assert_true(run_quietly("gcc -finstrument-functions sample.c -o sample"));
	assert_program("sample", (struct sonde_symbols_program){ .dynamic = true, .hooks = true },
		       0);
	assert_true(run_quietly("strip sample"));
	assert_program("sample", (struct sonde_symbols_program){ .dynamic = true, .hooks = true },
		       0);
	assert_true(run_quietly("gcc -finstrument-functions -shared -fPIC sample.c -o sample"));
	assert_program("sample", (struct sonde_symbols_program){ .hooks = true }, 0);
	/* both kinds at once; each of the three functions has its place in the section */
	assert_true(run_quietly("gcc -finstrument-functions -fpatchable-function-entry=5 sample.c "
				"-o sample"));
	assert_program("sample", (struct sonde_symbols_program){ .dynamic = true, .hooks = true },
		       24);
	/* the runtime as a library, and inside */
	assert_true(run_quietly("gcc -shared -fPIC runtime.c -Wl,-soname,libsonde-rt.so.0 "
				"-o libsonde-rt.so && gcc -finstrument-functions sample.c "
				"-Wl,--no-as-needed -L. -lsonde-rt -o sample"));
	assert_program("sample",
		       (struct sonde_symbols_program){
			       .dynamic = true, .hooks = true, .has_runtime = true },
		       0);
	assert_program("libsonde-rt.so", (struct sonde_symbols_program){ .has_runtime = true }, 0);
	if (run_quietly("gcc -static -finstrument-functions sample.c -c && "
			"gcc -static runtime.c sample.o -o sample"))
		assert_program("sample",
			       (struct sonde_symbols_program){ .hooks = true, .has_runtime = true },
			       0);
}

static void test_names_of_c_plus_plus(void **state)
{
	static const struct {
		const char *raw, *plain;
	} names[] = {
		{ "_ZN4shop4till4openEi", "shop::till::open(int)" },
		{ "_ZN4shop4till4openEi.cold", "shop::till::open(int) [clone .cold]" },
		{ "_Z3addIiET_S0_S0_", "int add<int>(int, int)" },
		{ "i", NULL },
		{ "main", NULL },
		{ "_Z", NULL },
		{ "_Z99999999999999999999f", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char *plain = sonde_demangle(names[i].raw);

		if (names[i].plain) {
			assert_non_null(plain);
			assert_string_equal(plain, names[i].plain);
		} else {
			assert_null(plain);
		}
		free(plain);
	}
}

/* Methods are declared in their class, defined elsewhere; lambdas lie inside functions. */
static void test_lines_of_c_plus_plus(void **state)
{
	static const char text[] = "namespace shop {\n"
				   "struct till {\n"
				   "	int open(int x);\n"
				   "	int close(int x) { return x - 1; }\n"
				   "};\n"
				   "int till::open(int x)\n"
				   "{\n"
				   "	auto twice = [](int y) { return y * 2; };\n"
				   "	return twice(x) + close(x);\n"
				   "}\n"
				   "}\n"
				   "int main() { return shop::till().open(1); }\n";
	static const struct {
		const char *name;
		uint32_t line;
	} expected[] = {
		{ "_ZN4shop4till4openEi", 6 },
		{ "_ZN4shop4till5closeEi", 4 },
		{ "_ZZN4shop4till4openEiENKUliE_clEi", 8 },
		{ "main", 12 },
	};

	put_file("sample.c", text);
	for (size_t i = 0; i < COUNT_OF(compilers); i++) {
		struct sonde_symbols *symbols;
		struct sonde_symbol symbol;

		if (!run_quietly("%s -x c++ -g sample.c -o sample", compilers[i]))
			continue;
		symbols = open_symbols("sample");
		for (size_t k = 0; k < COUNT_OF(expected); k++)
			if (k != 2 || find_name(symbols, expected[k].name, &symbol))
				assert_line(symbols, *state, expected[k].name, expected[k].line);
		sonde_symbols_free(symbols);
	}
}

/* The system's own library: stripped, with versions of symbols, and hooks that do nothing. */
static void test_libc(void **state)
{
	struct sonde_symbols_program program;
	struct sonde_symbols *symbols;
	struct sonde_symbol symbol;

	(void)state;
	if (access("/lib/x86_64-linux-gnu/libc.so.6", R_OK) != 0)
		return; /* there is no such file here */
	symbols = open_symbols("/lib/x86_64-linux-gnu/libc.so.6");
	assert_true(find_name(symbols, "qsort", &symbol));
	for (size_t i = 0; i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, &symbol);
		assert_null(strchr(symbol.raw_name, '@'));
	}
	sonde_symbols_program(symbols, &program);
	assert_false(program.hooks);
	sonde_symbols_free(symbols);
}

static void assert_refused(const char *path, enum sonde_status expected)
{
	struct sonde_symbols *symbols;
	struct sonde_error err = { 0 };

	assert_int_equal(sonde_symbols_open(path, NULL, 0, &symbols, &err), expected);
	assert_null(symbols);
	assert_true(err.message[0]);
	assert_string_equal(err.file, path);
}

static void test_no_program(void **state)
{
	uint8_t header[sizeof(Elf64_Ehdr)] = ELFMAG;

	(void)state;
	put_file("empty", "");
	put_file("script", "#!/bin/sh\n");
	put_file("sample.c", sample);
	header[EI_CLASS] = ELFCLASS32;
	header[EI_DATA] = ELFDATA2LSB;
	put_bytes("small", header, sizeof(header));
	assert_true(run_quietly("gcc -c sample.c -o object && mkfifo fifo"));
	assert_refused("absent", SONDE_IO);
	assert_refused("empty", SONDE_FORMAT);
	assert_refused("script", SONDE_FORMAT);
	assert_refused("object", SONDE_FORMAT);
	assert_refused("small", SONDE_UNSUPPORTED);
	assert_refused("fifo", SONDE_UNSUPPORTED);
	assert_refused(".", SONDE_UNSUPPORTED);
}

/* Opens what may be damaged and looks at everything in it; nothing is known of the result. */
static void look_at(const uint8_t *data, size_t size)
{
	struct sonde_symbols *symbols;
	struct sonde_symbol symbol, found;
	struct sonde_error err = { 0 };
	const char *file;
	uint32_t line;

	put_bytes("damaged", data, size);
	if (sonde_symbols_open("damaged", NULL, 0, &symbols, &err) != SONDE_OK) {
		assert_true(err.message[0]);
		return;
	}
	for (size_t i = 0; i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, &symbol);
		assert_true(symbol.size > 0 && symbol.raw_name[0]);
		assert_true(sonde_symbols_find(symbols, symbol.address, &found));
		if (sonde_symbols_line(symbols, symbol.address, &file, &line))
			assert_true(file[0] && line);
	}
	sonde_symbols_free(symbols);
}

static void test_damaged(void **state)
{
	struct sonde_mapped_file file;
	struct sonde_error err;
	uint8_t *copy;

	(void)state;
	put_file("sample.c", sample);
	assert_true(run_quietly("gcc -g -shared -fPIC -nostdlib -Wl,-z,max-page-size=64 "
				"-Wl,-z,noseparate-code sample.c -o sample"));
	assert_int_equal(sonde_mapped_file_open(&file, "sample", &err), SONDE_OK);
	copy = malloc(file.size);
	assert_non_null(copy);
	for (size_t size = 0; size < file.size; size += size < 256 ? 1 : 37)
		look_at(file.data, size);
	for (size_t i = 0; i < file.size; i++) {
		static const uint8_t masks[] = { 0xff, 0x80, 0x01 };

		for (size_t k = 0; k < (i < sizeof(Elf64_Ehdr) ? COUNT_OF(masks) : 1); k++) {
			memcpy(copy, file.data, file.size);
			copy[i] ^= masks[k];
			look_at(copy, file.size);
		}
	}
	free(copy);
	sonde_mapped_file_release(&file);
}

/*
 * Functions of which each holds a namespace that has no end. A search for it goes through all that follow, so
 * one search for each function would take hours.
 */
static void test_levels_without_end(void **state)
{
	struct sonde_symbols *symbols;
	struct sonde_symbol symbol = { 0 };
	const char *file;
	uint32_t line;

	(void)state;
	put_file("sample.s", ".text\n.globl main\n.type main, @function\n"
			     "main: ret\n"
			     ".size main, . - main\n"
			     ".section .debug_abbrev, \"\", @progbits\n"
			     ".byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n" /* unit: addresses */
			     ".byte 2, 0x2e, 1, 1, 0x13, 0, 0\n" /* function: the next one */
			     ".byte 3, 0x39, 1, 0, 0, 0\n"	 /* namespace */
			     ".section .debug_info, \"\", @progbits\n"
			     "unit: .long end - start\n"
			     "start: .short 4\n"
			     ".long 0\n"
			     ".byte 8, 1\n"
			     ".quad main, 1\n"
			     ".rept 200000\n"
			     ".byte 2\n"
			     ".long . - unit + 5\n"
			     ".byte 3\n"
			     ".endr\n"
			     "end:\n");
	assert_true(run_quietly("gcc sample.s -o sample"));
	symbols = open_symbols("sample");
	assert_true(find_name(symbols, "main", &symbol));
	assert_false(sonde_symbols_line(symbols, symbol.address, &file, &line));
	sonde_symbols_free(symbols);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_lines_in_every_form),
		IN_FOLDER(test_lines_of_code),
		IN_FOLDER(test_stripped),
		IN_FOLDER(test_debug_link),
		IN_FOLDER(test_debug_build_id),
		IN_FOLDER(test_build_id_must_agree),
		IN_FOLDER(test_program),
		IN_FOLDER(test_inner_functions),
		cmocka_unit_test(test_names_of_c_plus_plus),
		IN_FOLDER(test_lines_of_c_plus_plus),
		cmocka_unit_test(test_libc),
		IN_FOLDER(test_no_program),
		IN_FOLDER(test_damaged),
		IN_FOLDER(test_levels_without_end),
	};

	return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
