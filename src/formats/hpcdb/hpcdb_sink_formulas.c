/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas come by the names of metrics, from another database or as the attribute of measurements, and are
 * kept with the numbers of definitions. What names a metric that is not there is not taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/hpcdb/hpcdb_sink_formulas.h"
#include "formats/hpcrun/hpcrun_read.h"
#include "model/formula.h"

void hpcdb_sink_formulas_release(struct hpcdb_sink_formulas *formulas)
{
	sonde_vec_release(&formulas->items);
	sonde_text_map_release(&formulas->metrics);
	sonde_arena_release(&formulas->texts);
}

enum sonde_status hpcdb_sink_formulas_metric(struct hpcdb_sink_formulas *formulas, const char *name,
					     uint32_t number, struct sonde_error *err)
{
	size_t length = strlen(name);

	if (sonde_text_map_find(&formulas->metrics, name, length) != UINT32_MAX)
		return SONDE_OK;
	return sonde_text_map_add(&formulas->metrics, name, length, number) ? SONDE_OK :
									      sonde_fail_nomem(err);
}

static enum sonde_status find_metric(void *data, const char *name, size_t length,
				     uint32_t *reference, struct sonde_error *err)
{
	const struct hpcdb_sink_formulas *formulas = data;

	*reference = sonde_text_map_find(&formulas->metrics, name, length);
	if (*reference != UINT32_MAX)
		return SONDE_OK;
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET, "there is no metric of that name");
}

static const char *copy(struct hpcdb_sink_formulas *formulas, const char *text)
{
	return sonde_arena_copy_text(&formulas->texts, text ? text : "", text ? strlen(text) : 0);
}

enum sonde_status hpcdb_sink_formulas_add(struct hpcdb_sink_formulas *formulas,
					  const struct sonde_formula *formula,
					  struct sonde_error *err)
{
	const struct sonde_expression_names names = { find_metric, formulas };
	struct sonde_expression expression = { 0 };
	struct hpcdb_sink_formula made = { 0 }, *place = NULL;
	struct sonde_buffer text = { 0 };
	enum sonde_status status;
	size_t position;

	if (!formula->text)
		return SONDE_END;
	status = sonde_expression_parse_named(&expression, formula->text, strlen(formula->text),
					      &names, &position, err);
	if (!status) {
		sonde_expression_put_text(&expression, &text);
		made.name = copy(formulas, formula->name);
		made.description = copy(formulas, formula->description);
		made.text = copy(formulas, sonde_buffer_text(&text));
		place = sonde_vec_push(&formulas->items);
		if (!made.name || !made.description || !made.text || text.failed || !place)
			status = sonde_fail_nomem(err);
		else
			*place = made;
	}
	sonde_buffer_release(&text);
	sonde_expression_release(&expression);
	return status < 0 && status != SONDE_NOMEM ? SONDE_END : status;
}

/* One object of the attribute; what else it says is for measurements only. */
static enum sonde_status take_object(struct hpcdb_sink_formulas *formulas,
				     struct sonde_json_reader *reader,
				     struct sonde_formula *formula, struct sonde_error *err)
{
	enum sonde_status status;

	while (!(status = sonde_json_next(reader, err)) && reader->token == SONDE_JSON_KEY) {
		const char **text = !strcmp(reader->text, "name")	 ? &formula->name :
				    !strcmp(reader->text, "description") ? &formula->description :
				    !strcmp(reader->text, "formula")	 ? &formula->text :
									   NULL;

		status = sonde_json_next(reader, err);
		if (status)
			return status;
		if (text && reader->token == SONDE_JSON_STRING) {
			*text = copy(formulas, reader->text);
			if (!*text)
				return sonde_fail_nomem(err);
		}
		status = sonde_json_skip(reader, err);
		if (status)
			return status;
	}
	return status;
}

enum sonde_status hpcdb_sink_formulas_take(struct hpcdb_sink_formulas *formulas,
					   const struct sonde_definitions *definitions,
					   uint64_t *lost, struct sonde_error *err)
{
	const char *json = sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0,
							    HPCRUN_ATTRIBUTE_FORMULAS);
	struct sonde_json_reader reader;
	enum sonde_status status;

	if (!json || *json != '[')
		return SONDE_OK;
	sonde_json_reader_init(&reader, json, strlen(json), NULL, NULL);
	status = sonde_json_next(&reader, err);
	while (!status && !(status = sonde_json_next(&reader, err)) &&
	       reader.token == SONDE_JSON_OBJECT_BEGIN) {
		struct sonde_formula formula = { .name = "", .description = "" };

		status = take_object(formulas, &reader, &formula, err);
		if (!status)
			status = hpcdb_sink_formulas_add(formulas, &formula, err);
		*lost += status == SONDE_END;
		if (status == SONDE_END)
			status = SONDE_OK;
	}
	sonde_json_reader_release(&reader);
	return status == SONDE_NOMEM ? status : SONDE_OK;
}

const char *hpcdb_sink_formulas_text(struct hpcdb_sink_formulas *formulas, size_t number,
				     const uint32_t *metric_numbers)
{
	struct sonde_buffer text = { 0 };
	const char *formula = formulas->items.items[number].text, *made = NULL;

	while (*formula) {
		char *end;

		sonde_buffer_put_char(&text, *formula);
		if (*formula++ != '#')
			continue;
		sonde_buffer_put_u64(&text, metric_numbers[strtoul(formula, &end, 10)]);
		formula = end;
	}
	if (sonde_buffer_text(&text))
		made = sonde_arena_copy_text(&formulas->texts, text.data, text.size);
	sonde_buffer_release(&text);
	return made;
}
