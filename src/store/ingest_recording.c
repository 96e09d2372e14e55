/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any recording into a store: the builder of traces from events, with the store's writer behind it.
 */
#include <stdlib.h>

#include "formats/format.h"
#include "formats/zts/zts_builder.h"
#include "store/ingest.h"

struct ingest {
	struct zts_builder builder; /* first */
	struct sonde_store *store;
	uint64_t ticket;
};

static enum sonde_status begin_trace(void *context, struct zts_writer **writer, uint64_t *epoch,
				     struct sonde_error *err)
{
	struct ingest *ingest = context;
	struct sonde_store_counters counters;
	enum sonde_status status = sonde_store_begin(ingest->store, writer, err);

	if (status < 0)
		return status;
	/* ids of texts are those of a part */
	sonde_store_counters(ingest->store, &counters);
	*epoch = counters.parts_begun + 1;
	return SONDE_OK;
}

static enum sonde_status end_trace(void *context, bool is_kept, struct sonde_error *err)
{
	struct ingest *ingest = context;

	(void)is_kept;
	(void)err;
	sonde_store_end(ingest->store, &ingest->ticket);
	return SONDE_OK;
}

/* What was given to the store is not taken back when something fails later. */
static enum sonde_status finish(struct sonde_sink *sink, struct sonde_error *err)
{
	struct ingest *ingest = (struct ingest *)sink;

	return sonde_store_wait(ingest->store, ingest->ticket, err);
}

static void no_free(struct sonde_sink *sink)
{
	(void)sink;
}

static const struct sonde_sink_ops ingest_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
	.begin = zts_builder_begin,
	.events = zts_builder_events,
	.track_end = zts_builder_track_end,
	.finish = finish,
	.free = no_free,
};

enum sonde_status sonde_ingest_recording(struct sonde_store *store,
					 struct sonde_recording *recording,
					 const struct sonde_ingest_options *options,
					 struct sonde_ingest_result *result,
					 struct sonde_error *err)
{
	static const struct sonde_ingest_options none;
	const struct sonde_ingest_options *of = options ? options : &none;
	struct sonde_run_options run = { .loss = of->loss, .progress = of->progress };
	struct ingest ingest = {
		.builder = {
			.base = { .ops = &ingest_ops, .format = &sonde_format_zts.info },
			.split_by = of->split_by,
			.service = of->service,
			.host = of->host,
			.env = of->env,
			.loss = of->loss,
		},
		.store = store,
	};
	enum sonde_status status;

	ingest.builder.target = (struct zts_builder_target){ begin_trace, end_trace, &ingest };
	status = sonde_pipeline_run(&recording, 1, &ingest.builder.base, &run, NULL, err);
	zts_builder_release(&ingest.builder);
	if (result) {
		*result = (struct sonde_ingest_result){ 0 };
		result->traces = ingest.builder.traces;
		result->records = ingest.builder.records;
	}
	return status;
}
