/* SPDX-License-Identifier: Apache-2.0 */
/* The check of event types and of typed arguments in details. */
#ifndef SONDE_ATF_CHECK_ANNOTATIONS_H
#define SONDE_ATF_CHECK_ANNOTATIONS_H

#include <sonde/arguments.h>

#include "formats/atf/atf_arguments.h"
#include "formats/atf/atf_session.h"

/* For one thread; release it in the end. */
struct atf_annotation_check {
	const struct sonde_definitions *definitions;
	const struct atf_process *process;
	struct sonde_diagnostics *diagnostics;
	struct sonde_key_map reported; /* function_ids of event types that are not listed */
	SONDE_VEC(struct sonde_signature *) signatures; /* by event type; NULL: not parsed yet */
};

/* An event type in use, at an offset of a file, must be listed. */
enum sonde_status atf_check_event_type(struct atf_annotation_check *check, uint64_t key,
				       const char *path, uint64_t offset, struct sonde_error *err);

/* A record of ATF_DETAIL_TYPE_ARGUMENTS, which starts at `offset`. */
enum sonde_status atf_check_arguments(struct atf_annotation_check *check,
				      const struct atf_file *file, uint64_t offset,
				      const struct atf_detail_record *record,
				      struct sonde_error *err);

void atf_annotation_check_release(struct atf_annotation_check *check);

#endif
