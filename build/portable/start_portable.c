/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts Go's runtime on demand instead of from .init_array, for the build that serves glibc and
 * musl. Go's constructor reads argc, argv, envp and auxv from its arguments, and musl passes none
 * (golang/go#13492): here it gets a block of the layout that it expects. The environment is empty
 * on purpose; GOGC and the like come from georep_options, not from what the host exports.
 *
 * No export of Go's may be called before this has run: it would wait for the runtime for ever. On
 * glibc the loader runs it, as it does with any Go library; on musl JNI_OnLoad calls it for Java, and
 * C hosts call georep_start first. */
#include <pthread.h>
#include <stddef.h>

#include "georep.h"

/* _rt0_amd64_linux_lib, renamed and made visible by link.sh. */
extern void go_rt0_of_georep(int argc, char **argv);

/* There only while libgeorep_tls.so is preloaded (musl). */
extern int georep_go_claimed __attribute__((weak));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static georep_status outcome = GEOREP_OK;

static void start(void) {
    /* argv[0], NULL, no environment, AT_NULL: Go then reads /proc/self/auxv. */
    static char name[] = "georep";
    static char *block[] = {name, NULL, NULL, NULL, NULL, NULL};
    /* Two copies of the library would share the preloaded TLS word and crash: refuse the second. */
    if (&georep_go_claimed && __atomic_exchange_n(&georep_go_claimed, 1, __ATOMIC_SEQ_CST)) {
        outcome = GEOREP_E_STATE;
        return;
    }
    go_rt0_of_georep(1, block);
}

__attribute__((visibility("default"))) georep_status georep_start(void) {
    pthread_once(&once, start);
    return outcome;
}

/* Elsewhere loading must not start threads: a host without the preload would die of it. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void loaded(void) {
    if (gnu_get_libc_version) georep_start();
}

__attribute__((visibility("default"))) uint32_t georep_abi_version(void) {
    return GEOREP_ABI_MAJOR << 16 | GEOREP_ABI_MINOR;
}
