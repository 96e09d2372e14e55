/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library, as the build knows it. */
#include <sonde/sonde.h>

const char *sonde_version(void)
{
	return SONDE_VERSION;
}
