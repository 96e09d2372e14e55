/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses, and .hpcstruct files: what elements mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../random.h"
#include "../structure_text.h"
#include "analyse/structure_detail.h"
#include "base/buffer.h"
#include "scratch.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define BEGIN "<?xml version=\"1.0\"?>\n<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n"
#define MODULE "<LM i=\"1\" n=\"/bin/x\" has-calls=\"0\" v=\"{}\">\n"
#define END "</LM>\n</HPCToolkitStructure>\n"

/* A declaration like those in real files: elements and attributes, none with a value. */
#define DECLARATION                                                                                \
	"<?xml version=\"1.0\"?>\n<!DOCTYPE HPCToolkitStructure [\n<!-- the parts -->\n"           \
	"<!ELEMENT HPCToolkitStructure (LM)*>\n"                                                   \
	"<!ATTLIST HPCToolkitStructure\n\tversion CDATA #REQUIRED\n\tn CDATA #IMPLIED>\n"          \
	"<!ELEMENT LM (F|P)*>\n<!ELEMENT S EMPTY>\n<!ATTLIST S\n\tl CDATA #REQUIRED>\n]>\n"

static struct sonde_structure_file *parse(const char *text)
{
	struct sonde_structure_file *file;
	struct sonde_error err;

	if (sonde_structure_file_parse(text, strlen(text), &file, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	return file;
}

/* The structure of the only module. */
static struct sonde_structure *structure_of(const char *text)
{
	struct sonde_structure_file *file = parse(text);
	struct sonde_structure *structure;

	assert_int_equal(sonde_structure_file_count(file), 1);
	structure = sonde_structure_file_take(file, 0);
	sonde_structure_file_free(file);
	assert_non_null(structure);
	assert_int_equal(sonde_structure_origin(structure), SONDE_STRUCTURE_FILE);
	return structure;
}

static void assert_chain(struct sonde_structure *structure, uint64_t address, const char *expected)
{
	char text[1000];

	assert_string_equal(structure_chain(structure, address, text, sizeof(text)), expected);
}

static uint32_t owner_by_hand(const struct structure_range *ranges, size_t count, uint64_t address)
{
	uint32_t owner = SONDE_NONE;
	uint64_t best = 0;

	for (size_t i = 0; i < count; i++)
		if (ranges[i].start <= address && address < ranges[i].end &&
		    ranges[i].rank + UINT64_C(1) >= best) {
			best = ranges[i].rank + UINT64_C(1);
			owner = ranges[i].owner;
		}
	return owner;
}

static void test_ranges(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (unsigned int round = 0; round < 300; round++) {
		struct structure_range copy[40];
		struct structure_ranges ranges = { 0 };
		size_t count = next_random(&random, COUNT_OF(copy)), kept = 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t start = next_random(&random, 100);
			uint64_t end = start + next_random(&random, round % 2 ? 10 : 60);
			uint32_t rank = next_random(&random, 5);

			assert_true(structure_ranges_add(&ranges, start, end, (uint32_t)i, rank));
			if (end > start)
				copy[kept++] =
					(struct structure_range){ start, end, (uint32_t)i, rank };
		}
		assert_int_equal(ranges.count, kept);
		assert_true(structure_ranges_settle(&ranges));
		assert_true(ranges.count <= 2 * kept);
		for (size_t i = 1; i < ranges.count; i++)
			assert_true(ranges.items[i - 1].end <= ranges.items[i].start);
		for (uint64_t address = 0; address < 170; address++)
			assert_int_equal(structure_ranges_find(&ranges, address),
					 owner_by_hand(copy, kept, address));
		sonde_vec_release(&ranges);
	}
}

/* Loops in functions, calls that were inlined into loops, code in several pieces. */
static void test_elements(void **state)
{
	struct sonde_structure *structure = structure_of(
		DECLARATION
		"<HPCToolkitStructure version=\"4.9\">" MODULE "<F i=\"3\" n=\"/s/a.c\">"
		"<P n=\"main &lt;x&gt;\" ln=\"m\" l=\"10-30\" v=\"{[0x100-0x101)}\">"
		"<S l=\"10\" v=\"{[0x100-0x104) [0x180-0x190)}\"/>"
		"<L l=\"12\" f=\"/s/b.h\" v=\"{[0x108-0x109)}\">"
		"<S l=\"13\" v=\"{[0x104-0x10c)}\"/>"
		"<A l=\"14\" f=\"/s/a.c\" n=\"\" v=\"{}\">"
		"<A l=\"7\" f=\"/s/c.h\" n=\"twice\" v=\"{}\">"
		"<S l=\"8\" v=\"{[0x10c-0x110)}\"/>"
		"<A l=\"9\" f=\"/s/c.h\" n=\"\"><A l=\"1\" f=\"/s/d.h\" n=\"deep\">"
		"<S l=\"2\" v=\"{[0x110-0x112)}\"/></A></A>"
		"<L l=\"11\" v=\"{[0x112-0x113)}\"><S l=\"11\" v=\"{[0x112-0x114)}\"/></L>"
		"</A><S l=\"15\" v=\"{[0x114-0x116)}\"/></A></L></P>"
		"<P n=\"\" l=\"0\" v=\"{[0x200-0x201)}\"><C l=\"40\" v=\"{[0x200-0x208)}\" "
		"t=\"0x100\"><C l=\"41\" v=\"{[0x208-0x210)}\"/></C></P></F>"
		"<P n=\"bare\" v=\"{[0x300-0x301)}\"><S l=\"1\" v=\"{[0x300-0x310)}\"/>"
		"<L l=\"2\"><S l=\"3\" v=\"{[0x310-0x320)}\"/></L></P>" END);
	const struct sonde_structure_node *node;

	(void)state;
#define MAIN "main <x> [a.c:10]"
#define LOOP MAIN " > loop b.h:12 0x108"
	assert_chain(structure, 0xff, "nothing");
	assert_chain(structure, 0x100, MAIN " > a.c:10");
	assert_chain(structure, 0x18f, MAIN " > a.c:10");
	assert_chain(structure, 0x190, "nothing");
	/* The file of a loop is that of its statements. */
	assert_chain(structure, 0x104, LOOP " > b.h:13");
	assert_chain(structure, 0x10c, LOOP " > a.c:14 > inlined twice [c.h:7] > c.h:8");
	assert_chain(structure, 0x110,
		     LOOP
		     " > a.c:14 > inlined twice [c.h:7] > c.h:9 > inlined deep [d.h:1] > d.h:2");
	assert_chain(structure, 0x112,
		     LOOP " > a.c:14 > inlined twice [c.h:7] > loop c.h:11 0x112 > c.h:11");
	/* In the outer A alone: code of another file that was not inlined. */
	assert_chain(structure, 0x114, LOOP " > a.c:15");
	assert_chain(structure, 0x200, "? [a.c:0] > a.c:40");
	assert_chain(structure, 0x208, "? [a.c:0] > a.c:41");
	/* No file, no line. */
	assert_chain(structure, 0x300, "bare [-:0]");
	assert_chain(structure, 0x310, "bare [-:0]");
	/* The same node for all of a statement, and functions know their entries. */
	assert_int_equal(sonde_structure_find(structure, 0x101),
			 sonde_structure_find(structure, 0x180));
	node = sonde_structure_node(structure, sonde_structure_find(structure, 0x300));
	assert_int_equal(sonde_structure_function(structure, node->function)->address, 0x300);
	assert_int_equal(node->relation, SONDE_CONTEXT_CALLED);
	assert_null(sonde_structure_node(structure, 1000));
	assert_null(sonde_structure_function(structure, SONDE_NONE));
	assert_false(sonde_structure_failed(structure));
	sonde_structure_free(structure);
}

/* Code that several functions share is the first one's; what a later one has beyond it is its own. */
static void test_overlaps(void **state)
{
	struct sonde_structure *structure = structure_of(
		BEGIN MODULE "<F n=\"a.c\"><P n=\"one\"><S l=\"1\" v=\"{[0x20-0x30)}\"/></P>"
			     "<P n=\"two\"><S l=\"2\" v=\"{[0x20-0x30)}\"/>"
			     "<S l=\"3\" v=\"{[0x10-0x40)}\"/>"
			     "<S l=\"4\" v=\"{[0x38-0x50)}\"/></P></F>" END);

	(void)state;
	assert_chain(structure, 0x10, "two [a.c:0] > a.c:3");
	assert_chain(structure, 0x20, "one [a.c:0] > a.c:1");
	assert_chain(structure, 0x2f, "one [a.c:0] > a.c:1");
	assert_chain(structure, 0x30, "two [a.c:0] > a.c:3");
	assert_chain(structure, 0x3f, "two [a.c:0] > a.c:3");
	assert_chain(structure, 0x40, "two [a.c:0] > a.c:4");
	sonde_structure_free(structure);
}

static void test_unknown_elements(void **state)
{
	struct sonde_structure *structure = structure_of(
		BEGIN
		"<X><LM n=\"no\"/></X>" MODULE
		"<F n=\"a.c\"><S l=\"1\" v=\"{[0x1-0x2)}\"/><L l=\"1\"/>"
		"<Q><P n=\"hidden\"><S l=\"9\" v=\"{[0x5-0x6)}\"/></P></Q>text"
		"<P n=\"f\" new=\"1\"><Group><S l=\"2\" v=\"{[0x2-0x3)}\"/></Group>"
		"<S l=\"3\" v=\"{[0x3-0x4)}\"/><S l=\"4\" v=\"{ }\"/><S l=\"5\"/></P></F>" END);

	(void)state;
	assert_chain(structure, 0x1, "nothing");
	assert_chain(structure, 0x2, "nothing");
	assert_chain(structure, 0x3, "f [a.c:0] > a.c:3");
	assert_chain(structure, 0x5, "nothing");
	sonde_structure_free(structure);
}

static void test_modules(void **state)
{
	struct sonde_structure_file *file = parse(
		BEGIN
		"<LM n=\"/a\"><F n=\"a.c\"><P n=\"f\"><S l=\"1\" v=\"{[0x1-0x2)}\"/></P></F></LM>"
		"<LM n=\"vdso/b\"><F n=\"[b]\"><P n=\"g\"><S l=\"0\" v=\"{[0x1-0x2)}\"/></P></F>"
		"</LM></HPCToolkitStructure>");
	struct sonde_structure *structure;

	(void)state;
	assert_int_equal(sonde_structure_file_count(file), 2);
	assert_string_equal(sonde_structure_file_module(file, 0), "/a");
	assert_string_equal(sonde_structure_file_module(file, 1), "vdso/b");
	assert_null(sonde_structure_file_module(file, 2));
	structure = sonde_structure_file_take(file, 1);
	assert_null(sonde_structure_file_take(file, 1));
	assert_null(sonde_structure_file_take(file, 2));
	sonde_structure_file_free(file);
	assert_chain(structure, 0x1, "g [[b]:0] > [b]:0");
	sonde_structure_free(structure);
	sonde_structure_free(NULL);
	sonde_structure_file_free(NULL);
}

static void assert_refused(const char *text, size_t size, enum sonde_status expected,
			   const char *message)
{
	struct sonde_structure_file *file;
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_structure_file_parse(text, size, &file, &err);

	if (status != expected || !strstr(err.message, message))
		fail_msg("%.200s: expected %d, %s; found %d, %s", text, expected, message, status,
			 err.message);
	assert_null(file);
	assert_int_equal(sonde_structure_file_parse(text, size, &file, NULL), expected);
}

static void test_refused(void **state)
{
#define IN_FUNCTION(content) BEGIN MODULE "<F n=\"a.c\"><P n=\"f\">\n" content "</P></F>" END
	static const struct {
		const char *text;
		enum sonde_status status;
		const char *message;
	} cases[] = {
		{ "", SONDE_FORMAT, "no .hpcstruct file" },
		{ "\x7f"
		  "ELF",
		  SONDE_FORMAT, "no .hpcstruct file" },
		{ "<?xml version=\"1.0\"?><html/>", SONDE_FORMAT, "found html" },
		{ BEGIN MODULE, SONDE_CORRUPT, "line 4: damaged XML" },
		{ BEGIN MODULE "</P>", SONDE_CORRUPT, "line 4: damaged XML: mismatched tag" },
		{ BEGIN "<LM/>", SONDE_CORRUPT, "line 3: a load module" },
		{ IN_FUNCTION("<S v=\"{}\"/>"), SONDE_CORRUPT, "line 5: expected l=" },
		{ IN_FUNCTION("<S l=\"\" v=\"{}\"/>"), SONDE_CORRUPT, "found \"\"" },
		{ IN_FUNCTION("<S l=\"-1\" v=\"{}\"/>"), SONDE_CORRUPT, "found \"-1\"" },
		{ IN_FUNCTION("<S l=\"1-\" v=\"{}\"/>"), SONDE_CORRUPT, "found \"1-\"" },
		{ IN_FUNCTION("<S l=\"4294967296\"/>"), SONDE_CORRUPT, "expected l=" },
		{ IN_FUNCTION("\n<S l=\"1\" v=\"\"/>"), SONDE_CORRUPT, "line 6: expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{\"/>"), SONDE_CORRUPT, "expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{}x\"/>"), SONDE_CORRUPT, "expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{[1-2)}\"/>"), SONDE_CORRUPT, "expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{[0x-0x2)}\"/>"), SONDE_CORRUPT, "expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{[0x1-0x2]}\"/>"), SONDE_CORRUPT, "expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{[0x3-0x2)}\"/>"), SONDE_CORRUPT, "expected v=" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{[0x1-0x2) [0x1}\"/>"), SONDE_CORRUPT, "at 11" },
		{ IN_FUNCTION("<S l=\"1\" v=\"{[0x1-0x10000000000000000)}\"/>"), SONDE_CORRUPT,
		  "expected v=" },
		{ IN_FUNCTION("<L v=\"{}\"></L>"), SONDE_CORRUPT, "expected l=" },
		{ IN_FUNCTION("&undefined;"), SONDE_CORRUPT, "line 5: damaged XML" },
		{ IN_FUNCTION("\xff"), SONDE_CORRUPT, "line 5: damaged XML" },
		{ "<!DOCTYPE h [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>"
		  "<HPCToolkitStructure>&b;</HPCToolkitStructure>",
		  SONDE_CORRUPT, "the entity a is declared" },
		{ "<!DOCTYPE h [<!ENTITY x SYSTEM \"/etc/passwd\">]>"
		  "<HPCToolkitStructure>&x;</HPCToolkitStructure>",
		  SONDE_CORRUPT, "the entity x is declared" },
		{ "<!DOCTYPE h [<!ENTITY % p \"<!ELEMENT S EMPTY>\">%p;]>"
		  "<HPCToolkitStructure></HPCToolkitStructure>",
		  SONDE_CORRUPT, "the entity p is declared" },
		{ "<!DOCTYPE h [<!ATTLIST S l CDATA \"1\">]>"
		  "<HPCToolkitStructure></HPCToolkitStructure>",
		  SONDE_CORRUPT, "declared with a value" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_refused(cases[i].text, strlen(cases[i].text), cases[i].status,
			       cases[i].message);
	assert_refused(BEGIN MODULE END "\0", sizeof(BEGIN MODULE END), SONDE_CORRUPT, "line 6");
}

/* Elements within each other, and declarations, up to the limit and beyond it. */
static void test_limits(void **state)
{
	struct sonde_buffer text = { 0 };
	struct sonde_structure_file *file;

	(void)state;
	for (unsigned int depth = 997; depth <= 998; depth++) {
		sonde_buffer_clear(&text);
		sonde_buffer_put_text(&text, BEGIN MODULE "<F n=\"a\">");
		for (unsigned int i = 0; i < depth - 1; i++)
			sonde_buffer_put_text(&text, "<L l=\"1\">");
		sonde_buffer_put_text(&text, "<Unknown>");
		if (depth == 998) {
			assert_refused(text.data, text.size, SONDE_LIMIT, "within each other");
			continue;
		}
		sonde_buffer_put_text(&text, "</Unknown>");
		for (unsigned int i = 0; i < depth - 1; i++)
			sonde_buffer_put_text(&text, "</L>");
		sonde_buffer_put_text(&text, "</F>" END);
		file = parse(sonde_buffer_text(&text));
		sonde_structure_file_free(file);
	}
	sonde_buffer_clear(&text);
	sonde_buffer_put_text(&text, "<!DOCTYPE h [<!ATTLIST S");
	for (unsigned int i = 0; i < 1001; i++)
		sonde_buffer_put_format(&text, " a%u CDATA #IMPLIED", i);
	sonde_buffer_put_text(&text, ">]><HPCToolkitStructure/>");
	assert_refused(text.data, text.size, SONDE_LIMIT, "attributes are declared");
	sonde_buffer_release(&text);
}

static void test_read(void **state)
{
	static const char bad[] = BEGIN MODULE "<F>";
	struct sonde_structure_file *file;
	struct sonde_error err;

	(void)state;
	put_file(scratch_path("good"), BEGIN MODULE END);
	assert_int_equal(sonde_structure_file_read(scratch_path("good"), &file, &err), SONDE_OK);
	sonde_structure_file_free(file);
	put_file(scratch_path("bad"), bad);
	assert_int_equal(sonde_structure_file_read(scratch_path("bad"), &file, &err),
			 SONDE_CORRUPT);
	assert_string_equal(err.file, scratch_path("bad"));
	assert_int_equal(sonde_structure_file_read(scratch_path("none"), &file, &err), SONDE_IO);
	assert_null(file);
	assert_string_equal(err.file, scratch_path("none"));
}

/* More than is handed to the parser at once: addresses far apart in the file are all found. */
static void test_large(void **state)
{
	struct sonde_buffer text = { 0 };
	struct sonde_structure *structure;
	char expected[100];

	(void)state;
	sonde_buffer_put_text(&text, BEGIN MODULE "<F n=\"a.c\">");
	for (unsigned int i = 40000; i-- > 0;)
		sonde_buffer_put_format(&text,
					"<P n=\"f%u\" l=\"%u\" v=\"{[0x%x-0x%x)}\">"
					"<S l=\"%u\" v=\"{[0x%x-0x%x)}\"/></P>\n",
					i, i, i * 16, i * 16 + 1, i + 1, i * 16, i * 16 + 8);
	sonde_buffer_put_text(&text, "</F>" END);
	assert_true(text.size > 2 << 20);
	structure = structure_of(sonde_buffer_text(&text));
	for (unsigned int i = 0; i < 40000; i += 7) {
		snprintf(expected, sizeof(expected), "f%u [a.c:%u] > a.c:%u", i, i, i + 1);
		assert_chain(structure, i * 16 + 7, expected);
		assert_chain(structure, i * 16 + 8, "nothing");
	}
	sonde_structure_free(structure);
	sonde_buffer_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),	 cmocka_unit_test(test_elements),
		cmocka_unit_test(test_overlaps), cmocka_unit_test(test_unknown_elements),
		cmocka_unit_test(test_modules),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits),	 cmocka_unit_test(test_read),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
