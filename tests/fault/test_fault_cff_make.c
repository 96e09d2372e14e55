/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, legacy and wtf-calls files as images, and images as JSON, with each allocation and each
 * call to the system failing in turn. What succeeds all the same is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "../unit/cff_bytes.h"
#include "../unit/scratch.h"
#include "fault.h"
#include "formats/cff/cff_image.h"

struct world {
	char input[256], json[256];
	struct sonde_buffer image; /* without faults */
	struct sonde_buffer text;  /* likewise, as JSON */
	bool is_different;
	unsigned int successes;
};

static bool is_same(const struct sonde_buffer *expected, const void *data, size_t size)
{
	return expected->size == size && !memcmp(expected->data, data, size);
}

static enum sonde_status write_json(struct world *world, const struct cff_image *image,
				    struct sonde_error *err)
{
	struct sonde_output out;
	enum sonde_status status = sonde_output_open(&out, world->json, err);

	if (status < 0)
		return status;
	status = cff_image_write_json(image, CFF_JSON_EVENTS, &out, NULL, err);
	if (status >= 0)
		return sonde_output_close(&out, err);
	sonde_output_release(&out);
	return status;
}

static enum sonde_status run(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct cff_image image;
	enum sonde_status status;

	if (!findings)
		return sonde_fail_nomem(err);
	status = cff_image_open(&image, world->input, findings, err);
	if (status >= 0) {
		if (world->image.size)
			world->is_different |= !is_same(&world->image, image.data, image.size);
		else
			sonde_buffer_put(&world->image, image.data, image.size);
		status = write_json(world, &image, err);
		cff_image_release(&image);
	}
	sonde_diagnostics_free(findings);
	return status;
}

static void look(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_mapped_file file;

	(void)err;
	assert_false(world->is_different);
	if (status < 0)
		return;
	assert_int_equal(sonde_mapped_file_open(&file, world->json, NULL), SONDE_OK);
	if (!world->text.size)
		sonde_buffer_put(&world->text, file.data, file.size);
	assert_true(is_same(&world->text, file.data, file.size));
	sonde_mapped_file_release(&file);
	world->successes++;
}

static void test_input(const void *data, size_t size)
{
	struct world world = { 0 };
	struct fault_case fault_case = { .run = run, .after = look, .user = &world };
	struct sonde_error err = { 0 };

	snprintf(world.input, sizeof(world.input), "%s", scratch_path("input"));
	snprintf(world.json, sizeof(world.json), "%s", scratch_path("json"));
	put_bytes(world.input, data, size);
	if (run(&world, &err) < 0)
		fail_msg("%s", err.message);
	look(&world, SONDE_OK, NULL);
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 20);
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 3);
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 1);
	assert_true(world.successes > 1);
	sonde_buffer_release(&world.image);
	sonde_buffer_release(&world.text);
}

static void test_json(void **state)
{
	static const char text[] =
		"{\"chunks\":[{\"id\":1,\"type\":\"file_header\",\"parts\":[{\"timebase\":1,"
		"\"type\":\"file_header\"}]},{\"type\":\"event_data\",\"parts\":[{\"type\":"
		"\"string_table\",\"value\":[\"t\",\"x\\n\",{\"base64\":\"/w==\"}]},{\"type\":"
		"\"json_event_buffer\",\"events\":[[1,0,2,0,0,\"t\",\"uint8 n, any v, utf8 s, "
		"wchar[] w\"],[2,5,1,{\"a\":[1]},\"x\\n\",\"abc\"],[\"t\",6,{\"s\":\"new\"}],[9,1],"
		"{\"raw\":[1,2]}]},{\"type\":\"string_resource\",\"value\":\"r\\\"\"},{\"type\":"
		"\"binary_resource\",\"value\":\"AAEC+v8=\"}]},{\"type\":\"event_data\",\"parts\":["
		"{\"type\":\"binary_event_buffer\",\"value\":\"AQAAAAAAAAADAAAAAAAAAAAAAAD///////"
		"///w==\"}]},{\"type\":\"event_data\",\"parts\":[{\"type\":\"binary_resource\","
		"\"value\":\"AA*A\"}]}]}";

	(void)state;
	test_input(text, sizeof(text) - 1);
}

static void test_legacy(void **state)
{
	static const char bytes[] =
		"\xDE\xAD\xBE\xEF\0\0\0\5\0\0\0\3\0\2\0\2{}\0\0\0\1\0\0\0\0\0\0\0\0"
		"\0\0\0\0\0\1\0\0\0\0\0\2\0\0\0\0\0\0\0\1t\0\6utf8 s\0\2\0\0\0\1"
		"\0\2\0\2xy\0\2\0\0\0\1\0\2\0";

	(void)state;
	test_input(bytes, sizeof(bytes) - 1);
}

static void test_calls(void **state)
{
	static const char json[] = "{\"version\":1,\"context\":{},\"metadata\":{\"attributes\":"
				   "[\"a\"]},\"modules\":{\"0\":{\"fns\":[1,\"f\",0,1,2,\"f\",2,3]"
				   "}}}  ";
	struct sonde_buffer file = { 0 };

	(void)state;
	put_word(&file, sizeof(json) - 1);
	sonde_buffer_put_text(&file, json);
	sonde_buffer_put(&file, "\0\0\0", -file.size & 3);
	PUT_WORDS(&file, 1, 5, 2, 6, 3, 7, UINT32_MAX, 8);
	test_input(file.data, file.size);
	sonde_buffer_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
