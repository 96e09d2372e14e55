/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the heads of line tables: the folders and files that they name, in the forms of DWARF 2 to 5. A table
 * that is damaged or has something unknown in it has the names that come before.
 */
#include "symbols/source_files.h"

#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/protobuf.h"

#define DWARF_64 UINT32_MAX /* in place of a length: it follows in 64 bits, and so do offsets */

struct source_file {
	const char *name;
	uint64_t folder; /* its number */
	const char *path;
};

struct source_list {
	struct source_file *items;
	size_t count, capacity;
};

struct source_table {
	struct source_list folders; /* only their names */
	struct source_list files;
};

/* The head of a table, while it is read. */
struct head {
	const struct source_files *sections;
	struct sonde_bytes bytes;
	bool wide; /* offsets have 64 bits */
};

static struct sonde_bytes find_section(const struct elf_file *elf, const char *name, bool texts)
{
	const struct elf_section *section = elf_file_section(elf, name);

	if (!section || !section->data || section->flags & SHF_COMPRESSED)
		return sonde_bytes_of(NULL, 0);
	return sonde_bytes_of(section->data, texts ? elf_strings_size(section) : section->size);
}

void source_files_init(struct source_files *files, const struct elf_file *elf)
{
	*files = (struct source_files){
		.lines = find_section(elf, ".debug_line", false),
		.line_texts = find_section(elf, ".debug_line_str", true),
		.texts = find_section(elf, ".debug_str", true),
	};
}

static void free_table(struct source_table *table)
{
	sonde_vec_release(&table->folders);
	sonde_vec_release(&table->files);
	free(table);
}

void source_files_release(struct source_files *files)
{
	for (size_t i = 0; i < files->tables.count; i++)
		free_table(files->tables.items[i]);
	sonde_vec_release(&files->tables);
	sonde_key_map_release(&files->numbers);
	sonde_arena_release(&files->paths);
}

static uint64_t take_number(struct head *head)
{
	uint64_t value = 0;

	if (sonde_protobuf_varint(&head->bytes, &value) < 0)
		head->bytes.overrun = true;
	return value;
}

static uint64_t take_offset(struct head *head)
{
	return head->wide ? sonde_bytes_u64le(&head->bytes) : sonde_bytes_u32le(&head->bytes);
}

/* A text that stands here; NULL where it has no end. */
static const char *take_text(struct head *head)
{
	const char *text = (const char *)head->bytes.data + head->bytes.position;
	size_t size = strnlen(text, sonde_bytes_left(&head->bytes));

	return (const char *)sonde_bytes_take(&head->bytes, size + 1);
}

/* One that stands elsewhere. */
static const char *text_at(const struct sonde_bytes *texts, uint64_t offset)
{
	return offset < texts->size ? (const char *)texts->data + offset : NULL;
}

/* A field of DWARF 5; false where its form is none that such fields have. */
static bool take_field(struct head *head, uint64_t form, const char **text, uint64_t *number)
{
	uint64_t skipped = 0;

	switch (form) {
	case DW_FORM_string:
		*text = take_text(head);
		break;
	case DW_FORM_line_strp:
		*text = text_at(&head->sections->line_texts, take_offset(head));
		break;
	case DW_FORM_strp:
		*text = text_at(&head->sections->texts, take_offset(head));
		break;
	case DW_FORM_udata:
		*number = take_number(head);
		break;
	case DW_FORM_data1:
		*number = sonde_bytes_u8(&head->bytes);
		break;
	case DW_FORM_data2:
		*number = sonde_bytes_u16le(&head->bytes);
		break;
	case DW_FORM_data4:
		skipped = 4;
		break;
	case DW_FORM_data8:
		skipped = 8;
		break;
	case DW_FORM_data16:
		skipped = 16;
		break;
	case DW_FORM_block:
		skipped = take_number(head);
		break;
	default:
		return false;
	}
	sonde_bytes_take(&head->bytes, skipped);
	return !head->bytes.overrun;
}

static bool add_file(struct source_list *list, struct source_file file)
{
	struct source_file *added = sonde_vec_push(list);

	if (added)
		*added = file;
	return added;
}

/* The folders or the files of DWARF 5: first which fields each of them has, and in what form. */
static bool read_list(struct head *head, struct source_list *list)
{
	uint64_t contents[UINT8_MAX], forms[UINT8_MAX], count;
	uint8_t field_count = sonde_bytes_u8(&head->bytes);

	for (size_t i = 0; i < field_count; i++) {
		contents[i] = take_number(head);
		forms[i] = take_number(head);
	}
	count = take_number(head);
	if (!field_count)
		return !count;
	for (uint64_t i = 0; i < count; i++) {
		struct source_file file = { 0 };

		for (size_t j = 0; j < field_count; j++) {
			const char *text = NULL;
			uint64_t number = 0;

			if (!take_field(head, forms[j], &text, &number))
				return false;
			if (contents[j] == DW_LNCT_path)
				file.name = text;
			else if (contents[j] == DW_LNCT_directory_index)
				file.folder = number;
		}
		if (!add_file(list, file))
			return false;
	}
	return true;
}

/* Those of the versions before: each list ends with an empty name. The first folder is the unit's. */
static void read_old_lists(struct head *head, struct source_table *table)
{
	struct source_file file = { 0 };
	bool is_good = add_file(&table->folders, file);

	while (is_good && (file.name = take_text(head)) && file.name[0])
		is_good = add_file(&table->folders, file);
	file.name = NULL;
	is_good = is_good && add_file(&table->files, file); /* number 0 is none */
	while (is_good && (file.name = take_text(head)) && file.name[0]) {
		file.folder = take_number(head);
		take_number(head); /* time of the last change */
		take_number(head); /* size */
		is_good = !head->bytes.overrun && add_file(&table->files, file);
	}
}

static void read_table(const struct source_files *files, uint64_t offset,
		       struct source_table *table)
{
	struct head head = { .sections = files, .bytes = files->lines };
	uint64_t length;
	uint16_t version;

	sonde_bytes_take(&head.bytes, offset);
	length = sonde_bytes_u32le(&head.bytes);
	head.wide = length == DWARF_64;
	if (head.wide)
		length = sonde_bytes_u64le(&head.bytes);
	if (length < sonde_bytes_left(&head.bytes))
		head.bytes.size = head.bytes.position + length;
	version = sonde_bytes_u16le(&head.bytes);
	if (version < 2 || version > 5)
		return;
	/* sizes of addresses and of segments; the length of the rest */
	sonde_bytes_take(&head.bytes, version < 5 ? 0 : 2);
	take_offset(&head);
	/* the least instruction, instructions at a time, first choice, base and range of lines */
	sonde_bytes_take(&head.bytes, version < 4 ? 4 : 5);
	/* opcodes, and how many operands all but the first have */
	length = sonde_bytes_u8(&head.bytes);
	sonde_bytes_take(&head.bytes, length ? length - 1 : 0);
	if (version < 5)
		read_old_lists(&head, table);
	else if (read_list(&head, &table->folders))
		read_list(&head, &table->files);
}

static struct source_table *find_table(struct source_files *files, uint64_t offset)
{
	uint32_t number = sonde_key_map_find(&files->numbers, offset);
	struct source_table *table;

	if (number != UINT32_MAX)
		return files->tables.items[number];
	table = calloc(1, sizeof(*table));
	if (!table || !sonde_vec_reserve(&files->tables, 1) ||
	    !sonde_key_map_add(&files->numbers, offset, (uint32_t)files->tables.count)) {
		free(table);
		return NULL;
	}
	files->tables.items[files->tables.count++] = table;
	read_table(files, offset, table);
	return table;
}

/* Keeps "folder/name". */
static const char *join(struct source_files *files, const char *folder, const char *name)
{
	struct sonde_buffer text = { 0 };
	const char *path = NULL;

	sonde_buffer_put_text(&text, folder);
	sonde_buffer_put_text(&text, "/");
	sonde_buffer_put_text(&text, name);
	if (!text.failed)
		path = sonde_arena_copy_text(&files->paths, text.data, text.size);
	sonde_buffer_release(&text);
	return path;
}

const char *source_files_find(struct source_files *files, uint64_t offset, uint64_t number,
			      const char *folder)
{
	struct source_table *table = offset < files->lines.size ? find_table(files, offset) : NULL;
	struct source_file *file;

	if (!table || number >= table->files.count)
		return NULL;
	file = &table->files.items[number];
	if (file->path || !file->name)
		return file->path;
	if (file->folder < table->folders.count && table->folders.items[file->folder].name)
		folder = table->folders.items[file->folder].name;
	else if (file->folder)
		return NULL;
	file->path = file->name[0] == '/' || !folder ? file->name : join(files, folder, file->name);
	return file->path;
}
