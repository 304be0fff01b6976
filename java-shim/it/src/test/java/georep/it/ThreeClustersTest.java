// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Three clusters end on the same layout, whatever each began with and whoever changes it. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 200, unit = TimeUnit.SECONDS)
class ThreeClustersTest {
    private static final String NS = "three/ns";
    private static final int CAP = 8;

    private Cluster a;
    private Cluster b;
    private Cluster c;
    private List<Cluster> all;

    @BeforeAll
    void start() throws Exception {
        a = ClusterSpec.named("cluster-a").start(Dirs.fresh());
        b = ClusterSpec.named("cluster-b").dedup(true).start(Dirs.fresh());
        c = ClusterSpec.named("cluster-c").with(s -> s.setScalableTopicMaxSegments(CAP)).start(Dirs.fresh());
        all = List.of(a, b, c);
        Federation.of(NS, a, b, c);
    }

    @AfterAll
    void stop() throws Exception {
        for (Cluster x : all) {
            x.close();
        }
    }

    private void awaitStarts(String topic, Integer... starts) {
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (Cluster x : all) {
                assertThat(Layouts.starts(x, topic)).as("layout of %s", x.name).containsExactly(starts);
            }
        });
    }

    private void assertCopiedEverywhere(String topic) throws Exception {
        for (Cluster from : all) {
            for (Cluster to : all) {
                if (from != to) {
                    assertCopied(from, to, topic);
                }
            }
        }
    }

    private static JsonNode peer(Cluster at, String topic, Cluster of) throws Exception {
        for (JsonNode p : at.controller(topic).convergence().status().path("peers")) {
            if (p.path("cluster").asText().equals(of.name)) {
                return p;
            }
        }
        throw new AssertionError(at.name + " does not know " + of.name);
    }

    private static int merge(Cluster x, String t, int boundary) throws Exception {
        return Http.post(x.broker, "/admin/v2/scalable/" + t.substring("topic://".length()) + "/merge/"
                + id(active(x, t, boundary - 1)) + "/" + id(active(x, t, boundary)), null, "").status();
    }

    /** Layouts that never met: one pass of explicit splits each; then splits on two at once, and a merge of all. */
    @Test
    void unrelatedLayoutsThenSplitsThenAMerge() throws Exception {
        String ns = "three/met";
        String t = "topic://" + ns + "/x";
        Federation.create(ns, a, b, c);
        Federation.topic(t, 2, a);
        Federation.topic(t, 3, b);
        Federation.topic(t, 1, c);
        Federation.of(ns, a, b, c);
        List<Traffic> load = new ArrayList<>();
        try {
            for (Cluster x : all) {
                load.add(Traffic.start(x, t, 50, load.size() * 1_000_000, 1000));
            }
            awaitStarts(t, 0, 0x5555, 0x8000, 0xaaaa);
            for (Cluster x : all) {
                assertThat(Layouts.sealed(x, t).size()).as("cuts of %s", x.name).isLessThanOrEqualTo(3);
            }
            a.admin().scalableTopics().splitSegment(t, id(active(a, t, 0)));
            b.admin().scalableTopics().splitSegment(t, id(active(b, t, 0xffff)));
            awaitStarts(t, 0, 0x2aab, 0x5555, 0x8000, 0xaaaa, 0xd555);
            assertThat(merge(a, t, 0x2aab)).isEqualTo(202);
            assertThat(merge(b, t, 0x2aab)).isEqualTo(202);
            await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
                assertThat(peer(c, t, a).path("cold").path(0).asInt()).isEqualTo(0x2aab);
                assertThat(peer(c, t, b).path("cold").path(0).asInt()).isEqualTo(0x2aab);
            });
            for (Traffic x : load) {
                x.more(300);
            }
            assertThat(Layouts.starts(a, t)).as("C has not agreed").contains(0x2aab);
            merge(c, t, 0x2aab);
            awaitStarts(t, 0, 0x5555, 0x8000, 0xaaaa, 0xd555);
            assertThat(merge(a, t, 0xaaaa)).as("no halves of one split").isEqualTo(412);
            for (Traffic x : load) {
                x.more(300);
                x.finish();
            }
        } finally {
            for (Traffic x : load) {
                x.close();
            }
        }
        assertCopiedEverywhere(t);
        for (Cluster x : all) {
            assertThat(Layouts.stored(x, t).getSegments().values().stream().filter(s -> s.parentIds().size() > 1))
                    .as("merged once at %s", x.name).hasSize(1);
        }
    }

    /** The smallest cap of all bounds what anybody splits; the refusal is clear. */
    @Test
    void nobodyGrowsBeyondTheSmallestCap() throws Exception {
        String t = "topic://" + NS + "/capped";
        Federation.topic(t, CAP - 1, a);
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            assertThat(peer(a, t, c).path("caps").path("maxSegments").asInt()).isEqualTo(CAP);
            assertThat(peer(b, t, c).path("caps").path("maxSegments").asInt()).isEqualTo(CAP);
        });
        a.admin().scalableTopics().splitSegment(t, 0);
        for (Cluster x : List.of(a, b)) {
            long last = id(active(x, t, 0xffff));
            assertThat(catching(() -> x.admin().scalableTopics().splitSegment(t, last))).contains("beyond the caps");
        }
        assertThat(Layouts.starts(a, t)).hasSize(CAP);
    }

    private interface Call {
        void run() throws Exception;
    }

    private static String catching(Call call) throws Exception {
        try {
            call.run();
        } catch (PulsarAdminException e) {
            return e.getMessage();
        }
        return "nothing was refused";
    }
}
