/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads libgeorep at run time, as a JVM does, and calls it from many threads. A second path is a
 * second copy, which has to be refused where the first one's TLS word is shared (musl).
 *
 *     loader LIBRARY [COPY]   prints "loaded ok", and "second copy refused" or "second copy ok"
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "georep.h"

typedef georep_status (*start_fn)(void);
typedef uint32_t (*abi_fn)(void);
typedef georep_status (*hash_fn)(const void *, uint32_t, uint32_t, uint32_t *, uint32_t *, uint32_t *, georep_error *);

static hash_fn hash;

static void *symbol(void *library, const char *name) {
    void *p = dlsym(library, name);
    if (!p) fprintf(stderr, "%s: %s\n", name, dlerror()), exit(1);
    return p;
}

static void *open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
    return library;
}

/* Right answers, and faults that come back as a status. */
static void *work(void *arg) {
    (void)arg;
    for (int i = 0; i < 200; i++) {
        uint32_t h = 0;
        georep_error e = {.struct_size = sizeof e};
        if (hash("k1", 2, GEOREP_PROFILE_PIP486, &h, NULL, NULL, &e) != GEOREP_OK || h != 0xfdc6602au) abort();
        if (hash((const void *)(uintptr_t)0x8000, 8, GEOREP_PROFILE_M1, &h, NULL, NULL, &e) != GEOREP_E_FAULT) abort();
    }
    return NULL;
}

int main(int argc, char **argv) {
    enum { ROUNDS = 5, THREADS = 200 };
    if (argc < 2) return 2;
    void *library = open_library(argv[1]);
    /* A pointer to a function is not one to data: copied, as POSIX has it. */
    union {
        void *p;
        start_fn start;
        abi_fn abi;
        hash_fn hash;
    } f;
    f.p = symbol(library, "georep_abi_version");
    if (f.abi() >> 16 != GEOREP_ABI_MAJOR) return 1;
    f.p = symbol(library, "georep_start");
    if (f.start() != GEOREP_OK) return 1;
    f.p = symbol(library, "georep_key_hash");
    hash = f.hash;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int r = 0; r < ROUNDS; r++) {
        pthread_t t[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&t[i], &small, work, NULL)) abort();
        for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    }
    puts("loaded ok");
    if (argc > 2) {
        f.p = symbol(open_library(argv[2]), "georep_start");
        puts(f.start() == GEOREP_E_STATE ? "second copy refused" : "second copy ok");
    }
    return 0;
}
