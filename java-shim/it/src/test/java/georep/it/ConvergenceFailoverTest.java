// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.HeldSegment.Hold;
import georep.it.HeldSegment.What;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a controller leader has begun or noted outlives it; a peer that is away holds up nobody for long. */
@Tag("slow")
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class ConvergenceFailoverTest {
    private SourcePair p;

    @BeforeEach
    void start() throws Exception {
        p = SourcePair.start(false, s -> s.name.equals("cluster-a") ? s.with(c ->
                c.setTopicFactoryClassName(HeldSegment.Factory.class.getName())) : s);
    }

    @AfterEach
    void stop() throws Exception {
        p.close();
    }

    private void awaitStarts(String topic, Integer... starts) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            assertThat(Layouts.starts(p.a, topic)).as("layout of A").containsExactly(starts);
            assertThat(Layouts.starts(p.b, topic)).as("layout of B").containsExactly(starts);
        });
    }

    private static JsonNode convergence(Cluster c, String topic) throws Exception {
        return c.controller(topic).convergence().status();
    }

    private static Http.Answer merge(Cluster c, String t) throws Exception {
        return Http.post(c.broker, "/admin/v2/scalable/" + t.substring("topic://".length()) + "/merge/"
                + id(active(c, t, 0)) + "/" + id(active(c, t, 0x8000)), null, "");
    }

    private void startAgain() throws Exception {
        p.a.startAgain();
        Federation.introduce(p.a, p.b);
    }

    /** An operator's mark is in the topic's record: the next leader waits for the peer's as the first did. */
    @Test
    void aMarkOutlivesItsLeader() throws Exception {
        String t = p.topic("mark", 2, 2);
        assertThat(merge(p.a, t).status()).as("initial segments are halves, too").isEqualTo(202);
        long term = Long.parseLong(Layouts.stored(p.a, t).getProperties().get("georep.term"));
        p.a.crash();
        startAgain();
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            assertThat(convergence(p.a, t).path("marks").path(0).path("boundary").asInt()).isEqualTo(0x8000);
            assertThat(convergence(p.b, t).path("peers").path(0).path("cold").path(0).asInt()).isEqualTo(0x8000);
        });
        assertThat(Long.parseLong(Layouts.stored(p.a, t).getProperties().get("georep.term"))).isGreaterThan(term);
        assertThat(Layouts.starts(p.a, t)).containsExactly(0, 0x8000);
        merge(p.b, t);
        awaitStarts(t, 0);
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            assertThat(Layouts.sealed(c, t)).as("merged once at %s", c.name).hasSize(2);
        }
    }

    /** The leader dies when a fold's children are there; the next one folds anew, and nothing is lost or twice. */
    @Test
    void aLeaderDiesBeforeItsFoldSeals() throws Exception {
        diesInMidFold("unsealed", What.SEAL);
    }

    /** The leader dies when the parent takes nothing any more, and the layout still has it. */
    @Test
    void aLeaderDiesBeforeItsFoldIsStored() throws Exception {
        diesInMidFold("sealed", What.SEALED);
    }

    private void diesInMidFold(String name, What at) throws Exception {
        String t = p.topic(name, 1, 1);
        Publish.v5(p.a, t, 0, 500, 50);
        String parent = active(p.a, t, 0);
        p.a.controller(t);
        long term = Layouts.term(p.a, t);
        try (Traffic y = Traffic.start(p.b, t, 50, 1_000_000, 500)) {
            y.more(200);
            try (Hold hold = HeldSegment.hold(parent, at)) {
                p.b.admin().scalableTopics().splitSegment(t, 0);
                await().atMost(Duration.ofSeconds(30)).until(() -> hold.count() > 0);
                assertThat(p.a.segment(parent).getManagedLedger().isTerminated()).as("sealed")
                        .isEqualTo(at == What.SEALED);
                for (String child : new String[]{"0000-7fff-1", "8000-ffff-2"}) {
                    String c = parent.substring(0, parent.lastIndexOf('/') + 1) + child;
                    assertThat(p.a.segment(c).getManagedLedger().isTerminated()).as(child).isFalse();
                }
                assertThat(Layouts.stored(p.a, t).getEpoch()).as("epoch of A").isZero();
                assertThat(Layouts.starts(p.a, t)).containsExactly(0);
                assertThat(Layouts.starts(p.b, t)).containsExactly(0, 0x8000);
                p.a.crash();
            } // what the dead one does from here on reaches no store
            y.more(200);
            startAgain();
            awaitStarts(t, 0, 0x8000);
            y.more(200);
            y.finish();
        }
        assertThat(Layouts.term(p.a, t)).as("another leader's").isGreaterThan(term);
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            assertThat(Layouts.stored(c, t).getEpoch()).as("changes at %s", c.name).isEqualTo(1);
            assertThat(Layouts.stored(c, t).getNextSegmentId()).as("ids given at %s", c.name).isEqualTo(3);
        }
        Publish.v5(p.a, t, 500, 1000, 50);
        assertCopied(p.a, p.b, t);
        assertCopied(p.b, p.a, t);
    }

    /** The leader died between sealing a segment for its own split and writing the layout: the next one finishes. */
    @Test
    void aSplitThatWasNotFinishedIsFinished() throws Exception {
        String t = p.topic("begun", 1, 1);
        Publish.v5(p.a, t, 0, 500, 50);
        p.a.admin().scalableTopics().terminateSegmentAsync(active(p.a, t, 0)).get(20, TimeUnit.SECONDS);
        p.a.crash();
        startAgain();
        p.a.controller(t);
        awaitStarts(t, 0, 0x8000);
        Publish.v5(p.a, t, 500, 1000, 50);
        assertCopied(p.a, p.b, t);
        assertThat(Layouts.sealed(p.a, t)).as("split once").hasSize(1);
    }

    /** With its peer down a cluster goes on splitting, and the peer follows when it is back. */
    @Test
    void aPeerThatIsAwayHoldsUpNobody() throws Exception {
        String t = p.topic("away", 1, 1);
        Publish.v5(p.a, t, 0, 100, 10);
        assertCopied(p.a, p.b, t);
        p.a.crash();
        p.b.admin().scalableTopics().splitSegment(t, 0);
        p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            JsonNode peer = convergence(p.b, t).path("peers").path(0);
            assertThat(peer.path("failures").asInt()).as("%s", peer).isPositive();
            assertThat(peer.path("trouble").asText()).as("%s", peer).isNotEmpty();
            assertThat(peer.path("diverged")).as("%s", peer).hasSize(1);
        });
        startAgain();
        awaitStarts(t, 0, 0x4000, 0x8000);
    }

    /**
     * A cluster that leaves is asked no more, and meets the others anew when it is back. Its cursors begin anew, here
     * at the start of the logs: it gets what was stored without it, and once more what it had.
     */
    @Test
    void aClusterLeavesAndComesBack() throws Exception {
        String t = p.topic("leave", 1, 1);
        Publish.v5(p.a, t, 0, 100, 10);
        assertCopied(p.a, p.b, t);
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            Federation.stop(c, SourcePair.NS);
        }
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            assertThat(p.a.controller(t).convergence().on()).isFalse();
            assertThat(p.b.controller(t).convergence().on()).isFalse();
        });
        p.a.admin().scalableTopics().splitSegment(t, 0);
        Publish.v5(p.a, t, 100, 200, 10);
        p.b.admin().scalableTopics().splitSegment(t, 0);
        p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0xffff)));
        for (Cluster c : new Cluster[]{p.a, p.b}) {
            Federation.replicate(c, SourcePair.NS, Set.of(p.a.name, p.b.name));
        }
        awaitStarts(t, 0, 0x8000, 0xc000);
        Publish.v5(p.a, t, 200, 300, 10);
        SourcePair.await(p.a, p.b, t, Duration.ofSeconds(60));
        assertThat(StoredMessages.compare(StoredMessages.of(p.a, t), StoredMessages.of(p.b, t), p.a.name))
                .isEqualTo(new StoredMessages.Difference(Set.of(), 100, List.of(), 0));
    }
}
