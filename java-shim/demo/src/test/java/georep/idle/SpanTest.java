// SPDX-License-Identifier: Apache-2.0
package georep.idle;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** A minute that has nothing to do with what is measured does not count. */
class SpanTest {
    @Test
    void theMedianIgnoresOneStorm() {
        assertThat(Span.median(List.of(5.0, 29.5, 4.0, 4.5, 8.0))).isEqualTo(5.0);
        assertThat(Span.median(List.of(4.0, 29.5, 5.0, 4.5))).isEqualTo(4.75);
        assertThat(Span.median(List.of(7.0))).isEqualTo(7.0);
    }
}
