// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.common.scalable.SegmentLoadStats;
import org.junit.jupiter.api.Test;

/** Every boundary that the broker's own policy would remove, under the policy's own conditions. */
class ScalePolicyTest {
    private static final SegmentLayout FOUR = SegmentLayout.fromMetadata(
            ScalableTopicController.createInitialMetadata(4, Map.of()));
    private static final long LONG_AGO = 0;

    private static AutoScaleConfig config(int minSegments) {
        ServiceConfiguration c = new ServiceConfiguration();
        c.setScalableTopicAutoScaleEnabled(true);
        return AutoScaleConfig.fromBrokerConfig(c).toBuilder().minSegments(minSegments).build();
    }

    /** Loads by segment; NaN: none is known. */
    private static Map<Long, SegmentLoadSample> loads(long since, double... rates) {
        Map<Long, SegmentLoadSample> m = new HashMap<>();
        for (int i = 0; i < rates.length; i++) {
            if (!Double.isNaN(rates[i])) {
                m.put((long) i, new SegmentLoadSample(new SegmentLoadStats(rates[i], 0, 0, 0), since));
            }
        }
        return m;
    }

    @Test
    void allColdNeighboursAreFound() {
        double hot = config(1).splitMsgRateIn() * 2;
        assertThat(ScalePolicy.cold(FOUR, loads(LONG_AGO, 0, 0, 0, 0), config(1), Long.MIN_VALUE))
                .containsExactly(0x4000, 0x8000, 0xc000);
        assertThat(ScalePolicy.cold(FOUR, loads(LONG_AGO, 0, 0, hot, 0), config(1), Long.MIN_VALUE))
                .as("the third is hot").containsExactly(0x4000);
        assertThat(ScalePolicy.cold(FOUR, loads(LONG_AGO, 0, 0, 0, Double.NaN), config(1), Long.MIN_VALUE))
                .as("of the fourth nothing is known").containsExactly(0x4000, 0x8000);
    }

    @Test
    void thePolicysOwnLimitsHold() {
        long now = System.currentTimeMillis();
        assertThat(ScalePolicy.cold(FOUR, loads(LONG_AGO, 0, 0, 0, 0), config(3), Long.MIN_VALUE))
                .as("three have to stay").hasSize(1);
        assertThat(ScalePolicy.cold(FOUR, loads(LONG_AGO, 0, 0, 0, 0), config(4), Long.MIN_VALUE)).isEmpty();
        assertThat(ScalePolicy.cold(FOUR, loads(now, 0, 0, 0, 0), config(1), Long.MIN_VALUE))
                .as("not cold for long enough").isEmpty();
        assertThat(ScalePolicy.cold(FOUR, loads(LONG_AGO, 0, 0, 0, 0), config(1), now))
                .as("a merge has just been").isEmpty();
    }
}
