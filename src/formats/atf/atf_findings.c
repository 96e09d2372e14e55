/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of atf_findings.h as data. */
#include "formats/atf/atf_findings.h"

#define FINDINGS ATF_FINDING_LIST
#define FINDING(name) ATF_FINDING_##name
#define FINDING_TYPES atf_finding_types
#define FINDING_LIST atf_finding_list
#include "formats/finding_types.h"
