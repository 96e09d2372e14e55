/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries are files, one for each kind and file, so that a new one takes the place of a stale one.
 * They are written under another name and renamed; names that do not look like ours are never
 * touched, since the folder is the user's choice.
 */
#include "base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc.h"
#include "base/hash.h"
#include "base/now.h"
#include "base/vec.h"

#define MINIMUM ((uint64_t)64 << 20)
#define LIMIT ((uint64_t)1 << 30)
#define HASHED ((size_t)64 << 10)
#define SECOND ((uint64_t)1000000000)
#define SETTLED (2 * SECOND)	  /* a file that was not changed for so long */
#define ABANDONED (3600 * SECOND) /* a file of a writer that was killed */

#define NAME_START "sonde-"
#define NAME_END ".cache"
#define NEW_START "sonde-new-"

/* Layout of an entry: this, and its bytes. */
#define ENTRY_MAGIC "sondeCA2"
#define ENTRY_KIND 8
#define ENTRY_DEVICE 32
#define ENTRY_INODE 40
#define ENTRY_FILE_SIZE 48
#define ENTRY_CHANGED 56
#define ENTRY_HEAD_CRC 64
#define ENTRY_TAIL_CRC 68
#define ENTRY_CONTENTS 72
#define ENTRY_VARIANT 80
#define ENTRY_KEY_SIZE 88
#define ENTRY_LENGTH 88
#define ENTRY_CRC 96
#define ENTRY_OWN_CRC 100 /* of all before */
#define ENTRY_SIZE 104

/* A folder of more files, or deeper, is no recording that is worth it. */
#define FILES_MAX 1000000
#define FOLDERS_MAX 8

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = secure_getenv(variable);
	char *end;
	uint64_t number;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end ? otherwise : number;
}

/* malloc'd; NULL where there is no cache. */
static char *find_folder(void)
{
	const char *own = secure_getenv("SONDE_CACHE");
	const char *all = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");

	if (own && *own)
		return strcmp(own, "off") ? strdup(own) : NULL;
	if (all && *all == '/')
		return sonde_path_join(all, "sonde");
	return home && *home == '/' ? sonde_path_join(home, ".cache/sonde") : NULL;
}

/* With the folder that it is in, where that is missing too; no more. */
static bool create_folder(const char *folder)
{
	const char *slash = strrchr(folder, '/');
	char *parent;

	if (!mkdir(folder, 0700) || errno == EEXIST)
		return true;
	if (errno != ENOENT || !slash || slash == folder)
		return false;
	parent = strndup(folder, (size_t)(slash - folder));
	if (parent)
		mkdir(parent, 0700);
	free(parent);
	return !mkdir(folder, 0700) || errno == EEXIST;
}

/* What is worth an entry, where there is a cache at all. */
static bool has_entries(uint64_t size)
{
	char *folder;
	bool is_there;

	if (!size || size < number_of("SONDE_CACHE_MINIMUM", MINIMUM))
		return false;
	folder = find_folder();
	is_there = folder;
	free(folder);
	return is_there;
}

bool sonde_cache_key_make(struct sonde_cache_key *key, const char *kind,
			  const struct sonde_mapped_file *file)
{
	size_t hashed = file->size < HASHED ? file->size : HASHED;

	*key = (struct sonde_cache_key){ .file = file->identity };
	if (!has_entries(file->size) || file->identity.changed_ns == SONDE_FILE_UNNAMED)
		return false;
	snprintf(key->kind, sizeof(key->kind), "%s", kind);
	key->head_crc = sonde_crc32(0, file->data, hashed);
	key->tail_crc = sonde_crc32(0, file->data + file->size - hashed, hashed);
	return true;
}

/* All files below a folder, in the order of their names. */
struct walk {
	uint64_t contents, size, changed_ns;
	size_t count;
};

static bool walk_folder(struct walk *walk, const char *path, unsigned int depth);

static bool walk_file(struct walk *walk, const char *folder, const char *name, unsigned int depth)
{
	char *path = sonde_path_join(folder, name);
	struct sonde_file_identity identity;
	struct stat status;
	bool happened = path && !stat(path, &status) && ++walk->count <= FILES_MAX;

	/* also of a folder, so that a file is not taken for one of the folder above */
	walk->contents = sonde_hash_bytes(walk->contents, name, strlen(name) + 1);
	if (happened && S_ISDIR(status.st_mode)) {
		happened = depth < FOLDERS_MAX && walk_folder(walk, path, depth + 1);
	} else if (happened) {
		identity = sonde_file_identity(&status);
		walk->contents = sonde_hash_bytes(walk->contents, &identity, sizeof(identity));
		walk->size += identity.size;
		if (identity.changed_ns > walk->changed_ns)
			walk->changed_ns = identity.changed_ns;
	}
	free(path);
	return happened;
}

static bool walk_folder(struct walk *walk, const char *path, unsigned int depth)
{
	struct sonde_folder names;
	bool happened = sonde_folder_read(&names, path, NULL) == SONDE_OK;

	if (!happened)
		return false;
	for (size_t i = 0; happened && i < names.count; i++)
		happened = walk_file(walk, path, names.names[i], depth);
	walk->contents = sonde_hash_bytes(walk->contents, "/", 1);
	sonde_folder_release(&names);
	return happened;
}

static bool identify_folder(struct sonde_cache_key *key, const char *path)
{
	struct walk walk = { .contents = SONDE_HASH_START };
	struct stat status;

	if (stat(path, &status) || !walk_folder(&walk, path, 0))
		return false;
	key->file = sonde_file_identity(&status);
	key->file.size = walk.size;
	key->file.changed_ns = walk.changed_ns;
	key->contents = walk.contents ? walk.contents : 1;
	return true;
}

bool sonde_cache_key_of_path(struct sonde_cache_key *key, const char *kind, const char *path,
			     uint64_t variant)
{
	enum sonde_path_kind found = sonde_path_kind(path);
	struct sonde_mapped_file file;
	bool is_made;

	*key = (struct sonde_cache_key){ 0 };
	if (found == SONDE_PATH_FILE && sonde_mapped_file_open(&file, path, NULL) == SONDE_OK) {
		is_made = sonde_cache_key_make(key, kind, &file);
		sonde_mapped_file_release(&file);
		key->variant = variant;
		return is_made;
	}
	if (found != SONDE_PATH_FOLDER || !has_entries(UINT64_MAX) || !identify_folder(key, path) ||
	    !has_entries(key->file.size))
		return false;
	snprintf(key->kind, sizeof(key->kind), "%s", kind);
	key->variant = variant;
	return true;
}

bool sonde_cache_key_is_settled(const struct sonde_cache_key *key, uint64_t time_ns)
{
	return time_ns >= key->file.changed_ns && time_ns - key->file.changed_ns >= SETTLED;
}

/* The name of an entry has nothing that changes when the file does. */
static const char *make_name(const struct sonde_cache_key *key, struct sonde_buffer *name)
{
	sonde_buffer_put_format(name, NAME_START "%s-%" PRIx64 "-%" PRIx64, key->kind,
				key->file.device, key->file.inode);
	if (key->variant)
		sonde_buffer_put_format(name, "-%" PRIx64, key->variant);
	sonde_buffer_put_text(name, NAME_END);
	return sonde_buffer_text(name);
}

/* malloc'd; NULL where there is no cache. */
static char *make_path(const struct sonde_cache_key *key)
{
	struct sonde_buffer buffer = { 0 };
	const char *name = make_name(key, &buffer);
	char *folder = find_folder();
	char *path = folder && name ? sonde_path_join(folder, name) : NULL;

	free(folder);
	sonde_buffer_release(&buffer);
	return path;
}

/* The part of the head that says what the entry is of. */
static void put_key(uint8_t head[ENTRY_SIZE], const struct sonde_cache_key *key)
{
	memset(head, 0, ENTRY_SIZE);
	memcpy(head, ENTRY_MAGIC, ENTRY_KIND);
	memcpy(head + ENTRY_KIND, key->kind, SONDE_CACHE_KIND_SIZE);
	sonde_store_u64le(head + ENTRY_DEVICE, key->file.device);
	sonde_store_u64le(head + ENTRY_INODE, key->file.inode);
	sonde_store_u64le(head + ENTRY_FILE_SIZE, key->file.size);
	sonde_store_u64le(head + ENTRY_CHANGED, key->file.changed_ns);
	sonde_store_u32le(head + ENTRY_HEAD_CRC, key->head_crc);
	sonde_store_u32le(head + ENTRY_TAIL_CRC, key->tail_crc);
	sonde_store_u64le(head + ENTRY_CONTENTS, key->contents);
	sonde_store_u64le(head + ENTRY_VARIANT, key->variant);
}

static bool fits(const struct sonde_cache_key *key, const struct sonde_mapped_file *file)
{
	uint8_t head[ENTRY_SIZE];
	uint64_t length;

	if (file->size < ENTRY_SIZE)
		return false;
	put_key(head, key);
	length = sonde_load_u64le(file->data + ENTRY_LENGTH);
	return !memcmp(head, file->data, ENTRY_KEY_SIZE) &&
	       sonde_load_u32le(file->data + ENTRY_OWN_CRC) ==
		       sonde_crc32(0, file->data, ENTRY_OWN_CRC) &&
	       length == file->size - ENTRY_SIZE &&
	       sonde_load_u32le(file->data + ENTRY_CRC) ==
		       sonde_crc32(0, file->data + ENTRY_SIZE, (size_t)length);
}

/* Only what the user owns: another's entry could say anything. */
static bool is_own(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_uid == geteuid();
}

bool sonde_cache_load(const struct sonde_cache_key *key, struct sonde_cache_entry *entry)
{
	char *path = make_path(key);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	bool is_loaded = false;

	*entry = (struct sonde_cache_entry){ 0 };
	if (fd >= 0 && is_own(fd) && sonde_mapped_file_of(&entry->file, fd, path, NULL) == SONDE_OK)
		is_loaded = fits(key, &entry->file);
	if (is_loaded) {
		entry->data = entry->file.data + ENTRY_SIZE;
		entry->size = entry->file.size - ENTRY_SIZE;
		futimens(fd, NULL); /* it was used now */
	} else {
		sonde_cache_entry_release(entry);
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return is_loaded;
}

void sonde_cache_entry_release(struct sonde_cache_entry *entry)
{
	sonde_mapped_file_release(&entry->file);
	*entry = (struct sonde_cache_entry){ 0 };
}

static bool write_entry(const char *folder, const char *name, const uint8_t head[ENTRY_SIZE],
			const void *data, size_t size)
{
	char *made = sonde_path_join(folder, NEW_START "XXXXXX");
	char *path = sonde_path_join(folder, name);
	int fd = made && path ? mkostemp(made, O_CLOEXEC) : -1;
	bool is_good = fd >= 0 && sonde_write_all(fd, head, ENTRY_SIZE) &&
		       sonde_write_all(fd, data, size);

	if (fd >= 0 && close(fd))
		is_good = false;
	is_good = is_good && !rename(made, path);
	if (fd >= 0 && !is_good)
		unlink(made);
	free(made);
	free(path);
	return is_good;
}

/* Room in the folder */

struct kept {
	const char *name;
	uint64_t size, used_ns;
};

static int compare_kept(const void *a, const void *b)
{
	const struct kept *one = a, *two = b;

	return (one->used_ns > two->used_ns) - (one->used_ns < two->used_ns);
}

static bool starts(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool is_entry(const char *name)
{
	size_t length = strlen(name), end = sizeof(NAME_END) - 1;

	return starts(name, NAME_START) && length > end && !strcmp(name + length - end, NAME_END);
}

/* Removes what was used longest ago until the rest is within the limit; `newest` stays. */
static void remove_oldest(int folder, struct kept *kept, size_t count, const char *newest)
{
	uint64_t limit = number_of("SONDE_CACHE_LIMIT", LIMIT), total = 0;

	for (size_t i = 0; i < count; i++)
		total += kept[i].size;
	if (total <= limit)
		return;
	qsort(kept, count, sizeof(*kept), compare_kept);
	for (size_t i = 0; i < count && total > limit; i++) {
		if (!strcmp(kept[i].name, newest) || unlinkat(folder, kept[i].name, 0))
			continue;
		total -= kept[i].size;
	}
}

struct room {
	int folder;
	uint64_t now_ns;
	SONDE_VEC(struct kept) kept;
};

static void look_at(struct room *room, const char *name)
{
	bool is_new = starts(name, NEW_START);
	struct stat status;
	struct kept *kept;
	uint64_t used_ns;

	if ((!is_new && !is_entry(name)) ||
	    fstatat(room->folder, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return;
	used_ns = sonde_file_identity(&status).changed_ns;
	if (is_new) {
		if (room->now_ns > used_ns && room->now_ns - used_ns > ABANDONED)
			unlinkat(room->folder, name, 0);
		return;
	}
	kept = sonde_vec_push(&room->kept);
	if (kept)
		*kept = (struct kept){ name, (uint64_t)status.st_size, used_ns };
}

static void prune(const char *path, const char *newest)
{
	struct room room = {
		.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.now_ns = sonde_now_ns(CLOCK_REALTIME),
	};
	struct sonde_folder names;

	if (room.folder < 0)
		return;
	if (sonde_folder_read(&names, path, NULL) == SONDE_OK) {
		for (size_t i = 0; i < names.count; i++)
			look_at(&room, names.names[i]);
		if (room.kept.items)
			remove_oldest(room.folder, room.kept.items, room.kept.count, newest);
		sonde_vec_release(&room.kept);
		sonde_folder_release(&names);
	}
	close(room.folder);
}

/* Whether all is as it was when the key was made, and no change of it can go unnoticed. */
static bool is_settled(const struct sonde_cache_key *key, const char *path)
{
	uint64_t now = sonde_now_ns(CLOCK_REALTIME);
	struct sonde_cache_key present = { 0 };
	struct stat status;

	if (key->contents) {
		if (!identify_folder(&present, path))
			return false;
	} else {
		if (stat(path, &status))
			return false;
		present.file = sonde_file_identity(&status);
	}
	return present.file.device == key->file.device && present.file.inode == key->file.inode &&
	       present.file.size == key->file.size &&
	       present.file.changed_ns == key->file.changed_ns &&
	       present.contents == key->contents &&
	       (now < key->file.changed_ns || now - key->file.changed_ns >= SETTLED);
}

void sonde_cache_store(const struct sonde_cache_key *key, const char *path, const void *data,
		       size_t size)
{
	uint8_t head[ENTRY_SIZE];
	struct sonde_buffer buffer = { 0 };
	const char *name;
	char *folder;

	if (size > number_of("SONDE_CACHE_LIMIT", LIMIT) / 4 || !is_settled(key, path))
		return;
	put_key(head, key);
	sonde_store_u64le(head + ENTRY_LENGTH, size);
	sonde_store_u32le(head + ENTRY_CRC, sonde_crc32(0, data, size));
	sonde_store_u32le(head + ENTRY_OWN_CRC, sonde_crc32(0, head, ENTRY_OWN_CRC));
	name = make_name(key, &buffer);
	folder = name ? find_folder() : NULL;
	if (folder && create_folder(folder) && write_entry(folder, name, head, data, size))
		prune(folder, name);
	free(folder);
	sonde_buffer_release(&buffer);
}

void sonde_cache_drop(const struct sonde_cache_key *key)
{
	char *path = make_path(key);

	if (path)
		unlink(path);
	free(path);
}
