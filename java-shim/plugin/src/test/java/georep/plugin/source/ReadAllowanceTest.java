// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import georep.plugin.source.ReadAllowance.Claim;
import georep.plugin.source.ReadAllowance.Grant;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ReadAllowanceTest {
    private static final Grant CLAIMED = new Grant(0, 0, true);
    private static final Grant NOTHING_LEFT = new Grant(0, 0, false);

    private final ReadAllowance allowance = new ReadAllowance();

    /** A read of entries with so many messages, 100 bytes each message. */
    private List<Claim> read(int... messages) {
        List<Claim> claims = Arrays.stream(messages).mapToObj(n -> new Claim(n, 100 * n)).toList();
        allowance.arrived(claims);
        return claims;
    }

    private Grant grant(long messages, long bytes) {
        return allowance.grant(100, 1_000_000, () -> messages, () -> bytes);
    }

    @Test
    void withoutALimitAllThatIsWantedIsRead() {
        read(500);
        assertThat(grant(-1, -1)).isEqualTo(new Grant(100, 1_000_000, false));
        assertThat(allowance.grant(3, 0, () -> -1, () -> -1)).isEqualTo(new Grant(3, 1, false));
    }

    @Test
    void theFirstEntryShowsHowManyMessagesThereAre() {
        assertThat(grant(50, -1).entries()).isEqualTo(1);
        read(10).forEach(allowance::released);
        assertThat(grant(50, -1).entries()).isEqualTo(5);
        assertThat(grant(5_000, -1).entries()).as("not more than wanted").isEqualTo(100);
        read(3, 20, 5).forEach(allowance::released);
        assertThat(grant(50, -1).entries()).as("all may be as the largest").isEqualTo(2);
        read();
        assertThat(grant(50, -1).entries()).as("an empty read tells nothing").isEqualTo(2);
        read(1, 1).forEach(allowance::released);
        assertThat(grant(50, -1).entries()).isEqualTo(50);
    }

    @Test
    void anEntryLargerThanWhatIsLeftIsReadAllTheSame() {
        read(80).forEach(allowance::released);
        assertThat(grant(50, -1).entries()).isEqualTo(1);
        assertThat(grant(0, -1)).isEqualTo(NOTHING_LEFT);
        assertThat(grant(-1, 0)).isEqualTo(NOTHING_LEFT);
    }

    @Test
    void whatIsReadAndNotSentHasItsClaim() {
        Claim c = read(10, 10).get(0);
        assertThat(grant(50, -1).entries()).isEqualTo(3);
        assertThat(grant(20, -1)).isEqualTo(CLAIMED);
        assertThat(grant(-1, 5_000)).isEqualTo(new Grant(100, 3_000, false));
        assertThat(grant(-1, 2_000)).isEqualTo(CLAIMED);
        allowance.sent(c, 4); // its first part
        assertThat(grant(40, -1).entries()).isEqualTo(2);
        assertThat(grant(-1, 2_500).bytes()).as("bytes are claimed until all of it is sent").isEqualTo(500);
        allowance.sent(c, 6);
        assertThat(grant(20, -1).entries()).isEqualTo(1);
        assertThat(grant(-1, 2_500).bytes()).isEqualTo(1_500);
    }

    @Test
    void aClaimEndsOnce() {
        List<Claim> claims = read(10, 10);
        allowance.sent(claims.get(0), 10);
        allowance.sent(claims.get(0), 10); // again, after a failure
        allowance.released(claims.get(0));
        assertThat(grant(30, -1).entries()).as("the other's claim stands").isEqualTo(2);
        allowance.released(claims.get(1)); // dropped
        allowance.released(claims.get(1));
        assertThat(grant(30, -1)).isEqualTo(new Grant(3, 1_000_000, false));
        allowance.released(new Claim(7, 7));
        assertThat(grant(30, -1).entries()).as("one that never arrived has none").isEqualTo(3);
    }

    /** Whatever the order of reads and sends: what the limiter has is sent, and more only of the last entry. */
    @Test
    void whatIsSentStaysWithinWhatTheLimiterHas() {
        Random random = new Random(7);
        for (int run = 0; run < 500; run++) {
            ReadAllowance a = new ReadAllowance();
            int each = 1 + random.nextInt(20);
            Claim shown = new Claim(each, 0);
            a.arrived(List.of(shown));
            a.released(shown);
            long had = 1 + random.nextInt(20 * each);
            long left = had;
            ArrayDeque<Claim> held = new ArrayDeque<>();
            int reads = 0;
            for (int step = 0; step < 300; step++) {
                long now = left;
                if (random.nextBoolean()) {
                    Grant g = a.grant(1 + random.nextInt(10), 100, () -> Math.max(0, now), () -> -1);
                    List<Claim> claims = Stream.generate(() -> new Claim(each, 10)).limit(g.entries()).toList();
                    a.arrived(claims);
                    held.addAll(claims);
                    reads += claims.size();
                } else if (!held.isEmpty()) {
                    left -= each;
                    a.sent(held.peek(), each);
                    a.released(held.poll());
                }
            }
            assertThat(held).isEmpty();
            assertThat(left).as("run %d: less than an entry is owed", run).isLessThanOrEqualTo(0).isGreaterThan(-each);
            assertThat((long) reads * each).isEqualTo(had - left);
        }
    }
}
