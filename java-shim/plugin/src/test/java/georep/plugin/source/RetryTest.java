// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RetryTest {
    @Test
    void pausesDoubleUpToTheLimitWithJitterBelow() {
        Retry r = new Retry(100, 800);
        for (long limit : new long[]{100, 200, 400, 800, 800, 800}) {
            assertThat(r.next()).isBetween(limit / 2, limit);
        }
        r.reset();
        assertThat(r.next()).isBetween(50L, 100L);
    }
}
