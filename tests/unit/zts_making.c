/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of trace stores, put together without the library's writer. */
#include "zts_making.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cbor.h"
#include "base/crc.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_wal.h"
#include "scratch.h"

void made_release(struct made_part *made)
{
	sonde_buffer_release(&made->texts);
	sonde_buffer_release(&made->meta);
	sonde_buffer_release(&made->data);
	sonde_buffer_release(&made->content);
	sonde_vec_release(&made->slots);
	*made = (struct made_part){ 0 };
}

static uint32_t add_text(struct made_part *made, const char *text, size_t size)
{
	if (!made->texts.size)
		sonde_buffer_put(&made->texts, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&made->texts, ++made->text_count, text, size);
	return made->text_count;
}

uint32_t made_text(struct made_part *made, const char *text)
{
	return add_text(made, text, strlen(text));
}

uint32_t made_typed(struct made_part *made, char mark, const uint32_t *ids, size_t count)
{
	struct sonde_buffer text = { 0 };
	uint32_t id;

	sonde_buffer_put_char(&text, mark);
	for (size_t i = 0; i < count; i++) {
		zts_id_append(ids[i], &text);
		sonde_buffer_put_char(&text, mark);
	}
	id = add_text(made, text.data, text.size);
	sonde_buffer_release(&text);
	return id;
}

static void put_info(struct made_part *made, unsigned int key, uint64_t value)
{
	sonde_cbor_put_head(&made->content, SONDE_CBOR_TAG, ZTS_TAG_INFO);
	sonde_cbor_put_head(&made->content, SONDE_CBOR_MAP, 1);
	sonde_cbor_put_int(&made->content, key);
	sonde_cbor_put_int(&made->content, (int64_t)value);
}

static void put_string(struct made_part *made, uint32_t id)
{
	sonde_cbor_put_head(&made->content, SONDE_CBOR_TAG, ZTS_TAG_STRING);
	sonde_cbor_put_int(&made->content, id);
}

void made_begin(struct made_part *made, uint32_t method, uint64_t start)
{
	sonde_buffer_put(&made->content, "\xc8\x9f", 2);
	put_info(made, ZTS_INFO_START, start);
	put_info(made, ZTS_INFO_METHOD, method);
}

void made_timestamp(struct made_part *made, uint64_t ms, uint32_t type)
{
	put_info(made, ZTS_INFO_TIMESTAMP, ms);
	put_info(made, ZTS_INFO_TYPE, type);
}

static void begin_attribute(struct made_part *made, uint32_t key)
{
	sonde_cbor_put_head(&made->content, SONDE_CBOR_TAG, ZTS_TAG_ATTRIBUTES);
	sonde_cbor_put_head(&made->content, SONDE_CBOR_MAP, 1);
	put_string(made, key);
}

void made_string_attribute(struct made_part *made, uint32_t key, uint32_t value)
{
	begin_attribute(made, key);
	put_string(made, value);
}

void made_number_attribute(struct made_part *made, uint32_t key, int64_t value)
{
	begin_attribute(made, key);
	sonde_cbor_put_int(&made->content, value);
}

void made_end(struct made_part *made, uint64_t stop, uint64_t calls, uint32_t exception)
{
	if (exception) {
		sonde_cbor_put_head(&made->content, SONDE_CBOR_TAG, ZTS_TAG_EXCEPTION_REF);
		sonde_cbor_put_int(&made->content, exception);
	}
	put_info(made, ZTS_INFO_STOP, stop);
	put_info(made, ZTS_INFO_CALLS, calls);
	sonde_buffer_put_char(&made->content, (char)0xff);
}

uint64_t made_chunk(struct made_part *made)
{
	struct zts_chunk chunk = { .stored_size = (uint32_t)made->content.size,
				   .size = (uint32_t)made->content.size,
				   .crc = sonde_crc32(0, made->content.data, made->content.size) };
	uint8_t header[16];
	uint64_t offset;

	if (!made->data.size) {
		zts_put_data_header(header, ZTS_FLAG_CRC);
		sonde_buffer_put(&made->data, header, sizeof(header));
	}
	offset = made->data.size;
	zts_put_chunk_header(header, &chunk);
	sonde_buffer_put(&made->data, header, sizeof(header));
	sonde_buffer_put(&made->data, made->content.data, made->content.size);
	sonde_buffer_clear(&made->content);
	return offset;
}

static uint32_t put_entry(struct made_part *made, const struct sonde_buffer *line)
{
	if (!made->meta.size)
		sonde_buffer_put(&made->meta, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&made->meta, ++made->last_entry, line->data, line->size);
	return made->last_entry;
}

static uint32_t put_line(struct made_part *made, uint32_t slot, char mark, uint32_t id)
{
	struct sonde_buffer line = { 0 };
	uint32_t entry;

	sonde_buffer_put_char(&line, mark);
	zts_id_append(slot, &line);
	sonde_buffer_put_char(&line, ZTS_META_ID_MARK);
	zts_id_append(id, &line);
	sonde_buffer_put_char(&line, mark);
	entry = put_entry(made, &line);
	sonde_buffer_release(&line);
	return entry;
}

struct zts_slot *made_slot(struct made_part *made, uint64_t data_offset, uint32_t start_offset,
			   uint8_t flags, uint64_t uuid, uint32_t id)
{
	uint32_t number = (uint32_t)made->slots.count;
	struct zts_slot *slot = sonde_vec_push(&made->slots);

	assert_non_null(slot);
	*slot = (struct zts_slot){ .data_offset = data_offset,
				   .start_offset = start_offset,
				   .flags = flags,
				   .uuid = { uuid, uuid },
				   .app = 7,
				   .seconds = 1556712001,
				   .description = id,
				   .description_is_method = true };
	slot->deep_entry = put_line(made, number, ZTS_META_DEEP, id);
	slot->shallow_entry = put_line(made, number, ZTS_META_SHALLOW, id);
	return slot;
}

static void put_in(const char *folder, const char *name, const void *bytes, size_t size)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	put_bytes(path, bytes, size);
}

void made_write(const struct made_part *made, const char *folder)
{
	struct sonde_buffer qmeta = { 0 };
	uint8_t bytes[96];

	mkdir(folder, 0777);
	put_in(folder, "text-00000001.wal", made->texts.data, made->texts.size);
	put_in(folder, ZTS_DATA_NAME, made->data.data, made->data.size);
	put_in(folder, "meta-00000001.wal", made->meta.data, made->meta.size);
	zts_put_qmeta_header(bytes, (uint32_t)(64 + 96 * made->slots.count), 1, 2);
	sonde_buffer_put(&qmeta, bytes, 64);
	for (size_t i = 0; i < made->slots.count; i++) {
		zts_put_slot(bytes, &made->slots.items[i]);
		sonde_buffer_put(&qmeta, bytes, sizeof(bytes));
	}
	put_in(folder, ZTS_QMETA_NAME, qmeta.data, qmeta.size);
	sonde_buffer_release(&qmeta);
	if (made->props)
		put_in(folder, ZTS_PROPS_NAME, made->props, strlen(made->props));
}
