/* SPDX-License-Identifier: Apache-2.0 */
/* What the detail of an exception says: its type, message and stack, by the names of its arguments. */
#ifndef SONDE_ANALYSE_ERROR_TEXTS_H
#define SONDE_ANALYSE_ERROR_TEXTS_H

#include <sonde/event.h>

/* Never NULL; "" where it is not known. Cut at the limits of errors.h, and UTF-8. Borrowed until the next. */
struct error_description {
	const char *type, *message, *stack;
};

struct error_texts;

/* Signatures are read once, as they are met. Not safe from several threads. */
struct error_texts *error_texts_new(const struct sonde_definitions *definitions);
void error_texts_free(struct error_texts *texts);

/* Of no detail (NULL) and of one that cannot be understood nothing is known. */
void error_texts_read(struct error_texts *texts, const struct sonde_detail *detail,
		      struct error_description *description);

#endif
