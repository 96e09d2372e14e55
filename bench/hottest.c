/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a database and prints its hottest path: from the root, again and again the child that most was
 * spent in, by the sum of the first metric over all tracks.
 * usage: sonde-bench-hottest DATABASE
 */
#include <string.h>

#include <sonde/profile.h>

#include "need.h"

struct path {
	struct sonde_recording *recording;
	const struct sonde_context *contexts;
	uint32_t count;
	uint32_t metric;
};

/* The sum over the tracks of what was spent in a context and below it. */
static uint32_t find_metric(const struct sonde_definitions *definitions)
{
	uint32_t count = sonde_definitions_metric_count(definitions), i;

	for (i = 0; i < count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);

		if (!strcmp(sonde_definitions_string(definitions, metric->scope), "execution") &&
		    !strcmp(sonde_definitions_string(definitions, metric->statistic), "sum"))
			return i;
	}
	fprintf(stderr, "sonde-bench-hottest: there are no sums in it\n");
	exit(3);
}

static uint32_t hottest_child(const struct path *path, uint32_t context, double *most)
{
	uint32_t best = SONDE_NONE, child = context + 1;
	struct sonde_error err;
	double value;

	*most = 0;
	for (; child < path->contexts[context].end; child = path->contexts[child].end) {
		enum sonde_status status = sonde_recording_value(path->recording, SONDE_NONE, child,
								 path->metric, &value, &err);

		need(status, &err);
		if (status == SONDE_OK && value > *most) {
			*most = value;
			best = child;
		}
	}
	return best;
}

int main(int argc, char **argv)
{
	const struct sonde_definitions *definitions;
	struct path path = { 0 };
	struct sonde_error err;
	uint32_t context = 0;
	char space[256];
	double value;

	if (argc != 2) {
		fprintf(stderr, "usage: sonde-bench-hottest DATABASE\n");
		return 2;
	}
	need(sonde_recording_open(argv[1], NULL, &path.recording, &err), &err);
	need(sonde_recording_contexts(path.recording, &path.contexts, &path.count, &err), &err);
	definitions = sonde_recording_definitions(path.recording);
	path.metric = find_metric(definitions);
	while (path.count && (context = hottest_child(&path, context, &value)) != SONDE_NONE)
		printf("%g %s\n", value,
		       sonde_context_label(definitions, &path.contexts[context], space,
					   sizeof(space)));
	sonde_recording_close(path.recording);
	return 0;
}
