/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of OpenTelemetry into a store: decoded, made into trees, and written, all or none of them. */
#include <string.h>

#include "store/otlp_write.h"

typedef enum sonde_status otlp_reader(struct otlp_request *request, const void *body, size_t size,
				      struct sonde_error *err);

static bool is_name(const struct otlp_value *attribute)
{
	return attribute->kind == OTLP_STRING &&
	       (otlp_text_is(&attribute->key, "service.name") ||
		otlp_text_is(&attribute->key, "host.name") || otlp_is_environment(&attribute->key));
}

/*
 * All names that slots of this request will have, interned before any tree: a part that has no
 * place for one is full before, not in the middle.
 */
static bool names_fit(const struct otlp_request *request, struct zts_writer *writer)
{
	char space[OTLP_KIND_NAME];
	bool fit = true;

	for (size_t i = 0; i < request->resources.count; i++) {
		uint32_t at = request->resources.items[i].attributes.first;

		for (; at != SONDE_NONE; at = request->values.items[at].next) {
			const struct otlp_value *value = &request->values.items[at];

			if (is_name(value))
				fit &= zts_writer_name_fits(writer,
							    zts_writer_text(writer, ZTS_TEXT_STRING,
									    value->text.data,
									    value->text.size));
		}
	}
	for (size_t i = 0; i < request->roots.count; i++) {
		uint32_t kind = request->spans.items[request->roots.items[i]].kind;
		const char *name = otlp_kind_name(kind, space);

		fit &= zts_writer_name_fits(
			writer, zts_writer_text(writer, ZTS_TEXT_STRING, name, strlen(name)));
	}
	return fit;
}

/*
 * All trees, or none: where one fails, those before it go too, with whatever else is not on the
 * disk yet (whose senders are told, and send it again). Only where a part is full in the middle are
 * the trees before in that part already: names, which fill it mostly, are looked at before.
 */
static enum sonde_status put_trees(const struct otlp_request *request, struct sonde_store *store,
				   struct sonde_ingest_result *result, uint64_t *ticket,
				   struct sonde_error *err)
{
	struct sonde_error failure = { 0 };
	struct zts_writer *writer;
	enum sonde_status status;
	size_t next_root = 0, before;
	unsigned int stuck = 0;
	bool is_first = true;

	do {
		before = next_root;
		status = sonde_store_begin(store, &writer, err);
		if (status < 0)
			return status;
		if (!is_first || names_fit(request, writer))
			status = otlp_write(request, writer, &next_root, result, &failure);
		else
			status = SONDE_LIMIT;
		is_first = false;
		if (status < 0 && status != SONDE_LIMIT && next_root > before)
			zts_writer_give_up(writer, &failure);
		sonde_store_end(store, ticket);
		stuck = next_root > before ? 0 : stuck + 1;
		/* a tree that does not fit into a new part either is not tried again */
	} while (status == SONDE_LIMIT && stuck < 2);
	if (status == SONDE_LIMIT)
		return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET,
				  "a trace does not even fit into a new part of the store");
	if (status < 0 && err)
		*err = failure;
	return status;
}

static enum sonde_status ingest(otlp_reader *read_body, struct sonde_store *store, const void *body,
				size_t size, struct sonde_ingest_result *result, uint64_t *ticket,
				struct sonde_error *err)
{
	struct otlp_request request = { 0 };
	enum sonde_status status;

	*result = (struct sonde_ingest_result){ 0 };
	*ticket = 0;
	status = read_body(&request, body, size, err);
	if (status >= 0)
		status = otlp_link(&request, err);
	result->rejected = request.rejected;
	result->mended = request.mended;
	memcpy(result->reason, request.reason, sizeof(result->reason));
	if (status >= 0 && request.roots.count)
		status = put_trees(&request, store, result, ticket, err);
	otlp_request_release(&request);
	return status;
}

enum sonde_status sonde_ingest_otlp_protobuf(struct sonde_store *store, const void *body,
					     size_t size, struct sonde_ingest_result *result,
					     uint64_t *ticket, struct sonde_error *err)
{
	return ingest(otlp_read_protobuf, store, body, size, result, ticket, err);
}

enum sonde_status sonde_ingest_otlp_json(struct sonde_store *store, const void *body, size_t size,
					 struct sonde_ingest_result *result, uint64_t *ticket,
					 struct sonde_error *err)
{
	return ingest(otlp_read_json, store, body, size, result, ticket, err);
}
