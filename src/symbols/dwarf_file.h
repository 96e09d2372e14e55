/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of DWARF share: opening it, going through the code of a unit within bounds, the addresses
 * of an entry, and paths of source files. libdw does the decoding; libdwfl, which may ask servers on the
 * network for debug files, is not used.
 */
#ifndef SONDE_SYMBOLS_DWARF_FILE_H
#define SONDE_SYMBOLS_DWARF_FILE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct dwarf_file {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	/* How many ranges of addresses are still taken. A small file could name one long list of
	 * them many times over. */
	uint64_t ranges_left;
};

/* False where there is no DWARF that can be read. */
bool dwarf_file_open(struct dwarf_file *file, const char *path);
void dwarf_file_release(struct dwarf_file *file);

/* The next unit: its first entry, after the one before at *offset (0 at first); false at the end. */
bool dwarf_file_next_unit(const struct dwarf_file *file, Dwarf_Off *offset, Dwarf_Off *entry);

/*
 * Calls `add` for each range of addresses of an entry. False where `add` gave false. Left out is what
 * linkers threw away: they leave 0 or 1 as its address.
 */
typedef bool dwarf_add_range(void *user, uint64_t start, uint64_t end);
bool dwarf_file_ranges(struct dwarf_file *file, Dwarf_Die *entry, dwarf_add_range *add, void *user);

/* Whether the first entry of a unit is of one with code: types have none, and partial units neither. */
bool dwarf_unit_has_code(Dwarf_Die *top);

/* What a walk meets. */
struct dwarf_visitor {
	bool with_inlined; /* also the entries of inlined calls, not only those of functions */
	bool outermost;	   /* not what is inside of functions, which is most of a unit */
	/*
	 * `outer` is the *number that was given for the nearest one around, UINT32_MAX for none.
	 * False ends the walk.
	 */
	bool (*visit)(struct dwarf_visitor *visitor, Dwarf_Die *entry, int tag, uint32_t outer,
		      uint32_t *number);
};

/*
 * Goes through the functions of a unit, outer before inner. False where `visit` gave false. Deeper than
 * any real program, and where a damaged unit leads to the same entries again and again, it ends early.
 */
bool dwarf_unit_walk(Dwarf_Die *top, struct dwarf_visitor *visitor);

/*
 * The file that an entry, or what it was made of, names by an attribute (DW_AT_decl_file or
 * DW_AT_call_file): its number, and the unit whose it is. False where it names none.
 */
bool dwarf_file_number(Dwarf_Die *entry, unsigned int name, Dwarf_Die *unit, uint64_t *number);

/* The path of that, borrowed from libdw, which reads all lines of the unit for it; or NULL. */
const char *dwarf_file_of(Dwarf_Die *entry, unsigned int name, Dwarf_Die *unit);

/*
 * Writes a path without "./" and doubled slashes, below the unit's folder where it is relative. A folder
 * that is relative itself (the build hid its real one) is in the path already.
 */
void dwarf_put_path(struct sonde_buffer *text, Dwarf_Die *unit, const char *path);

#endif
