/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of other tools' formats share: their findings, and the end of an intake. */
#include "formats/exchange.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define FINDINGS EXCHANGE_FINDING_LIST
#define FINDING(name) EXCHANGE_FINDING_##name
#define FINDING_TYPES exchange_finding_types
#define FINDING_LIST exchange_finding_list
#include "formats/finding_types.h"

enum sonde_status exchange_finish(struct sonde_recording *recording, struct sonde_intake *intake,
				  struct sonde_error *err)
{
	struct sonde_intake_counts counts = { 0 };
	enum sonde_status status = sonde_intake_finish(intake, &counts, err);

	if (status)
		return status;
	if (counts.lone_returns)
		EXCHANGE_FINDING(recording, LONE_END, SONDE_NO_OFFSET,
				 "a beginning for each end\t%" PRIu64 " without",
				 counts.lone_returns);
	if (counts.missing_returns)
		EXCHANGE_FINDING(recording, MISSING_END, SONDE_NO_OFFSET,
				 "an end for each call\t%" PRIu64 " without",
				 counts.missing_returns);
	if (counts.overlaps)
		EXCHANGE_FINDING(recording, OVERLAP, SONDE_NO_OFFSET,
				 "calls inside of each other\t%" PRIu64 " that overlap",
				 counts.overlaps);
	if (counts.went_back)
		EXCHANGE_FINDING(recording, ORDER, SONDE_NO_OFFSET,
				 "times in order\t%" PRIu64 " earlier than the one before",
				 counts.went_back);
	if (counts.open_calls)
		EXCHANGE_FINDING(recording, OPEN, SONDE_NO_OFFSET,
				 "an end for each call\t%" PRIu64 " open", counts.open_calls);
	return SONDE_OK;
}

int exchange_begins_with(const char *path, const char *text)
{
	char head[256];
	size_t length = strlen(text);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	return size >= (ssize_t)length && !memcmp(head, text, length) ? 100 : 0;
}
