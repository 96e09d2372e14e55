/* SPDX-License-Identifier: Apache-2.0 */
/* From --track, --from and the like to a selection of the library. */
#include "cli/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/suggest.h"
#include "model/filters.h"

static const struct cli_choice kind_choices[] = {
#define X(name, value, text) [value] = { text, NULL },
	SONDE_EVENT_KIND_LIST(X)
#undef X
		{ 0 },
};

const struct cli_option cli_range_options[] = {
	{ .name = "from",
	  .argument = "TIME",
	  .kind = CLI_TIME,
	  .help = "only what happened at TIME or later",
	  .offset = offsetof(struct cli_range, from) },
	{ .name = "to",
	  .argument = "TIME",
	  .kind = CLI_TIME,
	  .help = "only what happened before TIME",
	  .offset = offsetof(struct cli_range, to) },
	{ 0 },
};

const struct cli_option cli_filter_options[] = {
	CLI_TRACK_OPTION(offsetof(struct cli_filter, tracks)),
	CLI_FUNCTION_OPTION(offsetof(struct cli_filter, functions)),
	{ .name = "kind",
	  .argument = "KIND",
	  .kind = CLI_CHOICE_SET,
	  .choices = kind_choices,
	  .help = "only events of these kinds, several with commas",
	  .offset = offsetof(struct cli_filter, kinds) },
	{ .name = "min-depth",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "only calls at least N deep; the outermost call is 1 deep",
	  .offset = offsetof(struct cli_filter, min_depth) },
	{ .name = "max-depth",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "only calls at most N deep",
	  .offset = offsetof(struct cli_filter, max_depth) },
	{ 0 },
};

/* The tracks that one word of --track means, added to `wanted`; how many there were. */
static size_t match_tracks(const struct sonde_definitions *definitions, const char *word,
			   bool *wanted)
{
	uint32_t count = sonde_definitions_track_count(definitions), track;
	size_t matched = 0;
	char *end;
	unsigned long id = strtoul(word, &end, 10);
	bool is_id = word[0] >= '0' && word[0] <= '9' && !*end && id < count;

	for (track = 0; track < count; track++) {
		char space[SONDE_LABEL_SIZE];
		const char *label = sonde_definitions_track_label(definitions, track, space);

		if (is_id ? track != id : strcmp(word, label) && fnmatch(word, label, 0))
			continue;
		wanted[track] = true;
		matched++;
	}
	return matched;
}

static int no_such_track(struct cli *cli, const struct sonde_recording *recording, const char *word)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct cli_suggestion suggestion = cli_suggestion_for(word);
	uint32_t count = sonde_definitions_track_count(definitions), track, best = SONDE_NONE;
	char space[SONDE_LABEL_SIZE];

	for (track = 0; track < count; track++) {
		size_t before = suggestion.distance;

		cli_suggestion_consider(&suggestion,
					sonde_definitions_track_label(definitions, track, space));
		if (suggestion.distance < before)
			best = track;
	}
	if (best == SONDE_NONE)
		cli_error(cli, "no track '%s'", word);
	else
		cli_error(cli, "no track '%s'. Did you mean '%s'?", word,
			  sonde_definitions_track_label(definitions, best, space));
	cli_hint(cli, "'sonde info' lists the tracks of a recording");
	return CLI_USAGE;
}

/* The tracks that the words mean, each once, in the order of the recording. */
static int list_tracks(struct cli *cli, const struct sonde_recording *recording,
		       const struct cli_list *words, bool *wanted, struct cli_selection *selection)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	uint32_t count = sonde_definitions_track_count(definitions), track;
	size_t i;

	for (i = 0; i < words->count; i++)
		if (!match_tracks(definitions, words->items[i], wanted))
			return no_such_track(cli, recording, words->items[i]);
	for (track = 0; track < count; track++)
		if (wanted[track])
			selection->tracks[selection->spec.track_count++] = track;
	selection->spec.tracks = selection->tracks;
	return CLI_OK;
}

static int resolve_tracks(struct cli *cli, const struct sonde_recording *recording,
			  const struct cli_list *words, struct cli_selection *selection)
{
	size_t count = sonde_definitions_track_count(sonde_recording_definitions(recording));
	bool *wanted = calloc(count + 1, sizeof(*wanted));
	int code;

	selection->tracks = calloc(count + 1, sizeof(*selection->tracks));
	if (wanted && selection->tracks)
		code = list_tracks(cli, recording, words, wanted, selection);
	else
		code = cli_fail_nomem(cli);
	free(wanted);
	return code;
}

static int resolve_range(struct cli *cli, const struct sonde_recording *recording,
			 const struct cli_range *range, struct sonde_selection_spec *spec)
{
	uint64_t first_ns, last_ns;

	if (!sonde_recording_time_range(recording, &first_ns, &last_ns))
		return CLI_OK; /* no events, nothing to choose */
	if (range->from.base)
		spec->from_ns = cli_time_resolve(range->from, first_ns, last_ns);
	if (!range->to.base)
		return CLI_OK;
	spec->to_ns = cli_time_resolve(range->to, first_ns, last_ns);
	if (spec->to_ns <= spec->from_ns)
		return cli_usage(cli, "--to is not after --from: no event can lie between them");
	return CLI_OK;
}

static int resolve_filter(struct cli *cli, const struct sonde_recording *recording,
			  const struct cli_filter *filter, struct cli_selection *selection)
{
	struct sonde_selection_spec *spec = &selection->spec;

	if (filter->min_depth > UINT32_MAX || filter->max_depth > UINT32_MAX)
		return cli_usage(cli, "a depth is at most %u", UINT32_MAX);
	if (filter->max_depth && filter->max_depth < filter->min_depth)
		return cli_usage(cli, "--max-depth is less than --min-depth");
	spec->functions = filter->functions.items;
	spec->function_count = filter->functions.count;
	spec->kinds = filter->kinds;
	spec->min_depth = (uint32_t)filter->min_depth;
	spec->max_depth = (uint32_t)filter->max_depth;
	if (!filter->tracks.count)
		return CLI_OK;
	return resolve_tracks(cli, recording, &filter->tracks, selection);
}

int cli_selection_resolve(struct cli *cli, const struct sonde_recording *recording,
			  const struct cli_range *range, const struct cli_filter *filter,
			  struct cli_selection *selection)
{
	int code = CLI_OK;

	*selection = (struct cli_selection){ 0 };
	if (range)
		code = resolve_range(cli, recording, range, &selection->spec);
	if (filter && code == CLI_OK)
		code = resolve_filter(cli, recording, filter, selection);
	return code;
}

void cli_selection_release(struct cli_selection *selection)
{
	free(selection->tracks);
	selection->tracks = NULL;
}

bool cli_selects(const struct sonde_selection_spec *spec)
{
	return spec->track_count || !sonde_passes_every_event(spec);
}
