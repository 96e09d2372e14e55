/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `perf script`, each on its own. */
#include <string.h>

#include "formats/perf_script/perf_script.h"

struct perf_text perf_trim(struct perf_text text)
{
	while (text.size && strchr(" \t\r", text.at[0])) {
		text.at++;
		text.size--;
	}
	while (text.size && strchr(" \t\r", text.at[text.size - 1]))
		text.size--;
	return text;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Takes a word off a text that begins with one. */
static struct perf_text take_word(struct perf_text *text)
{
	struct perf_text word = { text->at, 0 };

	while (word.size < text->size && !strchr(" \t", text->at[word.size]))
		word.size++;
	text->at += word.size;
	text->size -= word.size;
	*text = perf_trim(*text);
	return word;
}

/* All digits, and a number that fits. */
static bool parse_number(struct perf_text text, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (!is_digit(text.at[i]) ||
		    __builtin_mul_overflow(*number, UINT64_C(10), number) ||
		    __builtin_add_overflow(*number, (uint64_t)(text.at[i] - '0'), number))
			return false;
	}
	return text.size;
}

/* "86554.892179:", with 6 or 9 digits behind the point. */
static bool parse_time(struct perf_text word, uint64_t *time_ns)
{
	struct perf_text seconds = word, fraction;
	uint64_t whole, part;
	const char *point;

	if (word.size < 4 || word.at[word.size - 1] != ':' || !is_digit(word.at[0]))
		return false;
	point = memchr(word.at, '.', word.size);
	if (!point)
		return false;
	seconds.size = (size_t)(point - word.at);
	fraction = (struct perf_text){ point + 1, word.size - seconds.size - 2 };
	if (fraction.size > 9 || !parse_number(seconds, &whole) || !parse_number(fraction, &part))
		return false;
	for (size_t i = fraction.size; i < 9; i++)
		part *= 10;
	return !__builtin_mul_overflow(whole, UINT64_C(1000000000), time_ns) &&
	       !__builtin_add_overflow(*time_ns, part, time_ns);
}

/* "tid" or "pid/tid" */
static bool parse_ids(struct perf_text word, struct perf_sample *sample)
{
	const char *slash = memchr(word.at, '/', word.size);
	struct perf_text tid = word;
	uint64_t number;

	sample->pid = SONDE_NONE;
	if (slash) {
		struct perf_text pid = { word.at, (size_t)(slash - word.at) };

		tid = (struct perf_text){ slash + 1, word.size - pid.size - 1 };
		if (!parse_number(pid, &number) || number >= SONDE_NONE)
			return false;
		sample->pid = (uint32_t)number;
	}
	if (!parse_number(tid, &number) || number >= SONDE_NONE)
		return false;
	sample->tid = (uint32_t)number;
	return true;
}

/* The last word before a place. */
static struct perf_text word_before(const char *begin, const char *end)
{
	const char *from;

	while (end > begin && strchr(" \t", end[-1]))
		end--;
	from = end;
	while (from > begin && !strchr(" \t", from[-1]))
		from--;
	return (struct perf_text){ from, (size_t)(end - from) };
}

/* Who it was, from the text before the time: the name may hold blanks and digits too. */
static bool parse_who(const char *begin, const char *end, struct perf_sample *sample)
{
	struct perf_text word = word_before(begin, end);

	if (word.size > 2 && word.at[0] == '[' && word.at[word.size - 1] == ']')
		word = word_before(begin, word.at);
	if (!word.size || !parse_ids(word, sample))
		return false;
	sample->comm = perf_trim((struct perf_text){ begin, (size_t)(word.at - begin) });
	return true;
}

bool perf_is_record(struct perf_text text)
{
	return text.size >= 12 && !memcmp(text.at, "PERF_RECORD_", 12);
}

/* "period event: rest" */
static void parse_event(struct perf_text text, struct perf_sample *sample)
{
	struct perf_text left = text, word = take_word(&left);

	if (parse_number(word, &sample->period)) {
		sample->has_period = true;
		text = left;
		word = take_word(&left);
	}
	/* what perf notes about itself ("PERF_RECORD_COMM: ...") is no event */
	if (word.size > 1 && word.at[word.size - 1] == ':' && !perf_is_record(word)) {
		sample->event = (struct perf_text){ word.at, word.size - 1 };
		text = left;
	}
	sample->rest = text;
}

bool perf_parse_sample(struct perf_text line, struct perf_sample *sample)
{
	struct perf_text left = perf_trim(line);
	const char *begin = left.at;

	*sample = (struct perf_sample){ .pid = SONDE_NONE };
	while (left.size) {
		struct perf_text word = take_word(&left);

		if (parse_time(word, &sample->time_ns) && parse_who(begin, word.at, sample)) {
			parse_event(left, sample);
			return true;
		}
	}
	return false;
}

/* What is between the last " (" and ")": a module, unless it looks like a part of a C++ name. */
static bool split_module(struct perf_text *text, struct perf_text *module)
{
	size_t begin = text->size;

	if (!text->size || text->at[text->size - 1] != ')')
		return false;
	/* "(/usr/bin/x (deleted))" */
	if (text->size > 11 && !memcmp(text->at + text->size - 11, " (deleted))", 11))
		begin -= 11;
	while (begin > 1 && memcmp(text->at + begin - 2, " (", 2) != 0)
		begin--;
	/* a frame without a name has nothing before its module */
	if (begin <= 1 && text->at[0] == '(')
		begin = 1;
	if (begin < 1 || text->at[begin - 1] != '(')
		return false;
	*module = (struct perf_text){ text->at + begin, text->size - begin - 1 };
	if (module->size && strchr("*&)(", module->at[0]))
		return false;
	text->size = begin - 1;
	*text = perf_trim(*text);
	return true;
}

static void cut_offset(struct perf_text *symbol)
{
	size_t size = symbol->size;

	while (size && is_hex(symbol->at[size - 1]))
		size--;
	if (size > 3 && size < symbol->size && !memcmp(symbol->at + size - 3, "+0x", 3))
		symbol->size = size - 3;
}

bool perf_parse_frame(struct perf_text line, struct perf_frame *frame)
{
	struct perf_text left = perf_trim(line);
	struct perf_text address = take_word(&left);

	*frame = (struct perf_frame){ 0 };
	for (size_t i = 0; i < address.size; i++) {
		if (!is_hex(address.at[i]))
			return false;
	}
	if (!address.size || address.size > 16)
		return false;
	if (split_module(&left, &frame->module) && frame->module.size == 7 &&
	    !memcmp(frame->module.at, "inlined", 7)) {
		frame->is_inlined = true;
		frame->module.size = 0;
	}
	frame->symbol = left;
	cut_offset(&frame->symbol);
	return true;
}

bool perf_parse_source(struct perf_text line, struct perf_text *file, uint32_t *number)
{
	struct perf_text text = perf_trim(line);
	size_t size = text.size;
	uint64_t parsed;

	while (size && is_digit(text.at[size - 1]))
		size--;
	if (size < 2 || text.at[size - 1] != ':' ||
	    !parse_number((struct perf_text){ text.at + size, text.size - size }, &parsed) ||
	    parsed > UINT32_MAX)
		return false;
	*file = (struct perf_text){ text.at, size - 1 };
	*number = (uint32_t)parsed;
	return true;
}
