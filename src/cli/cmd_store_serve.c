/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store serve`: takes in traces over HTTP until it is told to stop. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_write.h"
#include "serve/serve.h"

#define MOST_TOKEN 4096

struct serve_options {
	struct cli_common common;
	const char *listen;
	const char *token_file;
	uint64_t max_body, max_unpacked, max_in_flight, max_connections, rate;
	uint64_t request_timeout_ns, idle_timeout_ns;
};

static const struct serve_options serve_defaults = {
	.listen = SERVE_DEFAULT_ADDRESS,
	.max_body = 16u << 20,
	.max_unpacked = 32u << 20,
	.max_in_flight = 128u << 20,
	.max_connections = 256,
	.request_timeout_ns = UINT64_C(10000000000),
	.idle_timeout_ns = UINT64_C(60000000000),
};

static const struct cli_option serve_own_options[] = {
	{ .name = "listen",
	  .argument = "ADDRESS",
	  .kind = CLI_TEXT,
	  .help = "where to listen, as 127.0.0.1:4318 (if not given) or [::1]:4318; port 0 takes a "
		  "free one",
	  .offset = offsetof(struct serve_options, listen) },
	{ .name = "token-file",
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "clients must send the token in this file as 'Authorization: Bearer TOKEN'",
	  .offset = offsetof(struct serve_options, token_file) },
	{ 0 },
};

static const struct cli_option serve_limit_options[] = {
	{ .name = "max-body",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "the largest request as it comes (16M if not given)",
	  .offset = offsetof(struct serve_options, max_body) },
	{ .name = "max-unpacked",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "the largest request when it is unpacked (32M)",
	  .offset = offsetof(struct serve_options, max_unpacked) },
	{ .name = "max-in-flight",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "memory for requests that are coming in (128M); beyond it, 429",
	  .offset = offsetof(struct serve_options, max_in_flight) },
	{ .name = "max-connections",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "connections at once (256); beyond them, 503",
	  .offset = offsetof(struct serve_options, max_connections) },
	{ .name = "max-rate",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "requests a second; beyond them, 429. 0 (if not given) means any number",
	  .offset = offsetof(struct serve_options, rate) },
	{ .name = "request-timeout",
	  .argument = "TIME",
	  .kind = CLI_SECONDS,
	  .help = "how long a request may take to come in (10s); beyond it, 408",
	  .offset = offsetof(struct serve_options, request_timeout_ns) },
	{ .name = "idle-timeout",
	  .argument = "TIME",
	  .kind = CLI_SECONDS,
	  .help = "how long a connection may stay open without a request (60s)",
	  .offset = offsetof(struct serve_options, idle_timeout_ns) },
	{ 0 },
};

/* The first line of the file; *token is the caller's. */
static int read_token_file(struct cli *cli, const char *path, char **token)
{
	char text[MOST_TOKEN + 1];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = file < 0 ? -1 : read(file, text, MOST_TOKEN);

	if (file >= 0)
		close(file);
	if (size < 0) {
		struct sonde_error err;

		sonde_fail_errno(&err, path, "the token could not be read");
		return cli_fail(cli, &err);
	}
	text[size] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (!text[0] || size == MOST_TOKEN) {
		cli_error(cli, "%s: a token of 1 to %d characters was expected", path,
			  MOST_TOKEN - 1);
		return CLI_FAILED;
	}
	*token = strdup(text);
	return *token ? CLI_OK : cli_fail_nomem(cli);
}

static int find_token(struct cli *cli, const struct serve_options *options, char **token)
{
	const char *given = getenv("SONDE_TOKEN");

	*token = NULL;
	if (options->token_file)
		return read_token_file(cli, options->token_file, token);
	if (!given || !*given)
		return CLI_OK;
	*token = strdup(given);
	return *token ? CLI_OK : cli_fail_nomem(cli);
}

static bool is_nothing_yet(const char *path)
{
	struct sonde_folder folder;
	bool is_empty;

	if (sonde_path_kind(path) == SONDE_PATH_ABSENT)
		return true;
	if (sonde_folder_read(&folder, path, NULL) < 0)
		return false;
	is_empty = !folder.count;
	sonde_folder_release(&folder);
	return is_empty;
}

/* A store that is there, or a new one. */
static int open_store(struct cli *cli, const char *path, struct sonde_store **store)
{
	struct sonde_store_settings settings;
	struct sonde_error err = { 0 };

	if (is_nothing_yet(path)) {
		sonde_store_settings_init(&settings);
		if (sonde_store_init(path, &settings, &err) < 0)
			return cli_store_fail(cli, path, &err);
	}
	return cli_store_open_to_write(cli, path, store);
}

static void put_summary(struct cli *cli, struct serve *serve)
{
	struct sonde_buffer text = { 0 };
	struct serve_counters counters;
	uint64_t requests = 0;

	serve_counters(serve, &counters);
	for (unsigned int i = 0; i < HTTP_STATUSES; i++)
		requests += counters.http.by_status[i];
	cli_put_counted(&text, counters.traces, "trace");
	sonde_buffer_put_text(&text, " with ");
	cli_put_counted(&text, counters.records, "record");
	sonde_buffer_put_text(&text, " from ");
	cli_put_counted(&text, requests, "request");
	sonde_buffer_put_text(&text, ", ");
	cli_put_counted(&text, counters.rejected, "span");
	if (sonde_buffer_text(&text))
		cli_note(cli, "stopped: %s rejected", text.data);
	sonde_buffer_release(&text);
}

static int serve_until_told(struct cli *cli, struct sonde_store *store,
			    const struct serve_settings *settings, const sigset_t *signals)
{
	struct sonde_error err = { 0 };
	struct serve *serve;
	int signal_number;

	if (serve_open(store, settings, &serve, &err) < 0)
		return err.status == SONDE_ARGUMENT ? cli_usage(cli, "%s", err.message) :
						      cli_fail(cli, &err);
	sonde_buffer_put_format(&cli->out, "listening on http://%s\n", serve_address(serve));
	cli_flush(cli);
	while (sigwait(signals, &signal_number))
		continue;
	serve_stop(serve);
	put_summary(cli, serve);
	serve_close(serve);
	return CLI_OK;
}

static int serve_store(struct cli *cli, const struct serve_options *options, const char *token)
{
	const struct serve_settings settings = {
		.listen = options->listen,
		.token = token,
		.limits = { .body_bytes = options->max_body,
			    .unpacked_bytes = options->max_unpacked,
			    .bytes_in_flight = options->max_in_flight,
			    .connections = options->max_connections,
			    .requests_per_second = options->rate,
			    .request_ns = options->request_timeout_ns,
			    .idle_ns = options->idle_timeout_ns },
	};
	struct sonde_error err = { 0 };
	struct sonde_store *store = NULL;
	sigset_t signals;
	int code;

	if (serve_check(&settings, &err) < 0)
		return cli_usage(cli, "%s", err.message);
	/* before any thread is started, so that none of them is interrupted */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	code = open_store(cli, cli->operands[0], &store);
	if (code != CLI_OK)
		return code;
	code = serve_until_told(cli, store, &settings, &signals);
	if (sonde_store_close(store, &err) < 0)
		code = cli_fail(cli, &err);
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const struct serve_options *wanted = options;
	char *token;
	int code;

	if (!wanted->max_body || !wanted->max_unpacked || !wanted->max_in_flight ||
	    !wanted->max_connections || !wanted->request_timeout_ns || !wanted->idle_timeout_ns)
		return cli_usage(cli, "a limit of 0 would refuse everything");
	if (wanted->max_connections > 100000)
		return cli_usage(cli, "--max-connections is at most 100000");
	code = find_token(cli, wanted, &token);
	if (code == CLI_OK)
		code = serve_store(cli, wanted, token);
	free(token);
	return code;
}

const struct cli_command cmd_store_serve = {
	.name = "store serve",
	.summary = "take in traces over HTTP",
	.usage = "sonde store serve [OPTIONS] DIR",
	.description =
		"Listens for traces and puts them into the store: OpenTelemetry (OTLP over HTTP, in "
		"protobuf and JSON, at /v1/traces) and agents of Zorka. A request is answered when "
		"its traces are on the disk. Where they cannot be taken the answer says when to try "
		"again; nothing is dropped in silence.\n"
		"\n"
		"The store is made where there is none, with the settings of 'sonde store init'. One line says where the server listens; "
		"SIGINT and SIGTERM end it, after what is under way.\n"
		"\n"
		"An address that other machines can reach needs a token, in --token-file or in the "
		"environment variable SONDE_TOKEN. There is no encryption: between machines, put a "
		"proxy with TLS before it.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Server", .options = serve_own_options },
			{ .title = "Limits", .options = serve_limit_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ .title = "Paths",
			  .text = "  POST /v1/traces            OTLP traces\n"
				  "  POST /agent/register, /agent/session,\n"
				  "       /agent/submit/agd, /agent/submit/trc,\n"
				  "       /submit/agent          agents of Zorka; rkey is the token\n"
				  "  GET  /health               answers while the server runs\n"
				  "  GET  /metrics              counters, as Prometheus reads them" },
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde store serve traces",
			  "for programs of this machine that send OpenTelemetry to its usual port" },
			{ "sonde store serve traces --listen 0.0.0.0:4318 --token-file token",
			  "for other machines too" },
			{ 0 },
		},
	.options_size = sizeof(struct serve_options),
	.defaults = &serve_defaults,
	.run = run,
};
