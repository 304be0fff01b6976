// SPDX-License-Identifier: Apache-2.0
package georep.bench.micro;

import georep.nativelib.Actions;
import georep.nativelib.Layout;
import georep.nativelib.Placement;
import georep.nativelib.Window;
import io.netty.buffer.ByteBuf;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;

/**
 * Ours in production: the window of one segment. A batch of entries is offered and comes back as sends, its
 * acknowledgements come back as deletes and releases, and what was deleted is told with the next batch.
 */
final class WindowPath implements AutoCloseable {
    /** What one step returns at most, as the plugin has it. */
    private static final int MAX_ACTIONS = 64;
    private static final int ARENA_BYTES = 64 * 1024;

    /** Takes the sends; addresses are good during the call. */
    @FunctionalInterface
    interface Sink {
        /** @param index of the entry in its batch */
        void send(int index, Actions actions, int i, ByteBuf arena);
    }

    private final Window window;
    private final Actions actions;
    private final ByteBuf arena = PulsarByteBufAllocator.DEFAULT.directBuffer(ARENA_BYTES, ARENA_BYTES);
    private final long[] sends;
    private final int[] offers;
    private long next;
    private long deletedFrom;
    private long deletedTo;

    WindowPath(int batch, long maxBytes) {
        window = Window.open(Topology.window(maxBytes).toProto(), MAX_ACTIONS);
        actions = window.actions();
        try (Layout destination = Topology.destination()) {
            window.setRemote(destination, Topology.MAX_MESSAGE_BYTES);
        }
        window.gate(true);
        window.tick(1);
        window.step(arena.memoryAddress(), ARENA_BYTES);
        sends = new long[batch];
        offers = new int[batch];
    }

    /** Entry id of the next batch's first entry. */
    long next() {
        return next;
    }

    /** One batch, from reading to deletion. */
    void pass(ByteBuf[] entries, Sink sink) {
        for (long e = deletedFrom; e < deletedTo; e++) {
            window.deleted(Topology.LEDGER, e);
        }
        for (int i = 0; i < entries.length; i++) {
            ByteBuf b = entries[i];
            offers[i] = window.offer(b.memoryAddress() + b.readerIndex(), b.readableBytes(), 0, Topology.LEDGER,
                    next + i);
        }
        int sent = 0;
        boolean asked = false;
        do {
            int n = window.step(arena.memoryAddress(), ARENA_BYTES);
            if (!asked) {
                asked = true;
                requireKept();
            }
            for (int i = 0; i < n; i++) {
                if (actions.kind(i) != Actions.SEND || actions.path(i) != Placement.VERBATIM) {
                    throw new IllegalStateException("action " + actions.kind(i) + " on path " + actions.path(i));
                }
                int index = (int) (actions.entry(i) - next);
                sends[sent++] = actions.sendId(i);
                sink.send(index, actions, i, arena);
            }
        } while (window.more());
        acknowledge(sent, entries.length);
    }

    private void requireKept() {
        for (int offer : offers) {
            if (!window.offerKept(offer)) {
                throw new IllegalStateException("an offer was not kept");
            }
        }
    }

    private void acknowledge(int sent, int entries) {
        for (int i = 0; i < sent; i++) {
            window.outcome(sends[i], Window.ACKED);
        }
        int deletes = 0;
        int releases = 0;
        do {
            int n = window.step(arena.memoryAddress(), ARENA_BYTES);
            for (int i = 0; i < n; i++) {
                switch (actions.kind(i)) {
                    case Actions.DELETE -> deletes += actions.ledger(i) == Topology.LEDGER ? 1 : 0;
                    case Actions.RELEASE -> releases += actions.entry(i) >= next ? 1 : 0;
                    default -> throw new IllegalStateException("action " + actions.kind(i));
                }
            }
        } while (window.more());
        if (sent != entries || deletes != entries || releases != entries) {
            throw new IllegalStateException(sent + " sends, " + deletes + " deletes, " + releases + " releases of "
                    + entries + " entries");
        }
        deletedFrom = next;
        next += entries;
        deletedTo = next;
    }

    @Override
    public void close() {
        window.close();
        arena.release();
    }
}
