/* SPDX-License-Identifier: Apache-2.0 */
/* The details of spans of services: event types that readers of such spans define and writers know. */
#ifndef SONDE_MODEL_SPAN_DETAILS_H
#define SONDE_MODEL_SPAN_DETAILS_H

/* Of a call: attributes as JSON; ids; the kind of span; flags of the store's format; calls in it. */
#define SONDE_SPAN_CALL_TYPE "zts.call"
#define SONDE_SPAN_CALL_SIGNATURE                                                                  \
	"any attributes, uint64 span, uint64 parent, utf8 trace, utf8 type, uint32 flags, "        \
	"uint64 calls"

/* Of an exception. */
#define SONDE_SPAN_EXCEPTION_TYPE "zts.exception"
#define SONDE_SPAN_EXCEPTION_SIGNATURE "utf8 class, utf8 message, any stack, any cause"

#endif
