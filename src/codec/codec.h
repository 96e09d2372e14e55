/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression behind one interface: blocks of known size as trace files hold them, and bodies of
 * unknown size as HTTP brings them. Which library does the work is known in this folder only.
 */
#ifndef SONDE_CODEC_CODEC_H
#define SONDE_CODEC_CODEC_H

#include <sonde/status.h>

#include "base/buffer.h"

enum sonde_codec {
	SONDE_CODEC_NONE,
	SONDE_CODEC_DEFLATE, /* raw: no zlib or gzip header */
	SONDE_CODEC_LZ4,     /* a bare block */
	SONDE_CODEC_ZSTD,    /* a frame */
};

/* Working memory of the libraries, made when first needed. One thread at a time. Zeroed is new. */
struct sonde_codec_state {
	void *deflate;
	void *inflate;
	void *lz4;
	void *zstd;
	struct sonde_buffer scratch;
};

void sonde_codec_state_release(struct sonde_codec_state *state);

/* Appends the compressed bytes to `out`. Fast levels: the file is written while data comes in. */
enum sonde_status sonde_codec_compress(struct sonde_codec_state *state, enum sonde_codec codec,
				       const void *data, size_t size, struct sonde_buffer *out,
				       struct sonde_error *err);

/*
 * Exactly `out_size` bytes into `out`, from all of the input; anything else is SONDE_CORRUPT. Raw
 * deflate may end without a final block, at a flush point, as existing trace stores have it.
 */
enum sonde_status sonde_codec_decompress(struct sonde_codec_state *state, enum sonde_codec codec,
					 const void *data, size_t size, void *out, size_t out_size,
					 struct sonde_error *err);

/* What a body says it is packed with. */
enum sonde_packing {
	SONDE_PACKING_GZIP,
	SONDE_PACKING_ZLIB,	 /* "deflate" of HTTP; a raw stream is understood too */
	SONDE_PACKING_LZ4_FRAME, /* with the LZ4 frame header */
	SONDE_PACKING_LZ4_BLOCK, /* a bare block of unknown size */
};

/*
 * Unpacks a whole body into `out`. SONDE_LIMIT as soon as more than `limit` bytes would come out:
 * no more than that is ever allocated. SONDE_CORRUPT or SONDE_TRUNCATED for bad ones.
 */
enum sonde_status sonde_unpack(enum sonde_packing packing, const void *data, size_t size,
			       size_t limit, struct sonde_buffer *out, struct sonde_error *err);

#endif
