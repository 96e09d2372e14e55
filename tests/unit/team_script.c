/* SPDX-License-Identifier: Apache-2.0 */
/* The steps: numbers, bytes of uneven length, the empty cases, and every way to agree. */
#include "team_script.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 64
#define NUMBERS 3
#define UNEVEN 1000

static bool exchanges(struct sonde_team *team)
{
	unsigned int rank = sonde_team_rank(team), size = sonde_team_size(team);
	const uint64_t mine[NUMBERS] = { rank, UINT64_MAX - rank, (uint64_t)rank << 40 };
	uint64_t all[MOST_RANKS * NUMBERS];

	if (sonde_team_exchange(team, mine, NUMBERS, all, NULL))
		return false;
	for (unsigned int other = 0; other < size; other++) {
		const uint64_t *theirs = all + other * NUMBERS;

		if (theirs[0] != other || theirs[1] != UINT64_MAX - other ||
		    theirs[2] != (uint64_t)other << 40)
			return false;
	}
	return !sonde_team_exchange(team, NULL, 0, NULL, NULL);
}

static size_t length_of(unsigned int rank, size_t large)
{
	return rank % 3 == 1 ? 0 : rank % 3 == 2 ? large : UNEVEN + rank;
}

static void paint(char *bytes, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)((i * 7 + i / 4096 + seed) & 255);
}

static bool is_painted(const char *bytes, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != (char)((i * 7 + i / 4096 + seed) & 255))
			return false;
	return true;
}

static bool is_whole(const struct sonde_buffer *all, const uint64_t *sizes, unsigned int size,
		     size_t large)
{
	size_t place = 4;

	if (memcmp(all->data, "here", 4))
		return false;
	for (unsigned int rank = 0; rank < size; rank++) {
		if (sizes[rank] != length_of(rank, large) ||
		    !is_painted(all->data + place, sizes[rank], rank))
			return false;
		place += sizes[rank];
	}
	return all->size == place;
}

static bool gathers(struct sonde_team *team, size_t large)
{
	unsigned int rank = sonde_team_rank(team);
	size_t size = length_of(rank, large);
	struct sonde_buffer all = { 0 };
	uint64_t sizes[MOST_RANKS];
	char *mine = malloc(size + 1);
	bool right;

	if (!mine)
		return false;
	paint(mine, size, rank);
	sonde_buffer_put(&all, "here", 4);
	right = !sonde_team_gather(team, mine, size, rank ? NULL : &all, rank ? NULL : sizes, NULL);
	if (right && !rank)
		right = is_whole(&all, sizes, sonde_team_size(team), large);
	sonde_buffer_release(&all);
	free(mine);
	return right;
}

static bool shares(struct sonde_team *team, size_t size)
{
	struct sonde_buffer bytes = { 0 };
	char *place;
	bool right;

	if (sonde_team_rank(team)) {
		sonde_buffer_put(&bytes, "old", 3);
	} else {
		place = sonde_buffer_reserve(&bytes, size);
		if (!place)
			return false;
		paint(place, size, 99);
		bytes.size = size;
	}
	right = !sonde_team_share(team, &bytes, NULL) && bytes.size == size &&
		is_painted(bytes.data, size, 99);
	sonde_buffer_release(&bytes);
	return right;
}

/* Ranks `first` and above fail, each in its own way: all must hear of the first. */
static bool agrees_on(struct sonde_team *team, unsigned int first, bool silent)
{
	unsigned int rank = sonde_team_rank(team), size = sonde_team_size(team);
	struct sonde_error err = { 0 }, *place = silent ? NULL : &err;
	enum sonde_status mine = SONDE_OK, agreed;

	if (rank >= first)
		mine = rank == first ? SONDE_CORRUPT : SONDE_IO;
	if (mine) {
		sonde_fail(place, mine, 4711 + rank, "rank %u failed", rank);
		sonde_error_set_file(place, "some/file");
	}
	agreed = sonde_team_agree(team, mine, place);
	if (first >= size)
		return agreed == SONDE_OK;
	if (silent)
		return agreed == SONDE_CORRUPT;
	return agreed == SONDE_CORRUPT && err.status == SONDE_CORRUPT &&
	       err.offset == 4711 + first && !strcmp(err.file, "some/file") &&
	       !strncmp(err.message, "rank ", 5) && (unsigned int)(err.message[5] - '0') == first;
}

static bool agrees(struct sonde_team *team)
{
	for (unsigned int first = 0; first <= sonde_team_size(team); first++)
		if (!agrees_on(team, first, false) || !agrees_on(team, first, true))
			return false;
	return sonde_team_agree(team, SONDE_END, NULL) == SONDE_OK;
}

/* A rank whose buffer failed before: nobody hangs, all are told. */
static bool lacks_memory(struct sonde_team *team)
{
	unsigned int last = sonde_team_size(team) - 1;
	struct sonde_buffer bytes = { .failed = sonde_team_rank(team) == 0 };
	enum sonde_status gathered, shared;

	gathered = sonde_team_gather(team, "x", 1, &bytes, NULL, NULL);
	bytes.failed = sonde_team_rank(team) == 0;
	shared = sonde_team_share(team, &bytes, NULL);
	sonde_buffer_release(&bytes);
	return gathered == SONDE_NOMEM && shared == SONDE_NOMEM && agrees_on(team, last, false);
}

int team_script_run(struct sonde_team *team, size_t large)
{
	if (sonde_team_size(team) > MOST_RANKS || sonde_team_rank(team) >= sonde_team_size(team))
		return 1;
	if (!exchanges(team))
		return 2;
	if (!gathers(team, large) || !gathers(team, 0))
		return 3;
	if (!shares(team, large) || !shares(team, 1) || !shares(team, 0))
		return 4;
	if (!agrees(team))
		return 5;
	return lacks_memory(team) ? 0 : 6;
}
