/* SPDX-License-Identifier: Apache-2.0 */
/* Check and recovery of ATF sessions, behind the hooks of the same name in struct sonde_format. */
#ifndef SONDE_ATF_CHECK_H
#define SONDE_ATF_CHECK_H

#include "formats/format.h"

enum sonde_status atf_check(const char *path, const struct sonde_check_options *options,
			    struct sonde_diagnostics *diagnostics, struct sonde_error *err);

enum sonde_status atf_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err);

#endif
