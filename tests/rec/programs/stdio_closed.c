/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says in the side file which file descriptors it was given, and which one it gets next: all of
 * that must be as without a recorder. Then writes to all three, as a program would.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "rec.h"

FN static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

int main(void)
{
	int opened[64], next;
	FILE *side;

	for (int fd = 0; fd < 64; fd++)
		opened[fd] = is_open(fd);
	next = dup(open("/dev/null", O_RDWR));
	side = side_open();
	for (int fd = 0; fd < 64; fd++)
		if (opened[fd])
			fprintf(side, "open %d\n", fd);
	fprintf(side, "next %d\n", next);
	for (int fd = 0; fd < 3; fd++)
		if (opened[fd] && fd > 0)
			fprintf(side, "written %zd\n", write(fd, "text\n", 5));
	fclose(side);
	return 35;
}
