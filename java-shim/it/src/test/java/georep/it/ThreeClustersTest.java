// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static georep.it.Trio.awaitCold;
import static georep.it.Trio.merge;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import georep.it.SourcePair.Rise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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
    private Trio p;

    @BeforeAll
    void start() throws Exception {
        p = Trio.start(s -> s, s -> s);
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    /** Layouts that never met: one pass of explicit splits each; then splits on two at once, and a merge of all. */
    @Test
    void unrelatedLayoutsThenSplitsThenAMerge() throws Exception {
        String t = p.topic("three/met", 2, 3, 1);
        try (Traffics load = p.load(t, 1000, p.a, p.b, p.c)) {
            p.awaitStarts(t, 0, 0x5555, 0x8000, 0xaaaa);
            for (Cluster x : p.all) {
                assertThat(Layouts.sealed(x, t).size()).as("cuts of %s", x.name).isLessThanOrEqualTo(3);
            }
            CompletableFuture.allOf(split(p.a, t, 0), split(p.b, t, 0xffff)).get(60, TimeUnit.SECONDS);
            p.awaitStarts(t, 0, 0x2aab, 0x5555, 0x8000, 0xaaaa, 0xd555);
            assertThat(merge(p.a, t, 0x2aab).status()).isEqualTo(202);
            assertThat(merge(p.b, t, 0x2aab).status()).isEqualTo(202);
            awaitCold(p.c, t, p.a, 0x2aab);
            awaitCold(p.c, t, p.b, 0x2aab);
            load.more(300);
            assertThat(Layouts.starts(p.a, t)).as("C has not agreed").contains(0x2aab);
            merge(p.c, t, 0x2aab);
            p.awaitStarts(t, 0, 0x5555, 0x8000, 0xaaaa, 0xd555);
            assertThat(merge(p.a, t, 0xaaaa).status()).as("no halves of one split").isEqualTo(412);
            load.more(300);
            load.finish();
        }
        p.assertCopiedEverywhere(t);
        for (Cluster x : p.all) {
            assertThat(Layouts.merged(x, t)).as("merged once at %s", x.name).hasSize(1);
        }
    }

    private static CompletableFuture<?> split(Cluster x, String topic, int hash) throws Exception {
        return x.admin().scalableTopics().splitSegmentAsync(topic, id(active(x, topic, hash)));
    }

    /**
     * All split at once: first the segment that all have, which is cut once at each, whoever is first; then each one
     * another segment, and all have all cuts.
     */
    @Test
    void allSplitAtOnce() throws Exception {
        String t = p.topic("three/once", 1, 1, 1);
        p.awaitQuiet(t);
        try (Traffics load = p.load(t, 500, p.a, p.b, p.c)) {
            load.more(100);
            List<CompletableFuture<?>> same = new ArrayList<>();
            for (Cluster x : p.all) {
                same.add(split(x, t, 0));
            }
            CompletableFuture.allOf(same.toArray(CompletableFuture[]::new)).handle((x, e) -> null)
                    .get(60, TimeUnit.SECONDS);
            assertThat(same).as("one has split; another's may have come too late").anyMatch(f ->
                    !f.isCompletedExceptionally());
            p.awaitStarts(t, 0, 0x8000);
            assertThat(p.epochs(t)).as("the same cut is made once").containsExactly(1L, 1L, 1L);
            load.more(100);
            List<CompletableFuture<?>> others = List.of(split(p.a, t, 0), split(p.b, t, 0xffff));
            CompletableFuture.allOf(others.toArray(CompletableFuture[]::new)).get(60, TimeUnit.SECONDS);
            p.awaitStarts(t, 0, 0x4000, 0x8000, 0xc000);
            load.more(100);
            others = List.of(split(p.a, t, 0), split(p.b, t, 0x4000), split(p.c, t, 0xffff));
            CompletableFuture.allOf(others.toArray(CompletableFuture[]::new)).get(60, TimeUnit.SECONDS);
            p.awaitStarts(t, 0, 0x2000, 0x4000, 0x6000, 0x8000, 0xc000, 0xe000);
            load.more(100);
            load.finish();
        }
        p.awaitQuiet(t);
        for (Cluster x : p.all) {
            assertThat(Layouts.starts(x, t)).containsExactly(0, 0x2000, 0x4000, 0x6000, 0x8000, 0xc000, 0xe000);
            assertThat(Layouts.sealed(x, t)).as("each cut once in two at %s", x.name).hasSize(6)
                    .allMatch(s -> s.childIds().size() == 2);
        }
        p.assertCopiedEverywhere(t);
    }

    /**
     * What one splits all have, and each tells how long that took; from then on 10,000 entries pass between all of
     * them as they are.
     */
    @Test
    void aSplitIsFollowedByAllAndThenNothingIsRebatched() throws Exception {
        String t = p.topic("three/split", 1, 1, 1);
        try (Traffics load = p.load(t, 500, p.a, p.b, p.c)) {
            load.more(300);
            p.a.admin().scalableTopics().splitSegment(t, 0);
            p.awaitStarts(t, 0, 0x8000);
            load.more(300);
            load.finish();
        }
        p.awaitQuiet(t);
        for (Cluster x : List.of(p.b, p.c)) {
            System.out.printf("%s: %d ms from the split's being known to folded in and drained%n", x.name,
                    lagMillis(x, t, p.a));
        }
        List<Rise> rises = p.rises("rebatched", "parts", "verbatim");
        try (Traffics load = p.load(t, 2000, p.a, p.b, p.c)) {
            await().atMost(Duration.ofSeconds(90)).until(() -> Trio.sum(rises, "verbatim") >= 10_000);
            load.finish();
        }
        p.assertCopiedEverywhere(t);
        assertThat(rises).as("entries in every direction").allMatch(r -> r.of("verbatim") > 0);
        assertThat(Trio.sum(rises, "rebatched")).isZero();
        assertThat(Trio.sum(rises, "parts")).isZero();
    }

    /** How long the last difference lasted, once that clock has stopped: it runs until sealed segments are drained. */
    private static long lagMillis(Cluster at, String topic, Cluster of) {
        AtomicLong last = new AtomicLong();
        await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(200)).until(() -> {
            long now = Trio.peer(at, topic, of).path("lagMillis").asLong();
            return last.getAndSet(now) == now && now > 0;
        });
        return last.get();
    }

    /** Those that only receive take the shape of the one that is written to, which takes from them what it lacks. */
    @Test
    void thePassiveFollowTheActive() throws Exception {
        List<Rise> back = List.of(new Rise(p.b, p.a, "verbatim", "rebatched", "parts"),
                new Rise(p.c, p.a, "verbatim", "rebatched", "parts"));
        String t = p.topic("three/passive", 4, 1, 3);
        try (Traffics load = p.load(t, 1000, p.a)) {
            p.awaitStarts(t, 0, 0x4000, 0x5555, 0x8000, 0xaaaa, 0xc000);
            assertThat(Layouts.sealed(p.a, t)).as("what C cuts in two").extracting(s -> s.segmentId())
                    .containsExactly(1L, 2L);
            load.more(500);
            p.a.admin().scalableTopics().splitSegment(t, id(active(p.a, t, 0)));
            p.awaitStarts(t, 0, 0x2000, 0x4000, 0x5555, 0x8000, 0xaaaa, 0xc000);
            load.more(500);
            load.finish();
        }
        p.awaitQuiet(t);
        assertCopied(p.a, p.b, t);
        assertCopied(p.a, p.c, t);
        assertThat(Layouts.stored(p.a, t).getEpoch()).as("a fold and a split of its own").isEqualTo(2);
        for (Rise r : back) {
            for (String counter : List.of("verbatim", "rebatched", "parts")) {
                assertThat(r.of(counter)).as("%s of what was replicated", counter).isZero();
            }
        }
    }

    /** Clusters that meet one after the other: each meeting is one pass, which cuts a segment in all its pieces. */
    @Test
    void threeFourAndFiveSegmentsMeet() throws Exception {
        String ns = "three/meet";
        String t = p.strangers(ns, 3, 4, 5);
        assertThat(Layouts.starts(p.a, t)).containsExactly(0, 0x5555, 0xaaaa);
        assertThat(Layouts.starts(p.b, t)).containsExactly(0, 0x4000, 0x8000, 0xc000);
        assertThat(Layouts.starts(p.c, t)).containsExactly(0, 0x3333, 0x6666, 0x9999, 0xcccc);
        try (Traffics load = p.load(t, 300, p.a, p.b, p.c)) {
            load.more(100);
            for (Cluster x : List.of(p.a, p.b)) {
                Federation.replicate(x, ns, Set.of(p.a.name, p.b.name));
            }
            Trio.awaitStarts(List.of(p.a, p.b), t, 0, 0x4000, 0x5555, 0x8000, 0xaaaa, 0xc000);
            assertThat(p.epochs(t)).containsExactly(1L, 1L, 0L);
            assertThat(Layouts.sealed(p.a, t)).as("each of A's has one of B's boundaries in it").hasSize(3);
            assertThat(Layouts.sealed(p.b, t)).as("two of B's have one of A's").hasSize(2);
            load.more(100);
            for (Cluster x : p.all) {
                Federation.replicate(x, ns, Set.of(p.a.name, p.b.name, p.c.name));
            }
            p.awaitStarts(t, 0, 0x3333, 0x4000, 0x5555, 0x6666, 0x8000, 0x9999, 0xaaaa, 0xc000, 0xcccc);
            load.more(100);
            load.finish();
        }
        p.awaitQuiet(t);
        assertThat(p.epochs(t)).as("one pass for each meeting").containsExactly(2L, 2L, 1L);
        assertThat(Layouts.sealed(p.a, t)).hasSize(3 + 4);
        assertThat(Layouts.sealed(p.b, t)).hasSize(2 + 4);
        assertThat(Layouts.sealed(p.c, t)).as("two of them are cut in three").extracting(s -> s.childIds().size())
                .containsExactly(3, 2, 3);
        p.assertCopiedEverywhere(t);
    }

    /** Neighbours that no split made, and segments that are none, are merged nowhere, and everybody says why. */
    @Test
    void whatIsNoHalvesIsNotMerged() throws Exception {
        String t = p.topic("three/cousins", 1, 1, 1);
        p.a.admin().scalableTopics().splitSegment(t, 0);
        p.awaitStarts(t, 0, 0x8000);
        p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
        p.c.admin().scalableTopics().splitSegment(t, id(active(p.c, t, 0xffff)));
        p.awaitStarts(t, 0, 0x4000, 0x8000, 0xc000);
        List<Long> before = p.epochs(t);
        for (Cluster x : p.all) {
            Http.Answer cousins = merge(x, t, 0x8000);
            assertThat(cousins.status()).as("%s: %s", x.name, cousins.body()).isEqualTo(412);
            assertThat(cousins.body()).contains("4000-7fff was cut out of 0000-ffff after the split at 32768");
            Http.Answer apart = merge(x, t, 0, 0xffff);
            assertThat(apart.status()).as("%s: %s", x.name, apart.body()).isEqualTo(412);
            assertThat(apart.body()).contains("are no active neighbours");
            assertThat(Layouts.stored(x, t).getProperties()).doesNotContainKey("georep.marks");
            assertThat(Trio.status(x, t).path("cold")).isEmpty();
        }
        assertThat(p.epochs(t)).isEqualTo(before);
    }
}
