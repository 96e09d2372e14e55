/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a folder through libbabeltrace2: which folders are traces, and all messages of them in the
 * order of time.
 */
#ifndef SONDE_CTF_GRAPH_H
#define SONDE_CTF_GRAPH_H

#include "base/vec.h"
#include "formats/ctf/ctf_library.h"

/* Folders with a file of metadata, `path` itself or those below it. Malloc'd texts. */
struct ctf_traces {
	SONDE_VEC(char *) paths;
	unsigned int
		visited; /* folders: a session has few, and who names a home by mistake waits not long */
};

/* Whether a folder is a trace itself. */
bool ctf_is_trace(const char *path);
/* SONDE_FORMAT where there are more folders below than a session of traces has. */
enum sonde_status ctf_traces_find(struct ctf_traces *traces, const char *path,
				  struct sonde_error *err);
void ctf_traces_release(struct ctf_traces *traces);

/* Takes one message; SONDE_END: enough was seen. */
typedef enum sonde_status ctf_take(void *user, const bt_message *message, struct sonde_error *err);

/*
 * The library ends the process over some damage (sizes of packets that cannot be): reads everything once in a
 * process of its own. SONDE_CORRUPT where that did not survive.
 */
enum sonde_status ctf_graph_try(const struct ctf_traces *traces, struct sonde_error *err);

/*
 * Hands all messages over. SONDE_CORRUPT with the library's words where it cannot read on; what came before
 * was good.
 */
enum sonde_status ctf_graph_run(const struct ctf_traces *traces, ctf_take *take, void *user,
				struct sonde_error *err);

#endif
