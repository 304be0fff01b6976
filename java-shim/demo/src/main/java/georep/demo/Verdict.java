// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What came of a run.
 *
 * @param acked    messages that A acknowledged to its clients
 * @param received messages that the application on B got
 * @param converged       what was sent after the layouts had become the same for good
 * @param convergedWanted entries that must be among that
 * @param consumer what is first different between A's log and what the application got, by key; null = nothing
 */
record Verdict(int acked, int received, Verify.Answer verify, Metrics.Sample replicated, List<Splits.Split> splits,
               Convergence.Sent converged, int convergedWanted, String consumer, long elapsedMs) {

    int inFlightAtSplit() {
        return splits.stream().mapToInt(Splits.Split::inFlight).min().orElse(0);
    }

    /** Of the slowest of the followed splits: until the layouts were the same. What is sealed drains later. */
    long convergenceMs() {
        return splits.stream().mapToLong(Splits.Split::followedMs).max().orElse(0);
    }

    /** Everything that is not as promised; empty = the demo is OK. */
    List<String> faults() {
        List<String> f = new ArrayList<>(Promises.logs("the clusters", verify, "A", verify.total("messages"), acked));
        if (consumer != null) {
            f.add("the application on B: " + consumer);
        }
        if (replicated.verbatim() == 0 || replicated.rebatched() == 0) {
            f.add("a path was not taken");
        }
        if (replicated.parked() > 0) {
            f.add(replicated.parked() + " entries are parked");
        }
        if (converged.rebatched() > 0) {
            f.add(converged.rebatched() + " entries were opened although the layouts were the same");
        }
        if (converged.entries() < convergedWanted) {
            f.add("only " + converged.entries() + " entries of " + convergedWanted + " after convergence");
        }
        f.addAll(Promises.traffic(splits));
        return f;
    }

    void write(Path file) throws Exception {
        ObjectMapper json = new ObjectMapper();
        ObjectNode n = json.createObjectNode().put("ok", faults().isEmpty())
                .put("produced", verify.total("messages")).put("received", received)
                .put("lost", verify.total("lost")).put("duplicates", verify.total("duplicates"))
                .put("orderViolations", verify.total("orderViolations"))
                .put("verbatimEntries", replicated.verbatim()).put("rebatchedEntries", replicated.rebatched())
                .put("parts", replicated.parts()).put("parked", replicated.parked())
                .put("inFlightAtSplit", inFlightAtSplit()).put("elapsedMs", elapsedMs).put("acked", acked)
                .put("convergenceMs", convergenceMs()).put("entriesAfterConvergence", converged.entries())
                .put("rebatchedAfterConvergence", converged.rebatched());
        splits.forEach(s -> n.withArray("splits").addObject().put("cluster", s.cluster()).put("segment", s.segment())
                .put("inFlight", s.inFlight()).put("followedMs", s.followedMs()));
        faults().forEach(f -> n.withArray("faults").add(f));
        n.set("verify", verify.report());
        Files.createDirectories(file.getParent());
        json.writerWithDefaultPrettyPrinter().writeValue(file.toFile(), n);
    }

    /** The last line. */
    String line() {
        return "DEMO " + (faults().isEmpty() ? "OK" : "FAILED") + " produced " + verify.total("messages") + " received "
                + received + " lost " + verify.total("lost") + " duplicates " + verify.total("duplicates")
                + " orderViolations " + verify.total("orderViolations") + " verbatimEntries " + replicated.verbatim()
                + " rebatchedEntries " + replicated.rebatched() + " parts " + replicated.parts() + " parked "
                + replicated.parked() + " inFlightAtSplit " + inFlightAtSplit() + " convergenceMs " + convergenceMs()
                + " entriesAfterConvergence " + converged.entries() + " rebatchedAfterConvergence "
                + converged.rebatched() + " elapsedMs " + elapsedMs;
    }
}
