/* SPDX-License-Identifier: Apache-2.0
 *
 * georep_start for the ordinary build, and what must not need it: Go's runtime was started by the loader (.init_array), so
 * there is nothing to do. The portable build has its own, see start_portable.c. */
#include "georep.h"

__attribute__((visibility("default"))) georep_status georep_start(void) { return GEOREP_OK; }

__attribute__((visibility("default"))) uint32_t georep_abi_version(void) {
    return GEOREP_ABI_MAJOR << 16 | GEOREP_ABI_MINOR;
}
