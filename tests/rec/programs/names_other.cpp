/* SPDX-License-Identifier: Apache-2.0 */
/* Has a static function of the same name as one in names.cpp, on another line. */
#include "rec.h"

FN static int helper()
{
	TOUCH();
	return 10;
}

int other_static();

/* The one of this file. */
FN static int same_name()
{
	TOUCH();
	return 2;
}

FN int other_static()
{
	int result = same_name() + helper();

	TOUCH();
	return result;
}
