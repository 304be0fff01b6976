// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static georep.it.SourcePair.active;
import static georep.it.SourcePair.assertCopied;
import static georep.it.SourcePair.backlogs;
import static georep.it.SourcePair.counter;
import static georep.it.SourcePair.id;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
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

    /**
     * Re-batching is slowed down so that entries are half done when the owner dies; its cursor's last deletes are lost
     * with it. In between the destination splits, so that what the first owner sent lies in a segment that is sealed.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void newOwnerContinues(boolean dedup) throws Exception {
        p = SourcePair.start(dedup, s -> s.key("georepSlowPathBytesPerSecond", 20_000)
                .key("georepSlowPathBurstBytes", 5_000));
        String t = p.topic("take-over", 1, 2);
        try (Traffic x = Traffic.start(p.a, t, 50, 0)) {
            x.more(8000);
            x.finish();
        }
        PulsarService first = p.a.broker;
        long partsBefore = counter(first, p.b.name, "parts");
        assertThat(partsBefore).as("parts sent by the first owner").isPositive();
        assertThat(backlogs(p.a, t, p.b.name)).as("left to the second").allMatch(n -> n > 0);
        p.a.crash();
        p.b.admin().scalableTopics().splitSegment(t, id(active(p.b, t, 0)));
        p.a.startAgain();
        Federation.introduce(p.a, p.b);
        assertCopied(p.a, p.b, t);
        assertThat(counter(p.a, p.b, "parts")).as("parts sent by the second owner").isPositive();
        assertThat(counter(p.a, p.b, "maskedMessages") + counter(p.a, p.b, "duplicateReceipts"))
                .as("what the first owner stored was recognised").isPositive();
    }
}
