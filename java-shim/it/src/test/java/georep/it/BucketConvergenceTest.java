// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import georep.it.SourcePair.Rise;
import georep.plugin.control.TopicRecord;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** The other ring: more buckets on one cluster are more on all, and fewer need everybody. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class BucketConvergenceTest {
    private static final int KEYS = 20;
    /** How often each key is published while replication is held up, and afterwards. */
    private static final int HELD = 3;
    private static final int ROUNDS = 800;

    private SourcePair p;

    @BeforeAll
    void start() throws Exception {
        p = SourcePair.start(false, s -> s.key("georepSegmentProfile", "pip486"));
    }

    @AfterAll
    void stop() throws Exception {
        p.close();
    }

    private static Http.Answer rebucket(Cluster c, String t, String starts) throws Exception {
        return Http.post(c.broker, "/admin/v2/scalable-repl/" + t.substring("topic://".length()) + "/rebucket", null,
                "{\"segment\":" + id(active(c, t, 0)) + ",\"bucketStarts\":" + starts + "}");
    }

    private void awaitBuckets(String t, List<Integer> starts) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().untilAsserted(() -> {
            for (Cluster c : List.of(p.a, p.b)) {
                assertThat(TopicRecord.of(Layouts.stored(c, t)).segment(id(active(c, t, 0))).bucketStarts())
                        .as("buckets at %s", c.name).isEqualTo(starts);
            }
        });
    }

    @Test
    void bucketsFollow() throws Exception {
        String t = p.topic("buckets", 1, 1);
        Publish.v5(p.a, t, 0, 200, 20);
        assertThat(rebucket(p.a, t, "[32768]").status()).isEqualTo(200);
        awaitBuckets(t, List.of(32768));
        assertThat(rebucket(p.b, t, "[16384,32768]").status()).isEqualTo(200);
        awaitBuckets(t, List.of(16384, 32768));
        for (Cluster c : List.of(p.a, p.b)) {
            assertThat(Layouts.starts(c, t)).as("the same range rolls over").containsExactly(0);
            assertThat(Layouts.sealed(c, t)).hasSize(2);
        }
        assertThat(rebucket(p.a, t, "[32768]").status()).as("fewer are a mark").isEqualTo(202);
        Publish.v5(p.a, t, 200, 400, 20);
        assertCopied(p.a, p.b, t);
        awaitBuckets(t, List.of(16384, 32768));
        assertThat(rebucket(p.b, t, "[32768]").status()).isEqualTo(202);
        awaitBuckets(t, List.of(32768));
        assertThat(rebucket(p.a, t, "[65536]").status()).isEqualTo(400);
        assertCopied(p.a, p.b, t);
    }

    /**
     * Entries stamped for fewer buckets than the other side has are cut; once that has been followed, in either
     * direction, thousands stamped for what both have pass as they are.
     */
    @Test
    void onceBucketsAreTheSameNothingStampedIsRebatched() throws Exception {
        String t = p.topic("stamped", 1, 1);
        List<Integer> two = List.of(32768);
        List<Integer> four = List.of(16384, 32768, 49152);
        Rise back = rise(p.b, p.a);
        whileHeld(p.b, p.a, t, List.of(), () -> follow(p.a, t, two));
        assertThat(back.of("rebatched")).as("stamped by B for one bucket").isEqualTo(HELD);
        assertThat(back.of("parts")).isEqualTo(2 * HELD);
        Rise there = rise(p.a, p.b);
        whileHeld(p.a, p.b, t, two, () -> follow(p.b, t, four));
        assertThat(there.of("rebatched")).as("stamped by A for two buckets").isEqualTo(2 * HELD);
        assertThat(there.of("parts")).isEqualTo(4 * HELD);

        for (Cluster from : List.of(p.a, p.b)) {
            Cluster to = from == p.a ? p.b : p.a;
            Rise r = rise(from, to);
            int entries = new StampedEntries(from, active(from, t, 0), "follows", KEYS).send(HELD * KEYS,
                    (HELD + ROUNDS) * KEYS, four);
            assertCopied(from, to, t);
            assertThat(entries).isEqualTo(4 * ROUNDS);
            assertThat(r.of("verbatim")).as("from %s as they are", from.name).isEqualTo(entries);
            assertThat(r.of("rebatched")).as("re-batched from %s", from.name).isZero();
            assertThat(r.of("parts")).as("parts from %s", from.name).isZero();
        }
        for (Cluster c : List.of(p.a, p.b)) {
            assertThat(Layouts.sealed(c, t)).as("rolled over once for each at %s", c.name).hasSize(2);
        }
    }

    private static Rise rise(Cluster from, Cluster to) {
        return new Rise(from, to, "verbatim", "rebatched", "parts");
    }

    private interface Change {
        void run() throws Exception;
    }

    /** Entries for these bucket starts are stored, and sent when the change is there. */
    private void whileHeld(Cluster from, Cluster to, String t, List<Integer> starts, Change change) throws Exception {
        operate(from, t, "pause", to);
        new StampedEntries(from, active(from, t, 0), "held", KEYS).send(0, HELD * KEYS, starts);
        change.run();
        operate(from, t, "resume", to);
        assertCopied(from, to, t);
    }

    private static void operate(Cluster at, String t, String call, Cluster remote) throws Exception {
        Http.Answer x = Http.post(at.broker, "/admin/v2/scalable-repl/" + t.substring("topic://".length()) + "/" + call,
                null, "{\"remote\":\"" + remote.name + "\"}");
        assertThat(x.status()).as(x.body()).isEqualTo(200);
    }

    private void follow(Cluster c, String t, List<Integer> starts) throws Exception {
        assertThat(rebucket(c, t, starts.toString()).status()).isEqualTo(200);
        awaitBuckets(t, starts);
    }
}
