// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import georep.it.ExchangeProxy.Fate;
import georep.it.ExchangeProxy.Held;
import georep.plugin.control.PeerExchange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.StreamSupport;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Calls between controllers are lost, refused, held up, repeated, overtaken and cut in one direction, under load on
 * both sides: layouts meet all the same, once, and no message is lost, repeated or out of order.
 */
@Tag("slow")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class ExchangeProxyTest {
    private static final long SEED = 495;
    private static final Fate[] DECK = {Fate.PASS, Fate.PASS, Fate.PASS, Fate.LOSE, Fate.REFUSE, Fate.LOSE_ANSWER,
        Fate.REPEAT, Fate.HOLD, Fate.HOLD_ANSWER, Fate.OVERTAKE};
    private static final ObjectMapper JSON = new ObjectMapper();

    private final List<Traffic> load = new ArrayList<>();
    private Cluster a;
    private Cluster b;
    private ExchangeProxy toA;
    private ExchangeProxy toB;

    @BeforeEach
    void start() throws Exception {
        a = quick("cluster-a").dedup(false).start(Dirs.fresh());
        b = quick("cluster-b").dedup(true).start(Dirs.fresh());
        List<ExchangeProxy> proxies = ExchangeProxy.before(a, b);
        toA = proxies.get(0);
        toB = proxies.get(1);
        Federation.introduce(a, b);
        Federation.register(a, b.name, behind(toB, b));
        Federation.register(b, a.name, behind(toA, a));
        Federation.create(SourcePair.NS, a, b);
        for (Cluster c : List.of(a, b)) {
            Federation.replicate(c, SourcePair.NS, Federation.names(a, b));
        }
    }

    private static ClusterSpec quick(String name) {
        return ClusterSpec.named(name).key("georepAntiEntropySeconds", 1).key("georepPushRetryMillis", 100)
                .key("georepPushRetryMaxSeconds", 1);
    }

    /** Its web port is the proxy's, entries go their own way. */
    private static ClusterData behind(ExchangeProxy proxy, Cluster c) {
        return ClusterData.builder().serviceUrl(proxy.url()).brokerServiceUrl(c.broker.getBrokerServiceUrl()).build();
    }

    @AfterEach
    void stop() throws Exception {
        for (Traffic t : load) {
            t.close();
        }
        toA.close();
        toB.close();
        a.close();
        b.close();
    }

    // ------------------------------------------------------------------ what the tests ask

    private String topic(String name) throws Exception {
        String t = "topic://" + SourcePair.NS + "/" + name;
        Federation.topic(t, 1, a, b);
        awaitQuiet(t);
        load.add(Traffic.start(a, t, 50, 0, 500));
        load.add(Traffic.start(b, t, 50, 10_000_000, 500));
        more();
        return t;
    }

    private void more() {
        load.forEach(t -> t.more(200));
    }

    private void assertAllCopied(String topic) throws Exception {
        for (Traffic t : load) {
            t.more(200);
            t.finish();
        }
        assertCopied(a, b, topic);
        assertCopied(b, a, topic);
    }

    private void awaitStarts(String topic, Collection<Integer> any) {
        Set<Integer> starts = new TreeSet<>(any);
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            assertThat(Layouts.starts(a, topic)).as("layout of A").containsExactlyElementsOf(starts);
            assertThat(Layouts.starts(b, topic)).as("layout of B").containsExactlyElementsOf(starts);
        });
    }

    /** What a cluster's leader says of the other cluster, by the status call. */
    private static JsonNode peer(Cluster c, String topic) throws Exception {
        return Http.get(c.broker, "/admin/v2/scalable-repl/status/" + topic.substring("topic://".length()), null).json()
                .path("convergence").path("peers").path(0);
    }

    /** Both know that both have the same layout, and nothing has gone wrong since. */
    private void awaitQuiet(String topic) {
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (Cluster c : List.of(a, b)) {
                assertAgreed(c, topic);
            }
        });
    }

    private void assertAgreed(Cluster c, String topic) throws Exception {
        JsonNode peer = peer(c, topic);
        assertThat(peer.path("known").asBoolean()).as("%s", peer).isTrue();
        assertThat(peer.path("diverged")).as("%s", peer).isEmpty();
        assertThat(peer.path("cold")).as("%s", peer).isEmpty();
        assertThat(peer.path("trouble").asText()).as("%s", peer).isEmpty();
        assertThat(peer.path("failures").asInt()).as("%s", peer).isZero();
        assertThat(peer.path("epoch").asLong()).as("%s", peer)
                .isEqualTo(Layouts.stored(c == a ? b : a, topic).getEpoch());
        assertThat(peer.path("acknowledgedEpoch").asLong()).as("%s", peer)
                .isEqualTo(Layouts.stored(c, topic).getEpoch());
    }

    /** Calls that a cluster has made and that were answered, as it counts them. */
    private static long calls(Cluster c) {
        return PeerExchange.of(c.plugin()).status().path("peers").path(0).path("calls").asLong();
    }

    private static CompletableFuture<?> split(Cluster c, String topic, int hash) throws Exception {
        return c.admin().scalableTopics().splitSegmentAsync(topic, id(active(c, topic, hash)));
    }

    /** Wanted on both; the second one may find it done already. */
    private void merge(String t, int boundary) throws Exception {
        for (Cluster c : List.of(a, b)) {
            Http.Answer asked = Http.post(c.broker, "/admin/v2/scalable/" + t.substring("topic://".length()) + "/merge/"
                    + id(active(c, t, boundary - 1)) + "/" + id(active(c, t, boundary)), null, "");
            assertThat(asked.status()).as(asked.body()).isEqualTo(202);
        }
    }

    private static int merges(Cluster c, String topic) throws Exception {
        return (int) Layouts.stored(c, topic).getSegments().values().stream().filter(s -> s.parentIds().size() > 1)
                .count();
    }

    private void plan(IntFunction<Supplier<Fate>> plan) {
        toA.plan(plan.apply(0));
        toB.plan(plan.apply(1));
    }

    private static JsonNode state(String request) throws Exception {
        return JSON.readTree(request).path("states").path(0);
    }

    private static List<Integer> starts(String request) throws Exception {
        return StreamSupport.stream(state(request).path("shape").path("segments").spliterator(), false)
                .map(s -> s.path("start").asInt()).toList();
    }

    private static String code(String response) throws Exception {
        return JSON.readTree(response).path("answers").path(0).path("code").asText();
    }

    // ------------------------------------------------------------------ tests

    /**
     * Splits on both clusters, also of the same segment, and then a merge, while nobody knows what becomes of a call.
     * Before each change a call is on its way in each direction, which arrives when what it says is no longer true.
     */
    @Test
    void layoutsMeetWhateverBecomesOfTheCalls() throws Exception {
        String t = topic("weather");
        plan(n -> ExchangeProxy.dealt(SEED + n, DECK));
        Set<Integer> join = new TreeSet<>(Set.of(0));
        int[][] rounds = {{0, 0, 0x8000}, {0, 0xffff, 0x4000, 0xc000}, {0xffff, 0, 0xe000, 0x2000},
            {0x8000, 0x8000, 0xa000}};
        for (int[] r : rounds) {
            awaitOldCalls();
            CompletableFuture<?> one = split(a, t, r[0]);
            CompletableFuture<?> other = split(b, t, r[1]);
            CompletableFuture.allOf(one, other).handle((x, e) -> null).get(60, TimeUnit.SECONDS);
            if (r[0] != r[1]) { // of the same segment one may come too late
                assertThat(one).isCompleted();
                assertThat(other).isCompleted();
            }
            for (int i = 2; i < r.length; i++) {
                join.add(r[i]);
            }
            awaitStarts(t, join);
            more();
        }
        awaitOldCalls();
        merge(t, 0xe000);
        join.remove(0xe000);
        awaitStarts(t, join);
        await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
            for (Fate f : EnumSet.allOf(Fate.class)) {
                assertThat(toA.count(f)).as("%s towards A", f).isPositive();
                assertThat(toB.count(f)).as("%s towards B", f).isPositive();
            }
        });
        plan(n -> () -> Fate.PASS);
        awaitQuiet(t);
        assertAllCopied(t);
        awaitStarts(t, join);
        for (Cluster c : List.of(a, b)) {
            assertThat(merges(c, t)).as("merges of %s", c.name).isEqualTo(1);
            assertThat(Layouts.sealed(c, t)).as("cut once each, and two of them merged at %s", c.name).hasSize(8);
        }
        for (ExchangeProxy p : List.of(toA, toB)) {
            for (String answer : p.late()) {
                assertThat(code(answer)).as(answer).isEqualTo("CONVERGE_CODE_STALE");
            }
        }
        assertThat(calls(a)).as("calls that came by").isBetween(1L, (long) toB.answered());
        assertThat(calls(b)).as("calls that came by").isBetween(1L, (long) toA.answered());
    }

    private void awaitOldCalls() {
        await().atMost(Duration.ofSeconds(60)).until(() -> toA.toBeOvertaken() > 0 && toB.toBeOvertaken() > 0);
    }

    /** What A wants to tell B does not arrive; B's calls do, and their answers. */
    @Test
    void oneDirectionIsCut() throws Exception {
        String t = topic("cut");
        toB.plan(() -> Fate.LOSE);
        await().atMost(Duration.ofSeconds(30)).until(() -> toB.count(Fate.LOSE) > 0);
        long answered = calls(a);
        split(a, t, 0).get(60, TimeUnit.SECONDS);
        awaitStarts(t, List.of(0, 0x8000));
        split(b, t, 0).get(60, TimeUnit.SECONDS);
        awaitStarts(t, List.of(0, 0x4000, 0x8000));
        merge(t, 0x4000);
        awaitStarts(t, List.of(0, 0x8000));
        more();
        await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
            JsonNode cut = peer(a, t);
            assertThat(cut.path("trouble").asText()).as("%s", cut).isNotEmpty();
            assertThat(cut.path("failures").asInt()).as("%s", cut).isPositive();
            assertThat(cut.path("acknowledgedEpoch").asLong()).as("%s", cut).isZero();
            assertThat(cut.path("support").asText()).as("%s", cut).isEqualTo("supported");
            assertThat(cut.path("diverged")).as("%s", cut).isEmpty();
            assertAgreed(b, t);
        });
        assertThat(Command.built().run("status", t, "--admin-url", a.adminUrl()).out())
                .contains("layout and cluster-b's: the same in 2 ranges").contains("last trouble: ");
        assertThat(Command.built().run("status", t, "--admin-url", b.adminUrl()).out())
                .contains("layout and cluster-a's: the same in 2 ranges").doesNotContain("last trouble: ");
        assertThat(calls(a)).as("answers since the cut").isEqualTo(answered);
        toB.plan(() -> Fate.PASS);
        awaitQuiet(t);
        assertThat(peer(a, t).path("acknowledgedEpoch").asLong()).isEqualTo(3);
        assertAllCopied(t);
        for (Cluster c : List.of(a, b)) {
            assertThat(merges(c, t)).as("merges of %s", c.name).isEqualTo(1);
            assertThat(Layouts.sealed(c, t)).as(c.name).hasSize(4);
        }
    }

    /** A's call says that there is a boundary, which both have given up when it arrives; one of B's arrives again. */
    @Test
    void whatArrivesLateChangesNothing() throws Exception {
        String t = topic("late");
        String first = toB.last();
        assertThat(starts(first)).containsExactly(0);
        split(a, t, 0).get(60, TimeUnit.SECONDS);
        awaitStarts(t, List.of(0, 0x8000));
        awaitQuiet(t);
        Held held = toB.holdNext();
        assertThat(starts(held.came().get(30, TimeUnit.SECONDS))).containsExactly(0, 0x8000);
        String ofB = toA.last();
        assertThat(starts(ofB)).containsExactly(0, 0x8000);
        merge(t, 0x8000);
        awaitStarts(t, List.of(0));
        more();
        List<Object> before = stored(t);
        assertThat(code(held.open().get(30, TimeUnit.SECONDS))).isEqualTo("CONVERGE_CODE_STALE");
        for (String old : List.of(first, held.came().get(), held.came().get())) {
            assertThat(code(toB.again(old))).isEqualTo("CONVERGE_CODE_STALE");
        }
        assertThat(code(toA.again(ofB))).isEqualTo("CONVERGE_CODE_STALE");
        awaitCalls();
        awaitQuiet(t);
        assertThat(stored(t)).as("epochs, segments and properties").isEqualTo(before);
        for (Cluster c : List.of(a, b)) {
            assertThat(Layouts.sealed(c, t)).as(c.name).hasSize(3);
        }
        split(b, t, 0).get(60, TimeUnit.SECONDS);
        awaitStarts(t, List.of(0, 0x8000));
        assertThat(code(toB.again(held.came().get()))).isEqualTo("CONVERGE_CODE_STALE");
        awaitQuiet(t);
        assertAllCopied(t);
    }

    private List<Object> stored(String topic) throws Exception {
        return List.of(Layouts.stored(a, topic), Layouts.stored(b, topic));
    }

    /** Some more calls in each direction: what was to follow from earlier ones has followed. */
    private void awaitCalls() {
        int atA = toA.count(Fate.PASS);
        int atB = toB.count(Fate.PASS);
        await().atMost(Duration.ofSeconds(30)).until(() -> toA.count(Fate.PASS) > atA + 2
                && toB.count(Fate.PASS) > atB + 2);
    }
}
