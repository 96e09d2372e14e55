/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of any size for measurements: random nested calls with exceptions now and
 * then, on threads that overlap in time. It is a recording whose cursors make up their events, and
 * goes through the same pipeline and writer as a conversion does. The same options give the same
 * bytes.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "formats/format.h"
#include "model/recording.h"

#define BATCH 1024
#define FUNCTIONS_PER_MODULE 200
#define START_NS 1000000000000u
#define STACK_POOL 65536

struct plan {
	uint32_t threads;
	uint64_t events; /* of all threads */
	uint32_t depth;	 /* the deepest call */
	uint32_t functions;
	uint64_t detail_share; /* events with a detail, in percent */
	uint64_t stack_bytes;
	uint64_t seed;
	const char *output;
	const char *format;
	uint8_t stack[STACK_POOL]; /* random bytes that details point into */
};

struct generator {
	struct sonde_cursor base;
	const struct plan *plan;
	uint64_t random;
	uint64_t time_ns;
	uint64_t position;
	uint64_t total;
	uint32_t depth;
	uint32_t *open; /* functions of the open calls */
	uint64_t batch_start;
	struct sonde_event events[BATCH];
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t thread_events(const struct plan *plan, uint32_t thread)
{
	return plan->events / plan->threads + (thread < plan->events % plan->threads);
}

/* Details are spread evenly: how many there are before the event of this index. */
static uint64_t details_before(const struct plan *plan, uint64_t index)
{
	return index * plan->detail_share / 100;
}

/* Few functions are called often, most seldom: the smaller of two draws, squared again. */
static uint32_t draw_function(struct generator *generator, uint64_t random)
{
	uint64_t a = random & 0xFFFF, b = random >> 16 & 0xFFFF;
	uint64_t small = a < b ? a : b;

	return (uint32_t)(small * small % 0xFFFF0001u * generator->plan->functions >> 32);
}

/* Mostly some dozens of nanoseconds; now and then a thread waits. */
static uint64_t draw_step(uint64_t random)
{
	return (random >> 52) ? 20 + (random >> 40 & 127) : 1000 + (random >> 32 & 0xFFFF);
}

static void make_event(struct generator *generator, struct sonde_event *event)
{
	uint64_t random = next_random(&generator->random);
	uint64_t left = generator->total - generator->position;
	bool leaves = generator->depth && (left <= generator->depth || (random >> 35 & 1) ||
					   generator->depth == generator->plan->depth);

	generator->time_ns += draw_step(random);
	*event = (struct sonde_event){
		.time_ns = generator->time_ns,
		.track = generator->base.track,
		.detail = SONDE_NONE,
	};
	if (leaves) {
		event->kind = random >> 36 & 511 ? SONDE_EVENT_RETURN : SONDE_EVENT_EXCEPTION;
		event->depth = generator->depth--;
		event->function = generator->open[generator->depth];
	} else {
		event->kind = SONDE_EVENT_CALL;
		event->function = draw_function(generator, random);
		generator->open[generator->depth++] = event->function;
		event->depth = generator->depth;
	}
}

static enum sonde_status generator_next(struct sonde_cursor *cursor, struct sonde_batch *batch,
					struct sonde_error *err)
{
	struct generator *generator = (struct generator *)cursor;
	const struct plan *plan = generator->plan;
	uint64_t detail = details_before(plan, generator->position);
	size_t count = 0;

	(void)err;
	generator->batch_start = generator->position;
	for (; count < BATCH && generator->position < generator->total; count++) {
		make_event(generator, &generator->events[count]);
		if (details_before(plan, ++generator->position) > detail)
			generator->events[count].detail = (uint32_t)detail++;
	}
	batch->events = generator->events;
	batch->count = count;
	batch->first_index = generator->batch_start;
	return count ? SONDE_OK : SONDE_END;
}

/* Only the details of the batch in hand are asked for. */
static enum sonde_status generator_detail(struct sonde_cursor *cursor, uint64_t number,
					  struct sonde_detail *detail, struct sonde_error *err)
{
	struct generator *generator = (struct generator *)cursor;
	const struct plan *plan = generator->plan;
	uint64_t index = ((number + 1) * 100 + plan->detail_share - 1) / plan->detail_share - 1;
	uint64_t random = (number + 1) * 0x9E3779B97F4A7C15u;
	const struct sonde_event *event;

	if (index < generator->batch_start || index >= generator->position)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "not in this batch");
	event = &generator->events[index - generator->batch_start];
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_REGISTERS,
		.type = event->kind == SONDE_EVENT_RETURN ? 4 : 3,
		.function = event->function,
		.event = index,
		.time_ns = event->time_ns,
		.registers = { .arch = SONDE_ARCH_X86_64, .flags = SONDE_REGISTERS_ARGUMENTS },
		.stack = plan->stack + random % (STACK_POOL - plan->stack_bytes),
		.stack_size = plan->stack_bytes,
	};
	for (unsigned int i = 0; i < SONDE_REGISTER_COUNT; i++)
		detail->registers.values[i] = next_random(&random);
	return SONDE_OK;
}

static void generator_free(struct sonde_cursor *cursor)
{
	free(((struct generator *)cursor)->open);
	free(cursor);
}

static enum sonde_status generator_open(struct sonde_recording *recording, uint32_t track,
					struct sonde_cursor **cursor, struct sonde_error *err)
{
	static const struct sonde_cursor_ops ops = {
		.next = generator_next,
		.detail = generator_detail,
		.free = generator_free,
	};
	const struct plan *plan = recording->data;
	struct generator *generator = calloc(1, sizeof(*generator));

	if (generator)
		generator->open = calloc(plan->depth, sizeof(*generator->open));
	if (!generator || !generator->open) {
		free(generator);
		return sonde_fail_nomem(err);
	}
	generator->base.ops = &ops;
	generator->plan = plan;
	generator->random = (plan->seed + track + 1) * 0x9E3779B97F4A7C15u;
	generator->time_ns = START_NS + (uint64_t)track * 1000;
	generator->total = thread_events(plan, track);
	*cursor = &generator->base;
	return SONDE_OK;
}

static enum sonde_status add_text(struct sonde_definitions *definitions, uint32_t *id,
				  const char *format, uint32_t number, struct sonde_error *err)
{
	char text[64];

	snprintf(text, sizeof(text), format, number);
	return sonde_definitions_add_string(definitions, text, strlen(text), id, err);
}

static enum sonde_status define_functions(struct sonde_definitions *definitions,
					  const struct plan *plan, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	for (uint32_t i = 0; !status && i < plan->functions; i++) {
		uint32_t number = i / FUNCTIONS_PER_MODULE;
		struct sonde_function function = {
			.module = number,
			.has_key = true,
			.key = (uint64_t)(number + 1) << 32 | (i % FUNCTIONS_PER_MODULE + 1),
		};
		struct sonde_module module = {
			.has_key = true,
			.key = number + 1,
			.base_address = 0x7f0000000000u + ((uint64_t)number << 24),
			.size = 1u << 24,
		};

		if (i % FUNCTIONS_PER_MODULE == 0) {
			status = add_text(definitions, &module.path, "/usr/lib/libgenerated%u.so",
					  number, err);
			if (!status)
				status = sonde_definitions_add_module(definitions, &module, &id,
								      err);
		}
		if (!status)
			status = add_text(definitions, &function.name, "generated::function_%u", i,
					  err);
		if (!status)
			status = sonde_definitions_add_function(definitions, &function, &id, err);
	}
	return status;
}

static enum sonde_status define_all(struct sonde_definitions *definitions, const struct plan *plan,
				    struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	struct sonde_process process = {
		.os_id = 4242,
		.arch = SONDE_ARCH_X86_64,
		.os = SONDE_OS_LINUX,
	};
	enum sonde_status status = add_text(definitions, &process.name, "generated", 0, err);
	uint32_t id;

	if (!status)
		status = sonde_definitions_add_clock(definitions, &clock, &process.clock, err);
	if (!status)
		status = sonde_definitions_add_process(definitions, &process, &id, err);
	for (uint32_t i = 0; !status && i < plan->threads; i++) {
		uint64_t events = thread_events(plan, i);
		struct sonde_track track = {
			.slot = i,
			.os_id = 4242 + (uint64_t)i,
			.event_count = events,
			.detail_count = details_before(plan, events),
		};

		status = add_text(definitions, &track.name, "worker %u", i, err);
		if (!status)
			status = sonde_definitions_add_track(definitions, &track, &id, err);
	}
	return status ? status : define_functions(definitions, plan, err);
}

static enum sonde_status generate(struct plan *plan, struct sonde_run_result *result,
				  struct sonde_error *err)
{
	static const struct sonde_format format = { .info.name = "generated" };
	static const struct sonde_recording_ops ops = { .cursor_open = generator_open };
	const struct sonde_create_options create = { .format = plan->format, .replace = true };
	struct sonde_recording *recording = sonde_recording_new(&format, "generated");
	struct sonde_sink *sink = NULL;
	enum sonde_status status;

	if (!recording)
		return sonde_fail_nomem(err);
	recording->ops = &ops;
	recording->data = plan;
	recording->lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS;
	status = define_all(recording->definitions, plan, err);
	if (!status)
		status = sonde_sink_create(plan->output, &create, &sink, err);
	if (!status)
		status = sonde_pipeline_run(&recording, 1, sink, NULL, result, err);
	sonde_sink_free(sink);
	sonde_recording_close(recording);
	return status;
}

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	char *end;

	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *number >= least && *number <= most;
}

static void print_usage(FILE *file)
{
	fputs("usage: sonde-generate [options] -o OUTPUT\n"
	      "Writes a recording of random nested calls, for measurements.\n\n"
	      "  --threads N         tracks (default 4)\n"
	      "  --events N          events of all threads together (default 1000000)\n"
	      "  --depth N           the deepest call (default 32)\n"
	      "  --functions N       functions (default 1000)\n"
	      "  --detail-share N    events with a detail, in percent (default 0)\n"
	      "  --stack-bytes N     stack bytes in a detail, 0 to 256 (default 128)\n"
	      "  --seed N            another seed, other data (default 1)\n"
	      "  --format NAME       the format to write (default atf)\n"
	      "  -o OUTPUT           where to; replaced where it exists\n",
	      file);
}

/* 0 to go on; else what to exit with, plus one. */
static int parse_options(int argc, char **argv, struct plan *plan)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "events", required_argument, NULL, 'e' },
		{ "depth", required_argument, NULL, 'd' },
		{ "functions", required_argument, NULL, 'f' },
		{ "detail-share", required_argument, NULL, 'D' },
		{ "stack-bytes", required_argument, NULL, 'b' },
		{ "seed", required_argument, NULL, 's' },
		{ "format", required_argument, NULL, 'F' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t number = 0;
	int option;

	while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		bool fits = true;

		switch (option) {
		case 't':
			fits = parse_number(optarg, 1, 100000, &number);
			plan->threads = (uint32_t)number;
			break;
		case 'e':
			fits = parse_number(optarg, 0, UINT64_MAX / 100, &plan->events);
			break;
		case 'd':
			fits = parse_number(optarg, 1, 1000000, &number);
			plan->depth = (uint32_t)number;
			break;
		case 'f':
			fits = parse_number(optarg, 1, 10000000, &number);
			plan->functions = (uint32_t)number;
			break;
		case 'D':
			fits = parse_number(optarg, 0, 100, &plan->detail_share);
			break;
		case 'b':
			fits = parse_number(optarg, 0, 256, &plan->stack_bytes);
			break;
		case 's':
			fits = parse_number(optarg, 0, UINT64_MAX, &plan->seed);
			break;
		case 'F':
			plan->format = optarg;
			break;
		case 'o':
			plan->output = optarg;
			break;
		case 'h':
			print_usage(stdout);
			return 1;
		default:
			return 3;
		}
		if (!fits) {
			fprintf(stderr, "sonde-generate: %s is out of range\n", optarg);
			return 3;
		}
	}
	if (plan->output && optind == argc)
		return 0;
	print_usage(stderr);
	return 3;
}

int main(int argc, char **argv)
{
	static struct plan plan = {
		.threads = 4,
		.events = 1000000,
		.depth = 32,
		.functions = 1000,
		.stack_bytes = 128,
		.seed = 1,
		.format = "atf",
	};
	struct sonde_run_result result;
	struct sonde_error err;
	uint64_t random = 0x2545F4914F6CDD1Du;
	char message[1500];
	int done = parse_options(argc, argv, &plan);

	if (done)
		return done - 1;
	for (size_t i = 0; i < STACK_POOL; i++)
		plan.stack[i] = (uint8_t)(next_random(&random) >> 56);
	if (generate(&plan, &result, &err)) {
		sonde_error_format(&err, message, sizeof(message));
		fprintf(stderr, "sonde-generate: %s\n", message);
		return 3;
	}
	printf("%" PRIu64 " events, %" PRIu64 " details in %s\n", result.events_written,
	       result.details_written, plan.output);
	return 0;
}
