// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/**
 * Raw binding of include/georep.h: addresses, lengths and numbers only, one method per function, statuses returned.
 * Addresses point into direct buffers that the caller keeps reachable during the call. The typed classes of this
 * package are what others use; this one checks nothing.
 */
final class Native {
    /** Major version of the ABI that this class was written for. */
    static final int ABI_MAJOR = 1;
    /** Lowest minor version that has everything used here. */
    static final int ABI_MINOR = 0;

    static {
        NativeLoader.load();
        checkVersion(abiVersion());
    }

    /** Refuses a library whose ABI this class does not fit. */
    static void checkVersion(int v) {
        int major = v >>> 16;
        int minor = v & 0xffff;
        if (major != ABI_MAJOR || minor < ABI_MINOR) {
            throw new UnsatisfiedLinkError("libgeorep has ABI " + major + "." + minor + ", this jar needs " + ABI_MAJOR
                    + "." + ABI_MINOR + " or a later minor version of the same major one (library: "
                    + NativeLoader.loadedFrom() + ")");
        }
    }

    private Native() {}

    // simple
    static native int abiVersion();

    static native int version(long buf, long cap, long lenOut);

    static native int start();

    static native int init(long options, long err);

    static native int keyHash(long key, int len, int profile, long hashOut, long segmentOut, long bucketOut, long err);

    static native int layoutNew(long json, int len, int profile, long out, long err);

    static native int layoutFromProto(long bytes, int len, long out, long err);

    static native int layoutToProto(long layout, long out, long cap, long lenOut, long err);

    static native int layoutFree(long layout);

    static native int place(long layout, long source, long entries, int n, long decisions, long arena, long arenaCap,
                            long usedOut, long neededOut, long err);

    static native int rebatch(long layout, long source, long options, long entry, long arena, long arenaCap,
                              long parts, int partsCap, long nPartsOut, long neededOut, long err);

    // budget
    static native int budgetNew(long config, int len, long out, long err);

    static native int budgetFree(long budget);

    static native int budgetRequest(long budget, long key, int remote, long bytes);

    static native int budgetReturn(long budget, long key);

    static native int budgetCharge(long budget, int remote, long bytes);

    static native int budgetUncharge(long budget, int remote, long bytes);

    static native int budgetHold(long budget, int remote, long bytes);

    static native int budgetUnhold(long budget, int remote, long bytes);

    static native int budgetRoom(long budget, int remote, long bytesOut);

    static native int budgetAdvance(long budget, long nowNanos);

    static native int budgetGranted(long budget, long keys, int cap, long nOut, long wakeOut);

    static native int budgetStatus(long budget, long out, long cap, long lenOut, long err);

    // window
    static native int windowNew(long config, int len, long out, long err);

    static native int windowFree(long window);

    static native int windowSetRemote(long window, long layout, int maxMessageBytes, long err);

    static native int windowRemoteInstance(long window, long id, int len, long err);

    static native int windowStep(long window, long events, int nEvents, long arena, long arenaCap, long actions,
                                 int actionsCap, long nActionsOut, long usedOut, long neededOut, long err);

    static native int windowWant(long window, long entriesOut, long bytesOut);

    static native int windowStatus(long window, long out, long cap, long lenOut, long err);

    // gate
    static native int gateNew(long segment, long out, long err);

    static native int gateFree(long gate);

    static native int gateLayout(long gate, long layout, long err);

    static native int gateBacklog(long gate, long segment, int sealedWhenRead, long backlog, int found);

    static native int gateAsk(long gate, long segments, int cap, long nOut);

    static native int gateOpen(long gate, long openOut);

    // dedup
    static native int dedupNew(long boundTopic, int len, int maxKeys, long out, long err);

    static native int dedupFree(long dedup);

    static native int dedupCheck(long dedup, int form, long bytes, int len, long ticket, long err);

    static native int dedupPersisted(long dedup, long ticket);

    static native int dedupFailed(long dedup);

    static native int dedupReplay(long dedup, int form, long bytes, int len, long err);

    static native int dedupSnapshot(long dedup, long out, long cap, long lenOut, long err);

    static native int dedupLoad(long dedup, long snapshot, int len, long err);

    static native int dedupWatermark(long dedup, long key, int len, long foundOut, long positionOut, long err);

    static native int dedupPrune(long dedup, long key, int len, long err);

    static native int dedupStatus(long dedup, long out, long cap, long lenOut, long err);

    // control plane
    static native int protoToJson(long name, int nameLen, long bytes, int n, long out, long cap, long lenOut, long err);

    static native int protoFromJson(long name, int nameLen, long json, int n, long out, long cap, long lenOut,
                                    long err);

    static native int stateBuild(long request, int n, long out, long cap, long lenOut, long err);

    static native int peerCheck(long local, int localLen, long remote, int remoteLen, long out, long cap, long lenOut,
                                long err);

    static native int peerGone(long state, int stateLen, long held, int heldLen, long out, long cap, long lenOut,
                               long err);

    static native int topicFilter(long request, int n, long out, long cap, long lenOut, long err);

    static native int convergeNew(long config, int n, long out, long err);

    static native int convergeFree(long converge);

    static native int convergeStep(long converge, long event, int n, long err);

    static native int convergeReady(long converge, long out, long cap, long lenOut, long err);

    static native int convergeStatus(long converge, long nowMillis, long out, long cap, long lenOut, long err);

    static native int exchangeNew(long config, int n, long out, long err);

    static native int exchangeFree(long exchange);

    static native int exchangeStep(long exchange, long event, int n, long err);

    static native int exchangeReady(long exchange, long out, long cap, long lenOut, long err);

    static native int exchangeStatus(long exchange, long nowMillis, long out, long cap, long lenOut, long err);

    static native int bootstrapNew(long config, int n, long out, long err);

    static native int bootstrapFree(long bootstrap);

    static native int bootstrapStep(long bootstrap, long event, int n, long err);

    static native int bootstrapReady(long bootstrap, long out, long cap, long lenOut, long err);

    static native int bootstrapStatus(long bootstrap, long out, long cap, long lenOut, long err);

    static native int startChoose(long request, int n, long out, long cap, long lenOut, long err);

    static native int resetPlan(long request, int n, long out, long cap, long lenOut, long err);

    static native int layoutFromState(long state, int len, long out, long err);

    // JVM only: not part of georep.h
    /** Address of a direct buffer's first byte (its position is ignored); 0 if it is not direct. */
    static native long address(java.nio.Buffer buffer);

    /** A direct view of memory that the caller keeps alive. */
    static native java.nio.ByteBuffer view(long address, long len);
}
