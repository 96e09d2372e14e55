/* SPDX-License-Identifier: Apache-2.0 */
/* The words for what the model numbers: kinds of events, registers, processors, systems, clocks. */
#include <string.h>

#include <sonde/event.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kind_names[SONDE_EVENT_KIND_COUNT] = {
#define X(name, value, text) [value] = (text),
	SONDE_EVENT_KIND_LIST(X)
#undef X
};

const char *sonde_event_kind_name(unsigned int kind)
{
	return kind_names[kind < SONDE_EVENT_KIND_COUNT ? kind : SONDE_EVENT_OTHER];
}

enum sonde_event_kind sonde_event_kind_from_name(const char *name)
{
	unsigned int kind = 0;

	while (kind < SONDE_EVENT_KIND_COUNT && strcmp(kind_names[kind], name))
		kind++;
	return (enum sonde_event_kind)kind;
}

const char *sonde_register_name(enum sonde_arch arch, unsigned int index)
{
	/* rdx2 is rdx at the return: the high half of a result. */
	static const char *const x86_64[SONDE_REGISTER_COUNT] = {
		"rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "rdx2", "rip", "rbp", "rsp",
	};
	static const char *const arm64[SONDE_REGISTER_COUNT] = {
		"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "lr", "fp", "sp",
	};

	if (index >= SONDE_REGISTER_COUNT)
		return NULL;
	if (arch == SONDE_ARCH_X86_64)
		return x86_64[index];
	return arch == SONDE_ARCH_ARM64 ? arm64[index] : NULL;
}

const char *sonde_arch_name(enum sonde_arch arch)
{
	static const char *const names[] = {
		[SONDE_ARCH_UNKNOWN] = "unknown",
		[SONDE_ARCH_X86_64] = "x86_64",
		[SONDE_ARCH_ARM64] = "arm64",
	};

	return names[(size_t)arch < COUNT_OF(names) ? arch : SONDE_ARCH_UNKNOWN];
}

const char *sonde_os_name(enum sonde_os os)
{
	static const char *const names[] = {
		[SONDE_OS_UNKNOWN] = "unknown", [SONDE_OS_IOS] = "ios",
		[SONDE_OS_ANDROID] = "android", [SONDE_OS_MACOS] = "macos",
		[SONDE_OS_LINUX] = "linux",	[SONDE_OS_WINDOWS] = "windows",
	};

	return names[(size_t)os < COUNT_OF(names) ? os : SONDE_OS_UNKNOWN];
}

const char *sonde_clock_kind_name(enum sonde_clock_kind kind)
{
	static const char *const names[] = {
		[SONDE_CLOCK_UNKNOWN] = "unknown",
		[SONDE_CLOCK_MACH_CONTINUOUS] = "mach-continuous",
		[SONDE_CLOCK_QPC] = "qpc",
		[SONDE_CLOCK_BOOTTIME] = "boottime",
		[SONDE_CLOCK_MONOTONIC] = "monotonic",
		[SONDE_CLOCK_REALTIME] = "realtime",
	};

	return names[(size_t)kind < COUNT_OF(names) ? kind : SONDE_CLOCK_UNKNOWN];
}
