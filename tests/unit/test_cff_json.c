/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wtf-trace files as JSON: read in every spelling, written in every style and read back to the same
 * bytes, edited by hand, and damaged in every way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "cff_bytes.h"
#include "cff_making.h"
#include "formats/cff/cff_image.h"
#include "scratch.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define STYLES 8

static void make_text(const char *text, struct sonde_mapped_file *image)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();

	assert_int_equal(make_image(cff_make_from_json, text, strlen(text), image, findings),
			 SONDE_OK);
	if (sonde_diagnostics_at(findings, 0))
		fail_msg("%s in %s", sonde_diagnostics_at(findings, 0)->type->id, text);
	sonde_diagnostics_free(findings);
}

static void assert_same_file(const struct sonde_mapped_file *a, const struct sonde_mapped_file *b,
			     const char *what)
{
	size_t least = a->size < b->size ? a->size : b->size;

	for (size_t i = 0; i < least; i++) {
		if (a->data[i] != b->data[i])
			fail_msg("%s: differs at %zu", what, i);
	}
	if (a->size != b->size)
		fail_msg("%s: %zu and %zu bytes", what, a->size, b->size);
}

/* Writes a file as JSON, and gives what was lost (not counting what only others lose). */
static uint64_t write_json(const char *path, unsigned int style, const char *target)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_error err = { 0 };
	struct cff_image image;
	struct sonde_output out;
	uint64_t lost = 0;

	assert_int_equal(cff_image_open(&image, path, findings, &err), SONDE_OK);
	assert_int_equal(sonde_output_open(&out, target, &err), SONDE_OK);
	assert_int_equal(cff_image_write_json(&image, style, &out, loss, &err), SONDE_OK);
	assert_int_equal(sonde_output_close(&out, &err), SONDE_OK);
	for (size_t i = 0; sonde_loss_at(loss, i); i++)
		lost += sonde_loss_at(loss, i)->only_elsewhere ? 0 : sonde_loss_at(loss, i)->count;
	cff_image_release(&image);
	sonde_loss_free(loss);
	sonde_diagnostics_free(findings);
	return lost;
}

/* The image of a file, whatever it is, as a mapped file of its own. */
static void copy_image(const char *path, const char *target)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_error err = { 0 };
	struct cff_image image;

	assert_int_equal(cff_image_open(&image, path, findings, &err), SONDE_OK);
	put_bytes(target, image.data, image.size);
	cff_image_release(&image);
	sonde_diagnostics_free(findings);
}

/* Every style gives JSON that is read back to the same bytes. */
static void assert_round_trips(const char *file)
{
	struct sonde_mapped_file before, after;
	struct sonde_error err;
	char path[512];

	snprintf(path, sizeof(path), "%s", file); /* it may be a path that does not last */
	copy_image(path, scratch_path("before"));
	assert_int_equal(sonde_mapped_file_open(&before, scratch_path("before"), &err), SONDE_OK);
	for (unsigned int style = 0; style < STYLES; style++) {
		uint64_t lost = write_json(path, style, scratch_path("json"));

		copy_image(scratch_path("json"), scratch_path("after"));
		assert_int_equal(sonde_mapped_file_open(&after, scratch_path("after"), &err),
				 SONDE_OK);
		if (!lost)
			assert_same_file(&before, &after, path);
		else if (before.size == after.size && !memcmp(before.data, after.data, before.size))
			fail_msg("%s: nothing was lost, but %llu were counted", path,
				 (unsigned long long)lost);
		sonde_mapped_file_release(&after);
	}
	sonde_mapped_file_release(&before);
}

static void assert_bytes_round_trip(const struct sonde_buffer *file)
{
	assert_false(file->failed);
	put_bytes(scratch_path("file"), file->data, file->size);
	assert_int_equal(write_json(scratch_path("file"), 0, scratch_path("json")), 0);
	assert_int_equal(write_json(scratch_path("file"), CFF_JSON_EVENTS, scratch_path("json")),
			 0);
	assert_round_trips(scratch_path("file"));
}

#define HEADER_PART "{\"type\":\"file_header\",\"timebase\":1248655.863036, \"flags\": []}"
#define HEADER_CHUNK "{\"id\":1,\"type\":\"file_header\",\"parts\":[" HEADER_PART "]}"
#define TABLE_PART "{\"type\":\"string_table\",\"value\":[\"a\",\"b\"]}"
#define BYTES_PART                                                                                 \
	"{\"type\":\"binary_event_buffer\",\"mode\":\"base64\",\"byteLength\":5,\"value\":"        \
	"\"AQIDBAU=\"}"
#define EVENT_CHUNK                                                                                \
	"{\"id\":7,\"type\":\"event_data\",\"startTime\":5,\"endTime\":9,\"parts\":[" TABLE_PART   \
	"," BYTES_PART "]}"

/* One image, said in many ways. */
static void test_spellings(void **state)
{
	static const char *const documents[] = {
		"{\"wtfVersion\":1436947200000,\"formatVersion\":10,\"chunks\":[" HEADER_CHUNK
		"," EVENT_CHUNK "]}",
		"{\"wtf_version\":1436947200000,\"format_version\":10,\"chunks\":[" HEADER_CHUNK
		"," EVENT_CHUNK "]}\n \n",
		"{\"chunks\":[" HEADER_CHUNK "," EVENT_CHUNK "],\"formatVersion\":10}",
		"{\"wtfVersion\":1436947200000,\"formatVersion\":10}\n{\"chunks\":[" HEADER_CHUNK
		"]}\n{\"chunks\":[" EVENT_CHUNK "]}\n",
		"{\"wtf_version\":1436947200000,\"format_version\":10}\n" HEADER_CHUNK
		"\n" EVENT_CHUNK,
		"{\n\"wtf_version\"\n:1436947200000,\"format_version\":10}" HEADER_CHUNK
			EVENT_CHUNK,
		"\xEF\xBB\xBF{\"chunks\":[" HEADER_CHUNK ",{\"parts\":[{\"value\":[\"\\u0061\","
		"\"b\"],\"type\":\"string_table\"},{\"value\":\"AQID\\u0042AU=\",\"byteLength\":5,"
		"\"type\":\"binary_event_buffer\"}],\"endTime\":9,\"startTime\":5,\"other\":[{}],"
		"\"type\":\"event_data\",\"id\":7}]}",
	};
	struct sonde_mapped_file first, other;
	struct sonde_buffer expected = { 0 };

	(void)state;
	put_file_head(&expected, 0x90BA3800);
	put_test_chunk(
		&expected, 1, CFF_CHUNK_FILE_HEADER,
		&(struct test_part){ CFF_PART_FILE_HEADER, HEADER_PART, strlen(HEADER_PART) }, 1);
	put_test_chunk(&expected, 7, CFF_CHUNK_EVENT_DATA,
		       (struct test_part[]){ { CFF_PART_STRINGS, "a\0b", 4 },
					     { CFF_PART_EVENTS, "\1\2\3\4\5", 5 } },
		       2);
	first = (struct sonde_mapped_file){ .data = (uint8_t *)expected.data,
					    .size = expected.size };
	/* the times of the second chunk */
	memcpy(expected.data + expected.size - 12 - 24 - 12, "\5\0\0\0\11\0\0\0", 8);
	for (size_t i = 0; i < COUNT_OF(documents); i++) {
		make_text(documents[i], &other);
		assert_same_file(&first, &other, documents[i]);
		sonde_mapped_file_release(&other);
	}
	sonde_buffer_release(&expected);
}

static void test_versions(void **state)
{
	struct sonde_mapped_file image;

	(void)state;
	make_text("{\"wtfVersion\":5,\"chunks\":[]}", &image);
	assert_memory_equal(image.data, "\xEF\xBE\xAD\xDE\5\0\0\0\12\0\0\0", 12);
	assert_int_equal(image.size, 12);
	sonde_mapped_file_release(&image);
	make_text("{\"chunks\":[],\"wtfVersion\":4294967303}", &image);
	assert_memory_equal(image.data + 4, "\7\0\0\0", 4);
	sonde_mapped_file_release(&image);
}

/* What is found, and where: the place of '^' in the text, which is taken out. */
static void assert_finds(const char *marked, const char *id, enum sonde_status expected)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	const char *mark = strchr(marked, '^');
	size_t before = mark ? (size_t)(mark - marked) : strlen(marked);
	const struct sonde_finding *finding;
	struct sonde_mapped_file image;
	char text[2000];

	snprintf(text, sizeof(text), "%.*s%s", (int)before, marked, mark ? mark + 1 : "");
	assert_int_equal(make_image(cff_make_from_json, text, strlen(text), &image, findings),
			 expected);
	finding = sonde_diagnostics_at(findings, 0);
	if (!finding) {
		fail_msg("nothing found in %s", text);
		return;
	}
	assert_string_equal(finding->type->id, id);
	if (mark && finding->offset != before)
		fail_msg("found at %llu in %s", (unsigned long long)finding->offset, marked);
	sonde_mapped_file_release(&image);
	sonde_diagnostics_free(findings);
}

static void test_findings(void **state)
{
	(void)state;
	assert_finds("{\"formatVersion\":^9}", "cff-json-version", SONDE_UNSUPPORTED);
	assert_finds("{\"wtfVersion\":^1436947200001}", "cff-json-wtf-version", SONDE_OK);
	assert_finds("{\"wtfVersion\":^\"x\"}", "cff-json-value", SONDE_OK);
	assert_finds("^[{\"timebase\":10}]", "cff-json-old", SONDE_OK);
	assert_finds("^3", "cff-json-broken", SONDE_OK);
	assert_finds("{\"chunks\":[]} ^x", "cff-json-broken", SONDE_OK);
	assert_finds("{\"chunks\":^3}", "cff-json-value", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":^\"zzz\"}]}", "cff-json-chunk-type", SONDE_OK);
	assert_finds("{\"chunks\":[^{\"id\":1}]}", "cff-json-chunk-type", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"id\":^-1}]}", "cff-json-value",
		     SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"parts\":[{\"type\":^\"zzz\"}]}]}",
		     "cff-json-part-type", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"parts\":[^{\"type\":"
		     "\"string_table\"}]}]}",
		     "cff-json-part", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"parts\":[^{\"type\":"
		     "\"binary_resource\"}]}]}",
		     "cff-json-part", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"parts\":[^{\"type\":"
		     "\"binary_resource\",\"mode\":\"hex\",\"value\":\"00\"}]}]}",
		     "cff-json-mode", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"parts\":[{\"type\":"
		     "\"binary_resource\",\"value\":\"AAAAA^*AA\"}]}]}",
		     "cff-json-base64", SONDE_OK);
	assert_finds("{\"chunks\":[{\"type\":\"event_data\",\"parts\":[^{\"type\":"
		     "\"binary_resource\",\"byteLength\":4,\"value\":\"AAAA\"}]}]}",
		     "cff-json-length", SONDE_OK);
}

/* The bytes before a fault in base64 are there, and so is what follows the part. */
static void test_base64_fault(void **state)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_buffer text = { 0 };
	struct sonde_mapped_file image;

	(void)state;
	sonde_buffer_put_text(&text, "{\"chunks\":[{\"id\":1,\"type\":\"event_data\",\"parts\":[{"
				     "\"type\":\"binary_event_buffer\",\"value\":\"");
	for (unsigned int i = 0; i < 30000; i++)
		sonde_buffer_put_text(&text, "/v79");
	sonde_buffer_put_text(&text,
			      "/v=9/v79\"},{\"type\":\"string_resource\",\"value\":\"end\"}]},"
			      "{\"id\":2,\"type\":\"event_data\",\"parts\":[]}]}");
	assert_int_equal(make_image(cff_make_from_json, text.data, text.size, &image, findings),
			 SONDE_OK);
	assert_string_equal(sonde_diagnostics_at(findings, 0)->type->id, "cff-json-base64");
	assert_int_equal(image.size, 12 + 24 + 2 * 12 + 90004 + 4 + 24);
	assert_memory_equal(image.data + 12 + 24 + 8, "\x91\x5f\x01\0", 4);
	assert_memory_equal(image.data + 12 + 24 + 12 + 4, "\x94\x5f\x01\0\3\0\0\0", 8);
	assert_memory_equal(image.data + image.size - 28, "end\0\2\0\0\0", 8);
	sonde_mapped_file_release(&image);
	sonde_buffer_release(&text);
	sonde_diagnostics_free(findings);
}

static void put_header_chunk(struct sonde_buffer *file, const char *header)
{
	put_test_chunk(file, 1, CFF_CHUNK_FILE_HEADER,
		       &(struct test_part){ CFF_PART_FILE_HEADER, header, strlen(header) }, 1);
}

/* A header is the same text afterwards, whatever there is of "type" in it. */
static void test_headers(void **state)
{
	static const char *const headers[] = {
		"{\"timebase\":1248655.8630360}",
		"{ \"timebase\" : 1 }",
		"{\"type\":\"file_header\",\"timebase\":1}",
		"{\"type\": \"file_header\",\"timebase\": 1}",
		"{\"timebase\":1,\"type\":\"file_header\"}",
		"{\"timebase\":1,\"type\":\"file_header\" }",
		"{\"timebase\":1,\"type\":\"other\"}",
		"{\"type\":\"file_header\",\"type\":7,\"timebase\":1}",
		"{\"type\":\"file_header\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		struct sonde_buffer file = { 0 };

		put_file_head(&file, 77);
		put_header_chunk(&file, headers[i]);
		assert_bytes_round_trip(&file);
		sonde_buffer_release(&file);
	}
}

#define SIGNATURE                                                                                  \
	"bool b, int8 i, uint8 u, int16 s, uint16 t, char c, wchar w, float32 f, utf8 x, any y, "  \
	"int8[] ia, float32[] fa, char[] ca, wchar[] wa"

/* Defines type 2 with every kind of argument, type 3 with names that mean something to JSON. */
static void put_definitions(struct sonde_buffer *events)
{
	PUT_WORDS(events, 1, 0, 2, 0, 0, 0, 1);
	PUT_WORDS(events, 1, 0, 3, 1, 8, 2, 3);
}

static const char table[] = "all\0" SIGNATURE "\0odd\0utf8 raw, uint8 ordinal, any raw\0x\0y\0x\0"
			    "\0\xFF\xFE\0x\0{\"a\":1}";

static void put_event_file(struct sonde_buffer *file, const struct sonde_buffer *events,
			   size_t table_size)
{
	put_file_head(file, 1);
	put_header_chunk(file, "{\"timebase\":0}");
	put_test_chunk(file, 2, CFF_CHUNK_EVENT_DATA,
		       (struct test_part[]){ { CFF_PART_EVENTS, events->data, events->size },
					     { CFF_PART_STRINGS, table, table_size } },
		       2);
}

/* Slots that no plain JSON value stands for, and texts that the table has several times. */
static void test_odd_slots(void **state)
{
	struct sonde_buffer events = { 0 }, file = { 0 };

	(void)state;
	put_definitions(&events);
	/* plain */
	PUT_WORDS(&events, 2, 5, 1, 0x80, 0xFF, 0x8000, 0xFFFF, 'A', 0x263A, 0x3FC00000, 4, 10, 3,
		  0x00FF8001, 2, 0x80000000, 0x3DCCCCCD, 2, 0xFF41, 2, 0xDE00D83D);
	/* garbage beside the value, NaN, padding, surrogates, NUL; ordinals of no text */
	PUT_WORDS(&events, 2, 6, 2, 0xFFFFFF80, 0x100, 0xFFFF8000, 0x10000, 0x141, 0xD800,
		  0x7FC00001, 8, 99, 3, 0xFFFF8001, 1, 0x7F800000, 1, 0, 2, 0xD83DDE00);
	PUT_WORDS(&events, 2, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0, 0, 0, 0xFF800000, UINT32_MAX,
		  UINT32_MAX - 1, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0);
	/* the same text at several places, forwards, backwards, and the empty one of the table */
	for (uint32_t i = 4; i < 12; i++)
		PUT_WORDS(&events, 3, 7, i, 1, 13 - i);
	PUT_WORDS(&events, 3, 8, 6, 1, 6, 3, 8, 6, 0x101, 6, 3, 8, 9, 255, 4);
	put_event_file(&file, &events, sizeof(table));
	assert_bytes_round_trip(&file);
	sonde_buffer_clear(&file);
	put_event_file(&file, &events, sizeof(table) - 1); /* without its last NUL */
	assert_bytes_round_trip(&file);
	sonde_buffer_release(&events);
	sonde_buffer_release(&file);
}

/* Every float of a sample, small and large, with its own bits. */
static void test_floats(void **state)
{
	struct sonde_buffer events = { 0 }, file = { 0 };
	uint32_t bits = 1;

	(void)state;
	put_definitions(&events);
	PUT_WORDS(&events, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UINT32_MAX, 4000);
	for (unsigned int i = 0; i < 4000; i++) {
		bits = bits * 1664525 + 1013904223;
		put_word(&events, bits);
	}
	PUT_WORDS(&events, UINT32_MAX, UINT32_MAX);
	for (unsigned int i = 0; i < 4000; i++) {
		bits = bits * 1664525 + 1013904223;
		PUT_WORDS(&events, 2, 0, 0, 0, 0, 0, 0, 0, 0, bits, 4, 4, UINT32_MAX, UINT32_MAX,
			  UINT32_MAX, UINT32_MAX);
	}
	put_event_file(&file, &events, sizeof(table));
	assert_bytes_round_trip(&file);
	sonde_buffer_release(&events);
	sonde_buffer_release(&file);
}

/* Events that go past their buffer or have no type stay as they are, too. */
static void test_broken_events(void **state)
{
	struct sonde_buffer events = { 0 }, file = { 0 };

	(void)state;
	put_definitions(&events);
	PUT_WORDS(&events, 3, 5, 6, 1, 6, 2, 6, 1, 2, 3);
	put_event_file(&file, &events, sizeof(table));
	assert_bytes_round_trip(&file);
	sonde_buffer_clear(&file);
	sonde_buffer_clear(&events);
	put_definitions(&events);
	PUT_WORDS(&events, 9, 0, 0, 7);
	sonde_buffer_put(&events, "odd", 3);
	put_event_file(&file, &events, sizeof(table));
	assert_bytes_round_trip(&file);
	sonde_buffer_release(&events);
	sonde_buffer_release(&file);
}

/* A type that is defined in one chunk and used in the next. */
static void test_across_chunks(void **state)
{
	struct sonde_buffer events = { 0 }, file = { 0 };

	(void)state;
	put_definitions(&events);
	put_event_file(&file, &events, sizeof(table));
	sonde_buffer_clear(&events);
	PUT_WORDS(&events, 3, 5, 0, 1, 0);
	put_test_chunk(&file, 3, CFF_CHUNK_EVENT_DATA,
		       (struct test_part[]){ { CFF_PART_STRINGS, "z", 2 },
					     { CFF_PART_STRING_RESOURCE, "a\0b", 3 },
					     { CFF_PART_STRING_RESOURCE, "plain", 5 },
					     { CFF_PART_EVENTS, events.data, events.size },
					     { CFF_PART_BINARY_RESOURCE, "\1\2", 2 } },
		       5);
	assert_bytes_round_trip(&file);
	sonde_buffer_release(&events);
	sonde_buffer_release(&file);
}

/* What the layout of a file has that JSON does not is counted. */
static void test_losses(void **state)
{
	struct sonde_buffer file = { 0 };
	const char *path = scratch_path("odd");

	(void)state;
	put_file_head(&file, 1);
	put_header_chunk(&file, "{\"timebase\":0}");
	file.data[file.size - 1] = 1; /* padding */
	put_bytes(path, file.data, file.size);
	assert_int_equal(write_json(path, 0, scratch_path("json")), 1);
	file.data[file.size - 1] = 0;
	assert_int_equal(file.data[12 + 8], 52);
	file.data[12 + 8] += 8; /* slack */
	PUT_WORDS(&file, 0, 0);
	put_bytes(path, file.data, file.size);
	assert_int_equal(write_json(path, 0, scratch_path("json")), 8);
	put_test_chunk(&file, 3, 5, NULL, 0);
	put_test_chunk(&file, 4, CFF_CHUNK_EVENT_DATA, &(struct test_part){ 0x50000, "", 0 }, 1);
	put_bytes(path, file.data, file.size);
	assert_int_equal(write_json(path, 0, scratch_path("json")), 10);
	sonde_buffer_release(&file);
}

static void read_whole(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "rb");
	size_t count;

	assert_non_null(file);
	count = fread(text, 1, size - 1, file);
	text[count] = '\0';
	fclose(file);
}

#define HAND(events)                                                                               \
	"{\"wtfVersion\":1,\"chunks\":[{\"id\":1,\"type\":\"event_data\",\"parts\":[{\"type\":"    \
	"\"json_event_buffer\",\"events\":[" events "]}]}]}"
#define DEFINE_T "[1,0,2,0,0,\"t\",\"uint8 n, utf8 s, any v, char[] c, wchar w, int16[] q\"]"

/* What was edited by hand, as it is written after it was read. */
static void test_by_hand(void **state)
{
	static const struct {
		const char *edited, *written;
	} cases[] = {
		{ "[2,5]", "[2,5,0,null,null,null,0,null]" },
		{ "[\"t\",5,7]", "[2,5,7,null,null,null,0,null]" },
		{ "[2,5,{\"s\":\"new\",\"n\":3}]", "[2,5,3,\"new\",null,null,0,null]" },
		{ "[2,5,{}]", "[2,5,0,null,null,null,0,null]" },
		{ "[2,5,{\"q\":[1,-2],\"v\":{\"k\":[1, 2]}}]",
		  "[2,5,0,null,\"{\\\"k\\\":[1, 2]}\",null,0,[1,-2]]" },
		{ "[2,5,1,\"\",[1,{}],[\"a\",98],\"\\u20ac\"]",
		  "[2,5,1,\"\",\"[1,{}]\",\"ab\",\"\xE2\x82\xAC\",null]" },
		{ "[2,5,1e1,null,true,\"\xC3\xA9\",8364]",
		  "[2,5,10,null,\"true\",\"\xC3\xA9\",\"\xE2\x82\xAC\",null]" },
		{ "[2,5,{\"raw\":[255]},{\"ordinal\":0},{\"ordinal\":4294967295}]",
		  "[2,5,255,\"t\",null,null,0,null]" },
		{ "[\"wtf.event#define\",1,3,1,0,\"u\",null],[\"u\",2],[3,4]",
		  "[1,1,3,1,0,\"u\",null],[3,2],[3,4]" },
	};
	char text[4000];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct sonde_mapped_file image;
		const char *found;

		snprintf(text, sizeof(text), HAND(DEFINE_T ",%s"), cases[i].edited);
		make_text(text, &image);
		put_bytes(scratch_path("hand"), image.data, image.size);
		sonde_mapped_file_release(&image);
		write_json(scratch_path("hand"), CFF_JSON_EVENTS | CFF_JSON_PARTIAL,
			   scratch_path("json"));
		read_whole(scratch_path("json"), text, sizeof(text));
		found = strstr(text, "\"events\":[" DEFINE_T ",");
		assert_non_null(found);
		found += strlen("\"events\":[" DEFINE_T ",");
		if (strncmp(found, cases[i].written, strlen(cases[i].written)))
			fail_msg("%s became %s", cases[i].edited, found);
		assert_int_equal(found[strlen(cases[i].written)], ']');
	}
}

static void test_by_hand_findings(void **state)
{
	(void)state;
	assert_finds(HAND("[^2,0]"), "cff-json-event-type", SONDE_OK);
	assert_finds(HAND("[^\"none\",0]"), "cff-json-event-type", SONDE_OK);
	assert_finds(HAND("^7"), "cff-json-event", SONDE_OK);
	assert_finds(HAND("[^]"), "cff-json-event", SONDE_OK);
	assert_finds(HAND("[1,^-1]"), "cff-json-event", SONDE_OK);
	assert_finds(HAND("^[1,0,2,0,0,\"t\",\"nothing x\"]"), "cff-json-definition", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,^256]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,^\"x\"]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,^1.5]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,^1e99]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,1,^7]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,1,^[]]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,1,\"\",null,^\"\xE2\x82\xAC\"]"), "cff-json-argument",
		     SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,1,\"\",null,\"\",^\"xy\"]"), "cff-json-argument",
		     SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,1,\"\",null,\"\",1,[0,^40000]]"), "cff-json-argument",
		     SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,{\"raw\":[1,2]^}]"), "cff-json-argument", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,{^\"zz\":1}]"), "cff-json-argument-name", SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,{\"n\":1,^\"zz\":1}]"), "cff-json-argument-name",
		     SONDE_OK);
	assert_finds(HAND(DEFINE_T ",[2,0,1,\"\",null,\"\",1,[],^5]"), "cff-json-argument-name",
		     SONDE_OK);
}

/* A document with everything in it. */
/* Of base64 that the end of the file cuts, what there is of it is read. */
static void test_base64_cut(void **state)
{
	static const char text[] = "{\"chunks\":[{\"id\":1,\"type\":\"event_data\",\"parts\":[{"
				   "\"type\":\"binary_event_buffer\",\"value\": \"AgAAAAUAAAABAA";
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_mapped_file image;

	(void)state;
	assert_int_equal(make_image(cff_make_from_json, text, sizeof(text) - 1, &image, findings),
			 SONDE_OK);
	assert_string_equal(sonde_diagnostics_at(findings, 0)->type->id, "cff-json-broken");
	assert_int_equal(image.size, 12 + 24 + 12 + 12);
	assert_memory_equal(image.data + 12 + 24 + 8, "\x09\0\0\0\2\0\0\0\5\0\0\0\1\0\0", 15);
	sonde_mapped_file_release(&image);
	sonde_diagnostics_free(findings);
}

static const char everything[] =
	"{\"wtfVersion\":1436947200000,\"formatVersion\":10,\"chunks\":[" HEADER_CHUNK
	",{\"id\":2,\"type\":\"event_data\",\"startTime\":1,\"endTime\":2,\"parts\":[{\"type\":"
	"\"string_table\",\"value\":[\"t\",\"\xC3\xA9\\n\",{\"base64\":\"/w==\"}],"
	"\"unterminated\":true},{\"type\":\"json_event_buffer\",\"events\":[" DEFINE_T
	",[2,5,1,\"s\",{\"a\":[1]},\"\xC3\xA9\",8364,[1,-2]],[\"t\",6,{\"n\":3,\"q\":{\"raw\":[1,"
	"65535]}}],{\"raw\":[1,2]}]},{\"type\":\"string_resource\",\"value\":\"r\\\"\"},{\"type\":"
	"\"binary_resource\",\"mode\":\"base64\",\"byteLength\":5,\"value\":\"AAEC+v8=\"}]},"
	"{\"id\":3,\"type\":\"event_data\",\"parts\":[{\"type\":\"binary_event_buffer\",\"value\":"
	"\"AgAAAAUAAAA=\"},{\"type\":\"json_event_buffer\",\"events\":[[2,7,9]]}]}]}";

/* Whatever is cut off is found, and every chunk before it is the same. */
static void test_cut(void **state)
{
	struct sonde_mapped_file whole, part;
	size_t sizes[4] = { 12 };

	(void)state;
	make_text(everything, &whole);
	for (size_t i = 0; i < 3 && whole.data; i++)
		sizes[i + 1] =
			sizes[i] + (whole.data[sizes[i] + 8] | whole.data[sizes[i] + 9] << 8);
	assert_int_equal(sizes[3], whole.size);
	for (size_t size = 1; size < sizeof(everything) - 1; size++) {
		struct sonde_diagnostics *findings = sonde_diagnostics_new();
		enum sonde_status status =
			make_image(cff_make_from_json, everything, size, &part, findings);
		size_t chunks = 0;

		/* half of a version is another version */
		assert_int_equal(status, everything[size] == '0' && everything[size - 2] == ':' ?
						 SONDE_UNSUPPORTED :
						 SONDE_OK);
		assert_true(sonde_diagnostics_count(findings, SONDE_ERROR) > 0);
		while (part.data && whole.data && chunks < 3 && part.size >= sizes[chunks + 1] &&
		       !memcmp(part.data, whole.data, sizes[chunks + 1]))
			chunks++;
		for (size_t i = 0; i < 3; i++) {
			static const char *const ends[] = { "]}]},", "v8=\"}]}", "[2,7,9]]}]}" };
			const char *end = strstr(everything, ends[i]) + strlen(ends[i]);

			if (size >= (size_t)(end - everything) && chunks <= i)
				fail_msg("chunk %zu is missing after %zu bytes", i, size);
		}
		sonde_mapped_file_release(&part);
		sonde_diagnostics_free(findings);
	}
	sonde_mapped_file_release(&whole);
}

/* Whatever is changed: an image that is whole as far as it goes, or a refusal. */
static void test_changed(void **state)
{
	static const char replacements[] = { '"',  '[', ']', '{', '}', ',', ':',
					     '\\', '9', '-', 'e', 't', 0,   -1 };
	char text[sizeof(everything)];

	(void)state;
	for (size_t i = 0; i < (sizeof(everything) - 1) * sizeof(replacements); i++) {
		struct sonde_diagnostics *findings = sonde_diagnostics_new();
		struct sonde_mapped_file image;
		enum sonde_status status;

		memcpy(text, everything, sizeof(text));
		text[i / sizeof(replacements)] = replacements[i % sizeof(replacements)];
		status = make_image(cff_make_from_json, text, sizeof(text) - 1, &image, findings);
		assert_true(status == SONDE_OK || status == SONDE_UNSUPPORTED);
		for (size_t at = 12; at < image.size;) {
			uint32_t length;

			assert_true(image.size - at >= 24);
			memcpy(&length, image.data + at + 8, 4);
			assert_true(length >= 24 && length <= image.size - at && length % 4 == 0);
			at += length;
		}
		sonde_mapped_file_release(&image);
		sonde_diagnostics_free(findings);
	}
}

static void test_hostile(void **state)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_mapped_file image;
	struct sonde_buffer text = { 0 };

	(void)state;
	sonde_buffer_put_text(&text, "{\"chunks\":[{\"type\":\"file_header\",\"parts\":[{\"x\":");
	for (unsigned int i = 0; i < 100000; i++)
		sonde_buffer_put_char(&text, '[');
	assert_int_equal(make_image(cff_make_from_json, text.data, text.size, &image, findings),
			 SONDE_OK);
	assert_true(sonde_diagnostics_count(findings, SONDE_ERROR) > 0);
	sonde_mapped_file_release(&image);
	/* many strings that are all the same, and all asked for */
	sonde_buffer_clear(&text);
	sonde_buffer_put_text(&text, "{\"chunks\":[{\"type\":\"event_data\",\"parts\":[{\"type\":"
				     "\"string_table\",\"value\":[\"t\"");
	for (unsigned int i = 0; i < 50000; i++)
		sonde_buffer_put_text(&text, ",\"x\"");
	sonde_buffer_put_text(&text, "]},{\"type\":\"json_event_buffer\",\"events\":[[1,0,2,0,0,"
				     "\"t\",\"utf8 s\"]");
	for (unsigned int i = 0; i < 50000; i++)
		sonde_buffer_put_text(&text, ",[2,0,\"x\"],[2,0,{\"ordinal\":0}]");
	sonde_buffer_put_text(&text, "]}]}]}");
	assert_int_equal(make_image(cff_make_from_json, text.data, text.size, &image, findings),
			 SONDE_OK);
	assert_true(image.size > 50000 * 24);
	sonde_mapped_file_release(&image);
	sonde_buffer_release(&text);
	sonde_diagnostics_free(findings);
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct cff_image image;
	enum sonde_status opened = SONDE_FORMAT;

	(void)status;
	(void)where;
	if (type == FTW_F && strstr(path, ".wtf-"))
		opened = cff_image_open(&image, path, findings, NULL);
	if (opened == SONDE_OK) {
		cff_image_release(&image);
		assert_round_trips(path);
	}
	sonde_diagnostics_free(findings);
	return 0;
}

/* The files of the existing programs; those that are JSON come out as they went in. */
static void test_corpus(void **state)
{
	static const struct {
		const char *name;
		unsigned int style;
	} files[] = {
		{ "js_all_json.wtf-json", 0 },
		{ "js_all_partial_json.wtf-json", CFF_JSON_PARTIAL },
		{ "upstream_resources.wtf-json", 0 },
	};
	const char *corpus = getenv("SONDE_CORPUS");
	struct sonde_mapped_file before, after;
	char path[512];

	(void)state;
	if (!corpus)
		return;
	snprintf(path, sizeof(path), "%s/cff", corpus);
	assert_int_equal(nftw(path, visit, 16, FTW_PHYS), 0);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		snprintf(path, sizeof(path), "%s/cff/%s", corpus, files[i].name);
		assert_int_equal(write_json(path, files[i].style, scratch_path("json")), 0);
		assert_int_equal(sonde_mapped_file_open(&before, path, NULL), SONDE_OK);
		assert_int_equal(sonde_mapped_file_open(&after, scratch_path("json"), NULL),
				 SONDE_OK);
		assert_same_file(&before, &after, path);
		sonde_mapped_file_release(&before);
		sonde_mapped_file_release(&after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings),     cmocka_unit_test(test_versions),
		cmocka_unit_test(test_findings),      cmocka_unit_test(test_base64_fault),
		cmocka_unit_test(test_headers),	      cmocka_unit_test(test_odd_slots),
		cmocka_unit_test(test_floats),	      cmocka_unit_test(test_broken_events),
		cmocka_unit_test(test_across_chunks), cmocka_unit_test(test_losses),
		cmocka_unit_test(test_by_hand),	      cmocka_unit_test(test_by_hand_findings),
		cmocka_unit_test(test_base64_cut),    cmocka_unit_test(test_cut),
		cmocka_unit_test(test_changed),	      cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
