/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hashes are made of. None of it withstands somebody who knows the seed: tables whose keys
 * come from outside take one that nobody can know.
 */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Odd, with bits that look random. */
#define SONDE_HASH_FACTOR_1 UINT64_C(0x9e3779b97f4a7c15)
#define SONDE_HASH_FACTOR_2 UINT64_C(0xd6e8feb86659fd93)

/* Both halves of a product in one: every bit of a factor changes many of it. */
static inline uint64_t sonde_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Another number for each number, unlike those of its neighbours. */
static inline uint64_t sonde_hash_mix(uint64_t value)
{
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* Of several numbers, one after the other; not the same for another order. */
static inline uint64_t sonde_hash_also(uint64_t hash, uint64_t more)
{
	return sonde_hash_mix(sonde_hash_mix(hash + SONDE_HASH_FACTOR_1) ^ more);
}

/* FNV-1a, for few bytes: begins with SONDE_HASH_START, goes on with what it gave before. */
#define SONDE_HASH_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t sonde_hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
