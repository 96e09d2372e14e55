/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units written by hand, and what the recorder makes of them as text: one line for each lane,
 * "1+A@10 2+B@12#0 2-B@15 1!A@20" for depth, call, return or exception, function, time and
 * number of the detail. Every lane is checked to be nested, with times that never go back. Scopes
 * have small letters; events of annotations are "2*c@14", and their arguments are among the notes.
 */
#ifndef SONDE_TESTS_CALL_SCRIPT_H
#define SONDE_TESTS_CALL_SCRIPT_H

#include "record/calls.h"

#define SCRIPT_UNITS 2048
#define SCRIPT_LANES 8

/* The thread's stack, with room for the numbers that tests use as addresses: S(100). */
#define STACK_LOW UINT64_C(0x7f0000000000)
#define STACK_HIGH UINT64_C(0x7f0000100000)
#define S(offset) (STACK_LOW + 0x10000 + (offset))

/* Functions A, B, ... of one module: where they start, call their own hook, and return. */
#define FUNCTION(letter) (UINT64_C(0x401000) + ((uint64_t)(letter) - 'A') * 0x100)
#define HOOK(letter) (FUNCTION(letter) + 0x20)
#define EXIT_HOOK(letter) (FUNCTION(letter) + 0xf0)

/* The site of an annotation: a to l, of the kind enum sonde_annotate_kind that comes in that order. */
#define SITE(letter) (UINT64_C(0x500000) + ((uint64_t)(letter) - 'a') * 0x40)

enum script_end { SCRIPT_GOES_ON, SCRIPT_STAYS_OPEN, SCRIPT_IS_LEFT };

struct script {
	struct shared_unit units[SCRIPT_UNITS];
	size_t count;
	struct calls_options options;
	bool stack_unknown;
	enum script_end end;
	const struct open_call *reopen;
	size_t reopen_count;
};

struct script_result {
	char lanes[SCRIPT_LANES][4096];
	size_t lane_count;
	uint64_t lane_low[SCRIPT_LANES], lane_high[SCRIPT_LANES];
	char notes[4096];
	char zones[SCRIPT_LANES][32];
	uint32_t resources;
	struct calls_counts counts;
	uint64_t unknown_functions; /* met by the load map */
};

/* Adds a unit; `function` is a letter, or a number for units that take one. */
void script_add(struct script *script, enum unit_kind kind, uint64_t time, uint64_t stack,
		uint64_t place, uint64_t function);

/* Adds a detail to the last unit, with bytes of stack or text. */
void script_add_detail(struct script *script, const void *bytes, size_t size);

/* Adds the arguments of an annotation to the last unit; or pieces of them, and where they are. */
void script_add_arguments(struct script *script, const void *bytes, size_t size);
void script_add_piece(struct script *script, uint64_t number, uint64_t before, const void *bytes,
		      size_t size);
void script_add_pieces(struct script *script, uint64_t number, uint64_t size);

/* The units that compiler hooks of a function write; with the place of another one: inlined. */
void script_call(struct script *script, uint64_t time, uint64_t stack, char letter);
void script_call_inlined(struct script *script, uint64_t time, uint64_t stack, char letter,
			 uint64_t place);
void script_return(struct script *script, uint64_t time, uint64_t stack, char letter);

/*
 * Converts all units at once, and again one record at a time, which must come to the same.
 */
void script_run(const struct script *script, struct script_result *result);

/* The status of a conversion that need not succeed; lanes are checked as far as it goes. */
enum sonde_status script_try(const struct script *script, struct script_result *result);

#endif
