// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ParkedPositionsTest {
    private static final String S = "segment://t/n/x/0000-ffff-0";
    private final ParkedPositions known = new ParkedPositions();

    @Test
    void aPositionIsNewOnceForEachReason() {
        assertThat(known.add(S, "b", 5, 17, 13)).isTrue();
        long since = known.since(S, "b", 5, 17);
        assertThat(since).isPositive();
        assertThat(known.add(S, "b", 5, 17, 13)).as("its segment is loaded again").isFalse();
        assertThat(known.add(S, "c", 5, 17, 13)).as("another remote").isTrue();
        assertThat(known.add(S, "b", 5, 18, 13)).as("another position").isTrue();
        assertThat(known.add(S, "b", 5, 17, 19)).as("another reason").isTrue();
        assertThat(known.since(S, "b", 5, 17)).as("parked since the first").isEqualTo(since);
        known.remove(S, "b", 5, 17);
        assertThat(known.since(S, "b", 5, 17)).isZero();
        assertThat(known.add(S, "b", 5, 17, 13)).isTrue();
    }

    @Test
    void whatIsKnownIsBounded() {
        for (int i = 0; i <= ParkedPositions.MAX; i++) {
            known.add(S, "b", 5, i, 13);
        }
        assertThat(known.size()).isEqualTo(ParkedPositions.MAX);
        assertThat(known.since(S, "b", 5, 0)).as("the longest known").isZero();
        assertThat(known.since(S, "b", 5, 1)).isPositive();
    }
}
