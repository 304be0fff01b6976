// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
}
