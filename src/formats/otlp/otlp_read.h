/* SPDX-License-Identifier: Apache-2.0 */
/* Reading OTLP JSON as a recording: what the parts of it share. */
#ifndef SONDE_FORMATS_OTLP_READ_H
#define SONDE_FORMATS_OTLP_READ_H

#include "base/json.h"
#include "formats/exchange.h"
#include "formats/otlp/otlp.h"

int otlp_probe(const char *path);
enum sonde_status otlp_open(struct sonde_recording *recording, struct sonde_error *err);

/* A member of the object that is open for each attribute of a list. */
void otlp_put_members(struct sonde_json_writer *json, const struct otlp_request *request,
		      const struct otlp_list *list);
void otlp_put_value(struct sonde_json_writer *json, const struct otlp_request *request,
		    const struct otlp_value *value);

/* A text among attributes; "" where there is none. */
struct otlp_text otlp_find_text(const struct otlp_request *request, const struct otlp_list *list,
				const char *key);

/*
 * The packed arguments of a call (SONDE_SPAN_CALL_SIGNATURE) and of its exception
 * (SONDE_SPAN_EXCEPTION_SIGNATURE; false where the span has none), appended to `out`.
 */
void otlp_pack_call(const struct otlp_request *request, const struct otlp_span *span,
		    struct sonde_buffer *scratch, struct sonde_buffer *out);
bool otlp_pack_exception(const struct otlp_request *request, const struct otlp_span *span,
			 struct sonde_buffer *scratch, struct sonde_buffer *out);
/* Of an event of a span: "any attributes". */
#define OTLP_NOTE_SIGNATURE "any attributes"
void otlp_pack_note(const struct otlp_request *request, const struct otlp_note *note,
		    struct sonde_buffer *scratch, struct sonde_buffer *out);

#endif
