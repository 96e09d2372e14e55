/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this is built with the address sanitizer, which watches memory and takes much of it. */
#ifndef SONDE_BASE_SANITIZER_H
#define SONDE_BASE_SANITIZER_H

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SONDE_ADDRESS_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SONDE_ADDRESS_SANITIZER
#endif

#endif
