/* SPDX-License-Identifier: Apache-2.0 */
/* The status line of `sonde record`, and its summary with the next command to run. */
#include "cli/record_report.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/record_plan.h"
#include "cli/text.h"

#define REDRAW_NS UINT64_C(180000000)

static void show(const struct sonde_buffer *text)
{
	ssize_t ignored = write(STDERR_FILENO, text->data, text->size);

	(void)ignored;
}

static void put_line(struct sonde_buffer *text, const struct record_line *line,
		     const struct record_status *status)
{
	uint64_t span_ns = status->elapsed_ns - line->drawn_ns;
	double rate = span_ns ? (double)(status->events - line->drawn_events) *
					(double)CLI_NS_PER_S / (double)span_ns :
				0;

	sonde_buffer_put_format(text, "%s  %.1f s  ", status->writing ? "recording" : "waiting",
				(double)status->elapsed_ns / (double)CLI_NS_PER_S);
	cli_put_counted(text, status->events, "event");
	sonde_buffer_put_text(text, "  ");
	cli_put_count(text, rate > 0 ? (uint64_t)rate : 0);
	sonde_buffer_put_text(text, "/s  ");
	cli_put_count(text, status->dropped);
	sonde_buffer_put_text(text, " dropped  ");
	cli_put_size(text, status->bytes);
	if (status->program_ended)
		sonde_buffer_put_text(text, "  children");
}

static void on_status(void *context, const struct record_status *status)
{
	struct record_line *line = context;
	struct sonde_buffer text = { 0 };
	struct winsize size;
	size_t width = 80;

	if (!line->visible || status->elapsed_ns < line->drawn_ns + REDRAW_NS)
		return;
	/* Whoever was put into the background does not write over what is in front. */
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	put_line(&text, line, status);
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	if (text.size > width - 1)
		text.size = width - 1;
	if (line->colour && status->dropped) {
		struct sonde_buffer plain = text;

		text = (struct sonde_buffer){ 0 };
		cli_put_style(&text, CLI_STYLE_RED);
		sonde_buffer_put(&text, plain.data, plain.size);
		cli_put_style_end(&text, CLI_STYLE_RED);
		sonde_buffer_release(&plain);
	}
	sonde_buffer_put_text(&text, "\033[K\r");
	show(&text);
	sonde_buffer_release(&text);
	line->drawn = true;
	line->drawn_ns = status->elapsed_ns;
	line->drawn_events = status->events;
}

void record_line_begin(struct cli *cli, struct record_line *line)
{
	*line = (struct record_line){
		.observer = { .context = line, .status = on_status },
		.visible = !cli->common.quiet && isatty(STDERR_FILENO) &&
			   (!isatty(STDOUT_FILENO) || cli->common.verbose),
		.colour = cli->error_colour,
	};
}

void record_line_end(struct record_line *line)
{
	struct sonde_buffer text = { 0 };

	if (!line->drawn)
		return;
	sonde_buffer_put_text(&text, "\r\033[K");
	show(&text);
	sonde_buffer_release(&text);
}

/* A message that was put together piece by piece. */
static void tell(struct cli *cli, struct sonde_buffer *text,
		 void (*how)(struct cli *, const char *, ...))
{
	const char *message = sonde_buffer_text(text);

	if (message)
		how(cli, "%s", message);
	sonde_buffer_release(text);
}

static const char *program_name(const struct record_options *options)
{
	const char *slash = strrchr(options->argv[0], '/');

	return slash ? slash + 1 : options->argv[0];
}

static void tell_written(struct cli *cli, const struct record_options *options,
			 const struct record_result *result)
{
	const struct record_status *total = &result->total;
	struct sonde_buffer text = { 0 };

	sonde_buffer_put_format(&text, "wrote %s: ", options->output);
	cli_put_counted(&text, total->events, "event");
	if (result->annotations) {
		sonde_buffer_put_text(&text, " (");
		cli_put_counted(&text, result->annotations, "annotation");
		sonde_buffer_put_char(&text, ')');
	}
	if (result->details) {
		sonde_buffer_put_text(&text, " with ");
		cli_put_counted(&text, result->details, "detail");
	}
	sonde_buffer_put_text(&text, " of ");
	cli_put_counted(&text, result->functions, "function");
	sonde_buffer_put_text(&text, " in ");
	cli_put_counted(&text, result->threads, "thread");
	sonde_buffer_put_text(&text, " of ");
	cli_put_count(&text, result->processes);
	sonde_buffer_put_text(&text, result->processes == 1 ? " process, " : " processes, ");
	cli_put_size(&text, total->bytes);
	sonde_buffer_put_text(&text, " in ");
	cli_put_duration(&text, total->elapsed_ns, " ");
	tell(cli, &text, cli_note);
}

/* What was left out because the user asked for it, and what took time; for --verbose. */
static void tell_more(struct cli *cli, const struct record_result *result)
{
	const struct {
		uint64_t count;
		const char *noun, *what;
	} facts[] = {
		{ result->short_calls, "call", "shorter than --min-time, left out" },
		{ result->deep_calls, "call", "deeper than --depth, left out" },
		{ result->unnamed_functions, "function", "without a name" },
		{ result->waits, "time", "a thread waited for room in its ring" },
		{ result->dumps, "dump", "of the flight recorder" },
	};
	size_t i;

	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct sonde_buffer text = { 0 };

		if (!facts[i].count)
			continue;
		cli_put_counted(&text, facts[i].count, facts[i].noun);
		sonde_buffer_put_char(&text, ' ');
		sonde_buffer_put_text(&text, facts[i].what);
		tell(cli, &text, cli_note);
	}
}

static bool has_filter(const struct record_options *options)
{
	return options->functions[0] || options->exclude[0] || options->modules[0];
}

/* An empty recording is a riddle: says why it is empty. */
static void tell_nothing(struct cli *cli, const struct record_options *options,
			 const struct record_result *result)
{
	const char *program = program_name(options);

	if (!result->instrumented) {
		cli_warning(cli,
			    "nothing was recorded: no instrumented function was called in %s, "
			    "and nothing annotated",
			    program);
		if (!cli->common.quiet)
			cli_hint(cli, "build it with 'cc $(sonde cflags) app.c' and record it "
				      "again");
	} else if ((options->flight_ns || options->flight_size) && !result->dumps) {
		if (!result->problem_count) /* else it is told among the problems */
			cli_warning(cli, "nothing was recorded: no trigger asked for a dump");
	} else if (options->start_paused) {
		cli_warning(cli, "nothing was recorded: nothing switched recording on (no trigger "
				 "fired, and the program did not resume it)");
	} else if (result->entries_too_short || result->entries_not_writable) {
		cli_warning(cli, "nothing was recorded");
	} else if (has_filter(options)) {
		cli_warning(cli, "nothing was recorded: no function that was called fits "
				 "--function, --exclude and --module");
	} else if (result->short_calls) {
		cli_warning(cli, "nothing was recorded: all calls were shorter than --min-time");
	} else {
		cli_warning(cli,
			    "nothing was recorded: %s is instrumented, but called none of "
			    "its instrumented functions",
			    program);
	}
}

static void tell_cut(struct cli *cli, const struct record_result *result)
{
	struct sonde_buffer text = { 0 };

	cli_put_counted(&text, result->cut_arguments, "argument");
	sonde_buffer_put_format(&text, " of annotations %s too long, and cut",
				result->cut_arguments == 1 ? "was" : "were");
	tell(cli, &text, cli_warning);
}

static void tell_dropped(struct cli *cli, const struct record_options *options,
			 const struct record_result *result)
{
	static const char *const how[] = {
		[ON_FULL_WAIT] = " cut off: threads were cancelled inside the recorder",
		[ON_FULL_DROP] = " dropped: the rings of threads were full",
		[ON_FULL_OVERWRITE] = " overwritten: the rings of threads were full",
	};
	struct sonde_buffer text = { 0 };

	cli_put_counted(&text, result->total.dropped, "event");
	sonde_buffer_put_text(&text, result->total.dropped == 1 ? " was" : " were");
	sonde_buffer_put_text(&text, how[options->on_full]);
	tell(cli, &text, cli_warning);
	if (!cli->common.quiet && options->on_full != ON_FULL_WAIT)
		cli_hint(cli, "a larger --ring-size loses fewer, --on-full wait none");
}

/* Functions that should have been recorded and were not; `why` they could not be patched. */
static void tell_unpatched(struct cli *cli, uint64_t count, const char *why)
{
	struct sonde_buffer text = { 0 };

	if (!count)
		return;
	cli_put_counted(&text, count, "function");
	sonde_buffer_put_text(&text, " could not be patched, so no call of ");
	sonde_buffer_put_text(&text, count == 1 ? "it" : "them");
	sonde_buffer_put_format(&text, " was recorded: %s", why);
	tell(cli, &text, cli_error);
}

static void tell_end(struct cli *cli, const struct record_options *options,
		     const struct record_result *result)
{
	char space[RECORD_SIGNAL_SIZE];
	int signal;

	if (!WIFSIGNALED(result->wait_status))
		return;
	signal = WTERMSIG(result->wait_status);
	cli_note(cli, "%s was ended by %s%s", program_name(options),
		 record_signal_name(signal, space),
		 result->incomplete ? "" : "; the recording is complete up to there");
	if (signal == SIGSYS && !cli->common.quiet)
		cli_hint(cli, "if it limits its own system calls (seccomp), it must allow futex, "
			      "rt_sigprocmask and prctl, which recording takes");
}

static void tell_next(struct cli *cli, const char *command, const struct record_options *options)
{
	struct sonde_buffer text = { 0 };

	sonde_buffer_put_format(&text, "sonde %s ", command);
	cli_put_shell_word(&text, options->output);
	tell(cli, &text, cli_next);
}

void record_report(struct cli *cli, const struct record_options *options,
		   const struct record_result *result)
{
	size_t i;

	if (result->total.events)
		tell_written(cli, options, result);
	if (cli->common.verbose)
		tell_more(cli, result);
	tell_end(cli, options, result);
	if (!result->total.events && !result->incomplete)
		tell_nothing(cli, options, result);
	if (result->cut_arguments)
		tell_cut(cli, result);
	if (result->total.dropped)
		tell_dropped(cli, options, result);
	tell_unpatched(cli, result->entries_not_writable, "the system did not allow it");
	tell_unpatched(cli, result->entries_too_short, "fewer than 5 bytes of NOPs at the entry");
	if (result->entries_too_short && !cli->common.quiet)
		cli_hint(cli, "build with 'cc $(sonde cflags --patchable) app.c' and record again");
	for (i = 0; i < result->problem_count; i++) {
		if (result->incomplete)
			cli_error(cli, "%s", result->problems[i].text);
		else
			cli_warning(cli, "%s", result->problems[i].text);
	}
	if (result->incomplete)
		cli_error(cli, "the recording is INCOMPLETE: events are missing from it");
	if (!result->total.events)
		return;
	if (result->incomplete)
		tell_next(cli, "check", options);
	tell_next(cli, "info", options);
	tell_next(cli, "report", options);
}
