// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the demo of a start behind what is offloaded says OK, and when not. */
class BootstrapVerdictTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Ledgers.Ledger DELETED = new Ledgers.Ledger(0, 10, 4, 400, false, true, true, "u-10");
    private static final Ledgers.Ledger COPIED = new Ledgers.Ledger(0, 11, 3, 300, false, true, false, "u-11");
    private static final Ledgers.Ledger LOCAL = new Ledgers.Ledger(0, 12, 2, 200, false, false, false, "");
    private static final Ledgers.Ledger OPEN = new Ledgers.Ledger(0, 13, 0, 0, true, false, false, "");
    private static final List<Ledgers.Ledger> LEFT_OUT = List.of(DELETED, COPIED);
    private static final BootstrapVerdict.DryRun DRY = new BootstrapVerdict.DryRun(9, 700, 1);

    private static JsonNode answer(String state, long entries, String... ledgers) throws Exception {
        return JSON.readTree("{\"segments\":[{\"id\":0,\"remotes\":{\"b\":{\"state\":\"" + state
                + "\",\"plan\":{\"entries\":\"" + entries + "\",\"bytes\":\"700\",\"skipped\":["
                + String.join(",", ledgers) + "]}}}}]}");
    }

    private static String ledger(long id, long entries, long bytes) {
        return "{\"ledger\":\"" + id + "\",\"entries\":\"" + entries + "\",\"bytes\":\"" + bytes
                + "\",\"offload\":\"OFFLOAD_STATE_COMPLETE\",\"uuid\":\"u-" + id + "\"}";
    }

    private static Manifest manifest(String... ledgers) throws Exception {
        return Manifest.of(answer("placed", 7, ledgers), "b");
    }

    private static Manifest good() throws Exception {
        return manifest(ledger(10, 4, 400), ledger(11, 3, 300));
    }

    private static StoredMessages.Part part(int messages, long entries) {
        Sequences s = new Sequences();
        for (int i = 0; i < messages; i++) {
            s.add("k", i);
        }
        return new StoredMessages.Part(s, entries, 100 * entries);
    }

    private static BootstrapVerdict verdict(long acked, List<Ledgers.Ledger> leftOut, Manifest m, long sent,
                                            int received, String consumer, long tierReads,
                                            BootstrapVerdict.DryRun dry) {
        return new BootstrapVerdict(acked, leftOut, m, part(70, 7), part(20, 2), sent, received, consumer, tierReads,
                dry, 5);
    }

    @Test
    void theRuleLeavesOutWhatIsOffloadedInOnePiece() {
        assertThat(Ledgers.leftOut(List.of(DELETED, COPIED, LOCAL, OPEN))).isEqualTo(LEFT_OUT);
        Ledgers.Ledger beyond = new Ledgers.Ledger(0, 14, 5, 500, false, true, false, "u-14");
        assertThat(Ledgers.leftOut(List.of(DELETED, LOCAL, beyond, OPEN))).as("beyond a hole").containsExactly(DELETED);
        Ledgers.Ledger empty = new Ledgers.Ledger(0, 9, 0, 0, false, false, false, "");
        assertThat(Ledgers.leftOut(List.of(empty, DELETED, OPEN))).as("an empty one is no hole")
                .containsExactly(DELETED);
        Ledgers.Ledger other = new Ledgers.Ledger(1, 8, 1, 10, false, true, false, "u-8");
        assertThat(Ledgers.leftOut(List.of(LOCAL, OPEN, other))).as("each segment by itself").containsExactly(other);
    }

    @Test
    void okWhenNothingIsWrong(@TempDir Path dir) throws Exception {
        BootstrapVerdict v = verdict(90, LEFT_OUT, good(), 2, 20, null, 0, DRY);
        assertThat(v.faults()).isEmpty();
        assertThat(v.line()).isEqualTo("DEMO OK skippedEntries 7 skippedBytes 700 skippedMessages 70 "
                + "replicatedEntries 2 replicatedBytes 200 received 20 of 20 tierReads 0 elapsedMs 5");
        v.write(dir.resolve("x/demo-bootstrap.json"));
        JsonNode n = JSON.readTree(dir.resolve("x/demo-bootstrap.json").toFile());
        assertThat(n.path("ok").asBoolean()).isTrue();
        assertThat(n.path("skippedEntries").asInt()).isEqualTo(7);
        assertThat(n.path("manifest")).hasSize(2);
        assertThat(n.path("manifest").get(1).path("ledger").asInt()).isEqualTo(11);
    }

    @Test
    void everyBrokenPromiseFails() throws Exception {
        List<BootstrapVerdict> broken = new ArrayList<>(List.of(
                verdict(91, LEFT_OUT, good(), 2, 20, null, 0, DRY), // A lost one
                verdict(90, LEFT_OUT, good(), 1, 20, null, 0, DRY),
                verdict(90, LEFT_OUT, good(), 3, 20, null, 0, DRY), // something was sent that should be left out
                verdict(90, LEFT_OUT, good(), 2, 19, null, 0, DRY),
                verdict(90, LEFT_OUT, good(), 2, 21, null, 0, DRY),
                verdict(90, LEFT_OUT, good(), 2, 20, "key \"k\" differs", 0, DRY),
                verdict(90, LEFT_OUT, good(), 2, 20, null, 1, DRY),
                verdict(90, LEFT_OUT, good(), 2, 20, null, 0, new BootstrapVerdict.DryRun(8, 700, 1)),
                verdict(90, LEFT_OUT, good(), 2, 20, null, 0, new BootstrapVerdict.DryRun(9, 0, 1)),
                verdict(90, LEFT_OUT, good(), 2, 20, null, 0, new BootstrapVerdict.DryRun(9, 700, 2)),
                verdict(90, LEFT_OUT, manifest(ledger(10, 4, 400)), 2, 20, null, 0, DRY),
                verdict(90, LEFT_OUT, manifest(ledger(10, 4, 400), ledger(11, 3, 300), ledger(12, 2, 200)), 2, 20, null,
                        0, DRY),
                verdict(90, LEFT_OUT, Manifest.of(answer("holding", 7, ledger(10, 4, 400), ledger(11, 3, 300)), "b"), 2,
                        20, null, 0, DRY)));
        Ledgers.Ledger there = new Ledgers.Ledger(0, 10, 4, 400, false, true, false, "u-10");
        broken.add(verdict(90, List.of(there, COPIED), good(), 2, 20, null, 0, DRY)); // none is in tiered storage alone
        for (BootstrapVerdict v : broken) {
            assertThat(v.faults()).as(v.toString()).hasSize(1);
            assertThat(v.line()).startsWith("DEMO FAILED skippedEntries 7 ");
        }
        BootstrapVerdict sums = verdict(90, LEFT_OUT, Manifest.of(answer("placed", 6, ledger(10, 4, 400),
                ledger(11, 3, 300)), "b"), 2, 20, null, 0, DRY);
        assertThat(sums.faults()).as("a sum that is not that of its ledgers").hasSize(2);
    }
}
