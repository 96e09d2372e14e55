/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the recorded programs share with `sonde record`: one file in memory, made by the
 * launcher and mapped by the runtime of every recorded process. All talk between the two goes
 * through it, so nothing that was written is lost with a killed program, and no file descriptor
 * stays open in it. Only plain data lives here; both sides are of the same build.
 *
 *   control | processes | rings | counts of rings | modules | filters | memory of ring 0 | ...
 */
#ifndef SONDE_RUNTIME_SHARED_H
#define SONDE_RUNTIME_SHARED_H

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* In the environment of recorded programs: the path of the memory, "/proc/123/fd/7". */
#define SHARED_ENVIRONMENT "SONDE_RECORDER"

#define SHARED_MAGIC 0x65646e6f73u
#define SHARED_VERSION 9u
#define SHARED_NONE UINT32_MAX

/*
 * What a ring is made of. A record is one unit, or, with UNIT_DETAIL, several: the unit, and behind
 * it a struct shared_detail with its bytes, padded to whole units. `word` is stored last and makes
 * the record valid: it holds the lap of the chunk, so that what an earlier lap left is not taken
 * for new.
 */
struct shared_unit {
	uint64_t time;	/* see shared_control.clock */
	uint64_t stack; /* see enum unit_kind */
	uint64_t place;
	uint64_t word; /* kind << 56 | lap << 48 | function address */
};

#define UNIT_KIND_SHIFT 56
#define UNIT_LAP_SHIFT 48
#define UNIT_FUNCTION_MASK ((UINT64_C(1) << UNIT_LAP_SHIFT) - 1)
#define UNIT_DETAIL 0x80u /* added to a kind: a struct shared_detail follows */

enum unit_kind {
	UNIT_EMPTY,

	/*
	 * Compiler hooks. stack: the stack pointer of the instrumented function when it called the
	 * hook; place: the address behind that call of the hook. Functions inlined into one another
	 * have the same stack; alloca() can lower it until the return.
	 */
	UNIT_CALL,
	UNIT_RETURN,

	/*
	 * Patched entries. stack: the address of the return address on the stack, the same at entry
	 * and exit; place: the return address. A tail call enters while the slot already leads to
	 * our exit: it stays inside the call that used the slot before, and one exit ends both.
	 */
	UNIT_ENTRY,
	UNIT_ENTRY_TAIL,
	UNIT_EXIT,

	/* longjmp: calls of this stack whose `stack` lies below this one are left. */
	UNIT_UNWIND,
	/* A C++ exception is thrown: returns of calls open now are exceptions, until UNIT_CATCH. */
	UNIT_THROW,
	/* It was caught in the function whose stack pointer is `stack`: calls below are left. */
	UNIT_CATCH,
	/* pthread_exit: from here on all open calls are left by exception. */
	UNIT_THREAD_EXIT,
	/* The process is about to fork; place: a number that the child's process slot repeats. */
	UNIT_FORK,
	/* Recording stopped and went on: what ended in between was not seen. */
	UNIT_PAUSE,
	UNIT_RESUME,
	/* `place` events were dropped here because the ring was full. */
	UNIT_GAP,
	/* A stack of its own: [stack, place); function bits: enum stack_use. */
	UNIT_STACK,
	/* A mark of the program: place is the number of bytes of text, which follow like stack bytes
	 * of a detail (always UNIT_DETAIL). */
	UNIT_MARK,
	/* The program asks for what a trigger asks for; place: enum shared_request. */
	UNIT_REQUEST,

	/*
	 * Annotations; function bits: the address of the site, which the log of modules tells of.
	 * stack: the stack pointer of the function that has it; place: the address of the object
	 * that lives as long as a scope or zone, or the number that an event has. Their arguments,
	 * packed, are what their details are made of: see annotation_bytes().
	 */
	UNIT_SCOPE,
	UNIT_SCOPE_END,
	UNIT_ZONE,
	UNIT_ZONE_END,
	UNIT_EVENT,
	/* Bytes of an annotation too long for one record, which comes behind its pieces. stack: a
	 * number of this annotation, place: how many bytes came before. */
	UNIT_PIECE,

	/* Nothing more in this chunk. */
	UNIT_SKIP,

	UNIT_KIND_COUNT
};

/* Kinds that stand for an event each; bits. */
#define UNIT_EVENT_KINDS                                                                           \
	(1u << UNIT_CALL | 1u << UNIT_RETURN | 1u << UNIT_ENTRY | 1u << UNIT_ENTRY_TAIL |          \
	 1u << UNIT_EXIT | 1u << UNIT_MARK | 1u << UNIT_SCOPE | 1u << UNIT_SCOPE_END |             \
	 1u << UNIT_EVENT)

/* How many events a unit of this kind, given with UNIT_DETAIL or not, stands for. */
static inline uint64_t unit_events(uint32_t kind, uint64_t place)
{
	kind &= ~UNIT_DETAIL;
	if (kind == UNIT_GAP)
		return place;
	return kind < UNIT_KIND_COUNT ? UNIT_EVENT_KINDS >> kind & 1 : 0;
}

enum stack_use {
	STACK_COROUTINE = 1, /* makecontext, or announced by the program */
	STACK_SIGNAL = 2,    /* sigaltstack */
	STACK_GONE = 3,	     /* no longer a stack */
};

enum shared_request { REQUEST_FLUSH = 1, REQUEST_DUMP, REQUEST_TRIGGER };

enum {
	/* Of an annotation: its bytes came in pieces; values: their number, and of how many bytes. */
	SHARED_DETAIL_PIECES = 1,
};

/*
 * Behind a unit with UNIT_DETAIL; then, of a patched entry, a unit with rdx rcx r8 r9; then
 * stack_size bytes, and padding up to `units` in all. Its last word is never a unit's: kind 0.
 */
struct shared_detail {
	/*
	 * Of a compiler hook: frame pointer, call site, tags (see SHARED_TAGS; the stack pointer is
	 * in the unit).
	 * Of a patched entry: frame pointer, rdi, rsi; of an exit: frame pointer, rax, rdx (stack
	 * pointer and call site are in the unit).
	 */
	uint64_t values[3];
	uint16_t stack_size;
	uint16_t flags; /* SHARED_DETAIL_* */
	uint32_t units; /* of the whole record, the first one included */
};

/*
 * Bytes of a stack that stand where a unit has its word could be taken for one in a later lap. Hooks
 * keep the tag, kind and lap, of those apart, in the last so many units of a record: that of the
 * very last one in the lowest bits. Where such a tag is 0 nothing is missing.
 */
#define SHARED_TAGS 4
#define SHARED_TAG_BITS 16

/* Whether a unit of registers stands behind the detail of this kind, given with UNIT_DETAIL or not. */
static inline int unit_is_entry(uint32_t kind)
{
	kind &= ~UNIT_DETAIL;
	return kind == UNIT_ENTRY || kind == UNIT_ENTRY_TAIL;
}

static inline int unit_is_annotation(uint32_t kind)
{
	kind &= ~UNIT_DETAIL;
	return kind >= UNIT_SCOPE && kind <= UNIT_PIECE;
}

/*
 * The detail of an annotation has `stack_size` bytes of arguments: the first of them where other
 * details have their three addresses, the rest behind it.
 */
#define ANNOTATION_HEAD 24u
/* The longest record; what does not fit comes in pieces. Every ring has room for it. */
#define ANNOTATION_UNITS 64u
#define ANNOTATION_BYTES_MAX (ANNOTATION_HEAD + (ANNOTATION_UNITS - 2) * 32)
/* Of one text or array, of all arguments of one event, and of a resource. */
#define ANNOTATION_ITEM_MAX (UINT64_C(64) << 10)
#define ANNOTATION_MAX (UINT64_C(224) << 10)
#define RESOURCE_MAX (UINT64_C(64) << 20)

static inline uint64_t annotation_units(uint64_t size)
{
	return 2 + (size + 31 - ANNOTATION_HEAD) / 32;
}

/* The units of a record with a detail of so many bytes. */
static inline uint64_t shared_detail_units(int is_entry, uint64_t stack_size)
{
	return 2 + (is_entry ? 1 : 0) + (stack_size + 31) / 32;
}

/* The last word of such a detail: stack_size, no flags, units. */
static inline uint64_t shared_detail_shape(uint64_t units, uint64_t stack_size)
{
	return units << 32 | stack_size;
}

_Static_assert(sizeof(struct shared_unit) == 32, "a unit is 32 bytes");
_Static_assert(sizeof(struct shared_detail) == 32, "the fixed part of a detail is a unit");

/* Where in shared memory the memory of a ring begins is control->rings_memory + number * ring_size. */
enum ring_state {
	RING_FREE,
	RING_TAKEN,  /* a thread is filling in the fields */
	RING_ACTIVE, /* being written */
	RING_ENDED,  /* the thread is gone; the launcher frees it when it has read all */
};

struct shared_ring {
	/* Set by the thread that takes it. */
	_Alignas(64) _Atomic uint32_t state;
	uint32_t process; /* slot */
	uint32_t thread;  /* tid, as the launcher sees it */
	/* Its memory holds bytes of details that look like a unit, tag and all: each chunk is
	 * cleared before it is begun. Stays set for later owners. */
	uint32_t details;
	uint64_t first_chunk; /* it starts with this one: numbers go on from the last owner */
	uint64_t stack_low, stack_high;
	char name[16];

	/*
	 * Written by the thread. Chunks are numbered without end: number n lies at n % chunk_count,
	 * and its lap is lap_of_chunk(n).
	 */
	_Alignas(64) _Atomic uint64_t chunks_begun;
	_Atomic uint64_t dropped; /* events, in all */
	_Atomic uint64_t waits;	  /* times that the ring was full */

	/* Written by the launcher. */
	_Alignas(64) _Atomic uint32_t chunks_freed; /* low half of the count; a futex */
};

/* Kind 0 and lap 0 both never occur in a valid word. */
static inline uint64_t lap_of_chunk(uint64_t chunk, uint32_t chunk_count)
{
	return chunk / chunk_count % 255 + 1;
}

/*
 * What a thread stores to its ring can become visible in any order, the word of a record before what
 * stands behind it. In a chunk that is still being written the launcher takes only what it saw
 * before it made this call, of membarrier(2): it makes all that running threads had stored visible.
 * Those of other processes take part that have said so.
 */
#define SHARED_BARRIER MEMBARRIER_CMD_GLOBAL_EXPEDITED
#define SHARED_BARRIER_JOIN MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED

enum process_state {
	PROCESS_FREE,
	PROCESS_TAKEN,	/* its runtime is filling in the fields */
	PROCESS_ASKING, /* it waits for the launcher to find out its pid, and to set TAKEN again */
	PROCESS_STARTING, /* its modules are in the log; it waits on `state` for the launcher */
	PROCESS_RUNNING,  /* set by the launcher, with the filter filled in */
};

struct shared_process {
	_Alignas(64) _Atomic uint32_t state; /* a futex */
	uint32_t pid;			     /* as the launcher sees it; 0: unknown */
	uint32_t pid_inside;		     /* as the process sees it */
	uint32_t parent;      /* slot of the process it was forked from; SHARED_NONE: by exec */
	uint32_t parent_ring; /* ring of the thread that forked, when it wrote UNIT_FORK */
	uint64_t fork_number; /* 0: none written */
	uint64_t start_time;
	uint32_t has_barrier; /* takes part in SHARED_BARRIER */
	char name[16];
	_Atomic uint64_t missed_calls;	/* of patched functions: no memory to keep their return */
	_Atomic uint64_t cut_arguments; /* of annotations: texts and arrays that were too long */
	_Atomic uint64_t refused_resources; /* too large */

	/* The launcher's answer; filter_mask 0: every function takes filter_default. */
	uint64_t filter; /* offset of struct shared_filter[filter_mask + 1] in shared memory */
	uint64_t filter_mask;
	uint32_t filter_default; /* enum filter_action bits */
	uint32_t patch_count;	 /* modules with patchable entries */
	struct {
		uint64_t low, high; /* __patchable_function_entries in the memory of the process */
	} patch[16];
};

/* What to do at a function; bits. */
enum filter_action {
	FILTER_RECORD = 1,
	FILTER_TRIGGER_ON = 2,	  /* at its entry recording starts */
	FILTER_TRIGGER_OFF = 4,	  /* at its entry recording stops */
	FILTER_DETAIL_ON = 8,	  /* at its entry details start */
	FILTER_DETAIL_OFF = 16,	  /* at its entry details stop */
	FILTER_REQUEST_DUMP = 32, /* at its entry a flight recorder is to write what it has */
};

/* Open addressing: the first place is function_hash() & mask, then the next ones; 0 is empty. */
struct shared_filter {
	uint64_t function;
	uint64_t action;
};

static inline uint64_t function_hash(uint64_t function)
{
	return (function * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

/* What an entry of the log of modules tells. */
enum module_news {
	MODULE_UNLOADED, /* only base and time are set */
	MODULE_LOADED,
	MODULE_UNPATCHED, /* only base and the two counts are set */
	/*
	 * A site of annotations: base is its address, path a part of its texts, path_size bytes of
	 * it. Parts of one site have the same `low`; `high` counts them, and is SITE_LAST for the
	 * last one. The texts: kind and line as decimal numbers, name, signature, file, each with a
	 * 0 behind it.
	 */
	MODULE_SITE,
};

#define SITE_LAST (UINT64_C(1) << 63) /* added to `high` */

/*
 * The log of loaded modules. Entry n is at n % module_count of the control page; the runtime takes
 * a number from modules_begun, waits while the log is full, fills the entry and sets `ready` to
 * n + 1. The launcher raises modules_read.
 */
struct shared_module {
	_Atomic uint64_t ready;
	uint32_t process; /* slot */
	uint32_t news;	  /* enum module_news */
	uint64_t time;
	uint64_t base;	    /* what is added to addresses of its file */
	uint64_t low, high; /* of its executable segments, in memory */
	uint8_t build_id[32];
	uint32_t build_id_size;
	uint32_t path_size;
	/* Functions with patchable entries that are wanted, and were left as they are. */
	uint32_t entries_too_short, entries_not_writable;
	char path[416]; /* ends with 0 unless it is cut; the main program's is absolute */
};

_Static_assert(sizeof(struct shared_module) == 512, "a module is 512 bytes");

enum shared_mode {
	MODE_NONE,    /* 0 is what a forked child finds in rt_process.ready: never a mode */
	MODE_OFF,     /* nothing is recorded, and nobody waits any more */
	MODE_PLAIN,   /* every hook writes one unit */
	MODE_DETAIL,  /* every hook writes one unit with its detail */
	MODE_GENERAL, /* filters and triggers are looked at, and whether details are wanted */
	MODE_PAUSED,  /* as GENERAL, but nothing is recorded unless a trigger starts it */
};

enum shared_clock { SHARED_CLOCK_TSC, SHARED_CLOCK_BOOTTIME };

/* --on-full */
enum shared_on_full { ON_FULL_WAIT, ON_FULL_DROP, ON_FULL_OVERWRITE };

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): cache lines */
struct shared_control {
	uint64_t magic;
	uint32_t version;
	uint64_t size;	    /* of the whole memory */
	uint64_t inode;	    /* of this memory */
	uint64_t namespace; /* of the launcher's process ids: the inode; 0: unknown */
	/*
	 * Robust, and the launcher's from before a program runs to its own end: if it dies first the
	 * kernel says so in here, whatever it died of and whoever can see its process id.
	 */
	pthread_mutex_t lives;

	uint32_t clock;	  /* enum shared_clock */
	uint32_t on_full; /* enum shared_on_full */
	uint32_t stack_bytes;
	uint32_t follow; /* forked children are recorded too */
	uint32_t
		resumes; /* the launcher may end a pause; else only the program or a trigger in it */

	uint32_t process_count, ring_count, module_count;
	uint32_t chunk_count; /* per ring */
	uint64_t chunk_size;  /* bytes, a power of two, >= 4096 */
	uint64_t ring_size;   /* chunk_count * chunk_size */
	uint64_t processes, rings, modules, filters, rings_memory; /* offsets */
	/* Offset of chunk_count numbers for each ring, where it overwrites: the events that its thread
	 * wrote before the chunk that is at that place. */
	uint64_t events_before;
	uint64_t filters_size;

	/* Read at every hook; written by the launcher, seldom. */
	_Alignas(64) _Atomic uint32_t mode; /* enum shared_mode */
	_Atomic uint32_t detail;	    /* details are recorded */

	/* Written by both, seldom. */
	_Alignas(64) _Atomic uint32_t wake; /* a futex: the launcher sleeps here */
	_Atomic uint32_t sleeping;	    /* the launcher does: whoever has news raises wake */
	_Atomic uint32_t ring_hint;	    /* where to look for a free ring first */
	/* None from here on was ever taken: raised with every new ring and process slot. */
	_Atomic uint32_t rings_high, processes_high;
	_Atomic uint64_t modules_begun, modules_read;
	/* Found no free ring, or no free slot, so nothing of them was recorded. */
	_Atomic uint64_t lost_threads, lost_processes;
	_Atomic uint64_t hidden_processes; /* likewise, of which no pid is known */
};

#endif
