/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a mapped file, or what gzip makes of it. */
#include "codec/packed_file.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)1 << 20)

enum sonde_status sonde_packed_file_open(struct sonde_packed_file *packed, const char *path,
					 struct sonde_error *err)
{
	enum sonde_status status;

	*packed = (struct sonde_packed_file){ 0 };
	status = sonde_mapped_file_open(&packed->file, path, err);
	if (status || !sonde_gzip_is(packed->file.data, packed->file.size))
		return status;
	packed->room = malloc(PIECE);
	if (!packed->room)
		status = sonde_fail_nomem(err);
	else
		status = sonde_gzip_reader_new(packed->file.data, packed->file.size, &packed->gzip,
					       err);
	if (status)
		sonde_packed_file_release(packed);
	return status;
}

void sonde_packed_file_release(struct sonde_packed_file *packed)
{
	sonde_gzip_reader_free(packed->gzip);
	sonde_mapped_file_release(&packed->file);
	free(packed->room);
	*packed = (struct sonde_packed_file){ 0 };
}

static enum sonde_status unpack(struct sonde_packed_file *packed, const uint8_t **data,
				size_t *size, struct sonde_error *err)
{
	size_t before = packed->position;

	if (!packed->failed)
		packed->failed = sonde_gzip_reader_next(packed->gzip, packed->room, PIECE, size,
							&packed->error);
	packed->position = sonde_gzip_reader_position(packed->gzip);
	sonde_mapped_file_pass(&packed->file, before, packed->position);
	*data = packed->room;
	if (*size || !packed->failed)
		return SONDE_OK;
	if (err)
		*err = packed->error;
	return packed->failed;
}

enum sonde_status sonde_packed_file_next(struct sonde_packed_file *packed, const uint8_t **data,
					 size_t *size, struct sonde_error *err)
{
	*size = 0;
	if (packed->gzip)
		return unpack(packed, data, size, err);
	*size = packed->file.size - packed->position;
	if (*size > PIECE)
		*size = PIECE;
	/* an empty file is not mapped */
	*data = *size ? packed->file.data + packed->position : NULL;
	/* the piece before this one is not looked at any more */
	if (packed->position >= PIECE)
		sonde_mapped_file_pass(&packed->file, packed->position - PIECE, packed->position);
	packed->position += *size;
	return SONDE_OK;
}

uint64_t sonde_packed_file_position(const struct sonde_packed_file *packed)
{
	return packed->position;
}

size_t sonde_packed_file_peek(const char *path, void *out, size_t room)
{
	struct sonde_mapped_file file;
	struct sonde_gzip_reader *gzip = NULL;
	size_t size = 0;

	if (sonde_path_kind(path) != SONDE_PATH_FILE || sonde_mapped_file_open(&file, path, NULL))
		return 0;
	if (!sonde_gzip_is(file.data, file.size)) {
		size = file.size < room ? file.size : room;
		if (size)
			memcpy(out, file.data, size);
	} else if (!sonde_gzip_reader_new(file.data, file.size, &gzip, NULL)) {
		sonde_gzip_reader_next(gzip, out, room, &size, NULL);
	}
	sonde_gzip_reader_free(gzip);
	sonde_mapped_file_release(&file);
	return size;
}
