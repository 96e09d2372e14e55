/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the separate debug file that strip or a package left for an ELF file: by build-id, or by
 * the name in .gnu_debuglink in the usual folders. On this machine only; nothing is downloaded.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc.h"
#include "symbols/elf_file.h"

/* What a debug file must agree with. */
struct debug_link {
	const char *name;
	uint32_t crc;
};

static bool same_build_id(const struct elf_file *a, const struct elf_file *b)
{
	return a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* Where the file has a build-id that decides; else the checksum of the link. */
static bool belongs(const struct elf_file *file, const struct elf_file *debug,
		    const struct debug_link *link)
{
	if (file->build_id && debug->build_id)
		return same_build_id(file, debug);
	return link && sonde_crc32(0, debug->mapped.data, debug->mapped.size) == link->crc;
}

/* A link may name the stripped file itself, which has nothing to add. */
static bool has_something(const struct elf_file *debug)
{
	const struct elf_section *symbols = elf_file_section_of(debug, SHT_SYMTAB);

	return (symbols && symbols->data) || elf_file_has_dwarf(debug);
}

static bool open_checked(const struct elf_file *file, const char *path,
			 const struct debug_link *link, struct elf_file *debug)
{
	if (!path || sonde_path_kind(path) != SONDE_PATH_FILE)
		return false;
	if (elf_file_open(debug, path, NULL) != SONDE_OK)
		return false;
	if (has_something(debug) && belongs(file, debug, link))
		return true;
	elf_file_release(debug);
	return false;
}

static bool open_by_build_id(const struct elf_file *file, const char *root, struct elf_file *debug)
{
	struct sonde_buffer path = { 0 };
	bool found;

	/* A longer one is no build-id, and would be no name of a file. */
	if (!file->build_id || file->build_id_size < 2 || file->build_id_size > 64)
		return false;
	sonde_buffer_put_text(&path, root);
	sonde_buffer_put_text(&path, "/.build-id/");
	sonde_buffer_put_hex(&path, file->build_id[0], 2);
	sonde_buffer_put_char(&path, '/');
	for (size_t i = 1; i < file->build_id_size; i++)
		sonde_buffer_put_hex(&path, file->build_id[i], 2);
	sonde_buffer_put_text(&path, ".debug");
	found = open_checked(file, sonde_buffer_text(&path), NULL, debug);
	sonde_buffer_release(&path);
	return found;
}

/* The section: a name, NULs up to a multiple of four, the checksum of the debug file. */
static bool read_link(const struct elf_file *file, struct debug_link *link)
{
	const struct elf_section *section = elf_file_section(file, ".gnu_debuglink");
	size_t length, place;

	if (!section || !section->data)
		return false;
	length = strnlen((const char *)section->data, section->size);
	place = (length + 4) & ~(size_t)3;
	if (!length || place > section->size || section->size - place < 4)
		return false;
	link->name = (const char *)section->data;
	link->crc = sonde_load_u32le(section->data + place);
	return strcmp(link->name, ".") != 0 && strcmp(link->name, "..") != 0 &&
	       !strchr(link->name, '/');
}

static bool try_link(const struct elf_file *file, const struct debug_link *link, const char *root,
		     const char *folder, const char *below, struct elf_file *debug)
{
	struct sonde_buffer path = { 0 };
	bool found;

	sonde_buffer_put_format(&path, "%s%s/%s%s", root, folder, below, link->name);
	found = open_checked(file, sonde_buffer_text(&path), link, debug);
	sonde_buffer_release(&path);
	return found;
}

static bool open_by_link(const struct elf_file *file, const char *root, struct elf_file *debug)
{
	struct debug_link link;
	char *folder, *slash;
	bool found;

	if (!read_link(file, &link))
		return false;
	folder = realpath(file->path, NULL);
	if (!folder)
		return false;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	found = try_link(file, &link, "", folder, "", debug) ||
		try_link(file, &link, "", folder, ".debug/", debug) ||
		try_link(file, &link, root, folder, "", debug);
	free(folder);
	return found;
}

bool elf_file_open_debug(const struct elf_file *file, const char *root, struct elf_file *debug)
{
	return open_by_build_id(file, root, debug) || open_by_link(file, root, debug);
}
