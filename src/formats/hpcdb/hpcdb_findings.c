/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of hpcdb_findings.h as data. */
#include "formats/hpcdb/hpcdb_findings.h"

#define FINDINGS HPCDB_FINDING_LIST
#define FINDING(name) HPCDB_FINDING_##name
#define FINDING_TYPES hpcdb_finding_types
#define FINDING_LIST hpcdb_finding_list
#include "formats/finding_types.h"
