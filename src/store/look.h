/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a trace fulfils a condition, by looking at it: at its slot, or at all its records. Always
 * right, and slow; find.h asks it only where indexes cannot tell.
 */
#ifndef SONDE_STORE_LOOK_H
#define SONDE_STORE_LOOK_H

#include "store/query.h"
#include "store/trace.h"

/* Of one part; zeroed but for the first two. One thread. */
struct sonde_look {
	struct zts_part *part;
	bool shallow; /* only the first record of a trace counts */
	struct zts_loaded loaded;
	struct sonde_buffer space, name;
	uint64_t unreadable; /* traces that could not be decoded: they fulfil nothing */
};
void sonde_look_release(struct sonde_look *look);

/* SONDE_NOMEM where memory failed on the way to an answer, which is not to be believed then. */
enum sonde_status sonde_look_failed(struct sonde_look *look, struct sonde_error *err);

/* One condition (SONDE_QUERY_TEST). */
enum sonde_status sonde_look_test(struct sonde_look *look, const struct sonde_query_node *test,
				  uint32_t slot, bool *matches, struct sonde_error *err);
/* Start and duration exactly, from the trace where the slot does not have them. */
enum sonde_status sonde_look_times(struct sonde_look *look, uint32_t slot, uint64_t *start_ns,
				   uint64_t *duration_ns, struct sonde_error *err);

/* Attributes that well-known fields stand for, ended by NULL; and the number in the slot. */
const char *const *sonde_field_attributes(enum sonde_query_field field);
uint32_t sonde_field_of_slot(enum sonde_query_field field, const struct zts_slot *slot);

/*
 * Whether a method (text id) has such a name: class.method, the method's alone, or exactly as it is
 * shown.
 */
bool sonde_method_matches(struct zts_texts *texts, const struct sonde_query_node *test, uint32_t id,
			  struct sonde_buffer *space);

/* The class or message of an exception (text id): `java.io.IOException` is also IOException. */
bool sonde_exception_text_matches(struct zts_texts *texts, const struct sonde_query_node *test,
				  uint32_t id);

/* Whether a name in a slot (of a field that slots have) is like that. */
bool sonde_slot_name_matches(const struct zts_part *part, const struct sonde_query_node *test,
			     uint32_t name);

/* Answers that slots give: -1 they cannot tell, else 0 or 1. */
int sonde_slot_matches(const struct zts_part *part, const struct sonde_query_node *test,
		       uint32_t slot);

#endif
