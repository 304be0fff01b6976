// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.id;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.SourcePair.Rise;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** A remote that is down for more than a minute while its peer takes messages, and comes back with what it had. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class SourceOutageTest {
    private static final Duration OUTAGE = Duration.ofSeconds(65);
    private static final int PER_SECOND = 500;

    /**
     * Connection attempts that are quiet enough: 2 segments at A, each to 3 at B at most, try every 5 to 10 s after a
     * dozen quick tries, and so do the layout watch and the handshake. Measured: 79 and 148.
     */
    private static final int QUIET = 300;

    private Cluster a;
    private Cluster b;

    @BeforeAll
    void start() throws Exception {
        a = ClusterSpec.named("cluster-a").apart().key("georepStallSeconds", 5).start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").apart().fixedPorts().dedup(true).start(Dirs.fresh());
        Federation.of("outage/ns", a, b);
    }

    @AfterAll
    void stop() throws Exception {
        a.close();
        b.close();
    }

    private String topic(String name) throws Exception {
        String t = "topic://outage/ns/" + name;
        Federation.topic(t, 2, a);
        Federation.topic(t, 3, b);
        return t;
    }

    private static long delay(JsonNode segments) {
        long most = -1;
        for (JsonNode s : segments) {
            most = Math.max(most, s.path("delaySeconds").asLong());
        }
        return most;
    }

    /** B is stopped as an operator does; A splits meanwhile. */
    @Test
    void stoppedForAMinuteUnderLoad() throws Exception {
        String t = topic("stopped");
        outage(t, () -> b.broker.close());
    }

    /** B dies with sends under way. */
    @Test
    void deadForAMinuteUnderLoad() throws Exception {
        String t = topic("dead");
        outage(t, () -> b.crash());
    }

    private interface Down {
        void now() throws Exception;
    }

    private void outage(String t, Down down) throws Exception {
        Rise r = new Rise(a, b, "parts");
        try (Traffic x = Traffic.start(a, t, 50, 0, PER_SECOND)) {
            x.more(2000);
            int binary = b.broker.getBrokerListenPort().orElseThrow();
            int http = b.broker.getListenPortHTTP().orElseThrow();
            down.now();
            int attempts;
            try (DeadPorts dead = new DeadPorts(binary, http)) {
                long until = System.nanoTime() + OUTAGE.toNanos();
                x.more(PER_SECOND);
                a.admin().scalableTopics().splitSegment(t, id(active(a, t, 0)));
                while (System.nanoTime() < until) {
                    x.more(PER_SECOND);
                }
                attempts = dead.attempts();
                JsonNode s = status(a, t);
                assertThat(delay(s)).as("the delay tells the outage, %s", s).isBetween(55L, 120L);
                assertThat(s.get(0).path("stalled").asBoolean()).as("%s", s).isTrue();
                assertThat(backlogs(a, t, b.name)).as("what waits").allMatch(n -> n > 0);
            }
            assertThat(attempts).as("connections to the dead cluster").isBetween(1, QUIET);
            b.startAgain();
            x.more(2000);
            x.finish();
        }
        SourcePair.await(a, b, t, Duration.ofSeconds(120));
        assertCopied(a, b, t);
        assertThat(r.of("parts")).isPositive();
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() ->
                assertThat(status(a, t).get(0).path("stalled").asBoolean()).isFalse());
    }
}
