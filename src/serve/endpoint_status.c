/* SPDX-License-Identifier: Apache-2.0 */
/* GET /health and GET /metrics (the text format of Prometheus). */
#include <microhttpd.h>

#include "serve/serve_private.h"

void status_health(void *user, struct http_request *request, struct http_answer *answer)
{
	(void)user;
	(void)request;
	answer->status = MHD_HTTP_OK;
	answer->content_type = "text/plain; charset=utf-8";
	sonde_buffer_put_text(&answer->body, "ok\n");
}

enum metric_type { COUNTER, GAUGE };

static void put_head(struct sonde_buffer *out, enum metric_type type, const char *name,
		     const char *help)
{
	sonde_buffer_put_format(out, "# HELP sonde_%s %s\n# TYPE sonde_%s %s\n", name, help, name,
				type == COUNTER ? "counter" : "gauge");
}

static void put_metric(struct sonde_buffer *out, enum metric_type type, const char *name,
		       const char *help, uint64_t value)
{
	put_head(out, type, name, help);
	sonde_buffer_put_format(out, "sonde_%s %llu\n", name, (unsigned long long)value);
}

static void put_http(struct sonde_buffer *out, const struct http_counters *http)
{
	put_head(out, COUNTER, "http_requests_total", "Requests answered, by status.");
	for (unsigned int i = 0; i < HTTP_STATUSES; i++)
		if (http->by_status[i])
			sonde_buffer_put_format(out,
						"sonde_http_requests_total{status=\"%u\"} %llu\n",
						i, (unsigned long long)http->by_status[i]);
	put_metric(out, COUNTER, "http_body_bytes_total", "Bytes of bodies received.",
		   http->body_bytes);
	put_metric(out, GAUGE, "http_bytes_in_flight", "Bytes of bodies in memory.",
		   http->bytes_in_flight);
	put_metric(out, GAUGE, "http_bytes_in_flight_most", "The most there have been at once.",
		   http->most_bytes_in_flight);
	put_metric(out, GAUGE, "http_connections", "Connections open.", http->connections);
	put_metric(out, COUNTER, "http_connections_total", "Connections taken.",
		   http->connections_total);
	put_metric(out, GAUGE, "http_requests_waiting", "Requests waiting for the disk.",
		   http->waiting);
}

static void put_store(struct sonde_buffer *out, const struct sonde_store_counters *store)
{
	put_metric(out, COUNTER, "store_traces_total", "Traces stored since the start.",
		   store->traces);
	put_metric(out, COUNTER, "store_records_total", "Records (spans, calls) stored.",
		   store->records);
	put_metric(out, COUNTER, "store_short_traces_total",
		   "Traces left out because they were shorter than the store keeps.",
		   store->short_traces);
	put_metric(out, COUNTER, "store_data_bytes_total", "Compressed bytes of traces.",
		   store->data_bytes);
	put_metric(out, COUNTER, "store_syncs_total", "Syncs to the disk.", store->syncs);
	put_metric(out, COUNTER, "store_parts_begun_total", "Parts begun.", store->parts_begun);
	put_metric(out, COUNTER, "store_parts_packed_total", "Parts packed.", store->parts_packed);
	put_metric(out, COUNTER, "store_parts_removed_total", "Parts removed by the limits.",
		   store->parts_removed);
	put_metric(out, COUNTER, "store_failures_total", "Failures of work in the background.",
		   store->failures);
}

void status_metrics(void *user, struct http_request *request, struct http_answer *answer)
{
	struct serve *serve = user;
	struct sonde_store_counters store;
	struct serve_counters counters;
	struct sessions_count sessions = sessions_count(serve->sessions);

	(void)request;
	serve_counters(serve, &counters);
	sonde_store_counters(serve->store, &store);
	answer->status = MHD_HTTP_OK;
	answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
	put_http(&answer->body, &counters.http);
	put_metric(&answer->body, COUNTER, "spans_rejected_total",
		   "Spans that could not be stored: no ids, no time.", counters.rejected);
	put_metric(&answer->body, COUNTER, "mended_total",
		   "Texts and times that were stored otherwise than sent.", counters.mended);
	put_store(&answer->body, &store);
	put_metric(&answer->body, GAUGE, "agents", "Agents registered.", sessions.agents);
	put_metric(&answer->body, GAUGE, "agent_sessions", "Sessions of agents.",
		   sessions.sessions);
	put_metric(&answer->body, GAUGE, "agent_sessions_bytes",
		   "Memory of what agents have defined.", sessions.memory);
	put_metric(&answer->body, COUNTER, "agent_sessions_dropped_total",
		   "Sessions dropped to keep within the limits.", sessions.dropped);
}
