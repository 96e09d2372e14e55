/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the clock of a recording and keeps the line from its ticks to CLOCK_BOOTTIME. The line
 * always goes through the newest anchor; its slope comes from the last two anchors, unless the
 * clocks parted in between (a suspended machine), which no slope explains.
 */
#include "record/clock.h"

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"
#define NS_PER_S 1000000000u
#define CALIBRATION_NS 8000000u
#define CALIBRATION_TRIES 16
#define UPDATE_NS 100000000u
#define ANCHOR_TRIES 8
#define BASE_TICKS (UINT64_C(1) << 31)

static bool tsc_is_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1;
}

/* Whether a word stands in the first line of a small file of the kernel. */
static bool file_has_word(const char *path, const char *word)
{
	size_t length = strlen(word);
	char text[256];
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return false;
	text[size] = 0;
	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || strchr(" \n", at[-1])) && strchr(" \n", at[length]))
			return true;
	return false;
}

enum shared_clock record_clock_choose(void)
{
	static const char *const good[] = { "tsc", "kvm-clock", "hyperv_clocksource_tsc_page" };

	if (!tsc_is_invariant())
		return SHARED_CLOCK_BOOTTIME;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (file_has_word(CLOCKSOURCE "current_clocksource", good[i]))
			return SHARED_CLOCK_TSC;
	/* a TSC that the kernel found out of step is not offered any more */
	return file_has_word(CLOCKSOURCE "available_clocksource", "tsc") ? SHARED_CLOCK_TSC :
									   SHARED_CLOCK_BOOTTIME;
}

uint64_t record_clock_ticks(const struct record_clock *clock)
{
	return clock->kind == SHARED_CLOCK_TSC ? __builtin_ia32_rdtsc() :
						 sonde_now_ns(CLOCK_BOOTTIME);
}

/* Both clocks at one moment: of several tries the one that took the shortest time. */
static struct record_anchor take_anchor(enum shared_clock kind)
{
	struct record_anchor best = { 0 };
	uint64_t best_window = UINT64_MAX;

	for (int i = 0; i < ANCHOR_TRIES; i++) {
		uint64_t before = __builtin_ia32_rdtsc();
		uint64_t boottime = sonde_now_ns(CLOCK_BOOTTIME);
		uint64_t after = __builtin_ia32_rdtsc();

		if (after - before >= best_window)
			continue;
		best_window = after - before;
		best.ticks = kind == SHARED_CLOCK_TSC ? before + best_window / 2 : boottime;
		best.boottime_ns = boottime;
		best.realtime_ns = sonde_now_ns(CLOCK_REALTIME);
	}
	return best;
}

/* ns per tick from one anchor to another, in 1 / 2^32; 0 where they make no line. */
static uint64_t slope(const struct record_anchor *from, const struct record_anchor *to)
{
	unsigned __int128 result;

	if (to->ticks <= from->ticks || to->boottime_ns <= from->boottime_ns)
		return 0;
	result = ((unsigned __int128)(to->boottime_ns - from->boottime_ns) << 32) /
		 (to->ticks - from->ticks);
	return result > INT64_MAX ? 0 : (uint64_t)result;
}

/* The line through the last anchor, told from a moment before whatever is converted next. */
static void set_base(struct record_clock *clock)
{
	clock->base_ticks = clock->last.ticks - BASE_TICKS;
	clock->base_ns = clock->last.boottime_ns -
			 (uint64_t)((unsigned __int128)BASE_TICKS * clock->multiplier >> 32);
}

uint64_t record_clock_far_ns(const struct record_clock *clock, uint64_t ticks)
{
	__int128 distance = (__int128)(int64_t)(ticks - clock->base_ticks) * clock->multiplier;

	return clock->base_ns + (uint64_t)(int64_t)(distance >> 32);
}

void record_clock_start(struct record_clock *clock, enum shared_clock kind)
{
	*clock = (struct record_clock){ .kind = kind, .multiplier = UINT64_C(1) << 32 };
	clock->first = clock->last = take_anchor(kind);
	for (int i = 0; kind == SHARED_CLOCK_TSC && i < CALIBRATION_TRIES; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = CALIBRATION_NS }, NULL);
		clock->last = take_anchor(kind);
		clock->multiplier = slope(&clock->first, &clock->last);
		if (clock->multiplier &&
		    clock->last.boottime_ns - clock->first.boottime_ns >= CALIBRATION_NS)
			break; /* a signal can cut the sleep short */
	}
	set_base(clock);
}

void record_clock_anchor(struct record_clock *clock, const struct record_anchor *anchor)
{
	uint64_t multiplier = slope(&clock->last, anchor);
	uint64_t least = clock->multiplier - clock->multiplier / 100;
	uint64_t most = clock->multiplier + clock->multiplier / 100;

	if (clock->kind == SHARED_CLOCK_TSC && multiplier >= least && multiplier <= most)
		clock->multiplier = multiplier;
	clock->last = *anchor;
	set_base(clock);
}

void record_clock_update(struct record_clock *clock)
{
	struct record_anchor anchor;

	if (sonde_now_ns(CLOCK_BOOTTIME) - clock->last.boottime_ns < UPDATE_NS)
		return;
	anchor = take_anchor(clock->kind);
	record_clock_anchor(clock, &anchor);
}
