/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The general way of a compiler hook, for hooks.c alone: as rt_record(), with what a detail of
 * such a hook holds.
 */
#ifndef SONDE_RUNTIME_RECORD_H
#define SONDE_RUNTIME_RECORD_H

#include "runtime/runtime.h"

RT_HIDDEN void rt_hook(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
		       uint64_t site, uint64_t frame);

#endif
