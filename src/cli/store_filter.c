/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces are meant: options and expressions to a query. */
#include "cli/store_filter.h"

#include <inttypes.h>

#include "cli/human.h"
#include "cli/store_write.h"
#include "cli/text.h"

#define REPEAT(option, word, member, text)                                                         \
	{                                                                                          \
		.name = option, .argument = word, .kind = CLI_REPEAT, .help = text,                \
		.offset = offsetof(struct cli_store_filter, member)                                \
	}
#define NAME(option, member, text)                                                                 \
	{                                                                                          \
		.name = option, .argument = "NAME", .kind = CLI_TEXT, .help = text,                \
		.offset = offsetof(struct cli_store_filter, member)                                \
	}

const struct cli_option cli_store_filter_options[] = {
	{ .name = "from",
	  .argument = "TIME",
	  .kind = CLI_MOMENT,
	  .help = "traces that began at this moment or later",
	  .offset = offsetof(struct cli_store_filter, from) },
	{ .name = "to",
	  .argument = "TIME",
	  .kind = CLI_MOMENT,
	  .help = "traces that began before this moment",
	  .offset = offsetof(struct cli_store_filter, to) },
	{ .name = "min-duration",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "traces that took at least T",
	  .offset = offsetof(struct cli_store_filter, min_duration) },
	{ .name = "max-duration",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "traces that took at most T",
	  .offset = offsetof(struct cli_store_filter, max_duration) },
	{ .name = "errors",
	  .kind = CLI_FLAG,
	  .help = "traces with an error or exception",
	  .offset = offsetof(struct cli_store_filter, errors) },
	NAME("type", type, "traces of this type (http, sql, server, ...)"),
	NAME("service", service, "of this service: attribute service.name, or the app"),
	NAME("host", host, "of this host: attribute host.name, or the host"),
	NAME("app", app, "of this application"),
	NAME("env", env, "of this environment: attribute deployment.environment, or the env"),
	REPEAT("method", "NAME", methods,
	       "with a call of this method: class.method or method; * at either end stands for "
	       "anything"),
	REPEAT("exception", "TEXT", exceptions,
	       "with an exception whose class or message has TEXT"),
	REPEAT("text", "TEXT", texts, "with TEXT anywhere in any text"),
	REPEAT("prefix", "TEXT", prefixes, "with a text that begins with TEXT"),
	REPEAT("where", "CONDITION", conditions, "that fulfil the condition"),
	{ .name = "shallow",
	  .kind = CLI_FLAG,
	  .help = "look only at the first record of a trace, not at the calls in it",
	  .offset = offsetof(struct cli_store_filter, shallow) },
	{ 0 },
};

const char cli_condition_text[] =
	"Options and conditions must all be fulfilled. A CONDITION is put together with and, or, "
	"not and parentheses; conditions beside each other are joined by and.\n"
	"\n"
	"  STATUS=500         an attribute with this value, in any record\n"
	"  URI=/api/*         that begins so; *x ends so, *x* has it, * alone: is there\n"
	"  URI~items          that has the text\n"
	"  STATUS>=500        compared as a number: < <= > >=\n"
	"  STATUS!=200        the same as not STATUS=200\n"
	"  timeout            a text that is anywhere in the trace\n"
	"  \"order failed\"     the same, with a space in it; quotes take * as it is\n"
	"  exception=IOException  class (with or without package) or message\n"
	"  method=Dao.find*   class.method, or the method alone\n"
	"  duration>100ms     of the whole trace\n"
	"  errors>0  calls>10  records>5\n"
	"  type=  service=  host=  app=  env=  trace=  span=\n"
	"  @type=x            an attribute whose name is one of the above\n"
	"\n"
	"Upper and lower case differ. Of arrays and maps the texts count, not the numbers.";

int cli_store_open(struct cli *cli, const char *path, struct zts_base **base)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_buffer word = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status;
	int code;

	*base = NULL;
	code = cli_store_expect_folder(cli, path);
	if (code != CLI_OK || !diagnostics) {
		sonde_diagnostics_free(diagnostics);
		return code != CLI_OK ? code : cli_fail_nomem(cli);
	}
	status = zts_base_open(path, diagnostics, base, &err);
	if (status == SONDE_OK && sonde_diagnostics_count(diagnostics, SONDE_ERROR))
		cli_warning(cli, "%s cannot be read completely; 'sonde store check' tells why",
			    path);
	sonde_diagnostics_free(diagnostics);
	if (status == SONDE_OK)
		return CLI_OK;
	if (status == SONDE_FORMAT && err.offset == SONDE_NO_OFFSET) {
		cli_error(cli, "%s: %s", path, err.message);
		cli_hint(cli, "sonde info %s   tells what it is, where it is a recording",
			 cli_shell_word(&word, path));
		sonde_buffer_release(&word);
		return CLI_FAILED;
	}
	sonde_error_set_file(&err, path);
	return cli_fail(cli, &err);
}

void cli_note_nothing_found(struct cli *cli, const struct zts_base *base)
{
	cli_note(cli, base->is_empty ? "the store has no traces yet" : "no trace is like that");
}

int cli_store_read(struct cli *cli,
		   int (*work)(struct cli *cli, const void *options, struct zts_base *base),
		   const void *options)
{
	struct zts_base *base;
	int code = cli_store_open(cli, cli->operands[0], &base);

	if (code != CLI_OK)
		return code;
	code = work(cli, options, base);
	zts_base_free(base);
	return code;
}

void cli_warn_of_unreadable(struct cli *cli, const char *path, uint64_t unreadable)
{
	if (unreadable)
		cli_warning(cli,
			    "%" PRIu64 " trace%s of %s cannot be read, and may be missing here; "
			    "'sonde store check' tells why",
			    unreadable, unreadable == 1 ? "" : "s", path);
}

/* One expression; what is wrong with it is shown at its place. */
static int add_expression(struct cli *cli, const char *expression, struct sonde_query *query)
{
	struct sonde_error err = { 0 };

	if (sonde_query_parse(query, expression, &err) == SONDE_OK)
		return CLI_OK;
	if (err.status != SONDE_ARGUMENT)
		return cli_fail(cli, &err);
	cli_error(cli, "%s", err.message);
	if (err.offset != SONDE_NO_OFFSET)
		cli_show_place(cli, expression, (size_t)err.offset);
	cli_hint(cli, "'sonde %s --help' shows how conditions are written", cli->command->name);
	return CLI_USAGE;
}

static bool add_times(const struct zts_base *base, const struct cli_store_filter *filter,
		      struct sonde_query *query)
{
	struct sonde_bounds span = { 0, 0 };

	if (filter->from.base != CLI_TIME_NOT_GIVEN || filter->to.base != CLI_TIME_NOT_GIVEN)
		span = sonde_base_span(base);
	if (filter->from.base != CLI_TIME_NOT_GIVEN &&
	    sonde_query_add_number(query, SONDE_FIELD_TIME, SONDE_OPERATOR_AT_LEAST,
				   cli_time_resolve(filter->from, span.low, span.high),
				   NULL) != SONDE_OK)
		return false;
	return filter->to.base == CLI_TIME_NOT_GIVEN ||
	       sonde_query_add_number(query, SONDE_FIELD_TIME, SONDE_OPERATOR_LESS,
				      cli_time_resolve(filter->to, span.low, span.high),
				      NULL) == SONDE_OK;
}

static bool add_numbers(const struct cli_store_filter *filter, struct sonde_query *query)
{
	if (filter->min_duration &&
	    sonde_query_add_number(query, SONDE_FIELD_DURATION, SONDE_OPERATOR_AT_LEAST,
				   filter->min_duration, NULL) != SONDE_OK)
		return false;
	if (filter->max_duration &&
	    sonde_query_add_number(query, SONDE_FIELD_DURATION, SONDE_OPERATOR_AT_MOST,
				   filter->max_duration, NULL) != SONDE_OK)
		return false;
	return !filter->errors || sonde_query_add_number(query, SONDE_FIELD_ERRORS,
							 SONDE_OPERATOR_MORE, 0, NULL) == SONDE_OK;
}

static bool add_names(const struct cli_store_filter *filter, struct sonde_query *query)
{
	const struct {
		enum sonde_query_field field;
		const char *name;
	} names[] = {
		{ SONDE_FIELD_TYPE, filter->type }, { SONDE_FIELD_SERVICE, filter->service },
		{ SONDE_FIELD_HOST, filter->host }, { SONDE_FIELD_APP, filter->app },
		{ SONDE_FIELD_ENV, filter->env },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].name &&
		    sonde_query_add(query, names[i].field, names[i].name, NULL) != SONDE_OK)
			return false;
	for (i = 0; i < filter->methods.count; i++)
		if (sonde_query_add(query, SONDE_FIELD_METHOD, filter->methods.items[i], NULL) !=
		    SONDE_OK)
			return false;
	return true;
}

static bool add_list(const struct cli_list *list, enum sonde_query_field field,
		     enum sonde_query_match match, struct sonde_query *query)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (sonde_query_add_match(query, field, match, list->items[i], NULL) != SONDE_OK)
			return false;
	return true;
}

int cli_store_query(struct cli *cli, const struct zts_base *base,
		    const struct cli_store_filter *filter, size_t first, struct sonde_query *query)
{
	int code = CLI_OK;
	size_t i;

	*query = (struct sonde_query){ 0 };
	for (i = first; i < cli->operand_count && code == CLI_OK; i++)
		code = add_expression(cli, cli->operands[i], query);
	for (i = 0; i < filter->conditions.count && code == CLI_OK; i++)
		code = add_expression(cli, filter->conditions.items[i], query);
	if (code != CLI_OK)
		return code;
	if (!add_times(base, filter, query) || !add_numbers(filter, query) ||
	    !add_names(filter, query) ||
	    !add_list(&filter->exceptions, SONDE_FIELD_EXCEPTION, SONDE_MATCH_SUBSTRING, query) ||
	    !add_list(&filter->texts, SONDE_FIELD_ANY_TEXT, SONDE_MATCH_SUBSTRING, query) ||
	    !add_list(&filter->prefixes, SONDE_FIELD_ANY_TEXT, SONDE_MATCH_PREFIX, query))
		return cli_fail_nomem(cli);
	return CLI_OK;
}
