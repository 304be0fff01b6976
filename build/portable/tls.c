/* SPDX-License-Identifier: Apache-2.0
 *
 * libgeorep_tls.so: preload it on musl only. musl refuses initial-exec TLS in a library that is
 * loaded later (golang/go#54805); this gives Go's one TLS word, renamed by link.sh, a static slot.
 * georep_go_claimed: there is one slot, so one Go runtime; see start_portable.c. */
__thread void *georep_go_tlsg;
int georep_go_claimed;
