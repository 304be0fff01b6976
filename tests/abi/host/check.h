/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the C host: each prints what differs and ends the process with 1. */
#ifndef ABI_CHECK_H
#define ABI_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "georep.h"

#define FAIL(...)                                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fputc('\n', stderr);                                                                                           \
        exit(1);                                                                                                       \
    } while (0)

#define CHECK(c)                                                                                                       \
    do {                                                                                                               \
        if (!(c)) FAIL("not true: %s", #c);                                                                            \
    } while (0)

/* Two integers, shown in decimal. */
#define EQ(got, want)                                                                                                  \
    do {                                                                                                               \
        int64_t g_ = (int64_t)(got), w_ = (int64_t)(want);                                                             \
        if (g_ != w_) FAIL("%s is %" PRId64 ", want %" PRId64 " (%s)", #got, g_, w_, #want);                           \
    } while (0)

/* A status, with the library's text if it is another one. */
#define STATUS(call, want)                                                                                             \
    do {                                                                                                               \
        err.text[0] = 0;                                                                                               \
        georep_status s_ = (call);                                                                                     \
        if (s_ != (want)) FAIL("%s is %d (%s), want %s", #call, s_, err.text, #want);                                  \
    } while (0)

#define OK(call) STATUS(call, GEOREP_OK)

/* The text of err, after a failure. */
#define TEXT(part)                                                                                                     \
    do {                                                                                                               \
        if (!strstr(err.text, part)) FAIL("error text is \"%s\", want \"%s\" in it", err.text, part);                  \
    } while (0)

extern georep_error err; /* of host.c */

/* One group of checks each. */
void check_simple(void);
void check_place(void);
void check_rebatch(void);
void check_budget(void);
void check_window(void);
void check_gate(void);
void check_dedup(void);
void check_control(void);
void check_converge(void);
void check_exchange(void);
void check_bootstrap(void);
void check_abuse(void);
void check_threads(void);
void check_codecs(void);
void check_memory(void);
void check_storm(void);

#endif
