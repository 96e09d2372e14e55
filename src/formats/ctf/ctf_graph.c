/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of libbabeltrace2: a source for each trace, a muxer, and a sink that is ours. */
#include "formats/ctf/ctf_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"

#define METADATA "metadata"
#define PACKET_MAGIC 0x75D11D57u
#define TEXT_MAGIC "/* CTF 1."
#define DEEPEST 8 /* folders in folders that are looked at */
#define MOST_FOLDERS 1000

bool ctf_is_trace(const char *path)
{
	char *file = sonde_path_join(path, METADATA);
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	uint8_t head[sizeof(TEXT_MAGIC) - 1];
	bool is_trace = false;

	free(file);
	if (fd < 0)
		return false;
	if (pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head))
		is_trace = sonde_load_u32le(head) == PACKET_MAGIC ||
			   sonde_load_u32be(head) == PACKET_MAGIC ||
			   !memcmp(head, TEXT_MAGIC, sizeof(head));
	close(fd);
	return is_trace;
}

void ctf_traces_release(struct ctf_traces *traces)
{
	for (size_t i = 0; i < traces->paths.count; i++)
		free(traces->paths.items[i]);
	sonde_vec_release(&traces->paths);
}

/* What LTTng calls the folders of a session. */
static bool is_of_session(const char *name)
{
	return !strcmp(name, "ust") || !strcmp(name, "kernel") || !strcmp(name, "archives") ||
	       !strncmp(name, "snapshot-", strlen("snapshot-"));
}

static enum sonde_status find_below(struct ctf_traces *traces, const char *path, unsigned int depth,
				    struct sonde_error *err);

static enum sonde_status find_in_folder(struct ctf_traces *traces, const char *path,
					unsigned int depth, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, path, err);

	if (status)
		return status;
	for (size_t i = 0; !status && i < folder.count; i++) {
		char *below = sonde_path_join(path, folder.names[i]);

		if (!below)
			status = sonde_fail_nomem(err);
		else if (sonde_path_kind(below) == SONDE_PATH_FOLDER &&
			 (depth || is_of_session(folder.names[i]) || ctf_is_trace(below)))
			status = find_below(traces, below, depth + 1, err);
		free(below);
	}
	sonde_folder_release(&folder);
	return status;
}

static enum sonde_status find_below(struct ctf_traces *traces, const char *path, unsigned int depth,
				    struct sonde_error *err)
{
	char **place;

	if (traces->visited++ == MOST_FOLDERS)
		return sonde_fail(
			err, SONDE_FORMAT, SONDE_NO_OFFSET,
			"a session of traces was expected, found more than %d folders; name "
			"the one with the file \"metadata\"",
			MOST_FOLDERS);
	if (!ctf_is_trace(path))
		return depth < DEEPEST ? find_in_folder(traces, path, depth, err) : SONDE_OK;
	place = sonde_vec_push(&traces->paths);
	if (!place)
		return sonde_fail_nomem(err);
	*place = strdup(path);
	if (*place)
		return SONDE_OK;
	traces->paths.count--;
	return sonde_fail_nomem(err);
}

enum sonde_status ctf_traces_find(struct ctf_traces *traces, const char *path,
				  struct sonde_error *err)
{
	return find_below(traces, path, 0, err);
}

/* --- the graph --- */

struct run {
	ctf_take *take;
	void *user;
	struct sonde_error *err;
	enum sonde_status status; /* of `take` */
	bt_graph *graph;
	const bt_component_filter *muxer;
	uint64_t ports; /* of the muxer, connected */
};

/* The innermost cause that the library gives, in its words. */
static enum sonde_status fail_by_library(struct run *run, const char *what)
{
	const bt_error *error = bt.current_thread_take_error();
	const char *words = "";

	if (error && bt.error_get_cause_count(error))
		words = bt.error_cause_get_message(bt.error_borrow_cause_by_index(error, 0));
	sonde_fail(run->err, SONDE_CORRUPT, SONDE_NO_OFFSET, "%s: %.180s", what,
		   *words ? words : "libbabeltrace2 does not say why");
	if (error)
		bt.error_release(error);
	return SONDE_CORRUPT;
}

static bt_graph_simple_sink_component_initialize_func_status start(bt_message_iterator *messages,
								   void *user)
{
	(void)messages;
	(void)user;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *messages,
								  void *user)
{
	struct run *run = user;
	bt_message_array_const batch;
	uint64_t count;
	bt_message_iterator_next_status got = bt.message_iterator_next(messages, &batch, &count);

	if (got == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	if (got == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	if (got != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	for (uint64_t i = 0; i < count; i++) {
		if (!run->status)
			run->status = run->take(run->user, batch[i], run->err);
		bt.message_put_ref(batch[i]);
	}
	return run->status ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END :
			     BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static void stop(void *user)
{
	(void)user;
}

static const bt_plugin *find_plugin(const char *name)
{
	const bt_plugin *plugin = NULL;

	if (bt.plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	return plugin;
}

static enum sonde_status connect_ports(struct run *run, const bt_component_source *source)
{
	uint64_t count = bt.component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < count; i++) {
		const bt_port_output *out =
			bt.component_source_borrow_output_port_by_index_const(source, i);
		const bt_port_input *in = bt.component_filter_borrow_input_port_by_index_const(
			run->muxer, run->ports++);

		if (bt.graph_connect_ports(run->graph, out, in, NULL) !=
		    BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return fail_by_library(run, "its streams cannot be read");
	}
	return SONDE_OK;
}

static enum sonde_status add_source(struct run *run, const bt_component_class_source *class,
				    const char *path, size_t number)
{
	bt_value *parameters = bt.value_map_create(), *inputs = NULL;
	const bt_component_source *source = NULL;
	enum sonde_status status = SONDE_OK;
	char name[32];

	snprintf(name, sizeof(name), "trace %zu", number);
	if (!parameters ||
	    bt.value_map_insert_empty_array_entry(parameters, "inputs", &inputs) !=
		    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
	    bt.value_array_append_string_element(inputs, path) !=
		    BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK)
		status = sonde_fail_nomem(run->err);
	else if (bt.graph_add_source_component(run->graph, class, name, parameters,
					       BT_LOGGING_LEVEL_NONE,
					       &source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		status = fail_by_library(run, "it cannot be opened");
	else
		status = connect_ports(run, source);
	bt.value_put_ref(parameters);
	return status;
}

static enum sonde_status add_sources(struct run *run, const bt_plugin *plugin,
				     const struct ctf_traces *traces)
{
	const bt_component_class_source *class =
		bt.plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	enum sonde_status status = class ? SONDE_OK : fail_by_library(run, "there is no reader");

	for (size_t i = 0; !status && i < traces->paths.count; i++)
		status = add_source(run, class, traces->paths.items[i], i);
	return status;
}

static enum sonde_status add_muxer(struct run *run, const bt_plugin *plugin)
{
	const bt_component_class_filter *class =
		bt.plugin_borrow_filter_component_class_by_name_const(plugin, "muxer");

	if (!class ||
	    bt.graph_add_filter_component(run->graph, class, "muxer", NULL, BT_LOGGING_LEVEL_NONE,
					  &run->muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return fail_by_library(run, "its streams cannot be put in order");
	return SONDE_OK;
}

static enum sonde_status add_sink(struct run *run)
{
	const bt_component_sink *sink = NULL;

	if (bt.graph_add_simple_sink_component(run->graph, "sonde", start, consume, stop, run,
					       &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
	    bt.graph_connect_ports(
		    run->graph,
		    bt.component_filter_borrow_output_port_by_index_const(run->muxer, 0),
		    bt.component_sink_borrow_input_port_by_index_const(sink, 0),
		    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
		return fail_by_library(run, "its events cannot be taken");
	return SONDE_OK;
}

static enum sonde_status run_graph(struct run *run)
{
	bt_graph_run_status status;

	do {
		status = bt.graph_run(run->graph);
	} while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	if (run->status)
		return run->status;
	if (status == BT_GRAPH_RUN_STATUS_MEMORY_ERROR)
		return sonde_fail_nomem(run->err);
	return status == BT_GRAPH_RUN_STATUS_OK ? SONDE_OK :
						  fail_by_library(run, "it cannot be read on");
}

enum sonde_status ctf_graph_run(const struct ctf_traces *traces, ctf_take *take, void *user,
				struct sonde_error *err)
{
	struct run run = { .take = take, .user = user, .err = err };
	const bt_plugin *ctf, *utilities;
	enum sonde_status status = ctf_library_load(err);

	if (status < 0)
		return status;
	ctf = find_plugin("ctf");
	utilities = find_plugin("utils");
	run.graph = bt.graph_create(0);
	if (!ctf || !utilities || !run.graph)
		status = sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				    "libbabeltrace2 does not find its plugins ctf and utils; "
				    "install its package anew");
	if (!status)
		status = add_muxer(&run, utilities);
	if (!status)
		status = add_sources(&run, ctf, traces);
	if (!status)
		status = add_sink(&run);
	if (!status)
		status = run_graph(&run);
	bt.graph_put_ref(run.graph);
	bt.plugin_put_ref(ctf);
	bt.plugin_put_ref(utilities);
	bt.current_thread_clear_error();
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status pass_over(void *user, const bt_message *message, struct sonde_error *err)
{
	(void)user;
	(void)message;
	(void)err;
	return SONDE_OK;
}

enum sonde_status ctf_graph_try(const struct ctf_traces *traces, struct sonde_error *err)
{
	enum sonde_status loaded = ctf_library_load(err); /* here, so that it is not loaded twice */
	int status = 0, silence;
	pid_t child;

	if (loaded < 0)
		return loaded;
	child = fork();
	if (child < 0)
		return sonde_fail_errno(err, NULL, "no process can be made to try the trace in");
	if (!child) {
		silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
		signal(SIGABRT, SIG_DFL);
		if (silence >= 0)
			dup2(silence, STDERR_FILENO);
		ctf_graph_run(traces, pass_over, NULL, NULL);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFSIGNALED(status))
		return SONDE_OK;
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "libbabeltrace2 does not survive it (signal %d): a stream is damaged",
			  WTERMSIG(status));
}
