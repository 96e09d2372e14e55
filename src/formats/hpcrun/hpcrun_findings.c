/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of hpcrun_findings.h as data. */
#include "formats/hpcrun/hpcrun_findings.h"

#define FINDINGS HPCRUN_FINDING_LIST
#define FINDING(name) HPCRUN_FINDING_##name
#define FINDING_TYPES hpcrun_finding_types
#define FINDING_LIST hpcrun_finding_list
#include "formats/finding_types.h"
