/* SPDX-License-Identifier: Apache-2.0 */
/* Teams of processes: alone, several over sockets, ranks that die and ranks that lose step. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pipe_team.h"
#include "team_script.h"

#define LARGE (3u << 20)

static int run_script(struct sonde_team *team, void *context)
{
	(void)context;
	return team_script_run(team, LARGE);
}

static void one_process_is_a_team(void **state)
{
	(void)state;
	assert_int_equal(team_script_run(NULL, LARGE), 0);
}

static void several_processes_are_a_team(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 3, 4, 8 };
	int codes[PIPE_TEAM_MOST];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		pipe_team_run(sizes[i], run_script, NULL, codes);
		for (unsigned int rank = 0; rank < sizes[i]; rank++)
			assert_int_equal(codes[rank], 0);
	}
}

/* Rank 2 is killed between two calls. */
static int die_between(struct sonde_team *team, void *context)
{
	struct sonde_error err = { 0 };

	(void)context;
	if (sonde_team_agree(team, SONDE_OK, NULL))
		return 1;
	if (team->rank == 2)
		raise(SIGKILL);
	return sonde_team_agree(team, SONDE_OK, &err) == SONDE_IO && strstr(err.message, "gone") ?
		       0 :
		       2;
}

static void a_dead_rank_fails_the_others(void **state)
{
	int codes[PIPE_TEAM_MOST];

	(void)state;
	pipe_team_run(4, die_between, NULL, codes);
	assert_int_equal(codes[0], 0);
	assert_int_equal(codes[1], 0);
	assert_int_equal(codes[2], 128 + SIGKILL);
	assert_int_equal(codes[3], 0);
}

/* Rank 1 takes another way than the rest. */
static int lose_step(struct sonde_team *team, void *context)
{
	struct sonde_buffer bytes = { 0 };
	enum sonde_status status;

	(void)context;
	if (team->rank == 1)
		status = team->ops->gather(team, NULL, 0, &bytes, team->numbers, NULL);
	else
		status = sonde_team_agree(team, SONDE_OK, NULL);
	return status == SONDE_ARGUMENT;
}

static void calls_that_differ_are_found(void **state)
{
	int codes[PIPE_TEAM_MOST];

	(void)state;
	pipe_team_run(2, lose_step, NULL, codes);
	assert_int_equal(codes[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process_is_a_team),
		cmocka_unit_test(several_processes_are_a_team),
		cmocka_unit_test(a_dead_rank_fails_the_others),
		cmocka_unit_test(calls_that_differ_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
