/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs: what becomes of contexts, what is left out, and that no name can break an output. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <expat.h>

#include "cli/flame.h"
#include "cli/markup.h"

#define MOST 64

/* A tree that tests put together: contexts in preorder, one metric in nanoseconds. */
struct world {
	struct sonde_definitions *definitions;
	struct sonde_context *contexts;
	double *self, *total;
	struct cct_metric metric;
	struct cct cct;
	uint32_t capacity;
};

static void init(struct world *world, uint32_t capacity)
{
	*world = (struct world){ .capacity = capacity };
	world->definitions = sonde_definitions_new();
	world->contexts = calloc(capacity, sizeof(*world->contexts));
	world->self = calloc(capacity, sizeof(double));
	world->total = calloc(capacity, sizeof(double));
	assert_non_null(world->definitions);
	assert_non_null(world->contexts);
	assert_non_null(world->self);
	assert_non_null(world->total);
	world->contexts[0] = (struct sonde_context){ .parent = SONDE_NONE, .function = SONDE_NONE };
	world->cct.context_count = 1;
}

static void release(struct world *world)
{
	sonde_definitions_free(world->definitions);
	free(world->contexts);
	free(world->self);
	free(world->total);
}

static uint32_t function(struct world *world, const char *name)
{
	struct sonde_function made = { .module = SONDE_NONE };
	uint32_t id;

	assert_int_equal(sonde_definitions_add_string(world->definitions, name, strlen(name),
						      &made.name, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_definitions_add_function(world->definitions, &made, &id, NULL),
			 SONDE_OK);
	return id;
}

static uint32_t add(struct world *world, uint32_t parent, enum sonde_context_kind kind,
		    uint32_t what, double self)
{
	uint32_t number = world->cct.context_count++;
	bool enclosed = kind == SONDE_CONTEXT_LINE || kind == SONDE_CONTEXT_LOOP;

	assert_true(number < world->capacity);
	world->contexts[number] = (struct sonde_context){
		.parent = parent,
		.function = kind == SONDE_CONTEXT_FUNCTION ? what : SONDE_NONE,
		.line = enclosed ? what : 0,
		.module = SONDE_NONE,
		.kind = (uint8_t)kind,
		.relation = enclosed ? SONDE_CONTEXT_ENCLOSED : SONDE_CONTEXT_CALLED,
	};
	world->self[number] = self;
	return number;
}

static const struct cct *finish(struct world *world)
{
	struct cct *cct = &world->cct;

	for (uint32_t i = cct->context_count; i--;) {
		world->total[i] += world->self[i];
		if (i)
			world->total[world->contexts[i].parent] += world->total[i];
	}
	world->metric = (struct cct_metric){ .name = "REALTIME (sec)",
					     .description = "",
					     .ns = 1,
					     .self = world->self,
					     .total = world->total };
	cct->definitions = world->definitions;
	cct->contexts = world->contexts;
	cct->metrics = &world->metric;
	cct->metric_count = 1;
	return cct;
}

static struct flame make(const struct cct *cct, const struct flame_options *options)
{
	struct flame flame;
	struct sonde_error err = { 0 };

	if (flame_make(&flame, cct, options, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	return flame;
}

/* What every flame graph must be, whatever it is of. */
static void assert_sound(const struct flame *flame)
{
	double *inner = calloc(flame->count, sizeof(*inner));
	double left_out = 0;

	assert_non_null(inner);
	for (uint32_t i = 0; i < flame->count; i++) {
		const struct flame_frame *frame = &flame->frames[i];

		left_out += frame->left_out;
		assert_true(frame->end > i && frame->end <= flame->count);
		if (!i)
			continue;
		assert_true(frame->parent < i);
		assert_true(frame->end <= flame->frames[frame->parent].end);
		assert_int_equal(frame->depth, flame->frames[frame->parent].depth + 1);
		/* side by side, from the left edge of the one below */
		assert_true(fabs(frame->start - flame->frames[frame->parent].start -
				 inner[frame->parent]) < 1e-6);
		inner[frame->parent] += frame->total;
	}
	for (uint32_t i = 0; i < flame->count; i++)
		assert_true(fabs(flame->frames[i].total - flame->frames[i].self -
				 flame->frames[i].left_out - inner[i]) < 1e-6);
	assert_true(fabs(left_out - flame->left_out) < 1e-6);
	free(inner);
}

static const struct flame_frame *find(const struct flame *flame, uint32_t parent, const char *name)
{
	char space[FLAME_NAME_SPACE];

	for (uint32_t i = 0; i < flame->count; i++)
		if (flame->frames[i].parent == parent &&
		    !strcmp(flame_label_name(flame, flame->frames[i].label, space), name))
			return &flame->frames[i];
	fail_msg("no frame '%s'", name);
	return NULL;
}

/* main { line 1 { a }, line 2 { loop 3 { a, b } } } */
static void make_small(struct world *world)
{
	uint32_t main_id, line, loop, a, b;

	init(world, MOST);
	a = function(world, "a");
	b = function(world, "b");
	main_id = add(world, 0, SONDE_CONTEXT_FUNCTION, function(world, "main"), 1);
	line = add(world, main_id, SONDE_CONTEXT_LINE, 1, 2);
	add(world, line, SONDE_CONTEXT_FUNCTION, a, 30);
	line = add(world, main_id, SONDE_CONTEXT_LINE, 2, 4);
	loop = add(world, line, SONDE_CONTEXT_LOOP, 3, 8);
	add(world, loop, SONDE_CONTEXT_FUNCTION, a, 20);
	add(world, loop, SONDE_CONTEXT_FUNCTION, b, 35);
	finish(world);
}

static void test_lines_are_part_of_their_function(void **state)
{
	struct world world;
	struct flame flame;
	const struct flame_frame *frame;

	(void)state;
	make_small(&world);
	flame = make(&world.cct, &(struct flame_options){ 0 });
	assert_sound(&flame);
	assert_int_equal(flame.count, 4); /* all, main, a, b */
	assert_int_equal(flame.most_depth, 2);
	assert_true(flame_total(&flame) == 100);
	frame = find(&flame, 0, "main");
	assert_true(frame->self == 15 && frame->total == 100);
	frame = find(&flame, 1, "a");
	assert_true(frame->self == 50 && frame->total == 50);
	assert_true(frame == &flame.frames[2]); /* the widest comes first */
	assert_true(find(&flame, 1, "b")->start == 50);
	assert_int_equal(flame.narrow_count, 0);
	flame_release(&flame);
	release(&world);
}

/* A fan of functions of 1, 2, 3 ... below main, each with one on it. */
static void make_fan(struct world *world, uint32_t count)
{
	uint32_t main_id, inner, i;
	char name[32];

	init(world, 2 * count + 2);
	inner = function(world, "inner");
	main_id = add(world, 0, SONDE_CONTEXT_FUNCTION, function(world, "main"), 0);
	for (i = 1; i <= count; i++) {
		uint32_t outer;

		snprintf(name, sizeof(name), "f%u", i);
		outer = add(world, main_id, SONDE_CONTEXT_FUNCTION, function(world, name), 0);
		add(world, outer, SONDE_CONTEXT_FUNCTION, inner, i);
	}
	finish(world);
}

static void test_what_is_left_out_is_counted(void **state)
{
	struct world world;
	struct flame flame;

	(void)state;
	make_fan(&world, 100); /* 5050 in all */
	flame = make(&world.cct, &(struct flame_options){ .min_share = 10.5 / 5050 });
	assert_sound(&flame);
	assert_int_equal(flame.count, 2 + 2 * 90);
	assert_int_equal(flame.narrow_count, 2 * 10);
	assert_true(flame.left_out == 55); /* 1 + 2 ... + 10 */
	flame_release(&flame);

	flame = make(&world.cct, &(struct flame_options){ .most_frames = 12 });
	assert_sound(&flame);
	assert_int_equal(flame.count, 12);
	assert_int_equal(flame.narrow_count, 190);
	assert_true(flame.left_out == 5050 - (100 + 99 + 98 + 97 + 96));
	flame_release(&flame);

	flame = make(&world.cct, &(struct flame_options){ .most_depth = 2 });
	assert_sound(&flame);
	assert_int_equal(flame.count, 102);
	assert_int_equal(flame.deep_count, 100);
	assert_true(flame.left_out == 5050);
	flame_release(&flame);
	release(&world);
}

static void test_changes(void **state)
{
	struct world world;
	struct flame flame;
	double before[MOST] = { 0 }, after[MOST] = { 0 };
	uint32_t main_id, old, new, both, inner;

	(void)state;
	init(&world, MOST);
	main_id = add(&world, 0, SONDE_CONTEXT_FUNCTION, function(&world, "main"), 0);
	old = add(&world, main_id, SONDE_CONTEXT_FUNCTION, function(&world, "old"), 0);
	inner = add(&world, old, SONDE_CONTEXT_FUNCTION, function(&world, "inner"), 0);
	new = add(&world, main_id, SONDE_CONTEXT_FUNCTION, function(&world, "new"), 0);
	both = add(&world, main_id, SONDE_CONTEXT_FUNCTION, function(&world, "both"), 0);
	finish(&world);
	before[old] = 5;
	before[inner] = 15;
	before[both] = 80;
	after[both] = 40;
	after[new] = 60;
	flame = make(&world.cct, &(struct flame_options){ .before = before, .after = after });
	assert_sound(&flame);
	assert_true(flame.is_difference);
	assert_int_equal(flame.count, 4);
	assert_int_equal(flame_change(&flame, find(&flame, 1, "both")), -4);
	assert_int_equal(flame_change(&flame, find(&flame, 1, "new")), 4);
	assert_int_equal(flame_change(&flame, find(&flame, 0, "main")), 0);
	assert_int_equal(flame.vanished.count, 1); /* with what it called */
	assert_int_equal(flame.vanished.items[0].context, old);
	assert_true(flame.vanished.items[0].total == 20);
	flame_release(&flame);
	flame = make(&world.cct, &(struct flame_options){
					 .before = before, .after = after, .keep_vanished = true });
	assert_int_equal(flame.count, 6);
	flame_release(&flame);
	release(&world);
}

static void test_what_cannot_be_drawn(void **state)
{
	struct world world;
	struct flame flame;
	struct sonde_error err = { 0 };

	(void)state;
	make_small(&world);
	world.total[0] = 3; /* a ratio, say */
	assert_int_equal(flame_make(&flame, &world.cct, &(struct flame_options){ 0 }, &err),
			 SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "not a sum"));
	world.total[0] = 100;
	world.self[2] = -2;
	assert_int_equal(flame_make(&flame, &world.cct, &(struct flame_options){ 0 }, &err),
			 SONDE_ARGUMENT);
	world.self[2] = NAN;
	assert_int_equal(flame_make(&flame, &world.cct, &(struct flame_options){ 0 }, &err),
			 SONDE_ARGUMENT);
	/* each is a number, but not their sum */
	world.self[2] = world.self[3] = 1e308;
	world.total[0] = INFINITY;
	assert_int_equal(flame_make(&flame, &world.cct, &(struct flame_options){ 0 }, &err),
			 SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "too large"));
	assert_int_equal(flame_make(&flame, &(struct cct){ 0 }, &(struct flame_options){ 0 }, &err),
			 SONDE_ARGUMENT);
	release(&world);
}

static void test_deep_recursion(void **state)
{
	enum { DEPTH = 200000 };
	struct world world;
	struct flame flame;
	uint32_t id, at = 0;

	(void)state;
	init(&world, DEPTH + 1);
	id = function(&world, "again");
	for (int i = 0; i < DEPTH; i++)
		at = add(&world, at, SONDE_CONTEXT_FUNCTION, id, 1);
	finish(&world);
	flame = make(&world.cct, &(struct flame_options){ 0 });
	assert_int_equal(flame.count, DEPTH + 1);
	assert_int_equal(flame.most_depth, DEPTH);
	assert_sound(&flame);
	flame_release(&flame);
	flame = make(&world.cct, &(struct flame_options){ .most_depth = 1000 });
	assert_int_equal(flame.deep_count, DEPTH - 1000);
	assert_true(flame.left_out == DEPTH - 1000);
	flame_release(&flame);
	release(&world);
}

static const char *const nasty_names[] = {
	"operator<<(std::ostream&, \"quoted\")",
	"]]></script><script>alert(1)</script>",
	"a;b;c",
	"two\nlines\ttab",
	"\x01\x1b[31mred\x7f",
	"\xff\xfe not UTF-8 \xc3",
	"not a character: \xef\xbf\xbe",
	"back\\slash ${name} `tick` 'single'",
	"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
	" ",
};
#define NASTY (sizeof(nasty_names) / sizeof(*nasty_names))

static void make_nasty(struct world *world)
{
	static char longest[10001];
	char turned[32]; /* as a literal it would turn this file too */
	uint32_t at = 0;

	memset(longest, 'x', sizeof(longest) - 1);
	init(world, MOST);
	for (size_t i = 0; i < NASTY; i++)
		at = add(world, at, SONDE_CONTEXT_FUNCTION, function(world, nasty_names[i]), 10.25);
	snprintf(turned, sizeof(turned), "%c%c%c turned", 0xe2, 0x80, 0xae);
	at = add(world, at, SONDE_CONTEXT_FUNCTION, function(world, turned), 1.5);
	at = add(world, at, SONDE_CONTEXT_FUNCTION, function(world, longest), 1.5);
	at = add(world, at, SONDE_CONTEXT_FUNCTION, SONDE_NONE, 1.5);
	add(world, at, SONDE_CONTEXT_ENTRY, 0, 1.5);
	finish(world);
}

static size_t count_of(const struct sonde_buffer *text, const char *what)
{
	size_t count = 0, length = strlen(what), i;

	for (i = 0; i + length <= text->size; i++)
		count += !memcmp(text->data + i, what, length);
	return count;
}

/* Expat refuses what is not well-formed, controls and what is not UTF-8. */
static void test_svg_with_any_name(void **state)
{
	struct world world;
	struct flame flame;
	struct sonde_buffer out = { 0 };
	XML_Parser parser = XML_ParserCreate(NULL);

	(void)state;
	make_nasty(&world);
	flame = make(&world.cct, &(struct flame_options){ 0 });
	flame_put_svg(&out,
		      &(struct flame_picture){ .flame = &flame, .title = "<]]>\x01\xff \"t\"" });
	assert_false(out.failed);
	if (XML_Parse(parser, out.data, (int)out.size, 1) != XML_STATUS_OK)
		fail_msg("line %lu: %s", XML_GetCurrentLineNumber(parser),
			 XML_ErrorString(XML_GetErrorCode(parser)));
	XML_ParserFree(parser);
	assert_int_equal(count_of(&out, "]]>"), 2); /* of the style and the script */
	assert_int_equal(count_of(&out, "</script>"), 1);
	assert_int_equal(count_of(&out, "<script>"), 1);
	assert_int_equal(count_of(&out, "http"), 3); /* names of XML, nothing to load */
	assert_true(count_of(&out, "operator&lt;&lt;") >= 1);
	sonde_buffer_release(&out);
	flame_release(&flame);
	release(&world);
}

static void test_folded_lines(void **state)
{
	struct world world;
	struct flame flame;
	struct sonde_buffer out = { 0 };
	uint64_t sum = 0;
	size_t lines = 0;
	const char *text;

	(void)state;
	make_nasty(&world);
	flame = make(&world.cct, &(struct flame_options){ .keep_vanished = true });
	flame_put_folded(&out, &flame);
	text = sonde_buffer_text(&out);
	assert_non_null(text);
	for (; *text; lines++) {
		const char *end = strchr(text, '\n'), *space, *c;
		size_t parts = 1;

		assert_non_null(end);
		space = memrchr(text, ' ', (size_t)(end - text));
		assert_non_null(space);
		for (c = text; c < space; c++) {
			parts += *c == ';';
			assert_true((unsigned char)*c >= ' ');
		}
		assert_int_equal(parts, lines + 1);
		sum += strtoull(space + 1, NULL, 10);
		text = end + 1;
	}
	assert_int_equal(lines, NASTY + 4);
	assert_int_equal(sum, llround(flame_total(&flame)));
	sonde_buffer_release(&out);
	flame_release(&flame);
	release(&world);
}

static void test_text_for_a_terminal(void **state)
{
	struct world world;
	struct flame flame;
	struct sonde_buffer out = { 0 };

	(void)state;
	make_small(&world);
	flame = make(&world.cct, &(struct flame_options){ 0 });
	flame_put_text(&out,
		       &(struct flame_screen){ .flame = &flame, .title = "small", .width = 40 });
	assert_string_equal(sonde_buffer_text(&out), "small\n"
						     "|a 50.0%            |b 35.0%\n"
						     "|main 100.0%\n"
						     "|all 100.0%\n"
						     "REALTIME: 100 ns in 3 frames\n");
	sonde_buffer_clear(&out);
	flame_put_text(&out,
		       &(struct flame_screen){
			       .flame = &flame, .title = "small", .width = 40, .icicle = true });
	assert_non_null(strstr(sonde_buffer_text(&out), "small\n|all 100.0%\n|main"));
	flame_release(&flame);
	release(&world);
	make_nasty(&world);
	flame = make(&world.cct, &(struct flame_options){ 0 });
	sonde_buffer_clear(&out);
	flame_put_text(&out,
		       &(struct flame_screen){ .flame = &flame, .title = "\x1b]0;x", .width = 80 });
	for (size_t i = 0; i < out.size; i++)
		assert_true((unsigned char)out.data[i] >= ' ' || out.data[i] == '\n');
	sonde_buffer_release(&out);
	flame_release(&flame);
	release(&world);
}

static void test_markup(void **state)
{
	struct sonde_buffer out = { 0 };

	(void)state;
	cli_put_markup(&out, "a<b>&\"c\"\n\xff", CLI_MARKUP_ALL);
	assert_string_equal(sonde_buffer_text(&out),
			    "a&lt;b&gt;&amp;&quot;c&quot;\xef\xbf\xbd\xef\xbf\xbd");
	sonde_buffer_clear(&out);
	cli_put_markup(&out, "abcdef", 3);
	assert_string_equal(sonde_buffer_text(&out), "abc\xe2\x80\xa6");
	sonde_buffer_clear(&out);
	cli_put_script_text(&out, "a\"\\</b>&\r\xe2\x80\xa8", CLI_MARKUP_ALL);
	assert_string_equal(sonde_buffer_text(&out),
			    "\"a\\u0022\\u005c\\u003c/b\\u003e\\u0026\xef\xbf\xbd\xef\xbf\xbd\"");
	sonde_buffer_release(&out);
}

static void assert_short(const char *name, const char *expected)
{
	size_t length;
	const char *shown = flame_short_name(name, &length);

	assert_int_equal(length, strlen(expected));
	assert_memory_equal(shown, expected, length);
}

static void test_short_names(void **state)
{
	(void)state;
	assert_short("int java.util.Map.get(int, java.lang.Object)", "Map.get");
	assert_short("void a::b::c<d e>::f(g)", "b::c");
	assert_short("std::vector::push_back", "vector::push_back");
	assert_short("main", "main");
	assert_short("main._omp_fn.0", "main._omp_fn.0");
	assert_short("f(int)", "f");
	assert_short("operator<(a, b)", "operator<(a, b)");
	assert_short("(no name)", "(no name)");
	assert_short("", "");
	assert_short("::", "::");
	assert_short("a (", "a (");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_part_of_their_function),
		cmocka_unit_test(test_what_is_left_out_is_counted),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_what_cannot_be_drawn),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_svg_with_any_name),
		cmocka_unit_test(test_folded_lines),
		cmocka_unit_test(test_text_for_a_terminal),
		cmocka_unit_test(test_markup),
		cmocka_unit_test(test_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
