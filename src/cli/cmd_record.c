/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde record`: runs a program and writes down its calls. The work is done in src/record; here
 * are the options, and the way in which the program's end becomes ours.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/record_convert.h"
#include "cli/record_plan.h"
#include "cli/record_report.h"

#define AT(member) offsetof(struct record_arguments, member)

static const struct cli_choice detail_choices[] = {
	[RECORD_DETAIL_ALL] = { "all", "with every event" },
	[RECORD_DETAIL_NONE] = { "none", "only the events" },
	{ 0 },
};

static const struct cli_choice on_full_choices[] = {
	[ON_FULL_WAIT] = { "wait", "the thread waits until there is room; nothing is lost" },
	[ON_FULL_DROP] = { "drop", "its new events are dropped and counted" },
	[ON_FULL_OVERWRITE] = { "overwrite", "its oldest events are dropped and counted" },
	{ 0 },
};

static const struct cli_option output_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .argument = "DIR",
	  .kind = CLI_PATH,
	  .help = "the folder of the recording; without it PROGRAM.atf in the present folder, or "
		  "PROGRAM-2.atf and so on where that exists",
	  .offset = AT(target.output) },
	{ .name = "to-format",
	  .short_name = 't',
	  .argument = "NAME",
	  .kind = CLI_FORMAT,
	  .help = "format of the recording; without it, what the name of the output says, or atf. "
		  "Another one is made at the end, of a recording beside the output",
	  .offset = AT(format) },
	{ .name = "force",
	  .kind = CLI_FLAG,
	  .help = "replace a recording that exists",
	  .offset = AT(target.force) },
	{ 0 },
};

static const struct cli_option what_options[] = {
	{ .name = "function",
	  .argument = "GLOB",
	  .kind = CLI_REPEAT,
	  .help = "record only functions with such a name; may be repeated",
	  .offset = AT(functions) },
	{ .name = "exclude",
	  .argument = "GLOB",
	  .kind = CLI_REPEAT,
	  .help = "leave out functions with such a name; may be repeated",
	  .offset = AT(exclude) },
	{ .name = "module",
	  .argument = "GLOB",
	  .kind = CLI_REPEAT,
	  .help = "record only functions of such programs and libraries; may be repeated",
	  .offset = AT(modules) },
	{ .name = "depth",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "record calls down to N deep; the outermost one is 1 deep",
	  .offset = AT(depth) },
	{ .name = "min-time",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "leave out calls that took less than T",
	  .offset = AT(min_time_ns) },
	{ .name = "detail",
	  .argument = "WHAT",
	  .implied = "all",
	  .kind = CLI_CHOICE,
	  .choices = detail_choices,
	  .help = "record registers, frame and call site with events",
	  .offset = AT(detail) },
	{ .name = "stack-bytes",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "with them N bytes of the stack, up to 256; implies --detail",
	  .offset = AT(stack_bytes) },
	{ 0 },
};

static const struct cli_option when_options[] = {
	{ .name = "notrace",
	  .kind = CLI_FLAG,
	  .help = "start without recording, until a trigger or the program itself starts it",
	  .offset = AT(notrace) },
	{ .name = "trigger",
	  .argument = "WHEN[:ACTION]",
	  .kind = CLI_REPEAT,
	  .help = "switch something when something happens, see below; may be repeated",
	  .offset = AT(triggers) },
	{ .name = "duration",
	  .argument = "T",
	  .kind = CLI_SECONDS,
	  .help = "stop recording after T; the program runs on",
	  .offset = AT(duration_ns) },
	{ .name = "flight",
	  .argument = "SECONDS",
	  .kind = CLI_SECONDS,
	  .help = "flight recorder: keep only that much of the newest in memory, and write it on a "
		  "trigger, a crash or at the end",
	  .offset = AT(flight_ns) },
	{ .name = "flight-size",
	  .argument = "BYTES",
	  .kind = CLI_SIZE,
	  .help = "the same, measured in bytes of events",
	  .offset = AT(flight_size) },
	{ .name = "pre-roll",
	  .argument = "T",
	  .kind = CLI_SECONDS,
	  .help = "another name for --flight: how much to keep from before a trigger",
	  .offset = AT(pre_roll_ns) },
	{ .name = "post-roll",
	  .argument = "T",
	  .kind = CLI_SECONDS,
	  .help = "how much to write of what follows a trigger",
	  .offset = AT(post_roll_ns) },
	{ 0 },
};

static const struct cli_option how_options[] = {
	{ .name = "on-full",
	  .argument = "WHAT",
	  .kind = CLI_CHOICE,
	  .choices = on_full_choices,
	  .help = "what to do when a thread writes faster than the disk",
	  .offset = AT(on_full) },
	{ .name = "ring-size",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "memory for each thread, rounded up to a power of two; 1M unless given, with --detail 2M",
	  .offset = AT(ring_size) },
	{ .name = "follow",
	  .kind = CLI_FLAG,
	  .help = "record the program's children too; this is the default",
	  .offset = AT(follow) },
	{ .name = "no-follow",
	  .kind = CLI_FLAG_OFF,
	  .help = "record only the program itself",
	  .offset = AT(follow) },
	{ .name = "env",
	  .argument = "NAME=VALUE",
	  .kind = CLI_REPEAT,
	  .help = "set this in the program's environment; NAME alone takes it out; may be repeated",
	  .offset = AT(environment) },
	{ .name = "chdir",
	  .argument = "DIR",
	  .kind = CLI_PATH,
	  .help = "run the program in this folder; DIR of --output is still ours",
	  .offset = AT(folder) },
	{ .name = "or-run",
	  .kind = CLI_FLAG,
	  .help = "where it cannot be recorded, say why and run the program all the same",
	  .offset = AT(or_run) },
	{ 0 },
};

/* Ends as the program ended, so that whoever started us sees what it would have seen. */
static int end_like(struct cli *cli, int wait_status)
{
	struct rlimit no_core = { 0, 0 };
	int number = WTERMSIG(wait_status);
	sigset_t one;

	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (!WIFSIGNALED(wait_status))
		return CLI_FAILED;
	cli_flush(cli);
	setrlimit(RLIMIT_CORE, &no_core); /* a core of ours would hide the program's */
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
	return CLI_SIGNALLED + number;
}

static int record(struct cli *cli, const struct record_plan *plan, bool *started)
{
	struct record_result result = { 0 };
	struct record_options shown;
	struct record_line line;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	if (plan->format)
		record_convert_begin(cli, plan);
	record_line_begin(cli, &line);
	status = record_run(&plan->options, &line.observer, &result, &err);
	record_line_end(&line);
	*started = result.started;
	if (status != SONDE_OK) {
		int code = cli_fail(cli, &err);

		return result.started ? end_like(cli, result.wait_status) : code;
	}
	shown = plan->options;
	if (plan->format && result.total.events && record_convert(cli, plan))
		shown.output = plan->target;
	record_report(cli, &shown, &result);
	return end_like(cli, result.wait_status);
}

/* Becomes the program, as it would have been started; returns only where it cannot. */
static void run_unrecorded(struct cli *cli, const struct record_arguments *arguments)
{
	const struct cli_list *environment = &arguments->environment;

	cli_flush(cli);
	for (size_t i = 0; i < environment->count; i++) {
		if (strchr(environment->items[i], '='))
			putenv((char *)environment->items[i]);
		else
			unsetenv(environment->items[i]);
	}
	if (!arguments->folder || !chdir(arguments->folder))
		execvp(cli->operands[0], (char *const *)cli->operands);
}

static int run(struct cli *cli, const void *options)
{
	const struct record_arguments *arguments = options;
	struct record_plan plan = { 0 };
	bool started = false;
	int code = record_plan_make(cli, arguments, &plan);

	if (code == CLI_OK)
		code = record(cli, &plan, &started);
	if (!started && arguments->or_run && code != CLI_USAGE)
		run_unrecorded(cli, arguments);
	record_plan_release(&plan);
	return code;
}

const struct cli_command cmd_record = {
	.name = "record",
	.summary = "run a program and record its calls",
	.usage = "sonde record [OPTIONS] [--] PROGRAM [ARGUMENTS...]",
	.description =
		"Runs a program that was built with the flags of 'sonde cflags' and writes every "
		"call and return of all its threads and children, and what it annotates with "
		"<sonde/annotate.h>, into a recording (ATF v2, or another format with -t). The "
		"program's input, output and exit status are its own; Ctrl-C ends it as it would "
		"without us, and the recording is finished all the same, also after a crash.\n"
		"\n"
		"  cc $(sonde cflags) app.c -o app && sonde record ./app\n"
		"\n"
		"Options of ours come before PROGRAM; all that follows it is the program's. At the "
		"end a summary goes to standard error. While the program runs, a line there shows "
		"time, events and losses, if standard error is a terminal and standard output is "
		"not, or with --verbose.",
	.section = CLI_SECTION_RECORD,
	.operands = { .name = "PROGRAM",
		      .kind = CLI_OPERAND_PROGRAM,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Output", .options = output_options },
			{ .title = "What is recorded", .options = what_options },
			{ .title = "When", .options = when_options },
			{ .title = "How", .options = how_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ "Triggers",
			  "WHEN is one of\n"
			  "  symbol=GLOB   a function with such a name is called\n"
			  "  signal=SIG    sonde (not the program) gets this signal\n"
			  "  time=T        this long after the start\n"
			  "  crash         the program is ended by a signal\n"
			  "and ACTION one of\n"
			  "  on, off             recording starts, or pauses\n"
			  "  detail, nodetail    details start, or stop\n"
			  "  dump                the flight recorder writes what it has\n"
			  "Without one it is dump for a flight recorder, else on. Where a trigger "
			  "switches recording on, it starts switched off." },
			{ "Durations and sizes",
			  "T is a number with a unit: ns, us, ms, s, m or h, like 250us or 1.5s. "
			  "--duration, --flight, --pre-roll and --post-roll take a bare number as "
			  "seconds. A SIZE is in bytes, or has K, M or G (of 1024) behind it." },
			{ 0 },
		},
	.exit_status = "That of the program. Where a signal ended it, the same signal ends sonde, "
		       "so a shell shows 128 and the signal's number. 2 where the command line is "
		       "wrong and 3 where the program could not be started, or not be recorded.",
	.examples =
		(const struct cli_example[]){
			{ "sonde record ./app", "record all calls into app.atf" },
			{ "sonde record -o run --function 'parse*' ./app input.txt",
			  "only some functions, into a folder of your choice" },
			{ "sonde record --min-time 10us --depth 20 ./app",
			  "leave out what is short and what is deep" },
			{ "sonde record --detail --stack-bytes 64 ./app",
			  "with registers and stack of every call" },
			{ "sonde record -o app.wtf-trace ./app",
			  "all calls and annotations as one wtf-trace file" },
			{ "sonde record --flight 10 --trigger symbol=fail ./app",
			  "the ten seconds before something goes wrong" },
			{ 0 },
		},
	.options_size = sizeof(struct record_arguments),
	.defaults =
		&(const struct record_arguments){
			.detail = RECORD_DETAIL_NOT_GIVEN,
			.stack_bytes = RECORD_NOT_GIVEN,
			.depth = RECORD_NOT_GIVEN,
			.flight_ns = RECORD_NOT_GIVEN,
			.flight_size = RECORD_NOT_GIVEN,
			.pre_roll_ns = RECORD_NOT_GIVEN,
			.post_roll_ns = RECORD_NOT_GIVEN,
			.duration_ns = RECORD_NOT_GIVEN,
			.ring_size = RECORD_NOT_GIVEN,
			.follow = true,
		},
	.run = run,
};
