/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of findings. Findings are counted by type and file, and only the first few of each are
 * kept, with their texts in one arena. Adding never fails: a finding that memory is too short for
 * is counted all the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/diagnostics.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

/* Longer texts are cut: they may quote an input. */
#define TEXT_SIZE 1024

/* The findings of one type in one file. */
struct tally {
	const struct sonde_finding_type *type;
	const char *file;
	uint64_t count;
	unsigned int kept;
};

struct known_type {
	const struct sonde_finding_type *type;
};

struct sonde_diagnostics {
	struct sonde_arena texts;
	struct sonde_text_map file_numbers;
	SONDE_VEC(const char *) files;
	SONDE_VEC(struct known_type) types;
	struct sonde_key_map tally_numbers; /* tally_key() -> place in tallies */
	SONDE_VEC(struct tally) tallies;
	SONDE_VEC(struct sonde_finding) findings;
	uint64_t totals[SONDE_ERROR + 1]; /* by severity */
};

struct sonde_diagnostics *sonde_diagnostics_new(void)
{
	return calloc(1, sizeof(struct sonde_diagnostics));
}

static void release(struct sonde_diagnostics *diagnostics)
{
	sonde_vec_release(&diagnostics->findings);
	sonde_vec_release(&diagnostics->tallies);
	sonde_key_map_release(&diagnostics->tally_numbers);
	sonde_vec_release(&diagnostics->types);
	sonde_vec_release(&diagnostics->files);
	sonde_text_map_release(&diagnostics->file_numbers);
	sonde_arena_release(&diagnostics->texts);
	memset(diagnostics->totals, 0, sizeof(diagnostics->totals));
}

void sonde_diagnostics_free(struct sonde_diagnostics *diagnostics)
{
	if (!diagnostics)
		return;
	release(diagnostics);
	free(diagnostics);
}

/* Formats have some dozens of types at most, so that a walk is fine. */
static uint32_t type_number(const struct sonde_diagnostics *diagnostics,
			    const struct sonde_finding_type *type)
{
	for (size_t i = 0; i < diagnostics->types.count; i++) {
		if (diagnostics->types.items[i].type == type)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

static uint32_t file_number(const struct sonde_diagnostics *diagnostics, const char *file)
{
	return sonde_text_map_find(&diagnostics->file_numbers, file, strlen(file));
}

static uint64_t tally_key(uint32_t type, uint32_t file)
{
	return (uint64_t)type << 32 | file;
}

static struct tally *find_tally(const struct sonde_diagnostics *diagnostics,
				const struct sonde_finding_type *type, const char *file)
{
	uint32_t types = type_number(diagnostics, type), files = file_number(diagnostics, file);
	uint32_t place;

	if (types == UINT32_MAX || files == UINT32_MAX)
		return NULL;
	place = sonde_key_map_find(&diagnostics->tally_numbers, tally_key(types, files));
	return place == UINT32_MAX ? NULL : &diagnostics->tallies.items[place];
}

/* The number of a type, which is added where it is new; UINT32_MAX where memory failed. */
static uint32_t add_type(struct sonde_diagnostics *diagnostics,
			 const struct sonde_finding_type *type)
{
	uint32_t number = type_number(diagnostics, type);
	struct known_type *added;

	if (number != UINT32_MAX)
		return number;
	added = sonde_vec_push(&diagnostics->types);
	if (!added)
		return UINT32_MAX;
	added->type = type;
	return (uint32_t)(diagnostics->types.count - 1);
}

static uint32_t add_file(struct sonde_diagnostics *diagnostics, const char *file)
{
	uint32_t number = file_number(diagnostics, file);
	size_t length = strlen(file);
	const char *copy;

	if (number != UINT32_MAX)
		return number;
	number = (uint32_t)diagnostics->files.count;
	if (number == UINT32_MAX || !sonde_vec_reserve(&diagnostics->files, 1))
		return UINT32_MAX;
	copy = sonde_arena_copy_text(&diagnostics->texts, file, length);
	if (!copy || !sonde_text_map_add(&diagnostics->file_numbers, copy, length, number))
		return UINT32_MAX;
	diagnostics->files.items[diagnostics->files.count++] = copy;
	return number;
}

static struct tally *add_tally(struct sonde_diagnostics *diagnostics,
			       const struct sonde_finding_type *type, const char *file)
{
	struct tally *tally = find_tally(diagnostics, type, file);
	uint32_t types, files;

	if (tally)
		return tally;
	types = add_type(diagnostics, type);
	files = add_file(diagnostics, file);
	if (types == UINT32_MAX || files == UINT32_MAX ||
	    !sonde_vec_reserve(&diagnostics->tallies, 1) ||
	    !sonde_key_map_add(&diagnostics->tally_numbers, tally_key(types, files),
			       (uint32_t)diagnostics->tallies.count))
		return NULL;
	tally = &diagnostics->tallies.items[diagnostics->tallies.count++];
	*tally = (struct tally){ .type = type, .file = diagnostics->files.items[files] };
	return tally;
}

/* Keeps a copy of the finding where the tally has room for it and memory suffices. */
static void keep(struct sonde_diagnostics *diagnostics, struct tally *tally,
		 const struct sonde_finding *finding)
{
	struct sonde_finding kept = *finding;

	if (tally->kept >= SONDE_FINDINGS_KEPT || !sonde_vec_reserve(&diagnostics->findings, 1))
		return;
	kept.file = tally->file;
	kept.expected = sonde_arena_copy_text(&diagnostics->texts, finding->expected,
					      strlen(finding->expected));
	kept.found =
		sonde_arena_copy_text(&diagnostics->texts, finding->found, strlen(finding->found));
	if (!kept.expected || !kept.found)
		return;
	diagnostics->findings.items[diagnostics->findings.count++] = kept;
	tally->kept++;
}

/* A character that was cut in two at the end goes as a whole. */
static void end_at_character(char *text)
{
	size_t length = strlen(text);

	while (length && ((unsigned char)text[length - 1] & 0xC0) == 0x80)
		length--;
	if (length && (unsigned char)text[length - 1] >= 0xC0)
		length--;
	text[length] = '\0';
}

void sonde_diagnostics_add(struct sonde_diagnostics *diagnostics,
			   const struct sonde_finding_type *type, const char *file, uint64_t offset,
			   const char *expected_tab_found, ...)
{
	struct sonde_finding finding = { .type = type, .offset = offset };
	struct tally *tally;
	char text[TEXT_SIZE];
	char *tab;
	va_list arguments;
	int length;

	diagnostics->totals[type->severity]++;
	tally = add_tally(diagnostics, type, file ? file : "");
	if (!tally || tally->count++ >= SONDE_FINDINGS_KEPT)
		return;
	va_start(arguments, expected_tab_found);
	length = vsnprintf(text, sizeof(text), expected_tab_found, arguments);
	va_end(arguments);
	if (length < 0)
		text[0] = '\0';
	else if (length >= TEXT_SIZE)
		end_at_character(text);
	tab = strchr(text, '\t');
	if (tab)
		*tab = '\0';
	finding.expected = tab ? text : "";
	finding.found = tab ? tab + 1 : text;
	keep(diagnostics, tally, &finding);
}

void sonde_diagnostics_append(struct sonde_diagnostics *target, struct sonde_diagnostics *source)
{
	struct tally *tally;

	for (unsigned int i = 0; i <= SONDE_ERROR; i++)
		target->totals[i] += source->totals[i];
	for (size_t i = 0; i < source->findings.count; i++) {
		const struct sonde_finding *finding = &source->findings.items[i];

		tally = add_tally(target, finding->type, finding->file);
		if (tally)
			keep(target, tally, finding);
	}
	for (size_t i = 0; i < source->tallies.count; i++) {
		const struct tally *counted = &source->tallies.items[i];

		tally = add_tally(target, counted->type, counted->file);
		if (tally)
			tally->count += counted->count;
	}
	release(source);
}

uint64_t sonde_diagnostics_count(const struct sonde_diagnostics *diagnostics,
				 enum sonde_severity at_least)
{
	uint64_t count = 0;

	for (unsigned int i = at_least; i <= SONDE_ERROR; i++)
		count += diagnostics->totals[i];
	return count;
}

const struct sonde_finding *sonde_diagnostics_at(const struct sonde_diagnostics *diagnostics,
						 size_t index)
{
	return index < diagnostics->findings.count ? &diagnostics->findings.items[index] : NULL;
}

uint64_t sonde_diagnostics_more(const struct sonde_diagnostics *diagnostics,
				const struct sonde_finding_type *type, const char *file)
{
	const struct tally *tally = find_tally(diagnostics, type, file ? file : "");

	return tally ? tally->count - tally->kept : 0;
}

const char *sonde_severity_name(enum sonde_severity severity)
{
	static const char *const names[] = {
		[SONDE_NOTE] = "note",
		[SONDE_WARNING] = "warning",
		[SONDE_ERROR] = "error",
	};

	return names[(unsigned int)severity <= SONDE_ERROR ? severity : SONDE_ERROR];
}
