/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program says to its recorder: see <sonde/record.h>.
 */
#include <errno.h>
#include <sonde/record.h>
#include <string.h>

#include "runtime/runtime.h"

#define MARK_MAX 255u

RT_PUBLIC bool sonde_record_active(void)
{
	return rt_is_on();
}

static void set_paused(bool paused)
{
	int saved_errno = errno;

	if (rt_is_on()) {
		rt_pause(paused);
		rt_patch_set(!paused);
	}
	errno = saved_errno;
}

RT_PUBLIC void sonde_record_pause(void)
{
	set_paused(true);
}

RT_PUBLIC void sonde_record_resume(void)
{
	set_paused(false);
}

RT_PUBLIC void sonde_record_mark(const char *text)
{
	int saved_errno = errno;
	size_t size;

	if (rt_is_on() && text) {
		size = strnlen(text, MARK_MAX);
		rt_record_bytes(UNIT_MARK, size, text, size);
	}
	errno = saved_errno;
}

RT_PUBLIC bool sonde_record_flush(void)
{
	int saved_errno = errno;
	bool flushed = false;

	if (rt_is_on()) {
		rt_record(UNIT_REQUEST, 0, 0, REQUEST_FLUSH, NULL);
		flushed = rt_flush();
	}
	errno = saved_errno;
	return flushed;
}

RT_PUBLIC void sonde_record_dump(void)
{
	int saved_errno = errno;

	if (rt_is_on()) {
		rt_record(UNIT_REQUEST, 0, 0, REQUEST_DUMP, NULL);
		rt_wake_launcher();
	}
	errno = saved_errno;
}

RT_PUBLIC void sonde_record_stack(void *low, size_t size)
{
	int saved_errno = errno;

	if (rt_is_on())
		rt_record(UNIT_STACK, size ? STACK_COROUTINE : STACK_GONE, (uint64_t)low,
			  (uint64_t)low + size, NULL);
	errno = saved_errno;
}
