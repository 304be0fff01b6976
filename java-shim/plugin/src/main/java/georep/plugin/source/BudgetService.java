// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Budget;
import georep.plugin.GeorepConfig;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The broker's one budget: who may decompress a batch now, and how many bytes may be held for sends. The core decides;
 * this class tells it the time and carries its grants to the windows. Thread-safe, never blocking.
 */
final class BudgetService implements AutoCloseable {
    /** A window, as the budget sees it. Called on any thread; must not block. */
    interface Client {
        void granted();

        /** There is room for bytes in flight again. */
        void roomAgain();
    }

    /** @param waited for a slot and tokens */
    private record Registered(Client client, WaitClock waited) { }

    private final Budget budget;
    private final ScheduledExecutorService timer;
    private final long startNanos = System.nanoTime();
    private final AtomicLong keys = new AtomicLong();
    private final AtomicInteger remoteNumbers = new AtomicInteger();
    private final Map<String, Integer> remotes = new ConcurrentHashMap<>();
    private final Map<Long, Registered> clients = new ConcurrentHashMap<>();
    private final Map<Integer, Set<Client>> waitingForRoom = new ConcurrentHashMap<>();
    private long wakeAtNanos;
    private volatile boolean closing;

    BudgetService(GeorepConfig c, ScheduledExecutorService timer) {
        this.timer = timer;
        this.budget = Budget.open(c.rebatchBytesPerSecond(), c.rebatchBurstBytes(), c.rebatchSlots(),
                c.inFlightBytes(), c.inFlightBytesPerRemote());
    }

    /** The number of a remote cluster. */
    int remote(String cluster) {
        return remotes.computeIfAbsent(cluster, k -> remoteNumbers.incrementAndGet());
    }

    /** A number for a new window. */
    long register(Client c) {
        long key = keys.incrementAndGet();
        clients.put(key, new Registered(c, new WaitClock()));
        return key;
    }

    /** The window is gone: its slot or request is handed back. */
    void unregister(long key, int remote) {
        Registered r = clients.remove(key);
        if (r != null) {
            Set<Client> waiting = waitingForRoom.get(remote);
            if (waiting != null) {
                waiting.remove(r.client);
            }
            giveBack(key);
        }
        closeIfUnused();
    }

    void request(long key, int remote, long bytes) {
        Registered r = clients.get(key);
        if (r != null) {
            r.waited.start(System.nanoTime());
        }
        budget.request(key, remote, bytes);
        pump();
    }

    /** Also of what was only asked for. */
    void giveBack(long key) {
        budget.giveBack(key);
        Registered r = clients.get(key);
        if (r != null) {
            r.waited.stop(System.nanoTime());
        }
        pump();
    }

    /** For how long the window has been kept from re-batching by the budget, in all; 0 where it is gone. */
    long throttledMillis(long key) {
        Registered r = clients.get(key);
        return r == null ? 0 : TimeUnit.NANOSECONDS.toMillis(r.waited.total(System.nanoTime()));
    }

    /** Counts (or, negative, takes off) bytes of entries read for a remote, and of payloads in flight to it. */
    void count(int remote, long heldBytes, long inFlightBytes) {
        if (heldBytes > 0) {
            budget.hold(remote, heldBytes);
        } else if (heldBytes < 0) {
            budget.unhold(remote, -heldBytes);
        }
        if (inFlightBytes > 0) {
            budget.charge(remote, inFlightBytes);
        } else if (inFlightBytes < 0) {
            budget.uncharge(remote, -inFlightBytes);
            pump();
        }
        if (heldBytes < 0 || inFlightBytes < 0) {
            wakeRoom();
        }
    }

    /** Whether more may be read for a remote now; if not, the client is told once when it may. */
    boolean room(int remote, Client c) {
        if (budget.room(remote) > 0) {
            return true;
        }
        waitingForRoom.computeIfAbsent(remote, k -> ConcurrentHashMap.newKeySet()).add(c);
        if (budget.room(remote) <= 0) { // asked again: room may have come before the client was listed
            return false;
        }
        waitingForRoom.get(remote).remove(c);
        return true;
    }

    private void wakeRoom() {
        for (Map.Entry<Integer, Set<Client>> e : waitingForRoom.entrySet()) {
            if (!e.getValue().isEmpty() && budget.room(e.getKey()) > 0) {
                for (Client c : e.getValue()) {
                    if (e.getValue().remove(c)) {
                        c.roomAgain();
                    }
                }
            }
        }
    }

    private synchronized void pump() {
        if (budget.isClosed()) {
            return;
        }
        long now = System.nanoTime() - startNanos;
        budget.advance(now);
        long wake = budget.granted(key -> {
            Registered r = clients.get(key);
            if (r != null) {
                r.waited.stop(System.nanoTime());
                r.client.granted();
            } else {
                budget.giveBack(key);
            }
        });
        if (wake > 0 && (wakeAtNanos <= now || wake < wakeAtNanos)) {
            wakeAtNanos = wake;
            timer.schedule(this::pump, Math.max(1, wake - now), TimeUnit.NANOSECONDS);
        }
    }

    /** JSON of georep.v1.BudgetStatus. */
    String statusJson() {
        return budget.statusJson();
    }

    /** Ends when the last window has gone: topics are closed after the plugin. */
    @Override
    public void close() {
        closing = true;
        closeIfUnused();
    }

    private synchronized void closeIfUnused() {
        if (closing && clients.isEmpty()) {
            budget.close();
        }
    }
}
