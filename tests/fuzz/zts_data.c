/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes a whole traces.dat: walked chunk by chunk, looked through again after each fault, every
 * chunk read and decoded. What is found after a fault lies behind it and can be found again.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../zts_tree_same.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_tree_private.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sonde_codec_state codec;
static struct sonde_buffer content;
static struct zts_tree tree;

static void read_chunk(const struct zts_chunks *chunks, const struct zts_chunk *chunk)
{
	struct sonde_error err = { 0 };
	enum sonde_status status;

	sonde_buffer_clear(&content);
	status = zts_chunks_read(chunks, &codec, chunk, &content, &err);
	if (status < 0) {
		REQUIRE(err.message[0] && content.size == 0);
		return;
	}
	REQUIRE(content.size == chunk->size);
	zts_tree_decode(&tree, (const uint8_t *)content.data, content.size, &err);
	REQUIRE(zts_tree_is_sound(&tree));
}

static void walk(const struct zts_chunks *chunks)
{
	uint64_t offset = 16;

	for (;;) {
		struct sonde_error err = { 0 };
		struct zts_chunk chunk, same;
		enum sonde_status status = zts_chunks_at(chunks, offset, &chunk, &err);

		if (status == SONDE_END)
			return;
		if (status < 0) {
			REQUIRE(err.message[0]);
			status = zts_chunks_resync(chunks, &codec, offset + 1, &chunk, &err);
			if (status == SONDE_END)
				return;
			REQUIRE(status == SONDE_OK && chunk.offset > offset);
			REQUIRE(zts_chunks_at(chunks, chunk.offset, &same, &err) == SONDE_OK);
			REQUIRE(same.size == chunk.size);
		}
		REQUIRE(zts_chunk_next(&chunk) <= chunks->file.size);
		read_chunk(chunks, &chunk);
		offset = zts_chunk_next(&chunk);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zts_chunks chunks;
	struct sonde_error err = { 0 };
	char path[64];
	int fd = memfd_create("traces.dat", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	for (size_t done = 0; done < size;) {
		ssize_t written = write(fd, data + done, size - done);

		REQUIRE(written > 0);
		done += (size_t)written;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (zts_chunks_open(&chunks, path, &err) == SONDE_OK) {
		walk(&chunks);
		zts_chunks_release(&chunks);
	} else {
		REQUIRE(err.status == SONDE_FORMAT);
	}
	close(fd);
	return 0;
}
