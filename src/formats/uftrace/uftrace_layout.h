/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of uftrace's data, version 4: the header of `info`, and the records of TID.dat. */
#ifndef SONDE_FORMATS_UFTRACE_LAYOUT_H
#define SONDE_FORMATS_UFTRACE_LAYOUT_H

/* info: a header, then lines "key:value". */
#define UFTRACE_MAGIC "Ftrace!\0"
#define UFTRACE_MAGIC_SIZE 8
#define UFTRACE_INFO_VERSION 8	    /* u32 */
#define UFTRACE_INFO_HEADER_SIZE 12 /* u16: where the lines begin */
#define UFTRACE_INFO_ENDIAN 14	    /* 1: little */
#define UFTRACE_INFO_CLASS 15	    /* as in ELF: 1: 32 bits, 2: 64 */
#define UFTRACE_INFO_FEATURES 16    /* u64 */
#define UFTRACE_INFO_SIZE 40
#define UFTRACE_VERSION_LEAST 3
#define UFTRACE_VERSION_MOST 4

#define UFTRACE_FEATURE_RELATIVE (1u << 5) /* symbols count from the beginning of their module */

/* A record: u64 time in ns, u64 word. */
#define UFTRACE_RECORD_SIZE 16
#define UFTRACE_TYPE(word) ((unsigned int)((word)&3))
#define UFTRACE_MORE(word) ((word) >> 2 & 1) /* something follows, padded to 8 bytes */
#define UFTRACE_CHECK(word) ((unsigned int)((word) >> 3 & 7))
#define UFTRACE_CHECK_VALUE 5
#define UFTRACE_DEPTH(word) ((unsigned int)((word) >> 6 & 1023))
#define UFTRACE_DEPTHS 1024 /* deeper ones begin at 0 again */
#define UFTRACE_ADDRESS(word) ((word) >> 16)

/* perf-cpuN.dat: records of the kernel, each u32 type, u16 flags, u16 size, ..., u32 pid, u32 tid, u64 time in ns. */
#define PERF_FLAGS 4
#define PERF_SIZE 6
#define PERF_HEAD_SIZE 8
#define PERF_ID_SIZE 16
#define PERF_LOST_COUNT 16 /* u64 */
#define PERF_COMM_TID 12   /* u32 */
#define PERF_COMM_NAME 16
#define PERF_SWITCH_OUT 0x2000u
#define PERF_SWITCH_PREEMPTED 0x4000u

enum perf_type { PERF_LOST = 2, PERF_COMM = 3, PERF_EXIT = 4, PERF_FORK = 7, PERF_SWITCH = 14 };

enum uftrace_type { UFTRACE_ENTRY, UFTRACE_EXIT, UFTRACE_LOST, UFTRACE_EVENT };

#endif
