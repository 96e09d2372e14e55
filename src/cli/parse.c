/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments to options, after the tables of a command. Abbreviated names are not taken. */
#include "cli/parse.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/format.h>

#include "base/vec.h"
#include "cli/moment.h"
#include "cli/quantity.h"
#include "cli/suggest.h"

/* An option found in the tables, and where its value goes. */
struct found_option {
	const struct cli_option *option;
	void *place;
};

/* What is left of a command line. */
struct parser {
	struct cli *cli;
	void *options;
	char **next;
};

static bool find_option(const struct parser *parser, const char *name, size_t length,
			char short_name, struct found_option *found)
{
	const struct cli_option_group *group;
	const struct cli_option *option;

	for (group = parser->cli->command->options; group->options; group++) {
		for (option = group->options; option->name; option++) {
			if (name ? strlen(option->name) != length ||
					    strncmp(option->name, name, length) != 0 :
				   option->short_name != short_name)
				continue;
			found->option = option;
			found->place = (char *)parser->options + group->base + option->offset;
			return true;
		}
	}
	return false;
}

static int unknown_option(struct parser *parser, const char *name, size_t length)
{
	const struct cli_command *command = parser->cli->command;
	const struct cli_option_group *group;
	const struct cli_option *option;
	char typed[64];
	struct cli_suggestion suggestion;

	if (length >= sizeof(typed))
		length = sizeof(typed) - 1;
	memcpy(typed, name, length);
	typed[length] = '\0';
	suggestion = cli_suggestion_for(typed);
	for (group = command->options; group->options; group++)
		for (option = group->options; option->name && !group->hidden; option++)
			cli_suggestion_consider(&suggestion, option->name);
	if (suggestion.best)
		return cli_usage(parser->cli,
				 "unknown option '--%s' for '%s'. Did you mean '--%s'?", typed,
				 command->name, suggestion.best);
	return cli_usage(parser->cli, "unknown option '--%s' for '%s'", typed, command->name);
}

static int parse_number(struct cli *cli, const struct cli_option *option, const char *text,
			uint64_t *value)
{
	const char *digit;

	*value = 0;
	for (digit = text; *digit >= '0' && *digit <= '9'; digit++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *digit - '0', value))
			return cli_usage(cli, "--%s: '%s' is too large", option->name, text);
	if (digit == text || *digit)
		return cli_usage(cli, "--%s: '%s' is not a whole number", option->name, text);
	return CLI_OK;
}

static int parse_time(struct cli *cli, const struct cli_option *option, const char *text,
		      struct cli_time *time)
{
	const char *fault = option->kind == CLI_MOMENT ? cli_moment_parse(text, time) :
							 cli_time_parse(text, time);

	return fault ? cli_usage(cli, "--%s: '%s' %s", option->name, text, fault) : CLI_OK;
}

/* A duration or a size: `parse` says what is wrong with the text. */
static int parse_quantity(struct cli *cli, const struct cli_option *option, const char *text,
			  const char *(*parse)(const char *, uint64_t *), uint64_t *value)
{
	const char *fault = parse(text, value);

	return fault ? cli_usage(cli, "--%s: '%s' %s", option->name, text, fault) : CLI_OK;
}

static int parse_percent(struct cli *cli, const struct cli_option *option, const char *text,
			 double *share)
{
	const char *fault = cli_percent_parse(text, share);

	return fault ? cli_usage(cli, "--%s: '%s' %s", option->name, text, fault) : CLI_OK;
}

static int parse_format(struct cli *cli, const struct cli_option *option, const char *text,
			const char **format)
{
	struct cli_suggestion suggestion = cli_suggestion_for(text);
	size_t i;

	*format = text;
	if (sonde_format_by_name(text))
		return CLI_OK;
	for (i = 0; i < sonde_format_count(); i++)
		cli_suggestion_consider(&suggestion, sonde_format_info(sonde_format_at(i))->name);
	if (suggestion.best)
		cli_error(cli, "--%s: unknown format '%s'. Did you mean '%s'?", option->name, text,
			  suggestion.best);
	else
		cli_error(cli, "--%s: unknown format '%s'", option->name, text);
	cli_hint(cli, "'sonde formats' lists them");
	return CLI_USAGE;
}

static int unknown_choice(struct cli *cli, const struct cli_option *option, const char *text)
{
	struct cli_suggestion suggestion = cli_suggestion_for(text);
	const struct cli_choice *choice;
	struct sonde_buffer names = { 0 };
	const char *list;
	int code;

	for (choice = option->choices; choice->name; choice++) {
		cli_suggestion_consider(&suggestion, choice->name);
		if (choice > option->choices)
			sonde_buffer_put_text(&names, choice[1].name ? ", " : " or ");
		sonde_buffer_put_text(&names, choice->name);
	}
	list = sonde_buffer_text(&names);
	code = suggestion.best ? cli_usage(cli, "--%s: unknown word '%s'. Did you mean '%s'?",
					   option->name, text, suggestion.best) :
				 cli_usage(cli, "--%s: unknown word '%s', expected %s",
					   option->name, text, list ? list : "another one");
	sonde_buffer_release(&names);
	return code;
}

static int parse_choice(struct cli *cli, const struct cli_option *option, const char *text,
			unsigned int *position)
{
	for (*position = 0; option->choices[*position].name; ++*position)
		if (!strcmp(option->choices[*position].name, text))
			return CLI_OK;
	return unknown_choice(cli, option, text);
}

static int add_to_list(struct cli *cli, struct cli_list *list, const char *text)
{
	if (!sonde_vec_reserve(list, 1))
		return cli_fail_nomem(cli);
	list->items[list->count++] = text;
	return CLI_OK;
}

/* Calls `part` for each piece between commas of a copy that stays in the list. */
static int split_list(struct cli *cli, const struct cli_option *option, const char *text,
		      struct cli_list *list)
{
	char *copy = strdup(text), *piece, *rest = copy;
	int code = CLI_OK;

	if (!copy || !sonde_vec_grow(&list->space, &list->space_capacity, list->space_count, 1,
				     sizeof(*list->space))) {
		free(copy);
		return cli_fail_nomem(cli);
	}
	list->space[list->space_count++] = copy;
	while (code == CLI_OK && (piece = strsep(&rest, ",")))
		code = *piece ? add_to_list(cli, list, piece) :
				cli_usage(cli, "--%s: an empty word in '%s'", option->name, text);
	return code;
}

static void release_list(struct cli_list *list)
{
	size_t i;

	for (i = 0; i < list->space_count; i++)
		free(list->space[i]);
	free(list->space);
	free(list->items);
}

static int parse_choice_set(struct cli *cli, const struct cli_option *option, const char *text,
			    unsigned int *set)
{
	struct cli_list words = { 0 };
	int code = split_list(cli, option, text, &words);
	size_t i;

	for (i = 0; i < words.count && code == CLI_OK; i++) {
		unsigned int position;

		code = parse_choice(cli, option, words.items[i], &position);
		if (code == CLI_OK)
			*set |= 1u << position;
	}
	release_list(&words);
	return code;
}

static int set_value(struct cli *cli, const struct found_option *found, const char *text)
{
	const struct cli_option *option = found->option;

	switch (option->kind) {
	case CLI_FLAG:
		*(bool *)found->place = true;
		return CLI_OK;
	case CLI_FLAG_OFF:
		*(bool *)found->place = false;
		return CLI_OK;
	case CLI_NUMBER:
		return parse_number(cli, option, text, found->place);
	case CLI_TIME:
	case CLI_MOMENT:
		return parse_time(cli, option, text, found->place);
	case CLI_DURATION:
		return parse_quantity(cli, option, text, cli_duration_parse, found->place);
	case CLI_SECONDS:
		return parse_quantity(cli, option, text, cli_seconds_parse, found->place);
	case CLI_SIZE:
		return parse_quantity(cli, option, text, cli_size_parse, found->place);
	case CLI_PERCENT:
		return parse_percent(cli, option, text, found->place);
	case CLI_TEXT:
		*(const char **)found->place = text;
		return CLI_OK;
	case CLI_PATH:
		*(const char **)found->place = text;
		return *text ? CLI_OK : cli_usage(cli, "--%s: the name is empty", option->name);
	case CLI_FORMAT:
		return parse_format(cli, option, text, found->place);
	case CLI_CHOICE:
		return parse_choice(cli, option, text, found->place);
	case CLI_CHOICE_SET:
		return parse_choice_set(cli, option, text, found->place);
	case CLI_LIST:
		return split_list(cli, option, text, found->place);
	case CLI_REPEAT:
		return add_to_list(cli, found->place, text);
	}
	return CLI_OK;
}

/* "--name", "--name=value" or "--name value"; the last not where the value may be left out. */
static int parse_long(struct parser *parser, const char *name)
{
	const char *equals = strchrnul(name, '=');
	const char *value = *equals ? equals + 1 : NULL;
	struct found_option found;

	if (!find_option(parser, name, (size_t)(equals - name), 0, &found))
		return unknown_option(parser, name, (size_t)(equals - name));
	if (!cli_takes_argument(found.option) && value)
		return cli_usage(parser->cli, "--%s takes no value", found.option->name);
	if (!value)
		value = found.option->implied;
	if (cli_takes_argument(found.option) && !value)
		value = *parser->next ? *parser->next++ : NULL;
	if (cli_takes_argument(found.option) && !value)
		return cli_usage(parser->cli, "--%s needs a value: %s", found.option->name,
				 found.option->argument);
	return set_value(parser->cli, &found, value);
}

/* "-qv", "-ovalue" or "-o value". */
static int parse_short(struct parser *parser, const char *letters)
{
	struct found_option found;
	int code = CLI_OK;

	for (; *letters && code == CLI_OK; letters++) {
		const char *value;

		if (!find_option(parser, NULL, 0, *letters, &found))
			return cli_usage(parser->cli, "unknown option '-%c' for '%s'", *letters,
					 parser->cli->command->name);
		if (!cli_takes_argument(found.option)) {
			code = set_value(parser->cli, &found, NULL);
			continue;
		}
		value = letters[1] ? letters + 1 : found.option->implied;
		if (!value)
			value = *parser->next ? *parser->next++ : NULL;
		if (!value)
			return cli_usage(parser->cli, "-%c needs a value: %s", *letters,
					 found.option->argument);
		return set_value(parser->cli, &found, value);
	}
	return code;
}

static int check_operand_count(struct cli *cli)
{
	const struct cli_operands *operands = &cli->command->operands;

	if (cli->operand_count < operands->at_least) {
		if (operands->at_least > 1)
			return cli_usage(cli, "'%s' needs at least %zu of %s", cli->command->name,
					 operands->at_least, operands->name);
		return cli_usage(cli, "'%s' needs a %s", cli->command->name, operands->name);
	}
	if (cli->operand_count > operands->at_most)
		return cli_usage(cli, "'%s' is one argument too many for '%s'",
				 cli->operands[operands->at_most], cli->command->name);
	return CLI_OK;
}

static size_t count_arguments(char **arguments)
{
	size_t count = 0;

	while (arguments[count])
		count++;
	return count;
}

int cli_parse(struct cli *cli, void *options, char **arguments)
{
	const struct cli_command *command = cli->command;
	struct parser parser = { .cli = cli, .options = options, .next = arguments };
	struct cli_common *common = options;
	bool only_operands = false;
	int code = CLI_OK;

	if (command->defaults)
		memcpy(options, command->defaults, command->options_size);
	else
		memset(options, 0, command->options_size);
	cli->operands = calloc(count_arguments(arguments) + 1, sizeof(*cli->operands));
	if (!cli->operands)
		return cli_fail_nomem(cli);
	while (*parser.next && code == CLI_OK && !common->help) {
		char *argument = *parser.next++;

		bool is_separator = !strcmp(argument, "--");

		if (only_operands || argument[0] != '-' || !argument[1] ||
		    (is_separator && command->operands.keeps_separator)) {
			cli->operands[cli->operand_count++] = argument;
			only_operands |= command->operands.kind == CLI_OPERAND_PROGRAM;
		} else if (is_separator) {
			only_operands = true;
		} else if (argument[1] == '-') {
			code = parse_long(&parser, argument + 2);
		} else {
			code = parse_short(&parser, argument + 1);
		}
	}
	if (code == CLI_OK && !common->help)
		code = check_operand_count(cli);
	return code;
}

void cli_parse_release(const struct cli_command *command, void *options)
{
	const struct cli_option_group *group;
	const struct cli_option *option;

	for (group = command->options; group->options; group++)
		for (option = group->options; option->name; option++)
			if (option->kind == CLI_LIST || option->kind == CLI_REPEAT)
				release_list(
					(void *)((char *)options + group->base + option->offset));
}
