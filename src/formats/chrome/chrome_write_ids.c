/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of processes and threads in the file: those of the system where they are known and can be told apart, and
 * made-up ones elsewhere. Viewers take 0 for "unknown" and mix it up with others, so nobody gets it.
 */
#include <stdlib.h>

#include "formats/chrome/chrome_write.h"

/* Ids that are in use, each with its process; all of processes are of "process" NO_PROCESS. */
#define NO_PROCESS UINT32_MAX

static uint64_t id_key(uint32_t process, uint32_t id)
{
	return (uint64_t)process << 32 | id;
}

static bool is_used(const struct sonde_key_map *used, uint32_t process, uint32_t id)
{
	return sonde_key_map_find(used, id_key(process, id)) != UINT32_MAX;
}

/* Takes an id if nobody has it. False where memory failed; *id 0 where it is taken. */
static bool take(struct sonde_key_map *used, uint32_t process, uint64_t wanted, uint32_t *id)
{
	*id = 0;
	if (!wanted || wanted >= UINT32_MAX || is_used(used, process, (uint32_t)wanted))
		return true;
	*id = (uint32_t)wanted;
	return sonde_key_map_add(used, id_key(process, *id), 0);
}

/* The next free one after *last. */
static bool make_up(struct sonde_key_map *used, uint32_t process, uint32_t *last, uint32_t *id)
{
	do
		++*last;
	while (is_used(used, process, *last));
	*id = *last;
	return sonde_key_map_add(used, id_key(process, *id), 0);
}

static bool number_processes(struct chrome_writer *writer, struct sonde_key_map *used)
{
	uint32_t count = sonde_definitions_process_count(writer->definitions), last = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_process *process =
			sonde_definitions_process(writer->definitions, i);

		if (!take(used, NO_PROCESS, process->os_id, &writer->pids[i]))
			return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (writer->pids[i])
			continue;
		writer->losses[CHROME_LOSS_IDS]++;
		if (!make_up(used, NO_PROCESS, &last, &writer->pids[i]))
			return false;
	}
	return true;
}

/* The last made-up id of each process is in `last`. */
static bool number_tracks(struct chrome_writer *writer, struct sonde_key_map *used, uint32_t *last)
{
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(writer->definitions, i);

		if (!take(used, track->process, track->os_id, &writer->tids[i]))
			return false;
	}
	for (uint32_t i = 0; i < writer->track_count; i++) {
		uint32_t process = sonde_definitions_track(writer->definitions, i)->process;

		if (writer->tids[i])
			continue;
		writer->losses[CHROME_LOSS_IDS]++;
		if (!make_up(used, process, &last[process], &writer->tids[i]))
			return false;
	}
	return true;
}

enum sonde_status chrome_write_ids(struct chrome_writer *writer, struct sonde_error *err)
{
	size_t processes = sonde_definitions_process_count(writer->definitions);
	uint32_t *last = calloc(processes + 1, sizeof(*last));
	struct sonde_key_map used = { 0 };
	bool done = false;

	writer->pids = calloc(processes + 1, sizeof(*writer->pids));
	writer->tids = calloc((size_t)writer->track_count + 1, sizeof(*writer->tids));
	if (last && writer->pids && writer->tids)
		done = number_processes(writer, &used) && number_tracks(writer, &used, last);
	sonde_key_map_release(&used);
	free(last);
	return done ? SONDE_OK : sonde_fail_nomem(err);
}
