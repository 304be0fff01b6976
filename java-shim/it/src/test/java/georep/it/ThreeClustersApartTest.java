// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.id;
import static georep.it.Trio.merge;
import static georep.it.Trio.peer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.ExchangeProxy.Fate;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Three clusters of which one leaves and comes back, or two cannot call each other; the others go on. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 200, unit = TimeUnit.SECONDS)
class ThreeClustersApartTest {
    /** Messages of C's while it is alone. */
    private static final int ALONE = 100;
    private static final int ALONE_KEYS = 10;

    private Trio p;

    @BeforeAll
    void start() throws Exception {
        p = Trio.start(s -> s.key("georepAntiEntropySeconds", 1).key("georepPushRetryMillis", 100)
                .key("georepPushRetryMaxSeconds", 1).with(c -> c.setReplicationStartAt("Latest")), s -> s);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    // ------------------------------------------------------------------ one leaves

    /**
     * C leaves and comes back while A and B publish, split and merge, for which they ask it no more. It meets them
     * anew, with a shape of its own; of their messages it lacks those that they stored without it, and no others.
     */
    @Test
    void aClusterLeavesAndComesBackUnderLoad() throws Exception {
        String ns = "apart/leave";
        String t = p.topic(ns, 1, 1, 1);
        p.awaitQuiet(t);
        try (Traffics before = p.load(t, 300, p.a, p.b, p.c)) {
            before.more(300);
            before.finish();
        }
        p.awaitQuiet(t);
        p.assertCopiedEverywhere(t);
        try (Traffics load = p.load(t, 300, p.a, p.b)) {
            leave(ns, t);
            Publish.v5(p.c, t, 0, ALONE, ALONE_KEYS);
            splitAndMergeWithoutC(t, load);
            p.c.admin().scalableTopics().splitSegment(t, 0);
            p.c.admin().scalableTopics().splitSegment(t, id(active(p.c, t, 0)));
            assertThat(Layouts.starts(p.c, t)).as("nobody tells it anything").containsExactly(0, 0x4000, 0x8000);
            assertThat(Layouts.starts(p.a, t)).as("nor it them").containsExactly(0, 0x8000);

            comeBack(ns, t);
            load.more(4 * Trio.KEYS);
            p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0xffff)));
            p.awaitStarts(t, 0, 0x4000, 0x8000, 0xc000);
            int back = p.nextNumber();
            try (Traffics after = p.load(t, 300, p.a, p.b, p.c)) {
                after.more(200);
                p.c.admin().scalableTopics().splitSegment(t, id(active(p.c, t, 0xffff)));
                p.awaitStarts(t, 0, 0x4000, 0x8000, 0xc000, 0xe000);
                after.more(200);
                after.finish();
            }
            load.finish();
            p.awaitQuiet(t);
            SourcePair.assertCopied(p.a, p.b, t);
            SourcePair.assertCopied(p.b, p.a, t);
            for (Cluster x : List.of(p.a, p.b)) {
                assertThat(lacksOnly(x, p.c, t, load.first(x), back)).as("keys that go on").hasSize(Trio.KEYS);
                assertThat(lacksOnly(p.c, x, t, 0, ALONE)).as("keys that go on").hasSize(ALONE_KEYS);
            }
        }
    }

    private void leave(String ns, String t) throws Exception {
        for (Cluster x : List.of(p.a, p.b)) {
            Federation.replicate(x, ns, Set.of(p.a.name, p.b.name));
        }
        Federation.stop(p.c, ns);
        await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(() -> {
            for (Cluster x : List.of(p.a, p.b)) {
                assertThat(Trio.status(x, t).path("peers")).as(x.name).hasSize(1);
                assertThat(SourcePair.backlogs(x, t, p.c.name)).as("no replicators").containsOnly(-1L);
                assertThat(SourcePair.backlogs(p.c, t, x.name)).as("no replicators").containsOnly(-1L);
            }
            assertThat(p.c.controller(t).convergence().on()).isFalse();
        });
    }

    private void comeBack(String ns, String t) throws Exception {
        for (Cluster x : p.all) {
            Federation.replicate(x, ns, Set.of(p.a.name, p.b.name, p.c.name));
        }
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (Cluster x : List.of(p.a, p.b)) {
                assertThat(SourcePair.backlogs(x, t, p.c.name)).as("%s to C", x.name).doesNotContain(-1L);
                assertThat(SourcePair.backlogs(p.c, t, x.name)).as("C to %s", x.name).doesNotContain(-1L);
            }
        });
        p.awaitStarts(t, 0, 0x4000, 0x8000);
    }

    private void splitAndMergeWithoutC(String t, Traffics load) throws Exception {
        List<Cluster> both = List.of(p.a, p.b);
        p.a.admin().scalableTopics().splitSegment(t, 0);
        Trio.awaitStarts(both, t, 0, 0x8000);
        load.more(100);
        p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0xffff)));
        Trio.awaitStarts(both, t, 0, 0x8000, 0xc000);
        load.more(100);
        for (Cluster x : both) {
            assertThat(merge(x, t, 0xc000).status()).isEqualTo(202);
        }
        Trio.awaitStarts(both, t, 0, 0x8000);
        load.more(100);
    }

    /**
     * What came is there once and in the order per key as at the source. What did not come has numbers in a range, and
     * of each key it is one run: from one message on all are there. Returns the keys that go on so behind a run.
     */
    private static Set<String> lacksOnly(Cluster from, Cluster to, String topic, int first, int end) throws Exception {
        StoredMessages source = StoredMessages.of(from, topic);
        StoredMessages.Difference d = StoredMessages.compare(source, StoredMessages.of(to, topic), from.name);
        String what = from.name + "'s at " + to.name;
        assertThat(d.duplicates()).as("%s twice", what).isZero();
        assertThat(d.disorder()).as("%s out of order", what).isEmpty();
        assertThat(d.foreign()).as("%s of nobody", what).isZero();
        assertThat(d.lost()).as("%s lacking", what).isNotEmpty().allMatch(n -> first <= n && n < end);
        Set<String> lacking = new HashSet<>();
        Set<String> goOn = new HashSet<>();
        for (StoredMessages.Message m : source.from("")) {
            if (d.lost().contains(m.number())) {
                lacking.add(m.key());
                assertThat(goOn).as("%s: %s lacks between others", what, m).doesNotContain(m.key());
            } else if (lacking.contains(m.key())) {
                goOn.add(m.key());
            }
        }
        return goOn;
    }

    // ------------------------------------------------------------------ two cannot call each other

    /**
     * A's calls to B are lost, then B's to A as well. Both say so of each other and nobody of C, which follows A as
     * before; through it so do A and B each other. Messages, which go another way, all arrive.
     */
    @Test
    void twoCannotCallEachOther() throws Exception {
        String t = p.topic("apart/cut", 1, 1, 1);
        List<ExchangeProxy> proxies = ExchangeProxy.before(p.a, p.b);
        try (ExchangeProxy toA = proxies.get(0); ExchangeProxy toB = proxies.get(1)) {
            Federation.register(p.a, p.b.name, behind(toB, p.b));
            Federation.register(p.b, p.a.name, behind(toA, p.a));
            await().atMost(Duration.ofSeconds(30)).until(() -> toA.answered() > 0 && toB.answered() > 0);
            p.awaitQuiet(t);
            try (Traffics load = p.load(t, 300, p.a, p.b, p.c)) {
                cut(toB);
                p.a.admin().scalableTopics().splitSegment(t, 0);
                p.awaitStarts(t, 0, 0x8000);
                load.more(100);
                assertCut(p.a, p.b, t);
                assertFine(t, p.a, p.c);
                assertFine(t, p.c, p.a);
                assertFine(t, p.c, p.b);
                assertFine(t, p.b, p.a);
                assertFine(t, p.b, p.c);

                cut(toA);
                p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0)));
                p.awaitStarts(t, 0, 0x4000, 0x8000);
                p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0xffff)));
                p.awaitStarts(t, 0, 0x4000, 0x8000, 0xc000);
                load.more(100);
                assertCut(p.a, p.b, t);
                assertCut(p.b, p.a, t);
                for (Cluster x : List.of(p.a, p.b)) {
                    assertFine(t, x, p.c);
                    assertFine(t, p.c, x);
                }
                toA.plan(() -> Fate.PASS);
                toB.plan(() -> Fate.PASS);
                for (Cluster x : p.all) {
                    p.all.stream().filter(of -> of != x).forEach(of -> assertFine(t, x, of));
                }
                load.more(100);
                load.finish();
            }
        } finally {
            p.introduce();
        }
        p.awaitQuiet(t);
        assertThat(p.epochs(t)).as("each split once").containsExactly(3L, 3L, 3L);
        p.assertCopiedEverywhere(t);
    }

    /** Its web port is the proxy's, entries go their own way. */
    private static ClusterData behind(ExchangeProxy proxy, Cluster c) {
        return ClusterData.builder().serviceUrl(proxy.url()).brokerServiceUrl(c.broker.getBrokerServiceUrl()).build();
    }

    /** From now on calls are lost on their way; one has been. */
    private static void cut(ExchangeProxy proxy) {
        int lost = proxy.count(Fate.LOSE);
        proxy.plan(() -> Fate.LOSE);
        await().atMost(Duration.ofSeconds(30)).until(() -> proxy.count(Fate.LOSE) > lost);
    }

    /** One says that its calls to the other fail and that the other has not followed its layout, as it knows. */
    private static void assertCut(Cluster at, Cluster of, String topic) {
        await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(() -> {
            JsonNode cut = peer(at, topic, of);
            assertThat(cut.path("trouble").asText()).as("%s of %s", at.name, cut).isNotEmpty();
            assertThat(cut.path("failures").asInt()).as("%s of %s", at.name, cut).isPositive();
            assertThat(cut.path("acknowledgedEpoch").asLong()).as("%s of %s", at.name, cut)
                    .isLessThan(Layouts.stored(at, topic).getEpoch());
            assertThat(cut.path("support").asText()).as("%s of %s", at.name, cut).isEqualTo("supported");
        });
    }

    /** One knows that the other has followed its layout, and of no trouble. */
    private static void assertFine(String topic, Cluster at, Cluster of) {
        await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(() -> {
            JsonNode fine = peer(at, topic, of);
            assertThat(fine.path("trouble").asText()).as("%s of %s", at.name, fine).isEmpty();
            assertThat(fine.path("failures").asInt()).as("%s of %s", at.name, fine).isZero();
            assertThat(fine.path("diverged")).as("%s of %s", at.name, fine).isEmpty();
            assertThat(fine.path("acknowledgedEpoch").asLong()).as("%s of %s", at.name, fine)
                    .isEqualTo(Layouts.stored(at, topic).getEpoch());
        });
    }
}
