/* SPDX-License-Identifier: Apache-2.0 */
/* The library that exceptions pass through, with and without being caught on the way. */
#include "exception.h"

FN int middle(int depth, int number)
{
	Guard guard;
	int result = thrower(depth, number);

	TOUCH();
	return result + 1;
}

FN int rethrower(int depth, int number)
{
	try {
		return middle(depth, number) + 1;
	} catch (Trouble &trouble) {
		trouble.number += 100;
		throw;
	}
}
