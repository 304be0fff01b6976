// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static georep.it.Trio.awaitCold;
import static georep.it.Trio.cancelMark;
import static georep.it.Trio.dissent;
import static georep.it.Trio.merge;
import static georep.it.Trio.peer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import georep.it.SourcePair.Rise;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.AutoScalePolicyOverride;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentLoadStats;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Three clusters of which one allows less, changes its mind, or is not there. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 200, unit = TimeUnit.SECONDS)
class ThreeClustersTroubleTest {
    /** Of the third cluster. */
    private static final int CAP = 8;

    private Trio p;

    @BeforeAll
    void start() throws Exception {
        p = Trio.start(s -> s.with(c -> {
            c.setScalableTopicAutoScaleIntervalSeconds(1);
            c.setScalableTopicLoadReportIntervalSeconds(0); // loads are what a test says
        }), s -> s.with(c -> c.setScalableTopicMaxSegments(CAP)));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    // ------------------------------------------------------------------ caps

    /** The smallest cap of all bounds what anybody splits; the refusal is clear. */
    @Test
    void nobodyGrowsBeyondTheSmallestCap() throws Exception {
        String t = p.topic("trouble/capped", CAP - 1, CAP - 1, CAP - 1);
        awaitCaps(p.all, t, CAP);
        p.a.admin().scalableTopics().splitSegment(t, 0);
        p.awaitStarts(t, Layouts.starts(p.a, t).toArray(Integer[]::new));
        for (Cluster x : p.all) {
            long last = id(active(x, t, 0xffff));
            assertThat(catching(() -> x.admin().scalableTopics().splitSegment(t, last))).contains("beyond the caps");
        }
        assertThat(Layouts.starts(p.a, t)).hasSize(CAP);
    }

    /**
     * A topic that has more segments than another cluster allows is left alone, and all say why layouts stay apart.
     * Messages go on in both directions, cut where they must be. With a larger cap all have the same layout.
     */
    @Test
    void whatIsLargerAlreadyIsLeftAlone() throws Exception {
        String ns = "trouble/twenty";
        String t = p.strangers(ns, 20, 1, 1);
        List<Integer> twenty = Layouts.starts(p.a, t);
        assertThat(twenty).hasSize(20);
        for (Cluster x : List.of(p.b, p.c)) {
            Federation.replicate(x, ns, Set.of(p.b.name, p.c.name));
        }
        awaitCaps(List.of(p.b, p.c), t, CAP); // a fold asks no cluster that has not been heard yet
        for (Cluster x : p.all) {
            Federation.replicate(x, ns, Set.of(p.a.name, p.b.name, p.c.name));
        }
        List<Rise> coarse = List.of(new Rise(p.b, p.a, "rebatched"), new Rise(p.c, p.a, "rebatched"));
        try (Traffics load = p.load(t, 300, p.a, p.b, p.c)) {
            awaitCaps(p.all, t, CAP);
            await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(() -> {
                for (Cluster x : List.of(p.b, p.c)) {
                    assertThat(peer(x, t, p.a).path("refused").asText()).as("A's layout, at %s", x.name)
                            .isEqualTo("layout: beyond the caps: 20 segments, 8 allowed");
                    assertThat(peer(p.a, t, x).path("declined").asText()).as("the same at A, of %s", x.name)
                            .isEqualTo("layout: beyond the caps: 20 segments, 8 allowed");
                }
            });
            long first = id(active(p.a, t, 0));
            assertThat(catching(() -> p.a.admin().scalableTopics().splitSegment(t, first)))
                    .contains("21 segments, 8 allowed");
            load.more(600);
            load.finish();
        }
        p.assertCopiedEverywhere(t);
        assertThat(coarse).as("what is cut for A").allMatch(r -> r.of("rebatched") > 0);
        assertThat(Layouts.starts(p.a, t)).isEqualTo(twenty);
        assertThat(p.epochs(t)).as("nobody has changed anything").containsExactly(0L, 0L, 0L);

        p.c.admin().namespaces().setScalableTopicAutoScalePolicy(ns,
                AutoScalePolicyOverride.builder().maxSegments(64).build());
        p.awaitStarts(t, twenty.toArray(Integer[]::new));
        p.awaitQuiet(t);
        awaitCaps(p.all, t, 64);
        assertThat(p.epochs(t)).as("one pass").containsExactly(0L, 1L, 1L);
        for (Cluster x : p.all) {
            Trio.status(x, t).path("peers").forEach(peer -> {
                assertThat(peer.path("refused").asText()).isEmpty();
                assertThat(peer.path("declined").asText()).isEmpty();
            });
        }
        List<Rise> after = p.rises("rebatched");
        try (Traffics load = p.load(t, 300, p.a, p.b, p.c)) {
            load.more(200);
            load.finish();
        }
        p.assertCopiedEverywhere(t);
        assertThat(Trio.sum(after, "rebatched")).isZero();
    }

    /** Waits until these clusters know how many segments all together allow. */
    private static void awaitCaps(List<Cluster> clusters, String topic, int segments) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (Cluster x : clusters) {
                assertThat(Trio.status(x, topic).path("effectiveCaps").path("maxSegments").asInt()).as(x.name)
                        .isEqualTo(segments);
            }
        });
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

    // ------------------------------------------------------------------ merges that are thought better of

    /**
     * C agrees to a merge and takes that back when the others have merged already, which nobody could tell it: they
     * split again, and that is all that happens.
     */
    @Test
    void aMergeIsUndoneByWhoNeedsTheBoundary() throws Exception {
        String t = p.topic("trouble/second-thoughts", 1, 1, 1);
        try (Traffics load = p.load(t, 200, p.a, p.b, p.c)) {
            p.a.admin().scalableTopics().splitSegment(t, 0);
            p.awaitStarts(t, 0, 0x8000);
            assertThat(merge(p.c, t, 0x8000).status()).isEqualTo(202);
            awaitCold(p.a, t, p.c, 0x8000);
            awaitCold(p.b, t, p.c, 0x8000);
            try {
                loseTheWayTo(p.c, p.a, p.b);
                assertThat(merge(p.a, t, 0x8000).status()).isEqualTo(202);
                merge(p.b, t, 0x8000);
                Trio.awaitStarts(List.of(p.a, p.b), t, 0);
                assertThat(Layouts.starts(p.c, t)).as("it knows of nobody else who agrees").contains(0x8000);
                load.more(100);
                Http.Answer back = cancelMark(p.c, t, 0x8000);
                assertThat(back.status()).as(back.body()).isEqualTo(200);
                p.awaitStarts(t, 0, 0x8000);
            } finally {
                p.introduce();
            }
            load.more(200);
            p.awaitStarts(t, 0, 0x8000);
            load.finish();
        }
        p.awaitQuiet(t);
        assertThat(p.epochs(t)).as("split, merged, split; at C split").containsExactly(3L, 3L, 1L);
        for (Cluster x : p.all) {
            assertThat(Layouts.merged(x, t)).as("merges at %s", x.name).hasSize(x == p.c ? 0 : 1);
            assertThat(Layouts.stored(x, t).getProperties()).as(x.name).doesNotContainKey("georep.marks");
        }
        p.assertCopiedEverywhere(t);
    }

    /** These clusters cannot call the other one any more; it can call them. */
    private static void loseTheWayTo(Cluster to, Cluster... from) throws Exception {
        int nobody;
        try (ServerSocket s = new ServerSocket(0)) {
            nobody = s.getLocalPort();
        }
        for (Cluster x : from) {
            x.admin().clusters().updateCluster(to.name, ClusterData.builder().serviceUrl("http://127.0.0.1:" + nobody)
                    .brokerServiceUrl(to.broker.getBrokerServiceUrl()).build());
        }
    }

    /** The policies decide: a mark goes when its cluster is warm again, and a merge is undone where it gets hot. */
    @Test
    void policiesAgreeAndThinkBetterOfIt() throws Exception {
        String ns = "trouble/policy";
        String t = p.strangers(ns, 1, 1, 1);
        for (Cluster x : p.all) {
            x.admin().namespaces().setScalableTopicAutoScalePolicy(ns, AutoScalePolicyOverride.builder().enabled(true)
                    .mergeWindowSeconds(0L).mergeCooldownSeconds(0L).splitCooldownSeconds(0L).build());
        }
        Federation.of(ns, p.a, p.b, p.c);
        ServiceConfiguration conf = p.a.broker.getConfiguration();
        double hot = 2 * conf.getScalableTopicSplitMsgRateInThreshold();
        double warm = conf.getScalableTopicSplitMsgRateInThreshold() - 1;
        try (Traffics load = p.load(t, 100, p.a, p.b, p.c)) {
            p.a.admin().scalableTopics().splitSegment(t, 0);
            p.awaitStarts(t, 0, 0x8000);
            loaded(p.a, t, 0);
            loaded(p.b, t, 0);
            loaded(p.c, t, warm);
            awaitCold(p.c, t, p.a, 0x8000);
            awaitCold(p.c, t, p.b, 0x8000);
            assertThat(dissent(p.a, t)).contains(p.c.name);
            loaded(p.a, t, warm);
            awaitCold(p.c, t, p.a);
            awaitCold(p.b, t, p.a);
            loaded(p.c, t, 0);
            awaitCold(p.a, t, p.c, 0x8000);
            load.more(100);
            assertThat(p.epochs(t)).as("A has thought better of it").containsExactly(1L, 1L, 1L);
            loaded(p.a, t, 0);
            p.awaitStarts(t, 0);
            loaded(p.c, t, hot);
            p.awaitStarts(t, 0, 0x8000);
            load.more(300);
            load.finish();
        }
        p.awaitQuiet(t);
        assertThat(p.epochs(t)).as("split, merged, split").containsExactly(3L, 3L, 3L);
        for (Cluster x : p.all) {
            assertThat(Layouts.merged(x, t)).as("merges at %s", x.name).hasSize(1);
        }
        p.assertCopiedEverywhere(t);
    }

    /** What the brokers of a cluster report of all segments that are active now. */
    private static void loaded(Cluster x, String topic, double messagesPerSecond) throws Exception {
        ScalableTopicResources r = x.broker.getPulsarResources().getScalableTopicResources();
        for (SegmentInfo s : Layouts.stored(x, topic).getSegments().values()) {
            if (s.isActive()) {
                r.reportSegmentLoadAsync(TopicName.get(topic), s.segmentId(),
                        new SegmentLoadStats(messagesPerSecond, 0, 0, 0)).get();
            }
        }
    }

    // ------------------------------------------------------------------ a cluster that is dead

    /**
     * With C dead, a new leader's split waits for it, and gives up the waiting before the wish gives up; B follows. A
     * merge that A and B have marked waits on, and A says for whom. C follows when it is back, and has its say.
     */
    @Test
    void aDeadPeerHoldsUpNobodysSplit() throws Exception {
        String t = p.topic("trouble/dead", 4, 4, 4);
        Publish.v5(p.c, t, 0, 100, 10);
        assertCopied(p.c, p.a, t);
        assertCopied(p.c, p.b, t);
        p.awaitQuiet(t);
        try (Traffics load = p.load(t, 100, p.a, p.b)) {
            load.more(100);
            p.c.crash();
            long term = Layouts.term(p.a, t);
            p.a.broker.getBrokerService().getScalableTopicService().releaseController(TopicName.get(t)).get();
            CompletableFuture<?> split = p.a.controller(t).splitSegment(id(active(p.a, t, 0)));
            assertThat(Layouts.term(p.a, t)).as("there is a new leader").isGreaterThan(term);
            await().atMost(Duration.ofSeconds(30)).untilAsserted(() ->
                    assertThat(Trio.status(p.a, t).path("awaits").asText()).isEqualTo(p.c.name));
            for (Cluster x : List.of(p.a, p.b)) {
                assertThat(merge(x, t, 0xc000).status()).as("a mark at %s", x.name).isEqualTo(202);
            }
            await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
                assertThat(dissent(p.a, t)).containsExactly(p.c.name);
                assertThat(dissent(p.b, t)).containsExactly(p.c.name);
                assertThat(peer(p.a, t, p.c).path("known").asBoolean()).isFalse();
                assertThat(peer(p.a, t, p.c).path("trouble").asText()).isNotEmpty();
            });
            assertThat(split).as("waits").isNotDone();
            split.get(90, TimeUnit.SECONDS);
            Trio.awaitStarts(List.of(p.a, p.b), t, 0, 0x2000, 0x4000, 0x8000, 0xc000);
            load.more(100);
            assertThat(Trio.status(p.a, t).path("awaits").asText()).isEmpty();
            assertThat(dissent(p.a, t)).as("merges wait without an end").containsExactly(p.c.name);
            p.c.startAgain();
            p.introduce();
            p.awaitStarts(t, 0, 0x2000, 0x4000, 0x8000, 0xc000);
            assertThat(merge(p.c, t, 0xc000).status()).isEqualTo(202);
            p.awaitStarts(t, 0, 0x2000, 0x4000, 0x8000);
            load.more(100);
            load.finish();
        }
        p.awaitQuiet(t);
        for (Cluster x : p.all) {
            assertThat(Layouts.merged(x, t)).as("merged once at %s", x.name).hasSize(1);
        }
        p.assertCopiedEverywhere(t);
    }
}
