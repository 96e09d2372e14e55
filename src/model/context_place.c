/* SPDX-License-Identifier: Apache-2.0 */
/* Where a context lies. */
#include "model/context_place.h"

struct sonde_context_place sonde_context_place(const struct sonde_definitions *definitions,
					       const struct sonde_context *context)
{
	const struct sonde_function *function =
		context->kind == SONDE_CONTEXT_FUNCTION ?
			sonde_definitions_function(definitions, context->function) :
			NULL;
	uint32_t module_id = function ? function->module : context->module;
	const struct sonde_module *module = sonde_definitions_module(definitions, module_id);

	return (struct sonde_context_place){
		.file = sonde_definitions_string(definitions,
						 function ? function->file : context->file),
		.line = function ? function->line : context->line,
		.module = module ? sonde_definitions_string(definitions, module->path) : "",
		.address = function ? function->address : context->address,
	};
}
