// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.counter;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import georep.it.HeldSegment.Hold;
import georep.it.HeldSegment.What;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Another broker of the source cluster goes on where the first one died, in the middle of an entry. */
@Tag("slow")
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class SourceTakeOverTest {
    private SourcePair p;

    @AfterEach
    void stop() throws Exception {
        p.close();
    }

    private static boolean hasReplicated(Cluster c, String segment) throws Exception {
        return SegmentLog.read(c, segment).stream().anyMatch(e -> e.parsed().hasReplicatedFrom());
    }

    /**
     * The owner dies when one half of the destination has acknowledged its parts and the other has stored them without
     * a receipt. In between the first half splits, so that what the owner sent there lies in a segment that is sealed.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void newOwnerContinues(boolean dedup) throws Exception {
        p = SourcePair.apart(dedup, s -> s.with(c ->
                c.setTopicFactoryClassName(HeldSegment.Factory.class.getName())));
        String t = p.topic("take-over", 1, 2);
        String left = active(p.b, t, 0);
        String right = active(p.b, t, 0xffff);
        PulsarService first = p.a.broker;
        try (Hold hold = HeldSegment.hold(right, What.RECEIPTS)) {
            try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
                x.more(8000);
                x.finish();
            }
            Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> hold.count() > 0
                    && hasReplicated(p.b, left) && hasReplicated(p.b, right));
            assertThat(counter(first, p.b.name, "parts")).as("parts sent by the first owner").isPositive();
            assertThat(backlogs(p.a, t, p.b.name)).as("left to the second").allMatch(n -> n > 0);
            p.a.crash();
            p.b.admin().scalableTopics().splitSegment(t, id(left));
        }
        p.a.startAgain();
        Federation.introduce(p.a, p.b);
        assertCopied(p.a, p.b, t);
        assertThat(counter(p.a, p.b, "parts")).as("parts sent by the second owner").isPositive();
        assertThat(counter(p.a, p.b, "maskedMessages")).as("known from the watermark of the sealed segment")
                .isPositive();
        assertThat(counter(p.a, p.b, "duplicateReceipts")).as("known from receipts of the open one").isPositive();
    }
}
