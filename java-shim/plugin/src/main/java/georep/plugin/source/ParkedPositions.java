// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The parked positions that this broker has met, so that each is told to the log once, however often its segment is
 * loaded again, and so that an operator sees since when. At most {@link #MAX}; the longest known are forgotten first,
 * and would be told again. A broker that starts knows none. Thread-safe.
 */
public final class ParkedPositions {
    static final int MAX = 10_000;

    private record Key(String segment, String remote, long ledger, long entry) { }

    private record Found(int reason, long sinceMillis) { }

    private final Map<Key, Found> known = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Found> eldest) {
            return size() > MAX;
        }
    };

    ParkedPositions() {
    }

    /** Takes note of a parked position; true where it was not known, or for another reason. */
    synchronized boolean add(String segment, String remote, long ledger, long entry, int reason) {
        Key k = new Key(segment, remote, ledger, entry);
        Found was = known.get(k);
        if (was != null && was.reason == reason) {
            return false;
        }
        known.put(k, new Found(reason, was == null ? System.currentTimeMillis() : was.sinceMillis));
        return true;
    }

    /** The position has left the cursor. */
    synchronized void remove(String segment, String remote, long ledger, long entry) {
        known.remove(new Key(segment, remote, ledger, entry));
    }

    /** Milliseconds since 1970 at which this broker met the parked position; 0: not known. */
    public synchronized long since(String segment, String remote, long ledger, long entry) {
        Found f = known.get(new Key(segment, remote, ledger, entry));
        return f == null ? 0 : f.sinceMillis;
    }

    synchronized int size() {
        return known.size();
    }
}
