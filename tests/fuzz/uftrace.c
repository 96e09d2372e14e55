/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target over a folder of uftrace. The input is a list of files, each a byte that says which, two bytes with
 * its length, and what is in it; those that are not in the list are sound.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	const char *name;
	const void *bytes;
	size_t size;
};

#define TEXT(text) (text), sizeof(text) - 1

static const struct file sound[] = {
	{ "info",
	  TEXT("Ftrace!\0\4\0\0\0\50\0\1\2\x7b\7\0\0\0\0\0\0\xff\x3f\0\0\0\0\0\0\0\4\0\0\0\0\0\0"
	       "cmdline:uftrace record ./t\nargspec:f@arg1/s,arg2/d32\n"
	       "retspec:f@retval/f64;g.*@retval\nargauto:malloc@arg1/u\n") },
	{ "task.txt", TEXT("SESS timestamp=1.5 pid=1 sid=ab exename=\"/bin/t\"\n"
			   "TASK timestamp=1.5 tid=1 pid=1\nFORK timestamp=2.0 pid=2 ppid=1\n") },
	{ "sid-ab.map", TEXT("1000-9000 r-xp 00000000 00:00 0   /bin/t build-id:77\n") },
	{ "t.sym",
	  TEXT("# path name: /bin/t\n# build-id: 77\n0000000000000010 T f\n"
	       "0000000000000100 P malloc\n0000000000000200 T g\n0000000000000300 ? end\n") },
	{ "t.dbg", TEXT("F: 200 g\nL: 7 t.c\nA: @arg1/p%rdi\n") },
	{ "1.dat", TEXT("\0\x2f\x68\x59\0\0\0\0\x2c\0\x10\x10\0\0\0\0\2\0hi\5\0\0\0"
			"\1\x2f\x68\x59\0\0\0\0\x2d\0\x10\x10\0\0\0\0\0\0\0\0\0\0\xf0\x3f") },
	{ "2.dat", TEXT("\0\x2f\x68\x79\0\0\0\0\x69\0\0\x11\0\0\0\0") },
	{ "perf-cpu0.dat", TEXT("\3\0\0\0\0\0\x28\0\1\0\0\0\1\0\0\0t\0\0\0\0\0\0\0"
				"\1\0\0\0\1\0\0\0\0\x2f\x68\x59\0\0\0\0") },
};

#define FILES (sizeof(sound) / sizeof(sound[0]))

static char folder[64];

static void remove_folder(void)
{
	char path[128];

	for (size_t i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, sound[i].name);
		unlink(path);
	}
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "%s/sonde-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	REQUIRE(mkdtemp(folder));
	REQUIRE(!atexit(remove_folder));
}

static void write_file(const char *name, const void *bytes, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wbe");
	REQUIRE(file && fwrite(bytes, 1, size, file) == size && !fclose(file));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_folder();
	for (size_t i = 0; i < FILES; i++)
		write_file(sound[i].name, sound[i].bytes, sound[i].size);
	while (size >= 3) {
		size_t length = (size_t)data[1] | (size_t)data[2] << 8;
		const char *name = sound[data[0] % FILES].name;

		data += 3;
		size -= 3;
		if (length > size)
			length = size;
		write_file(name, data, length);
		data += length;
		size -= length;
	}
	whole_recording(folder, "uftrace");
	return 0;
}
