/* SPDX-License-Identifier: Apache-2.0 */
/* From the arguments of `sonde record` to a plan: limits, contradictions, name of the output. */
#include "cli/record_plan.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/runtime_path.h"
#include "formats/format.h"

#define STACK_BYTES_MAX 256
#define RING_SIZE_MIN ((uint64_t)64 << 10)
#define RING_SIZE_MAX ((uint64_t)1 << 30)
#define NAMES_MAX 10000

/* A copy of the list that ends with NULL. */
static bool copy_list(const char ***place, const struct cli_list *list)
{
	const char **copy = calloc(list->count + 1, sizeof(*copy));

	if (!copy)
		return false;
	if (list->count)
		memcpy(copy, list->items, list->count * sizeof(*copy));
	*place = copy;
	return true;
}

static int plan_lists(struct cli *cli, const struct record_arguments *arguments,
		      struct record_plan *plan)
{
	size_t i;

	for (i = 0; i < arguments->environment.count; i++)
		if (!arguments->environment.items[i][0] ||
		    arguments->environment.items[i][0] == '=')
			return cli_usage(cli, "--env: '%s' is not NAME=VALUE, nor a NAME to unset",
					 arguments->environment.items[i]);
	if (!copy_list(&plan->lists[0], &arguments->functions) ||
	    !copy_list(&plan->lists[1], &arguments->exclude) ||
	    !copy_list(&plan->lists[2], &arguments->modules) ||
	    !copy_list(&plan->lists[3], &arguments->environment))
		return cli_fail_nomem(cli);
	plan->options.functions = plan->lists[0];
	plan->options.exclude = plan->lists[1];
	plan->options.modules = plan->lists[2];
	plan->options.environment = plan->lists[3];
	return CLI_OK;
}

/* A number that was given must not be 0; puts it, or 0 for "not given". */
static int plan_number(struct cli *cli, const char *option, uint64_t given, uint64_t *place)
{
	if (!given)
		return cli_usage(cli, "--%s: must be more than 0", option);
	*place = given == RECORD_NOT_GIVEN ? 0 : given;
	return CLI_OK;
}

static int plan_flight(struct cli *cli, const struct record_arguments *arguments,
		       struct record_options *options)
{
	bool has_flight;
	int code;

	if (arguments->flight_ns != RECORD_NOT_GIVEN &&
	    arguments->pre_roll_ns != RECORD_NOT_GIVEN &&
	    arguments->flight_ns != arguments->pre_roll_ns)
		return cli_usage(cli, "--flight and --pre-roll are two names for the same time, "
				      "and two times were given");
	code = plan_number(cli, "flight", arguments->flight_ns, &options->flight_ns);
	if (code == CLI_OK && !options->flight_ns)
		code = plan_number(cli, "pre-roll", arguments->pre_roll_ns, &options->flight_ns);
	if (code == CLI_OK)
		code = plan_number(cli, "flight-size", arguments->flight_size,
				   &options->flight_size);
	if (code != CLI_OK)
		return code;
	has_flight = options->flight_ns || options->flight_size;
	if (arguments->post_roll_ns != RECORD_NOT_GIVEN && !has_flight)
		return cli_usage(cli, "--post-roll goes on after a dump, which needs --flight, "
				      "--pre-roll or --flight-size");
	options->post_roll_ns =
		arguments->post_roll_ns == RECORD_NOT_GIVEN ? 0 : arguments->post_roll_ns;
	return CLI_OK;
}

/* --stack-bytes asks for details, unless a trigger switches them on later. */
static int plan_detail(struct cli *cli, const struct record_arguments *arguments,
		       struct record_plan *plan)
{
	bool has_stack = arguments->stack_bytes != RECORD_NOT_GIVEN;
	bool later = record_plan_has_action(plan, TRIGGER_DETAIL_ON);

	if (has_stack && arguments->stack_bytes > STACK_BYTES_MAX)
		return cli_usage(cli, "--stack-bytes: %llu is too large, at most %d are kept",
				 (unsigned long long)arguments->stack_bytes, STACK_BYTES_MAX);
	if (has_stack && arguments->stack_bytes && arguments->detail == RECORD_DETAIL_NONE &&
	    !later)
		return cli_usage(cli, "--stack-bytes is part of the details, and --detail=none "
				      "says that there are none");
	plan->options.stack_bytes = has_stack ? (uint32_t)arguments->stack_bytes : 0;
	plan->options.detail =
		arguments->detail == RECORD_DETAIL_ALL ||
		(arguments->detail == RECORD_DETAIL_NOT_GIVEN && has_stack && !later);
	if (record_plan_has_action(plan, TRIGGER_DETAIL_OFF) && !plan->options.detail && !later)
		return cli_usage(cli, "a trigger with ':nodetail' ends what --detail begins, and "
				      "there is no --detail");
	return CLI_OK;
}

static int plan_ring(struct cli *cli, uint64_t asked, struct record_options *options)
{
	uint64_t size = RING_SIZE_MIN;

	if (asked == RECORD_NOT_GIVEN)
		return CLI_OK;
	if (asked < RING_SIZE_MIN)
		return cli_usage(cli, "--ring-size: at least 64K are needed for each thread");
	if (asked > RING_SIZE_MAX)
		return cli_usage(cli, "--ring-size: at most 1G is taken for each thread");
	while (size < asked)
		size *= 2;
	options->ring_size = size;
	return CLI_OK;
}

static int plan_limits(struct cli *cli, const struct record_arguments *arguments,
		       struct record_options *options)
{
	uint64_t depth = 0;
	int code = plan_number(cli, "depth", arguments->depth, &depth);

	if (code == CLI_OK && depth > UINT32_MAX)
		code = cli_usage(cli, "--depth: %llu is too large", (unsigned long long)depth);
	options->max_depth = (uint32_t)depth;
	if (code == CLI_OK)
		code = plan_number(cli, "duration", arguments->duration_ns, &options->duration_ns);
	if (code == CLI_OK)
		code = plan_ring(cli, arguments->ring_size, options);
	return code;
}

/* "app.atf" after the program's name; "app-2.atf", "app-3.atf" where that is taken. */
static char *choose_output(const char *program, const char *suffix, bool replace)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	char *output = NULL;
	unsigned int i;

	for (i = 1; i <= NAMES_MAX; i++) {
		struct sonde_buffer text = { 0 };

		sonde_buffer_put_text(&text, *name ? name : "program");
		if (i > 1)
			sonde_buffer_put_format(&text, "-%u", i);
		sonde_buffer_put_text(&text, suffix);
		output = sonde_buffer_text(&text) ? strdup(text.data) : NULL;
		sonde_buffer_release(&text);
		if (!output || replace || access(output, F_OK) != 0)
			break;
		free(output);
		output = NULL;
	}
	return output;
}

/* The format that is asked for, or that the name of the output says; NULL: the usual one. */
static int plan_format(struct cli *cli, const struct record_arguments *arguments,
		       const struct sonde_format_info **info)
{
	const struct sonde_format *format = NULL;

	if (arguments->format)
		format = sonde_format_by_name(arguments->format);
	else if (arguments->target.output)
		format = sonde_format_by_suffix(arguments->target.output);
	*info = format ? sonde_format_info(format) : NULL;
	if (*info && !strcmp((*info)->name, "atf"))
		*info = NULL;
	if (*info && !(*info)->lanes_written)
		return cli_usage(cli,
				 "-t: format %s is read, not written ('sonde formats' lists them)",
				 (*info)->name);
	return CLI_OK;
}

/* The session of a recording that becomes another format: beside it, under a name that is free. */
static char *choose_session(const char *target)
{
	for (unsigned int i = 1; i <= NAMES_MAX; i++) {
		struct sonde_buffer text = { 0 };
		char *path = NULL;

		sonde_buffer_put_text(&text, target);
		if (i > 1)
			sonde_buffer_put_format(&text, "-%u", i);
		sonde_buffer_put_text(&text, ".atf");
		if (sonde_buffer_text(&text))
			path = strdup(text.data);
		sonde_buffer_release(&text);
		if (!path || access(path, F_OK) != 0)
			return path;
		free(path);
	}
	return NULL;
}

static int plan_output(struct cli *cli, const struct record_arguments *arguments,
		       struct record_plan *plan)
{
	const struct sonde_format_info *info;
	const char *output = arguments->target.output;
	bool force = arguments->target.force;
	int code = plan_format(cli, arguments, &info);

	if (code != CLI_OK)
		return code;
	if (output && !cli_target_is_free(&arguments->target)) {
		cli_error(cli, "%s: exists already", output);
		cli_hint(cli, "--force replaces it; without -o a free name is chosen");
		return CLI_FAILED;
	}
	if (!output) {
		plan->output = choose_output(cli->operands[0],
					     info && info->suffix ? info->suffix : ".atf", force);
		output = plan->output;
	}
	plan->options.output = output;
	plan->options.replace = force;
	if (!output)
		return cli_fail_nomem(cli);
	if (!info)
		return CLI_OK;
	plan->format = info->name;
	plan->target = output;
	plan->replace_target = force;
	plan->session = choose_session(output);
	plan->options.output = plan->session;
	plan->options.replace = false;
	return plan->session ? CLI_OK : cli_fail_nomem(cli);
}

int record_plan_make(struct cli *cli, const struct record_arguments *arguments,
		     struct record_plan *plan)
{
	struct record_options *options = &plan->options;
	int code;

	options->argv = (const char *const *)cli->operands;
	options->folder = arguments->folder;
	options->min_time_ns = arguments->min_time_ns;
	options->on_full = (enum shared_on_full)arguments->on_full;
	options->follow = arguments->follow;
	options->closed_files = cli->closed_files;
	code = plan_lists(cli, arguments, plan);
	if (code == CLI_OK)
		code = plan_limits(cli, arguments, options);
	if (code == CLI_OK)
		code = plan_flight(cli, arguments, options);
	if (code == CLI_OK)
		code = record_plan_triggers(cli, arguments, plan);
	if (code == CLI_OK)
		code = plan_detail(cli, arguments, plan);
	if (code == CLI_OK)
		code = plan_output(cli, arguments, plan);
	options->start_paused = arguments->notrace ||
				record_plan_has_action(plan, TRIGGER_RECORD_ON);
	if (code == CLI_OK) {
		plan->runtime = cli_runtime_find(cli, CLI_RUNTIME_SHARED);
		options->runtime = plan->runtime;
		code = plan->runtime ? CLI_OK : CLI_FAILED;
	}
	return code;
}

void record_plan_release(struct record_plan *plan)
{
	size_t i;

	for (i = 0; i < sizeof(plan->lists) / sizeof(plan->lists[0]); i++)
		free(plan->lists[i]);
	sonde_vec_release(&plan->triggers);
	for (i = 0; i < plan->texts.count; i++)
		free(plan->texts.items[i]);
	sonde_vec_release(&plan->texts);
	free(plan->output);
	free(plan->session);
	free(plan->runtime);
}
