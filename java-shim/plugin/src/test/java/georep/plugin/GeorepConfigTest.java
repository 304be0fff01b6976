// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GeorepConfigTest {
    private static GeorepConfig of(String... pairs) {
        Properties p = new Properties();
        for (int i = 0; i < pairs.length; i += 2) {
            p.setProperty(pairs[i], pairs[i + 1]);
        }
        return new GeorepConfig(p);
    }

    @Test
    void defaults() {
        GeorepConfig c = of();
        assertThat(c.rebatchBytesPerSecond()).isEqualTo(64L << 20);
        assertThat(c.rebatchSlots()).isEqualTo(2);
        assertThat(c.inFlightBytes()).isEqualTo(256L << 20);
        assertThat(c.keepCodec()).isTrue();
        assertThat(c.placeEncryptedBatch()).isFalse();
        assertThat(c.parkedPass()).isFalse();
        assertThat(c.cutCapBytes()).isEqualTo(4 << 20);
        assertThat(c.exchangeCallsPerSecond()).isEqualTo(100);
        assertThat(c.segmentProfile()).isEqualTo("auto");
        assertThat(c.requiredMembers()).isEmpty();
    }

    @Test
    void values() {
        GeorepConfig c = of("georepSlowPathBytesPerSecond", " 1000 ", "georepKeepCodec", "false",
                "georepEncryptedBatchPolicy", "Place", "georepParkedPolicy", "pass", "georepRequiredMembers",
                        "a#b, c#d,",
                "georepInFlightBytes", "");
        assertThat(c.rebatchBytesPerSecond()).isEqualTo(1000);
        assertThat(c.rebatchBurstBytes()).isEqualTo(1000); // a second's worth, where it is not said
        assertThat(c.keepCodec()).isFalse();
        assertThat(c.placeEncryptedBatch()).isTrue();
        assertThat(c.parkedPass()).isTrue();
        assertThat(c.requiredMembers()).containsExactly("a#b", "c#d");
        assertThat(c.inFlightBytes()).isEqualTo(256L << 20);
    }

    @ParameterizedTest
    @CsvSource({"georepSlowPathBytesPerSecond,0", "georepSlowPathBytesPerSecond,-5", "georepSlowPathConcurrency,0",
        "georepInFlightBytes,12", "georepKeepCodec,maybe", "georepSegmentProfile,m2", "georepDedupMaxKeys,lots",
        "georepCutCapBytes,1"})
    void refused(String key, String value) {
        assertThatThrownBy(() -> of(key, value)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(key + "=" + value);
    }
}
