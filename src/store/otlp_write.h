/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of OpenTelemetry on their way into a store. */
#ifndef SONDE_STORE_OTLP_WRITE_H
#define SONDE_STORE_OTLP_WRITE_H

#include "formats/otlp/otlp.h"
#include "store/ingest.h"

/*
 * Writes the trees from roots.items[*next_root] on, and counts that on: the writer keeps those
 * before a failure. SONDE_LIMIT: the part is full, the rest goes into the next.
 */
enum sonde_status otlp_write(const struct otlp_request *request, struct zts_writer *writer,
			     size_t *next_root, struct sonde_ingest_result *result,
			     struct sonde_error *err);

#endif
