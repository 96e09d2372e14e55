/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of zts_findings.h as data. */
#include "formats/zts/zts_findings.h"

#define FINDINGS ZTS_FINDING_LIST
#define FINDING(name) ZTS_FINDING_##name
#define FINDING_TYPES zts_finding_types
#define FINDING_LIST zts_finding_list
#include "formats/finding_types.h"
