/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_CRC32C_H
#define BENCH_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* To be called once, before the other. */
void crc32c_init(void);

/* CRC-32C of n bytes that follow those whose checksum crc is; 0 = of none. As fast as one core
 * reads where there is an instruction for it. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

/* How crc32c works here, for the report. */
const char *crc32c_kind(void);

#endif
