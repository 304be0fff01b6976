// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import georep.it.OriginSession.Stream;
import java.time.Duration;
import org.apache.pulsar.client.impl.VerbatimProducer.Outcome;
import org.junit.jupiter.api.Test;

/**
 * A managed ledger that is terminated answers none of the writes that are in flight, so the topic counts them as
 * pending for good. The watermark is final all the same; a source would wait for it for ever.
 */
class SealedWatermarkTest {
    private static final String SEGMENT = "segment://t/sealed/x/0000-ffff-0";
    private static final Stream ORIGIN = new Stream("cluster-z", "00ff", 7, 3);

    @Test
    void aWriteThatWasDroppedHoldsNoWatermarkBack() throws Exception {
        try (Cluster b = ClusterSpec.named("cluster-b").start(Dirs.fresh())) {
            Federation.introduce(b);
            Federation.create("t/sealed", b);
            Federation.topic("topic://t/sealed/x", 1, b);
            try (OriginSession s = OriginSession.open(b, SEGMENT, ORIGIN)) {
                assertThat(s.send("5:1:4", "part")).isEqualTo(Outcome.ACKED);
            }
            b.segment(SEGMENT).getPendingWriteOps().incrementAndGet(); // and never answered
            assertThat(status(b)).isEqualTo("WATERMARK_STATUS_NOT_FINAL");
            b.admin().scalableTopics().splitSegment("topic://t/sealed/x", 0);
            await().atMost(Duration.ofSeconds(10)).untilAsserted(() ->
                    assertThat(status(b)).isEqualTo("WATERMARK_STATUS_KNOWN"));
        }
    }

    private static String status(Cluster b) throws Exception {
        return Http.post(b.broker, "/admin/v2/scalable-repl/t/sealed/x/watermark", null, "{\"segment\":\"0\",\"key\":"
                + ORIGIN.json() + "}").json().path("status").asText();
    }
}
