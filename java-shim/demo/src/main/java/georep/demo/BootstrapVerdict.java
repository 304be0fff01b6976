// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What came of starting a remote behind what is offloaded.
 *
 * @param acked       messages that A acknowledged to its clients
 * @param leftOut     ledgers that should be left out, as A's broker records them
 * @param manifest    those that were, as the plugin says
 * @param skipped     what A's log has in them
 * @param kept        what A's log has elsewhere
 * @param sentEntries entries of A that were sent
 * @param received    messages that the application on B got
 * @param consumer    what is first different between kept and received, by key; null = nothing
 * @param tierReads   entries that were read back out of tiered storage while B caught up
 * @param dryRun      what a reset to earliest would read
 */
record BootstrapVerdict(long acked, List<Ledgers.Ledger> leftOut, Manifest manifest, StoredMessages.Part skipped,
                        StoredMessages.Part kept, long sentEntries, int received, String consumer, long tierReads,
                        DryRun dryRun, long elapsedMs) {
    /** The sums of {@code georep reset-cursor --dry-run}, and the generation that B's cursors have after it. */
    record DryRun(long entries, long offloadedBytes, long generation) {
    }

    /** Everything that is not as promised; empty = the demo is OK. */
    List<String> faults() {
        List<String> f = new ArrayList<>(manifest.differences(leftOut));
        f.addAll(Promises.stored("A", skipped.messages().count() + kept.messages().count(), (int) acked));
        if (leftOut.stream().noneMatch(Ledgers.Ledger::deleted)) {
            f.add("nothing of what is left out was in tiered storage alone");
        }
        if (skipped.entries() != manifest.entries()) {
            f.add("the manifest has " + manifest.entries() + " entries, its ledgers " + skipped.entries());
        }
        if (kept.messages().count() == 0 || sentEntries != kept.entries()) {
            f.add(sentEntries + " entries of " + kept.entries() + " were sent");
        }
        if (received != kept.messages().count()) {
            f.add("the application on B got " + received + " messages of " + kept.messages().count());
        }
        if (consumer != null) {
            f.add("the application on B: " + consumer);
        }
        if (tierReads > 0) {
            f.add(tierReads + " entries were read back out of tiered storage");
        }
        if (dryRun.entries() != skipped.entries() + kept.entries() || dryRun.offloadedBytes() != manifest.bytes()) {
            f.add("a reset to earliest says it would read " + dryRun.entries() + " entries and "
                    + dryRun.offloadedBytes() + " offloaded bytes");
        }
        if (dryRun.generation() != 1) {
            f.add("a dry run has begun generation " + dryRun.generation());
        }
        return f;
    }

    void write(Path file) throws Exception {
        ObjectMapper json = new ObjectMapper();
        ObjectNode n = json.createObjectNode().put("ok", faults().isEmpty()).put("acked", acked)
                .put("skippedEntries", manifest.entries()).put("skippedBytes", manifest.bytes())
                .put("skippedMessages", skipped.messages().count()).put("skippedLedgers", manifest.skipped().size())
                .put("replicatedEntries", sentEntries).put("replicatedBytes", kept.bytes()).put("received", received)
                .put("tierReads", tierReads).put("elapsedMs", elapsedMs);
        manifest.skipped().forEach(g -> n.withArray("manifest").addPOJO(g));
        faults().forEach(f -> n.withArray("faults").add(f));
        Files.createDirectories(file.getParent());
        json.writerWithDefaultPrettyPrinter().writeValue(file.toFile(), n);
    }

    /** The last line. */
    String line() {
        return "DEMO " + (faults().isEmpty() ? "OK" : "FAILED") + " skippedEntries " + manifest.entries()
                + " skippedBytes " + manifest.bytes() + " skippedMessages " + skipped.messages().count()
                + " replicatedEntries " + sentEntries + " replicatedBytes " + kept.bytes() + " received " + received
                + " of " + kept.messages().count() + " tierReads " + tierReads + " elapsedMs " + elapsedMs;
    }
}
