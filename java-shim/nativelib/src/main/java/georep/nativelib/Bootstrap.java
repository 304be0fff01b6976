// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/**
 * Where replication of what a segment already holds begins, for one (segment, remote) whose cursor has no position yet:
 * a machine that takes BootstrapEvents and returns BootstrapResults (georep.proto), until it says {@link #BEGIN}.
 * Thread-safe; who steps it does what {@link #result} says. The static calls are pure functions.
 */
public final class Bootstrap extends NativeHandle {
    /** Kinds of actions: a BootstrapHold, nothing, a BootstrapFind, a StartPlan, nothing. */
    public static final int HOLD = 1;
    public static final int READ = 2;
    public static final int FIND = 3;
    public static final int PLACE = 4;
    public static final int BEGIN = 5;

    private static final int FIRST_RESULT = 4096;
    private static final int TICK = 7;

    private Bootstrap(long handle) {
        super(handle);
    }

    /** @param config the bytes of a BootstrapConfig */
    public static Bootstrap open(byte[] config) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(config, (in, n) -> Native.bootstrapNew(in, n, s.at(0), s.err)));
        return new Bootstrap(s.getLong(0));
    }

    /**
     * @param event the bytes of a BootstrapEvent
     * @throws StatusException with {@link Status#FORMAT} where it cannot be read, or was not asked for; nothing has
     *                         changed then
     */
    public void step(byte[] event) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(event, (in, n) -> Native.bootstrapStep(handle(), in, n, s.err)));
    }

    /** Time has passed. */
    public void tick(long nowMillis) {
        step(new Wire().varint(1, nowMillis).bytes(TICK, Wire.NOTHING).bytes());
    }

    /** The bytes of a BootstrapResult: what there is to do, once. */
    public byte[] ready() {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.bootstrapReady(handle(), out, cap, len, err));
    }

    /** The same, taken apart. */
    public Result result() {
        return Result.of(ready());
    }

    /** The bytes of a BootstrapStatus. */
    public byte[] status() {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.bootstrapStatus(handle(), out, cap, len, err));
    }

    /** @param query the bytes of a StartQuery; returns those of a StartChoice */
    public static byte[] choose(byte[] query) {
        return Scratch.local().bytes(1024, (out, cap, len, err) -> Scratch.with(query, (in, n) ->
                Native.startChoose(in, n, out, cap, len, err)));
    }

    /** @param request the bytes of a ResetRequest; returns those of a ResetPlan */
    public static byte[] resetPlan(byte[] request) {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) -> Scratch.with(request, (in, n) ->
                Native.resetPlan(in, n, out, cap, len, err)));
    }

    @Override
    int free(long handle) {
        return Native.bootstrapFree(handle);
    }
}
