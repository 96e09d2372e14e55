/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several files have, of which linkers keep one. */
#ifndef COMDAT_H
#define COMDAT_H

#include "rec.h"

template <int N> FN int common(int value)
{
	TOUCH();
	return value + N;
}

int after_common(int value);
int before_common(int value);

#endif
