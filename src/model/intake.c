/* SPDX-License-Identifier: Apache-2.0 */
/* Being written. */
#include "model/intake.h"

enum sonde_status sonde_intake_new(struct sonde_recording *recording, struct sonde_intake **intake,
				   struct sonde_error *err)
{
	(void)recording;
	(void)intake;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

void sonde_intake_free(struct sonde_intake *intake)
{
	(void)intake;
}

enum sonde_status sonde_intake_process(struct sonde_intake *intake, uint64_t key, uint32_t *process,
				       struct sonde_error *err)
{
	(void)intake;
	(void)key;
	(void)process;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_track(struct sonde_intake *intake, uint32_t process, uint64_t key,
				     uint32_t *track, struct sonde_error *err)
{
	(void)intake;
	(void)process;
	(void)key;
	(void)track;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

struct sonde_process *sonde_intake_process_at(struct sonde_intake *intake, uint32_t process)
{
	(void)intake;
	(void)process;
	return NULL;
}

struct sonde_track *sonde_intake_track_at(struct sonde_intake *intake, uint32_t track)
{
	(void)intake;
	(void)track;
	return NULL;
}

enum sonde_status sonde_intake_function(struct sonde_intake *intake,
					const struct sonde_function *like, const char *name,
					size_t length, uint32_t *function, struct sonde_error *err)
{
	(void)intake;
	(void)like;
	(void)name;
	(void)length;
	(void)function;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_event_type(struct sonde_intake *intake, const char *name,
					  size_t length, const char *signature,
					  uint32_t *event_type, struct sonde_error *err)
{
	(void)intake;
	(void)name;
	(void)length;
	(void)signature;
	(void)event_type;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_string(struct sonde_intake *intake, const char *text, size_t length,
				      uint32_t *string, struct sonde_error *err)
{
	(void)intake;
	(void)text;
	(void)length;
	(void)string;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_number(struct sonde_intake *intake, const void *id, size_t size,
				      uint32_t *number, struct sonde_error *err)
{
	(void)intake;
	(void)id;
	(void)size;
	(void)number;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_add(struct sonde_intake *intake,
				   const struct sonde_intake_event *event, struct sonde_error *err)
{
	(void)intake;
	(void)event;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_context(struct sonde_intake *intake, uint32_t parent,
				       const struct sonde_context *context, uint32_t *node,
				       struct sonde_error *err)
{
	(void)intake;
	(void)parent;
	(void)context;
	(void)node;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

struct sonde_context sonde_intake_frame(uint32_t function)
{
	(void)function;
	return (struct sonde_context){ 0 };
}

enum sonde_status sonde_intake_value(struct sonde_intake *intake, uint32_t track, uint32_t node,
				     uint32_t metric, double value, struct sonde_error *err)
{
	(void)intake;
	(void)track;
	(void)node;
	(void)metric;
	(void)value;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_sample(struct sonde_intake *intake, uint32_t track, uint64_t time_ns,
				      uint32_t node, struct sonde_error *err)
{
	(void)intake;
	(void)track;
	(void)time_ns;
	(void)node;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}

enum sonde_status sonde_intake_finish(struct sonde_intake *intake,
				      struct sonde_intake_counts *counts, struct sonde_error *err)
{
	(void)intake;
	(void)counts;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "being written");
}
