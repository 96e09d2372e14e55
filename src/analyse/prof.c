/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps from measurements to a database, in their order: inputs, first pass, union over the team,
 * metrics, contexts, and the writer, which pulls the second pass.
 */
#include "analyse/prof.h"

#include <sonde/recording.h>

#include "analyse/prof_read.h"
#include "analyse/prof_source.h"
#include "formats/format.h"

struct run {
	const char *output;
	const struct sonde_prof_options *options;
	struct sonde_prof_report *report;
	struct prof_inputs inputs;
	struct prof_union refused; /* what was refused before and after the first pass */
	struct prof_union all;
	struct prof_metrics metrics;
	struct prof_contexts contexts;
	struct hpcdb_track *tracks;
	const char **kinds;
	uint32_t kind_count;
};

/* Every process's union becomes that of all, merged in the order of ranks. */
static enum sonde_status gather_union(struct run *run, struct sonde_error *err)
{
	struct sonde_team *team = run->options->team;
	unsigned int size = sonde_team_size(team), rank;
	struct sonde_buffer mine = { 0 }, all = { 0 };
	uint64_t *sizes = calloc(size, sizeof(*sizes)), start;
	enum sonde_status status;

	if (sonde_team_rank(team))
		prof_union_put(&run->all, &mine);
	status = sonde_team_agree(team, sizes && !mine.failed ? SONDE_OK : sonde_fail_nomem(err),
				  err);
	if (status == SONDE_OK)
		status = sonde_team_gather(team, mine.data, mine.size, &all, sizes, err);
	for (rank = 1, start = 0;
	     sizes && status == SONDE_OK && !sonde_team_rank(team) && rank < size; rank++) {
		struct sonde_bytes bytes = sonde_bytes_of(all.data + start, sizes[rank]);
		struct prof_union other = { 0 };

		status = prof_union_take(&other, &bytes, err);
		if (status == SONDE_OK)
			status = prof_union_merge(&run->all, &other, err);
		prof_union_release(&other);
		start += sizes[rank];
	}
	sonde_buffer_release(&mine);
	sonde_buffer_release(&all);
	free(sizes);
	return sonde_team_agree(team, status, err);
}

static enum sonde_status share_union(struct run *run, struct sonde_error *err)
{
	struct sonde_team *team = run->options->team;
	struct sonde_buffer bytes = { 0 };
	struct sonde_bytes cursor;
	enum sonde_status status;

	if (!sonde_team_rank(team))
		prof_union_put(&run->all, &bytes);
	status = sonde_team_agree(team, bytes.failed ? sonde_fail_nomem(err) : SONDE_OK, err);
	if (status == SONDE_OK)
		status = sonde_team_share(team, &bytes, err);
	if (status == SONDE_OK && sonde_team_rank(team)) {
		cursor = sonde_bytes_of(bytes.data, bytes.size);
		prof_union_release(&run->all);
		status = prof_union_take(&run->all, &cursor, err);
	}
	sonde_buffer_release(&bytes);
	return sonde_team_agree(team, status, err);
}

static int compare_tracks(const void *a, const void *b)
{
	const struct prof_track *one = a, *other = b;
	int order = sonde_identity_compare(one->identities, one->identity_count, other->identities,
					   other->identity_count);

	if (order)
		return order;
	/* items are numbered by path */
	if (one->item != other->item)
		return one->item < other->item ? -1 : 1;
	return (one->epoch > other->epoch) - (one->epoch < other->epoch);
}

static enum sonde_status order_tracks(struct run *run, struct sonde_error *err)
{
	size_t count = run->all.tracks.count, i;

	if (!count)
		return sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
				  run->options->only_count && run->inputs.items.count == 0 ?
					  "no profile fits what --only asks for" :
					  "there is no profile that could be merged");
	if (count >= SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET, "too many profiles");
	qsort(run->all.tracks.items, count, sizeof(*run->all.tracks.items), compare_tracks);
	run->tracks = calloc(count, sizeof(*run->tracks));
	if (!run->tracks)
		return sonde_fail_nomem(err);
	for (i = 0; i < count; i++)
		run->tracks[i] = (struct hpcdb_track){
			.identities = run->all.tracks.items[i].identities,
			.identity_count = run->all.tracks.items[i].identity_count,
			.sample_limit = run->all.tracks.items[i].sample_limit,
		};
	return SONDE_OK;
}

/* The name of each kind of identity: the usual one, else that of the first profile that has one. */
static enum sonde_status name_kinds(struct run *run, struct sonde_error *err)
{
	const struct prof_blobs *kinds = &run->all.sets[PROF_KINDS];
	uint32_t *first = calloc(UINT16_MAX + 1, sizeof(*first)), number;
	size_t i;

	run->kinds = calloc(UINT16_MAX + 1, sizeof(*run->kinds));
	if (!run->kinds || !first) {
		free(first);
		return sonde_fail_nomem(err);
	}
	for (number = 0; number < SONDE_IDENTITY_KNOWN; number++)
		run->kinds[number] = sonde_identity_kind_name((uint16_t)number);
	run->kind_count = SONDE_IDENTITY_KNOWN;
	for (i = 0; i < kinds->items.count; i++) {
		const struct prof_blob *blob = &kinds->items.items[i];
		char *name;

		number = (uint32_t)strtoul(blob->data, &name, 10);
		/* of equal ones (a file cannot have two) the lesser text */
		if (number > UINT16_MAX || *name != ' ' ||
		    (first[number] && (first[number] - 1 < blob->first ||
				       (first[number] - 1 == blob->first &&
					strcmp(run->kinds[number], name + 1) < 0))))
			continue;
		first[number] = blob->first + 1;
		run->kinds[number] = name + 1;
		if (number >= run->kind_count)
			run->kind_count = number + 1;
	}
	free(first);
	return SONDE_OK;
}

/* The program of the first profile in the order of inputs; "" where none has a name. */
static const char *program_name(const struct run *run)
{
	const struct prof_blobs *programs = &run->all.sets[PROF_PROGRAMS];
	const struct prof_blob *best = NULL;
	size_t i;

	for (i = 0; i < programs->items.count; i++) {
		const struct prof_blob *blob = &programs->items.items[i];

		if (!best || blob->first < best->first ||
		    (blob->first == best->first && strcmp(blob->data, best->data) < 0))
			best = blob;
	}
	return best ? best->data : "";
}

static enum sonde_status write_database(struct run *run, struct sonde_error *err)
{
	const struct sonde_prof_options *options = run->options;
	struct prof_source data = { .inputs = &run->inputs,
				    .options = options,
				    .all = &run->all,
				    .contexts = &run->contexts,
				    .metrics = &run->metrics,
				    .tracks = run->all.tracks.items,
				    .track_count = (uint32_t)run->all.tracks.count };
	struct hpcdb_source source = prof_source_of(&data);
	struct hpcdb_world world = { .title = options->title ? options->title : program_name(run),
				     .definitions = run->contexts.definitions,
				     .contexts = run->contexts.contexts,
				     .context_count = run->contexts.count,
				     .metrics = run->metrics.items.items,
				     .metric_count = (uint32_t)run->metrics.items.count,
				     .tracks = run->tracks,
				     .track_count = (uint32_t)run->all.tracks.count,
				     .kind_names = run->kinds,
				     .kind_count = run->kind_count };
	struct hpcdb_write_options write = { .statistics = options->statistics,
					     .no_thread_values = options->no_thread_values,
					     .no_traces = options->no_traces,
					     .copy_sources = options->copy_sources,
					     .replace = options->replace,
					     .threads = options->threads,
					     .team = options->team,
					     .progress = options->progress };
	struct hpcdb_written written = { 0 };
	enum sonde_status status = hpcdb_write(run->output, &world, &source, &write, &written, err);

	run->report->values = written.values;
	run->report->samples = written.samples;
	run->report->samples_out_of_order = written.samples_out_of_order;
	run->report->names_mended = written.names_mended;
	run->report->sources_copied = written.sources_copied;
	run->report->sources_missing = written.sources_missing;
	run->report->bytes = written.bytes;
	run->report->samples_unknown = atomic_load(&data.samples_unknown);
	prof_source_release(&data);
	return status;
}

/* What other ranks counted on their own. */
static enum sonde_status add_up(struct run *run, struct sonde_error *err)
{
	struct sonde_team *team = run->options->team;
	uint64_t mine = run->report->samples_unknown, sum = 0;
	uint64_t *all = calloc(sonde_team_size(team), sizeof(*all));
	unsigned int rank;
	enum sonde_status status =
		sonde_team_agree(team, all ? SONDE_OK : sonde_fail_nomem(err), err);

	if (status == SONDE_OK)
		status = sonde_team_exchange(team, &mine, 1, all, err);
	for (rank = 0; all && status == SONDE_OK && rank < sonde_team_size(team); rank++)
		sum += all[rank];
	run->report->samples_unknown = sum;
	free(all);
	return status;
}

static int compare_refused(const void *a, const void *b)
{
	const struct sonde_prof_refusal *one = a, *other = b;
	int order = strcmp(one->path, other->path);

	return order ? order : strcmp(one->reason, other->reason);
}

static enum sonde_status report_refused(struct sonde_prof_report *report,
					const struct prof_union *refused, struct sonde_error *err)
{
	size_t i;

	for (i = 0; i < refused->refused.count; i++) {
		struct sonde_prof_refusal *refusal = sonde_vec_push(&report->refusals);

		if (!refusal)
			return sonde_fail_nomem(err);
		*refusal = (struct sonde_prof_refusal){
			.path = strdup(refused->refused.items[i].path),
			.reason = strdup(refused->refused.items[i].reason),
		};
		if (!refusal->path || !refusal->reason)
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

/* Refusals are told also where the run fails: they say why. */
static enum sonde_status report_refusals(struct run *run, struct sonde_error *err)
{
	struct sonde_prof_report *report = run->report;
	enum sonde_status status = report_refused(report, &run->refused, err);

	if (status == SONDE_OK)
		status = report_refused(report, &run->all, err);
	if (report->refusals.count)
		qsort(report->refusals.items, report->refusals.count,
		      sizeof(*report->refusals.items), compare_refused);
	return status;
}

static enum sonde_status report_modules(struct run *run, struct sonde_error *err)
{
	struct sonde_prof_report *report = run->report;
	size_t i;

	report->profiles = (uint32_t)run->all.tracks.count;
	report->contexts = run->contexts.count;
	report->contexts_listed = run->contexts.listed;
	report->contexts_unwound = run->contexts.unwound;
	report->entries_demoted = run->contexts.demoted;
	report->derived_metrics = run->metrics.derived;
	report->metrics = (uint32_t)run->metrics.items.count - run->metrics.derived;
	for (i = 0; i < run->contexts.modules.count; i++) {
		struct sonde_prof_module *module = sonde_vec_push(&report->modules);

		if (!module)
			return sonde_fail_nomem(err);
		*module = run->contexts.modules.items[i];
		module->path = strdup(module->path);
		if (!module->path)
			return sonde_fail_nomem(err);
	}
	for (i = 0; i < run->metrics.notes.count; i++) {
		char **note = sonde_vec_push(&report->notes);

		if (!note || !(*note = strdup(run->metrics.notes.items[i])))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

/* From inputs to one union, the same on every rank. */
static enum sonde_status read_all(struct run *run, const char *const *inputs, size_t count,
				  struct sonde_error *err)
{
	enum sonde_status status =
		prof_inputs_find(&run->inputs, inputs, count, run->options, &run->refused, err);

	if (status != SONDE_OK)
		return status;
	status = prof_read(&run->inputs, run->options, &run->all, err);
	status = sonde_team_agree(run->options->team, status, err);
	if (status == SONDE_OK && run->options->team)
		status = gather_union(run, err);
	if (status == SONDE_OK && run->options->team)
		status = share_union(run, err);
	return status;
}

/* What follows from the union alone: every rank comes to the same. */
static enum sonde_status work_out(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = order_tracks(run, err);

	if (status == SONDE_OK)
		status = name_kinds(run, err);
	if (status == SONDE_OK)
		status = prof_metrics_make(&run->metrics, &run->all, err);
	status = sonde_team_agree(run->options->team, status, err);
	if (status == SONDE_OK)
		status = prof_contexts_make(&run->contexts, &run->all, &run->inputs, run->options,
					    &run->refused, err);
	return status;
}

/* Said before the work is done: what would be replaced is no database. */
static enum sonde_status check_output(const struct run *run, struct sonde_error *err)
{
	const struct sonde_prof_options *options = run->options;
	enum sonde_status status = SONDE_OK;

	if (options->replace && !options->dry_run && !sonde_team_rank(options->team))
		status = sonde_format_check_replaced(run->output, err);
	return sonde_team_agree(options->team, status, err);
}

static enum sonde_status run_all(struct run *run, const char *const *inputs, size_t count,
				 struct sonde_error *err)
{
	enum sonde_status status = check_output(run, err);

	if (status == SONDE_OK)
		status = read_all(run, inputs, count, err);
	if (status == SONDE_OK)
		status = work_out(run, err);
	if (status == SONDE_OK)
		status = sonde_team_agree(run->options->team, report_modules(run, err), err);
	if (status == SONDE_OK && !run->options->dry_run) {
		status = write_database(run, err);
		if (status == SONDE_OK)
			status = add_up(run, err);
	}
	return status;
}

static void release_run(struct run *run)
{
	prof_contexts_release(&run->contexts);
	prof_metrics_release(&run->metrics);
	prof_union_release(&run->all);
	prof_union_release(&run->refused);
	prof_inputs_release(&run->inputs);
	free(run->tracks);
	free(run->kinds);
}

enum sonde_status sonde_prof_run(const char *const *inputs, size_t input_count, const char *output,
				 const struct sonde_prof_options *options,
				 struct sonde_prof_report *report, struct sonde_error *err)
{
	struct run run = { .output = output, .options = options, .report = report };
	struct sonde_error ignored;
	enum sonde_status status = run_all(&run, inputs, input_count, err), told;

	told = report_refusals(&run, status == SONDE_OK ? err : &ignored);
	release_run(&run);
	return status == SONDE_OK ? told : status;
}

void sonde_prof_report_release(struct sonde_prof_report *report)
{
	size_t i;

	for (i = 0; i < report->refusals.count; i++) {
		free(report->refusals.items[i].path);
		free(report->refusals.items[i].reason);
	}
	for (i = 0; i < report->modules.count; i++)
		free((char *)report->modules.items[i].path);
	for (i = 0; i < report->notes.count; i++)
		free(report->notes.items[i]);
	sonde_vec_release(&report->refusals);
	sonde_vec_release(&report->modules);
	sonde_vec_release(&report->notes);
	*report = (struct sonde_prof_report){ 0 };
}
