/* SPDX-License-Identifier: Apache-2.0 */
/* Teams of processes: alone, several over sockets, ranks that die and ranks that lose step. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

#include "pipe_team.h"
#include "scratch.h"
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

struct staging {
	const char *target;
	unsigned int failing; /* rank whose work fails */
	bool replace;
};

/* Every rank writes its file into the folder. */
static int stage_together(struct sonde_team *team, void *context)
{
	const struct staging *staging = context;
	enum sonde_status status;
	struct sonde_staged staged;
	struct sonde_error err = { 0 };
	char name[] = "/rank0", path[256];

	if (sonde_team_stage(team, &staged, staging->target, true, staging->replace, &err))
		return err.message[0] ? 10 : 1;
	name[5] = (char)('0' + sonde_team_rank(team));
	snprintf(path, sizeof(path), "%s%s", staged.work, name);
	put_file(path, name);
	status = SONDE_OK;
	if (sonde_team_rank(team) == staging->failing)
		status = sonde_fail(&err, SONDE_LIMIT, 5, "too much for rank %u", staging->failing);
	status = sonde_team_stage_end(team, &staged, status, &err);
	if (!status)
		return 0;
	return status == SONDE_LIMIT && strstr(err.message, "too much for rank") ? 20 : 2;
}

static size_t entries(const char *path)
{
	struct sonde_folder folder;
	size_t count;

	assert_int_equal(sonde_folder_read(&folder, path, NULL), SONDE_OK);
	count = folder.count;
	sonde_folder_release(&folder);
	return count;
}

static void check_staging(struct staging *staging, unsigned int size, int expected)
{
	int codes[PIPE_TEAM_MOST];

	if (size)
		pipe_team_run(size, stage_together, staging, codes);
	else
		codes[0] = stage_together(NULL, staging);
	for (unsigned int rank = 0; rank < size || !rank; rank++)
		assert_int_equal(codes[rank], expected);
}

static void an_output_of_all_appears_whole_or_not_at_all(void **state)
{
	struct staging staging = { .target = scratch_path("together/target") };
	const char *folder = scratch_path("together");

	(void)state;
	assert_int_equal(sonde_folder_create(folder, NULL), SONDE_OK);
	for (unsigned int size = 0; size <= 4; size += 2) {
		unsigned int ranks = size ? size : 1;

		staging.replace = false;
		for (staging.failing = 0; staging.failing < ranks; staging.failing++) {
			check_staging(&staging, size, 20);
			assert_int_equal(entries(folder), 0);
		}
		check_staging(&staging, size, 0); /* nobody fails */
		assert_int_equal(entries(folder), 1);
		assert_int_equal(entries(staging.target), ranks);
		check_staging(&staging, size, 10); /* it is there */
		staging.replace = true;
		check_staging(&staging, size, 0);
		assert_int_equal(entries(folder), 1);
		remove_tree(staging.target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process_is_a_team),
		cmocka_unit_test(several_processes_are_a_team),
		cmocka_unit_test(a_dead_rank_fails_the_others),
		cmocka_unit_test(calls_that_differ_are_found),
		cmocka_unit_test(an_output_of_all_appears_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
