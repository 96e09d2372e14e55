/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing one profile and one trace: 04.00b, which every living program reads, 02.00l as in the
 * document, and .hpctrace 01.01b. Where files go and what they are called.
 */
#ifndef SONDE_HPCRUN_WRITE_H
#define SONDE_HPCRUN_WRITE_H

#include "base/buffer.h"
#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_profile.h"

/*
 * Puts the whole file into *bytes, which is emptied before. Of a profile these are written: pairs,
 * modules, metrics, nodes (parents before children, ids above 0), values (those of a node together),
 * kinds, identities; `value.bits`, not `value.value`.
 */
enum sonde_status hpcrun_encode_04(const struct hpcrun_profile *profile, struct sonde_buffer *bytes,
				   struct sonde_error *err);
/*
 * 02.00l holds addresses of the process: where modules do not say where they were (address), places
 * are made up for them. Descriptions, formulas, kinds and identities have no place in it.
 */
enum sonde_status hpcrun_encode_02(const struct hpcrun_profile *profile, struct sonde_buffer *bytes,
				   struct sonde_error *err);

/* A new file with these bytes. */
enum sonde_status hpcrun_write_file(const char *path, const void *bytes, size_t size,
				    struct sonde_error *err);

void hpctrace_encode_header(uint64_t flags, uint8_t header[HPCTRACE_HEADER_SIZE]);
/* `records` of 12 bytes each. */
void hpctrace_encode(const struct hpctrace_record *records, size_t count, uint8_t *bytes);

/* What is in a file's name. */
struct hpcrun_name {
	const char *program; /* without folders */
	uint32_t rank;
	int thread; /* GPU streams count from 500 */
	uint32_t host;
	uint32_t process;
	int generation; /* 0, and more where all else is the same */
};
#define HPCRUN_FIRST_STREAM 500

/* "program-000000-000-11ac0300-5560-0", without an ending; programs are cut and cleaned. */
#define HPCRUN_NAME_SIZE 256
void hpcrun_name_text(const struct hpcrun_name *name, char text[HPCRUN_NAME_SIZE]);

/*
 * The same from a name, with or without an ending; false where it is not made like that. *program_length
 * is how much of the text is the program; `program` is not set.
 */
bool hpcrun_name_parse(const char *text, struct hpcrun_name *name, size_t *program_length);

#endif
