/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a query wants of the columns of a table: conditions on their way from SQLite's planner to the
 * cursors. A condition that is taken over is not looked at by SQLite again, so this compares exactly as SQLite
 * does, whatever types the values have.
 */
#include "query/query_wishes.h"

#include <math.h>
#include <string.h>

/* Doubles from here on are no int64_t. */
#define TWO_TO_63 9223372036854775808.0

/* SQLite leaves out its own test of the first so many conditions at most. */
#define CONDITIONS_MOST 16

static void reset_column(struct query_wish *wish)
{
	wish->low = INT64_MIN;
	wish->high = INT64_MAX;
	wish->has_set = false;
	wish->set.count = 0;
	sqlite3_value_free(wish->text);
	wish->text = NULL;
}

/* Only what was changed: a cursor inside of a join starts anew for every row of another. */
static void reset(struct query_wishes *wishes)
{
	wishes->nothing = false;
	for (; wishes->touched; wishes->touched &= wishes->touched - 1)
		reset_column(&wishes->columns[__builtin_ctz(wishes->touched)]);
}

void query_wishes_init(struct query_wishes *wishes)
{
	wishes->touched = (UINT32_C(1) << QUERY_COLUMNS_MOST) - 1;
	reset(wishes);
}

void query_wishes_release(struct query_wishes *wishes)
{
	reset(wishes);
	for (int i = 0; i < QUERY_COLUMNS_MOST; i++)
		sonde_vec_release(&wishes->columns[i].set);
}

bool query_wish_has(const struct query_wish *wish, int64_t value)
{
	size_t low = 0, high = wish->set.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wish->set.items[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low < wish->set.count && wish->set.items[low] == value;
}

bool query_wish_fits_text(const struct query_wish *wish, const char *text)
{
	size_t size;

	if (!wish->text)
		return true;
	if (!text)
		return false;
	size = strlen(text);
	/* not as a blob: that of an empty text is NULL */
	return size == (size_t)sqlite3_value_bytes(wish->text) &&
	       !memcmp(text, sqlite3_value_text(wish->text), size);
}

/* --- from the planner: which conditions are taken over --- */

static char letter_of(unsigned char operator)
{
	switch (operator) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return QUERY_OPERATOR_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return QUERY_OPERATOR_ABOVE;
	case SQLITE_INDEX_CONSTRAINT_GE:
		return QUERY_OPERATOR_FROM;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return QUERY_OPERATOR_BELOW;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return QUERY_OPERATOR_TO;
	default:
		return 0;
	}
}

/* The operator as a letter, 0 where the condition stays with SQLite. */
static char take_condition(struct query_plan *plan, sqlite3_index_info *info, int number,
			   int column, enum query_push push)
{
	char letter = letter_of(info->aConstraint[number].op);
	bool is_text = push == QUERY_PUSH_WORD || push == QUERY_PUSH_TEXT;
	uint32_t bit = QUERY_BIT(column);

	if (push == QUERY_PUSH_NOTHING || !letter)
		return 0;
	if (is_text && (letter != QUERY_OPERATOR_EQUAL ||
			strcmp(sqlite3_vtab_collation(info, number), "BINARY") != 0))
		return 0;
	if (push == QUERY_PUSH_TEXT && plan->equals & bit)
		return 0; /* there is room for one text */
	if (letter != QUERY_OPERATOR_EQUAL) {
		plan->ranges |= bit;
		return letter;
	}
	if (push == QUERY_PUSH_SET || push == QUERY_PUSH_WORD) {
		bool is_in = sqlite3_vtab_in(info, number, -1);

		if (push == QUERY_PUSH_WORD || is_in) {
			if (plan->sets & bit)
				return 0; /* and for one set */
			plan->sets |= bit;
			sqlite3_vtab_in(info, number, is_in);
			letter = is_in ? QUERY_OPERATOR_IN : QUERY_OPERATOR_EQUAL;
		}
	}
	plan->equals |= bit;
	return letter;
}

int query_wishes_plan(const struct query_table *table, struct query_plan *plan,
		      sqlite3_index_info *info)
{
	char letters[2 * CONDITIONS_MOST + 1];
	int taken = 0;

	for (int i = 0; i < info->nConstraint && taken < CONDITIONS_MOST; i++) {
		int column = info->aConstraint[i].iColumn;
		char letter;

		if (column < 0)
			column = table->id_column;
		if (!info->aConstraint[i].usable || column < 0)
			continue;
		letter = take_condition(plan, info, i, column, table->pushes[column]);
		if (!letter)
			continue;
		letters[2 * taken] = (char)('a' + column);
		letters[2 * taken + 1] = letter;
		taken++;
		info->aConstraintUsage[i].argvIndex = taken;
		info->aConstraintUsage[i].omit = 1;
	}
	letters[2 * taken] = '\0';
	info->idxStr = sqlite3_mprintf("%s", letters);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- from the statement: the values of the conditions --- */

static void at_least(struct query_wish *wish, int64_t low)
{
	if (low > wish->low)
		wish->low = low;
}

static void at_most(struct query_wish *wish, int64_t high)
{
	if (high < wish->high)
		wish->high = high;
}

static void wish_nothing(struct query_wish *wish)
{
	wish->low = INT64_MAX;
	wish->high = INT64_MIN;
}

static void wish_integer(struct query_wish *wish, char letter, int64_t value)
{
	if ((letter == QUERY_OPERATOR_ABOVE && value == INT64_MAX) ||
	    (letter == QUERY_OPERATOR_BELOW && value == INT64_MIN))
		wish_nothing(wish);
	else if (letter == QUERY_OPERATOR_ABOVE)
		at_least(wish, value + 1);
	else if (letter == QUERY_OPERATOR_BELOW)
		at_most(wish, value - 1);
	if (letter == QUERY_OPERATOR_FROM || letter == QUERY_OPERATOR_EQUAL)
		at_least(wish, value);
	if (letter == QUERY_OPERATOR_TO || letter == QUERY_OPERATOR_EQUAL)
		at_most(wish, value);
}

static void wish_real(struct query_wish *wish, char letter, double value)
{
	bool is_upper = letter == QUERY_OPERATOR_BELOW || letter == QUERY_OPERATOR_TO;
	bool is_whole = floor(value) == value;

	if (value >= TWO_TO_63 || value < -TWO_TO_63) {
		if (letter == QUERY_OPERATOR_EQUAL || is_upper == (value < 0))
			wish_nothing(wish);
	} else if (is_whole) {
		wish_integer(wish, letter, (int64_t)value);
	} else if (letter == QUERY_OPERATOR_EQUAL) {
		wish_nothing(wish);
	} else if (is_upper) {
		at_most(wish, (int64_t)floor(value));
	} else {
		at_least(wish, (int64_t)ceil(value));
	}
}

/* A condition on an integer column: texts that are numbers count as such, others as larger than any. */
static void wish_number(struct query_wish *wish, char letter, sqlite3_value *value)
{
	at_least(wish, QUERY_NULL + 1);
	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		wish_integer(wish, letter, sqlite3_value_int64(value));
		break;
	case SQLITE_FLOAT:
		wish_real(wish, letter, sqlite3_value_double(value));
		break;
	case SQLITE_NULL:
		wish_nothing(wish);
		break;
	default:
		if (letter != QUERY_OPERATOR_BELOW && letter != QUERY_OPERATOR_TO)
			wish_nothing(wish);
	}
}

static bool add_to_set(struct query_wish *wish, int64_t value)
{
	int64_t *place = sonde_vec_push(&wish->set);

	if (place)
		*place = value;
	return place;
}

/* One item of a set: an integer, or the number of a word. False where memory failed. */
static bool add_item(struct query_wish *wish, const struct query_table *table, int column,
		     sqlite3_value *value)
{
	struct query_wish single = { .low = INT64_MIN, .high = INT64_MAX };
	const char *word;
	int64_t number;

	if (table->pushes[column] != QUERY_PUSH_WORD) {
		wish_number(&single, QUERY_OPERATOR_EQUAL, value);
		return single.low != single.high || add_to_set(wish, single.low);
	}
	if (sqlite3_value_type(value) == SQLITE_NULL || sqlite3_value_type(value) == SQLITE_BLOB)
		return true;
	word = (const char *)sqlite3_value_text(value);
	if (!word)
		return false;
	number = table->word(column, word);
	return number < 0 || add_to_set(wish, number);
}

static int compare_integers(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static int wish_set(struct query_wish *wish, const struct query_table *table, int column,
		    char letter, sqlite3_value *value)
{
	sqlite3_value *item = NULL;
	int code;

	wish->has_set = true;
	at_least(wish, QUERY_NULL + 1);
	if (letter == QUERY_OPERATOR_EQUAL)
		return add_item(wish, table, column, value) ? SQLITE_OK : SQLITE_NOMEM;
	for (code = sqlite3_vtab_in_first(value, &item); code == SQLITE_OK && item;
	     code = sqlite3_vtab_in_next(value, &item)) {
		if (!add_item(wish, table, column, item))
			return SQLITE_NOMEM;
	}
	if (wish->set.count > 1)
		qsort(wish->set.items, wish->set.count, sizeof(*wish->set.items), compare_integers);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int wish_text(struct query_wishes *wishes, struct query_wish *wish, sqlite3_value *value)
{
	int type = sqlite3_value_type(value);

	if (type == SQLITE_NULL || type == SQLITE_BLOB) {
		wishes->nothing = true;
		return SQLITE_OK;
	}
	wish->text = sqlite3_value_dup(value);
	/* numbers become the text that they are compared as */
	if (!wish->text || !sqlite3_value_text(wish->text))
		return SQLITE_NOMEM;
	return SQLITE_OK;
}

int query_wishes_read(struct query_wishes *wishes, const struct query_table *table,
		      const char *letters, int count, sqlite3_value **values)
{
	int code = SQLITE_OK;

	reset(wishes);
	for (int i = 0; i < count && code == SQLITE_OK; i++) {
		int column = letters[2 * i] - 'a';
		char letter = letters[2 * i + 1];
		struct query_wish *wish = &wishes->columns[column];
		enum query_push push = table->pushes[column];

		wishes->touched |= QUERY_BIT(column);
		if (push == QUERY_PUSH_TEXT)
			code = wish_text(wishes, wish, values[i]);
		else if (push == QUERY_PUSH_WORD || letter == QUERY_OPERATOR_IN)
			code = wish_set(wish, table, column, letter, values[i]);
		else
			wish_number(wish, letter, values[i]);
		if (wish->low > wish->high || (wish->has_set && !wish->set.count))
			wishes->nothing = true;
	}
	return code;
}

/* --- what several tables do with wishes --- */

uint32_t query_next_track(const struct query_recording *source, const struct query_wish *track,
			  const struct query_wish *id, uint32_t from)
{
	static const struct query_wish any = { .low = INT64_MIN, .high = INT64_MAX };
	uint32_t count = sonde_definitions_track_count(source->definitions);
	int64_t lowest = track->low;

	if (!id)
		id = &any;
	if (id->low > 0 && id->low >> QUERY_ID_SHIFT > lowest)
		lowest = id->low >> QUERY_ID_SHIFT;
	if (lowest > from)
		from = lowest < count ? (uint32_t)lowest : count;
	for (; from < count; from++) {
		int64_t first = (int64_t)from << QUERY_ID_SHIFT;

		if (first > id->high)
			return SONDE_NONE;
		if (first + QUERY_ID_NUMBER >= id->low && query_wish_fits(track, from))
			return from;
	}
	return SONDE_NONE;
}

bool query_wish_times(const struct query_wish *wish, uint64_t *low_ns, uint64_t *high_ns)
{
	*low_ns = wish->low > 0 ? (uint64_t)wish->low : 0;
	*high_ns = wish->high == INT64_MAX ? UINT64_MAX : (uint64_t)wish->high;
	return wish->high >= 0;
}

bool query_wants_order(sqlite3_index_info *info, const int *columns, int count)
{
	int distinct = sqlite3_vtab_distinct(info);
	/* for GROUP BY and DISTINCT equal rows must lie together, whatever comes first */
	bool any_direction = distinct == 1 || distinct == 2;

	if (info->nOrderBy > count)
		return false;
	for (int i = 0; i < info->nOrderBy; i++) {
		if (info->aOrderBy[i].iColumn != columns[i] ||
		    (info->aOrderBy[i].desc && !any_direction))
			return false;
	}
	return info->nOrderBy > 0;
}

/* Samples make some calls and returns each. */
#define EVENTS_PER_SAMPLE 4

void query_plan_events(struct query_plan *plan, uint32_t track, uint32_t time, uint32_t others)
{
	const struct sonde_definitions *definitions = plan->source->definitions;
	uint32_t tracks = sonde_definitions_track_count(definitions);
	uint64_t events = 0;

	for (uint32_t i = 0; i < tracks; i++) {
		const struct sonde_track *each = sonde_definitions_track(definitions, i);

		events += plan->source->derives_events ? each->sample_count * EVENTS_PER_SAMPLE :
							 each->event_count;
	}
	plan->rows = (double)events;
	if (plan->equals & track)
		plan->rows /= tracks ? tracks : 1;
	if (plan->ranges & time)
		plan->rows /= 4;
	if (plan->equals & time)
		plan->rows /= 1000;
	/* a cursor is opened, and files are looked into */
	plan->cost = plan->rows + 100;
	if (plan->equals & others)
		plan->rows /= 50;
}

void query_plan_details(struct query_plan *plan, uint32_t track, uint32_t id)
{
	const struct sonde_definitions *definitions = plan->source->definitions;
	uint32_t tracks = sonde_definitions_track_count(definitions);
	uint64_t details = 0;

	for (uint32_t i = 0; i < tracks; i++)
		details += sonde_definitions_track(definitions, i)->detail_count;
	plan->rows = (double)details;
	if (plan->equals & track)
		plan->rows /= tracks ? tracks : 1;
	if (plan->ranges & id)
		plan->rows /= 4;
	if (plan->equals & id)
		plan->rows = 1;
	/* they are decoded one by one */
	plan->cost = 4 * plan->rows + 100;
}
