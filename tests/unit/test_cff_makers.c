/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy files of version 3 and wtf-calls files as version 10 images: what they become is looked at
 * as JSON. Then cut everywhere and changed everywhere.
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

#include "cff_bytes.h"
#include "cff_making.h"
#include "formats/cff/cff_image.h"
#include "scratch.h"

/* A file as JSON with its events, after the head; and what was found first. */
static void assert_becomes(const struct sonde_buffer *file, const char *expected, const char *id)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_error err = { 0 };
	struct cff_image image;
	struct sonde_output out;
	char text[4000];
	size_t count;
	FILE *json;

	put_bytes(scratch_path("file"), file->data, file->size);
	assert_int_equal(cff_image_open(&image, scratch_path("file"), findings, &err), SONDE_OK);
	if (sonde_diagnostics_at(findings, 0))
		assert_string_equal(sonde_diagnostics_at(findings, 0)->type->id, id ? id : "");
	else
		assert_null(id);
	assert_int_equal(sonde_output_open(&out, scratch_path("json"), &err), SONDE_OK);
	assert_int_equal(cff_image_write_json(&image, CFF_JSON_EVENTS, &out, NULL, &err), SONDE_OK);
	assert_int_equal(sonde_output_close(&out, &err), SONDE_OK);
	cff_image_release(&image);
	sonde_diagnostics_free(findings);
	json = fopen(scratch_path("json"), "rb");
	assert_non_null(json);
	count = fread(text, 1, sizeof(text) - 1, json);
	text[count] = '\0';
	fclose(json);
	assert_string_equal(strstr(text, "\"chunks\""), expected);
}

static void assert_sound(const struct sonde_mapped_file *image)
{
	for (size_t at = 12; at < image->size;) {
		uint32_t length;

		assert_true(image->size - at >= 24);
		memcpy(&length, image->data + at + 8, 4);
		assert_true(length >= 24 && length <= image->size - at && length % 4 == 0);
		at += length;
	}
}

/* Every cut and every changed byte: no crash, chunks that are whole. */
static void damage(maker_function *function, const struct sonde_buffer *file)
{
	static const uint8_t changes[] = { 0, 1, 0x7F, 0x80, 0xFF, '"', '{', ']' };
	uint8_t *bytes = malloc(file->size);

	for (size_t i = 0; i < file->size * (sizeof(changes) + 1); i++) {
		struct sonde_diagnostics *findings = sonde_diagnostics_new();
		size_t place = i / (sizeof(changes) + 1), change = i % (sizeof(changes) + 1);
		struct sonde_mapped_file image;
		enum sonde_status status;

		memcpy(bytes, file->data, file->size);
		if (change < sizeof(changes))
			bytes[place] = changes[change];
		status = make_image(function, bytes, change < sizeof(changes) ? file->size : place,
				    &image, findings);
		assert_true(status == SONDE_OK || status == SONDE_UNSUPPORTED);
		assert_sound(&image);
		sonde_mapped_file_release(&image);
		sonde_diagnostics_free(findings);
	}
	free(bytes);
}

/* Big-endian, packed. */
static void put_be(struct sonde_buffer *out, uint64_t value, size_t size)
{
	while (size--)
		sonde_buffer_put_char(out, (char)(value >> (8 * size)));
}

static void put_ascii(struct sonde_buffer *out, const char *text)
{
	put_be(out, strlen(text), 2);
	sonde_buffer_put_text(out, text);
}

static void put_utf8(struct sonde_buffer *out, const char *text)
{
	put_be(out, strlen(text), 2);
	put_ascii(out, text);
}

static void put_define(struct sonde_buffer *out, uint32_t wire, uint32_t class, const char *name,
		       const char *arguments)
{
	put_be(out, 1, 2);
	put_be(out, 0, 4);
	put_be(out, wire, 2);
	put_be(out, class, 2);
	put_be(out, 0, 4);
	put_ascii(out, name);
	put_ascii(out, arguments);
}

static void put_legacy(struct sonde_buffer *out)
{
	put_be(out, CFF_MAGIC, 4);
	put_be(out, 5, 4);
	put_be(out, CFF_LEGACY_VERSION, 4);
	put_utf8(out, "{\"uri\": \"x\"}");
	put_be(out, 3, 4);
	put_be(out, 7, 4);
	put_be(out, 1, 4);
	put_utf8(out, "");
	put_define(out, 2, 0, "t", "bool b, int8 i, int16 s, int32 l, float32 f, any v, wchar[] w");
	put_define(out, 3, 1, "sc", "");
	put_be(out, 2, 2);
	put_be(out, 0x01020304, 4);
	put_be(out, 1, 1);
	put_be(out, 0xFE, 1);
	put_be(out, 0xFFFD, 2);
	put_be(out, 0xFFFFFFFC, 4);
	sonde_buffer_put(out, "\0\0\xC0\x3F", 4);
	put_utf8(out, "{}");
	put_be(out, 2, 4);
	put_be(out, 'A', 2);
	put_be(out, 0x263A, 2);
	put_be(out, 3, 2);
	put_be(out, 9, 4);
}

#define LEGACY_HEAD                                                                                \
	"\"chunks\": [\n    {\"id\":1,\"type\":\"file_header\",\"parts\":[{\"type\":"              \
	"\"file_header\",\"flags\":[\"has_high_resolution_times\",\"times_as_count\"],"            \
	"\"timebase\":4294967303,\"contextInfo\":{\"uri\": \"x\"}}]},\n    {\"id\":2,\"type\":"    \
	"\"event_data\",\"parts\":[{\"type\":\"string_table\",\"value\":[\"t\","                   \
	"\"bool b, int8 i, int16 s, int32 l, float32 f, any v, wchar[] w\",\"sc\",\"{}\"]},"       \
	"{\"type\":\"json_event_buffer\",\"events\":[\n      [1,0,2,0,0,\"t\","                    \
	"\"bool b, int8 i, int16 s, int32 l, float32 f, any v, wchar[] w\"],\n      "              \
	"[1,0,3,1,0,\"sc\",\"\"],\n      "                                                         \
	"[2,16909060,true,-2,-3,-4,1.5,\"{}\",\"A\xE2\x98\xBA\"]"
#define TAIL "\n    ]}]}\n  ]\n}"

static void test_legacy(void **state)
{
	struct sonde_buffer file = { 0 };
	size_t whole;

	(void)state;
	put_legacy(&file);
	whole = file.size;
	assert_becomes(&file, LEGACY_HEAD ",\n      [3,9]" TAIL, NULL);
	file.size--;
	assert_becomes(&file, LEGACY_HEAD TAIL, "cff-legacy-event");
	file.size = whole;
	file.data[whole - 5] = 4; /* undefined */
	assert_becomes(&file, LEGACY_HEAD TAIL, "cff-legacy-event");
	sonde_buffer_release(&file);
}

/* More than a chunk holds: every chunk has the texts that it needs. */
static void test_legacy_chunks(void **state)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_buffer file = { 0 };
	struct sonde_mapped_file image;
	size_t chunks = 0;

	(void)state;
	put_legacy(&file);
	put_define(&file, 4, 0, "u", "ascii s");
	for (uint32_t i = 0; i < 200000; i++) {
		put_be(&file, 4, 2);
		put_be(&file, i, 4);
		put_ascii(&file, "same");
	}
	assert_int_equal(make_image(cff_make_from_legacy, file.data, file.size, &image, findings),
			 SONDE_OK);
	assert_sound(&image);
	for (size_t at = 12; at < image.size; chunks++) {
		uint32_t length;

		memcpy(&length, image.data + at + 8, 4);
		if (chunks > 1)
			assert_memory_equal(image.data + at + 24 + 24, "same", 5);
		at += length;
	}
	assert_int_equal(chunks, 4);
	sonde_mapped_file_release(&image);
	sonde_buffer_release(&file);
	sonde_diagnostics_free(findings);
}

static void test_legacy_damage(void **state)
{
	struct sonde_buffer file = { 0 };

	(void)state;
	put_legacy(&file);
	damage(cff_make_from_legacy, &file);
	sonde_buffer_release(&file);
}

#define CALLS_JSON                                                                                 \
	"{\"version\": 1,\"context\": {\"uri\": \"u\"},\"metadata\": {\"attributes\": [\"heap\","  \
	"{\"units\":\"ms\",\"name\":\"time spent\"}]},\"modules\": {\"0\":{\"src\":\"/a.js\","     \
	"\"fns\":[1,\"f\",0,9,2,\"f\",10,19,3,\"wtf.scope#leave\",20,29]}}}"

static void put_calls(struct sonde_buffer *out)
{
	put_word(out, (uint32_t)strlen(CALLS_JSON));
	sonde_buffer_put_text(out, CALLS_JSON);
	sonde_buffer_put(out, "\0\0\0", -out->size & 3);
	PUT_WORDS(out, 1, 10, 20, 2, 11, 21, UINT32_MAX - 1, 12, 22, UINT32_MAX, 13, UINT32_MAX);
	PUT_WORDS(out, 3, 0, 0);
}

#define ATTRIBUTES "\"int32 heap, int32 attribute1\""
#define CALLS_TEXT                                                                                 \
	"\"chunks\": [\n    {\"id\":1,\"type\":\"file_header\",\"parts\":[{\"type\":"              \
	"\"file_header\",\"flags\":[\"times_as_count\"],\"timebase\":0,\"contextInfo\":"           \
	"{\"uri\": \"u\"},\"metadata\":{\"calls\":{\"metadata\":{\"attributes\": [\"heap\","       \
	"{\"units\":\"ms\",\"name\":\"time spent\"}]},\"modules\":{\"0\":{\"src\":\"/a.js\","      \
	"\"fns\":[1,\"f\",0,9,2,\"f\",10,19,3,\"wtf.scope#leave\",20,29]}}}}}]},\n    "            \
	"{\"id\":2,\"type\":\"event_data\",\"parts\":[{\"type\":\"string_table\",\"value\":["      \
	"\"wtf.zone#create\",\"uint16 zoneId, ascii name, ascii type, ascii location\","           \
	"\"wtf.zone#set\",\"uint16 zoneId\",\"wtf.scope#enter\",\"ascii name\","                   \
	"\"wtf.scope#leave\",\"calls#leave\"," ATTRIBUTES ",\"calls\",\"script\",\"f\",\"f_2\","   \
	"\"wtf.scope#leave_3\"]},{\"type\":\"json_event_buffer\",\"events\":[\n      "             \
	"[1,0,2,0,40,\"wtf.zone#create\","                                                         \
	"\"uint16 zoneId, ascii name, ascii type, ascii location\"],\n      "                      \
	"[1,0,3,0,40,\"wtf.zone#set\",\"uint16 zoneId\"],\n      "                                 \
	"[1,0,5,1,32,\"wtf.scope#enter\",\"ascii name\"],\n      "                                 \
	"[1,0,4,0,40,\"wtf.scope#leave\",null],\n      "                                           \
	"[1,0,6,0,0,\"calls#leave\"," ATTRIBUTES "],\n      [2,0,1,\"calls\",\"script\",\"\"],"    \
	"\n      [3,0,1],\n      [1,0,7,1,0,\"f\"," ATTRIBUTES "],\n      [7,0,10,20],\n      "    \
	"[1,1,8,1,0,\"f_2\"," ATTRIBUTES "],\n      [8,1,11,21],\n      [6,2,12,22],\n      "      \
	"[4,2],\n      [6,3,13,-1],\n      [4,3],\n      "                                         \
	"[1,4,9,1,0,\"wtf.scope#leave_3\"," ATTRIBUTES "],\n      [9,4,0,0]"

static void test_calls(void **state)
{
	struct sonde_buffer file = { 0 };

	(void)state;
	put_calls(&file);
	assert_becomes(&file, CALLS_TEXT TAIL, NULL);
	put_word(&file, 1); /* without its attributes */
	assert_becomes(&file, CALLS_TEXT TAIL, "cff-calls-record");
	PUT_WORDS(&file, 0, 0, 0, 0, 0);
	assert_becomes(&file, CALLS_TEXT ",\n      [7,5,0,0]" TAIL, "cff-calls-record");
	sonde_buffer_release(&file);
}

static void test_calls_damage(void **state)
{
	struct sonde_buffer file = { 0 };

	(void)state;
	put_calls(&file);
	damage(cff_make_from_calls, &file);
	sonde_buffer_release(&file);
}

/* More functions than can be defined: the rest is entered by name. */
static void test_many_functions(void **state)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_buffer file = { 0 };
	struct sonde_mapped_file image;

	(void)state;
	put_word(&file, 16);
	sonde_buffer_put_text(&file, "{\"version\" : 1} ");
	for (uint32_t i = 1; i < 70000; i++)
		PUT_WORDS(&file, i, -i);
	assert_int_equal(make_image(cff_make_from_calls, file.data, file.size, &image, findings),
			 SONDE_OK);
	assert_sound(&image);
	assert_non_null(memmem(image.data, image.size, "function_65529", 15));
	assert_non_null(memmem(image.data, image.size, "function_69999", 15));
	assert_int_equal(sonde_diagnostics_count(findings, SONDE_ERROR), 0);
	assert_true(sonde_diagnostics_count(findings, SONDE_WARNING) >= 65529);
	sonde_mapped_file_release(&image);
	sonde_buffer_release(&file);
	sonde_diagnostics_free(findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_legacy),	      cmocka_unit_test(test_legacy_chunks),
		cmocka_unit_test(test_legacy_damage), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_calls_damage),  cmocka_unit_test(test_many_functions),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
