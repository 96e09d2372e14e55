/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a program can be patched: the module that a list of patchable entries belongs to, for each
 * address of the list the function and the NOPs at its beginning, and functions that the list lacks.
 * Writes nothing.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/patch.h"

struct search {
	struct patch_module *module;
	bool found;
};

static void take_segment(struct patch_module *module, const ElfW(Phdr) * header, uint64_t base)
{
	size_t room = sizeof(module->segments) / sizeof(module->segments[0]);
	struct patch_segment *segment = &module->segments[module->segment_count];

	if (!(header->p_flags & PF_X) || module->segment_count == room)
		return;
	module->segment_count++;
	segment->low = base + header->p_vaddr;
	segment->high = segment->low + header->p_filesz;
	segment->protection = PROT_EXEC | (header->p_flags & PF_R ? PROT_READ : 0) |
			      (header->p_flags & PF_W ? PROT_WRITE : 0);
}

/*
 * The sorted table of .eh_frame_hdr in the one form that linkers write: a 4-byte count, and pairs of
 * 4-byte distances from the header, the first to a function.
 */
static void take_frames(struct patch_module *module, const uint8_t *header)
{
	static const uint8_t form[4] = { 1, 0x1b, 0x03, 0x3b };

	if (memcmp(header, form, sizeof(form)) != 0)
		return;
	module->frames = header;
	memcpy(&module->frame_count, header + 8, sizeof(module->frame_count));
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct patch_module *module = search->module;
	bool inside = false;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + header->p_vaddr;

		inside |= header->p_type == PT_LOAD && module->low >= low &&
			  module->high <= low + header->p_memsz;
	}
	if (!inside)
		return 0;
	search->found = true;
	module->base = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD)
			take_segment(module, header, info->dlpi_addr);
		else if (header->p_type == PT_GNU_EH_FRAME)
			take_frames(module, (const uint8_t *)info->dlpi_addr + header->p_vaddr);
	}
	return 1;
}

bool patch_find_module(struct patch_module *module, uint64_t low, uint64_t high)
{
	struct search search = { .module = module };

	*module = (struct patch_module){ .low = low, .high = high };
	if (low % sizeof(uint64_t) || low >= high)
		return false;
	dl_iterate_phdr(look_at_module, &search);
	return search.found && module->segment_count;
}

const struct patch_segment *patch_find_segment(const struct patch_module *module, uint64_t address)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		if (address >= module->segments[i].low && address < module->segments[i].high)
			return &module->segments[i];
	}
	return NULL;
}

uint64_t patch_find_function(const struct patch_module *module, size_t number)
{
	const int32_t *table = (const int32_t *)(module->frames + 12);

	return (uint64_t)module->frames + (uint64_t)(int64_t)table[2 * number];
}

/* The first function at or behind an address. 0: not known. */
static uint64_t function_behind(const struct patch_module *module, uint64_t address)
{
	size_t low = 0, high = module->frame_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (patch_find_function(module, middle) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < module->frame_count ? patch_find_function(module, low) : 0;
}

/* Length of the NOP here, 0 when it is none: 90, or 0f 1f /0 with any operand; 66 and 2e before. */
static size_t nop_length(const uint8_t *code, size_t size)
{
	size_t at = 0, length;
	unsigned mode, base;

	while (at < size && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < size && code[at] == 0x90)
		return at + 1;
	if (size < at + 4 || code[at] != 0x0f || code[at + 1] != 0x1f || code[at + 2] & 0x38)
		return 0;
	mode = code[at + 2] >> 6;
	base = code[at + 2] & 7;
	length = at + 3;
	if (mode == 3)
		return 0;
	if (base == 4) {
		if (mode == 0 && (code[at + 3] & 7) == 5)
			length += 4;
		length++;
	}
	if (mode == 1)
		length++;
	else if (mode == 2 || (mode == 0 && base == 5))
		length += 4;
	return length <= size ? length : 0;
}

/* Bytes of NOPs from here on, whole ones, until there are `enough`. */
static size_t nops_at(const struct patch_segment *segment, uint64_t address, size_t enough)
{
	size_t total = 0, length;

	while (total < enough) {
		length = nop_length((const uint8_t *)address + total,
				    segment->high - address - total);
		if (!length)
			break;
		total += length;
	}
	return total;
}

static bool is_endbr(const struct patch_segment *segment, uint64_t address)
{
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return address >= segment->low && address + sizeof(endbr64) <= segment->high &&
	       memcmp((const void *)address, endbr64, sizeof(endbr64)) == 0;
}

static void set_site(struct patch_site *site, const struct patch_segment *segment,
		     uint64_t function)
{
	site->address = is_endbr(segment, function) ? function + 4 : function;
	site->nops = (uint32_t)nops_at(segment, site->address, PATCH_SIZE);
	site->word = function | (site->address + PATCH_SIZE - function) << THUNK_BEHIND_SHIFT;
	site->fixed = site->address % 64 > 64 - PATCH_SIZE;
}

/* The longest run of NOPs before a function that is looked at. */
#define NOPS_BEFORE 256

bool patch_find_site(const struct patch_module *module, uint64_t listed, struct patch_site *site)
{
	const struct patch_segment *segment = patch_find_segment(module, listed);
	uint64_t function = listed, behind;
	size_t nops;

	if (!segment)
		return false;
	if (is_endbr(segment, listed - 4)) {
		function = listed - 4;
	} else if (!is_endbr(segment, listed)) {
		/* -fpatchable-function-entry=N,M puts M of the NOPs before the function. */
		nops = nops_at(segment, listed, NOPS_BEFORE);
		behind = function_behind(module, listed);
		if (is_endbr(segment, listed + nops) || (behind && behind <= listed + nops))
			function = behind && behind <= listed + nops ? behind : listed + nops;
	}
	set_site(site, segment, function);
	return true;
}

/* It begins with the NOPs of gcc, enough of them. */
static bool is_plain(const struct patch_site *site)
{
	static const uint8_t nops[PATCH_SIZE] = { 0x90, 0x90, 0x90, 0x90, 0x90 };

	return site->nops >= PATCH_SIZE &&
	       memcmp((const void *)site->address, nops, sizeof(nops)) == 0;
}

bool patch_find_framed(const struct patch_module *module, uint64_t function,
		       struct patch_site *site)
{
	const struct patch_segment *segment = patch_find_segment(module, function);

	if (!segment)
		return false;
	set_site(site, segment, function);
	return is_plain(site);
}

bool patch_is_framed(const struct patch_module *module, const struct patch_site *site)
{
	uint64_t function = site->word & UNIT_FUNCTION_MASK;

	return is_plain(site) && function_behind(module, function) == function;
}
