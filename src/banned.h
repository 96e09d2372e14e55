/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that invite mistakes do not compile here. The build includes this file before every
 * source of the library and of the command; the system headers come first, so that their own
 * declarations are left alone.
 */
#if !defined(SONDE_BANNED_H) && !defined(__ASSEMBLER__)
#define SONDE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SONDE_BANNED(function) sorry_##function##_is_a_banned_function

/* No bounds. */
#undef strcpy
#define strcpy(x, y) SONDE_BANNED(strcpy)
#undef stpcpy
#define stpcpy(x, y) SONDE_BANNED(stpcpy)
#undef strcat
#define strcat(x, y) SONDE_BANNED(strcat)
#undef sprintf
#define sprintf(...) SONDE_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) SONDE_BANNED(vsprintf)
#undef gets
#define gets(x) SONDE_BANNED(gets)

/* Bounds that leave a string without its end, or cut it in silence. */
#undef strncpy
#define strncpy(x, y, n) SONDE_BANNED(strncpy)
#undef stpncpy
#define stpncpy(x, y, n) SONDE_BANNED(stpncpy)
#undef strncat
#define strncat(x, y, n) SONDE_BANNED(strncat)

/* No way to see an error. */
#undef atoi
#define atoi(x) SONDE_BANNED(atoi)
#undef atol
#define atol(x) SONDE_BANNED(atol)
#undef atoll
#define atoll(x) SONDE_BANNED(atoll)
#undef atof
#define atof(x) SONDE_BANNED(atof)

/* Hidden state shared by all threads. */
#undef strtok
#define strtok(x, y) SONDE_BANNED(strtok)
#undef gmtime
#define gmtime(t) SONDE_BANNED(gmtime)
#undef localtime
#define localtime(t) SONDE_BANNED(localtime)
#undef ctime
#define ctime(t) SONDE_BANNED(ctime)
#undef asctime
#define asctime(t) SONDE_BANNED(asctime)
#undef rand
#define rand() SONDE_BANNED(rand)

/* Names that another process can take first. */
#undef tmpnam
#define tmpnam(x) SONDE_BANNED(tmpnam)
#undef mktemp
#define mktemp(x) SONDE_BANNED(mktemp)

#endif
