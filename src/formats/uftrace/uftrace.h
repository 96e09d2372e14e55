/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the reader of uftrace's data: who ran (tasks, sessions), what is where (symbols), arguments. */
#ifndef SONDE_FORMATS_UFTRACE_H
#define SONDE_FORMATS_UFTRACE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/exchange.h"
#include "formats/uftrace/uftrace_layout.h"

/* A piece of text that belongs to somebody else. */
struct uftrace_text {
	const char *at;
	size_t size;
};

/* Takes the next line off a text, without its end; false after the last. */
bool uftrace_next_line(struct uftrace_text *text, struct uftrace_text *line);
/* Takes what is before the next `separator`, which is taken too. */
struct uftrace_text uftrace_take(struct uftrace_text *text, char separator);
bool uftrace_starts(struct uftrace_text *text, const char *with); /* takes it off where it does */
uint64_t uftrace_number(struct uftrace_text text, unsigned int base);

/* How one argument lies in a record. */
enum uftrace_value {
	UFTRACE_SIGNED,
	UFTRACE_UNSIGNED,
	UFTRACE_CHARACTER,
	UFTRACE_FLOAT,
	UFTRACE_STRING,
	UFTRACE_BYTES,
};

struct uftrace_argument {
	uint8_t value; /* enum uftrace_value */
	uint16_t size; /* in bytes; a string brings its own */
};

#define UFTRACE_ARGUMENTS_MOST 32

struct uftrace_arguments {
	uint32_t event_type; /* with the signature */
	size_t count;
	struct uftrace_argument items[UFTRACE_ARGUMENTS_MOST];
};

/* Symbols of one module, from its .sym file, and what its .dbg file says of them. */
struct uftrace_symbol {
	uint64_t address;
	struct uftrace_text name;
	struct uftrace_text arguments, result; /* specifications, or empty */
	struct uftrace_text file;
	uint32_t line;
	bool ends; /* nothing is here: what was before has ended */
};

struct uftrace_symbols {
	struct uftrace_text path, build_id; /* of the module */
	char *file, *debug_file;	    /* names in the folder; debug_file may be NULL */
	bool loaded;
	struct sonde_mapped_file text, debug_text;
	SONDE_VEC(struct uftrace_symbol) items; /* by address */
};

struct uftrace_mapping {
	uint64_t start, end, base; /* end 0: unknown, of what was loaded later */
	uint64_t since_ns;
	uint32_t symbols; /* or SONDE_NONE */
	struct uftrace_text path;
};

struct uftrace_session {
	uint64_t time_ns;
	uint32_t pid;
	struct uftrace_text id, program;
	SONDE_VEC(struct uftrace_mapping) mappings; /* by start; what was loaded later at the end */
};

struct uftrace_task {
	uint64_t time_ns;
	uint32_t tid, pid, parent; /* parent: of a fork, else SONDE_NONE */
};

/* What the kernel told of a task. */
enum uftrace_note_kind { UFTRACE_GOES_ON, UFTRACE_WAITS, UFTRACE_PREEMPTED, UFTRACE_NAMED };

struct uftrace_note {
	uint64_t time_ns;
	const char *name; /* of NAMED; not terminated */
	uint32_t tid;
	uint16_t length; /* of the name */
	uint8_t kind;	 /* enum uftrace_note_kind */
};

/* Those of one task that were not looked at yet. */
struct uftrace_notes {
	const struct uftrace_note *next, *end;
	struct uftrace_text name; /* the last one so far */
};

/* A time in which a task did not run. */
struct uftrace_pause {
	uint64_t start_ns, end_ns;
	bool is_preempted; /* it did not wait for anything */
};

/* What an address of a process stands for. */
struct uftrace_place {
	uint32_t function;
	uint32_t arguments, result; /* of `specs`, or SONDE_NONE */
};

struct uftrace {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_arena arena;
	struct sonde_mapped_file info, tasks;
	uint64_t features;
	bool is_32_bit, by_glob;
	struct uftrace_text argument_specs, result_specs, argument_auto, result_auto;
	SONDE_VEC(struct sonde_mapped_file) maps;
	SONDE_VEC(struct uftrace_symbols) symbols;
	SONDE_VEC(struct uftrace_session) sessions; /* in the order of the file */
	SONDE_VEC(struct uftrace_task) task_list;
	SONDE_VEC(struct uftrace_note) notes; /* by task and time */
	SONDE_VEC(struct uftrace_arguments) specs;
	struct sonde_text_map space_ids;  /* (session, process) -> number */
	struct sonde_text_map module_ids; /* (process, symbols) -> module */
	uint32_t space_count;
	/* the one that was asked for last */
	const struct uftrace_session *last_session;
	uint32_t last_process;
	uint32_t last_space;		/* plus 1; 0: none */
	struct sonde_key_map place_ids; /* (space, address) -> place */
	SONDE_VEC(struct uftrace_place) places;
	struct sonde_buffer packed; /* arguments of one record */
};

/* uftrace_session.c: task.txt, the maps, and which symbol files there are. */
enum sonde_status uftrace_read_tasks(struct uftrace *data, struct sonde_error *err);
const struct uftrace_task *uftrace_find_task(const struct uftrace *data, uint32_t tid);
/* The session of a process at a time, and until when that holds. NULL: none. */
const struct uftrace_session *uftrace_find_session(const struct uftrace *data, uint32_t pid,
						   uint64_t time_ns, uint64_t *until_ns);
enum sonde_status uftrace_map_file(struct uftrace *data, const char *name,
				   struct sonde_mapped_file *file, struct sonde_error *err);

/* uftrace_notes.c: what the kernel told, in files of each processor. */
enum sonde_status uftrace_read_notes(struct uftrace *data, const struct sonde_folder *folder,
				     struct sonde_error *err);
struct uftrace_notes uftrace_find_notes(const struct uftrace *data, uint32_t tid);
/* Takes the notes before a time up to the next pause; false: there is none. */
bool uftrace_next_pause(struct uftrace_notes *notes, uint64_t before_ns,
			struct uftrace_pause *pause);

/* uftrace_symbols.c */
enum sonde_status uftrace_list_symbols(struct uftrace *data, const struct sonde_folder *folder,
				       struct sonde_error *err);
/* The symbols of a module; SONDE_NONE: there are none. */
uint32_t uftrace_symbols_of(const struct uftrace *data, struct uftrace_text path,
			    struct uftrace_text build_id);
enum sonde_status uftrace_find_place(struct uftrace *data, const struct uftrace_session *session,
				     uint32_t process, uint64_t address, uint64_t time_ns,
				     struct uftrace_place *place, struct sonde_error *err);
void uftrace_symbols_release(struct uftrace *data);

/* uftrace_arguments.c */
/* How arguments (or the result) of a function lie in its records; SONDE_NONE: nobody says. */
enum sonde_status uftrace_find_spec(struct uftrace *data, struct uftrace_text function,
				    struct uftrace_text debug, bool is_result, uint32_t *spec,
				    struct sonde_error *err);
/* Packs values as the model has them into data->packed; how many bytes they took; 0: they do not fit. */
size_t uftrace_pack(struct uftrace *data, const struct uftrace_arguments *spec,
		    const uint8_t *bytes, size_t size);

/* uftrace_read.c */
enum sonde_status uftrace_open(struct sonde_recording *recording, struct sonde_error *err);
int uftrace_probe(const char *path);

#endif
