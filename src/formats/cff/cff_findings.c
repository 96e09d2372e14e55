/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of cff_findings.h as data. */
#include "formats/cff/cff_findings.h"

#define FINDINGS CFF_FINDING_LIST
#define FINDING(name) CFF_FINDING_##name
#define FINDING_TYPES cff_finding_types
#define FINDING_LIST cff_finding_list
#include "formats/finding_types.h"
