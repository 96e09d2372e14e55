/* SPDX-License-Identifier: Apache-2.0 */
/* Details as JSON. */
#include "model/detail_json.h"

void sonde_put_hex_bytes(struct sonde_buffer *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char *place = sonde_buffer_reserve(out, 2 * size);

	if (!place)
		return;
	for (size_t i = 0; i < size; i++) {
		*place++ = digits[bytes[i] >> 4];
		*place++ = digits[bytes[i] & 15];
	}
	out->size += 2 * size;
}

static void put_bytes(struct sonde_json_writer *json, const char *key, const uint8_t *bytes,
		      size_t size)
{
	sonde_json_key(json, key);
	/* Digits need no escapes: put between the quotes of an empty raw value. */
	sonde_json_raw(json, "\"");
	sonde_put_hex_bytes(json->out, bytes, size);
	sonde_buffer_put_char(json->out, '"');
}

static void put_registers(struct sonde_json_writer *json, const struct sonde_registers *registers)
{
	sonde_json_member_string(json, "arch", sonde_arch_name(registers->arch));
	sonde_json_member_u64(json, "register_flags", registers->flags);
	sonde_json_key(json, "registers");
	sonde_json_object_begin(json);
	for (unsigned int i = 0; i < SONDE_REGISTER_COUNT; i++) {
		sonde_json_key(json, sonde_register_name(registers->arch, i));
		sonde_json_hex(json, registers->values[i], 16);
	}
	sonde_json_object_end(json);
}

void sonde_detail_put_json(struct sonde_json_writer *json, const struct sonde_detail *detail)
{
	sonde_json_object_begin(json);
	sonde_json_member_u64(json, "type", detail->type);
	sonde_json_member_u64(json, "flags", detail->flags);
	sonde_json_member_u64(json, "time_ns", detail->time_ns);
	if (sonde_detail_has_registers(detail))
		put_registers(json, &detail->registers);
	if (detail->kind == SONDE_DETAIL_REGISTERS)
		put_bytes(json, "stack", detail->stack, detail->stack_size);
	if (detail->size)
		put_bytes(json, "bytes", detail->bytes, detail->size);
	sonde_json_object_end(json);
}
