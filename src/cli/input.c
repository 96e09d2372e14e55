/* SPDX-License-Identifier: Apache-2.0 */
/* Opening recordings for a command. */
#include "cli/input.h"

#include <inttypes.h>

#include <sonde/format.h>

#include "model/recording.h"

const struct cli_option cli_input_options[] = {
	{ .name = "format",
	  .short_name = 'f',
	  .argument = "NAME",
	  .kind = CLI_FORMAT,
	  .help = "take the input for this format instead of looking what it is",
	  .offset = offsetof(struct cli_input, format) },
	{ 0 },
};

int cli_open(struct cli *cli, const char *path, const struct cli_input *input,
	     struct sonde_recording **recording)
{
	struct sonde_error err = { 0 };
	int code = cli_input_path(cli, path, &path);

	*recording = NULL;
	if (code != CLI_OK)
		return code;
	if (sonde_recording_open(path, input->format, recording, &err) == SONDE_OK) {
		if (cli_is_standard_input(cli, path))
			(*recording)->title = CLI_STANDARD_INPUT;
		return CLI_OK;
	}
	sonde_error_set_file(&err, path);
	return cli_fail(cli, &err);
}

void cli_warn_of_faults(struct cli *cli, const struct sonde_recording *recording)
{
	const struct sonde_format_info *format =
		sonde_format_info(sonde_recording_format(recording));
	const struct sonde_diagnostics *diagnostics = sonde_recording_diagnostics(recording);
	uint64_t faults = sonde_diagnostics_count(diagnostics, SONDE_WARNING);

	if (cli->common.verbose)
		cli_note(cli, "%s: %s, %" PRIu32 " tracks, %" PRIu64 " events",
			 sonde_recording_path(recording), format->name,
			 sonde_definitions_track_count(sonde_recording_definitions(recording)),
			 sonde_recording_event_count(recording));
	if (faults)
		cli_warning(cli,
			    "%s: %" PRIu64 " fault%s while reading ('sonde check' tells which)",
			    sonde_recording_path(recording), faults, faults == 1 ? "" : "s");
}
