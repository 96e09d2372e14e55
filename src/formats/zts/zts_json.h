/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of attributes between CBOR, as chunks have them, and JSON, as details have them. Strings
 * are texts of the store; a double is {"double": "0.5"} in CBOR and a number in JSON.
 */
#ifndef SONDE_FORMATS_ZTS_JSON_H
#define SONDE_FORMATS_ZTS_JSON_H

#include "base/json.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_tree.h"
#include "formats/zts/zts_writer.h"

/* How what JSON lacks is put. */
enum zts_json_style {
	ZTS_JSON_PLAIN, /* for people: bytes and NaN as texts */
	ZTS_JSON_EXACT, /* so that zts_json_read_value() has the same value again */
};

/* One value; what is damaged or nested too deep becomes null. `scratch` is overwritten. */
void zts_json_put_value(struct zts_texts *texts, struct sonde_bytes value,
			enum zts_json_style style, struct sonde_json_writer *json,
			struct sonde_buffer *scratch);

/* All attributes of a record as an object, without the one whose key is `left_out`. */
void zts_json_put_attributes(struct zts_texts *texts, const struct zts_tree *tree, uint32_t record,
			     uint32_t left_out, struct sonde_json_writer *json,
			     struct sonde_buffer *scratch);

/* An exception by its text id: {"class":, "message":, "stack": [], "cause":}, or null. */
void zts_json_put_exception(struct zts_texts *texts, uint32_t id, struct sonde_json_writer *json,
			    struct sonde_buffer *scratch);

/* The same of one that lies in the data itself (`D8 22`): position in tree->exceptions. */
void zts_json_put_inline_exception(struct zts_texts *texts, const struct zts_tree *tree,
				   uint32_t number, struct sonde_json_writer *json,
				   struct sonde_buffer *scratch);

/*
 * The value that the reader's present token starts, as an attribute's value. Arrays, objects and
 * numbers that are no int64 are CBOR in `cbor` (cleared first), borrowed by the value.
 */
enum sonde_status zts_json_read_value(struct sonde_json_reader *json, struct zts_writer *writer,
				      struct sonde_buffer *cbor, struct zts_value *value,
				      struct sonde_error *err);

#endif
