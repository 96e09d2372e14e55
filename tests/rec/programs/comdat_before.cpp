/* SPDX-License-Identifier: Apache-2.0 */
/* First in here is a function that is kept, then comes a copy that is not. */
#include "comdat.h"

FN static int first(int value)
{
	TOUCH();
	return value;
}

FN int before_common(int value)
{
	TOUCH();
	return common<2>(first(value)) * 3;
}
