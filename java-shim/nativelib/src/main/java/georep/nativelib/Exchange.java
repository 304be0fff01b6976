// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.util.ArrayList;
import java.util.List;

/**
 * A broker's exchange of topic states with other clusters: a machine that takes ExchangeEvents and returns
 * ExchangeResults (georep.proto). It makes few calls of many topics' pushes, and takes received calls apart.
 * Thread-safe; who steps it does what {@link #ready} says, in order.
 */
public final class Exchange extends NativeHandle {
    /** Kinds of actions, see {@link Call}, {@link Delivery} and {@link Response}. */
    public static final int CALL = 1;
    public static final int DELIVER = 2;
    public static final int RESPOND = 3;

    private static final int FIRST_RESULT = 4096;
    // fields of an event, of a received call and of a request
    private static final int PUSH = 2;
    private static final int RETURNED = 3;
    private static final int RECEIVED = 5;
    private static final int REPLIED = 6;
    private static final int TICK = 9;
    private static final int OFFERED = 10;
    private static final int RECEIPT_REQUEST = 3;
    private static final int STATES = 3;
    private static final int STATE_TOPIC = 2;

    /**
     * A call to be made.
     *
     * @param request the bytes of an ExchangeRequest
     */
    public record Call(long id, String cluster, byte[] request) {
        public static Call of(byte[] message) {
            long id = 0;
            String cluster = "";
            byte[] request = Wire.NOTHING;
            Wire.Reader in = new Wire.Reader(message);
            while (in.next()) {
                switch (in.field()) {
                    case 1 -> id = in.varint();
                    case 2 -> cluster = in.string();
                    case 4 -> request = in.bytes();
                    default -> in.skip();
                }
            }
            return new Call(id, cluster, request);
        }
    }

    /**
     * Something for a topic's machine.
     *
     * @param event the bytes of a ConvergeEvent
     */
    public record Delivery(String topic, byte[] event) {
        public static Delivery of(byte[] message) {
            String topic = "";
            byte[] event = Wire.NOTHING;
            Wire.Reader in = new Wire.Reader(message);
            while (in.next()) {
                switch (in.field()) {
                    case 1 -> topic = in.string();
                    case 2 -> event = in.bytes();
                    default -> in.skip();
                }
            }
            return new Delivery(topic, event);
        }
    }

    /**
     * The response to a received call.
     *
     * @param response the bytes of an ExchangeResponse
     */
    public record Response(long call, byte[] response) {
        public static Response of(byte[] message) {
            long call = 0;
            byte[] response = Wire.NOTHING;
            Wire.Reader in = new Wire.Reader(message);
            while (in.next()) {
                switch (in.field()) {
                    case 1 -> call = in.varint();
                    case 2 -> response = in.bytes();
                    default -> in.skip();
                }
            }
            return new Response(call, response);
        }
    }

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
        event(nowMillis, OFFERED, new Wire().bytes(RECEIPT_REQUEST, request).bytes());
    }

    /**
     * The same call, to be answered under this number.
     *
     * @throws StatusException as {@link #step} does
     */
    public void received(long nowMillis, long call, byte[] request) {
        event(nowMillis, RECEIVED, new Wire().varint(1, call).bytes(RECEIPT_REQUEST, request).bytes());
    }

    /** @param send the bytes of a ConvergeSend, as the topic's machine gave it */
    public void push(long nowMillis, byte[] send) {
        event(nowMillis, PUSH, send);
    }

    /** @param reply the bytes of a ConvergeReply, as the topic's machine gave it */
    public void replied(long nowMillis, byte[] reply) {
        event(nowMillis, REPLIED, reply);
    }

    /** @param response the bytes of an ExchangeResponse to a call */
    public void returned(long nowMillis, long call, byte[] response) {
        event(nowMillis, RETURNED, new Wire().varint(1, call).bytes(2, response).bytes());
    }

    /** Time has passed. */
    public void tick(long nowMillis) {
        event(nowMillis, TICK, Wire.NOTHING);
    }

    private void event(long nowMillis, int field, byte[] message) {
        step(new Wire().varint(1, nowMillis).bytes(field, message).bytes());
    }

    /** The topics of an ExchangeRequest that {@link Json} has made of a call, in the order of their states. */
    public static List<String> topics(byte[] request) {
        List<String> topics = new ArrayList<>();
        Wire.Reader in = new Wire.Reader(request);
        while (in.next()) {
            if (in.field() != STATES) {
                in.skip();
                continue;
            }
            Wire.Reader state = in.message();
            String topic = "";
            while (state.next()) {
                if (state.field() == STATE_TOPIC) {
                    topic = state.string();
                } else {
                    state.skip();
                }
            }
            topics.add(topic);
        }
        return topics;
    }

    /** The bytes of an ExchangeResult: what there is to do, once. */
    public byte[] ready() {
        return Scratch.local().bytes(FIRST_RESULT, (out, cap, len, err) ->
                Native.exchangeReady(handle(), out, cap, len, err));
    }

    /** The same, taken apart. */
    public Result result() {
        return Result.of(ready());
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
