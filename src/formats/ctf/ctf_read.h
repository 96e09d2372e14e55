/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the Common Trace Format. */
#ifndef SONDE_CTF_READ_H
#define SONDE_CTF_READ_H

#include "formats/format.h"

int ctf_probe(const char *path);
enum sonde_status ctf_open(struct sonde_recording *recording, struct sonde_error *err);

#endif
