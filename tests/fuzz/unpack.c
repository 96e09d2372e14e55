/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes packed bodies and blocks. The first byte says how it is packed; no more memory is taken
 * than the limit allows, and a body that can be unpacked at its own size gives the same again.
 */
#include <string.h>

#include "codec/codec.h"
#include "require.h"

#define LIMIT 50000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(enum sonde_packing packing, const uint8_t *data, size_t size)
{
	struct sonde_buffer out = { 0 }, again = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_unpack(packing, data, size, LIMIT, &out, &err);

	REQUIRE(out.capacity <= LIMIT && out.size <= LIMIT);
	if (status < 0) {
		REQUIRE(err.message[0] && !out.size);
	} else {
		REQUIRE(sonde_unpack(packing, data, size, out.size, &again, &err) == SONDE_OK);
		REQUIRE(again.size == out.size);
		REQUIRE(!out.size || !memcmp(again.data, out.data, out.size));
		if (out.size)
			REQUIRE(sonde_unpack(packing, data, size, out.size - 1, &again, &err) ==
				SONDE_LIMIT);
	}
	sonde_buffer_release(&out);
	sonde_buffer_release(&again);
}

/* The size to come out is the next byte. */
static void decompress(enum sonde_codec codec, const uint8_t *data, size_t size)
{
	static struct sonde_codec_state state;
	struct sonde_error err = { 0 };
	uint8_t *out;

	if (!size)
		return;
	out = malloc(data[0] ? data[0] : 1);
	REQUIRE(out);
	if (sonde_codec_decompress(&state, codec, data + 1, size - 1, out, data[0], &err) < 0)
		REQUIRE(err.message[0]);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 6) {
	case 4:
		decompress(SONDE_CODEC_DEFLATE, data + 1, size - 1);
		break;
	case 5:
		decompress(SONDE_CODEC_LZ4, data + 1, size - 1);
		break;
	default:
		unpack((enum sonde_packing)(data[0] % 6), data + 1, size - 1);
		break;
	}
	return 0;
}
