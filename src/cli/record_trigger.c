/* SPDX-License-Identifier: Apache-2.0 */
/* --trigger WHEN[:ACTION]: what the words mean, and which of them go together. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/quantity.h"
#include "cli/record_plan.h"
#include "cli/suggest.h"

static const char *const action_names[] = {
	[TRIGGER_RECORD_ON] = "on",	[TRIGGER_RECORD_OFF] = "off",
	[TRIGGER_DETAIL_ON] = "detail", [TRIGGER_DETAIL_OFF] = "nodetail",
	[TRIGGER_DUMP] = "dump",
};

#define ACTION_COUNT (sizeof(action_names) / sizeof(action_names[0]))

const char *record_signal_name(int number, char space[RECORD_SIGNAL_SIZE])
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(space, RECORD_SIGNAL_SIZE, "SIG%s", name);
	else
		snprintf(space, RECORD_SIGNAL_SIZE, "signal %d", number);
	return space;
}

/* "USR1", "SIGUSR1", "sigusr1" or "10"; 0 where it is no signal. */
static int parse_signal(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text && !*end)
		return number > 0 && number <= SIGRTMAX ? (int)number : 0;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (number = 1; number <= SIGRTMAX; number++) {
		const char *name = sigabbrev_np((int)number);

		if (name && !strcasecmp(name, text))
			return (int)number;
	}
	return 0;
}

/* Signals that tell of a fault of our own, that nobody can catch, or that come all the time. */
static bool can_be_sent(int number)
{
	static const int refused[] = { SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS,
				       SIGILL,	SIGFPE,	 SIGTRAP, SIGSYS };
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i] == number)
			return false;
	return true;
}

/* One --trigger being read. */
struct reading {
	struct cli *cli;
	const char *text;   /* as it was given */
	char *when;	    /* what is before the action */
	const char *action; /* NULL: none was given */
	struct record_trigger *trigger;
};

/* The action stands behind a single colon; two belong to a name of C++. */
static void split_action(struct reading *reading)
{
	char *colon = strrchr(reading->when, ':');

	if (!colon || (colon > reading->when && colon[-1] == ':'))
		return;
	*colon = '\0';
	reading->action = colon + 1;
}

static int read_action(struct reading *reading, bool has_flight)
{
	struct cli_suggestion suggestion;
	size_t i;

	if (!reading->action) {
		reading->trigger->action = has_flight ? TRIGGER_DUMP : TRIGGER_RECORD_ON;
		return CLI_OK;
	}
	suggestion = cli_suggestion_for(reading->action);
	for (i = 0; i < ACTION_COUNT; i++) {
		if (!strcmp(reading->action, action_names[i])) {
			reading->trigger->action = (enum record_trigger_action)i;
			return CLI_OK;
		}
		cli_suggestion_consider(&suggestion, action_names[i]);
	}
	if (suggestion.best)
		return cli_usage(reading->cli,
				 "--trigger %s: unknown action '%s'. Did you mean '%s'?",
				 reading->text, reading->action, suggestion.best);
	return cli_usage(reading->cli,
			 "--trigger %s: unknown action '%s', expected on, off, detail, nodetail or "
			 "dump",
			 reading->text, reading->action);
}

static int read_signal(struct reading *reading, const char *value)
{
	int number = parse_signal(value);

	if (!number)
		return cli_usage(reading->cli,
				 "--trigger %s: '%s' is no signal; one is written like USR1, "
				 "SIGUSR1 or 10",
				 reading->text, value);
	if (!can_be_sent(number))
		return cli_usage(reading->cli,
				 "--trigger %s: this signal cannot be waited for; SIGUSR1 and "
				 "SIGUSR2 are made for it",
				 reading->text);
	reading->trigger->kind = TRIGGER_SIGNAL;
	reading->trigger->signal = number;
	return CLI_OK;
}

static int read_time(struct reading *reading, const char *value)
{
	const char *fault = cli_duration_parse(value, &reading->trigger->time_ns);

	reading->trigger->kind = TRIGGER_TIME;
	return fault ? cli_usage(reading->cli, "--trigger %s: '%s' %s", reading->text, value,
				 fault) :
		       CLI_OK;
}

static int read_when(struct reading *reading)
{
	const char *equals = strchrnul(reading->when, '=');
	size_t length = (size_t)(equals - reading->when);
	const char *value = *equals ? equals + 1 : "";

	if (!strcmp(reading->when, "crash")) {
		reading->trigger->kind = TRIGGER_CRASH;
		return CLI_OK;
	}
	if (*value && length == 6 && !strncmp(reading->when, "symbol", length)) {
		reading->trigger->kind = TRIGGER_SYMBOL;
		reading->trigger->symbol = value;
		return CLI_OK;
	}
	if (*value && length == 6 && !strncmp(reading->when, "signal", length))
		return read_signal(reading, value);
	if (*value && length == 4 && !strncmp(reading->when, "time", length))
		return read_time(reading, value);
	return cli_usage(reading->cli,
			 "--trigger %s: expected symbol=GLOB, signal=SIG, time=T or crash, and "
			 "perhaps an action like ':dump' behind it",
			 reading->text);
}

static int check_trigger(const struct reading *reading, bool has_flight)
{
	bool dumps = reading->trigger->action == TRIGGER_DUMP;

	if (dumps && !has_flight)
		return cli_usage(reading->cli,
				 "--trigger %s: there is nothing to dump without --flight or "
				 "--flight-size: everything is written anyway",
				 reading->text);
	if (reading->trigger->kind != TRIGGER_CRASH)
		return CLI_OK;
	if (!has_flight)
		return cli_usage(reading->cli,
				 "--trigger %s: a crash can only dump, which needs --flight or "
				 "--flight-size; without them everything is written anyway",
				 reading->text);
	if (!dumps)
		return cli_usage(reading->cli, "--trigger %s: after a crash only 'dump' is left",
				 reading->text);
	return CLI_OK;
}

bool record_plan_has_action(const struct record_plan *plan, enum record_trigger_action action)
{
	size_t i;

	for (i = 0; i < plan->triggers.count; i++)
		if (plan->triggers.items[i].action == action)
			return true;
	return false;
}

static int plan_trigger(struct cli *cli, const char *text, struct record_plan *plan)
{
	bool has_flight = plan->options.flight_ns || plan->options.flight_size;
	struct reading reading = { .cli = cli, .text = text, .when = strdup(text) };
	int code;

	if (!reading.when || !sonde_vec_reserve(&plan->texts, 1)) {
		free(reading.when);
		return cli_fail_nomem(cli);
	}
	plan->texts.items[plan->texts.count++] = reading.when;
	reading.trigger = sonde_vec_push(&plan->triggers);
	if (!reading.trigger)
		return cli_fail_nomem(cli);
	*reading.trigger = (struct record_trigger){ 0 };
	split_action(&reading);
	code = read_when(&reading);
	if (code == CLI_OK)
		code = read_action(&reading, has_flight);
	return code == CLI_OK ? check_trigger(&reading, has_flight) : code;
}

int record_plan_triggers(struct cli *cli, const struct record_arguments *arguments,
			 struct record_plan *plan)
{
	int code = CLI_OK;
	size_t i;

	for (i = 0; i < arguments->triggers.count && code == CLI_OK; i++)
		code = plan_trigger(cli, arguments->triggers.items[i], plan);
	plan->options.triggers = plan->triggers.items;
	plan->options.trigger_count = plan->triggers.count;
	return code;
}
