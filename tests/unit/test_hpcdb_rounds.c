/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of the writer of databases: whoever is slow, pieces are placed and stored in their order, each once, and what
 * is in a slot stays there until it is stored. Teams are in test_hpcdb_write_many.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

#include "formats/hpcdb/hpcdb_write_private.h"

enum { PIECES = 150, NO_PIECE = 1000 };

enum step { STEP_MAKE, STEP_PLACE, STEP_STORE, STEPS };

struct line {
	size_t *slots; /* the piece in each */
	_Atomic size_t made;
	size_t placed, stored;
	uint64_t sum;
	enum step slow; /* this step takes long, for some pieces */
	enum step failing;
	size_t broken; /* it fails there */
};

static enum sonde_status take_step(const struct line *line, enum step step, size_t piece,
				   struct sonde_error *err)
{
	struct timespec nap = { .tv_nsec = (long)(piece % 3) * 300000 };

	if (step == line->slow)
		nanosleep(&nap, NULL);
	if (step == line->failing && piece == line->broken)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET, "piece %zu is broken",
				  piece);
	return SONDE_OK;
}

static enum sonde_status make(void *user, size_t piece, size_t slot, uint64_t *numbers,
			      struct sonde_error *err)
{
	struct line *line = user;

	line->slots[slot] = piece;
	line->made++;
	numbers[0] = piece;
	numbers[1] = 1;
	return take_step(line, STEP_MAKE, piece, err);
}

static enum sonde_status place(void *user, size_t piece, size_t slot, const uint64_t *numbers,
			       struct sonde_error *err)
{
	struct line *line = user;

	if (piece != line->placed || line->slots[slot] != piece || numbers[0] != piece)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "%zu placed at %zu", piece,
				  line->placed);
	line->placed++;
	line->sum += numbers[1];
	return take_step(line, STEP_PLACE, piece, err);
}

static enum sonde_status store(void *user, size_t piece, size_t slot, struct sonde_error *err)
{
	struct line *line = user;
	enum sonde_status status = take_step(line, STEP_STORE, piece, err);

	if (piece != line->stored || piece >= line->placed || line->slots[slot] != piece)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "%zu stored at %zu", piece,
				  line->stored);
	line->stored++;
	return status;
}

static enum sonde_status run(struct line *line, size_t count, unsigned int threads,
			     struct sonde_error *err)
{
	struct hpcdb_write_options options = { .threads = threads };
	struct hpcdb_job job = { .options = &options, .slots = 2 * threads };
	struct hpcdb_rounds rounds = { .job = &job,
				       .count = count,
				       .number_count = 2,
				       .user = line,
				       .make = make,
				       .place = place,
				       .store = store };
	enum sonde_status status;

	line->slots = calloc(hpcdb_rounds_slots(&job), sizeof(*line->slots));
	assert_non_null(line->slots);
	status = hpcdb_rounds_run(&rounds, err);
	free(line->slots);
	return status;
}

static void test_order(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, PIECES };
	struct sonde_error err;

	(void)state;
	for (unsigned int threads = 1; threads <= 7; threads += 2) {
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
			for (enum step slow = STEP_MAKE; slow <= STEPS; slow++) {
				struct line line = { .slow = slow, .broken = NO_PIECE };

				if (run(&line, counts[i], threads, &err) != SONDE_OK)
					fail_msg("%s", err.message);
				assert_int_equal(line.made, counts[i]);
				assert_int_equal(line.stored, counts[i]);
				assert_int_equal(line.sum, counts[i]);
			}
		}
	}
}

/* It ends with that failure, and nothing behind the piece is stored. */
static void test_failures(void **state)
{
	struct sonde_error err;

	(void)state;
	for (unsigned int threads = 1; threads <= 4; threads += 3) {
		for (enum step failing = STEP_MAKE; failing < STEPS; failing++) {
			struct line line = { .slow = STEP_STORE, .failing = failing, .broken = 40 };

			assert_int_equal(run(&line, PIECES, threads, &err), SONDE_CORRUPT);
			assert_string_equal(err.message, "piece 40 is broken");
			assert_true(line.stored <= 41);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
