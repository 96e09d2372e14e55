/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ as a person writes them. The work is that of the C++ run-time library, whose
 * function is declared here by hand: its header is one of C++.
 */
#include <string.h>

#include "symbols/symbols.h"

/* After the Itanium C++ ABI, section 3.4: status is 0 where it went well. */
char *__cxa_demangle(const char *mangled_name, char *output_buffer, size_t *length, int *status);

/* Longer names than this are not written by compilers, and take long to take apart. */
enum { NAME_MAX_LENGTH = 65536 };

char *sonde_demangle(const char *raw_name)
{
	int status = 0;

	/* Without this prefix the function would take the name for a type: "i" for int. */
	if (strncmp(raw_name, "_Z", 2) != 0)
		return NULL;
	if (strnlen(raw_name, NAME_MAX_LENGTH) == NAME_MAX_LENGTH)
		return NULL;
	return __cxa_demangle(raw_name, NULL, NULL, &status);
}
