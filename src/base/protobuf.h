/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format, one field at a time over a bounded cursor; reading only. */
#ifndef SONDE_BASE_PROTOBUF_H
#define SONDE_BASE_PROTOBUF_H

#include <sonde/status.h>

#include "base/bytes.h"

enum sonde_protobuf_type {
	SONDE_PROTOBUF_VARINT = 0,
	SONDE_PROTOBUF_FIXED64 = 1,
	SONDE_PROTOBUF_BYTES = 2,
	SONDE_PROTOBUF_FIXED32 = 5,
};

struct sonde_protobuf_field {
	uint32_t number;
	enum sonde_protobuf_type type;
	uint64_t value;		  /* VARINT, FIXED64, FIXED32 */
	struct sonde_bytes bytes; /* BYTES: a cursor over the content (a text, a message) */
};

/* SONDE_END after the last field; SONDE_TRUNCATED and SONDE_CORRUPT (groups too) for bad ones. */
enum sonde_status sonde_protobuf_next(struct sonde_bytes *bytes, struct sonde_protobuf_field *field,
				      struct sonde_error *err);

#endif
