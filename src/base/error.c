/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills and formats struct sonde_error. Which status fits which fault is decided where the fault
 * is met, not here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sonde/status.h>

enum {
	FILE_SIZE = sizeof(((struct sonde_error *)NULL)->file),
	MESSAGE_SIZE = sizeof(((struct sonde_error *)NULL)->message),
	CAUSE_SIZE = sizeof(((struct sonde_error *)NULL)->cause),
};

const char *sonde_status_text(enum sonde_status status)
{
	switch (status) {
#define X(name, value, text)                                                                       \
	case SONDE_##name:                                                                         \
		return text;
		SONDE_STATUS_LIST(X)
#undef X
	}
	return "unknown status";
}

/* Takes a character that the end of the space cut in two off the end of the text. */
static void drop_cut_character(char *text)
{
	size_t length = strlen(text), start = length;

	while (start && length - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
		start--;
	if (!start || (unsigned char)text[start - 1] < 0xC0)
		return;
	start--;
	if (length - start < ((unsigned char)text[start] < 0xE0 ? 2 :
			      (unsigned char)text[start] < 0xF0 ? 3 :
								  4))
		text[start] = '\0';
}

static void format_into(char *text, size_t size, const char *format, va_list arguments)
{
	int length = vsnprintf(text, size, format, arguments);

	if (length < 0)
		text[0] = '\0';
	else if ((size_t)length >= size)
		drop_cut_character(text);
}

static void copy_start(char *target, size_t size, const char *source)
{
	size_t length = strnlen(source, size);

	if (length < size) {
		memmove(target, source, length + 1);
		return;
	}
	memmove(target, source, size - 1);
	target[size - 1] = '\0';
	drop_cut_character(target);
}

static void copy_end(char *target, size_t size, const char *source)
{
	size_t length = strlen(source);

	if (length >= size) {
		source += length - (size - 1);
		while (((unsigned char)*source & 0xC0) == 0x80)
			source++;
		length = strlen(source);
	}
	memmove(target, source, length + 1);
}

/* The arguments may point into *err, so the text is whole before anything there changes. */
static void fill(struct sonde_error *err, enum sonde_status status, uint64_t offset,
		 const char *format, va_list arguments)
{
	char message[MESSAGE_SIZE];

	format_into(message, sizeof(message), format, arguments);
	err->status = status;
	err->offset = offset;
	err->file[0] = '\0';
	err->cause[0] = '\0';
	copy_start(err->message, MESSAGE_SIZE, message);
}

enum sonde_status sonde_fail(struct sonde_error *err, enum sonde_status status, uint64_t offset,
			     const char *format, ...)
{
	va_list arguments;

	if (!err)
		return status;
	va_start(arguments, format);
	fill(err, status, offset, format, arguments);
	va_end(arguments);
	return status;
}

enum sonde_status sonde_fail_errno(struct sonde_error *err, const char *file, const char *format,
				   ...)
{
	int number = errno;
	enum sonde_status status = number == ENOMEM ? SONDE_NOMEM : SONDE_IO;
	char path[FILE_SIZE] = "";
	char space[128];
	va_list arguments;

	if (!err)
		return status;
	if (file)
		copy_end(path, sizeof(path), file);
	va_start(arguments, format);
	fill(err, status, SONDE_NO_OFFSET, format, arguments);
	va_end(arguments);
	copy_start(err->file, FILE_SIZE, path);
	copy_start(err->cause, CAUSE_SIZE, strerror_r(number, space, sizeof(space)));
	errno = number;
	return status;
}

enum sonde_status sonde_fail_nomem(struct sonde_error *err)
{
	return sonde_fail(err, SONDE_NOMEM, SONDE_NO_OFFSET, "out of memory");
}

enum sonde_status sonde_error_set_file(struct sonde_error *err, const char *file)
{
	if (!err)
		return SONDE_OK;
	if (!err->file[0])
		copy_end(err->file, FILE_SIZE, file);
	return err->status;
}

enum sonde_status sonde_error_because(struct sonde_error *err, const char *format, ...)
{
	char message[MESSAGE_SIZE];
	va_list arguments;

	if (!err)
		return SONDE_OK;
	va_start(arguments, format);
	format_into(message, sizeof(message), format, arguments);
	va_end(arguments);
	copy_start(err->cause, CAUSE_SIZE, err->message);
	copy_start(err->message, MESSAGE_SIZE, message);
	return err->status;
}

int sonde_error_format(const struct sonde_error *err, char *text, size_t size)
{
	const char *message = err->message[0] ? err->message : sonde_status_text(err->status);
	char offset[40] = "";

	if (err->offset != SONDE_NO_OFFSET)
		snprintf(offset, sizeof(offset), "offset %llu: ", (unsigned long long)err->offset);
	return snprintf(text, size, "%s%s%s%s%s%s%s", err->file, err->file[0] ? ": " : "", offset,
			message, err->cause[0] ? " (" : "", err->cause, err->cause[0] ? ")" : "");
}
