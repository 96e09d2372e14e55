/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as a whole: which generation it is, its memory from one file to the next, and looking up
 * nodes, pairs and placeholders.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_decode.h"
#include "formats/hpcrun/hpcrun_write.h"

/* Ids may be spread over so many slots a node before they are hashed. */
#define DENSE_SLOTS_PER_NODE 8
#define DENSE_SLOTS_ALWAYS 4096

struct placeholder {
	uint64_t ip;
	const char *name;
};

static const struct placeholder placeholders[] = {
	{ HPCRUN_PLACEHOLDER('O', 'M', 'P', ' ', 'I', 'd', 'l', 'e'), "<omp idle>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'P', 'O', 'v', 'r', 'H', 'd'), "<omp overhead>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'P', 'B', 'a', 'r', 'r', 'W'), "<omp barrier wait>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'P', 'T', 'a', 's', 'k', 'W'), "<omp task wait>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'P', 'M', 't', 'e', 'x', 'W'), "<omp mutex wait>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'P', 'U', 'r', 'e', 's', 'v'), "<omp region unresolved>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'T', 'A', 'l', 'l', 'o', 'c'), "<omp tgt alloc>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'T', 'D', 'e', 'l', 't', 'e'), "<omp tgt delete>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'T', 'C', 'p', 'I', 'n', '_'), "<omp tgt copyin> " },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'T', 'C', 'p', 'O', 'u', 't'), "<omp tgt copyout>" },
	{ HPCRUN_PLACEHOLDER('O', 'M', 'T', 'K', 'e', 'r', 'n', 'l'), "<omp tgt kernel>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'C', 'p', '?', '2', '?'), "<gpu copy>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'C', 'p', 'H', '2', 'D'), "<gpu copyin>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'C', 'p', 'D', '2', 'H'), "<gpu copyout>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'A', 'l', 'l', 'o', 'c'), "<gpu alloc>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'D', 'e', 'l', 't', 'e'), "<gpu delete>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'K', 'e', 'r', 'n', 'l'), "<gpu kernel>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'M', 'e', 'm', 's', 't'), "<gpu memset>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', ' ', 'S', 'y', 'n', 'c'), "<gpu sync>" },
	{ HPCRUN_PLACEHOLDER('G', 'P', 'U', 'T', 'r', 'a', 'c', 'e'), "<gpu kernel>" },
};

const char *hpcrun_placeholder_name(uint64_t ip)
{
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
		if (placeholders[i].ip == ip)
			return placeholders[i].name;
	}
	return NULL;
}

uint64_t hpcrun_placeholder_ip(const char *name)
{
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
		if (!strcmp(placeholders[i].name, name))
			return placeholders[i].ip;
	}
	return 0;
}

struct hpcrun_ids *hpcrun_ids_of(struct hpcrun_profile *profile)
{
	if (!profile->ids)
		profile->ids = calloc(1, sizeof(struct hpcrun_ids));
	return profile->ids;
}

bool hpcrun_ids_begin(struct hpcrun_ids *ids, uint32_t lowest, uint32_t highest, size_t count)
{
	uint64_t span = count ? (uint64_t)highest - lowest + 1 : 1;

	ids->is_dense = span <= (uint64_t)count * DENSE_SLOTS_PER_NODE + DENSE_SLOTS_ALWAYS;
	ids->first = count ? lowest : 0;
	ids->size = (size_t)span;
	if (!ids->is_dense) {
		unsigned int bits = 1;

		while (((size_t)1 << bits) < count * 2)
			bits++;
		ids->size = (size_t)1 << bits;
		ids->shift = 64 - bits;
	}
	if (ids->size > ids->capacity) {
		free(ids->slots); /* their content is not needed any more */
		ids->capacity = 0;
		ids->slots = malloc(ids->size * sizeof(*ids->slots));
		if (!ids->slots) {
			ids->size = 0;
			return false;
		}
		ids->capacity = ids->size;
	}
	memset(ids->slots, 0xff, ids->size * sizeof(*ids->slots));
	return true;
}

void hpcrun_profile_clear(struct hpcrun_profile *profile)
{
	struct hpcrun_ids *ids = profile->ids;

	sonde_mapped_file_release(&profile->file);
	sonde_arena_clear(&profile->texts);
	profile->pairs.count = profile->modules.count = profile->metrics.count = 0;
	profile->nodes.count = profile->values.count = profile->kinds.count = 0;
	profile->identity_count = 0;
	profile->epoch_flags = profile->granularity = 0;
	profile->return_distance = 0;
	if (ids) {
		ids->is_dense = true;
		ids->size = 0;
	}
}

void hpcrun_profile_release(struct hpcrun_profile *profile)
{
	struct hpcrun_ids *ids = profile->ids;

	sonde_mapped_file_release(&profile->file);
	sonde_vec_release(&profile->pairs);
	sonde_vec_release(&profile->modules);
	sonde_vec_release(&profile->metrics);
	sonde_vec_release(&profile->nodes);
	sonde_vec_release(&profile->values);
	sonde_vec_release(&profile->kinds);
	sonde_arena_release(&profile->texts);
	if (ids)
		free(ids->slots);
	free(ids);
	*profile = (struct hpcrun_profile){ 0 };
}

/* Which generation the first bytes say it is; the letter at the end is the order of bytes. */
static enum sonde_status read_magic(struct hpcrun_decoder *decoder, bool *is_04)
{
	const struct sonde_bytes *bytes = &decoder->bytes;
	const char *data = (const char *)bytes->data, *version = NULL;
	bool is_long = false;

	if (bytes->size >= HPCRUN_HEADER_LONG &&
	    !memcmp(data, HPCRUN_MAGIC_LONG, HPCRUN_MAGIC_LONG_SIZE)) {
		version = data + HPCRUN_MAGIC_LONG_SIZE;
		is_long = true;
	} else if (bytes->size >= HPCRUN_HEADER_SHORT &&
		   !memcmp(data, HPCRUN_MAGIC_SHORT, HPCRUN_MAGIC_SHORT_SIZE)) {
		version = data + HPCRUN_MAGIC_SHORT_SIZE;
	}
	if (!version)
		return sonde_fail(decoder->err, SONDE_FORMAT, 0,
				  "expected \"%s\" or \"%s\" at the start, found something else: "
				  "this is no .hpcrun file",
				  HPCRUN_MAGIC_LONG, HPCRUN_MAGIC_SHORT);
	*is_04 = is_long && !memcmp(version, "04.00", HPCRUN_VERSION_SIZE);
	if (!*is_04 && memcmp(version, "02.00", HPCRUN_VERSION_SIZE))
		return sonde_fail(
			decoder->err, SONDE_UNSUPPORTED, (uint64_t)(version - data),
			"version %.5s; 02.00 and 04.00 are read, a newer sonde may read it",
			version);
	if (version[5] != 'l' && version[5] != 'b')
		return sonde_fail(decoder->err, SONDE_CORRUPT, (uint64_t)(version - data) + 5,
				  "expected l or b for the order of bytes, found 0x%02x",
				  (unsigned char)version[5]);
	decoder->little_endian = version[5] == 'l';
	decoder->profile->generation = !is_long ? HPCRUN_02_00_DOCUMENT :
				       *is_04	? HPCRUN_04_00 :
						  HPCRUN_02_00_B;
	return SONDE_OK;
}

static enum sonde_status decode(struct hpcrun_decoder *decoder, uint32_t epoch, uint32_t *epochs)
{
	enum sonde_status status;
	uint32_t ignored;
	bool is_04 = false;

	if (!epochs)
		epochs = &ignored;
	*epochs = 0;
	hpcrun_profile_clear(decoder->profile);
	status = read_magic(decoder, &is_04);
	if (!status) {
		decoder->profile->little_endian = decoder->little_endian;
		*epochs = 1;
		if (!is_04)
			status = hpcrun_decode_02(decoder, epoch, epochs);
		else if (epoch)
			status = sonde_fail(decoder->err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					    "a profile of version 04.00 has no epochs");
		else
			status = hpcrun_decode_04(decoder);
	}
	if (status < 0) {
		hpcrun_profile_clear(decoder->profile);
		return status;
	}
	return SONDE_OK;
}

enum sonde_status hpcrun_profile_decode(struct hpcrun_profile *profile, const void *bytes,
					size_t size, uint32_t epoch, uint32_t *epochs,
					struct sonde_diagnostics *diagnostics,
					struct sonde_error *err)
{
	struct hpcrun_decoder decoder = {
		.bytes = sonde_bytes_of(bytes, size),
		.profile = profile,
		.diagnostics = diagnostics,
		.file = "",
		.err = err,
	};

	return decode(&decoder, epoch, epochs);
}

/* A file that does not say who it is of: its name may. */
static void identify_by_name(struct hpcrun_profile *profile, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct hpcrun_name name;
	size_t program;

	if (!hpcrun_name_parse(slash ? slash + 1 : path, &name, &program))
		return;
	profile->identities[0] = (struct sonde_identity){
		.kind = SONDE_IDENTITY_NODE,
		.is_physical = true,
		.physical = name.host,
	};
	profile->identities[1] = (struct sonde_identity){
		.kind = SONDE_IDENTITY_RANK,
		.physical = name.rank,
		.logical = name.rank,
	};
	profile->identities[2] = (struct sonde_identity){
		.kind = SONDE_IDENTITY_THREAD,
		.physical = (uint64_t)name.thread,
		.logical = (uint64_t)name.thread,
	};
	profile->identity_count = 3;
}

/* Everything is copied while it is decoded, so that the file is mapped for that long only. */
enum sonde_status hpcrun_profile_read(struct hpcrun_profile *profile, const char *path,
				      uint32_t epoch, uint32_t *epochs,
				      struct sonde_diagnostics *diagnostics,
				      struct sonde_error *err)
{
	struct sonde_mapped_file file;
	struct hpcrun_decoder decoder = {
		.profile = profile,
		.diagnostics = diagnostics,
		.file = path,
		.err = err,
	};
	enum sonde_status status = sonde_mapped_file_open(&file, path, err);

	if (status) {
		hpcrun_profile_clear(profile);
		return status;
	}
	decoder.bytes = sonde_bytes_of(file.data, file.size);
	status = decode(&decoder, epoch, epochs);
	sonde_mapped_file_release(&file);
	if (status)
		sonde_error_set_file(err, path);
	else if (!profile->identity_count)
		identify_by_name(profile, path);
	return status;
}

uint32_t hpcrun_profile_find(const struct hpcrun_profile *profile, uint32_t id)
{
	const struct hpcrun_ids *ids = profile->ids;

	return ids && profile->nodes.count ? hpcrun_ids_find(ids, profile->nodes.items, id) :
					     UINT32_MAX;
}

const char *hpcrun_profile_pair(const struct hpcrun_profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->pairs.count; i++) {
		if (!strcmp(profile->pairs.items[i].name, name))
			return profile->pairs.items[i].value;
	}
	return NULL;
}
