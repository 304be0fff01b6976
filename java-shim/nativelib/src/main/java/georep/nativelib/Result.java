// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.util.ArrayList;
import java.util.List;

/**
 * What a machine wants done: ConvergeResult, ExchangeResult or BootstrapResult (georep.proto), which have one form. The
 * messages inside stay bytes: most of them only go from one machine into another.
 *
 * @param actions      in order
 * @param wakeAtMillis when the next tick is due, -1 for never
 */
public record Result(List<Action> actions, long wakeAtMillis) {
    private static final int ACTIONS = 1;
    private static final int WAKE_AT = 2;

    /**
     * One thing to do.
     *
     * @param kind    number of the field that is set in the action
     * @param message bytes of that field's message
     */
    public record Action(int kind, byte[] message) {
    }

    static Result of(byte[] b) {
        List<Action> actions = new ArrayList<>();
        long wakeAt = 0;
        Wire.Reader in = new Wire.Reader(b);
        while (in.next()) {
            switch (in.field()) {
                case ACTIONS -> {
                    Wire.Reader action = in.message();
                    if (action.next()) {
                        actions.add(new Action(action.field(), action.bytes()));
                    }
                }
                case WAKE_AT -> wakeAt = in.varint();
                default -> in.skip();
            }
        }
        return new Result(actions, wakeAt);
    }
}
