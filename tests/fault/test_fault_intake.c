/* SPDX-License-Identifier: Apache-2.0 */
/* The intake and parts of an output with each allocation, read and write failing in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <sonde/sonde.h>

#include "base/parts.h"
#include "fault.h"
#include "formats/exchange.h"
#include "model/recording.h"

static enum sonde_status add_names(struct sonde_intake *intake, uint32_t tracks[2],
				   struct sonde_error *err)
{
	struct sonde_function like = { .module = SONDE_NONE };
	enum sonde_status status;
	uint32_t id = 0;

	status = sonde_intake_process(intake, 1, &like.process, err);
	for (uint64_t i = 0; !status && i < 2; i++)
		status = sonde_intake_track(intake, like.process, i, &tracks[i], err);
	if (!status)
		status = sonde_intake_function(intake, &like, "f", 1, &id, err);
	if (!status)
		status = sonde_intake_function(intake, &like, "bad \xff", 5, &id, err);
	if (!status)
		status = sonde_intake_event_type(intake, "e", 1, "uint8 x", &id, err);
	if (!status)
		status = sonde_intake_number(intake, "id", 2, &id, err);
	return status;
}

/* Calls, spans that overlap, arguments, far from the order of time. */
static enum sonde_status add_events(struct sonde_intake *intake, const uint32_t tracks[2],
				    struct sonde_error *err)
{
	static const uint8_t arguments[4] = { 1 };
	enum sonde_status status = SONDE_OK;

	for (uint64_t i = 0; !status && i < 9000; i++) {
		struct sonde_intake_event event = {
			.time_ns = i * 7919 % 9000,
			.end_ns = 9000 - i % 10,
			.track = tracks[i % 2],
			.function = (uint32_t)(i / 2 % 2),
			.kind = i % 500 == 0   ? SONDE_INTAKE_SPAN :
				i / 2 % 2 == 0 ? SONDE_EVENT_CALL :
						 SONDE_EVENT_RETURN,
			.event_type = i % 3000 ? SONDE_NONE : 0,
			.arguments = arguments,
			.size = sizeof(arguments),
		};

		status = sonde_intake_add(intake, &event, err);
	}
	return status;
}

static enum sonde_status add_profile(struct sonde_recording *recording, struct sonde_intake *intake,
				     uint32_t track, struct sonde_error *err)
{
	struct sonde_metric metric = { 0 };
	struct sonde_context frame = sonde_intake_frame(0);
	enum sonde_status status;
	uint32_t id = 0, node = 0;

	status = sonde_definitions_add_metric(recording->definitions, &metric, &id, err);
	for (uint64_t i = 0; !status && i < 100; i++) {
		status = sonde_intake_context(intake, node, &frame, &node, err);
		if (!status)
			status = sonde_intake_value(intake, track, node, id, 1, err);
		if (!status)
			status = sonde_intake_sample(intake, track, 100 - i, node, err);
	}
	return status;
}

static enum sonde_status open_intake(struct sonde_recording *recording, struct sonde_error *err)
{
	struct sonde_intake *intake;
	uint32_t tracks[2] = { 0 };
	enum sonde_status status = sonde_intake_new(recording, &intake, err);

	if (!status)
		status = add_names(intake, tracks, err);
	if (!status)
		status = add_events(intake, tracks, err);
	if (!status)
		status = add_profile(recording, intake, tracks[0], err);
	if (!status)
		status = exchange_finish(recording, intake, err);
	if (status)
		sonde_intake_free(intake);
	return status;
}

static const struct sonde_format intake_format = {
	.info = { .name = "intake", .lanes_read = SONDE_LANE_EVENTS },
	.open = open_intake,
};

/* Opens it and reads everything. */
static enum sonde_status run_intake(void *user, struct sonde_error *err)
{
	static const struct sonde_check_options options;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	enum sonde_status status;

	(void)user;
	if (!diagnostics)
		return sonde_fail(err, SONDE_NOMEM, SONDE_NO_OFFSET, "no memory");
	status = exchange_check(&intake_format, "test", &options, diagnostics, err);
	sonde_diagnostics_free(diagnostics);
	return status;
}

static void test_intake(void **state)
{
	const struct fault_case fault_case = { .run = run_intake };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 5);
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 5);
}

static enum sonde_status run_parts(void *user, struct sonde_error *err)
{
	struct sonde_output output;
	struct sonde_parts *parts = NULL;
	enum sonde_status status = sonde_output_open_unnamed(&output, err);

	(void)user;
	if (!status)
		status = sonde_parts_new(&output, 3, &parts, err);
	for (size_t i = 3; !status && i-- > 0;) {
		for (unsigned int j = 0; !status && j < 4; j++) {
			status = sonde_parts_write(parts, (i + j) % 3 >= i ? (i + j) % 3 : i, "abc",
						   3, err);
		}
	}
	for (size_t i = 3; !status && i-- > 0;)
		status = sonde_parts_end(parts, i, err);
	sonde_parts_free(parts);
	if (!status)
		return sonde_output_close(&output, err);
	sonde_output_release(&output);
	return status;
}

static void test_parts(void **state)
{
	const struct fault_case fault_case = { .run = run_parts };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 5);
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 1);
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intake),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
