// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/**
 * Layout convergence of one topic, for the controller leader: a machine that takes ConvergeEvents and returns
 * ConvergeResults (georep.proto). Thread-safe; who steps it does what {@link #ready} says, in order.
 */
public final class Converge extends NativeHandle {
    /** Kinds of actions: a ConvergeSend, ConvergeReply, ConvergeMutation, ConvergeVerdict. */
    public static final int PUSH = 1;
    public static final int ANSWER = 2;
    public static final int MUTATE = 3;
    public static final int VERDICT = 4;

    private static final int FIRST_RESULT = 4096;
    private static final int TICK = 18;

    private Converge(long handle) {
        super(handle);
    }

    /** @param config the bytes of a ConvergeConfig */
    public static Converge open(byte[] config) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(config, (in, n) -> Native.convergeNew(in, n, s.at(0), s.err)));
        return new Converge(s.getLong(0));
    }

    /**
     * @param event the bytes of a ConvergeEvent
     * @throws StatusException with {@link Status#FORMAT} where it cannot be read; nothing has changed then
     */
    public void step(byte[] event) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(event, (in, n) -> Native.convergeStep(handle(), in, n, s.err)));
    }

    /** Time has passed. */
    public void tick(long nowMillis) {
        step(new Wire().varint(1, nowMillis).bytes(TICK, Wire.NOTHING).bytes());
    }

    /** The bytes of a ConvergeResult: what there is to do, once. */
    public byte[] ready() {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.convergeReady(handle(), out, cap, len, err));
    }

    /** The same, taken apart. */
    public Result result() {
        return Result.of(ready());
    }

    /** The bytes of a ConvergeStatus. */
    public byte[] status(long nowMillis) {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.convergeStatus(handle(), nowMillis, out, cap, len, err));
    }

    @Override
    int free(long handle) {
        return Native.convergeFree(handle);
    }
}
