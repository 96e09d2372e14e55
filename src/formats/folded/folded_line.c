/* SPDX-License-Identifier: Apache-2.0 */
/* Names and numbers of folded stacks. */
#include "formats/folded/folded_line.h"

#include "base/escape.h"

bool folded_put_name(struct sonde_buffer *out, const char *name, bool is_first)
{
	size_t at = out->size;
	bool is_same = true;

	if (is_first && *name == '#') {
		sonde_buffer_put_text(out, "\\x23");
		name++;
		is_same = false;
	}
	is_same = sonde_put_escaped(out, name, strlen(name)) && is_same;
	for (; at < out->size; at++) {
		if (out->data[at] != ';')
			continue;
		out->data[at] = ':';
		is_same = false;
	}
	return is_same;
}

uint64_t folded_next_piece(struct folded_pieces *pieces, double value)
{
	double exact = value * pieces->scale + pieces->carry;
	uint64_t piece;

	if (!(exact < (double)UINT64_MAX / 2))
		return 0;
	piece = (uint64_t)(exact + .5);
	pieces->carry = exact - (double)piece;
	return piece;
}

void folded_put_count(struct sonde_buffer *out, uint64_t count)
{
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_u64(out, count);
}
