/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures of files and binaries with each allocation and each reading system call failing in turn.
 * Allocations inside libdw are not reached from here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../structure_text.h"
#include "../unit/scratch.h"
#include "fault.h"
#include "symbols/symbols.h"

static const char structure_file[] =
	"<?xml version=\"1.0\"?>\n<HPCToolkitStructure version=\"4.9\">\n"
	"<LM n=\"/bin/x\" v=\"{}\"><F n=\"/s/a.c\"><P n=\"main\" l=\"10\" v=\"{[0x100-0x101)}\">"
	"<S l=\"10\" v=\"{[0x100-0x104) [0x180-0x190) [0x102-0x105)}\"/>"
	"<L l=\"12\" f=\"/s/b.h\" v=\"{[0x108-0x109)}\"><S l=\"13\" v=\"{[0x104-0x10c)}\"/>"
	"<A l=\"14\" f=\"/s/a.c\" n=\"\"><A l=\"7\" f=\"/s/c.h\" n=\"twice\">"
	"<S l=\"8\" v=\"{[0x10c-0x110)}\"/></A></A></L></P></F></LM>\n"
	"<LM n=\"/bin/y\"/></HPCToolkitStructure>\n";

/* A chain that was not the expected one, though nothing was said to have failed. */
static char surprise[1000];

static enum sonde_status expect(struct sonde_structure *structure, uint64_t address,
				const char *expected, struct sonde_error *err)
{
	char text[400];

	structure_chain(structure, address, text, sizeof(text));
	if (sonde_structure_failed(structure))
		return sonde_fail_nomem(err);
	if (strcmp(text, expected) != 0)
		snprintf(surprise, sizeof(surprise), "expected %s, found %s", expected, text);
	return SONDE_OK;
}

static void assert_no_surprise(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user, (void)status, (void)err;
	assert_string_equal(surprise, "");
}

static enum sonde_status read_file(void *user, struct sonde_error *err)
{
	struct sonde_structure_file *file;
	struct sonde_structure *structure;
	enum sonde_status status = sonde_structure_file_read(user, &file, err);

	if (status != SONDE_OK)
		return status;
	structure = sonde_structure_file_take(file, 0);
	sonde_structure_file_free(file);
	status = expect(
		structure, 0x10f,
		"main [a.c:10] > loop b.h:12 0x108 > a.c:14 > inlined twice [c.h:7] > c.h:8", err);
	if (status == SONDE_OK)
		status = expect(structure, 0x18f, "main [a.c:10] > a.c:10", err);
	sonde_structure_free(structure);
	return status;
}

static void test_file(void **state)
{
	struct fault_case reading = { .run = read_file,
				      .after = assert_no_surprise,
				      .user = (void *)"x.hpcstruct" };

	(void)state;
	put_file("x.hpcstruct", structure_file);
	assert_true(fault_run_all(FAULT_ALLOCATION, &reading) > 10);
	assert_true(fault_run_all(FAULT_INPUT, &reading) > 1);
}

#define PLAIN "outer [sample.c:3] > sample.c:6"
#define INLINED "outer [sample.c:3] > sample.c:5 > inlined inner [sample.c:2] > sample.c:2"
#define BARE "bare [-:0]"

struct addresses {
	uint64_t plain, inlined, bare;
};

/* Everything is asked twice, so that what was kept is used. */
static enum sonde_status look_up(void *user, struct sonde_error *err)
{
	const struct addresses *addresses = user;
	struct sonde_structure *structure;
	enum sonde_status status = sonde_structure_of_binary("sample.so", 0, &structure, err);

	for (unsigned int i = 0; status == SONDE_OK && i < 2; i++) {
		status = expect(structure, addresses->plain, PLAIN, err);
		if (status == SONDE_OK)
			status = expect(structure, addresses->inlined, INLINED, err);
		if (status == SONDE_OK)
			status = expect(structure, addresses->bare, BARE, err);
	}
	sonde_structure_free(structure);
	return status;
}

static void test_binary(void **state)
{
	struct addresses addresses = { 0 };
	struct fault_case looking = { .run = look_up,
				      .after = assert_no_surprise,
				      .user = &addresses };
	struct sonde_symbols *symbols;
	struct sonde_structure *structure;
	struct sonde_symbol symbol;
	char text[500];

	(void)state;
	put_file("sample.c",
		 "volatile int sink;\n"
		 "static inline __attribute__((always_inline)) void inner(int x) { sink = x; }\n"
		 "int outer(int x)\n{\n	inner(x);\n	return sink;\n}\n");
	put_file("bare.s", ".text\n.globl bare\n.type bare, @function\nbare: nop\nret\n"
			   ".size bare, . - bare\n.section .note.GNU-stack,\"\",@progbits\n");
	assert_int_equal(
		system("gcc -c bare.s && gcc -g -O1 -fPIC -shared sample.c bare.o -o sample.so"),
		0);
	assert_int_equal(sonde_symbols_open("sample.so", NULL, 0, &symbols, NULL), SONDE_OK);
	assert_int_equal(sonde_structure_of_binary("sample.so", 0, &structure, NULL), SONDE_OK);
	for (size_t i = 0; i < sonde_symbols_count(symbols); i++) {
		sonde_symbols_at(symbols, i, &symbol);
		if (strcmp(symbol.raw_name, "bare") == 0)
			addresses.bare = symbol.address;
		for (uint64_t k = 0; k < symbol.size; k++) {
			structure_chain(structure, symbol.address + k, text, sizeof(text));
			if (strcmp(text, PLAIN) == 0)
				addresses.plain = symbol.address + k;
			if (strcmp(text, INLINED) == 0)
				addresses.inlined = symbol.address + k;
		}
	}
	assert_true(addresses.plain && addresses.inlined && addresses.bare);
	sonde_structure_free(structure);
	sonde_symbols_free(symbols);
	assert_true(fault_run_all(FAULT_ALLOCATION, &looking) > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(test_file), TEST(test_binary) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
