// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/** The positions that a window has parked and not deleted, and which of them others pass by. Thread-safe. */
final class ParkedInWindow {
    private final Map<EntryKey, Boolean> passed = new ConcurrentHashMap<>();

    void add(EntryKey k, boolean othersPass) {
        passed.put(k, othersPass);
    }

    /** False: it is not one. */
    boolean remove(EntryKey k) {
        return passed.remove(k) != null;
    }

    /** Takes out those that the cursor has lost. */
    List<EntryKey> takeGone(Predicate<EntryKey> gone) {
        List<EntryKey> out = passed.keySet().stream().filter(gone).toList();
        out.forEach(passed::remove);
        return out;
    }

    /** Those that others pass by and that the cursor still has. */
    long passed(Predicate<EntryKey> gone) {
        return passed.entrySet().stream().filter(e -> e.getValue() && !gone.test(e.getKey())).count();
    }
}
