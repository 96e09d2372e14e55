/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the headers of an ELF64 file of little endian, after the System V ABI. What lies outside
 * the file has no bytes; nothing else is believed before it was compared with the file's size.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "symbols/elf_file.h"

enum {
	HEADER_SIZE = sizeof(Elf64_Ehdr),
	SECTION_SIZE = sizeof(Elf64_Shdr),
	SEGMENT_SIZE = sizeof(Elf64_Phdr),
};

/* What of the file header is needed. */
struct header {
	uint64_t segments_offset, sections_offset;
	uint32_t segment_count, section_count, names_number;
};

/* The bytes [offset, offset + size) of the file; NULL where it has not all of them. */
static const uint8_t *bytes_at(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	if (offset > file->mapped.size || size > file->mapped.size - offset)
		return NULL;
	return file->mapped.data + offset;
}

static enum sonde_status check_kind(const uint8_t *data, size_t size, struct sonde_error *err)
{
	uint16_t type;

	if (size < EI_NIDENT || memcmp(data, ELFMAG, SELFMAG) != 0)
		return sonde_fail(err, SONDE_FORMAT, 0,
				  "no ELF file: expected a program or a shared library");
	if (data[EI_CLASS] != ELFCLASS64 || data[EI_DATA] != ELFDATA2LSB)
		return sonde_fail(err, SONDE_UNSUPPORTED, EI_CLASS,
				  "ELF class %u and byte order %u; only 64 bits of little endian "
				  "(2 and 1) are supported",
				  data[EI_CLASS], data[EI_DATA]);
	if (size < HEADER_SIZE)
		return sonde_fail(err, SONDE_TRUNCATED, size,
				  "%zu bytes, shorter than the header of an ELF file", size);
	type = sonde_load_u16le(data + offsetof(Elf64_Ehdr, e_type));
	if (type != ET_EXEC && type != ET_DYN)
		return sonde_fail(err, SONDE_FORMAT, offsetof(Elf64_Ehdr, e_type),
				  "ELF type %u: expected a program or a shared library (2 or 3)",
				  type);
	return SONDE_OK;
}

static struct elf_section section_of(const struct elf_file *file, const uint8_t *entry)
{
	struct elf_section section = {
		.name = "",
		.type = sonde_load_u32le(entry + offsetof(Elf64_Shdr, sh_type)),
		.link = sonde_load_u32le(entry + offsetof(Elf64_Shdr, sh_link)),
		.flags = sonde_load_u64le(entry + offsetof(Elf64_Shdr, sh_flags)),
		.address = sonde_load_u64le(entry + offsetof(Elf64_Shdr, sh_addr)),
		.size = sonde_load_u64le(entry + offsetof(Elf64_Shdr, sh_size)),
	};

	if (section.type != SHT_NOBITS && section.type != SHT_NULL)
		section.data = bytes_at(file,
					sonde_load_u64le(entry + offsetof(Elf64_Shdr, sh_offset)),
					section.size);
	return section;
}

/* Numbers that do not fit into the header are in the first section. */
static enum sonde_status read_header(const struct elf_file *file, struct header *header,
				     struct sonde_error *err)
{
	const uint8_t *data = file->mapped.data, *first;

	header->segments_offset = sonde_load_u64le(data + offsetof(Elf64_Ehdr, e_phoff));
	header->sections_offset = sonde_load_u64le(data + offsetof(Elf64_Ehdr, e_shoff));
	header->segment_count = sonde_load_u16le(data + offsetof(Elf64_Ehdr, e_phnum));
	header->section_count = sonde_load_u16le(data + offsetof(Elf64_Ehdr, e_shnum));
	header->names_number = sonde_load_u16le(data + offsetof(Elf64_Ehdr, e_shstrndx));
	if (!header->sections_offset) {
		header->section_count = 0;
		return SONDE_OK;
	}
	if (sonde_load_u16le(data + offsetof(Elf64_Ehdr, e_shentsize)) != SECTION_SIZE)
		return sonde_fail(err, SONDE_CORRUPT, offsetof(Elf64_Ehdr, e_shentsize),
				  "section headers of %u bytes, expected %u",
				  sonde_load_u16le(data + offsetof(Elf64_Ehdr, e_shentsize)),
				  SECTION_SIZE);
	first = bytes_at(file, header->sections_offset, SECTION_SIZE);
	if (first && !header->section_count)
		header->section_count =
			(uint32_t)sonde_load_u64le(first + offsetof(Elf64_Shdr, sh_size));
	if (first && header->names_number == SHN_XINDEX)
		header->names_number = sonde_load_u32le(first + offsetof(Elf64_Shdr, sh_link));
	return SONDE_OK;
}

static enum sonde_status read_sections(struct elf_file *file, const struct header *header,
				       struct sonde_error *err)
{
	const uint8_t *entries = bytes_at(file, header->sections_offset,
					  (uint64_t)header->section_count * SECTION_SIZE);
	const struct elf_section *names;
	size_t names_size;

	if (!header->section_count)
		return SONDE_OK;
	if (!entries)
		return sonde_fail(err, SONDE_TRUNCATED, header->sections_offset,
				  "%u section headers lie behind the end of the file; it was cut, "
				  "build or copy it again",
				  header->section_count);
	file->sections = calloc(header->section_count, sizeof(*file->sections));
	if (!file->sections)
		return sonde_fail_nomem(err);
	file->section_count = header->section_count;
	for (size_t i = 0; i < file->section_count; i++)
		file->sections[i] = section_of(file, entries + i * SECTION_SIZE);
	if (header->names_number >= file->section_count)
		return SONDE_OK;
	names = &file->sections[header->names_number];
	names_size = elf_strings_size(names);
	for (size_t i = 0; i < file->section_count; i++) {
		uint32_t offset = sonde_load_u32le(entries + i * SECTION_SIZE);

		if (offset < names_size)
			file->sections[i].name = (const char *)names->data + offset;
	}
	return SONDE_OK;
}

static size_t aligned4(uint32_t size)
{
	return ((size_t)size + 3) & ~(size_t)3;
}

/* Looks for the build-id in a run of notes. */
static void read_notes(struct elf_file *file, const uint8_t *data, size_t size)
{
	struct sonde_bytes notes = sonde_bytes_of(data, size);

	while (data && !file->build_id && sonde_bytes_left(&notes) >= 12) {
		uint32_t name_size = sonde_bytes_u32le(&notes);
		uint32_t content_size = sonde_bytes_u32le(&notes);
		uint32_t type = sonde_bytes_u32le(&notes);
		const uint8_t *name = sonde_bytes_take(&notes, aligned4(name_size));
		const uint8_t *content = sonde_bytes_take(&notes, content_size);

		if (!name || !content)
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
		    content_size) {
			file->build_id = content;
			file->build_id_size = content_size;
		}
		/* the last note may come without the bytes that fill it up */
		if (!sonde_bytes_take(&notes, aligned4(content_size) - content_size))
			return;
	}
}

static void read_segments(struct elf_file *file, const struct header *header)
{
	for (size_t i = 0; i < header->segment_count; i++) {
		const uint8_t *entry;
		uint64_t place = i * SEGMENT_SIZE, size;
		uint32_t type;

		if (__builtin_add_overflow(header->segments_offset, place, &place))
			return;
		entry = bytes_at(file, place, SEGMENT_SIZE);
		if (!entry)
			return;
		type = sonde_load_u32le(entry + offsetof(Elf64_Phdr, p_type));
		size = sonde_load_u64le(entry + offsetof(Elf64_Phdr, p_filesz));
		if (type == PT_INTERP)
			file->has_interpreter = true;
		if (type == PT_NOTE && !file->build_id)
			read_notes(
				file,
				bytes_at(file,
					 sonde_load_u64le(entry + offsetof(Elf64_Phdr, p_offset)),
					 size),
				size);
	}
}

enum sonde_status elf_file_open(struct elf_file *file, const char *path, struct sonde_error *err)
{
	struct header header;
	enum sonde_status status;

	*file = (struct elf_file){ .path = strdup(path) };
	if (!file->path)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(&file->mapped, path, err);
	if (status == SONDE_OK)
		status = check_kind(file->mapped.data, file->mapped.size, err);
	if (status == SONDE_OK)
		status = read_header(file, &header, err);
	if (status == SONDE_OK)
		status = read_sections(file, &header, err);
	if (status != SONDE_OK) {
		sonde_error_set_file(err, path);
		elf_file_release(file);
		return status;
	}
	/* Sections first: in a separate debug file the segments describe the other file. */
	for (size_t i = 0; i < file->section_count; i++)
		if (file->sections[i].type == SHT_NOTE)
			read_notes(file, file->sections[i].data, file->sections[i].size);
	read_segments(file, &header);
	return SONDE_OK;
}

void elf_file_release(struct elf_file *file)
{
	sonde_mapped_file_release(&file->mapped);
	free(file->sections);
	free(file->path);
	*file = (struct elf_file){ 0 };
}

const struct elf_section *elf_file_section(const struct elf_file *file, const char *name)
{
	for (size_t i = 0; i < file->section_count; i++)
		if (strcmp(file->sections[i].name, name) == 0)
			return &file->sections[i];
	return NULL;
}

const struct elf_section *elf_file_section_of(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->section_count; i++)
		if (file->sections[i].type == type)
			return &file->sections[i];
	return NULL;
}

const struct elf_section *elf_file_link(const struct elf_file *file,
					const struct elf_section *section)
{
	return section->link < file->section_count ? &file->sections[section->link] : NULL;
}

size_t elf_strings_size(const struct elf_section *strings)
{
	const uint8_t *last = NULL;

	if (strings && strings->data)
		last = memrchr(strings->data, '\0', strings->size);
	return last ? (size_t)(last - strings->data) + 1 : 0;
}

bool elf_file_has_dwarf(const struct elf_file *file)
{
	const struct elf_section *section = elf_file_section(file, ".debug_info");

	if (!section)
		section = elf_file_section(file, ".zdebug_info");
	return section && section->data;
}
