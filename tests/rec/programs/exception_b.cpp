/* SPDX-License-Identifier: Apache-2.0 */
/* The library that throws. */
#include "exception.h"

volatile int destroyed;

FN Guard::~Guard()
{
	destroyed = destroyed + 1;
}

FN int thrower(int depth, int number)
{
	Guard guard;

	TOUCH();
	if (depth > 0)
		return thrower(depth - 1, number) + 1;
	if (number < 0)
		return 0;
	throw Trouble{ number };
}
