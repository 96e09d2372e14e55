/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole database: the steps one after the other, and how it appears under its name or not at all.
 * Each step is in a file of its own.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_write_plan.h"

#define SPOOL "values.partial" /* planes that no file of the database keeps */
#define SLOTS_OF_THREAD 2      /* in a round; some rounds are in memory at once */
#define SLOTS_LIMIT 256

static enum sonde_status check_world(const struct hpcdb_world *world, struct sonde_error *err)
{
	if (!world->context_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "a database needs at least the root of its contexts");
	if (world->track_count >= UINT32_MAX - 1)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%u tracks; a database has at most %u", world->track_count,
				  UINT32_MAX - 2);
	for (uint32_t i = 0; i < world->track_count; i++) {
		const struct hpcdb_track *track = &world->tracks[i];

		if (track->identity_count > UINT16_MAX)
			return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "track %u has %zu identities; a database has at most %u "
					  "of each",
					  i, track->identity_count, UINT16_MAX);
		for (size_t k = 0; k < track->identity_count; k++)
			if (track->identities[k].kind >= UINT8_MAX)
				return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
						  "identity of kind %u; a database has kinds below "
						  "%u only",
						  track->identities[k].kind, UINT8_MAX);
	}
	return SONDE_OK;
}

/* The same on all ranks, whatever processors each of them has. */
static enum sonde_status agree_on_slots(struct hpcdb_job *job, struct sonde_error *err)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t mine = job->options->threads, most = 1;
	uint32_t ranks = sonde_team_size(job->team);
	uint64_t *all = calloc(ranks, sizeof(*all));
	enum sonde_status status = all ? SONDE_OK : sonde_fail_nomem(err);

	if (!mine)
		mine = processors > 0 ? (uint64_t)processors : 1;
	status = sonde_team_agree(job->team, status, err);
	if (status >= 0)
		status = sonde_team_exchange(job->team, &mine, 1, all, err);
	for (uint32_t i = 0; all && i < ranks && status >= 0; i++)
		most = all[i] > most ? all[i] : most;
	most *= SLOTS_OF_THREAD;
	job->slots = most < SLOTS_LIMIT ? (unsigned int)most : SLOTS_LIMIT;
	free(all);
	return status;
}

/* What needs no file. */
static enum sonde_status prepare(struct hpcdb_job *job, struct sonde_error *err)
{
	const struct hpcdb_world *world = job->world;
	enum sonde_status status = check_world(world, err);

	if (status >= 0)
		status = hpcdb_plan_metrics(&job->plan, world, job->options->statistics, err);
	if (status >= 0)
		status = hpcdb_plan_tree(job, err);
	if (status >= 0)
		status = hpcdb_plan_trace(job, err);
	if (status < 0)
		return status;
	job->planes = calloc((size_t)world->track_count + 1, sizeof(*job->planes));
	job->totals = calloc(world->context_count, sizeof(*job->totals));
	return job->planes && job->totals ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status open_files(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = hpcdb_target_open(&job->profile, job, "profile.db", err);

	if (status >= 0)
		status = hpcdb_target_open(&job->cct, job, "cct.db", err);
	if (status >= 0 && job->lines)
		status = hpcdb_target_open(&job->trace, job, "trace.db", err);
	if (status >= 0 && job->options->no_thread_values)
		status = hpcdb_target_open(&job->values, job, SPOOL, err);
	else if (status >= 0)
		job->values = job->profile; /* shared: closed once */
	return status;
}

/* Rank 0 creates the files before others open them. */
static enum sonde_status open_all(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = hpcdb_is_first(job) ? open_files(job, err) : SONDE_OK;

	status = sonde_team_agree(job->team, status, err);
	if (status >= 0 && !hpcdb_is_first(job))
		status = open_files(job, err);
	return sonde_team_agree(job->team, status, err);
}

static enum sonde_status close_all(struct hpcdb_job *job, enum sonde_status status,
				   struct sonde_error *err)
{
	struct hpcdb_target *files[] = { &job->profile, &job->cct, &job->trace, &job->values };
	size_t count = job->options->no_thread_values ? 4 : 3;

	for (size_t i = 0; i < count; i++) {
		struct sonde_error *wanted = status < 0 ? NULL : err;
		enum sonde_status closed = SONDE_OK;

		if (status >= 0 && files[i]->fd >= 0 && !hpcdb_is_first(job))
			closed = hpcdb_target_sync(files[i], err);
		if (closed < 0)
			hpcdb_target_close(files[i], NULL);
		else
			closed = hpcdb_target_close(files[i], wanted);
		if (status >= 0)
			status = closed;
	}
	return status;
}

/* Adds up what the ranks know of the traces. */
static enum sonde_status exchange_traces(struct hpcdb_job *job, struct sonde_error *err)
{
	uint32_t ranks = sonde_team_size(job->team);
	uint64_t mine[4] = { job->samples, job->samples_out_of_order, job->time_first,
			     job->time_last };
	uint64_t *all = calloc((size_t)ranks * 4, sizeof(*all));
	enum sonde_status status = all ? SONDE_OK : sonde_fail_nomem(err);

	status = sonde_team_agree(job->team, status, err);
	if (status >= 0)
		status = sonde_team_exchange(job->team, mine, 4, all, err);
	for (uint32_t i = 0; all && i < ranks && status >= 0; i++) {
		const uint64_t *rank = all + (size_t)i * 4;

		if (i == sonde_team_rank(job->team))
			continue;
		job->samples += rank[0];
		job->samples_out_of_order += rank[1];
		job->time_first = rank[2] < job->time_first ? rank[2] : job->time_first;
		job->time_last = rank[3] > job->time_last ? rank[3] : job->time_last;
	}
	free(all);
	return status;
}

static void count_written(struct hpcdb_job *job)
{
	struct hpcdb_written *written = job->written;

	written->samples = job->samples;
	written->samples_out_of_order = job->samples_out_of_order;
	written->values = job->summary.values;
	for (uint32_t i = 0; i < job->world->track_count && !job->options->no_thread_values; i++)
		written->values += job->planes[i].values;
}

static enum sonde_status remove_spool(const struct hpcdb_job *job, struct sonde_error *err)
{
	if (job->options->no_thread_values && unlink(job->values.path))
		return sonde_fail_errno(err, job->values.path, "cannot be removed");
	return SONDE_OK;
}

/* What rank 0 does alone, when values and samples are there. */
static enum sonde_status write_rest(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = hpcdb_write_profile_head(job, err);

	if (status >= 0 && job->lines)
		status = hpcdb_write_trace_head(job, err);
	if (status >= 0)
		status = remove_spool(job, err);
	if (status >= 0) {
		job->used = hpcdb_used_new(job, err);
		status = job->used ? SONDE_OK : SONDE_NOMEM;
	}
	if (status >= 0 && job->options->copy_sources)
		status = hpcdb_write_sources(job, err);
	if (status >= 0)
		status = hpcdb_write_meta(job, err);
	if (status >= 0)
		status = hpcdb_write_yaml(job, err);
	if (status >= 0)
		status = hpcdb_write_texts(job, err);
	return status;
}

/*
 * The transposition reads what other ranks wrote. Machines that share files over a network see that once
 * the writer has synced and they open the file anew.
 */
static enum sonde_status share_planes(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status;

	if (sonde_team_size(job->team) < 2)
		return SONDE_OK;
	status = sonde_team_agree(job->team, hpcdb_target_sync(&job->values, err), err);
	if (status < 0)
		return status;
	status = hpcdb_target_reopen(&job->values, err);
	if (!job->options->no_thread_values)
		job->profile = job->values;
	return sonde_team_agree(job->team, status, err);
}

static enum sonde_status write_all(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = open_all(job, err);

	if (status >= 0)
		status = hpcdb_write_planes(job, err);
	if (status >= 0)
		status = share_planes(job, err);
	if (status >= 0 && job->options->no_thread_values)
		job->summary.offset = hpcdb_profile_data_offset(job->world);
	if (status >= 0)
		status = hpcdb_write_contexts(job, err);
	if (status >= 0)
		status = exchange_traces(job, err);
	if (status >= 0)
		count_written(job);
	if (status >= 0 && hpcdb_is_first(job))
		status = write_rest(job, err);
	return close_all(job, status, err);
}

static void job_release(struct hpcdb_job *job)
{
	hpcdb_plan_release(&job->plan);
	hpcdb_used_free(job->used);
	free(job->nodes);
	free(job->listed);
	free(job->copied);
	free(job->planes);
	free(job->totals);
	free(job->lines);
}

enum sonde_status hpcdb_write(const char *path, const struct hpcdb_world *world,
			      const struct hpcdb_source *source,
			      const struct hpcdb_write_options *options,
			      struct hpcdb_written *written, struct sonde_error *err)
{
	struct hpcdb_job job = {
		.world = world,
		.source = source,
		.options = options,
		.written = written,
		.team = options->team,
		.values.fd = -1,
		.profile.fd = -1,
		.cct.fd = -1,
		.trace.fd = -1,
		.meter = { .progress = options->progress,
			   .total = (uint64_t)world->track_count * 2 },
	};
	struct sonde_staged staged = { 0 };
	enum sonde_status status = prepare(&job, err);

	*written = (struct hpcdb_written){ 0 };
	status = sonde_team_agree(job.team, status, err);
	if (status >= 0)
		status = agree_on_slots(&job, err);
	if (status >= 0)
		status = sonde_team_stage(job.team, &staged, path, true, options->replace, err);
	if (status >= 0) {
		job.folder = staged.work;
		status = write_all(&job, err);
		status = sonde_team_stage_end(job.team, &staged, status, err);
	}
	job_release(&job);
	return status;
}
