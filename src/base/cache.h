/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What took long to find out about a file, or about all files of a folder, kept in the user's cache
 * folder for the next time. An entry belongs to them as they were then, and has a checksum: one that
 * does not fit is not there.
 * Nothing here fails or is told: where the folder cannot be written, nothing is kept.
 *
 * SONDE_CACHE           the folder, or "off"; else $XDG_CACHE_HOME/sonde, else ~/.cache/sonde
 * SONDE_CACHE_MINIMUM   bytes of the smallest file or folder that has entries (64 MiB)
 * SONDE_CACHE_LIMIT     bytes of all entries together (1 GiB); what was not used longest goes
 */
#ifndef SONDE_BASE_CACHE_H
#define SONDE_BASE_CACHE_H

#include "base/file.h"

#define SONDE_CACHE_KIND_SIZE 24

struct sonde_cache_key {
	char kind[SONDE_CACHE_KIND_SIZE];
	/* Of a folder: its own device and inode, the size of all files, the last change of any. */
	struct sonde_file_identity file;
	uint32_t head_crc, tail_crc; /* of the first and the last 64 KiB of a file */
	uint64_t contents;	     /* of a folder: of names, sizes and times of all files */
	uint64_t variant;	     /* there is an entry for each; 0 where one is all there is */
};

struct sonde_cache_entry {
	const uint8_t *data;
	size_t size;
	struct sonde_mapped_file file; /* private */
};

/*
 * `kind` says what is kept, and in which layout: "cff-scan-1" (letters, digits and '-'). False where
 * the file is not to have entries: it is small, or there is no cache.
 */
bool sonde_cache_key_make(struct sonde_cache_key *key, const char *kind,
			  const struct sonde_mapped_file *file);

/*
 * The same of a path, which may be that of a folder: then it is about all files below it. `variant`
 * tells entries of a kind apart: a hash of what was asked for.
 */
bool sonde_cache_key_of_path(struct sonde_cache_key *key, const char *kind, const char *path,
			     uint64_t variant);

/* Nothing of it was changed at that time (since 1970), nor just before: its next change is noticed. */
bool sonde_cache_key_is_settled(const struct sonde_cache_key *key, uint64_t time_ns);

/* Finds the entry of a key. True: release it. Its bytes are those that were stored, no more is sure. */
bool sonde_cache_load(const struct sonde_cache_key *key, struct sonde_cache_entry *entry);
void sonde_cache_entry_release(struct sonde_cache_entry *entry);

/*
 * Keeps an entry, in place of an earlier one of the file. Not where the file (`path`) has changed
 * since the key was made, or just before: its next change could have the same time.
 */
void sonde_cache_store(const struct sonde_cache_key *key, const char *path, const void *data,
		       size_t size);

/* Removes the entry, for who finds that it is wrong. */
void sonde_cache_drop(const struct sonde_cache_key *key);

#endif
