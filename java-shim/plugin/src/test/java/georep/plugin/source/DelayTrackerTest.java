// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DelayTrackerTest {
    @Test
    void showsTheOldestThatIsNotDeleted() {
        DelayTracker d = new DelayTracker();
        assertThat(d.oldest()).isZero();
        d.add(1, 0, 100);
        d.add(1, 1, 110);
        d.add(1, 2, 120);
        d.add(1, 0, 999); // known already
        assertThat(d.oldest()).isEqualTo(100);
        d.remove(1, 1);
        assertThat(d.oldest()).isEqualTo(100);
        d.remove(1, 0);
        assertThat(d.oldest()).isEqualTo(120);
        assertThat(d.size()).isEqualTo(1);
        d.remove(1, 2);
        d.remove(1, 2);
        assertThat(d.oldest()).isZero();
        assertThat(d.size()).isZero();
    }

    @Test
    void whatIsDoneBehindAParkedEntryTakesNoMemory() {
        DelayTracker d = new DelayTracker();
        d.add(1, 0, 7);
        for (int i = 1; i < 10_000; i++) {
            d.add(1, i, 100 + i);
            d.remove(1, i);
        }
        assertThat(d.kept()).isLessThan(100);
        assertThat(d.oldest()).isEqualTo(7);
        d.add(2, 0, 9);
        d.remove(1, 0);
        assertThat(d.oldest()).isEqualTo(9);
        assertThat(d.size()).isEqualTo(1);
    }
}
