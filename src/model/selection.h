/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a selection, for the filter that keeps calls and their returns together. */
#ifndef SONDE_MODEL_SELECTION_H
#define SONDE_MODEL_SELECTION_H

#include <sonde/pipeline.h>

/* What is wrong with a specification whatever it is applied to, or SONDE_OK. */
enum sonde_status sonde_selection_check(const struct sonde_selection_spec *spec,
					struct sonde_error *err);

/* The kind is wanted. */
bool sonde_selection_has_kind(const struct sonde_selection *selection,
			      const struct sonde_event *event);

/* The function (or event type) and the depth fit, whatever the kind, the time and the track. */
bool sonde_selection_has_place(struct sonde_selection *selection, const struct sonde_event *event);

#endif
