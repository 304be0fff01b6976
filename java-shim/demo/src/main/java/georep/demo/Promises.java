// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.util.ArrayList;
import java.util.List;

/** What both demos promise, as the faults that were found. */
final class Promises {
    private Promises() {
    }

    /** The logs of two clusters are the same, and an origin's has all that was acknowledged there. */
    static List<String> logs(String clusters, Verify.Answer v, String origin, long stored, int acked) {
        List<String> faults = new ArrayList<>();
        if (v.status() != 0) {
            faults.add("georep verify: " + clusters + " differ");
        }
        v.report().path("differences").forEach(d -> faults.add(d.toString()));
        faults.addAll(stored(origin, stored, acked));
        return faults;
    }

    /** A cluster's log has all that it acknowledged to clients; what they sent again it may have twice. */
    static List<String> stored(String cluster, long stored, int acked) {
        return stored < acked ? List.of(cluster + " stores " + stored + " messages of " + acked
                + " that it acknowledged") : List.of();
    }

    /** Every split had traffic beside it. */
    static List<String> traffic(List<Splits.Split> splits) {
        return splits.stream().anyMatch(s -> s.inFlight() == 0) || splits.isEmpty()
                ? List.of("a split had no traffic beside it") : List.of();
    }
}
