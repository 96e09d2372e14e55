/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What contexts are made of: functions, loops, lines, entries, without regard to where they are called
 * from. They are put in the order of their content, and so are the definitions behind them: numbers here are
 * the same for the same measurements, whoever read them in which order.
 */
#ifndef SONDE_ANALYSE_PROF_ELEMENTS_H
#define SONDE_ANALYSE_PROF_ELEMENTS_H

#include "analyse/prof_structs.h"

/* Zeroed means empty. Numbers are of `items`, unless it says otherwise. */
struct prof_elements {
	struct sonde_definitions *definitions;
	struct sonde_context *items; /* without parent and end */
	uint32_t count;
	uint32_t unknown_entry, main_thread, application_thread, unknown_function;
	uint64_t *placeholders; /* ips that are functions, ascending */
	uint32_t *placeholder_elements;
	size_t placeholder_count;
	uint32_t *functions; /* by number of PROF_FUNCTIONS */
	uint32_t *nodes;     /* by node of prof_names, all modules in one row */
	size_t *node_starts; /* by module */
};

/* `modules` are sorted; places are those of all modules. */
enum sonde_status prof_elements_make(struct prof_elements *elements, const struct prof_union *all,
				     const struct prof_names *names, const char *const *modules,
				     size_t module_count, struct sonde_error *err);
void prof_elements_release(struct prof_elements *elements);

/* The element of such a placeholder. */
uint32_t prof_placeholder_element(const struct prof_elements *elements, uint64_t placeholder);

/*
 * Instructions are elements too, after all others, and not in `items`: two for each place, the first
 * within a piece of source, the second called by itself.
 */
static inline uint32_t prof_instruction(const struct prof_elements *elements, uint32_t place,
					bool called)
{
	return elements->count + 2 * place + called;
}

/* What an element is, be it an instruction or not. */
struct sonde_context prof_element(const struct prof_elements *elements,
				  const struct prof_places *places, uint32_t number);

#endif
