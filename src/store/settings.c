/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a store: <base>/store.props, in which other lines stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "store/store_private.h"

#define MEGABYTE ((uint64_t)1 << 20)
#define NS_PER_MS 1000000u

#define DEFAULT_PART_SIZE (64 * MEGABYTE)
#define DEFAULT_KEEP_PARTS 64
#define DEFAULT_MEMORY (256 * MEGABYTE)

void sonde_store_settings_init(struct sonde_store_settings *settings)
{
	*settings = (struct sonde_store_settings){
		.codec = SONDE_CODEC_LZ4,
		.part_size = DEFAULT_PART_SIZE,
		.keep_parts = DEFAULT_KEEP_PARTS,
		.memory = DEFAULT_MEMORY,
		.archive = true,
	};
}

/* A number in the file and where it belongs. */
struct number_setting {
	const char *key;
	size_t offset;
	uint64_t unit;
};

#define SETTING(member) offsetof(struct sonde_store_settings, member)
static const struct number_setting number_settings[] = {
	{ "store.rotate.max-size", SETTING(part_size), MEGABYTE },
	{ "sonde.rotate.max-age", SETTING(part_age_s), 1 },
	{ "store.rotate.max-num", SETTING(keep_parts), 1 },
	{ "sonde.retain.max-size", SETTING(keep_bytes), 1 },
	{ "sonde.retain.max-age", SETTING(keep_age_s), 1 },
	{ "sonde.memory", SETTING(memory), 1 },
	{ "ingest.min.duration", SETTING(min_duration_ns), NS_PER_MS },
};
#define NUMBER_SETTINGS (sizeof(number_settings) / sizeof(number_settings[0]))

static const struct {
	const char *name;
	enum sonde_codec codec;
} codecs[] = {
	{ "none", SONDE_CODEC_NONE },
	{ "zlib", SONDE_CODEC_DEFLATE },
	{ "lz4", SONDE_CODEC_LZ4 },
};
#define CODECS (sizeof(codecs) / sizeof(codecs[0]))

static enum sonde_status parse_codec(const struct zts_props *props, enum sonde_codec *codec,
				     struct sonde_error *err)
{
	size_t size;
	const char *name = zts_props_get(props, "sonde.codec", &size);

	for (size_t i = 0; name && i < CODECS; i++) {
		if (strlen(codecs[i].name) == size && !memcmp(codecs[i].name, name, size)) {
			*codec = codecs[i].codec;
			return SONDE_OK;
		}
	}
	if (!name)
		return SONDE_OK;
	sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
		   "sonde.codec is \"%.*s\", expected none, zlib or lz4", (int)(size & 0xff), name);
	sonde_error_set_file(err, ZTS_PROPS_NAME);
	return SONDE_ARGUMENT;
}

static enum sonde_status parse(const struct zts_props *props, struct sonde_store_settings *settings,
			       struct sonde_error *err)
{
	uint64_t archive = settings->archive;

	for (size_t i = 0; i < NUMBER_SETTINGS; i++) {
		const struct number_setting *setting = &number_settings[i];
		uint64_t value;

		if (zts_props_number(props, setting->key, &value) &&
		    !__builtin_mul_overflow(value, setting->unit, &value))
			memcpy((char *)settings + setting->offset, &value, sizeof(value));
	}
	if (!settings->part_size)
		settings->part_size = DEFAULT_PART_SIZE;
	if (!settings->memory)
		settings->memory = DEFAULT_MEMORY;
	zts_props_number(props, "sonde.archive", &archive);
	settings->archive = archive != 0;
	return parse_codec(props, &settings->codec, err);
}

enum sonde_status sonde_store_settings_read(const char *base, struct sonde_store_settings *settings,
					    struct sonde_error *err)
{
	struct zts_props props = { 0 };
	enum sonde_status status = zts_props_read(&props, base, err);

	sonde_store_settings_init(settings);
	/* What nobody asked for is not removed: without a setting all parts are kept. */
	settings->keep_parts = 0;
	if (status >= 0)
		status = parse(&props, settings, err);
	zts_props_release(&props);
	return status;
}

static void set_all(struct zts_props *props, const struct sonde_store_settings *settings)
{
	for (size_t i = 0; i < CODECS; i++)
		if (codecs[i].codec == settings->codec)
			zts_props_set(props, "sonde.codec", codecs[i].name);
	for (size_t i = 0; i < NUMBER_SETTINGS; i++) {
		const struct number_setting *setting = &number_settings[i];
		uint64_t value;
		char text[24];

		memcpy(&value, (const char *)settings + setting->offset, sizeof(value));
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)((value + setting->unit - 1) / setting->unit));
		zts_props_set(props, setting->key, text);
	}
	zts_props_set(props, "sonde.archive", settings->archive ? "1" : "0");
}

char *sonde_store_props_lines(const struct sonde_store_settings *settings)
{
	struct zts_props props = { 0 };

	set_all(&props, settings);
	if (!sonde_buffer_text(&props.text))
		zts_props_release(&props);
	return props.text.data;
}

/* Whether there is nothing in a folder. */
static enum sonde_status examine_folder(const char *base, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, base, err);
	size_t count;

	if (status < 0)
		return status;
	count = folder.count;
	sonde_folder_release(&folder);
	if (!count)
		return SONDE_OK;
	sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
		   "the folder is not empty; a new store needs an empty or a new one");
	sonde_error_set_file(err, base);
	return SONDE_ARGUMENT;
}

enum sonde_status sonde_store_init(const char *base, const struct sonde_store_settings *settings,
				   struct sonde_error *err)
{
	struct zts_props props = { 0 };
	enum sonde_status status;

	if (sonde_path_kind(base) == SONDE_PATH_ABSENT)
		status = sonde_folder_create(base, err);
	else
		status = examine_folder(base, err);
	if (status < 0)
		return status;
	set_all(&props, settings);
	status = props.text.failed ? sonde_fail_nomem(err) : zts_props_write(&props, base, err);
	zts_props_release(&props);
	return status;
}
