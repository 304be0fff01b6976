// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Message numbers by key, in the order in which they were added; the key "" has no order. Not thread-safe. */
final class Sequences {
    private static final class Numbers {
        private int[] list = new int[64];
        private int size;

        void add(int n) {
            if (size == list.length) {
                list = Arrays.copyOf(list, 2 * size);
            }
            list[size++] = n;
        }

        int[] array() {
            return Arrays.copyOf(list, size);
        }
    }

    private final Map<String, Numbers> byKey = new TreeMap<>();
    private int count;

    void add(String key, int number) {
        byKey.computeIfAbsent(key, k -> new Numbers()).add(number);
        count++;
    }

    int count() {
        return count;
    }

    /** Whether a key occurs in both. */
    boolean sharesKey(Sequences other) {
        return byKey.keySet().stream().anyMatch(k -> !k.isEmpty() && other.byKey.containsKey(k));
    }

    /** What is first different in another's copy of this; null = nothing. */
    String difference(Sequences copy) {
        for (Map.Entry<String, Numbers> e : byKey.entrySet()) {
            int[] want = e.getValue().array();
            int[] got = copy.byKey.getOrDefault(e.getKey(), new Numbers()).array();
            if (e.getKey().isEmpty()) {
                Arrays.sort(want);
                Arrays.sort(got);
            }
            int at = Arrays.mismatch(want, got);
            if (at >= 0) {
                return "key \"" + e.getKey() + "\": message " + at + " of " + want.length + " is "
                        + (at < want.length ? want[at] : "none") + ", received " + (at < got.length ? got[at] : "none");
            }
        }
        return copy.byKey.keySet().stream().filter(k -> !byKey.containsKey(k)).findFirst()
                .map(k -> "key \"" + k + "\" was never published").orElse(null);
    }
}
