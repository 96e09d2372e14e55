/* SPDX-License-Identifier: Apache-2.0 */
/* The copies that are kept are those of this file. */
#include "comdat.h"

int main()
{
	printf("%d %d\n", common<1>(1) + common<2>(2), after_common(3) + before_common(4));
	return 0;
}
