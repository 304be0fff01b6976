// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/**
 * A broker's exchange of topic states with other clusters: a machine that takes ExchangeEvents and returns
 * ExchangeResults (georep.proto). It makes few calls of many topics' pushes, and takes received calls apart.
 * Thread-safe; who steps it does what {@link #ready} says, in order.
 */
public final class Exchange extends NativeHandle {
    private static final int FIRST_RESULT = 4096;
    private static final int OFFERED = 10;
    private static final int RECEIPT_REQUEST = 3;

    private Exchange(long handle) {
        super(handle);
    }

    /** @param config the bytes of an ExchangeConfig */
    public static Exchange open(byte[] config) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(config, (in, n) -> Native.exchangeNew(in, n, s.at(0), s.err)));
        return new Exchange(s.getLong(0));
    }

    /**
     * @param event the bytes of an ExchangeEvent
     * @throws StatusException with {@link Status#FORMAT} where it breaks a rule (the text names the field), with
     *     {@link Status#LIMIT} where it is beyond a cap, and with {@link Status#STATE} where too many received calls
     *     are open; nothing has changed then
     */
    public void step(byte[] event) {
        Scratch s = Scratch.local();
        s.throwUnlessOk(Scratch.with(event, (in, n) -> Native.exchangeStep(handle(), in, n, s.err)));
    }

    /**
     * A call of another cluster that has just come: says what is wrong with it, and does nothing.
     *
     * @param request the bytes of an ExchangeRequest
     * @throws StatusException as {@link #step} does
     */
    public void offer(long nowMillis, byte[] request) {
        step(new Wire().varint(1, nowMillis).bytes(OFFERED, new Wire().bytes(RECEIPT_REQUEST, request).bytes())
                .bytes());
    }

    /** The bytes of an ExchangeResult: what there is to do, once. */
    public byte[] ready() {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.exchangeReady(handle(), out, cap, len, err));
    }

    /** The bytes of an ExchangeStatus. */
    public byte[] status(long nowMillis) {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.exchangeStatus(handle(), nowMillis, out, cap, len, err));
    }

    @Override
    int free(long handle) {
        return Native.exchangeFree(handle);
    }
}
