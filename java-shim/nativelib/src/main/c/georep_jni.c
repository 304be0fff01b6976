/* SPDX-License-Identifier: Apache-2.0
 *
 * JNI entry points of libgeorep: addresses in, addresses out, over the public header only. No
 * upcalls, no Java objects, no array access; a call costs what the C function costs. The
 * methods are registered from a table in JNI_OnLoad, so no symbol but that one is exported for
 * Java; tests compare the table with the class and the header.
 */
#include <jni.h>

#include "georep.h"

#define P(x) ((void *)(uintptr_t)(x))
#define U ((void)env, (void)cls)

static jint JNICALL j_abiVersion(JNIEnv *env, jclass cls) {
    U;
    return (jint)georep_abi_version();
}

static jint JNICALL j_version(JNIEnv *env, jclass cls, jlong buf, jlong cap, jlong lenOut) {
    U;
    return (jint)georep_version(P(buf), (uint64_t)cap, P(lenOut));
}

static jint JNICALL j_start(JNIEnv *env, jclass cls) {
    U;
    return (jint)georep_start();
}

static jint JNICALL j_init(JNIEnv *env, jclass cls, jlong options, jlong err) {
    U;
    return (jint)georep_init(P(options), P(err));
}

static jint JNICALL j_keyHash(JNIEnv *env, jclass cls, jlong key, jint len, jint profile, jlong hashOut,
                              jlong segmentOut, jlong bucketOut, jlong err) {
    U;
    return (jint)georep_key_hash(P(key), (uint32_t)len, (uint32_t)profile, P(hashOut), P(segmentOut), P(bucketOut),
                                 P(err));
}

static jint JNICALL j_layoutNew(JNIEnv *env, jclass cls, jlong json, jint len, jint profile, jlong out, jlong err) {
    U;
    return (jint)georep_layout_new(P(json), (uint32_t)len, (uint32_t)profile, P(out), P(err));
}

static jint JNICALL j_layoutFromProto(JNIEnv *env, jclass cls, jlong bytes, jint len, jlong out, jlong err) {
    U;
    return (jint)georep_layout_from_proto(P(bytes), (uint32_t)len, P(out), P(err));
}

static jint JNICALL j_layoutToProto(JNIEnv *env, jclass cls, jlong layout, jlong out, jlong cap, jlong lenOut,
                                    jlong err) {
    U;
    return (jint)georep_layout_to_proto((georep_layout)layout, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_layoutFree(JNIEnv *env, jclass cls, jlong layout) {
    U;
    return (jint)georep_layout_free((georep_layout)layout);
}

static jint JNICALL j_place(JNIEnv *env, jclass cls, jlong layout, jlong source, jlong entries, jint n, jlong decisions,
                            jlong arena, jlong arenaCap, jlong usedOut, jlong neededOut, jlong err) {
    U;
    return (jint)georep_place((georep_layout)layout, P(source), P(entries), (uint32_t)n, P(decisions), P(arena),
                              (uint64_t)arenaCap, P(usedOut), P(neededOut), P(err));
}

static jint JNICALL j_rebatch(JNIEnv *env, jclass cls, jlong layout, jlong source, jlong options, jlong entry,
                              jlong arena, jlong arenaCap, jlong parts, jint partsCap, jlong nPartsOut, jlong neededOut,
                              jlong err) {
    U;
    return (jint)georep_rebatch((georep_layout)layout, P(source), P(options), P(entry), P(arena), (uint64_t)arenaCap,
                                P(parts), (uint32_t)partsCap, P(nPartsOut), P(neededOut), P(err));
}

static jint JNICALL j_budgetNew(JNIEnv *env, jclass cls, jlong config, jint len, jlong out, jlong err) {
    U;
    return (jint)georep_budget_new(P(config), (uint32_t)len, P(out), P(err));
}

static jint JNICALL j_budgetFree(JNIEnv *env, jclass cls, jlong budget) {
    U;
    return (jint)georep_budget_free((georep_budget)budget);
}

static jint JNICALL j_budgetRequest(JNIEnv *env, jclass cls, jlong budget, jlong key, jint remote, jlong bytes) {
    U;
    return (jint)georep_budget_request((georep_budget)budget, (uint64_t)key, (uint32_t)remote, (int64_t)bytes);
}

static jint JNICALL j_budgetReturn(JNIEnv *env, jclass cls, jlong budget, jlong key) {
    U;
    return (jint)georep_budget_return((georep_budget)budget, (uint64_t)key);
}

static jint JNICALL j_budgetCharge(JNIEnv *env, jclass cls, jlong budget, jint remote, jlong bytes) {
    U;
    return (jint)georep_budget_charge((georep_budget)budget, (uint32_t)remote, (int64_t)bytes);
}

static jint JNICALL j_budgetUncharge(JNIEnv *env, jclass cls, jlong budget, jint remote, jlong bytes) {
    U;
    return (jint)georep_budget_uncharge((georep_budget)budget, (uint32_t)remote, (int64_t)bytes);
}

static jint JNICALL j_budgetHold(JNIEnv *env, jclass cls, jlong budget, jint remote, jlong bytes) {
    U;
    return (jint)georep_budget_hold((georep_budget)budget, (uint32_t)remote, (int64_t)bytes);
}

static jint JNICALL j_budgetUnhold(JNIEnv *env, jclass cls, jlong budget, jint remote, jlong bytes) {
    U;
    return (jint)georep_budget_unhold((georep_budget)budget, (uint32_t)remote, (int64_t)bytes);
}

static jint JNICALL j_budgetRoom(JNIEnv *env, jclass cls, jlong budget, jint remote, jlong bytesOut) {
    U;
    return (jint)georep_budget_room((georep_budget)budget, (uint32_t)remote, P(bytesOut));
}

static jint JNICALL j_budgetAdvance(JNIEnv *env, jclass cls, jlong budget, jlong nowNanos) {
    U;
    return (jint)georep_budget_advance((georep_budget)budget, (int64_t)nowNanos);
}

static jint JNICALL j_budgetGranted(JNIEnv *env, jclass cls, jlong budget, jlong keys, jint cap, jlong nOut,
                                    jlong wakeOut) {
    U;
    return (jint)georep_budget_granted((georep_budget)budget, P(keys), (uint32_t)cap, P(nOut), P(wakeOut));
}

static jint JNICALL j_budgetStatus(JNIEnv *env, jclass cls, jlong budget, jlong out, jlong cap, jlong lenOut,
                                   jlong err) {
    U;
    return (jint)georep_budget_status((georep_budget)budget, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_windowNew(JNIEnv *env, jclass cls, jlong config, jint len, jlong out, jlong err) {
    U;
    return (jint)georep_window_new(P(config), (uint32_t)len, P(out), P(err));
}

static jint JNICALL j_windowFree(JNIEnv *env, jclass cls, jlong window) {
    U;
    return (jint)georep_window_free((georep_window)window);
}

static jint JNICALL j_windowSetRemote(JNIEnv *env, jclass cls, jlong window, jlong layout, jint maxMessageBytes,
                                      jlong err) {
    U;
    return (jint)georep_window_set_remote((georep_window)window, (georep_layout)layout, (uint32_t)maxMessageBytes,
                                          P(err));
}

static jint JNICALL j_windowRemoteInstance(JNIEnv *env, jclass cls, jlong window, jlong id, jint len, jlong err) {
    U;
    return (jint)georep_window_remote_instance((georep_window)window, P(id), (uint32_t)len, P(err));
}

static jint JNICALL j_windowStep(JNIEnv *env, jclass cls, jlong window, jlong events, jint nEvents, jlong arena,
                                 jlong arenaCap, jlong actions, jint actionsCap, jlong nActionsOut, jlong usedOut,
                                 jlong neededOut, jlong err) {
    U;
    return (jint)georep_window_step((georep_window)window, P(events), (uint32_t)nEvents, P(arena), (uint64_t)arenaCap,
                                    P(actions), (uint32_t)actionsCap, P(nActionsOut), P(usedOut), P(neededOut), P(err));
}

static jint JNICALL j_windowWant(JNIEnv *env, jclass cls, jlong window, jlong entriesOut, jlong bytesOut) {
    U;
    return (jint)georep_window_want((georep_window)window, P(entriesOut), P(bytesOut));
}

static jint JNICALL j_windowStatus(JNIEnv *env, jclass cls, jlong window, jlong out, jlong cap, jlong lenOut,
                                   jlong err) {
    U;
    return (jint)georep_window_status((georep_window)window, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_gateNew(JNIEnv *env, jclass cls, jlong segment, jlong out, jlong err) {
    U;
    return (jint)georep_gate_new((uint64_t)segment, P(out), P(err));
}

static jint JNICALL j_gateFree(JNIEnv *env, jclass cls, jlong gate) {
    U;
    return (jint)georep_gate_free((georep_gate)gate);
}

static jint JNICALL j_gateLayout(JNIEnv *env, jclass cls, jlong gate, jlong layout, jlong err) {
    U;
    return (jint)georep_gate_layout((georep_gate)gate, (georep_layout)layout, P(err));
}

static jint JNICALL j_gateBacklog(JNIEnv *env, jclass cls, jlong gate, jlong segment, jint sealedWhenRead,
                                  jlong backlog, jint found) {
    U;
    return (jint)georep_gate_backlog((georep_gate)gate, (uint64_t)segment, (uint32_t)sealedWhenRead, (int64_t)backlog,
                                     (uint32_t)found);
}

static jint JNICALL j_gateAsk(JNIEnv *env, jclass cls, jlong gate, jlong segments, jint cap, jlong nOut) {
    U;
    return (jint)georep_gate_ask((georep_gate)gate, P(segments), (uint32_t)cap, P(nOut));
}

static jint JNICALL j_gateOpen(JNIEnv *env, jclass cls, jlong gate, jlong openOut) {
    U;
    return (jint)georep_gate_open((georep_gate)gate, P(openOut));
}

static jint JNICALL j_dedupNew(JNIEnv *env, jclass cls, jlong boundTopic, jint len, jint maxKeys, jlong out,
                               jlong err) {
    U;
    return (jint)georep_dedup_new(P(boundTopic), (uint32_t)len, (uint32_t)maxKeys, P(out), P(err));
}

static jint JNICALL j_dedupFree(JNIEnv *env, jclass cls, jlong dedup) {
    U;
    return (jint)georep_dedup_free((georep_dedup)dedup);
}

static jint JNICALL j_dedupCheck(JNIEnv *env, jclass cls, jlong dedup, jint form, jlong bytes, jint len, jlong ticket,
                                 jlong err) {
    U;
    return (jint)georep_dedup_check((georep_dedup)dedup, (uint32_t)form, P(bytes), (uint32_t)len, P(ticket), P(err));
}

static jint JNICALL j_dedupPersisted(JNIEnv *env, jclass cls, jlong dedup, jlong ticket) {
    U;
    return (jint)georep_dedup_persisted((georep_dedup)dedup, P(ticket));
}

static jint JNICALL j_dedupFailed(JNIEnv *env, jclass cls, jlong dedup) {
    U;
    return (jint)georep_dedup_failed((georep_dedup)dedup);
}

static jint JNICALL j_dedupReplay(JNIEnv *env, jclass cls, jlong dedup, jint form, jlong bytes, jint len, jlong err) {
    U;
    return (jint)georep_dedup_replay((georep_dedup)dedup, (uint32_t)form, P(bytes), (uint32_t)len, P(err));
}

static jint JNICALL j_dedupSnapshot(JNIEnv *env, jclass cls, jlong dedup, jlong out, jlong cap, jlong lenOut,
                                    jlong err) {
    U;
    return (jint)georep_dedup_snapshot((georep_dedup)dedup, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_dedupLoad(JNIEnv *env, jclass cls, jlong dedup, jlong snapshot, jint len, jlong err) {
    U;
    return (jint)georep_dedup_load((georep_dedup)dedup, P(snapshot), (uint32_t)len, P(err));
}

static jint JNICALL j_dedupWatermark(JNIEnv *env, jclass cls, jlong dedup, jlong key, jint len, jlong foundOut,
                                     jlong positionOut, jlong err) {
    U;
    return (jint)georep_dedup_watermark((georep_dedup)dedup, P(key), (uint32_t)len, P(foundOut), P(positionOut),
                                        P(err));
}

static jint JNICALL j_dedupPrune(JNIEnv *env, jclass cls, jlong dedup, jlong key, jint len, jlong err) {
    U;
    return (jint)georep_dedup_prune((georep_dedup)dedup, P(key), (uint32_t)len, P(err));
}

static jint JNICALL j_dedupStatus(JNIEnv *env, jclass cls, jlong dedup, jlong out, jlong cap, jlong lenOut, jlong err) {
    U;
    return (jint)georep_dedup_status((georep_dedup)dedup, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_protoToJson(JNIEnv *env, jclass cls, jlong name, jint nameLen, jlong bytes, jint n, jlong out,
                                  jlong cap, jlong lenOut, jlong err) {
    U;
    return (jint)georep_proto_to_json(P(name), (uint32_t)nameLen, P(bytes), (uint32_t)n, P(out), (uint64_t)cap,
                                      P(lenOut), P(err));
}

static jint JNICALL j_protoFromJson(JNIEnv *env, jclass cls, jlong name, jint nameLen, jlong json, jint n, jlong out,
                                    jlong cap, jlong lenOut, jlong err) {
    U;
    return (jint)georep_proto_from_json(P(name), (uint32_t)nameLen, P(json), (uint32_t)n, P(out), (uint64_t)cap,
                                        P(lenOut), P(err));
}

static jint JNICALL j_stateBuild(JNIEnv *env, jclass cls, jlong request, jint n, jlong out, jlong cap, jlong lenOut,
                                 jlong err) {
    U;
    return (jint)georep_state_build(P(request), (uint32_t)n, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_peerCheck(JNIEnv *env, jclass cls, jlong local, jint localLen, jlong remote, jint remoteLen,
                                jlong out, jlong cap, jlong lenOut, jlong err) {
    U;
    return (jint)georep_peer_check(P(local), (uint32_t)localLen, P(remote), (uint32_t)remoteLen, P(out), (uint64_t)cap,
                                   P(lenOut), P(err));
}

static jint JNICALL j_peerGone(JNIEnv *env, jclass cls, jlong state, jint stateLen, jlong held, jint heldLen, jlong out,
                               jlong cap, jlong lenOut, jlong err) {
    U;
    return (jint)georep_peer_gone(P(state), (uint32_t)stateLen, P(held), (uint32_t)heldLen, P(out), (uint64_t)cap,
                                  P(lenOut), P(err));
}

static jint JNICALL j_topicFilter(JNIEnv *env, jclass cls, jlong request, jint n, jlong out, jlong cap, jlong lenOut,
                                  jlong err) {
    U;
    return (jint)georep_topic_filter(P(request), (uint32_t)n, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_convergeNew(JNIEnv *env, jclass cls, jlong config, jint n, jlong out, jlong err) {
    U;
    return (jint)georep_converge_new(P(config), (uint32_t)n, P(out), P(err));
}

static jint JNICALL j_convergeFree(JNIEnv *env, jclass cls, jlong converge) {
    U;
    return (jint)georep_converge_free((georep_converge)converge);
}

static jint JNICALL j_convergeStep(JNIEnv *env, jclass cls, jlong converge, jlong event, jint n, jlong err) {
    U;
    return (jint)georep_converge_step((georep_converge)converge, P(event), (uint32_t)n, P(err));
}

static jint JNICALL j_convergeReady(JNIEnv *env, jclass cls, jlong converge, jlong out, jlong cap, jlong lenOut,
                                    jlong err) {
    U;
    return (jint)georep_converge_ready((georep_converge)converge, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_convergeStatus(JNIEnv *env, jclass cls, jlong converge, jlong now, jlong out, jlong cap,
                                     jlong lenOut, jlong err) {
    U;
    return (jint)georep_converge_status((georep_converge)converge, now, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_exchangeNew(JNIEnv *env, jclass cls, jlong config, jint n, jlong out, jlong err) {
    U;
    return (jint)georep_exchange_new(P(config), (uint32_t)n, P(out), P(err));
}

static jint JNICALL j_exchangeFree(JNIEnv *env, jclass cls, jlong exchange) {
    U;
    return (jint)georep_exchange_free((georep_exchange)exchange);
}

static jint JNICALL j_exchangeStep(JNIEnv *env, jclass cls, jlong exchange, jlong event, jint n, jlong err) {
    U;
    return (jint)georep_exchange_step((georep_exchange)exchange, P(event), (uint32_t)n, P(err));
}

static jint JNICALL j_exchangeReady(JNIEnv *env, jclass cls, jlong exchange, jlong out, jlong cap, jlong lenOut,
                                    jlong err) {
    U;
    return (jint)georep_exchange_ready((georep_exchange)exchange, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_exchangeStatus(JNIEnv *env, jclass cls, jlong exchange, jlong now, jlong out, jlong cap,
                                     jlong lenOut, jlong err) {
    U;
    return (jint)georep_exchange_status((georep_exchange)exchange, now, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_bootstrapNew(JNIEnv *env, jclass cls, jlong config, jint n, jlong out, jlong err) {
    U;
    return (jint)georep_bootstrap_new(P(config), (uint32_t)n, P(out), P(err));
}

static jint JNICALL j_bootstrapFree(JNIEnv *env, jclass cls, jlong bootstrap) {
    U;
    return (jint)georep_bootstrap_free((georep_bootstrap)bootstrap);
}

static jint JNICALL j_bootstrapStep(JNIEnv *env, jclass cls, jlong bootstrap, jlong event, jint n, jlong err) {
    U;
    return (jint)georep_bootstrap_step((georep_bootstrap)bootstrap, P(event), (uint32_t)n, P(err));
}

static jint JNICALL j_bootstrapReady(JNIEnv *env, jclass cls, jlong bootstrap, jlong out, jlong cap, jlong lenOut,
                                     jlong err) {
    U;
    return (jint)georep_bootstrap_ready((georep_bootstrap)bootstrap, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_bootstrapStatus(JNIEnv *env, jclass cls, jlong bootstrap, jlong out, jlong cap, jlong lenOut,
                                      jlong err) {
    U;
    return (jint)georep_bootstrap_status((georep_bootstrap)bootstrap, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_startChoose(JNIEnv *env, jclass cls, jlong request, jint n, jlong out, jlong cap, jlong lenOut,
                                  jlong err) {
    U;
    return (jint)georep_start_choose(P(request), (uint32_t)n, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_resetPlan(JNIEnv *env, jclass cls, jlong request, jint n, jlong out, jlong cap, jlong lenOut,
                                jlong err) {
    U;
    return (jint)georep_reset_plan(P(request), (uint32_t)n, P(out), (uint64_t)cap, P(lenOut), P(err));
}

static jint JNICALL j_layoutFromState(JNIEnv *env, jclass cls, jlong state, jint len, jlong out, jlong err) {
    U;
    return (jint)georep_layout_from_state(P(state), (uint32_t)len, P(out), P(err));
}

/* JVM only: not part of georep.h. */
static jlong JNICALL j_address(JNIEnv *env, jclass cls, jobject buffer) {
    (void)cls;
    return buffer ? (jlong)(uintptr_t)(*env)->GetDirectBufferAddress(env, buffer) : 0;
}

static jobject JNICALL j_view(JNIEnv *env, jclass cls, jlong addr, jlong len) {
    (void)cls;
    return addr && len >= 0 ? (*env)->NewDirectByteBuffer(env, P(addr), len) : NULL;
}

static const JNINativeMethod methods[] = {
    {"abiVersion", "()I", (void *)j_abiVersion},
    {"version", "(JJJ)I", (void *)j_version},
    {"start", "()I", (void *)j_start},
    {"init", "(JJ)I", (void *)j_init},
    {"keyHash", "(JIIJJJJ)I", (void *)j_keyHash},
    {"layoutNew", "(JIIJJ)I", (void *)j_layoutNew},
    {"layoutFromProto", "(JIJJ)I", (void *)j_layoutFromProto},
    {"layoutToProto", "(JJJJJ)I", (void *)j_layoutToProto},
    {"layoutFree", "(J)I", (void *)j_layoutFree},
    {"place", "(JJJIJJJJJJ)I", (void *)j_place},
    {"rebatch", "(JJJJJJJIJJJ)I", (void *)j_rebatch},
    {"budgetNew", "(JIJJ)I", (void *)j_budgetNew},
    {"budgetFree", "(J)I", (void *)j_budgetFree},
    {"budgetRequest", "(JJIJ)I", (void *)j_budgetRequest},
    {"budgetReturn", "(JJ)I", (void *)j_budgetReturn},
    {"budgetCharge", "(JIJ)I", (void *)j_budgetCharge},
    {"budgetUncharge", "(JIJ)I", (void *)j_budgetUncharge},
    {"budgetHold", "(JIJ)I", (void *)j_budgetHold},
    {"budgetUnhold", "(JIJ)I", (void *)j_budgetUnhold},
    {"budgetRoom", "(JIJ)I", (void *)j_budgetRoom},
    {"budgetAdvance", "(JJ)I", (void *)j_budgetAdvance},
    {"budgetGranted", "(JJIJJ)I", (void *)j_budgetGranted},
    {"budgetStatus", "(JJJJJ)I", (void *)j_budgetStatus},
    {"windowNew", "(JIJJ)I", (void *)j_windowNew},
    {"windowFree", "(J)I", (void *)j_windowFree},
    {"windowSetRemote", "(JJIJ)I", (void *)j_windowSetRemote},
    {"windowRemoteInstance", "(JJIJ)I", (void *)j_windowRemoteInstance},
    {"windowStep", "(JJIJJJIJJJJ)I", (void *)j_windowStep},
    {"windowWant", "(JJJ)I", (void *)j_windowWant},
    {"windowStatus", "(JJJJJ)I", (void *)j_windowStatus},
    {"gateNew", "(JJJ)I", (void *)j_gateNew},
    {"gateFree", "(J)I", (void *)j_gateFree},
    {"gateLayout", "(JJJ)I", (void *)j_gateLayout},
    {"gateBacklog", "(JJIJI)I", (void *)j_gateBacklog},
    {"gateAsk", "(JJIJ)I", (void *)j_gateAsk},
    {"gateOpen", "(JJ)I", (void *)j_gateOpen},
    {"dedupNew", "(JIIJJ)I", (void *)j_dedupNew},
    {"dedupFree", "(J)I", (void *)j_dedupFree},
    {"dedupCheck", "(JIJIJJ)I", (void *)j_dedupCheck},
    {"dedupPersisted", "(JJ)I", (void *)j_dedupPersisted},
    {"dedupFailed", "(J)I", (void *)j_dedupFailed},
    {"dedupReplay", "(JIJIJ)I", (void *)j_dedupReplay},
    {"dedupSnapshot", "(JJJJJ)I", (void *)j_dedupSnapshot},
    {"dedupLoad", "(JJIJ)I", (void *)j_dedupLoad},
    {"dedupWatermark", "(JJIJJJ)I", (void *)j_dedupWatermark},
    {"dedupPrune", "(JJIJ)I", (void *)j_dedupPrune},
    {"dedupStatus", "(JJJJJ)I", (void *)j_dedupStatus},
    {"protoToJson", "(JIJIJJJJ)I", (void *)j_protoToJson},
    {"protoFromJson", "(JIJIJJJJ)I", (void *)j_protoFromJson},
    {"stateBuild", "(JIJJJJ)I", (void *)j_stateBuild},
    {"peerCheck", "(JIJIJJJJ)I", (void *)j_peerCheck},
    {"topicFilter", "(JIJJJJ)I", (void *)j_topicFilter},
    {"peerGone", "(JIJIJJJJ)I", (void *)j_peerGone},
    {"convergeNew", "(JIJJ)I", (void *)j_convergeNew},
    {"convergeFree", "(J)I", (void *)j_convergeFree},
    {"convergeStep", "(JJIJ)I", (void *)j_convergeStep},
    {"convergeReady", "(JJJJJ)I", (void *)j_convergeReady},
    {"convergeStatus", "(JJJJJJ)I", (void *)j_convergeStatus},
    {"exchangeNew", "(JIJJ)I", (void *)j_exchangeNew},
    {"exchangeFree", "(J)I", (void *)j_exchangeFree},
    {"exchangeStep", "(JJIJ)I", (void *)j_exchangeStep},
    {"exchangeReady", "(JJJJJ)I", (void *)j_exchangeReady},
    {"exchangeStatus", "(JJJJJJ)I", (void *)j_exchangeStatus},
    {"bootstrapNew", "(JIJJ)I", (void *)j_bootstrapNew},
    {"bootstrapFree", "(J)I", (void *)j_bootstrapFree},
    {"bootstrapStep", "(JJIJ)I", (void *)j_bootstrapStep},
    {"bootstrapReady", "(JJJJJ)I", (void *)j_bootstrapReady},
    {"bootstrapStatus", "(JJJJJ)I", (void *)j_bootstrapStatus},
    {"startChoose", "(JIJJJJ)I", (void *)j_startChoose},
    {"resetPlan", "(JIJJJJ)I", (void *)j_resetPlan},
    {"layoutFromState", "(JIJJ)I", (void *)j_layoutFromState},
    {"address", "(Ljava/nio/Buffer;)J", (void *)j_address},
    {"view", "(JJ)Ljava/nio/ByteBuffer;", (void *)j_view},
};

static jint refuse(JNIEnv *env, const char *why) {
    jclass error = (*env)->FindClass(env, "java/lang/UnsatisfiedLinkError");
    if (error) (*env)->ThrowNew(env, error, why);
    return JNI_ERR;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env = NULL;
    jclass cls;
    size_t i;
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
    if (georep_start() != GEOREP_OK) return refuse(env, "another copy of libgeorep runs in this process");
    cls = (*env)->FindClass(env, "georep/nativelib/Native");
    if (!cls) return JNI_ERR; /* the pending exception says more */
    /* A jar of another version may lack a method. Then the version check in Java, which needs only the first one, has
     * more to say than the exception here. */
    for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if ((*env)->RegisterNatives(env, cls, &methods[i], 1) == 0) continue;
        if (i == 0) return JNI_ERR;
        (*env)->ExceptionClear(env);
    }
    return JNI_VERSION_1_8;
}
