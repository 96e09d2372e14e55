/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_MODEL_COMMAND_LINE_H
#define SONDE_MODEL_COMMAND_LINE_H

#include <sonde/definitions.h>

#define SONDE_COMMAND_LINE_ATTRIBUTE "command_line"

/* The program of a process and its arguments, a list of strings as JSON text; NULL: not known. */
const char *sonde_command_line(const struct sonde_definitions *definitions, uint32_t process);

#endif
