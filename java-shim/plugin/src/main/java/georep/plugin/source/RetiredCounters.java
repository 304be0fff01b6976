// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/** Counters of windows that have ended, by remote: totals of a broker must not fall when a segment moves away. */
final class RetiredCounters {
    private final Map<String, Map<String, Long>> byRemote = new TreeMap<>();

    synchronized void add(String remote, JsonNode windowStatus) {
        Map<String, Long> m = byRemote.computeIfAbsent(remote, r -> new TreeMap<>());
        each(windowStatus, (name, value) -> m.merge(name, value, Long::sum));
    }

    /** Adds everything to a map of the same shape. */
    synchronized void addTo(Map<String, Map<String, Long>> totals) {
        byRemote.forEach((remote, m) -> {
            Map<String, Long> t = totals.computeIfAbsent(remote, r -> new TreeMap<>());
            m.forEach((name, value) -> t.merge(name, value, Long::sum));
        });
    }

    /** Every counter of a WindowStatus. */
    static void each(JsonNode windowStatus, BiConsumer<String, Long> f) {
        for (JsonNode c : windowStatus.path("counters")) {
            f.accept(c.path("name").asText(), c.path("value").asLong());
        }
    }
}
