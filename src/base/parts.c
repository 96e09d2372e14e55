/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an output in their order; what comes too early waits in a file. */
#include "base/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

#define COPY_SIZE ((size_t)256 * 1024)

/* A run of bytes in the waiting file. */
struct extent {
	uint64_t offset, size;
};

struct part {
	SONDE_VEC(struct extent) waiting;
	uint64_t offset; /* in the output, once it is the current one */
	bool ended;
};

struct sonde_parts {
	pthread_mutex_t lock; /* of all below but what waits, which is written outside of it */
	struct sonde_output *output;
	struct sonde_output waiting; /* opened when first needed */
	uint64_t waiting_size;
	uint8_t *copy; /* COPY_SIZE; made when first needed */
	struct part *parts;
	size_t count;
	size_t current; /* all before it are in the output */
};

enum sonde_status sonde_parts_new(struct sonde_output *output, size_t count,
				  struct sonde_parts **parts, struct sonde_error *err)
{
	struct sonde_parts *made = calloc(1, sizeof(*made));

	*parts = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->parts = calloc(count + 1, sizeof(*made->parts));
	if (!made->parts || pthread_mutex_init(&made->lock, NULL)) {
		free(made->parts);
		free(made);
		return sonde_fail_nomem(err);
	}
	made->output = output;
	made->waiting.fd = -1;
	made->count = count;
	made->parts[0].offset = output->written;
	*parts = made;
	return SONDE_OK;
}

void sonde_parts_free(struct sonde_parts *parts)
{
	if (!parts)
		return;
	for (size_t i = 0; i < parts->count; i++)
		sonde_vec_release(&parts->parts[i].waiting);
	sonde_output_release(&parts->waiting);
	pthread_mutex_destroy(&parts->lock);
	free(parts->copy);
	free(parts->parts);
	free(parts);
}

static enum sonde_status copy_extent(struct sonde_parts *parts, struct extent extent,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status && extent.size) {
		size_t wanted = extent.size < COPY_SIZE ? (size_t)extent.size : COPY_SIZE;
		ssize_t got = pread(parts->waiting.fd, parts->copy, wanted, (off_t)extent.offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return sonde_fail_errno(err, parts->waiting.path,
						"what waited there cannot be read again");
		status = sonde_output_write(parts->output, parts->copy, (size_t)got, err);
		extent.offset += (uint64_t)got;
		extent.size -= (uint64_t)got;
	}
	return status;
}

/* What waits of the current part goes to the output. */
static enum sonde_status take_waiting(struct sonde_parts *parts, struct sonde_error *err)
{
	struct part *part = &parts->parts[parts->current];
	enum sonde_status status = SONDE_OK;

	if (part->waiting.count && !parts->copy) {
		parts->copy = malloc(COPY_SIZE);
		if (!parts->copy)
			return sonde_fail_nomem(err);
	}
	for (size_t i = 0; !status && i < part->waiting.count; i++)
		status = copy_extent(parts, part->waiting.items[i], err);
	sonde_vec_release(&part->waiting);
	return status;
}

/* Finds room for bytes of a part in the waiting file, next to its last ones where that can be. */
static enum sonde_status reserve(struct sonde_parts *parts, struct part *part, size_t size,
				 uint64_t *offset, struct sonde_error *err)
{
	struct extent *last = part->waiting.count ? &part->waiting.items[part->waiting.count - 1] :
						    NULL;
	enum sonde_status status;

	if (parts->waiting.fd < 0) {
		status = sonde_output_open_unnamed(&parts->waiting, err);
		if (status)
			return status;
	}
	*offset = parts->waiting_size;
	if (last && last->offset + last->size == *offset) {
		last->size += size;
	} else {
		last = sonde_vec_push(&part->waiting);
		if (!last)
			return sonde_fail_nomem(err);
		*last = (struct extent){ .offset = *offset, .size = size };
	}
	parts->waiting_size += size;
	return SONDE_OK;
}

static enum sonde_status write_waiting(struct sonde_parts *parts, uint64_t offset, const void *data,
				       size_t size, struct sonde_error *err)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t put = pwrite(parts->waiting.fd, bytes, size, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return sonde_fail_errno(err, parts->waiting.path,
						"cannot be written; make room there, or set "
						"TMPDIR to a folder with more");
		bytes += put;
		offset += (uint64_t)put;
		size -= (size_t)put;
	}
	return SONDE_OK;
}

enum sonde_status sonde_parts_write(struct sonde_parts *parts, size_t number, const void *data,
				    size_t size, struct sonde_error *err)
{
	enum sonde_status status;
	uint64_t offset = 0;
	bool waits;

	if (!size)
		return SONDE_OK;
	pthread_mutex_lock(&parts->lock);
	waits = number != parts->current;
	if (waits) {
		status = reserve(parts, &parts->parts[number], size, &offset, err);
	} else {
		status = take_waiting(parts, err);
		if (!status)
			status = sonde_output_write(parts->output, data, size, err);
	}
	pthread_mutex_unlock(&parts->lock);
	if (!status && waits)
		status = write_waiting(parts, offset, data, size, err);
	return status;
}

enum sonde_status sonde_parts_end(struct sonde_parts *parts, size_t number, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&parts->lock);
	parts->parts[number].ended = true;
	while (!status && parts->current < parts->count && parts->parts[parts->current].ended) {
		status = take_waiting(parts, err);
		parts->parts[++parts->current].offset = parts->output->written;
	}
	pthread_mutex_unlock(&parts->lock);
	return status;
}

uint64_t sonde_parts_offset(const struct sonde_parts *parts, size_t number)
{
	return parts->parts[number].offset;
}
