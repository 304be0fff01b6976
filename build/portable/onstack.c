/* SPDX-License-Identifier: Apache-2.0
 *
 * libgeorep_onstack.so, an optional preload on any libc: every signal handler that is installed
 * after it runs on the alternate signal stack, as Go needs where a signal hits a thread inside Go.
 * Profilers that attach to a running JVM (async-profiler) install handlers without it and crash
 * the process. Harmless for threads that have no alternate stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

int sigaction(int sig, const struct sigaction *act, struct sigaction *old) {
    static int (*next)(int, const struct sigaction *, struct sigaction *);
    struct sigaction own;
    if (!next) {
        union { /* a pointer to a function is not one to data */
            void *p;
            int (*f)(int, const struct sigaction *, struct sigaction *);
        } u = {.p = dlsym(RTLD_NEXT, "sigaction")};
        next = u.f;
    }
    if (act && act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN) {
        own = *act;
        own.sa_flags |= SA_ONSTACK;
        act = &own;
    }
    return next(sig, act, old);
}
