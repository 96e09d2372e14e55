/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the tree of contexts share: small recordings, and a look at paths and functions by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "cct_fixture.h"

struct cct *cct_of(struct sonde_recording *recording, const struct sonde_selection_spec *spec)
{
	struct cct_options options = { .selection = spec, .spread = true, .no_cache = true };
	struct sonde_error err = { 0 };
	struct cct *cct = NULL;

	if (cct_build(recording, &options, &cct, &err))
		fail_msg("%s", err.message);
	return cct;
}

void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%.12g instead of %.12g", value, expected);
}

/* One process with functions a, b, c, d and one track. */
struct sonde_recording *cct_one_track(void)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct sonde_recording *recording = memory_recording_new(5);
	uint32_t process = memory_add_process(recording, "p");

	for (size_t i = 0; i < 4; i++)
		memory_add_function(recording, process, names[i]);
	memory_add_track(recording, process, "t");
	return recording;
}

void cct_put_events(struct sonde_recording *recording, uint32_t track,
		    const struct sonde_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		memory_add_event(recording, track, events[i]);
}

/* The context of a path of letters below the entry, such as "ab". */
uint32_t cct_path(const struct cct *cct, const char *path)
{
	char text[64];

	for (uint32_t i = 0; i < cct->context_count; i++) {
		size_t place = sizeof(text) - 1;
		uint32_t k = i;

		text[place] = '\0';
		for (; cct->contexts[k].kind == SONDE_CONTEXT_FUNCTION && place;
		     k = cct->contexts[k].parent)
			text[--place] = sonde_definitions_string(
				cct->definitions,
				sonde_definitions_function(cct->definitions,
							   cct->contexts[k].function)
					->name)[0];
		if (cct->contexts[k].kind == SONDE_CONTEXT_ENTRY && !strcmp(text + place, path))
			return i;
	}
	fail_msg("there is no path %s", path);
	return SONDE_NONE;
}

uint32_t cct_function(const struct cct *cct, const char *name)
{
	uint32_t count = sonde_definitions_function_count(cct->definitions);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t text = sonde_definitions_function(cct->definitions, i)->name;

		if (!strcmp(sonde_definitions_string(cct->definitions, text), name))
			return i;
	}
	return SONDE_NONE;
}

/* self and total in ns, calls, and whether it is recursion */
void cct_check(const struct cct *cct, const char *path, double self, double total, uint64_t calls,
	       bool recursive)
{
	uint32_t context = cct_path(cct, path);

	assert_near(cct->metrics[0].self[context] * 1e9, self);
	assert_near(cct->metrics[0].total[context] * 1e9, total);
	assert_near(cct->metrics[1].self[context], (double)calls);
	assert_int_equal(cct->calls[context].count, calls);
	assert_int_equal(cct->recursive[context], recursive);
}
