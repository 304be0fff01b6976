// SPDX-License-Identifier: Apache-2.0
package georep.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import georep.bench.Paired.Better;
import java.util.List;
import org.junit.jupiter.api.Test;

class PairedTest {
    /** The second round was slow for both: rounds are compared, not medians. */
    private static Paired rounds(Better better) {
        return new Paired(better).add(300, 100).add(30, 20).add(200, 100);
    }

    @Test
    void ratesAndCostsAreBothLargerForTheBetter() {
        assertThat(rounds(Better.LARGER).ratio()).isEqualTo(2.0);
        assertThat(rounds(Better.SMALLER).ratio()).isEqualTo(0.5);
        assertThat(rounds(Better.LARGER).ours()).isEqualTo(200);
        assertThat(rounds(Better.LARGER).peer()).isEqualTo(100);
        assertThat(rounds(Better.LARGER).rounds()).isEqualTo(3);
    }

    @Test
    void spreadIsThatOfTheRatios() {
        // ratios 1.5, 2, 3: quartiles 1.75 and 2.5
        assertThat(rounds(Better.LARGER).spread()).isEqualTo(0.375);
    }

    @Test
    void quantilesLieBetweenValues() {
        assertThat(Paired.quantile(List.of(4.0, 1.0, 2.0, 3.0), 0.5)).isEqualTo(2.5);
        assertThat(Paired.quantile(List.of(4.0, 1.0, 2.0, 3.0), 1)).isEqualTo(4.0);
        assertThat(Paired.quantile(List.of(10.0, 20.0), 0.25)).isCloseTo(12.5, within(1e-9));
    }
}
