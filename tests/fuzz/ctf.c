/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target over a trace in the Common Trace Format: the input is its stream, whose metadata is good. libbabeltrace2
 * reads the bytes; what is made of its events is ours.
 */
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "whole_recording.h"

#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * libbabeltrace2 (seen in that of Debian 12) forgets 8 bytes of each error that it gives. It alone calls
 * GLib here, so what GLib allocated is not looked at, and all of ours still is. By the name of the library,
 * which needs no symbolizer.
 */
const char *__lsan_default_suppressions(void); /* NOLINT(bugprone-reserved-identifier) */

const char *__lsan_default_suppressions(void) /* NOLINT(bugprone-reserved-identifier) */
{
	return "leak:libglib-2.0\n";
}

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; }; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time_t;\n"
	"stream { packet.context := struct { uint64_t content_size; uint64_t packet_size; };\n"
	"  event.header := struct { uint8_t id; time_t timestamp; };\n"
	"  event.context := struct { uint8_t vpid; uint8_t vtid; }; };\n"
	"event { name = \"x:func_entry\"; id = 0; fields := struct { uint8_t addr; }; };\n"
	"event { name = \"x:func_exit\"; id = 1; fields := struct { uint8_t addr; }; };\n"
	"event { name = \"syscall_entry_a\"; id = 2; fields := struct { string path; }; };\n"
	"event { name = \"syscall_exit_a\"; id = 3; };\n"
	"event { name = \"lttng_ust_lib:load\"; id = 4;\n"
	"  fields := struct { uint8_t baddr; uint8_t memsz; string path; }; };\n"
	"event { name = \"n\"; id = 5; fields := struct { enum : uint8_t { A, B } e; uint8_t n; uint8_t l[n];\n"
	"  struct { string s; } in; }; };\n";

static char folder[64], stream[80], described[80];

static void remove_folder(void)
{
	remove(stream);
	remove(described);
	rmdir(folder);
}

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	REQUIRE(!size || write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/*
 * libbabeltrace2 asserts, and so aborts, where a size of a packet is beyond what a signed number holds. Its
 * packets are one behind the other, as their sizes (in bits) say.
 */
static bool aborts_library(const uint8_t *data, size_t size)
{
	while (size >= 20) {
		uint64_t content, whole;

		memcpy(&content, data + 4, sizeof(content));
		memcpy(&whole, data + 12, sizeof(whole));
		if (content > INT64_MAX || whole > INT64_MAX)
			return true;
		if (whole < 8 || whole / 8 > size)
			return false;
		data += whole / 8;
		size -= whole / 8;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (aborts_library(data, size))
		return 0;
	if (!sonde_format_info(sonde_format_by_name("ctf"))->lanes_read)
		return 0;
	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "%s/sonde-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		REQUIRE(mkdtemp(folder));
		snprintf(stream, sizeof(stream), "%s/stream", folder);
		snprintf(described, sizeof(described), "%s/metadata", folder);
		write_file(described, metadata, sizeof(metadata) - 1);
		atexit(remove_folder);
	}
	write_file(stream, data, size);
	whole_recording(folder, "ctf");
	return 0;
}
