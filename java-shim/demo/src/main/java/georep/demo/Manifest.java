// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** What {@code georep bootstrap show --json} says was left out towards a remote. */
record Manifest(List<Skipped> skipped, long entries, long bytes, List<String> unplanned) {
    /** A ledger that was left out. */
    record Skipped(long segment, long ledger, long entries, long bytes, String offload, String uuid) {
    }

    static Manifest of(JsonNode answer, String remote) {
        List<Skipped> skipped = new ArrayList<>();
        List<String> unplanned = new ArrayList<>();
        long entries = 0;
        long bytes = 0;
        for (JsonNode s : answer.path("segments")) {
            JsonNode status = s.path("remotes").path(remote);
            JsonNode plan = status.path("plan");
            if (!status.path("state").asText().equals("placed")) {
                unplanned.add("segment " + s.path("id") + ": " + status);
            }
            entries += plan.path("entries").asLong();
            bytes += plan.path("bytes").asLong();
            plan.path("skipped").forEach(g -> skipped.add(new Skipped(s.path("id").asLong(), g.path("ledger").asLong(),
                    g.path("entries").asLong(), g.path("bytes").asLong(), g.path("offload").asText(),
                    g.path("uuid").asText())));
        }
        return new Manifest(skipped, entries, bytes, unplanned);
    }

    /** What is not as the broker's own record of its ledgers has it; empty = nothing. */
    List<String> differences(List<Ledgers.Ledger> wanted) {
        List<String> found = new ArrayList<>(unplanned);
        List<Skipped> want = wanted.stream().map(g -> new Skipped(g.segment(), g.id(), g.entries(), g.bytes(),
                "OFFLOAD_STATE_COMPLETE", g.uuid())).toList();
        want.stream().filter(g -> !skipped.contains(g)).forEach(g -> found.add("not in the manifest: " + g));
        skipped.stream().filter(g -> !want.contains(g)).forEach(g -> found.add("wrong in the manifest: " + g));
        long sum = wanted.stream().mapToLong(Ledgers.Ledger::entries).sum();
        long size = wanted.stream().mapToLong(Ledgers.Ledger::bytes).sum();
        if (entries != sum || bytes != size) {
            found.add("the manifest's sum is " + entries + " entries, " + bytes + " bytes, and should be " + sum + ", "
                    + size);
        }
        return found;
    }
}
