// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the demo says OK, and when not. */
class VerdictTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Metrics.Sample BOTH_PATHS = new Metrics.Sample(3, 4, 9, 0, 0);
    private static final List<Splits.Split> UNDER_LOAD = List.of(new Splits.Split("a", 0, 7, 400),
            new Splits.Split("b", 3, 2, 700));

    private static Verify.Answer answer(int status, int messages, int lost) throws Exception {
        return new Verify.Answer(status, JSON.readTree("{\"total\":{\"messages\":" + messages + ",\"lost\":" + lost
                + "},\"differences\":[]}"));
    }

    private static Verdict verdict(Verify.Answer a, Metrics.Sample m, List<Splits.Split> s, String consumer) {
        return verdict(a, m, s, new Convergence.Sent(20, 0), consumer);
    }

    private static Verdict verdict(Verify.Answer a, Metrics.Sample m, List<Splits.Split> s, Convergence.Sent converged,
                                   String consumer) {
        return new Verdict(10, 12, a, m, s, converged, 20, consumer, 5);
    }

    @Test
    void okWhenNothingIsWrong(@TempDir Path dir) throws Exception {
        Verdict v = verdict(answer(0, 12, 0), BOTH_PATHS, UNDER_LOAD, null);
        assertThat(v.faults()).isEmpty();
        assertThat(v.line()).startsWith("DEMO OK produced 12 received 12 lost 0 ");
        v.write(dir.resolve("x/demo.json"));
        JsonNode n = JSON.readTree(dir.resolve("x/demo.json").toFile());
        assertThat(n.path("inFlightAtSplit").asInt()).as("the least of the splits").isEqualTo(2);
        assertThat(n.path("verbatimEntries").asInt()).isEqualTo(3);
        assertThat(n.path("rebatchedEntries").asInt()).isEqualTo(4);
        assertThat(n.path("parts").asInt()).isEqualTo(9);
        assertThat(n.path("convergenceMs").asInt()).as("the slowest").isEqualTo(700);
        assertThat(n.path("entriesAfterConvergence").asInt()).isEqualTo(20);
        assertThat(n.path("rebatchedAfterConvergence").asInt(-1)).isZero();
        assertThat(n.path("ok").asBoolean()).isTrue();
    }

    @Test
    void everyBrokenPromiseFails() throws Exception {
        for (Verdict v : List.of(
                verdict(answer(1, 12, 1), BOTH_PATHS, UNDER_LOAD, null),
                verdict(answer(0, 9, 0), BOTH_PATHS, UNDER_LOAD, null), // fewer stored than acknowledged
                verdict(answer(0, 12, 0), BOTH_PATHS, UNDER_LOAD, "key \"a\" differs"),
                verdict(answer(0, 12, 0), new Metrics.Sample(0, 4, 9, 0, 0), UNDER_LOAD, null),
                verdict(answer(0, 12, 0), new Metrics.Sample(3, 0, 0, 0, 0), UNDER_LOAD, null),
                verdict(answer(0, 12, 0), new Metrics.Sample(3, 4, 9, 1, 0), UNDER_LOAD, null),
                verdict(answer(0, 12, 0), BOTH_PATHS, UNDER_LOAD, new Convergence.Sent(20, 1), null),
                verdict(answer(0, 12, 0), BOTH_PATHS, UNDER_LOAD, new Convergence.Sent(19, 0), null),
                verdict(answer(0, 12, 0), BOTH_PATHS, List.of(new Splits.Split("a", 0, 0, 1)), null))) {
            assertThat(v.faults()).as(v.toString()).hasSize(1);
            assertThat(v.line()).startsWith("DEMO FAILED produced ");
        }
    }
}
