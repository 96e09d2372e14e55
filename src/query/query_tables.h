/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of queries share: a recording with what is made of it on demand, what a query wants of
 * a table's columns, and a module of SQLite that does everything which is the same for all of them.
 */
#ifndef SONDE_QUERY_QUERY_TABLES_H
#define SONDE_QUERY_QUERY_TABLES_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/vec.h"
#include "model/derive.h"
#include "query/query.h"

/* Ids of events, spans, details and samples: the track, and a number within it. */
#define QUERY_ID_SHIFT 40
#define QUERY_ID_NUMBER ((INT64_C(1) << QUERY_ID_SHIFT) - 1)
#define QUERY_ID_TRACKS (INT64_C(1) << (63 - QUERY_ID_SHIFT))

/* A column has at most so many; colUsed of them fits into an int. */
#define QUERY_COLUMNS_MOST 24

/* The bit of a column in the sets of struct query_plan and struct query_cursor. */
#define QUERY_BIT(column) (UINT32_C(1) << (column))

struct query_formulas;
struct query_marks;
struct query_signatures;

struct query_profile;
struct query_values;

/* A recording and what is made of it when it is first asked for. */
struct query_recording {
	struct query *query;
	char *schema;
	struct sonde_recording *recording; /* borrowed */
	const struct sonde_definitions *definitions;
	bool functions_met;		 /* all of them: see the table of functions */
	bool derives_events;		 /* it has samples and no events */
	bool derives_profile;		 /* it has events and no contexts */
	bool makes_values;		 /* not all values are in the recording */
	uint32_t spent_metrics[4];	 /* of calls, by enum query_spent_metric */
	uint32_t *execution;		 /* by metric: what is made of it; SONDE_NONE: nothing */
	uint32_t metric_count;		 /* of the recording itself */
	struct query_formulas *formulas; /* NULL: none */
	struct query_values *kept;	 /* by track; NULL: none yet */
	size_t kept_values;
	struct sonde_derived_events *derived; /* NULL: not asked for yet */
	struct query_profile *profile;	      /* NULL: not asked for yet */
	struct query_marks *marks;	      /* of the spans; NULL: not asked for yet */
	struct query_signatures *signatures;  /* NULL: not asked for yet */
};

struct query {
	sqlite3 *connection;
	struct query_recording *recordings;
	size_t count;
	unsigned int threads;
	uint64_t timeout_ns;
	uint64_t deadline_ns; /* 0: none */
	sqlite3_int64 old_heap_limit;
	uint64_t spans_at_once; /* that are put in the order of functions; tests change it */
	atomic_bool cancelled;
	_Atomic enum sonde_status interruption;
	bool failed; /* `error` says why */
	bool ready;  /* opened: from now on only what is allowed */
	struct sonde_error error;
};

/* Whether the query is to end: its time is over, or somebody said so. Cheap enough for each batch. */
bool query_is_over(struct query *query);

/* Remembers a failure for query_error() and tells SQLite, in whose words it is `code`. */
int query_fail(sqlite3_vtab *vtab, const struct sonde_error *err);

/* --- contexts and values, by query_profile.c --- */

/* What a track spent in a context, where that is made of its calls. */
struct query_spent {
	uint32_t context;
	uint64_t calls, total_calls;
	uint64_t self_ns, total_ns;
};

struct query_profile {
	const struct sonde_context *contexts;
	uint32_t context_count;
	/* the rest only where it is made of calls: */
	bool is_derived;
	struct sonde_derived_profile names;
	struct sonde_context_union *tree;
	struct query_spents {
		struct query_spent *items; /* by context, ascending */
		size_t count, capacity;
	} * spent; /* by track */
	uint32_t track_count;
};

/* The profile of a recording, made when it is first asked for; borrowed. */
enum sonde_status query_profile_get(struct query_recording *source,
				    const struct query_profile **profile, struct sonde_error *err);
void query_profile_free(struct query_profile *profile);

/* Of calls: metrics by what they count and scope. */
enum query_spent_metric {
	QUERY_TIME_POINT,
	QUERY_TIME_EXECUTION,
	QUERY_CALLS_POINT,
	QUERY_CALLS_EXECUTION,
	QUERY_SPENT_METRICS,
};

/*
 * Defines the metrics that are made here: those of calls, and what is measured in a context with all below
 * it ("execution") where a recording has only what was measured in the context itself ("point").
 */
enum sonde_status query_metrics_define(struct query_recording *source, struct sonde_error *err);

/* --- values that are made, by query_values.c --- */

/* Of one track, by context and metric. */
struct query_values {
	struct sonde_value *items;
	size_t count, capacity;
};

/*
 * The values of a track with those that are made of others: `own` has them, or *values borrows those
 * that were kept from before. Only of a recording that makes_values.
 */
enum sonde_status query_values_get(struct query_recording *source, uint32_t track,
				   struct query_values *own, const struct query_values **values,
				   struct sonde_error *err);

/* Frees what was kept. */
void query_values_release(struct query_recording *source);

/* The first value of a context or of one behind it. */
size_t query_values_find(const struct query_values *values, uint32_t context);

struct query_tree {
	const struct sonde_definitions *definitions;
	const struct sonde_context *contexts;
	uint32_t count;
};

/* The contexts of a recording by its schema, NULL being the first; made of its calls where it has none. */
enum sonde_status query_tree(struct query *query, const char *schema, struct query_tree *tree,
			     struct sonde_error *err);

/* --- formulas, by query_formulas.c --- */

/* Defines a metric for each formula, in each scope that has all metrics of it. */
enum sonde_status query_formulas_define(struct query_recording *source, const char *const *texts,
					size_t count, struct sonde_error *err);
void query_formulas_free(struct query_formulas *formulas);

/* Adds what they give to the values of a track, which are in the order of contexts, and then are not. */
enum sonde_status query_formulas_work_out(const struct query_recording *source,
					  struct query_values *values, struct sonde_error *err);

/* --- events of any recording --- */

/*
 * A cursor over recorded events, or over those that samples make: of these only next and position may be
 * used. See query_recording.derives_events.
 */
enum sonde_status query_events_open(struct query_recording *source, uint32_t track,
				    struct sonde_cursor **cursor, struct sonde_error *err);

/* --- what a query wants of a table --- */

/* Which conditions on a column a table takes over. */
enum query_push {
	QUERY_PUSH_NOTHING,
	QUERY_PUSH_RANGE, /* of an integer: = < <= > >= */
	QUERY_PUSH_SET,	  /* the same, and IN */
	QUERY_PUSH_WORD,  /* of a word that has a number: = and IN */
	QUERY_PUSH_TEXT,  /* = */
};

/* What is wanted of one column. */
struct query_wish {
	int64_t low, high; /* both included */
	bool has_set;
	SONDE_VEC(int64_t) set; /* ascending */
	sqlite3_value *text;	/* of QUERY_PUSH_TEXT; NULL: any */
};

/* What a column that is NULL counts as: wanted only where nothing is said of it. */
#define QUERY_NULL INT64_MIN

struct query_wishes {
	struct query_wish columns[QUERY_COLUMNS_MOST];
	uint32_t touched; /* bits of columns that something is said of */
	bool nothing;	  /* no row can fit */
};

bool query_wish_has(const struct query_wish *wish, int64_t value);

static inline bool query_wish_fits(const struct query_wish *wish, int64_t value)
{
	if (value < wish->low || value > wish->high)
		return false;
	return __builtin_expect(!wish->has_set, 1) || query_wish_has(wish, value);
}

/* Whether anything at all is said of the column. */
static inline bool query_wish_is_any(const struct query_wish *wish)
{
	return wish->low == INT64_MIN && wish->high == INT64_MAX && !wish->has_set;
}

bool query_wish_fits_text(const struct query_wish *wish, const char *text);

/*
 * Times that are wanted, both included; those of recordings may be beyond SQLite's integers. False
 * where none fits.
 */
bool query_wish_times(const struct query_wish *wish, uint64_t *low_ns, uint64_t *high_ns);

/*
 * The tracks that fit wishes about a track and an id of QUERY_ID_SHIFT (NULL: any): the next from `from`
 * on, or SONDE_NONE.
 */
uint32_t query_next_track(const struct query_recording *source, const struct query_wish *track,
			  const struct query_wish *id, uint32_t from);

/* --- the module --- */

/* How rows come, said by a table's plan and given back to it with the wishes. */
enum query_order { QUERY_ORDER_NATURAL, QUERY_ORDER_TIME, QUERY_ORDER_FUNCTION };

struct query_cursor;
struct query_table;

/* What a plan knows: which columns have conditions, and of which kind. */
struct query_plan {
	const struct query_table *table;
	struct query_recording *source;
	uint32_t ranges; /* bits of columns: < <= > >= */
	uint32_t equals; /* bits of columns: =, or IN where the table takes it at once */
	uint32_t sets;	 /* bits of those: IN */
	sqlite3_index_info *info;
	/* to be filled in */
	double cost, rows;
	bool unique;	     /* one row at most */
	bool order_consumed; /* rows come as info->aOrderBy says */
	enum query_order order;
};

struct query_table {
	const char *name;
	const struct query_column *columns; /* ends where `table` is NULL */
	int id_column;			    /* the one that is the rowid; -1: none */
	const uint8_t *pushes;		    /* by column: enum query_push */
	/* The number of a word of a QUERY_PUSH_WORD column; negative: there is none. */
	int64_t (*word)(int column, const char *text);
	size_t cursor_size;
	void (*plan)(struct query_plan *plan);
	/* Puts the cursor on its first row; may be called again, whatever row it is on. */
	int (*start)(struct query_cursor *cursor);
	/* Frees what the cursor holds; called once. */
	void (*release)(struct query_cursor *cursor);
	int (*next)(sqlite3_vtab_cursor *cursor);
	int (*column)(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);
	int (*row_id)(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id);
};

/* First member of every table's cursor. */
struct query_cursor {
	sqlite3_vtab_cursor base;
	const struct query_table *table;
	struct query_recording *source;
	struct query_wishes wishes;
	uint32_t used; /* bits of columns that the statement looks at */
	enum query_order order;
	bool at_end;
	int64_t number; /* of the row, counted by tables whose rows have no id; 0 at the start */
};

/* The rowid of these. */
int query_row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id);

/* What a function of a cursor returns: SQLITE_OK, or `err` by query_fail(). */
int query_outcome(struct query_cursor *cursor, enum sonde_status status,
		  const struct sonde_error *err);

/* The columns, the cursor and the functions of a table that has a file for itself: all have these names. */
#define QUERY_TABLE_PARTS                                                                          \
	.columns = columns, .pushes = pushes, .cursor_size = sizeof(struct cursor), .plan = plan,  \
	.start = start, .release = release, .next = next, .column = column

/* Remembers the calls that are open here and there in a track; see table_spans.c. */
void query_marks_free(struct query_marks *marks);

/* What event types take, as detail_walk.c has understood it. */
void query_signatures_free(struct query_signatures *signatures);

/* All tables; NULL past the last. */
const struct query_table *query_table_at(size_t index);

extern const struct query_table query_table_events;
extern const struct query_table query_table_spans;
extern const struct query_table query_table_samples;
extern const struct query_table query_table_contexts;
extern const struct query_table query_table_vals;
extern const struct query_table query_table_details;
extern const struct query_table query_table_args;

/* Tables that are lists of definitions. */
const struct query_table *query_list_table_at(size_t index);

/* Makes modules of all tables. */
int query_add_tables(struct query *query);

/* Whether a statement is content with this order, each column ascending. */
bool query_wants_order(sqlite3_index_info *info, const int *columns, int count);

/*
 * Cost and rows of a pass over events, with conditions on the columns of these bits: those on the track and
 * the time make it shorter, those on others only the result.
 */
void query_plan_events(struct query_plan *plan, uint32_t track, uint32_t time, uint32_t others);

/* The same of details, whose numbers make a pass shorter. */
void query_plan_details(struct query_plan *plan, uint32_t track, uint32_t id);

/* --- results --- */

static inline void query_result_id(sqlite3_context *context, uint32_t id)
{
	if (id == SONDE_NONE)
		sqlite3_result_null(context);
	else
		sqlite3_result_int64(context, id);
}

/* Larger than SQLite's integers are: the largest of them. */
static inline int64_t query_integer(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* The text of a buffer, which may change afterwards. */
void query_result_buffer(sqlite3_context *context, const struct sonde_buffer *text);

/* A string of definitions, NULL where it is not there. */
void query_result_string(sqlite3_context *context, const struct sonde_definitions *definitions,
			 uint32_t string);

#endif
