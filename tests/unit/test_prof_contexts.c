/* SPDX-License-Identifier: Apache-2.0 */
/* From measured paths to contexts: placeholders, entries, structures, and numbers that depend on content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prof_fixture.h"
#include "scratch.h"

#define P(text)                                                                                    \
	HPCRUN_PLACEHOLDER((text)[0], (text)[1], (text)[2], (text)[3], (text)[4], (text)[5],       \
			   (text)[6], (text)[7])

static const struct hpcrun_value no_values[] = { VALUE(0, 0, 1) };

static void check(const struct hpcrun_node *nodes, size_t count,
		  const struct sonde_prof_options *options, const char *expected)
{
	static const char *const inputs[] = { "x.m" };
	static const struct sonde_prof_options usual = { .threads = 1, .ignore_binaries = true };
	struct made_profile made = { .nodes = nodes, .node_count = count };

	put_profile("x.m", "prog", &made);
	assert_string_equal(contexts_text(inputs, 1, options ? options : &usual), expected);
}
#define CHECK(nodes, options, expected)                                                            \
	check(nodes, sizeof(nodes) / sizeof((nodes)[0]), options, expected)

static void entries_and_placeholders(void **state)
{
	const struct hpcrun_node nodes[] = {
		ROOT(12),
		NODE(14, 0, 0, HPCRUN_MAIN),
		NODE(16, 0, 0, HPCRUN_THREAD),
		NODE(18, 0, 0, HPCRUN_NO_ACTIVITY),
		NODE(20, 1, 1, 0x20),
		NODE(22, 1, 1, 0x10),
		NODE(24, 4, 0, P("GPUKernl")),
		NODE(26, 4, 0, P("GPUTrace")),
		NODE(28, 4, 0, HPCRUN_PARTIAL),
		NODE(30, 2, 0, P("Strange!")),
		NODE(32, 2, 2, 0x5),
	};

	(void)state;
	CHECK(nodes, NULL,
	      "root\n"
	      " call main thread\n"
	      "  call /app/prog+10\n"
	      "  call /app/prog+20\n"
	      "   call function <gpu kernel>\n"
	      "   call function <gpu kernel>\n"
	      "   call function ?\n"
	      " call application thread\n"
	      "  call function <Strange!>\n"
	      "  call /app/lib.so+5\n");
}

/* What begins nowhere known goes below an entry that is made for it. */
static void paths_without_a_beginning(void **state)
{
	const struct hpcrun_node nodes[] = {
		ROOT(12),
		NODE(14, 0, 1, 0x10),
		NODE(16, 0, 0, P("OMP Idle")),
		NODE(18, 0, 0, HPCRUN_UNNORMALIZED),
		NODE(20, 3, 1, 0x30),
		{ .id = 22, .ip = HPCRUN_PARTIAL, .parent = UINT32_MAX, .unwound = true },
		NODE(24, 5, 1, 0x40),
	};

	(void)state;
	CHECK(nodes, NULL,
	      "root\n"
	      " call unknown entry\n"
	      "  call function <omp idle>\n"
	      "  call /app/prog+10\n"
	      "  call /app/prog+30\n"
	      "  call /app/prog+40\n");
}

static void samples_of_gpus(void **state)
{
	const struct hpcrun_node nodes[] = {
		ROOT(12),
		NODE(14, 0, 0, HPCRUN_MAIN),
		NODE(16, 1, 1, 0x10),
		{ .id = 18, .ip = 0x20, .parent = 2, .module = 2 },
		NODE(20, 0, HPCRUN_MODULE_GPU_RANGE_ROOT, 0),
		NODE(22, 4, HPCRUN_MODULE_GPU_RANGE, 1),
		NODE(24, 5, HPCRUN_MODULE_GPU_CONTEXT, 7),
		NODE(26, 6, 2, 0x30),
	};

	(void)state;
	CHECK(nodes, NULL,
	      "root\n"
	      " call unknown entry\n"
	      "  call /app/lib.so+30\n"
	      " call main thread\n"
	      "  call /app/prog+10\n"
	      "   call function ?\n"
	      "    call /app/lib.so+20\n");
}

#define STRUCTURE                                                                                  \
	"<?xml version=\"1.0\"?>\n<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n"          \
	"<LM i=\"2\" n=\"/app/prog\" has-calls=\"0\" v=\"{}\">\n<F i=\"3\" n=\"/src/a.c\">\n"      \
	"<P i=\"4\" n=\"work\" l=\"10\" v=\"{[0x10-0x11)}\">\n"                                    \
	"<S i=\"5\" l=\"11\" v=\"{[0x10-0x18)}\"/>\n"                                              \
	"<L i=\"6\" l=\"12\" f=\"/src/a.c\" v=\"{[0x20-0x21)}\">\n"                                \
	"<S i=\"7\" l=\"13\" v=\"{[0x20-0x28)}\"/>\n"                                              \
	"<A i=\"8\" l=\"14\" f=\"/src/a.c\" n=\"\" v=\"{}\">\n"                                    \
	"<A i=\"9\" l=\"2\" f=\"/src/b.h\" n=\"small\" v=\"{}\">\n"                                \
	"<S i=\"10\" l=\"3\" v=\"{[0x28-0x30)}\"/>\n</A>\n</A>\n</L>\n</P>\n</F>\n</LM>\n"         \
	"</HPCToolkitStructure>\n"

static const struct hpcrun_node with_structure[] = {
	ROOT(12),
	NODE(14, 0, 0, HPCRUN_MAIN),
	NODE(16, 1, 1, 0x12),
	NODE(18, 1, 1, 0x22),
	NODE(20, 1, 1, 0x2a),
	NODE(22, 3, 1, 0x14),
	NODE(24, 1, 1, 0x99),
};

static void addresses_become_sources(void **state)
{
	static const char *const structs[] = { "s.hpcstruct" };
	struct sonde_prof_options options = {
		.threads = 2, .ignore_binaries = true, .structs = structs, .struct_count = 1
	};
	const struct sonde_prof_replacement moved[] = { { "/src", "/new" },
							{ "/app", "/opt/app" } };

	(void)state;
	put_file("s.hpcstruct", STRUCTURE);
	CHECK(with_structure, &options,
	      "root\n"
	      " call main thread\n"
	      "  call function work\n"
	      "   in loop /src/a.c:12\n"
	      "    in line /src/a.c:13\n"
	      "     in /app/prog+22 *\n"
	      "      call function work\n"
	      "       in line /src/a.c:11\n"
	      "        in /app/prog+14 *\n"
	      "    in line /src/a.c:14\n"
	      "     inlined function small\n"
	      "      in line /src/b.h:3\n"
	      "       in /app/prog+2a *\n"
	      "   in line /src/a.c:11\n"
	      "    in /app/prog+12 *\n"
	      "  call /app/prog+99\n");
	options.replacements = moved;
	options.replacement_count = 2;
	CHECK(with_structure, &options,
	      "root\n"
	      " call main thread\n"
	      "  call function work\n"
	      "   in loop /new/a.c:12\n"
	      "    in line /new/a.c:13\n"
	      "     in /opt/app/prog+22 *\n"
	      "      call function work\n"
	      "       in line /new/a.c:11\n"
	      "        in /opt/app/prog+14 *\n"
	      "    in line /new/a.c:14\n"
	      "     inlined function small\n"
	      "      in line /new/b.h:3\n"
	      "       in /opt/app/prog+2a *\n"
	      "   in line /new/a.c:11\n"
	      "    in /opt/app/prog+12 *\n"
	      "  call /opt/app/prog+99\n");
}

/* Those beside the measurements are found by themselves, unless they are not wanted. */
static void structures_beside_measurements(void **state)
{
	struct sonde_prof_options options = { .threads = 1, .ignore_binaries = true };
	static const char *const inputs[] = { "x.m" };
	struct sonde_error err;

	(void)state;
	put_profile("x.m", "prog",
		    &(struct made_profile){ .nodes = with_structure, .node_count = 3 });
	assert_int_equal(sonde_folder_create("x.m/structs", &err), SONDE_OK);
	put_file("x.m/structs/prog.hpcstruct", STRUCTURE);
	assert_string_equal(contexts_text(inputs, 1, &options), "root\n"
								" call main thread\n"
								"  call function work\n"
								"   in line /src/a.c:11\n"
								"    in /app/prog+12 *\n");
	options.ignore_structs = true;
	assert_string_equal(contexts_text(inputs, 1, &options), "root\n"
								" call main thread\n"
								"  call /app/prog+12\n");
}

/* Neither threads nor the order of inputs nor who has what changes a number. */
static void order_comes_from_content(void **state)
{
	const struct hpcrun_node one[] = { ROOT(12), NODE(14, 0, 0, HPCRUN_THREAD),
					   NODE(16, 1, 2, 0x30), NODE(18, 2, 1, 0x10) };
	const struct hpcrun_node other[] = { ROOT(12),
					     NODE(14, 0, 0, HPCRUN_MAIN),
					     NODE(16, 1, 1, 0x20),
					     NODE(18, 1, 2, 0x10),
					     NODE(20, 0, 0, HPCRUN_THREAD),
					     NODE(22, 4, 2, 0x30),
					     NODE(24, 5, 1, 0x08) };
	static const char *const forwards[] = { "a.m", "b.m" };
	static const char *const backwards[] = { "b.m", "a.m" };
	const struct made_profile first = MADE(1, one, no_values),
				  second = MADE(0, other, no_values);
	struct sonde_prof_options options = { .ignore_binaries = true };
	const char *expected = "root\n"
			       " call main thread\n"
			       "  call /app/lib.so+10\n"
			       "  call /app/prog+20\n"
			       " call application thread\n"
			       "  call /app/lib.so+30\n"
			       "   call /app/prog+8\n"
			       "   call /app/prog+10\n";

	(void)state;
	put_profile("a.m", "p", &first);
	put_profile("b.m", "q", &second);
	for (options.threads = 1; options.threads < 4; options.threads++) {
		assert_string_equal(contexts_text(forwards, 2, &options), expected);
		assert_string_equal(contexts_text(backwards, 2, &options), expected);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
	const struct CMUnitTest tests[] = {
		TEST(entries_and_placeholders),
		TEST(paths_without_a_beginning),
		TEST(samples_of_gpus),
		TEST(addresses_become_sources),
		TEST(structures_beside_measurements),
		TEST(order_comes_from_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
