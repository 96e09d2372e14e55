/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a profile that was read in spite of its faults one that can be written. */
#ifndef SONDE_HPCRUN_RECOVER_H
#define SONDE_HPCRUN_RECOVER_H

#include "formats/hpcrun/hpcrun_profile.h"

/*
 * Gives nodes ids of their own where they have none, and modules to the nodes that name one which is not
 * there. *unused_id is one that no node has. Ids of the file are found as before.
 */
enum sonde_status hpcrun_profile_mend(struct hpcrun_profile *profile, uint32_t *unused_id,
				      struct sonde_error *err);

#endif
