/* SPDX-License-Identifier: Apache-2.0
 *
 * A host in C that uses every function of georep.h and checks what it gets. Prints one line per
 * group; the first difference ends it with status 1. */
#include "check.h"

georep_error err = {.struct_size = sizeof err};

/* Offsets that other languages write down. */
_Static_assert(offsetof(georep_event, result) == 68 && offsetof(georep_event, millis) == 72, "event");
_Static_assert(offsetof(georep_event, addr) == 40 && offsetof(georep_event, flags) == 64, "event");
_Static_assert(offsetof(georep_action, header_addr) == 56 && offsetof(georep_action, payload_len) == 76, "action");
_Static_assert(offsetof(georep_action, bytes) == 80 && offsetof(georep_action, messages) == 88, "action");
_Static_assert(offsetof(georep_dedup_ticket, segment) == 40, "ticket");
_Static_assert(offsetof(georep_decision, error_offset) == 48, "decision");
_Static_assert(offsetof(georep_source, range_start) == 88, "source");
_Static_assert(offsetof(georep_options, memory_limit) == 24, "options");

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {{"simple", check_simple},      {"place", check_place},     {"rebatch", check_rebatch},
                  {"budget", check_budget},      {"window", check_window},   {"gate", check_gate},
                  {"dedup", check_dedup},        {"control", check_control}, {"converge", check_converge},
                  {"exchange", check_exchange},  {"threads", check_threads}, {"abuse", check_abuse},
                  {"codecs", check_codecs},      {"memory", check_memory},   {"storm", check_storm},
                  {"bootstrap", check_bootstrap}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        groups[i].run();
        printf("%s ok\n", groups[i].name);
        fflush(stdout);
    }
    /* Caps are settled once a window or dedup exists; equal ones may be set again. */
    georep_options o = {.struct_size = sizeof o, .max_entry_bytes = 1 << 20};
    STATUS(georep_init(&o, &err), GEOREP_E_STATE);
    o.max_entry_bytes = 0;
    OK(georep_init(&o, &err));
    return 0;
}
