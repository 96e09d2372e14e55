/* SPDX-License-Identifier: Apache-2.0 */
/* Queries with each allocation failing in turn: first ours, then, in what is run, those of SQLite too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdlib.h>

#include "../unit/memory_recording.h"
#include "fault.h"
#include "query/query.h"

/* SQLite allocates through these, so that its allocations are met by faults as well. */
static void *take(int size)
{
	return malloc((size_t)size);
}

static void *change(void *memory, int size)
{
	return realloc(memory, (size_t)size);
}

static int size_of(void *memory)
{
	return memory ? (int)malloc_usable_size(memory) : 0;
}

static int round_up(int size)
{
	return (size + 7) & ~7;
}

static int begin(void *data)
{
	(void)data;
	return SQLITE_OK;
}

static void end(void *data)
{
	(void)data;
}

static void use_own_allocation(void)
{
	static const sqlite3_mem_methods methods = { take,     free,  change, size_of,
						     round_up, begin, end,    NULL };

	assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
	assert_int_equal(sqlite3_initialize(), SQLITE_OK);
}

struct world {
	struct sonde_recording *calls, *profile;
	struct query *query; /* opened before; NULL: it is opened with faults */
	const char *const *statements;
	size_t count;
};

static void add_profile(struct world *world)
{
	uint32_t process, context = 0;

	world->profile = memory_recording_new(3);
	process = memory_add_process(world->profile, "program");
	memory_add_function(world->profile, process, "main");
	memory_add_track(world->profile, process, "t");
	memory_add_metric(world->profile, "cycles", "point", "");
	for (unsigned int i = 0; i < 3; i++) {
		context = memory_add_context(world->profile, context, SONDE_CONTEXT_FUNCTION,
					     SONDE_CONTEXT_CALLED, 0);
		memory_add_value(world->profile, 0, context, 0, i + 1);
		memory_add_sample(world->profile, 0, 10 + i, context);
	}
}

static void make(void *user)
{
	struct world *world = user;
	struct sonde_event event = memory_event(SONDE_EVENT_INSTANT, 200, 0, 0);
	uint32_t process;
	uint64_t random = 7;

	world->calls = memory_recording_new(5);
	process = memory_add_process(world->calls, "program");
	memory_add_event_type(world->calls, "typed", "uint32[] n");
	memory_add_function(world->calls, process, "f");
	memory_add_function(world->calls, process, "g");
	memory_add_track(world->calls, process, "t");
	memory_add_track(world->calls, process, "u");
	memory_add_calls(world->calls, 0, 20, 0, 2, false, &random);
	event.detail = memory_add_arguments(world->calls, 0, 0, "\1\0\0\0\2\0\0\0", 8);
	memory_add_event(world->calls, 0, event);
	memory_add_calls(world->calls, 1, 10, 0, 2, false, &random);
	add_profile(world);
}

static enum sonde_status run_statement(struct query *query, const char *sql,
				       struct sonde_error *err)
{
	sqlite3_stmt *statement = NULL;
	int code;

	query_begin(query);
	code = sqlite3_prepare_v2(query_connection(query), sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW)
		code = sqlite3_step(statement);
	sqlite3_finalize(statement);
	if (code == SQLITE_DONE)
		return SONDE_OK;
	if (query_error(query)) {
		*err = *query_error(query);
		return err->status;
	}
	/* what is said in words was for want of memory too */
	return sonde_fail(err, SONDE_NOMEM, SONDE_NO_OFFSET, "%d %s", code, sqlite3_errstr(code));
}

static enum sonde_status open_query(struct world *world, struct sonde_error *err)
{
	static const char *const formulas[] = { "twice = cycles * 2" };
	struct query_source sources[] = { { "b", world->profile }, { "a", world->calls } };
	struct query_options options = { .threads = 1, .derive = formulas };

	return query_open(sources, 2, &options, &world->query, err);
}

static void make_and_open(void *user)
{
	struct sonde_error err = { 0 };

	make(user);
	assert_int_equal(open_query(user, &err), SONDE_OK);
}

static enum sonde_status run(void *user, struct sonde_error *err)
{
	struct world *world = user;
	enum sonde_status status = world->query ? SONDE_OK : open_query(world, err);

	for (size_t i = 0; !status && i < world->count; i++)
		status = run_statement(world->query, world->statements[i], err);
	query_close(world->query);
	world->query = NULL;
	/* belongs to what is tried: recordings grow by what is made of them */
	sonde_recording_close(world->calls);
	sonde_recording_close(world->profile);
	return status;
}

static void test_own_allocations(void **state)
{
	static const char *const statements[] = {
		"SELECT sum(dur_ns) FROM a.spans WHERE start_ns > 3 AND function IN (0, 1)",
		"SELECT * FROM a.events WHERE kind = 'call' ORDER BY time_ns",
		("SELECT c.name, stack(c.id), sum(value) FROM a.vals v JOIN a.contexts c ON "
		 "c.id = v.context WHERE v.scope = 'point' GROUP BY 1"),
		"SELECT d.json, a.value, a.type FROM a.details d JOIN a.args a ON a.detail = d.id",
		"SELECT * FROM a.functions WHERE name = 'f'",
		"SELECT s.*, f.name FROM b.spans s JOIN b.functions f ON f.id = s.function",
		"SELECT sum(value) FROM vals WHERE scope = 'execution'",
		"SELECT count(*) FROM samples",
	};
	struct world world = { .statements = statements,
			       .count = sizeof(statements) / sizeof(statements[0]) };
	struct fault_case fault_case = { .run = run, .before = make, .user = &world };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 100);
}

static void test_allocations_of_sqlite(void **state)
{
	static const char *const statements[] = {
		("SELECT stack(context), sum(value) FROM a.vals WHERE scope = 'point' AND "
		 "metric = 'CALLS' GROUP BY 1"),
		"SELECT a.value, a.type, d.json FROM a.args a JOIN a.details d ON d.id = a.detail",
		("SELECT sum(dur_ns) FROM a.spans WHERE function IN (SELECT id FROM a.functions "
		 "WHERE name = 'f')"),
	};
	struct world world = { .statements = statements,
			       .count = sizeof(statements) / sizeof(statements[0]) };
	struct fault_case fault_case = { .run = run, .before = make_and_open, .user = &world };

	(void)state;
	use_own_allocation();
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_allocations),
		cmocka_unit_test(test_allocations_of_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
