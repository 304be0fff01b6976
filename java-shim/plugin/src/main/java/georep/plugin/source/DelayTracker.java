// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * Entries between reading and deletion, oldest first, with their publish times. Written by one thread, read by any.
 */
final class DelayTracker {
    private static final int SPARE = 64;

    private static final class Item {
        final long publishTime;
        boolean done;

        Item(long publishTime) {
            this.publishTime = publishTime;
        }
    }

    private record Key(long ledger, long entry) { }

    private final ArrayDeque<Item> order = new ArrayDeque<>();
    private final Map<Key, Item> items = new HashMap<>();
    private volatile long oldest;

    /** @param publishTime milliseconds since 1970 */
    void add(long ledger, long entry, long publishTime) {
        Item i = new Item(publishTime);
        if (items.putIfAbsent(new Key(ledger, entry), i) == null) {
            order.add(i);
            update();
        }
    }

    void remove(long ledger, long entry) {
        Item i = items.remove(new Key(ledger, entry));
        if (i != null) {
            i.done = true;
            update();
        }
    }

    private void update() {
        while (!order.isEmpty() && order.peek().done) {
            order.poll();
        }
        if (order.size() > 2 * items.size() + SPARE) { // behind one that is parked there is no end to them
            order.removeIf(i -> i.done);
        }
        oldest = order.isEmpty() ? 0 : order.peek().publishTime;
    }

    /** Entries that memory is kept for. */
    int kept() {
        return order.size();
    }

    int size() {
        return items.size();
    }

    /** Publish time of the oldest entry, milliseconds since 1970; 0 = none. */
    long oldest() {
        return oldest;
    }
}
