/* SPDX-License-Identifier: Apache-2.0 */
/* What comes with an event and is not arguments, as JSON: registers, stack, bytes. */
#ifndef SONDE_MODEL_DETAIL_JSON_H
#define SONDE_MODEL_DETAIL_JSON_H

#include <sonde/event.h>

#include "base/json.h"

/* {"type": ..., "flags": ..., "time_ns": ..., "registers": {...}, "stack": "...", "bytes": "..."} */
void sonde_detail_put_json(struct sonde_json_writer *json, const struct sonde_detail *detail);

/* Whether the registers of a detail have names; without, there is nothing to call them. */
static inline bool sonde_detail_has_registers(const struct sonde_detail *detail)
{
	return detail->kind == SONDE_DETAIL_REGISTERS &&
	       sonde_register_name(detail->registers.arch, 0);
}

/* Bytes as hexadecimal digits without gaps. */
void sonde_put_hex_bytes(struct sonde_buffer *out, const uint8_t *bytes, size_t size);

#endif
