/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at its own stack from within: backtrace() must name the same callers with and without a
 * recorder, also in a signal handler and while exceptions of others are none of its business.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>

#include "rec.h"

/* The callers that lie in this program, as places in its file. */
FN void show(const char *title)
{
	void *places[64];
	int count = backtrace(places, 64);
	Dl_info self, info;

	dladdr((void *)show, &self);
	printf("%s:", title);
	for (int i = 0; i < count; i++)
		if (dladdr(places[i], &info) && info.dli_fbase == self.dli_fbase)
			printf(" %lx", (unsigned long)((char *)places[i] - (char *)info.dli_fbase));
		else if (!info.dli_fname)
			printf(" nowhere");
	printf("\n");
}

FN static void handler(int number)
{
	(void)number;
	show("handler");
	TOUCH();
}

FN static void deep(int left)
{
	TOUCH();
	if (left > 0)
		deep(left - 1);
	else
		show("deep");
	if (left == 2)
		raise(SIGUSR1);
	TOUCH();
}

int main(void)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++)
		deep(5);
	show("main");
	return 0;
}
