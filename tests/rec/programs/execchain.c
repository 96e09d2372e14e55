/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces itself ten times, counting down: by execl(), or (argument "shell") through /bin/sh. */
#include <string.h>
#include <unistd.h>

#include "rec.h"

FN static int step(int left)
{
	TOUCH();
	return left - 1;
}

FN static int hop(const char *program, const char *way, int left)
{
	char number[16], command[4096];

	snprintf(number, sizeof(number), "%d", step(left));
	if (strcmp(way, "shell") == 0) {
		snprintf(command, sizeof(command), "exec '%s' %s %s", program, way, number);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	} else {
		execl(program, program, way, number, (char *)NULL);
	}
	perror("exec");
	return 1;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "plain";
	int left = argc > 2 ? atoi(argv[2]) : 10;

	if (left > 0)
		return hop(argv[0], way, left);
	printf("end of the chain\n");
	return step(8);
}
