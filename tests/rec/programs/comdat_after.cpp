/* SPDX-License-Identifier: Apache-2.0 */
/* First in here is a copy that is dropped. */
#include "comdat.h"

FN int after_common(int value)
{
	TOUCH();
	return common<1>(value) * 2;
}
