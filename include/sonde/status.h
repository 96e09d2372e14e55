/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the error struct that every fallible call fills. The library never prints,
 * exits or aborts: it returns a status, and says the rest in a struct that the caller owns.
 */
#ifndef SONDE_STATUS_H
#define SONDE_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_STATUS_LIST(X)                                                                       \
	X(OK, 0, "ok")                                                                             \
	X(END, 1, "end of data")                                                                   \
	X(NOMEM, -1, "out of memory")                                                              \
	X(IO, -2, "input or output failed")                                                        \
	X(FORMAT, -3, "not in a known format")                                                     \
	X(CORRUPT, -4, "damaged data")                                                             \
	X(TRUNCATED, -5, "data ends too early")                                                    \
	X(UNSUPPORTED, -6, "not supported")                                                        \
	X(LIMIT, -7, "a limit was reached")                                                        \
	X(ARGUMENT, -8, "wrong argument")                                                          \
	X(CANCELLED, -9, "cancelled")

/* Negative values are failures; SONDE_END is the ordinary end of a cursor. */
enum sonde_status {
#define X(name, value, text) SONDE_##name = (value),
	SONDE_STATUS_LIST(X)
#undef X
};

/* An error that belongs to no place in a file. */
#define SONDE_NO_OFFSET UINT64_MAX

/* Why a call failed. Owned by the caller; needs no release. */
struct sonde_error {
	enum sonde_status status;
	uint64_t offset;   /* byte offset in `file`, or SONDE_NO_OFFSET */
	char file[512];	   /* file concerned, or "" ; a longer path keeps its end */
	char message[512]; /* what was expected, what was found, what to do */
	char cause[256];   /* the message of the error underneath, or "" */
};

/* The text of a status ("damaged data"); never NULL. */
const char *sonde_status_text(enum sonde_status status);

/*
 * Fills *err (NULL is allowed) and returns `status`, so that a failure is one statement:
 *	return sonde_fail(err, SONDE_CORRUPT, offset, "...", ...);
 */
enum sonde_status sonde_fail(struct sonde_error *err, enum sonde_status status, uint64_t offset,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Like sonde_fail() with SONDE_IO (SONDE_NOMEM for ENOMEM), the cause taken from errno. */
enum sonde_status sonde_fail_errno(struct sonde_error *err, const char *file, const char *format,
				   ...) __attribute__((format(printf, 3, 4)));

/* Shorthand for a failed allocation. */
enum sonde_status sonde_fail_nomem(struct sonde_error *err);

/* Names the file of an error that has none yet. Returns err->status (SONDE_OK for NULL). */
enum sonde_status sonde_error_set_file(struct sonde_error *err, const char *file);

/* Puts a new message over the present one, which becomes the cause. Returns err->status. */
enum sonde_status sonde_error_because(struct sonde_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes "file: offset N: message (cause)" with what is known; returns snprintf's result. */
int sonde_error_format(const struct sonde_error *err, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
