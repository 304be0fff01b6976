// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static georep.it.SourcePair.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import georep.plugin.source.ReplicationSource;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** A segment publishes nothing before all its ancestors are drained, empty ones in the middle included. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SourceGateTest {
    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.apart(true);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private ReplicationSource replicator(String segment) throws Exception {
        return (ReplicationSource) p.a.segment(segment).getReplicators().get(p.b.name);
    }

    /**
     * <pre>
     *   0 (paused, backlog) -+- 1 (empty) -+- 3 --+- 5
     *                        |             `- 4 --'
     *                        `- 2
     * </pre>
     */
    @Test
    void childrenWaitForTheirParents() throws Exception {
        String t = p.topic("gate", 1, 2);
        String root = SegmentLog.segments(p.a, t).get(0);
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> replicator(root).gateOpen());
        p.a.segment(root).pauseReplication(p.b.name, true).get();
        Publish.v5(p.a, t, 0, 500, 40);
        p.a.admin().scalableTopics().splitSegment(t, id(root));
        p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0)));
        Publish.v5(p.a, t, 500, 1000, 40);
        p.a.controller(t).mergeSegments(id(active(p.a, t, 0)), id(active(p.a, t, 0x7fff))).get();
        Publish.v5(p.a, t, 1000, 1500, 40);

        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            Map<Long, JsonNode> bySegment = new HashMap<>();
            status(p.a, t).forEach(n -> bySegment.put(n.path("segment").asLong(), n));
            assertThat(bySegment.keySet()).containsExactlyInAnyOrder(0L, 1L, 2L, 3L, 4L, 5L);
            assertThat(bySegment.get(0L).path("window").path("state").asText()).isEqualTo("paused");
            assertThat(bySegment.get(1L).path("backlog").asLong()).as("the middle is empty").isZero();
            for (long s : new long[]{1, 2, 3, 4, 5}) {
                assertThat(bySegment.get(s).path("window").path("state").asText()).as("segment %d", s)
                        .isEqualTo("starting");
                assertThat(replicator(SegmentLog.segments(p.a, t).get((int) s)).gateOpen()).as("gate of %d", s)
                        .isFalse();
            }
            for (long s : new long[]{0, 2, 3, 4, 5}) {
                assertThat(bySegment.get(s).path("backlog").asLong()).as("backlog of %d", s).isPositive();
            }
        });
        assertThat(StoredMessages.of(p.b, t).all()).as("nothing overtakes the root").isEmpty();

        p.a.segment(root).pauseReplication(p.b.name, false).get();
        assertCopied(p.a, p.b, t);
        assertThat(StoredMessages.of(p.b, t).count(p.a.name)).isEqualTo(1500);
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> { // an empty one learns it by asking
            for (String s : SegmentLog.segments(p.a, t)) {
                assertThat(replicator(s).gateOpen()).as("gate of %s", s).isTrue();
            }
        });
    }
}
