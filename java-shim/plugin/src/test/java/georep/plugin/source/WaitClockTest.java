// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WaitClockTest {
    @Test
    void onlyWaitsCount() {
        WaitClock c = new WaitClock();
        assertThat(c.total(100)).isZero();
        c.stop(150);
        assertThat(c.total(150)).as("nothing was waited for").isZero();
        c.start(200);
        c.start(250);
        assertThat(c.total(300)).as("the one that goes on").isEqualTo(100);
        c.stop(400);
        c.stop(500);
        assertThat(c.total(900)).isEqualTo(200);
        c.start(1000);
        assertThat(c.total(1010)).isEqualTo(210);
        assertThat(c.total(990)).as("asked by who has read the time before").isEqualTo(200);
    }
}
